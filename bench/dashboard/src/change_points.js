// Where a noisy series changes its level: E-divisive with a permutation test.
//
// Source: Matteson and James, "A Nonparametric Approach for Multiple Change Point Analysis of
// Multivariate Data", Journal of the American Statistical Association 109 (2014). The same method
// finds performance changes at MongoDB (Daly et al., ICPE 2020) and, with Student's t test in the
// place of permutations, in Hunter (Fleming et al., ICPE 2023).
//
// 1. Values become logarithms, so that a change is a ratio. Values more than CLIP robust standard
//    deviations from the median are moved to that limit, so that one outlier cannot make a change.
// 2. In a stretch of the series, all cuts that leave MIN_POINTS on both sides are tried. The best
//    cut is the one where the energy distance of the two sides, weighted by their sizes, is
//    largest. The distance compares whole distributions through |x - y|, whatever their shape.
// 3. The largest distance is then computed for random orders of the same values. The cut counts
//    when at most a share of SIGNIFICANCE of the orders reach its distance. That bounds false
//    alarms for noise of any shape, as long as neighboring points do not depend on each other. The
//    trial stops early when too many orders have reached it (Besag and Clifford 1991).
//    Fewer than FEW_POINTS have too few orders for that: there Student's t test decides, its
//    p-value multiplied by the number of cuts tried (Bonferroni).
// 4. When no cut counts, a change that was undone later is looked for: the right side may end
//    before the stretch does, and the limit is half of SIGNIFICANCE.
// 5. Both sides of a cut are searched in the same way.
// 6. Finally each cut is judged again between its neighbors only. If it is not significant there,
//    or changes the median by less than MIN_EFFECT, it is dropped, the smallest first.
// 7. What remains is placed: of the cuts at most MIN_POINTS away, the one with the least sum of
//    distances from the medians of its sides. That is where the change most likely is if the noise is
//    Laplace's, which has far outliers. The energy distance, on clipped values and at least MIN_POINTS
//    from the end, prefers a side that is too large when a change is young. A change that has less
//    than LEAST_SIDE points on a side then is not known yet.
//
// The random orders are the same in every run. test/false_alarms.js measures how often a flat
// series is cut and how often a real change is found.
//
// Not here: which direction is worse (judge.js).
import { randomNumbers, shuffle } from "./random.js";
import { studentP } from "./student.js";

export const MIN_POINTS = 4;
export const LEAST_SIDE = 3;
export const MIN_EFFECT = 0.03;
export const SIGNIFICANCE = 0.002;
const FEW_POINTS = 16;
const ORDERS = 1999;
const CLIP = 3;
const SEED = 20140101;
// The cost of a search grows with the square of the points; older points are not searched.
const MAX_POINTS = 400;

