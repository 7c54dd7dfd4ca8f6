// The package in Node.js. NESTLINE_NPM names its folder (build/npm/package), NESTLINE_TWIN the program
// of twin.cc, without which nothing is compared with the library of this machine.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const PACKAGE = resolve(process.env.NESTLINE_NPM ?? "build/npm/package");
const TWIN = process.env.NESTLINE_TWIN;
const GOLDEN = new URL("../../filters/file/golden/", import.meta.url);

const nestline = await import(pathToFileURL(join(PACKAGE, "nestline.js")));
const { ExpiringFilter, Filter, Outcome, init } = nestline;
const bytesOf = (file) => new Uint8Array(readFileSync(file));
const digest = (bytes) => createHash("sha256").update(bytes).digest("hex");

test("nothing works before init()", () => {
  assert.throws(() => new Filter({ capacity: 1 }), /^Error: nothing works before init\(\) has ended$/);
});

test("the library starts once", async () => {
  assert.equal(init(), init());
  await init();
});

// A hexadecimal digit for four keys, as tests/filters/file/golden.h says.
function lineOf(answers) {
  let line = "";
  for (let i = 0; i < answers.length; i += 4) {
    const [a, b, c, d] = answers.subarray(i, i + 4);
    line += (a | (b << 1) | (c << 2) | (d << 3)).toString(16);
  }
  return line;
}

// The bytes behind the header, which is a small one where a filter saves itself.
const body = (file) => file.subarray(file[12] === 1 ? 4096 : file[18] >>> 5 === 1 ? 128 : 64);

test("golden files of all widths have their answers, and are saved as they were", () => {
  const names = readdirSync(GOLDEN).filter((name) => /^[wte].*\.nest$/.test(name));
  assert.equal(names.length, 12);
  for (const name of names) {
    const file = bytesOf(new URL(name, GOLDEN));
    const filter = (name.startsWith("e") ? ExpiringFilter : Filter).load(file);
    const lines = readFileSync(new URL(name.replace(".nest", ".answers"), GOLDEN), "utf8").split("\n");
    const integers = Float64Array.from({ length: 4096 }, (_, i) => i);
    const strings = Array.from(integers, (i) => `key-${i}`);
    assert.equal(lineOf(filter.mayContainBatch(integers)), lines[0], name);
    assert.equal(lineOf(filter.mayContainBatch(strings)), lines[1], name);
    assert.equal(lineOf(Uint8Array.from(integers, (i) => filter.mayContain(i))), lines[0], name);
    assert.equal(lineOf(Uint8Array.from(strings, (key) => filter.mayContain(key))), lines[1], name);
    assert.equal(digest(body(filter.save())), digest(body(file)), name);
    if (name.includes("_small")) assert.equal(digest(filter.save()), digest(file), name);
    filter.free();
  }
});

// As twin.cc makes them.
const STORED = 100_000;
const ASKED = 1_000_000;
const MASK = 2n ** 64n - 1n;
const integerOf = (i) => Number(((BigInt(i) * 0x9e3779b97f4a7c15n) & MASK) >> BigInt(11 + (i % 40)));
const stringOf = (i) => `${i % 3 === 0 ? "cl\u00e9" : "key"} ${i}${".".repeat(i % 80)}`;

