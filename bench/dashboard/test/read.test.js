// Reading: all kinds of Google Benchmark files become series, and bad ones become sentences.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { machineLabels } from "../src/machines.js";
import { commitOf, compareValues, parseName, programOf } from "../src/names.js";
import { readFolder } from "../src/read.js";
import { seriesOf } from "../src/series.js";

// Reads files given as { path: content }, where content is text or an object that becomes JSON.
function read(files, options) {
  const folder = mkdtempSync(join(tmpdir(), "dashboard-"));
  try {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(join(folder, path, ".."), { recursive: true });
      const text = typeof content === "string" ? content : JSON.stringify(content);
      writeFileSync(join(folder, path), text);
    }
    return readFolder(folder, options);
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
const each = (key, list) => list.map((one) => one[key]);
const said = (problems) => problems.map(({ file, message }) => `${file}: ${message}`);

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
  assert.deepEqual(each("file", runs), ["good.json"]);
  const said = Object.fromEntries(problems.map((problem) => [problem.file, problem.message]));
  assert.match(said["cut.json"], /^not JSON: /);
  assert.equal(said["empty.json"], "empty file");
  assert.match(said["list.json"], /it reads files of Google Benchmark, .*hyperfine.*data\.js/);
  assert.match(said["none.json"], /no benchmark in it/);
  assert.match(said["other.json"], /it reads files of Google Benchmark/);
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
  const sorted = ["9", "16", "1k", "256KiB", "4MiB", "1GiB", "other"];
  assert.deepEqual(values.sort(compareValues), sorted);
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
  assert.deepEqual(each("machine", series), ["m", "n"]);
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
  const ours = of({
    "1.json": dated("late", "2026-03-01T00:00:00+02:00"),
    "2.json": dated("early", "2026-01-01T00:00:00Z"),
  });
  assert.deepEqual(each("id", ours.commits), ["early", "late"]);
  const theirs = of({
    "a.json": file({ date: "2025-05-05T10:00:00+00:00" }, single("a", {})),
    "b.json": file({ date: "2024-05-05T10:00:00+00:00" }, single("a", {})),
  });
  assert.deepEqual(each("id", theirs.commits), ["b.json", "a.json"]);
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
      single("b", { real_time: 0, cpu_time: 0 }),
    ),
  });
  const { series } = seriesOf(runs);
  assert.deepEqual(each("name", series), ["a"]);
  assert.equal(series[0].quantity, "time");
  assert.equal(series[0].points[0].ratio, null);
});

test("benchmarks of the same name in two programs stay apart", () => {
  const of = (executable) => file({ executable, commit: "c" }, single("a", {}));
  const { series } = seriesOf(read({ "1.json": of("./x/one"), "2.json": of("/y/two") }).runs);
  assert.deepEqual(each("name", series), ["a [one]", "a [two]"]);
});

const of = (files, options, machines) => {
  const { runs, problems } = read(files, options);
  const all = seriesOf(runs, machines);
  return { ...all, problems: [...problems, ...all.problems] };
};

test("what is not shown is named with its file", () => {
  const problemsOf = (...benchmarks) =>
    of({ "x.json": file({ date: "2026-01-01" }, single("other", {}), ...benchmarks) }).problems;
  const fit = { name: "a_BigO", run_name: "a", run_type: "aggregate", aggregate_name: "BigO" };
  for (const [entries, message] of [
    [[single("a", { real_time: 0, cpu_time: 0 })], "a is not shown: it has no positive number"],
    [[{ name: "a", stats: {} }], "a is not shown: it has no positive number"],
    [[{ name: "a", skipped: true, skip_message: "not here" }], "a was skipped: not here"],
    [[single("a", { time_unit: "min" })], 'a has times in an unknown unit, "min"'],
    [[single("a", {}), single("a", {})], "a comes 2 times; taken as repetitions of one benchmark"],
    [[{ real_time: 1 }], "a benchmark without a name is left out"],
    [[fit], undefined],
    [[single("a", { repetition_index: 0 }), single("a", { repetition_index: 1 })], undefined],
    [[single("a", { cpu_time: 0 })], undefined],
  ]) {
    const problems = problemsOf(...entries);
    assert.equal(problems[0]?.message, message);
    assert.ok(problems.every((problem) => problem.file === "x.json"));
  }
});

