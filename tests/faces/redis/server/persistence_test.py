"""What survives RDB, append-only files, DUMP and RESTORE, COPY; and memory, events and WATCH."""

import glob

from module_case import ModuleCase, items
from resp import Simple, encode
from servers import ServerTrouble, wait_until

OK = Simple("OK")


class PersistentCase(ModuleCase):
    def turn_over(self, key):
        """A filter that turns over, nearly full, all of whose items were replaced."""
        self.call("CF.RESERVE", key, 10000, "ERROR", "0.05", "EXPANSION", 0, "TURNSOVER", 1)
        self.add_all(key, items("old", 9000))
        for reply in self.two.pipeline([
            command
            for old, new in zip(items("old", 9000), items("new", 9000))
            for command in (("CF.DEL", key, old), ("CF.ADD", key, new))
        ]):  # fmt: skip
            self.assertEqual(reply, 1)


class PersistenceTest(PersistentCase):
    options = {"appendonly": "no"}

    def fill(self):
        """Keys of several kinds; returns what must be found in each."""
        self.call("CF.RESERVE", "empty", 5000, "BUCKETSIZE", 4, "EXPANSION", 2)
        self.call("CF.RESERVE", "grown", 64, "EXPANSION", 1)
        self.add_all("grown", items("g", 20000))
        self.expect(OK, "CF.RESERVE", "strict", 1000, "ERROR", "0.0003")
        self.add_all("strict", items("s", 3000))
        self.add_all("default", items("d", 10))
        self.add_all("copies", ["same"] * 300)
        self.turn_over("turning")
        self.call("CF.DEL", "default", "d-9")
        return {"empty": [], "grown": items("g", 20000), "strict": items("s", 3000),
                "default": items("d", 9), "copies": ["same"],
                "turning": items("new", 9000)}  # fmt: skip

    def state(self, wanted):
        return {key: (self.call("CF.DEBUG", key), self.info(key)["Turns over"],
                      self.call("CF.MEXISTS", key, *found, *items("other", 1000)))
                for key, found in wanted.items()}

    def digest(self):
        return self.call("DEBUG", "DIGEST")

    def test_rdb(self):
        wanted = self.fill()
        before, digest = self.state(wanted), self.digest()
        self.assertNotEqual(digest, Simple("0" * 40))
        self.restart(save=True)
        self.assertEqual(self.state(wanted), before)
        self.assertEqual(self.digest(), digest)
        for key, found in wanted.items():
            if found:
                self.assert_all_found(key, found)
        self.expect(300, "CF.COUNT", "copies", "same")
        self.call("DEBUG", "RELOAD")
        self.assertEqual(self.digest(), digest)

    def test_dump_restore_copy(self):
        wanted = self.fill()
        for key in wanted:
            payload = self.call("DUMP", key)
            self.expect(OK, "RESTORE", "restored", 0, payload, "REPLACE")
            self.expect(1, "COPY", key, "copied", "REPLACE")
            lines = {self.call("CF.DEBUG", name) for name in (key, "restored", "copied")}
            self.assertEqual(len(lines), 1)
            digests = self.call("DEBUG", "DIGEST-VALUE", key, "restored", "copied")
            self.assertEqual(len(set(digests)), 1, digests)
        self.call("CF.ADD", "copied", "one more")
        first, second = self.call("DEBUG", "DIGEST-VALUE", "copies", "copied")
        self.assertNotEqual(first, second)

    def test_memory_is_the_servers(self):
        used = lambda: int(self.server.information("memory")["used_memory"])  # noqa: E731
        before = used()
        self.call("CF.RESERVE", "a", 10000000)
        size = self.info("a")["Size"]
        self.assertGreater(size, 12000000)
        grown = used() - before
        # Buffers of connections come and go in between.
        self.assertTrue(size * 0.99 <= grown <= size * 1.26, (size, grown))
        self.call("UNLINK", "a")
        wait_until(lambda: used() - before < 1000000, "the filter's memory is back")

    def test_events_and_watch(self):
        commands = [("CF.ADD", "a", "x"), ("CF.ADDNX", "a", "x"), ("CF.INSERT", "a", "ITEMS", "x", "y"),
                    ("CF.EXISTS", "a", "x"), ("CF.DEL", "a", "none of them"), ("CF.DEL", "a", "x"),
                    ("CF.MDEL", "a", "y"), ("CF.COMPACT", "a"), ("CF.CLEAR", "a")]  # fmt: skip
        self.expect_events("a", commands, ["cf.reserve", "cf.add", "cf.insert", "cf.del",
                                           "cf.mdel", "cf.compact", "cf.clear"])  # fmt: skip
        self.call("CF.ADD", "a", "x")
        self.expect_watched((("CF.EXISTS", "a", "x"), False), (("CF.ADDNX", "a", "x"), False),
                            (("CF.DEL", "a", "none"), False), (("CF.ADD", "a", "y"), True),
                            (("CF.DEL", "a", "y"), True))  # fmt: skip


