"""scripts/bench redis: batches that worker threads answer, in a filter of 16 MiB.

CF.MEXISTSH of 100,000 hashes, half of which are in the filter, comes back to back through some
connections. Runs with two worker threads and with none take turns. In further runs another process
sends a PING every millisecond, and notes how long each answer takes. It and the client take
processor time too, so where all cores are busy the longest of these delays say more about the
system than about the server: the processor time that the server's main thread spends on a batch,
during which it answers nobody else, is printed beside them.
"""

import multiprocessing
import random
import socket
import statistics
import threading
import time

import builds
from redis_hashes import encode

BATCH = 100_000
CAPACITY = 9_800_000  # 16 MiB
BATCHES = 16  # different ones
CONNECTIONS = 3
EACH = 60  # batches of a connection in a run
THREADS = 2


def fill(client, chance):
    """Returns batches, half of which the filter has."""
    stored = chance.randbytes(8 * (CAPACITY * 9 // 10))
    if client.call("CF.RESERVE", "worked", CAPACITY, "SEED", 1) != "OK":
        raise builds.Trouble("the server refuses a filter of 16 MiB")
    for start in range(0, len(stored), 8 << 16):
        client.call("CF.MADDH", "worked", stored[start : start + (8 << 16)])
    half = 4 * BATCH
    return [
        encode("CF.MEXISTSH", "worked", stored[half * i : half * (i + 1)] + chance.randbytes(half))
        for i in range(BATCHES)
    ]


def ask(port, batches):
    """Sends EACH batches, each as soon as the one before is answered."""
    wanted = len(b"$%d\r\n" % (BATCH // 8)) + BATCH // 8 + 2
    with socket.create_connection(("127.0.0.1", port)) as client:
        for number in range(EACH):
            client.sendall(batches[number % len(batches)])
            left = wanted
            while left > 0:
                reply = client.recv(left)
                if not reply or reply[:1] == b"-":
                    raise builds.Trouble(f"the server says {reply[:200]!r}")
                left -= len(reply)


def ping(port, pipe):
    """Delays of PINGs, in seconds, until the pipe says that it is enough."""
    delays = []
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        pipe.send(None)
        while not pipe.poll(0.001):
            begin = time.perf_counter()
            client.sendall(b"PING\r\n")
            client.recv(16)
            delays.append(time.perf_counter() - begin)
    pipe.send(delays)


def run(server, batches, effort):
    """Hashes a second, and the main thread's seconds a batch."""
    before = effort(server)
    begin = time.perf_counter()
    clients = [
        threading.Thread(target=ask, args=(server.port, batches[i:] + batches[:i]))
        for i in range(CONNECTIONS)
    ]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    took = time.perf_counter() - begin
    count = CONNECTIONS * EACH
    return count * BATCH / took, (effort(server) - before) / count


def delays_of_pings(server, batches, effort):
    """Sorted, while batches run."""
    ours, theirs = multiprocessing.Pipe()
    pinger = multiprocessing.Process(target=ping, args=(server.port, theirs))
    pinger.start()
    ours.recv()
    run(server, batches, effort)
    ours.send(None)
    delays = sorted(ours.recv())
    pinger.join()
    return delays


def measure(server, resp, rounds, effort):
    """`effort` returns the processor time of the server's main thread so far."""
    with resp.Connection(server.port) as client:
        batches = fill(client, random.Random(5))
        rates, longest, most, efforts = ({0: [], THREADS: []} for _ in range(4))
        for number in range(rounds):
            for threads in (0, THREADS) if number % 2 else (THREADS, 0):
                client.call("CONFIG", "SET", "nestline.cf-threads", threads)
                rate, spent = run(server, batches, effort)
                rates[threads].append(rate)
                delays = delays_of_pings(server, batches, effort)
                longest[threads].append(1000 * delays[-1])
                most[threads].append(1000 * delays[len(delays) * 99 // 100])
                efforts[threads].append(1000 * spent)
    ratios = [with_threads / without for with_threads, without in zip(rates[THREADS], rates[0])]
    print(
        f"CF.MEXISTSH of {BATCH}: {statistics.median(rates[THREADS]) / 1e6:.1f} M/s with {THREADS} "
        f"threads, {statistics.median(rates[0]) / 1e6:.1f} M/s without; ratio "
        f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
    )
    for threads in (THREADS, 0):
        print(
            f"  {threads} threads: PING takes up to {statistics.median(longest[threads]):.2f} ms "
            f"(lowest of {rounds} runs {min(longest[threads]):.2f}), 99 of 100 take less than "
            f"{statistics.median(most[threads]):.2f} ms; the main thread spends "
            f"{statistics.median(efforts[threads]):.3f} ms on a batch"
        )
