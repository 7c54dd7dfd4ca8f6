"""CF.MEXISTSH, MADDH, MADDNXH, MDELH, MCOUNTH: commands on hashes in place of items."""

import glob
import random

from chunks_test import redisbloom_filter
from hashing import hash_string, read_bits
from module_case import ModuleCase, WRONG_TYPE, items
from replay_test import commands
from resp import Connection, Error
from servers import Server

NAMES = ("CF.MEXISTSH", "CF.MADDH", "CF.MADDNXH", "CF.MDELH", "CF.MCOUNTH")
SEED = (1 << 64) - 3  # more than an integer of the protocol holds


class HashesCase(ModuleCase):
    def reserve(self, key, capacity=1000, *options, seed=SEED):
        self.expect("OK", "CF.RESERVE", key, capacity, "SEED", seed, *options)

    def bits(self, name, key, wanted, seed=SEED):
        """The answers of a command on the hashes of these items."""
        return read_bits(self.call(name, key, hash_string(wanted, seed)), len(wanted))

    def counts(self, key, wanted):
        reply = self.call("CF.MCOUNTH", key, hash_string(wanted, SEED))
        self.assertEqual(len(reply), len(wanted))
        return list(reply)


class HashesTest(HashesCase):
    def test_bits_in_both_protocols(self):
        self.reserve("a")
        nine = hash_string(items("in", 9), SEED)
        mixed = hash_string(["in-0", "out", "in-1", "out", "out", "out", "out", "in-2", "in-3"],
                            SEED)
        self.expect(b"\xff\x01", "CF.MADDH", "a", nine)
        self.expect_both(b"\x85\x01", b"\x85\x01", "CF.MEXISTSH", "a", mixed)
        self.expect_both(b"\xff\x01", b"\xff\x01", "CF.MADDH", "a", nine)
        counts = bytes([3, 0, 3, 0, 0, 0, 0, 3, 3])
        self.expect_both(counts, counts, "CF.MCOUNTH", "a", mixed)
        self.expect_both(b"\0\0", b"\0\0", "CF.MADDNXH", "a", nine)
        self.expect_both(b"\xff\x01", b"\xff\x01", "CF.MDELH", "a", nine)
        self.expect(b"\x85\x01", "CF.MDELH", "a", mixed)
        self.expect_both(b"\xf0\x01", b"\xf0\x01", "CF.MEXISTSH", "a", nine)
        self.assertEqual(self.three.call("CF.MADDNXH", "a", nine), b"\x0f\0")
        self.assertEqual(self.debug("a")["items"], 9)

    def test_errors(self):
        one = hash_string(["x"], SEED)
        length = ("ERR hashes take 8 bytes each: send a string whose length is a multiple of 8, and "
                  "not 0")  # fmt: skip
        self.call("SET", "text", "x")
        self.reserve("a")
        self.call("CF.ADD", "a", "x")
        before = self.call("DEBUG", "DIGEST")
        for name in NAMES:
            self.expect_wrong_arity(name)
            self.expect_wrong_arity(name, "a")
            self.expect_wrong_arity(name, "a", one, one)
            self.expect(WRONG_TYPE, name, "text", one)
            self.expect_error("ERR not found", name, "none", one)
            for wrong in (b"", b"x", one[:7], one + b"x", 3 * one + one[:4]):
                self.expect_error(length, name, "a", wrong)
        self.expect(0, "EXISTS", "none")
        self.assertEqual(self.call("DEBUG", "DIGEST"), before)

    def test_tables_of_redisbloom(self):
        header, slots = redisbloom_filter(items("in", 100), 1024)
        self.expect("OK", "CF.LOADCHUNK", "a", 1, header)
        self.expect("OK", "CF.LOADCHUNK", "a", len(slots) + 1, slots)
        one = hash_string(["in-1"], 0)
        text = ("ERR this filter has tables of RedisBloom, which need another hash: send the items "
                "themselves")  # fmt: skip
        before = self.call("DEBUG", "DIGEST")
        for name in NAMES:
            self.expect_error(text, name, "a", one)
        self.assertEqual(self.call("DEBUG", "DIGEST"), before)
        self.expect(1, "CF.ADD", "a", "more")
        for name in NAMES:
            self.expect_error(text, name, "a", one)
        # What came from RedisBloom is erased, and with it the reason.
        self.expect([1] * 100, "CF.MDEL", "a", *items("in", 100))
        self.expect("OK", "CF.COMPACT", "a")
        self.assertEqual(self.bits("CF.MEXISTSH", "a", ["more", "in-1"], seed=0), [1, 0])

    def test_counts_end_at_255(self):
        self.reserve("a")
        for copies in (254, 255, 256, 1000):
            self.assertEqual(self.bits("CF.MADDH", "a", [f"x{copies}"] * copies), [1] * copies)
        self.assertEqual(self.counts("a", ["x254", "x255", "x256", "x1000", "y"]),
                         [254, 255, 255, 255, 0])  # fmt: skip
        self.expect(1000, "CF.COUNT", "a", "x1000")

    def test_no_room(self):
        self.reserve("a", 10, "EXPANSION", 0)
        wanted = items("in", 16)
        self.assertEqual(self.bits("CF.MADDH", "a", wanted), [1] * 10 + [0] * 6)
        self.assertEqual(self.debug("a")["items"], 10)
        self.assertEqual(self.bits("CF.MADDNXH", "a", wanted), [0] * 16)
        self.assertEqual(self.bits("CF.MEXISTSH", "a", wanted[:10]), [1] * 10)

    def test_information(self):
        for seed in (0, 7, SEED):
            self.reserve(f"seed-{seed}", seed=seed)
            info = self.info(f"seed-{seed}")
            self.assertEqual(info["Seed"], str(seed).encode())
            self.assertEqual(info["Hash version"], 2)
        pairs = self.three.call("CF.INFO", f"seed-{SEED}", "FULL")
        self.assertEqual(pairs["Seed"], str(SEED).encode())
        # A drawn seed is told as well.
        self.call("CF.ADD", "drawn", "x")
        seed = int(self.info("drawn")["Seed"])
        self.assertEqual(self.bits("CF.MEXISTSH", "drawn", ["x"], seed=seed), [1])

    def test_events_and_watch(self):
        self.reserve("a")
        one = hash_string(["x"], SEED)
        names = ("MDELH", "MADDH", "MADDNXH", "MEXISTSH", "MCOUNTH", "MDELH", "MADDNXH")
        commands = [(f"CF.{name}", "a", one) for name in names]
        self.expect_events("a", [*commands, ("CF.CLEAR", "a")],
                           ["cf.maddh", "cf.mdelh", "cf.maddnxh", "cf.clear"])  # fmt: skip
        self.expect_watched(*((("CF." + name, "a", one), is_seen) for name, is_seen in (
            ("MEXISTSH", False), ("MCOUNTH", False), ("MDELH", False), ("MADDH", True),
            ("MADDNXH", False), ("MDELH", True), ("MADDNXH", True))))  # fmt: skip


