"""What scripts/bench compare and diff report: on the terminal, as JSON, and in Markdown for a pull request.

All of them are made of what compare.evaluate returned, to which diff adds `unsure`, `warnings` and `notes`. In Markdown names and messages are code: they
come from programs, and must not become markup, links or mentions.
"""

import json
import re
import sys

from builds import Trouble


def slower_beyond(found):
    return [one for one in found["benchmarks"] if one["regression"]]


def lost(found):
    return [one for one in found["not_compared"] if one["lost"]]


def status(found):
    return 1 if slower_beyond(found) else 2 if lost(found) or not found["benchmarks"] else 0


def span_of(finding):
    if finding["low"] is None:
        return "-"
    return f"{finding['low']:.3f} to {finding['high']:.3f}"


def verdict_of(finding, found):
    beyond = f", by more than {found['threshold_percent']:.3g} %" if finding["regression"] else ""
    return finding["verdict"] + beyond + (", unless it is noise" if beyond and is_unsure(finding) else "")


def is_unsure(finding):
    return finding.get("unsure", False)


def summary(found):
    """One line for each thing that decides the status; the first is the verdict."""
    count = len(found["benchmarks"])
    lines = [f"slower by more than {found['threshold_percent']:.3g} %: "
             f"{len(slower_beyond(found))} of {count}"]
    unsure = sum(map(is_unsure, slower_beyond(found)))
    if unsure:
        lines.append(f"of these by the ratio alone, since there are too few repetitions to know the noise: {unsure}")
    if lost(found):
        lines.append(f"lost, since they ran in A and not in B: {len(lost(found))}")
    return lines


def print_findings(found):
    findings = found["benchmarks"]
    width = max((len(one["name"]) for one in findings), default=9)
    print(f"{'benchmark':{width}}  {'B / A':>6}  {'95 % interval':>16}  verdict")
    for one in findings:
        verdict = verdict_of(one, found)
        print(f"{one['name']:{width}}  {one['ratio']:6.3f}  {span_of(one):>16}  {verdict}".rstrip())
    for one in findings:
        if one["note"]:
            print(f"{one['name']}: {one['note']}")
    for one in found["not_compared"]:
        if not one["reason"].startswith("only in "):  # those were named before the rounds
            print(f"not compared: {one['name']}: {one['reason']}")
    for note in found.get("notes", []):
        print(f"note: {note}")
    if status(found):
        print("\n".join(summary(found)))


def origin(found):
    """Where the figures come from, in Markdown."""
    if "rounds" in found:
        return f"{found['rounds']} rounds on {code(found['machine'])}"
    machines = list(dict.fromkeys((found["machine_a"], found["machine_b"])))
    return f"One run each, on {' and '.join(map(code, machines))}"


def code(text):
    """A text as code, of one line."""
    text = " ".join(str(text).split())
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    blank = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{blank}{text}{blank}{fence}"


def sides_text(a, b):
    return f"A: {code(a)}  \nB: {code(b)}\n"


def markdown_text(found):
    """The changed ones first: slower beyond the threshold, slower, faster; then the others."""
    def order(one):
        return not one["regression"], ["slower", "faster", ""].index(one["verdict"]), one["ratio"]

    rows = ["| benchmark | B / A | 95 % interval | verdict |", "| --- | ---: | ---: | --- |"]
    for one in sorted(found["benchmarks"], key=order):
        verdict = verdict_of(one, found)
        name = code(one["name"]).replace("|", "\\|")
        rows.append(f"| {name} | {one['ratio']:.3f} | {span_of(one)} | "
                    f"{f'**{verdict}**' if one['regression'] else verdict} |")
    notes = [f"- {code(one['name'])}: {one['note']}" for one in found["benchmarks"] if one["note"]]
    notes += [f"- {code(one['name'])} was not compared: {code(one['reason'])}"
              for one in found["not_compared"]]
    notes += [f"- {code(text)}" for key in ("warnings", "notes") for text in found.get(key, [])]
    verdict = {0: "nothing", 1: "something", 2: "something could not be compared, nothing"}
    parts = [
        f"### Benchmarks: {verdict[status(found)]} is slower by more than "
        f"{found['threshold_percent']:.3g} %\n",
        "".join(f"- {line}\n" for line in summary(found)),
        sides_text(found["a"], found["b"]),
        "\n".join(rows) + "\n",
        "\n".join(notes) + "\n" if notes else None,
        f"{origin(found)}. B / A is the ratio of the speeds: "
        "1.1 is 10 % faster.",
    ]
    return "\n".join(part for part in parts if part is not None) + "\n"


def trouble_text(trouble, builds):
    lines = [f"- {code(line)}\n" for line in str(trouble).splitlines() if line.strip()]
    sides = sides_text(*(build.text for build in builds))
    return f"### Benchmarks: nothing was compared\n\n{''.join(lines)}\n{sides}"


def write(path, text):
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Trouble(f"{path}: {error.strerror}") from None


def write_markdown(path, text):
    if path is not None and str(path) == "-":
        sys.stdout.write(text)
    elif path is not None:
        write(path, text)


def write_json(path, found):
    if path is not None:
        write(path, json.dumps(found, indent=1) + "\n")
