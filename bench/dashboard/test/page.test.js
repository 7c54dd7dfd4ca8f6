// The page in headless Chromium, from the file system: what it shows and what it lets people do.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dashboard, launch, openPage, scratchFolder, shownNames } from "./browser.js";
import { commitHash, writeHosted, writeSample } from "./sample.js";

// The sample has one benchmark that slows down by 10 % and stays there; everything else is flat.
const SLOWER = "insert/batch/load:95/bits:12/bytes:1048576";
const AT = 30;
const COMMIT_URL = "https://example.org/commit/{commit}";

let browser;
let folder;
let file;
let result;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "dashboard-"));
  writeSample(folder, { changes: [{ name: SLOWER, at: AT, ratio: 0.9 }] });
  writeFileSync(join(folder, "cut.json"), '{"context": {');
  file = join(folder, "index.html");
  result = dashboard("--title", "Sample & <title>", "--commit-url", COMMIT_URL, folder);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

const open = (t, options) => openPage(t, browser, file, options);

test("the script says what it did, and names the file that it could not read", () => {
  assert.equal(result.status, 0);
  assert.match(result.stderr, /^cut\.json: not JSON: /m);
  assert.match(result.stdout, /index\.html: 36 series from 100 files, regressions: 1,/);
});

test("the page loads without errors or requests, and shows what there is", async (t) => {
  const { page, misdeeds } = await open(t);
  assert.equal(await page.title(), "Sample & <title>");
  assert.match(await page.locator("#summary").textContent(), /36 series . 40 commits . 2 machines/);
  assert.equal(await page.locator("#moves").isVisible(), false);
  assert.equal(await page.locator(".card").count(), 36);
  await page.locator(".card canvas").first().waitFor();
  assert.match(await page.locator("#problems li").textContent(), /^cut\.json: not JSON: /);
  await page.mouse.wheel(0, 4000);
  await page.waitForTimeout(300);
  assert.deepEqual(misdeeds, []);
});

test("the injected regression is marked and first; the flat series are not marked", async (t) => {
  const { page } = await open(t);
  const rows = page.locator("#regressions tbody tr");
  assert.equal(await rows.count(), 1);
  const text = (await rows.first().textContent()).replace(/\u200b/g, "");
  assert.ok(text.includes(SLOWER) && text.includes("small-vm"));
  const percent = Number(/\u2212([\d.]+) %/.exec(text)[1]);
  assert.ok(percent > 7 && percent < 13, `${percent} %`);
  assert.equal(await page.locator("#improvements tbody tr").count(), 0);
  assert.equal((await shownNames(page))[0], SLOWER);
  assert.equal(await page.locator(".badge").count(), await page.locator(".card .worse").count());

  // The commit that is named is the one where it happened, or next to it.
  const href = await rows.first().locator("a.commit").getAttribute("href");
  const near = [AT - 1, AT, AT + 1].map((index) =>
    COMMIT_URL.replace("{commit}", commitHash(index)),
  );
  assert.ok(near.includes(href), href);
});

test("a regression's link goes to its card and chooses its commit", async (t) => {
  const { page, misdeeds } = await open(t);
  const row = page.locator("#regressions tbody tr").first();
  const commit = await row.locator("a.commit").textContent();
  await row.locator("a[href^='#series-']").click();
  const card = page.locator(".card:target");
  assert.equal(await card.locator(".point a.commit").textContent(), commit);
  assert.match(await card.locator(".announcement").textContent(), /regression of \u2212/);
  assert.deepEqual(misdeeds, []);
});

test("the method is named beside the regressions and explained below", async (t) => {
  const { page } = await open(t);
  assert.match(await page.locator("#regressions").textContent(), /Found by E-divisive/);
  await page.getByRole("link", { name: "how, and how often it errs" }).click();
  const method = page.locator("#method");
  assert.ok(await method.getByText("at most 0.2 % of 1999 random orders").isVisible());
  assert.ok(await method.getByText("needs 4 points on each side and a size of 3 %").isVisible());
});

