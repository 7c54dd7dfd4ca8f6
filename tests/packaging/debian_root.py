"""A Debian system of its own in a folder, to install packages in and to see what they leave.

Root and debootstrap are needed. Prepared(FOLDER) makes a small Debian 12 in FOLDER/base once, with
the programs that the test uses; FOLDER/archives keeps downloaded packages. fresh() copies it, and
run() runs a command in the copy, with /proc and a namespace of its own, so that nothing stays
mounted.
"""

import os
import pathlib
import shutil
import subprocess

RELEASE = "bookworm"
# What users have before they install nestline.
PROGRAMS = [
    "g++",
    "make",
    "cmake",
    "pkg-config",
    "redis-server",
    "redis-tools",
    "sqlite3",
    "postgresql-15",
    "python3",
]

# These change by themselves.
FLEETING = (
    "dev/",
    "proc/",
    "sys/",
    "tmp/",
    "run/",
    "var/cache/",
    "var/log/",
    "var/lib/apt/",
    "etc/ld.so.cache",
    "var/lib/dpkg/status",
    "var/lib/dpkg/lock",
    "var/lib/dpkg/triggers/",
    "work/",
)


class NotPossible(Exception):
    """This machine cannot make such a root."""


def mirror():
    """Where packages come from: DEBIAN_MIRROR, or what apt is configured with."""
    if "DEBIAN_MIRROR" in os.environ:
        return os.environ["DEBIAN_MIRROR"]
    wanted = ["Created-By: Packages", f"Codename: {RELEASE}"]
    sites = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(SITE)", *wanted],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    if not sites:
        raise NotPossible(f"apt has no source of {RELEASE}: set DEBIAN_MIRROR")
    return sites[0]


class Root:
    """A folder with a Debian in it."""

    def __init__(self, folder, archives):
        self.folder = pathlib.Path(folder)
        self.archives = archives

    def run(self, command, check=True, text_input=None):
        """Runs a line of the shell in the root; returns what it printed."""
        script = (
            'mount -t proc proc "$1/proc" && mount --bind "$2" "$1/var/cache/apt/archives" && '
            'exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 '
            'DEBIAN_FRONTEND=noninteractive sh -ec "$3"'
        )
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", script, "sh", self.folder, self.archives, command],
            input=text_input,
            capture_output=True,
            text=True,
            check=False,
        )
        if check and done.returncode:
            raise AssertionError(
                f"in the root, failed with {done.returncode}: {command}\n{done.stdout}{done.stderr}"
            )
        return done.stdout

    def files(self):
        """What is in it: {path: (kind and permissions, size or target)}."""
        found = {}
        for path in self.folder.rglob("*"):
            name = str(path.relative_to(self.folder))
            if name.startswith(FLEETING):
                continue
            status = path.lstat()
            size = status.st_size if path.is_file() else 0
            found[name] = (status.st_mode, os.readlink(path) if path.is_symlink() else size)
        return found


class Prepared:
    """The root that others are copied from."""

    def __init__(self, folder):
        folder = pathlib.Path(folder).resolve()
        self.folder = folder
        if os.geteuid() != 0:
            raise NotPossible("only root can make a Debian system in a folder")
        for program in ("debootstrap", "unshare", "chroot"):
            if not shutil.which(program):
                raise NotPossible(
                    f"there is no {program}; see scripts/install-dependencies packages"
                )
        if subprocess.run(
            ["unshare", "--mount", "true"], capture_output=True, check=False
        ).returncode:
            raise NotPossible("this system does not let us mount anything")
        self.archives = folder / "archives"
        self.archives.mkdir(parents=True, exist_ok=True)
        self.base = folder / "base"
        # What it has in it, so that another list makes another one.
        self.list = folder / "programs"
        if (
            not self.base.exists()
            or not self.list.exists()
            or self.list.read_text() != " ".join(PROGRAMS)
        ):
            self.make()

    def make(self):
        # A folder that is not finished has another name.
        new = self.folder / "new"
        shutil.rmtree(new, ignore_errors=True)
        made = subprocess.run(
            ["debootstrap", "--variant=minbase", RELEASE, new, mirror()],
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode:
            raise NotPossible(f"debootstrap failed:\n{made.stdout[-2000:]}{made.stderr[-2000:]}")
        (new / "etc/dpkg/dpkg.cfg.d/fast").write_text("force-unsafe-io\n")
        shutil.copy("/etc/resolv.conf", new / "etc/resolv.conf")
        root = Root(new, self.archives)
        try:
            root.run("apt-get -q update")
            root.run("apt-get -q install --yes --no-install-recommends " + " ".join(PROGRAMS))
        except AssertionError as error:
            raise NotPossible(f"cannot install Debian's programs: {error}") from error
        self.list.unlink(missing_ok=True)
        shutil.rmtree(self.base, ignore_errors=True)
        new.rename(self.base)
        self.list.write_text(" ".join(PROGRAMS))

    def fresh(self):
        """A copy of its own, which takes the place of the one before."""
        copy = self.folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        subprocess.run(["cp", "-a", "--reflink=auto", self.base, copy], check=True)
        return Root(copy, self.archives)
