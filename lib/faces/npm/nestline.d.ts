/** What can be a key: a safe integer, an integer of 64 bits, a string (its UTF-8), or bytes. */
export type Key = number | bigint | string | Uint8Array;

/** The keys of a batch, all of one kind. */
export type Keys = Float64Array | BigUint64Array | BigInt64Array | Uint32Array | Int32Array | readonly Key[];

/** The keys' answers and files: on memory that nobody else shares, where TypeScript can say that. */
type Bytes = ReturnType<Uint8ArrayConstructor["from"]>;

/**
 * Starts the library, once. Everything else needs that it has ended. `module` is the compiled program, for servers
 * that refuse to compile one: `nestline-wasm FILE` writes it. After an error it can be called again.
 */
export function init(module?: unknown): Promise<void>;

/** How an insert ended. */
export const Outcome: {
  readonly stored: 1;
  /** The key was found already. */
  readonly present: 2;
  /** There is no room: the key will be missed. */
  readonly full: 3;
  /** The filter has as many copies of this key as it can have. */
  readonly tooManyCopies: 4;
};
export type Outcome = 1 | 2 | 3 | 4;

/** For `using`, where TypeScript's lib has Symbol.dispose, another name of free(). */
type Disposes = SymbolConstructor extends { readonly dispose: infer Name extends symbol }
  ? { [Key in Name]: () => void }
  : {};

interface AnyFilter extends Disposes {}
declare class AnyFilter {
  /** False: the key is certainly not there. True: it is, or it looks the same as one. */
  mayContain(key: Key): boolean;
  /** 1 or 0 for each key. */
  mayContainBatch(keys: Keys): Bytes;
  /** Removes all keys. A filter that turns over refuses this as it refuses other changes. */
  clear(): void;
  /** The bytes of the filter's file, as every interface of nestline reads and writes it. */
  save(): Bytes;
  /** Gives the memory back. Every later call throws, but another free(). */
  free(): void;
  /** Throws: save() gives the bytes. */
  toJSON(): never;
  /** Keys in the filter, each copy counted. */
  readonly size: number;
  /** Keys that it promises to hold. */
  readonly capacity: number;
  /** Bits of a fingerprint. */
  readonly bits: number;
  readonly memoryBytes: number;
  /** The false-positive rate, as full as it is now. */
  readonly expectedFpr: number;
}

export interface Options {
  /** Keys that it must hold; at least 1. */
  capacity: number;
  /** Wanted false-positive rate; 0.01 without `bits`. */
  fpr?: number;
  /** Bits of a fingerprint: 8, 9, 10, 12 or 16; without it those that suit `fpr`. */
  bits?: number;
  /** How full it is at its capacity, 0.5 to 0.95; 0.95. */
  load?: number;
  /** Seeds the hash of keys; 0. */
  seed?: number | bigint;
  /** Keys up to which it grows by itself. */
  maxCapacity?: number;
}

/** A set of keys in little memory, from which keys can be erased. */
export class Filter extends AnyFilter {
  constructor(options: Options);
  /** The filter in the bytes of a file, all of which are checked. */
  static load(file: ArrayBuffer | ArrayBufferView): Filter;
  /** Stores a copy of the key. */
  insert(key: Key): Outcome;
  insertBatch(keys: Keys): Bytes;
  /** Stores the key unless it may be there already. */
  insertUnique(key: Key): Outcome;
  insertUniqueBatch(keys: Keys): Bytes;
  /** Removes a copy of a key that was stored; false if none was found. */
  erase(key: Key): boolean;
  eraseBatch(keys: Keys): Bytes;
  /** Copies of the key. */
  count(key: Key): number;
  countBatch(keys: Keys): Bytes;
  /** Halves a filter that has grown as often as its keys allow: how often. */
  fit(): number;
}

export interface ExpiringOptions extends Pick<Options, "capacity" | "fpr" | "load" | "seed"> {
  /** Bits of a fingerprint: 8 or 12. */
  bits?: number;
  /** Ticks that a key lives, 1 to 14; 14. */
  ttlTicks?: number;
}

/** A set that forgets each key after its life. Time is a number of ticks, which the program moves. */
export class ExpiringFilter extends AnyFilter {
  constructor(options: ExpiringOptions);
  static load(file: ArrayBuffer | ArrayBufferView): ExpiringFilter;
  /** Stores the key, or renews the life of one that is there (Outcome.present). */
  insert(key: Key, ttlTicks?: number): Outcome;
  insertBatch(keys: Keys, ttlTicks?: number): Bytes;
  /** For how many more ticks the key lives; 0 if it is not there, or in its last tick. */
  remainingTicks(key: Key): number;
  remainingTicksBatch(keys: Keys): Bytes;
  /** Moves time on, to tick 2^53 - 1 at most. */
  advance(ticks?: number): void;
  /** Moves time on to this tick, unless it is later already. */
  advanceTo(tick: number): void;
  /** The tick, from 0 on. */
  readonly now: number;
  /** Ticks that a key lives. */
  readonly ttlTicks: number;
}

export {}; // nothing else
