import nestline
import numpy as np

# Which of up to 15 files may have a key?
keys = np.arange(10_000)
files = nestline.Maplet.build(keys, keys % 3, capacity=20_000, value_bits=4, fpr=0.01)
files.insert(17, 6)                           # a key may be in several
print(files.candidates(16), bin(files.find_set(17)))
print(files.find_sets([3, 4, 20_000]))        # an array of uint64: bit v for file v

print(files.rename([7, 7]))                   # files 0 and 1 have become file 7
print(files.erase_value(2), len(files))       # file 2 has gone
