#!/usr/bin/env bash
# Meson 1.0.1 (Debian 12; 1.12.0 does the same): a CMake library loses the objects that it takes from another library.
#
# The guess: a static library with $<TARGET_OBJECTS:part> among its sources has the objects of `part`, as CMake builds it.
# What is seen: with cmake.subproject() it is configured without a word and has its own objects only,
#
#   libwhole.a: whole.cc.o, where CMake has part.cc.o too
#
# and the program is not linked, for want of part(). So nestline gives its libraries sources in place of objects there.
#
# Needs apt-get, dpkg-deb, python3, cmake, ninja and a C++ compiler. Ends with 0 if it is as above, 1 if not.
set -euo pipefail
export LC_ALL=C
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq meson=1.0.1-5
dpkg-deb --extract meson_*.deb .
mkdir -p subprojects/two
echo 'int part() { return 1; }' >subprojects/two/part.cc
echo 'int whole() { return -1; }' >subprojects/two/whole.cc
cat >subprojects/two/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.21)
project(two LANGUAGES CXX)
add_library(part STATIC part.cc)
add_library(whole STATIC whole.cc $<TARGET_OBJECTS:part>)
END
echo 'int part(); int whole(); int main() { return part() + whole(); }' >main.cc
cat >meson.build <<'END'
project('program', 'cpp')
two = import('cmake').subproject('two')
executable('program', 'main.cc', dependencies: two.dependency('whole'))
END
cmake -S subprojects/two -B by-cmake >/dev/null
cmake --build by-cmake >/dev/null
PYTHONPATH=usr/lib/python3/dist-packages python3 usr/bin/meson setup by-meson >/dev/null
if ninja -C by-meson >built; then echo "Meson's program is linked" >>built; fi
{
  echo "CMake: $(ar t by-cmake/libwhole.a | sort | xargs)"
  echo "Meson: $(ar t by-meson/subprojects/two/libwhole.a | grep -o 'whole.cc.o\|part.cc.o' | sort | xargs)"
  grep -o "undefined reference to .part()'" built | tr '`' "'"
} | tee seen
diff seen - <<'END'
CMake: part.cc.o whole.cc.o
Meson: whole.cc.o
undefined reference to 'part()'
END
