"""Filters with a WINDOW: commands and their errors. Time moves by CF.ADVANCE only.
The timer, replicas and restarts: windowed_time_test.py."""

import random

from dump import Payload
from hashing import hash_string, read_bits
from module_case import WRONG_TYPE, ModuleCase, items
from resp import Error, Simple

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
            self.expect_error("WINDOW: value must be in the range [1, 4294967295] seconds",
                              "CF.RESERVE", "a", 1000, "WINDOW", seconds)
        for name in ("EXPANSION", "BUCKETSIZE", "MAXITERATIONS", "WIDTHS", "TURNSOVER"):
            self.expect_error(f"ERR a filter with WINDOW does not grow and has no {name}",
                              "CF.RESERVE", "a", 1000, "WINDOW", 10, name, 2)
        for capacity in (-1, 0, (1 << 30) + 1):
            self.expect_error("Capacity must be in the range [1, 1073741824] with WINDOW",
                              "CF.RESERVE", "a", capacity, "WINDOW", 10)
        self.expect_error("Bad capacity", "CF.RESERVE", "a", "x", "WINDOW", 10)
        self.expect_error("Couldn't parse ERROR", "CF.RESERVE", "a", 9, "WINDOW", 9, "ERROR", "x")
        for rate in ("0", "1", "-0.1"):
            self.expect_error("ERROR: value must be above 0 and below 1",
                              "CF.RESERVE", "a", 9, "WINDOW", 9, "ERROR", rate)
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
                 "Number of items deleted", "Bucket size", "Expansion rate", "Max iterations"]  # fmt: skip
        flat = self.call("CF.INFO", "w")
        self.assertEqual(flat[::2], names)
        self.assertEqual(list(self.three.call("CF.INFO", "w")), names)
        full = self.info("w")
        self.assertEqual(list(full)[len(names):], ["Window", "Ticks", "Alive", "Capacity",
                         "Expected error rate", "Seed", "Hash version"])  # fmt: skip
        self.assertEqual((full["Window"], full["Ticks"]), (600, 3))
        self.assertIn(full["Alive"], range(495, 501))  # but for items that look the same
        self.assertGreaterEqual(full["Capacity"], 1000)
        self.assertLess(float(full["Expected error rate"]), 0.001)
        self.advance(LIFE + 1)
        self.assertEqual(self.info("w")["Alive"], 0)
        wrong = sum(self.call("CF.MEXISTS", "w", *items("out", 20000)))
        self.assertEqual(wrong, 0)

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
            damaged = piece[:-1] + bytes([piece[-1] ^ 1])
            self.expect_error("Couldn't load chunk!" if number else "Invalid header",
                              "CF.LOADCHUNK", "c", iterator, damaged)  # fmt: skip
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
        self.reserve()
        commands = [("CF.ADD", "w", "x"), ("CF.ADD", "w", "x"), ("CF.ADDNX", "w", "x"),
                    ("CF.INSERT", "w", "ITEMS", "y"), ("CF.MADDH", "w", b"h" * 8),
                    ("CF.ADVANCE", "w", 3), ("CF.ADVANCE", "w", 2), ("CF.CLEAR", "w")]  # fmt: skip
        self.expect_events("w", commands, ["cf.add", "cf.add", "cf.addnx", "cf.insert", "cf.maddh",
                                           "cf.advance", "cf.clear"])  # fmt: skip
        self.expect_watched((("CF.ADD", "w", "x"), True), (("CF.ADVANCE", "w", 4), True),
                            (("CF.ADVANCE", "w", 4), False), (("CF.EXISTS", "w", "x"), False))
