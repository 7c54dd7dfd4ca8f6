// What the texts in a file mean: the name of a benchmark, the commit and its date, the program.

const collator = new Intl.Collator("en", { numeric: true });

export function compareTexts(a, b) {
  return collator.compare(a, b) || (a < b ? -1 : Number(a > b));
}

// Parts of a name that say how long it was run: changing them does not start a new series.
const RUN_SETTINGS = /^(repeats|iterations|min_time|min_warmup_time):/;
const AGGREGATE_SUFFIX = /_(mean|median|stddev|cv|BigO|RMS)$/;

// The name of an entry without what its aggregate adds.
export function nameOf(entry) {
  return entry.run_name ?? entry.name.replace(AGGREGATE_SUFFIX, "");
}

// { name, keys, wallClock }: the name of the series, its parts of the form key:value, and whether
// the benchmark uses the wall clock.
export function parseName(entry) {
  const full = nameOf(entry);
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

export function text(value) {
  return typeof value === "string" || typeof value === "number" ? String(value).trim() : "";
}

const ISO =
  /^(\d{4})(-?)(\d\d)\2(\d\d)(?:[T ](\d\d):?(\d\d)(?::?(\d\d(?:[.,]\d+)?))? ?(Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?)?$/i;
const NAMED_MONTH =
  /^(?:[a-z]{3,9},? )?(?:\d{1,2} )?[a-z]{3,9} [\d :]*(?:(?:GMT|UTC) )?\d{4}[\d :]*(?: (?:[+-]\d{4}|GMT|UTC|Z))?$/i;

// A date in ISO 8601, in seconds or milliseconds since 1970, or with the name of its month, as Git, mails
// and `date -u` write it; null for any other. Without a zone it is UTC. Date.parse alone takes 05/11/2026 for
// May and 12 for a year.
function time(value) {
  const written = text(value);
  const seconds = /^\d{9,10}(\.\d+)?$/.test(written);
  if (seconds || /^\d{12,13}$/.test(written)) return Number(written) * (seconds ? 1000 : 1);
  const iso = ISO.exec(written);
  let parsed = NaN;
  if (iso) {
    const [, year, , month, day, hours = "00", minutes = "00", seconds = "00", zone = "Z"] = iso;
    const shift = zone
      .replace(/^[a-z]+$/i, "Z")
      .replace(/^(...):?(..)?$/, (_, whole, rest) => `${whole}:${rest ?? "00"}`);
    const clock = `${hours}:${minutes}:${seconds.replace(",", ".")}`;
    parsed = Date.parse(`${year}-${month}-${day}T${clock}${shift}`);
  } else if (NAMED_MONTH.test(written)) {
    parsed = Date.parse(/[+-]\d{4}$|GMT|UTC|Z$/i.test(written) ? written : `${written} UTC`);
  }
  return Number.isNaN(parsed) ? null : parsed;
}

// What a run measures: { id, isCommit, label, title, time, measured }. It is the commit, or the file if the context
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
    measured,
  };
}

function shortCommit(commit) {
  return commit.replace(/^([0-9a-f]{9})[0-9a-f]{3,}/i, "$1");
}

// What is wrong with the dates of runs, by which their commits are put in order.
export function problemsWithDates(runs, commits) {
  const tied = new Set();
  commits.forEach((commit, index) => {
    const { time: at, measured, label } = commits[index - 1] ?? {};
    if (at === undefined || at === null || at !== commit.time || measured !== commit.measured)
      return;
    tied.add(label).add(commit.label);
  });
  const dated = runs.some((run) => commitOf(run).time !== null);
  const placed = runs.some(({ context }) => time(context.commit_date) !== null);
  return runs.flatMap((run) => {
    const { isCommit, time: known, label } = commitOf(run);
    const wrong = ["commit_date", "date"].filter(
      (key) =>
        (key === "date" || isCommit) && text(run.context[key]) && time(run.context[key]) === null,
    );
    const messages = wrong.map((key) => `its ${key} is not understood: ${text(run.context[key])}`);
    const place = dated ? "before all that have a date" : "by the name of its file";
    if (known === null) messages.push(`it has no date: it stands ${place}`);
    else if (isCommit && placed && time(run.context.commit_date) === null) {
      messages.push("it has no commit_date: it stands where it was measured");
    }
    if (tied.has(label))
      messages.push("it has the date of another: their order is that of their names");
    return messages.map((message) => ({ file: run.file, message }));
  });
}

// A hash, a date or a version at the end of a name, also as `git describe` writes it. Other numbers may be
// sizes.
const OF_ONE_BUILD =
  /[-_.@]v?(?:(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{7,64}|20\d{6}|\d{10,}|\d+(?:\.\d+)+(?:-\d+-g[0-9a-f]{7,})?)(?:-dirty)?$/i;

// The name of the benchmark program, without its folder and what names a single build.
export function programOf(run) {
  return text(run.context.executable)
    .split(/[\\/]/)
    .at(-1)
    .replace(/\.exe$/i, "")
    .replace(OF_ONE_BUILD, "");
}
