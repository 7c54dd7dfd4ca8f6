#!/usr/bin/env python3
"""A reader of nestline files, written from docs/FORMAT.md alone: it shares no code with the library.

    format_reader.py FILE [KEY...]

Prints what the header says. For each key, prints whether it may be in the filter: as a string, and
also as an integer if it is one. format_test.py compares the answers with the library's.
"""

import struct
import sys

from xxh3 import MASK, xxh3_64

MAGIC = bytes.fromhex("8e4e53540d0a1a0a")
PAGE = 4096
# Of each field of the header: where version 1 of the format has it and version 2, in how many bytes each.
FIELDS = {
    "hash_version": (16, 16, 4, 1), "width": (20, 18, 4, 2), "bases": (24, 32, 8, 6),
    "growth": (32, 17, 4, 1), "kinds": (36, 20, 4, 4), "seed": (40, 24, 8, 8), "keys": (48, 38, 8, 6),
    "capacity": (56, 44, 8, 6), "max_capacity": (64, 50, 8, 6), "life": (80, 56, 4, 4),
    "waiting": (84, 60, 4, 4), "exchanged": (88, 72, 8, 8), "swept": (96, 80, 8, 8), "tick": (4032, 64, 8, 8),
}  # fmt: skip
BLOCK = 64
SECTION = 1 << 20
MARK = 60
# width: segments, slots per segment
SEGMENTS = {8: (4, 15), 9: (4, 13), 10: (4, 12), 12: (4, 10), 16: (5, 6), 40: (4, 10), 44: (5, 6)}
# hash version: the highest class of which a block of each guest level has guests that are known
LEVELS = {
    2: (0,), 3: tuple(range(0, 104, 8)),
    4: (0, 7, 15, 23, 31, 39, 47, 63, 79, 95, 127, 159, 191, 255, 95, 0),
}  # fmt: skip
ROTATIONS = (0, 0xDDC9, 0x6063, 0x874B, 0xA925)


def mix(x, a, m):
    x ^= a
    x ^= x >> 29
    x = x * m & MASK
    x ^= x >> 32
    return x * 0xAA4DEB21CC59B9F1 & MASK


def high64(a, b):
    return a * b >> 64


class BadFile(Exception):
    pass


def expect(good, message):
    if not good:
        raise BadFile(message)


