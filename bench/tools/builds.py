"""Finds or builds benchmark programs: of this source tree, a commit, a folder or a path.

Every error here is a Trouble: one sentence for the user, exit status 2.
"""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Trouble(Exception):
    """A reason why nothing can be measured; its text says what is wrong and what to do."""


def call(*command, folder=None):
    """Runs a command and returns its output; shows the output only when the command fails."""
    try:
        done = subprocess.run(
            command, cwd=folder or ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
    except FileNotFoundError:
        raise Trouble(f"{command[0]} is not installed (scripts/install-dependencies)") from None
    if done.returncode:
        raise Trouble(f"{' '.join(map(str, command))}: failed\n{done.stdout}")
    return done.stdout.strip()


def build(program, *others, source=ROOT):
    """Builds the program, and others, with the preset "bench" of this source tree; returns its path."""
    call("cmake", "--preset", "bench", folder=source)
    call("cmake", "--build", "--preset", "bench", "--target", program, *others, folder=source)
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
    """Returns (date in ISO 8601, title)."""
    date, _, title = call("git", "show", "--no-patch", "--format=%cI%n%s", commit).partition("\n")
    return date, title


def build_commit(commit, program):
    """Builds a commit's program in a work tree of its own, which is kept for the next time."""
    tree = ROOT / "build" / "compare" / commit
    if not (tree / "CMakePresets.json").is_file():
        # git still lists a work tree whose folder was removed by hand.
        call("git", "worktree", "prune")
        call("git", "worktree", "add", "--force", "--detach", str(tree), commit)
    return build(program, source=tree)


class Build:
    """One side of a comparison: the name that the user gave, what it is, and its program.

    The program of a commit exists only after make(). Finding and making are two steps, so that a name
    such as HEAD means what it meant when the command started, and a wrong name is reported at once.
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
    """The processor's name, for people who compare figures."""
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
    """What a result should say about a commit and the machine that measured it."""
    date, title = describe(commit)
    return {"commit": commit, "commit_date": date, "commit_title": title, "machine": machine()}


def context():
    """What a result should say about this source tree and this machine."""
    changed = call("git", "status", "--porcelain", "--untracked-files=no")
    head = context_of(commit_of("HEAD"))
    return head | {"commit": head["commit"] + ("-changed" if changed else "")}
