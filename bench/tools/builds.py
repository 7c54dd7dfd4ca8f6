"""Where benchmark programs come from: this source tree, another commit, a folder or a path.

Everything that goes wrong here is a Trouble: one sentence for the user, exit status 2.
"""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Trouble(Exception):
    """Something that keeps us from measuring; its text says what, and what to do."""


def call(*command, folder=None):
    """Runs a command whose output is of interest only when it fails; returns its output."""
    try:
        done = subprocess.run(
            command, cwd=folder or ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
    except FileNotFoundError:
        raise Trouble(f"{command[0]} is not installed (scripts/install-dependencies)") from None
    if done.returncode:
        raise Trouble(f"{' '.join(map(str, command))}: failed\n{done.stdout}")
    return done.stdout.strip()


def build(program, source=ROOT):
    """Builds the program by the preset "bench" of this source tree; returns its path."""
    call("cmake", "--preset", "bench", folder=source)
    call("cmake", "--build", "--preset", "bench", "--target", program, folder=source)
    return source / "build" / "bench" / "bench" / program


def commit_of(name):
    """The full hash of a commit, or None when there is no such commit."""
    command = ["git", "rev-parse", "--quiet", "--verify", "--end-of-options", f"{name}^{{commit}}"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        raise Trouble("git is not installed") from None
    return done.stdout.strip() if done.returncode == 0 else None


def describe(commit):
    """(date in ISO 8601, title)"""
    date, _, title = call("git", "show", "--no-patch", "--format=%cI%n%s", commit).partition("\n")
    return date, title


def build_commit(commit, program):
    """Builds the program of a commit in a work tree of its own, which is kept for the next time."""
    tree = ROOT / "build" / "compare" / commit
    if not (tree / "CMakePresets.json").is_file():
        # A folder that was removed by hand is still on git's list of work trees.
        call("git", "worktree", "prune")
        call("git", "worktree", "add", "--force", "--detach", str(tree), commit)
    return build(program, tree)


class Build:
    """One side of a comparison: what the user called it, what it is, and its program.

    That of a commit is there after make() only. To find and to make are two steps, so that a name
    such as HEAD means what it meant when the command was given, and a wrong one is told at once.
    """

    def __init__(self, name, text, path=None, commit=None):
        self.name = name
        self.text = text
        self.path = path
        self.commit = commit

    def make(self, program):
        if self.commit is not None:
            print(f"building {self.text}", flush=True)
            self.path = build_commit(self.commit, program)


def find(name, program):
    """The Build that `name` means: a program, a build folder, or a commit."""
    path = pathlib.Path(name)
    if path.is_file():
        if not os.access(path, os.X_OK):
            raise Trouble(f"{name} is a file that cannot be executed")
        return Build(name, str(path), path.resolve())
    if path.is_dir():
        path = path / "bench" / program
        if not path.is_file():
            raise Trouble(f"{name} is no build folder: it has no bench/{program}")
        return Build(name, str(path), path.resolve())
    commit = commit_of(name)
    if commit is None:
        raise Trouble(f"{name} is no commit of this repository, no build folder and no program")
    return Build(name, f"{commit[:12]} {describe(commit)[1]}", commit=commit)


def machine():
    """The processor, for people who compare figures."""
    model = "unknown processor"
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    cores = os.cpu_count()
    return f"{model}, {cores} core" + ("s" if cores != 1 else "")


def context_of(commit):
    """What a result should say of a commit and the machine that measured it."""
    date, title = describe(commit)
    return {"commit": commit, "commit_date": date, "commit_title": title, "machine": machine()}


def context():
    """What a result should say of the source tree and the machine it comes from."""
    changed = call("git", "status", "--porcelain", "--untracked-files=no")
    head = context_of(commit_of("HEAD"))
    return head | {"commit": head["commit"] + ("-changed" if changed else "")}