class AppendOnlyTest(PersistentCase):
    options = {"appendonly": "yes", "appendfsync": "always"}

    def append_to_file(self, *commands):
        """To the append-only file of a server that does not run."""
        with open(glob.glob(self.server.path("appendonlydir/*.incr.aof"))[-1], "ab") as file:
            for command in commands:
                file.write(encode(*command))

    def test_tables_with_corrections(self):
        """Items for which the tables of a RedisBloom server have no place here."""
        wanted = [f"i{i}" for i in range(60)]
        self.call("SET", "other", "key")
        self.server.stop()
        self.append_to_file(("CF.RESERVE", "k", 8, "BUCKETSIZE", 2, "EXPANSION", 0),
                            ("CF.INSERT", "k", "ITEMS", *wanted))
        self.server.start()
        self.connect()
        self.assert_all_found("k", wanted)
        digest = self.call("DEBUG", "DIGEST")
        for iterator, piece in self.dump("k"):
            self.expect(OK, "CF.LOADCHUNK", "copy", iterator, piece)
        self.assert_all_found("copy", wanted)
        self.call("DEL", "copy")
        for preamble in ("no", "yes"):
            self.call("CONFIG", "SET", "aof-use-rdb-preamble", preamble)
            self.server.rewrite_aof()
            self.restart(save=False)
            self.assertEqual(self.call("DEBUG", "DIGEST"), digest)
            self.assert_all_found("k", wanted)

    def test_a_piece_that_does_not_load_ends_the_server(self):
        self.call("CF.RESERVE", "k", 1000)
        self.add_all("k", items("in", 900))
        iterator, piece = self.dump("k")[-1]
        damaged = piece[:100] + bytes([piece[100] ^ 1]) + piece[101:]
        self.server.stop()
        self.append_to_file(("CF.LOADCHUNK", "k", iterator, damaged))
        with self.assertRaisesRegex(ServerTrouble, "piece of the cuckoo filter 'k'"):
            self.server.start()
        path = glob.glob(self.server.path("appendonlydir/*.incr.aof"))[-1]
        with open(path, "rb") as file:
            content = file.read()
        with open(path, "wb") as file:
            file.write(content.replace(encode("CF.LOADCHUNK", "k", iterator, damaged), b""))
        self.server.start()
        self.connect()
        self.assert_all_found("k", items("in", 900))

    def test_a_filter_keeps_the_widths_of_its_version(self):
        """Versions that know 8, 12 and 16 bits neither write WIDTHS nor read a filter of 5."""
        asked = ("EXPANSION", 0, "ERROR", "0.01", "SEED", 5)
        self.expect(OK, "CF.RESERVE", "new", 1000, *asked, "WIDTHS", 5)
        self.expect(OK, "CF.RESERVE", "plain", 1000, *asked)
        self.expect(OK, "CF.RESERVE", "new3", 1000, *asked, "WIDTHS", 3)
        self.server.stop()
        self.append_to_file(("CF.RESERVE", "old", 1000, *asked))
        self.server.start()
        self.connect()
        for name, bits in (("new", 10), ("old", 12), ("new3", 12), ("plain", 12)):
            self.add_all(name, items("in", 1000))
            self.assert_all_found(name, items("in", 1000))
            self.assertEqual(self.dump(name)[0][1][128], bits, name)
        self.assertEqual(self.dump("old"), self.dump("new3"))

    def test_replayed_filters_turn_over_as_they_did(self):
        """Neither this server's configuration nor a RedisBloom that reads the word decides."""
        self.expect(OK, "CF.RESERVE", "yes", 5000, "TURNSOVER", 1)
        self.expect(OK, "CF.RESERVE", "no", 5000)
        self.server.stop()
        self.append_to_file(("CF.RESERVE", "old", 5000, "SEED", 5),
                            ("CF.RESERVE", "bloom", 5000, "TURNSOVER", 1),
                            ("CF.RESERVE", "odd", 5000, "WIDTHS", "x", "TURNSOVER", "x"),
                            ("CF.ADD", "added", "x"))  # fmt: skip
        self.server.start()
        self.connect()
        self.expect(OK, "CONFIG", "SET", "nestline.cf-turns-over", 1)
        self.call("DEBUG", "LOADAOF")
        self.expect(OK, "CONFIG", "SET", "nestline.cf-turns-over", 0)
        for key in ("yes", "no", "old", "bloom", "odd", "added"):
            self.assertEqual(self.info(key)["Turns over"], int(key == "yes"), key)
        self.add_all("bloom", ["x"])  # a sub_filter beside the tables
        self.assertEqual(self.info("bloom")["Turns over"], 0)

    def test_replay_and_rewrite(self):
        self.turn_over("turning")
        self.add_all("a", items("a", 3000))
        self.call("CF.INSERTNX", "b", "CAPACITY", 5000, "ITEMS", *items("b", 4000))
        self.call("CF.RESERVE", "empty", 777, "BUCKETSIZE", 3, "ERROR", "0.01")
        self.call("CF.RESERVE", "narrow", 777, "ERROR", "0.012", "EXPANSION", 0, "WIDTHS", 5)
        self.call("MULTI")
        self.call("CF.ADD", "c", "x")
        self.call("CF.ADD", "c", "x")
        self.call("CF.UPDATE", "c", "x", "y")
        self.call("EXEC")
        self.call("CF.MDEL", "b", "b-1", "b-2", "none of them")
        self.call("CF.MERGE", "d", "a")
        self.call("CF.CLEAR", "c")
        self.call("CF.ADD", "c", "z")
        digest = self.call("DEBUG", "DIGEST")
        self.restart(save=False)
        self.assertEqual(self.call("DEBUG", "DIGEST"), digest)
        for preamble in ("no", "yes"):
            self.call("CONFIG", "SET", "aof-use-rdb-preamble", preamble)
            self.server.rewrite_aof()
            self.call("CF.ADD", "a", f"after-{preamble}")
            digest = self.call("DEBUG", "DIGEST")
            self.restart(save=False)
            self.assertEqual(self.call("DEBUG", "DIGEST"), digest)
        self.assert_all_found("a", items("a", 3000) + ["after-no", "after-yes"])
        self.assertEqual(self.debug("empty")["bktsize"], 3)

    def test_stopped_by_the_limit(self):
        """Items that cf-max-expansions refused are not added by a replay without that limit."""
        self.call("CONFIG", "SET", "nestline.cf-max-expansions", 1)
        self.expect(OK, "CF.RESERVE", "a", 100, "ERROR", "0.0003", "EXPANSION", 1)
        refused = 0
        for start in range(0, 20000, 1000):
            part = items("in", start + 1000)[start:]
            refused += self.call("CF.INSERT", "a", "ITEMS", *part).count(-1)
        self.assertGreater(refused, 0)
        digest = self.call("DEBUG", "DIGEST")
        self.restart(save=False)
        self.assertEqual(self.call("DEBUG", "DIGEST"), digest)

    def test_kill_while_writing(self):
        """No acknowledged command is lost."""
        rounds = 3
        for number in range(rounds):
            acknowledged = []
            for first in range(0, 4000, 20):
                part = [f"r{number}-{first + i}" for i in range(20)]
                replies = self.two.pipeline([("CF.ADD", "a", item) for item in part])
                self.assertEqual(replies, [1] * len(part))
                acknowledged += part
            # A pipeline is on its way when the server is killed.
            self.two.socket.sendall(b"*3\r\n$6\r\nCF.ADD\r\n$1\r\na\r\n$1\r\nx\r\n" * 500)
            self.server.kill()
            self.server.start()
            self.connect()
            self.assert_all_found("a", acknowledged)
            self.assertGreaterEqual(self.debug("a")["items"], len(acknowledged))
