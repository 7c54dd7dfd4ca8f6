"""scripts/bench compare: runs two builds in turn and compares them by ranks (signed_rank.py).

A round runs both programs once, A first in the even rounds and B first in the odd ones. So a machine
that slows down, or a neighbour that comes and goes, affects both. Each round gives one ratio of
speeds for each benchmark. The logarithms of the ratios are the paired differences.

  ratio      Speed of B divided by that of A: items_per_second, or 1 / real_time for a benchmark
             that counts no items. 1.10 is 10 % faster. Hodges and Lehmann's estimate.
  interval   Exact, 95 % for this benchmark alone.
  verdict    "faster" or "slower" where the two-sided signed-rank test, adjusted by Holm for the
             number of benchmarks, has p <= 0.05 and the interval excludes 1; otherwise none.
  slower beyond the threshold
             If the whole interval is below 1 - threshold, and the one-sided test of "not slower
             than that", adjusted by Holm, has p <= 0.025, the level of that end of the interval.

So however many benchmarks there are, at most one comparison in 20 has a verdict that is noise, and
at most one in 40 ends with status 1 when nothing is slower than the threshold allows. This holds if
the rounds are independent; a neighbour that is active in every second round can spoil that. The
price is more rounds: it takes log2(40 m) rounds to establish one difference among m benchmarks.
"""

import json
import math
import re
import statistics
import subprocess
import sys

import signed_rank
from builds import Trouble, find, machine

LEVEL = signed_rank.LEVEL


def parse_results(text, label):
    """Returns {benchmark: (unit, speed)} from Google Benchmark's JSON."""
    try:
        rows = json.loads(text)["benchmarks"]
    except (ValueError, KeyError, TypeError):
        raise Trouble(f"{label}: what it printed is no JSON of Google Benchmark") from None
    found = {}
    for row in rows:
        if row.get("run_type", "iteration") != "iteration":
            continue
        name = row.get("run_name", row["name"])
        if row.get("error_occurred"):
            raise Trouble(f"{label}: {name}: {row.get('error_message', 'failed')}")
        if "items_per_second" in row:
            unit, speed = "items/s", row["items_per_second"]
        else:
            unit, speed = "1/time", 1 / row["real_time"] if row["real_time"] else math.inf
        if not 0 < speed < math.inf:
            raise Trouble(f"{label}: {name}: took no time that can be measured")
        found.setdefault(name, (unit, []))[1].append(speed)
    return {name: (unit, statistics.median(speeds)) for name, (unit, speeds) in found.items()}


def run_once(build, pattern, arguments):
    command = [str(build.path), "--benchmark_format=json", "--benchmark_repetitions=1"]
    if pattern is not None:
        command.append(f"--benchmark_filter={pattern}")
    try:
        done = subprocess.run([*command, *arguments], capture_output=True, text=True)
    except OSError as error:
        raise Trouble(f"{build.name}: {build.path}: {error.strerror}") from None
    if done.returncode:
        how = f"exit status {done.returncode}"
        if done.returncode < 0:
            how = f"killed by signal {-done.returncode}"
        raise Trouble(f"{build.name}: {build.path} failed ({how})\n{done.stderr.strip()}".strip())
    if not done.stdout.strip():
        raise Trouble(f"{build.name}: no benchmark ran. {done.stderr.strip()}".strip())
    return parse_results(done.stdout, build.name)


def judge(ratios, threshold):
    """Evaluates the rounds. `ratios`: {benchmark: [speed of B / speed of A, one per round]}.

    Returns {benchmark: {ratio, low, high, p, adjusted_p, verdict, regression}}; low and high are
    None after fewer than 6 rounds.
    """
    limit = math.log1p(-threshold)
    logs = {name: [math.log(ratio) for ratio in values] for name, values in ratios.items()}
    differ = [signed_rank.two_sided(values) for values in logs.values()]
    beyond = [signed_rank.one_sided(values, limit)[0] for values in logs.values()]
    adjusted = zip(signed_rank.holm(differ), signed_rank.holm(beyond))
    findings = {}
    for (name, values), p, (p_differ, p_beyond) in zip(logs.items(), differ, adjusted):
        low, high, _ = signed_rank.interval(values) or (None, None, None)
        regression = high is not None and high < limit and p_beyond <= LEVEL / 2
        verdict = "slower" if regression else ""
        if low is not None and p_differ <= LEVEL:
            verdict = "faster" if low > 0 else "slower" if high < 0 else ""
        findings[name] = {
            "ratio": math.exp(signed_rank.estimate(values)),
            "low": None if low is None else math.exp(low),
            "high": None if high is None else math.exp(high),
            "p": p,
            "adjusted_p": p_differ,
            "verdict": verdict,
            "regression": regression,
        }
    return findings


