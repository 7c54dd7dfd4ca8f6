// The program behind scripts/dashboard: reads the folder, judges the series, writes the page.
//
// Exit status: 0, also when some files could not be read; 1 when none could, or the page cannot be
// written; 2 when the arguments are wrong; 3 when the page is written but no series has enough points
// to be judged.
import { existsSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { LEAST_SIDE, MIN_EFFECT, MIN_POINTS, SIGNIFICANCE } from "./change_points.js";
import { FORMATS } from "./formats.js";
import { judgeAll, NEEDED_POINTS } from "./judge.js";
import { FEW, LEAST_SERIES, NEARLY_ALL } from "./machine_moves.js";
import { compareValues } from "./names.js";
import { pageOf } from "./page.js";
import { readFolder } from "./read.js";
import { seriesOf } from "./series.js";

class UsageError extends Error {}

function parseArguments() {
  let parsed;
  try {
    parsed = parseArgs({
      allowPositionals: true,
      options: {
        out: { type: "string" },
        title: { type: "string", default: "Benchmarks" },
        "commit-url": { type: "string" },
        machine: { type: "string" },
        "by-host": { type: "boolean" },
        bigger: { type: "string", multiple: true },
        smaller: { type: "string", multiple: true },
      },
    });
  } catch (error) {
    throw new UsageError(error.message);
  }
  const { values, positionals } = parsed;
  if (positionals.length !== 1) throw new UsageError("give one folder with JSON files");
  const [folder] = positionals;
  const url = values["commit-url"];
  if (url !== undefined && (!/^https?:\/\/[^/{]/i.test(url) || !url.includes("{commit}"))) {
    throw new UsageError("--commit-url must start with http:// or https:// and contain {commit}");
  }
  if (values.machine !== undefined && (values["by-host"] || !values.machine.trim())) {
    throw new UsageError("--machine names the one machine of all files, so not with --by-host");
  }
  return {
    folder,
    out: values.out ?? join(folder, "index.html"),
    title: values.title,
    url,
    reading: { bigger: values.bigger, smaller: values.smaller },
    machines: { machine: values.machine, byHost: values["by-host"] },
  };
}

// The keys of names that get a filter: those with several values.
function filterKeys(all) {
  const values = new Map();
  for (const { keys } of all) {
    for (const [key, value] of Object.entries(keys)) {
      if (!values.has(key)) values.set(key, new Set());
      values.get(key).add(value);
    }
  }
  return [...values]
    .filter(([, of]) => of.size > 1)
    .map(([key, of]) => ({ key, values: [...of].sort(compareValues) }));
}

// What the page shows of a file's context: the plain values.
function plainContext(context) {
  return Object.entries(context)
    .filter(([, value]) => ["string", "number", "boolean"].includes(typeof value))
    .map(([key, value]) => [key, String(value)]);
}

// Problems with the same message become one, which names some of the files.
function grouped(problems) {
  const files = new Map();
  for (const { file, message } of problems) {
    files.set(message, (files.get(message) ?? new Set()).add(file));
  }
  return [...files].map(([message, of]) => {
    const some = [...of].slice(0, 3).join(", ");
    return { file: of.size > 3 ? `${some} and ${of.size - 3} more` : some, message };
  });
}

// What keeps `short` of the series from being judged.
function shortnessOf(short, series, commits) {
  const machines = new Set(series.map(({ machine }) => machine)).size;
  const longest = series.reduce((most, { points }) => Math.max(most, points.length), 0);
  const facts = [
    `not judged, since they have fewer than the ${NEEDED_POINTS} points in which a change can be ` +
      `found: ${short} of ${series.length} series`,
    short === series.length && `the longest has ${longest}, of ${commits.length} commits or files`,
    commits.length >= NEEDED_POINTS &&
      machines > 1 &&
      `if the ${machines} machines here are of one kind, say so with --machine NAME`,
  ];
  return facts.filter(Boolean).join("; ");
}

async function run() {
  const { folder, out, title, url, reading, machines } = parseArguments();
  if (!existsSync(folder) || !statSync(folder).isDirectory()) {
    throw new UsageError(`${folder} is not a folder`);
  }
  const { runs, problems: ofFiles } = readFolder(folder, reading);
  const { commits, series, problems: ofSeries } = seriesOf(runs, machines);
  const problems = grouped([...ofFiles, ...ofSeries]);
  for (const { file, message } of problems) console.error(`${file}: ${message}`);
  if (!series.length) {
    throw new Error(`nothing in ${folder} could be read, so no page is written; this program reads ${FORMATS}`);
  }
  const { regressions, improvements, moves } = judgeAll(series);
  const page = await pageOf({
    title,
    commitUrl: url ?? null,
    method: {
      minEffect: MIN_EFFECT,
      minPoints: MIN_POINTS,
      leastSide: LEAST_SIDE,
      needed: NEEDED_POINTS,
      significance: SIGNIFICANCE,
      few: FEW,
      leastSeries: LEAST_SERIES,
      nearlyAll: NEARLY_ALL,
    },
    problems,
    files: runs.map(({ file, context }) => ({ file, context: plainContext(context) })),
    filters: filterKeys(series),
    commits,
    series,
    regressions,
    improvements,
    moves,
  });
  writeFileSync(out, page);
  const counts = [
    `${series.length} series from ${new Set(runs.map(({ file }) => file)).size} files`,
    `regressions: ${regressions.length}`,
    `improvements: ${improvements.length}`,
  ];
  if (moves.length) counts.push(`moves of a machine: ${moves.length}`);
  const short = series.filter(({ judged }) => !judged).length;
  if (short) counts.push(`too short to be judged: ${short}`);
  console.log(`${resolve(out)}: ${counts.join(", ")}`);
  if (short) console.error(`dashboard: ${shortnessOf(short, series, commits)}`);
  if (short === series.length) process.exitCode = 3;
}

try {
  await run();
} catch (error) {
  console.error(`dashboard: ${error.message}`);
  if (error instanceof UsageError) console.error("Try: scripts/dashboard --help");
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
