// From a folder of Google Benchmark's JSON files to runs: one for each file that could be read.
//
// A run is { file, context, entries }: `file` is the path below the folder, `context` has the
// file's own keys, an entry is one object of "benchmarks" that has numbers. Anything wrong with a
// file becomes a sentence in `problems`, and the other files are read all the same.
//
// Nothing in the files is trusted: texts stay texts, and anything that should be a number but is
// not counts as missing.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

// All *.json below the folder, with numbers in names sorted by value; hidden folders and packages
// are skipped.
function jsonFiles(folder, below = "") {
  const found = [];
  for (const entry of readdirSync(join(folder, below), { withFileTypes: true })) {
    const path = below ? `${below}/${entry.name}` : entry.name;
    if (entry.isDirectory()) {
      if (!entry.name.startsWith(".") && entry.name !== "node_modules") {
        found.push(...jsonFiles(folder, path));
      }
    } else if (entry.name.toLowerCase().endsWith(".json")) {
      found.push(path);
    }
  }
  return found.sort(compareTexts);
}

const collator = new Intl.Collator("en", { numeric: true });

export function compareTexts(a, b) {
  return collator.compare(a, b) || (a < b ? -1 : Number(a > b));
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

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// The usable objects of "benchmarks"; the others become problems.
function usableEntries(list, complain) {
  return list.filter((entry) => {
    if (!isObject(entry) || typeof (entry.run_name ?? entry.name) !== "string") {
      complain("a benchmark without a name is left out");
      return false;
    }
    if (entry.error_occurred) {
      const reason = entry.error_message ? `: ${entry.error_message}` : "";
      complain(`${entry.name} failed when it was measured${reason}`);
      return false;
    }
    return !entry.skipped;
  });
}

// Reads one file: its run, or null. Calls complain(sentence) for anything that is wrong.
export function readRun(file, bytes, complain) {
  let content;
  try {
    content = parse(bytes.toString("utf8").replace(/^\ufeff/, ""));
  } catch (error) {
    complain(bytes.length ? error.message : "empty file");
    return null;
  }
  if (!isObject(content) || !Array.isArray(content.benchmarks)) {
    complain('no list "benchmarks" in it: not a file of Google Benchmark');
    return null;
  }
  const context = isObject(content.context) ? content.context : {};
  const entries = usableEntries(content.benchmarks, complain);
  if (!entries.length) {
    complain("no benchmark in it that can be shown");
    return null;
  }
  return { file, context, entries };
}

// All files of a folder: { runs, problems }; a problem is { file, message }.
export function readFolder(folder) {
  const runs = [];
  const problems = [];
  for (const file of jsonFiles(folder)) {
    const sentences = new Set();
    const complain = (message) => sentences.add(message.replace(/\s+/g, " "));
    try {
      const path = join(folder, file);
      if (!statSync(path).isFile()) throw new Error("not a file");
      const run = readRun(file, readFileSync(path), complain);
      if (run) runs.push(run);
    } catch (error) {
      complain(`cannot be read: ${error.message}`);
    }
    problems.push(...[...sentences].map((message) => ({ file, message })));
  }
  return { runs, problems };
}
