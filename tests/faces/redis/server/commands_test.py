"""Every command: syntax, replies in both protocols, exact error texts, limits."""

import redis

from module_case import ModuleCase, WRONG_TYPE, items
from resp import Error, Simple

NOT_FOUND = "ERR not found"


ONE_OPTION = ("CF.RESERVE", "a", 1000, "BUCKETSIZE")
# Commands with too few words, or too many.
WRONG_ARITY = [
    ("CF.RESERVE",), ("CF.RESERVE", "a"), ONE_OPTION, (*ONE_OPTION, 2, "EXPANSION"),
    *((name, *words) for name in ("CF.ADD", "CF.ADDNX") for words in ((), ("a",), ("a", "x", "y"))),
    *((name, *words) for name in ("CF.INSERT", "CF.INSERTNX")
      for words in ((), ("a", "ITEMS"), ("a", "NOCREATE", "ITEMS"),
                    ("a", "CAPACITY", 100, "ITEMS"), ("a", "NOCREATE", "CAPACITY"),
                    ("a", "NOCREATE", "NOCREATE"))),
    *((name, *words) for name in ("CF.EXISTS", "CF.COUNT", "CF.DEL")
      for words in (("a",), ("a", "x", "y"))),
    ("CF.MEXISTS", "a"), ("CF.MDEL", "a"), ("CF.MERGE", "a"), ("CF.UPDATE", "a", "x"),
    ("CF.INFO",), ("CF.INFO", "a", "b", "c"), ("CF.DEBUG",), ("CF.DEBUG", "a", "b"),
    ("CF.CLEAR", "a", "b"), ("CF.COMPACT", "a", "b"),
]  # fmt: skip
# Each command with a text where it needs a filter.
OF_A_TEXT = [("CF.RESERVE", "text", 1000), ("CF.ADD", "text", "x"), ("CF.ADDNX", "text", "x"),
             ("CF.INSERT", "text", "ITEMS", "x"), ("CF.INSERTNX", "text", "ITEMS", "x"),
             ("CF.EXISTS", "text", "x"), ("CF.COUNT", "text", "x"),
             ("CF.MEXISTS", "text", "x"), ("CF.INFO", "text"), ("CF.DEBUG", "text"),
             ("CF.DEL", "text", "x"), ("CF.MDEL", "text", "x"), ("CF.CLEAR", "text"),
             ("CF.UPDATE", "text", "x", "y"), ("CF.MERGE", "text", "a"), ("CF.MERGE", "a", "text"),
             ("CF.COMPACT", "text")]  # fmt: skip


class WordsTest(ModuleCase):
    def test_arity(self):
        for line in WRONG_ARITY:
            self.expect_wrong_arity(*line)

    def test_keys_of_another_type(self):
        self.call("SET", "text", "x")
        self.call("CF.ADD", "a", "x")
        for line in OF_A_TEXT:
            self.expect(WRONG_TYPE, *line)


