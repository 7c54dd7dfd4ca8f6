"""Tests of scripts/lint, on a small tree without breaches and with each kind of breach in it.

python3 lint_test.py
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# Every room has a header a.h.
ROOMS = """include/nestline lib/engine/place lib/engine lib/filters/filter lib/filters/concurrent lib/filters/parallel lib/filters/file
    lib/faces/c lib/faces/command/io lib/faces/command/uniq lib/faces/command/filter lib/faces/command/store lib/faces/command/cluster
    lib/faces/command lib/faces/embed/redisbloom lib/faces/embed/value lib/faces/redis/server tests/engine/place bench/filters/filter""".split()

# (from, to): a file of the one room may include headers of the other, and not the other way round.
ABOVE = [
    ("lib/engine/place", "include/nestline"), ("lib/engine", "lib/engine/place"),
    ("lib/filters/filter", "lib/engine"), ("lib/filters/concurrent", "lib/filters/filter"), ("lib/filters/file", "lib/engine/place"),
    ("lib/faces/c", "include/nestline"), ("lib/faces/command", "include/nestline"),
    ("lib/faces/command", "lib/faces/command/store"), ("lib/faces/command/filter", "lib/faces/command/uniq"),
    ("lib/faces/command/uniq", "lib/faces/command/io"),
    ("lib/faces/embed/value", "lib/faces/embed/redisbloom"), ("lib/faces/redis/server", "lib/faces/embed/value"),
    ("tests/engine/place", "lib/engine/place"), ("bench/filters/filter", "lib/filters/filter"),
]  # fmt: skip
# A file of the first may not include headers of the second.
APART = [
    ("lib/faces/c", "lib/filters/filter"), ("lib/faces/c", "lib/faces/command"), ("lib/faces/command", "lib/faces/c"),
    ("lib/faces/command", "lib/filters/file"), ("lib/faces/command/store", "lib/faces/command/cluster"),
    ("lib/faces/command/cluster", "lib/faces/command/filter"), ("lib/faces/redis/server", "lib/engine"),
    ("lib/filters/filter", "tests/engine/place"),
    ("tests/engine/place", "bench/filters/filter"), ("bench/filters/filter", "tests/engine/place"),
]  # fmt: skip


def header_in(room):
    return "include/nestline/keys.h" if room == "include/nestline" else f"{room}/a.h"


def include_of(header):
    name = header.removeprefix("include/")
    return f'#include "{name}"\n'


def guarded(name, content=""):
    stem = name.removesuffix(".h").removeprefix("include/nestline/")
    guard = "NESTLINE_" + re.sub(r"\W", "_", stem).upper() + "_H_"
    return f"#ifndef {guard}\n#define {guard}\n{content}#endif  // {guard}\n"


class LintTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="nestline_lint_test.")
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name)
        self.write("scripts/lint", "")
        shutil.copy(ROOT / "scripts" / "lint", self.tree / "scripts" / "lint")
        shutil.copy(ROOT / ".clang-format", self.tree / ".clang-format")
        for room in ROOMS:
            header = header_in(room)
            self.write(header, guarded(header))
        self.write("include/nestline/filter.h", guarded("include/nestline/filter.h"))
        version = guarded("include/nestline/version.h", "#define NESTLINE_VERSION_MAJOR 0\n"
                          "#define NESTLINE_VERSION_MINOR 3\n")
        self.write("include/nestline/version.h", version)
        self.write("CMakeLists.txt", "project(small)\n")

    def write(self, name, content):
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")

    def read(self, name):
        return (self.tree / name).read_text(encoding="utf-8")

    def lint(self, *options):
        """Returns the status and the lines printed about files."""
        done = subprocess.run([sys.executable, "-B", self.tree / "scripts" / "lint", *options],
                              capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        *breaches, summary = done.stdout.splitlines()
        count = len(breaches) - ("--fix" in options)
        self.assertRegex(summary, rf"^lint: \d+ files, {count} breaches$")
        return done.returncode, breaches

    def expect_clean(self, name=None, content=None):
        self.expect((0, []), name, content)

    def expect_breach(self, text, name, content, line=1):
        """Expects a breach in this file only, then removes the file."""
        self.expect((1, [f"{name}:{line}: {text}"]), name, content)

    def expect(self, result, name, content):
        path = self.tree / name if name else None
        before = path.read_text(encoding="utf-8") if path and path.exists() else None
        if name:
            self.write(name, content)
        self.assertEqual(self.lint(), result, content)
        if before is not None:
            self.write(name, before)
        elif name:
            path.unlink()

    def test_nothing(self):
        self.expect_clean()

    def test_text(self):
        self.expect_breach("not ASCII", "lib/engine/place/b.cc", "// fine\n// caf\u00e9\n", 2)
        blank = "tab, or blank at the end of the line"
        self.expect_breach(blank, "lib/engine/place/b.cc", "int a;\n\tint b;\n", 2)
        self.expect_breach(blank, "tests/engine/place/b.py", "a = 1 \n")
        self.expect_breach(blank, "CMakeLists.txt", "project(small) \n")
        self.expect_breach("file names are letters, digits and . _ -", "lib/engine/place/b c.cc",
                           "int a;\n")
        self.expect_clean("lib/engine/place/b.cc", "int a;\n" * 750)
        self.expect_breach("more than 750 lines: this file may hold two ideas", "lib/engine/place/b.cc",
                           "int a;\n" * 751, 751)

    def test_guards(self):
        text = "the include guard should be NESTLINE_LIB_ENGINE_PLACE_B_H_"
        self.expect_breach(text, "lib/engine/place/b.h", "#pragma once\n")
        self.expect_breach(text, "lib/engine/place/b.h", guarded("lib/engine/place/c.h"))
        self.expect_breach("the include guard should be NESTLINE_KEYS_H_",
                           "include/nestline/keys.h",
                           guarded("lib/include/keys.h"))

    def test_namespaces(self):
        text = "this should begin with namespace nestline { inline namespace v0_3 {"
        for bad in ("nestline {\n}", "nestline::inline v0_3 {\n}", "nestline { inline namespace v0_2 {\n}}"):
            self.expect_breach(text, "lib/engine/place/b.cc", f"namespace {bad}\n")
        for good in ("{\n}}", "{ namespace internal {\n}}}"):
            self.expect_clean("lib/engine/place/b.cc", f"namespace nestline {{ inline namespace v0_3 {good}\n")
        self.expect_clean("tests/engine/place/b.cc", "namespace nestline {\n}\n")

    def test_rooms(self):
        for lower, upper in ABOVE:
            self.expect_clean(f"{lower}/b.cc", include_of(header_in(upper)))
            header = "include/nestline/filter.h" if upper == "include/nestline" else f"{upper}/b.h"
            self.expect_breach(f"{upper} may not include {self.room(lower)}", header,
                               guarded(header, include_of(header_in(lower))), 3)
        for room, other in APART:
            self.expect_breach(f"{self.room(room)} may not include {self.room(other)}",
                               f"{room}/b.cc",
                               include_of(header_in(other)))

    def room(self, folder):
        """As scripts/lint calls it: tests and benchmarks are one room each."""
        top = folder.split("/")[0]
        return top if top in ("tests", "bench") else folder

    def test_public_headers(self):
        self.expect_clean("include/nestline/filter.h",
                          guarded("include/nestline/filter.h",
                                  include_of("include/nestline/keys.h")))
        self.expect_breach(
            "include/nestline/filter.h does not come before it in PUBLIC",
            "include/nestline/keys.h",
            guarded("include/nestline/keys.h", include_of("include/nestline/filter.h")), 3)
        self.expect_breach("no place in PUBLIC of scripts/lint", "include/nestline/b.h",
                           guarded("include/nestline/b.h"))

    def test_unknown_places(self):
        self.expect_breach("no room in scripts/lint", "lib/new/b.cc", "int a;\n")
        unknown = "is not the path of one of our headers"
        self.expect_breach(f"a.h {unknown}", "lib/engine/place/b.cc", '#include "a.h"\n')
        self.expect_breach(f"lib/engine/place/c.h {unknown}", "lib/engine/place/b.cc",
                           '#include "lib/engine/place/c.h"\n')

    def test_folders(self):
        name = "TempDir: take a TempFolder of tests/support/temp_folder.h"
        self.expect_breach(name, "tests/engine/place/b.cc", 'auto a = testing::TempDir() + "a";\n')
        self.expect_clean("bench/filters/filter/b.cc", "auto a = fs::temp_directory_path();\n")
        self.expect_clean("tests/engine/place/b.cc", "const TempFolder temp_folder;\n")

    def test_standard_library(self):
        name = "lib/engine/place/b.cc"
        for use, header in (("std::vector<int> a;", "vector"), ("std::ranges::sort(a);", "algorithm"),
                            ("std::uint8_t a = 0;", "cstdint"), ("std::pmr::vector<int> a;", "vector"),
                            ("std::chrono::seconds a(1);", "chrono"), ("throw std::bad_alloc();", "new"),
                            ("std::pmr::memory_resource* a;", "memory_resource"),
                            ("auto a = std::filesystem::path();", "filesystem")):
            used = re.search(r"std::((ranges|pmr)::)?\w+", use)[0]
            self.expect_breach(f"{used} without <{header}>", name, f"int b;\n{use}\n{use}\n", 2)
            self.expect_clean(name, f"#include <{header}>\n{use}\n")
        unknown = "std::novelty has no header in HEADERS of scripts/lint"
        self.expect_breach(unknown, name, "std::novelty a;\n")
        self.expect_clean(name, "// std::vector, /*\nconst char* a = \"std::map // \" \"\\\"std::set\"; /* std::list */\n"
                          "const char* b = R\"(\"std::list\")\";\n")
        self.expect_breach("std::map without <map>", name, "char a = '\"'; std::map<int, int> b;  // \"\n")
        # What any of several headers has, and what a header declares in place of the standard one.
        self.expect_clean(name, "#include <array>\nauto a = std::size(b);\n")
        self.write("include/nestline/internal/memory_resource.h",
                   guarded("include/nestline/internal/memory_resource.h"))
        self.expect_clean(name, '#include "nestline/internal/memory_resource.h"\nstd::pmr::memory_resource* a;\n')

    def test_standard_library_of_the_own_header(self):
        use = "std::vector<int> a;\n"
        header, source = "lib/engine/place/a.h", "lib/engine/place/a.cc"
        self.write(header, guarded(header, "#include <vector>\n"))
        self.expect_clean(source, include_of(header) + use)
        self.expect_breach("std::vector without <vector>", "lib/engine/place/b.cc", include_of(header) + use, 2)

    @unittest.skipUnless(shutil.which("clang-format"), "no clang-format")
    def test_fix(self):
        uses = "std::vector<std::uint8_t> a;\nauto b = std::string();\n"
        added = "#include <cstdint>\n#include <string>\n#include <vector>\n"
        own = '#include "lib/engine/place/a.h"\n'
        self.write("lib/engine/place/a.cc", f"// A comment.\n{own}\n#include <string>\n\n{uses}")
        self.write("lib/engine/place/b.cc", f"// A comment.\n// More.\n\n{uses}")
        self.write("lib/engine/place/c.cc", f"#if C\n#include <fcntl.h>\n#endif\n{own}\n{uses}")
        # Per target: the guard has a branch.
        toggle = ("#if defined(NESTLINE_LIB_ENGINE_KERNELS_B_INL_H_) == defined(HWY_TARGET_TOGGLE)\n"
                  "#ifdef NESTLINE_LIB_ENGINE_KERNELS_B_INL_H_\n#undef NESTLINE_LIB_ENGINE_KERNELS_B_INL_H_\n"
                  "#else\n#define NESTLINE_LIB_ENGINE_KERNELS_B_INL_H_\n#endif\n\n")
        for name, head, rest in (("filters/filter/b", "", "\n"), ("filters/file/b", "\n", f"{own}\n")):
            name = f"lib/{name}.h"
            self.write(name, guarded(name, f"{head}{rest}{uses}"))
        self.write("lib/engine/kernels/b-inl.h", f"{toggle}#include <hwy/highway.h>\n\n{own}\n{uses}#endif\n")
        self.write("lib/engine/kernels/c-inl.h", toggle.replace("B_INL", "C_INL") + f"{uses}#endif\n")
        self.write("include/nestline/internal/memory_resource.h",
                   guarded("include/nestline/internal/memory_resource.h"))
        public = "include/nestline/filter.h"
        self.write(public, guarded(public, "std::pmr::memory_resource* a;\n"))
        status, (said, *breaches) = self.lint("--fix")
        self.assertEqual(breaches, ["lib/engine/place/c.cc:2: <fcntl.h> does not belong here"])
        self.assertEqual((status, said), (1, "lint: 8 files have got standard headers"))
        self.assertEqual(self.read("lib/engine/place/a.cc"), f"// A comment.\n{own}\n{added}\n{uses}")
        self.assertEqual(self.read("lib/engine/place/b.cc"), f"// A comment.\n// More.\n\n{added}\n{uses}")
        self.assertIn(f"#endif\n{added}\n{own}", self.read("lib/engine/place/c.cc"))
        self.assertIn(f"_H_\n\n{added}\n{uses}#endif", self.read("lib/filters/filter/b.h"))
        self.assertIn(f"_H_\n\n{added}\n{own}\n{uses}#endif", self.read("lib/filters/file/b.h"))
        self.assertEqual(self.read("lib/engine/kernels/b-inl.h"),
                         f"{toggle}#include <hwy/highway.h>\n\n{added}\n{own}\n{uses}#endif\n")
        self.assertIn(f"_H_\n#endif\n\n{added}\n{uses}#endif", self.read("lib/engine/kernels/c-inl.h"))
        self.assertIn('#include "nestline/internal/memory_resource.h"', self.read(public))
        self.assertEqual(self.lint("--fix")[1][0], "lint: 0 files have got standard headers")

    def test_headers_from_outside(self):
        for header, belongs, name in (
            ("hwy/highway.h", "lib/engine/kernels/b.cc", "lib/filters/filter/b.cc"),
            ("xxhash.h", "lib/engine/place/hash.cc", "lib/filters/file/b.cc"),
            ("tbb/task_arena.h", "lib/filters/parallel/b.cc", "lib/filters/filter/b.cc"),
            ("urcu/urcu-bp.h", "lib/filters/concurrent/reclaim.h", "lib/filters/concurrent/b.cc"),
            ("libcuckoo/cuckoohash_map.hh", "bench/filters/filter/b.cc", "tests/engine/place/b.cc"),
            ("fcntl.h", "lib/faces/command/b.cc", "lib/filters/filter/b.cc"),
            ("cstdio", "lib/faces/command/b.cc", "lib/filters/filter/b.cc"),
            ("iostream", "tests/engine/place/b.cc", "lib/filters/concurrent/b.cc"),
            ("CLI/CLI.hpp", "lib/faces/command/io/parser.cc", "lib/faces/command/b.cc"),
            ("gtest/gtest.h", "tests/engine/place/b.cc", "bench/filters/filter/b.cc"),
        ):
            line = f"#include <{header}>\n"
            self.expect_clean(belongs, guarded(belongs, line) if belongs.endswith(".h") else line)
            self.expect_breach(f"<{header}> does not belong here", name, line)
        self.expect_breach("<boost/any.hpp> has no room in scripts/lint", "lib/filters/filter/b.cc",
                           "#include <vector>\n#include <boost/any.hpp>\n", 2)


if __name__ == "__main__":
    unittest.main()