test("filters by width, size, machine and name, alone and together", async (t) => {
  const { page } = await open(t);
  const shown = page.locator("#shown");
  await page.getByLabel("Width (bits)").selectOption("12");
  assert.equal(await shown.textContent(), "12 of 36 shown");
  assert.ok((await shownNames(page)).every((name) => name.includes("/bits:12/")));
  await page.getByLabel("Size").selectOption("256 MiB");
  assert.equal(await shown.textContent(), "6 of 36 shown");
  await page.getByLabel("Machine").selectOption("big-server");
  assert.equal(await shown.textContent(), "3 of 36 shown");
  await page.getByLabel("Name contains").fill("SINGLE present");
  assert.deepEqual(await shownNames(page), [
    "may_contain/single/present/load:95/bits:12/bytes:268435456",
  ]);
  assert.match(await page.locator("#regressions").textContent(), /None among the benchmarks shown/);
  await page.getByRole("button", { name: "Show all" }).click();
  await page.getByText("36 of 36 shown").waitFor();
  await page.getByLabel("Only with regressions").check();
  assert.deepEqual(await shownNames(page), [SLOWER]);
});

test("a click on a chart chooses the point; its raw numbers can be seen", async (t) => {
  const { page } = await open(t);
  const card = page.locator(".card").first();
  const plot = card.locator(".u-over").first();
  const { width, height } = await plot.boundingBox();
  await plot.hover({ position: { x: width / 4, y: height / 2 } });
  const tip = card.locator(".tip").first();
  await tip.waitFor();
  assert.match(await tip.textContent(), /^[0-9a-f]{9}: 0\.\d+$/);
  await plot.click({ position: { x: 2, y: height / 2 } });
  assert.equal(await card.locator(".point a.commit").textContent(), commitHash(0).slice(0, 9));
  await card.getByText("Raw numbers of this point").click();
  const raw = card.getByRole("region", { name: /^Raw numbers of/ });
  assert.equal(await raw.locator("tbody tr").count(), 5);
  assert.match(await raw.textContent(), /of_ceiling.*small-vm-0\.json/);
  assert.match(await card.locator("dl").textContent(), /targetAVX2/);
});

test("by keyboard: order of focus, the slider, the raw numbers, the table", async (t) => {
  const { page } = await open(t);
  const focused = () => page.evaluate(() => document.activeElement.id);
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
  const order = [];
  for (let i = 0; i < 5; ++i) {
    await page.keyboard.press("Tab");
    order.push(await focused());
  }
  assert.deepEqual(order, ["name", "filter-bits", "filter-bytes", "machine", "only-regressions"]);

  const card = page.locator(".card").first();
  const slider = card.getByRole("slider", { name: "Commit" });
  await slider.focus();
  const newest = await card.locator(".announcement").textContent();
  await page.keyboard.press("ArrowLeft");
  assert.match(await slider.getAttribute("aria-valuetext"), /^[0-9a-f]{9}, 39 of 40$/);
  assert.notEqual(await card.locator(".announcement").textContent(), newest);
  assert.equal(await card.locator(".announcement").getAttribute("aria-live"), "polite");
  await page.keyboard.press("Home");
  assert.match(await slider.getAttribute("aria-valuetext"), /, 1 of 40$/);

  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "commit");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await card.getByRole("region", { name: /^Raw numbers of/ }).waitFor();

  await card.getByText("All 40 points as a table").focus();
  await page.keyboard.press("Enter");
  const all = card.getByRole("region", { name: /^All points of/ });
  await all.waitFor();
  assert.equal(await all.locator("tbody tr").count(), 40);
  assert.equal(await all.locator("a.commit").count(), 40);
  const button = all.getByRole("button").nth(10);
  await button.focus();
  await page.keyboard.press("Enter");
  assert.match(await slider.getAttribute("aria-valuetext"), /, 30 of 40$/);
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "SUMMARY");
});

