"""What the end-to-end tests of the nestline command share: a folder, and functions that run it.

The environment variable NESTLINE names the program.
"""

import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

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
        status, out, err = self.run_command("info", "--json", name)
        self.assertEqual((status, err), (0, b""))
        return json.loads(out)

    def build(self, name, keys, *options):
        self.expect(["build", "-o", name, *options], stdin=keys)
