import nestline
import numpy as np

# Deliveries that may come twice, by an identity of each, a million in ten minutes.
seen = nestline.ExpiringFilter(1_000_000, window=600, fpr=0.001)
for delivery in ["order 17", "order 18", "order 17"]:
    if seen.insert(delivery):                 # True: not seen for ten minutes
        print("handle", delivery)
print(seen.insert(np.array([1, 2, 1])))       # a batch, in this order

seen.save("seen.nest")                        # and after a restart, half an hour later
later = nestline.ExpiringFilter.load("seen.nest", window=600, elapsed=1800)
print("order 17" in seen, "order 17" in later)

events = nestline.ExpiringFilter(1000, ttl_ticks=3)   # without a window: the program's own time
events.insert("a")
events.advance(3)
print("a" in events, events.remaining_ticks("a"))   # found in its last tick
events.advance()
print("a" in events)
