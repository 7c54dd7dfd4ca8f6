"""Compares batches of the module for Python with those of C++, in turn on the same keys, and
measures lists of bytes.

    PYTHONPATH=build/X/python bench/faces/python/compare_rates.py PROGRAM [--keys N] [--rounds N]

PROGRAM is batch_rates of the same build. Times are those of the processor. Prints medians, and the
median of the ratios of each round's two times: the machine's noise is in both. Status 1 if a floor
is missed: a ratio of 0.95 for arrays, 8 million keys a second for a list of bytes.
"""

import argparse
import statistics
import subprocess
import sys
import time

import nestline
import numpy as np

FLOOR_RATIO, FLOOR_BYTES = 0.95, 8e6


def keys_of(size):
    """SplitMix64 of 0, 1, 2..., as in batch_rates.cc."""
    z = np.arange(1, size + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return z ^ (z >> np.uint64(31))


def seconds_of(work):
    """Of the processor, as in batch_rates.cc."""
    start = time.thread_time()
    work()
    return time.thread_time() - start


class Twin:
    """The program in C++."""

    def __init__(self, program, size):
        self.process = subprocess.Popen(
            [program, str(size)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit(f"{program} did not start")

    def seconds(self, what):
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def compare(twin, size, rounds):
    """Yields name, median rates of C++ and Python, and the median ratio of the two."""
    keys, out = keys_of(size), np.zeros(size, bool)
    full = nestline.Filter.build(keys)

    def insert():
        filter = nestline.Filter(size)
        return seconds_of(lambda: filter.insert(keys, out=out))

    works = {
        "may_contain": lambda: seconds_of(lambda: full.may_contain(keys, out=out)),
        "insert": insert,
        "build": lambda: seconds_of(lambda: nestline.Filter.build(keys)),
    }
    for name, work in works.items():
        pairs = []
        for round in range(rounds):
            # Who is first changes, in case the second finds the machine warmer.
            if round % 2:
                ours = work()
                theirs = twin.seconds(name)
            else:
                theirs = twin.seconds(name)
                ours = work()
            pairs.append((theirs, ours))
        yield (
            name,
            size / statistics.median(theirs for theirs, _ in pairs),
            size / statistics.median(ours for _, ours in pairs),
            statistics.median(theirs / ours for theirs, ours in pairs),
        )


def lists(size, rounds):
    """Yields name and median rate of may_contain for lists of strings."""
    for name, keys in (
        ("list of bytes", [b"user:%d" % i for i in range(size)]),
        ("list of str", [f"user:{i}" for i in range(size)]),
        ("list of int", list(range(size))),
    ):
        filter = nestline.Filter.build(keys)
        out = np.zeros(size, bool)
        yield name, size / statistics.median(
            seconds_of(lambda: filter.may_contain(keys, out=out)) for _ in range(rounds)
        )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program")
    parser.add_argument("--keys", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=11)
    arguments = parser.parse_args()
    missed = False
    twin = Twin(arguments.program, arguments.keys)
    print(
        f"{arguments.keys} keys of 64 bits in an array, {arguments.rounds} rounds,",
        nestline.target(),
    )
    for name, theirs, ours, ratio in compare(twin, arguments.keys, arguments.rounds):
        print(
            f"{name:14} C++ {theirs / 1e6:7.1f} M/s  Python {ours / 1e6:7.1f} M/s",
            f" ratio {ratio:.3f}",
        )
        missed |= ratio < FLOOR_RATIO
    for name, rate in lists(arguments.keys // 5, arguments.rounds):
        print(f"{name:14} Python {rate / 1e6:7.1f} M/s")
        missed |= name == "list of bytes" and rate < FLOOR_BYTES
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
