#!/usr/bin/env bash
# @rejetto/kvstorage 0.17.7 (npm, the latest on 2026-12-02): a key/value store in a file. It loses writes in three ways.
#
# The guess: what put() and del() were given is there after flush(), and after close() and open() too, since its page
# says that waiting for them is optional. What is seen, with the options it comes with:
#
#   a value of 120,000 characters (it gets a file of its own) is deleted and del() is fine, but no line about that is
#     written: after open() the key is back, has() and size() count it, get() and put() fail with ENOENT, and from
#     that put() on no other key is written either, until the store is opened again
#   put() a moment after a del() that nobody waited for: the value is in neither memory nor file, though size() counts it
#   an object from get(), changed and put back: get() has the change, the file has not, even with dontWriteSameValue off
#
# A fourth one is only a number: size() grows by one each time a value of 3,000 characters is put over another one.
#
# What to do: wait for each del() before the next put() of its key; leave an object from get() as it is and put a
# changed copy; before del() of a large value put a small one over it; count keys() instead of asking size().
#
# Needs node and npm. Ends with 0 if it is as above, 1 if not.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --no-audit --no-fund --loglevel=error @rejetto/kvstorage@0.17.7 >/dev/null
cat >lost.cjs <<'END'
const { KvStorage } = require("@rejetto/kvstorage");
const code = (error) => error.code;
async function opened(name, options) {
  const store = new KvStorage(options);
  await store.open(name);
  return store;
}
async function again(store, name) {
  await store.close().catch(code);
  return opened(name);
}
async function large() {
  let store = await opened("large");
  await store.put("a", "x".repeat(120000));
  await store.del("a");
  console.log(`deleted: has ${!!store.has("a")}, size ${store.size()}`);
  store = await again(store, "large");
  console.log(`opened again: has ${!!store.has("a")}, size ${store.size()}, get ${await store.get("a").catch(code)}`);
  console.log(`put: ${await store.put("a", 1).catch(code)}, of another key: ${await store.put("b", 2).catch(code)}`);
  store = await again(store, "large");
  console.log(`opened again: the other key is ${await store.get("b")}`);
  await store.close();
}
async function around() {
  let store = await opened("around");
  await store.put("a", "x".repeat(120000));
  await store.put("a", 0);
  await store.del("a");
  store = await again(store, "around");
  console.log(`a small value first: has ${!!store.has("a")}`);
  await store.close();
}
async function soon(waits) {
  const name = waits ? "waited" : "soon";
  let store = await opened(name);
  await store.put("a", 1);
  const deleted = store.del("a");
  if (waits) await deleted;
  for (let i = 0; i < 5; ++i) await null;
  const put = store.put("a", 2);
  await Promise.all([deleted, put]);
  await store.flush();
  const seen = `${await store.get("a")}, size ${store.size()}`;
  store = await again(store, name);
  const how = waits ? "waited for" : "not waited for";
  console.log(`put after a del ${how}: ${seen}; opened again: ${await store.get("a")}`);
  await store.close();
}
async function changed(options, name) {
  let store = await opened(name, options);
  await store.put("frank", { age: 33 });
  const frank = await store.get("frank");
  if (name !== "a copy") frank.age = 34;
  await store.put("frank", name === "a copy" ? { ...frank, age: 34 } : frank);
  await store.flush();
  const seen = (await store.get("frank")).age;
  store = await again(store, name);
  console.log(`changed, ${name}: ${seen}, opened again: ${(await store.get("frank")).age}`);
  await store.close();
}
async function counted() {
  const store = await opened("counted");
  for (let i = 0; i < 5; ++i) await store.put("a", `${i}`.repeat(3000));
  console.log(`one key, put 5 times: size ${store.size()}`);
  await store.close();
}
(async () => {
  await large();
  await around();
  await soon(false);
  await soon(true);
  await changed({}, "same object");
  await changed({ dontWriteSameValue: false }, "always write");
  await changed({}, "a copy");
  await counted();
})();
END
node lost.cjs | tee seen
diff seen - <<'END'
deleted: has false, size 0
opened again: has true, size 1, get ENOENT
put: ENOENT, of another key: ENOENT
opened again: the other key is undefined
a small value first: has false
put after a del not waited for: undefined, size 1; opened again: undefined
put after a del waited for: 2, size 1; opened again: 2
changed, same object: 34, opened again: 33
changed, always write: 34, opened again: 33
changed, a copy: 34, opened again: 34
one key, put 5 times: size 5
END