class Reader:
    """A filter in the bytes of a file. Raises BadFile when the bytes are not a filter."""

    def __init__(self, data):
        self.data = data
        self.read_header()
        self.check_content()
        self.before = mix(self.seed, 0xAA4DEB21CC59B9F1, 0x3FF5C6BD6E2A43F1)
        second = mix(self.before + self.seed & MASK, 0x3FF5C6BD6E2A43F1, 0xAA4DEB21CC59B9F1)
        self.multiplier = second | 1

    def read_header(self):
        data = self.data
        expect(data[:8] == MAGIC, "no nestline file")
        expect(len(data) >= 16, "ends within the header")
        order, version = struct.unpack_from("<II", data, 8)
        expect(order == 0x01020304, "byte order")
        expect(version in (1, 2), "format version")
        small = version == 2

        def field(name):
            at, bytes_ = FIELDS[name][small], FIELDS[name][2 + small]
            return int.from_bytes(data[at : at + bytes_], "little")

        self.width = field("width")
        self.header = PAGE if not small else 128 if self.width >> 5 == 1 else 64
        expect(len(data) >= self.header, "ends within the header")
        hash_version, kinds = field("hash_version"), field("kinds")
        for name in ("bases", "growth", "seed", "keys", "capacity", "max_capacity"):
            setattr(self, name, field(name))
        expect(hash_version in LEVELS, "hash version")
        self.turns_over, self.levels = hash_version > 2, LEVELS[hash_version]
        sum_at = self.header - 8
        expect(xxh3_64(data[:sum_at]) == self.number(sum_at), "checksum of the header")
        expect(self.width in SEGMENTS, "width")
        self.segments, self.segment_slots = SEGMENTS[self.width]
        self.expires = self.width >= 40
        self.bits = self.width % 32
        expect(self.growth <= (0 if self.expires else self.width - 4), "growth")
        expect(1 <= self.bases and self.bases << self.growth <= 1 << 40, "base blocks")
        if self.turns_over:
            expect(not self.expires, "hash version of an expiring filter")
            expect(self.bases >= 64, "base blocks of a filter with guest lanes")
        self.blocks = self.bases << self.growth
        slots = self.blocks * self.segments * self.segment_slots
        expect(self.keys <= slots and 1 <= self.capacity <= slots, "keys or capacity")
        doublings = 0 if self.expires else self.width - 4 - self.growth
        most = min(slots << doublings, slots // self.blocks << 40)
        expect(self.max_capacity <= max(self.capacity, most), "maximal capacity")
        unused = [] if small else [(80, 4088)]
        marks = 0
        if self.expires:
            waiting, exchanged = field("waiting"), field("exchanged")
            for name in ("life", "swept", "tick"):
                setattr(self, name, field(name))
            expect(1 <= self.life <= 14, "life")
            expect(waiting < 64, "waiting inserts")
            expect((self.tick - exchanged) % 2**64 < 16, "tick of the last exchange")
            expect(self.swept <= self.blocks, "swept blocks")
            unused = [(88, 120)] if small else [(104, 4032), (4040, 4088)]
            marks = -(-self.blocks // BLOCK)
        used = any(any(data[start:end]) for start, end in unused)
        expect(not kinds & ~(0 if self.expires else 0x7FFF7FFF) and not used, "reserved bytes")
        self.sections = -(-(self.blocks + marks) * BLOCK // SECTION)
        self.checksums = self.header + (self.blocks + marks) * BLOCK
        length = self.checksums + 8 * self.sections + 8
        expect(small or length == self.number(72), "length in the header")
        expect(length == len(data), "length of the file")

    def check_content(self):
        end = self.checksums + 8 * self.sections
        expect(xxh3_64(self.data[self.checksums : end]) == self.number(end), "last checksum")
        for i in range(self.sections):
            start = self.header + i * SECTION
            section = self.data[start : min(start + SECTION, self.checksums)]
            expect(xxh3_64(section) == self.number(self.checksums + 8 * i), f"section {i}")
        keys = 0
        for block in range(self.blocks):
            start = self.header + block * BLOCK
            if self.turns_over:
                expect(self.level(block) < len(self.levels), f"block {block}: guest level")
            lock = self.data[start + 61] & (0xE1 if self.turns_over else 0xFF)
            expect(not lock and not any(self.data[start + 62 : start + 64]), f"block {block}: lock, version")
            if self.width == 9:
                rest = self.data[start + 58] >> 4 | self.data[start + 59]
                expect(rest == 0, f"block {block}: after the plane")
            for slot in range(self.segments * self.segment_slots):
                f, death = self.slot(block, slot), self.death(block, slot)
                if f == 0:
                    expect(death == 0, f"block {block}: free slot")
                    continue
                keys += 1
                expect(f & 0xFF, f"block {block}: free slot")
                if self.expires:
                    least = 1 if block < self.swept else 0
                    expect(least <= self.ticks_left(death) <= self.life + 1, f"block {block}: life")
                child = f >> self.bits - self.growth
                expect(child == block % (1 << self.growth), f"block {block}: child")
        expect(keys == self.keys, "number of keys")
        if self.expires:
            next_marks = self.header + self.blocks * BLOCK
            expect(not any(self.data[next_marks + self.blocks : self.checksums]), "after the next marks")

    def number(self, at):
        return int.from_bytes(self.data[at : at + 8], "little")

    def slot(self, block, s):
        """The fingerprint in slot s of a block."""
        start = self.header + block * BLOCK
        if self.width in (8, 40):
            return self.data[start + s]
        if self.width in (16, 44):
            f = self.data[start + 2 * s] | self.data[start + 2 * s + 1] << 8
            return f & (1 << self.bits) - 1
        high = self.nibble(start, s) if self.width == 12 else self.planes(start, s)
        return high << 8 | self.data[start + s]

    def level(self, block):
        """The guest level of a block."""
        return self.data[self.header + block * BLOCK + 61] >> 1 & 15

    def planes(self, start, s):
        """Bits 8 and 9 of slot s, each from its plane behind the low bytes."""
        slots = self.segments * self.segment_slots
        size = -(-slots // 8)
        bits = 0
        for p in range(self.width - 8):
            at = start + slots + p * size
            bits |= (int.from_bytes(self.data[at : at + size], "little") >> s & 1) << p
        return bits

    def nibble(self, start, s):
        high = self.data[start + 40 + s % 20]
        return high & 15 if s < 20 else high >> 4

    def death(self, block, s):
        """The death of slot s; 0 where slots have none."""
        start = self.header + block * BLOCK
        if self.width == 40:
            return self.nibble(start, s)
        return self.data[start + 2 * s + 1] >> 4 if self.width == 44 else 0

    def ticks_left(self, death):
        return (death - self.tick) % 16

    def count_hash(self, h):
        """How many copies of the key with this hash there may be; of those that are alive."""
        return len(self.find_hash(h))

    def left_integer(self, key):
        """The ticks that a key has left after the present one; 0 also where it is not there."""
        found = self.find_hash(mix(key, self.before, self.multiplier))
        return max((self.ticks_left(self.death(block, s)) for block, s in found), default=1) - 1

    def find_hash(self, h):
        """The block and the slot of each copy of the key with this hash."""
        rest = h * self.bases >> 32 & 0xFFFFFFFF
        f = rest >> 32 - self.bits
        if f & 0xFF == 0:
            f += 1
        p = (rest >> 16 - self.bits & 0xFFFF) * self.segment_slots >> 16
        base = high64(h, self.bases)
        child = f >> self.bits - self.growth
        home = (base << self.growth) + child
        bucket = [
            j * self.segment_slots + (p + ((f * m & 0xFFFF) * self.segment_slots >> 16)) % self.segment_slots
            for j, m in enumerate(ROTATIONS[: self.segments])
        ]

        def found_in(block):
            return [(block, s) for s in bucket if self.slot(block, s) == f and self.lives(block, s)]

        if (f & 0xFF) - 1 >= self.data[self.header + home * BLOCK + MARK]:
            return found_in(home)
        other = self.alternate(home, f, p)
        return found_in(home) + (found_in(other) if other != home else [])

    def alternate(self, block, f, p):
        base, child = block >> self.growth, block & (1 << self.growth) - 1
        pair = f * 16 + p
        if self.turns_over:
            pair &= 0xFF0
        x = pair * 0x93F632E505CEE36F & MASK
        x = (x ^ x >> 32) * 0x5494FC2A78752677 & MASK
        return ((high64(x, self.bases) - base) % self.bases << self.growth) + child

    def guests(self, block):
        """The slots of a block whose keys are known to be at home in another: class and slot."""
        highest = self.levels[self.level(block)]
        if self.levels == LEVELS[4] and self.growth > self.width - 8:
            # The bits of the low byte that doublings have taken are the same in all of the block.
            shift = self.growth - (self.width - 8)
            first = (block & (1 << shift) - 1) << 8 - shift
            highest = first + (highest + 1 >> shift) - 1
        if self.levels == LEVELS[3] and self.data[self.header + block * BLOCK + MARK] == 255:
            return []
        found = []
        for slot in range(self.segments * self.segment_slots):
            of = self.slot(block, slot) & 0xFF
            if 1 <= of <= highest and slot // self.segment_slots == of % 4:
                found.append((of, slot))
        return found

    def lives(self, block, s):
        return not self.expires or self.ticks_left(self.death(block, s)) > 0

    def count_integer(self, key):
        return self.count_hash(mix(key, self.before, self.multiplier))

    def count_string(self, key):
        return self.count_hash(xxh3_64(key, self.seed))


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: format_reader.py FILE [KEY...]")
    with open(sys.argv[1], "rb") as file:
        try:
            reader = Reader(file.read())
        except BadFile as error:
            sys.exit(f"format_reader.py: {sys.argv[1]}: {error}")
    names = ["turns_over", "width", "bases", "growth", "seed", "keys", "capacity", "max_capacity"]
    for name in names + ["life", "tick", "swept"] * reader.expires:
        print(f"{name:13}{getattr(reader, name)}")
    answers = {False: "not in the filter", True: "may be in the filter"}
    for key in sys.argv[2:]:
        print(f'string "{key}": {answers[reader.count_string(key.encode()) > 0]}')
        if key.isdecimal() and int(key) <= MASK:
            print(f"integer {key}: {answers[reader.count_integer(int(key)) > 0]}")


if __name__ == "__main__":
    main()
