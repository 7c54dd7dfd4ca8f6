"""Checks that the shell examples of docs/ do what their comments say.

NESTLINE names the command.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

EXAMPLES = pathlib.Path(__file__).resolve().parent / "examples"


class ShellExampleTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_example(self, name):
        path = os.pathsep.join([str(pathlib.Path(os.environ["NESTLINE"]).resolve().parent),
                                os.environ["PATH"]])
        done = subprocess.run(["bash", "-e", EXAMPLES / name], cwd=self.folder, capture_output=True,
                              text=True, env={**os.environ, "PATH": path})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_filter(self):
        (self.folder / "words").write_text("".join(f"word-{i}\n" for i in range(1000)))
        (self.folder / "words2").write_text("late-word\n")
        (self.folder / "list").write_text("word-7\nno-word\nword-8\n")
        out = self.run_example("shell.sh")
        self.assertTrue(out.startswith("word-7\nword-8\nno-word\n"), out)
        self.assertIn("1001", out)  # keys in the file after `add`

    def test_uniq(self):
        (self.folder / "log").write_text("one\ntwo\none\nthree\n")
        (self.folder / "log2").write_text("three\nfour\nfour\n")
        once = "one\ntwo\nthree\n"
        self.assertEqual(self.run_example("uniq.sh"),
                         once + once + "four\n" + "one\n" + "4\n" + once)

    def test_uniq_within(self):
        (self.folder / "deliveries").write_text("order 1\norder 2\norder 1\norder 3\n")
        (self.folder / "later").write_text("order 3\norder 4\n")
        once = "order 1\norder 2\norder 3\n"
        self.assertEqual(self.run_example("uniq_within.sh"), 3 * once + "order 4\n" + "order 1\n")

    def test_which(self):
        for i in range(5):
            keys = "".join(f"order:{10 * i + j}\n" for j in range(10)) + "order:7\n"
            (self.folder / f"orders-{i}").write_text(keys)
        subprocess.run(["gzip", "orders-0"], cwd=self.folder, check=True)
        (self.folder / "list").write_text("order:15\norder:16\norder:-1\n")
        self.assertEqual(self.run_example("which.sh"), "".join(
            [f"order:7\torders-{i}\n" for i in (1, 2, 3)] + ["order:15\norder:16\norder:-1\n"] +
            ["old/orders-1\t11\norders-4\t11\norders-0.gz\t10\n"]))

    def test_store(self):
        (self.folder / "records.tsv").write_text("user:18\tGrace\nuser:19\tMary\n")
        (self.folder / "keys").write_text("user:20\nuser:19\n")
        (self.folder / "photo").write_bytes(bytes(range(256)) * 100)
        out = self.run_example("store.sh")
        self.assertTrue(out.startswith("Adauser:19\tMary\nrecords "), out)
        self.assertTrue(out.endswith("photo\t25600\t7\nit is there\n"), out)
        self.assertEqual((self.folder / "copy").read_bytes(), bytes(range(256)) * 100)
        self.assertEqual((self.folder / "copy.tsv").read_text(), "user:17\tAda\n")

    def test_store_copy(self):
        subprocess.run([os.environ["NESTLINE"], "store", "put", "users.db", "user:17", "Ada"], cwd=self.folder,
                       check=True)
        self.assertEqual(self.run_example("store_copy.sh"), "Ada")

    @unittest.skipUnless(shutil.which("javac"), "no javac (scripts/install-dependencies java)")
    def test_java(self):
        (self.folder / "lib").symlink_to(EXAMPLES.parent.parent.parent / "lib")
        shutil.copy(EXAMPLES / "Known.java", self.folder)
        (self.folder / "words").write_text("nest\nline\n")
        self.assertEqual(self.run_example("java.sh"), "nest: maybe\nnets: certainly not\n")


if __name__ == "__main__":
    unittest.main()
