"""End-to-end tests of nestline store import and export: files byte for byte; and of nestline store copy.

Run by command_test.py.
"""

import os
import random
import stat

from command_harness import PATIENCE
from command_store_test import StoreTest, text_of


class StoreFiles(StoreTest):
    def round_trip(self, content, *options, name="file", goes=("", "out")):
        """Imports a file, and exports it to standard output, to another file, or to both."""
        self.write(name, content)
        self.expect_store(["import", "db", name, *options])
        if "" in goes:
            self.expect_store(["export", "db", name], out=content)
        if "out" in goes:
            self.expect_store(["export", "db", name, "-o", "out"])
            self.assertEqual(self.read("out"), content)

    def test_sizes(self):
        random.seed(3)
        noise = random.randbytes(10000)
        ways = ([], ["--lines"], ["--piece", "12"], ["--piece", "1000000"])
        # Every two of size, content, options and where the export goes meet; tests/store/files_test.cc has the first
        # three with one another.
        for i, size in enumerate((0, 1, 11, 12, 13, 24, 4095, 4096, 4097, 8192, 10000)):
            contents = (noise[:size], b"\0" * size, b"\n" * size, (b"line\n" * size)[:size])
            for j, content in enumerate(contents):
                options = ways[(i + j) % len(ways)]
                with self.subTest(size=size, begins=content[:5], options=options):
                    self.round_trip(content, *options, goes=(("", "out")[(i // 2 + j) % 2],))
        self.round_trip(noise[:300], "--piece", "1")

    def test_equal_pieces_are_stored_once(self):
        self.round_trip(b"0123456789ab" * 10000, "--piece", "12")
        self.assertEqual(self.stats()["records"], 1)
        self.expect_store(["list", "db"], out=b"file\t120000\t10000\n")
        self.round_trip(b"0123456789ab" * 3 + b"end", "--piece", "12", name="other")
        self.assertEqual(self.stats()["records"], 2)
        self.expect_store(["list", "db"], out=b"file\t120000\t10000\nother\t39\t4\n")
        # A piece is as long as it is told, whatever the lines.
        self.round_trip(b"x" * 10000 + b"\ny\n", "--lines", name="long")
        self.assertIn(b"long\t10003\t4\n", self.store("list", "db")[1])

    def test_names(self):
        self.write("a", b"one")
        self.expect_store(["import", "db", "a", "--as", "tab\there"])
        self.expect_store(["import", "db", "./a"])
        self.expect_store(["import", "db", "-", "--as", "-"], stdin=b"two")
        self.expect_store(["list", "db"], out=b"-\t3\t1\n./a\t3\t1\ntab\\there\t3\t1\n")
        self.expect_store(["export", "db", "tab\there"], out=b"one")
        self.expect_store(["export", "db", "--", "-"], out=b"two")
        # Names and keys do not meet.
        self.expect_store(["put", "db", "./a", "value"])
        self.expect_store(["export", "db", "./a"], out=b"one")
        self.expect_store(["get", "db", "./a"], out=b"value")
        self.expect_store(["del", "--file", "db", "./a", "none"], 1,
                          err=b"nestline: db: 1 of 2 files were not in the store\n")
        self.expect_store(["del", "--file", "db", "tab\there"])
        self.expect_store(["list", "db"], out=b"-\t3\t1\n")
        self.expect_store(["get", "db", "./a"], out=b"value")

    def test_replaced(self):
        self.round_trip(b"old content")
        self.round_trip(b"new")
        self.expect_store(["list", "db"], out=b"file\t3\t1\n")
        # A source that fails leaves the old content.
        os.mkdir(self.path("folder"))
        self.expect_store_error(["import", "db", "folder", "--as", "file"],
                                b"nestline: folder: Is a directory")
        self.expect_store_error(["import", "db", "none", "--as", "file"],
                                b"nestline: none: No such file")
        self.expect_store(["export", "db", "file"], out=b"new")

    def test_pieces_that_no_file_has(self):
        random.seed(4)
        shared, own, newer = (random.randbytes(4096 * pieces) for pieces in (5, 300, 2))
        self.expect_store(["put", "db", "k", "v"])
        self.round_trip(shared, name="kept")
        self.round_trip(shared + own, name="deleted")
        self.round_trip(own[8192:], name="replaced")
        self.round_trip(newer, name="replaced")
        self.assertEqual(self.stats()["unused_piece_bytes"], 0)
        before = self.stats()["live_bytes"]
        self.expect_store(["del", "--file", "db", "deleted"])
        told = self.stats()
        self.assertGreater(told["unused_piece_bytes"], len(own))
        self.assertGreater(told["dead_bytes"], told["unused_piece_bytes"])
        self.assertLess(told["live_bytes"], before - len(own))
        self.assertIn("nestline store compact", told["advice"][0])
        self.expect_store(["compact", "db"])
        told = self.stats()
        self.assertEqual((told["unused_piece_bytes"], told["records"]), (0, 1 + 5 + 2))
        self.assertLess(told["live_bytes"] + told["dead_bytes"], 100000)
        self.expect_store(["export", "db", "kept"], out=shared)
        self.expect_store(["export", "db", "replaced"], out=newer)
        self.expect_store(["get", "db", "k"], out=b"v")

    def test_export(self):
        self.round_trip(b"content")
        self.expect_store(["export", "db", "none", "-o", "out"], 1,
                          err=b"nestline: db: there is no file 'none'; nestline store list shows the "
                          b"files that are there\n")
        self.assertEqual(self.read("out"), b"content")
        self.expect_store(["export", "db", "none", "-o", "made"], 1,
                          err=self.store("export", "db", "none")[2])
        self.assertFalse(os.path.exists(self.path("made")))
        os.chmod(self.path("out"), 0o600)
        os.symlink("out", self.path("link"))
        self.round_trip(b"another")
        self.expect_store(["export", "db", "file", "-o", "link"])
        self.assertTrue(os.path.islink(self.path("link")))
        self.assertEqual(stat.S_IMODE(os.stat(self.path("out")).st_mode), 0o600)
        self.expect_store(["export", "db", "file", "-o", "/dev/null"])
        self.expect_store(["export", "db", "file", "-o", "/dev/stdout"], out=b"another")
        self.expect_store_error(["export", "db", "file", "-o", "/dev/full"],
                                b"/dev/full: No space left")
        self.expect_store_error(["export", "db", "file", "-o", "no/out"],
                                b"nestline: no/out: cannot write in no: No such file")
        self.expect_store_error(["export", "db", "file", "-o", "db"], b"db: Is a directory")
        self.assertEqual([name for name in os.listdir(self.folder) if name.endswith(".tmp")], [])

    def test_missing_and_changed_pieces(self):
        self.round_trip(b"first pieceother piece", "--piece", "11")
        keys = self.store("list", "--keys", "db")[1].splitlines()
        self.assertEqual(len(keys), 2)
        self.write("dump", self.store("dump", "--cdb", "db")[1])
        for content, what in ((b"+32,11:%s->FIRST PIECE\n\n", b"has another content"),
                              (b"+32,5:%s->short\n\n", b"has another content")):
            digest = self.read("dump")[7:39]
            self.expect_store(["load", "--cdb", "db"], stdin=content % digest)
            self.expect_store_error(["export", "db", "file", "-o", "out"],
                                    b"the file 'file': piece 1 of 2, whose SHA-256 digest is "
                                    + digest.hex().encode() + b", " + what + b"; store the file again")
            self.assertEqual(self.read("out"), b"first pieceother piece")
        self.expect_store(["del", "-e", "db", "--", keys[0]])
        self.expect_store_error(["export", "db", "file"], b"piece 1 of 2", b"is missing")
        # To store the file again mends it.
        self.round_trip(b"first pieceother piece", "--piece", "11")


class StoreCopies(StoreTest):
    def test_copy(self):
        self.load([(b"%d" % i, b"v" * 1000) for i in range(100)])
        before = self.dump()
        writer = self.hold()
        writer.stdin.write(text_of((b"more %d" % i, b"v" * 50) for i in range(20000)))
        writer.stdin.flush()
        self.expect_store(["copy", "db", "to"])
        got = self.dump(name="to")
        self.assertTrue(got.startswith(before))
        self.expect_store(["copy", "db", "to/"])
        self.assertTrue(self.dump(name="to").startswith(got))
        self.expect_store_error(["copy", "db", "db/in"],
                                b"nestline: db/in: this is in the folder of the store itself")
        self.expect_store_error(["copy", "to", "db"], b"nestline: db: process ",
                                b" has the store open for writing")
        writer.kill()
        writer.wait(PATIENCE)
        self.expect_store(["copy", "db", "to"])
        self.assertEqual(self.dump(name="to"), self.dump())
        self.expect_store(["verify", "to"])
        self.expect_store_error(["copy", "to", "db"], b"nestline: db: this is no copy")
        self.expect_store_error(["copy", "db", "no/to"], b"nestline: no/to: No such file")
        # One that was interrupted is finished by the next.
        os.rename(self.path("to/copy.nest"), self.path("to/copy.nest.new"))
        for command in (["put", "to", "k", "v"], ["get", "to", "k"], ["verify", "to"],
                        ["repair", "to"], ["copy", "to", "other"]):
            self.expect_store_error(command,
                                    b"nestline: to: this is a copy of a store that is not finished")
        self.assertFalse(os.path.exists(self.path("other")))
        self.expect_store(["copy", "db", "to"])
        # A copy that is written is a store of its own.
        self.expect_store(["put", "to", "k", "own"])
        self.expect_store_error(["copy", "db", "to"], b"or one that was written since it was made")
        self.expect_store(["get", "to", "k"], out=b"own")
        self.expect_store(["has", "db", "k"], 1)
