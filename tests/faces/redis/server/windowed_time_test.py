"""Filters with a WINDOW: the module's timer, replicas, restarts, failover. Where it can, a test
moves time on by CF.ADVANCE, without the timer: the machine's speed does not matter."""

import collections
import glob
import os
import random
import struct
import tempfile
import time

from hashing import hash_string
from module_case import ServerCase, items
from resp import Connection, Error, Simple
from servers import wait_until
from windowed_test import LIFE, OFF, debug_of

CLOCK = os.environ.get("NESTLINE_TEST_CLOCK_LIBRARY", "")


def wait_for_tick(client, least, key="w", primary=None):
    """Ticks in which nothing dies are made up when something is added."""

    def has_come():
        (primary or client).call("CF.ADD", key, "beat")
        return debug_of(client, key)["tick"] >= least

    wait_until(has_come, f"{key} comes to tick {least}")


def empty_and_swept(client, key):
    state = debug_of(client, key)
    return state["items"] == state["unswept"] == 0


def dying(key):
    """Commands that make a filter with an item that the timer lets die after two ticks."""
    return [("CF.RESERVE", key, 1000, "WINDOW", 1), ("CF.ADD", key, "x"),
            ("CF.ADVANCE", key, LIFE - 1)]  # fmt: skip


def wait_for_death(client, key):
    wait_until(lambda: client.call("CF.EXISTS", key, "x") == 0, f"the item of {key} is dead")


def all_are_seen(client):
    """Waits until the timer has seen all filters that there are."""
    client.pipeline(dying("last"))
    wait_for_death(client, "last")


class Processes(ServerCase):
    def server(self, options=None, arguments=OFF, **more):
        return super().server(options, arguments, **more)

    def replica(self, primary, options=None, arguments=OFF):
        return super().replica(primary, options, arguments=arguments)

    def timed(self, options=None):
        """A server whose timer runs, and a connection to it."""
        server = self.server(options, arguments=())
        return server, self.connect(server)


