"""CF.SCANDUMP and CF.LOADCHUNK: round trips and exact error texts. Damaged pieces: hostile_test.py."""

import mmap
import random
import struct

from hashing import hash_string
from module_case import ModuleCase, WRONG_TYPE, items
from resp import Simple

OK = Simple("OK")


def murmur(data, seed=0):
    """MurmurHash64A, from its description."""
    mask, m = (1 << 64) - 1, 0xC6A4A7935BD1E995
    h = seed ^ (len(data) * m & mask)
    whole = len(data) & ~7
    for (k,) in struct.iter_unpack("<Q", data[:whole]):
        k = k * m & mask
        k ^= k >> 47
        h = (h ^ (k * m & mask)) * m & mask
    if data[whole:]:
        h = (h ^ int.from_bytes(data[whole:], "little")) * m & mask
    h ^= h >> 47
    h = h * m & mask
    return h ^ h >> 47


def redisbloom_filter(wanted, buckets, bucket_size=2):
    """(header, slots) of a RedisBloom filter of one table with so much room that no item moves."""
    slots = bytearray(buckets * bucket_size)
    for item in wanted:
        h = murmur(item.encode())
        fingerprint = h % 255 + 1
        for place in (h, h ^ fingerprint * 0x5BD1E995):
            start = place % buckets * bucket_size
            free = slots.find(0, start, start + bucket_size)
            if free >= 0:
                slots[free] = fingerprint
                break
        else:
            raise ValueError("no room")
    header = struct.pack("<QQQQHHH", len(wanted), buckets, 0, 1, bucket_size, 20, 1)
    return header, bytes(slots)