test("files and a million answers of each kind are those of C++", { skip: !TWIN && "no twin" }, (t) => {
  const folder = mkdtempSync(join(tmpdir(), "npm-"));
  t.after(() => rmSync(folder, { recursive: true }));
  execFileSync(TWIN, { cwd: folder });
  const integers = Float64Array.from({ length: ASKED }, (_, i) => integerOf(i));
  const strings = Array.from({ length: ASKED }, (_, i) => stringOf(i));

  const made = (name) => {
    if (name.startsWith("expiring")) {
      return new ExpiringFilter({ capacity: 2 * STORED, bits: Number(name.slice(8)), ttlTicks: 5 });
    }
    if (name === "grown") return new Filter({ capacity: 1000, maxCapacity: 2 * STORED });
    return new Filter({ capacity: 2 * STORED, bits: Number(name), seed: 5n });
  };
  const names = readdirSync(folder).filter((name) => name.endsWith(".nest"));
  assert.equal(names.length, 13);
  for (const file of names) {
    const name = file.replace(".nest", "");
    // Filters that turn over are made elsewhere.
    const turnsOver = name.endsWith("t");
    const filter = turnsOver ? Filter.load(bytesOf(join(folder, file))) : made(name);
    for (let i = 0; i < STORED && !turnsOver; ++i) {
      filter.insert(integers[i]);
      filter.insert(strings[i], 3);
      if (filter instanceof Filter && i % 7 === 0) filter.erase(integers[i]);
    }
    if (filter instanceof ExpiringFilter) {
      filter.advanceTo(2);
      for (let i = 0; i < STORED; i += 3) filter.insert(strings[i]);
    }
    assert.equal(digest(body(filter.save())), digest(body(readFileSync(join(folder, file)))), name);
    const wanted = readFileSync(join(folder, `${name}.answers`));
    assert.equal(digest(filter.mayContainBatch(integers)), digest(wanted.subarray(0, ASKED)), name);
    assert.equal(digest(filter.mayContainBatch(strings)), digest(wanted.subarray(ASKED)), name);
    for (let i = 0; i < ASKED; i += 97) {
      assert.equal(filter.mayContain(integers[i]), wanted[i] === 1);
      assert.equal(filter.mayContain(strings[i]), wanted[ASKED + i] === 1);
    }
    filter.free();
  }
});

test("keys are the same key whatever holds them", () => {
  const filter = new Filter({ capacity: 1000, bits: 16 });
  const same = [
    [17, 17n, -(2n ** 64n) + 17n === 17n ? 17n : 17],
    [-3, -3n, 2n ** 64n - 3n],
    ["caf\u00e9", new TextEncoder().encode("caf\u00e9")],
    ["", new Uint8Array(0)],
    ["x".repeat(100_000), new Uint8Array(100_000).fill(120)],
    ["\u00e9".repeat(500), new TextEncoder().encode("\u00e9".repeat(500))],
    [-0, 0],
  ];
  for (const keys of same) {
    for (const stored of keys) {
      assert.equal(filter.insert(stored), Outcome.stored);
      for (const key of keys) {
        assert.equal(filter.count(key), 1);
        assert.deepEqual([...filter.countBatch([key, key])], [1, 1]);
      }
      assert.equal(filter.erase(keys[0]), true);
      assert.equal(filter.mayContain(stored), false);
    }
  }
  filter.insertBatch(new Int32Array([-3, 8]));
  filter.insertBatch(new Uint32Array([2 ** 32 - 1]));
  filter.insertBatch(new BigInt64Array([-9n]));
  filter.insertBatch(new BigUint64Array([2n ** 64n - 10n]));
  assert.deepEqual([...filter.mayContainBatch([-3, 8, 2 ** 32 - 1, -9, -10, 9])], [1, 1, 1, 1, 1, 0]);
  filter.insert(7);
  assert.equal(filter.mayContain("7"), false);
});

test("a filter that turns over is not changed", () => {
  const file = bytesOf(new URL("t8.nest", GOLDEN));
  const filter = Filter.load(file);
  const sentence = /^Error: a filter that turns over can be asked here, and not changed$/;
  for (const call of ["insert", "insertUnique", "erase"]) {
    for (const key of [1, 1n, "1"]) assert.throws(() => filter[call](key), sentence);
    assert.throws(() => filter[`${call}Batch`]([1, 2]), sentence);
  }
  assert.throws(() => filter.clear(), sentence);
  assert.throws(() => filter.fit(), sentence);
  assert.equal(filter.count(1), 1);
  assert.equal(digest(body(filter.save())), digest(body(file)));
});

