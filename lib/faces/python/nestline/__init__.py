"""Cuckoo filters: compact sets of keys that answer "certainly not" or "maybe", and can erase keys.

>>> import nestline
>>> seen = nestline.Filter(1_000_000, fpr=0.01)
>>> seen.insert("user:17")
True
>>> "user:17" in seen, "user:18" in seen
(True, False)
"""

from ._nestline import *
from ._nestline import __version__ as __version__