def reads_take_memory():
    """Whether this kernel gives memory that is only read pages of its own, and not its page of zeros."""
    with open("/proc/self/statm", encoding="ascii") as file:
        before = int(file.read().split()[1])
    with mmap.mmap(-1, 16 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        assert not any(memory[at] for at in range(0, len(memory), mmap.PAGESIZE))
        with open("/proc/self/statm", encoding="ascii") as file:
            return (int(file.read().split()[1]) - before) * mmap.PAGESIZE > len(memory) // 2


class ChunksTest(ModuleCase):
    def round_trip(self, key):
        pieces = self.dump(key)
        for iterator, piece in pieces:
            self.expect(OK, "CF.LOADCHUNK", "copy", iterator, piece)
        self.assertEqual(self.call("CF.DEBUG", "copy"), self.call("CF.DEBUG", key))
        self.assertEqual(self.dump("copy"), pieces)
        return pieces

    def test_round_trip(self):
        self.call("CF.RESERVE", "a", 64, "EXPANSION", 2)
        self.expect([0, None], "CF.SCANDUMP", "a", 0)
        self.assertEqual(self.three.call("CF.SCANDUMP", "a", 0), [0, None])
        self.add_all("a", items("in", 5000))
        self.round_trip("a")
        self.assert_all_found("copy", items("in", 5000))

    def test_incomplete(self):
        """Until the last piece is there, no command on hashes takes it for a whole filter."""
        self.call("CF.RESERVE", "a", 3000000, "SEED", 1)
        self.call("CF.INSERT", "a", "ITEMS", *items("in", 1000))
        self.call("CF.RESERVE", "b", 1000, "SEED", 1)
        self.call("CF.ADD", "b", "other")
        error = "ERR this filter is incomplete: pieces of it have not come yet by CF.LOADCHUNK"
        hashes = hash_string(items("in", 1000), 1)
        pieces = self.dump("a")
        for iterator, piece in pieces:
            if iterator != 1:
                before = self.call("DUMP", "copy"), self.call("DUMP", "b")
                for name in ("MEXISTSH", "MCOUNTH", "MADDH", "MADDNXH", "MDELH"):
                    self.expect_error(error, f"CF.{name}", "copy", hashes)
                for keys in (("b", "copy"), ("b", "b", "copy"), ("copy", "b"), ("new", "copy")):
                    self.expect_error(error, "CF.MERGE", *keys)
                self.assertEqual((self.call("DUMP", "copy"), self.call("DUMP", "b")), before)
                self.expect(0, "EXISTS", "new")
            self.expect(OK, "CF.LOADCHUNK", "copy", iterator, piece)
            self.call("COPY", "copy", "whole", "REPLACE")  # as a replica gets it
        for key in ("copy", "whole"):
            self.expect(b"\xff" * 125, "CF.MEXISTSH", key, hashes)
        self.expect(OK, "CF.MERGE", "b", "copy")
        self.assert_all_found("b", items("in", 1000))

    def test_arguments(self):
        self.call("CF.ADD", "a", "x")
        self.call("SET", "text", "x")
        self.expect_wrong_arity("CF.SCANDUMP", "a")
        self.expect_wrong_arity("CF.SCANDUMP", "a", 0, 0)
        self.expect_wrong_arity("CF.LOADCHUNK", "a", 1)
        self.expect_wrong_arity("CF.LOADCHUNK", "a", 1, "x", "y")
        for position in (-1, "x", "", "1.5"):
            self.expect_error("Invalid position", "CF.SCANDUMP", "a", position)
        self.expect_error("ERR not found", "CF.SCANDUMP", "none", 0)
        self.expect(WRONG_TYPE, "CF.SCANDUMP", "text", 0)
        for position in (0, "x", ""):
            self.expect_error("Invalid position", "CF.LOADCHUNK", "b", position, "x")
        self.expect_error("ERR not found", "CF.LOADCHUNK", "none", 2, "x")
        self.expect(WRONG_TYPE, "CF.LOADCHUNK", "text", 1, "x")
        self.expect_error("ERR item exists", "CF.LOADCHUNK", "a", 1, "x" * 38)
        for header in (b"", b"x", b"x" * 37, b"x" * 39, b"x" * 1000):
            self.expect_error("Invalid header", "CF.LOADCHUNK", "b", 1, header)
        for position in (-7, 2, 1 << 62, (1 << 63) - 1):
            self.expect_error("Couldn't load chunk!", "CF.LOADCHUNK", "a", position, "x")
        self.expect_error("Couldn't load chunk!", "CF.LOADCHUNK", "a", 1 << 40, "")

    def test_bad_headers(self):
        good = [5, 1024, 0, 1, 2, 20, 1]
        wrong = [(1, 0), (1, 3), (1, 1 << 63), (1, 1 << 57), (3, 0), (3, 65536), (4, 0), (4, 256),
                 (5, 0),
                 (6, 32769)]  # fmt: skip
        for field, value in wrong:
            fields = list(good)
            fields[field] = value
            header = struct.pack("<QQQQHHH", *fields)
            self.expect_error("Couldn't create filter!", "CF.LOADCHUNK", "b", 1, header)
        zeroed = bytes(9) + struct.pack("<QQQQHHH", 5, 64, 0, 1, 2, 20, 1)[9:]
        self.expect_error("Couldn't create filter!", "CF.LOADCHUNK", "b", 1, zeroed)
        several = struct.pack("<QQQQHHH", 5, 1024, 0, 2, 2, 20, 0)
        self.expect_error("Couldn't create filter!", "CF.LOADCHUNK", "b", 1, several)
        self.expect(0, "EXISTS", "b")

    def test_a_claim_takes_no_memory(self):
        """A header may claim what the machine has, also in copies without memory; no more."""
        resident = lambda: int(self.server.information("memory")["used_memory_rss"])  # noqa: E731
        before = resident()
        header = struct.pack("<QQQQHHH", 0, 1 << 29, 0, 1, 2, 20, 1)
        self.expect(OK, "CF.LOADCHUNK", "a", 1, header)
        self.assertLess(resident() - before, 300 << 20)
        self.expect(1, "COPY", "a", "b")  # reads all of "a"
        self.assertLess(resident() - before, (300 << 20) + (reads_take_memory() << 30))
        self.expect_error("Couldn't create filter!", "CF.LOADCHUNK", "c", 1,
                          struct.pack("<QQQQHHH", 0, 1 << 45, 0, 1, 2, 20, 1))
        self.server.assert_alive()

    def test_from_redisbloom(self):
        wanted = items("old", 600)
        header, slots = redisbloom_filter(wanted, 8192)
        self.expect(OK, "CF.LOADCHUNK", "a", 1, header)
        self.expect(OK, "CF.LOADCHUNK", "a", len(slots) + 1, slots)
        self.assert_all_found("a", wanted)
        self.assertEqual(self.dump("a"), [(1, header), (len(slots) + 1, slots)])
        self.add_all("a", items("new", 1000))
        self.assert_all_found("a", wanted + items("new", 1000))
        self.assertEqual(self.debug("a")["items"], 1600)
        self.assertEqual(self.info("a")["Items in RedisBloom filters"], 600)
        self.round_trip("a")
        self.assert_all_found("copy", wanted + items("new", 1000))
        for item in wanted:
            self.expect(1, "CF.DEL", "a", item)
        self.assert_all_found("a", items("new", 1000))

    def test_random_iterators(self):
        self.call("CF.RESERVE", "a", 200000)
        self.call("CF.INSERT", "a", "ITEMS", *items("in", 100))
        chance = random.Random(2)
        for _ in range(500):
            position = chance.randrange(1 << chance.randrange(1, 63))
            following, piece = self.call("CF.SCANDUMP", "a", position)
            self.assertEqual(following == 0, piece is None)
