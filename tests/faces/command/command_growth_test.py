"""End-to-end tests of the nestline command: threads, filters that grow, and merge.

Run by command_test.py.
"""

import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys

from command_harness import NESTLINE, PATIENCE, CommandTest, lines

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "filters" / "file"))

from xxh3 import xxh3_64


class Threads(CommandTest):
    def test_the_same_keys_are_found(self):
        keys = lines(b"key", 150000)
        self.write("keys", keys)
        self.expect(["build", "-o", "one", "keys"])
        one = self.info("one")
        for options in (["--threads", "2"], ["--threads", "9"],
                        ["--threads", "3", "--capacity", "150000"]):
            self.expect(["build", "-o", "f", *options, "keys"])
            info = self.info("f")
            for name in ("keys", "capacity", "bits", "memory_bytes", "doublings", "max_capacity"):
                self.assertEqual(info[name], one[name])
            self.assertAlmostEqual(info["expected_fpr"], one["expected_fpr"], delta=0.0005)
            self.expect(["verify", "f", "keys"])
            self.expect(["query", "f", "-c", "keys"], out=b"150000\n")
        self.expect(["build", "-o", "f", "--threads", "1", "keys"])
        self.assertEqual(self.read("f"), self.read("one"))

    def test_options_reach_the_filter(self):
        self.build("f", lines(b"key", 3000), "--threads", "2", "--seed", "5", "--bits", "12",
                   "--capacity", "5000", "--max-capacity", "9000")
        info = self.info("f")
        self.assertEqual((info["seed"], info["bits"], info["max_capacity"]), (5, 12, 9000))
        self.assertGreaterEqual(info["capacity"], 5000)
        self.build("empty", b"", "--threads", "2")
        self.assertEqual(self.info("empty")["keys"], 0)

    def test_surplus_copies_are_left_out(self):
        keys = lines(b"k", 1000) * 12
        for options in ([], ["--capacity", "20000"]):
            status, out, err = self.run_command("build", "--copies", "-o", "f", "--threads", "2",
                                                *options, stdin=keys)
            self.assertEqual((status, out), (0, b""))
            left_out = 12000 - self.info("f")["keys"]
            self.assertGreaterEqual(left_out, 4000)
            self.assertIn(b"nestline: f: %d lines were further copies" % left_out, err)
            self.expect(["verify", "f", "-"], stdin=lines(b"k", 1000))

    def test_hashes_of_copies_are_kept_once(self):
        with open(NESTLINE, "rb") as program:
            if b"__asan_init" in program.read():
                self.skipTest("with the address sanitizer, memory that was freed stays taken")
        # A process begins with the peak of the one that starts it: so that is a small one.
        starting = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
                    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        peaks = []
        with open(self.path("keys"), "wb") as keys:
            for million in range(8):
                keys.write(lines(b"k%d" % million, 1000000))
                keys.flush()
                if million % 5 == 2:
                    peak = subprocess.run(
                        [sys.executable, "-c", starting, NESTLINE, "build", "--copies", "-o", "f", "keys"],
                        cwd=self.folder, check=True, stdout=subprocess.PIPE, timeout=PATIENCE).stdout
                    peaks.append(int(peak) * 1024)
        # 8 bytes a line, the filter's 10 bits, and what the system adds. Twice the hashes: 16.
        self.assertLess((peaks[1] - peaks[0]) / 5000000, 13.5)

    def test_full(self):
        self.write("keys", lines(b"key", 1000))
        self.expect_error(["build", "-o", "f", "--threads", "2", "--capacity", "10", "keys"],
                          b"nestline: f: full after ", b"--capacity of at least 1000\n")
        self.assertEqual(os.listdir(self.folder), ["keys"])


