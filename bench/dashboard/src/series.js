// From runs to series: one for each benchmark on each machine, its points in the order of commits.
//
// A point is everything that was measured at one commit: repetitions from several files are
// combined. It has up to two measures, { mid, low, high }:
//
//   ratio   the counter of_ceiling, a share of what the machine can do at best
//   figure  of these the one that the most points have, the first of several: items_per_second,
//           bytes_per_second, value (formats.js), the time. So a counter that is added later does not
//           erase what came before it. Times are nanoseconds of the clock that the benchmark asked
//           for, or of the other one if more points have that.
//
// `mid` is the median of the repetitions, `low` and `high` are their minimum and maximum. If a file
// has aggregates only, `mid` is their median, else their mean, and `low` and `high` are one
// standard deviation away. A measure that is not a positive number is null. A point that has none
// is named in `problems`.
import { median } from "./change_points.js";
import { NANOSECONDS } from "./formats.js";
import { machineLabels } from "./machines.js";
import {
  aggregateOf,
  commitOf,
  compareTexts,
  parseName,
  problemsWithDates,
  programOf,
} from "./names.js";

const CLOCKS = ["cpu_time", "real_time"];

function fieldsOf(wallClock) {
  const clocks = wallClock ? [...CLOCKS].reverse() : CLOCKS;
  return ["items_per_second", "bytes_per_second", "value", ...clocks];
}

function measured(entry, field) {
  if (!CLOCKS.includes(field)) return entry[field];
  return entry[field] * (NANOSECONDS[entry.time_unit ?? "ns"] ?? NaN);
}

function isPositive(value) {
  return typeof value === "number" && Number.isFinite(value) && value > 0;
}

// One field of a point from its entries; null when they do not have it.
function measure(entries, field) {
  const valuesOf = (...kinds) =>
    entries
      .filter((entry) => kinds.includes(aggregateOf(entry)))
      .map((entry) => measured(entry, field))
      .filter(isPositive);
  const repetitions = valuesOf("");
  if (repetitions.length) {
    const low = repetitions.reduce((a, b) => Math.min(a, b));
    const high = repetitions.reduce((a, b) => Math.max(a, b));
    return { mid: median(repetitions), low, high };
  }
  const medians = valuesOf("median");
  const middles = medians.length ? medians : valuesOf("mean");
  if (!middles.length) return null;
  const mid = median(middles);
  const deviations = valuesOf("stddev");
  const deviation = deviations.length ? median(deviations) : 0;
  return { mid, low: Math.max(mid - deviation, 0), high: mid + deviation };
}

// Keys of an entry that are not measurements.
const NOT_MEASURED = new Set([
  "family_index",
  "per_family_instance_index",
  "repetition_index",
  "repetitions",
  "threads",
]);

// Whether more is better.
export function isBiggerBetter({ quantity, bigger }, measure) {
  if (measure === "ratio") return true;
  return quantity === "value" ? bigger : quantity !== "time";
}

// The keys for which any of the entries has a number.
function columnsOf(entries) {
  const names = new Set();
  for (const entry of entries) {
    for (const [name, value] of Object.entries(entry)) {
      if (typeof value === "number" && !NOT_MEASURED.has(name)) names.add(name);
    }
  }
  return [...names];
}

// An entry as a row: the index of its file, its aggregate, its time unit, its numbers.
function rowOf({ entry, file }, columns) {
  const numbers = columns.map((name) => (typeof entry[name] === "number" ? entry[name] : null));
  const unit = typeof entry.time_unit === "string" ? entry.time_unit : "";
  return [file, aggregateOf(entry), unit, ...numbers];
}

function earlier(a, b) {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}

// What the runs measured, in the order of time; equal times in the order in which they were measured.
// Those without a time come first, by name.
function commitsOf(runs) {
  const commits = new Map();
  for (const commit of runs.map(commitOf)) {
    const known = commits.get(commit.id) ?? commit;
    const time = earlier(known.time, commit.time);
    const measured = earlier(known.measured, commit.measured);
    commits.set(commit.id, { ...known, title: known.title || commit.title, time, measured });
  }
  const first = Number.MIN_SAFE_INTEGER;
  return [...commits.values()].sort(
    (a, b) =>
      (a.time ?? first) - (b.time ?? first) ||
      (a.measured ?? first) - (b.measured ?? first) ||
      compareTexts(a.id, b.id),
  );
}