class TwinsTest(HashesCase):
    """Items by one command, one by one, and as hashes: the same answers and bytes."""

    arguments = ("cf-max-expansions", 4)
    COMMANDS = (("CF.MADDH", "CF.ADD", "CF.INSERT"), ("CF.MADDNXH", "CF.ADDNX", "CF.INSERTNX"),
                ("CF.MDELH", "CF.DEL", "CF.MDEL"))  # fmt: skip

    def ask(self, some):
        self.assertEqual(self.bits("CF.MEXISTSH", "hashes", some),
                         self.call("CF.MEXISTS", "items", *some))
        single = self.two.pipeline([("CF.COUNT", "items", item) for item in some])
        self.assertEqual(self.counts("hashes", some), [min(count, 255) for count in single])

    def change(self, names, some):
        by_hashes, single, together = names
        answers = self.bits(by_hashes, "hashes", some)
        replies = self.two.pipeline([(single, "items", item) for item in some])
        self.assertEqual(answers, [int(reply == 1) for reply in replies])
        words = () if together == "CF.MDEL" else ("ITEMS",)
        self.assertEqual(self.call(together, "together", *words, *some),
                         [-1 if isinstance(reply, Error) else reply for reply in replies])
        payload = self.call("DUMP", "items")
        for key in ("hashes", "together"):
            self.assertEqual(self.call("DUMP", key), payload)
        return answers

    def test_as_items(self):
        chance = random.Random(1)
        for options in (("EXPANSION", 2), ("EXPANSION", 1, "ERROR", "0.0003"), ("EXPANSION", 0)):
            for key in ("hashes", "items", "together"):
                self.reserve(key, 100, *options)
            done = {names: [] for names in self.COMMANDS}
            for _ in range(60):
                # Some come twice, in one command too.
                count = chance.choice((1, 2, 7, 8, 9, 17, 127, 128, 129, 511, 512, 513, 1100))
                some = [f"item-{chance.randrange(chance.choice((9, 20000)))}" for _ in range(count)]
                names = chance.choice(self.COMMANDS)
                done[names] += self.change(names, some)
                self.ask(some)
            for names, answers in done.items():
                self.assertIn(1, answers, (names, options))
                if options != ("EXPANSION", 2):
                    self.assertIn(0, answers, (names, options))
            self.call("FLUSHALL")