class Growth(CommandTest):
    def test_a_filter_grows_up_to_its_maximum(self):
        keys = lines(b"key", 16000)
        parts = [lines(b"%d" % i, 4000) for i in range(4)]
        options = ["--capacity", "2000", "--max-capacity", "16000", "--fpr", "0.001"]
        self.build("f", b"", *options)
        info = self.info("f")
        self.assertEqual((info["doublings"], info["max_capacity"]), (0, 16000))
        for part in parts:
            self.expect(["add", "f"], stdin=part)
        info = self.info("f")
        self.assertEqual((info["keys"], info["doublings"]), (16000, 3))
        self.assertGreaterEqual(info["capacity"], 16000)
        self.assertLessEqual(info["expected_fpr"], 0.001)
        for part in parts:
            self.expect(["verify", "f", "-"], stdin=part)
        table = self.run_command("info", "f")[1]
        self.assertRegex(table, rb"(?m)^doublings so far +3$")
        self.assertRegex(table, rb"(?m)^grows by itself up to +16000$")
        before = self.read("f")
        self.write("more", lines(b"more", 9000))
        self.expect_error(["add", "f", "more"], b"full after ", b"the file is unchanged",
                          b"--capacity or --max-capacity of at least 25000\n")
        self.assertEqual(self.read("f"), before)
        # While the filter is built, by one thread or by several.
        for threads in ("1", "2"):
            self.build("g", keys, *options, "--threads", threads)
            self.assertEqual(self.info("g")["doublings"], 3)
            self.expect(["verify", "g", "-"], stdin=keys)

    def test_counted_keys_and_a_maximum(self):
        self.build("f", lines(b"key", 1000), "--max-capacity", "4000", "--fpr", "0.001")
        self.expect(["add", "f"], stdin=lines(b"more", 3000))
        info = self.info("f")
        self.assertEqual((info["keys"], info["doublings"]), (4000, 2))
        self.assertLessEqual(info["expected_fpr"], 0.001)
        # A maximum below the number of keys has no effect.
        self.build("f", lines(b"key", 1000), "--max-capacity", "10")
        self.assertEqual(self.info("f")["keys"], 1000)
        self.assertRegex(self.run_command("info", "f")[1], rb"(?m)^doublings so far +0$")

    def test_impossible_growth_is_refused_before_the_keys_are_read(self):
        with self.start("build", "-o", "f", "--bits", "8", "--capacity", "10", "--max-capacity",
                        "10000") as process:
            self.assertEqual(process.wait(PATIENCE), 2)  # standard input is still open
            self.assertRegex(process.stderr.read(), rb"\Anestline: [^\n]*--max-capacity[^\n]*\n\Z")
        self.expect_error(["build", "-o", "f", "--bits", "8", "--max-capacity", "10000"],
                          b"nestline: --max-capacity ", stdin=b"a\n")
        self.assertEqual(os.listdir(self.folder), [])