class ReserveTest(ModuleCase):
    def test_reply_and_twice(self):
        self.expect_both(Simple("OK"), Error("ERR item exists"), "CF.RESERVE", "a", 1000)
        self.assertEqual(self.three.call("CF.RESERVE", "b", 1000), Simple("OK"))

    def test_numbers(self):
        ranges = {"MAXITERATIONS": (1, 65535), "BUCKETSIZE": (1, 255), "EXPANSION": (0, 32768)}
        for name, (least, most) in ranges.items():
            for text in ("x", "", "1.5", "2 ", "0x2", str(1 << 70)):
                self.expect_error(f"Couldn't parse {name}", "CF.RESERVE", "a", 1000, name, text)
            for value in (least - 1, most + 1, -7):
                self.expect_error(f"{name}: value must be in the range [{least}, {most}]",
                                  "CF.RESERVE", "a", 1000, name, value)
        for text in ("x", "", "1e3", "10 "):
            self.expect_error("Bad capacity", "CF.RESERVE", "a", text)
        text = "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]"
        for capacity in (-1, 0, 3, (1 << 30) + 1):
            self.expect_error(text, "CF.RESERVE", "a", capacity)
        self.expect_error(text, "CF.RESERVE", "a", 509, "BUCKETSIZE", 255)
        self.expect_error("Couldn't parse SEED", "CF.RESERVE", "a", 100, "SEED", -1)
        self.expect_error("Couldn't parse SEED", "CF.RESERVE", "a", 100, "SEED", 1 << 64)
        for wrong in (4, "x"):
            self.expect_error("WIDTHS: value must be 3 or 5",
                              "CF.RESERVE", "a", 100, "WIDTHS", wrong)  # fmt: skip
        self.expect_error("WIDTHS: 5 needs ERROR and EXPANSION 0",
                          "CF.RESERVE", "a", 100, "ERROR", "0.01", "WIDTHS", 5)  # fmt: skip
        for wrong in (2, -1, "x", ""):
            self.expect_error("TURNSOVER: value must be 0 or 1",
                              "CF.RESERVE", "a", 100, "TURNSOVER", wrong)  # fmt: skip
        self.expect_error("Couldn't parse ERROR", "CF.RESERVE", "a", 100, "ERROR", "nan")
        self.expect_error("Couldn't parse ERROR", "CF.RESERVE", "a", 100, "ERROR", "1%")
        for rate in ("0", "1", "-0.5", "1e-9"):
            reply = self.call("CF.RESERVE", "a", 100, "ERROR", rate)
            self.assertRegex(reply, r"^ERROR: value must be in the range \[[0-9.e-]+, 1\)$")
        self.expect(0, "EXISTS", "a")

    def test_order_of_checks(self):
        bad = ["MAXITERATIONS", "x", "BUCKETSIZE", "x", "EXPANSION", "x"]
        self.expect_error("Bad capacity", "CF.RESERVE", "a", "x", *bad)
        self.expect_error("Couldn't parse MAXITERATIONS", "CF.RESERVE", "a", 0, *bad[::1])
        self.expect_error("Couldn't parse BUCKETSIZE", "CF.RESERVE", "a", 0, *bad[2:])
        self.expect_error("Couldn't parse EXPANSION", "CF.RESERVE", "a", 0, *bad[4:])

    def test_words(self):
        self.expect_error("Unknown argument received", "CF.RESERVE", "a", 1000, "BUCKETS", 2)
        arguments = ["expansion", 4, "MaxIterations", 30, "bucketsize", 8]
        self.expect("OK", "CF.RESERVE", "a", 1000, *arguments)
        line = b"bktsize:8 buckets:128 items:0 deletes:0 filters:1 max_iterations:30 expansion:4"
        self.expect(line, "CF.DEBUG", "a")
        # Option words as key and value are not options.
        self.expect("OK", "CF.RESERVE", "BUCKETSIZE", 1000)
        self.expect_error("Couldn't parse SEED", "CF.RESERVE", "b", 100, "SEED", "EXPANSION")

    def test_limits(self):
        self.expect("OK", "CF.RESERVE", "a", 67108864, "BUCKETSIZE", 255, "MAXITERATIONS", 65535,
                    "EXPANSION", 32768)  # fmt: skip
        info = self.info("a")
        self.assertEqual(info["Bucket size"], 255)
        self.assertEqual(info["Max iterations"], 65535)
        self.assertEqual(info["Expansion rate"], 32768)
        self.expect("OK", "CF.RESERVE", "b", 1 << 30)
        self.expect("OK", "CF.RESERVE", "c", 4)

    def test_error_rate_and_seed(self):
        self.expect("OK", "CF.RESERVE", "a", 10000, "ERROR", "0.001", "SEED", str((1 << 64) - 1))
        self.add_all("a", items("in", 10000))
        self.assert_all_found("a", items("in", 10000))
        wrong = sum(self.call("CF.MEXISTS", "a", *items("out", 20000)))
        self.assertLessEqual(wrong, 45)  # 20 expected at the most; five standard deviations more
        info = self.info("a")
        self.assertEqual(float(info["Error rate"]), 0.001)
        self.assertLessEqual(float(info["Expected error rate"]), 0.001)
        self.assertGreater(float(info["Expected error rate"]), 0)


    def test_filters_that_turn_over(self):
        self.call("CF.RESERVE", "yes", 5000, "SEED", 1, "TURNSOVER", 1)
        self.call("CF.RESERVE", "no", 5000, "SEED", 1, "TURNSOVER", 0)
        for key, wanted in (("yes", 1), ("no", 0)):
            self.assertEqual(self.info(key)["Turns over"], wanted)
            self.add_all(key, items("in", 100))
            self.call("CF.CLEAR", key)
            self.assertEqual(self.info(key)["Turns over"], wanted)
        for into, other in (("yes", "no"), ("no", "yes")):
            self.expect_error("ERR one of the two turns over (TURNSOVER) and the other does not",
                              "CF.MERGE", into, other)  # fmt: skip
        self.expect("OK", "CF.MERGE", "new", "yes")
        self.assertEqual(self.info("new")["Turns over"], 1)