test("batches of any length do what single calls do", () => {
  for (const length of [0, 1, 63, 64, 4095, 4096, 4097, 20_000]) {
    const [one, many] = [0, 1].map(() => new Filter({ capacity: 30_000, bits: 12 }));
    const integers = Array.from({ length }, (_, i) => i * 7);
    const strings = integers.map((i) => `${i}${"long".repeat(i % 50)}`);
    for (const keys of [integers, integers.map(BigInt), strings, strings.map((k) => Buffer.from(k))]) {
      const halves = keys.filter((_, i) => i % 2 === 0);
      const each = (call, of) => of.map((key) => Number(one[call](key)));
      assert.deepEqual([...many.insertBatch(halves)], each("insert", halves));
      assert.deepEqual([...many.insertUniqueBatch(keys)], each("insertUnique", keys));
      assert.deepEqual([...many.mayContainBatch(keys)], each("mayContain", keys));
      assert.deepEqual([...many.countBatch(keys)], each("count", keys));
      assert.deepEqual([...many.eraseBatch(keys)], each("erase", keys));
      assert.deepEqual([...many.mayContainBatch(keys)], each("mayContain", keys));
      assert.equal(digest(many.save()), digest(one.save()));
    }
  }
});

test("figures, clear and what a full filter says", () => {
  const filter = new Filter({ capacity: 1000, fpr: 0.001 });
  assert.equal(filter.bits, 12);
  assert.ok(filter.capacity >= 1000);
  assert.equal(filter.size, 0);
  const many = filter.insertBatch(Array.from({ length: 3000 }, (_, i) => i));
  const stored = many.filter((outcome) => outcome === Outcome.stored).length;
  assert.equal(stored, filter.size);
  assert.ok(stored >= filter.capacity && stored < 3000);
  assert.equal(many[2999], Outcome.full);
  assert.ok(filter.expectedFpr > 0.0002 && filter.expectedFpr < 0.002);
  assert.ok(filter.memoryBytes >= 1500);
  filter.clear();
  assert.equal(filter.size, 0);
  assert.deepEqual([...filter.insertBatch(new Array(9).fill("twin"))], [1, 1, 1, 1, 1, 1, 1, 1, 4]);
  assert.equal(filter.insertUnique("twin"), Outcome.present);
});

test("a filter that has grown fits the keys that it has left", () => {
  for (const bits of [8, 9, 10, 12, 16]) {
    const filter = new Filter({ capacity: 1000, maxCapacity: 16_000, bits });
    const small = filter.memoryBytes;
    assert.equal(filter.fit(), 0);
    // Copies, and keys for three doublings.
    const keys = [...Array.from({ length: 7000 }, (_, i) => i), ...new Array(4).fill(-1)];
    assert.ok(filter.insertBatch(keys).every((outcome) => outcome === Outcome.stored));
    const large = filter.memoryBytes;
    assert.equal(filter.fit(), 0);
    assert.ok(filter.eraseBatch(keys.slice(900, 7000)).every((found) => found === 1));
    const left = [...keys.slice(0, 900), -1];
    const times = filter.fit();
    assert.equal(filter.memoryBytes, small);
    assert.ok(times >= 2 && large === small * 2 ** times, `${bits} bits: ${times}`);
    assert.ok(filter.mayContainBatch(left).every((found) => found === 1));
    assert.equal(filter.size, 904);
    assert.ok(filter.count(-1) >= 4);
    const others = Array.from({ length: 10_000 }, (_, i) => i + 100_000);
    const passed = filter.mayContainBatch(others).filter((found) => found === 1).length;
    assert.ok(passed <= 10_000 * filter.expectedFpr * 1.3 + 20, `${bits} bits: ${passed}`);
    // The file is read; it grows again, and all can be erased.
    const again = Filter.load(filter.save());
    assert.ok(again.insertBatch(keys.slice(900, 7000)).every((outcome) => outcome === Outcome.stored));
    assert.equal(again.memoryBytes, large);
    assert.ok(again.eraseBatch(keys).every((found) => found === 1));
    assert.equal(again.size, 0);
  }
});

