#!/usr/bin/env bash
# Installs nestline into empty folders and uses it from there as another project would.
#
#   install_test.sh CMAKE COMPILER SOURCE BUILD VERSION
#
# BUILD is a finished build of the static or the shared library; the other kind is linked here, from
# BUILD's object files but for those with names that only shared libraries export. Each of the two is
# installed and linked by a program through find_package and through pkg-config, and the program has to
# print what it should; and so has a program with the store, one with the client of clusters, and one in
# C with the library for C. A server loads the installed Redis module. The shared libraries must export
# nothing but our names, and what links the static ones none of ours; two such libraries in one program
# must not bind to each other. What users get wrong must end with a sentence that names the remedy.
set -euo pipefail

cmake=$1 compiler=$2 source=$3 build=$4 version=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "install_test: $*" >&2
  exit 1
}

# quietly COMMAND...: shows the output only when the command fails.
quietly() {
  "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "failed: $*"; }
}

# configure FOLDER BUILD_FOLDER OPTION...
configure() {
  quietly "$cmake" -S "$1" -B "$2" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release "${@:3}"
}

# What is compiled again for the other kind: not the kernels, which export nothing and take longest.
again='/nestline(_store|_store_files|_cluster)?[.]dir/(Unity/unity_[^t]|[^kU])'

