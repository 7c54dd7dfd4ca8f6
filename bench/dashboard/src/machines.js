// Which runs were measured on machines of one kind: their points share series.
//
// Hosted runners and containers have another host name each time, so a machine is what its fields
// say of the hardware, and the host name counts only when asked for. Two runs differ if a field that
// both have differs. A field that only one of them has says nothing, so that a series goes on when a
// pipeline begins to record one: a run joins the kind that it shares a field with and differs from
// in none, if there is just one. A run that fits several stays alone, with a label that says so.
import { text } from "./names.js";

const SIZES = ["B", "KiB", "MiB", "GiB"];

function sizeText(bytes) {
  const power = Math.min(Math.floor(Math.log2(bytes || 1) / 10), SIZES.length - 1);
  return `${Number((bytes / 1024 ** power).toPrecision(4))} ${SIZES[power]}`;
}

// The sizes of the caches, the data's and those of all; "" if there are none.
function cachesOf({ machine, caches }) {
  if (text(machine) || !Array.isArray(caches)) return "";
  return caches
    .filter((cache) => typeof cache?.size === "number" && cache.type !== "Instruction")
    .map(({ level, size }) => `L${level} ${sizeText(size)}`)
    .join(", ");
}

const plain = (key) => (context) => text(context[key]);

// The fields, and how a label shows one. Those that `identifies` are shared by few kinds.
function fieldsOf({ byHost }) {
  return [
    { of: plain("machine"), show: (value) => value, identifies: true },
    { of: plain("cpu"), show: (value) => value, identifies: true },
    { of: byHost ? plain("host_name") : () => "", show: (value) => value, identifies: true },
    { of: cachesOf, show: (value) => `caches ${value}`, identifies: true },
    { of: plain("num_cpus"), show: (value) => `${value} CPUs`, identifies: true },
    { of: plain("target"), show: (value) => value },
    { of: plain("page_size"), show: (value) => `pages ${value}` },
    { of: plain("library_build_type"), show: (value) => `${value} library` },
  ];
}

// Groups indices of runs whose values fit; the fullest come first, so that the others find them.
function kindsOf(valuesOfRuns, fields) {
  const known = (values) => values.filter(Boolean).length;
  const kinds = [];
  const order = [...valuesOfRuns.keys()].sort(
    (a, b) => known(valuesOfRuns[b]) - known(valuesOfRuns[a]) || a - b,
  );
  for (const run of order) {
    const values = valuesOfRuns[run];
    const same = kinds.find((kind) => kind.first.join("\n") === values.join("\n"));
    const fitting = kinds.filter(
      (kind) =>
        values.every((value, i) => !value || !kind.values[i] || value === kind.values[i]) &&
        values.some((value, i) => fields[i].identifies && value && value === kind.values[i]),
    );
    const kind = same ?? (fitting.length === 1 ? fitting[0] : null);
    if (kind) {
      kind.runs.push(run);
      kind.values = kind.values.map((value, i) => value || values[i]);
    } else {
      kinds.push({ first: values, values, runs: [run] });
    }
  }
  return kinds;
}

// For each run the label of its machine. Options: `machine`, the name of the machine of all runs;
// `byHost`, whether runs on different hosts differ.
export function machineLabels(runs, options = {}) {
  if (options.machine !== undefined) return runs.map(() => options.machine);
  const fields = fieldsOf(options);
  const kinds = kindsOf(
    runs.map(({ context }) => fields.map(({ of }) => of(context))),
    fields,
  );
  const base = ({ values: [machine, cpu, host, , cpus], runs: own }) => {
    const hosts = new Set(own.map((run) => text(runs[run].context.host_name)));
    const name = cpu || host || (hosts.size === 1 ? [...hosts][0] : "");
    return (
      machine || [name, cpus && `${cpus} CPUs`].filter(Boolean).join(", ") || "unknown machine"
    );
  };
  const labels = [];
  const bases = kinds.map(base);
  kinds.forEach((kind, number) => {
    const namesakes = kinds.filter((_, other) => bases[other] === bases[number]);
    const differing = fields.filter((_, i) =>
      namesakes.some((one) => one.values[i] !== kind.values[i]),
    );
    const shown = differing.map((field) => {
      const value = kind.values[fields.indexOf(field)];
      return value ? field.show(value) : "unknown";
    });
    const label = shown.length ? `${bases[number]} (${shown.join(", ")})` : bases[number];
    for (const run of kind.runs) labels[run] = label;
  });
  return labels;
}