class AddTest(ModuleCase):
    def test_replies(self):
        self.expect_both(1, True, "CF.ADD", "a", "x")
        self.expect(2, "CF.COUNT", "a", "x")
        self.expect_both(1, False, "CF.ADDNX", "a", "y")
        self.expect(0, "CF.ADDNX", "a", "y")
        self.assertIs(self.three.call("CF.ADDNX", "a", "z"), True)

    def test_full(self):
        self.call("CF.RESERVE", "a", 4, "EXPANSION", 0)
        self.add_all("a", items("in", 4))
        self.expect_error("Filter is full", "CF.ADD", "a", "more")
        self.expect_error("Filter is full", "CF.ADDNX", "a", "more")
        self.expect_both([-1, -1], [False, False], "CF.INSERT", "a", "ITEMS", "5", "6")
        reply = [-1, 0]
        self.expect_both(reply, reply, "CF.INSERTNX", "a", "ITEMS", "more", "in-0")
        self.assertEqual(self.info("a")["Number of items inserted"], 4)
        self.call("CF.RESERVE", "b", 1000, "EXPANSION", 0)
        self.add_all("b", items("in", 1000))
        for old, new in zip(items("in", 1000), items("new", 1000)):
            self.expect(1, "CF.UPDATE", "b", old, new)  # in the place of the old one
        self.assert_all_found("b", items("new", 1000))
        self.expect_error("Filter is full", "CF.ADD", "b", "more")

    def test_binary_and_empty_items(self):
        wanted = [b"", b"\0", b"\0\0", bytes(range(256)), b"x" * 100000]
        self.add_all("a", wanted)
        self.assert_all_found("a", wanted)

    def test_insert_replies(self):
        self.expect_both([1, 1], [True, True], "CF.INSERT", "a", "ITEMS", "x", "y")
        self.expect_both([1, 0], [0, 0], "CF.INSERTNX", "b", "ITEMS", "x", "x")
        self.assertEqual(self.three.call("CF.INSERTNX", "b", "ITEMS", "q", "x"), [1, 0])

    def test_insert_options(self):
        for name in ("CF.INSERT", "CF.INSERTNX"):
            self.expect_error("Unknown argument received", name, "a", "ITEM", "x", "y")
            self.expect_error("Unknown argument received", name, "a", "CAP", 100, "ITEMS", "x")
            self.expect_error("Bad capacity", name, "a", "CAPACITY", "x", "ITEMS", "x")
            text = "Capacity must be in the range [cf-bucket-size * 2, 1073741824]"
            for capacity in (-1, 3, (1 << 30) + 1):
                self.expect_error(text, name, "a", "CAPACITY", capacity, "ITEMS", "x")
            self.expect_error(NOT_FOUND, name, "a", "NOCREATE", "ITEMS", "x")
            self.expect(0, "EXISTS", "a")
        self.expect([1], "CF.INSERT", "a", "capacity", 10000, "items", "x")
        line = b"bktsize:2 buckets:8192 items:1 deletes:0 filters:1 max_iterations:20 expansion:1"
        self.expect(line, "CF.DEBUG", "a")
        self.expect([1], "CF.INSERT", "a", "NOCREATE", "CAPACITY", 64, "ITEMS", "ITEMS")
        self.expect([0, 1, 1], "CF.INSERTNX", "a", "NOCREATE", "ITEMS", "x", "y", "z")

    def test_same_creation(self):
        self.call("CF.ADD", "a", "x")
        self.call("CF.INSERT", "b", "ITEMS", "x")
        self.assertEqual(self.call("CF.DEBUG", "a"), self.call("CF.DEBUG", "b"))


