#!/usr/bin/env bash
# Installs nestline into empty folders and uses it from there as another project would.
#
#   install_test.sh CMAKE COMPILER SOURCE BUILD VERSION
#
# BUILD is a finished build of the static or the shared libraries; the other kind is linked here, from
# BUILD's object files but for those with names that only shared libraries export. Each of the two is
# installed. A program with each library is linked through find_package and through pkg-config, and has to
# print what it should. Parts are built once more where there is nothing but what they need. A server loads
# the installed Redis module. The shared libraries must export nothing but our names and need nothing but
# what docs/CPP.md says, and what links the static ones must export none of ours; two such libraries in one
# program must not bind to each other. What users get wrong must end with a sentence that names the remedy.
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

# What is compiled again for the other kind: what has an exported name, or uses one, which the linker exports only if
# all objects mark it so. Not the engine, which takes longest: of it only the hashes are exported.
again='/nestline(_filter|_parallel|_store|_store_files|_cluster)?[.]dir/(Unity/unity_)?(engine.place|filters|store|system|faces.(embed|cluster))[_/]'

# write_copier FILE FOLDER AGAIN LIST: a program to run instead of a compiler in FOLDER. It copies the object file that
# BUILD has under the same name, and compiles what AGAIN matches or what BUILD has not, which it writes to LIST,
# unoptimized.
write_copier() {
  : >"$4"
  cat >"$1" <<EOF
#!/usr/bin/env bash
for ((i = 1; i < \$#; ++i)); do
  [[ \${!i} == -o ]] || continue
  object=\${*:i + 1:1}
  [[ \$object == /* ]] || object=\$PWD/\$object
  twin=$build/\${object#"$2/"}
  [[ \$twin != *.o || ! -f \$twin || \$twin =~ $3 ]] || exec cp "\$twin" "\$object"
done
echo "\$object" >>"$4"
exec "\$@" -O0 -g0
EOF
  chmod +x "$1"
}

# What the program with each library prints.
declare -A prints=(
  [filter]=$'look in the database\nnot there: no need to look'
  [nestline]=$'inserted 100000\nstring 1\nfound 100000\nerased 100000\nsize 1\nrefused at 0'
  [parallel]=1000000
  [store]=$'Ada\nnot there, and nothing was read'
  [store_files]=$'erased 1\nrefused\ngot 1 Ada\nof two 1\nof a batch 1\na file\nverified 1'
  [cluster]=$'no server 1\nrefused\nno file 1'
  [c]=$'look in the database\nnot there: no need to look'
  [c_store]="Ada has 3 bytes"
)

# run_part WHAT PROGRAM PART
run_part() {
  local printed
  rm -rf "$work/run" && mkdir "$work/run"
  printed=$(cd "$work/run" && "$2" file) || fail "$1, $3: the program failed"
  [[ $printed == "${prints[$3]}" ]] || fail "$1, $3: the program printed: $printed"
}

# check_parts WHAT PREFIX LANGUAGES PARTS OPTION...: PARTS are installed in PREFIX, and separated by semicolons.
# They are not optimized, which takes less time.
check_parts() {
  local what=$1 prefix=$2 folder=$work/$1-parts part name objects flags library_folder
  quietly "$cmake" -S "$source/tests/packaging/install/parts" -B "$folder" -DCMAKE_PREFIX_PATH="$prefix" \
    -DNESTLINE_VERSION="$version" -DEXAMPLES="$source/tests/documents/examples" "-DLANGUAGES=$3" "-DPARTS=$4" \
    "${@:5}"
  quietly "$cmake" --build "$folder" --parallel 2
  library_folder=$(dirname "$(find "$prefix" -name pkgconfig)")
  for part in ${4//;/ }; do
    run_part "$what, find_package" "$folder/$part" "$part"
    name=nestline-${part//_/-} name=${name/nestline-nestline/nestline}
    export PKG_CONFIG_PATH=$library_folder/pkgconfig
    [[ $(pkg-config --modversion "$name") == "$version" ]] || fail "$what: $name.pc"
    read -ra flags <<<"$(pkg-config --cflags --libs "$name")"
    [[ ${flags[0]#-I} -ef $prefix/include ]] || fail "$what: $name.pc: ${flags[*]}"
    mapfile -t objects < <(find "$folder/CMakeFiles/$part.dir" -name '*.o')
    quietly "$([[ $part == c* && $part != cluster ]] && echo cc || echo "$compiler")" "${objects[@]}" "${flags[@]}" \
      -Wl,-rpath,"$library_folder" -o "$folder/$part-by-pkg-config"
    run_part "$what, pkg-config" "$folder/$part-by-pkg-config" "$part"
  done
  echo "$what: $4: found by CMake and by pkg-config, and work"
}

# check_alone WHAT MODULES PACKAGES PARTS OPTION...: nestline is built with the options, where CMake finds only
# PACKAGES and pkg-config only MODULES; then its PARTS are used there.
check_alone() {
  local folder=$work/$1 module package hidden=()
  mkdir -p "$folder/pc"
  for module in $2; do cp "$(pkg-config --variable=pcfiledir "$module")/$module.pc" "$folder/pc"; done
  for package in hwy TBB OpenSSL SQLite3 CLI11 nlohmann_json PkgConfig; do
    [[ " $3 " == *" $package "* ]] || hidden+=("-DCMAKE_DISABLE_FIND_PACKAGE_$package=ON")
  done
  write_copier "$folder/copier" "$folder/build" '/nestline_command[.]dir/Unity/unity_faces_command_(filter_)?cxx' \
    "$folder/compiled"
  (
    export PKG_CONFIG_LIBDIR=$folder/pc
    configure "$source" "$folder/build" "${same[@]}" "${hidden[@]}" -DCMAKE_CXX_COMPILER_LAUNCHER="$folder/copier" \
      -DNESTLINE_BUILD_REDIS=OFF "${@:5}"
    quietly "$cmake" --build "$folder/build"
    quietly "$cmake" --install "$folder/build" --prefix "$folder/prefix"
    check_parts "$1" "$folder/prefix" "C;CXX" "$4" "${hidden[@]}"
  )
  ! grep -v /nestline_command "$folder/compiled" || fail "$1: compiled once more"
}

# check_hidden KIND PREFIX: two libraries with hidden visibility in one program, which recognizes exceptions.
check_hidden() {
  local kind=$1 folder=$work/$1-hidden flags=() names
  mkdir "$folder"
  read -ra flags <<<"$(PKG_CONFIG_PATH=$(dirname "$(find "$2" -name nestline.pc)") \
    pkg-config --cflags --libs nestline-store nestline-cluster)"
  quietly "$compiler" -std=c++20 -fPIC -fvisibility=hidden -c "$source/tests/packaging/install/hidden/part.cc" \
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
    # Not std::span<nestline::Outcome>: no compiler option hides a template of the standard library for an enum.
    names=$(nm --dynamic --defined-only --demangle "$folder/part1.so" \
      | grep -E ' [A-Za-z] ([a-z -]+ (for|to) )?(nestline|hwy|XXH)' || true)
    [[ -z $names ]] || fail "a library that links the static ones exports"$'\n'"$names"
    names=$(grep "part2.so \[0\] to $folder/part1.so .*nestline" "$folder"/bound.* \
      | grep -vE '_ZNK?S' || true)
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

# check_exports LIBRARY MEMBER NEEDED: the library defines the member for others, every name that it defines
# for others belongs to nestline, and it needs nothing but what NEEDED matches, C and C++.
check_exports() {
  local library names strange
  library=$(find "$work/shared" -name "$1")
  names=$(nm --dynamic --defined-only --demangle "$library" | cut -d ' ' -f 3- \
    | sed 's/nestline::v[0-9_]*::/nestline::/g')
  grep -q "^nestline::$2(" <<<"$names" || fail "$1 does not export $2"
  strange=$(grep -Ev '^((typeinfo|typeinfo name|vtable) for )?nestline::' <<<"$names" || true)
  [[ -z $strange ]] || fail "$1 exports names that are not ours:"$'\n'"$strange"
  strange=$(readelf --dynamic "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' \
    | grep -Ev "^lib(c|m|stdc[+][+]|gcc_s)[.]so|^ld-|${3:-^\$}" || true)
  [[ -z $strange ]] || fail "$1 needs $strange"
  echo "shared, $1: exports only our names, needs only what it should"
}

if [[ $(grep -c '^BUILD_SHARED_LIBS:BOOL=ON$' "$build/CMakeCache.txt") == 1 ]]; then
  given=shared other=static other_is_shared=OFF
else
  given=static other=shared other_is_shared=ON
fi
quietly "$cmake" --install "$build" --prefix "$work/$given"
strange=$(grep -v "^$work/$given/" "$build/install_manifest.txt" || true)
[[ -z $strange ]] || fail "it installs outside the prefix:"$'\n'"$strange"

# The object files depend on these.
same=()
while IFS= read -r line; do same+=("-D$line"); done < <(
  grep -E '^(CMAKE_BUILD_TYPE|CMAKE_CXX_FLAGS(_[A-Z]+)?|NESTLINE_UNITY|BUILD_SHARED_LIBS):' "$build/CMakeCache.txt"
)
write_copier "$work/copier" "$work/build" "$again" "$work/compiled"
configure "$source" "$work/build" "${same[@]}" -DBUILD_SHARED_LIBS=$other_is_shared \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$work/copier"
quietly "$cmake" --build "$work/build" --parallel 2
! grep -Ev "$again" "$work/compiled" || fail "compiled once more"
quietly "$cmake" --install "$work/build" --prefix "$work/$other"

# The build folder of the other kind is gone before its installation is used.
rm -rf "$work/build"
check_parts "$other" "$work/$other" "C;CXX" "filter;nestline;parallel;store;store_files;cluster;c;c_store"
check_parts "$given" "$work/$given" CXX cluster
for kind in "$given" "$other"; do
  [[ $("$work/$kind/bin/nestline" --version) == *"$version"* ]] || fail "$kind: nestline --version"
done
CXX=/no/compiler check_parts "$given, in C" "$work/$given" C c
check_alone filter "" "" filter -DNESTLINE_BUILD_CONCURRENT=OFF
check_alone threads "liburcu-bp" PkgConfig "nestline;store;c" -DNESTLINE_BUILD_PARALLEL=OFF \
  -DNESTLINE_BUILD_STORE_FILES=OFF
check_alone files "liburcu-bp libcrypto" "PkgConfig OpenSSL" "store_files;c_store" -DNESTLINE_BUILD_PARALLEL=OFF
check_alone command "liburcu-bp tbb" "PkgConfig TBB CLI11 nlohmann_json" parallel -DNESTLINE_BUILD_STORE=OFF \
  -DNESTLINE_BUILD_CLUSTER=OFF -DNESTLINE_BUILD_C=OFF
check_alone small "" "CLI11 nlohmann_json" filter -DNESTLINE_BUILD_CONCURRENT=OFF -DNESTLINE_BUILD_COMMAND=ON
seq 1000 >"$work/keys"
while read -r kind lacks; do
  command=$work/$kind/prefix/bin/nestline
  "$command" build --threads 2 -o "$work/$kind.nest" "$work/keys"
  [[ $("$command" query -c "$work/$kind.nest" "$work/keys") == 1000 ]] || fail "the command alone, $kind"
  ! "$command" --help | grep -E "^ *($lacks) " || fail "the help of the command alone, $kind, has what it lacks"
  ! said=$("$command" "${lacks%%|*}" 2>&1) || fail "the command alone, $kind, does what it lacks"
  [[ $said == *"this build of nestline has no ${lacks%%|*}"* ]] || fail "the command alone, $kind: $said"
done <<<$'command store|cluster\nsmall which|uniq|store|cluster'
for what in "uniq --state" "which build -o"; do
  # shellcheck disable=SC2086
  "$work/command/prefix/bin/nestline" $what "$work/other" "$work/keys" >"$work/log"
  ! said=$("$work/small/prefix/bin/nestline" info "$work/other" 2>&1) || fail "the small command reads what it lacks"
  [[ $said == *"nestline ${what%% *}, and this build of nestline has no ${what%% *}" ]] || fail "the small command: $said"
  rm "$work/other"
done
cmp "$work/command.nest" "$work/small.nest" || fail "a filter depends on whether it was built with threads"
check_module "$given" "$work/$given"
check_module "$other" "$work/$other"
check_hidden "$given" "$work/$given"
check_hidden "$other" "$work/$other"
check_exports libnestline-filter.so Filter::insert ''
check_exports libnestline.so Filter::insert 'urcu'
check_exports libnestline-parallel.so parallel::build 'nestline\.|urcu|tbb'
check_exports libnestline-store.so Store::put 'nestline\.|urcu'
check_exports libnestline-store-files.so put_file 'nestline[-.]|crypto'
check_exports libnestline-cluster.so ClusterFilter::insert 'nestline[-.]|urcu|tbb|crypto|ssl|hiredis'

# configures FOLDER SENTENCE OPTION...: whether CMake configures FOLDER; it has to print SENTENCE, which it may
# break into lines.
configures() {
  local printed status=0
  rm -rf "$work/try"
  printed=$("$cmake" -S "$1" -B "$work/try" -DCMAKE_CXX_COMPILER="$compiler" "${@:3}" 2>&1) || status=$?
  [[ $(tr -s ' \n' ' ' <<<"$printed") == *"$2"* ]] || fail "no '$2' in: $printed"
  return "$status"
}

! configures "$source" "cannot find TBB 2021.8, which is needed for nestline::parallel" \
  -DCMAKE_DISABLE_FIND_PACKAGE_TBB=ON || fail "it configures without oneTBB"
rm "$(find "$work/$given" -name nestline-store-targets.cmake)"
! configures "$source/tests/packaging/install/parts" \
  "This installation has no component store. It has c, c_store, cluster, filter, nestline, parallel, store_files." \
  -DCMAKE_PREFIX_PATH="$work/$given" -DLANGUAGES=CXX -DPARTS=store_files \
  || fail "it finds a component that is not there"
echo "mistakes: CMake names the remedy"
