// Filter and ExpiringFilter for JavaScript, on the program in code.js, which is made of npm.cc.
// nestline.d.ts and docs/NPM.md document what the members mean.
import code from "./code.js";

// The room of npm.cc: answers, ends of strings, and from CONTENT on keys or a file.
const KEYS = 4096;
const CONTENT = 5 * KEYS;
const USUAL = 16 * KEYS; // bytes of content that there are at least
let room; // where it is
let content; // bytes of content
let memory = new Uint8Array(0); // of the program, all of it

let program; // what it exports
let starting;
let failure; // the sentence of what went wrong in this call
let saved; // the file that is being saved
let savedBytes;

const CALLS = ["insert", "insertUnique", "erase", "mayContain", "count", "remainingTicks"];
const FIGURES = ["size", "capacity", "bits", "memoryBytes", "now", "ttlTicks", "expectedFpr"];
const KeyKind = { numbers: 0, words: 1, bytes: 2 };
export const Outcome = Object.freeze({ stored: 1, present: 2, full: 3, tooManyCopies: 4 });

const encoder = new TextEncoder();
// Some servers of functions at the edge have none: there free() alone gives memory back.
const lost = globalThis.FinalizationRegistry
  ? new FinalizationRegistry((handle) => program.drop(handle))
  : { register() {}, unregister() {} };

export function init(module) {
  starting ??= start(module).catch((error) => {
    starting = undefined; // another call may bring the program
    throw error;
  });
  return starting;
}

// The bytes of the program, packed in code.js. Without Blob, whose stream() jsdom lacks.
async function unpack() {
  const { readable, writable } = new DecompressionStream("gzip");
  const writer = writable.getWriter();
  const written = writer
    .write(Uint8Array.from(atob(code), (letter) => letter.charCodeAt(0)))
    .then(() => writer.close());
  const [bytes] = await Promise.all([new Response(readable).arrayBuffer(), written]);
  return bytes;
}

async function compile() {
  try {
    return await WebAssembly.compile(await unpack());
  } catch (cause) {
    throw new Error(`nothing is compiled here (${cause.message}): give init(program) a compiled one`, { cause });
  }
}

async function start(compiled) {
  const module = compiled ?? (await compile());
  const imports = { js: { fail, take } };
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    // There is no such call, as WASI says it. A function of ours that the program lacks is an error.
    if (!name.startsWith("_Z")) (imports[from] ??= {})[name] ??= () => 52;
  }
  const { exports } = await WebAssembly.instantiate(module, imports);
  exports._initialize();
  program = exports;
  reserve(0);
}

// Where memory has grown, the old view has no bytes any more.
function view() {
  if (memory.length === 0) memory = new Uint8Array(program.memory.buffer);
  return memory;
}
const part = (at, size) => view().subarray(at >>> 0, (at >>> 0) + size);

function fail(sentence, size) {
  failure = new TextDecoder().decode(part(sentence, size));
  // A loop that ends before garbage is collected keeps what it has lost.
  if (failure.endsWith("not enough memory")) failure += ": free() gives back that of a filter at once";
}

function take(bytes, size, all) {
  if (failure !== undefined) return;
  try {
    saved ??= new Uint8Array(all);
    saved.set(part(bytes, size), savedBytes);
    savedBytes += size;
  } catch (error) {
    failure = `there is no memory for the file: ${error.message}`;
  }
}

// The result of a call, unless it failed.
function checked(result) {
  if (failure === undefined) return result;
  const error = new Error(failure);
  failure = undefined;
  throw error;
}

// Makes room for so much content, or for what there usually is; what was in it is lost. Where there
// is no memory for it, the room stays as it is.
function reserve(bytes) {
  room = checked(program.reserve(bytes)) >>> 0;
  content = Math.max(bytes, USUAL);
}

// Does what needs room for so much content, and gives the memory back. No error of the work may be
// left unchecked in it: reserve would throw before it knows where the room is.
function withRoom(bytes, work) {
  if (bytes <= content) return work();
  reserve(bytes);
  try {
    return work();
  } finally {
    reserve(0);
  }
}

// Writes a key to a place with room for most(key) bytes; returns how many it has.
function put(key, at) {
  const bytes = view();
  if (typeof key !== "string") {
    bytes.set(key, at);
    return key.length;
  }
  let i = 0; // calls of the encoder take longer than such a loop
  for (; i < key.length && i < 64; ++i) {
    const letter = key.charCodeAt(i);
    if (letter > 127) break;
    bytes[at + i] = letter;
  }
  if (i === key.length) return i;
  // Into no more than it can need: before 22.23, Node.js writes nothing into 2^31 bytes or more.
  const { read, written } = encoder.encodeInto(key, bytes.subarray(at, at + most(key)));
  if (read === key.length) return written;
  throw new Error(`TextEncoder encoded ${read} of the ${key.length} characters of a key`);
}
// The most bytes that a key can have.
const most = (key) => (typeof key === "string" ? 3 : 1) * key.length;

