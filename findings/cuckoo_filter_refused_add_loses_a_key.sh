#!/usr/bin/env bash
# cuckoo-filter 1.1.4 (npm, the latest on 2026-11-30): an add that is refused loses a key that was taken before.
#
# The guess: add() returns false where there is no room, and all is as before. What is seen, with 4 slots a bucket, as many
# adds as there are slots, and 256, 1024 or 4096 buckets (it moves keys by chance, so numbers differ a little):
#
#   the first add is refused at 84 to 91 % of the slots; for each ten that are, nine keys that add() has taken are denied
#
# which the key that was moved last would be, if nobody keeps it. So who moves such a filter's keys to nestline, where a
# refused insert leaves every key, takes them from their source. As installed the package also lacks a module that it
# loads, cbor-js.
#
# Needs node and npm. Ends with 0 if it is as above, 1 if not.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --no-audit --no-fund --loglevel=error cuckoo-filter@1.1.4 >/dev/null
{ node -e 'require("cuckoo-filter")' 2>&1 || true; } | grep -o "Cannot find module 'cbor-js'" | head -n 1 | tee seen
npm install --no-audit --no-fund --loglevel=error cbor-js@0.1.0 >/dev/null
cat >keys.cjs <<'END'
const { CuckooFilter } = require("cuckoo-filter");
for (const buckets of [256, 1024, 4096]) {
  const filter = new CuckooFilter(buckets, 4, 2);
  const taken = [];
  let first = 0;
  let refused = 0;
  for (let i = 0; i < 4 * buckets; ++i) {
    if (filter.add(`key ${i}`)) {
      taken.push(`key ${i}`);
    } else if (++refused === 1) {
      first = taken.length;
    }
  }
  const denied = taken.filter((key) => !filter.contains(key)).length;
  console.error(`${buckets} buckets: ${refused} refused, the first after ${first}; ${denied} denied`);
  const share = denied / refused;
  console.log(`${buckets}: for each refusal ${share > 0.8 && share <= 1 ? "about one" : share} key is denied`);
}
END
node keys.cjs | tee -a seen
diff seen - <<'END'
Cannot find module 'cbor-js'
256: for each refusal about one key is denied
1024: for each refusal about one key is denied
4096: for each refusal about one key is denied
END
