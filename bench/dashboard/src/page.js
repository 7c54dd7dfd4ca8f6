// Puts the page together: one HTML file that needs nothing else.
//
// The script and the style of src/page/ are bundled with uPlot. The page contains the data as JSON,
// which the script reads. Its texts come from the files and may be hostile: every "<" in the JSON
// is escaped, so that nothing in it can end the script element, and the page shows texts as text
// nodes. A content security policy allows only this script and this style, by their hashes, and
// forbids every connection.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

async function bundle(file) {
  const result = await build({
    entryPoints: [here(`page/${file}`)],
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    charset: "ascii",
    target: "es2020",
    nodePaths: [here("../node_modules")],
    logLevel: "silent",
  });
  return result.outputFiles[0].text.trim();
}

function license() {
  const text = readFileSync(here("../node_modules/uplot/LICENSE"), "utf8").trim();
  return `/* Includes uPlot:\n\n${text.replace(/\*\//g, "")}\n*/\n`;
}

function hashOf(text) {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

function escapeHtml(text) {
  const entities = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return text.replace(/[&<>"']/g, (character) => entities[character]);
}

// JSON that is safe inside a script element.
export function embeddable(data) {
  return JSON.stringify(data).replace(/</g, "\\u003c");
}

// The page as a text. `data` is what main.js made.
export async function pageOf(data) {
  const script = license() + (await bundle("main.js"));
  const style = await bundle("style.css");
  // This comes from the packages, not from the data. It can only be reported.
  if (/<\/script|<!--/i.test(script) || /<\/style/i.test(style)) {
    throw new Error("the bundle would end its own element in the page");
  }
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const parts = {
    policy,
    style,
    script,
    title: escapeHtml(data.title),
    data: embeddable(data),
  };
  const template = readFileSync(here("page/page.html"), "utf8");
  return template.replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
}
