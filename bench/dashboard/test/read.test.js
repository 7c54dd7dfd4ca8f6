// Reading: all kinds of Google Benchmark files become series, and bad ones become sentences.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { commitOf, compareValues, machineLabels, parseName } from "../src/names.js";
import { readFolder } from "../src/read.js";
import { seriesOf } from "../src/series.js";

// Reads files given as { path: content }, where content is text or an object that becomes JSON.
function read(files) {
  const folder = mkdtempSync(join(tmpdir(), "dashboard-"));
  try {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(join(folder, path, ".."), { recursive: true });
      const text = typeof content === "string" ? content : JSON.stringify(content);
      writeFileSync(join(folder, path), text);
    }
    return readFolder(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const single = (name, values) => ({
  name,
  run_name: name,
  run_type: "iteration",
  time_unit: "ns",
  real_time: 2,
  cpu_time: 1,
  ...values,
});
const file = (context, ...benchmarks) => ({ context, benchmarks });

test("each bad file gets a sentence, the others are read", () => {
  const { runs, problems } = read({
    "good.json": file({}, single("a", {})),
    "cut.json": '{"context": {',
    "empty.json": "",
    "list.json": "[1, 2]",
    "none.json": { benchmarks: [] },
    "other.json": { a: 1 },
    "text.txt": "not looked at",
    "wrong.json": { context: 7, benchmarks: [null, 3, { name: 5 }] },
  });
  assert.deepEqual(
    runs.map((run) => run.file),
    ["good.json"],
  );
  const said = Object.fromEntries(problems.map((problem) => [problem.file, problem.message]));
  assert.match(said["cut.json"], /^not JSON: /);
  assert.equal(said["empty.json"], "empty file");
  assert.match(said["list.json"], /not a file of Google Benchmark/);
  assert.match(said["none.json"], /no benchmark in it/);
  assert.match(said["other.json"], /not a file of Google Benchmark/);
  assert.match(said["wrong.json"], /no benchmark in it/);
  assert.equal(said["good.json"], undefined);
});

test("folders are read, byte order marks and bare NaN are understood", () => {
  const text = JSON.stringify(file({}, single("NaN in a name", { x: 1 })));
  const { runs, problems } = read({
    "2024/deep/run.json": `\ufeff${text.replace('"x":1', '"x":-NaN,"y":Infinity')}`,
    "node_modules/no.json": "not read",
    ".hidden/no.json": "not read",
  });
  assert.deepEqual(problems, []);
  assert.equal(runs[0].file, "2024/deep/run.json");
  assert.equal(runs[0].entries[0].name, "NaN in a name");
  assert.equal(runs[0].entries[0].x, null);
});

test("a benchmark that failed is reported, the rest of its file is read", () => {
  const failed = { name: "b", run_name: "b", error_occurred: true, error_message: "no memory" };
  const { runs, problems } = read({ "x.json": file({}, single("a", {}), failed) });
  assert.equal(runs[0].entries.length, 1);
  assert.deepEqual(problems, [
    { file: "x.json", message: "b failed when it was measured: no memory" },
  ]);
});

test("names: keys, and the settings of a run that are no part of it", () => {
  const name = "may_contain/bits:8/bytes:1024/repeats:5/min_time:0.5/real_time";
  assert.deepEqual(parseName({ run_name: name }), {
    name: "may_contain/bits:8/bytes:1024/real_time",
    keys: { bits: "8", bytes: "1024" },
    wallClock: true,
  });
  assert.equal(parseName({ name: "old_mean" }).name, "old");
  assert.equal(parseName({ run_name: "kept_mean" }).name, "kept_mean");
});

test("values of a key are sorted: numbers by size, then texts", () => {
  const values = ["other", "4MiB", "256KiB", "16", "1GiB", "9", "1k"];
  assert.deepEqual(values.sort(compareValues), [
    "9",
    "16",
    "1k",
    "256KiB",
    "4MiB",
    "1GiB",
    "other",
  ]);
});

test("commits: the hash when there is one, else the file", () => {
  const hash = "0123456789abcdef0123456789abcdef01234567";
  const known = commitOf({ file: "f.json", context: { commit: hash, commit_title: "Title" } });
  assert.deepEqual([known.id, known.label, known.title], [hash, "012345678", "Title"]);
  const changed = commitOf({ file: "f.json", context: { commit: `${hash}-changed` } });
  assert.equal(changed.label, "012345678-changed");
  for (const commit of ["", "unknown", null, {}]) {
    const unknown = commitOf({ file: "d/run 1.json", context: { commit } });
    assert.deepEqual([unknown.id, unknown.label], ["d/run 1.json", "run 1"]);
  }
});

test("machines that differ in a trait get different labels", () => {
  const runs = [
    { machine: "m", target: "AVX2" },
    { machine: "m", target: "AVX3" },
    { host_name: "h", num_cpus: 4 },
    {},
  ].map((context) => ({ context }));
  assert.deepEqual(machineLabels(runs), ["m (AVX2)", "m (AVX3)", "h, 4 CPUs", "unknown machine"]);
});

test("files of one commit and machine become one point, with the spread of all repetitions", () => {
  const context = { commit: "c1", commit_date: "2026-01-01T00:00:00Z", machine: "m" };
  const at = (rate, ratio) => single("a", { items_per_second: rate, of_ceiling: ratio });
  const { runs } = read({
    "1.json": file(context, at(100, 0.5), at(110, 0.6)),
    "2.json": file(context, at(120, 0.7)),
    "3.json": file({ ...context, machine: "n" }, at(7, 0.1)),
  });
  const { series, commits } = seriesOf(runs);
  assert.deepEqual(
    series.map(({ machine }) => machine),
    ["m", "n"],
  );
  const [{ points, quantity, columns }] = series;
  assert.equal(quantity, "items_per_second");
  assert.equal(points.length, 1);
  assert.deepEqual(points[0].figure, { mid: 110, low: 100, high: 120 });
  assert.deepEqual(points[0].ratio, { mid: 0.6, low: 0.5, high: 0.7 });
  assert.equal(points[0].rows.length, 3);
  assert.deepEqual(columns, ["real_time", "cpu_time", "items_per_second", "of_ceiling"]);
  assert.equal(commits.length, 1);
});

test("points are in the order of commit dates, or of file dates without them", () => {
  const dated = (commit, commit_date) => file({ commit, commit_date }, single("a", {}));
  const ours = seriesOf(
    read({
      "1.json": dated("late", "2026-03-01T00:00:00+02:00"),
      "2.json": dated("early", "2026-01-01T00:00:00Z"),
    }).runs,
  );
  assert.deepEqual(
    ours.commits.map(({ id }) => id),
    ["early", "late"],
  );
  const theirs = seriesOf(
    read({
      "a.json": file({ date: "2025-05-05T10:00:00+00:00" }, single("a", {})),
      "b.json": file({ date: "2024-05-05T10:00:00+00:00" }, single("a", {})),
    }).runs,
  );
  assert.deepEqual(
    theirs.commits.map(({ id }) => id),
    ["b.json", "a.json"],
  );
});

test("aggregates are used where there is nothing else", () => {
  const aggregate = (kind, values) => ({
    name: `a_${kind}`,
    run_name: "a",
    run_type: "aggregate",
    aggregate_name: kind,
    time_unit: "us",
    ...values,
  });
  const { runs } = read({
    "x.json": file(
      {},
      aggregate("mean", { cpu_time: 11 }),
      aggregate("median", { cpu_time: 10 }),
      aggregate("stddev", { cpu_time: 1 }),
      aggregate("cv", { cpu_time: 0.1 }),
    ),
  });
  const [{ points, quantity }] = seriesOf(runs).series;
  assert.equal(quantity, "time");
  assert.deepEqual(points[0].figure, { mid: 10000, low: 9000, high: 11000 });
  assert.equal(points[0].ratio, null);
});

test("the time is that of the clock that the benchmark uses; bytes come before it", () => {
  const figure = (name, values) =>
    seriesOf(read({ "x.json": file({}, single(name, values)) }).runs).series[0].points[0].figure
      .mid;
  assert.equal(figure("a", {}), 1);
  assert.equal(figure("a/real_time", {}), 2);
  assert.equal(figure("a/manual_time", { time_unit: "ms" }), 2e6);
  assert.equal(figure("a", { bytes_per_second: 5 }), 5);
});

test("numbers that are none, zero or negative count as missing", () => {
  const { runs } = read({
    "x.json": file(
      {},
      single("a", { items_per_second: "7", of_ceiling: -1 }),
      single("b", {
        real_time: 0,
        cpu_time: 0,
      }),
    ),
  });
  const { series } = seriesOf(runs);
  assert.deepEqual(
    series.map(({ name }) => name),
    ["a"],
  );
  assert.equal(series[0].quantity, "time");
  assert.equal(series[0].points[0].ratio, null);
});

test("benchmarks of the same name in two programs stay apart", () => {
  const of = (executable) => file({ executable, commit: "c" }, single("a", {}));
  const { series } = seriesOf(read({ "1.json": of("./x/one"), "2.json": of("/y/two") }).runs);
  assert.deepEqual(
    series.map(({ name }) => name),
    ["a [one]", "a [two]"],
  );
});
