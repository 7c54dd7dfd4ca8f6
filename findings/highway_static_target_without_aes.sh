#!/usr/bin/env bash
# Highway 1.0.3 (Debian 12; 1.4.0 does the same): with one static target, -march=x86-64-v3 and x86-64-v4 get SSSE3.
#
# The guess: HWY_COMPILE_ONLY_STATIC takes the best target of -march, for level 3 of x86-64 AVX2, for level 4 AVX-512.
# Highway's AVX2 and all above it also ask for AES and carry-less multiplication, which no level of x86-64 has, nor has
# g++'s haswell. What is seen: vectors of 16 bytes, and no warning; with -maes -mpclmul, or with
# HWY_DISABLE_PCLMUL_AES defined, what was guessed. So scripts/amalgamate defines that.
#
# Needs apt-get, dpkg-deb and g++ for x86-64. Ends with 0 if it is as above, 1 if not.
set -euo pipefail
export LC_ALL=C
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq libhwy-dev=1.0.3-3+deb12u1
dpkg-deb --extract libhwy-dev_*.deb .
echo '#include <hwy/detect_targets.h>' >targets.cc
# best OPTION...: the best of the targets that the compiler may use everywhere.
best() {
  local target
  g++ -std=c++17 -E -dM -DHWY_COMPILE_ONLY_STATIC -I usr/include "$@" targets.cc >macros
  for target in AVX3 AVX2 SSE4 SSSE3; do
    ! grep -q "^#define HWY_BASELINE_$target HWY_$target$" macros || break
  done
  echo " $target"
}
for march in x86-64-v2 x86-64-v3 haswell x86-64-v4 skylake; do
  echo "$march:$(best -march=$march), with AES$(best -march=$march -maes -mpclmul)"
done | tee seen
echo "x86-64-v3 without asking for AES:$(best -march=x86-64-v3 -DHWY_DISABLE_PCLMUL_AES)" | tee -a seen
diff seen - <<'END'
x86-64-v2: SSSE3, with AES SSE4
x86-64-v3: SSSE3, with AES AVX2
haswell: SSSE3, with AES AVX2
x86-64-v4: SSSE3, with AES AVX3
skylake: AVX2, with AES AVX2
x86-64-v3 without asking for AES: AVX2
END
