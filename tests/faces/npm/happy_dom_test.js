// The package where happy-dom has replaced Node.js's Response, Blob and the like, as environments of tests do.
// NESTLINE_NPM names its folder (build/npm/package).
import assert from "node:assert/strict";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const PACKAGE = resolve(process.env.NESTLINE_NPM ?? "build/npm/package");
const hasIt = parseInt(process.versions.node) >= 20;

test("filters go through what happy-dom has", { skip: !hasIt && "happy-dom needs Node.js 20" }, async (t) => {
  const before = Response;
  const { GlobalRegistrator } = await import("@happy-dom/global-registrator");
  GlobalRegistrator.register();
  t.after(() => GlobalRegistrator.unregister());
  assert.notEqual(Response, before);

  const { Filter, Outcome, init } = await import(pathToFileURL(join(PACKAGE, "nestline.js")));
  await init();
  const filter = new Filter({ capacity: 100 });
  assert.equal(filter.insert(new TextEncoder().encode("ann")), Outcome.stored);
  for (const body of [new Response(filter.save()), new Blob([filter.save()])]) {
    const loaded = Filter.load(await body.arrayBuffer());
    assert.deepEqual([...loaded.mayContainBatch(["ann", "eve"])], [1, 0]);
  }
});
