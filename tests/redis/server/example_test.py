"""Checks that the example of docs/REDIS.md, as a user types it, gets the expected replies.

NESTLINE_REDIS_CLI names redis-cli.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from servers import Server

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "documents" / "examples" / "redis.sh"


class ExampleTest(unittest.TestCase):
    def test_replies(self):
        cli = shutil.which(os.environ.get("NESTLINE_REDIS_CLI", "redis-cli"))
        with Server() as server, tempfile.TemporaryDirectory() as folder:
            # A redis-cli on the PATH that knows the test's port.
            program = pathlib.Path(folder, "redis-cli")
            program.write_text(f'#!/bin/sh\nexec "{cli}" -p {server.port} "$@"\n')
            program.chmod(0o755)
            path = os.pathsep.join([folder, os.environ["PATH"]])
            done = subprocess.run(["bash", "-e", EXAMPLE], capture_output=True, text=True,
                                  env={**os.environ, "PATH": path})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.split(), ["OK", "1", "1", "1", "0"])


if __name__ == "__main__":
    unittest.main()
