#!/usr/bin/env bash
# bloom-filters 3.0.4 (npm, the latest on 2026-11-29): its CuckooFilter denies keys that add() has taken.
#
# The guess: add() returns true, so has() returns true from then on. What is seen, with 256 buckets of 4 slots and
# fingerprints of 7 characters, all of 972 keys taken (95 % of the slots), none refused, for the seeds 1, 2 and 3:
#
#   175, 152 and 176 keys are denied, the first one when 42 to 51 % of the slots are taken
#
# and of the 1000 keys that CuckooFilter.create(1000, 0.01) takes, about a third. So who moves keys to nestline takes them
# from where they came from, and does not ask such a filter for them.
#
# Needs node and npm. Ends with 0 if it is as above, 1 if not.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --no-audit --no-fund --loglevel=error bloom-filters@3.0.4 >/dev/null
cat >keys.cjs <<'END'
const { CuckooFilter } = require("bloom-filters");
function denied(filter, seed, count) {
  filter.seed = seed;
  const taken = [];
  let first = 0;
  for (let i = 0; i < count; ++i) {
    if (!filter.add(`key ${i}`)) throw new Error("a key was refused");
    taken.push(`key ${i}`);
    if (first === 0 && taken.some((key) => !filter.has(key))) first = taken.length;
  }
  return [taken.filter((key) => !filter.has(key)).length, first];
}
for (const seed of [1, 2, 3]) {
  const [count, first] = denied(new CuckooFilter(256, 7, 4, 500), seed, 972);
  console.log(`${count} of 972 keys are denied, the first after ${first} keys`);
}
const [count] = denied(CuckooFilter.create(1000, 0.01), 1, 1000);
console.log(`of create(1000, 0.01): ${count > 200 ? "more than a fifth" : "no more than a fifth"} are denied`);
END
node keys.cjs | tee seen
diff seen - <<'END'
175 of 972 keys are denied, the first after 431 keys
152 of 972 keys are denied, the first after 526 keys
176 of 972 keys are denied, the first after 465 keys
of create(1000, 0.01): more than a fifth are denied
END
