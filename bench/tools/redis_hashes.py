"""scripts/bench redis: the commands on hashes, in filters of 16 MiB. The one that is asked holds 92 %
of its capacity, the one that is changed 45 %.

CF.MEXISTSH of 1024 hashes runs in turn with CF.MEXISTS of 1024 items, half of which are in the
filter. Both are timed by the server's own clock (INFO commandstats), which leaves out the reading
of the command. The same for CF.MADDH beside CF.INSERT, and CF.MDELH beside CF.MDEL.

CF.MEXISTSH through one connection with pipelines covers everything: the client, the protocol, the
reading of the command. In turn with it runs bench/faces/redis/hash_batches.cc: a Filter of the same size
that is asked in one batch, and the value of a key, both without a server.
"""

import random
import socket
import statistics
import struct
import time

import builds

BATCH = 1024
CAPACITY = 9_800_000  # 16 MiB
BATCHES = 400  # different ones of each kind
PIPELINE = 32
SEED = 1


class Hashes:
    """Random hashes that are in the filter, and batches of them and of others in turn."""

    def __init__(self):
        chance = random.Random(3)
        self.stored = chance.randbytes(8 * (CAPACITY * 9 // 10))
        self.batches = []
        for number in range(BATCHES):
            start = 8 * BATCH // 2 * number
            inside = struct.unpack_from(f"<{BATCH // 2}Q", self.stored, start)
            outside = struct.unpack(f"<{BATCH // 2}Q", chance.randbytes(4 * BATCH))
            mixed = [hash for pair in zip(inside, outside) for hash in pair]
            self.batches.append(struct.pack(f"<{BATCH}Q", *mixed))


def encode(*words):
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        word = word if isinstance(word, bytes) else str(word).encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(word), word))
    return b"".join(parts)


def fill(client, hashes):
    """All hashes into "hashed", and items with even numbers too, of which batches ask together with
    odd ones. Half of the hashes into "changed"."""
    step = 8 << 16
    for key, end in (("hashed", len(hashes.stored)), ("changed", len(hashes.stored) // 2)):
        client.call("DEL", key)
        if client.call("CF.RESERVE", key, CAPACITY, "SEED", SEED) != "OK":
            raise builds.Trouble("the server refuses a filter of 16 MiB")
        for start in range(0, end, step):
            client.call("CF.MADDH", key, hashes.stored[start : min(start + step, end)])
    evens = range(0, BATCHES * BATCH, 2)
    for start in range(0, len(evens), BATCH):
        client.call("CF.INSERT", "hashed", "ITEMS", *evens[start : start + BATCH])


def nanoseconds(server, client, name, commands):
    """Server time of these commands, each of BATCH items: nanoseconds an item."""
    server.call("CONFIG", "RESETSTAT")
    for command in commands:
        client.socket.sendall(command)
        client.read()
    spent = server.information("commandstats")[f"cmdstat_{name.lower()}"]
    numbers = dict(pair.split("=") for pair in spent.split(","))
    return 1000 * int(numbers["usec"]) / (int(numbers["calls"]) * BATCH)


def compare(server, client, hashes, rounds):
    """Prints the server time an item of each command on hashes beside its sibling on items. What a
    round adds, it deletes again."""
    chance = random.Random(4)
    fresh = [chance.randbytes(8 * BATCH) for _ in range(BATCHES)]
    numbers = [range(BATCH * i, BATCH * (i + 1)) for i in range(BATCHES)]

    def of_items(*words):
        return [encode(*words, *some) for some in numbers]

    pairs = {
        ("CF.MEXISTSH", "CF.MEXISTS"): (hashes.batches, of_items("CF.MEXISTS", "hashed")),
        ("CF.MADDH", "CF.INSERT"): (fresh, of_items("CF.INSERT", "changed", "ITEMS")),
        ("CF.MDELH", "CF.MDEL"): (fresh, of_items("CF.MDEL", "changed")),
    }
    work = {}
    for (by_hash, by_item), (strings, commands) in pairs.items():
        key = "hashed" if strings is hashes.batches else "changed"
        work[by_hash] = [encode(by_hash, key, string) for string in strings]
        work[by_item] = commands
    times = {name: [] for name in work}
    for number in range(rounds):
        for pair in pairs:
            for name in pair if number % 2 else pair[::-1]:
                times[name].append(nanoseconds(server, client, name, work[name]))
    for by_hash, by_item in pairs:
        ratios = [a / b for a, b in zip(times[by_hash], times[by_item])]
        print(
            f"{by_hash} of {BATCH}: {statistics.median(times[by_hash]):.1f} ns an item of server "
            f"time, {by_item}: {statistics.median(times[by_item]):.1f} ns; ratio "
            f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"
        )


def piped(port, pipelines):
    """Items a second of CF.MEXISTSH through one connection; the next pipeline is sent before the
    answers of the one before are read."""
    answer = len(b"$%d\r\n" % (BATCH // 8)) + BATCH // 8 + 2
    with socket.create_connection(("127.0.0.1", port)) as client:
        begin = time.perf_counter()
        waiting = 0
        for pipeline in pipelines + [b""]:
            client.sendall(pipeline)
            while waiting > 0:
                reply = client.recv(waiting)
                if not reply or reply[:1] == b"-":
                    raise builds.Trouble(f"the server says {reply[:200]!r}")
                waiting -= len(reply)
            waiting = PIPELINE * answer
        return len(pipelines) * PIPELINE * BATCH / (time.perf_counter() - begin)


def throughput(server, program, hashes, rounds):
    """Prints items a second through one connection, and of one batch without a server."""
    commands = [encode("CF.MEXISTSH", "hashed", batch) for batch in hashes.batches] * 8
    pipelines = [b"".join(commands[i : i + PIPELINE]) for i in range(0, len(commands), PIPELINE)]
    rates, of_filter, of_value = [], [], []
    for _ in range(rounds):
        rates.append(piped(server.port, pipelines))
        words = builds.call(program, str(CAPACITY)).split()
        of_filter.append(float(words[0]))
        of_value.append(float(words[1]))
    ratios = [a / b for a, b in zip(rates, of_filter)]
    print(
        f"CF.MEXISTSH of {BATCH} through one connection: {statistics.median(rates):,.0f} items/s; "
        f"Filter::may_contain of a batch: {statistics.median(of_filter):,.0f}/s, the key's value "
        f"without a server: {statistics.median(of_value):,.0f}/s; ratio to the Filter "
        f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"
    )


def measure(server, resp, rounds):
    program = builds.build("redis_hash_batches")
    hashes = Hashes()
    with resp.Connection(server.port) as client:
        fill(client, hashes)
        compare(server, client, hashes, rounds)
        throughput(server, program, hashes, rounds)
        client.call("UNLINK", "hashed", "changed")
