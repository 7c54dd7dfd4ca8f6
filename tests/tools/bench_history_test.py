"""Tests of scripts/bench history, table and draw, on results made by hand.

python3 bench_history_test.py
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench" / "tools"))

# pylint: disable=wrong-import-position
import builds
import draw
import history


def row(name, **values):
    return {"name": name, "run_name": name, "run_type": "iteration", "repetition_index": 0,
            "real_time": 1.23456789, "time_unit": "ms", **values}


class Names(unittest.TestCase):
    def test_what_is_measured(self):
        for name in ("may_contain/batch/hits:0/load:95/bits:8/bytes:256KiB/manual_time",
                     "may_contain/single/hits:100/load:95/bits:12/bytes:16MiB/manual_time",
                     "insert/batch/from_empty/bits:16/bytes:256KiB", "erase/batch/bits:8/bytes:16MiB",
                     "lived/turnover/batch/turnovers:32/load:90/bits:8/bytes:256KiB/iterations:4"):
            self.assertRegex(name, history.FILTER)
        for name in ("may_contain/batch/hits:50/load:95/bits:8/bytes:16MiB",
                     "may_contain/batch/hits:0/load:75/bits:8/bytes:16MiB",
                     "erase/batch/bits:8/bytes:256MiB", "insert/threads:2/bits:8/bytes:16MiB",
                     "lived/turnover/batch/turnovers:4/load:90/bits:8/bytes:16MiB/iterations:4"):
            self.assertNotRegex(name, history.FILTER)


class Small(unittest.TestCase):
    def test_repetitions_only_and_few_digits(self):
        result = {
            "context": {"date": "2026-01-01", "cpu": "a CPU", "caches": [1], "commit": "wrong"},
            "benchmarks": [
                row("erase/batch/bits:8", items_per_second=123456789.0, of_ceiling=0.5),
                row("may_contain/batch/bits:8", error_occurred=True),
                row("erase/batch/bits:8", run_type="aggregate"),
            ],
        }
        small = history.small(result, {"commit": "abc"})
        self.assertEqual(small["context"],
                         {"date": "2026-01-01", "cpu": "a CPU", "commit": "abc"})
        kept = {**row("erase/batch/bits:8", items_per_second=123500000.0, of_ceiling=0.5),
                "real_time": 1.235}
        self.assertEqual(small["benchmarks"], [kept])
        self.assertEqual(json.loads(history.text_of(small)), small)


class Command(unittest.TestCase):
    def bench(self, *arguments):
        return subprocess.run([ROOT / "scripts" / "bench", *arguments], capture_output=True,
                              text=True, timeout=500)

    def test_history_of_no_commit(self):
        done = self.bench("history", "no-such-commit")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no-such-commit is no commit", done.stderr)

    def test_table(self):
        operation = "reference/blocked_bloom/may_contain/batch/hits:0/bytes:"
        values = {"rate": 2e8, "nestline_of_this": 0.755, "bits_per_key": 8.976, "fpr": 0.0203,
                  "nestline_bits_per_key": 8.9, "nestline_fpr": 0.0164}
        result = {"context": {}, "benchmarks": [
            row(operation + "16MiB/iterations:20", **values),
            row("erase/batch/bits:8/bytes:16MiB"),
            row(operation + "1GiB", error_occurred=True, error_message="no room")]}
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "result.json")
            file.write_text(json.dumps(result), encoding="utf-8")
            done = self.bench("table", file)
            self.assertEqual(done.returncode, 0)
            self.assertEqual(done.stderr, f"{operation}1GiB: no room (failed in {file})\n")
            self.assertIn("| blocked_bloom | 8.98 | 2.03% |", done.stdout)
            self.assertIn("| nestline | 8.90 | 1.64% |", done.stdout)
            self.assertIn("| blocked_bloom: may_contain/batch/hits:0 | 200 M/s, **0.76** |",
                          done.stdout)
            file.write_text("{", encoding="utf-8")
            done = self.bench("table", file)
            self.assertEqual(done.returncode, 2)
            self.assertIn("is no result of benchmarks", done.stderr)


# pyenv and the like have no matplotlib.
PYTHONS = [sys.executable, "/usr/bin/python3"]
VERSION = "import matplotlib; print(matplotlib.__version__)"


def python_of_the_pictures():
    """A Python with the matplotlib of Debian 12, which drew the pictures, or None."""
    for python in PYTHONS:
        try:
            done = subprocess.run([python, "-c", VERSION], capture_output=True, text=True)
        except OSError:
            continue
        if done.stdout.startswith("3.6."):
            return python
    return None


class Pictures(unittest.TestCase):
    def draw(self, python, *arguments):
        return subprocess.run([python, "-B", ROOT / "scripts" / "bench", "draw", *arguments],
                              capture_output=True, text=True, timeout=500)

    def results(self, rows):
        file = tempfile.NamedTemporaryFile("w", suffix=".json")
        self.addCleanup(file.close)
        json.dump({"context": {}, "benchmarks": rows}, file)
        file.flush()
        return draw.Results(pathlib.Path(file.name))

    def test_medians_and_maxima_of_repetitions(self):
        name = "may_contain/of_full_load/load:50/bits:8/bytes:256KiB"
        results = self.results([row(f"{name}/iterations:200/manual_time", rate=rate, other_rate=4)
                                for rate in (5, 9, 6)] + [row(name + "0", rate=1000)])
        self.assertEqual(results.median(name, "rate"), 6)
        self.assertEqual(results.highest(name, "rate"), 9)
        for pattern, field in ((name, "fpr"), ("space/nobody", "fpr")):
            with self.assertRaisesRegex(builds.Trouble, "has no .*" + re.escape(pattern)):
                results.median(pattern, field)

    def test_what_is_measured(self):
        for name in ("reference/blocked_bloom/may_contain/batch/hits:0/bytes:64MiB",
                     "insert/batch/load:70/bits:8/bytes:256KiB"):
            self.assertRegex(name, draw.FILTERS["rates"])
        for name in ("reference/blocked_bloom/insert/batch/from_empty/bytes:64MiB",
                     "insert/batch/load:70/bits:8/bytes:16MiB", "space/nestline/bits:8/load:95"):
            self.assertNotRegex(name, draw.FILTERS["rates"])

    def test_the_pictures_are_those_of_the_results(self):
        python = python_of_the_pictures()
        if python is None:
            self.skipTest("no matplotlib 3.6")
        with tempfile.TemporaryDirectory() as folder:
            done = self.draw(python, "--out", folder)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            drawn = {file.name: file.read_bytes() for file in pathlib.Path(folder).iterdir()}
        kept = {file.name: file.read_bytes() for file in draw.PICTURES.iterdir()}
        self.assertEqual(drawn, kept, "run scripts/bench draw")
        for name, picture in kept.items():
            self.assertIn(b"<text", picture, name)
            self.assertLess(len(picture), 50_000, name)

    def test_results_that_are_none(self):
        python = python_of_the_pictures()
        if python is None:
            self.skipTest("no matplotlib 3.6")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "result.json")
            file.write_text("{}", encoding="utf-8")
            done = self.draw(python, "--file", file, "--out", folder)
        self.assertEqual(done.returncode, 2)
        self.assertIn("is no result of benchmarks", done.stderr)


if __name__ == "__main__":
    unittest.main()
