// What other tools write, as the rows of Google Benchmark: the files of pytest-benchmark; those of hyperfine;
// the plain list [{ name, unit, value, range }] that github-action-benchmark reads; and the data.js that it
// keeps, with such a list for each commit. Rows of the plain kind may also stand in "benchmarks" of an object
// that has a "context", and hyperfine's "results" beside one.
//
// A value in a unit of time is a time. Any other is `value`, and its unit says which direction is
// better: rates are better when they are larger, sizes when they are smaller. Where the unit does not
// say, the caller's `bigger` and `smaller`, lists of units, do; they come before what is guessed here, and
// before what data.js says of all its values.

// The formats, for a sentence.
export const FORMATS =
  "files of Google Benchmark, of pytest-benchmark and of hyperfine (--export-json), lists of " +
  "{ name, unit, value }, and the data.js of github-action-benchmark";

// What stands before the JSON of data.js.
export const SCRIPT_PREFIX = /^\s*window\.BENCHMARK_DATA\s*=/;

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export const NANOSECONDS = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };
const TIME =
  /^(?:(ns|n(?:ano)?sec)|([u\u00b5\u03bc]s|(?:[u\u00b5\u03bc]|micro)sec)|(ms|m(?:illi)?sec)|(s|sec))(?:ond)?s?(?:\s*(?:\/|\bper\b)\s*[a-z]+)?$/i;
// Units of rates.
export const RATE = /(?:\/\s*|\bper\s+)[num\u00b5\u03bc]?s(?:ec(?:ond)?)?$|^[kmg]?(?:flops|iops|ops|bps|fps|tps|qps|rps)$/i;
const SIZE = /^[kmgt]?i?(?:b|bytes?)(?:\/op)?$/i;

function timeUnit(unit) {
  const found = TIME.exec(unit)?.slice(1).findIndex(Boolean);
  return found === undefined ? null : Object.keys(NANOSECONDS)[found];
}

// Whether more of a unit is better; null if nobody says. `all` is what the file says of all its units.
function isBiggerBetter(unit, { bigger = [], smaller = [], all = null }) {
  if (bigger.includes(unit)) return true;
  if (smaller.includes(unit)) return false;
  if (all !== null) return all;
  return RATE.test(unit) ? true : SIZE.test(unit) ? false : null;
}

// The standard deviation in "+- 3" or "2.5%"; null if there is none.
function deviationOf(range, value) {
  const found = /^(?:\u00b1|\+\/?-|\+-)?\s*(\d+(?:\.\d*)?(?:e[+-]?\d+)?)\s*(%?)/i.exec(
    String(range ?? ""),
  );
  return found && Number(found[1]) * (found[2] ? value / 100 : 1);
}

// Rows of one benchmark whose repetitions are known by their aggregates.
function aggregates(base, values, put) {
  return Object.entries(values)
    .filter(([, value]) => isNumber(value))
    .map(([kind, value]) => ({
      ...base,
      run_type: "aggregate",
      aggregate_name: kind,
      ...put(value),
    }));
}

function rowsOfValue(entry, options, complain) {
  const { name, range } = entry;
  const unit = String(entry.unit ?? "").trim();
  const value =
    typeof entry.value === "string" && entry.value.trim() ? Number(entry.value) : entry.value;
  const time = timeUnit(unit);
  const bigger = isBiggerBetter(unit, options);
  if (time === null && bigger === null) {
    complain(
      `the unit "${unit}" does not say whether more is better: taken as worse; ` +
        `give --bigger "${unit}" or --smaller "${unit}"`,
    );
  }
  const put = (number) =>
    time === null || bigger ? { value: number } : { real_time: number, time_unit: time };
  const base = { name, run_name: name, unit, bigger_is_better: bigger === true };
  const deviation = deviationOf(range, value);
  if (deviation === null) return [{ ...base, run_type: "iteration", ...put(value) }];
  return aggregates(base, { mean: value, stddev: deviation }, put);
}

function rowsOfPytest({ name, fullname, stats }) {
  const base = { name: fullname ?? name, run_name: fullname ?? name, time_unit: "s" };
  const { median, mean, stddev } = isObject(stats) ? stats : {};
  const rows = aggregates(base, { median, mean, stddev }, (seconds) => ({ real_time: seconds }));
  return rows.length ? rows : [base];
}

