"""Tests what scripts/package made, without installing it.

  packages_test.py PACKAGES

PACKAGES is its folder. Lintian must have nothing to say that an override does not explain. Each
file that cmake installs is in exactly one component, and each component in exactly one package. The
tarball has what git knows and nothing else.
"""

import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode:
        raise AssertionError(
            f"{command} failed with {done.returncode}:\n{done.stdout}{done.stderr}"
        )
    return done.stdout


def field(package, name):
    return run("dpkg-deb", "--field", package, name).strip()


def files_in(folder):
    """The files and links below a folder."""
    folder = pathlib.Path(folder)
    return {str(path.relative_to(folder)) for path in folder.rglob("*")
            if path.is_symlink() or path.is_file()}


class PackagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.build = PACKAGES / "build"
        cls.packages = {field(path, "Package"): path for path in sorted(PACKAGES.glob("*.deb"))}
        config = (cls.build / "CPackConfig.cmake").read_text()
        cls.components = re.search(r'set\(CPACK_COMPONENTS_ALL "([^"]*)"', config)[1].split(";")
        # Before version 1.0 the first two numbers.
        cls.abi = ".".join(field(cls.packages["nestline"], "Version").split(".")[:2])
        # Each library, and what it needs beside the run time of C and C++.
        threads, parallel, store = (f"libnestline{name}{cls.abi}" for name in ("", "-parallel", "-store"))
        cls.libraries = {
            f"libnestline-filter{cls.abi}": set(),
            threads: {"liburcu8"},
            parallel: {threads, "liburcu8", "libtbb12"},
            store: {threads, "liburcu8"},
            f"libnestline-store-files{cls.abi}": {store, "libssl3"},
            f"libnestline-cluster{cls.abi}": {threads, "liburcu8", "libtbb12", "libssl3", "libhiredis0.14"},
            f"libnestline-c{cls.abi}": {"liburcu8"},
            f"libnestline-c-store{cls.abi}": {"liburcu8", "libssl3"},
        }
        cache = (cls.build / "CMakeCache.txt").read_text()
        cls.cache = dict(re.findall(r"^(\w+):\w+=(.*)$", cache, re.MULTILINE))

    def test_lintian_finds_nothing(self):
        # It reads machine code as words too: what it finds there changes with each build.
        found = run("lintian", "--allow-root", "-EvIL", "+pedantic", "--suppress-tags",
                    "spelling-error-in-binary", "--fail-on", "error,warning,info,pedantic",
                    *self.packages.values())
        self.assertEqual([line for line in found.splitlines() if not line.startswith("N:")], [])

    def test_messages_are_spelled_right(self):
        """In place of lintian's look at the programs, the sources of their messages."""
        sources = [path for folder in ("lib", "include")
                   for path in sorted((SOURCE / folder).rglob("*"))
                   if path.suffix in {".cc", ".h", ".py", ".md"}]
        self.assertGreater(len(sources), 250)
        found = run("spellintian", *sources).splitlines()
        self.assertEqual([line for line in found if "(duplicate word)" not in line], [])

    def test_each_override_says_why(self):
        for path in sorted((SOURCE / "lib/packaging/debian/overrides").iterdir()):
            lines = path.read_text().splitlines()
            for before, line in zip(["", *lines], lines):
                if not line.startswith("#"):
                    self.assertTrue(before.startswith("#"), f"{path.name}: {line}")

    def test_the_packages_are_split_as_debian_does(self):
        expected = {*self.libraries, "libnestline-filter-dev", "libnestline-dev", "nestline", "nestline-redis",
                    "nestline-doc"}
        for option, package in [("PYTHON", "python3-nestline"),
                                ("SQLITE", "libsqlite3-mod-nestline"), ("POSTGRESQL", "postgresql-15-nestline")]:
            if f"NESTLINE_BUILD_{option}" in self.cache:
                expected.add(package)
        self.assertEqual(set(self.packages), expected)
        self.assertEqual(len(self.components), len(expected))

    def depends(self, name):
        """What a package depends on: {package: version}."""
        words = [each.split(maxsplit=1) for each in field(self.packages[name], "Depends").split(", ")]
        return {each[0]: each[1] if len(each) > 1 else "" for each in words}

    def test_dependencies(self):
        """Each library needs what README.md says, and others of ours in the same version."""
        same = f"(= {field(self.packages['nestline'], 'Version')})"
        for library, needed in self.libraries.items():
            depends = self.depends(library)
            self.assertEqual(set(depends) - {"libc6", "libgcc-s1", "libstdc++6"}, needed, library)
            for name in needed & self.libraries.keys():
                self.assertEqual(depends[name], same, library)
            shlibs = run("dpkg-deb", "--info", self.packages[library], "shlibs").splitlines()
            self.assertEqual([line.split()[:3] for line in shlibs],
                             [[library.removesuffix(self.abi), self.abi, library]])
        filters = f"libnestline-filter{self.abi}"
        self.assertEqual(self.depends("libnestline-filter-dev"), {filters: same})
        self.assertEqual(self.depends("libnestline-dev"),
                         {name: same for name in {"libnestline-filter-dev", *self.libraries} - {filters}})
        self.assertIn(f"libnestline{self.abi} (>= ", field(self.packages["nestline"], "Depends"))
        self.assertNotIn("libnestline", field(self.packages["nestline-redis"], "Depends"))

    def test_debug_symbols_and_static_libraries(self):
        symbols = {path.name.split("_")[0] for path in PACKAGES.glob("*.ddeb")}
        self.assertLessEqual({f"{name}-dbgsym" for name in ("nestline", "nestline-redis", *self.libraries)}, symbols)
        for package, names in [("libnestline-filter-dev", ["-filter"]),
                               ("libnestline-dev", ["", "-cluster", "-parallel", "-store", "-store-files"])]:
            listing = run("dpkg-deb", "--contents", self.packages[package])
            self.assertEqual(sorted(re.findall(r"/libnestline([a-z-]*)\.a$", listing, re.M)), names)

    def test_scripts_run_where_they_must(self):
        for name, package in self.packages.items():
            with tempfile.TemporaryDirectory() as folder:
                run("dpkg-deb", "--control", package, folder)
                control = files_in(folder) - {"control", "md5sums"}
            expected = {library: {"shlibs", "triggers", "postinst", "postrm"} for library in self.libraries}
            expected["python3-nestline"] = {"postinst", "prerm"}
            self.assertEqual(control, expected.get(name, set()), name)

    def test_each_file_is_in_one_component(self):
        with tempfile.TemporaryDirectory() as folder:

            def install(name, *more):
                run("cmake", "--install", self.build, *more,
                    env={**os.environ, "DESTDIR": f"{folder}/{name}"})
                return files_in(f"{folder}/{name}")

            whole = install("whole")
            self.assertIn("usr/bin/nestline", whole)
            seen = {}
            for component in self.components:
                files = install(component, "--component", component)
                self.assertTrue(files, component)
                for file in files:
                    self.assertNotIn(file, seen, component)
                    seen[file] = component
            self.assertEqual(set(seen), whole)

    def test_programs_and_libraries_are_hardened_and_stripped(self):
        for name, package in self.packages.items():
            with tempfile.TemporaryDirectory() as folder:
                run("dpkg-deb", "--extract", package, folder)
                for file in sorted(files_in(folder)):
                    path = pathlib.Path(folder, file)
                    if path.is_symlink() or path.read_bytes()[:4] != b"\x7fELF":
                        continue
                    with self.subTest(package=name, file=file):
                        read = run("readelf", "--wide", "--dynamic", "--program-headers",
                                   "--sections", path)
                        self.assertRegex(read, r"BIND_NOW|FLAGS_1.*NOW")
                        self.assertIn("GNU_RELRO", read)
                        self.assertNotIn(".debug_info", read)
                        self.assertNotIn(".symtab", read)
                        self.assertNotRegex(read, "R(UN)?PATH")
                        self.assertIn("__stack_chk_fail", run("nm", "--dynamic", path))
                        self.assertNotIn(str(PACKAGES).encode(), path.read_bytes())

    def test_the_tarball_has_what_git_knows(self):
        tarball = next(PACKAGES.glob("nestline-*.tar.gz"))
        top = tarball.name.removesuffix(".tar.gz")
        with tarfile.open(tarball) as archive:
            members = archive.getmembers()
        known = run("git", "ls-files", cwd=SOURCE).splitlines()
        self.assertEqual({member.name for member in members}, {f"{top}/{name}" for name in known})
        self.assertEqual(
            {(member.uid, member.gid, member.mode & 0o022) for member in members}, {(0, 0, 0)}
        )

    def test_the_tarball_makes_itself_again(self):
        tarball = next(PACKAGES.glob("nestline-*.tar.gz"))
        with tempfile.TemporaryDirectory() as folder:
            run("tar", "--extract", f"--file={tarball}", f"--directory={folder}")
            tree = pathlib.Path(folder, tarball.name.removesuffix(".tar.gz"))
            run(tree / "scripts/package", "--tarball", tree / "made")
            self.assertTrue((tree / "made" / tarball.name).read_bytes() == tarball.read_bytes())

    def test_the_compiler_got_the_flags_of_debian(self):
        flags = self.cache["CMAKE_CXX_FLAGS"].split()
        self.assertIn("-fstack-protector-strong", flags)
        self.assertIn("-D_FORTIFY_SOURCE=2", flags)
        self.assertTrue([flag for flag in flags if flag.startswith("-ffile-prefix-map=")])


if __name__ == "__main__":
    PACKAGES = pathlib.Path(sys.argv.pop()).resolve()
    unittest.main(verbosity=2)
