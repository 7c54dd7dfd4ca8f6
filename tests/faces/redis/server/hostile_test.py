"""Hostile input: damaged chunks and payloads, absurd arguments, huge items, many copies.

NESTLINE_HOSTILE_SECONDS (5) is how long the random parts take, NESTLINE_REDIS_SEED (1) their seed.
After each batch the server must be alive and answer, its commands short, its memory small and its log
without a crash. NESTLINE_HOSTILE_UNMEASURED=1: no checks of time and memory, for wrapped servers."""

import os
import random
import struct
import time

from chunks_test import redisbloom_filter
from dump import Payload
from hashing import hash_string, xxh3
from module_case import ModuleCase, items
from resp import Error
from servers import PATIENCE

SECONDS = float(os.environ.get("NESTLINE_HOSTILE_SECONDS", "5"))
SEED = int(os.environ.get("NESTLINE_REDIS_SEED", "1"))
IS_MEASURED = os.environ.get("NESTLINE_HOSTILE_UNMEASURED", "0") == "0"
MOST_TIME = 15  # seconds that a command computes; half of one is usual, four in a build with one lane
# Resident bytes: a header may ask for 65535 filters of 8 KiB, a huge item takes 64 MiB three times.
MOST_MEMORY = 700 << 20
CRASHES = ("crashed by signal", "BUG REPORT", "ASSERTION FAILED", "AddressSanitizer",
           "runtime error")
HEAD, PIECE = b"\x8eNCF", b"NCFp"
NASTY = [0, 1, -1, 2, 255, 256, 65535, 65536, 2**31, 2**32 - 1, 2**32, 2**40, 2**62, 2**63 - 1,
         2**63, 2**64 - 1, 2**64, -(2**63), "", " 1", "1 ", "0x10", "1e3", "1e400", "nan", "inf",
         "-inf", "-0", "0.5", "1e-300", "+5", "K", "x" * 70000, b"\0", b"\xff\xfe", b"a\0b",
         b"hashes.." * 9,
         bytes(8), b"\xff" * 4104]  # fmt: skip
LOAD_ERRORS = ("^(Invalid (position|header)|Couldn't (create filter|load chunk)!|"
               "ERR (item exists|not found|Insufficient memory.*)|OOM.*)$")
HASHES = hash_string(items("in", 50), 5)
WORDS = ["CAPACITY", "NOCREATE", "ITEMS", "BUCKETSIZE", "MAXITERATIONS", "EXPANSION", "ERROR",
         "SEED"]


def sealed(content):
    """The bytes with the checksum that ends heads and pieces."""
    return content + struct.pack("<Q", xxh3(content))


