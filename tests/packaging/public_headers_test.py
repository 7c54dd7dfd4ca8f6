"""Tests the public headers as files: each compiles alone, after the macros of others too, includes only what its users
need, and says in the names of its functions for which processor they were compiled.

tests/packaging/CMakeLists.txt sets CXX, NM and INCLUDE in the environment.
"""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

INCLUDE = pathlib.Path(os.environ["INCLUDE"])
VERSION = subprocess.run([os.environ["CXX"], "-v"], check=True, capture_output=True, text=True).stderr
# Standard headers that take long to compile, and those of ours that may bring them. <chrono>, which
# cluster.h needs, brings streams.
ABOUT_FILES = {
    "expiring_filter.h", "guard.h", "io.h", "mapped_filter.h", "maplet.h", "store.h", "store_files.h"}
# What programs may do without: all but the guard compile so.
SPARE = ["-fno-exceptions", "-fno-rtti"]
# As Qt, X11, Windows, ncurses and others define them.
MACROS = r"""
#define slots
#define signals public
#define emit
#define foreach(variable, container) for (variable : container)
#define forever for (;;)
#define Q_SLOTS
#define SIGNAL(a) #a
#define Bool int
#define Status int
#define None 0L
#define Always 2
#define Success 0
#define True 1
#define False 0
#define small char
#define near
#define far
#define interface struct
#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#define ERROR 0
#define NO_ERROR 0L
#define DELETE 0x00010000L
#define CONST const
#define VOID void
#define IN
#define OUT
#define OPTIONAL
#define lines CUR Numbers[2]
#define unlikely(x) __builtin_expect(!!(x), 0)
#define major(device) gnu_dev_major(device)
#define I _Complex_I
#define _(text) gettext(text)
"""
# Templates of ours, so that there is code of them.
USES = r"""
#include <vector>
void use(nestline::Guard& guard, nestline::Store& store, nestline::Filter& filter) {
  std::vector<std::int64_t> keys(2);
  std::vector<std::uint32_t> positions(2);
  std::vector<nestline::Hash> hashes(2);
  const auto no = [] { return false; };
  guard.fill([] { return [](auto add) { add("a key"); }; });
  guard.put(keys[0], no, no);
  guard.erase(std::as_bytes(std::span(keys)), no);
  guard.save(no);
  guard.get_many(hashes, [](std::span<const std::uint32_t>) {});
  store.get("a key", [](std::string_view) {});
  store.for_each([](std::string_view, std::string_view) {});
  filter.select(keys, positions);
  nestline::save(filter, std::string("a name"));
  filter = nestline::Filter::load(nestline::to_bytes(filter));
}
"""
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

    def test_all_compile_after_the_macros_of_others_and_are_named_for_their_processor(self):
        with tempfile.TemporaryDirectory() as folder:
            text = MACROS + "".join(f"#include <nestline/{path.name}>\n" for path in sorted(
                (INCLUDE / "nestline").glob("*.h"))) + USES
            keep = [] if "clang" in VERSION else ["-fkeep-inline-functions"]
            march = ["-march=x86-64-v3"] if "x86_64" in VERSION else []
            done = subprocess.run(
                [os.environ["CXX"], "-std=c++20", "-Wall", "-Wextra", "-Wundef", "-Werror", "-I", INCLUDE, *keep, *march, "-x",
                 "c++", "-c", "-", "-o", f"{folder}/all.o"], input=text, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            listing = subprocess.run([os.environ["NM"], f"{folder}/all.o"], check=True, capture_output=True, text=True)
        if march:
            ours = set(re.findall(r" W (_Z+NK?8nestline\S+)", listing.stdout))
            # But destructors, and lambdas that the compiler has run.
            named = {name for name in ours if "x86_111111111" in name}
            plain = {name for name in ours - named if not re.search(r"D[0-2]Ev$|8internal5kStay", name)}
            self.assertEqual(plain, set())
            self.assertGreater(len(named), 50)

    def test_names_of_types_are_declared_by_one_header(self):
        declared = set(re.findall(r"^(?:class|struct|enum class) (\w+)", (
            INCLUDE / "nestline" / "forward.h").read_text(), re.MULTILINE))
        for path in (INCLUDE / "nestline").glob("*.h"):
            if path.name.startswith("nestline"):
                continue  # for C
            text = path.read_text()
            defined = re.findall(r"^(?:class|struct|enum class) (?:NESTLINE_EXPORT |\[\[.*\]\] )?(\w+)[^;]*\{", text,
                                 re.MULTILINE)
            with self.subTest(header=path.name):
                self.assertEqual(set(defined) - declared - {"Cancelled"}, set())

    def test_without_char8_t(self):
        done = compiled("filter.h", "c++20", "-fsyntax-only", "-fno-char8_t")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

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
