"""Tests that sources for different processors can be linked into one program.

One source is compiled for any x86-64 and again for one with AVX2. Whichever comes first in the program, what is for any
processor runs on one without AVX, under an emulator. It has each inline function for one key, called and by its address, which
keeps compilers from inlining it.

tests/packaging/CMakeLists.txt sets COMPILERS, LEVELS, INCLUDE and LINK in the environment.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

QEMU = shutil.which("qemu-x86_64") or shutil.which("qemu-x86_64-static")
LOOK = r"""
#include <nestline/concurrent_filter.h>
using namespace nestline;
unsigned long LOOK(Filter& f, ConcurrentFilter& c) {
  unsigned long n = 0;
  const auto one = [&](auto key) {
    n += bool(f.insert(key)) + bool(f.insert_unique(key)) + bool(f.update(key, key)) + f.may_contain(key);
    n += f.count(key) + bool(c.insert(key)) + bool(c.insert_unique(key)) + bool(c.update(key, key));
    n += c.may_contain(key) + c.count(key) + (hash_key(key, f.seed()).value & 1);
    const Reader r = f.reader();
    n += r.may_contain(key) + r.may_contain(r.prepare(key));
    n += ConcurrentReader(c).may_contain(key);
    n += f.erase(key) + c.erase(key);
  };
  one(7u);
  one(Hash{~0ul / 3});
  char text[] = "a key";
  one(static_cast<const char*>(text));
  const Reader r = f.reader();
  const ConcurrentReader beside_others(c);
  bool (Reader::*volatile look)(Key) const noexcept = &Reader::may_contain;
  Hash (Reader::*volatile prepare)(Key) const noexcept = &Reader::prepare;
  bool (ConcurrentReader::*volatile beside)(Key) const noexcept = &ConcurrentReader::may_contain;
  bool (Filter::*volatile outside)(Key) const noexcept = &Filter::may_contain;
  return n + (r.*look)((r.*prepare)(7u)) + (beside_others.*beside)("a key") + (f.*outside)(7u);
}
#ifdef OTHER
unsigned long OTHER(Filter&, ConcurrentFilter&);
int main(int argc, char**) {
  Filter f({.capacity = 1000, .bits = 8});
  ConcurrentFilter c({.capacity = 1000, .bits = 10});
  __builtin_printf("%lu\\n", (argc == 1 ? LOOK : OTHER)(f, c));
}
#endif
"""


@unittest.skipUnless(QEMU, "there is no qemu-x86_64: scripts/install-dependencies cross")
class MixedTargetsTest(unittest.TestCase):
    def test_code_for_any_processor_is_what_runs_there_in_both_orders(self):
        for compiler in filter(shutil.which, os.environ["COMPILERS"].split()):
            for level in os.environ["LEVELS"].split():
                with self.subTest(compiler=compiler, level=level), tempfile.TemporaryDirectory() as self.folder:
                    self.build(compiler, level)

    def run_here(self, *words, **options):
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, check=False, **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def build(self, compiler, level):
        for name, *options in (("any.o", "-DLOOK=any", "-DOTHER=avx2"), ("avx2.o", "-DLOOK=avx2", "-march=x86-64-v3")):
            self.run_here(compiler, "-std=c++20", level, "-I", os.environ["INCLUDE"], *options, "-x", "c++", "-c", "-",
                          "-o", name, input=LOOK)
        link = os.environ["LINK"].split()
        for order in (["any.o", "avx2.o"], ["avx2.o", "any.o"]):
            self.run_here(compiler, *order, *link, f"-Wl,-rpath,{pathlib.Path(link[0]).parent}", "-o", "both")
            printed = self.run_here(QEMU, "-cpu", "Nehalem", "./both")
            self.assertEqual(printed, self.run_here(QEMU, "-cpu", "max", "./both", "avx2"))


if __name__ == "__main__":
    unittest.main()
