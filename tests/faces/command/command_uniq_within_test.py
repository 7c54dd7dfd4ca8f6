"""End-to-end tests of nestline uniq --within, which forgets lines by the clock. Run by command_test.py.

The time that passes between two runs is given to the command by the file of --state, in which these
tests put it back. No test depends on how fast the machine is, as long as a run does not last for an hour.
"""

import os
import pathlib
import struct
import subprocess
import sys
import time

from command_harness import NESTLINE, PATIENCE, lines
from command_uniq_test import OTHERS, UniqTest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "filters" / "file"))

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
        count = self.expect_awk(HOUR, (*HOUR, "--fpr", "0.0002"),
                                (*HOUR, "--fpr", "0.000002", "--capacity", "40000"))
        self.expect_lines(["--within", "36525d", "-c", "text", "text"], out=b"%d\n" % count)
        self.expect_lines(["--within", "1ms"], 1)

    def test_rate(self):
        self.expect_rates(("0.05", "0.01", "0.001", "0.0003", "0.00005", "0.000002"),
                          (*HOUR, "--capacity", "60000"))

    def test_repeated(self):
        self.expect_repeated(*HOUR)
        # After an hour a line that repeats is printed again, at its second occurrence.
        self.expect_lines(["--state", "s", *HOUR, "-d"], out=b"a\n", stdin=b"a\na\na\n")
        self.expect_lines(["--state", "s", "-d"], 1, stdin=b"a\n")

    def test_capacity(self):
        # With two filters, a few new lines take room in one of them only.
        self.expect_full((*HOUR, "--fpr", "0.000002"), 9900, b"none", share=1 / 500)
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
        # A tick of an hour is 4 minutes 17 seconds; the runs together count, not only whole ticks. 59 minutes of them.
        self.expect_lines(["--state", "s", *SMALL], out=b"a\n", stdin=b"a\n")
        for minutes in (*[1] * 8, *[3] * 17):
            self.age("s", minutes)
            self.expect_lines(["--state", "s"], 1)
        again = self.read("s")
        self.expect_lines(["--state", "s"], 1, stdin=b"a\n")
        self.write("s", again)
        for _ in range(3):
            self.age("s", 2)
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
        self.expect_to_continue(HOUR, (), ("--capacity", "30000", "--fpr", "0.000002"), ("-d",),
                                ("--seed", "7"))

    def test_other_options(self):
        self.expect_lines(["--state", "s", *SMALL], out=b"a\n", stdin=b"a\n")
        self.expect_lines(["--state", "t"], out=b"a\n", stdin=b"a\n")
        self.expect_refusals(
            ("s", ["--within", "61m"], b"the state was begun with --within 1h" + OTHERS),
            ("s", ["--within", "1d"], b"the state was begun with --within 1h" + OTHERS),
            ("s", ["--window", "10"], b"the state was begun without --window" + OTHERS),
            ("s", ["--capacity", "9"], b"the state was begun with --capacity 500" + OTHERS),
            ("s", ["-d"], b"the state was begun without -d; begin another state\n"),
            ("t", ["--within", "1h"], b"the state was begun without --within" + OTHERS),
        )
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
        self.expect_no_damage_missed(SMALL, 124, cuts=(100,))
        self.expect_no_damage_missed(["-d", *SMALL, "--fpr", "0.00001"], 124, cuts=(100,))
