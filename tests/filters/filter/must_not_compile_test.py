"""Compiles must_not_compile.cc: every marked line is refused, and nothing else is.

tests/filters/filter/CMakeLists.txt sets CXX and INCLUDE in the environment.
"""

import os
import pathlib
import re
import subprocess
import unittest

SOURCE = pathlib.Path(__file__).with_name("must_not_compile.cc").read_text().splitlines()
MARK = re.compile(r"// NO: (.+)$")


def errors_of(lines):
    """The compiler's status, and its errors by line of the source."""
    command = [os.environ["CXX"], "-std=c++20", "-Wall", "-Werror", "-fsyntax-only",
               "-fdiagnostics-color=never", "-I", os.environ["INCLUDE"], "-x", "c++", "-"]
    if "clang" in subprocess.run([command[0], "--version"], check=True, capture_output=True,
                                 text=True).stdout:
        command.insert(1, "-ferror-limit=0")
    run = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True,
                         env={**os.environ, "LC_ALL": "C"}, check=False)
    found = {}
    for number, text in re.findall(r"^<stdin>:(\d+):\d+: error: (.+)$", run.stderr, re.MULTILINE):
        found.setdefault(int(number), []).append(text)
    return run.returncode, found, run.stderr


class MustNotCompileTest(unittest.TestCase):
    def test_every_misuse_is_refused_and_nothing_else(self):
        marked = {number: mark.group(1) for number, line in enumerate(SOURCE, 1)
                  if (mark := MARK.search(line))}
        self.assertGreater(len(marked), 30)
        status, found, output = errors_of(SOURCE)
        self.assertNotEqual(status, 0)
        for number, words in marked.items():
            with self.subTest(line=SOURCE[number - 1]):
                self.assertTrue(any(re.search(words, text) for text in found.get(number, [])),
                                found.get(number, "no error"))
        self.assertEqual(sorted(set(found) - set(marked)), [], output)

    def test_the_rest_compiles(self):
        status, _, output = errors_of("" if MARK.search(line) else line for line in SOURCE)
        self.assertEqual(status, 0, output)


if __name__ == "__main__":
    unittest.main()
