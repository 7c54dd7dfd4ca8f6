#!/usr/bin/env bash
# bloom-filters 3.0.4 (npm, the latest on 2026-11-29): its HyperLogLog counts half of the keys where there are few.
#
# The guess: with 1024 registers count() is within some 10 % of the number of different keys (three times the usual error of
# 1.04 / sqrt(1024)), also of few keys, for which it has a formula of its own. What is seen, seed 1:
#
#   keys    100  300  800  10000
#   count    53  149  415  10809
#
# So it is no source for the capacity of a filter: below some keys a register, ask for twice the room, or count them.
#
# Needs node and npm. Ends with 0 if it is as above, 1 if not.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --no-audit --no-fund --loglevel=error bloom-filters@3.0.4 >/dev/null
cat >counts.cjs <<'END'
const { HyperLogLog } = require("bloom-filters");
for (const keys of [100, 300, 800, 10000]) {
  const sketch = new HyperLogLog(1024);
  sketch.seed = 1;
  for (let i = 0; i < keys; ++i) sketch.update(`key ${i}`);
  console.log(keys, Math.round(sketch.count()));
}
END
node counts.cjs | tee seen
diff seen - <<'END'
100 53
300 149
800 415
10000 10809
END
