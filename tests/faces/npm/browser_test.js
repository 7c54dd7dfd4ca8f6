// The package in headless Chromium, as a page without a bundler loads it from a server. NESTLINE_NPM
// names its folder (build/npm/package).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { openPage } from "./pages.js";

const PACKAGE = resolve(process.env.NESTLINE_NPM ?? "build/npm/package");
const GOLDEN = new URL("../../filters/file/golden/", import.meta.url);
const PAGE = "<!doctype html><meta charset=utf-8><title>nestline</title>";
// As strict as it can be with WebAssembly: nothing but the server's own scripts.
const POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'";

// What the server has: the page, the package's modules and golden files.
function contentOf(name) {
  if (name === "page.html") return PAGE;
  return readFileSync(name.endsWith(".js") ? join(PACKAGE, name) : new URL(name, GOLDEN));
}

// In the page: the first two lines of answers of a golden file, by single calls and by batches, and
// whether it is saved as it was.
async function linesOf(name) {
  const { ExpiringFilter, Filter, init } = await import("/nestline.js");
  await init();
  const file = new Uint8Array(await (await fetch(`/${name}`)).arrayBuffer());
  const filter = (name.startsWith("e") ? ExpiringFilter : Filter).load(file);
  const integers = Float64Array.from({ length: 4096 }, (_, i) => i);
  const lines = [];
  for (const keys of [integers, Array.from(integers, (i) => `key-${i}`)]) {
    const many = filter.mayContainBatch(keys);
    let line = "";
    for (let i = 0; i < 4096; i += 4) {
      let digit = 0;
      for (let bit = 0; bit < 4; ++bit) {
        if (filter.mayContain(keys[i + bit]) !== (many[i + bit] === 1)) return `${name}: ${i}`;
        digit |= many[i + bit] << bit;
      }
      line += digit.toString(16);
    }
    lines.push(line);
  }
  // The bytes behind the header, which is a small one where a filter saves itself.
  const body = (all) => all.subarray(all[12] === 1 ? 4096 : all[18] >>> 5 === 1 ? 128 : 64);
  const [saved, given] = [body(filter.save()), body(file)];
  filter.free();
  return [...lines, saved.length === given.length && saved.every((byte, i) => byte === given[i])];
}

// In the page: an error, and a filter that is larger than what memory began with.
async function largeOne() {
  const { Filter } = await import("/nestline.js");
  const filter = new Filter({ capacity: 5_000_000, bits: 8 });
  filter.insertBatch(Float64Array.from({ length: 1_000_000 }, (_, i) => i));
  try {
    Filter.load(new Uint8Array(9));
  } catch (error) {
    return [filter.size, filter.mayContain(999_999), error.message.startsWith("bytes")];
  }
}

test("a page loads it and has the answers of the golden files", async (t) => {
  const headers = { "Content-Security-Policy": POLICY };
  const { page, misdeeds } = await openPage(t, "page.html", contentOf, headers);
  for (const name of ["w8", "w9", "w10", "w12", "w16", "w12_grown", "t8", "e40", "e44"]) {
    const [integers, strings] = readFileSync(new URL(`${name}.answers`, GOLDEN), "utf8").split("\n");
    assert.deepEqual(await page.evaluate(linesOf, `${name}.nest`), [integers, strings, true], name);
  }
  assert.deepEqual(await page.evaluate(largeOne), [1_000_000, true, true]);
  assert.deepEqual(misdeeds, []);
});
