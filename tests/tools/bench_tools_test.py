"""Tests of scripts/bench: python3 bench_tools_test.py

They compare the statistics with values from hand calculation and a textbook. Then they run the
commands as a user does, on small programs that print what Google Benchmark or callgrind would.
"""

import itertools
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench" / "tools"))

# pylint: disable=wrong-import-position
import rank_sum
import signed_rank

# Takes Google Benchmark's arguments and prints its JSON. Noise is 2 %, another in each run: the
# runs are counted in a file, so that a test always sees the same noise.
FAKE_PROGRAM = """#!{python} -IS
import json, pathlib, random, re, sys
speeds = {speeds}
counter = pathlib.Path(__file__ + ".runs")
run = int(counter.read_text()) if counter.exists() else 0
counter.write_text(str(run + 1))
noise = random.Random(__file__.rsplit("/", 1)[1] + str(run))
arguments = dict(argument.split("=", 1) for argument in sys.argv[1:])
pattern = arguments.get("--benchmark_filter", "")
rows = []
for name, speed in speeds.items():
    if re.search(pattern, name):
        speed *= 1 + 0.02 * noise.uniform(-1, 1)
        row = dict(name=name, run_name=name, run_type="iteration", real_time=1e9 / speed)
        rows.append(row if name.startswith("time") else dict(row, items_per_second=speed))
result = json.dumps(dict(context={{}}, benchmarks=rows))
print(result)
if "--benchmark_out" in arguments:
    pathlib.Path(arguments["--benchmark_out"]).write_text(result)
"""

# "Builds" a file of the source tree that it is started in.
FAKE_CMAKE = """#!{python} -IS
import os, pathlib, sys
if "--build" in sys.argv:
    made = pathlib.Path("build/bench/bench", sys.argv[-1])
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_text(pathlib.Path("program").read_text())
    made.chmod(0o755)
"""

# Plays valgrind and the program under it: counts, and versions, are in files beside it.
FAKE_VALGRIND = """#!{python} -IS
import json, pathlib, sys
here = pathlib.Path(__file__).parent
if "--version" in sys.argv:
    print("valgrind-9.9.9")
elif "--toolchain" in sys.argv:
    print((here / "toolchain").read_text(), end="")
elif (here / "lacking").exists():
    sys.exit(3)
else:
    out = [a.split("=", 1)[1] for a in sys.argv if a.startswith("--callgrind-out-file=")][0]
    counts = json.loads((here / "counts").read_text())[sys.argv[-1]]
    for number, (name, total) in enumerate(counts.items(), 1):
        pathlib.Path(out + "." + str(number)).write_text("events: Ir\\ntotals: %d\\n" % total)
        print(name, 1000)
"""


class Statistics(unittest.TestCase):
    def test_null_distribution(self):
        # Sums of the subsets of 1, 2, 3: only 3 comes twice, as 3 and as 1 + 2.
        self.assertEqual(signed_rank.null_distribution([1, 2, 3]), [1, 1, 1, 2, 1, 1, 1])
        self.assertEqual(sum(signed_rank.null_distribution(range(1, 21))), 2**20)

    def test_ranks(self):
        self.assertEqual(signed_rank.doubled_ranks([0.3, 0.1, 0.2]), [6, 2, 4])
        # 5 and 5 share the ranks 2 and 3.
        self.assertEqual(signed_rank.doubled_ranks([5, 1, 5, 9]), [5, 2, 5, 8])

    def test_p_values(self):
        # The positive ranks sum to 3; 5 of 8 choices of signs give 3 or less, 5 give 3 or more.
        self.assertEqual(signed_rank.one_sided([1, 2, -3]), (5 / 8, 5 / 8))
        self.assertEqual(signed_rank.one_sided([1, 2, 3]), (1, 1 / 8))
        self.assertEqual(signed_rank.two_sided([1, 2, 3, 4, 5, 6]), 2 / 64)
        self.assertEqual(signed_rank.two_sided([2, 3, 4], centre=1), 2 / 8)
        # Ties: three equal sizes, of which one is negative; 1 + 3 of 8 choices have as much.
        self.assertEqual(signed_rank.one_sided([1, 1, -1]), (7 / 8, 4 / 8))
        # Differences equal to the centre do not count.
        self.assertEqual(signed_rank.two_sided([0, 0, 1, 2, 3]), 2 / 8)
        self.assertEqual(signed_rank.two_sided([0, 0]), 1)

    def test_estimate(self):
        # Averages of 0, 1, 5: 0 0.5 1 2.5 3 5.
        self.assertEqual(signed_rank.estimate([5, 0, 1]), 1.75)

    def test_interval(self):
        # 6 rounds: 1 / 64 lies below the lowest average, 2 / 64 below the second.
        self.assertEqual(signed_rank.interval([6, 2, 3, 1, 4, 5]), (1, 6, 1 - 2 / 64))
        self.assertIsNone(signed_rank.interval([1, 2, 3, 4, 5]))
        # 8 rounds: sums 0 to 3 come 1 + 1 + 1 + 2 = 5 times in 256, 0 to 4 come 7 times: too much.
        # So the fourth average from either end: 1, 1.5, 2, 2 and 8, 7.5, 7, 7.
        self.assertEqual(signed_rank.interval([1, 2, 3, 4, 5, 6, 7, 8]), (2, 7, 1 - 10 / 256))

    def test_textbook(self):
        # Hollander and Wolfe, table 3.1: nine patients before and after; their results.
        before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
        after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
        change = [b - a for a, b in zip(before, after)]
        self.assertAlmostEqual(signed_rank.one_sided(change)[0], 0.0195, 4)
        self.assertAlmostEqual(signed_rank.estimate(change), -0.46, 3)
        low, high, coverage = signed_rank.interval(change)
        self.assertAlmostEqual(low, -0.786, 3)
        self.assertAlmostEqual(high, -0.010, 3)
        self.assertAlmostEqual(coverage, 0.961, 3)

    def test_interval_is_what_the_test_accepts(self):
        values = [0.31, -0.12, 0.44, 0.05, 0.27, 0.61, -0.08, 0.19, 0.5, 0.33]
        low, high, _ = signed_rank.interval(values)
        for centre in (low + 1e-9, high - 1e-9):
            self.assertGreater(signed_rank.two_sided(values, centre), 0.05)
        for centre in (low - 1e-9, high + 1e-9):
            self.assertLessEqual(signed_rank.two_sided(values, centre), 0.05)

    def test_holm(self):
        # 0.01 * 3, 0.03 * 2, and 0.04 * 1, which must not be less than the one before it.
        adjusted = signed_rank.holm([0.01, 0.04, 0.03])
        for value, wanted in zip(adjusted, [0.03, 0.06, 0.06]):
            self.assertAlmostEqual(value, wanted)
        self.assertEqual(signed_rank.holm([0.9, 0.8]), [1, 1])

    def test_rounds_needed(self):
        # 2 / 2^6 < 0.05 < 2 / 2^5; 36 * 2 / 2^11 < 0.05 < 36 * 2 / 2^10.
        self.assertEqual(signed_rank.rounds_needed(1), 6)
        self.assertEqual(signed_rank.rounds_needed(36), 11)


