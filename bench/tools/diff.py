"""scripts/bench diff: compares two results, of a program that has run before, on whatever machine.

Each file has one run of each side. Its repetitions (--benchmark_repetitions) are compared by ranks, unpaired
(rank_sum.py); the columns, the threshold, the status and what is not compared are those of compare.py.

What two files cannot tell is said:

  too few repetitions   Where a benchmark has too few for a verdict among so many benchmarks, its ratio alone
                        decides: "slower, by more than 5 %, unless it is noise" counts for the status too, since
                        a pipeline must not pass what it cannot judge. An interval that reaches the threshold
                        still acquits.
  between runs          Repetitions of one run share its memory, clock and neighbours, so they differ less than
                        two runs do. No interval from them has that; compare.py measures in turn instead.
  machines              A warning names both where the contexts of the files differ in what decides the speed.
"""

import re
import sys
import typing

import compare
import rank_sum
import results
from builds import Trouble

# What speed depends on; the host's name only where nothing else says which machine it was.
FIELDS = ("machine", "cpu", "num_cpus", "target", "page_size", "library_build_type")
BETWEEN_RUNS = ("the intervals are of repetitions in one run; what differs from run to run is not in them "
                "(scripts/bench compare measures in turn)")


class Side(typing.NamedTuple):
    name: str
    text: str
    context: dict
    benchmarks: dict  # {benchmark: [{measure: speed}, one for each repetition], or [Unmeasured]}


def values_of(rows):
    found = results.measurements(rows)
    if isinstance(found, results.Unmeasured):
        return [found]
    return found if not found or results.measures_in(found) else [results.NO_TIME]


def read(file, pattern):
    context, rows = results.read(file)
    benchmarks = {name: values_of(rows) for name, rows in results.groups_of(rows).items()
                  if pattern is None or re.search(pattern, name)}
    benchmarks = {name: values for name, values in benchmarks.items() if values}
    if not benchmarks:
        matching = "" if pattern is None else f" that matches {pattern}"
        raise Trouble(f"{file}: it has no benchmark{matching}")
    what = " ".join(str(context[key]) for key in ("commit", "commit_title") if context.get(key))
    return Side(str(file), f"{file}{what and f', {what}'}", context, benchmarks)


def machine_of(context):
    """A name of the machine for people."""
    cpus = f"{context['num_cpus']} CPUs" if context.get("num_cpus") else ""
    named = context.get("machine") or ", ".join(filter(None, [context.get("cpu"), cpus]))
    return str(named or "unknown machine")


def warnings_on(a, b):
    """What makes the two runs hard to compare."""
    def differ(field):
        return a.get(field) and b.get(field) and a[field] != b[field]

    unnamed = not any(a.get(field) and b.get(field) for field in ("machine", "cpu"))
    fields = [field for field in (*FIELDS, *(["host_name"] if unnamed else [])) if differ(field)]
    return [f"A and B differ in {field}: {a[field]}, and {b[field]}" for field in fields]


def repetitions_text(all_sides, names):
    """How many repetitions there are, and what they can show."""
    def span(side):
        counts = [len(all_sides[name][side]) for name in names]
        return f"{min(counts)}" + (f" to {max(counts)}" if min(counts) < max(counts) else "")

    needed = rank_sum.needed(len(names))
    few = [name for name in names if not decides(all_sides[name], len(names))]
    note = f"enough for a verdict on one benchmark alone, as {needed} of each are"
    if few:
        some = "" if len(few) == len(names) else f" for {len(few)} of them"
        note = (f"too few{some} for a verdict on one benchmark alone, which takes {needed} of each: "
                "ratios count as they are, and may be noise")
    return f"benchmarks: {len(names)}, repetitions: {span(0)} in A, {span(1)} in B, {note}"


def decides(sides, tests):
    return rank_sum.can_decide([rank_sum.thinned(side) for side in sides], tests)


def let_ratios_count(found):
    """Where there are too few repetitions for a verdict, the ratio alone decides."""
    limit = 1 - found["threshold_percent"] / 100
    for one in found["benchmarks"]:
        one["unsure"] = not decides((one["a_speeds"], one["b_speeds"]), len(found["benchmarks"]))
        if one["unsure"] and max(one["ratio"], one["high"] or 0) < limit:
            one.update(verdict="slower", regression=True)


def diff(options):
    """Compares the files; returns the exit status."""
    compare.check(options)
    sides = [read(file, options.filter) for file in (options.a, options.b)]
    warnings = warnings_on(*(side.context for side in sides))
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)

    def work():
        for letter, side in zip("AB", sides):
            print(f"{letter}: {side.text}")
        names = dict.fromkeys(name for side in sides for name in side.benchmarks)
        all_sides = {name: [side.benchmarks.get(name, []) for side in sides] for name in names}
        common = compare.comparable(all_sides, [side.name for side in sides], "files")
        print(repetitions_text(all_sides, common), flush=True)
        machines = [machine_of(side.context) for side in sides]
        about = {"a": sides[0].text, "b": sides[1].text, "machine_a": machines[0], "machine_b": machines[1],
                 "warnings": warnings}
        found = compare.evaluate(all_sides, options.threshold, about, rank_sum, "files")
        found["notes"] = [BETWEEN_RUNS] if any(one["high"] for one in found["benchmarks"]) else []
        let_ratios_count(found)
        return found

    return compare.reported(options, sides, work)