class LimitTest(ModuleCase):
    arguments = ("cf-max-expansions", 3)

    def test_expansions(self):
        self.expect("OK", "CF.RESERVE", "a", 100000, "ERROR", "0.0003")
        wanted = items("in", 2000000)
        added = 0
        for start in range(0, len(wanted), 50000):
            part = wanted[start : start + 50000]
            reply = self.call("CF.INSERT", "a", "ITEMS", *part)
            added += reply.count(1)
            if -1 in reply:
                self.assertEqual(set(reply[reply.index(-1) :]) - {-1, 1}, set())
                break
        self.assertLess(added, len(wanted))
        self.assertLessEqual(self.debug("a")["filters"], 3)
        self.assertEqual(self.debug("a")["items"], added)
        replies = [self.call("CF.ADD", "a", f"more-{i}") for i in range(1000)]
        self.assertIn(Error("Maximum expansions reached"), replies)


class AskTest(ModuleCase):
    def test_exists(self):
        self.expect_both(0, False, "CF.EXISTS", "a", "x")
        self.expect_both([0, 0], [False, False], "CF.MEXISTS", "a", "x", "y")
        self.call("CF.ADD", "a", "x")
        self.expect_both(1, True, "CF.EXISTS", "a", "x")
        self.expect_both([1, 0], [True, False], "CF.MEXISTS", "a", "x", "y")

    def test_count(self):
        self.expect_both(0, 0, "CF.COUNT", "a", "x")
        for copies in range(1, 6):
            self.call("CF.ADD", "a", "x")
            self.expect_both(copies, copies, "CF.COUNT", "a", "x")

    def test_errors(self):
        for name in ("CF.INFO", "CF.DEBUG"):
            self.expect_error(NOT_FOUND, name, "a")
        self.expect_error("Unknown argument received", "CF.INFO", "a", "b")

    def test_info(self):
        self.call("CF.RESERVE", "a", 1000)
        self.call("CF.ADD", "a", "x")
        self.call("CF.ADD", "a", "y")
        self.call("CF.DEL", "a", "x")
        names = ["Size", "Number of buckets", "Number of filters", "Number of items inserted",
                 "Number of items deleted", "Bucket size", "Expansion rate", "Max iterations"]  # fmt: skip
        # Without FULL there are the fields that all clients know, and no others.
        for words in ((), ("FULL",), ("full",)):
            flat = self.call("CF.INFO", "a", *words)
            self.assertEqual(len(flat), 30 if words else 16)
            self.assertEqual(flat[:16:2], names)
            self.assertEqual(flat[3:16:2], [512, 1, 1, 1, 2, 1, 20])
            pairs = self.three.call("CF.INFO", "a", *words)
            self.assertIsInstance(pairs, dict)
            self.assertEqual(list(pairs), flat[::2])
        self.assertIsInstance(pairs["Expected error rate"], float)
        self.assertTrue(0 < pairs["Expected error rate"] < pairs["Error rate"])
        line = b"bktsize:2 buckets:512 items:1 deletes:1 filters:1 max_iterations:20 expansion:1"
        self.expect_both(line, line, "CF.DEBUG", "a")

    def test_a_client_that_parses_replies(self):
        """Also where there is a WINDOW, of which it knows nothing: each item is in it once."""
        self.call("CF.RESERVE", "windowed", 1000, "WINDOW", 600)
        with redis.Redis(port=self.server.port) as client:
            filters = client.cf()
            self.assertTrue(filters.create("plain", 1000))
            for key, again in (("plain", 1), ("windowed", 0)):
                self.assertEqual([filters.add(key, "x"), filters.add(key, "x")], [1, again])
                self.assertEqual([filters.addnx(key, "x"), filters.addnx(key, "y")], [0, 1])
                self.assertEqual(filters.insert(key, ["z", "z"]), [1, again])
                self.assertEqual(filters.insertnx(key, ["z", "w"]), [0, 1])
                self.assertEqual([filters.exists(key, "x"), filters.exists(key, "none")], [1, 0])
                info = filters.info(key)
                self.assertEqual([info.filterNum, info.insertedNum, info.deletedNum],
                                 [1, 4 + 2 * again, 0])  # fmt: skip
                iterator, pieces = 0, []
                while True:
                    iterator, piece = filters.scandump(key, iterator)
                    if iterator == 0:
                        break
                    pieces.append((iterator, piece))
                for piece in pieces:
                    self.assertTrue(filters.loadchunk(f"copy of {key}", *piece))
                self.assertEqual(filters.exists(f"copy of {key}", "x"), 1)
            self.assertEqual(filters.count("plain", "z"), 2)
            self.assertEqual([filters.delete("plain", "z"), filters.delete("plain", "none")], [1, 0])
            info = filters.info("plain")
            self.assertEqual([info.bucketNum, info.bucketSize, info.expansionRate, info.maxIteration],
                             [512, 2, 1, 20])  # fmt: skip
            self.assertEqual(info.size, self.info("plain")["Size"])

    def test_size_is_memory(self):
        self.call("CF.RESERVE", "a", 1000000)
        size = self.info("a")["Size"]
        self.assertTrue(1500000 < size < 2000000, size)
        usage = self.call("MEMORY", "USAGE", "a")
        self.assertTrue(size <= usage <= size + 200, (size, usage))