class HostileTest(ModuleCase):
    options = {"rdbcompression": "no", "sanitize-dump-payload": "no", "maxmemory": "1gb",
               "proto-max-bulk-len": "128mb"}  # fmt: skip
    longest = 0, ()  # seconds of the longest command, and the command

    def setUp(self):
        super().setUp()
        self.chance = random.Random(SEED)
        self.call("DEBUG", "SET-SKIP-CHECKSUM-VALIDATION", 1)

    def tearDown(self):
        self.check()

    def check(self):
        """Checks that the server is as it should be, whatever it was sent."""
        self.server.assert_alive()
        self.expect("PONG", "PING")
        log = self.server.log()
        for crash in CRASHES:
            self.assertNotIn(crash, log)
        if not IS_MEASURED:
            return
        self.assertLess(self.longest[0], MOST_TIME, self.longest[1])
        with open(f"/proc/{self.server.process.pid}/status", encoding="ascii") as status:
            peak = next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM"))
        self.assertLess(peak, MOST_MEMORY)

    def call(self, *arguments):
        before = self.server.processor_time()
        reply = super().call(*arguments)
        taken = self.server.processor_time() - before
        if taken > self.longest[0]:
            self.longest = taken, [str(word)[:40] for word in arguments[:6]]
        return reply

    def batches(self, share, is_enough=lambda: True):
        """Repeats the work until its share of the time is used up and `is_enough` is true, which
        may take PATIENCE seconds more. Checks the server after each repetition."""
        deadline = time.monotonic() + SECONDS * share
        while True:
            yield from range(25)
            self.check()
            late = time.monotonic() - deadline
            if late > PATIENCE or (late > 0 and is_enough()):
                return

    def unlink(self, *keys):
        """Memory that is freed in the background counts until then, so that commands are refused."""
        self.expect(len(keys), "UNLINK", *keys)
        self.server.wait_for_free()

    # Values to start from.

    def samples(self):
        """Names of keys: several generations, corrections, RedisBloom's, RedisBloom's with ours."""
        self.call("CF.RESERVE", "generations", 30, "EXPANSION", 1, "ERROR", "0.02", "SEED", 5)
        self.call("CF.INSERT", "generations", "ITEMS", *items("in", 2000), *["same"] * 50)
        self.call("CF.MDEL", "generations", *items("in", 700))
        self.call("CF.RESERVE", "one", 100, "EXPANSION", 0)
        self.call("CF.INSERT", "one", "ITEMS", *items("in", 90))
        header, slots = redisbloom_filter(items("in", 600), 4096)
        for key in ("redisbloom", "mixed"):
            self.expect("OK", "CF.LOADCHUNK", key, 1, header)
            self.expect("OK", "CF.LOADCHUNK", key, len(slots) + 1, slots)
        self.call("CF.INSERT", "mixed", "ITEMS", *items("in", 1500))
        self.call("CF.MDEL", "mixed", *items("in", 300))
        return "generations", "one", "redisbloom", "mixed"

    def damage(self, content):
        """Some bytes or a whole number replaced, cut or made longer; mostly under a right checksum."""
        is_ours = content.startswith((HEAD, PIECE)) and len(content) > 8
        body = bytearray(content[:-8] if is_ours else content)
        for _ in range(self.chance.choice([1, 1, 1, 2, 5])):
            # Mostly where the numbers are.
            near = min(len(body), self.chance.choice([48, 200, 10**6]))
            at = self.chance.randrange(near) if near else 0
            kind = self.chance.random()
            if kind < 0.4 and body:
                body[at] = self.chance.randrange(256)
            elif kind < 0.7:
                number = self.chance.choice([word for word in NASTY[:17] if isinstance(word, int)])
                size = self.chance.choice([1, 2, 4, 8])
                at -= at % size
                body[at : at + size] = (number % (1 << 8 * size)).to_bytes(size, "little")
            elif kind < 0.8:
                del body[at : at + self.chance.randrange(1, 40)]
            elif kind < 0.9:
                body[at:at] = self.chance.randbytes(self.chance.randrange(1, 40))
            elif body:
                body[at] ^= 1 << self.chance.randrange(8)
        if is_ours and self.chance.random() < 0.9:
            return sealed(bytes(body))
        return bytes(body) + (content[-8:] if is_ours else b"")

    def use(self, key):
        """Everything that a client may do with an accepted value; replies may be errors."""
        self.call("CF.MEXISTS", key, *items("in", 50))
        self.call("CF.ADD", key, "new")
        # A header may claim much memory, untouched until slots arrive; reading it takes time.
        if self.call("CF.INFO", key)[1] > 1 << 26:
            self.unlink(key)
            return
        for line in (("CF.COUNT", key, "in-1"), ("CF.DEL", key, "in-1"),
                     ("CF.UPDATE", key, "in-2", "x"),
                     ("CF.INSERT", key, "ITEMS", *items("more", 30)), ("CF.DEBUG", key),
                     ("CF.MDEL", key, *items("in", 20)), ("CF.MEXISTSH", key, HASHES),
                     ("CF.MADDNXH", key, HASHES), ("CF.MADDH", key, HASHES),
                     ("CF.MCOUNTH", key, HASHES),
                     ("CF.MDELH", key, HASHES), ("CF.SCANDUMP", key, 0),
                     ("CF.SCANDUMP", key, self.chance.randrange(1, 9)), ("CF.INFO", key)):  # fmt: skip
            self.call(*line)
        # Commands whose time depends on the size get small values only, also after growth.
        if self.call("CF.INFO", key)[1] < 1 << 22:
            self.call("CF.MERGE", "generations-2", key)
            self.call("COPY", key, "copied", "REPLACE")
            self.call("RESTORE", "restored", 0, self.call("DUMP", key) or b"", "REPLACE")
            self.call("DEBUG", "DIGEST-VALUE", key)
            self.call("CF.COMPACT", key)
            self.call("CF.CLEAR", key)
            self.call("CF.ADD", key, "again")
        self.call("DEL", key, "copied", "restored", "generations-2")

    # The tests.

    def test_chunks(self):
        dumps = [self.dump(key) for key in self.samples()]
        taken = 0
        for _ in self.batches(0.4, lambda: taken > 0):
            pieces = list(self.chance.choice(dumps))
            at = 0 if self.chance.random() < 0.5 else self.chance.randrange(len(pieces))
            iterator, piece = pieces[at]
            if self.chance.random() < 0.1:
                iterator = self.chance.choice([2, 3, 9, 1 << 20, 1 << 40, (1 << 63) - 1])
            pieces[at] = iterator, self.damage(piece)
            if self.chance.random() < 0.1:
                self.chance.shuffle(pieces)
            replies = [self.call("CF.LOADCHUNK", "a", *each) for each in pieces]
            for reply in replies:
                if isinstance(reply, Error):
                    self.assertRegex(reply, LOAD_ERRORS)
            if self.call("EXISTS", "a"):
                taken += 1
                self.use("a")
        self.assertGreater(taken, 0)

    def test_headers_that_ask_for_much(self):
        """RedisBloom's header of 65535 filters: small ones, and ones that together are large."""
        for buckets in (1, 1 << 12, 1 << 17, 1 << 30, 1 << 50):
            header = struct.pack("<QQQQHHH", 5, buckets, 0, 65535, 2, 20, 1)
            reply = self.call("CF.LOADCHUNK", "a", 1, header)
            self.assertIn(reply, ("OK", "Couldn't create filter!"))
            if reply == "OK":
                if buckets <= 1 << 12:  # it reads each of the filters; larger ones have more pages
                    self.expect(0, "CF.EXISTS", "a", "x")
                self.assertEqual(self.debug("a")["filters"], 65535)
                self.assertGreaterEqual(self.info("a")["Size"], 65535 * 2 * buckets)
                self.unlink("a")
            self.check()

    def test_payloads(self):
        payloads = [self.call("DUMP", key) for key in self.samples()]
        for payload in payloads:
            self.expect("OK", "RESTORE", "whole", 0, payload, "REPLACE")
        refused = 0
        for _ in self.batches(0.4, lambda: refused > 0):
            payload = Payload(self.chance.choice(payloads), check=False)
            if self.chance.random() < 0.3:
                # Only bytes of the fields, not the type and the module before them.
                raw = b"".join(payload.encoded_fields()) + b"\0"
                content = payload.wrap(self.damage(raw), checksum=False)
            else:
                for _ in range(self.chance.choice([1, 1, 2])):
                    self.change_field(payload.fields)
                content = payload.bytes(checksum=False)
            reply = self.call("RESTORE", "a", 0, content)
            if reply == "OK":
                self.use("a")
            else:
                self.assertRegex(reply, "^(ERR Bad data format|OOM)")
                refused += 1
        self.assertGreater(refused, 0)

    def change_field(self, fields):
        at = self.chance.randrange(len(fields))
        kind, value = fields[at]
        dice = self.chance.random()
        if dice < 0.1:
            del fields[at]
        elif dice < 0.2:
            fields.insert(at, self.chance.choice(fields))
        elif kind == "number":
            number = self.chance.choice([word for word in NASTY[:17] if isinstance(word, int)])
            fields[at] = kind, number % (1 << 64)
        else:
            fields[at] = kind, self.damage(value)
        if not fields:
            fields.append(("number", 0))

    def test_arguments(self):
        listed = self.call("COMMAND", "LIST", "FILTERBY", "MODULE", "nestline")
        self.assertEqual(len(listed), 24)
        replies = {}
        for _ in self.batches(0.2, lambda: set(replies) == set(listed)):
            line = [self.chance.choice(listed), self.chance.choice(["a", "b", "", b"\0"])]
            for _ in range(self.chance.randrange(7)):
                line.append(self.chance.choice(self.chance.choice([NASTY, WORDS])))
            two = self.two.call(*line)
            three = self.three.call(*line)
            replies.setdefault(line[0], set()).update((type(two), type(three)))
            if self.chance.random() < 0.05:
                self.call("DEL", "a", "b", "", b"\0")
        self.assertEqual(set(replies), set(listed))

    def test_many_copies(self):
        """140,000 of one item by either command; then all of them go, one by one."""
        count = 140000
        for key, reserve in (("small", (2, "BUCKETSIZE", 1, "EXPANSION", 1)), ("usual", (1000,)),
                             ("narrow", (64, "ERROR", "0.1")), ("strict", (64, "ERROR", "0.0004"))):  # fmt: skip
            self.expect("OK", "CF.RESERVE", key, *reserve)
            reply = self.call("CF.INSERT", key, "ITEMS", *["same"] * count)
            self.assertEqual(reply.count(1), count)
            self.expect(count, "CF.COUNT", key, "same")
            self.assertLess(self.info(key)["Size"], 100000)
            self.check()
        replies = self.two.pipeline([("CF.ADD", "added", "same")] * count)
        self.assertEqual(replies.count(1), count)
        self.expect(count, "CF.COUNT", "added", "same")
        self.assertLess(self.info("added")["Size"], 100000)
        self.expect("OK", "CF.RESERVE", "bounded", 1000, "EXPANSION", 0)
        reply = self.call("CF.INSERT", "bounded", "ITEMS", *["same"] * count)
        self.assertEqual((reply.count(1), reply.count(-1)), (1000, count - 1000))
        self.expect("Filter is full", "CF.ADD", "bounded", "other")
        reply = self.call("CF.MDEL", "small", *["same"] * (count + 5))
        self.assertEqual((reply.count(1), reply.count(0)), (count, 5))
        self.expect(0, "CF.COUNT", "small", "same")
        # The same by hashes: any eight bytes are one.
        whole = b"\xff" * (count // 8)
        self.expect(whole, "CF.MADDH", "usual", b"the same" * count)
        self.expect(b"\xff" * count, "CF.MCOUNTH", "usual", b"the same" * count)
        self.expect(whole, "CF.MDELH", "usual", b"the same" * count)
        self.expect(bytes(count // 8), "CF.MEXISTSH", "usual", b"the same" * count)
        self.assertEqual(self.debug("small")["items"], 0)

    def test_huge_items(self):
        huge = b"x" * (64 << 20)
        self.expect(1, "CF.ADD", "a", huge)
        self.expect(1, "CF.EXISTS", "a", huge)
        self.expect(0, "CF.EXISTS", "a", huge[:-1] + b"y")
        self.expect(0, "CF.ADDNX", "a", huge)
        self.expect(1, "CF.DEL", "a", huge)
        self.expect(bytes(len(huge) // 64), "CF.MEXISTSH", "a", huge)
        self.expect(bytes(len(huge) // 8), "CF.MCOUNTH", "a", huge)
        self.expect(bytes(len(huge) // 64), "CF.MDELH", "a", huge)
        for command in ("CF.LOADCHUNK", "RESTORE"):
            self.assertIsInstance(self.call(command, "b", 1, huge), Error)
        self.assertEqual(self.call("CF.INSERT", "c", "ITEMS", *items("in", 300000)).count(1),
                         300000)
        self.assertEqual(self.call("CF.MEXISTS", "c", *items("in", 300000)).count(1), 300000)
        self.assertIsInstance(self.call("CF.LOADCHUNK", "c", 3, huge), Error)
        self.assertEqual(self.call("CF.MEXISTS", "c", *items("in", 300000)).count(1), 300000)
