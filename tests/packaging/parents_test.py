"""Tests nestline inside of other projects: small parents that bring their own libraries, options and habits.

Each is configured by CMake and not built, with the sources by add_subdirectory, or with what this build
installs by find_package. tests/packaging/CMakeLists.txt sets CMAKE, CXX, SOURCE and BUILD in the environment.
CMake looks at the compilers once, which is most of what it does for a small project; the parents get what it found.
"""

import concurrent.futures
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile
import unittest

CMAKE = os.environ["CMAKE"]
SOURCE = os.environ["SOURCE"]

ADDED = f'add_subdirectory("{SOURCE}" nestline)\n'
FOUND = "find_package(nestline REQUIRED COMPONENTS store_files cluster)\n"
ALL = "".join(f"set(NESTLINE_BUILD_{part} ON)\n" for part in ("STORE", "STORE_FILES", "CLUSTER", "C", "C_STORE", "COMMAND", "SQLITE"))
LINKED = """
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/user.cc "int user;")
add_library(user STATIC ${CMAKE_CURRENT_BINARY_DIR}/user.cc)
target_link_libraries(user PRIVATE nestline::nestline)
"""
LINKED_FILTER = LINKED.replace("nestline::nestline", "nestline::filter")
STANDARD = """
get_target_property(standard nestline_filter CXX_STANDARD)
get_target_property(unity nestline_filter UNITY_BUILD)
if(NOT standard EQUAL 23 OR unity)
  message(FATAL_ERROR "C++${standard}, unity build ${unity}")
endif()
"""

# What a project has of the libraries that nestline needs: built here under their names, or imported, some of them
# under other names. Their headers are the system's, but for Highway's, which come with a target that another one links.
BUILT = """
foreach(name TBB::tbb OpenSSL::SSL OpenSSL::Crypto CLI11::CLI11 nlohmann_json::nlohmann_json SQLite::SQLite3
             PkgConfig::NESTLINE_URCU PkgConfig::NESTLINE_HIREDIS hwy::hwy)
  string(MAKE_C_IDENTIFIER ${name} real)
  add_library(${real} INTERFACE)
  add_library(${name} ALIAS ${real})
endforeach()
add_library(hwy_headers INTERFACE)
target_include_directories(hwy_headers INTERFACE $<BUILD_INTERFACE:/usr/include>)
target_link_libraries(hwy__hwy INTERFACE hwy_headers)
"""
IMPORTED = """
foreach(name OpenSSL::SSL OpenSSL::Crypto real_tbb real_hwy)
  add_library(${name} INTERFACE IMPORTED)
endforeach()
add_library(TBB::tbb ALIAS real_tbb)
add_library(hwy::hwy ALIAS real_hwy)
"""
FIND_MODULE = """
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/FindTBB.cmake "
if(NOT TARGET TBB::tbb)
  add_library(TBB::tbb UNKNOWN IMPORTED)
  set_target_properties(TBB::tbb PROPERTIES IMPORTED_LOCATION /usr/lib/libtbb.so)
endif()
set(TBB_FOUND TRUE)
set(TBB_VERSION 2021.9)")
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_BINARY_DIR})
"""
NOTHING_ELSE = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON"
                for name in ("TBB", "hwy", "OpenSSL", "CLI11", "nlohmann_json", "SQLite3", "PkgConfig")]
OLD_HIGHWAY = """
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/hwy/highway.h "#define HWY_MAJOR 1\\n#define HWY_MINOR 0\\n#define HWY_PATCH 2\\n")
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/hwy/base.h "")
add_library(hwy INTERFACE)
target_include_directories(hwy INTERFACE ${CMAKE_CURRENT_BINARY_DIR})
"""
# Whatever adding nestline leaves in the parent's cache is ours by its name, or a package's that was looked for.
LEAVES = ADDED + r"""
get_cmake_property(left CACHE_VARIABLES)
list(FILTER left EXCLUDE REGEX "^(NESTLINE|nestline|__pkg_config|pkgcfg_lib_NESTLINE|CMAKE_PROJECT_VERSION)|^prefix_result$")
list(FILTER left EXCLUDE REGEX "^(hwy_DIR|TBB_DIR|PKG_CONFIG_.*|FIND_PACKAGE_MESSAGE_DETAILS_PkgConfig)$")
list(REMOVE_ITEM left ${before})
if(left)
  message(FATAL_ERROR "left in the cache: ${left}")
endif()
option(BUILD_SHARED_LIBS "" ON)
if(NOT BUILD_SHARED_LIBS OR CMAKE_CXX_STANDARD OR CMAKE_CXX_VISIBILITY_PRESET)
  message(FATAL_ERROR "variables of nestline are in its parent")
endif()
get_property(targets DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} PROPERTY BUILDSYSTEM_TARGETS)
get_property(tests DIRECTORY PROPERTY TESTS)
if(targets OR tests OR TARGET nestline_store OR TARGET nestline_command)
  message(FATAL_ERROR "targets or tests that the parent did not ask for: ${targets} ${tests}")
endif()
"""
EXPORTS = "set(NESTLINE_INSTALL ON)\n" + ADDED + LINKED + """
install(TARGETS user EXPORT parent ARCHIVE DESTINATION lib)
install(EXPORT parent DESTINATION lib/cmake/parent)
"""
FETCHED = f"""
include(FetchContent)
FetchContent_Declare(nestline SOURCE_DIR "{SOURCE}")
FetchContent_MakeAvailable(nestline)
"""
LOOKS_FOR_FETCHED = FETCHED.replace("(FetchContent)", """(FetchContent)
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/highway/CMakeLists.txt "
add_library(hwy INTERFACE)
target_include_directories(hwy INTERFACE /usr/include)")
FetchContent_Declare(hwy SOURCE_DIR ${CMAKE_CURRENT_BINARY_DIR}/highway OVERRIDE_FIND_PACKAGE)""")
SIBLINGS = """
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/finds/CMakeLists.txt "find_package(nestline GLOBAL REQUIRED COMPONENTS store)")
add_subdirectory(${CMAKE_CURRENT_BINARY_DIR}/finds ${CMAKE_CURRENT_BINARY_DIR}/found)
"""

