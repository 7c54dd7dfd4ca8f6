// What the texts in a file mean: the name of a benchmark, the machine, the commit.

import { compareTexts } from "./read.js";

// Parts of a name that say how long it was run: changing them does not start a new series.
const RUN_SETTINGS = /^(repeats|iterations|min_time|min_warmup_time):/;
const AGGREGATE_SUFFIX = /_(mean|median|stddev|cv)$/;

// { name, keys, wallClock }: the name of the series, its parts of the form key:value, and whether
// the benchmark uses the wall clock.
export function parseName(entry) {
  const full = entry.run_name ?? entry.name.replace(AGGREGATE_SUFFIX, "");
  const parts = full.split("/");
  const kept = parts.filter((part) => !RUN_SETTINGS.test(part));
  const keys = {};
  for (const part of kept) {
    const match = /^([A-Za-z_][\w.-]*):([^:]+)$/.exec(part);
    if (match) keys[match[1]] = match[2];
  }
  return {
    name: kept.join("/") || full,
    keys,
    wallClock: parts.includes("real_time") || parts.includes("manual_time"),
  };
}

// A number of the form 8, 2.5k, 256KiB; or NaN.
function numberOf(value) {
  const match = /^(\d+(?:\.\d+)?)([kKMGT]?)(i?)B?$/.exec(value);
  if (!match) return NaN;
  const power = "KMGT".indexOf(match[2].toUpperCase() || "-") + 1;
  return Number(match[1]) * (match[3] ? 1024 : 1000) ** power;
}

// The order of the values of a key: numbers by size, then texts.
export function compareValues(a, b) {
  const [x, y] = [numberOf(a), numberOf(b)];
  if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
  return x - y || compareTexts(a, b);
}

// The kind of aggregate of an entry; "" for a single measurement.
export function aggregateOf(entry) {
  if (typeof entry.aggregate_name === "string") return entry.aggregate_name;
  if (entry.run_type !== undefined) return "";
  return AGGREGATE_SUFFIX.exec(entry.name ?? "")?.[1] ?? "";
}

function text(value) {
  return typeof value === "string" || typeof value === "number" ? String(value).trim() : "";
}

function time(value) {
  const parsed = Date.parse(text(value));
  return Number.isNaN(parsed) ? null : parsed;
}

// What a run measures: { id, label, title, time }. It is the commit, or the file if the context
// names no commit.
export function commitOf(run) {
  const commit = text(run.context.commit);
  const known = commit !== "" && commit.toLowerCase() !== "unknown";
  const measured = time(run.context.date);
  return {
    id: known ? commit : run.file,
    isCommit: known,
    label: known
      ? shortCommit(commit)
      : run.file
          .split("/")
          .at(-1)
          .replace(/\.json$/i, ""),
    title: known ? text(run.context.commit_title) : "",
    time: known ? (time(run.context.commit_date) ?? measured) : measured,
  };
}

function shortCommit(commit) {
  return commit.replace(/^([0-9a-f]{9})[0-9a-f]{3,}/i, "$1");
}

// What must be the same in all points of a series, besides the name of the machine.
const MACHINE_TRAITS = {
  cpu: (value) => value,
  num_cpus: (value) => `${value} CPUs`,
  target: (value) => value,
  page_size: (value) => `pages ${value}`,
  library_build_type: (value) => `${value} library`,
};

// For each run the label of its machine. Runs that name the same machine but differ in a trait get
// different labels, so that their points never meet in one series.
export function machineLabels(runs) {
  const traits = runs.map(({ context }) =>
    Object.keys(MACHINE_TRAITS).map((trait) => text(context[trait])),
  );
  const bases = runs.map(({ context }) => {
    if (text(context.machine)) return text(context.machine);
    const host = text(context.cpu) || text(context.host_name);
    const cpus = text(context.num_cpus);
    return [host || "unknown machine", cpus && `${cpus} CPUs`].filter(Boolean).join(", ");
  });
  const seen = new Map();
  bases.forEach((base, run) => {
    if (!seen.has(base))
      seen.set(
        base,
        traits[run].map(() => new Set()),
      );
    traits[run].forEach((value, trait) => seen.get(base)[trait].add(value));
  });
  const formats = Object.values(MACHINE_TRAITS);
  return bases.map((base, run) => {
    const differing = traits[run]
      .map((value, trait) => (seen.get(base)[trait].size > 1 ? [value, formats[trait]] : null))
      .filter(Boolean)
      .map(([value, format]) => (value ? format(value) : "unknown"));
    return differing.length ? `${base} (${differing.join(", ")})` : base;
  });
}

// The name of the benchmark program, without its folder.
export function programOf(run) {
  return text(run.context.executable)
    .split(/[\\/]/)
    .at(-1)
    .replace(/\.exe$/i, "");
}
