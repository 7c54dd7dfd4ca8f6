// Judging: which changes are regressions, which belong together, and in which order they are shown.
import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeAll } from "../src/judge.js";

// A series whose measures have the given levels, twelve points each.
const COUNT = 12;
function seriesWith({ ratio, figure, quantity = "items_per_second" }) {
  const values = (levels) => levels?.flatMap((level) => Array(COUNT).fill(level));
  const ratios = values(ratio);
  const figures = values(figure);
  const at = (list, index) =>
    list ? { mid: list[index], low: list[index], high: list[index] } : null;
  return {
    name: "a",
    quantity,
    points: (ratios ?? figures).map((_, index) => ({
      commit: index,
      ratio: at(ratios, index),
      figure: at(figures, index),
    })),
  };
}

const SUMMARY = ["series", "measure", "at", "recovered", "alone"];
const summary = (row) => SUMMARY.map((key) => row[key]);
const each = (key, list) => list.map((one) => one[key]);

test("a ratio or a rate that falls is a regression, one that rises is not", () => {
  const { regressions, improvements } = judgeAll([
    seriesWith({ figure: [100, 80] }),
    seriesWith({ figure: [100, 120] }),
  ]);
  assert.deepEqual(regressions.map(summary), [[0, "figure", 12, false, false]]);
  assert.deepEqual(improvements.map(summary), [[1, "figure", 12, false, false]]);
});

test("a time that rises is a regression", () => {
  const { regressions, improvements } = judgeAll([
    seriesWith({ figure: [100, 120], quantity: "time" }),
    seriesWith({ figure: [100, 80], quantity: "time" }),
  ]);
  assert.deepEqual(each("series", regressions), [0]);
  assert.deepEqual(each("series", improvements), [1]);
});

test("ratio and absolute figure at one place are one row", () => {
  const { regressions } = judgeAll([seriesWith({ ratio: [0.5, 0.4], figure: [100, 75] })]);
  assert.equal(regressions.length, 1);
  assert.equal(regressions[0].measure, "ratio");
  assert.equal(regressions[0].twin, 0.75);
});

test("an absolute figure that changes alone says so", () => {
  const { regressions } = judgeAll([seriesWith({ ratio: [0.5, 0.5], figure: [100, 80] })]);
  assert.deepEqual(regressions.map(summary), [[0, "figure", 12, false, true]]);
});

test("a regression is recovered when the newest level is back", () => {
  const { regressions } = judgeAll([
    seriesWith({ ratio: [0.5, 0.4, 0.5] }),
    seriesWith({ ratio: [0.5, 0.4, 0.45] }),
    seriesWith({ figure: [100, 120, 101], quantity: "time" }),
  ]);
  assert.deepEqual(
    regressions.map(({ series, recovered }) => [series, recovered]),
    [
      [1, false],
      [0, true],
      [2, true],
    ],
  );
});

test("newest first, then largest", () => {
  const late = seriesWith({ figure: [100, 100, 95] });
  const small = seriesWith({ figure: [100, 90] });
  const large = seriesWith({ figure: [100, 50] });
  const { regressions } = judgeAll([small, large, late]);
  assert.deepEqual(each("series", regressions), [2, 1, 0]);
});

test("points without the measure are skipped", () => {
  const series = seriesWith({ ratio: [0.5, 0.4] });
  series.points[3].ratio = null;
  const { regressions } = judgeAll([series]);
  assert.deepEqual(each("at", regressions), [12]);
});

test("a value is judged by its own direction; a change names the levels and the point before", () => {
  for (const bigger of [true, false]) {
    const series = { ...seriesWith({ figure: [100, 80], quantity: "value" }), bigger };
    const { regressions, improvements } = judgeAll([series]);
    const [rows, others] = bigger ? [regressions, improvements] : [improvements, regressions];
    assert.deepEqual([rows.length, others.length, series.judged], [1, 0, true]);
    const [{ at, last, before, after }] = rows;
    assert.deepEqual([at, last, before, after], [12, 11, 100, 80]);
  }
});

test("a series is judged when one of its measures has eight points", () => {
  for (const [ratios, figures, judged] of [
    [8, 8, true],
    [7, 8, true],
    [8, 0, true],
    [7, 7, false],
    [0, 7, false],
  ]) {
    const series = seriesWith({ ratio: [1], figure: [1] });
    series.points.forEach((point, index) => {
      if (index >= ratios) point.ratio = null;
      if (index >= figures) point.figure = null;
    });
    judgeAll([series]);
    assert.equal(series.judged, judged);
  }
});
