# NESTLINE: a checkout of nestline. BASE: the commit to compare with, such as origin/main.
build() {  # build SOURCE FOLDER
  cmake -S "$1" -B "$2" -DCMAKE_BUILD_TYPE=Release
  cmake --build "$2" --target hash_bench
}
rm -rf build/base-source
git worktree prune
git worktree add --detach build/base-source "$BASE"
build build/base-source build/base
build . build/head
"$NESTLINE/scripts/bench" compare build/base/hash_bench build/head/hash_bench \
  --threshold 10 --json build/compare.json --markdown build/compare.md -- --benchmark_min_time=0.1
