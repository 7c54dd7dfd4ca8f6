"""scripts/bench uniq: nestline uniq beside nestline query, and beside sort -u and awk.

First a tenth of the lines, as integers and as text, through `query` and `uniq` in turn; the filter
of `query` has all of them. Then all lines through uniq, sort -u and awk, one after the other: time,
processor time, peak memory and the number of lines printed. A fifth of the lines repeat an earlier
one. The input is made once and kept in the folder.

awk may take as much memory as --memory says. sort gets 2 GiB and two threads.
"""

import os
import resource
import statistics
import subprocess
import time

import builds

# Line i repeats an earlier one, or is the next new one. The second number of a line differs for
# different ids, since its modulus is a prime.
MAKE = """BEGIN {
  srand(1)
  for (i = 0; i < lines; ++i) {
    id = (different && rand() < 0.2) ? int(rand() * different) : different++
    number = (id * 48271) % 999999937
    if (text) printf "user-%07d/order-%09d\\n", (id * 7919) % 9999991, number
    else print number
  }
}"""


def make_input(folder, lines, text):
    path = folder / f"{'text' if text else 'integers'}-{lines}.lines"
    if not path.exists():
        part = path.with_suffix(".part")
        with open(part, "wb") as file:
            subprocess.run(["awk", "-v", f"lines={lines}", "-v", f"text={int(text)}", MAKE],
                           stdout=file, check=True)
        part.rename(path)
    return path


class Run:
    """A program that has ended: seconds, processor seconds, peak memory in bytes."""

    def __init__(self, words, out=subprocess.DEVNULL, memory=None):
        def limit():
            if memory:
                resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

        start = time.perf_counter()
        running = subprocess.Popen(words, stdout=out, env={**os.environ, "LC_ALL": "C"},
                                   preexec_fn=limit)
        _, status, usage = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
        self.seconds = time.perf_counter() - start
        self.processor = usage.ru_utime + usage.ru_stime
        self.memory = usage.ru_maxrss * 1024
        self.status = running.returncode


def beside_query(program, folder, lines, rounds):
    print(f"{lines} lines, {rounds} rounds in turn, medians\n")
    print(f"{'':<40}{'M lines/s':>10}{'processor s':>13}{'of query':>10}")
    for text in (False, True):
        source = make_input(folder, lines, text)
        held = folder / "held.nest"
        subprocess.run([program, "build", "-o", held, "--fpr", "0.001", source],
                       check=True, stderr=subprocess.DEVNULL)
        size = str(lines * 9 // 10)
        commands = {
            "query": ["query", held], "uniq": ["uniq"],
            "uniq --capacity": ["uniq", "--capacity", size],
            "uniq --capacity --fpr 0.01": ["uniq", "--capacity", size, "--fpr", "0.01"],
            "uniq --capacity --fpr 0.000001": ["uniq", "--capacity", size, "--fpr", "0.000001"],
            "uniq --window 1000000": ["uniq", "--window", "1000000"],
        }
        runs = {name: [] for name in commands}
        for _ in range(rounds):
            for name, words in commands.items():
                runs[name].append(Run([program, *words, source]))
        query = statistics.median(run.seconds for run in runs["query"])
        for name, done in runs.items():
            seconds = statistics.median(run.seconds for run in done)
            processor = statistics.median(run.processor for run in done)
            name = f"{'text' if text else 'integers'}, {name}"
            rate = lines / seconds / 1e6
            print(f"{name:<40}{rate:10.1f}{processor:13.2f}{query / seconds:10.2f}")
    print()


def beside_others(program, folder, lines, memory):
    source = make_input(folder, lines, True)
    print(f"{lines} lines, {source.stat().st_size / 1e9:.2f} GB\n")
    print(f"{'':<32}{'seconds':>9}{'processor s':>13}{'peak MB':>9}{'printed':>12}")
    most = str(lines * 41 // 50)
    uniq_ = [program, "uniq"]
    sort = ["sort", "-u", "-S", "2G", "--parallel=2", "-T", str(folder)]
    for name, words, limit in (
        ("uniq", uniq_, None),
        ("uniq --capacity", [*uniq_, "--capacity", most], None),
        ("uniq --capacity --fpr 0.00001", [*uniq_, "--capacity", most, "--fpr", "0.00001"], None),
        ("uniq --window 10000000", [*uniq_, "--window", "10000000"], None),
        ("sort -u", sort, None),
        ("awk '!seen[$0]++'", ["awk", "!seen[$0]++"], memory),
    ):
        with subprocess.Popen(["wc", "-l"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as count:
            run = Run([*words, str(source)], out=count.stdin, memory=limit)
            count.stdin.close()
            printed = int(count.stdout.read())
        failed = f" (ended with status {run.status})" if run.status else ""
        print(f"{name:<32}{run.seconds:9.1f}{run.processor:13.1f}{run.memory / 1e6:9.0f}"
              f"{printed:12}{failed}", flush=True)


def uniq(options):
    program = options.program
    if program is None:
        builds.build("nestline_command")
        program = builds.ROOT / "build" / "bench" / "lib" / "nestline"
    folder = options.folder or builds.ROOT / "build" / "bench" / "uniq"
    folder.mkdir(parents=True, exist_ok=True)
    beside_query(program, folder, max(options.lines // 10, 1), options.rounds)
    beside_others(program, folder, options.lines, options.memory << 30)
    return 0
