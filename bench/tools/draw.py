"""scripts/bench draw: draws the pictures of README.md and docs/PERFORMANCE.md from bench/rates.json and
bench/memory.json.

With --measure it measures first and replaces these files, or the one that is named. Memory takes two
minutes on any machine: its results are counts. Rates take some ten minutes on a machine with nothing
else running. Other programs change the speed of a machine from minute to minute, so rates of
different minutes are not compared. Each rate is drawn as its ratio to the rate that was measured in
turn with it, the median of the repetitions, times the highest rate of that one: nestline of 8 bits in
by-size, the filter at 95 % in by-load. The ceiling is the highest that was measured. Each repetition is
a process of its own: where its memory lies, and in pages of which size, changes a rate by a third and
more, and stays the same while the process runs.

The pictures are SVG without a background, in colours that stand out on white and on black and that
people with any kind of colour vision can tell apart. Text stays text. The same results and the same
version of matplotlib give the same bytes.
"""

import json
import re
import statistics
import tempfile

import builds
import history
from results import rows_in

RESULTS = {name: builds.ROOT / "bench" / f"{name}.json" for name in ("rates", "memory")}
PICTURES = builds.ROOT / "docs" / "pictures"
SIZES = ("256KiB", "1MiB", "4MiB", "16MiB", "64MiB", "256MiB")
FILTERS = {
    "rates":
    r"^(reference/(blocked_bloom|textbook_cuckoo|nestline_12_bits)/may_contain/batch/hits:0/"
    r"|(insert/batch|may_contain/of_full_load)/load:[0-9]+/bits:8/bytes:256KiB"
    r"|read/threads:[0-9]+/hits:0/bits:8/bytes:(256KiB|256MiB)"
    r"|insert/threads:[0-9]+/bits:8/bytes:16MiB)",
    "memory": "^space/",
}
REPETITIONS = {"rates": 5, "memory": 1}
KEPT = ("run_type", "of_ceiling", "rate", "other_rate", "nestline_of_ceiling", "of_full_load",
        "of_one_thread", "ceiling_of_one_thread", "fpr", "bits_per_key", "bits_set")

GREY = "#7a7a7a"  # as far from white as from black
NESTLINE, BLOCKED, TEXTBOOK, BLOOM = "#d55e00", "#3d86c6", "#009e73", "#c46a9b"
WIDER = "#8f6fd8"  # nestline of more bits beside nestline
STYLE = {
    "svg.fonttype": "none", "svg.hashsalt": "nestline", "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "sans-serif"], "font.size": 11,  # comes with matplotlib
    "axes.titlesize": 12, "axes.titlelocation": "left", "axes.edgecolor": GREY,
    "axes.labelcolor": GREY, "axes.titlecolor": GREY, "xtick.color": GREY, "ytick.color": GREY,
    "text.color": GREY, "axes.grid": True, "axes.grid.axis": "y", "grid.color": GREY,
    "grid.alpha": 0.3, "axes.spines.top": False, "axes.spines.right": False,
    "lines.markersize": 4, "savefig.transparent": True,
}


class Results:
    """The repetitions of each benchmark, under its name without what Google Benchmark adds."""

    def __init__(self, *files):
        self.file = " with ".join(map(str, files))
        self.rows = {}
        for row in (row for file in files for row in rows_in(file)):
            self.rows.setdefault(plain(row["name"]), []).append(row)

    def values(self, pattern, value):
        """`value` of each repetition of the benchmarks whose whole names match."""
        rows = [row for name in self.rows if re.fullmatch(pattern, name) for row in self.rows[name]]
        if not rows:
            raise builds.Trouble(f"{self.file} has no {pattern}; --measure measures it")
        try:
            return [value(row) for row in rows]
        except KeyError as field:
            raise builds.Trouble(f"{self.file} has no {field} of {pattern}") from None

    def median(self, pattern, field):
        return statistics.median(self.values(pattern, lambda row: row[field]))

    def highest(self, pattern, field):
        return max(self.values(pattern, lambda row: row[field]))


def plain(name):
    return re.sub(r"/(iterations|repeats|min_time):[^/]*|/manual_time", "", name)


