"""Replicas have the same bytes as the primary, however they got them. Each part of a test sends
NESTLINE_REDIS_STREAM (1000) commands."""

import os
from concurrent.futures import ThreadPoolExecutor

from module_case import ServerCase, items
from resp import Connection, Simple
from servers import free_port, wait_until
from stream import KEYS, MERGED, Stream

COMMANDS = int(os.environ.get("NESTLINE_REDIS_STREAM", "1000"))

# The replicas' configuration: as different from the primary's as can be, and without effect.
PRIMARY = ("cf-bucket-size", 4, "cf-initial-size", 60, "cf-expansion-factor", 2,
           "cf-max-expansions", 5)
OTHER = ("cf-bucket-size", 8, "cf-initial-size", 99999, "cf-max-iterations", 7,
         "cf-expansion-factor", 0, "cf-turns-over", 1, "cf-max-expansions", 1)  # fmt: skip


class ReplicaTest(ServerCase):
    def test_answers_while_it_loads_anew(self):
        """With swapdb the old filters answer until the new ones are there."""
        primary = self.server({"repl-diskless-sync": "yes", "repl-diskless-sync-delay": "0",
                               "repl-backlog-size": "16384", "save": ""})  # fmt: skip
        replica = self.replica(primary, {"repl-diskless-load": "swapdb", "save": ""})
        with Connection(primary.port) as client, Connection(replica.port) as follower:
            client.call("CF.RESERVE", "a", 100_000)
            client.call("CF.INSERT", "a", "ITEMS", *items("in", 1000))
            replica.wait_for_offset(primary)
            for number in range(60):
                client.call("SET", f"filler-{number}", "x")
            # The replica is away for longer than the backlog reaches, so all is sent anew, slowly.
            follower.call("REPLICAOF", "127.0.0.1", free_port())
            client.call("CF.INSERT", "a", "ITEMS", *items("more", 1000))
            client.call("SET", "large", b"x" * 100_000)
            client.call("CONFIG", "SET", "rdb-key-save-delay", 20_000)
            follower.call("CONFIG", "SET", "key-load-delay", 1000)
            follower.call("CONFIG", "SET", "loading-process-events-interval-bytes", 1024)
            follower.call("REPLICAOF", "127.0.0.1", primary.port)
            wait_until(lambda: replica.information("persistence")["async_loading"] == "1",
                       "the replica loads beside its filters")  # fmt: skip
            self.assertEqual(follower.call("CF.MEXISTS", "a", *items("in", 1000)), [1] * 1000)
            follower.call("CONFIG", "SET", "key-load-delay", 0)
            client.call("CONFIG", "SET", "rdb-key-save-delay", 0)
            replica.wait_for_offset(primary)
            self.assertEqual(follower.call("CF.MEXISTS", "a", *items("more", 1000)), [1] * 1000)
            self.assertEqual(follower.call("DEBUG", "DIGEST"), client.call("DEBUG", "DIGEST"))

    def stream(self, server, seed):
        stream = Stream(server.port, seed)
        self.addCleanup(lambda: stream.close())  # of the last connection
        return stream

    def assert_same(self, primary, *replicas):
        """Compares every key and every byte of it, and checks that there are some."""
        with Connection(primary.port) as client:
            for replica in replicas:
                replica.wait_for_offset(primary)
                with Connection(replica.port) as follower:
                    for key in KEYS + MERGED:
                        for command in (("CF.DEBUG", key), ("DEBUG", "DIGEST-VALUE", key)):
                            self.assertEqual(follower.call(*command), client.call(*command), key)
                    digest = client.call("DEBUG", "DIGEST")
                    self.assertNotEqual(digest, Simple("0" * 40))
                    self.assertEqual(follower.call("DEBUG", "DIGEST"), digest)

    def test_stream(self):
        primary = self.server({"repl-backlog-size": "64mb"}, arguments=PRIMARY)
        replica = self.replica(primary, arguments=OTHER)
        stream = self.stream(primary, 1)
        for _ in range(6):
            stream.run(COMMANDS // 2)
            stream.settle()
            with Connection(primary.port) as client:
                self.assertEqual(client.call("WAIT", 1, 0), 1)
            self.assert_same(primary, replica)
        # Random commands may leave out those that need a filter of many generations.
        for _ in range(300):
            if stream.done["unite"]:
                break
            stream.done["unite"] += stream.unite()
        self.assertEqual([kind for kind in stream.kinds if not stream.done[kind]], [])
        stream.settle()
        self.assert_same(primary, replica)

        # If a link is cut while commands go on, replication continues where it was.
        full = primary.information("stats")["sync_full"]
        taken_up = lambda: int(primary.information("stats")["sync_partial_ok"])  # noqa: E731
        for _ in range(3):
            before = taken_up()
            self.assertEqual(primary.call("CLIENT", "KILL", "TYPE", "replica"), 1)
            stream.run(COMMANDS // 5)
            wait_until(lambda: taken_up() > before, "the replica is back")  # noqa: B023
        stream.settle()
        self.assert_same(primary, replica)
        self.assertEqual(primary.information("stats")["sync_full"], full)

    def test_late_replicas(self):
        """The first copy arrives while commands go on; afterwards both change in the same way."""
        primary = self.server(arguments=PRIMARY)
        stream = self.stream(primary, 2)
        stream.run(COMMANDS)
        going_on = ThreadPoolExecutor(1).submit(stream.run, COMMANDS // 2)
        replicas = [self.replica(primary, {"repl-diskless-load": "swapdb"}, arguments=OTHER),
                    self.replica(primary, {"repl-diskless-load": "disabled"})]
        going_on.result()
        self.assertGreaterEqual(primary.log().count("for SYNC with target: replicas sockets"), 2)
        primary.call("CONFIG", "SET", "repl-diskless-sync", "no")
        replicas.append(self.replica(primary, arguments=OTHER))
        self.assertIn("for SYNC with target: disk", primary.log())
        # A replica of a replica.
        replicas.append(self.replica(replicas[0], arguments=OTHER))
        stream.settle()
        self.assert_same(primary, *replicas)
        stream.run(COMMANDS)
        stream.settle()
        self.assert_same(primary, *replicas)

    def test_failover(self):
        primary = self.server({"save": "3600 1"}, arguments=PRIMARY)
        replica = self.replica(primary, arguments=OTHER)
        stream = self.stream(primary, 3)
        stream.run(COMMANDS)
        with Connection(primary.port) as client:
            acknowledged = items("kept", 5000)
            client.call("DEL", "kept")
            for start in range(0, 5000, 100):
                client.call("CF.INSERT", "kept", "ITEMS", *acknowledged[start : start + 100])
            self.assertEqual(client.call("SAVE"), "OK")
            self.assertEqual(client.call("CF.ADD", "kept", "after the save"), 1)
            self.assertEqual(client.call("WAIT", 1, 0), 1)
        primary.kill()
        self.assertEqual(replica.call("REPLICAOF", "NO", "ONE"), "OK")
        self.assertEqual(
            replica.call("CF.MEXISTS", "kept", *acknowledged, "after the save"), [1] * 5001
        )
        stream.reconnect(replica.port)
        stream.run(COMMANDS)
        # The old primary has its old data, and takes the new one's.
        primary.start()
        self.assertEqual(primary.call("CF.EXISTS", "kept", "kept-0"), 1)
        self.assertEqual(primary.call("REPLICAOF", "127.0.0.1", replica.port), "OK")
        stream.run(COMMANDS // 5)
        primary.wait_for_link()
        stream.settle()
        self.assert_same(replica, primary)

    def test_copied_while_loading(self):
        """A replica that joins between two pieces takes the other pieces as the primary does."""
        primary = self.server()
        with Connection(primary.port) as client:
            client.call("CF.RESERVE", "from", 500, "ERROR", "0.001", "EXPANSION", 2)
            for start in range(0, 20000, 1000):
                client.call("CF.INSERT", "from", "ITEMS", *items("in", 20000)[start : start + 1000])
            pieces = client.pieces("from")
            self.assertGreater(len(pieces), 3)
            for iterator, piece in pieces[:2]:
                self.assertEqual(client.call("CF.LOADCHUNK", "{t}key-0", iterator, piece), "OK")
            replica = self.replica(primary)
            found = client.call("CF.MEXISTS", "{t}key-0", *items("in", 500))
            item = f"in-{found.index(1)}"
            self.assertEqual(client.call("CF.DEL", "{t}key-0", item), 1)
            self.assert_same(primary, replica)
            for iterator, piece in pieces[1:]:
                self.assertEqual(client.call("CF.LOADCHUNK", "{t}key-0", iterator, piece), "OK")
            self.assert_same(primary, replica)
            with Connection(replica.port) as follower:
                found = follower.call("CF.MEXISTS", "{t}key-0", *items("in", 20000))
                self.assertEqual(found.count(1), 20000)

    def test_evicted_and_refused(self):
        """maxmemory of the primary: replicas lose what it evicts and never get what it refuses."""
        primary = self.server({"maxmemory": "6mb", "maxmemory-policy": "allkeys-random"})
        replica = self.replica(primary, {"replica-ignore-maxmemory": "yes"}, arguments=OTHER)
        stream = self.stream(primary, 4)
        for part in range(20):
            stream.call("CF.RESERVE", f"big-{part}", 300000)
            stream.run(COMMANDS // 50)
        self.assertGreater(int(primary.information("stats")["evicted_keys"]), 0)
        primary.call("CONFIG", "SET", "maxmemory-policy", "noeviction")
        stream.run(COMMANDS // 5)
        primary.call("CONFIG", "SET", "maxmemory", "0")
        stream.settle()
        wait_until(
            lambda: primary.call("DBSIZE") == replica.call("DBSIZE"), "both have the same keys"
        )
        replica.wait_for_offset(primary)
        self.assertEqual(replica.call("DEBUG", "DIGEST"), primary.call("DEBUG", "DIGEST"))