test("hosted runners: a new host each time, and the regression is found", async (t) => {
  const runners = scratchFolder(t);
  writeHosted(runners, 7);
  const young = dashboard(runners);
  assert.equal(young.status, 3);
  assert.match(young.stdout, /1 series from 7 files, .* too short to be judged: 1\n/);
  assert.match(
    young.stderr,
    /not judged, since .* fewer than the 8 points .*: 1 of 1 series; the longest has 7, of 7/,
  );
  const { page } = await openPage(t, browser, join(runners, "index.html"));
  assert.equal(await page.locator("#regressions-title").textContent(), "Regressions (not judged)");
  const text = await page.locator("#regressions").textContent();
  assert.match(text, /Not judged, since they have fewer than 8 points: 1 of 1 series/);
  assert.match(text, /Nothing can be judged: no series has the 8 points/);
  assert.doesNotMatch(await page.locator("main").textContent(), /None found/);
  assert.match(await page.locator(".card").textContent(), /too short to be judged/);

  writeHosted(runners, 24);
  const old = dashboard(runners);
  assert.equal(old.status, 0);
  assert.match(
    old.stdout,
    /2 series from 24 files, regressions: 1, improvements: 0, too short to be judged: 1\n/,
  );
  const list = await openPage(t, browser, join(runners, "index.html"));
  const row = list.page.locator("#regressions tbody tr");
  assert.match(await row.textContent(), /100 ns . 130 ns/);
  // The commit before it has another benchmark only.
  assert.match(await row.textContent(), /c12.*last good: c10; 1 commit between not measured: c11/);

  const split = dashboard("--by-host", runners);
  assert.equal(split.status, 3);
  assert.match(
    split.stderr,
    /has 1, of 24 commits or files; if the 24 machines here are of one kind/,
  );
  assert.equal(dashboard("--machine", "one", "--by-host", runners).status, 2);
});

test("a move of the machine has its own section, and no regressions", async (t) => {
  const moved = scratchFolder(t);
  const back = { name: "/", at: 26, ratio: 1 / 0.85 };
  writeSample(moved, { changes: [{ name: "/", at: 20, ratio: 0.85 }, back] });
  const done = dashboard("--commit-url", COMMIT_URL, moved);
  assert.match(done.stdout, /moves of a machine: [12]\n/);
  const { page, misdeeds } = await openPage(t, browser, join(moved, "index.html"));
  const items = page.locator("#moves li");
  assert.match(await items.first().textContent(), /^small-vm: \u22121\d\.\d % in .* of 1\d of 18 series, from /);
  const commits = await items.first().locator("a.commit").allTextContents();
  const near = (at) => [-2, -1, 0, 1, 2].map((by) => commitHash(at + by).slice(0, 9));
  assert.ok(near(20).includes(commits[0]) && near(26).includes(commits[1]), commits.join(" "));
  // Where noise hides that a series came back, its row stays.
  assert.ok((await page.locator("#regressions tbody tr").count()) <= 4);
  await page.locator(".card", { hasText: "small-vm" }).locator(".all summary").first().click();
  await page.getByText("move of the machine of").first().waitFor();
  assert.deepEqual(misdeeds, []);
});

test("hundreds of series: only the charts near the window are drawn", async (t) => {
  const many = scratchFolder(t);
  const operations = Array.from({ length: 50 }, (_, index) => `operation_${index}`);
  writeSample(many, { commits: 60, machines: 1, operations });
  assert.equal(dashboard(many).status, 0);
  const start = Date.now();
  const { page, misdeeds } = await openPage(t, browser, join(many, "index.html"));
  await page.locator(".card canvas").first().waitFor();
  t.diagnostic(`300 series of 60 commits were there after ${Date.now() - start} ms`);
  assert.equal(await page.locator(".card").count(), 300);
  assert.ok((await page.locator("canvas").count()) < 20);
  await page.locator(".card").last().scrollIntoViewIfNeeded();
  await page.locator(".card").last().locator("canvas").first().waitFor();
  assert.ok((await page.locator("canvas").count()) < 40);
  assert.equal(await page.locator(".card").first().locator("canvas").count(), 0);
  assert.deepEqual(misdeeds, []);
});
