"""Tests the reader in Go: its own tests, its form, and the example of docs/READERS.md in a module of its own.

GO is the program, NESTLINE the command, NESTLINE_READER_FILES the folder that make_files wrote to.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
READER = ROOT / "lib" / "readers" / "go"
EXAMPLE = ROOT / "tests" / "documents" / "examples" / "reader.go"


class GoTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_go(self, *words, cwd=READER, **variables):
        # Nothing may come from a network.
        environment = {"HOME": tempfile.gettempdir(), **os.environ, "GOPROXY": "off",
                       "GOTOOLCHAIN": "local", **variables}
        done = subprocess.run([os.environ["GO"], *words], cwd=cwd, env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_reader(self):
        out = self.run_go("test", "-count=1", "-v", ".")
        self.assertNotIn("--- SKIP", out)
        self.assertGreater(out.count("--- PASS: Test"), 10)

    def test_form(self):
        self.run_go("vet", ".")
        self.run_go("vet", ".", GOARCH="386")  # where a size may be larger than memory
        gofmt = pathlib.Path(shutil.which(os.environ["GO"])).resolve().with_name("gofmt")
        done = subprocess.run([gofmt, "-l", READER, EXAMPLE], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_example(self):
        build = [os.environ["NESTLINE"], "build", "-o", self.folder / "words.nest"]
        subprocess.run(build, input="cuckoo\nnest\n", text=True, check=True)
        shutil.copy(EXAMPLE, self.folder / "main.go")
        (self.folder / "go.mod").write_text(
            f"module example\n\ngo 1.19\n\nrequire nestline v0.0.0\n\nreplace nestline => {READER}\n")
        out = self.run_go("run", ".", cwd=self.folder)
        self.assertEqual(out, "cuckoo may be a word: look it up\ncuckooo is no word\n")


if __name__ == "__main__":
    unittest.main()