def doubling(axis, ticks):
    """Makes an axis logarithmic, with just these ticks."""
    (axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale)("log")
    axis.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.set_ticks([], minor=True)


def draw_lines(axes, curves):
    """Draws curves (name, places, values, colour, style), each with its name behind its end.

    Where ends are close together, names move up until none covers another.
    """
    for _, places, values, colour, style in curves:
        axes.plot(places, values, style, color=colour, linewidth=2.5 if style == "-" else 1.5,
                  marker="o")
    axes.margins(x=0.02)
    low, high = (axes.transScale.transform((1, y))[1] for y in axes.get_ylim())
    least = -1.0
    for name, _, values, colour, _ in sorted(curves, key=lambda curve: curve[2][-1]):
        height = (axes.transScale.transform((1, values[-1]))[1] - low) / (high - low)
        least = max(height, least + 0.06)
        axes.annotate(name, (1, least), xycoords="axes fraction", xytext=(8, 0),
                      textcoords="offset points", verticalalignment="center", color=colour)


def by_size(results, axes):
    reference = "reference/{}/may_contain/batch/hits:0/bytes:{}".format
    places = range(len(SIZES))

    def highest(rate):
        return [max(results.values(reference(".*", size), rate)) / 1e6 for size in SIZES]

    ceilings = highest(lambda row: row["rate"] / row["of_ceiling"])
    ours = highest(lambda row: row["rate"] / row["of_ceiling"] * row["nestline_of_ceiling"])

    def beside(name):
        ratios = (results.values(reference(name, size),
                                 lambda row: row["of_ceiling"] / row["nestline_of_ceiling"])
                  for size in SIZES)
        return [rate * statistics.median(each) for rate, each in zip(ours, ratios)]

    doubling(axes.yaxis, [25, 50, 100, 200, 400, 800])
    draw_lines(axes, [
        ("ceiling: only reads", places, ceilings, GREY, "--"),
        ("nestline, 8 bits", places, ours, NESTLINE, "-"),
        ("nestline, 12 bits", places, beside("nestline_12_bits"), WIDER, ":"),
        ("blocked Bloom", places, beside("blocked_bloom"), BLOCKED, "-"),
        ("textbook cuckoo", places, beside("textbook_cuckoo"), TEXTBOOK, "-"),
    ])
    axes.set_xticks(places, [re.sub(r"(\d)([KM])", r"\1 \2", size) for size in SIZES])
    axes.set_xlabel("memory of the filter")
    axes.set_title("Million lookups a second: absent keys, batches, one thread")


def by_load(results, axes):
    loads = (50, 60, 70, 80, 90)

    def rates(operation):
        name = f"{operation}/load:{{}}/bits:8/bytes:256KiB".format
        full = results.highest(name(".*"), "other_rate") / 1e6
        return [full * results.median(name(load), "of_full_load") for load in loads] + [full]

    places = (*loads, 95)
    doubling(axes.yaxis, [12.5, 25, 50, 100, 200, 400])
    draw_lines(axes, [
        ("lookups,\nabsent keys", places, rates("may_contain/of_full_load"), NESTLINE, "-"),
        ("inserts, from empty\nto this load", places, rates("insert/batch"), TEXTBOOK, "-"),
    ])
    axes.set_xticks(places, [f"{load} %" for load in places])
    axes.set_xlabel("load")
    axes.set_title("Million keys a second: batches, 8 bits, 256 KiB, one thread")


def by_threads(results, axes):
    reads = "read/threads:{}/hits:0/bits:8/bytes:{}".format
    inserts = "insert/threads:{}/bits:8/bytes:{}".format
    most = max(int(found[1]) for name in results.rows
               if (found := re.match("read/threads:([0-9]+)/", name)))
    places = range(1, most + 1)

    def multiples(name, size, field="of_one_thread"):
        return [1.0] + [results.median(name(threads, size), field) for threads in places[1:]]

    curves = [
        ("ceiling, 256 MiB", multiples(reads, "256MiB", "ceiling_of_one_thread"), GREY, "--"),
        ("lookups, 256 MiB", multiples(reads, "256MiB"), NESTLINE, "-"),
        ("lookups, 256 KiB", multiples(reads, "256KiB"), BLOCKED, "-"),
        ("inserts, 16 MiB", multiples(inserts, "16MiB"), TEXTBOOK, "-"),
    ]
    axes.set_ylim(0, 1.1 * max(max(values) for _, values, *_ in curves))
    draw_lines(axes, [(name, places, *rest) for name, *rest in curves])
    axes.set_xticks(places)
    axes.set_xlabel("threads, each on its own core")
    axes.set_title("Rate as a multiple of one thread's: ConcurrentFilter, 8 bits")


