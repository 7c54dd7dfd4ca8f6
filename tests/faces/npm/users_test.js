// The package as users install it, and the examples of docs/NPM.md. NESTLINE_PACKAGE names the file
// that npm installs, NESTLINE the command.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { openPage } from "./pages.js";

const { NESTLINE, NESTLINE_PACKAGE } = process.env;
const EXAMPLES = new URL("../../documents/examples/", import.meta.url);

function example(folder, name) {
  copyFileSync(new URL(name, EXAMPLES), join(folder, name));
  return execFileSync("node", [name], { cwd: folder, encoding: "utf8" });
}

test("it is installed into an empty folder, and the examples print what they should", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "npm-"));
  t.after(() => rmSync(folder, { recursive: true }));
  execFileSync("npm", ["init", "--yes"], { cwd: folder });
  execFileSync("npm", ["install", "--no-audit", "--no-fund", NESTLINE_PACKAGE], { cwd: folder });
  writeFileSync(join(folder, "passwords.txt"), "password\n123456\nqwerty\nmot de passe caf\u00e9\n");
  execFileSync(NESTLINE, ["build", "-o", "passwords.nest", "--fpr", "0.0001", "passwords.txt"], { cwd: folder });

  assert.equal(
    example(folder, "npm_password.mjs"),
    "123456 is known: take another\nrare words stand here is not known\n",
  );
  assert.equal(
    example(folder, "npm_batches.mjs"),
    "2 [ 1, 0 ]\ntrue true false\norder 17 came twice\n",
  );

  const require = `require("nestline").init().then(() => console.log("started"))`;
  const { status, stdout, stderr } = spawnSync("node", ["--eval", require], { cwd: folder, encoding: "utf8" });
  if (process.features.require_module) assert.equal(stdout, "started\n");
  else assert.ok(status !== 0 && stderr.includes("ERR_REQUIRE_ESM"), stderr);

  // The compiled program, for servers that compile none.
  execFileSync(join(folder, "node_modules/.bin/nestline-wasm"), { cwd: folder });
  const program = readFileSync(join(folder, "nestline.wasm"));
  assert.deepEqual(program, readFileSync(join(dirname(NESTLINE_PACKAGE), "nestline.wasm")));

  copyFileSync(new URL("npm_password.html", EXAMPLES), join(folder, "npm_password.html"));
  const { page, misdeeds } = await openPage(t, "npm_password.html", (path) => readFileSync(join(folder, path)));
  for (const [password, advice] of [
    ["qwerty", "is known: take another"],
    ["qwert", "is not known"],
    ["mot de passe caf\u00e9", "is known: take another"],
  ]) {
    await page.fill("#password", password);
    await page.waitForFunction((text) => document.querySelector("#advice").textContent === text, advice);
  }
  assert.deepEqual(misdeeds, []);
});
