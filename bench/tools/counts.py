"""scripts/bench count: compares instruction counts of counted_workloads, and bytes of text, with the recorded ones.

callgrind collects only inside the function nestline_workload of bench/filters/filter/counted_workloads.cc. It
writes a part of its profile each time that function returns; the "totals" of part i are the
instructions of workload i. They are the same in every run and on every x86-64 machine with AVX2,
because valgrind shows the program its own processor. They differ with the compiler and the libraries.
So the record, bench/filters/filter/instruction_counts.json, says what it was made with. Where that differs,
nothing is checked: status 77. A lower count fails as a higher one does, since a stale record would
hide the next rise. After an intended change, record again, in the commit that made it.

valgrind does not support AVX-512, so the targets are AVX2 and the one-lane fallback, which Highway
1.0.3 calls SCALAR. Instructions are not time; scripts/bench compare measures that.

The text, as size tells it, is that of the libraries and of a program with one filter, all in the build that has the
program: what somebody links. It is recorded and compared with the counts.
"""

import json
import os
import pathlib
import subprocess
import tempfile

from builds import ROOT, Trouble, build, call

TARGETS = ("AVX2", "SCALAR")
TOLERANCE = 0.01
TEXT_TOLERANCE = 0.02
WEIGHED = ("lib/libnestline-filter.a", "lib/libnestline.a", "bench/first_filter")
FUNCTION = "nestline_workload"
RECORD = ROOT / "bench" / "filters" / "filter" / "instruction_counts.json"
SKIPPED = 77  # CTest and Automake take this status for "skipped"
NO_SUCH_TARGET = 3  # exit status of the program


class Skip(Exception):
    """Says why nothing can be compared on this machine."""


def valgrind(*command):
    """Runs a command under valgrind. The caller's environment cannot influence a count."""
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "LD_BIND_NOW": "1"}
    try:
        return subprocess.run(
            ["valgrind", *map(str, command)], env=environment, capture_output=True, text=True
        )
    except FileNotFoundError:
        raise Trouble("valgrind is not installed: scripts/install-dependencies count") from None


def toolchain(program):
    """What the counts depend on besides our sources: {name: version}."""
    done = valgrind("-q", "--tool=none", program, "--toolchain")
    if done.returncode:
        raise Trouble(f"{program} --toolchain failed\n{done.stderr}")
    versions = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    versions["valgrind"] = valgrind("--version").stdout.strip().removeprefix("valgrind-")
    return versions


def total_of(part):
    for line in part.read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("totals:"):
            return int(line.split()[1])
    raise Trouble(f"{part.name} of callgrind has no totals")


def count_target(program, target):
    """{workload: instructions per key}"""
    with tempfile.TemporaryDirectory(prefix="nestline_count.") as folder:
        out = pathlib.Path(folder, "part")
        done = valgrind(
            "--tool=callgrind",
            "--collect-atstart=no",
            f"--toggle-collect={FUNCTION}",
            f"--dump-after={FUNCTION}",
            f"--callgrind-out-file={out}",
            program,
            "--target",
            target,
        )
        if done.returncode == NO_SUCH_TARGET:
            raise Skip(f"this build has no target {target}, or this processor lacks it")
        if done.returncode:
            raise Trouble(f"{program} --target {target} failed under callgrind\n{done.stderr}")
        names = [line.split() for line in done.stdout.splitlines()]
        parts = [out.with_name(f"part.{number}") for number in range(1, len(names) + 1)]
        if not names or not all(part.is_file() for part in parts):
            raise Trouble(f"callgrind did not see {FUNCTION} return {len(names)} times")
        return {
            name: round(total_of(part) / int(keys), 3) for (name, keys), part in zip(names, parts)
        }


def text_bytes(program):
    """{file: bytes of text} of what the program's build folder has of WEIGHED."""
    top = program.parent.parent
    files = [name for name in WEIGHED if (top / name).is_file()]
    printed = {name: call("size", "--totals", top / name).splitlines()[-1] for name in files}
    return {name: int(line.split()[0]) for name, line in printed.items()}


def judge(recorded, now, tolerance=TOLERANCE):
    """[(workload, recorded, now, change or None, remark)]; no remark where all is well."""
    lines = []
    for name in [*now, *(name for name in recorded if name not in now)]:
        old, new = recorded.get(name), now.get(name)
        change, remark = None, ""
        if old is None:
            remark = "not recorded"
        elif new is None:
            remark = "recorded, but gone"
        else:
            change = new / old - 1
            if change > tolerance:
                remark = "ROSE"
            elif change < -tolerance:
                remark = "fell: re-record"
        lines.append((name, old, new, change, remark))
    return lines


def print_table(findings):
    """findings: {target: what judge returns}"""
    width = max(len(line[0]) for lines in findings.values() for line in lines)
    print(f"{'instructions per key':{width}}  {'target':6}  {'recorded':>10}  {'now':>10}  change")
    for target, lines in findings.items():
        for name, old, new, change, remark in lines:
            old, new = ("-" if value is None else f"{value:.3f}" for value in (old, new))
            percent = "" if change is None else f"{change:+.2%}"
            line = f"{name:{width}}  {target:6}  {old:>10}  {new:>10}  {percent:7} {remark}"
            print(line.rstrip())


def load(path):
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return record["toolchain"], record["instructions_per_key"], record["text_bytes"]
    except FileNotFoundError:
        raise Trouble(f"{path} is missing; make it with scripts/bench count --record") from None
    except (ValueError, KeyError, TypeError):
        raise Trouble(f"{path} is no record of counts") from None


def save(path, program):
    record = {
        "toolchain": toolchain(program),
        "instructions_per_key": {name: count_target(program, name) for name in TARGETS},
        "text_bytes": text_bytes(program),
    }
    path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def check(program, path):
    wanted, recorded, weights = load(path)
    versions = toolchain(program)
    for name in {**wanted, **versions}:
        old, new = wanted.get(name, "unknown"), versions.get(name, "unknown")
        if old != new:
            raise Skip(f"the counts were recorded with {name} {old}, here is {new}")
    findings = {
        target: judge(recorded.get(target, {}), count_target(program, target))
        for target in TARGETS
    }
    print_table(findings)
    heavy = judge(weights, text_bytes(program), TEXT_TOLERANCE)
    for name, old, new, change, remark in heavy:
        percent = "" if change is None else f"{change:+.2%}"
        print(f"bytes of text of {name}: {old} recorded, {new} now  {percent} {remark}".rstrip())
    remarks = [line[4] for lines in findings.values() for line in lines]
    bad = sum(map(bool, remarks))
    print(f"count: {len(remarks)} counts, {bad} differ by more than {TOLERANCE:.0%}")
    too_heavy = sum(bool(line[4]) for line in heavy)
    print(f"count: {len(heavy)} texts, {too_heavy} differ by more than {TEXT_TOLERANCE:.0%}")
    if bad or too_heavy:
        print("If this is intended, run scripts/bench count --record, and commit the new counts with")
        print("the change that caused them, and the reason.")
    return 1 if bad or too_heavy else 0


def count(options):
    """Checks or records; returns the exit status."""
    program = (options.program or build("counted_workloads", "first_filter", "nestline")).resolve()
    path = options.file or RECORD
    try:
        if not options.record:
            return check(program, path)
        save(path, program)
        print(f"recorded in {path}")
        return 0
    except Skip as reason:
        print(f"count: skipped: {reason}")
        return 2 if options.record else SKIPPED
