// What the tests of the page share: they run the script on a folder and open the page in headless
// Chromium from the file system. Everything that a page should not do is collected: errors and
// warnings on the console, exceptions, dialogs, requests for anything but the page itself.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const SCRIPT = fileURLToPath(new URL("../../../scripts/dashboard", import.meta.url));
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const PATIENCE = 200_000; // milliseconds, for what should come soon
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

// Runs scripts/dashboard: { status, stdout, stderr }.
export function dashboard(...args) {
  return spawnSync(SCRIPT, args, { encoding: "utf8" });
}

// A folder that the test may fill, removed after it.
export function scratchFolder(t) {
  const folder = mkdtempSync(join(tmpdir(), "dashboard-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

export function launch() {
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS, timeout: PATIENCE });
}

// Opens a page file: { page, misdeeds }. Options are those of a browser context.
export async function openPage(t, browser, file, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  context.setDefaultTimeout(PATIENCE);
  t.after(() => context.close());
  const page = await context.newPage();
  const misdeeds = [];
  const url = pathToFileURL(file).href;
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) misdeeds.push(message.text());
  });
  page.on("pageerror", (error) => misdeeds.push(String(error)));
  page.on("dialog", (dialog) => {
    misdeeds.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("request", (request) => {
    const asked = request.url();
    if (asked.split("#")[0] !== url && !asked.startsWith("data:")) misdeeds.push(asked);
  });
  await page.goto(url);
  return { page, misdeeds };
}

// The names on the cards that can be seen, without the marks where a line may break.
export async function shownNames(page) {
  const names = await page.locator(".card:visible h3").allTextContents();
  return names.map((name) => name.replace(/\u200b/g, ""));
}
