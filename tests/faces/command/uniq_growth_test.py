"""nestline uniq over so many lines that its set of lines grows several times.

NESTLINE names the program, NESTLINE_UNIQ_LINES (13,000,000) is the number of different lines. The
first generation has room for 4,194,304, the first two for 12,582,912.
"""

import os
import tempfile
import time
import unittest

from command_harness import PATIENCE, CommandTest

LINES = int(os.environ.get("NESTLINE_UNIQ_LINES", "13000000"))


class UniqGrowth(CommandTest):
    @classmethod
    def setUpClass(cls):
        cls.text = tempfile.NamedTemporaryFile(prefix="nestline-uniq-")
        cls.addClassCleanup(cls.text.close)
        for begin in range(0, LINES, 1_000_000):
            end = min(LINES, begin + 1_000_000)
            cls.text.write(b"".join(b"%d\n" % i for i in range(begin, end)))
        cls.text.flush()

    def setUp(self):
        super().setUp()
        os.symlink(self.text.name, self.path("text"))

    def test_the_rate_holds(self):
        with open(self.path("out"), "wb") as out:
            self.assertEqual(self.run_command("uniq", "text", stdout=out)[0], 0)
        with open(self.path("out"), "rb") as out:
            printed = [int(line) for line in out]
        self.assertTrue(all(a < b for a, b in zip(printed, printed[1:])))
        self.assertTrue(0.999 * LINES <= len(printed) < LINES, len(printed))

    def test_all_generations_are_kept(self):
        # At this rate each generation has two layers.
        fine = ["--fpr", "0.000001"]
        status, count, err = self.run_command("uniq", "-c", *fine, "text", "text")
        self.assertEqual((status, err), (0, b""))
        self.assertTrue(LINES * 0.999999 - 5 <= int(count) <= LINES, count)
        self.expect(["uniq", "-c", *fine, "--state", "s", "text"], out=count)
        self.expect(["uniq", "--state", "s", "text", "-"], out=b"new\n", stdin=b"new\nnew\n")
        status, count, _ = self.run_command("uniq", "-c", "-d", "text", "text")
        self.assertTrue(0.999 * LINES <= int(count) <= LINES, count)
        self.assertEqual(status, 0)

    def test_sets_that_forget_by_the_clock(self):
        with open(self.path("out"), "wb") as out:
            self.assertEqual(self.run_command("uniq", "--within", "24h", "--state", "s", "text",
                                              "text", stdout=out)[0], 0)
        with open(self.path("out"), "rb") as out:
            printed = [int(line) for line in out]
        self.assertTrue(all(a < b for a, b in zip(printed, printed[1:])))
        self.assertTrue(0.999 * LINES <= len(printed) < LINES, len(printed))
        # A line that came again is in an old set and in the newest one.
        self.assertTrue(0.999 * LINES <= self.info("s")["lines"] <= 2 * LINES)
        self.expect(["verify", "s"])
        self.expect(["uniq", "--state", "s", "text", "-"], out=b"new\n", stdin=b"new\nnew\n")

    def test_an_old_set_is_dropped(self):
        # The second set has 40 MB, the first 17. On a slow machine lines may be forgotten before.
        self.write("some", b"".join(b"%d\n" % i for i in range(5_000_000)))
        self.run_command("uniq", "-c", "--within", "20s", "--state", "s", "some")
        end = time.monotonic() + PATIENCE
        while self.info("s")["memory_bytes"] > 45_000_000:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.5)
            self.run_command("uniq", "--state", "s", stdin=b"again\n")
        self.expect(["verify", "s"])
        self.run_command("uniq", "--state", "s", stdin=b"again\n")
        self.expect(["uniq", "--state", "s"], 1, stdin=b"again\n")


if __name__ == "__main__":
    unittest.main()