class ReplicationTest(HashesCase):
    options = {"appendonly": "yes", "appendfsync": "always", "aof-use-rdb-preamble": "no"}
    arguments = ("cf-max-expansions", 1)

    def appended(self):
        """The commands on hashes in the append-only file."""
        (path,) = glob.glob(self.server.path("appendonlydir/*.incr.aof"))
        with open(path, "rb") as file:
            return [words for words in commands(file.read()) if words[0].startswith(b"CF.M")]

    def test_what_was_done(self):
        self.server.rewrite_aof()
        self.reserve("a", 10, "EXPANSION", 0)
        three, four = items("in", 3), items("in", 4)
        for name, wanted in (("CF.MADDNXH", ["in-0", "in-0", "in-1"]), ("CF.MADDH", ["in-0"]),
                             ("CF.MADDNXH", four), ("CF.MADDNXH", four), ("CF.MEXISTSH", four),
                             ("CF.MDELH", ["in-0", "none", "in-1"]), ("CF.MDELH", ["none"]),
                             ("CF.MDELH", ["in-3"]), ("CF.MADDH", three * 5)):  # fmt: skip
            self.bits(name, "a", wanted)
        self.call("CF.MCOUNTH", "a", hash_string(four, SEED))
        expected = [(b"CF.MADDH", ["in-0", "in-1"]), (b"CF.MADDH", ["in-0"]),
                    (b"CF.MADDH", ["in-2", "in-3"]), (b"CF.MDELH", ["in-0", "in-1"]),
                    (b"CF.MDELH", ["in-3"]), (b"CF.MADDH", (three * 5)[:8])]  # fmt: skip
        self.assertEqual(
            self.appended(), [[name, b"a", hash_string(some, SEED)] for name, some in expected]
        )
        digest = self.call("DEBUG", "DIGEST")
        self.restart(save=False)
        self.assertEqual(self.call("DEBUG", "DIGEST"), digest)

    def test_replicas_add_without_limits(self):
        """What the primary has stored is stored, whatever cf-max-expansions is there."""
        with Server.replica_of(self.server, arguments=("cf-max-expansions", 1)) as replica:
            self.call("CONFIG", "SET", "nestline.cf-max-expansions", 2)
            self.addCleanup(self.call, "CONFIG", "SET", "nestline.cf-max-expansions", 1)
            self.reserve("a", 100, "ERROR", "0.0003")
            wanted = items("in", 30000)
            stored = self.bits("CF.MADDH", "a", wanted)
            self.assertGreater(stored.count(0), 0)
            self.assertEqual(stored.count(1), self.debug("a")["items"])
            self.assertEqual(self.debug("a")["filters"], 2)
            replica.wait_for_offset(self.server)
            self.assertEqual(replica.call("DEBUG", "DIGEST"), self.call("DEBUG", "DIGEST"))
            # A replica answers questions, and refuses changes, as for all commands.
            with Connection(replica.port) as follower:
                some = hash_string(wanted[:8], SEED)
                self.assertEqual(follower.call("CF.MEXISTSH", "a", some), b"\xff")
                self.assertTrue(follower.call("CF.MADDH", "a", some).startswith("READONLY"))
