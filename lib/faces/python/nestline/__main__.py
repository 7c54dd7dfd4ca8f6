"""python -m nestline: prints the version and the instruction set, and measures for 5 seconds."""

import argparse
import time
from collections.abc import Callable

import numpy as np

from . import Filter, __version__, target

KEYS = 10_000_000  # as in the table of docs/PYTHON.md; a filter of 1_000_000 is in the cache


def best_rate(work: Callable[[], object], keys: int, seconds: float) -> float:
    """Keys a second of the fastest of all calls that fit into the time; at least one does."""
    end = time.perf_counter() + seconds
    best = 0.0
    while True:
        start = time.perf_counter()
        work()
        now = time.perf_counter()
        best = max(best, keys / (now - start))
        if now >= end:
            return best


def measure(seconds: float, size: int) -> None:
    """Prints rates of batches on a filter of so many keys."""
    numbers = np.random.default_rng(1).integers(0, 2**63, size, dtype=np.uint64)
    strings = [b"user:%d" % number for number in numbers[: max(size // 5, 1)]]
    filter = Filter.build(numbers)
    found = np.empty(size, np.bool_)
    some = np.empty(len(strings), np.bool_)
    works: list[tuple[str, Callable[[], object], int]] = [
        ("build, array of uint64", lambda: Filter.build(numbers), size),
        ("insert, array of uint64", lambda: Filter(size).insert(numbers, out=found), size),
        ("may_contain, array of uint64", lambda: filter.may_contain(numbers, out=found), size),
        ("may_contain, list of bytes", lambda: filter.may_contain(strings, out=some), len(strings)),
    ]
    print(f"{size:,} keys, {len(strings):,} in the list")
    for name, work, keys in works:
        rate = best_rate(work, keys, seconds / len(works))
        print(f"{name:30} {rate / 1e6:8.1f} million keys a second")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m nestline", description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=5, help="how long to measure; 0: not at all"
    )
    parser.add_argument("--keys", type=int, default=KEYS, help="how many keys to measure with")
    arguments = parser.parse_args()
    if arguments.keys < 1:
        parser.error("--keys is at least 1")
    print(f"nestline {__version__}, batches use {target()}")
    if arguments.seconds > 0:
        measure(arguments.seconds, arguments.keys)


if __name__ == "__main__":
    main()