def by_memory(results, axes):
    def points(pattern):
        """Bits a key and percents of the benchmarks whose names match, by bits a key."""
        names = [name for name in results.rows if re.fullmatch(f"space/{pattern}", name)]
        return zip(*sorted((results.median(name, "bits_per_key"), 100 * results.median(name, "fpr"))
                           for name in map(re.escape, names)))

    doubling(axes.xaxis, [8, 10, 12, 16, 20, 24, 32])
    axes.set_yscale("log")
    axes.set_ylim(0.0025, 5)
    axes.set_yticks([0.01, 0.1, 1], ["0.01 %", "0.1 %", "1 %"])
    axes.set_yticks([], minor=True)
    behind, before = (8, 4), (-48, -4)
    for name, pattern, colour, style, shift in (
            ("blocked Bloom, 32 bytes", "blocked_bloom_32/.*", BLOCKED, ":", behind),
            ("64 bytes", "blocked_bloom_64/.*", BLOCKED, "--", behind),
            ("Bloom", "classic_bloom/.*", BLOOM, "--", before),
            ("textbook cuckoo, 8 bits", "textbook_cuckoo", TEXTBOOK, "-", behind),
            *((f"nestline, {bits} bits", f"nestline/bits:{bits}/.*", NESTLINE, "-", behind)
              for bits in widths_in(results))):
        bits, rates = points(pattern)
        axes.plot(bits, rates, style, color=colour, linewidth=2, marker="o")
        axes.annotate(name, (bits[-1], rates[-1]), xytext=shift, textcoords="offset points",
                      color=colour)
    axes.set_xlabel("bits a key (nestline: at loads from 95 % down to 50 %)")
    axes.set_title("False positives by memory")


def widths_in(results):
    """The widths of nestline's filters that were measured."""
    found = (re.match("space/nestline/bits:([0-9]+)/", name) for name in results.rows)
    return sorted({int(match[1]) for match in found if match})


DRAWN = {"by-size": by_size, "by-load": by_load, "by-threads": by_threads, "by-memory": by_memory}


def measure(name):
    context = builds.context()
    program = builds.build("nestline_bench")
    result = None
    for _ in range(REPETITIONS[name]):
        with tempfile.NamedTemporaryFile(suffix=".json") as out:
            builds.call(program, f"--benchmark_filter={FILTERS[name]}", f"--sizes={','.join(SIZES)}",
                        f"--benchmark_out={out.name}", "--benchmark_out_format=json")
            one = json.load(out)
        if result:
            result["benchmarks"] += one["benchmarks"]
        else:
            result = one
    text = history.text_of(history.small(result, context, KEPT))
    RESULTS[name].write_text(text, encoding="utf-8")


def draw(options):
    try:
        # pylint: disable=import-outside-toplevel
        import matplotlib
        matplotlib.use("svg")
        from matplotlib import pyplot
    except ImportError:
        raise builds.Trouble("matplotlib is not installed: scripts/install-dependencies bench, "
                             "and run this with Debian's python3") from None
    for name in RESULTS if options.measure == "all" else filter(None, [options.measure]):
        measure(name)
    results = Results(*([options.file] if options.file else RESULTS.values()))
    folder = options.out or PICTURES
    folder.mkdir(parents=True, exist_ok=True)
    for name, function in DRAWN.items():
        with matplotlib.rc_context(STYLE):
            figure, axes = pyplot.subplots(figsize=(7.5, 4), layout="constrained")
            function(results, axes)
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})
            pyplot.close(figure)
        print(folder / f"{name}.svg")
    return 0