# write_copier FILE: a program to run instead of a compiler. It copies the object file that BUILD
# has under the same name, and compiles what differs or what BUILD has not.
write_copier() {
  cat >"$1" <<EOF
#!/usr/bin/env bash
for ((i = 1; i < \$#; ++i)); do
  [[ \${!i} == -o ]] || continue
  object=\${*:i + 1:1}
  [[ \$object == /* ]] || object=\$PWD/\$object
  twin=$build/\${object#"$work/build/"}
  [[ \$twin != *.o || ! -f \$twin || \$twin =~ $again ]] || exec cp "\$twin" "\$object"
done
echo "\$object" >>"$work/compiled"
exec "\$@"
EOF
  chmod +x "$1"
}

# check_program WHAT PROGRAM: runs a linked program and compares what it prints.
check_program() {
  local expected printed
  expected=$'inserted 100000\nstring 1\nfound 100000\n'
  expected+=$'on all cores 100000\nerased 100000\nsize 1\nrefused at 0'
  printed=$("$2" "$work/filter") || fail "$1: the program failed"
  [[ $printed == "$expected" ]] || fail "$1: the program printed: $printed"
  echo "$1: works"
}

# check_installed_c KIND PREFIX: the library for C, with a C compiler only.
check_installed_c() {
  local kind=$1 prefix=$2 library_folder flags=() program printed
  quietly env CXX=/no/compiler "$cmake" -S "$source/tests/packaging/install/c" -B "$work/$kind-c-cmake" \
    -DCMAKE_PREFIX_PATH="$prefix" -DNESTLINE_VERSION="$version"
  quietly "$cmake" --build "$work/$kind-c-cmake"

  library_folder=$(dirname "$(find "$prefix" -name libnestline-c.so)")
  export PKG_CONFIG_PATH=$library_folder/pkgconfig
  [[ $(pkg-config --modversion nestline-c) == "$version" ]] || fail "$kind: nestline-c.pc"
  read -ra flags <<<"$(pkg-config --cflags --libs nestline-c)"
  quietly cc -std=c99 -pedantic-errors -Wall -Werror "$source/tests/packaging/install/c/main.c" "${flags[@]}" \
    -Wl,-rpath,"$library_folder" -o "$work/$kind-c-pkg-config"

  for program in "$work/$kind-c-cmake/consumer" "$work/$kind-c-pkg-config"; do
    printed=$("$program" "$work/c-filter") || fail "$kind, C: the program failed"
    [[ $printed == $'found 1\n'*"cannot be changed"* ]] || fail "$kind, C: it printed: $printed"
  done
  echo "$kind, C, find_package and pkg-config: works"
}

# check_installed KIND PREFIX
check_installed() {
  local kind=$1 prefix=$2 pc_folder library_folder flags=()
  configure "$source/tests/packaging/install" "$work/$kind-cmake" \
    -DCMAKE_PREFIX_PATH="$prefix" -DNESTLINE_VERSION="$version"
  quietly "$cmake" --build "$work/$kind-cmake"
  check_program "$kind, find_package" "$work/$kind-cmake/consumer"

  pc_folder=$(dirname "$(find "$prefix" -name nestline.pc)")
  library_folder=$(dirname "$pc_folder")
  export PKG_CONFIG_PATH=$pc_folder
  [[ $(pkg-config --modversion nestline) == "$version" ]] || fail "$kind: wrong version in nestline.pc"
  read -ra flags <<<"$(pkg-config --cflags --libs nestline)"
  quietly "$compiler" -std=c++20 "$source/tests/packaging/install/main.cc" "${flags[@]}" \
    -Wl,-rpath,"$library_folder" -o "$work/$kind-pkg-config"
  check_program "$kind, pkg-config" "$work/$kind-pkg-config"

  [[ $("$prefix/bin/nestline" --version) == *"$version"* ]] || fail "$kind: nestline --version"
  echo "$kind, installed command: works"
}

# check_installed_part KIND PREFIX PART ARGUMENT EXPECTED: a library beside the first.
# Its program gets the path ARGUMENT, where nothing is yet, and has to print EXPECTED.
check_installed_part() {
  local kind=$1 prefix=$2 part=$3 library_folder flags=() program printed
  configure "$source/tests/packaging/install/$part" "$work/$kind-$part-cmake" \
    -DCMAKE_PREFIX_PATH="$prefix" -DNESTLINE_VERSION="$version"
  quietly "$cmake" --build "$work/$kind-$part-cmake"

  library_folder=$(dirname "$(find "$prefix" -name "nestline-$part.pc")")/..
  export PKG_CONFIG_PATH=$library_folder/pkgconfig
  [[ $(pkg-config --modversion "nestline-$part") == "$version" ]] || fail "$kind: nestline-$part.pc"
  read -ra flags <<<"$(pkg-config --cflags --libs "nestline-$part")"
  quietly "$compiler" -std=c++20 "$source/tests/packaging/install/$part/main.cc" "${flags[@]}" \
    -Wl,-rpath,"$library_folder" -o "$work/$kind-$part-pkg-config"

  for program in "$work/$kind-$part-cmake/consumer" "$work/$kind-$part-pkg-config"; do
    rm -rf "${work:?}/$4"
    printed=$("$program" "$work/$4") || fail "$kind, $part: the program failed"
    [[ $printed == "$5" ]] || fail "$kind, $part: it printed: $printed"
  done
  echo "$kind, $part, find_package and pkg-config: works"
}

# check_hidden KIND PREFIX: two libraries with hidden visibility in one program, which recognizes exceptions.
check_hidden() {
  local kind=$1 folder=$work/$1-hidden flags=() names
  mkdir "$folder"
  read -ra flags <<<"$(PKG_CONFIG_PATH=$(dirname "$(find "$2" -name nestline.pc)") \
    pkg-config --cflags --libs nestline-store nestline-cluster)"
  quietly "$compiler" -std=c++20 -O1 -fPIC -fvisibility=hidden -c "$source/tests/packaging/install/hidden/part.cc" \
    "${flags[@]}" -o "$folder/part.o"
  for i in 1 2; do
    quietly "$compiler" -shared "$folder/part.o" "${flags[@]}" -o "$folder/part$i.so" \
      -Wl,-rpath,"$(dirname "$(find "$2" -name 'libnestline.*' | head -1)")"
  done
  quietly "$compiler" -std=c++20 "$source/tests/packaging/install/hidden/loader.cc" -ldl -o "$folder/loader"
  [[ $(LD_DEBUG=bindings LD_DEBUG_OUTPUT="$folder/bound" "$folder/loader" "$folder/part.o" "$folder"/part?.so) \
    == $'4\n4' ]] || fail "$kind: exceptions are not recognized in a library with hidden visibility"
  grep -q "binding file $folder/part2.so" "$folder"/bound.* || fail "the loader says nothing about part2.so"
  if [[ $kind == static ]]; then
    names=$(nm --dynamic --defined-only "$folder/part1.so" | grep -E 'nestline|hwy|XXH' || true)
    [[ -z $names ]] || fail "a library that links the static ones exports"$'\n'"$names"
    names=$(grep "part2.so \[0\] to $folder/part1.so .*nestline" "$folder"/bound.* || true)
    [[ -z $names ]] || fail "a library binds to the nestline of another:"$'\n'"$names"
  fi
  echo "$kind, two libraries with hidden visibility in one program: work"
}

# check_module KIND PREFIX: a server loads the installed module, and the module works.
check_module() {
  local kind=$1 module server asked="redis-cli -s $work/socket"
  module=$(find "$2" -name nestline_redis.so)
  [[ -n $module ]] || return 0
  if ! command -v redis-server >/dev/null || ! command -v redis-cli >/dev/null; then
    echo "$kind, installed module: not tried, there is no redis-server with redis-cli"
    return
  fi
  redis-server --port 0 --unixsocket "$work/socket" --dir "$work" --save "" --loadmodule "$module" \
    >"$work/server.log" &
  server=$!
  # Up to two minutes.
  for ((i = 0; i < 1200; ++i)); do
    [[ $($asked PING 2>/dev/null) != PONG ]] || break
    kill -0 "$server" 2>/dev/null || { cat "$work/server.log" >&2; fail "$kind: the server ended"; }
    sleep 0.1
  done
  [[ $($asked CF.ADD key item) == 1 && $($asked CF.EXISTS key item) == 1 ]] \
    || { cat "$work/server.log" >&2; fail "$kind: the module in a server"; }
  $asked SHUTDOWN NOSAVE
  wait "$server"
  echo "$kind, installed module: works"
}

# check_exports LIBRARY MEMBER: the library defines the member for others, and every name that it defines
# for others belongs to nestline.
check_exports() {
  local names strange
  names=$(nm --dynamic --defined-only --demangle "$1" | cut -d ' ' -f 3-)
  grep -q "^nestline::$2(" <<<"$names" || fail "$1 does not export $2"
  strange=$(grep -Ev '^((typeinfo|typeinfo name|vtable) for )?nestline::' <<<"$names" || true)
  [[ -z $strange ]] || fail "$1 exports names that are not ours:"$'\n'"$strange"
  echo "shared, $(basename "$1"), exported names: only ours"
}

if [[ $(grep -c '^BUILD_SHARED_LIBS:BOOL=ON$' "$build/CMakeCache.txt") == 1 ]]; then
  given=shared other=static other_is_shared=OFF
else
  given=static other=shared other_is_shared=ON
fi
quietly "$cmake" --install "$build" --prefix "$work/$given"

# The object files depend on these.
same=()
while IFS= read -r line; do same+=("-D$line"); done < <(
  grep -E '^(CMAKE_BUILD_TYPE|CMAKE_CXX_FLAGS(_[A-Z]+)?|NESTLINE_BUILD_(C|REDIS)):' "$build/CMakeCache.txt"
)
write_copier "$work/copier"
configure "$source" "$work/build" "${same[@]}" -DBUILD_SHARED_LIBS=$other_is_shared \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$work/copier" -DNESTLINE_BUILD_TESTS=OFF -DNESTLINE_BUILD_BENCH=OFF
quietly "$cmake" --build "$work/build" --parallel 2
! grep -Ev "$again" "$work/compiled" || fail "compiled once more"
quietly "$cmake" --install "$work/build" --prefix "$work/$other"

# The build folder of the other kind is gone before its installation is used.
rm -rf "$work/build"
check_installed "$given" "$work/$given"
check_installed "$other" "$work/$other"
for kind in "$given" "$other"; do
  check_installed_part "$kind" "$work/$kind" store-files users.db \
    $'erased 1\nrefused\ngot 1 Ada\nof two 1\nof a batch 1\na file\nverified 1'
  check_installed_part "$kind" "$work/$kind" cluster no-such-file \
    $'no server 1\nrefused\nno file 1'
done
if [[ -n $(find "$work/$given" -name nestline-c.pc) ]]; then
  check_installed_c "$given" "$work/$given"
  check_installed_c "$other" "$work/$other"
fi
check_module "$given" "$work/$given"
check_module "$other" "$work/$other"
check_hidden "$given" "$work/$given"
check_hidden "$other" "$work/$other"
check_exports "$(find "$work/shared" -name libnestline.so)" Filter::insert
check_exports "$(find "$work/shared" -name libnestline-store.so)" Store::put
check_exports "$(find "$work/shared" -name libnestline-cluster.so)" ClusterFilter::insert

# configures FOLDER SENTENCE OPTION...: whether CMake configures FOLDER; it has to print SENTENCE, which it may
# break into lines.
configures() {
  local printed status=0
  rm -rf "$work/try"
  printed=$("$cmake" -S "$1" -B "$work/try" -DCMAKE_CXX_COMPILER="$compiler" "${@:3}" 2>&1) || status=$?
  [[ $(tr -s ' \n' ' ' <<<"$printed") == *"$2"* ]] || fail "no '$2' in: $printed"
  return "$status"
}

! configures "$source" "cannot find hwy 1.0.3, TBB 2021.8. On Debian run scripts/install-dependencies build" \
  -DCMAKE_DISABLE_FIND_PACKAGE_hwy=ON -DCMAKE_DISABLE_FIND_PACKAGE_TBB=ON \
  || fail "it configures without Highway"
rm "$(find "$work/$given" -name nestline-store-targets.cmake)"
! configures "$source/tests/packaging/install/store-files" "This installation has no component store_files." \
  -DCMAKE_PREFIX_PATH="$work/$given" \
  || fail "it finds a component that is not there"
echo "mistakes: CMake names the remedy"