class Merge(CommandTest):
    def test_union(self):
        parts = [lines(b"%d" % i, 3000) for i in range(3)]
        for i, part in enumerate(parts):
            self.build(str(i), part, "--capacity", "10000", "--seed", "9")
        self.expect(["merge", "-o", "all", "0", "1", "2"])
        info = self.info("all")
        self.assertEqual((info["keys"], info["seed"]), (9000, 9))
        self.assertEqual(info["memory_bytes"], self.info("0")["memory_bytes"])
        self.assertLessEqual(info["expected_fpr"], 0.01)
        self.expect(["verify", "all", "-"], stdin=b"".join(parts))
        self.expect(["verify", "all"])
        # Copies add up, even those of a file that is named twice. The result may replace an input.
        self.expect(["merge", "-o", "0", "0", "0", "0"])
        self.assertEqual(self.info("0")["keys"], 9000)
        for _ in range(3):
            self.expect(["query", "0", "-c"], out=b"1\n", stdin=b"0-77\n")
            self.expect(["remove", "0"], stdin=b"0-77\n")
        self.assertEqual(sorted(os.listdir(self.folder)), ["0", "1", "2", "all"])

    def test_fit(self):
        kept, removed = lines(b"kept", 900), lines(b"removed", 15000)
        self.build("f", kept + removed, "--capacity", "1000", "--max-capacity", "16000")
        self.assertEqual(self.info("f")["doublings"], 4)
        self.expect(["fit", "f"])  # its keys need all of it
        self.assertEqual(self.info("f")["doublings"], 4)
        self.expect(["remove", "f"], stdin=removed)
        self.expect(["fit", "f"])
        info = self.info("f")
        self.assertEqual((info["keys"], info["doublings"], info["max_capacity"]), (900, 0, 16000))
        self.expect(["verify", "f", "-"], stdin=kept)
        self.expect(["add", "f"], stdin=removed)
        self.expect(["verify", "f", "-"], stdin=kept + removed)
        self.expect_error(["fit", "missing"], b"nestline: missing: No such")

    def test_what_has_grown_differently(self):
        options = ["--capacity", "1000", "--max-capacity", "16000", "--fpr", "0.001"]
        small, large = lines(b"small", 900), lines(b"large", 7000)
        self.build("small", small, *options)
        self.build("large", large, *options)
        self.assertEqual((self.info("small")["doublings"], self.info("large")["doublings"]), (0, 3))
        for order in (["small", "large"], ["large", "small"]):
            self.expect(["merge", "-o", "all", *order])
            info = self.info("all")
            self.assertEqual((info["keys"], info["doublings"]), (7900, 3))
            self.expect(["verify", "all", "-"], stdin=small + large)
        # Both grow when the keys need it.
        self.build("other", lines(b"other", 7500), *options)
        self.expect(["merge", "-o", "all", "large", "small", "other"])
        info = self.info("all")
        self.assertEqual((info["keys"], info["doublings"], info["max_capacity"]), (15400, 4, 16000))
        self.assertLessEqual(info["expected_fpr"], 0.001)
        self.expect(["verify", "all", "-"], stdin=small + large + lines(b"other", 7500))

    def test_copies_beyond_the_most_are_no_lack_of_room(self):
        self.write("one", b"the same\n")
        self.write("list", lines(b"common", 4000))
        for name, bits, most, count, options in [
            ("one", "8", 8, 9, []), ("one", "16", 10, 12, []), ("one", "12", 8, 10, ["2000000"]),
            ("list", "8", 8, 5, []), ("list", "8", 8, 5, ["160000"]),
            ("list", "12", 8, 12, ["160000"]),
        ]:
            with self.subTest(name=name, bits=bits, options=options):
                capacity = ["--capacity", "100000", "--bits", bits]
                capacity += ["--max-capacity", *options] if options else []
                self.expect(["build", "-o", "f", *capacity, name])
                status, out, err = self.run_command("merge", "-o", "all", *["f"] * count)
                self.assertEqual((status, out), (0, b""), err)
                info, keys = self.info("all"), self.info("f")["keys"]
                told = re.fullmatch(rb"nestline: all: (\d+) lines? w[^\n]* the most copies already, or no room for one more; "
                                    rb"[^\n]*; removing such keys [^\n]*\n", err)
                self.assertEqual(info["keys"], count * keys - int(told[1]))
                self.assertEqual(info["doublings"], 0)
                if name == "one":
                    self.assertEqual(info["keys"], most)
                self.expect(["verify", "all", name])
        # Copies that fit are a reason to grow.
        self.expect(["build", "-o", "f", "--capacity", "4000", "--max-capacity", "32000",
                     "--bits", "12", "list"])
        status, _, err = self.run_command("merge", "-o", "all", *["f"] * 3)
        self.assertEqual((status, self.info("all")["doublings"]), (0, 2), err)
        self.assertGreaterEqual(self.info("all")["keys"], 11990)

    def test_what_cannot_be_merged(self):
        self.build("a", lines(b"a", 1000), "--bits", "12", "--seed", "1")
        self.build("width", lines(b"a", 1000), "--bits", "16", "--seed", "1")
        self.build("seed", lines(b"a", 1000), "--bits", "12", "--seed", "2")
        self.build("size", lines(b"a", 2000), "--bits", "12", "--seed", "1")
        self.build("fits", b"", "--bits", "12", "--seed", "1", "--capacity", "1000")
        self.write("damaged", self.read("a")[:-1])
        os.mkdir(self.path("folder"))
        before = self.read("a")
        for other, *parts in [
            ("width", b"nestline: width: cannot be merged into a: ", b"16 bits, not 12"),
            ("seed", b"nestline: seed: cannot be merged into a: its seed is 2, not 1"),
            ("size", b"nestline: size: cannot be merged into a: ", b" bytes, not "),
            ("missing", b"nestline: missing: No such file"),
            ("damaged", b"nestline: damaged: at byte "),
            ("folder", b"nestline: folder: "),
        ]:
            for result in ("a", "new"):
                self.expect_error(["merge", "-o", result, "a", "fits", other], *parts)
        self.expect_error(["merge", "-o", "new", "missing", "a"], b"nestline: missing: No such")
        self.expect_error(["merge", "-o", "folder", "a", "fits"], b"nestline: folder: Is a dir")
        # Twice as many keys as there is room for, and no room to grow.
        self.expect_error(["merge", "-o", "a", "a", "a"], b"nestline: a: no room for its 1000 keys "
                          b"beside 1000 others", b"larger --capacity")
        self.assertEqual(self.read("a"), before)
        self.assertFalse(os.path.exists(self.path("new")))

    def test_merge_waits_for_add(self):
        self.build("f", b"", "--capacity", "1000")
        shutil.copy(self.path("f"), self.path("g"))
        self.expect(["add", "g"], stdin=lines(b"g", 300))
        keys = lines(b"added", 300)
        with self.start("add", "f") as adder:
            adder.stdin.write(keys)
            adder.stdin.flush()
            with self.start("merge", "-o", "f", "f", "g") as merger:
                adder.stdin.close()
                self.assertEqual(adder.wait(PATIENCE), 0)
                self.assertEqual(merger.wait(PATIENCE), 0)
        # Nothing is lost, whichever command ran first.
        self.assertEqual(self.info("f")["keys"], 600)
        self.expect(["verify", "f", "-"], stdin=keys + lines(b"g", 300))


