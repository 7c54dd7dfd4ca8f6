// Tests the page for all users and all inputs: accessibility by axe in both color schemes, phones,
// hostile texts, files of other projects, wrong arguments.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dashboard, launch, openPage, scratchFolder, shownNames } from "./browser.js";
import { writeSample } from "./sample.js";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let browser;
let folder;
let file;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "dashboard-"));
  const changes = [
    { name: "insert/batch/load:95/bits:8/bytes:1048576", at: 12, ratio: 0.85 },
    { name: "insert/batch/load:95/bits:16/bytes:1048576", at: 12, ratio: 1.2 },
  ];
  writeSample(folder, { commits: 24, machines: 1, operations: ["insert/batch"], changes });
  writeFileSync(join(folder, "empty.json"), "");
  file = join(folder, "index.html");
  const made = dashboard("--commit-url", "https://example.org/{commit}", folder);
  assert.equal(made.status, 0, made.stderr);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

for (const colorScheme of ["light", "dark"]) {
  for (const width of [1200, 360]) {
    test(`axe finds nothing: ${colorScheme}, ${width} pixels wide`, async (t) => {
      const options = { colorScheme, viewport: { width, height: 900 } };
      const { page, misdeeds } = await openPage(t, browser, file, options);
      // Parts that can be opened are checked too: the lists, the first card.
      for (const place of ["main > details", "footer", ".card:first-child"]) {
        for (const summary of await page.locator(`${place} summary`).all()) await summary.click();
      }
      await page.evaluate(AXE);
      const { violations } = await page.evaluate(() => globalThis.axe.run());
      const found = violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`);
      assert.deepEqual(found, []);
      const scroll = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(scroll <= width, `the page is ${scroll} wide`);
      assert.deepEqual(misdeeds, []);
    });
  }
}

test("charts take the colors of a scheme that changes", async (t) => {
  const { page } = await openPage(t, browser, file, { colorScheme: "light" });
  await page.locator("canvas").first().waitFor();
  const light = await page
    .locator("canvas")
    .first()
    .evaluate((canvas) => canvas.toDataURL());
  await page.emulateMedia({ colorScheme: "dark" });
  // Fails after a while if the picture stays the same.
  await page.waitForFunction((old) => {
    const canvas = document.querySelector("canvas");
    return canvas && canvas.toDataURL() !== old;
  }, light);
});

test("on a phone a tap on a chart chooses a point", async (t) => {
  const options = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
  const { page } = await openPage(t, browser, file, options);
  const card = page.locator(".card").first();
  const slider = card.getByRole("slider");
  const plot = card.locator(".u-over").first();
  await plot.tap({ position: { x: 3, y: 50 } });
  assert.equal(await slider.inputValue(), "0");
});

test("hostile texts are shown as texts", async (t) => {
  const hostile = scratchFolder(t);
  const evil = `</script><script>alert(1)</script><img src=x onerror=alert(2)>"'&\u2028<!--`;
  const run = (commit) => ({
    context: {
      commit,
      commit_title: evil,
      commit_date: evil,
      machine: evil,
      [evil]: evil,
    },
    benchmarks: [
      { name: evil, run_name: `${evil}/__proto__:7/constructor:1`, cpu_time: 1, time_unit: "ns" },
      { name: "b/constructor:2", cpu_time: 1, time_unit: evil, [evil]: 1, run_type: "iteration" },
      { name: "c/__proto__:8", cpu_time: 1, time_unit: "ns", aggregate_name: evil },
    ],
  });
  writeFileSync(join(hostile, "a.json"), JSON.stringify(run("javascript:alert(3)")));
  writeFileSync(
    join(hostile, "b <img src=x onerror=alert(4)>.json"),
    JSON.stringify(run("abc123")),
  );
  writeFileSync(join(hostile, "<b>.json"), evil);
  const url = "https://example.org/{commit}?$&";
  const made = dashboard("--title", `${evil}$&`, "--commit-url", url, hostile);
  assert.equal(made.status, 3, made.stderr);
  const { page, misdeeds } = await openPage(t, browser, join(hostile, "index.html"));
  for (const summary of await page.locator("summary:visible").all()) await summary.click();
  assert.ok((await page.title()).includes("<script>alert(1)"));
  assert.ok((await shownNames(page)).some((name) => name.startsWith("</script><script>alert(1)")));
  assert.equal(await page.locator("img").count(), 0);
  const links = await page.locator(".card a.commit").evaluateAll((all) => all.map((a) => a.href));
  assert.ok(links.length > 0);
  assert.ok(
    links.every((link) => link === "https://example.org/abc123?$&"),
    links.join(),
  );
  assert.deepEqual(misdeeds, []);
});

test("files of another project: one chart of times, labeled by file", async (t) => {
  const other = scratchFolder(t);
  for (let index = 0; index < 20; ++index) {
    const context = { date: `2025-01-${10 + index}T08:00:00+00:00`, host_name: "h", num_cpus: 8 };
    const time = (index < 10 ? 100 : 125) + (index % 3);
    const benchmarks = [1, 2].map((repetition_index) => ({
      name: "BM_sort/1024",
      run_name: "BM_sort/1024",
      run_type: "iteration",
      repetition_index,
      real_time: time + repetition_index,
      cpu_time: time + repetition_index,
      time_unit: "us",
    }));
    writeFileSync(join(other, `run${index}.json`), JSON.stringify({ context, benchmarks }));
  }
  const out = join(other, "page.html");
  assert.equal(dashboard("--out", out, other).status, 0);
  const { page, misdeeds } = await openPage(t, browser, out);
  assert.deepEqual(await page.locator(".card figcaption").allTextContents(), ["Time"]);
  const row = await page.locator("#regressions tbody tr").textContent();
  assert.match(row, /\+\d+\.\d %.*BM_sort.*Time.*run10.*h, 8 CPUs/);
  assert.match(await page.locator(".announcement").textContent(), /^Time \d+ us \(/);
  assert.equal(await page.locator(".card a.commit").count(), 0);
  assert.deepEqual(misdeeds, []);
});

test("a list of values: the unit is named once, the axis has room", async (t) => {
  const folder = scratchFolder(t);
  for (let index = 10; index < 34; ++index) {
    const context = {
      commit: `c${index}`,
      commit_date: `2026-01-${String(index - 9).padStart(2, "0")}`,
    };
    const value = index < 25 ? 1200000 : 900000;
    const benchmarks = [{ name: "score", unit: "very long points", value }];
    writeFileSync(join(folder, `${index}.json`), JSON.stringify({ context, benchmarks }));
  }
  const made = dashboard("--bigger", "very long points", folder);
  assert.equal(
    made.stdout.split(": ").slice(1).join(": ").trim(),
    "1 series from 24 files, regressions: 1, improvements: 0",
  );
  const { page, misdeeds } = await openPage(t, browser, join(folder, "index.html"));
  const row = await page.locator("#regressions tbody tr").textContent();
  assert.match(row, /Value \(very long points\)1200000 very long points . 900000 very long points/);
  assert.match(row, /c25.*last good: c24/);
  assert.deepEqual(misdeeds, []);
});

test("exit status and sentences for wrong arguments and empty folders", (t) => {
  const empty = scratchFolder(t);
  writeFileSync(join(empty, "bad.json"), "{");
  const none = dashboard(empty);
  assert.equal(none.status, 1);
  assert.match(none.stderr, /^bad\.json: not JSON/m);
  assert.match(none.stderr, /could be read, so no page is written; this program reads .*hyperfine/);
  for (const args of [
    [],
    [empty, empty],
    ["--wrong", empty],
    [join(empty, "missing")],
    ["--commit-url", "javascript:alert({commit})", empty],
    ["--commit-url", "https://example.org/", empty],
  ]) {
    const { status, stderr } = dashboard(...args);
    assert.equal(status, 2, args.join(" "));
    assert.match(stderr, /^dashboard: ./);
  }
  const help = dashboard("--help");
  assert.equal(help.status, 0);
  assert.match(help.stdout, /scripts\/dashboard \[--out FILE\]/);
});
