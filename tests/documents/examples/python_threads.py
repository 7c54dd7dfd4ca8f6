from concurrent.futures import ThreadPoolExecutor

import nestline
import numpy as np

seen = nestline.ConcurrentFilter(10_000, max_capacity=2_000_000)
parts = np.array_split(np.arange(2_000_000), 8)
with ThreadPoolExecutor() as pool:            # each batch runs on a core of its own
    stored = sum(part.sum() for part in pool.map(seen.insert, parts))
print(stored, len(seen))
