"""scripts/bench redis: measures the Redis module beside a server's own commands.

One server, one client (pipelines of 64, encoded beforehand) and the same random keys. CF.ADD runs in
turn with SETBIT, and CF.EXISTS with GETBIT; no command of the server does less work in memory. Each
round runs the two one after the other, in alternating order. The script prints the median of the
rounds' ratios, with the lowest and the highest: by the clock, and by the processor time of the
server's main thread, which other programs on the machine disturb less. The comparison covers
everything: the protocol, the lookup of the key, and the work.

CF.MEXISTS of 1000 items is measured by the server's own clock (INFO commandstats), which leaves out
the reading of the command. The result is items per second of one core.

Single commands are measured once more with worker threads that have nothing to do, in turn with
none. redis_hashes.py measures the commands on hashes.

The longest command while a filter grows from nothing to --grow items also comes from the server: its
slow log keeps each command that took more than a millisecond.
"""

import os
import random
import shutil
import socket
import statistics
import sys
import time

import builds
import redis_hashes
import redis_workers

PIPELINE = 64
MANY = 1000


def build_module():
    """Builds the module with the preset "release"; returns its path."""
    builds.call("cmake", "--preset", "release")
    builds.call("cmake", "--build", "--preset", "release", "--target", "nestline_redis")
    return builds.ROOT / "build" / "release" / "lib" / "nestline_redis.so"


def encode(name, key, items, *more):
    """Commands for these items, PIPELINE of them in each string of bytes."""
    head = b"*%d\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n" % (
        3 + len(more), len(name), name.encode(), len(key), key.encode(),
    )  # fmt: skip
    tail = b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in more)
    each = [b"%s$%d\r\n%d\r\n%s" % (head, len(str(item)), item, tail) for item in items]
    return [b"".join(each[i : i + PIPELINE]) for i in range(0, len(each), PIPELINE)]


def seconds(server, pipelines, count):
    """How long the server takes for them, one pipeline at a time; all replies are one digit."""
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        begin = time.perf_counter()
        for pipeline in pipelines:
            client.sendall(pipeline)
            wanted = 4 * min(PIPELINE, count)
            count -= PIPELINE
            while wanted > 0:
                reply = client.recv(wanted)
                if reply[:1] not in b":1\r\n0":
                    raise builds.Trouble(f"the server says {reply[:200]!r}")
                wanted -= len(reply)
        return time.perf_counter() - begin


def processor_seconds(server):
    """Processor time of the thread that executes commands, since its start."""
    spent = server.information("cpu")
    return float(spent["used_cpu_user_main_thread"]) + float(spent["used_cpu_sys_main_thread"])


def compare(server, options, ours, theirs):
    """Median rates of both, and the rounds' ratios by the clock and by processor time."""
    chance = random.Random(1)
    items = [chance.randrange(options.keys) for _ in range(options.operations)]
    pipelines = {
        "CF.ADD": lambda: encode("CF.ADD", "filter-new", items),
        "SETBIT": lambda: encode("SETBIT", "bits-new", items, b"1"),
        "CF.EXISTS": lambda: encode("CF.EXISTS", "filter", items),
        "GETBIT": lambda: encode("GETBIT", "bits", items),
    }
    work = {name: pipelines[name]() for name in (ours, theirs)}
    rates = {ours: [], theirs: []}
    efforts = {ours: [], theirs: []}
    for number in range(options.rounds):
        for name in (ours, theirs) if number % 2 else (theirs, ours):
            server.call("DEL", "filter-new", "bits-new")
            server.call("CF.RESERVE", "filter-new", 2 * options.operations)
            server.call("SETBIT", "bits-new", options.keys, 0)
            before = processor_seconds(server)
            rates[name].append(len(items) / seconds(server, work[name], len(items)))
            efforts[name].append(processor_seconds(server) - before)
    medians = [statistics.median(rates[name]) for name in (ours, theirs)]
    by_clock = [a / b for a, b in zip(rates[ours], rates[theirs])]
    by_processor = [b / a for a, b in zip(efforts[ours], efforts[theirs])]
    return medians, by_clock, by_processor


def fill(server, options):
    """Every second key is in the filter and in the bits."""
    server.call("CF.RESERVE", "filter", options.keys)
    server.call("SETBIT", "bits", options.keys, 0)
    for start in range(0, options.keys, 2 * MANY):
        wanted = range(start, min(start + 2 * MANY, options.keys), 2)
        server.call("CF.INSERT", "filter", "ITEMS", *wanted)


