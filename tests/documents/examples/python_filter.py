import nestline
import numpy as np

seen = nestline.Filter(1_000_000, fpr=0.01)
seen.insert("user:17")                        # True: it was stored
print("user:17" in seen, "user:18" in seen)

keys = np.arange(500_000)
stored = seen.insert(keys)                    # an array of bool
print(stored.all(), len(seen))
found = seen.may_contain(np.array([3, -3]))   # also an array
rest = keys[seen.select(keys[:10])]           # the keys that may be there
print(found, len(rest))

seen.save("seen.nest")
with nestline.MappedFilter("seen.nest") as mapped:
    print(17 in mapped)
