"""Filters with a WINDOW: commands and their errors, time, replicas, restarts, failover.

Most tests switch the module's timer off and move time on by CF.ADVANCE, so nothing depends on how
fast the machine is. Those of the timer wait for what must happen.
"""

import random
import time
import unittest

from dump import Payload
from hashing import hash_string, read_bits
from module_case import WRONG_TYPE, ModuleCase, items
from resp import Connection, Error, Simple
from servers import Server, wait_until

OFF = ("cf-window-timer", 0)
LIFE = 14  # ticks
NO_DELETES = Error(
    "ERR this filter has a WINDOW: its items expire and cannot be deleted or replaced, since others "
    "may share their places"
)
NO_COPIES = Error("ERR this filter has a WINDOW: it has each item once and counts no copies")
NO_MERGE = Error("ERR filters with a WINDOW cannot be merged")
INCOMPLETE = "ERR this filter is incomplete: pieces of it have not come yet by CF.LOADCHUNK"


def debug_of(connection, key):
    line = connection.call("CF.DEBUG", key).decode()
    return {name: int(value) for name, value in (w.split(":") for w in line.split())}


class CommandTest(ModuleCase):
    options = {"rdbcompression": "no"}  # for dump.py
    arguments = OFF

    def reserve(self, key="w", capacity=1000, window=1400, *more):
        self.expect(Simple("OK"), "CF.RESERVE", key, capacity, "WINDOW", window, *more)

    def tick(self, key="w"):
        return self.debug(key)["tick"]

    def advance(self, ticks, key="w"):
        tick = self.tick(key) + ticks
        self.expect(tick, "CF.ADVANCE", key, tick)

    def test_reserve(self):
        self.reserve()
        self.expect(Error("ERR item exists"), "CF.RESERVE", "w", 1000, "WINDOW", 10)
        self.expect(Error("ERR item exists"), "CF.RESERVE", "w", 1000)
        self.call("CF.RESERVE", "plain", 1000)
        self.expect(Error("ERR item exists"), "CF.RESERVE", "plain", 1000, "WINDOW", 10)
        self.call("SET", "text", "x")
        self.expect(WRONG_TYPE, "CF.RESERVE", "text", 1000, "WINDOW", 10)
        for text in ("x", "", "1.5", "-1", str(1 << 64)):
            self.expect_error("Couldn't parse WINDOW", "CF.RESERVE", "a", 1000, "WINDOW", text)
        for seconds in (0, 1 << 32):
            self.expect_error(
                "WINDOW: value must be in the range [1, 4294967295] seconds",
                *("CF.RESERVE", "a", 1000, "WINDOW", seconds),
            )
        for name in ("EXPANSION", "BUCKETSIZE", "MAXITERATIONS"):
            self.expect_error(
                f"ERR a filter with WINDOW does not grow and has no {name}",
                *("CF.RESERVE", "a", 1000, "WINDOW", 10, name, 2),
            )
        for capacity in (-1, 0, (1 << 30) + 1):
            self.expect_error(
                "Capacity must be in the range [1, 1073741824] with WINDOW",
                *("CF.RESERVE", "a", capacity, "WINDOW", 10),
            )
        self.expect_error("Bad capacity", "CF.RESERVE", "a", "x", "WINDOW", 10)
        self.expect_error("Couldn't parse ERROR", "CF.RESERVE", "a", 9, "WINDOW", 9, "ERROR", "x")
        for rate in ("0", "1", "-0.1"):
            self.expect_error(
                "ERROR: value must be above 0 and below 1",
                *("CF.RESERVE", "a", 9, "WINDOW", 9, "ERROR", rate),
            )
        reply = self.call("CF.RESERVE", "a", 9, "WINDOW", 9, "ERROR", "1e-9")
        self.assertRegex(reply, "^ERR Could not create filter: fpr 1e-09 is below 0.00[0-9]+, ")
        self.expect_error("Couldn't parse SEED", "CF.RESERVE", "a", 9, "WINDOW", 9, "SEED", "x")
        self.expect_error("Couldn't parse AT", "CF.RESERVE", "a", 9, "WINDOW", 9, "AT", "x")
        self.expect_error("Unknown argument received", "CF.RESERVE", "a", 9, "AT", 5)
        self.expect_wrong_arity("CF.RESERVE", "a", 9, "WINDOW")
        self.expect(0, "EXISTS", "a")
        self.reserve("one", 1, 1, "ERROR", "0.001", "SEED", (1 << 64) - 1)
        self.call("CONFIG", "SET", "maxmemory", "10mb")
        reply = self.call("CF.RESERVE", "a", 1 << 30, "WINDOW", 10)
        self.call("CONFIG", "SET", "maxmemory", "0")
        self.assertRegex(reply, "^ERR Insufficient memory to create filter: it takes [0-9]+ bytes")

    def test_new_and_seen(self):
        self.reserve()
        self.expect(1, "CF.ADD", "w", "x")
        self.expect(0, "CF.ADD", "w", "x")
        self.expect(0, "CF.ADDNX", "w", "x")
        self.expect(1, "CF.ADDNX", "w", "y")
        self.assertIs(self.three.call("CF.ADD", "w", "z"), True)
        self.assertIs(self.three.call("CF.ADD", "w", "z"), False)
        self.expect([1, 0, 1, 0], "CF.INSERT", "w", "ITEMS", "a", "x", "b", "a")
        self.expect([0, 1], "CF.INSERTNX", "w", "NOCREATE", "ITEMS", "a", "c")
        self.assertEqual(self.three.call("CF.INSERT", "w", "ITEMS", "d", "a"), [True, False])
        self.assertEqual(self.three.call("CF.INSERTNX", "w", "ITEMS", "e", "a"), [1, 0])
        self.expect_both(1, True, "CF.EXISTS", "w", "e")
        self.expect_both(0, False, "CF.EXISTS", "w", "never")
        self.expect_both([1, 0, 1], [True, False, True], "CF.MEXISTS", "w", "a", "never", "x")
        self.expect_error(Error("Unknown argument received"), "CF.INSERT", "w", "EX", 5, "ITEMS", "x")

    def test_lives(self):
        """An item lives for the rest of this tick and all of its life, and is then not found."""
        self.reserve(window=1400)  # a tick is 100 seconds
        for seconds in (1, 100, 101, 650, 1400):
            self.expect(1, "CF.ADD", "w", f"item-{seconds}", "EX", seconds)
        self.expect(1, "CF.ADDNX", "w", "whole")
        ends = {"item-1": 1, "item-100": 1, "item-101": 2, "item-650": 7, "item-1400": LIFE,
                "whole": LIFE}  # fmt: skip
        for tick in range(1, LIFE + 2):
            self.advance(1)
            wanted = [int(end >= tick) for end in ends.values()]
            self.expect(wanted, "CF.MEXISTS", "w", *ends)
        self.assertEqual(self.debug("w")["tick"], LIFE + 1)
        self.expect(1, "CF.ADD", "w", "whole")  # it is new again

    def test_renewal(self):
        self.reserve(window=14)
        self.call("CF.ADD", "w", "x", "EX", 3)
        self.call("CF.ADD", "w", "y", "EX", 9)
        self.advance(2)
        self.expect(0, "CF.ADD", "w", "x", "EX", 5)  # until tick 7
        self.expect(0, "CF.ADDNX", "w", "y", "EX", 1)  # not sooner
        self.advance(5)
        self.expect([1, 1], "CF.MEXISTS", "w", "x", "y")
        self.advance(1)
        self.expect([0, 1], "CF.MEXISTS", "w", "x", "y")
        self.advance(1)
        self.expect(1, "CF.EXISTS", "w", "y")
        self.advance(1)
        self.expect(0, "CF.EXISTS", "w", "y")

    def test_errors_of_a_life(self):
        self.reserve(window=60)
        text = "ERR EX takes whole seconds, from 1 to the window of this filter, which is 60"
        for name in ("CF.ADD", "CF.ADDNX"):
            for seconds in (0, 61, -1, "x", "1.5", ""):
                self.expect_error(text, name, "w", "x", "EX", seconds)
            self.expect_wrong_arity(name, "w", "x", "EX")
            self.expect_wrong_arity(name, "w", "x", "PX", 5)
            self.expect_wrong_arity(name, "w", "x", "EX", 5, "EX")
            text_plain = "ERR EX needs a filter with a WINDOW, which CF.RESERVE makes"
            self.expect_error(text_plain, name, "missing", "x", "EX", 5)
            self.expect(0, "EXISTS", "missing")
            self.call("CF.RESERVE", "plain", 100)
            self.expect_error(text_plain, name, "plain", "x", "EX", 5)
            self.call("SET", "text", "x")
            self.expect(WRONG_TYPE, name, "text", "x", "EX", 5)
        self.expect(0, "CF.EXISTS", "w", "x")
        self.expect(0, "CF.EXISTS", "plain", "x")

    def test_what_makes_no_sense(self):
        self.reserve()
        self.reserve("v")
        self.call("CF.RESERVE", "plain", 100)
        self.call("CF.ADD", "w", "x")
        before = self.call("DEBUG", "DIGEST-VALUE", "w")
        for command in (("CF.DEL", "w", "x"), ("CF.MDEL", "w", "x", "y"), ("CF.MDELH", "w", "h" * 8),
                        ("CF.UPDATE", "w", "x", "y")):  # fmt: skip
            self.expect(NO_DELETES, *command)
        for command in (("CF.COUNT", "w", "x"), ("CF.MCOUNTH", "w", "h" * 8)):
            self.expect(NO_COPIES, *command)
        for command in (("CF.MERGE", "w", "v"), ("CF.MERGE", "w", "plain"), ("CF.MERGE", "plain", "w"),
                        ("CF.MERGE", "new", "w")):  # fmt: skip
            self.expect(NO_MERGE, *command)
        self.expect_error(
            "ERR this filter has a WINDOW: it does not grow, so there is nothing to compact",
            *("CF.COMPACT", "w"),
        )
        self.assertEqual(self.call("DEBUG", "DIGEST-VALUE", "w"), before)
        self.expect(0, "EXISTS", "new")

    def test_advance(self):
        self.reserve()
        self.expect_wrong_arity("CF.ADVANCE", "w")
        self.expect_wrong_arity("CF.ADVANCE", "w", 5, "AT")
        self.expect_error("ERR not found", "CF.ADVANCE", "missing", 5)
        self.call("SET", "text", "x")
        self.expect(WRONG_TYPE, "CF.ADVANCE", "text", 5)
        self.call("CF.RESERVE", "plain", 100)
        self.expect_error(
            "ERR this filter has no WINDOW: its items do not expire", "CF.ADVANCE", "plain", 5
        )
        for tick in ("x", "-1", "1.5", (1 << 62) + 1, 1 << 64):
            self.expect_error("Couldn't parse tick", "CF.ADVANCE", "w", tick)
        self.expect_error("Couldn't parse AT", "CF.ADVANCE", "w", 5, "AT", "x")
        self.expect_error("Couldn't parse SWEEP", "CF.ADVANCE", "w", 5, "SWEEP", "x")
        self.expect_error("Unknown argument received", "CF.ADVANCE", "w", 5, "IN", 5)
        self.assertEqual(self.tick(), 0)
        self.expect(5, "CF.ADVANCE", "w", 5)
        self.expect(5, "CF.ADVANCE", "w", 4)  # never back
        self.expect(5, "CF.ADVANCE", "w", 5)
        self.expect(6, "CF.ADVANCE", "w", 6, "AT", 123456)
        self.assertEqual(self.debug("w")["time"], 123456)
        blocks = self.debug("w")["unswept"]
        self.assertEqual(blocks, self.debug("w")["buckets"])
        self.expect(6, "CF.ADVANCE", "w", 6, "SWEEP", 1 << 40)
        self.assertEqual(self.debug("w")["unswept"], 0)
        self.call("CF.ADD", "w", "x")
        self.expect(1 << 62, "CF.ADVANCE", "w", 1 << 62)
        self.expect(0, "CF.EXISTS", "w", "x")
        self.expect(1, "CF.ADD", "w", "x")

    def test_full(self):
        self.reserve(capacity=1, window=14)
        replies = [self.call("CF.ADD", "w", item) for item in items("in", 3000)]
        self.assertIn("Filter is full", replies)
        self.assertEqual(set(replies), {0, 1, Error("Filter is full")})
        items_in = [item for item, reply in zip(items("in", 3000), replies) if reply in (0, 1)]
        self.assert_all_found("w", items_in)
        replies = self.call("CF.INSERT", "w", "ITEMS", *items("more", 3000))
        self.assertIn(-1, replies)
        self.assertEqual(set(replies) - {0, 1}, {-1})
        self.assertIn(-1, self.call("CF.INSERTNX", "w", "ITEMS", *items("again", 3000)))
        # A boolean cannot name the reason.
        self.assertIn(False, self.three.call("CF.INSERT", "w", "ITEMS", *items("third", 100)))
        self.assertIn(-1, self.three.call("CF.INSERTNX", "w", "ITEMS", *items("fourth", 100)))
        self.advance(LIFE + 1)
        self.expect(1, "CF.ADD", "w", "in-0")

    def test_hashes(self):
        self.reserve("w", 1000, 14, "SEED", 42)
        hashes = [hash_string([f"in-{i}"], 42) for i in range(300)]
        everything = b"".join(hashes)
        new = sum(read_bits(self.call("CF.MADDH", "w", everything), 300))
        self.assertIn(new, range(285, 301))  # but for items that look the same
        self.expect(b"\0" * 38, "CF.MADDNXH", "w", everything)
        self.expect(b"\x02", "CF.MADDH", "w", hashes[0] + b"12345678")
        self.assert_all_found("w", items("in", 300))
        self.expect(b"\xff" * 37 + b"\x0f", "CF.MEXISTSH", "w", everything)
        for name in ("CF.MADDH", "CF.MADDNXH", "CF.MEXISTSH"):
            self.assertRegex(self.call(name, "w", "1234567"), "^ERR hashes take 8 bytes each")
        self.advance(LIFE + 1)
        self.expect(b"\0" * 38, "CF.MEXISTSH", "w", everything)
        info = self.info("w")
        self.assertEqual((info["Seed"], info["Hash version"]), (b"42", 2))

    def test_info(self):
        self.reserve("w", 1000, 600, "ERROR", "0.001", "SEED", 7)
        self.call("CF.INSERT", "w", "ITEMS", *items("in", 500))
        self.advance(3)
        names = ["Size", "Number of buckets", "Number of filters", "Number of items inserted",
                 "Number of items deleted", "Bucket size", "Expansion rate", "Max iterations",
                 "Window", "Ticks", "Alive"]  # fmt: skip
        flat = self.call("CF.INFO", "w")
        self.assertEqual(flat[::2], names)
        info = dict(zip(flat[::2], flat[1::2]))
        self.assertEqual((info["Window"], info["Ticks"]), (600, 3))
        self.assertIn(info["Alive"], range(495, 501))  # but for items that look the same
        self.assertEqual(list(self.three.call("CF.INFO", "w")), names)
        full = self.info("w")
        self.assertEqual(list(full)[len(names):],
                         ["Capacity", "Expected error rate", "Seed", "Hash version"])  # fmt: skip
        self.assertGreaterEqual(full["Capacity"], 1000)
        self.assertLess(float(full["Expected error rate"]), 0.001)
        self.advance(LIFE + 1)
        self.assertEqual(self.info("w")["Alive"], 0)
        wrong = sum(self.call("CF.MEXISTS", "w", *items("out", 20000)))
        self.assertEqual(wrong, 0)

    def test_error_rate(self):
        for rate, most in ((0.02, 1600), (0.002, 210)):
            self.reserve(f"w{rate}", 20000, 14, "ERROR", rate)
            self.call("CF.INSERT", f"w{rate}", "ITEMS", *items("in", 20000))
            wrong = sum(self.call("CF.MEXISTS", f"w{rate}", *items("out", 80000)))
            self.assertLess(wrong, most)

    def test_clear(self):
        self.reserve()
        self.call("CF.INSERT", "w", "ITEMS", *items("in", 100))
        self.advance(2)
        self.expect(Simple("OK"), "CF.CLEAR", "w")
        self.expect([0] * 100, "CF.MEXISTS", "w", *items("in", 100))
        self.assertEqual((self.tick(), self.info("w")["Alive"]), (2, 0))
        self.expect(1, "CF.ADD", "w", "in-1")

    def test_copies(self):
        """COPY, DUMP, RESTORE, RENAME, MOVE: the same bytes, which go on alike."""
        self.reserve("w", 3000, 14)
        self.call("CF.INSERT", "w", "ITEMS", *items("in", 1000))
        self.advance(2)
        self.call("CF.INSERT", "w", "ITEMS", *items("more", 500))
        payload = self.call("DUMP", "w")
        self.expect(1, "COPY", "w", "copy")
        self.expect(Simple("OK"), "RESTORE", "restored", 0, payload)
        self.assertEqual(self.call("DUMP", "restored"), payload)
        self.assertGreater(self.call("MEMORY", "USAGE", "w"), 3000 * 14 // 8)
        self.expect(Simple("OK"), "RENAME", "copy", "renamed")
        keys = ["w", "renamed", "restored"]
        for key in keys:
            self.call("CF.INSERT", key, "ITEMS", *items("last", 100))
            self.expect(6, "CF.ADVANCE", key, 6, "AT", 123)
        digests = {self.call("DEBUG", "DIGEST-VALUE", key)[0] for key in keys}
        self.assertEqual(len(digests), 1)
        self.expect(1, "UNLINK", "w")

    def test_chunks(self):
        self.reserve("w", 2_000_000, 1400)
        for part in range(20):
            self.call("CF.INSERT", "w", "ITEMS", *items(f"in-{part}", 1000))
        self.advance(1)
        self.call("CF.INSERT", "w", "ITEMS", *items("late", 1000))
        pieces = self.dump("w")
        self.assertGreaterEqual(len(pieces), 4)
        for number, (iterator, piece) in enumerate(pieces):
            if number > 1:
                for command in (("CF.ADD", "c", "x"), ("CF.INSERT", "c", "ITEMS", "x"),
                                ("CF.MADDH", "c", b"h" * 8), ("CF.MEXISTSH", "c", b"h" * 8),
                                ("CF.ADVANCE", "c", 100), ("CF.CLEAR", "c")):  # fmt: skip
                    self.expect_error(INCOMPLETE, *command)
            self.expect_error("Couldn't load chunk!" if number else "Invalid header",
                              "CF.LOADCHUNK", "c", iterator, piece[:-1] + b"x")  # fmt: skip
            self.expect(Simple("OK"), "CF.LOADCHUNK", "c", iterator, piece)
            if number == 2:  # it is saved and goes on
                self.restart()
        self.assertEqual(self.call("DUMP", "c"), self.call("DUMP", "w"))
        self.expect([1, 1], "CF.MEXISTS", "c", "in-3-4", "late-7")
        self.expect(Error("ERR item exists"), "CF.LOADCHUNK", "c", *pieces[0])
        for iterator in (0, "x"):
            self.expect_error("Invalid position", "CF.LOADCHUNK", "c", iterator, pieces[1][1])
        self.expect_error("Couldn't load chunk!", "CF.LOADCHUNK", "c", -2, pieces[1][1])
        self.expect([0, None], "CF.SCANDUMP", "w", 1000)

    def test_hostile_payloads(self):
        self.reserve("w", 100, 1400)
        self.call("CF.INSERT", "w", "ITEMS", *items("in", 50))
        good = self.call("DUMP", "w")
        chance = random.Random(7)
        for _ in range(300):
            payload = Payload(good)
            number = chance.randrange(1, len(payload.fields) - 1)
            kind, value = payload.fields[number]
            self.assertEqual(kind, "string")
            at = chance.randrange(len(value))
            value = value[:at] + bytes([value[at] ^ 1 << chance.randrange(8)]) + value[at + 1 :]
            payload.fields[number] = kind, value
            self.expect_error("ERR Bad data format", "RESTORE", "x", 0, payload.bytes())
        for cut in range(1, 4):
            payload = Payload(good)
            del payload.fields[cut]
            self.expect_error("ERR Bad data format", "RESTORE", "x", 0, payload.bytes())
        self.expect(0, "EXISTS", "x")
        self.expect(Simple("OK"), "RESTORE", "x", 0, Payload(good).bytes())

    def test_events_and_watch(self):
        self.call("CONFIG", "SET", "notify-keyspace-events", "KEA")
        self.reserve()
        with Connection(self.server.port) as listener:
            listener.call("SUBSCRIBE", "__keyspace@0__:w")
            for command in (("CF.ADD", "w", "x"), ("CF.ADD", "w", "x"), ("CF.ADDNX", "w", "x"),
                            ("CF.INSERT", "w", "ITEMS", "y"), ("CF.MADDH", "w", b"h" * 8),
                            ("CF.ADVANCE", "w", 3), ("CF.ADVANCE", "w", 2), ("CF.CLEAR", "w")):
                self.call(*command)
            events = [listener.read()[2] for _ in range(7)]
        self.call("CONFIG", "SET", "notify-keyspace-events", "")
        self.assertEqual(events, [b"cf.add", b"cf.add", b"cf.addnx", b"cf.insert", b"cf.maddh",
                                  b"cf.advance", b"cf.clear"])  # fmt: skip
        for command, is_seen in ((("CF.ADD", "w", "x"), True), (("CF.ADVANCE", "w", 4), True),
                                 (("CF.ADVANCE", "w", 4), False), (("CF.EXISTS", "w", "x"), False)):
            self.two.call("WATCH", "w")
            self.three.call(*command)
            self.two.call("MULTI")
            self.two.call("PING")
            self.assertEqual(self.two.call("EXEC") is None, is_seen, command)

    def test_redis_py(self):
        """The calls of redis-py, which know nothing of windows."""
        client = self.server.client()
        client.execute_command("CF.RESERVE", "w", 1000, "WINDOW", 600)
        filters = client.cf()
        self.assertEqual(filters.add("w", "x"), 1)
        self.assertEqual(filters.add("w", "x"), 0)
        self.assertEqual(filters.addnx("w", "x"), 0)
        self.assertEqual(filters.insert("w", ["x", "y"]), [0, 1])
        self.assertEqual(filters.insertnx("w", ["x", "z"]), [0, 1])
        self.assertEqual(filters.exists("w", "z"), 1)
        info = filters.info("w")
        self.assertEqual((info.insertedNum, info.deletedNum, info.filterNum), (3, 0, 1))
        iterator, head = filters.scandump("w", 0)
        pieces = []
        while iterator:
            pieces.append((iterator, head))
            iterator, head = filters.scandump("w", iterator)
        for iterator, piece in pieces:
            filters.loadchunk("c", iterator, piece)
        self.assertEqual(filters.exists("c", "y"), 1)
        client.close()


class Processes(unittest.TestCase):
    def server(self, options=None, arguments=OFF):
        server = Server(options, arguments)
        self.addCleanup(server.remove)
        return server

    def replica(self, primary, options=None, arguments=OFF):
        replica = Server.replica_of(primary, options, arguments=arguments)
        self.addCleanup(replica.remove)
        return replica

    def connect(self, server):
        connection = Connection(server.port)
        self.addCleanup(connection.close)
        return connection


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
        primary = self.server({"appendonly": "yes"})
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
        primary = self.server(arguments=())
        replica = self.replica(primary, arguments=())
        client = self.connect(primary)
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
            # Until a sweep has begun and not ended.
            wait_until(lambda: 4096 < debug_of(client, "wide")["unswept"] < 80_000, "it sweeps")
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
        wait_until(lambda: debug_of(follower, "w2")["tick"] > 3, "time moves on")
        self.assertEqual(client.call("FAILOVER"), Simple("OK"))
        wait_until(lambda: replica.information("replication")["role"] == "master", "it is promoted")
        for key in ("w", "w2"):
            tick = debug_of(follower, key)["tick"]
            wait_until(lambda: debug_of(follower, key)["tick"] > tick + 3, "time moves on")  # noqa: B023
        primary.wait_for_link()
        wait_until(lambda: debug_of(client, "w")["tick"] > tick + 6, "it follows")
        follower.call("CONFIG", "SET", "nestline.cf-window-timer", 0)
        primary.wait_for_offset(replica)
        self.assertEqual(client.call("DUMP", "w"), follower.call("DUMP", "w"))
        primary.assert_alive()

    def test_nothing_changes_while_writes_are_paused(self):
        primary = self.server(arguments=())
        replica = self.replica(primary, arguments=())
        client = self.connect(primary)
        client.call("CF.RESERVE", "w", 1000, "WINDOW", 1)
        wait_until(lambda: debug_of(client, "w")["tick"] > 1, "time moves on")
        client.call("CLIENT", "PAUSE", 100_000, "WRITE")
        tick = debug_of(client, "w")["tick"]
        commands = int(primary.information("server")["hz"])
        loops = lambda: int(primary.information("stats")["total_commands_processed"])  # noqa: E731
        end = loops() + 300 + commands
        while loops() < end:  # many turns of the timer
            client.call("PING")
            time.sleep(0.001)
        self.assertEqual(debug_of(client, "w")["tick"], tick)
        client.call("CLIENT", "UNPAUSE")
        wait_until(lambda: debug_of(client, "w")["tick"] > tick, "time moves on again")
        primary.assert_alive()
        replica.assert_alive()

    def test_keys_that_move(self):
        primary = self.server(arguments=())
        client = self.connect(primary)

        def moves_on(key):
            tick = debug_of(client, key)["tick"]
            wait_until(lambda: debug_of(client, key)["tick"] > tick, f"the time of {key} moves on")

        client.call("CF.RESERVE", "w", 1000, "WINDOW", 1)
        moves_on("w")
        client.call("RENAME", "w", "a")
        moves_on("a")
        client.call("COPY", "a", "b")
        moves_on("b")
        payload = client.call("DUMP", "b")
        client.call("RESTORE", "c", 0, payload)
        moves_on("c")
        client.call("MOVE", "c", 3)
        client.call("COPY", "b", "d", "DB", 4)
        client.call("SELECT", 3)
        moves_on("c")
        client.call("SELECT", 4)
        moves_on("d")
        client.call("SWAPDB", 4, 5)
        client.call("SELECT", 5)
        moves_on("d")
        for iterator, piece in self.pieces(client, "d"):
            client.call("CF.LOADCHUNK", "e", iterator, piece)
        moves_on("e")
        client.call("DEBUG", "RELOAD")
        moves_on("e")
        client.call("SELECT", 0)
        moves_on("a")
        client.call("SET", "a", "text")
        client.call("DEL", "b")
        client.call("FLUSHALL")
        client.call("CF.RESERVE", "a", 1000, "WINDOW", 1)
        moves_on("a")

    @staticmethod
    def pieces(client, key):
        iterator = 0
        while True:
            iterator, piece = client.call("CF.SCANDUMP", key, iterator)
            if not iterator:
                return
            yield iterator, piece


class RestartTest(Processes):
    """The time between saving and loading counts. AT is the wall clock's time of a tick, as the
    primary would have replicated it; giving another one is as if the server had been away."""

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
        wait_until(lambda: debug_of(client, "w")["tick"] >= tick, f"it is tick {tick}")
        self.assertEqual(debug_of(client, "w")["tick"], tick)

    def each_way(self):
        for way, options in (("rdb", {}), ("aof", {"appendonly": "yes"}),
                             ("rewritten", {"appendonly": "yes", "aof-use-rdb-preamble": "no"})):
            with self.subTest(way):
                server = self.server(options)
                client = self.connect(server)
                self.fill(client)
                if way == "rewritten":
                    server.rewrite_aof()
                server.arguments = ["cf-window-timer", "1"]
                yield server, client, way

    def test_due_keys_die_soon(self):
        self.ago(4.5)
        for server, client, way in self.each_way():
            self.assertEqual(client.call("CF.MEXISTS", "w", "short", "long"), [1, 1])
            client = self.restart(server, client, way)
            self.settled(client, 5)
            self.assertEqual(client.call("CF.MEXISTS", "w", "short", "long"), [0, 1])

    def test_all_die_after_a_life(self):
        self.ago(1_000_000)
        for server, client, way in self.each_way():
            client = self.restart(server, client, way)
            self.settled(client, 1 + LIFE + 1)  # the rest is left out
            self.assertEqual(client.call("CF.MEXISTS", "w", "short", "long"), [0, 0])
            self.assertEqual(client.call("CF.ADD", "w", "long"), 1)

    def test_a_clock_that_was_set_back(self):
        """Nothing is lost, and a tick begins when the value is loaded."""
        self.ago(-1_000_000)
        for server, client, way in self.each_way():
            client = self.restart(server, client, way)
            self.assertEqual(client.call("CF.MEXISTS", "w", "short", "long"), [1, 1])
            self.assertEqual(debug_of(client, "w")["tick"], 1)
        # And time goes on, as a window that is short shows.
        server = self.server(arguments=())
        client = self.connect(server)
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

    def test_a_late_timer(self):
        """An item that comes while a tick is overdue is found until its window has passed."""
        server = self.server(arguments=())
        client = self.connect(server)
        client.call("CF.RESERVE", "w", 1000, "WINDOW", 1)
        for number in range(3):
            begin = time.monotonic()
            replies = client.pipeline([("DEBUG", "SLEEP", "0.9"), ("CF.ADD", "w", f"late-{number}")])
            self.assertEqual(replies, [Simple("OK"), 1])
            while True:
                found = client.call("CF.EXISTS", "w", f"late-{number}")
                if time.monotonic() >= begin + 0.9 + 1:
                    break
                self.assertEqual(found, 1)
            wait_until(lambda: client.call("CF.EXISTS", "w", f"late-{number}") == 0, "it dies")  # noqa: B023

    def test_the_last_tick(self):
        """At the last tick time stands, and what is saved can be loaded."""
        server = self.server(arguments=())
        client = self.connect(server)
        client.call("CF.RESERVE", "w", 1000, "WINDOW", 1)
        self.assertEqual(client.call("CF.ADVANCE", "w", 1 << 62), 1 << 62)
        client.call("CF.RESERVE", "other", 1000, "WINDOW", 1)
        wait_until(lambda: debug_of(client, "other")["tick"] > 2, "the timer runs")
        client = self.restart(server, client, "rdb")
        self.assertEqual(debug_of(client, "w")["tick"], 1 << 62)
        self.assertEqual(client.call("CF.ADD", "w", "x"), 1)
        self.assertEqual(client.call("CF.EXISTS", "w", "x"), 1)

    def test_kill_while_time_moves(self):
        """What was acknowledged before the kill is there, as far as it has not lived its life."""
        server = self.server({"appendonly": "yes", "appendfsync": "always"}, arguments=())
        client = self.connect(server)
        client.call("CF.RESERVE", "fast", 1000, "WINDOW", 1)
        client.call("CF.RESERVE", "slow", 200_000, "WINDOW", 100_000)
        for round_number in range(3):
            added = items(f"round-{round_number}", 1000)
            client.call("CF.INSERT", "slow", "ITEMS", *added)
            client.call("CF.INSERT", "fast", "ITEMS", *added[:500])
            tick = debug_of(client, "fast")["tick"]
            wait_until(lambda: debug_of(client, "fast")["tick"] > tick, "time moves on")  # noqa: B023
            client.close()
            server.kill()
            server.start()
            client = self.connect(server)
            self.assertGreaterEqual(debug_of(client, "fast")["tick"], tick)
            self.assertEqual(client.call("CF.MEXISTS", "slow", *added), [1] * 1000)
            wait_until(lambda: 1 not in client.call("CF.MEXISTS", "fast", *added[:500]),  # noqa: B023
                       "all are dead")  # fmt: skip

    def test_sweep_in_slices(self):
        """A tick of a large filter is swept in slices, and the dead leave."""
        server = self.server(arguments=())
        client = self.connect(server)
        client.call("CF.RESERVE", "w", 2_000_000, "WINDOW", 1)
        for part in range(10):
            client.call("CF.INSERT", "w", "ITEMS", *items(f"in-{part}", 10_000))
        wait_until(lambda: debug_of(client, "w")["items"] == 0, "all have left")
        stats = client.call("INFO", "stats").decode()
        self.assertIn("total_error_replies:0\r\n", stats)


if __name__ == "__main__":
    unittest.main()
