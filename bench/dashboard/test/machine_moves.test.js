// Moves of a machine: what they take, what they take from the lists of changes, and what they leave there.
import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeAll } from "../src/judge.js";
import { FEW, LEAST_SERIES } from "../src/machine_moves.js";
import { simulate } from "./noise.js";

const BEGIN = 12;
const END = 18;
const COUNT = 30;

// A level of 100 with a step to `to` from `begin` until `end`, and `later` from there on.
function dip({ to = 88, begin = BEGIN, end = END, later = 100, count = COUNT } = {}) {
  return Array.from({ length: count }, (_, i) => (i < begin ? 100 : i < end ? to : later));
}
const flat = (count = COUNT) => Array(count).fill(100);

// A series with these values; the first is at the commit `first`.
function seriesOf(figure, { machine = "m", ratio = null, quantity = "items_per_second", ...rest } = {}) {
  const at = (value) => (value === undefined ? null : { mid: value, low: value, high: value });
  return {
    name: "a",
    machine,
    quantity,
    ...rest,
    points: figure.map((value, index) => ({ commit: index, figure: at(value), ratio: at(ratio?.[index]) })),
  };
}
const several = (count, values, options) =>
  Array.from({ length: count }, () => seriesOf(values, options));

// [moves, regressions, improvements] of some series, as numbers.
function counts(all) {
  const { moves, regressions, improvements } = judgeAll(all);
  return [moves.length, regressions.length, improvements.length];
}

test("a machine that slows down and comes back: a move, and neither regression nor improvement", () => {
  const all = several(5, dip());
  const { moves, regressions, improvements } = judgeAll(all);
  assert.deepEqual([regressions, improvements], [[], []]);
  const [{ ratio, ...move }] = moves;
  assert.ok(Math.abs(ratio - 0.88) < 1e-9);
  const where = { machine: "m", measure: "figure", begin: BEGIN, end: END, worse: true };
  assert.deepEqual([moves.length, move], [1, { ...where, moved: 5, of: 5 }]);
  for (const { changes } of all) assert.deepEqual(changes.figure.map(({ moved }) => moved), [true, true]);
});

test("times rise when rates fall, and a faster machine moves too", () => {
  const slow = [...several(3, dip()), ...several(3, dip({ to: 112 }), { quantity: "time" })];
  assert.deepEqual(counts(slow), [1, 0, 0]);
  assert.deepEqual(counts(several(5, dip({ to: 112 }))), [1, 0, 0]);
  const { moves } = judgeAll(several(5, dip({ to: 112 })));
  assert.equal(moves[0].worse, false);
  // Not in the same direction.
  const mixed = [...several(3, dip()), ...several(3, dip({ to: 112 }))];
  assert.equal(counts(mixed)[0], 0);
});

test("nearly all: four of five, not three of five, and no fewer than five", () => {
  assert.deepEqual(counts([...several(4, dip()), seriesOf(flat())]), [1, 0, 0]);
  assert.deepEqual(counts([...several(3, dip()), ...several(2, flat())]), [0, 3, 3]);
  assert.deepEqual(counts(several(LEAST_SERIES - 1, dip())), [0, 4, 4]);
});

test("few: back after ten points, not after eleven", () => {
  assert.deepEqual(counts(several(5, dip({ end: BEGIN + FEW, count: 40 }))), [1, 0, 0]);
  assert.deepEqual(counts(several(5, dip({ end: BEGIN + FEW + 1, count: 40 }))), [0, 5, 5]);
  // Commits at which the machine measured nothing do not count.
  const sparse = several(5, dip({ end: BEGIN + FEW, count: 40 }));
  for (const { points } of sparse) for (const point of points) point.commit *= 7;
  assert.deepEqual(counts(sparse), [1, 0, 0]);
});

test("a regression until it has come back", () => {
  assert.deepEqual(counts(several(5, dip({ count: END }))), [0, 5, 0]);
  assert.equal(counts(several(5, dip({ count: END + 2 })))[0], 0);
  assert.deepEqual(counts(several(5, dip({ count: END + 4 }))), [1, 0, 0]);
  // Steps that stay are no move, however many series have them.
  assert.deepEqual(counts(several(9, dip({ end: COUNT }))), [0, 9, 0]);
});

test("back means within 3 % of where it was", () => {
  assert.deepEqual(counts(several(5, dip({ later: 98 }))), [1, 0, 0]);
  assert.deepEqual(counts(several(5, dip({ later: 96 }))), [0, 5, 5]);
});