test("the figure is what the most points have, and nothing is erased", () => {
  const plain = { real_time: 7, cpu_time: 5, time_unit: "ns" };
  const items = { ...plain, items_per_second: 3 };
  for (const [points, quantity, mids] of [
    [[plain, plain, items], "time", [5, 5, 5]],
    [[items, items, { fpr: 1 }], "items_per_second", [3, 3, undefined]],
    [[{ real_time: 7 }, { real_time: 8 }, plain], "time", [7, 8, 7]],
    [[plain, { ...plain, cpu_time: 0 }, plain], "time", [7, 7, 7]],
    [[plain, { cpu_time: 6 }, { cpu_time: 0.004, time_unit: "us" }], "time", [5, 6, 4]],
  ]) {
    const files = points.map((values, day) => [
      `${day}.json`,
      file({ date: `2026-01-0${day + 1}` }, { name: "a", run_type: "iteration", ...values }),
    ]);
    const { series, problems } = of(Object.fromEntries(files));
    assert.equal(series[0].quantity, quantity);
    assert.deepEqual(
      series[0].points.map(({ figure }) => figure?.mid),
      mids,
    );
    const message = "a is not shown: it has no items_per_second, as its other points have";
    const missing = mids.includes(undefined) ? [{ file: "2.json", message }] : [];
    assert.deepEqual(problems, missing);
  }
});

