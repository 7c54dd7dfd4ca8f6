"""The examples of docs/REDIS.md, as typed, get their replies. NESTLINE_REDIS_CLI: redis-cli."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from servers import Server

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "documents" / "examples"


class ExampleTest(unittest.TestCase):
    def test_replies(self):
        for name, replies in (("redis.sh", "OK 1 1 1 0"), ("redis_window.sh", "OK 1 1 0 1")):
            with self.subTest(name):
                self.check(EXAMPLES / name, replies.split())

    def check(self, example, replies):
        cli = shutil.which(os.environ.get("NESTLINE_REDIS_CLI", "redis-cli"))
        with Server() as server, tempfile.TemporaryDirectory() as folder:
            # A redis-cli on the PATH that knows the test's port.
            program = pathlib.Path(folder, "redis-cli")
            program.write_text(f'#!/bin/sh\nexec "{cli}" -p {server.port} "$@"\n')
            program.chmod(0o755)
            path = os.pathsep.join([folder, os.environ["PATH"]])
            done = subprocess.run(["bash", "-e", example], capture_output=True, text=True,
                                  env={**os.environ, "PATH": path})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.split(), replies)
