import { ExpiringFilter, Filter, init, Outcome } from "nestline";

await init();
const filter = new Filter({ capacity: 1_000_000, fpr: 0.001 });
const outcomes = filter.insertBatch(["ann", "bob", "ann"]); // a Uint8Array
if (outcomes.includes(Outcome.full)) throw new Error("the filter is full");
console.log(filter.count("ann"), [...filter.mayContainBatch(["ann", "eve"])]);
filter.insertBatch(new Float64Array([1, 2, 3])); // or a BigUint64Array
console.log(filter.mayContain(2), filter.mayContain(2n), filter.mayContain("2"));
filter.erase("bob"); // only keys that were inserted
filter.free();

// Seen within the last ten minutes: a tick is a minute.
const seen = new ExpiringFilter({ capacity: 100_000, ttlTicks: 10 });
const minute = () => Math.floor(Date.now() / 60_000);
for (const order of ["order 17", "order 18", "order 17"]) {
  seen.advanceTo(minute());
  if (seen.insert(order) === Outcome.present) console.log(order, "came twice");
}
