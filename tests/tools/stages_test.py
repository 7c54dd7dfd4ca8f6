"""Tests what scripts/test runs and leaves out, and what it notes about its stages.

python3 stages_test.py

It runs in a small repository, where programs in front of the PATH play all that it starts: nothing is compiled. Of
all stages it has only those of which something may be left out.
"""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts" / "test"

# Notes how it was called. It lists tests as ctest does, and makes the programs that a build leaves.
PLAYER = """#!/bin/sh
echo "${0##*/} $*" >>"$PLAY/calls"
case "${0##*/} $*" in
  *--show-only*) printf '  Test  #%s: %s\\n' 1 PlantedFaults.One 2 Damage.AnyByte 3 Sizes/GrowthTest.One \\
    4 redis_hashes_threads_test 5 amalgamation_test 12 install_test ;;
  python3\\ -c*) echo "$PLAY/bin" ;;
  cmake*) [ -d build/march ] || cp -r "$PLAY/built/." build ;;
esac
[ "$FAILS" != "${0##*/}" ]
"""
BUILT = ["march/v3/tests/engine/kernels/kernels_tests",
         *(f"march/native/tests/{name}" for name in
           ("engine/kernels/kernels_tests", "filters/filter/filter_inside_tests", "filters/maplet/maplet_tests")),
         *(f"fuzz/tests/fuzz_{name}" for name in ("from_bytes", "operations", "record_text", "redis_payload", "store_log",
                                                  "store_checkpoint"))]
ALL = '"${known[@]:0:10}"'  # how the script names the stages of --all
TRACKED = {"lib/engine/kernels.cc": "", "lib/store/store.cc": "", "lib/faces/redis/value.cc": "",
           "lib/faces/command/main.cc": "", ".gitignore": "/build/\n", "tests/seconds.md": "| stage |\n| --- |\n"}


class StagesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="nestline_stages_test.")
        self.addCleanup(folder.cleanup)
        self.play = pathlib.Path(folder.name)
        self.tree = self.play / "tree"
        for name, text in TRACKED.items():
            self.write(name, text)
        text = SCRIPT.read_text()
        self.assertIn(ALL, text)
        self.write("scripts/test", text.replace(ALL, "long tsan fuzz march cross"))
        for name in ("install-dependencies", "lint", "test-cross"):
            self.write(f"scripts/{name}", PLAYER)
        for name in ("cmake", "ctest", "shellcheck", "clang-format", "python3"):
            self.write(f"../bin/{name}", PLAYER)
        for name in BUILT:
            self.write(f"../built/{name}", "#!/bin/sh\n")
        self.git("init", "--quiet")
        self.commit()

    def write(self, name, text):
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def git(self, *arguments):
        return subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=self.tree,
                              check=True, capture_output=True, text=True).stdout.strip()

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "some")
        return self.git("rev-parse", "HEAD")

    def run_script(self, *arguments, fails="", status=0):
        """What it prints, and the calls that it makes."""
        (self.play / "calls").write_text("")
        done = subprocess.run(
            ["scripts/test", *arguments], cwd=self.tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False, env={**os.environ, "PLAY": str(self.play), "PATH": f"{self.play}/bin:{os.environ['PATH']}",
                              "FAILS": fails})
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout, (self.play / "calls").read_text()

    def left_out(self, *arguments):
        """What it leaves out; all that it tests agrees."""
        printed, calls = self.run_script(*arguments)
        here = os.uname().machine == "x86_64"
        chosen = re.search(r" --tests-information 0,0,0,([0-9,]+)\n", calls).group(1).split(",")
        self.assertEqual(len(set(chosen)), len(chosen))
        out = set()
        for name, ran in (("sve", "test-cross \n" in calls), ("cross", "test-cross" in calls),
                          ("tsan", "--preset tsan" in calls), ("fuzz", "--preset fuzz" in calls),
                          ("planted", "1" in chosen), ("damage", "2" in chosen), ("filters", "3" in chosen),
                          ("two files", "5" in chosen), ("redis", "4" in chosen),
                          ("march", "cmake --preset dev -B build/march" in calls)):
            if not ran and (name != "march" or here):
                out.add(name)
        self.assertEqual("test-cross neon s390x\n" in calls, "sve" in out and "cross" not in out)
        self.assertIn("12", chosen)
        self.assertEqual(printed.count("\nleft out, since nothing"), len(out))
        return out

    def seconds(self):
        """The result of each stage, of the file that keeps them."""
        lines = [line.split("\t") for line in (self.tree / "build/stages/seconds.txt").read_text().splitlines()]
        self.assertEqual({len(line) for line in lines}, {7})
        return {line[0]: line[1] for line in lines}

    def pass_all(self):
        """Passes everything, and keeps that; the commit."""
        self.run_script("--all")
        if os.uname().machine != "x86_64":  # where march is skipped
            self.write("build/stages/whole-run", self.git("rev-parse", "HEAD") + "\n")
        self.run_script("--record")
        return (self.tree / "tests/whole-run").read_text().strip()

    def test_nothing_is_left_out_before_everything_passed(self):
        self.assertEqual(self.left_out("--all"), set())
        for text in ("0" * 40 + "\n", "no commit\n"):
            self.write("tests/whole-run", text)
            self.assertEqual(self.left_out("--all"), set(), text)

    def test_what_cannot_have_changed_is_left_out(self):
        passed = self.pass_all()
        self.assertEqual(passed, self.git("rev-parse", "HEAD"))
        sanitized = {"cross", "tsan", "fuzz"}
        every = sanitized | {"sve", "planted", "damage", "filters", "two files", "redis"}
        if os.uname().machine == "x86_64":
            every.add("march")
        self.assertEqual(self.left_out("--all"), every)
        self.assertEqual(self.left_out("--whole"), set())
        for name, runs in (("lib/faces/command/main.cc", set()), ("lib/store/store.cc", {"planted", "damage"} | sanitized),
                           ("lib/faces/redis/value.cc", {"redis"} | sanitized),
                           ("lib/engine/kernels.cc", every - {"planted"}), ("lib/engine/new.cc", every - {"planted"}),
                           ("tests/filters/test.cc", {"filters", "two files", "damage"} | sanitized),
                           ("tests/packaging/consumers_test.py", {"two files", "cross"}),
                           ("scripts/test-cross", {"cross", "sve"})):
            self.write(name, PLAYER + "\n")
            if name.startswith("lib/faces"):
                self.commit()
            self.assertEqual(self.left_out("--all"), every - runs, name)
            self.git("reset", "--quiet", "--hard", passed)
            self.git("clean", "--quiet", "--force", "-d")
            self.write("tests/whole-run", passed + "\n")
        # Stages that are named run.
        self.assertEqual(self.left_out("long", "tsan", "fuzz", "march", "cross"), set())

    def test_what_counts_as_passed(self):
        kept = self.tree / "build/stages/whole-run"
        self.run_script("dev", "long", "tsan", "fuzz", "march", "cross")
        self.write("lib/engine/kernels.cc", "changed")
        self.run_script("--all")
        self.assertFalse(kept.exists())
        self.commit()
        self.run_script("--all", fails="ctest", status=1)
        self.run_script("--all", fails="test-cross", status=1)
        self.assertFalse(kept.exists())
        self.assertEqual(self.seconds()["cross"], "FAILED")
        self.run_script("--record")
        self.assertFalse((self.tree / "tests/whole-run").exists())
        table = (self.tree / "tests/seconds.md").read_text()
        self.assertIn("\n| dev | ", table)
        self.assertIn("\n| long | ", table)
        self.assertNotIn("cross", table)
        self.assertNotIn("all", table)

    def test_seconds(self):
        self.run_script("--record", status=1)
        self.run_script()
        self.assertEqual(self.seconds(), {"lint": "passed", "dev": "passed"})
        self.run_script("lint", fails="lint", status=1)
        self.assertEqual(self.seconds(), {"dev": "passed", "lint": "FAILED"})
        self.run_script("lint")
        for _ in range(2):
            self.run_script("--record")
            rows = (self.tree / "tests/seconds.md").read_text().splitlines()
            self.assertEqual([row.split()[1] for row in rows], ["stage", "---", "dev", "lint"])
            self.assertRegex(rows[-1], r"^\| lint \| \d+ \| \d+ \| .+, \d+ cores \| \d{4}-\d\d-\d\d \|$")


if __name__ == "__main__":
    unittest.main()
