// Measures the change point method on simulated series and prints three tables: how often a flat
// series gets a mark, how often a real change of 10 % is marked as such, and how often a young and
// larger one is blamed on an earlier commit, each with a 95 % interval (Wilson). The figures in the
// method note of the page come from here.
//
//   node test/false_alarms.js [SERIES]
//
// SERIES is the number of simulated series in each row; the default of 2000 takes a quarter of an
// hour. The noise is like that of medians on a shared virtual machine: 3 % relative standard
// deviation, in several shapes. With correlated noise each point keeps a share of its neighbor's
// deviation. The method assumes that this does not happen, and those rows show the cost.
import { changePoints } from "../src/change_points.js";
import { SHAPES, simulate } from "./noise.js";

const count = Number(process.argv[2] ?? 2000);

function interval(hits, tries) {
  const z = 1.96;
  const share = hits / tries;
  const middle = (share + (z * z) / (2 * tries)) / (1 + (z * z) / tries);
  const half =
    (z / (1 + (z * z) / tries)) *
    Math.sqrt((share * (1 - share)) / tries + (z * z) / (4 * tries * tries));
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

function row(label, hits, tries) {
  const [low, high] = interval(hits, tries);
  const percent = (share) => (100 * share).toFixed(2).padStart(6);
  const range = `(${percent(low)} to${percent(high)} %)`;
  console.log(`${label.padEnd(44)}${percent(hits / tries)} %  ${range}  ${hits} of ${tries}`);
}

console.log(`Flat series that get a mark, ${count} each (95 % interval):`);
const lengths = [10, 20, 40, 60];
let allHits = 0;
let allTries = 0;
for (const shape of SHAPES) {
  for (const length of lengths) {
    let hits = 0;
    for (let seed = 1; seed <= count; ++seed) {
      hits += changePoints(simulate({ shape, length, seed })).length > 0;
    }
    row(`${shape}, ${length} points`, hits, count);
    if (shape !== "correlated") {
      allHits += hits;
      allTries += count;
    }
  }
}
row("all but correlated", allHits, allTries);

// Found: a change in the right direction within two points of the right place.
console.log(`\nSeries that slow down by 10 %, and are marked within two points, ${count} each:`);
for (const shape of SHAPES) {
  for (const [before, after] of [
    [8, 5],
    [15, 5],
    [30, 5],
    [30, 10],
    [30, 30],
  ]) {
    let hits = 0;
    for (let seed = 1; seed <= count; ++seed) {
      const values = simulate({
        shape,
        length: before + after,
        seed,
        change: { at: before, ratio: 0.9 },
      });
      const found = changePoints(values);
      hits += found.some(({ at, ratio }) => ratio < 1 && Math.abs(at - before) <= 2);
    }
    row(`${shape}, ${before} before, ${after} after`, hits, count);
  }
}

// Blamed on an earlier commit: the last change for the worse is before the right place.
const few = Math.ceil(count / 20);
console.log(
  `\nSeries that slow down by 20, 30, 50 and 100 %, and blame a commit before that, ${few} each:`,
);
for (const shape of SHAPES.filter((name) => name !== "correlated")) {
  for (const young of [3, 4, 5, 6]) {
    let [early, right] = [0, 0];
    for (const ratio of [1.2, 1.3, 1.5, 2]) {
      for (let seed = 1; seed <= few; ++seed) {
        const change = { at: 20, ratio };
        const found = changePoints(simulate({ shape, length: 20 + young, seed, change }));
        const at = found.filter((one) => one.ratio > 1).at(-1)?.at;
        early += at < change.at;
        right += at === change.at;
      }
    }
    row(`${shape}, ${young} points old: earlier`, early, 4 * few);
    row(`${shape}, ${young} points old: right`, right, 4 * few);
  }
}