// Puts the entries of all runs into series; `points` maps the index of a commit to its entries. A
// value in another unit is another series.
function collect(runs, commits, options) {
  const machines = machineLabels(runs, options);
  const indices = new Map(commits.map(({ id }, index) => [id, index]));
  const collected = new Map();
  runs.forEach((run, file) => {
    const commit = indices.get(commitOf(run).id);
    const machine = machines[file];
    const program = programOf(run);
    for (const entry of run.entries) {
      const parsed = parseName(entry);
      const unit = "value" in entry && typeof entry.unit === "string" ? entry.unit : "";
      const id = JSON.stringify([parsed.name, machine, program, unit]);
      if (!collected.has(id)) {
        const bigger = entry.bigger_is_better === true;
        collected.set(id, { ...parsed, machine, program, unit, bigger, points: new Map() });
      }
      const { points } = collected.get(id);
      if (!points.has(commit)) points.set(commit, []);
      points.get(commit).push({ entry, file });
    }
  });
  return [...collected.values()];
}

// The field that most points have, and its measures.
function figureOf(entries, wallClock) {
  let best = null;
  for (const field of fieldsOf(wallClock)) {
    const figures = entries.map((list) => measure(list, field));
    const count = figures.filter(Boolean).length;
    if (!best || count > best.count) best = { field, figures, count };
  }
  return best;
}

function finish({ points, wallClock, ...rest }) {
  const ordered = [...points].sort(([a], [b]) => a - b);
  const entries = ordered.map(([, found]) => found.map(({ entry }) => entry));
  const ratios = entries.map((list) => measure(list, "of_ceiling"));
  const { field, figures } = figureOf(entries, wallClock);
  const columns = columnsOf(entries.flat());
  return {
    ...rest,
    field,
    quantity: CLOCKS.includes(field) ? "time" : field,
    columns,
    points: ordered.map(([commit, found], index) => ({
      commit,
      ratio: ratios[index],
      figure: figures[index],
      rows: found.map((one) => rowOf(one, columns)),
    })),
  };
}

// What cannot be seen on the page.
function problemsOf({ name, field, points }, runs) {
  const shown = points.some(({ ratio, figure }) => ratio || figure);
  const message = shown ? `has no ${field}, as its other points have` : "has no positive number";
  return points
    .filter(({ ratio, figure }) => !ratio && !figure)
    .flatMap(({ rows }) => [...new Set(rows.map(([file]) => runs[file].file))])
    .map((file) => ({ file, message: `${name} is not shown: it ${message}` }));
}

// { commits, series, problems }: the series in the order of their names. The name contains the program
// only if two programs have benchmarks of the same name, and the unit of a value if there are several.
// A point gives its commit as an index. Options: those of machines.js.
export function seriesOf(runs, options) {
  const commits = commitsOf(runs);
  const all = collect(runs, commits, options).map(finish);
  const problems = [
    ...problemsWithDates(runs, commits),
    ...all.flatMap((one) => problemsOf(one, runs)),
  ];
  const variants = (key) => {
    const found = new Map();
    for (const one of all) found.set(one.name, (found.get(one.name) ?? new Set()).add(one[key]));
    return found;
  };
  const [programs, units] = [variants("program"), variants("unit")];
  for (const one of all) {
    const several = [programs, units].map((found) => found.get(one.name).size > 1);
    if (several[0]) one.name += ` [${one.program || "unknown program"}]`;
    if (several[1] && one.unit) one.name += ` (${one.unit})`;
  }
  const series = all
    .filter(({ points }) => points.some(({ ratio, figure }) => ratio || figure))
    .sort((a, b) => compareTexts(a.name, b.name) || compareTexts(a.machine, b.machine));
  return { commits, series, problems };
}