# name: (what the parent's CMakeLists.txt has after its project(), options of CMake, what CMake must print; it
# refuses such a parent, but for that of WARNED)
WARNED = "without a build type"
PARENTS = {
    "plain": (ADDED + LINKED, [], None),
    WARNED: (ADDED + LINKED, ["-DCMAKE_BUILD_TYPE="], "nestline is built without optimization"),
    "found": (FOUND + LINKED, [], None),
    "builds all of them": (BUILT + ALL + ADDED + LINKED, NOTHING_ELSE, None),
    "builds all of them, found": (BUILT + FOUND + LINKED, NOTHING_ELSE, None),
    "imports some of their targets": (IMPORTED + ALL + ADDED + LINKED, [], None),
    "imports some of their targets, found": (IMPORTED + FOUND + LINKED, [], None),
    "a FindTBB before": (FIND_MODULE + "find_package(TBB)\n" + ADDED + LINKED, [], None),
    "a FindTBB before, found": (FIND_MODULE + "find_package(TBB)\n" + FOUND + LINKED, [], None),
    "a FindTBB after": (FIND_MODULE + ADDED + "find_package(TBB)\n" + LINKED, [], None),
    "an old TBB": ("set(TBB_VERSION 2020.3)\n" + IMPORTED + ADDED, [], "nestline needs TBB 2021.8, but TBB::tbb of"),
    "an old TBB, found": ("set(TBB_VERSION 2020.3)\n" + IMPORTED + FOUND, [], "nestline needs TBB 2021.8, but TBB::tbb of"),
    "an old OpenSSL": ("set(OPENSSL_VERSION 1.1.1)\n" + IMPORTED + ALL + ADDED, [], "nestline needs OpenSSL 3.0, but"),
    "an old OpenSSL, found": ("set(OPENSSL_VERSION 1.1.1)\n" + IMPORTED + FOUND, [], "nestline needs OpenSSL 3.0, but"),
    "an old Highway": (OLD_HIGHWAY + ADDED, [], 'headers of version "1.0.2"'),
    "leaves": ("get_cmake_property(before CACHE_VARIABLES)\n" + LEAVES, [], None),
    "shared": ("set(BUILD_SHARED_LIBS ON)\n" + ADDED + LINKED, [], None),
    "debug names": ("include(GNUInstallDirs)\nset(CMAKE_DEBUG_POSTFIX d)\n" + EXPORTS, ["-DCMAKE_BUILD_TYPE=Debug"], None),
    "exports": ("include(GNUInstallDirs)\n" + EXPORTS, [], None),
    "twice": (ADDED + ADDED.replace(" nestline", " again") + LINKED, [], None),
    "twice, the second with more": (ADDED + ALL + ADDED.replace(" nestline", " again"), [],
                                    "without nestline::store: set NESTLINE_BUILD_STORE to ON before"),
    "a filter without anything else": (ADDED + LINKED_FILTER, NOTHING_ELSE, None),
    "a filter without anything else, found": ("find_package(nestline REQUIRED COMPONENTS filter)\n" + LINKED_FILTER,
                                              NOTHING_ELSE, None),
    "threads without liburcu": ("set(NESTLINE_BUILD_CONCURRENT ON)\n" + ADDED, NOTHING_ELSE,
                                "cannot find liburcu-bp>=0.13.2, which is needed for nestline::nestline"),
    "a newer C++": ("set(CMAKE_CXX_STANDARD 23)\n" + ADDED + STANDARD, [], None),
    "found, and added with more": ("find_package(nestline REQUIRED)\nset(NESTLINE_BUILD_STORE ON)\n" + ADDED, [],
                                   "or name the component store where it is found"),
    "found and added": (FOUND + ADDED + LINKED, [], None),
    "added and found": ("set(NESTLINE_BUILD_STORE ON)\nset(NESTLINE_BUILD_CLUSTER ON)\n" + ADDED + FOUND + LINKED, [], None),
    "fetched": (FETCHED + LINKED, [], None),
    "fetched when it is looked for": (LOOKS_FOR_FETCHED + LINKED, [], None),
    "in C": ("set(NESTLINE_BUILD_C ON)\n" + ADDED +
             LINKED.replace("user.cc", "user.c").replace("::nestline", "::c"), [], None),
    "found by a sibling": (SIBLINGS + LINKED, [], None),
    "multi-config": (ALL + ADDED + LINKED, ["-GNinja Multi-Config"], None),
    "inside its sources": (ADDED + LINKED, ["-B."], None),
    "strange flags": (ADDED, ["-DCMAKE_CXX_FLAGS=-fno-exceptions -fno-rtti", "-DNESTLINE_UNITY=OFF",
                              "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"], None),
}


class ParentsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.work = pathlib.Path(cls.folder.name)
        for component in ("filter_dev", "dev", "filter", "nestline", "parallel", "store", "store_files", "cluster",
                          "c", "c_store"):
            subprocess.run([CMAKE, "--install", os.environ["BUILD"], "--component", component,
                            "--prefix", cls.work / "prefix"], check=True, stdout=subprocess.DEVNULL)
        compilers = cls.work / "compilers"
        compilers.mkdir()
        (compilers / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.24)\nproject(compilers LANGUAGES C CXX)\n")
        subprocess.run([CMAKE, "-S", compilers, "-B", compilers, f"-DCMAKE_CXX_COMPILER={os.environ['CXX']}"],
                       check=True, stdout=subprocess.DEVNULL)
        cls.compilers, = (compilers / "CMakeFiles").glob("[0-9]*")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            cls.results = dict(zip(PARENTS, pool.map(cls.configured, PARENTS)))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def configured(cls, name):
        """Whether CMake configures the parent, and what it prints, in one line."""
        text, options, _ = PARENTS[name]
        parent = cls.work / name
        parent.mkdir(parents=True)
        (parent / "CMakeLists.txt").write_text(
            f"cmake_minimum_required(VERSION 3.24)\nproject(parent LANGUAGES {'C' if name == 'in C' else 'CXX'})\n{text}")
        build = parent if "-B." in options else parent / "build"
        shutil.copytree(cls.compilers, build / "CMakeFiles" / cls.compilers.name)
        done = subprocess.run(
            [CMAKE, "-S.", "-Bbuild", f"-DCMAKE_PREFIX_PATH={cls.work}/prefix", "-DCMAKE_BUILD_TYPE=Release",
             "-DCMAKE_PLATFORM_INFO_INITIALIZED:INTERNAL=1", f"-DCMAKE_CXX_COMPILER={os.environ['CXX']}", *options],
            cwd=parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return done.returncode == 0, " ".join(done.stdout.split())

    def test_cmake_configures_them_or_says_why_not(self):
        for name, (_, _, sentence) in PARENTS.items():
            with self.subTest(parent=name):
                good, printed = self.results[name]
                self.assertEqual(good, sentence is None or name == WARNED, printed)
                self.assertIn(sentence or "", printed)

    def test_documents_do_not_go_where_those_of_the_parent_are(self):
        scripts = "".join(path.read_text() for path in (self.work / "exports").rglob("cmake_install.cmake"))
        self.assertIn("share/doc/nestline", scripts)
        self.assertNotIn("share/doc/parent", scripts)

    def test_pkg_config_names_the_file_as_the_build_does(self):
        for parent, library in ("debug names", "nestline-filterd"), ("exports", "nestline-filter"):
            [path] = (self.work / parent / "build").rglob("nestline-filter.pc")
            self.assertIn(f"-l{library}\n", path.read_text())

    def test_sources_compile_whatever_the_parent_does_without(self):
        commands = json.loads((self.work / "strange flags/build/compile_commands.json").read_text())
        found = [each for each in commands if each["file"].endswith("/lib/filters/filter/sizing.cc")]
        self.assertEqual(len(found), 1, [each["file"] for each in commands])
        self.assertNotIn("-Wconversion", found[0]["command"])
        done = subprocess.run([*shlex.split(found[0]["command"]), "-fsyntax-only"], cwd=found[0]["directory"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_meson_finds_whole_libraries_of_filters(self):
        build = self.work / "meson"
        shutil.copytree(self.compilers, build / "CMakeFiles" / self.compilers.name)
        done = subprocess.run(
            [CMAKE, "-S", SOURCE, "-B", build, f"-DCMAKE_CXX_COMPILER={os.environ['CXX']}",
             "-DCMAKE_PLATFORM_INFO_INITIALIZED:INTERNAL=1", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
             "-DMESON_PRELOAD_FILE=preload.cmake"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertNotIn("without optimization", done.stdout)
        commands = json.loads((build / "compile_commands.json").read_text())
        targets = [each["command"].split(".dir/")[0].rpartition("/")[2] for each in commands
                   if each["file"].endswith("/lib/filters/filter/sizing.cc")]
        self.assertEqual(sorted(targets), ["nestline", "nestline_filter"])
        self.assertEqual([each["file"] for each in commands if "/faces/redis/" in each["file"]], [])


if __name__ == "__main__":
    unittest.main()
