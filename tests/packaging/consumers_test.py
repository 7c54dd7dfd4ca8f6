"""Compiles the program in consumers/, which makes keys as users do, by several compilers with many flags, and runs it.

Compilers differ in what they make of the inline members of the public headers, and the tests of each class
are compiled in one way only. The environment:

  CXX        this compiler
  LIBRARIES  the folder of the libraries
  MATRIX     quick: this compiler at -O2 and -O3; whole: the table below, but for compilers that are not installed
  FLAGS      for every source, such as -DNESTLINE_SHARED
  RUN        what runs programs for another processor; then there are only the sources that use filters
"""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
PLACE = SOURCE / "tests/packaging/consumers"
LIBRARIES = pathlib.Path(os.environ["LIBRARIES"]).resolve()
THIS = os.environ["CXX"]
FLAGS = os.environ.get("FLAGS", "").split()
RUN = os.environ.get("RUN", "").split()

# The sources that use filters, and all. They are not combined with every compiler and flags: each level is there with
# this compiler, and with the others those at which it inlines most and least.
FILTER = ["small.cc", "filter.cc"]
ALL = [*FILTER, "classes.cc", "c_keys.c"]
QUICK = [(THIS, "-O2", FILTER), (THIS, "-O3", FILTER)]
WHOLE = [
    (THIS, "-O0", FILTER),
    (THIS, "-O1", FILTER),
    (THIS, "-Og", FILTER),
    (THIS, "-Os", ALL),
    (THIS, "-O2", ALL),
    (THIS, "-O2 -march=native -DNESTLINE_SHARED -fPIC", FILTER),
    (THIS, "-O3 -flto=auto", ALL),
    ("g++-11", "-O2", ALL),
    ("g++-11", "-O3", FILTER),
    ("clang++-13", "-O2", FILTER),
    ("clang++", "-O3 -march=native", ALL),
]


def run(*command):
    """Its status, and what it printed."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


class ConsumersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.work = pathlib.Path(cls.folder.name)
        cls.compiled = {}
        cls.has = {name for name in ("nestline", "nestline-store", "nestline-c")
                   if not RUN and list(LIBRARIES.glob(f"lib{name}.*"))}

    def compile(self, compiler, flags, source, *options):
        """The object file."""
        key = (compiler, *flags, source, *options)
        if key not in self.compiled:
            self.compiled[key] = self.work / f"{len(self.compiled)}.o"
            language = ["-x", "c", "-std=c99"] if "c" in options else ["-x", "c++", "-std=c++20"]
            made = run(compiler, *flags, *FLAGS, *language, *(each for each in options if each != "c"), "-Wall", "-Wextra",
                       "-I", SOURCE / "include", "-I", SOURCE, "-c", PLACE / source, "-o", self.compiled[key])
            self.assertEqual(made, (0, ""))
        return self.compiled[key]

    def try_one(self, compiler, level, sources):
        flags = level.split()
        objects = [self.compile(THIS, ["-O0"], "expected.cc")]
        defined = []
        if "classes.cc" in sources and "nestline" in self.has:
            defined.append("-DWITH_CLASSES")
            if "nestline-store" in self.has:
                defined.append("-DWITH_STORE")
            objects.append(self.compile(compiler, flags, "classes.cc", *defined))
        if "c_keys.c" in sources and "nestline-c" in self.has:
            defined.append("-DWITH_C")
            objects.append(self.compile(compiler, flags, "c_keys.c", "c", "-DTRY_C=try_c"))
            objects.append(self.compile(compiler, flags, "c_keys.c", "-DTRY_C=try_c_in_cpp"))
        objects.append(self.compile(compiler, flags, "small.cc", *defined))
        objects.append(self.compile(compiler, flags, "filter.cc"))
        program = self.work / "consumers"
        # A library that no object needs is left out.
        libraries = [f"-l{name}" for name in ("nestline-c", "nestline-store", "nestline") if name in self.has]
        if "nestline" in self.has:
            libraries += ["-lnestline-filter", "-lurcu-bp"]
        else:
            libraries.append("-lnestline-filter")
        linked = run(compiler, *flags, *objects, f"-L{LIBRARIES}", f"-Wl,-rpath,{LIBRARIES},--as-needed", *libraries,
                     "-o", program)
        self.assertEqual(linked, (0, ""))
        shutil.rmtree(self.work / "store", ignore_errors=True)
        self.assertEqual(run(*RUN, program, self.work / "store"), (0, ""))

    def test_keys_are_found_whatever_compiles_them(self):
        missing = set()
        for compiler, level, sources in WHOLE if os.environ["MATRIX"] == "whole" else QUICK:
            if not shutil.which(compiler):
                missing.add(compiler)
                continue
            with self.subTest(compiler=compiler, flags=level):
                self.try_one(compiler, level, sources)
        if missing:
            print("not tried, since they are not installed:", *sorted(missing))


if __name__ == "__main__":
    unittest.main()
