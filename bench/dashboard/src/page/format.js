// Numbers and names as texts for people.
const MINUS = "\u2212";
const DOT = "\u00b7";
const STEPS = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
  [1, ""],
];

function digits(value) {
  const size = Math.abs(value);
  if (size >= 100) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1);
  if (size >= 0.01) return value.toFixed(size >= 1 ? 2 : 3);
  return value.toPrecision(2);
}

function withPrefix(value, unit) {
  const [step, prefix] = STEPS.find(([least]) => value >= least) ?? [1, ""];
  return `${digits(value / step)} ${prefix}${unit}`.trim();
}

function duration(nanoseconds) {
  if (nanoseconds < 1e3) return `${digits(nanoseconds)} ns`;
  if (nanoseconds < 1e6) return `${digits(nanoseconds / 1e3)} us`;
  if (nanoseconds < 1e9) return `${digits(nanoseconds / 1e6)} ms`;
  return `${digits(nanoseconds / 1e9)} s`;
}

// A value of a measure of a series.
export function valueText(series, measure, value) {
  if (measure === "ratio") return digits(value);
  if (series.quantity === "time") return duration(value);
  if (series.quantity === "value") return `${digits(value)} ${series.unit}`.trim();
  return withPrefix(value, series.quantity === "bytes_per_second" ? "B/s" : "/s");
}

// The same for an axis, which has no room for long units.
export function axisText(series, measure, value) {
  const isShort = measure === "ratio" || series.quantity !== "value";
  return isShort ? valueText(series, measure, value) : withPrefix(value, "");
}

const FIGURE_NAMES = {
  items_per_second: "Items per second",
  bytes_per_second: "Bytes per second",
  time: "Time",
};

export function measureName(series, measure) {
  if (measure === "ratio") return "Ratio to the ceiling";
  return FIGURE_NAMES[series.quantity] ?? (series.unit ? `Value (${series.unit})` : "Value");
}

// A change as a percentage with its sign.
export function percent(ratio) {
  const value = 100 * (ratio - 1);
  return `${value < 0 ? MINUS : "+"}${Math.abs(value).toFixed(1)} %`;
}

export function share(value) {
  return `${Number((100 * value).toPrecision(3))} %`;
}

export function pText(p) {
  return p < 0.0001 ? "< 0.0001" : String(Number(p.toPrecision(2)));
}

export function dateText(time) {
  return time === null ? "" : new Date(time).toISOString().slice(0, 10);
}

// A raw number with all its digits.
export function rawText(value) {
  return value === null ? "" : String(value);
}

export function joined(...parts) {
  return parts.filter(Boolean).join(` ${DOT} `);
}

// Names and values of filters for keys that are common in benchmark names.
const KEY_NAMES = { bits: "Width (bits)", bytes: "Size" };

export function keyName(key) {
  return KEY_NAMES[key] ?? key;
}

export function keyValue(key, value) {
  if (key !== "bytes" || !/^\d+$/.test(value)) return value;
  const power = Math.min(Math.floor(Math.log2(Number(value) || 1) / 10), 4);
  const size = Number(value) / 2 ** (10 * power);
  return `${Number(size.toPrecision(4))} ${["B", "KiB", "MiB", "GiB", "TiB"][power]}`;
}

// A benchmark's name in which lines may break after slashes.
export function breakable(name) {
  return name.replace(/\//g, "/\u200b");
}

// At most five of some texts.
export function someOf(texts) {
  const shown = texts.slice(0, 5).join(", ");
  return texts.length > 5 ? `${shown} and ${texts.length - 5} more` : shown;
}

export function plural(count, word) {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}
