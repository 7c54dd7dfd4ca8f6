// The statistical method: what it finds, what it ignores, and that it gives the same answer twice.
// false_alarms.js measures at length how often it errs; here small numbers with wide bounds are
// enough to notice a change.
import assert from "node:assert/strict";
import { test } from "node:test";
import { changePoints, median } from "../src/change_points.js";
import { studentP } from "../src/student.js";
import { SHAPES, simulate } from "./noise.js";

const level = (value, count) => Array(count).fill(value);

test("median of odd and even counts", () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([10, 2, 4, 1]), 3);
});

test("Student's t test gives the p-values of printed tables", () => {
  // Two-sided 5 % points: t = 2.447 with 6, 2.365 with 7 degrees of freedom.
  const shifted = (values, by) => values.map((value) => value + by);
  for (const [left, right, t] of [
    [[1, 2, 3, 4], [1, 2, 3, 4], 2.447],
    [[1, 2, 3, 4, 5], [2, 3, 4, 5], 2.365],
  ]) {
    const mean = (values) => values.reduce((a, b) => a + b) / values.length;
    const squares = (values) => values.reduce((sum, v) => sum + (v - mean(values)) ** 2, 0);
    const degrees = left.length + right.length - 2;
    const variance =
      ((squares(left) + squares(right)) / degrees) * (1 / left.length + 1 / right.length);
    const moved = shifted(right, mean(left) - mean(right) + t * Math.sqrt(variance));
    assert.ok(Math.abs(studentP(left, moved) - 0.05) < 1e-4);
  }
  assert.equal(studentP([1, 1], [1, 1]), 1);
  assert.equal(studentP([1, 1, 1], [2, 2, 2]), 0);
});

test("nothing is found where there is nothing to find", () => {
  assert.deepEqual(changePoints([]), []);
  assert.deepEqual(changePoints([1]), []);
  assert.deepEqual(changePoints([1, 1, 1, 2, 2, 2]), []);
  assert.deepEqual(changePoints(level(5, 100)), []);
});

test("a clean step is found at its place, with its size, in short and long series", () => {
  for (const [before, after] of [
    [4, 4],
    [5, 30],
    [30, 5],
    [200, 100],
  ]) {
    const changes = changePoints([...level(200, before), ...level(180, after)]);
    assert.equal(changes.length, 1);
    const [change] = changes;
    assert.deepEqual([change.at, change.before, change.after], [before, 200, 180]);
    assert.equal(change.ratio, 0.9);
    assert.ok(change.p <= 0.002);
  }
});

test("a step below the least effect is ignored", () => {
  assert.deepEqual(changePoints([...level(100, 20), ...level(98, 20)]), []);
  assert.equal(changePoints([...level(100, 20), ...level(96, 20)]).length, 1);
});

test("a change that is undone later is found, both ways", () => {
  const values = simulate({ shape: "normal", length: 46, seed: 3, deviation: 0.02 });
  const bump = values.map((value, index) => (index >= 20 && index < 28 ? 0.85 * value : value));
  const found = changePoints(bump);
  assert.equal(found.length, 2);
  assert.ok(Math.abs(found[0].at - 20) <= 1 && found[0].ratio < 0.9);
  assert.ok(Math.abs(found[1].at - 28) <= 1 && found[1].ratio > 1.1);
});

test("several steps are found", () => {
  const values = simulate({ shape: "normal", length: 60, seed: 5, deviation: 0.02 });
  const stairs = values.map((value, index) => value * [1, 0.85, 0.7][Math.floor(index / 20)]);
  assert.equal(changePoints(stairs).length, 2);
});

test("one outlier is not a change", () => {
  const values = level(100, 30).map((value, index) => value + (index % 5));
  values[20] = 10;
  assert.deepEqual(changePoints(values), []);
});

test("a young change is blamed on its own commit, or is not known yet", (t) => {
  const places = { early: 0, right: 0, late: 0 };
  for (const shape of ["normal", "heavy", "spikes"]) {
    for (const ratio of [0.7, 1.2, 2]) {
      for (const young of [1, 2, 3, 4]) {
        for (let seed = 1; seed <= 12; ++seed) {
          const change = { at: 20, ratio };
          const values = simulate({ shape, length: 20 + young, seed, change, deviation: 0.02 });
          const at =
            changePoints(values).find((found) => ratio < 1 === found.ratio < 1)?.at ?? null;
          if (at !== null) ++places[at < 20 ? "early" : at > 20 ? "late" : "right"];
          if (young < 3) assert.notEqual(at, 20); // fewer than three points are not known
        }
      }
    }
  }
  t.diagnostic(JSON.stringify(places));
  assert.ok(places.right > 100);
  assert.ok(places.early + places.late <= 0.02 * places.right);
});

test("the same at the other end, and between two changes", () => {
  for (const [before, after] of [
    [3, 20],
    [20, 3],
  ]) {
    for (let seed = 1; seed <= 40; ++seed) {
      const change = { at: before, ratio: 0.7 };
      const values = simulate({ shape: "normal", length: before + after, seed, change });
      for (const { at } of changePoints(values)) assert.equal(at, before, `seed ${seed}`);
    }
  }
  const stairs = [...level(100, 8), ...level(130, 8), ...level(110, 8)];
  assert.deepEqual(
    changePoints(stairs).map(({ at, before, after }) => [at, before, after]),
    [
      [8, 100, 130],
      [16, 130, 110],
    ],
  );
});

test("the answer is the same each time", () => {
  const values = simulate({
    shape: "heavy",
    length: 40,
    seed: 9,
    change: { at: 25, ratio: 0.9 },
  });
  assert.deepEqual(changePoints(values), changePoints(values));
  assert.equal(changePoints(values).length, 1);
});

test("hardly any of 1000 flat noisy series is marked", (t) => {
  let marked = 0;
  let tried = 0;
  for (const shape of SHAPES.filter((name) => name !== "correlated")) {
    for (let seed = 1; seed <= 334; ++seed) {
      const length = 10 + (seed % 51);
      marked += changePoints(simulate({ shape, length, seed })).length > 0;
      ++tried;
    }
  }
  t.diagnostic(`${marked} of ${tried} marked`);
  // 0.18 % were, of 24000.
  assert.ok(marked / tried <= 0.01);
});

test("a slowdown of 10 % in noise of 3 % is marked", (t) => {
  let found = 0;
  const tries = 100;
  for (let seed = 1; seed <= tries; ++seed) {
    const change = { at: 30, ratio: 0.9 };
    const changes = changePoints(simulate({ shape: "heavy", length: 36, seed, change }));
    found += changes.some(({ at, ratio }) => ratio < 1 && Math.abs(at - 30) <= 2);
  }
  t.diagnostic(`${found} of ${tries} found`);
  assert.ok(found / tries >= 0.93);
});
