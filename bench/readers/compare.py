"""Compares the readers in Go and Java with filters for these languages of as much memory and as many keys.

compare.py [go | java]... [--bytes N]...

For Go that is seiflotfy/cuckoofilter, for Java the BloomFilter of Guava: Debian's packages
golang-github-seiflotfy-cuckoofilter-dev and libguava-java. Prints medians of nanoseconds a key, and of ratios within a
round. Needs build/bench with the target make_filter (cmake --build --preset bench --target make_filter).
"""

import argparse
import pathlib
import shutil
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SOURCES = pathlib.Path("/usr/share/gocode/src")
PACKAGES = ["github.com/seiflotfy/cuckoofilter", "github.com/dgryski/go-metro"]
GUAVA = "/usr/share/java/guava.jar"
LOADS = {"go": 0.9, "java": 0.95}  # seiflotfy's filter takes no more keys


def run(*words, folder):
    done = subprocess.run([str(word) for word in words], cwd=folder, check=True, text=True,
                          stdout=subprocess.PIPE)
    return done.stdout


def build_go(folder):
    modules = {"nestline": ROOT / "lib" / "readers" / "go"}
    for package in PACKAGES:  # copied, since Debian's may lack a go.mod
        modules[package] = copy = folder / pathlib.Path(package).name
        shutil.copytree(SOURCES / package, copy)
        (copy / "go.mod").write_text(f"module {package}\n")
    lines = ["module compare", "go 1.19"]
    for module, path in modules.items():
        lines += [f"require {module} v0.0.0", f"replace {module} => {path}"]
    (folder / "go.mod").write_text("\n".join(lines) + "\n")
    shutil.copy(HERE / "compare.go", folder)
    run("go", "build", "-mod=mod", "-o", "compare", ".", folder=folder)
    return [folder / "compare"]


def build_java(folder):
    sources = (ROOT / "lib" / "readers" / "java" / "nestline").glob("*.java")
    run("javac", "-cp", GUAVA, "-d", folder, *sources, HERE / "Compare.java", folder=folder)
    return ["java", "-Xmx4g", "-cp", f"{folder}:{GUAVA}", "Compare"]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("languages", nargs="*", choices=["go", "java", []])
    parser.add_argument("--bytes", type=int, action="append")
    arguments = parser.parse_args()
    for language in arguments.languages or ["go", "java"]:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            words = {"go": build_go, "java": build_java}[language](folder)
            for size in arguments.bytes or [2**18, 2**24, 2**28]:
                file = folder / "filter.nest"
                maker = ROOT / "build" / "bench" / "bench" / "make_filter"
                keys = run(maker, file, size, LOADS[language], folder=folder).strip()
                print(f"{language}, {size} bytes, load {LOADS[language]}")
                print(run(*words, file, keys, folder=folder), end="", flush=True)


if __name__ == "__main__":
    main()
