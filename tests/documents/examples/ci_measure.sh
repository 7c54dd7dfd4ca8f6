# RESULTS: a folder that is kept from one run of the pipeline to the next.
mkdir -p "$RESULTS"
cmake -S . -B build/head -DCMAKE_BUILD_TYPE=Release
cmake --build build/head --target hash_bench
commit=$(git rev-parse HEAD)
date=$(git log -1 --format=%cI)
build/head/hash_bench --benchmark_repetitions=5 --benchmark_out_format=json \
  --benchmark_out="$RESULTS/$commit.json" --benchmark_context="commit=$commit,commit_date=$date"
# Status 3: the page is there, but there are too few commits yet to find a change.
"$NESTLINE/scripts/dashboard" --out "$RESULTS/index.html" --title hash_bench "$RESULTS" || [ $? -eq 3 ]