class Advice(CommandTest):
    """What nestline info says in words."""

    def expect_advice(self, name, *sentences):
        self.assertEqual(self.info(name)["advice"], list(sentences))
        text = self.run_command("info", name)[1].decode().splitlines()
        told = [line for line in text if line.startswith("advice")]
        self.assertEqual(told, ["advice".ljust(30) + sentence for sentence in sentences])

    def test_room(self):
        self.build("f", lines(b"key", 900), "--capacity", "1000")
        self.expect_advice("f")
        room = self.info("f")["capacity"] - 900
        self.expect(["add", "f"], stdin=lines(b"more", room - 7))
        self.expect_advice("f", "nearly full: there is room for 7 more keys, and it does not grow; "
                                "for more, build it from all keys with a larger --capacity, or "
                                "with --max-capacity")
        self.expect(["add", "f"], stdin=lines(b"beyond", 10))
        self.expect_advice("f", "there are 3 keys more than its capacity: further ones may find no "
                                "room, and it may err more often than was asked for; build it from "
                                "all keys with a larger --capacity")

    def test_growth(self):
        self.build("f", lines(b"key", 900), "--capacity", "1000", "--max-capacity", "2000")
        self.expect_advice("f")
        before = self.info("f")
        self.expect(["add", "f"], stdin=lines(b"more", before["capacity"] - 900 - 5))
        told, = self.info("f")["advice"]
        sentence = re.fullmatch("nearly full: there is room for 5 more keys, and then it doubles "
                                "to (.*) kB; when it is full again, it errs about twice as often "
                                "as now", told)
        self.assertAlmostEqual(float(sentence[1]), 2 * before["memory_bytes"] / 1000, delta=0.5)
        # It does what it said.
        self.expect(["add", "f"], stdin=lines(b"last", 5))
        self.assertEqual(self.info("f")["doublings"], 0)
        self.expect(["add", "f"], stdin=b"one more\n")
        self.assertEqual(self.info("f")["doublings"], 1)
        self.expect_advice("f", "it has grown as far as its --max-capacity, and will not double "
                                "again")
        info = self.info("f")
        self.expect(["add", "f"], stdin=lines(b"end", info["capacity"] - info["keys"] - 2))
        self.expect_advice("f", "nearly full: there is room for 2 more keys, and it has grown as "
                                "far as its --max-capacity; for more, build it from all keys with "
                                "a larger one")

    def test_no_doubling_is_left(self):
        # Filters of 8 bits double four times, whatever their files name as the maximal capacity.
        self.build("f", b"", "--bits", "8", "--capacity", "1000", "--max-capacity", "16000")
        self.assertEqual(self.run_command("add", "f", stdin=lines(b"key", 15000))[0], 0)
        info = self.info("f")
        self.assertEqual(info["doublings"], 4)
        header = bytearray(self.read("f")[:4088])
        header[56:72] = struct.pack("<2Q", info["keys"] + 3, info["capacity"])  # the capacities
        with open(os.path.join(self.folder, "f"), "r+b") as file:
            file.write(header + struct.pack("<Q", xxh3_64(bytes(header))))
        self.expect_advice("f", "nearly full: there is room for 3 more keys, and it has doubled as "
                                "often as it can; for more, build it from all keys with a larger "
                                "--capacity")

    def test_more_growth_than_was_asked_for(self):
        # Both have as many bytes before they grow, and the first is grown to match.
        self.build("grown", lines(b"key", 3000), "--capacity", "1000", "--max-capacity", "8000",
                   "--bits", "16")
        self.build("fixed", lines(b"key", 500), "--capacity", "1125", "--bits", "16")
        self.expect(["merge", "-o", "all", "fixed", "grown"])
        doublings = self.info("all")["doublings"]
        self.assertGreater(doublings, 1)
        self.expect_advice("all", f"it has doubled {doublings} times beyond what it was built for, "
                                  f"so it errs about {2 ** doublings} times as often as was asked "
                                  "for at the same load; build it from all keys for the rate that "
                                  "was asked for")
