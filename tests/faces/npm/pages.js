// A page in headless Chromium, from a server on this machine. CHROMIUM names the browser.
import { createServer } from "node:http";
import { chromium } from "playwright-core";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const TYPES = { html: "text/html", js: "text/javascript", nest: "application/octet-stream" };

// Opens a page: { page, misdeeds }. contentOf(path) returns the bytes of what the server has, or
// throws. Misdeeds are what it says on the console, errors, and requests for what is not there.
export async function openPage(t, path, contentOf, headers = {}) {
  const misdeeds = [];
  const server = createServer((request, response) => {
    const name = request.url.slice(1);
    try {
      const content = name === "favicon.ico" ? "" : contentOf(name);
      const type = TYPES[name.split(".").at(-1)] ?? "text/plain";
      response.writeHead(200, { "Content-Type": type, ...headers }).end(content);
    } catch (error) {
      misdeeds.push(`${name}: ${error.message}`);
      response.writeHead(404).end();
    }
  }).listen(0, "127.0.0.1");
  t.after(() => server.close());
  await new Promise((done) => server.once("listening", done));
  const args = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"];
  const browser = await chromium.launch({ executablePath: CHROMIUM, args, timeout: 200_000 });
  t.after(() => browser.close());
  const page = await browser.newPage();
  page.setDefaultTimeout(200_000);
  page.on("console", (message) => misdeeds.push(message.text()));
  page.on("pageerror", (error) => misdeeds.push(String(error)));
  await page.goto(`http://127.0.0.1:${server.address().port}/${path}`);
  return { page, misdeeds };
}
