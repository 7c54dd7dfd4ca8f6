// Makes sample folders of Google Benchmark files for the tests: the same every time.
//
// writeSample(folder, options): `commits` commits of a project like ours, three files for every two
// commits, on two machines. Wanted changes are in `changes`: { name, at, ratio } (a part of the
// name of a benchmark, the index of the commit, the new level), on the first machine.
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { randomNumbers } from "../src/random.js";
import { normalNumbers } from "./noise.js";

const MACHINES = [
  { machine: "small-vm", cpu: "Sample CPU 2.5 GHz", target: "AVX2" },
  { machine: "big-server", cpu: "Sample CPU 3.1 GHz", target: "AVX3_ZEN4" },
];
const REPETITIONS = 5;

export function commitHash(index) {
  return createHash("sha1").update(`commit ${index}`).digest("hex");
}

function contextOf(machine, index) {
  const day = new Date(Date.UTC(2026, 0, 1 + 2 * index, 9));
  return {
    date: day.toISOString(),
    host_name: `runner-${index % 7}`,
    executable: "./build/bench/nestline_bench",
    num_cpus: machine.machine === "small-vm" ? 2 : 64,
    mhz_per_cpu: 2500 + (index % 3),
    library_build_type: "release",
    page_size: "huge",
    commit: commitHash(index),
    commit_date: day.toISOString(),
    commit_title: `Change number ${index}`,
    ...machine,
  };
}

export function sampleNames({ operations, widths, sizes }) {
  return operations.flatMap((operation) =>
    widths.flatMap((bits) =>
      sizes.map((bytes) => `${operation}/load:95/bits:${bits}/bytes:${bytes}`),
    ),
  );
}

function entriesOf(name, level, normal) {
  // The machine's own mood moves the rate, not the ratio.
  const ratio = 0.62 * level * Math.exp(0.02 * normal());
  const rate = ratio * 4e8 * Math.exp(0.03 * normal());
  return Array.from({ length: REPETITIONS }, (_, index) => {
    const wobble = Math.exp(0.015 * normal());
    const time = 1e9 / (rate * wobble);
    return {
      name,
      run_name: name,
      run_type: "iteration",
      repetitions: REPETITIONS,
      repetition_index: index,
      threads: 1,
      iterations: 10,
      real_time: time,
      cpu_time: time,
      time_unit: "ns",
      items_per_second: rate * wobble,
      of_ceiling: ratio * wobble,
      fpr: 0.0012,
    };
  });
}

export const DEFAULTS = {
  commits: 40,
  machines: 2,
  operations: ["may_contain/batch/absent", "may_contain/single/present", "insert/batch"],
  widths: [8, 12, 16],
  sizes: [1048576, 268435456],
  changes: [],
  seed: 7,
};

export function writeSample(folder, options = {}) {
  const settings = { ...DEFAULTS, ...options };
  const normal = normalNumbers(randomNumbers(settings.seed));
  mkdirSync(folder, { recursive: true });
  const names = sampleNames(settings);
  MACHINES.slice(0, settings.machines).forEach((machine, number) => {
    for (let index = 0; index < settings.commits; ++index) {
      const benchmarks = names.flatMap((name) => {
        const level = settings.changes
          .filter((change) => number === 0 && name.includes(change.name) && index >= change.at)
          .reduce((product, { ratio }) => product * ratio, 1);
        return entriesOf(name, level, normal);
      });
      // Every other commit of the first machine comes in two files.
      const cut = number === 0 && index % 2 ? Math.ceil(benchmarks.length / 2) : benchmarks.length;
      const context = contextOf(machine, index);
      const write = (part, list) => {
        const file = join(folder, `${machine.machine}-${index}${part}.json`);
        writeFileSync(file, JSON.stringify({ context, benchmarks: list }));
      };
      write("", benchmarks.slice(0, cut));
      if (cut < benchmarks.length) write("-second", benchmarks.slice(cut));
    }
  });
}

// Files as hosted runners write them: another host for each commit, and a benchmark that takes 30 %
// longer from commit 12 on. Commit 11 did not measure it.
export function writeHosted(folder, commits) {
  for (let index = 0; index < commits; ++index) {
    const context = {
      date: new Date(Date.UTC(2026, 0, 1 + index)).toISOString(),
      host_name: `fv-az${index}-${1000 - index}`,
      executable: `./bench-${commitHash(index).slice(0, 12)}`,
      num_cpus: 4,
      mhz_per_cpu: 2400 + 10 * index,
      caches: [{ type: "Unified", level: 2, size: 524288, num_sharing: 2 }],
      ...(index % 3 && { library_build_type: "release" }),
      commit: `c${index}`,
      commit_date: new Date(Date.UTC(2026, 0, 1 + index)).toISOString(),
    };
    const cpu_time = index < 12 ? 100 : 130;
    const name = index === 11 ? "b" : "a";
    const benchmarks = [{ name, run_name: name, run_type: "iteration", cpu_time, time_unit: "ns" }];
    writeFileSync(join(folder, `${index}.json`), JSON.stringify({ context, benchmarks }));
  }
}
