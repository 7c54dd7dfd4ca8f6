"""Tests docs/FORMAT.md: the reader that was written from it must give the library's answers.

The golden files come with the answers that the library gave (golden.h). When the environment
variable NESTLINE names the command, the test also compares files that the command makes now.
"""

import os
import pathlib
import subprocess
import tempfile
import unittest

from format_reader import BadFile, MASK, Reader
from xxh3 import xxh3_64

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"
TURN_OVER = ("t8", "t12_grown", "u8", "u12_grown")
SMALL = ("w12_grown_small", "k16_small", "e44_small")
NAMES = ("w8", "w9", "w10", "w12", "w16", "w12_grown", "e40", "e44", *TURN_OVER, *SMALL)
ASKED = 4096


def read(name):
    return (GOLDEN / f"{name}.nest").read_bytes()


class Golden(unittest.TestCase):
    def test_answers(self):
        for name in NAMES:
            reader = Reader(read(name))
            counts = (
                reader.count_integer,
                lambda i: reader.count_string(b"key-%d" % i),
                lambda i: reader.count_hash((i + 1) * 0x9E3779B97F4A7C15 & MASK),
            )
            lines = (GOLDEN / f"{name}.answers").read_text().splitlines()
            if reader.expires:
                left = lines.pop()
                self.assertEqual([reader.left_integer(i) for i in range(ASKED)],
                                 [int(digit, 16) for digit in left])
            self.assertEqual(len(lines), len(counts))
            for kind, (line, count) in enumerate(zip(lines, counts)):
                with self.subTest(name=name, kind=kind):
                    self.assertEqual(len(line), ASKED // 4)
                    expected = [int(line[i // 4], 16) >> i % 4 & 1 for i in range(ASKED)]
                    self.assertEqual([int(count(i) > 0) for i in range(ASKED)], expected)

    def test_some_keys_are_away_from_home(self):
        """Otherwise the comparison would show nothing about alternates."""
        for name in NAMES:
            reader = Reader(read(name))
            marks = [reader.data[reader.header + 64 * block + 60] for block in range(reader.blocks)]
            self.assertGreater(max(marks), 0, name)

    def test_guests_are_covered_by_marks(self):
        """What section 4.5 says of guests: each is in its alternate by the mark of its home."""
        for name in TURN_OVER:
            reader = Reader(read(name))
            guests = [(b, *guest) for b in range(reader.blocks) for guest in reader.guests(b)]
            self.assertGreater(len(guests), 30, name)
            for block, of, slot in guests:
                home = reader.alternate(block, reader.slot(block, slot), 0)
                self.assertNotEqual(home, block)
                self.assertLess(of - 1, reader.data[reader.header + 64 * home + 60])

    def test_worked_examples(self):
        reader = Reader(read("w8"))
        secrets = (reader.before, reader.multiplier)
        self.assertEqual(secrets, (0x78C4C6A454F8CA7A, 0xC8F7834FEA3A70F1))
        self.assertEqual(reader.count_integer(32), 1)
        self.assertEqual((reader.slot(2, 6), reader.data[4156]), (0x0E, 26))
        reader = Reader(read("w12"))
        secrets = (reader.before, reader.multiplier)
        self.assertEqual(secrets, (0x255A96F563B507E2, 0x65704B5496B35569))
        self.assertEqual(reader.count_integer(1), 1)
        self.assertEqual(reader.slot(1, 10), 0xEC9)


class Damage(unittest.TestCase):
    def test_is_found(self):
        for name in NAMES:
            data = read(name)
            header = Reader(data).header
            rest = range(header - 16, len(data), 1 if len(data) < 8000 else 13)
            for at in [*range(0, 96), header // 2, *rest]:
                bad = bytearray(data)
                bad[at] ^= 1 << at % 8
                with self.subTest(name=name, at=at), self.assertRaises(BadFile):
                    Reader(bytes(bad))
            for bad in (b"", data[:12], data[: header - 1], data[:-1], data + b"\0"):
                with self.subTest(name=name, length=len(bad)), self.assertRaises(BadFile):
                    Reader(bad)


class Checksum(unittest.TestCase):
    def test_vectors(self):
        """Against libxxhash 0.8.1, for every code path that depends on the length."""
        text = bytes(i * 7 & 0xFF for i in range(3000))
        for size, *hashes in VECTORS:
            for seed, expected in zip(SEEDS, hashes):
                with self.subTest(size=size, seed=seed):
                    self.assertEqual(xxh3_64(text[:size], seed), expected)


@unittest.skipUnless("NESTLINE" in os.environ, "NESTLINE does not name the command")
class Command(unittest.TestCase):
    def test_files_of_the_command(self):
        asked = [b"%d" % i for i in range(20_000)]
        widths = ("8", "9", "10", "12", "16")
        for bits, *more in [*zip(widths), *((bits, "--turns-over") for bits in widths)]:
            with self.subTest(bits=bits, more=more), tempfile.TemporaryDirectory() as folder:
                file = os.path.join(folder, "filter")
                command = os.path.abspath(os.environ["NESTLINE"])
                build = [command, "build", "-o", file, "--bits", bits, "--seed", "77", *more]
                subprocess.run(build, input=b"\n".join(asked[::4]), check=True)
                query = [command, "query", file]
                lines = b"\n".join(asked)
                done = subprocess.run(query, input=lines, check=True, stdout=subprocess.PIPE)
                with open(file, "rb") as stream:
                    reader = Reader(stream.read())
                self.assertEqual(reader.turns_over, bool(more))
                mine = [key for key in asked if reader.count_string(key) > 0]
                self.assertEqual(mine, done.stdout.splitlines())


# The length, and the hashes with the seeds of SEEDS.
SEEDS = (0, 0x9e3779b97f4a7c15)
VECTORS = [
    (0, 0x2d06800538d394c2, 0x602b0e2cd6662c8b),
    (1, 0xc44bdff4074eecdb, 0x062b185e4e01441a),
    (3, 0xc3489259e968ad9e, 0x71a5f088b9bf6b14),
    (4, 0xd3d60c1519014e89, 0x725545a3f20014ce),
    (8, 0xb88dee77f6bf6980, 0x3f5da5b7ad256de3),
    (9, 0x03688dcad730d826, 0xc332deb897105a63),
    (16, 0x9da23836adf2be1e, 0x6c542998420ca675),
    (17, 0xf34c3c9cf5a112d1, 0x215d8e2b47eb92db),
    (128, 0x65f3c2c00fa93185, 0x65c2e94ea7b79257),
    (129, 0x28065c6ec25f5b25, 0x17f705a26996f1c9),
    (240, 0x4917a75c0ef8eed7, 0xf906157a86b7eac3),
    (241, 0x541b19226f0052e8, 0x6ec6d69819587a84),
    (1024, 0xdc5acf0b043c445b, 0x40172938d0e7f70f),
    (1025, 0xe1d9cd946277ae26, 0xba11213cc12200e2),
    (3000, 0x6168bb188259cccf, 0xa31c804c73ba1249),
]


if __name__ == "__main__":
    unittest.main()