test("an expiring filter forgets and renews", () => {
  const seen = new ExpiringFilter({ capacity: 1000, bits: 12, ttlTicks: 10 });
  seen.advanceTo(29_000_000);
  assert.equal(seen.now, 29_000_000);
  assert.equal(seen.ttlTicks, 10);
  assert.equal(seen.insert("order"), Outcome.stored);
  assert.equal(seen.insert("short", 2), Outcome.stored);
  assert.equal(seen.remainingTicks("order"), 10);
  seen.advance(3);
  assert.equal(seen.mayContain("short"), false);
  assert.equal(seen.remainingTicks("order"), 7);
  assert.equal(seen.insert("order"), Outcome.present);
  assert.deepEqual([...seen.remainingTicksBatch(["order", "short"])], [10, 0]);
  seen.advanceTo(29_000_001); // in the past
  assert.equal(seen.now, 29_000_003);
  const copy = ExpiringFilter.load(seen.save());
  copy.advance();
  assert.equal(copy.remainingTicks("order"), 9);
  copy.advance(100);
  assert.equal(copy.mayContain("order"), false);
  assert.equal(seen.mayContain("order"), true);
  seen.clear();
  assert.equal(seen.mayContain("order"), false);
  assert.equal(seen.insert("order"), Outcome.stored);
});

test("ticks are not rounded", { skip: !TWIN && "no twin" }, (t) => {
  const seen = new ExpiringFilter({ capacity: 1000 });
  seen.advanceTo(Number.MAX_SAFE_INTEGER);
  seen.insert(1);
  assert.throws(() => seen.advance(), /^RangeError: tick is an integer from 0 to 9007199254740991, not 9007199254740992$/);
  assert.equal(seen.now, Number.MAX_SAFE_INTEGER);
  assert.equal(seen.mayContain(1), true);
  const folder = mkdtempSync(join(tmpdir(), "npm-"));
  t.after(() => rmSync(folder, { recursive: true }));
  execFileSync(TWIN, ["late"], { cwd: folder });
  const late = ExpiringFilter.load(bytesOf(join(folder, "late.nest")));
  assert.equal(late.remainingTicks("order"), 9);
  for (const call of [() => late.now, () => late.advance(), () => late.advanceTo(5)]) {
    assert.throws(call, /^RangeError: now is an integer from 0 to 9007199254740991, not 9007199254740994$/);
  }
});

test("wrong keys are refused, and nothing is changed", () => {
  const filter = new Filter({ capacity: 1000 });
  for (const key of [NaN, 2 ** 53, -(2 ** 53), 0.5, Infinity]) {
    assert.throws(() => filter.insert(key), new RegExp(`^RangeError: the number ${key} is no safe integer`));
    assert.throws(() => filter.insertBatch([1, key]), RangeError);
    assert.throws(() => filter.insertBatch(new Float64Array([1, key])), RangeError);
  }
  for (const key of [2n ** 64n, -(2n ** 63n) - 1n]) {
    assert.throws(() => filter.insert(key), /^RangeError: the integer -?\d+ has more than 64 bits$/);
    assert.throws(() => filter.insertBatch([1n, key]), RangeError);
  }
  for (const key of [undefined, null, true, {}, [], Symbol("key"), new Date(0), new ArrayBuffer(8)]) {
    assert.throws(() => filter.mayContain(key), /^TypeError: a key is a number, bigint, string or Uint8Array/);
    assert.throws(() => filter.mayContainBatch(["a", key]), TypeError);
  }
  for (const keys of [undefined, null, "abc", 7, new Uint8Array(8), new Float32Array(2), new Set([1])]) {
    assert.throws(() => filter.insertBatch(keys), /^TypeError: the keys of a batch are an array/);
  }
  assert.throws(() => filter.insertBatch([1, "a"]), /^TypeError: the keys are of several kinds$/);
  assert.throws(() => filter.insertBatch([1, , 2]), TypeError); // eslint-disable-line no-sparse-arrays
  assert.equal(filter.size, 0);
});