export function median(values) {
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

function clippedLogs(values) {
  const logs = Float64Array.from(values, Math.log);
  const middle = median(logs);
  // 1.4826 makes the median deviation of normal noise its standard deviation.
  const reach = CLIP * 1.4826 * median(logs.map((log) => Math.abs(log - middle)));
  if (reach === 0) return logs;
  return logs.map((log) => Math.min(Math.max(log, middle - reach), middle + reach));
}

// The cut with the largest weighted energy distance: { cut, distance }. `sums` is memory for
// (size + 1)^2 numbers; its first row and column stay 0.
function bestCut(logs, sums, takenBack) {
  const size = logs.length;
  const row = size + 1;
  // sums[i * row + j]: distances of the first i values to the first j.
  for (let i = 0; i < size; ++i) {
    const log = logs[i];
    const above = i * row + 1;
    const here = above + row;
    let running = 0;
    for (let j = 0; j < size; ++j) {
      running += Math.abs(log - logs[j]);
      sums[here + j] = sums[above + j] + running;
    }
  }
  let distance = -Infinity;
  let cut = 0;
  for (let left = MIN_POINTS; left + MIN_POINTS <= size; ++left) {
    // The square of one side contains each pair twice.
    const inLeft = sums[left * row + left];
    const meanInLeft = inLeft / (left * (left - 1));
    for (let end = takenBack ? left + MIN_POINTS : size; end <= size; ++end) {
      const right = end - left;
      const between = sums[left * row + end] - inLeft;
      const inRight = sums[end * row + end] - inLeft - 2 * between;
      const energy = (2 * between) / (left * right) - meanInLeft - inRight / (right * (right - 1));
      const weighted = ((left * right) / end) * energy;
      if (weighted > distance) {
        distance = weighted;
        cut = left;
      }
    }
  }
  return { cut, distance };
}

// The share of random orders of the values in which some cut is at least that distant; null when
// it is more than `level`.
function shareOfOrders(logs, distance, takenBack, level) {
  const shuffled = logs.slice();
  const sums = new Float64Array((logs.length + 1) ** 2);
  // Rounding must not make equal distances look different.
  const reached = distance * (1 - 1e-9);
  const allowed = Math.floor(level * (ORDERS + 1)) - 1;
  const random = randomNumbers(SEED);
  let count = 0;
  for (let tried = 0; tried < ORDERS; ++tried) {
    shuffle(shuffled, random);
    if (bestCut(shuffled, sums, takenBack).distance >= reached && ++count > allowed) return null;
  }
  return (count + 1) / (ORDERS + 1);
}

// The best cut of some values and its p-value; null when it is not significant.
function significantCut(values, takenBack) {
  const size = values.length;
  if (size < 2 * MIN_POINTS) return null;
  const logs = clippedLogs(values);
  const { cut, distance } = bestCut(logs, new Float64Array((size + 1) ** 2), takenBack);
  if (!(distance > 0)) return null;
  if (size < FEW_POINTS) {
    const tried = size - 2 * MIN_POINTS + 1;
    const p = tried * studentP(logs.slice(0, cut), logs.slice(cut));
    return !takenBack && p <= SIGNIFICANCE ? { cut, p } : null;
  }
  const level = takenBack ? SIGNIFICANCE / 2 : SIGNIFICANCE;
  const p = shareOfOrders(logs, distance, takenBack, level);
  return p === null ? null : { cut, p };
}

function cutsBetween(values, begin, end) {
  const stretch = values.slice(begin, end);
  const found = significantCut(stretch, false) ?? significantCut(stretch, true);
  if (!found) return [];
  const at = begin + found.cut;
  return [...cutsBetween(values, begin, at), at, ...cutsBetween(values, at, end)];
}

// How much a cut changes, judged by the points between its neighbors.
function changeAt(values, begin, at, end) {
  const ratio = median(values.slice(at, end)) / median(values.slice(begin, at));
  const p = significantCut(values.slice(begin, end), false)?.p;
  return { at, p, effect: Math.abs(Math.log(ratio)) };
}

function tooWeak({ p, effect }) {
  return p === undefined || effect < Math.log1p(MIN_EFFECT);
}

// The sum of distances of some logarithms from their median.
function spread(logs) {
  const middle = median(logs);
  return logs.reduce((sum, log) => sum + Math.abs(log - middle), 0);
}

// The most likely place of a change between its neighbors, near the cut that was found.
function placed(values, begin, found, end) {
  const logs = Float64Array.from(values.slice(begin, end), Math.log);
  const cost = (at) => spread(logs.slice(0, at - begin)) + spread(logs.slice(at - begin));
  let best = found;
  let least = cost(found) * (1 - 1e-9);
  const last = Math.min(found + MIN_POINTS, end - 1);
  for (let at = Math.max(found - MIN_POINTS, begin + 1); at <= last; ++at) {
    const sum = cost(at);
    if (sum < least) [best, least] = [at, sum];
  }
  return best;
}

// Moves the changes to their places; those that are not known yet go.
function placeAll(values, changes, first) {
  const known = [];
  changes.forEach(({ at: found, p }, index) => {
    const begin = known.at(-1)?.at ?? first;
    const end = changes[index + 1]?.at ?? values.length;
    const at = placed(values, begin, found, end);
    if (Math.min(at - begin, end - at) < LEAST_SIDE) return;
    const before = median(values.slice(begin, at));
    const after = median(values.slice(at, end));
    known.push({ at, before, after, ratio: after / before, p });
  });
  return known;
}

// The change points of positive values in the order of their commits: a list of
// { at, before, after, ratio, p }. `at` is the index of the first point on the new level; `before`
// and `after` are medians of the stretches beside it, and `ratio` is their quotient.
export function changePoints(values) {
  const first = Math.max(0, values.length - MAX_POINTS);
  let cuts = cutsBetween(values, first, values.length);
  for (;;) {
    const changes = cuts.map((at, index) =>
      changeAt(values, cuts[index - 1] ?? first, at, cuts[index + 1] ?? values.length),
    );
    const weak = changes.filter(tooWeak);
    if (!weak.length) return placeAll(values, changes, first);
    const weakest = weak.reduce((a, b) => (b.effect < a.effect ? b : a));
    cuts = cuts.filter((at) => at !== weakest.at);
  }
}
