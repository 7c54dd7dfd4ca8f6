"""What the end-to-end tests of the nestline command share: a folder, and functions that run it.

The environment variable NESTLINE names the program.
"""

import json
import os
import pathlib
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from folder_case import FolderCase

NESTLINE = os.path.abspath(os.environ["NESTLINE"])
PATIENCE = 200  # seconds; the longest wait for something that should come soon


def lines(prefix, count):
    return b"".join(b"%s-%d\n" % (prefix, i) for i in range(count))


class CommandTest(FolderCase):
    def run_command(self, *arguments, stdin=b"", **options):
        """Runs nestline in the folder; returns status, standard output and standard error."""
        if not isinstance(stdin, int):
            options["input"] = stdin
        else:
            options["stdin"] = stdin
        options.setdefault("stdout", subprocess.PIPE)
        done = subprocess.run(
            [NESTLINE, *arguments], cwd=self.folder, stderr=subprocess.PIPE, timeout=PATIENCE,
            **options,
        )
        return done.returncode, done.stdout, done.stderr

    def pipes(self, contents):
        """Names of pipes that a command finds these contents in."""
        names = []
        for content in contents:
            names.append("pipe-%d" % len(os.listdir(self.folder)))
            os.mkfifo(self.path(names[-1]))
            # It waits until the command opens the pipe, and is left where that never does.
            threading.Thread(target=self.write, args=(names[-1], content), daemon=True).start()
        return names

    def start(self, *arguments, **options):
        """Starts nestline in the folder, with pipes for all that `options` do not name."""
        for name in ("stdin", "stdout", "stderr"):
            options.setdefault(name, subprocess.PIPE)
        return subprocess.Popen([NESTLINE, *arguments], cwd=self.folder, **options)

    def ask(self, process, sent, *printed):
        """Sends lines, and expects these lines at once: the input stays open."""
        process.stdin.write(sent)
        process.stdin.flush()
        for line in printed:
            self.assertEqual(process.stdout.readline(), line)

    def output(self, *arguments, **options):
        """What a command prints, which must succeed without a message."""
        status, out, err = self.run_command(*arguments, **options)
        self.assertEqual((status, err), (0, b""))
        return out

    def as_nobody(self):
        """Options of processes that may not do everything: root becomes another user, if that user
        may run the program."""
        options = {"user": 65534, "group": 65534} if os.geteuid() == 0 else {}
        try:
            runs = self.run_command("--version", **options)[0] == 0
        except PermissionError:
            runs = False
        if not runs:
            self.skipTest("the program lies where only root may run it")
        return options

    def expect(self, arguments, status=0, out=b"", err=b"", **options):
        """Checks the exact outcome and returns nothing, so a test reads as a table."""
        self.assertEqual(self.run_command(*arguments, **options), (status, out, err))

    def expect_error(self, arguments, *parts, **options):
        """Expects status 2, no output, and one message that contains all the parts."""
        status, out, err = self.run_command(*arguments, **options)
        self.assertEqual((status, out), (2, b""), err)
        self.assertRegex(err, rb"\Anestline: [^\n]*\n\Z")
        for part in parts:
            self.assertIn(part, err)

    def info(self, name):
        return json.loads(self.output("info", "--json", name))

    def build(self, name, keys, *options):
        self.expect(["build", "-o", name, *options], stdin=keys)
