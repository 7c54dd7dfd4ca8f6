// From a folder of JSON files to runs: one for each file that could be read, or for each commit in a file of
// many. Formats other than Google Benchmark's are brought to its form first (formats.js).
//
// A run is { file, context, entries }: `file` is the path below the folder, `context` has the
// file's own keys, an entry is one object of "benchmarks". Anything wrong with a file becomes a
// sentence in `problems`, and the other files are read all the same. Of several benchmarks of one
// name, which Google Benchmark numbers, the second gets the name "NAME #2".
//
// Nothing in the files is trusted: texts stay texts, and anything that should be a number but is
// not counts as missing.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { asGoogleBenchmark, FORMATS, isObject, NANOSECONDS, SCRIPT_PREFIX } from "./formats.js";
import { aggregateOf, compareTexts, nameOf } from "./names.js";

// All *.json and data.js below the folder, with numbers in names sorted by value; hidden folders and
// packages are skipped.
function jsonFiles(folder, below = "") {
  const found = [];
  for (const entry of readdirSync(join(folder, below), { withFileTypes: true })) {
    const path = below ? `${below}/${entry.name}` : entry.name;
    if (entry.isDirectory()) {
      if (!entry.name.startsWith(".") && entry.name !== "node_modules") {
        found.push(...jsonFiles(folder, path));
      }
    } else if (entry.name.toLowerCase().endsWith(".json") || entry.name === "data.js") {
      found.push(path);
    }
  }
  return found.sort(compareTexts);
}

// Google Benchmark writes NaN and Infinity, which JSON does not have.
function withoutBareNaN(text) {
  const tokens = /"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity|nan|inf)\b/g;
  return text.replace(tokens, (token) => (token.startsWith('"') ? token : "null"));
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    try {
      return JSON.parse(withoutBareNaN(text));
    } catch {
      throw new Error(`not JSON: ${error.message}`);
    }
  }
}

// Fits of a complexity measure nothing.
const FITS = ["BigO", "RMS"];

function reasonOf(message) {
  return typeof message === "string" && message ? `: ${message}` : "";
}

// The usable objects of "benchmarks"; the others become problems.
function usableEntries(list, complain) {
  return list.filter((entry) => {
    if (!isObject(entry) || typeof (entry.run_name ?? entry.name) !== "string") {
      complain("a benchmark without a name is left out");
      return false;
    }
    const name = entry.name ?? entry.run_name;
    if (entry.error_occurred) {
      complain(`${name} failed when it was measured${reasonOf(entry.error_message)}`);
    } else if (entry.skipped) {
      complain(`${name} was skipped${reasonOf(entry.skip_message ?? entry.skipped)}`);
    } else if (!Object.hasOwn(NANOSECONDS, entry.time_unit ?? "ns")) {
      complain(`${name} has times in an unknown unit, ${JSON.stringify(entry.time_unit)}`);
    }
    return !entry.error_occurred && !entry.skipped && !FITS.includes(aggregateOf(entry));
  });
}

// Says where it cannot be told whether entries are repetitions of one benchmark.
function checkRepetitions(name, entries, complain) {
  const single = entries.filter((entry) => !aggregateOf(entry));
  const known = new Set(single.map((entry) => entry.repetition_index ?? -1));
  if (known.size === single.length || single.length < entries.length) return;
  complain(`${name} comes ${single.length} times; taken as repetitions of one benchmark`);
}

// Gives benchmarks that have the same name names of their own.
function tellTwinsApart(entries, complain) {
  const groups = new Map();
  const renamed = entries.map((entry) => {
    const name = nameOf(entry);
    if (!groups.has(name)) groups.set(name, new Map());
    const families = groups.get(name);
    const family = `${entry.family_index} ${entry.per_family_instance_index}`;
    if (!families.has(family)) families.set(family, []);
    families.get(family).push(entry);
    const place = [...families.keys()].indexOf(family) + 1;
    return place === 1 ? entry : { ...entry, run_name: `${name} #${place}` };
  });
  for (const [name, families] of groups) {
    if (families.size > 1) {
      complain(`${families.size} benchmarks are named ${name}; the second is shown as ${name} #2`);
    }
    for (const of of families.values()) checkRepetitions(name, of, complain);
  }
  return renamed;
}

// Reads one file: its runs. Calls complain(sentence) for anything that is wrong. `options` are those of
// formats.js.
export function readRuns(file, bytes, options, complain) {
  let content;
  try {
    content = parse(bytes.toString("utf8").replace(/^\ufeff/, "").replace(SCRIPT_PREFIX, ""));
  } catch (error) {
    complain(bytes.length ? error.message : "empty file");
    return [];
  }
  const found = asGoogleBenchmark(content, options, complain);
  if (!found) {
    complain(`no benchmarks in it that this program knows: it reads ${FORMATS}`);
    return [];
  }
  const runs = found
    .map(({ context, benchmarks }) => {
      return { file, context, entries: tellTwinsApart(usableEntries(benchmarks, complain), complain) };
    })
    .filter(({ entries }) => entries.length);
  if (!runs.length) complain("no benchmark in it that can be shown");
  return runs;
}

// All files of a folder: { runs, problems }; a problem is { file, message }.
export function readFolder(folder, options = {}) {
  const runs = [];
  const problems = [];
  for (const file of jsonFiles(folder)) {
    const sentences = new Set();
    const complain = (message) => sentences.add(message.replace(/\s+/g, " "));
    try {
      const path = join(folder, file);
      if (!statSync(path).isFile()) throw new Error("not a file");
      runs.push(...readRuns(file, readFileSync(path), options, complain));
    } catch (error) {
      complain(`cannot be read: ${error.message}`);
    }
    problems.push(...[...sentences].map((message) => ({ file, message })));
  }
  return { runs, problems };
}