test("wrong options are refused with sentences", () => {
  const wrong = [
    [{}, /capacity must be at least 1/],
    [{ capacity: 0 }, /capacity must be at least 1/],
    [{ capacity: -1 }, /capacity is an integer from 0 to 9007199254740991, not -1/],
    [{ capacity: NaN }, /not NaN/],
    [{ capacity: "5" }, /not 5/],
    [{ capacity: 2 ** 53 }, /not 9007199254740992/],
    [{ capacity: Number.MAX_SAFE_INTEGER }, /more than 2\^40 blocks/],
    [{ capacity: 2 ** 40 }, /^Error: there is not enough memory: free\(\) /],
    [{ capacity: 3e9 }, /^Error: there is not enough memory: free\(\) /],
    [{ capacity: 9, fpr: 1 }, /fpr must be above 0 and below 1, or 0 for the default; it is 1$/],
    [{ capacity: 9, fpr: NaN }, /fpr is a number between 0 and 1, not NaN/],
    [{ capacity: 9, fpr: 1e-9 }, /fpr 1e-09 is below 3.9\d+e-05/],
    [{ capacity: 9, bits: 11 }, /bits must be 8, 9, 10, 12 or 16/],
    [{ capacity: 9, bits: 2 ** 32 + 8 }, /bits is an integer from 0 to 16/],
    [{ capacity: 9, load: 0.2 }, /load must be from 0.5 to 0.95; it is 0.2/],
    [{ capacity: 9, seed: "a" }, /the seed is an integer/],
    [{ capacity: 9, seed: 2n ** 64n }, /more than 64 bits/],
    [{ capacity: 9, capcity: 9 }, /^TypeError: there is no option capcity$/],
    [{ capacity: 9, ttlTicks: 9 }, /there is no option ttlTicks/],
    [null, /^TypeError: a filter needs options$/],
    [undefined, /^TypeError: a filter needs options$/],
    [1000, /^TypeError: a filter needs options$/],
  ];
  for (const [options, sentence] of wrong) assert.throws(() => new Filter(options), sentence);
  assert.throws(() => new ExpiringFilter({ capacity: 9, bits: 16 }), /bits must be 8 or 12/);
  assert.throws(() => new ExpiringFilter({ capacity: 9, ttlTicks: 15 }), /ttlTicks is an integer from 0 to 14/);
  assert.throws(() => new ExpiringFilter({ capacity: 9, maxCapacity: 9 }), /there is no option maxCapacity/);
  assert.throws(() => new ExpiringFilter({ capacity: 9 }).advance(-1), /ticks is an integer/);
});

test("hostile bytes are refused with the library's sentences", () => {
  const file = bytesOf(new URL("w8.nest", GOLDEN));
  assert.throws(() => Filter.load(new Uint8Array(0)), /^Error: bytes.*/);
  assert.throws(() => Filter.load(new Uint8Array(5000)), /^Error: bytes.*byte 0/);
  assert.throws(() => Filter.load(file.subarray(0, 4100)), /^Error: bytes/);
  assert.throws(() => Filter.load(new Uint8Array([...file, 0])), /^Error: bytes/);
  assert.throws(() => ExpiringFilter.load(file), /^Error: bytes/);
  assert.throws(() => Filter.load(bytesOf(new URL("m268_grown.nest", GOLDEN))), /^Error: bytes.*maplet/);
  assert.throws(() => Filter.load(bytesOf(new URL("e40.nest", GOLDEN))), /^Error: bytes.*expir/);
  for (const wrong of [undefined, null, "bytes", {}, [1, 2]]) {
    assert.throws(() => Filter.load(wrong), /^TypeError: the bytes of a file are a Uint8Array or an ArrayBuffer$/);
  }
  let refused = 0;
  for (let i = 0; i < file.length; ++i) {
    const damaged = file.slice();
    damaged[i] ^= 1 << i % 8;
    try {
      Filter.load(damaged).free();
    } catch (error) {
      assert.match(error.message, /^bytes/);
      ++refused;
    }
  }
  assert.equal(refused, file.length);
  const filter = Filter.load(file.buffer.slice(file.byteOffset, file.byteOffset + file.length));
  assert.equal(filter.mayContain(0), true);
});

