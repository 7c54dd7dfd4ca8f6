// Rates of the package for npm in millions of keys a second: of batches, of single calls, and of bloom-filters of npm, a
// Bloom filter with as many keys and the same false-positive rate.
//
//   node compare_rates.mjs [--keys N] [--rounds N] [--package FOLDER]
//
// FOLDER (build/npm/package) is what scripts/package npm made. bloom-filters is that of this folder's package.json:
// scripts/npm-packages bench/faces/npm. Each number is the best of --rounds (7; of bloom-filters 2), in turn. Half of
// the keys that are looked up are there. Inserts fill an empty filter.
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import bloomFilters from 'bloom-filters';

const here = path.dirname(fileURLToPath(import.meta.url));
const { values: options } = parseArgs({
  options: {
    keys: { type: 'string', default: '1000000' }, rounds: { type: 'string', default: '7' },
    package: { type: 'string', default: path.join(here, '../../../build/npm/package') },
  },
});
const { Filter, init } = await import(pathToFileURL(path.resolve(options.package, 'nestline.js')));
await init();
const count = Number(options.keys);
const others = Math.min(count, 50_000); // bloom-filters is slow
const fpr = 0.01;

const integers = Float64Array.from({ length: count }, (_, i) => (i * 2654435761) % 2 ** 46);
const half = integers.map((key, i) => (i % 2 === 0 ? key : key + 0x600000000000));
const texts = (keys) => Array.from(keys, (key) => `user:${key}`);

// Sums up in `found` so that nothing is left out.
let found = 0;
function best(keys, rounds, work) {
  let least = Infinity;
  for (let round = 0; round < rounds; ++round) {
    const begin = performance.now();
    found += work(keys);
    least = Math.min(least, performance.now() - begin);
  }
  return keys.length / least / 1000;
}

const rows = {};
for (const [kind, stored, asked] of [
  ['numbers', integers, half],
  ['bigints', BigUint64Array.from(integers, BigInt), BigUint64Array.from(half, BigInt)],
  ['strings', texts(integers), texts(half)],
]) {
  const rounds = Number(options.rounds);
  const filter = new Filter({ capacity: count, fpr });
  const each = (call) => (keys) => {
    let sum = 0;
    for (let i = 0; i < keys.length; ++i) sum += Number(filter[call](keys[i]));
    return sum;
  };
  const fresh = (work) => (keys) => {
    filter.clear();
    return work(keys);
  };
  rows[kind] = {
    'insert, batch': best(stored, rounds, fresh((keys) => filter.insertBatch(keys).length)),
    'insert, single': best(stored, rounds, fresh(each('insert'))),
    'lookup, batch': best(asked, rounds, (keys) => filter.mayContainBatch(keys).length),
    'lookup, single': best(asked, rounds, each('mayContain')),
  };
  filter.free();
  if (kind !== 'strings') continue;
  const bloom = bloomFilters.BloomFilter.create(others, fpr);
  const few = (keys) => keys.slice(0, others);
  rows['strings of bloom-filters'] = {
    'insert, single': best(few(stored), 2, (keys) => keys.forEach((key) => bloom.add(key)) ?? 0),
    'lookup, single': best(few(asked), 2, (keys) => keys.filter((key) => bloom.has(key)).length),
  };
}
for (const row of Object.values(rows)) for (const name of Object.keys(row)) row[name] = Number(row[name].toPrecision(3));
console.table(rows);
if (found === 0) throw new Error('nothing was found');
