"""Tests the shared libraries for C as files: what they export, and that they work alone.

tests/faces/c/CMakeLists.txt sets LIBRARIES, INCLUDE, NM and VERSION in the environment.
"""

import ctypes
import os
import pathlib
import re
import subprocess
import unittest

LIBRARIES = os.environ["LIBRARIES"].split(":")  # without stores, and with them
HEADERS = ("nestline.h", "nestline_expiring.h", "nestline_maplet.h", "nestline_store.h")
TESTS = pathlib.Path(__file__).parent


def declared(*headers):
    """The functions of these headers for C."""
    text = "".join((pathlib.Path(os.environ["INCLUDE"]) / name).read_text() for name in headers)
    return set(re.findall(r"^(?!typedef|static|#|/)[\w ]+\*? (nestline_\w+)\(", text, re.MULTILINE))


class CLibraryTest(unittest.TestCase):
    def test_each_exports_what_its_headers_declare_and_nothing_else(self):
        for library, headers in zip(LIBRARIES, (HEADERS[:3], HEADERS)):
            listing = subprocess.run([os.environ["NM"], "--dynamic", "--defined-only", library],
                                     check=True, capture_output=True, text=True).stdout
            exported = {line.split()[-1] for line in listing.splitlines()}
            self.assertEqual(exported, declared(*headers))
            self.assertGreater(len(exported), 100)

    def test_every_function_is_called_by_a_test_in_c(self):
        source = "".join(path.read_text() for path in sorted(TESTS.glob("c_*_test.c")))
        # Functions are called through macros that are given the kind of the key, or what their names begin with.
        for form in set(re.findall(r"\b(nestline_\w+_)##kind\(", source)):
            source += "".join(f" {form}{kind}(" for kind in ("bytes", "u64", "hash"))
        for save, load in re.findall(r"TEST_FILES\((\w+), (\w+),", source):
            shared = (TESTS / "tape.h").read_text()
            source += shared.replace("SAVE##", save).replace("LOAD##", load)
        called = set(re.findall(r"\b(nestline_\w+)\(", source))
        self.assertEqual(declared(*HEADERS) - called, set())

    def test_each_form_exists_for_each_kind_of_keys(self):
        names = declared(*HEADERS)
        forms = {name.removesuffix("_u64") for name in names if name.endswith("_u64")}
        self.assertGreater(len(forms), 12)
        for form in forms - {"nestline_hash"}:  # a hash needs none
            for kind in ("bytes", "u64", "hash"):
                self.assertIn(f"{form}_{kind}", names)

    def test_is_loaded_by_a_program_without_any_of_it(self):
        for path in LIBRARIES:
            library = ctypes.CDLL(path)
            library.nestline_version.restype = ctypes.c_char_p
            self.assertEqual(library.nestline_version().decode(), os.environ["VERSION"])


if __name__ == "__main__":
    unittest.main()
