// What TypeScript makes of the types: it must compile, with an error wherever one is expected.
// @ts-expect-error: it has no such name
import { AnyFilter } from "nestline";
import { ExpiringFilter, Filter, init, Outcome, type Key, type Options } from "nestline";

const options: Options = { capacity: 1000, fpr: 0.001, seed: 5n, maxCapacity: 2000 };
const keys: Key[] = [1, 2n, "three", new Uint8Array(4)];

export async function use(file: ArrayBuffer): Promise<Uint8Array> {
  await init();
  const filter = new Filter(options);
  const outcome: Outcome = filter.insert("a");
  if (outcome === Outcome.full) return new Uint8Array();
  const found: boolean = filter.mayContain(5) || filter.erase(5n);
  const copies: number = found ? filter.count("a") : filter.size + filter.capacity;
  const many: Uint8Array = filter.insertUniqueBatch(new BigUint64Array(copies));
  filter.insertBatch(new Float64Array(many));
  filter.mayContainBatch(keys);
  const halvings: number = filter.fit();
  filter.insert(halvings);
  const loaded: Filter = Filter.load(file);
  const seen: ExpiringFilter = ExpiringFilter.load(loaded.save());
  seen.insert("order", 3);
  seen.advanceTo(seen.now + seen.ttlTicks);
  seen.free();
  // Of TypeScript 5.7 on: these take no view of shared memory.
  new Blob([loaded.save()]);
  await crypto.subtle.digest("SHA-256", loaded.mayContainBatch(keys));
  await fetch("https://localhost", { method: "POST", body: loaded.save() });
  new Response(loaded.save());

  // @ts-expect-error: no key
  filter.insert(null);
  // @ts-expect-error: no batch
  filter.insertBatch("abc");
  // @ts-expect-error: no capacity
  new Filter({ fpr: 0.01 });
  // @ts-expect-error: an option of another class
  new ExpiringFilter({ capacity: 9, maxCapacity: 99 });
  // @ts-expect-error: an expiring filter does not erase
  seen.erase("order");
  // @ts-expect-error: it is read
  filter.size = 5;
  // @ts-expect-error: not the bytes of a file
  Filter.load("users.nest");
  // @ts-expect-error: no such outcome
  const wrong: Outcome = 5;
  return seen.remainingTicksBatch([String(wrong)]);
}
