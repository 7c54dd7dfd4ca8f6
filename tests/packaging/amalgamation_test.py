"""Takes the two files that scripts/package amalgamation makes, as a user would, in a folder that has nothing else.

The environment:

  SOURCE     the checkout
  COMPILERS  each with its flags, with commas between them: one command line of each compiles nestline_filter.cc
  LIBRARY    the static nestline-filter to compare the first one's with, or nothing
"""

import os
import pathlib
import platform
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["SOURCE"])
COMPILERS = {words[0]: words[1:] for words in map(str.split, os.environ["COMPILERS"].split(","))}
FIRST_COMPILER = next(iter(COMPILERS))
LIBRARY = os.environ.get("LIBRARY")
FIRST = SOURCE / "tests/documents/examples/first.cc"
PROGRAM = SOURCE / "tests/packaging/amalgamation/program.cc"
# For what the program calls behind the public headers.
INSIDE = ["-I", SOURCE, "-I", SOURCE / "include"]


def run(*command, folder=None):
    """Its status, and what it printed."""
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def text_bytes(program):
    return int(subprocess.run(["size", program], check=True, capture_output=True, text=True).stdout.split()[6])


class AmalgamationTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.work = pathlib.Path(cls.folder.name)
        cls.tarball = cls.make("one")
        with tarfile.open(cls.tarball) as tarball:
            names = tarball.getnames()
            tarball.extractall(cls.work)
        cls.unpacked = cls.work / cls.tarball.name.removesuffix(".tar.gz")
        assert all(name.split("/")[0] == cls.unpacked.name for name in names), names
        cls.objects = {}

    @classmethod
    def make(cls, folder):
        made = run(SOURCE / "scripts/package", "amalgamation", cls.work / folder)
        assert made[0] == 0, made[1]
        [tarball] = (cls.work / folder).glob("*.tar.gz")
        return tarball

    def compiled(self, compiler):
        """The library's object, of the command line that docs/PACKAGES.md has."""
        if compiler not in self.objects:
            self.objects[compiler] = self.work / f"{compiler}.o"
            made = run(compiler, "-std=c++20", *COMPILERS[compiler], "-Wall", "-Wextra", "-I", self.unpacked, "-c",
                       self.unpacked / "nestline_filter.cc", "-o", self.objects[compiler], folder="/")
            self.assertEqual(made, (0, ""))
        return self.objects[compiler]

    def link(self, compiler, source, library, *options):
        """A program of the source with the public headers that `library` has."""
        copy = self.work / source.name
        text = source.read_text()
        if library != LIBRARY:
            text = re.sub(r"#include <nestline/[a-z_]+[.]h>", "#include <nestline_filter.h>", text)
            options = ["-I", self.unpacked, *options]
        copy.write_text(text)
        program = copy.with_suffix("")
        made = run(compiler, "-std=c++20", "-O2", "-Wall", "-Wextra", *options, copy, library, "-o", program)
        self.assertEqual(made, (0, ""))
        return program

    def test_it_is_made_of_nothing_but_the_sources(self):
        self.assertEqual(self.make("two").read_bytes(), self.tarball.read_bytes())
        self.assertEqual({path.name for path in self.unpacked.iterdir()},
                         {"nestline_filter.h", "nestline_filter.cc", "hwy", "xxhash.h", "LICENSE", "NOTICES"})

    def test_the_first_example(self):
        for compiler in COMPILERS:
            if not shutil.which(compiler):
                print("not tried, since it is not installed:", compiler)
                continue
            with self.subTest(compiler=compiler):
                program = self.link(compiler, FIRST, self.compiled(compiler))
                self.assertEqual(run(program), (0, "look in the database\nnot there: no need to look\n"))

    def test_each_width_on_each_target(self):
        for compiler in COMPILERS:
            if not shutil.which(compiler):
                continue
            with self.subTest(compiler=compiler):
                program = self.link(compiler, PROGRAM, self.compiled(compiler), *INSIDE)
                status, printed = run(program, self.work / "file")
                self.assertEqual((status, bool(re.fullmatch(r"\d+ targets, [\d.]+\n", printed))), (0, True), printed)

    def test_the_file_is_the_librarys_and_so_is_the_weight(self):
        if not LIBRARY:
            self.skipTest("without a library to compare with")
        weights, files = [], []
        for library in (LIBRARY, self.compiled(FIRST_COMPILER)):
            program = self.link(FIRST_COMPILER, PROGRAM, library, *INSIDE)
            self.assertEqual(run(program, self.work / "file")[0], 0)
            weights.append(text_bytes(program))
            files.append((self.work / "file").read_bytes())
        self.assertEqual(*files)
        print("text with the library and with the amalgamation:", *weights)
        # One object is linked whole, and one command line does not compile the older targets for size.
        self.assertLess(weights[1], 2_000_000)

    @unittest.skipUnless(platform.machine() == "x86_64", "the levels of another processor")
    def test_one_target_is_the_best_of_march(self):
        for march, target in (("x86-64-v2", "SSE4"), ("x86-64-v3", "AVX2"), ("haswell", "AVX2"), ("x86-64-v4", "AVX3")):
            status, macros = run(FIRST_COMPILER, "-E", "-dM", "-std=c++20", "-DHWY_COMPILE_ONLY_STATIC", f"-march={march}",
                                 "-I", self.unpacked, self.unpacked / "nestline_filter.cc")
            self.assertEqual(status, 0, macros)
            self.assertIn(f"#define HWY_BASELINE_{target} HWY_{target}\n", macros, march)

    def refused(self, *options):
        """The first error of the compiler."""
        status, printed = run(FIRST_COMPILER, "-fsyntax-only", *options, "-I", self.unpacked, self.unpacked / "nestline_filter.cc")
        self.assertNotEqual(status, 0)
        return re.search(r"error: (.*)", printed)[1]

    def test_errors_are_sentences(self):
        self.assertIn("nestline needs C++20: compile with -std=c++20", self.refused("-std=c++17"))
        other = self.work / "other"
        shutil.copytree(self.unpacked / "hwy", other / "hwy")
        for path in other.glob("hwy/*.h"):
            path.write_text(re.sub(r"(#define HWY_MINOR )\d+", r"\g<1>99", path.read_text()))
        self.assertIn("not the Highway headers that came with this file", self.refused("-std=c++20", "-I", other))


if __name__ == "__main__":
    unittest.main()
