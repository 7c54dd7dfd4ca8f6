"""scripts/bench history: measures commits one after the other, and keeps the results small.

A commit's file in build/bench/history has what the dashboard shows: the rate of each repetition, its ratio
to the ceiling, and where they come from. It measures a few fixed benchmarks, which take a minute.
Filters of 256 MiB are not among them: filling them takes longer than all others together.
"""

import json
import subprocess
import sys
import tempfile

import builds
import results

FOLDER = builds.ROOT / "build" / "bench" / "history"
FILTER = (
    r"^(may_contain/(batch|single)/hits:(0|100)/load:95|insert/batch/from_empty|erase/batch)"
    r"/bits:[0-9]+/bytes:(256KiB|16MiB)|^lived(_turns_over)?/.*/load:90/bits:(8|16)/bytes:256KiB"
)
CONTEXT = ("date", "num_cpus", "library_build_type", "cpu", "target", "page_size", "compiler",
           "commit", "commit_date", "commit_title", "machine")
KEPT = ("run_type", "repetitions", "repetition_index", "threads", "real_time", "time_unit",
        "items_per_second", "of_ceiling", "fpr")


def rounded(value):
    return float(f"{value:.4g}") if isinstance(value, float) else value


def small(result, context, kept=KEPT):
    """The part of a result of nestline_bench that is kept."""
    rows = []
    for row in result["benchmarks"]:
        failure = results.failure_of(row)
        if failure:
            print(f"{row['name']}: {failure.text('here')}, not kept", file=sys.stderr)
        if failure or results.aggregate_of(row):
            continue
        rows.append({key: rounded(row[key]) for key in ("name", "run_name", *kept) if key in row})
    all_context = result["context"] | context
    return {"context": {key: all_context[key] for key in CONTEXT if key in all_context},
            "benchmarks": rows}


def text_of(result):
    """Returns JSON with one line for each row."""
    rows = ",\n".join(json.dumps(row) for row in result["benchmarks"])
    return f'{{"context": {json.dumps(result["context"], indent=1)},\n"benchmarks": [\n{rows}\n]}}\n'


def measure(commit):
    context = builds.context_of(commit)
    program = builds.build_commit(commit, "nestline_bench")
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        flags = [f"--benchmark_filter={FILTER}", "--benchmark_repetitions=5",
                 "--benchmark_min_time=0.1", f"--benchmark_out={out.name}",
                 "--benchmark_out_format=json"]
        done = subprocess.run([program, *flags], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise builds.Trouble(f"nestline_bench of {commit[:12]} failed\n{done.stderr}")
        result = json.load(out)
    FOLDER.mkdir(parents=True, exist_ok=True)
    file = FOLDER / f"{context['commit_date'][:10]}-{commit[:12]}.json"
    file.write_text(text_of(small(result, context)), encoding="utf-8")
    print(f"{file.relative_to(builds.ROOT)}: {context['commit_title']}", flush=True)


def history(options):
    commits = []
    for name in options.commits:
        commit = builds.commit_of(name)
        if commit is None:
            raise builds.Trouble(f"{name} is no commit of this repository")
        commits.append(commit)
    for commit in commits:
        measure(commit)
    return 0
