"""Tests that scripts/install-dependencies waits while another apt-get holds a lock.

python3 install_dependencies_test.py

Programs in front of the PATH play the system's: nothing is installed.
"""

import os
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts" / "install-dependencies"

# Fails as often as the file `locked` has lines, each time with the next one as its message.
APT_GET = """
echo "$*" >>"$PLAY/calls"
if [ -s "$PLAY/locked" ]; then
  head -n 1 "$PLAY/locked" >&2
  sed -i 1d "$PLAY/locked"
  exit 100
fi
echo "$1 is done"
"""
LISTS = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)\n"
ARCHIVES = "E: Could not get lock /var/cache/apt/archives/lock. It is held by process 7 (apt)\n"
NETWORK = "E: Unable to fetch some archives\n"


class InstallDependenciesTest(unittest.TestCase):
    def run_script(self, messages):
        """Status, messages and calls of apt-get, which fails with these messages first."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for program, text in [("apt-get", APT_GET), ("sudo", 'exec "$@"'),
                                  ("sleep", 'echo "sleep" >>"$PLAY/calls"'), ("dpkg-query", "exit 1")]:
                (folder / program).write_text(f"#!/bin/sh\n{text}\n")
                (folder / program).chmod(0o755)
            (folder / "locked").write_text("".join(messages))
            done = subprocess.run(
                [SCRIPT, "fuzz"], capture_output=True, text=True, check=False,
                env={**os.environ, "PLAY": name, "PATH": f"{name}:{os.environ['PATH']}"})
            calls = (folder / "calls").read_text().splitlines()
        return done.returncode, done.stderr, calls

    def test_it_waits_for_locks(self):
        status, errors, calls = self.run_script([LISTS, LISTS, ARCHIVES])
        self.assertEqual((status, errors), (0, LISTS + LISTS + ARCHIVES))
        words = [("sleep" if call == "sleep" else call.split()[3]) for call in calls]
        self.assertEqual(words, ["update", "sleep", "update", "sleep", "update", "sleep", "update",
                                 "install"])
        for call in calls:
            self.assertRegex(call, r"^sleep$|-o DPkg::Lock::Timeout=[1-9]\d\d ")
        self.assertIn("clang", calls[-1])

    def test_it_does_not_wait_for_anything_else(self):
        status, errors, calls = self.run_script([NETWORK])
        self.assertEqual((status, errors, len(calls)), (1, NETWORK, 1))

    def test_it_does_not_wait_for_ever(self):
        status, _, calls = self.run_script([LISTS] * 1000)
        self.assertEqual((status, len(calls) < 1000), (1, True))


if __name__ == "__main__":
    unittest.main()
