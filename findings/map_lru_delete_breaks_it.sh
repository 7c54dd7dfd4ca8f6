#!/usr/bin/env bash
# map-lru 2.1.0 (npm, the latest on 2026-12-02): a least-recently-used cache with the methods of Map.
#
# The guess: at most so many entries as it was made for, of which the oldest go first, and delete() frees one place.
# What is seen:
#
#   10,000 keys set in a cache for 100, with one delete() after each ten: in the end 98 of its 101 keys are older than
#     the last 1,000, and of the last 45 that nobody deleted it denies 42. A Map that drops its first key has all 45
#   no delete() at all: an entry that made room is gone for get(), but values(), entries(), forEach() and for-of still
#     give it, and its value is kept for good: 100,000 values in a cache for 100
#
# So it bounds neither memory nor what a walk gives, and delete() must not be called; a Map whose first key is deleted
# when it is full does what this promises.
#
# Needs node and npm. Ends with 0 if it is as above, 1 if not.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --no-audit --no-fund --loglevel=error map-lru@2.1.0 >/dev/null
cat >cache.mjs <<'END'
import MapLRU from "map-lru";
const cache = new MapLRU(100);
const map = new Map();
for (let i = 0; i < 10000; ++i) {
  cache.set(i, i);
  map.set(i, i);
  if (map.size > 100) map.delete(map.keys().next().value);
  if (i % 10 !== 9) continue;
  cache.delete(i - 5);
  map.delete(i - 5);
}
const last = Array.from({ length: 50 }, (_, i) => 9950 + i).filter((i) => i % 10 !== 4);
const keys = [...cache.keys()];
console.log(`size ${cache.size}, keys ${keys.length}, old ones ${keys.filter((key) => key < 9000).length}`);
console.log(`of the last ${last.length}: ${last.filter((key) => !cache.has(key)).length} denied`);
console.log(`by the Map: ${last.filter((key) => !map.has(key)).length} denied`);
const many = new MapLRU(100);
for (let i = 0; i < 100000; ++i) many.set(`key ${i}`, i);
console.log(`size ${many.size}, keys ${[...many.keys()].length}, get of the first: ${many.get("key 0")}`);
console.log(`values ${[...many.values()].length}, entries ${[...many].length}, the first: ${[...many][0]}`);
END
node cache.mjs | tee seen
diff seen - <<'END'
size 100, keys 101, old ones 98
of the last 45: 42 denied
by the Map: 0 denied
size 100, keys 100, get of the first: undefined
values 100000, entries 100000, the first: key 0,0
END
