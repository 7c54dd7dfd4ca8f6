// From runs to series: one for each benchmark on each machine, its points in the order of commits.
//
// A point is everything that was measured at one commit: repetitions from several files are
// combined. It has up to two measures, { mid, low, high }:
//
//   ratio   the counter of_ceiling, a share of what the machine can do at best
//   figure  items_per_second, else bytes_per_second, else the time: the first that the newest
//           point has. Times are nanoseconds of the clock that the benchmark asked for.
//
// `mid` is the median of the repetitions, `low` and `high` are their minimum and maximum. If a file
// has aggregates only, `mid` is their median, else their mean, and `low` and `high` are one
// standard deviation away. A measure that is not a positive number is null.
import { median } from "./change_points.js";
import { aggregateOf, commitOf, machineLabels, parseName, programOf } from "./names.js";
import { compareTexts } from "./read.js";

const NANOSECONDS = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };
const FIGURES = ["items_per_second", "bytes_per_second", "time"];

function measured(entry, quantity, wallClock) {
  if (quantity !== "time") return entry[quantity];
  return entry[wallClock ? "real_time" : "cpu_time"] * (NANOSECONDS[entry.time_unit] ?? NaN);
}

function isPositive(value) {
  return typeof value === "number" && Number.isFinite(value) && value > 0;
}

// One quantity of a point from its entries; null when they do not have it.
function measure(entries, quantity, wallClock) {
  const valuesOf = (...kinds) =>
    entries
      .filter((entry) => kinds.includes(aggregateOf(entry)))
      .map((entry) => measured(entry, quantity, wallClock))
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

// What the runs measured, in the order of time. Those without a time come first, by name.
function commitsOf(runs) {
  const commits = new Map();
  for (const commit of runs.map(commitOf)) {
    const known = commits.get(commit.id) ?? commit;
    const time = earlier(known.time, commit.time);
    commits.set(commit.id, { ...known, title: known.title || commit.title, time });
  }
  const timeOf = ({ time }) => time ?? Number.MIN_SAFE_INTEGER;
  return [...commits.values()].sort((a, b) => timeOf(a) - timeOf(b) || compareTexts(a.id, b.id));
}

// Puts the entries of all runs into series; `points` maps the index of a commit to its entries.
function collect(runs, commits) {
  const machines = machineLabels(runs);
  const indices = new Map(commits.map(({ id }, index) => [id, index]));
  const collected = new Map();
  runs.forEach((run, file) => {
    const commit = indices.get(commitOf(run).id);
    const machine = machines[file];
    const program = programOf(run);
    for (const entry of run.entries) {
      const parsed = parseName(entry);
      const id = JSON.stringify([parsed.name, machine, program]);
      if (!collected.has(id)) collected.set(id, { ...parsed, machine, program, points: new Map() });
      const { points } = collected.get(id);
      if (!points.has(commit)) points.set(commit, []);
      points.get(commit).push({ entry, file });
    }
  });
  return [...collected.values()];
}

function finish({ points, wallClock, ...rest }) {
  const ordered = [...points].sort(([a], [b]) => a - b);
  const entries = ordered.map(([, found]) => found.map(({ entry }) => entry));
  const measures = (quantity) => entries.map((list) => measure(list, quantity, wallClock));
  const ratios = measures("of_ceiling");
  const quantity = FIGURES.find((name) => measures(name).at(-1)) ?? "time";
  const figures = measures(quantity);
  const columns = columnsOf(entries.flat());
  return {
    ...rest,
    quantity,
    columns,
    points: ordered.map(([commit, found], index) => ({
      commit,
      ratio: ratios[index],
      figure: figures[index],
      rows: found.map((one) => rowOf(one, columns)),
    })),
  };
}

// { commits, series }: the series in the order of their names. The name contains the program only
// if two programs have benchmarks of the same name. A point gives its commit as an index.
export function seriesOf(runs) {
  const commits = commitsOf(runs);
  const all = collect(runs, commits).map(finish);
  const programs = new Map();
  for (const { name, program } of all) {
    if (!programs.has(name)) programs.set(name, new Set());
    programs.get(name).add(program);
  }
  for (const one of all) {
    if (programs.get(one.name).size > 1) one.name += ` [${one.program || "unknown program"}]`;
  }
  const series = all
    .filter(({ points }) => points.some(({ ratio, figure }) => ratio || figure))
    .sort((a, b) => compareTexts(a.name, b.name) || compareTexts(a.machine, b.machine));
  return { commits, series };
}