test("a freed filter is refused, and may be freed again", () => {
  const filter = new Filter({ capacity: 10 });
  filter.insert(1);
  filter.free();
  filter.free();
  const calls = [
    () => filter.mayContain(1),
    () => filter.mayContain(1n),
    () => filter.mayContain("1"),
    () => filter.insertBatch([1]),
    () => filter.insertBatch([]),
    () => filter.mayContainBatch(new Float64Array(0)),
    () => filter.size,
    () => filter.save(),
    () => filter.clear(),
  ];
  for (const call of calls) assert.throws(call, /^Error: the filter was freed$/);
});

// Keys in strings that no loop of nestline.js encodes, with two of an encoder's own.
const NAMES = ["Z\u00fcrich", "\u6771\u4eac", "x".repeat(65), "a/".repeat(40), "\u20ac".repeat(5000), "\ud83d\ude00 \ud83d"];
const encoded = (text) => new TextEncoder().encode(text);
// Asserts that these strings are the keys of their bytes for this filter, which has none of them.
function stringsAreTheirBytes(filter) {
  const strangers = NAMES.map((name) => `${name}!`);
  for (const insert of [(names) => names.map((name) => filter.insert(name)), (names) => filter.insertBatch(names)]) {
    assert.deepEqual([...insert(NAMES)], NAMES.map(() => Outcome.stored));
    for (const keys of [NAMES, NAMES.map(encoded)]) {
      assert.deepEqual(keys.map((key) => filter.count(key)), NAMES.map(() => 1));
      assert.deepEqual([...filter.countBatch(keys)], NAMES.map(() => 1));
    }
    assert.equal(filter.mayContain(""), false);
    assert.deepEqual(strangers.map((name) => filter.mayContain(name)), NAMES.map(() => false));
    assert.deepEqual([...filter.mayContainBatch(strangers)], NAMES.map(() => 0));
    assert.deepEqual([...filter.eraseBatch(NAMES.map(encoded))], NAMES.map(() => 1));
  }
}

// Node.js before 22.23 writes nothing into 2^31 bytes or more; here it is from 2^18 on.
test("a filter is no JSON, a proxy of one is refused, and using frees it", () => {
  const filter = new Filter({ capacity: 9 });
  assert.throws(() => JSON.stringify({ filter }), /^TypeError: a filter is no JSON: save\(\)/);
  const proxy = new Proxy(filter, {});
  for (const use of [() => proxy.insert(1), () => proxy.size, () => proxy.save(), () => proxy.free()]) {
    assert.throws(use, /^TypeError: this is a proxy of a filter, as ref\(\) of Vue makes it/);
  }
  assert.equal(filter.insert(1), Outcome.stored);
  if (!Symbol.dispose) return;
  filter[Symbol.dispose]();
  assert.throws(() => filter.size, /freed/);
});

