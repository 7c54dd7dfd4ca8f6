"""End-to-end tests of nestline uniq --within, which forgets lines by the clock. Run by command_test.py.

The time that passes between two runs is given to the command by the file of --state, in which these
tests put it back. No test depends on how fast the machine is, as long as a run does not last for an hour.
"""

import os
import pathlib
import random
import struct
import subprocess
import sys
import time

from command_harness import NESTLINE, PATIENCE, lines
from command_uniq_test import UniqTest, awk, mixed

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "file"))

from xxh3 import xxh3_64

HOUR = ("--within", "1h")
SMALL = (*HOUR, "--capacity", "500")  # one filter, so that age() knows the file
MINUTE = 60 * 10**9
TIME, HEADER, NUMBERS = 64, 72, 120  # where the time is, and up to where the checksums go


class UniqWithin(UniqTest):
    def time_of(self, name):
        return struct.unpack_from("<q", self.read(name), TIME)[0]

    def age(self, name, minutes):
        """Makes the state older, or, below 0, as if it had been written later."""
        data = bytearray(self.read(name))
        self.assertEqual(data[NUMBERS:NUMBERS + 4], b"\x8e\x4e\x53\x54")  # the filter begins here
        struct.pack_into("<Q", data, TIME, self.time_of(name) - minutes * MINUTE)
        struct.pack_into("<Q", data, HEADER, xxh3_64(data[:HEADER]))
        struct.pack_into("<Q", data, len(data) - 8, xxh3_64(data[:NUMBERS]))
        self.write(name, bytes(data))

    def test_agrees_with_awk(self):
        text = mixed(60000, 40000)
        self.write("text", text)
        for options in ((), ("--fpr", "0.0002"), ("--fpr", "0.000002", "--capacity", "40000")):
            self.expect_lines([*HOUR, *options, "text"], out=awk(text))
            self.expect_lines([*HOUR, *options], out=awk(text), stdin=text)
        self.expect_lines(["--within", "36525d", "-c", "text", "text"],
                          out=b"%d\n" % len(awk(text).splitlines()))
        self.expect_lines(["--within", "1ms"], 1)

    def test_rate(self):
        text = lines(b"a", 30000) * 2 + lines(b"b", 30000)
        new = lines(b"a", 30000) + lines(b"b", 30000)
        self.write("text", text)
        for rate in ("0.05", "0.01", "0.001", "0.0003", "0.00005", "0.000002"):
            status, out, err = self.run_command("uniq", *HOUR, "--fpr", rate, "--capacity", "60000",
                                                "text")
            self.assertEqual((status, err), (0, b""))
            printed = out.splitlines(keepends=True)
            self.assertEqual(len(set(printed)), len(printed))
            rest = iter(new.splitlines(keepends=True))
            self.assertTrue(all(line in rest for line in printed))  # in order
            self.assertLessEqual(60000 - len(printed), 60000 * float(rate) * 1.05 + 5)
        both = {self.run_command("uniq", *HOUR, "--fpr", "0.05", "--capacity", "60000", "--seed",
                                 seed, "text")[1] for seed in ("0", "1")}
        self.assertEqual(len(both), 2)

    def test_repeated(self):
        self.expect_lines(["-d", *HOUR], out=b"b\na\n", stdin=b"a\nb\nb\na\nb\nc\na\n")
        self.expect_lines(["-dc", *HOUR], out=b"2\n", stdin=b"a\nb\nb\na\nb\nc\na\n")
        self.expect_lines(["-d", *HOUR], 1, stdin=b"a\nb\n")
        # After an hour a line that repeats is printed again, at its second occurrence.
        self.expect_lines(["--state", "s", *HOUR, "-d"], out=b"a\n", stdin=b"a\na\na\n")
        self.expect_lines(["--state", "s", "-d"], 1, stdin=b"a\n")

    def test_capacity(self):
        text = lines(b"key", 5000) * 2 + lines(b"more", 5000)
        finest = (*HOUR, "--fpr", "0.000002")
        for capacity in (1, 100, 2048, 5000, 9900):
            status, out, err = self.run_command("uniq", *finest, "--capacity", str(capacity),
                                                stdin=text)
            self.assertEqual((status, awk(text).startswith(out)), (2, True))
            # With two filters, a few new lines take room in one of them only.
            self.assertTrue(0 <= len(out.splitlines()) - capacity <= capacity // 500)
            self.assertEqual(err, b"nestline: there are more different lines than the capacity of "
                             b"%d; the output ends before the first of them; give a larger "
                             b"--capacity, or none\n" % capacity)
        self.expect_lines([*finest, "--capacity", "10000"], out=awk(text), stdin=text)
        # Dead lines take no room.
        many = [*HOUR, "--capacity", "300", "--fpr", "0.001", "--state", "s"]
        self.expect_lines([*many, "-c"], out=b"300\n", stdin=lines(b"a", 300))
        status, out, err = self.run_command("uniq", *many, stdin=b"a-7\nb\n")
        self.assertEqual((status, out), (2, b""))
        self.age("s", 65)
        self.expect_lines([*many, "-c"], out=b"300\n", stdin=lines(b"a", 300))
        # Nor do those that died in this very tick, the fifteenth.
        self.age("s", 65)
        self.expect_lines([*many, "-c"], out=b"150\n", stdin=lines(b"a", 150))
        self.age("s", 40)
        self.expect_lines([*many, "-c"], out=b"150\n", stdin=lines(b"b", 150))
        self.age("s", 25)
        self.expect_lines([*many, "-c"], out=b"150\n", stdin=lines(b"c", 150) + lines(b"b", 150))

    def test_arguments(self):
        takes = b"--within takes a time from 1ms to 36525d, such as 500ms, 30s, 10m, 24h or 7d, not '"
        for text in ("", "0s", "10", "m", "1.5h", "-1s", "1y", "36526d", "99999999999999999999s",
                     "18446744073709551615ms", "1h30m"):
            self.expect_error(["uniq", "--within", text], takes + text.encode() + b"'; see")
        for arguments, part in [
            (("--window", "5"), b"--window excludes --within"),
            (("--fpr", "0.0001"), b"--fpr must be at least 0.0002 with --within, or 0.000002 with "
             b"--capacity too"),
            (("--fpr", "0.000001", "--capacity", "9"), b"--fpr must be at least 0.000002 with --within"),
        ]:
            self.expect_error(["uniq", *HOUR, *arguments], part, b"; see nestline uniq --help\n")
        for text in ("500ms", "30s", "10m", "24h", "7d"):
            self.expect_lines(["--within", text], out=b"a\n", stdin=b"a\n")

    def test_forgets_by_the_clock(self):
        window = 0.2
        with subprocess.Popen([NESTLINE, "uniq", "--within", "200ms"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as process:
            # A line that comes again at once keeps itself alive, so the pauses become longer.
            begin = time.monotonic()
            process.stdin.write(b"a\n")
            process.stdin.flush()
            self.assertEqual(process.stdout.readline(), b"a\n")
            pause, sent = 0.03, 0
            while sent < 13:  # 0.03 * 2 ** 13 s are four minutes
                time.sleep(pause)
                pause *= 2
                sent += 1
                process.stdin.write(b"a\nmark %d\n" % sent)
                process.stdin.flush()
                if process.stdout.readline() == b"a\n":
                    break
            self.assertLess(sent, 13)
            self.assertGreaterEqual(time.monotonic() - begin, window)
            process.stdin.close()
            process.stdout.read()
            self.assertEqual(process.wait(PATIENCE), 0)

    def test_time_between_runs_counts(self):
        self.expect_lines(["--state", "s", *SMALL], out=b"a\n", stdin=b"a\n")
        self.expect_lines(["--state", "s"], 1, stdin=b"a\n")
        for minutes in (30, 50, 59):  # each time it comes it lives for another hour
            self.age("s", minutes)
            self.expect_lines(["--state", "s"], 1, stdin=b"a\n")
        self.age("s", 65)
        self.expect_lines(["--state", "s"], out=b"a\n", stdin=b"a\n")
        for minutes in (24 * 60, 40 * 365 * 24 * 60):
            self.age("s", minutes)
            self.expect_lines(["--state", "s"], out=b"a\n", stdin=b"a\n")
        # From 1970 on.
        self.age("s", self.time_of("s") // MINUTE)
        self.expect_lines(["--state", "s"], out=b"a\n", stdin=b"a\n")

    def test_many_short_runs(self):
        # A tick of an hour is 4 minutes 17 seconds; the runs together count, not only whole ticks.
        self.expect_lines(["--state", "s", *SMALL], out=b"a\n", stdin=b"a\n")
        for _ in range(59):
            self.age("s", 1)
            self.expect_lines(["--state", "s"], 1)
        again = self.read("s")
        self.expect_lines(["--state", "s"], 1, stdin=b"a\n")
        self.write("s", again)
        for _ in range(6):
            self.age("s", 1)
            self.expect_lines(["--state", "s"], 1)
        self.expect_lines(["--state", "s"], out=b"a\n", stdin=b"a\n")

    def test_a_clock_that_went_back(self):
        year = 365 * 24 * 60
        self.expect_lines(["--state", "s", *SMALL], out=b"a\n", stdin=b"a\n")
        self.age("s", -year)
        before = time.time_ns()
        self.expect_lines(["--state", "s"], 1, stdin=b"a\n")  # it is not lost
        self.assertLessEqual(self.time_of("s"), time.time_ns())
        self.assertGreater(self.time_of("s"), before - 10 * MINUTE)
        self.age("s", 65)
        self.expect_lines(["--state", "s"], out=b"a\n", stdin=b"a\n")  # nor kept for ever

    def test_runs_continue(self):
        text = mixed(40000, 30000)
        items = text.splitlines(keepends=True)
        parts = [items[:1], items[1:9000], [], items[9000:9100], items[9100:33000], items[33000:]]
        for options in ((), ("--capacity", "30000", "--fpr", "0.000002"), ("-d",), ("--seed", "7")):
            whole = self.run_command("uniq", *HOUR, *options, stdin=text)[1]
            printed = b""
            for i, part in enumerate(parts):
                # Options that the state has may be left out, but for -d.
                given = [*HOUR, *options] if i != 3 else ["-d"] if "-d" in options else []
                status, out, err = self.run_command("uniq", "--state", "s", *given,
                                                    stdin=b"".join(part))
                self.assertEqual((status, err), (0 if out else 1, b""))
                printed += out
            self.assertTrue(printed == whole, options)
            os.remove(self.path("s"))
        self.assertEqual(os.listdir(self.folder), [])

    def test_other_options(self):
        self.expect_lines(["--state", "s", *SMALL], out=b"a\n", stdin=b"a\n")
        self.expect_lines(["--state", "t"], out=b"a\n", stdin=b"a\n")
        before = self.read("s")
        end = b"; leave the option out, or begin another state\n"
        for name, arguments, part in [
            ("s", ["--within", "61m"], b"the state was begun with --within 1h" + end),
            ("s", ["--within", "1d"], b"the state was begun with --within 1h" + end),
            ("s", ["--window", "10"], b"the state was begun without --window" + end),
            ("s", ["--capacity", "9"], b"the state was begun with --capacity 500" + end),
            ("s", ["-d"], b"the state was begun without -d; begin another state\n"),
            ("t", ["--within", "1h"], b"the state was begun without --within" + end),
        ]:
            self.expect_error(["uniq", "--state", name, *arguments], b"nestline: %s: %s"
                              % (name.encode(), part), stdin=b"b\n")
        self.assertEqual(self.read("s"), before)
        self.expect_lines(["--state", "s", "--within", "60m"], 1, stdin=b"a\n")
        self.expect_lines(["--state", "s", "--within", "3600000ms"], 1, stdin=b"a\n")

    def test_info_and_verify(self):
        self.expect_lines(["--state", "s", "-d", *HOUR, "--seed", "9"], out=b"a\n",
                          stdin=b"a\nb\na\na\n")
        info = self.info("s")
        self.assertEqual(list(info), ["lines", "repeated_lines", "capacity", "window",
                                      "within_seconds", "fpr", "seed", "memory_bytes", "file_bytes",
                                      "advice"])
        self.assertEqual(list(info.values())[:7], [2, 1, 0, 0, 3600, 0.001, 9])
        self.assertEqual(info["file_bytes"], os.path.getsize(self.path("s")))
        self.assertTrue(1_000_000 < info["memory_bytes"] < info["file_bytes"])
        self.assertIn(b"\nforgets after                 1h\n", self.run_command("info", "s")[1])
        self.expect(["verify", "s"])
        self.run_command("uniq", "--state", "t", *SMALL, "-c", stdin=lines(b"a", 490))
        self.assertEqual(self.info("t")["advice"], [
            "nearly full: there is room for %d more different lines, and then nestline uniq ends "
            "with an error; begin another state with a larger --capacity, or without one"
            % (500 - self.info("t")["lines"])])

    def test_damage(self):
        chance = random.Random(5)
        for options in (SMALL, ["-d", *SMALL, "--fpr", "0.00001"]):
            self.run_command("uniq", "--state", "s", *options, stdin=lines(b"key", 400))
            good = self.read("s")
            places = [*range(3, 124, 8), *range(len(good) - 20, len(good), 4)]
            places += [chance.randrange(len(good)) for _ in range(25)]
            for place in places:
                flipped = bytearray(good)
                flipped[place] ^= 1 << chance.randrange(8)
                self.write("s", bytes(flipped))
                with self.subTest(options=options, place=place):
                    self.expect_error(["uniq", "--state", "s"],
                                      b"nestline: s: at byte ", stdin=b"key-1\n")
                    self.assertEqual(self.read("s"), bytes(flipped))
            for damaged in (good[:-1], good[:50], good[:100], good[:4], good + b"\0"):
                self.write("s", damaged)
                self.expect_error(["uniq", "--state", "s"], b"nestline: s: at byte ")
            os.remove(self.path("s"))
