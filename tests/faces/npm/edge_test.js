// The package in workerd, which runs Cloudflare's workers: it imports a compiled program and compiles none. workerd has
// 160 MB, so this is run by a person:
//
//   npm install --prefix FOLDER workerd
//   WORKERD=FOLDER/node_modules/.bin/workerd node --test tests/faces/npm/edge_test.js
//
// NESTLINE_NPM names the package's folder (build/npm/package).
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";

const PACKAGE = resolve(process.env.NESTLINE_NPM ?? "build/npm/package");
const WORKERD = process.env.WORKERD ?? "workerd";
const GOLDEN = new URL("../../filters/file/golden/", import.meta.url);
const isThere = spawnSync(WORKERD, ["--version"]).status === 0;
const skip = !isThere && "there is no workerd: WORKERD names it";

const WORKER = `
import { ExpiringFilter, Filter, init, Outcome } from "nestline.js";
import program from "nestline.wasm";
import golden from "golden.nest";

function expect(condition, what) {
  if (!condition) throw new Error(what);
}
export default {
  async test(controller, { lacksRegistry }) {
    expect(lacksRegistry === !globalThis.FinalizationRegistry, "FinalizationRegistry");
    const refused = await init().then(String, String);
    expect(refused.includes("init(program)"), refused);
    await init(program);
    const filter = new Filter({ capacity: 1000, seed: 5n });
    expect(filter.insert("ann") === Outcome.stored, "insert");
    expect(filter.insertBatch(["caf\\u00e9", "x".repeat(1e6)]).join() === "1,1", "insertBatch");
    const loaded = Filter.load(await new Response(filter.save()).arrayBuffer());
    expect(loaded.mayContain("caf\\u00e9") && loaded.mayContain("x".repeat(1e6)), "load");
    expect(!loaded.mayContain("eve") && loaded.erase("ann"), "erase");
    const known = Filter.load(golden);
    expect(new Uint8Array(golden).every((byte, i) => byte === known.save()[i]), "golden file");
    const seen = new ExpiringFilter({ capacity: 1000, ttlTicks: 2 });
    seen.insert(17);
    expect(seen.insert(17n) === Outcome.present, "expiring");
    seen.advance(3);
    expect(!seen.mayContain(17), "expired");
    for (const one of [filter, loaded, known, seen]) one.free();
  },
};
`;

// The day to which workerd is compatible; from the second on it has FinalizationRegistry.
const configOf = (date, lacksRegistry) => `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (services = [(name = "main", worker = (
  modules = [
    (name = "worker", esModule = embed "worker.js"),
    (name = "nestline.js", esModule = embed "nestline.js"),
    (name = "code.js", esModule = embed "code.js"),
    (name = "nestline.wasm", wasm = embed "nestline.wasm"),
    (name = "golden.nest", data = embed "golden.nest"),
  ],
  bindings = [(name = "lacksRegistry", json = "${lacksRegistry}")],
  compatibilityDate = "${date}",
))]);
`;

for (const [date, lacksRegistry] of [["2023-01-01", true], ["2026-01-01", false]]) {
  test(`a worker compatible to ${date} has filters`, { skip }, (t) => {
    const folder = mkdtempSync(join(tmpdir(), "npm-"));
    t.after(() => rmSync(folder, { recursive: true }));
    for (const name of ["nestline.js", "code.js"]) copyFileSync(join(PACKAGE, name), join(folder, name));
    execFileSync("node", [join(PACKAGE, "wasm.js")], { cwd: folder });
    copyFileSync(new URL("w12.nest", GOLDEN), join(folder, "golden.nest"));
    writeFileSync(join(folder, "worker.js"), WORKER);
    writeFileSync(join(folder, "config.capnp"), configOf(date, lacksRegistry));
    const { status, stderr } = spawnSync(WORKERD, ["test", "config.capnp"], { cwd: folder, encoding: "utf8" });
    assert.equal(status, 0, stderr);
  });
}