class RankSum(unittest.TestCase):
    def test_null_distribution(self):
        # Two of the ranks 1 to 4: 3 4 5 5 6 7.
        self.assertEqual(rank_sum.null_distribution((1, 2, 3, 4), 2), [0, 0, 0, 1, 1, 2, 1, 1])
        for ranks, size in (((2, 5, 5, 8, 10), 3), ((1, 2, 3), 3), ((4,), 0)):
            sums = [sum(some) for some in itertools.combinations(ranks, size)]
            counts = rank_sum.null_distribution(ranks, size)
            self.assertEqual(counts, [sums.count(total) for total in range(max(sums) + 1)])
        many = rank_sum.null_distribution(tuple(range(1, 81)), 40)
        self.assertEqual((sum(many), many[-1]), (math.comb(80, 40), 1))

    def test_p_values(self):
        # Of the 20 choices of three of six ranks one has the sum 15, and one 14.
        self.assertEqual(rank_sum.one_sided(([1, 2, 3], [4, 5, 6])), (1, 1 / 20))
        self.assertEqual(rank_sum.one_sided(([1, 2, 4], [3, 5, 6])), (19 / 20, 2 / 20))
        self.assertEqual(rank_sum.two_sided(([1, 2, 3], [4, 5, 6]), centre=3), 1)
        # Ties: two of 1, 1, 2 with the mean ranks 1.5, 1.5, 3; one of the three choices has 3, two 4.5.
        self.assertEqual(rank_sum.one_sided(([1], [1, 2])), (1, 2 / 3))

    def test_interval_is_what_the_test_accepts(self):
        pair = ([0.31, -0.12, 0.44, 0.05, 0.27], [0.61, 0.92, 0.19, 0.5, 0.33, 0.71])
        low, high, coverage = rank_sum.interval(pair)
        self.assertGreaterEqual(coverage, 0.95)
        for centre in (low + 1e-9, high - 1e-9):
            self.assertGreater(rank_sum.two_sided(pair, centre), 0.05)
        for centre in (low - 1e-9, high + 1e-9):
            self.assertLessEqual(rank_sum.two_sided(pair, centre), 0.05)
        self.assertIsNone(rank_sum.interval(([1, 2, 3], [4, 5, 6])))

    def test_textbook(self):
        # Hollander and Wolfe, table 4.1, permeability of membranes: W = 30 of five and ten, p 0.1272.
        late = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
        early = [1.15, 0.88, 0.90, 0.74, 1.21]
        self.assertAlmostEqual(rank_sum.one_sided((late, early))[0], 0.1272, 4)
        self.assertAlmostEqual(rank_sum.estimate((late, early)), -0.305, 3)

    def test_needed(self):
        # 2 / C(8, 4) < 0.05 < 2 / C(6, 3); 36 * 2 / C(14, 7) < 0.05 < 36 * 2 / C(12, 6).
        self.assertEqual((rank_sum.needed(1), rank_sum.needed(36)), (4, 7))
        self.assertTrue(rank_sum.can_decide(([0] * 3, [0] * 5), 1))
        self.assertFalse(rank_sum.can_decide(([0] * 3, [0] * 4), 1))

    def test_many_repetitions_are_thinned(self):
        a, b = rank_sum.sample([1.0] * 41, [2.0] * 1000)
        self.assertEqual((len(a), len(b)), (21, 40))


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="nestline_bench_tools_test.")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def script(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return str(path)

    def program(self, name, **speeds):
        return self.script(name, FAKE_PROGRAM.format(python=sys.executable, speeds=speeds))

    def printer(self, name, *rows, before="", after=""):
        """A program that prints these rows as its result, the same in each run."""
        text = before + json.dumps({"context": {}, "benchmarks": rows}) + after
        (self.folder / f"{name}.json").write_text(text, encoding="utf-8")
        return self.script(name, f"#!/bin/sh\ncat '{self.folder / name}.json'\n")

    root = ROOT

    def bench(self, *arguments):
        """Runs scripts/bench; returns status, standard output and standard error."""
        path = f"{self.folder}{os.pathsep}{os.environ.get('PATH', '')}"
        done = subprocess.run([sys.executable, self.root / "scripts" / "bench", *arguments],
                              cwd=self.folder, env={**os.environ, "PATH": path},
                              capture_output=True, text=True, timeout=500)
        return done.returncode, done.stdout, done.stderr

    def expect_trouble(self, arguments, *parts):
        status, _, err = self.bench(*arguments)
        self.assertEqual(status, 2, err)
        for part in parts:
            self.assertIn(part, err)
        self.assertNotIn("Traceback", err)


class Compare(Command):
    def line_of(self, name, out):
        return next(line for line in out.splitlines() if line.startswith(name + " "))

    def compare(self, speeds_of_a, speeds_of_b, *arguments):
        a, b = self.program("a", **speeds_of_a), self.program("b", **speeds_of_b)
        status, out, err = self.bench("compare", a, b, *arguments)
        self.assertEqual(err, "")
        return status, out

    def test_same_speed(self):
        speeds = dict(one=1e6, two=2e6, time_three=3e6)
        status, out = self.compare(speeds, speeds)
        self.assertEqual(status, 0)
        # 7 rounds for 3 benchmarks and 2 more.
        self.assertIn("benchmarks: 3, rounds: 9, enough for", out)
        self.assertIn("alone, which takes 7\n", out)
        self.assertNotRegex(out, "slower|faster")
        self.assertEqual((self.folder / "a.runs").read_text(), "9")

    def test_slower_and_faster(self):
        status, out = self.compare(dict(one=1e6, two=2e6, time_three=3e6, four=4e6),
                                   dict(one=0.8e6, two=2e6, time_three=3.6e6, four=4e6),
                                   "--json", "out.json")
        self.assertEqual(status, 1)
        self.assertRegex(self.line_of("one", out), r" (0\.79|0\.80)\d .*slower, by more than 5 %")
        self.assertNotRegex(self.line_of("two", out), "slower|faster")
        self.assertRegex(self.line_of("time_three", out), r" (1\.19|1\.20)\d .*faster$")
        self.assertIn("slower by more than 5 %: 1 of 4", out)
        report = json.loads((self.folder / "out.json").read_text(encoding="utf-8"))
        one = report["benchmarks"][0]
        self.assertEqual((one["name"], one["verdict"], one["regression"]), ("one", "slower", True))
        self.assertEqual(len(one["a_speeds"]), report["rounds"])

    def test_threshold(self):
        status, out = self.compare({"one": 1e6}, {"one": 0.9e6}, "--threshold", "20", "--rounds", "10")
        self.assertEqual(status, 0)
        self.assertRegex(self.line_of("one", out), "slower$")

    def test_few_rounds(self):
        status, out = self.compare({"one": 1e6}, {"one": 0.5e6}, "--rounds", "5")
        self.assertEqual(status, 0)
        self.assertIn("rounds: 5, too few for an interval", out)
        self.assertNotIn("slower", out)

    def test_filter_and_lonely(self):
        _, out = self.compare(dict(one=1e6, two=1e6, old=1e6), dict(one=1e6, two=1e6, new=1e6),
                              "--rounds", "1", "--filter", "^(two|old|new)$")
        self.assertIn(f"only in {self.folder}/a, not compared: old", out)
        self.assertIn(f"only in {self.folder}/b, not compared: new", out)
        self.assertNotIn("\none", out)
        self.assertIn("\ntwo", out)

    def test_measures(self):
        """The ratio of two benchmarks of which each is {name: ..., ...}, and what is said of it."""
        plain = {"real_time": 1000.0, "cpu_time": 500.0, "time_unit": "ns"}
        median = {"run_type": "aggregate", "aggregate_name": "median", "cpu_time": 500.0}
        mean = {"run_type": "aggregate", "aggregate_name": "mean", "cpu_time": 7.0}
        cases = (
            ("units us", plain, {"real_time": 1.0, "cpu_time": 0.5, "time_unit": "us"}, 1, ""),
            ("units s", {"cpu_time": 5e-7, "time_unit": "s"}, {"cpu_time": 1e-3, "time_unit": "ms"}, 0.5, ""),
            ("no unit", plain, {"cpu_time": 250.0}, 2, ""),
            ("clock", plain, {**plain, "real_time": 1.0}, 1, ""),
            ("clock/real_time", plain, {**plain, "real_time": 500.0, "cpu_time": 1.0}, 2, ""),
            ("clock/manual_time/x:1", plain, {**plain, "real_time": 500.0}, 2, ""),
            ("no cpu time", plain, {**plain, "cpu_time": 0.0, "real_time": 500.0}, 2, "by real_time: not both"),
            ("items", {**plain, "items_per_second": 5.0}, {**plain, "items_per_second": 4.0}, 0.8, ""),
            ("counts, once", plain, {**plain, "items_per_second": 4.0}, 1, "by cpu_time: not both"),
            ("no items", {**plain, "items_per_second": 0}, {**plain, "items_per_second": None}, 1, ""),
            ("aggregates", plain, [mean, median, {**mean, "aggregate_name": "stddev"}], 1, ""),
            ("a mean", plain, [{**mean, "cpu_time": 250.0}], 2, ""),
            ("repetitions", plain, [{**plain, "cpu_time": time} for time in (9.0, 250.0, 900.0)], 2, ""),
        )
        sides = [[], []]
        for name, *values, _, _ in cases:
            for side, rows in zip(sides, values):
                side += [{"name": name, "run_name": name, "run_type": "iteration", **row}
                         for row in (rows if isinstance(rows, list) else [rows])]
        fit = {"name": "fit_BigO", "run_name": "fit", "run_type": "aggregate", "aggregate_name": "BigO"}
        for side in sides:  # two benchmarks of one name, and a fit, which is no measurement
            side += [{"name": "twin", "cpu_time": float(i), "family_index": i} for i in (1, 2)] + [fit]
        a, b = self.printer("a", *sides[0], before="\ufeff"), self.printer("b", *sides[1])
        status, out, err = self.bench("compare", a, b, "--rounds", "2", "--json", "out.json")
        self.assertEqual((status, err), (0, ""), out)
        report = json.loads((self.folder / "out.json").read_text(encoding="utf-8"))
        found = {one["name"]: one for one in report["benchmarks"]}
        self.assertEqual([*found], [name for name, *_ in cases] + ["twin", "twin #2"])
        for name, _, _, ratio, note in cases:
            with self.subTest(name=name):
                self.assertAlmostEqual(found[name]["ratio"], ratio)
                self.assertIn(note, found[name]["note"])
                self.assertEqual(bool(note), bool(found[name]["note"]))
        self.assertEqual((report["not_compared"], found["twin #2"]["ratio"]), ([], 1))

    def test_what_cannot_be_compared_is_named(self):
        good = {"name": "good", "cpu_time": 1.0}
        fast = {"name": "fast", "cpu_time": 0.0, "real_time": "x"}
        fails = {"name": "b", "error_occurred": True, "error_message": "no\nroom"}
        skips = {"name": "b", "skipped": True, "skip_message": "not | here"}
        runs = {"name": "b", "cpu_time": 1.0}
        cases = (
            (fails, fails, 0, "b: no room (failed in A and B)"),
            (skips, skips, 0, "b: not | here (skipped in A and B)"),
            (fails, runs, 0, "b: no room (failed in A)"),
            (runs, fails, 2, "b: no room (failed in B)"),
            (runs, skips, 0, "b: not | here (skipped in B)"),
            (runs, {**fast, "name": "b"}, 0, "b: took no time that can be measured (measured in B)"),
            (runs, {**runs, "time_unit": "min"}, 0, "b: took no time that can be measured"),
            ({"name": "b", "real_time": 5}, runs, 0, "b: the builds have no measure in common"),
        )
        for of_a, of_b, wanted, sentence in cases:
            with self.subTest(sentence=sentence, wanted=wanted):
                a, b = self.printer("a", of_a, good), self.printer("b", of_b, good)
                status, out, err = self.bench("compare", a, b, "--rounds", "1")
                self.assertEqual((status, err), (wanted, ""), out)
                self.assertIn(f"not compared: {sentence}", out)
                self.assertEqual("lost, since they ran in A and not in B: 1" in out, wanted == 2)
                self.assertRegex(self.line_of("good", out), r" 1\.000 ")
        # What is slower decides, and what is measured in some rounds only is named as well.
        a, b = self.printer("a", runs, good), self.printer("b", fails, {**good, "cpu_time": 2.0})
        self.assertEqual(self.bench("compare", a, b)[0], 1)
        b = self.script("b", "#!/bin/sh\ncat $([ -e ran ] || echo all.json) good.json | head -1; touch ran\n")
        self.printer("all", runs, good, after="\n"), self.printer("good", good, after="\n")
        status, out, _ = self.bench("compare", self.printer("c", runs, good), b, "--rounds", "2")
        self.assertEqual(status, 2, out)
        self.assertIn("not compared: b: did not run in every round in B", out)

    def test_no_trouble_ends_with_the_status_of_a_slower_one(self):
        rows = '{"name": "caf\xe9", "cpu_time": 1.0}, {"name": "caf\u2713", "cpu_time": 1.0}'
        (self.folder / "rows").write_bytes(b'{"benchmarks": [' + rows.encode("latin-1", "backslashreplace") + b"]}")
        a = self.script("a", f"#!/bin/sh\ncat '{self.folder}/rows'\n")
        with unittest.mock.patch.dict(os.environ, PYTHONIOENCODING="ascii"):
            status, out, err = self.bench("compare", a, a, "--rounds", "1")
        self.assertEqual((status, err), (0, ""))
        self.assertRegex(out, r"caf\\ufffd +1\.000(.|\n)*caf\\u2713 +1\.000")
        self.expect_trouble(["compare", a, a, "--rounds", "1", "--json", "/dev/full"], "No space left")

    def test_markdown(self):
        hostile = "x|y` <b>@someone"
        a = self.program("a", one=1e6, time_two=1e6, **{hostile: 1e6}, old=1e6)
        b = self.program("b", one=0.8e6, time_two=2e6, **{hostile: 1e6}, new=1e6)
        status, out, err = self.bench("compare", a, b, "--markdown", "-")
        self.assertEqual(status, 1, err)
        self.assertIn("\none ", err)  # the text for people is there
        lines = out.splitlines()
        self.assertEqual(lines[0], "### Benchmarks: something is slower by more than 5 %")
        rows = [line for line in lines if line.startswith("| `")]
        self.assertRegex(rows[0], r"^\| `one` \| 0\.\d+ \| 0\.\d+ to 0\.\d+ \| \*\*slower, by more than 5 %\*\* \|$")
        self.assertRegex(rows[1], r"^\| `time_two` .*\| faster \|$")
        self.assertIn("| ``x\\|y` <b>@someone`` | 1.0", out.replace("0.99", "1.0"))
        self.assertIn("- `old` was not compared: `only in A`", lines)
        self.assertRegex(lines[-1], r"^9 rounds on `.+`\. B / A is the ratio")
        # Also where nothing was compared; nothing is measured for a file that cannot be written.
        garbage = self.script("garbage", "#!/bin/sh\necho hello\n")
        self.expect_trouble(["compare", a, garbage, "--markdown", "out.md"], "no JSON")
        self.assertRegex((self.folder / "out.md").read_text(encoding="utf-8"),
                         "^### Benchmarks: nothing was compared\n\n- `garbage: what it printed is no JSON"
                         .replace("garbage:", f"{garbage}:"))
        status, out, _ = self.bench("compare", a, garbage, "--markdown", "-")
        self.assertEqual((status, out), (2, (self.folder / "out.md").read_text(encoding="utf-8")))
        self.expect_trouble(["compare", a, b, "--markdown", "none/out.md"], "none/out.md cannot be")
        self.expect_trouble(["compare", a, b, "--json", "/"], "/ cannot be written")

    def test_build_folder(self):
        a = self.program("a", one=1e6)
        self.program("build/bench/nestline_bench", one=1e6)
        status, out, err = self.bench("compare", a, "build", "--rounds", "1")
        self.assertEqual((status, err), (0, ""))
        self.assertIn("B: build/bench/nestline_bench", out)

    def test_trouble(self):
        good = self.program("good", one=1e6)
        other = self.program("other", two=1e6)
        crash = self.script("crash", "#!/bin/sh\necho ouch >&2\nkill -SEGV $$\n")
        fails = self.script("fails", "#!/bin/sh\necho sorry >&2\nexit 5\n")
        silent = self.script("silent", "#!/bin/sh\n")
        garbage = self.script("garbage", "#!/bin/sh\necho hello\n")
        error = self.printer("error", {"name": "one", "error_occurred": True,
                                       "error_message": "too small"})
        (self.folder / "folder").mkdir()
        (self.folder / "text").write_text("no program", encoding="utf-8")
        self.expect_trouble(["compare", good, "no-such-commit"], "no-such-commit is no commit of")
        self.expect_trouble(["compare", "--", good], "required: A, B")
        self.expect_trouble(["compare", good, "folder"], "folder is no build folder")
        self.expect_trouble(["compare", "text", good], "text is a file that cannot be executed")
        self.expect_trouble(["compare", good, other], "no benchmark in common")
        self.expect_trouble(["compare", good, crash], "killed by signal 11", "ouch")
        self.expect_trouble(["compare", fails, good], "exit status 5", "sorry")
        self.expect_trouble(["compare", silent, good], "no benchmark ran")
        self.expect_trouble(["compare", good, garbage], "no JSON of Google Benchmark")
        self.expect_trouble(["compare", good, error], "one: too small")
        self.expect_trouble(["compare", good, good, "--filter", "("], "--filter: ")
        self.expect_trouble(["compare", good, good, "--rounds", "0"],
                            "--rounds: must be at least 1")
        self.expect_trouble(["compare", good, good, "--threshold", "100"], "--threshold: a percent")
        self.expect_trouble([], "usage: scripts/bench")


class Diff(Command):
    """Two files, of which each benchmark is {name: its speeds}."""

    line_of = Compare.line_of

    def result(self, file, benchmarks, **context):
        rows = [{"name": name, "run_name": name, "run_type": "iteration", "repetition_index": i,
                 "items_per_second": speed}
                for name, speeds in benchmarks.items() for i, speed in enumerate(speeds)]
        text = json.dumps({"context": context, "benchmarks": rows})
        (self.folder / file).write_text(text, encoding="utf-8")
        return file

    def near(self, speed, count):
        return [speed * (1 + 0.004 * ((7 * i) % count / count - 0.5)) for i in range(count)]

    def diff(self, of_a, of_b, *arguments):
        self.result("a.json", of_a), self.result("b.json", of_b)
        status, out, err = self.bench("diff", "a.json", "b.json", *arguments)
        self.assertEqual(err, "")
        return status, out

    def test_repetitions(self):
        of_a = {name: self.near(1e6, 8) for name in ("same", "slow", "bit", "fast")}
        of_b = dict(same=self.near(1e6, 9), slow=self.near(0.8e6, 9), bit=self.near(0.97e6, 9),
                    fast=self.near(1.2e6, 9))
        status, out = self.diff(of_a, of_b, "--json", "out.json")
        self.assertEqual(status, 1)
        self.assertIn("A: a.json\nB: b.json\n", out)
        self.assertIn("benchmarks: 4, repetitions: 8 in A, 9 in B, enough for a verdict", out)
        self.assertRegex(self.line_of("same", out), r"^same +(1\.000|0\.999) .* to [0-9.]+$")
        self.assertRegex(self.line_of("slow", out), r" 0\.800 .* slower, by more than 5 %$")
        self.assertRegex(self.line_of("bit", out), r" 0\.970 .* slower$")
        self.assertRegex(self.line_of("fast", out), r" 1\.200 .* faster$")
        self.assertIn("note: the intervals are of repetitions in one run;", out)
        self.assertIn("slower by more than 5 %: 1 of 4\n", out)
        found = json.loads((self.folder / "out.json").read_text(encoding="utf-8"))
        self.assertEqual([one["unsure"] for one in found["benchmarks"]], [False] * 4)
        self.assertEqual([len(found["benchmarks"][0][key]) for key in ("a_speeds", "b_speeds")], [8, 9])
        self.assertEqual(self.diff(of_a, of_b, "--threshold", "30")[0], 0)
        status, out = self.diff(of_a, of_b, "--filter", "^(same|fast)$")
        self.assertEqual(status, 0)
        self.assertNotIn("slow", out)

    def test_one_run_each(self):
        # The ratio alone decides, on either side of the threshold, and says what it does not know.
        status, out = self.diff({"one": [100.0], "two": [100.0]}, {"one": [94.9], "two": [95.1]})
        self.assertEqual(status, 1)
        self.assertIn("repetitions: 1 in A, 1 in B, too few for a verdict", out)
        self.assertIn("which takes 5 of each: ratios count as they are, and may be noise\n", out)
        self.assertRegex(self.line_of("one", out), r" 0\.949 +- +slower, by more than 5 %, unless it is noise$")
        self.assertRegex(self.line_of("two", out), r" 0\.951 +-$")
        self.assertNotIn("note:", out)
        self.assertIn("by the ratio alone, since there are too few repetitions to know the noise: 1\n", out)
        status, out = self.diff({"one": [100.0]}, {"one": [200.0]})
        self.assertEqual(status, 0)
        self.assertNotIn("faster", out)

    def test_an_interval_that_reaches_the_threshold_acquits(self):
        # Four of each decide on one benchmark, not on two.
        slow = [100.0, 101.0, 102.0, 103.0], [80.0, 81.0, 82.0, 83.0]
        wild = [100.0, 101.0, 102.0, 103.0], [60.0, 70.0, 105.0, 90.0]
        status, out = self.diff(*({"slow": slow[i], "wild": wild[i]} for i in (0, 1)))
        self.assertEqual(status, 1)
        self.assertRegex(self.line_of("slow", out), "slower, by more than 5 %, unless it is noise$")
        self.assertRegex(self.line_of("wild", out), r" 0\.\d+ +0\.\d+ to 1\.\d+$")
        status, out = self.diff({"slow": slow[0]}, {"slow": slow[1]})
        self.assertEqual(status, 1)
        self.assertRegex(self.line_of("slow", out), "slower, by more than 5 %$")
        status, out = self.diff({"one": [1.0] * 5, "two": [1.0]}, {"one": [1.0] * 6, "two": [1.0]})
        self.assertEqual(status, 0)
        self.assertIn("repetitions: 1 to 5 in A, 1 to 6 in B, too few for 1 of them for", out)

    def test_what_cannot_be_compared_is_named(self):
        status, out = self.diff({"both": [1.0], "old": [1.0]}, {"both": [1.0], "new": [1.0]},
                                "--markdown", "out.md")
        self.assertEqual(status, 0)
        self.assertIn("only in a.json, not compared: old\nonly in b.json, not compared: new\n", out)
        text = (self.folder / "out.md").read_text(encoding="utf-8")
        self.assertIn("- `old` was not compared: `only in A`\n", text)
        self.assertIn("One run each, on `unknown machine`. B / A is", text)
        good, fails = {"name": "good", "cpu_time": 1.0}, {"name": "b", "error_occurred": True, "error_message": "no"}
        for file, row in (("a.json", {"name": "b", "cpu_time": 1.0}), ("b.json", fails)):
            (self.folder / file).write_text(json.dumps({"benchmarks": [good, row]}), encoding="utf-8")
        status, out, _ = self.bench("diff", "a.json", "b.json")
        self.assertEqual(status, 2)
        self.assertIn("not compared: b: no (failed in B)", out)
        self.assertEqual(self.bench("diff", "b.json", "a.json")[0], 0)

    def test_machines(self):
        def warnings(of_a, of_b):
            self.result("a.json", {"one": [1.0]}, **of_a), self.result("b.json", {"one": [1.0]}, **of_b)
            status, out, err = self.bench("diff", "a.json", "b.json", "--markdown", "-")
            self.assertEqual(status, 0)
            warned = [line for line in err.splitlines() if line.startswith("warning: ")]
            for line in warned:
                self.assertIn(f"- `{line[9:]}`\n", out)
            return warned, out

        small = dict(machine="Small, 2 cores", host_name="x", num_cpus=2, commit="1234", commit_title="Be fast")
        self.assertEqual(warnings(small, {**small, "host_name": "y"})[0], [])
        warned, out = warnings(small, {**small, "machine": "Big, 64 cores", "num_cpus": 64})
        self.assertEqual(warned, ["warning: A and B differ in machine: Small, 2 cores, and Big, 64 cores",
                                  "warning: A and B differ in num_cpus: 2, and 64"])
        self.assertIn("One run each, on `Small, 2 cores` and `Big, 64 cores`.", out)
        self.assertIn("A: `a.json, 1234 Be fast`", out)
        self.assertEqual(warnings({"host_name": "x"}, {"host_name": "y"})[0],
                         ["warning: A and B differ in host_name: x, and y"])
        self.assertEqual(warnings({}, small)[0], [])

    def test_trouble(self):
        good, other = self.result("good", {"one": [1.0]}), self.result("other", {"two": [1.0]})
        (self.folder / "text").write_text("hello", encoding="utf-8")
        (self.folder / "bytes").write_bytes(b"\xff\xfe")
        (self.folder / "list").write_text("[]", encoding="utf-8")
        self.result("none", {})
        self.expect_trouble(["diff", good, "text"], "text is no result of benchmarks: no JSON of Google")
        self.expect_trouble(["diff", "bytes", good], "bytes is no result of benchmarks")
        self.expect_trouble(["diff", "list", good], "list is no result of benchmarks")
        self.expect_trouble(["diff", good, "."], ".: Is a directory")
        self.expect_trouble(["diff", good, "absent"], "absent: No such file or directory")
        self.expect_trouble(["diff", good, "none"], "none: it has no benchmark\n")
        self.expect_trouble(["diff", good, good, "--filter", "x"], "good: it has no benchmark that matches x")
        self.expect_trouble(["diff", good, good, "--filter", "("], "--filter: ")
        self.expect_trouble(["diff", good, other, "--markdown", "out.md"], "the two files have no benchmark in common")
        self.assertIn("nothing was compared", (self.folder / "out.md").read_text(encoding="utf-8"))
        self.expect_trouble(["diff", good, good, "--json", "none/out"], "none/out cannot be written")
        self.expect_trouble(["diff", good], "required: B.json")
        self.expect_trouble(["diff", good, good, "--", "x"], "diff takes no arguments for the program")


@unittest.skipUnless(shutil.which("git"), "git is not installed")
class Commits(Command):
    """In a repository of two commits, of which the second is slower."""

    def git(self, *arguments):
        identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
        command = ["git", *identity, "-c", "commit.gpgsign=false", *arguments]
        done = subprocess.run(command, cwd=self.root, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def setUp(self):
        super().setUp()
        self.script("cmake", FAKE_CMAKE.format(python=sys.executable))
        self.root = self.folder / "repository"
        for part in ("scripts/bench", "bench/tools"):
            (self.root / part).parent.mkdir(parents=True, exist_ok=True)
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copy(ROOT / part, self.root / part)
        (self.root / "CMakePresets.json").write_text("{}", encoding="utf-8")
        (self.root / ".gitignore").write_text("/build/\n", encoding="utf-8")
        self.git("init", "--quiet")
        for title, speed in [("Be fast", 1e6), ("Be slow, on purpose", 0.8e6)]:
            self.program("repository/program", one=speed)
            self.git("add", ".")
            self.git("commit", "--quiet", "-m", title)

    def test_compare(self):
        old, new = self.git("rev-parse", "HEAD~1"), self.git("rev-parse", "HEAD")
        status, out, err = self.bench("compare", "HEAD~1", "HEAD")
        self.assertEqual((status, err), (1, ""))
        self.assertIn(f"A: {old[:12]} Be fast\nB: {new[:12]} Be slow, on purpose\n", out)
        self.assertTrue((self.root / "build" / "compare" / old / "build" / "bench").is_dir())
        # The work trees are there already, or were removed by hand.
        shutil.rmtree(self.root / "build" / "compare" / old)
        self.assertEqual(self.bench("compare", "HEAD", "HEAD~1")[0], 0)

    def test_run(self):
        out = self.folder / "out.json"
        status, _, err = self.bench("run", "--out", str(out), "--", "--benchmark_filter=o")
        self.assertEqual((status, err), (0, ""))
        result = json.loads(out.read_text(encoding="utf-8"))
        context = result["context"]
        self.assertEqual(context["commit"], self.git("rev-parse", "HEAD"))
        self.assertEqual(context["commit_title"], "Be slow, on purpose")
        self.assertEqual(context["commit_date"], self.git("show", "-s", "--format=%cI"))
        self.assertRegex(context["machine"], r", \d+ cores?$")
        self.assertEqual(result["benchmarks"][0]["name"], "one")
        self.program("repository/program", one=1e6)
        self.assertEqual(self.bench("run")[0], 0)
        (path,) = (self.root / "build" / "bench" / "results").iterdir()
        result = json.loads(path.read_text(encoding="utf-8"))
        self.assertEqual(result["context"]["commit"], self.git("rev-parse", "HEAD") + "-changed")

    def test_segments(self):
        out = self.folder / "out.json"
        status, _, err = self.bench("segments", "--out", str(out), "--", "--benchmark_filter=o")
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(json.loads(out.read_text(encoding="utf-8"))["benchmarks"][0]["name"], "one")
        self.assertTrue((self.root / "build" / "bench" / "bench" / "segments_bench").is_file())


class Count(Command):
    def setUp(self):
        super().setUp()
        self.script("valgrind", FAKE_VALGRIND.format(python=sys.executable))
        self.toolchain("g++ 12.2.0")
        self.counts(100000, 50000)
        program = self.folder / "built" / "bench" / "program"
        program.parent.mkdir(parents=True)
        shutil.copy("/bin/true", program)
        self.arguments = ["count", "--program", str(program), "--file", "record.json"]

    def toolchain(self, compiler):
        text = f"compiler {compiler}\nhighway 1.0.3\n"
        (self.folder / "toolchain").write_text(text, encoding="utf-8")

    def counts(self, first, second, name="second"):
        counts = {"AVX2": {"first": first, name: second}, "SCALAR": {"first": 700000}}
        (self.folder / "counts").write_text(json.dumps(counts), encoding="utf-8")

    def record(self):
        status, out, err = self.bench(*self.arguments, "--record")
        self.assertEqual((status, err), (0, ""), out)

    def expect(self, wanted, *parts):
        status, out, err = self.bench(*self.arguments)
        self.assertEqual((status, err), (wanted, ""), out)
        for part in parts:
            self.assertRegex(out, part)

    def test_record(self):
        self.record()
        record = json.loads((self.folder / "record.json").read_text(encoding="utf-8"))
        versions = {"compiler": "g++ 12.2.0", "highway": "1.0.3", "valgrind": "9.9.9"}
        self.assertEqual(record["toolchain"], versions)
        counts = {"AVX2": {"first": 100.0, "second": 50.0}, "SCALAR": {"first": 700.0}}
        self.assertEqual(record["instructions_per_key"], counts)

    def test_check(self):
        self.record()
        self.expect(0, "3 counts, 0 differ")
        self.counts(100900, 49600)
        self.expect(0, r"first +AVX2 +100\.000 +100\.900 +\+0\.90%\n", "3 counts, 0 differ")
        self.counts(102000, 50000)
        self.expect(1, r"first +AVX2 .*\+2\.00% +ROSE", "3 counts, 1 differ", "--record")
        self.counts(100000, 49000)
        self.expect(1, r"second +AVX2 .*-2\.00% +fell: re-record")
        self.counts(100000, 50000, "third")
        self.expect(1, r"third +AVX2 +- +50\.000 +not recorded", r"second .*recorded, but gone")

    def test_text(self):
        library = self.folder / "built" / "lib" / "libnestline.a"
        library.parent.mkdir()
        shutil.copy("/bin/true", library)
        self.record()
        self.expect(0, r"text of lib/libnestline\.a: (\d+) recorded, \1 now  \+0\.00%\n", "1 texts, 0 differ")
        shutil.copy("/bin/ls", library)
        self.expect(1, r"lib/libnestline\.a: .* ROSE\n", "3 counts, 0 differ", "1 texts, 1 differ", "--record")
        library.unlink()
        self.expect(1, r"lib/libnestline\.a: \d+ recorded, None now   recorded, but gone")

    def test_skip(self):
        self.record()
        self.toolchain("g++ 13.1.0")
        self.expect(77, "skipped: the counts were recorded with compiler g\\+\\+ 12.2.0, here is g")
        self.toolchain("g++ 12.2.0")
        (self.folder / "lacking").touch()
        self.expect(77, "skipped: this build has no target AVX2")

    def test_trouble(self):
        self.expect_trouble(self.arguments, "record.json is missing; make it with")
        (self.folder / "record.json").write_text("{}", encoding="utf-8")
        self.expect_trouble(self.arguments, "record.json is no record of counts")


if __name__ == "__main__":
    unittest.main()
