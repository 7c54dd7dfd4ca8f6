// With the lib esnext.disposable `using` takes filters; types.ts compiles without it.
import { ExpiringFilter, Filter } from "nestline";

export function isFound(file: ArrayBuffer): boolean {
  using filter = Filter.load(file);
  using seen = new ExpiringFilter({ capacity: filter.capacity });
  const free: () => void = seen[Symbol.dispose];
  // @ts-expect-error: it cannot be waited for
  seen[Symbol.asyncDispose];
  return free === seen.free && filter.mayContain(1);
}