def many(server, resp, options):
    """Items per second of CF.MEXISTS on one core."""
    server.call("CONFIG", "RESETSTAT")
    chance = random.Random(2)
    with resp.Connection(server.port) as client:
        for _ in range(max(100, options.operations // MANY)):
            items = [chance.randrange(options.keys) for _ in range(MANY)]
            client.call("CF.MEXISTS", "filter", *items)
    spent = server.information("commandstats")["cmdstat_cf.mexists"]
    numbers = dict(pair.split("=") for pair in spent.split(","))
    return MANY * int(numbers["calls"]) / (int(numbers["usec"]) / 1e6)


def idle_workers(server, options):
    """Prints what worker threads without work cost single commands: ratios of processor time."""
    chance = random.Random(1)
    items = [chance.randrange(options.keys) for _ in range(options.operations)]
    before = server.call("CONFIG", "GET", "nestline.cf-threads")[1]
    for name, key in (("CF.ADD", "filter-new"), ("CF.EXISTS", "filter")):
        work = encode(name, key, items)
        efforts = {0: [], 1: []}
        for number in range(options.rounds):
            for threads in (0, 1) if number % 2 else (1, 0):
                server.call("CONFIG", "SET", "nestline.cf-threads", threads)
                server.call("DEL", "filter-new")
                server.call("CF.RESERVE", "filter-new", 2 * options.operations)
                spent = processor_seconds(server)
                seconds(server, work, len(items))
                efforts[threads].append(processor_seconds(server) - spent)
        ratios = [a / b for a, b in zip(efforts[1], efforts[0])]
        print(
            f"{name} with a worker thread that is idle, ratio of processor's time to none: "
            f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"
        )
    server.call("CONFIG", "SET", "nestline.cf-threads", before)


def longest_while_growing(server, options):
    """Milliseconds of the longest CF.ADD, and the number of filters at the end."""
    server.call("CONFIG", "SET", "slowlog-log-slower-than", 1000)
    server.call("CONFIG", "SET", "slowlog-max-len", 1000)
    server.call("CONFIG", "SET", "nestline.cf-max-expansions", 65536)
    server.call("SLOWLOG", "RESET")
    server.call("CF.RESERVE", "growing", 1024, "EXPANSION", 2)
    step = 1_000_000
    for start in range(0, options.grow, step):
        items = range(start, min(start + step, options.grow))
        seconds(server, encode("CF.ADD", "growing", items), len(items))
    slow = [entry[2] for entry in server.call("SLOWLOG", "GET", 1000) if entry[3][0] == b"CF.ADD"]
    return max(slow, default=0) / 1000, server.call("CF.DEBUG", "growing").decode()


def redis(options):
    if not shutil.which("redis-server"):
        raise builds.Trouble("no redis-server is installed (scripts/install-dependencies redis-test)")
    os.environ["NESTLINE_REDIS_MODULE"] = str(options.module or build_module())
    sys.path.insert(0, str(builds.ROOT / "tests" / "faces" / "redis" / "server"))
    import resp  # pylint: disable=import-outside-toplevel
    import servers  # pylint: disable=import-outside-toplevel

    with servers.Server() as server:
        print(f"{options.operations} operations a run, {options.rounds} rounds, {options.keys} keys")
        fill(server, options)
        for ours, theirs in (("CF.ADD", "SETBIT"), ("CF.EXISTS", "GETBIT")):
            medians, by_clock, by_processor = compare(server, options, ours, theirs)
            print(f"{ours} {medians[0]:,.0f}/s, {theirs} {medians[1]:,.0f}/s")
            for name, ratios in (("clock", by_clock), ("processor's time", by_processor)):
                middle = statistics.median(ratios)
                print(f"  ratio by {name}: {middle:.3f} ({min(ratios):.3f} to {max(ratios):.3f})")
        print(f"CF.MEXISTS of {MANY}: {many(server, resp, options):,.0f} items/s of server time")
        idle_workers(server, options)
        redis_hashes.measure(server, resp, options.rounds)
        redis_workers.measure(server, resp, options.rounds, processor_seconds)
        if options.grow:
            longest, line = longest_while_growing(server, options)
            print(f"longest CF.ADD up to {options.grow} items: {longest:.1f} ms ({line})")
    return 0