class ChangeTest(ModuleCase):
    def test_delete(self):
        self.expect_error("Not found", "CF.DEL", "a", "x")
        self.call("CF.ADD", "a", "x")
        self.expect_both(1, False, "CF.DEL", "a", "x")
        self.expect(0, "CF.DEL", "a", "x")
        self.call("CF.ADD", "a", "x")
        self.assertIs(self.three.call("CF.DEL", "a", "x"), True)

    def test_delete_many(self):
        self.expect_error("Not found", "CF.MDEL", "a", "x")
        self.call("CF.INSERT", "a", "ITEMS", "x", "x", "y")
        self.expect([1, 0, 1, 1, 0], "CF.MDEL", "a", "x", "other", "y", "x", "x")
        self.assertEqual(self.debug("a")["items"], 0)
        self.call("CF.ADD", "a", "x")
        self.assertEqual(self.three.call("CF.MDEL", "a", "x", "x"), [True, False])

    def test_clear(self):
        self.expect_error(NOT_FOUND, "CF.CLEAR", "a")
        self.call("CF.RESERVE", "a", 100, "BUCKETSIZE", 4)
        self.add_all("a", items("in", 100))
        self.expect(Simple("OK"), "CF.CLEAR", "a")
        self.assertEqual(self.debug("a")["items"], 0)
        self.assertEqual(self.debug("a")["bktsize"], 4)
        self.expect([0] * 100, "CF.MEXISTS", "a", *items("in", 100))

    def test_update(self):
        self.expect_error(NOT_FOUND, "CF.UPDATE", "a", "x", "y")
        self.call("CF.ADD", "a", "x")
        self.expect(1, "CF.UPDATE", "a", "x", "y")
        self.expect([0, 1], "CF.MEXISTS", "a", "x", "y")
        self.expect_both(0, False, "CF.UPDATE", "a", "x", "z")
        self.assertIs(self.three.call("CF.UPDATE", "a", "y", "z"), True)
        self.assertEqual(self.debug("a")["items"], 1)

    def test_merge(self):
        for name in ("a", "b", "c"):
            self.call("CF.RESERVE", name, 1000, "SEED", 7)
            self.add_all(name, items(name, 500))
        self.expect_error(NOT_FOUND, "CF.MERGE", "a", "none")
        self.expect_error(NOT_FOUND, "CF.MERGE", "a", "b", "none")
        self.assertEqual(self.debug("a")["items"], 500)
        self.expect(Simple("OK"), "CF.MERGE", "a", "b")
        self.assertEqual(self.debug("a")["items"], 1000)
        self.expect(Simple("OK"), "CF.MERGE", "new", "a", "c")
        self.assert_all_found("new", items("a", 500) + items("b", 500) + items("c", 500))
        self.expect(Simple("OK"), "CF.MERGE", "c", "c", "b")
        self.assertEqual(self.call("CF.COUNT", "c", "c-1") >= 2, True)
        self.call("CF.RESERVE", "other", 1000, "SEED", 8)
        reply = self.call("CF.MERGE", "a", "b", "other")
        self.assertIsInstance(reply, Error)
        self.assertIn("seed", reply)
        self.assertEqual(self.debug("a")["items"], 1000)
        for _ in range(100):
            reply = self.call("CF.MERGE", "a", "a")
            if isinstance(reply, Error):
                break
        self.assertIn("cf-max-expansions", reply)
        self.assertLessEqual(self.debug("a")["filters"], 32)

    def test_compact(self):
        self.expect_error("Cuckoo filter was not found", "CF.COMPACT", "a")
        self.call("CF.RESERVE", "a", 8)
        self.add_all("a", items("in", 100))
        before = self.debug("a")["filters"]
        self.expect(Simple("OK"), "CF.COMPACT", "a")
        self.assertLessEqual(self.debug("a")["filters"], before)
        self.assert_all_found("a", items("in", 100))
