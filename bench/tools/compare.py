"""scripts/bench compare: runs two builds in turn and compares them by ranks (signed_rank.py). diff.py compares
results that are there already, with the functions from here.

A round runs both programs once, A first in the even rounds and B first in the odd ones. So a machine
that slows down, or a neighbour that comes and goes, affects both. Each round gives one ratio of
speeds for each benchmark. The logarithms of the ratios are the paired differences.

  ratio      Speed of B divided by that of A, by the best measure (results.py) that both have in all
             rounds. 1.10 is 10 % faster. Hodges and Lehmann's estimate.
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

What cannot be compared is named with its reason, and the rest is compared: a benchmark that one build
lacks, that skips, fails, or takes no time. One that ran in A and fails in B is lost: status 2, unless
another one is slower.
"""

import contextlib
import math
import re
import subprocess
import sys

import report
import signed_rank
from builds import Trouble, find, machine
from results import Unmeasured, benchmarks_of, measures_in

LEVEL = signed_rank.LEVEL


def run_once(build, pattern, arguments):
    command = [str(build.path), "--benchmark_format=json", "--benchmark_repetitions=1"]
    if pattern is not None:
        command.append(f"--benchmark_filter={pattern}")
    try:
        done = subprocess.run([*command, *arguments], capture_output=True, encoding="utf-8",
                              errors="replace")
    except OSError as error:
        raise Trouble(f"{build.name}: {build.path}: {error.strerror}") from None
    if done.returncode:
        how = f"exit status {done.returncode}"
        if done.returncode < 0:
            how = f"killed by signal {-done.returncode}"
        raise Trouble(f"{build.name}: {build.path} failed ({how})\n{done.stderr.strip()}".strip())
    if not done.stdout.strip():
        raise Trouble(f"{build.name}: no benchmark ran. {done.stderr.strip()}".strip())
    return benchmarks_of(done.stdout, build.name)


def judge(samples, threshold, ranks=signed_rank):
    """Evaluates {benchmark: sample}, which `ranks`, signed_rank or rank_sum, has made.

    Returns {benchmark: {ratio, low, high, p, adjusted_p, verdict, regression}}; low and high are
    None where a sample is too small for an interval.
    """
    limit = math.log1p(-threshold)
    differ = [ranks.two_sided(sample) for sample in samples.values()]
    beyond = [ranks.one_sided(sample, limit)[0] for sample in samples.values()]
    adjusted = zip(signed_rank.holm(differ), signed_rank.holm(beyond))
    findings = {}
    for (name, sample), p, (p_differ, p_beyond) in zip(samples.items(), differ, adjusted):
        low, high, _ = ranks.interval(sample) or (None, None, None)
        regression = high is not None and high < limit and p_beyond <= LEVEL / 2
        verdict = "slower" if regression else ""
        if low is not None and p_differ <= LEVEL:
            verdict = "faster" if low > 0 else "slower" if high < 0 else ""
        findings[name] = {
            "ratio": math.exp(ranks.estimate(sample)),
            "low": None if low is None else math.exp(low),
            "high": None if high is None else math.exp(high),
            "p": p,
            "adjusted_p": p_differ,
            "verdict": verdict,
            "regression": regression,
        }
    return findings


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


def sides_of(runs):
    """{benchmark: (values of A, values of B)}, one for each round. `runs`: for A and for B, what run_once
    returned in each round."""
    names = dict.fromkeys(name for side in runs for run in side for name in run)
    return {name: [[run.get(name) for run in side] for side in runs] for name in names}


def reason_against(sides, what="builds"):
    """Why a benchmark cannot be compared, and whether it is lost: it failed in B alone. None if it can."""
    having = [letter for letter, values in zip("AB", sides) if any(values)]
    if len(having) == 1:
        return f"only in {having[0]}", False
    bad = {letter: [value for value in values if not isinstance(value, dict)]
           for letter, values in zip("AB", sides)}
    letters = [letter for letter in "AB" if bad[letter]]
    if letters:
        value = bad[letters[-1]][0] or Unmeasured("did not run in every round")
        lost = letters == ["B"] and value.how not in ("skipped", "measured")
        return value.text(f"in {' and '.join(letters)}"), lost
    return None if measure_of(sides) else (f"the {what} have no measure in common", False)


