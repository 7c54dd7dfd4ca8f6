"""Tests that ctags, and so editors and search programs, find our definitions.

python3 definitions_test.py
"""

import json
import pathlib
import shutil
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
OPTIONS = ["--languages=C++", "--kinds-C++=cfgsu", "--langmap=C++:.cc.h", "--output-format=json", "-f", "-"]


@unittest.skipUnless(shutil.which("ctags"), "no ctags")
class DefinitionsTest(unittest.TestCase):
    def definitions(self, *names):
        done = subprocess.run(["ctags", *OPTIONS, "-R", *names], cwd=ROOT, check=True, capture_output=True, text=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_a_member(self):
        found = [tag for tag in self.definitions("lib/filters/filter/filter.cc") if tag["name"] == "insert_one"]
        self.assertEqual([(tag["kind"], tag["scope"].split("::")[-1]) for tag in found], [("function", "Filter")])

    def test_their_number(self):
        self.assertGreaterEqual(len(self.definitions("lib", "include")), 2500)


if __name__ == "__main__":
    unittest.main()
