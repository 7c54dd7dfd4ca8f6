import nestline
import numpy as np

seen = nestline.Filter.build(["ann", "bob"], fpr=0.0001)
print(seen.may_contain(["ann", "eve"]))
print(seen.may_contain(np.array([b"bob", b"eve"])))
offsets = np.array([0, 3, 6], np.int32)       # of pyarrow: StringArray(*array.buffers()[1:])
print(seen.may_contain(nestline.StringArray(offsets, b"evebob")))
hashed = nestline.hash_key("ann", seen.seed)  # hash once, ask many filters
print(hashed in seen)