// The type of an object, also of one from another frame, where instanceof is false.
const typeOf = (value) => Object.prototype.toString.call(value).slice(8, -1);

// The kind of a key. Refuses what is none.
function kindOf(key) {
  switch (typeof key) {
    case "number":
      if (Number.isSafeInteger(key)) return KeyKind.numbers;
      throw new RangeError(`the number ${key} is no safe integer; larger ones are keys as bigints`);
    case "bigint":
      if (key === BigInt.asUintN(64, key) || key === BigInt.asIntN(64, key)) return KeyKind.words;
      throw new RangeError(`the integer ${key} has more than 64 bits`);
    case "string":
      return KeyKind.bytes;
    default:
      if (typeOf(key) === "Uint8Array") return KeyKind.bytes;
      throw new TypeError(`a key is a number, bigint, string or Uint8Array, not ${String(key)}`);
  }
}

// The kind of the keys of a batch, and the keys: integers in a typed array of 8 bytes each. Where
// subarray() is, an array whose memory has gone to another thread throws.
function batchOf(keys) {
  const type = typeOf(keys);
  if (type === "BigUint64Array" || type === "BigInt64Array") {
    return [KeyKind.words, keys.subarray()];
  }
  if (type === "Int32Array" || type === "Uint32Array") {
    return [KeyKind.numbers, new Float64Array(keys)];
  }
  if (type !== "Array" && type !== "Float64Array") {
    throw new TypeError("the keys of a batch are an array, or one of BigInt64, Float64 or Int32");
  }
  const kind = keys.length === 0 ? KeyKind.numbers : kindOf(keys[0]);
  for (let i = 1; i < keys.length; ++i) {
    if (kindOf(keys[i]) !== kind) throw new TypeError("the keys are of several kinds");
  }
  if (type === "Float64Array") return [kind, keys.subarray()];
  if (kind === KeyKind.bytes) return [kind, keys];
  return [kind, kind === KeyKind.words ? new BigUint64Array(keys) : new Float64Array(keys)];
}

// Puts keys from number `first` on into the room, which has place for each of them; returns the
// number behind the last.
function putSome(kind, keys, first) {
  if (kind !== KeyKind.bytes) {
    const { buffer, byteOffset, byteLength, length } = keys.subarray(first, first + KEYS);
    view().set(new Uint8Array(buffer, byteOffset, byteLength), room + CONTENT);
    return first + length;
  }
  const ends = new Uint32Array(view().buffer, room + KEYS, KEYS);
  let i = first;
  for (let end = 0; i < keys.length && i - first < KEYS && end + most(keys[i]) <= content; ++i) {
    end += put(keys[i], room + CONTENT + end);
    ends[i - first] = end;
  }
  return i;
}

function integer(name, value = 0, highest = Number.MAX_SAFE_INTEGER) {
  if (Number.isSafeInteger(value) && value >= 0 && value <= highest) return value;
  throw new RangeError(`${name} is an integer from 0 to ${highest}, not ${String(value)}`);
}
function rate(name, value = 0) {
  if (typeof value === "number" && value >= 0 && value <= 1) return value;
  throw new RangeError(`${name} is a number between 0 and 1, not ${String(value)}`);
}

const NAMES = ["capacity", "fpr", "bits", "load", "seed", "maxCapacity", "ttlTicks"];
function make(expires, options) {
  const own = expires ? [...NAMES.slice(0, 5), "ttlTicks"] : NAMES.slice(0, 6);
  for (const name of Object.keys(options)) {
    if (!own.includes(name)) throw new TypeError(`there is no option ${name}`);
  }
  const { seed = 0 } = options;
  if (kindOf(seed) === KeyKind.bytes) throw new TypeError("the seed is an integer");
  return program.make(
    expires,
    integer("capacity", options.capacity),
    rate("fpr", options.fpr),
    integer("bits", options.bits, 16),
    rate("load", options.load),
    integer("maxCapacity", options.maxCapacity),
    integer("ttlTicks", options.ttlTicks, 14),
    BigInt(seed),
  );
}

function load(expires, file) {
  const bytes = ArrayBuffer.isView(file)
    ? new Uint8Array(file.buffer, file.byteOffset, file.byteLength)
    : new Uint8Array(file);
  return withRoom(bytes.length, () => {
    view().set(bytes, room + CONTENT);
    return checked(program.load(expires, bytes.length));
  });
}