class ReplicaTest(Processes):
    KEYS = ("small", "wide", "many", "full")

    def change(self, client, chance, moves_time=True):
        """One random command."""
        key = chance.choice(self.KEYS)
        kind = chance.choice(range(10) if moves_time else (0, 1, 2, 3, 4, 9))
        some = [f"item-{chance.randrange(20000)}" for _ in range(chance.randrange(1, 40))]
        tick = debug_of(client, key)["tick"]
        if kind < 2:
            client.call("CF.ADD", key, some[0], "EX", chance.randrange(1, 15))
        elif kind < 4:
            client.call(chance.choice(("CF.INSERT", "CF.INSERTNX")), key, "ITEMS", *some)
        elif kind == 4:
            client.call(chance.choice(("CF.MADDH", "CF.MADDNXH")), key, hash_string(some, 7))
        elif kind == 5:
            client.call("CF.ADVANCE", key, tick, "SWEEP", chance.randrange(300))
        elif kind == 6:
            client.call("CF.ADVANCE", key, tick + chance.choice((0, 1, 1, 1, 2, 3)))
        elif kind == 7:
            client.call("MULTI")
            client.call("CF.ADDNX", key, some[0])
            client.call("CF.ADVANCE", key, tick + 1)
            client.call("CF.ADD", key, some[0])
            client.call("EXEC")
        elif kind == 8 and chance.random() < 0.2:
            client.call("CF.CLEAR", key)
        else:
            script = "return redis.call('CF.ADD', KEYS[1], ARGV[1])"
            client.call("EVAL", script, 1, key, some[0])

    def assert_same(self, primary, other):
        for key in self.KEYS:
            reply = other.call("DUMP", key)
            self.assertIsInstance(reply, bytes)
            self.assertEqual(reply, primary.call("DUMP", key),
                             (key, primary.call("CF.DEBUG", key), other.call("CF.DEBUG", key)))

    def reserve_all(self, client):
        client.call("CF.RESERVE", "small", 500, "WINDOW", 14, "SEED", 7)
        client.call("CF.RESERVE", "wide", 3000, "WINDOW", 100, "ERROR", "0.001", "SEED", 7)
        client.call("CF.RESERVE", "many", 100_000, "WINDOW", 5, "SEED", 7)
        client.call("CF.RESERVE", "full", 1, "WINDOW", 14, "SEED", 7)

    def test_same_bytes(self):
        primary = self.server({"appendonly": "yes", "appendfsync": "always"})
        early = self.replica(primary)
        client = self.connect(primary)
        self.reserve_all(client)
        chance = random.Random(1)
        for number in range(3000):
            self.change(client, chance)
            if number == 1000:
                late = self.replica(primary)
            if number == 2000:
                primary.rewrite_aof()
        for replica in (early, late):
            replica.wait_for_offset(primary)
            self.assert_same(client, self.connect(replica))
            self.assertNotIn("CRITICAL", replica.log())
        before = {key: client.call("DUMP", key) for key in self.KEYS}
        primary.kill()
        primary.start()
        client = self.connect(primary)
        for key in self.KEYS:
            self.assertEqual(client.call("DUMP", key), before[key], key)

    def test_same_bytes_with_the_timer(self):
        """The primary moves time on and sweeps in slices, in between other commands."""
        primary, client = self.timed()
        replica = self.replica(primary, arguments=())
        for key, capacity, window in (("small", 500, 1), ("wide", 3_000_000, 3),
                                      ("many", 100_000, 2), ("full", 1, 1)):  # fmt: skip
            client.call("CF.RESERVE", key, capacity, "WINDOW", window, "SEED", 7)
        chance = random.Random(2)
        follower = self.connect(replica)
        for tick in (1, 10, 40):  # the marks are exchanged in tick 16 and 32
            client.call("CONFIG", "SET", "nestline.cf-window-timer", 1)
            while min(debug_of(client, key)["tick"] for key in self.KEYS) < tick:
                for _ in range(20):
                    self.change(client, chance, moves_time=False)
            # Until a sweep has begun and not ended; there are some as long as something is alive.
            wait_until(lambda: isinstance(client.call("CF.ADD", "wide", "beat"), int)
                       and 4096 < debug_of(client, "wide")["unswept"] < 80_000, "it sweeps")  # fmt: skip
            client.call("CONFIG", "SET", "nestline.cf-window-timer", 0)
            replica.wait_for_offset(primary)
            self.assert_same(client, follower)
        self.assertNotIn("CRITICAL", replica.log())

    def test_failover(self):
        """A replica that is promoted moves time on; the old primary then follows it."""
        primary = self.server(arguments=())
        replica = self.replica(primary, arguments=())
        client, follower = self.connect(primary), self.connect(replica)
        client.call("CF.RESERVE", "w", 1000, "WINDOW", 1)
        client.call("CF.RESERVE", "moved", 1000, "WINDOW", 1)
        client.call("RENAME", "moved", "w2")
        replica.wait_for_offset(primary)
        wait_for_tick(follower, 4, "w2", client)
        self.assertEqual(client.call("FAILOVER"), Simple("OK"))
        wait_until(lambda: replica.information("replication")["role"] == "master", "it is promoted")
        for key in ("w", "w2"):
            tick = debug_of(follower, key)["tick"]
            wait_for_tick(follower, tick + 4, key)
        primary.wait_for_link()
        wait_for_tick(client, tick + 7, primary=follower)
        follower.call("CONFIG", "SET", "nestline.cf-window-timer", 0)
        primary.wait_for_offset(replica)
        self.assertEqual(client.call("DUMP", "w"), follower.call("DUMP", "w"))
        primary.assert_alive()

    def test_databases_that_are_loaded_beside_others(self):
        """Redis 7.0 then names database 0 for keys of every database."""
        primary = self.server(arguments=())
        replica = self.server({"repl-diskless-load": "swapdb"}, arguments=())
        client, follower = self.connect(primary), self.connect(replica)
        for connection, window in ((client, 1), (follower, 86400)):
            connection.call("CONFIG", "SET", "nestline.cf-window-timer", 0)
            connection.call("SELECT", 5)
            connection.call("CF.RESERVE", "w", 1000, "WINDOW", window)
            connection.call("CF.ADD", "w", "x")
        follower.call("REPLICAOF", "127.0.0.1", primary.port)
        replica.wait_for_link()
        replica.wait_for_offset(primary)
        follower.call("REPLICAOF", "NO", "ONE")
        follower.call("CONFIG", "SET", "nestline.cf-window-timer", 1)
        wait_for_death(follower, "w")

    def test_nothing_changes_while_writes_are_paused(self):
        primary, client = self.timed()
        replica = self.replica(primary, arguments=())
        all_are_seen(client)
        client.pipeline([*dying("w"), ("CLIENT", "PAUSE", 100_000, "WRITE")])
        tick = debug_of(client, "w")["tick"]
        commands = int(primary.information("server")["hz"])
        loops = lambda: int(primary.information("stats")["total_commands_processed"])  # noqa: E731
        end = loops() + 300 + commands
        while loops() < end:  # many turns of the timer
            client.call("PING")
            time.sleep(0.001)
        self.assertEqual(debug_of(client, "w")["tick"], tick)
        client.call("CLIENT", "UNPAUSE")
        wait_for_death(client, "w")
        primary.assert_alive()
        replica.assert_alive()

    def test_a_name_used_again(self):
        """A filter has its own time, whatever was at its key before."""
        server, client = self.timed()
        again, other = dying("w"), dying("other")
        client.pipeline(again)
        restore = ("RESTORE", "w", 0, client.call("DUMP", "w"))
        pieces = [("CF.LOADCHUNK", "w", *piece) for piece in client.pieces("w")]
        ways = (
            [("DEL", "w"), *again],
            [("UNLINK", "w"), *again],
            [("FLUSHALL",), *again],
            [("FLUSHDB", "ASYNC"), *again],
            [("PEXPIRE", "w", 1), ("DEBUG", "SLEEP", "0.002"), *again],
            [("SET", "w", "text"), ("DEL", "w"), *again],
            [("MULTI",), ("DEL", "w"), *again, ("EXEC",)],
            [("DEL", "w"), restore],
            [("DEL", "w"), *pieces],
            [(*restore, "REPLACE")],
            [*other, ("RENAME", "other", "w")],
            [*other, ("COPY", "other", "w", "REPLACE")],
            [("SELECT", 1), *other, ("COPY", "other", "w", "DB", 0, "REPLACE"), ("SELECT", 0)],
            [("DEL", "w"), ("SELECT", 1), *again, ("MOVE", "w", 0), ("SELECT", 0)],
            [("SELECT", 1), *again, ("SELECT", 0), ("SWAPDB", 0, 1)],
            [("DEL", "w"), *again, ("DEBUG", "RELOAD")],
            [("CONFIG", "SET", "maxmemory-policy", "allkeys-random"), ("CONFIG", "SET", "maxmemory", 1),
             ("PING",), ("CONFIG", "SET", "maxmemory", 0), *again],
        )  # fmt: skip
        for way in ways:
            with self.subTest(way=way):
                client.call("FLUSHALL")
                client.call("CF.RESERVE", "w", 1000, "WINDOW", 86400)
                all_are_seen(client)
                errors = [reply for reply in client.pipeline(way) if isinstance(reply, Error)]
                self.assertEqual(errors, [])
                wait_for_death(client, "w")

    def test_names_go_with_their_filters(self):
        """They are in the server's memory, and free as soon as the filters are."""
        server = self.server(arguments=())
        names = [str(number) + "n" * 1_000_000 for number in range(5)]
        used = lambda: int(server.information("memory")["used_memory"])  # noqa: E731
        kept = lambda: server.information("nestline")["nestline_windowed_keys"]  # noqa: E731
        before = used()
        ways = (("DEL", *names), ("UNLINK", *names), ("FLUSHALL", "SYNC"), ("FLUSHALL", "ASYNC"))
        for way in ways:
            with Connection(server.port) as client:
                client.pipeline([("CF.RESERVE", name, 100, "WINDOW", 86400) for name in names])
                self.assertEqual(kept(), "5")
                self.assertGreater(used() - before, 2 * sum(map(len, names)))
                client.call(*way)
            wait_until(lambda: kept() == "0" and used() < before + 1_000_000, "all is free")

    def test_visits_are_not_counted(self):
        """Neither as uses of the keys nor as lookups."""
        server, client = self.timed({"maxmemory-policy": "allkeys-lfu"})
        for number in range(20):
            client.pipeline(dying(f"w{number}"))
        client.call("RENAME", "w0", "w")
        frequency = client.call("OBJECT", "FREQ", "w")
        client.call("CONFIG", "RESETSTAT")
        wait_until(lambda: debug_of(client, "w19")["items"] == 0, "the last one is empty")
        asked = server.information("commandstats")["cmdstat_cf.debug"].split(",")[0]
        stats = server.information("stats")
        self.assertEqual(f"calls={stats['keyspace_hits']}", asked)
        self.assertEqual(stats["keyspace_misses"], "0")
        self.assertLessEqual(client.call("OBJECT", "FREQ", "w"), frequency)

    def test_ticks_are_no_use_on_replicas(self):
        """Neither those that it gets, nor slices of sweeps."""
        primary = self.server()
        every_use = {"maxmemory-policy": "allkeys-lfu", "lfu-log-factor": "0", "lfu-decay-time": "0"}
        replica = self.replica(primary, every_use)
        client = self.connect(primary)
        client.call("CF.RESERVE", "w", 1000, "WINDOW", 14000)
        client.call("CF.ADD", "w", "x")
        replica.wait_for_offset(primary)
        frequency = replica.call("OBJECT", "FREQ", "w")
        for tick in range(1, 9):
            client.call("CF.ADVANCE", "w", tick, "SWEEP", 1)
        replica.wait_for_offset(primary)
        self.assertEqual(debug_of(self.connect(replica), "w")["tick"], 8)
        self.assertEqual(replica.call("OBJECT", "FREQ", "w"), frequency + 1)  # by CF.DEBUG


