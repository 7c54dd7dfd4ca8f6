"""Checks that the shell example of README.md does what its comments say.

NESTLINE names the command.
"""

import os
import pathlib
import subprocess
import tempfile
import unittest

EXAMPLE = pathlib.Path(__file__).resolve().parent / "examples" / "shell.sh"


class ShellExampleTest(unittest.TestCase):
    def test_prints_what_it_says(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "words").write_text("".join(f"word-{i}\n" for i in range(1000)))
            (folder / "words2").write_text("late-word\n")
            (folder / "list").write_text("word-7\nno-word\nword-8\n")
            path = os.pathsep.join([str(pathlib.Path(os.environ["NESTLINE"]).parent),
                                    os.environ["PATH"]])
            done = subprocess.run(["bash", "-e", EXAMPLE], cwd=folder, capture_output=True,
                                  text=True, env={**os.environ, "PATH": path})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(done.stdout.startswith("word-7\nword-8\nno-word\n"), done.stdout)
        self.assertIn("1001", done.stdout)  # keys in the file after `add`


if __name__ == "__main__":
    unittest.main()