test("a compiled program starts it where nothing is compiled and nothing tells of lost filters", async () => {
  const { FinalizationRegistry } = globalThis;
  const { compile } = WebAssembly;
  delete globalThis.FinalizationRegistry;
  try {
    const edge = await import(`${pathToFileURL(join(PACKAGE, "nestline.js"))}?edge`);
    WebAssembly.compile = () => Promise.reject(new Error("not by us"));
    await assert.rejects(edge.init(), /^Error: nothing is compiled here \(not by us\): give init\(program\) a/);
    WebAssembly.compile = compile;
    await edge.init(await WebAssembly.compile(readFileSync(join(PACKAGE, "..", "nestline.wasm"))));
    const filter = new edge.Filter({ capacity: 9 });
    assert.equal(filter.insert("a"), edge.Outcome.stored);
    filter.free();
  } finally {
    WebAssembly.compile = compile;
    globalThis.FinalizationRegistry = FinalizationRegistry;
  }
});

test("an encoder that writes nothing into large arrays is given small ones", (t) => {
  const { encodeInto } = TextEncoder.prototype;
  t.after(() => Object.assign(TextEncoder.prototype, { encodeInto }));
  TextEncoder.prototype.encodeInto = function (text, bytes) {
    return bytes.length < 2 ** 18 ? encodeInto.call(this, text, bytes) : { read: 0, written: 0 };
  };
  new Filter({ capacity: 1_000_000 }).free(); // so that memory is larger
  const filter = new Filter({ capacity: 1000, bits: 16 });
  stringsAreTheirBytes(filter);
  // And one that does not encode all is an error.
  TextEncoder.prototype.encodeInto = function (text, bytes) {
    return encodeInto.call(this, text.slice(1), bytes);
  };
  const sentence = /^Error: TextEncoder encoded 65 of the 66 characters of a key$/;
  assert.throws(() => filter.insert("x".repeat(66)), sentence);
  assert.throws(() => filter.insertBatch(["x".repeat(66)]), sentence);
  assert.equal(filter.size, 0);
});

test("bytes for which there can be no room are refused, and nothing is changed", () => {
  const integers = Float64Array.from({ length: 100_000 }, (_, i) => i);
  const filter = new Filter({ capacity: 100_000, bits: 16 });
  filter.insertBatch(integers);
  const other = new Filter({ capacity: 20_000_000 }); // so that there is memory behind the room
  const files = [filter, other].map((each) => digest(each.save()));
  const sentence = /^Error: there is not enough memory: free\(\) /;
  let sizes = 0;
  for (const size of [2 ** 31 + 1, 2 ** 32 - 20_481, 2 ** 32 - 20_480, 2 ** 32 - 1000, 2 ** 32, 2 ** 32 + 100]) {
    let bytes;
    try {
      bytes = new Uint8Array(size);
    } catch {
      continue; // this engine has no array of that size
    }
    ++sizes;
    assert.throws(() => filter.mayContain(bytes), sentence);
    assert.throws(() => filter.insert(bytes), sentence);
    assert.throws(() => filter.insertBatch(["first", bytes]), sentence);
    assert.throws(() => Filter.load(bytes), sentence);
    assert.throws(() => Filter.load(bytes.buffer), sentence);
    assert.throws(() => ExpiringFilter.load(bytes), sentence);
    assert.equal(filter.mayContain(new Uint8Array(2_000_000).fill(255)), false);
    assert.equal(filter.mayContainBatch(integers).includes(0), false);
  }
  assert.ok(sizes >= 3);
  assert.deepEqual([filter, other].map((each) => digest(each.save())), files);
  stringsAreTheirBytes(new Filter({ capacity: 1000, bits: 16 }));
});

test("keys after a large file that was refused are their own", () => {
  const file = new Filter({ capacity: 1_000_000 }).save();
  file[file.length - 9] ^= 1;
  const other = new Filter({ capacity: 30_000, bits: 16 });
  for (let i = 0; i < 4; ++i) assert.throws(() => Filter.load(file), /^Error: bytes.*checksum/);
  const filter = new Filter({ capacity: 900_000 }); // where the file was
  filter.insertBatch(Float64Array.from({ length: 800_000 }, (_, i) => i));
  const before = digest(filter.save());
  stringsAreTheirBytes(other);
  assert.equal(digest(filter.save()), before);
});

