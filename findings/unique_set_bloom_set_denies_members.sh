#!/usr/bin/env bash
# @sepiariver/unique-set 2.0.3 (npm, the latest on 2026-12-02): BloomSet, a Set of deeply equal things behind a Bloom
# filter, with a size of one's own.
#
# The guess: a size that is too small makes it slow, never wrong: the filter may say "perhaps" too often, but a thing that
# was added is found, and an equal one is not taken a second time. What is seen, one object for each 10 bits:
#
#   size 1,000 (100 objects), 1,024 (102) and 10,000 (1,000): has() denies 5, 7 and 5 of them, and after adding equal ones
#   the set has each of those twice
#   size 997, a prime, and the size it comes with, a prime too: none
#
# It takes hashes modulo the next prime, but has bytes for the given size only: bits from there to the prime are never
# set, and whatever hashes to one of them is denied. So give it a prime, or leave the size out.
#
# Needs node and npm. Ends with 0 if it is as above, 1 if not.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --no-audit --no-fund --loglevel=error @sepiariver/unique-set@2.0.3 >/dev/null
cat >members.cjs <<'END'
const { BloomSet, UniqueSet } = require("@sepiariver/unique-set");
const thing = (i) => ({ id: i, name: `user:${i}` });
function fill(set, count) {
  for (let i = 0; i < count; ++i) set.add(thing(i));
  let denied = 0;
  for (let i = 0; i < count; ++i) denied += !set.has(thing(i));
  for (let i = 0; i < count; ++i) set.add(thing(i));
  return `${denied} denied, ${set.size} things after adding all of them twice`;
}
for (const size of [1000, 1024, 10000, 997, undefined]) {
  const count = size === undefined ? 1000 : Math.floor(size / 10);
  console.log(`size ${size}, ${count} objects: ${fill(new BloomSet([], { size }), count)}`);
}
console.log(`UniqueSet, 100 objects: ${fill(new UniqueSet(), 100)}`);
END
node members.cjs | tee seen
diff seen - <<'END'
size 1000, 100 objects: 5 denied, 105 things after adding all of them twice
size 1024, 102 objects: 7 denied, 109 things after adding all of them twice
size 10000, 1000 objects: 5 denied, 1005 things after adding all of them twice
size 997, 99 objects: 0 denied, 99 things after adding all of them twice
size undefined, 1000 objects: 0 denied, 1000 things after adding all of them twice
UniqueSet, 100 objects: 0 denied, 100 things after adding all of them twice
END
