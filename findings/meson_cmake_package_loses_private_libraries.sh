#!/usr/bin/env bash
# Meson 1.0.1 (Debian 12; 1.12.0 does the same): a static library of a CMake package loses what it links PRIVATE.
#
# The guess: dependency(method: 'cmake') links what CMake links. An installed static library names its private libraries as
# $<LINK_ONLY:part>, of which Meson makes nothing. What is seen: the package is found, and the program has
#
#   libwhole.a alone, where CMake has libpart.a too
#
# and is not linked, for want of part(). So docs/CPP.md names pkg-config for what needs another library.
#
# Needs apt-get, dpkg-deb, python3, cmake, ninja and a C++ compiler. Ends with 0 if it is as above, 1 if not.
set -euo pipefail
export LC_ALL=C
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq meson=1.0.1-5
dpkg-deb --extract meson_*.deb .
mkdir two by-cmake-too
echo 'int part() { return 1; }' >two/part.cc
echo 'int part(); int whole() { return part() - 1; }' >two/whole.cc
cat >two/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.21)
project(two LANGUAGES CXX)
add_library(part STATIC part.cc)
add_library(whole STATIC whole.cc)
target_link_libraries(whole PRIVATE part)
install(TARGETS part whole EXPORT two)
install(EXPORT two NAMESPACE two:: FILE two-config.cmake DESTINATION lib/cmake/two)
END
cmake -S two -B built-two >/dev/null
cmake --build built-two >/dev/null
cmake --install built-two --prefix "$folder/prefix" >/dev/null
echo 'int whole(); int main() { return whole(); }' | tee main.cc >by-cmake-too/main.cc
cat >by-cmake-too/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.21)
project(program LANGUAGES CXX)
find_package(two REQUIRED)
add_executable(program main.cc)
target_link_libraries(program PRIVATE two::whole)
END
cmake -S by-cmake-too -B by-cmake -DCMAKE_PREFIX_PATH="$folder/prefix" >/dev/null
cmake --build by-cmake >/dev/null
cat >meson.build <<'END'
project('program', 'cpp')
two = dependency('two', method: 'cmake', modules: ['two::whole'])
executable('program', 'main.cc', dependencies: two)
END
PYTHONPATH=usr/lib/python3/dist-packages python3 usr/bin/meson setup by-meson "--cmake-prefix-path=$folder/prefix" >/dev/null
if ninja -C by-meson >built; then echo "Meson's program is linked" >>built; fi
{
  echo "CMake's program ends with $(by-cmake/program && echo 0)"
  echo "Meson: $(ninja -C by-meson -t commands program | tail -n 1 | grep -o 'lib[a-z]*[.]a' | xargs)"
  grep -o "undefined reference to .part()'" built | tr '`' "'"
} | tee seen
diff seen - <<'END'
CMake's program ends with 0
Meson: libwhole.a
undefined reference to 'part()'
END