test("two benchmarks of one name stay apart", () => {
  const twin = (family_index, cpu_time) => single("a", { family_index, cpu_time });
  const { series, problems } = of({
    "x.json": file({ date: "2026-01-01" }, twin(0, 5), twin(1, 9)),
  });
  assert.deepEqual(
    series.map(({ name, points }) => [name, points[0].figure.mid]),
    [
      ["a", 5],
      ["a #2", 9],
    ],
  );
  assert.match(problems[0].message, /^2 benchmarks are named a; the second is shown as a #2$/);
});

test("dates: what is understood, and what is named", () => {
  const timeOf = (commit_date) =>
    commitOf({ file: "f", context: { commit: "c", commit_date } }).time;
  const wanted = Date.UTC(2026, 4, 11, 12, 30, 5);
  for (const date of [
    "2026-05-11T12:30:05Z",
    "2026-05-11T14:30:05+02:00",
    "2026-05-11 14:30:05 +0200",
    "2026-05-11 12:30:05",
    "2026-05-11T12:30:05.000",
    "2026-05-11 12:30:05 UTC",
    "20260511T123005Z",
    "20260511T1430:05+02",
    "Mon May 11 12:30:05 UTC 2026",
    "Mon May 11 14:30:05 2026 +0200",
    "Mon, 11 May 2026 12:30:05 GMT",
    String(wanted / 1000),
    wanted,
  ]) {
    assert.equal(timeOf(date), wanted, date);
  }
  for (const date of ["05/11/2026", "11.05.2026", "12", "2026-13-40", "202605-11", "yesterday", "2026", ""]) {
    assert.equal(timeOf(date), null, date);
  }
  const at = (context) => file(context, single("a", {}));
  const { problems, commits } = of({
    "1.json": at({ commit: "one", commit_date: "05/11/2026", date: "2026-02-01" }),
    "2.json": at({ commit: "two", commit_date: "2026-01-01" }),
    "3.json": at({ commit: "three", commit_date: "soon" }),
  });
  assert.deepEqual(each("id", commits), ["three", "two", "one"]);
  assert.deepEqual(
    said(problems),
    [
      "1.json: its commit_date is not understood: 05/11/2026",
      "1.json: it has no commit_date: it stands where it was measured",
      "3.json: its commit_date is not understood: soon",
      "3.json: it has no date: it stands before all that have a date",
    ],
  );
});

test("dates that are equal: the order of measuring, else a sentence", () => {
  const at = (commit, date) => file({ commit, commit_date: "2026-01-01", date }, single("a", {}));
  const order = ({ commits }) => commits.map(({ id }) => id);
  const first = { "1.json": at("f", "2026-02-01"), "2.json": at("a", "2026-02-02") };
  assert.deepEqual([order(of(first)), of(first).problems], [["f", "a"], []]);
  const tied = of({ ...first, "3.json": at("b", "2026-02-02"), "4.json": at("b", "2026-02-03") });
  assert.deepEqual(order(tied), ["f", "a", "b"]);
  assert.deepEqual(
    said(tied.problems),
    ["2.json", "3.json", "4.json"].map(
      (name) => `${name}: it has the date of another: their order is that of their names`,
    ),
  );
});

test("machines: hardware, not hosts; a field that is missing says nothing", () => {
  const runs = (contexts) => contexts.map((context) => ({ context }));
  const labels = (contexts, options) => machineLabels(runs(contexts), options);
  const caches = [
    { type: "Data", level: 1, size: 32768, num_sharing: 2 },
    { type: "Instruction", level: 1, size: 65536 },
    { type: "Unified", level: 2, size: 1048576 },
  ];
  const hosted = (n, more) => ({ host_name: `runner-${n}`, num_cpus: 4, caches, ...more });
  const named = { machine: "m", num_cpus: 2 };
  const kinds = (contexts, options) => new Set(labels(contexts, options)).size;
  for (const [contexts, count] of [
    [[hosted(1), hosted(2), hosted(3, { mhz_per_cpu: 3000, load_avg: [1] })], 1],
    [[hosted(1), hosted(2, { library_build_type: "release" })], 1],
    [[hosted(1), hosted(2, { cpu: "A" }), hosted(3, { target: "AVX2", new_key: 1 })], 1],
    [[hosted(1), hosted(2, { machine: "ci" })], 1],
    [[hosted(1, { cpu: "A" }), hosted(2, { cpu: "B" })], 2],
    [[hosted(1, { cpu: "A" }), hosted(2, { cpu: "B" }), hosted(3)], 3],
    [[hosted(1), { ...hosted(2), num_cpus: 2 }], 2],
    [[hosted(1), { ...hosted(2), caches: caches.slice(0, 2) }], 2],
    [[hosted(1, { library_build_type: "debug" }), hosted(2, { library_build_type: "release" })], 2],
    [[named, { ...named, cpu: "A", target: "T" }], 1],
    [[{ host_name: "a" }, { host_name: "b" }], 1],
  ]) {
    assert.equal(kinds(contexts), count, JSON.stringify(contexts));
    assert.equal(kinds(contexts, { machine: "one" }), 1);
  }
  assert.equal(kinds([hosted(1), hosted(2)], { byHost: true }), 2);
  assert.deepEqual(
    labels([hosted(1), hosted(2), { ...hosted(3), caches: [] }, hosted(1, { num_cpus: 2 })]),
    ["4 CPUs", "4 CPUs", "4 CPUs", "runner-1, 2 CPUs"],
  );
});

test("a program that is named after its build is one program", () => {
  const program = (executable) => programOf({ context: { executable } });
  const dates = ["20260101120000", "20260101"];
  const described = ["v1.2.3-14-gabc1234", "1.2-1-g1234567-dirty", "0a1b2c3d-dirty"];
  for (const build of ["0a1b2c3d", "deadbeef12345678", "1.2.3", "v2.0", ...dates, ...described]) {
    assert.equal(program(`/target/deps/hash_bench-${build}`), "hash_bench", build);
  }
  for (const name of ["sort_bench", "bench_1000000", "bench_1048576", "bench-decade", "bench2"]) {
    assert.equal(program(`x/${name}.exe`), name);
  }
});

test("files of pytest-benchmark", () => {
  const run = (id, median, more) => ({
    machine_info: {
      node: `host-${id}`,
      python_version: "3.11",
      cpu: { brand_raw: "A CPU", count: 8 },
    },
    commit_info: { id, time: "2026-01-01T00:00:00+01:00", dirty: false, ...more },
    benchmarks: [
      {
        name: "test_a",
        fullname: "tests/test_x.py::test_a[a, 1]",
        stats: { median, mean: 9, stddev: 0.25 },
      },
    ],
    datetime: "2026-01-02T00:00:00",
    version: "4.0.0",
  });
  const { series, commits, problems } = of({
    "1.json": run("c1", 2),
    "2.json": run("c2", 3, { dirty: true, time: "2026-01-03T00:00:00+01:00" }),
  });
  assert.deepEqual(problems, []);
  assert.deepEqual(each("id", commits), ["c1", "c2-changed"]);
  const [{ name, machine, quantity, points }] = series;
  assert.deepEqual(
    [name, machine, quantity],
    ["tests/test_x.py::test_a[a, 1]", "A CPU, 8 CPUs", "time"],
  );
  assert.deepEqual(points[0].figure, { mid: 2e9, low: 1.75e9, high: 2.25e9 });
});

test("lists of { name, unit, value }, and which direction is better", () => {
  const rates = { "ops/sec": true, "ops/ms": true, "items per second": true, fps: true };
  const bigger = { MB: false, "MB/s": true, ...rates };
  const list = Object.keys(bigger).map((unit) => ({ name: unit, unit, value: 5 }));
  const units = of({ "x.json": list });
  assert.deepEqual(Object.fromEntries(units.series.map((one) => [one.name, one.bigger])), bigger);
  const times = { ns: 1, us: 1e3, "\u00b5s/op": 1e3, ms: 1e6, s: 1e9, seconds: 1e9, "ns/iter": 1 };
  Object.assign(times, { nsec: 1, usec: 1e3, "\u00b5sec": 1e3, msec: 1e6, "msec/op": 1e6, msecs: 1e6, sec: 1e9 });
  for (const [unit, nanoseconds] of Object.entries(times)) {
    const [one] = of({ "x.json": [{ name: "a", unit, value: "5", range: "\u00b1 10%" }] }).series;
    assert.equal(one.quantity, "time");
    assert.equal(one.points[0].figure.mid, 5 * nanoseconds);
    assert.ok(Math.abs(one.points[0].figure.low / nanoseconds - 4.5) < 1e-9);
  }
  // A unit that does not say it, in a file that names its commit.
  const context = { commit: "c", commit_date: "2026-01-01" };
  const scores = { "x.json": file(context, { name: "a", unit: "score", value: 5 }) };
  const guessed = of(scores);
  assert.equal(guessed.series[0].bigger, false);
  assert.match(guessed.problems[0].message, /"score" does not say .* give --bigger "score"/);
  const told = of(scores, { bigger: ["score"] });
  assert.deepEqual([told.series[0].bigger, told.problems], [true, []]);
  assert.equal(of({ "x.json": [list.at(-1)] }, { smaller: ["fps"] }).series[0].bigger, false);
  const sizes = ["MB", "KB"].map((unit) => [`${unit}.json`, [{ name: "a", unit, value: 1 }]]);
  assert.deepEqual(each("name", of(Object.fromEntries(sizes)).series), ["a (KB)", "a (MB)"]);
});

test("files of hyperfine, of both versions", () => {
  const context = { commit: "c", commit_date: "2026-01-01" };
  const first = { command: "sort list", mean: 9, stddev: 0.5, median: 2, times: [2, 1, 4], user: 8 };
  const scanned = { ...first, command: "sort -j", times: undefined, parameters: { threads: "4" } };
  const second = {
    command: "sort a",
    name: "sorts",
    measurements: [3, 1, 2].map((value) => ({ time_wall_clock: { value, unit: "second" } })),
  };
  const { series, problems } = of({
    "1.json": { context, results: [first, scanned] },
    "2.json": { schema_version: 2, metadata: { start_time: "2026-01-02T00:00:00Z" }, results: [second] },
    "3.json": { context, results: [{ mean: 1 }] },
  });
  assert.deepEqual(
    series.map(({ name, keys, quantity, points }) => [name, keys, quantity, points[0].figure]),
    [
      ["sort -j/threads:4", { threads: "4" }, "time", { mid: 2e9, low: 1.5e9, high: 2.5e9 }],
      ["sort list", {}, "time", { mid: 2e9, low: 1e9, high: 4e9 }],
      ["sorts", {}, "time", { mid: 2e9, low: 1e9, high: 3e9 }],
    ],
  );
  assert.deepEqual(
    said(problems),
    ["3.json: a benchmark without a name is left out", "3.json: no benchmark in it that can be shown"],
  );
});

test("data.js of github-action-benchmark: each commit is a point", () => {
  const entry = (id, day, tool, ...benches) => ({
    commit: { id, message: `Title of ${id}\n\nMore`, timestamp: `2026-01-0${day}T00:00:00+01:00` },
    date: Date.UTC(2026, 0, day),
    tool,
    benches,
  });
  const fib = (value) => ({ name: "fib", unit: "ns/iter", value, range: "\u00b1 2" });
  const score = { name: "score", unit: "points", value: 3 };
  const entries = {
    "Rust/fast": [entry("b", 2, "cargo", fib(30)), entry("a", 1, "cargo", fib(20))],
    Scores: [entry("a", 1, "customBiggerIsBetter", score, { name: "t", unit: "ms", value: 4 })],
    Sizes: [entry("b", 2, "customSmallerIsBetter", { name: "z", unit: "x", value: 1 }), null],
    Others: [entry("b", 2, "go", { name: "f", unit: "y", value: 1 }), entry("c", 3, "go", fib(1))],
  };
  const json = JSON.stringify({ lastUpdate: 1, repoUrl: "https://example.org/r", entries });
  for (const [name, text] of [
    ["data.js", `window.BENCHMARK_DATA = ${json}`],
    ["bench/data.js", `window.BENCHMARK_DATA = ${json}`],
    ["external.json", json],
  ]) {
    const { commits, series, problems } = of({ [name]: text });
    assert.deepEqual(
      commits.map(({ id, title }) => [id, title]),
      ["a", "b", "c"].map((id) => [id, `Title of ${id}`]),
    );
    assert.deepEqual(
      series.map((one) => [
        one.name,
        one.quantity,
        one.bigger,
        one.points.map(({ figure }) => figure.mid),
      ]),
      [
        ["f", "value", false, [1]],
        ["fib [Others]", "time", false, [1]],
        ["fib [Rust fast]", "time", false, [20, 30]],
        ["score", "value", true, [3]],
        ["t", "value", true, [4]],
        ["z", "value", false, [1]],
      ],
    );
    assert.deepEqual(
      problems.map(({ message }) => message.replace(/:.*/, "")),
      ['the unit "y" does not say whether more is better'],
    );
  }
  assert.deepEqual(of({ "other.js": `window.BENCHMARK_DATA = ${json}` }).series, []);
});
