#!/usr/bin/env python3
"""Measures what a filter saves in SQLite: rows of a big table that are not in another one.

    join_bench.py EXTENSION [--rows N] [--keys N] [--rounds N] [--folder FOLDER] [--present SHARE]

EXTENSION is nestline_sqlite.so. `big` has --rows rows (2,000,000), of which --present (0.02) are in
`small`, which has --keys rows (5,000,000). Both are made twice: with integers as keys (the rowid of
`small`) and with texts of some 20 bytes (its primary key, without rowid).

Each query counts the rows of `big` that are not in `small`. "without" is SQL alone. The others ask a
filter first and `small` only where it says maybe, so their results are the same, which is checked.
The filter is built in the statement (built), read from a table (blob), or mapped from a file (file).

memory: the database is in memory. cached: it is a file, in the memory of the system, and SQLite's own
cache has its default of 2 MB. disk: the same, but before each query the system forgets the file
(posix_fadvise), and the filter's file. Times are processor time, which other programs on the machine
disturb least; for disk they are what passes on the clock. The queries run in turn, --rounds (3) times;
the table shows the fastest of each, and how often it goes into the time without a filter.
"""

import argparse
import os
import pathlib
import random
import sqlite3
import sys
import tempfile
import time

IN_SMALL = "k IN (SELECT k FROM small)"
QUERIES = {
    "without": f"SELECT count(*) FROM big WHERE NOT {IN_SMALL}",
    "built": f"SELECT count(*) FROM big WHERE NOT (nestline_may_contain((SELECT nestline_open("
             f"nestline_build(k)) FROM small), k) AND {IN_SMALL})",
    "blob": f"SELECT count(*) FROM big WHERE NOT (nestline_may_contain((SELECT nestline_open(f) FROM "
            f"filters), k) AND {IN_SMALL})",
    "file": f"SELECT count(*) FROM big WHERE NOT (nestline_may_contain(nestline_file(:file), k) AND "
            f"{IN_SMALL})",
}


def make(database, kind, options):
    """Fills the tables."""
    rng = random.Random(7)
    key = (lambda n: n) if kind == "integers" else (lambda n: f"user:{n:020d}"[-20:])
    database.execute(
        "CREATE TABLE small (k INTEGER PRIMARY KEY)" if kind == "integers" else
        "CREATE TABLE small (k TEXT PRIMARY KEY) WITHOUT ROWID")
    database.execute("CREATE TABLE big (k, other)")
    database.execute("BEGIN")
    # Even numbers are in `small`, odd ones are not.
    database.executemany("INSERT INTO small VALUES (?)", ((key(2 * n),) for n in range(options.keys)))
    database.executemany(
        "INSERT INTO big VALUES (?, ?)",
        ((key(2 * rng.randrange(options.keys) + (rng.random() >= options.present)), n)
         for n in range(options.rows)))
    database.execute("CREATE TABLE filters (f BLOB)")
    database.execute("INSERT INTO filters SELECT nestline_build(k) FROM small")
    database.execute("COMMIT")


def connect(path, extension):
    database = sqlite3.connect(path, isolation_level=None)
    database.enable_load_extension(True)
    database.load_extension(extension)
    return database


def forget(path):
    """Makes the system drop the pages of a file."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def measure(where, path, file, options):
    """The seconds of each query in each round; all must count the same."""
    seconds = {name: [] for name in QUERIES}
    clock = time.perf_counter if where == "disk" else time.process_time
    counts = set()
    for _ in range(options.rounds):
        for name, sql in QUERIES.items():
            database = where if isinstance(where, sqlite3.Connection) else connect(path, options.extension)
            if where == "disk":
                forget(path)
                forget(file)
            start = clock()
            ((count,),) = database.execute(sql, {"file": str(file)} if name == "file" else {}).fetchall()
            seconds[name].append(clock() - start)
            counts.add(count)
            if database is not where:
                database.close()
    if len(counts) != 1:
        sys.exit(f"join_bench: the queries count differently: {counts}")
    return {name: min(times) for name, times in seconds.items()}


def show(kind, place, seconds):
    cells = [f"{seconds[name]:.2f} s ({seconds['without'] / seconds[name]:.1f})" for name in QUERIES]
    print(f"| {kind}, {place} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("extension")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--keys", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--present", type=float, default=0.02)
    parser.add_argument("--folder")
    options = parser.parse_args()
    print("| | " + " | ".join(QUERIES) + " |\n|" + " --- |" * (1 + len(QUERIES)))
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for kind in ("integers", "texts"):
            path = pathlib.Path(folder) / f"{kind}.db"
            file = pathlib.Path(folder) / f"{kind}.nest"
            database = connect(path, options.extension)
            make(database, kind, options)
            file.write_bytes(database.execute("SELECT f FROM filters").fetchone()[0])
            memory = connect(":memory:", options.extension)
            database.backup(memory)
            database.close()
            show(kind, "memory", measure(memory, path, file, options))
            memory.close()
            show(kind, "cached", measure("cached", path, file, options))
            show(kind, "disk", measure("disk", path, file, options))


if __name__ == "__main__":
    main()