function contextOfPytest({ machine_info: machine, commit_info: commit, datetime, version }) {
  const [cpu, of, at] = [machine?.cpu, machine ?? {}, commit ?? {}];
  const known = at.id && at.id !== "unversioned";
  return {
    date: datetime,
    host_name: of.node,
    cpu: isObject(cpu) ? (cpu.brand_raw ?? cpu.brand) : of.processor,
    num_cpus: isObject(cpu) ? cpu.count : undefined,
    python: [of.python_implementation, of.python_version].filter(Boolean).join(" "),
    pytest_benchmark: version,
    ...(known && { commit: at.dirty ? `${at.id}-changed` : at.id, commit_date: at.time }),
  };
}

// A command: its times, else what is known of them. The values of its parameters become keys of the name.
function rowsOfHyperfine(entry) {
  if (!isObject(entry) || typeof (entry.name ?? entry.command) !== "string") return [entry];
  const parameters = isObject(entry.parameters) ? Object.entries(entry.parameters) : [];
  const name = [entry.name ?? entry.command, ...parameters.map((one) => one.join(":"))].join("/");
  const base = { name, run_name: name, time_unit: "s" };
  const put = (seconds) => ({ real_time: seconds });
  const times = Array.isArray(entry.measurements)
    ? entry.measurements.map((one) => one?.time_wall_clock?.value)
    : entry.times;
  if (Array.isArray(times) && times.some(isNumber)) {
    return times
      .filter(isNumber)
      .map((time, index) => ({ ...base, run_type: "iteration", repetition_index: index, ...put(time) }));
  }
  const { median, mean, stddev } = entry.summary?.time_wall_clock ?? entry;
  const rows = aggregates(base, { median, mean, stddev }, put);
  return rows.length ? rows : [base];
}

const TOOLS = { customBiggerIsBetter: true, customSmallerIsBetter: false };

// One { context, benchmarks } for each commit of each suite in data.js. Suites are told apart as programs are.
function runsOfDataJs(entries, options, complain) {
  return Object.entries(entries).flatMap(([suite, runs]) =>
    (Array.isArray(runs) ? runs : []).filter(isObject).map(({ commit, date, tool, benches }) => {
      const at = isObject(commit) ? commit : {};
      const all = Object.hasOwn(TOOLS, tool) ? TOOLS[tool] : null;
      return {
        context: {
          date,
          commit: at.id,
          commit_date: at.timestamp,
          commit_title: String(at.message ?? "").split("\n")[0],
          executable: suite.replace(/[\\/]/g, " "),
        },
        benchmarks: rowsOf(benches, { ...options, all }, complain),
      };
    }),
  );
}

function rowsOf(list, options, complain) {
  return (Array.isArray(list) ? list : []).flatMap((entry) => {
    if (!isObject(entry) || typeof entry.name !== "string") return [entry];
    if (isObject(entry.stats)) return rowsOfPytest(entry);
    const isPlain = "value" in entry && !("real_time" in entry || "cpu_time" in entry);
    return isPlain ? rowsOfValue(entry, options, complain) : [entry];
  });
}

// A list of { context, benchmarks }, of what a file contains; null if it is none of these formats.
export function asGoogleBenchmark(content, options, complain) {
  if (Array.isArray(content)) {
    if (!content.some((entry) => isObject(entry) && "value" in entry)) return null;
    return asGoogleBenchmark({ benchmarks: content }, options, complain);
  }
  if (!isObject(content)) return null;
  if (isObject(content.entries)) return runsOfDataJs(content.entries, options, complain);
  const given = isObject(content.context) ? content.context : {};
  if (Array.isArray(content.benchmarks)) {
    const ofPytest = isObject(content.machine_info) || isObject(content.commit_info);
    const context = ofPytest ? { ...contextOfPytest(content), ...given } : given;
    return [{ context, benchmarks: rowsOf(content.benchmarks, options, complain) }];
  }
  if (!Array.isArray(content.results)) return null;
  const { start_time: date, hyperfine_version: hyperfine } = content.metadata ?? {};
  const context = { ...(date && { date }), ...(hyperfine && { hyperfine }), ...given };
  return [{ context, benchmarks: content.results.flatMap(rowsOfHyperfine) }];
}
