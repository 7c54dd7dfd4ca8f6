"""Tests the shared library for C as a file: what it exports, and that it works alone.

tests/c/CMakeLists.txt sets LIBRARY, HEADERS, NM and VERSION in the environment.
"""

import ctypes
import os
import pathlib
import re
import subprocess
import unittest

LIBRARY = os.environ["LIBRARY"]
HEADERS = "".join(pathlib.Path(path).read_text() for path in os.environ["HEADERS"].split(":"))
TESTS = pathlib.Path(__file__).parent
KINDS = ("bytes", "u64", "hash")


def declared():
    """The functions of the headers for C."""
    return set(re.findall(r"^NESTLINE_EXPORT[^(]*?\b(nestline_\w+)\(", HEADERS, re.MULTILINE))


class CLibraryTest(unittest.TestCase):
    def test_exports_what_the_header_declares_and_nothing_else(self):
        listing = subprocess.run([os.environ["NM"], "--dynamic", "--defined-only", LIBRARY],
                                 check=True, capture_output=True, text=True).stdout
        exported = {line.split()[-1] for line in listing.splitlines()}
        self.assertEqual(exported, declared())
        self.assertGreater(len(exported), 120)

    def test_every_function_is_called_by_a_test_in_c(self):
        source = "".join(path.read_text() for path in sorted(TESTS.glob("c_*_test.c")))
        # Batches are called through a macro that is given the kind of the keys.
        for form in set(re.findall(r"\b(nestline_\w+_)##kind\(", source)):
            source += "".join(f" {form}{kind}(" for kind in KINDS)
        called = set(re.findall(r"\b(nestline_\w+)\(", source))
        self.assertEqual(declared() - called, set())

    def test_each_form_exists_for_each_kind_of_keys(self):
        forms = {name.removesuffix("_u64") for name in declared() if name.endswith("_u64")}
        self.assertGreater(len(forms), 12)
        without_hash = {"nestline_hash"}  # a hash needs none
        for form in forms - without_hash:
            for kind in KINDS:
                self.assertIn(f"{form}_{kind}", declared())

    def test_is_loaded_by_a_program_without_any_of_it(self):
        library = ctypes.CDLL(LIBRARY)
        library.nestline_version.restype = ctypes.c_char_p
        self.assertEqual(library.nestline_version().decode(), os.environ["VERSION"])


if __name__ == "__main__":
    unittest.main()