def print_findings(findings, threshold):
    width = max(map(len, findings))
    print(f"{'benchmark':{width}}  {'B / A':>6}  {'95 % interval':>16}  verdict")
    for name, finding in findings.items():
        span = "-"
        if finding["low"] is not None:
            span = f"{finding['low']:.3f} to {finding['high']:.3f}"
        verdict = finding["verdict"]
        if finding["regression"]:
            verdict += f", by more than {threshold:.3g} %"
        print(f"{name:{width}}  {finding['ratio']:6.3f}  {span:>16}  {verdict}".rstrip())


def choose_rounds(wanted, benchmarks):
    """The number of rounds, and a line on what they can show."""
    needed = signed_rank.rounds_needed(benchmarks)
    rounds = wanted or max(8, needed + 2)
    if rounds < 6:
        note = "too few for an interval of 95 % and so for any verdict, which take 6"
    elif rounds < needed:
        note = f"too few for a verdict on one benchmark alone, which takes {needed}"
    else:
        note = f"enough for a verdict on one benchmark alone, which takes {needed}"
    return rounds, f"benchmarks: {benchmarks}, rounds: {rounds}, {note}"


def list_lonely(first, second, builds):
    for own, other, build in ((first, second, builds[0]), (second, first, builds[1])):
        lonely = [name for name in own if name not in other]
        if lonely:
            print(f"only in {build.name}, not compared: {', '.join(lonely)}")


def compare(options):
    """Runs the comparison; returns the exit status."""
    if options.filter is not None:
        try:
            re.compile(options.filter)
        except re.error as error:
            raise Trouble(f"--filter: {error}") from None
    builds = [find(options.a, options.program), find(options.b, options.program)]
    for build in builds:
        build.make(options.program)
    for letter, build in zip("AB", builds):
        print(f"{letter}: {build.text}")
    # The first round also shows which benchmarks there are.
    results = [[run_once(build, options.filter, options.arguments)] for build in builds]
    list_lonely(results[0][0], results[1][0], builds)
    names = [name for name in results[0][0] if name in results[1][0]]
    if not names:
        raise Trouble("the two builds have no benchmark in common")
    for name in names:
        if results[0][0][name][0] != results[1][0][name][0]:
            raise Trouble(f"{name}: only one of the builds counts items")
    rounds, note = choose_rounds(options.rounds, len(names))
    print(note, flush=True)
    for number in range(1, rounds):
        if sys.stderr.isatty():
            print(f"round {number + 1} of {rounds}", file=sys.stderr)
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            results[side].append(run_once(builds[side], options.filter, options.arguments))
    speeds = {}
    for name in names:
        try:
            speeds[name] = [[result[name][1] for result in side] for side in results]
        except KeyError:
            raise Trouble(f"{name} did not run in every round") from None
    ratios = {name: [b / a for a, b in zip(*sides)] for name, sides in speeds.items()}
    findings = judge(ratios, options.threshold / 100)
    print_findings(findings, options.threshold)
    if options.json is not None:
        report = {
            "a": builds[0].text,
            "b": builds[1].text,
            "machine": machine(),
            "rounds": rounds,
            "threshold_percent": options.threshold,
            "method": "paired by round: Wilcoxon signed-rank, Hodges-Lehmann, Holm",
            "benchmarks": [
                {"name": name, **finding, "a_speeds": speeds[name][0], "b_speeds": speeds[name][1]}
                for name, finding in findings.items()
            ],
        }
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    slower = [name for name, finding in findings.items() if finding["regression"]]
    if slower:
        print(f"slower by more than {options.threshold:.3g} %: {len(slower)} of {len(names)}")
        return 1
    return 0