class RestartTest(Processes):
    """The time between saving and loading counts. AT is the wall clock's time of a tick, as the
    primary would have replicated it; giving another one is as if the server had been away."""

    AOF = {"appendonly": "yes", "appendfsync": "always"}
    WAYS = {"rdb": {}, "aof": AOF, "rewritten": {**AOF, "aof-use-rdb-preamble": "no"}}

    def fill(self, client):
        client.call("CF.RESERVE", "w", 1000, "WINDOW", 14000)  # a tick takes 1000 seconds
        client.call("CF.ADD", "w", "short", "EX", 3000)
        client.call("CF.ADD", "w", "long")
        client.call("CF.ADVANCE", "w", 1, "AT", self.at)

    def ago(self, ticks):
        self.at = int((time.time() - 1000 * ticks) * 1000)

    def restart(self, server, client, way):
        client.close()
        if way == "rdb":
            server.restart(save=True)
        else:
            server.kill()
            server.start()
        return self.connect(server)

    def settled(self, client, tick):
        wait_for_tick(client, tick)
        self.assertEqual(debug_of(client, "w")["tick"], tick)

    def filled(self, way):
        """A server that moves no time on until it is started again, and a connection to it."""
        server = self.server(self.WAYS[way])
        client = self.connect(server)
        self.fill(client)
        if way == "rewritten":
            server.rewrite_aof()
        server.arguments = ["cf-window-timer", "1"]
        return server, client

    def test_due_keys_die_soon(self):
        self.ago(4.5)
        for way in self.WAYS:
            with self.subTest(way):
                server, client = self.filled(way)
                self.assertEqual(client.call("CF.MEXISTS", "w", "short", "long"), [1, 1])
                client = self.restart(server, client, way)
                self.settled(client, 5)
                self.assertEqual(client.call("CF.MEXISTS", "w", "short", "long"), [0, 1])

    def test_all_die_after_a_life(self):
        self.ago(1_000_000)
        for way in self.WAYS:
            with self.subTest(way):
                server, client = self.filled(way)
                client = self.restart(server, client, way)
                self.settled(client, 1 + LIFE + 1)  # the rest is left out
                self.assertEqual(client.call("CF.MEXISTS", "w", "short", "long"), [0, 0])
                self.assertEqual(client.call("CF.ADD", "w", "long"), 1)

    def test_a_clock_that_was_set_back(self):
        """Nothing is lost, and a tick begins when the value is loaded."""
        self.ago(-1_000_000)
        for way in self.WAYS:
            with self.subTest(way):
                server, client = self.filled(way)
                client = self.restart(server, client, way)
                self.assertEqual(client.call("CF.MEXISTS", "w", "short", "long"), [1, 1])
                self.assertEqual(debug_of(client, "w")["tick"], 1)
        # And time goes on, as a window that is short shows.
        server, client = self.timed()
        client.call("CONFIG", "SET", "nestline.cf-window-timer", 0)
        client.call("CF.RESERVE", "w", 1000, "WINDOW", 1)
        client.call("CF.ADD", "w", "x")
        client.call("CF.ADVANCE", "w", 1, "AT", self.at)
        client = self.restart(server, client, "rdb")
        wait_until(lambda: client.call("CF.EXISTS", "w", "x") == 0, "the item is dead")

    def test_additions_soon_after_loading(self):
        """An item that comes before the ticks that passed meanwhile are made up lives its life."""
        self.ago(4.5)
        server = self.server()
        replica = self.replica(server)
        client = self.connect(server)
        self.fill(client)
        payload = client.call("DUMP", "w")
        client.call("CONFIG", "SET", "nestline.cf-window-timer", 1)
        for command in (("CF.ADD", "x", "new"), ("CF.ADDNX", "x", "new", "EX", 1),
                        ("CF.INSERT", "x", "ITEMS", "new"), ("CF.MADDH", "x", b"h" * 8)):  # fmt: skip
            client.call("MULTI")  # so that the timer is not first
            client.call("RESTORE", "x", 0, payload, "REPLACE")
            client.call("CF.MEXISTS", "x", "short", "long")
            client.call(*command)
            client.call("CF.MEXISTS", "x", "short", "long")
            client.call("CF.DEBUG", "x")
            replies = client.call("EXEC")
            self.assertEqual((replies[1], replies[3]), ([1, 1], [0, 1]), command)
            self.assertIn(b" tick:5 ", replies[4])
            wall, began = int(time.time() * 1000), debug_of(client, "x")["time"]
            self.assertAlmostEqual(began, self.at + 4_000_000, delta=wall - self.at - 4_500_000 + 50)
            replica.wait_for_offset(server)
            self.assertEqual(replica.call("DUMP", "x"), client.call("DUMP", "x"), command)

    ADDITIONS = (("CF.ADD", "w0", "x", "EX", 1), ("CF.ADDNX", "w1", "x", "EX", 1000),
                 ("CF.INSERT", "w2", "ITEMS", "x"), ("CF.INSERTNX", "w3", "ITEMS", "y", "x"),
                 ("CF.MADDH", "w4", hash_string(["x"], 7)),
                 ("CF.MADDNXH", "w5", hash_string(["x"], 7)))  # fmt: skip

    def add_late(self, client):
        """Adds an item to each filter in a tick that is overdue by more than a life."""
        self.ago(20)
        for command in self.ADDITIONS:
            client.call("CF.RESERVE", command[1], 1000, "WINDOW", 14000, "SEED", 7)
            client.call("CF.ADD", command[1], "early")
            client.call("CF.ADVANCE", command[1], 1, "AT", self.at)
            client.call(*command)

    def assert_alive(self, client, prefix=""):
        """Once the timer has seen all filters."""
        client.call("CONFIG", "SET", "nestline.cf-window-timer", 1)
        all_are_seen(client)
        for command in self.ADDITIONS:
            key = prefix + command[1]
            self.assertEqual(client.call("CF.MEXISTS", key, "x", "early"), [1, 1], command)
            self.assertEqual(debug_of(client, key)["tick"], 1)

    def test_additions_to_an_overdue_tick(self):
        """They live their lives wherever the filter is loaded."""
        for way in self.WAYS:
            with self.subTest(way):
                server = self.server(self.WAYS[way])
                client = self.connect(server)
                self.add_late(client)
                if way == "rewritten":
                    server.rewrite_aof()
                self.assert_alive(self.restart(server, client, way))
        server = self.server()
        client = self.connect(server)
        early = self.replica(server)
        self.add_late(client)
        late = self.replica(server)
        for replica in (early, late):
            replica.wait_for_offset(server)
            for command in self.ADDITIONS:
                payload = client.call("DUMP", command[1])
                self.assertEqual(replica.call("DUMP", command[1]), payload)
                client.call("RESTORE", "restored-" + command[1], 0, payload, "REPLACE")
            replica.call("REPLICAOF", "NO", "ONE")
            self.assert_alive(self.connect(replica))
        for command in self.ADDITIONS:
            client.call("COPY", command[1], "copied-" + command[1])
            for iterator, piece in client.pieces(command[1]):
                client.call("CF.LOADCHUNK", "loaded-" + command[1], iterator, piece)
        client.call("DEBUG", "RELOAD")
        for prefix in ("", "restored-", "copied-", "loaded-"):
            self.assert_alive(client, prefix)

    def test_a_late_timer(self):
        """Items that came while a tick was overdue live their window, also in what is saved then."""
        server, client = self.timed()
        client.call("CF.RESERVE", "w", 1000, "WINDOW", 1)
        chance = random.Random(4)
        added = []
        end = 0
        while len(added) < 5 or time.monotonic() < end:
            if len(added) < 5:
                pause = chance.uniform(0.05, 0.4)
                end = time.monotonic() + pause + 1
                name = f"copy-{len(added)}"
                commands = [("DEBUG", "SLEEP", pause), ("CF.ADD", "w", name), ("DUMP", "w")]
                client.call("RESTORE", name, 0, client.pipeline(commands)[2])
                added.append((name, end))
            for name, due in added:
                found = [client.call("CF.EXISTS", key, name) for key in ("w", name)]
                self.assertTrue(found == [1, 1] or time.monotonic() >= due, (name, found))
        for name, _ in added:
            wait_until(lambda: client.call("CF.EXISTS", "w", name) == 0, "it dies")  # noqa: B023
            wait_until(lambda: client.call("CF.EXISTS", name, name) == 0, "it dies")  # noqa: B023

    def test_the_last_tick(self):
        """At the last tick time stands, and what is saved can be loaded."""
        server, client = self.timed()
        client.call("CF.RESERVE", "w", 1000, "WINDOW", 1)
        self.assertEqual(client.call("CF.ADVANCE", "w", 1 << 62), 1 << 62)
        client.call("CF.RESERVE", "other", 1000, "WINDOW", 1)
        wait_for_tick(client, 3, "other")
        client = self.restart(server, client, "rdb")
        self.assertEqual(debug_of(client, "w")["tick"], 1 << 62)
        self.assertEqual(client.call("CF.ADD", "w", "x"), 1)
        self.assertEqual(client.call("CF.EXISTS", "w", "x"), 1)

    def test_kill_while_time_moves(self):
        """What was acknowledged before the kill is there, as far as it has not lived its life."""
        server, client = self.timed(self.AOF)
        client.call("CF.RESERVE", "fast", 1000, "WINDOW", 1)
        client.call("CF.RESERVE", "slow", 200_000, "WINDOW", 100_000)
        for round_number in range(3):
            added = items(f"round-{round_number}", 1000)
            client.call("CF.INSERT", "slow", "ITEMS", *added)
            client.call("CF.INSERT", "fast", "ITEMS", *added[:500])
            tick = debug_of(client, "fast")["tick"]
            wait_for_tick(client, tick + 1, "fast")
            client.close()
            server.kill()
            server.start()
            client = self.connect(server)
            self.assertGreaterEqual(debug_of(client, "fast")["tick"], tick)
            self.assertEqual(client.call("CF.MEXISTS", "slow", *added), [1] * 1000)
            wait_until(lambda: 1 not in client.call("CF.MEXISTS", "fast", *added[:500]),  # noqa: B023
                       "all are dead")  # fmt: skip

    def commands_in(self, server):
        """The commands in the append-only file: how often each name and key."""
        (path,) = glob.glob(server.path("appendonlydir/*.incr.aof"))
        with open(path, "rb") as file:
            words = [line for line in file.read().split(b"\r\n") if line[:1] not in (b"$", b"*")]
        return collections.Counter(
            (word.decode(), words[i + 1].decode()) for i, word in enumerate(words)
            if word.startswith(b"CF.")
        )  # fmt: skip

    def test_ticks_that_change_no_answer_are_not_sent(self):
        server, client = self.timed(self.AOF)
        replica = self.replica(server, arguments=())
        follower = self.connect(replica)
        client.call("CF.RESERVE", "empty", 1000, "WINDOW", 1)
        client.call("CF.RESERVE", "large", 3_000_000, "WINDOW", 1)
        client.call("CF.RESERVE", "idle", 1000, "WINDOW", 1)
        client.call("CF.ADD", "idle", "x")
        client.call("CF.ADD", "large", "x")
        client.call("CF.RESERVE", "busy", 1000, "WINDOW", 1)
        for key in ("idle", "large"):
            # The large one has a slice a command, and its item was not in the last.
            wait_until(lambda: empty_and_swept(client, key), "it is empty and swept")  # noqa: B023
        before = self.commands_in(server)
        wait_for_tick(client, 3 * LIFE, "busy")
        sent = self.commands_in(server)
        # All that the busy one's items needed: a tick each, and no more.
        self.assertIn(sent["CF.ADVANCE", "busy"], range(LIFE, 3 * LIFE + 10))
        self.assertEqual(sent["CF.ADVANCE", "empty"], 0)
        # The tick in which its item died; one more if another came as it was added, and a sweep.
        self.assertIn(sent["CF.ADVANCE", "idle"], (1, 2, 3))
        self.assertGreater(before["CF.ADVANCE", "large"], 15)
        self.assertEqual(sent["CF.ADVANCE", "large"], before["CF.ADVANCE", "large"])
        # What was sent is enough for all who answer.
        for key in ("idle", "large", "empty", "busy"):
            client.call("CF.ADD", key, "late")
        client.call("CONFIG", "SET", "nestline.cf-window-timer", 0)
        replica.wait_for_offset(server)
        dumps = {key: client.call("DUMP", key) for key in ("idle", "large", "empty", "busy")}
        for key, dump in dumps.items():
            self.assertEqual(follower.call("DUMP", key), dump, key)
        server.arguments = ["cf-window-timer", "0"]
        client = self.restart(server, client, "aof")
        for key, dump in dumps.items():
            self.assertEqual(client.call("DUMP", key), dump, key)

    def test_ticks_that_passed_meanwhile_are_made_up_at_once(self):
        """Time does not run slower where the timer comes late."""
        server, client = self.timed(self.AOF)
        client.call("CF.RESERVE", "w", 1000, "WINDOW", 1)
        client.call("CF.ADD", "w", "x")
        client.pipeline([("DEBUG", "SLEEP", 1.3), ("CF.ADD", "w", "y")])
        self.assertEqual(client.call("CF.EXISTS", "w", "x"), 0)
        self.assertIn(self.commands_in(server)["CF.ADVANCE", "w"], (1, 2))

    def test_the_clock_is_set_back(self):
        """The server's timers are due by it; the time of filters goes on."""
        with tempfile.NamedTemporaryFile() as clock:
            clock.write(bytes(8))
            clock.flush()
            server = self.server(arguments=(), start=False)
            server.wrapper = ["env", f"LD_PRELOAD={CLOCK}", f"NESTLINE_TEST_CLOCK={clock.name}"]
            server.start()
            client = self.connect(server)
            client.call("CF.RESERVE", "w", 1000, "WINDOW", 1)
            client.call("CF.ADD", "w", "x")
            before = int(client.call("TIME")[0])
            clock.seek(0)
            clock.write(struct.pack("=q", -100_000))
            clock.flush()
            self.assertLess(int(client.call("TIME")[0]), before - 90_000)
            wait_for_death(client, "w")
            client.call("CF.ADD", "w", "x")
            clock.seek(0)
            clock.write(struct.pack("=q", 100_000))  # ahead: no item dies before its time
            clock.flush()
            self.assertGreater(int(client.call("TIME")[0]), before + 90_000)
            client.call("CF.RESERVE", "day", 1000, "WINDOW", 86400)
            client.call("CF.ADD", "day", "x")
            wait_for_death(client, "w")
            self.assertEqual(client.call("CF.EXISTS", "day", "x"), 1)

    def test_sweep_in_slices(self):
        """A tick of a large filter is swept in slices, and the dead leave."""
        server, client = self.timed()
        client.call("CF.RESERVE", "w", 2_000_000, "WINDOW", 1)
        for part in range(10):
            client.call("CF.INSERT", "w", "ITEMS", *items(f"in-{part}", 10_000))
        wait_until(lambda: debug_of(client, "w")["items"] == 0, "all have left")
        stats = client.call("INFO", "stats").decode()
        self.assertIn("total_error_replies:0\r\n", stats)