def measure_of(sides):
    """The best measure that is in all rounds of both; None if there is none."""
    return next(iter(measures_in([*sides[0], *sides[1]])), None)


def note_on(measure, sides):
    """Says when a benchmark is not compared by the measure that one of the sides has first."""
    better = {next(iter(side[0])) for side in sides} - {measure}
    return f"compared by {measure}: not both have {', '.join(sorted(better))}" if better else ""


def comparable(all_sides, names, what="builds"):
    """The benchmarks that can be compared; names those that only one side has. `names`: of A and of B."""
    reasons = {name: reason_against(sides, what) for name, sides in all_sides.items()}
    for letter, label in zip("AB", names):
        lonely = [name for name, reason in reasons.items() if reason == (f"only in {letter}", False)]
        if lonely:
            print(f"only in {label}, not compared: {', '.join(lonely)}")
    found = [name for name, reason in reasons.items() if reason is None]
    if not found:
        sentences = "".join(f"\n{name}: {reason[0]}" for name, reason in reasons.items())
        raise Trouble(f"the two {what} have no benchmark in common that can be compared{sentences}")
    return found


def measure_all(builds, options):
    """Runs all rounds: for A and for B a list of what run_once returned."""
    # The first round also shows which benchmarks there are.
    runs = [[run_once(build, options.filter, options.arguments)] for build in builds]
    names = comparable(sides_of(runs), [build.name for build in builds])
    rounds, note = choose_rounds(options.rounds, len(names))
    print(note, flush=True)
    for number in range(1, rounds):
        if sys.stderr.isatty():
            print(f"round {number + 1} of {rounds}", file=sys.stderr)
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            runs[side].append(run_once(builds[side], options.filter, options.arguments))
    return runs


def evaluate(all_sides, threshold, about, ranks=signed_rank, what="builds"):
    """Everything that a report says (report.py): `about`, and what is found in {benchmark: its sides}."""
    left_out, benchmarks = [], {}
    for name, sides in all_sides.items():
        reason = reason_against(sides, what)
        if reason is not None:
            left_out.append({"name": name, "reason": reason[0], "lost": reason[1]})
            continue
        measure = measure_of(sides)
        speeds = [[one[measure] for one in side] for side in sides]
        benchmarks[name] = {"measure": measure, "note": note_on(measure, sides), "speeds": speeds}
    samples = {name: ranks.sample(*one["speeds"]) for name, one in benchmarks.items()}
    findings = judge(samples, threshold / 100, ranks)
    return {
        **about,
        "threshold_percent": threshold,
        "method": ranks.NAME,
        "benchmarks": [
            {"name": name, "measure": one["measure"], "note": one["note"], **findings[name],
             "a_speeds": one["speeds"][0], "b_speeds": one["speeds"][1]}
            for name, one in benchmarks.items()
        ],
        "not_compared": left_out,
    }


def check(options):
    """Throws Trouble for options that would fail at the end."""
    if options.filter is not None:
        try:
            re.compile(options.filter)
        except re.error as error:
            raise Trouble(f"--filter: {error}") from None
    for path in (options.json, options.markdown):
        if path is not None and (path.is_dir() or not path.parent.is_dir()):
            raise Trouble(f"{path} cannot be written: it is a folder, or in none")


def reported(options, sides, work):
    """Reports what `work` finds of two sides, each with a text; returns the exit status."""
    # What Markdown there is on the standard output is alone there.
    alone = options.markdown is not None and str(options.markdown) == "-"
    try:
        with contextlib.redirect_stdout(sys.stderr if alone else sys.stdout):
            found = work()
            report.print_findings(found)
    except Trouble as trouble:
        report.write_markdown(options.markdown, report.trouble_text(trouble, sides))
        raise
    report.write_markdown(options.markdown, report.markdown_text(found))
    report.write_json(options.json, found)
    return report.status(found)


def compare(options):
    """Runs the comparison; returns the exit status."""
    check(options)
    builds = [find(options.a, options.program), find(options.b, options.program)]

    def work():
        for build in builds:
            build.make(options.program)
        for letter, build in zip("AB", builds):
            print(f"{letter}: {build.text}")
        runs = measure_all(builds, options)
        about = {"a": builds[0].text, "b": builds[1].text, "machine": machine(), "rounds": len(runs[0])}
        return evaluate(sides_of(runs), options.threshold, about)

    return reported(options, builds, work)
