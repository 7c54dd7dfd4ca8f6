"""Reads Google Benchmark's JSON, for every command that does.

A benchmark of one run is what its repetitions say: {measure: speed}, the medians. Where a file has
aggregates only, it is their median, else their mean. Measures, the best first:

  items_per_second   of a benchmark that counts items
  cpu_time           as 1 / seconds; real_time comes before it where the name has /real_time or
  real_time          /manual_time, which is how a benchmark asks for that clock

A measure that is missing in a repetition, or no positive number, is missing. Times without a unit
are nanoseconds, as Google Benchmark's own default. Two benchmarks of one name are told apart by their
family_index: the second is "NAME #2".
"""

import json
import math
import re
import statistics
import typing

from builds import Trouble

SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
AGGREGATE = re.compile(r"_(mean|median|stddev|cv|BigO|RMS)$")
# What old versions write and JSON has not; texts are matched so that they stay as they are.
NO_NUMBERS = re.compile(r'"(?:[^"\\]|\\.)*"|-?\b(?:nan|inf)\b', re.IGNORECASE)


def parsed(text):
    """(context, rows) of a result; each row has a name. Throws ValueError."""
    text = text.removeprefix("\ufeff")
    try:
        try:
            result = json.loads(text)
        except ValueError:
            result = json.loads(NO_NUMBERS.sub(lambda at: at[0] if at[0][0] == '"' else "null", text))
        rows = [row for row in result["benchmarks"] if isinstance(name_of(row), str)]
        context = result.get("context")
        return context if isinstance(context, dict) else {}, rows
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError("no JSON of Google Benchmark") from None


def read(file):
    """(context, rows) of a file. Throws Trouble."""
    try:
        return parsed(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise Trouble(f"{file}: {error.strerror}") from None
    except ValueError as error:
        raise Trouble(f"{file} is no result of benchmarks: {error}") from None


def rows_in(file):
    """The rows of a file. Throws Trouble."""
    return read(file)[1]


def name_of(row):
    return row["run_name"] if "run_name" in row else AGGREGATE.sub("", row["name"])


def aggregate_of(row):
    """"median" and the like; "" for a repetition."""
    if row.get("run_type") == "iteration":
        return ""
    found = AGGREGATE.search(str(row.get("name")))
    other = "aggregate" if "run_type" in row else ""
    return str(row.get("aggregate_name") or (found[1] if found else other))


class Unmeasured(typing.NamedTuple):
    """Why a benchmark has no measure: it "failed" or "skipped", or was "measured" and has none."""

    how: str
    message: str = ""

    def text(self, where):
        return f"{self.message} ({self.how} {where})" if self.message else f"{self.how} {where}"


NO_TIME = Unmeasured("measured", "took no time that can be measured")


def failure_of(row):
    """Why the benchmark did not run to its end; None if it did."""
    for sign, message, how in (("error_occurred", "error_message", "failed"),
                               ("skipped", "skip_message", "skipped")):
        if row.get(sign):
            text = row.get(message) or (row[sign] if isinstance(row[sign], str) else "")
            return Unmeasured(how, " ".join(str(text).split()))
    return None


def is_positive(value):
    return isinstance(value, (int, float)) and 0 < value < math.inf


def speeds_of(row):
    """{measure: speed} of one row."""
    found = {"items_per_second": row.get("items_per_second")}
    clocks = ["cpu_time", "real_time"]
    if {"real_time", "manual_time"} & set(name_of(row).split("/")):
        clocks.reverse()
    unit = SECONDS.get(str(row.get("time_unit") or "ns"))
    for clock in clocks:
        if unit and is_positive(row.get(clock)):
            found[clock] = 1 / (row[clock] * unit)
    return {measure: speed for measure, speed in found.items() if is_positive(speed)}


def measurements(rows):
    """[{measure: speed}] of a benchmark's rows, one for each repetition, or Unmeasured; None for fits (BigO)
    alone."""
    for row in rows:
        if failure_of(row):
            return failure_of(row)
    kinds = {}
    for row in rows:
        kinds.setdefault(aggregate_of(row), []).append(speeds_of(row))
    return kinds.get("") or kinds.get("median") or kinds.get("mean")


def measured(rows):
    """{measure: speed} of a benchmark's rows, or Unmeasured; None for fits (BigO) alone."""
    speeds = measurements(rows)
    if not isinstance(speeds, list):
        return speeds
    common = measures_in(speeds)
    if not common:
        return NO_TIME
    return {measure: statistics.median(one[measure] for one in speeds) for measure in common}


def measures_in(speeds):
    """The measures that all have, the best first."""
    return [measure for measure in speeds[0] if all(measure in other for other in speeds)]


def groups_of(rows):
    """{benchmark: its rows}."""
    families, groups = {}, {}
    for row in rows:
        name = name_of(row)
        twins = families.setdefault(name, [])
        family = [row.get("family_index"), row.get("per_family_instance_index")]
        if family not in twins:
            twins.append(family)
        place = twins.index(family) + 1
        groups.setdefault(name if place == 1 else f"{name} #{place}", []).append(row)
    return groups


def benchmarks_of(text, label):
    """{benchmark: {measure: speed}, or Unmeasured}. Throws Trouble."""
    try:
        _, rows = parsed(text)
    except ValueError as error:
        raise Trouble(f"{label}: what it printed is {error}") from None
    found = {name: measured(rows) for name, rows in groups_of(rows).items()}
    return {name: value for name, value in found.items() if value is not None}
