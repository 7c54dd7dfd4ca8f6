#!/usr/bin/env bash
# simhash-js 1.0.0 (npm, the latest on 2026-12-02): fingerprints of texts, of which similar ones differ in few bits.
#
# The guess: the fingerprint is made of the whole text, or of the 128 pieces of four letters with the smallest hashes,
# as the comment on its option maxFeatures has it; and Comparator takes what hash() returns, as on its page. What is
# seen, with random texts of small letters:
#
#   it leaves those 128 out and keeps the rest, so a text of 129 pieces (516 letters) is
#     judged by one piece: the 128 others can all be replaced by "zzzz" and the fingerprint stays. Of 512 letters 9
#     of 128 can, one after the other
#   hammingDistance() and similarity() read the decimal digits of these numbers as hexadecimal, and the first counts
#     what it reads twice: of the two sentences of its page 16 bits differ, it says 28; similarity is 0.16, it says 0.30
#   texts of up to four letters nearly all have the fingerprint 0
#
# So take maxFeatures: Infinity, count bits of (a ^ b) >>> 0 oneself, and keep short texts out. Fingerprints that were
# stored of texts from 513 to some 600 letters are worth little.
#
# Needs node and npm. Ends with 0 if it is as above, 1 if not.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --no-audit --no-fund --loglevel=error simhash-js@1.0.0 >/dev/null
cat >texts.cjs <<'END'
const { SimHash, Comparator } = require("simhash-js");
let state = 1;
function letter() {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return String.fromCharCode(97 + ((state >>> 8) % 26));
}
const text = (length) => Array.from({ length }, letter).join("");
function bits(number) {
  let count = 0;
  for (let rest = number >>> 0; rest !== 0; rest = (rest & (rest - 1)) >>> 0) ++count;
  return count;
}
function replaceable(pieces, options) {
  const simhash = new SimHash(options);
  const left = Array.from({ length: pieces }, () => text(4));
  const before = simhash.hash(left.join(""));
  let replaced = 0;
  for (let i = 0; i < pieces; ++i) {
    const kept = left[i];
    left[i] = "zzzz";
    if (simhash.hash(left.join("")) === before) ++replaced;
    else left[i] = kept;
  }
  return replaced;
}
const most = (pieces, options) => Math.max(...Array.from({ length: 5 }, () => replaceable(pieces, options)));
const least = (pieces) => Math.min(...Array.from({ length: 5 }, () => replaceable(pieces)));
const counts = [most(128), least(129), most(129, { maxFeatures: Infinity })];
console.error(`replaced: ${counts}`);
console.log(`512 letters: ${counts[0] <= 20 ? "at most 20" : counts[0]} of 128 pieces can be replaced`);
console.log(`516 letters: at least ${counts[1]} of 129`);
console.log(`516 letters, no maximum: ${counts[2] <= 20 ? "at most 20" : counts[2]}`);
const simhash = new SimHash();
const a = simhash.hash("This is a test of the Emergency Blogcast System");
const b = simhash.hash("This is a second test of the Emergency Blogcast System");
console.log(`distance ${bits(a ^ b)}, said ${Comparator.hammingDistance(a, b)}`);
const similarity = bits(a & b) / bits(a | b);
console.log(`similarity ${similarity.toFixed(2)}, said ${Comparator.similarity(a, b).toFixed(2)}`);
console.log(`of 1 and 2: distance ${bits(1 ^ 2)}, said ${Comparator.hammingDistance(1, 2)}`);
let zero = 0;
for (let i = 0; i < 1000; ++i) zero += simhash.hash(text(4)) === 0;
console.log(`four letters: ${zero > 900 ? "more than 900" : zero} of 1000 are 0`);
END
node texts.cjs | tee seen
diff seen - <<'END'
512 letters: at most 20 of 128 pieces can be replaced
516 letters: at least 128 of 129
516 letters, no maximum: at most 20
distance 16, said 28
similarity 0.16, said 0.30
of 1 and 2: distance 2, said 4
four letters: more than 900 of 1000 are 0
END
