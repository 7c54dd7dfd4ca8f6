// What other tools write, as the rows of Google Benchmark: the files of pytest-benchmark, and the
// plain list [{ name, unit, value, range }] that github-action-benchmark reads. Rows of the plain kind
// may also stand in "benchmarks" of an object that has a "context".
//
// A value in a unit of time is a time. Any other is `value`, and its unit says which direction is
// better: rates are better when they are larger, sizes when they are smaller. Where the unit does not
// say, the caller's `bigger` and `smaller`, lists of units, do; they come before what is guessed here.

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export const NANOSECONDS = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };
const TIME =
  /^(?:(ns|nanosec)|([u\u00b5\u03bc]s|microsec)|(ms|millisec)|(s|sec))(?:ond)?s?(?:\s*(?:\/|\bper\b)\s*[a-z]+)?$/i;
const RATE = /(?:\/\s*|\bper\s+)s(?:ec(?:ond)?)?$|^[kmg]?(?:flops|iops|ops|bps|fps|tps|qps|rps)$/i;
const SIZE = /^[kmgt]?i?(?:b|bytes?)(?:\/op)?$/i;

function timeUnit(unit) {
  const found = TIME.exec(unit)?.slice(1).findIndex(Boolean);
  return found === undefined ? null : Object.keys(NANOSECONDS)[found];
}

// Whether more of a unit is better; null if nobody says.
function isBiggerBetter(unit, { bigger = [], smaller = [] }) {
  if (bigger.includes(unit)) return true;
  if (smaller.includes(unit)) return false;
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
    time === null || bigger !== null ? { value: number } : { real_time: number, time_unit: time };
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

// { context, benchmarks } of what a file contains; null if it is none of these formats.
export function asGoogleBenchmark(content, options, complain) {
  if (Array.isArray(content)) {
    if (!content.some((entry) => isObject(entry) && "value" in entry)) return null;
    return asGoogleBenchmark({ benchmarks: content }, options, complain);
  }
  if (!isObject(content) || !Array.isArray(content.benchmarks)) return null;
  const ofPytest = isObject(content.machine_info) || isObject(content.commit_info);
  const given = isObject(content.context) ? content.context : {};
  return {
    context: ofPytest ? { ...contextOfPytest(content), ...given } : given,
    benchmarks: content.benchmarks.flatMap((entry) => {
      if (!isObject(entry) || typeof entry.name !== "string") return [entry];
      if (isObject(entry.stats)) return rowsOfPytest(entry);
      const isPlain = "value" in entry && !("real_time" in entry || "cpu_time" in entry);
      return isPlain ? rowsOfValue(entry, options, complain) : [entry];
    }),
  };
}
