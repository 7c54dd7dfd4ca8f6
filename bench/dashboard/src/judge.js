// Which change points are regressions, and in which order they are shown.
//
// A change is a regression when it is for the worse: rates and ratios down, times up. The ratio to
// the ceiling is more reliable, because what slows down the whole machine slows down the ceiling
// too. A change of the absolute figure near a change of the ratio (within NEAR points, in the same
// direction) is shown in the same row. Otherwise it has its own row, which says so.
//
// Changes with which the machine moved and came back (machine_moves.js) are neither regressions nor
// improvements. Where only the ratio did, the row of the absolute figure says so (`beside`).
import { changePoints, MIN_EFFECT, MIN_POINTS } from "./change_points.js";
import { machineMoves, NEAR } from "./machine_moves.js";
import { isBiggerBetter } from "./series.js";

// The fewest points in which a change can be found.
export const NEEDED_POINTS = 2 * MIN_POINTS;

// The indices of the points that have a measure.
function presentIn({ points }, measure) {
  return [...points.keys()].filter((index) => points[index][measure]);
}

function isJudged(series) {
  return ["ratio", "figure"].some((of) => presentIn(series, of).length >= NEEDED_POINTS);
}

// The change points of one measure of a series, as indices of its points; `last` is the last point
// before the change.
function changesOf(series, measure) {
  const present = presentIn(series, measure);
  const changes = changePoints(present.map((index) => series.points[index][measure].mid));
  return changes.map((change) => ({
    ...change,
    at: present[change.at],
    last: present[change.at - 1],
    worse: isBiggerBetter(series, measure) ? change.ratio < 1 : change.ratio > 1,
  }));
}

// Whether the newest level is back where it was before a regression, or on its better side.
function isRecovered(change, changes) {
  const now = changes.at(-1).after;
  const lost = change.ratio < 1 ? change.before / now : now / change.before;
  return change !== changes.at(-1) && lost < 1 + MIN_EFFECT;
}

// The rows of a series for the lists.
function rowsOfSeries(series, number) {
  const { changes } = series;
  const hasRatio = series.points.some(({ ratio }) => ratio);
  const ownOf = (measure) => changes[measure].filter(({ moved }) => !moved);
  const twinOf = (change, others) =>
    others.find(({ at, worse }) => worse === change.worse && Math.abs(at - change.at) <= NEAR);
  const rowsOf = (measure) =>
    ownOf(measure).map((change) => ({
      series: number,
      measure,
      at: change.at,
      last: change.last,
      before: change.before,
      after: change.after,
      ratio: change.ratio,
      p: change.p,
      worse: change.worse,
      recovered: change.worse && isRecovered(change, changes[measure]),
      twin: measure === "ratio" ? (twinOf(change, changes.figure)?.ratio ?? null) : null,
      alone: hasRatio && measure === "figure" && !twinOf(change, changes.ratio),
      beside: measure === "figure" && Boolean(twinOf(change, changes.ratio)),
      change,
    }));
  const figures = rowsOf("figure").filter(({ change }) => !twinOf(change, ownOf("ratio")));
  return [...rowsOf("ratio"), ...figures].map(({ change, ...row }) => row);
}

// Judges all series: { regressions, improvements, moves }, the first two in the order: not recovered, newest
// commit, largest change. Adds `judged` to each series, whether a measure has enough points, and `changes`,
// { ratio, figure }.
export function judgeAll(all) {
  for (const series of all) {
    series.judged = isJudged(series);
    series.changes = { ratio: changesOf(series, "ratio"), figure: changesOf(series, "figure") };
  }
  const moves = machineMoves(all);
  const rows = all.flatMap(rowsOfSeries);
  const commit = ({ series, at }) => all[series].points[at].commit;
  const size = ({ ratio }) => Math.abs(Math.log(ratio));
  rows.sort(
    (a, b) =>
      a.recovered - b.recovered ||
      commit(b) - commit(a) ||
      size(b) - size(a) ||
      a.series - b.series,
  );
  return {
    regressions: rows.filter(({ worse }) => worse),
    improvements: rows.filter(({ worse }) => !worse),
    moves,
  };
}