test("a commit that falls into a move stays a regression", () => {
  const { moves, regressions } = judgeAll([...several(8, dip()), seriesOf(dip({ to: 80, later: 90 }))]);
  assert.deepEqual([moves.length, moves[0].moved, moves[0].of], [1, 8, 9]);
  assert.deepEqual(
    regressions.map(({ series, at, recovered }) => [series, at, recovered]),
    [[8, BEGIN, false]],
  );
  // And one elsewhere in a series that moved.
  const later = dip().map((value, index) => (index < 24 ? value : 0.9 * value));
  const both = judgeAll([...several(8, dip()), seriesOf(later)]);
  assert.deepEqual(both.regressions.map(({ series, at }) => [series, at]), [[8, 24]]);
});

test("changes that are placed two points away belong to a move, those three away do not", () => {
  for (const [away, rows] of [
    [2, 0],
    [3, 1],
  ]) {
    const all = [...several(8, dip()), seriesOf(dip({ begin: BEGIN + away, end: END + away }))];
    assert.deepEqual(counts(all), [1, rows, rows]);
  }
});

test("the same at the same commits on another machine: the code", () => {
  const one = several(5, dip());
  const on = (values, count = 4) => several(count, values, { machine: "n" });
  assert.deepEqual(counts([...one, ...on(flat())]), [1, 0, 0]);
  assert.deepEqual(counts([...one, ...on(dip(), 1)]), [0, 6, 6]);
  assert.deepEqual(counts([...one, ...on(dip(), 2), ...on(flat(), 2)]), [0, 7, 7]);
  assert.deepEqual(counts([...one, ...on(dip(), 1), ...on(flat(), 2)]), [1, 1, 1]);
  // A machine that measured none of these commits says nothing.
  assert.deepEqual(counts([...one, ...on(flat(BEGIN))]), [1, 0, 0]);
  // Another time is another move.
  const elsewhere = several(5, dip({ begin: 20, end: 25 }), { machine: "n" });
  assert.deepEqual(counts([...one, ...elsewhere]), [2, 0, 0]);
});

test("sizes take no part, other rates do", () => {
  const value = { quantity: "value" };
  const sizes = several(9, flat(), { ...value, unit: "bytes", bigger: false });
  assert.deepEqual(counts([...several(5, dip()), ...sizes]), [1, 0, 0]);
  const rates = { ...value, unit: "ops/sec", bigger: true };
  assert.deepEqual(counts([...several(5, dip(), rates), ...sizes]), [1, 0, 0]);
  assert.deepEqual(counts([...several(5, dip()), ...several(9, flat(), rates)]), [0, 5, 5]);
});

test("the figure moves and the ratio does not: a change of the ratio stays", () => {
  const ratio = dip({ begin: 0, end: BEGIN + 1, to: 100, later: 70 });
  const all = [...several(5, dip(), { ratio: flat() }), seriesOf(dip(), { ratio })];
  const { moves, regressions, improvements } = judgeAll(all);
  assert.deepEqual(moves.map(({ measure }) => measure), ["figure"]);
  assert.deepEqual(regressions.map(({ series, measure, at }) => [series, measure, at]), [[5, "ratio", BEGIN + 1]]);
  assert.deepEqual(improvements, []);
  // Both measures, each by itself.
  assert.deepEqual(counts(several(5, dip(), { ratio: dip() })), [2, 0, 0]);
  // A figure that is no part of a move has its row, though the ratio beside it is.
  const stays = dip({ end: COUNT });
  const figures = judgeAll([...several(8, flat(), { ratio: dip() }), seriesOf(stays, { ratio: dip() })]);
  const [row, ...others] = figures.regressions;
  assert.deepEqual([row.series, row.measure, row.beside, row.alone, others], [8, "figure", true, false, []]);
  const only = judgeAll([seriesOf(stays, { ratio: flat() })]).regressions[0];
  assert.deepEqual([only.beside, only.alone], [false, true]);
});

test("in noise of 3 %: moves are found, and a change of half of the series is none", (t) => {
  let found = 0;
  let invented = 0;
  let left = 0;
  const tries = 5;
  for (let run = 1; run <= tries; ++run) {
    const noisy = (number, ratio) =>
      simulate({ shape: "normal", length: 36, seed: 100 * run + number }).map((value, index) =>
        index >= 15 && index < 23 ? value * ratio : value,
      );
    const all = Array.from({ length: 12 }, (_, number) => seriesOf(noisy(number, 0.85)));
    const { moves, regressions } = judgeAll(all);
    found += moves.length === 1;
    left += regressions.length;
    const half = Array.from({ length: 12 }, (_, number) => seriesOf(noisy(number, number % 2 ? 0.85 : 1)));
    invented += judgeAll(half).moves.length;
  }
  t.diagnostic(`${found} of ${tries} moves found, ${left} of ${12 * tries} changes left in the list`);
  assert.ok(found >= tries - 1);
  assert.ok(left <= 0.2 * 12 * tries);
  assert.equal(invented, 0);
});
