"""python -m nestline: prints the version and the instruction set, and measures for 5 seconds."""

import argparse
import time
from collections.abc import Callable

import numpy as np

from . import Filter, __version__, target

KEYS = 1_000_000


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


def measure(seconds: float) -> None:
    """Prints rates of batches on a filter of a million keys."""
    numbers = np.random.default_rng(1).integers(0, 2**63, KEYS, dtype=np.uint64)
    strings = [b"user:%d" % number for number in numbers[: KEYS // 5]]
    filter = Filter.build(numbers)
    found = np.empty(KEYS, np.bool_)
    some = np.empty(len(strings), np.bool_)
    works: list[tuple[str, Callable[[], object], int]] = [
        ("build, array of uint64", lambda: Filter.build(numbers), KEYS),
        ("insert, array of uint64", lambda: Filter(KEYS).insert(numbers, out=found), KEYS),
        ("may_contain, array of uint64", lambda: filter.may_contain(numbers, out=found), KEYS),
        ("may_contain, list of bytes", lambda: filter.may_contain(strings, out=some), len(strings)),
    ]
    for name, work, keys in works:
        rate = best_rate(work, keys, seconds / len(works))
        print(f"{name:30} {rate / 1e6:8.1f} million keys a second")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m nestline", description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=5, help="how long to measure; 0: not at all"
    )
    arguments = parser.parse_args()
    print(f"nestline {__version__}, batches use {target()}")
    if arguments.seconds > 0:
        measure(arguments.seconds)


if __name__ == "__main__":
    main()