test("a batch whose memory has gone to another thread is refused", () => {
  const filter = new Filter({ capacity: 1000 });
  for (const keys of [new Float64Array(3), new BigInt64Array(3), new Int32Array(3), new Uint8Array(3)]) {
    structuredClone(keys.buffer, { transfer: [keys.buffer] });
    const batch = keys instanceof Uint8Array ? [keys] : keys;
    assert.throws(() => filter.insertBatch(batch), TypeError);
    assert.throws(() => filter.insert(keys), TypeError);
    // Looked at before the thousands that go first are changed.
    if (keys instanceof Uint8Array) {
      const many = Array.from({ length: 5000 }, (_, i) => String(i));
      assert.throws(() => filter.insertBatch([...many, keys]), TypeError);
    }
  }
  assert.equal(filter.size, 0);
});

test("memory is given back, also when it runs out", () => {
  const filter = new Filter({ capacity: 1000, bits: 16 });
  // More than there can be at once, one after the other.
  for (let i = 0; i < 40; ++i) new Filter({ capacity: 2e8, bits: 8 }).free();
  const kept = [];
  assert.throws(() => {
    for (;;) kept.push(new Filter({ capacity: 4e8, bits: 8 }));
  }, /^Error: there is not enough memory: free\(\) /);
  assert.ok(kept.length >= 5);
  stringsAreTheirBytes(filter);
  const bytes = new Uint8Array(1e9);
  assert.throws(() => filter.insert(bytes), /^Error: there is not enough memory: free\(\) /);
  assert.throws(() => Filter.load(bytes), /^Error: there is not enough memory: free\(\) /);
  assert.throws(() => Filter.load(new Uint8Array(200_000)), /^Error: bytes: at byte 0: this is not a nestline filter/);
  stringsAreTheirBytes(filter);
  // A filter that cannot grow stays as it is, and takes what finds room.
  const small = new Filter({ capacity: 1000, maxCapacity: 2000 });
  small.insertBatch(Array.from({ length: 2000 }, (_, i) => i));
  assert.equal(small.size, 2000);
  // The room of a key is where the last filter was, and then free for the next one.
  kept.pop().free();
  assert.equal(filter.insert(bytes.subarray(0, 3e8)), Outcome.stored);
  assert.deepEqual([...filter.mayContainBatch(["a", bytes.subarray(0, 3e8)])], [0, 1]);
  kept.push(new Filter({ capacity: 4e8, bits: 8 }));
  assert.equal(kept.at(-1).insert("a"), Outcome.stored);
  for (const each of kept) each.free();
  new Filter({ capacity: 4e8, bits: 8 }).free();
});

test("a file that was saved is kept by nobody", async (t) => {
  if (globalThis.gc === undefined) return t.skip("node runs without --expose-gc");
  const filter = new Filter({ capacity: 1000 });
  const file = new WeakRef(filter.save());
  for (let i = 0; i < 1000 && file.deref() !== undefined; ++i) {
    await new Promise((done) => setTimeout(done));
    globalThis.gc();
  }
  assert.equal(file.deref(), undefined);
  assert.ok(filter.save().length > 0);
});

test("lost filters give their memory back", async (t) => {
  if (globalThis.gc === undefined) return t.skip("node runs without --expose-gc");
  for (let i = 0; i < 60; ++i) {
    new Filter({ capacity: 2e8, bits: 8 });
    globalThis.gc();
    await new Promise((done) => setTimeout(done));
  }
});

test("the program lacks no function of ours", async () => {
  const program = await WebAssembly.compile(readFileSync(join(PACKAGE, "..", "nestline.wasm")));
  const names = WebAssembly.Module.imports(program).map(({ module, name }) => `${module}.${name}`);
  assert.deepEqual(names.filter((name) => !name.startsWith("wasi_snapshot_preview1.")).sort(),
    ["env.emscripten_notify_memory_growth", "js.fail", "js.take"]);
});
