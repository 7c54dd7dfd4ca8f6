"""The commands of docs/CI.md, in a project that has nothing to do with nestline.

The project has two benchmarks. Their times are counted, not measured: a step of work counts as a
nanosecond, so a busy machine changes nothing. The change that is looked for makes one of them take
half as many steps again.

CXX names the compiler. The test is skipped without Google Benchmark (status 77); the part
with the page also needs Node.js and npm.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "tests" / "documents" / "examples"

PROJECT = """
cmake_minimum_required(VERSION 3.16)
project(hashes CXX)
find_package(benchmark REQUIRED)
add_executable(hash_bench hash_bench.cc)
target_compile_features(hash_bench PRIVATE cxx_std_17)
target_link_libraries(hash_bench PRIVATE benchmark::benchmark_main)
"""

BENCHMARKS = """
#include <benchmark/benchmark.h>
#include <cstdint>
#include "steps.h"

// Times are counted: a step is a nanosecond.
static void run(benchmark::State& state, int steps) {
  std::uint64_t hash = 1;
  for (auto _ : state) {
    for (int i = 0; i < steps; ++i) hash = hash * 0x9e3779b97f4a7c15 + 1;
    benchmark::DoNotOptimize(hash);
    state.SetIterationTime(steps * 1e-9);
  }
}
BENCHMARK_CAPTURE(run, short_keys, kShort)->UseManualTime()->Iterations(1000);
BENCHMARK_CAPTURE(run, long_keys, kLong)->UseManualTime()->Iterations(1000);
"""


def steps(short, long):
    return f"constexpr int kShort = {short};\nconstexpr int kLong = {long};\n"


class ForeignProjectTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="nestline-foreign-")
        self.addCleanup(folder.cleanup)
        self.project = pathlib.Path(folder.name) / "project"
        self.results = pathlib.Path(folder.name) / "results"
        self.project.mkdir()
        self.results.mkdir()
        # Git's settings and ours stay out of it.
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
            "HOME": folder.name, "GIT_CONFIG_NOSYSTEM": "1", "NESTLINE": str(ROOT),
            "RESULTS": str(self.results), "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org",
            "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org",
        }
        self.commits = 0
        self.run_command("git", "init", "--quiet")
        (self.project / "CMakeLists.txt").write_text(PROJECT)
        (self.project / "hash_bench.cc").write_text(BENCHMARKS)
        (self.project / ".gitignore").write_text("build/\n")
        self.commit(steps(200, 1000))

    def run_command(self, *command, status=0, **variables):
        done = subprocess.run(command, cwd=self.project, env={**self.environment, **variables},
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def run_example(self, name, **variables):
        return self.run_command("bash", "-e", str(EXAMPLES / name), **variables)

    def commit(self, text=None):
        """Commits a minute after the last one."""
        if text is not None:
            (self.project / "steps.h").write_text(text)
        self.commits += 1
        date = f"2026-01-01T00:{self.commits:02d}:00+00:00"
        self.run_command("git", "add", "--all")
        self.run_command("git", "commit", "--quiet", "--allow-empty", "--message", "Change steps",
                         GIT_AUTHOR_DATE=date, GIT_COMMITTER_DATE=date)

    def test_compare(self):
        self.commit(steps(200, 1500))
        script = ["bash", "-e", str(EXAMPLES / "ci_compare.sh")]
        printed = self.run_command(*script, status=1, BASE="HEAD~1")
        report = json.loads((self.project / "build" / "compare.json").read_text())
        verdicts = {row["name"].split("/")[1]: row["verdict"] for row in report["benchmarks"]}
        self.assertEqual(verdicts, {"short_keys": "", "long_keys": "slower"}, printed)
        summary = (self.project / "build" / "compare.md").read_text()
        self.assertTrue(summary.startswith("### Benchmarks: something is slower by more than 10 %\n"))
        self.assertRegex(summary, r"\| `run/long_keys/[^|]*\| 0\.667 .*\*\*slower[^|]*\|\n\| `run/short_keys/")
        # Again, as in a folder that the pipeline keeps; nothing is slower than itself.
        self.run_command(*script, status=0, BASE="HEAD")
        # The other way round it is faster, which is fine.
        self.commit(steps(200, 1000))
        self.assertIn("faster", self.run_command(*script, status=0, BASE="HEAD~1"))

    @unittest.skipUnless(shutil.which("node") and shutil.which("npm"), "there is no Node.js")
    def test_page(self):
        slow_from = 6
        for number in range(2 * slow_from):
            self.commit(steps(200, 1500) if number == slow_from else None)
            if number == slow_from:
                slow = self.run_command("git", "rev-parse", "HEAD").strip()
            printed = self.run_example("ci_measure.sh")
            self.assertEqual("too short to be judged: 2" in printed, number < 7, printed)
        self.assertIn("regressions: 1, improvements: 0", printed)
        files = sorted(path.name for path in self.results.glob("*.json"))
        self.assertEqual(len(files), 2 * slow_from)
        page = (self.results / "index.html").read_text()
        self.assertIn(slow, page)
        self.assertIn("long_keys", page)


if __name__ == "__main__":
    if os.environ.get("BENCHMARK_FOUND") == "0":
        print("skipped: Google Benchmark is not installed (libbenchmark-dev)")
        sys.exit(77)
    unittest.main()
