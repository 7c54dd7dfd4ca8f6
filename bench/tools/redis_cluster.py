"""scripts/bench cluster: measures logical filters on three primaries of this machine.

- push: `nestline cluster push` of a file of keys, beside CF.INSERT of the same keys in commands of 1000
  items, encoded beforehand, to as many CF.* keys on the same servers, all servers at once. Both begin
  with empty filters of the same capacity. The two run in turn; the ratios are those of the times by the
  clock, and of the processor time of client and servers together, which other programs on the machine
  disturb less. In both, push also reads the file, hashes and builds.
- the client: nanoseconds for a key in ClusterFilter::may_contain of a million integers, of its own
  processor time and by the clock.
- the servers: nanoseconds for an item in the commands that the client sends, by the servers' own clocks
  (INFO commandstats).
- memory: bytes of all parts for a key.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import builds

MANY = 1000
NAME = "measured"
PARTS = 64
BATCH = 1_000_000


def build():
    """Builds the preset "bench"; returns the paths of module, command and client."""
    client = builds.build("cluster_client")
    for target in ("nestline_redis", "nestline_command"):
        builds.call("cmake", "--build", "--preset", "bench", "--target", target)
    libraries = client.parent.parent / "lib"
    return libraries / "nestline_redis.so", libraries / "nestline", client


def word(text):
    return b"$%d\r\n%s\r\n" % (len(text), text)


def insertions(cluster, items, capacity):
    """For each server, the commands that insert its share of the items, and the bytes of a reply to
    each; the keys are new and empty."""
    keys = [f"{{p{part}}}".encode() for part in range(PARTS)]
    for key in keys:
        owner = cluster.owner(key)
        owner.call("DEL", key)
        owner.call("CF.RESERVE", key, capacity // PARTS, "ERROR", "0.01")
    work = {server: [] for server in cluster.servers}
    for part, key in enumerate(keys):
        share = items[part::PARTS]
        commands = work[cluster.owner(key)]
        for at in range(0, len(share), MANY):
            some = share[at : at + MANY]
            head = b"*%d\r\n" % (3 + len(some)) + word(b"CF.INSERT") + word(key) + word(b"ITEMS")
            reply = len(b"*%d\r\n" % len(some)) + 4 * len(some)
            commands.append((head + b"".join(map(word, some)), reply))
    return work


def send(server, commands, resp):
    """Sends the commands, a few ahead of the replies."""
    ahead = 8
    with resp.Connection(server.port) as connection:
        for number, (command, _) in enumerate(commands):
            connection.socket.sendall(command)
            if number >= ahead:
                read(connection, commands[number - ahead][1])
        for _, reply in commands[max(0, len(commands) - ahead) :]:
            read(connection, reply)


def read(connection, wanted):
    reply = connection.reader.read(wanted)
    if len(reply) != wanted or reply.count(b":1\r\n") * 4 + reply.index(b"\n") + 1 != wanted:
        raise builds.Trouble(f"a server says {reply[:100]!r}")


def processor_seconds(cluster):
    """Of the servers, and of this program and the commands that it has run."""
    spent = sum(os.times()[:4])
    for server in cluster.servers:
        told = server.information("cpu")
        spent += float(told["used_cpu_user"]) + float(told["used_cpu_sys"])
    return spent


def timed(cluster, work):
    """What it takes by the clock and of the processors."""
    before = processor_seconds(cluster)
    begin = time.perf_counter()
    work()
    clock = time.perf_counter() - begin
    return clock, processor_seconds(cluster) - before


def insert_all(work, resp):
    """Until all servers have replied to all commands."""
    threads = [
        threading.Thread(target=send, args=(server, commands, resp))
        for server, commands in work.items()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def item_nanoseconds(cluster, name, items):
    """The servers' time for an item in all calls of a command since the last RESETSTAT."""
    spent = 0
    for server in cluster.servers:
        told = server.information("commandstats").get(f"cmdstat_{name}")
        if told:
            spent += int(dict(pair.split("=") for pair in told.split(","))["usec"])
    return 1000 * spent / items


def cluster_bench(options):
    if not shutil.which("redis-server"):
        raise builds.Trouble("no redis-server is installed (scripts/install-dependencies redis-test)")
    module, command, client = build()
    os.environ["NESTLINE_REDIS_MODULE"] = str(module)
    sys.path.insert(0, str(builds.ROOT / "tests" / "faces" / "redis" / "server"))
    import resp  # pylint: disable=import-outside-toplevel
    from cluster_servers import Cluster  # pylint: disable=import-outside-toplevel

    with Cluster(primaries=3, replicas=0) as cluster, tempfile.TemporaryDirectory() as folder:
        address = f"127.0.0.1:{cluster.servers[0].port}"

        def run(verb, *arguments):
            line = [command, "cluster", verb, NAME, "--server", address, "--timeout", "100000"]
            done = subprocess.run([*line, *map(str, arguments)])
            if done.returncode:
                raise builds.Trouble(f"nestline cluster {verb} ended with {done.returncode}")

        items = [b"key-%d" % i for i in range(options.keys)]
        file = os.path.join(folder, "keys")
        with open(file, "wb") as out:
            out.write(b"\n".join(items) + b"\n")
        run("create", "--capacity", options.keys * 11 // 10, "--fpr", 0.01)
        times = {"push": [], "insert": []}
        for number in range(options.rounds):
            for which in ("push", "insert") if number % 2 else ("insert", "push"):
                if which == "insert":
                    work = insertions(cluster, items, options.keys * 11 // 10)
                    times[which].append(timed(cluster, lambda work=work: insert_all(work, resp)))
                else:
                    times[which].append(timed(cluster, lambda: run("push", file)))
        print(f"{options.keys} keys, {PARTS} parts, 3 primaries, {options.rounds} rounds")
        for at, name in enumerate(("clock", "processors' time")):
            push, insert = ([each[at] for each in times[which]] for which in ("push", "insert"))
            ratios = [slow / fast for slow, fast in zip(insert, push)]
            print(f"by the {name}: push {statistics.median(push):.2f} s, CF.INSERT of {MANY} "
                  f"{statistics.median(insert):.2f} s")  # fmt: skip
            print(f"  ratio: {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
        used = sum(
            server.call("MEMORY", "USAGE", key)
            for server in cluster.servers for key in server.call("KEYS", NAME + ":*")
        )  # fmt: skip
        print(f"memory of the parts: {used / options.keys:.2f} bytes a key")
        measure_client(cluster, client, address)
    return 0


def measure_client(cluster, client, address):
    """The client's own time, and the servers' times for an item."""

    def call(process, line):
        process.stdin.write(line + "\n")
        process.stdin.flush()
        answer = process.stdout.readline().split()
        if answer[:1] != ["ok"]:
            raise builds.Trouble(f"the client says {answer}")
        return answer[1:]

    with subprocess.Popen(
        [client, NAME, "100000", "0", address], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        own, clock = map(float, call(process, f"cost {BATCH}"))
        print(f"client, may_contain of {BATCH}: {own:.1f} ns a key of its own, {clock:.1f} by the clock")
        for verb, name in (
            ("insert", "cf.maddh"), ("ask", "cf.mexistsh"), ("count", "cf.mcounth"),
            ("unique", "cf.maddnxh"), ("erase", "cf.mdelh"),
        ):  # fmt: skip
            for server in cluster.servers:
                server.call("CONFIG", "RESETSTAT")
            call(process, f"{verb} more 0 {BATCH // 10}")
            each = item_nanoseconds(cluster, name, BATCH // 10)
            print(f"servers, {name.upper()}: {each:.1f} ns an item")
        process.stdin.close()