const isFile = (value) => ArrayBuffer.isView(value) || typeOf(value) === "ArrayBuffer";

// What both have in common. `from` are options, or the bytes of a file.
class AnyFilter {
  #handle;

  constructor(expires, from) {
    if (program === undefined) throw new Error("nothing works before init() has ended");
    if (typeof from !== "object" || from === null) throw new TypeError("a filter needs options");
    this.#handle = checked((isFile(from) ? load : make)(expires, from)) >>> 0;
    lost.register(this, this.#handle, this);
  }
  static load(file) {
    if (isFile(file)) return new this(file);
    throw new TypeError("the bytes of a file are a Uint8Array or an ArrayBuffer");
  }

  free() {
    this._own();
    if (this.#handle === 0) return;
    lost.unregister(this);
    program.drop(this.#handle);
    this.#handle = 0;
  }

  _own() {
    if (#handle in this) return;
    throw new TypeError("this is a proxy of a filter, as ref() of Vue makes it: use markRaw(filter)");
  }
  get _open() {
    this._own();
    if (this.#handle === 0) throw new Error("the filter was freed");
    return this.#handle;
  }
  _ask(call, key, ticks) {
    const kind = kindOf(key);
    if (kind === KeyKind.numbers) {
      return checked(program.ask_number(this._open, call, key, ticks));
    }
    if (kind === KeyKind.words) return checked(program.ask_word(this._open, call, key, ticks));
    if (most(key) > content) return withRoom(most(key), () => this._ask(call, key, ticks));
    return checked(program.ask_bytes(this._open, call, put(key, room + CONTENT), ticks));
  }
  _askAll(call, keys, ticks) {
    const handle = this._open;
    const [kind, all] = batchOf(keys);
    const answers = new Uint8Array(all.length);
    let largest = 0;
    for (let i = 0; kind === KeyKind.bytes && i < all.length; ++i) {
      if (typeof all[i] !== "string") all[i].subarray();
      largest = Math.max(largest, most(all[i]));
    }
    return withRoom(largest, () => {
      for (let first = 0; first < all.length; ) {
        const next = putSome(kind, all, first);
        checked(program.ask_many(handle, call, kind, next - first, ticks));
        answers.set(part(room, next - first), first);
        first = next;
      }
      return answers;
    });
  }
  toJSON() {
    throw new TypeError("a filter is no JSON: save() gives its bytes, and load() reads them");
  }
  clear() {
    checked(program.clear(this._open));
  }
  save() {
    savedBytes = 0;
    try {
      checked(program.save(this._open));
      return saved;
    } finally {
      saved = undefined;
    }
  }
}

export class Filter extends AnyFilter {
  constructor(options) {
    super(false, options);
  }
  fit() {
    return checked(program.fit(this._open));
  }
}

export class ExpiringFilter extends AnyFilter {
  constructor(options) {
    super(true, options);
  }
  advance(ticks = 1) {
    integer("tick", this.now + integer("ticks", ticks));
    checked(program.advance(this._open, ticks));
  }
  advanceTo(tick) {
    this.advance(Math.max(integer("tick", tick) - this.now, 0));
  }
}

// Gives a class its calls, each for one key and for a batch, and its figures.
function complete(type, calls, figures) {
  for (const name of calls) {
    const call = CALLS.indexOf(name);
    const isYesOrNo = name === "mayContain" || name === "erase";
    const hasLife = name === "insert" && type === ExpiringFilter;
    const lifeOf = hasLife ? (ticks = 14) => integer("ttlTicks", ticks, 14) : () => 0;
    type.prototype[name] = function (key, ttlTicks) {
      const answer = this._ask(call, key, lifeOf(ttlTicks));
      return isYesOrNo ? answer !== 0 : answer;
    };
    type.prototype[`${name}Batch`] = function (keys, ttlTicks) {
      return this._askAll(call, keys, lifeOf(ttlTicks));
    };
  }
  for (const name of figures) {
    const figure = FIGURES.indexOf(name);
    const get = function () {
      const value = program.figure(this._open, figure);
      return name === "expectedFpr" ? value : integer(name, value);
    };
    Object.defineProperty(type.prototype, name, { get });
  }
}
if (Symbol.dispose) AnyFilter.prototype[Symbol.dispose] = AnyFilter.prototype.free; // for `using`
complete(AnyFilter, [], ["size", "capacity", "bits", "memoryBytes", "expectedFpr"]);
complete(Filter, ["insert", "insertUnique", "erase", "mayContain", "count"], []);
complete(ExpiringFilter, ["insert", "mayContain", "remainingTicks"], ["now", "ttlTicks"]);
