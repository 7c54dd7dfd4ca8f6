"""Tests the public headers as files: each compiles alone, and includes only what its users need.

tests/packaging/CMakeLists.txt sets CXX and INCLUDE in the environment.
"""

import os
import pathlib
import re
import subprocess
import unittest

INCLUDE = pathlib.Path(os.environ["INCLUDE"])
# Standard headers that take long to compile, and those of ours that may bring them. <chrono>, which
# cluster.h needs, brings streams.
ABOUT_FILES = {
    "expiring_filter.h", "guard.h", "io.h", "mapped_filter.h", "maplet.h", "store.h", "store_files.h"}
# What programs may do without: all but the guard compile so.
SPARE = ["-fno-exceptions", "-fno-rtti"]
COSTLY = {"filesystem": ABOUT_FILES, "istream": ABOUT_FILES | {"cluster.h"}}


def compiled(header, standard, *options):
    """What the compiler makes of a program that includes only this header."""
    return subprocess.run(
        [os.environ["CXX"], f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-I", INCLUDE, "-x", "c++",
         *options, "-"],
        input=f"#include <nestline/{header}>\n", capture_output=True, text=True, check=False)


def included_by(header, *options):
    """The files that a program gets when it includes only this header, which must compile."""
    done = compiled(header, "c++20", "-fsyntax-only", "-MD", "-MF", "/dev/stdout", *options)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return {pathlib.PurePath(word).name for word in done.stdout.split()}


class PublicHeadersTest(unittest.TestCase):
    def test_each_compiles_alone_and_only_those_about_files_are_costly(self):
        headers = {path.name for path in (INCLUDE / "nestline").glob("*.h")}
        self.assertLess(ABOUT_FILES, headers)
        for header in sorted(headers):
            with self.subTest(header=header):
                files = included_by(header, *([] if header == "guard.h" else SPARE))
                self.assertIn(header, files)
                for costly, allowed in COSTLY.items():
                    self.assertEqual(costly in files, header in allowed, costly)

    def test_the_guard_says_that_it_needs_exceptions(self):
        first = re.search(r"error: .*", compiled("guard.h", "c++20", "-fsyntax-only", *SPARE).stderr)
        self.assertIn("nestline/guard.h needs exceptions", first.group())

    def test_an_older_standard_is_the_first_error_but_for_the_header_for_c(self):
        first = re.search(r"error: .*", compiled("filter.h", "c++17", "-fsyntax-only").stderr)
        self.assertIn("compile with -std=c++20", first.group())
        done = compiled("nestline.h", "c++11", "-fsyntax-only")
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
