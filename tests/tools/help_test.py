"""Tests that --help of each script prints what its head says, and does nothing else.

python3 help_test.py
"""

import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCRIPTS = [*sorted((ROOT / "scripts").glob("*")), ROOT / "scripts" / "cross" / "sysroot",
           ROOT / "bench" / "faces" / "sqlite" / "join_bench.py"]


def head(text):
    """The comment or docstring at the head of a script."""
    if text.startswith("#!/usr/bin/env python3"):
        return text.split('"""')[1].splitlines()
    lines = text.partition("\nset -")[0].splitlines()[1:]
    return [line.removeprefix("#").removeprefix(" ") for line in lines]


class HelpTest(unittest.TestCase):
    def test_each_script(self):
        for script in SCRIPTS:
            if script.is_dir():
                continue
            with self.subTest(script=script.name), tempfile.TemporaryDirectory() as folder:
                done = subprocess.run([script, "--help"], cwd=folder, capture_output=True, text=True,
                                      timeout=60)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(list(pathlib.Path(folder).iterdir()), [])
                printed = done.stdout.splitlines()
                for line in head(script.read_text(encoding="utf-8")):
                    self.assertIn(line, printed)
                    if not done.stdout.startswith("usage:"):  # not by argparse: this alone
                        self.assertEqual(line, printed.pop(0))


if __name__ == "__main__":
    unittest.main()
