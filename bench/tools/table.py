"""scripts/bench table: prints other filters and sets beside nestline, as tables in Markdown.

Reads results of nestline_bench with benchmarks reference/NAME/OPERATION/bytes:SIZE. The first table
has space and false positives. The second has a row for each operation of each reference and a column
for each size, with the reference's rate and, in bold, nestline's rate as a multiple of it. Below 1 the
reference is faster. nestline has 8 bits.
"""

import re
import sys

import builds
import results

NAME = re.compile(r"reference/(?P<reference>\w+)/(?P<operation>.+)/bytes:(?P<size>\w+)")


def read(files):
    """Returns {(reference, operation): {size: row}}, in the order of the files."""
    found = {}
    for file in files:
        for row in results.rows_in(file):
            match = NAME.match(row["name"])
            failure = results.failure_of(row)
            if match and failure:
                print(f"{row['name']}: {failure.text(f'in {file}')}", file=sys.stderr)
            if match and "rate" in row and results.aggregate_of(row) in ("", "median"):
                key = match["reference"], match["operation"]
                found.setdefault(key, {})[match["size"]] = row
    if not found:
        raise builds.Trouble("these results have no reference/... benchmarks")
    return found


def line(cells):
    return "| " + " | ".join(cells) + " |"


def header(cells):
    return [line(cells), line(["---"] * len(cells))]


def space(found):
    lines = header(["", "bits a key", "false positives"])
    ours = None
    for (reference, operation), sizes in found.items():
        if operation != "may_contain/batch/hits:0":
            continue
        row = list(sizes.values())[-1]
        bits = f"{row['bits_per_key']:.2f}" if "bits_per_key" in row else "exact set"
        lines.append(line([reference, bits, f"{row['fpr']:.2%}"]))
        if "nestline_bits_per_key" in row:
            ours = line(["nestline", f"{row['nestline_bits_per_key']:.2f}",
                         f"{row['nestline_fpr']:.2%}"])
    return lines + ([ours] if ours else [])


def speed(found):
    sizes = list(dict.fromkeys(size for rows in found.values() for size in rows))
    lines = header(["", *sizes])
    for (reference, operation), rows in found.items():
        cells = [f"{reference}: {operation}"]
        for size in sizes:
            row = rows.get(size)
            cells.append(f"{row['rate'] / 1e6:.3g} M/s, **{row['nestline_of_this']:.2f}**"
                         if row else "")
        lines.append(line(cells))
    return lines


def table(options):
    found = read(options.files)
    print("\n".join([*space(found), "", *speed(found)]))
    return 0
