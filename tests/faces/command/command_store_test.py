"""End-to-end tests of nestline store: records, text, single keys and the care of a store.

command_store_files_test.py tests import and export. Both are run by command_test.py.
"""

import json
import os
import re
import resource
import shutil
import subprocess

from command_harness import PATIENCE, CommandTest
from command_use_test import Terminal


def escaped(data):
    return data.replace(b"\\", b"\\\\").replace(b"\t", b"\\t").replace(b"\n", b"\\n")


def line_of(key):
    """What list prints and mget reads."""
    return (escaped(key)[:-1] + b"\\r" if key.endswith(b"\r") else escaped(key)) + b"\n"


def text_of(records):
    """What load reads and dump prints."""
    return b"".join(escaped(key) + b"\t" + escaped(value) + b"\n" for key, value in records)


def cdb_of(records):
    return b"".join(b"+%d,%d:%s->%s\n" % (len(key), len(value), key, value)
                    for key, value in records) + b"\n"


# Bytes that text could mangle.
ODD = [
    (b"plain", b"value"),
    (b"", b"no key"),
    (b"no value", b""),
    (b"tab\there", b"\t"),
    (b"line\nfeed", b"a\nb\n"),
    (b"back\\slash", b"\\n is not a line feed\\"),
    (b"zero\0byte", b"\0\0"),
    (b"return\r", b"ends in one\r"),
    (b"\r\n", b"\r\n\r\n"),
    (b"\xff\xfe not text", b"\x80"),
    (b"+1,1:a->b", b"->\n+"),
    (b"k" * 65536, b"v" * 3000000),
]


class StoreTest(CommandTest):
    def store(self, *arguments, **options):
        return self.run_command("store", *arguments, **options)

    def expect_store(self, arguments, *more, **options):
        self.expect(["store", *arguments], *more, **options)

    def expect_store_error(self, arguments, *parts, **options):
        self.expect_error(["store", *arguments], *parts, **options)

    def load(self, records, *options, name="db"):
        self.expect_store(["load", name, *options], stdin=text_of(records))

    def dump(self, *options, name="db"):
        return self.output("store", "dump", name, *options)

    def stats(self, name="db"):
        return json.loads(self.output("store", "stats", "--json", name))

    def logs(self):
        return sorted(name for name in os.listdir(self.path("db")) if name.endswith(".log"))

    def hold(self, name="db"):
        """A command that has the store open for writing until its input is closed."""
        process = self.start("store", "load", name, stdout=None)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait, PATIENCE)
        self.addCleanup(process.stdin.close)
        return process


class StoreCommandLine(StoreTest):
    COMMANDS = ("put", "get", "del", "has", "load", "dump", "list", "stats", "import", "export",
                "mget", "compact", "copy", "verify", "repair", "damaged")

    def test_help(self):
        out = self.output("store", "--help")
        for command in self.COMMANDS:
            self.assertIn(f"\n  {command} ".encode(), out)
            told = self.output("store", command, "--help")
            self.assertIn(f"nestline store {command}".encode(), told)
            self.assertIn(b"Exit status: 0 ", told)
            self.assertIn(b"DB REQUIRED", told)

    def test_usage_errors(self):
        whole = b" takes a whole number from "
        for arguments, part in [
            ([], b"see nestline store --help"),
            (["frobnicate"], b"there is no command 'frobnicate'; see nestline store --help"),
            (["frobnicate", "--help"], b"there is no command 'frobnicate'"),
            (["get"], b"DB is required; see nestline store get --help"),
            (["get", "db"], b"KEY is required; see nestline store get --help"),
            (["get", "db", "a", "b"], b"'b'; see nestline store get --help"),
            (["get", "db", "-k"], b"no option '-k'; -- goes before a KEY or VALUE"),
            (["put", "db", "k", "-v"], b"no option '-v'; -- goes before a KEY or VALUE"),
            (["put", "db", "k", "v", "--sync", "often"],
             b"--sync takes never, interval or each, not"),
            (["put", "db", "-e", "a\\x", "v"], b"after a backslash comes t, n, r, 0 or another"),
            (["del", "db"], b"KEY is required"),
            (["load", "db", "--expected-records", "-1"], b"--expected-records" + whole),
            (["import", "db", "f", "--piece", "0"],
             b"--piece" + whole + b"1 to 4294967295, not '0'"),
            (["import", "db", "f", "--piece", "4294967296"], b"--piece" + whole),
            (["import", "db", "f", "--piece", "1", "--lines"], b"--piece excludes --lines"),
            (["import", "db", "-"], b"standard input has no name: give one with --as"),
            (["export", "db"], b"NAME is required"),
            (["export", "db", "n", "-o", "-"],
             b"-o takes the name of a file, not '-'; /dev/stdout is standard output; see nestline"),
            (["dump", "db", "extra"], b"extra"),
            (["copy", "db"], b"TO is required"),
        ]:
            with self.subTest(arguments=arguments):
                self.expect_store_error(arguments, part)
        self.assertEqual(os.listdir(self.folder), [])

    def test_no_store(self):
        self.write("file", b"")
        for command, *arguments in [["get", "k"], ["has", "k"], ["del", "k"], ["dump"], ["list"],
                                    ["mget"], ["stats"], ["export", "n"], ["compact"], ["copy", "to"], ["verify"],
                                    ["repair"], ["damaged"]]:
            with self.subTest(command=command):
                self.expect_store_error([command, "none", *arguments],
                                        b"nestline: none: No such file",
                                        b"nestline store put, load or import makes a store")
                self.expect_store_error([command, "file", *arguments], b"nestline: file: ")
        self.expect_store_error(["put", "no/db", "k", "v"], b"no/db: No such file",
                                b"; make the folder no first\n")
        self.assertEqual(os.listdir(self.folder), ["file"])


class StoreRecords(StoreTest):
    def test_one_record(self):
        self.expect_store(["put", "db", "k", "v"])
        self.expect_store(["get", "db", "k"], out=b"v")
        self.expect_store(["has", "db", "k"])
        self.expect_store(["put", "db", "k", "another"])
        self.expect_store(["get", "db", "k"], out=b"another")
        self.expect_store(["put", "--new", "db", "k", "v"], 1)
        self.expect_store(["get", "db", "k"], out=b"another")
        self.expect_store(["put", "--new", "db", "l", ""])
        self.expect_store(["get", "db", "l"])
        self.expect_store(["get", "db", "none"], 1)
        self.expect_store(["has", "db", "none"], 1)
        self.expect_store(["del", "db", "k"])
        self.expect_store(["get", "db", "k"], 1)
        self.expect_store(["del", "db", "k", "l", "m"], 1,
                          err=b"nestline: db: 2 of 3 keys were not in the store\n")
        self.assertEqual(self.dump(), b"")
        self.assertEqual(self.stats()["records"], 0)

    def test_values_of_standard_input(self):
        value = bytes(range(256)) * 5000
        self.expect_store(["put", "db", "k"], stdin=value)
        self.expect_store(["get", "db", "k"], out=value)
        self.expect_store(["put", "db", "k", "-"], stdin=b"short\n")
        self.expect_store(["get", "db", "k"], out=b"short\n")
        self.expect_store(["put", "db", "k"])
        self.expect_store(["get", "db", "k"])

    def test_odd_words_are_keys_and_values(self):
        words = ["[a,b]", "++", "get", "put", "a b", "{}", "", "\xe4", "#", "'", '"q"', "=", "%%",
                 "\x01", "\x01++", "a=b", "/x"]
        for word in words:
            self.expect_store(["put", "db", word, word[::-1]])
            self.expect_store(["get", "db", word], out=word[::-1].encode())
        self.expect_store(["put", "db", "--", "-k", "--v"])
        self.expect_store(["get", "db", "--", "-k"], out=b"--v")
        self.expect_store(["get", "--", "db", "-k"], out=b"--v")
        self.expect_store(["del", "db", *words])
        self.assertEqual(self.dump(), b"-k\t--v\n")
        # Bytes that are not UTF-8.
        self.expect_store(["put", "db", b"\xff\xfe", b"\x80"])
        self.expect_store(["get", "db", b"\xff\xfe"], out=b"\x80")

    def test_escapes(self):
        self.expect_store(["put", "-e", "db", "a\\0b\\t", "\\n\\r\\\\"])
        self.expect_store(["get", "-e", "db", "a\\0b\\t"], out=b"\n\r\\")
        self.expect_store(["has", "--escaped", "db", "a\\0b\\t"])
        self.expect_store(["get", "db", "a\\0b\\t"], 1)
        self.expect_store(["del", "-e", "db", "a\\0b\\t"])
        self.assertEqual(self.dump(), b"")

    def test_sync(self):
        for when in ("never", "interval", "each"):
            self.expect_store(["put", "db", "--sync", when, when, "v"])
            self.load([(b"%s %d" % (when.encode(), i), b"w") for i in range(3000)], "--sync", when)
            self.expect_store(["del", "db", "--sync", when, when])
        self.assertEqual(self.stats()["records"], 9000)

    def test_too_long(self):
        self.expect_store_error(["put", "db", "k" * 65537, "v"],
                                b"nestline: db: a key has more than ")
        key = b"k" * 65537
        self.expect_store_error(["load", "db"],
                                b"standard input: line 2: the key has 65537 bytes; the "
                                b"most are 65536; records loaded before: 1\n",
                                stdin=b"a\tb\n" + key + b"\tv\n")
        self.expect_store_error(["load", "db", "--cdb"], b"record 1: the key has 65537 bytes",
                                stdin=cdb_of([(key, b"v")]))
        self.assertEqual(self.dump(), b"a\tb\n")


class StoreText(StoreTest):
    def test_load_and_dump_are_inverse(self):
        text = text_of(ODD)
        self.write("text", text)
        self.expect_store(["load", "db", "text"])
        self.assertEqual(self.dump(), text)
        self.assertEqual(self.dump("--cdb"), cdb_of(ODD))
        self.expect_store(["load", "--cdb", "db2"], stdin=cdb_of(ODD))
        self.assertEqual(self.dump(name="db2"), text)
        for key, value in ODD:
            if b"\0" not in key:
                # A word of a command line is shorter than the longest key.
                whole = len(key) < 60000
                self.expect_store(["get", "db", "--", key[:60000]], 0 if whole else 1,
                                  value if whole else b"")
        # Hand-written escapes, no line end at the end, several tabs.
        self.expect_store(["load", "db3", "-"], stdin=b"a\\rb\\0\tc\td\\r\ne\tf")
        self.assertEqual(self.dump(name="db3"), b"a\rb\0\tc\\td\r\ne\tf\n")

    def test_later_records_replace(self):
        self.write("one", b"a\t1\nb\t1\n")
        self.write("two", b"a\t2")
        self.expect_store(["load", "db", "one", "-", "two"], stdin=b"b\t3\n")
        self.assertEqual(self.dump(), b"b\t3\na\t2\n")
        self.assertEqual(self.stats()["records"], 2)

    def test_wrong_lines(self):
        for text, part in [
            (b"a\tb\nno tab\n", b"line 2: there is no tab between key and value; records loaded"),
            (b"a\tb\n\n", b"line 2: there is no tab"),
            (b"a\tb\nc\\x\td\n",
             b"line 2: after a backslash comes t, n, r, 0 or another backslash"),
            (b"a\tb\nc\td\\", b"line 2: after a backslash comes"),
        ]:
            with self.subTest(text=text):
                for options in ([], ["--sync", "each"]):
                    self.expect_store_error(["load", "db", *options], b"nestline: standard input: ",
                                            part, b"records loaded before: 1\n", stdin=text)
                    self.assertEqual(self.dump(), b"a\tb\n")
        self.write("good", b"c\td\n")
        self.expect_store_error(["load", "db", "good", "none"], b"nestline: none: No such file")
        self.assertEqual(self.dump(), b"a\tb\nc\td\n")

    def test_wrong_cdb(self):
        good = b"+1,1:a->b\n"
        for text, part in [
            (b"", b"record 1 ends without the empty line"),
            (good, b"record 2 ends without the empty line"),
            (good + b"x", b"record 2 must begin with +"),
            (b"+1:a->b\n\n", b"record 1 needs a length before ,"),
            (b"+,1:a->b\n\n", b"needs a length before ,"),
            (b"+1,x:a->b\n\n", b"needs a length before :"),
            (b"+99999999999999999999,1:a->b\n\n", b"more than 4294967295 bytes"),
            (b"+1,4294967296:a->b\n\n", b"more than 4294967295 bytes"),
            (b"+1,4294967295:a->b\n\n", b"record 1 is shorter than its lengths say"),
            (b"+2,1:a->b\n\n", b"must have -> between key and data"),
            (b"+1,2:a->b\nx\n", b"must end with a line feed"),
            (b"+1,1:a->bb\n\n", b"must end with a line feed"),
        ]:
            with self.subTest(text=text):
                self.expect_store_error(["load", "--cdb", "db"],
                                        b"nestline: standard input: at byte ",
                                        part, stdin=text)

    def test_cdb_of_others(self):
        cdb = shutil.which("cdb")
        if cdb is None:
            self.skipTest("Debian's package tinycdb is not installed")
        records = [record for record in ODD if record[0]]
        self.load(records)
        self.write("dump", self.dump("--cdb"))
        subprocess.run([cdb, "-c", "made", "dump"], cwd=self.folder, check=True)
        theirs = subprocess.run([cdb, "-d", "made"], cwd=self.folder, check=True,
                                capture_output=True).stdout
        self.assertEqual(theirs, cdb_of(records))
        self.expect_store(["load", "--cdb", "db2"], stdin=theirs)
        self.assertEqual(self.dump(name="db2"), text_of(records))

    def test_list_keys(self):
        self.load(ODD)
        self.expect_store(["list", "--keys", "db"],
                          out=b"".join(line_of(key) for key, _ in ODD))
        self.expect_store(["list", "db"])

    def test_mget(self):
        records = [(b"key %d" % i, b"value\t%d" % i) for i in range(5000)]
        self.load(records)
        self.write("keys", b"".join(b"key %d\nnot %d\n" % (i, i) for i in range(5000)))
        self.expect_store(["mget", "db", "keys"], out=text_of(records))
        self.expect_store(["mget", "db"], stdin=b"key 7", out=b"key 7\tvalue\\t7\n")
        self.expect_store(["mget", "db"], 1, stdin=b"key\nnone\n")
        self.expect_store(["mget", "db"], 1)
        self.load(ODD, name="odd")
        keys = b"".join(line_of(key) for key, _ in ODD)
        for end in (b"\n", b"\r\n"):
            self.expect_store(["mget", "odd"], stdin=keys.replace(b"\n", end), out=text_of(ODD))
        self.expect_store(["mget", "odd"], stdin=b"plain\r", out=b"plain\tvalue\n")
        self.expect_store_error(["mget", "db"], b"line 2: after a backslash comes",
                                stdin=b"none\na\\\n")
        self.expect_store_error(["mget", "db", "none"], b"nestline: none: No such file")

    def test_files_that_are_read_and_written(self):
        limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (9000000,) * 2)}
        self.load([(b"k", b"v"), (b"v", b"w")])
        self.write("keys", b"k\nv\n")
        before = self.read("keys")
        with open(self.path("keys"), "ab") as out:
            self.expect_store(["mget", "db", "keys"], 2, None,
                              b"nestline: keys: this input is also the output, and is not read\n",
                              stdout=out, **limit)
        self.assertEqual(self.read("keys"), before)
        log, dumped = "db/" + self.logs()[-1], self.dump()
        with open(self.path(log), "rb") as again:
            for arguments, name in ((["import", "db", log], log), (["load", "db", "keys", log], log),
                                    (["import", "db", "-", "--as", "x"], "standard input")):
                self.expect_store_error(
                    arguments, b"nestline: %s: this is a file in the folder of the store itself\n"
                    % name.encode(), stdin=again.fileno(), **limit)
        self.assertEqual(self.dump(), dumped)

    def test_lines_that_end_in_a_zero_byte(self):
        self.load(ODD)
        dumped = self.dump("-z")
        self.assertEqual(dumped.count(b"\0"), len(ODD))
        self.expect_store(["load", "-z", "again"], stdin=dumped[:-1])
        self.assertEqual(self.dump(name="again"), text_of(ODD))
        keys = self.output("store", "list", "--keys", "-z", "db")
        self.expect_store(["mget", "-z", "db"], stdin=keys, out=dumped)
        self.expect_store(["mget", "-z", "db"], 1, stdin=b"plain\r\0plain\n")
        self.write("a\nb", b"x" * 5000)
        self.expect_store(["import", "db", "a\nb"])
        self.expect_store(["list", "-z", "db"], out=b"a\\nb\t5000\t2\0")
        for command in ("load", "dump"):
            self.expect_store_error([command, "-z", "--cdb", "db"], b"excludes --cdb")

    def test_mget_of_large_values(self):
        # More than is kept at once.
        records = [(b"%d" % i, bytes([65 + i]) * 9000000) for i in range(10)]
        self.load(records)
        self.expect_store(["mget", "db"], stdin=b"".join(b"%d\n" % i for i in range(10)),
                          out=text_of(records))

    def test_mget_answers_at_once_and_tells_what_it_cost(self):
        self.load([(b"k", b"v")])
        with self.start("store", "mget", "--stats", "db") as process:
            for _ in range(3):
                self.ask(process, b"none\nk\n", b"k\tv\n")
            process.stdin.close()
            self.assertEqual(process.wait(PATIENCE), 0)
            self.assertRegex(process.stderr.read(),
                             rb"\Anestline: db: 6 keys asked for, 3 there, 3 records of the log "
                             rb"read, 0 of them another key's\n\Z")


class StoreCare(StoreTest):
    def test_stats(self):
        self.load([(b"%d" % i, b"v" * 100) for i in range(1000)], "--expected-records", "200000")
        told = self.stats()
        self.assertEqual(told["records"], 1000)
        self.assertGreaterEqual(told["index_slots"], 200000)
        self.assertGreater(told["live_bytes"], 100 * 1000)
        self.assertAlmostEqual(told["index_bytes_per_record"], told["index_bytes"] / 1000)
        out = self.output("store", "stats", "db")
        self.assertRegex(out, rb"(?m)^records +1000$")
        self.assertRegex(out, rb"(?m)^index bytes per record +[\d.]+$")
        self.expect_store(["put", "empty", "k", "v"])
        self.expect_store(["del", "empty", "k"])
        self.assertIsNone(self.stats("empty")["index_bytes_per_record"])

    def advice(self):
        """The lines of advice, which are the same in both forms."""
        told = self.stats()["advice"]
        lines = [line for line in self.store("stats", "db")[1].decode().splitlines()
                 if line.startswith("advice ")]
        self.assertEqual(lines, ["advice".ljust(30) + sentence for sentence in told])
        return told

    def test_advice_about_dead_bytes(self):
        self.expect_store(["put", "db", "small", "v"])
        for changes in range(3):
            self.expect_store(["put", "db", "large"], stdin=b"v" * 1100000)
            if changes == 0:
                self.assertEqual(self.advice(), [])
        told, = self.advice()
        self.assertEqual(told, "more than half of the log is dead: nestline store compact frees "
                               "up to 2.2 MB; a program that keeps the store open for writing "
                               "frees by itself what is dead in full files of the log")
        self.expect_store(["compact", "db"])
        self.assertEqual(self.advice(), [])

    def test_advice_about_the_index(self):
        self.load([(b"%d" % i, b"") for i in range(60000)])
        self.assertEqual(self.advice(), [])
        self.load([(b"%d" % i, b"") for i in range(60000, 66000)])
        slots = self.stats()["index_slots"]
        told, = self.advice()
        sentence = re.fullmatch("the index is nearly full: after about (\\d+) more records it "
                                "doubles to 1.1 MB of memory, and while it does, 1.7 MB are needed",
                                told)
        room = int(sentence[1])
        self.load([(b"%d" % i, b"") for i in range(66000, 66000 + room - 50)])
        self.assertEqual(self.stats()["index_slots"], slots)
        self.load([(b"%d" % i, b"") for i in range(66000, 66000 + room + 50)])
        self.assertEqual(self.stats()["index_slots"], 2 * slots)
        self.assertEqual(self.advice(), [])

    def test_advice_about_an_index_that_has_doubled_four_times(self):
        self.load([(b"%d" % i, b"") for i in range(1020000)])
        os.remove(os.path.join(self.path("db"), "index.nest"))  # a reader makes one that grows from the smallest
        told, = self.advice()
        self.assertRegex(told, "^the index is nearly full: after about \\d+ more records it is full; "
                               "a program that keeps the store open for writing makes a new one, "
                               "and while it does, 18 MB or more are needed$")

    def test_compact(self):
        records = [(b"%d" % i, b"v" * 1000) for i in range(2000)]
        self.load(records)
        self.load(records)
        self.expect_store(["del", "db", *(str(i) for i in range(1000))])
        before = self.stats()
        self.assertGreater(before["dead_bytes"], 2 * 1000 * 1000)
        self.expect_store(["compact", "db"])
        after = self.stats()
        self.assertEqual(after["records"], 1000)
        self.assertLess(after["live_bytes"] + after["dead_bytes"], 1.2 * before["live_bytes"])
        self.assertEqual(sorted(self.dump().splitlines()),
                         sorted(text_of(records[1000:]).splitlines()))
        self.expect_store(["verify", "db"])

    def test_damage(self):
        records = [(b"%d" % i, b"v" * 100) for i in range(1000)]
        self.load(records)
        # More than share one sync: what comes later proves that the first records were on disk.
        self.load([(b"later %d" % i, b"w") for i in range(1500)], "--sync", "each")
        self.expect_store(["verify", "db"])
        name = "db/" + self.logs()[0]
        good = self.read(name)
        self.write(name, good[:5000] + bytes([good[5000] ^ 1]) + good[5001:])
        status, out, err = self.store("verify", "db")
        self.assertEqual((status, out), (2, b""))
        self.assertRegex(err, rb"\Anestline: [^\n]*%s[^\n]*\n" % name.encode())
        self.assertTrue(err.endswith(b"nestline: db: is damaged; nestline store repair keeps every "
                                     b"record that is whole\n"), err)
        self.expect_store(["get", "db", "999"], out=b"v" * 100)
        for command, kept in (("dump", 2499), ("mget", 0)):
            status, out, err = self.store(command, "db",
                                          stdin=b"".join(b"%d\n" % i for i in range(99)))
            self.assertEqual((status, out.count(b"\n")), (2, kept))
            self.assertIn(name.encode(), err)
        os.remove(self.path("db/index.nest"))
        for command in (["put", "db", "k", "v"], ["compact", "db"]):
            self.expect_store_error(command, name.encode(), b"repair")
        status, out, err = self.store("repair", "db")
        self.assertEqual((status, out), (0, b""))
        self.assertIn(b"nestline: db: 2499 records are kept, ", err)
        self.expect_store(["verify", "db"])
        kept = self.dump().splitlines()
        self.assertEqual(len(kept), 2499)
        self.assertEqual(len(set(kept) & set(text_of(records).splitlines())), 999)
        self.expect_store(["repair", "db"])
        away = sorted(entry for entry in os.listdir(self.path("db")) if ".damaged" in entry)
        self.assertEqual(away, [name[3:] + ".damaged"])
        self.write("db/x.damaged", b"not ours")
        line = b"db/%s\t%d\n" % (away[0].encode(), len(good))
        for options in [], ["--remove"]:
            self.expect_store(["damaged", "db", *options], out=line)
        self.expect_store(["damaged", "db"])
        self.assertEqual(self.read("db/x.damaged"), b"not ours")
        self.assertEqual(len(self.dump().splitlines()), 2499)

    # The log is whole: no repair is wanted, and a change makes the checkpoint anew.
    def test_damaged_checkpoint(self):
        self.load([(b"k", b"v")])
        self.write("db/index.nest", self.read("db/index.nest")[:-1] + b"x")
        status, _, err = self.store("verify", "db")
        self.assertEqual(status, 2)
        self.assertIn(b"nestline: db: needs no repair: the log is whole", err)
        self.expect_store(["put", "db", "l", "w"])
        self.expect_store(["verify", "db"])

    # What the checkpoint alone proves to be damage, and a repair that fails.
    def test_repair_under_a_limit(self):
        self.load([(b"%d" % i, b"v" * 400) for i in range(2000)], "--sync", "never")
        name = "db/" + self.logs()[0]
        good = self.read(name)
        self.write(name, (good[:5000] + bytes([good[5000] ^ 1]) + good[5001:])[:-100])
        self.expect_store_error(["put", "db", "k", "v"], b"repair")
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300, limit[1]))
        try:
            self.expect_store_error(["repair", "db"], b"raise that limit")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        self.expect_store_error(["put", "db", "k", "v"], b"repair")
        self.assertEqual(self.store("repair", "db")[0], 0)
        self.assertEqual(len(self.dump().splitlines()), 1998)

    def test_lost_log(self):
        self.load([(b"k", b"v")])
        for name in self.logs():
            os.remove(self.path("db/" + name))
        self.assertEqual(self.store("verify", "db")[0], 2)
        self.expect_store_error(["put", "db", "k", "v"], b"nestline: db/")
        self.expect_store_error(["repair", "db"], b"db/index.nest: there is no file of the log beside it")
        self.assertEqual(sorted(os.listdir(self.path("db"))), ["index.nest", "lock"])
        os.remove(self.path("db/index.nest"))
        self.expect_store_error(["verify", "db"], b"there is no store in this folder")
        self.expect_store(["put", "db", "k", "v"])
        self.expect_store(["get", "db", "k"], out=b"v")

    def test_torn_end(self):
        self.load([(b"%d" % i, b"v" * 100) for i in range(100)], "--sync", "never")
        os.remove(self.path("db/index.nest"))
        name = "db/" + self.logs()[-1]
        self.write(name, self.read(name)[:-50])
        status, out, err = self.store("verify", "db")
        self.assertEqual((status, out), (0, b""), err)
        self.assertRegex(err,
                         rb"\Anestline: db: the log ends with \d+ torn bytes, as a crash leaves "
                         rb"them; the next command that writes cuts them off\n\Z")
        self.expect_store(["put", "db", "k", "v"])
        self.expect_store(["verify", "db"])
        self.assertEqual(len(self.dump().splitlines()), 100)

    def flip(self, at, cut=0):
        os.remove(self.path("db/index.nest"))
        name = "db/" + self.logs()[0]
        good = self.read(name)
        self.write(name, (good[:at] + bytes([good[at] ^ 1]) + good[at + 1:])[:len(good) - cut])

    # Without the mark that closing leaves: as a crash could have left it.
    def test_torn_end_with_records_that_read_well(self):
        for command, left, tells in ((["dump", "db"], 20, b"repair keeps them"),
                                     (["put", "db", "k", "v"], 21, b"cut off"),
                                     (["verify", "db"], 20, b"79 changes that read well"),
                                     (["repair", "db"], 99, b"99 records are kept")):
            self.load([(b"%d" % i, b"v" * 100) for i in range(100)], "--sync", "never")
            self.flip(64 + 48 + 20 * 136 + 16, 48)
            status, _, err = self.store(*command)
            self.assertEqual(status, 0, err)
            self.assertIn(tells, err)
            self.assertEqual(len(self.store("dump", "db")[1].splitlines()), left)
            shutil.rmtree(self.path("db"))

    def test_log_without_a_store(self):
        os.mkdir(self.path("db"))
        for content in (b"", b"\0" * 100000):
            self.write("db/00000001.log", content)
            for command in (["get", "db", "k"], ["stats", "db"], ["verify", "db"], ["repair", "db"]):
                self.expect_store_error(command, b"there is no store in this folder")

    def test_readers_beside_a_writer(self):
        self.load([(b"old", b"1")])
        writer = self.hold()
        writer.stdin.write(b"new\t2\n")
        writer.stdin.flush()
        # Sooner or later the record is in the log; reading commands never wait for the writer.
        for _ in range(10000):
            status, out, err = self.store("get", "db", "new")
            self.assertEqual(err, b"")
            if status == 0:
                break
        self.assertEqual((status, out), (0, b"2"))
        self.assertEqual(self.dump(), b"old\t1\nnew\t2\n")
        self.expect_store(["has", "db", "old"])
        self.expect_store(["mget", "db"], stdin=b"new\n", out=b"new\t2\n")
        self.expect_store(["verify", "db"])
        self.assertEqual(self.stats()["records"], 2)
        # Writing commands wait for it as long as they are told to, and then say who is there.
        process = str(writer.pid).encode()
        for arguments in (["put", "db", "k", "v", "--wait", "0"], ["del", "db", "old", "--wait", "0"],
                          ["compact", "db", "--wait", "1"], ["load", "db", "--wait", "0"], ["repair", "db"],
                          ["import", "db", "/dev/null", "--wait", "0"]):
            self.expect_store_error(arguments, b"db", b"process " + process)
        waiting = [self.start("store", "put", "db", f"k{i}", "v", "--wait", "600", stdout=None) for i in range(6)]
        writer.stdin.close()
        self.assertEqual(writer.wait(PATIENCE), 0)
        for process in waiting:
            self.addCleanup(process.stderr.close)
            self.addCleanup(process.stdin.close)
            self.assertEqual(process.wait(PATIENCE), 0)
        self.assertEqual(self.stats()["records"], 2 + 6)
        self.expect_store(["put", "db", "k", "v"])

    def test_repair_of_an_empty_folder(self):
        os.mkdir(self.path("empty"))
        self.expect_store_error(["repair", "empty"], b"empty: there is no store in this folder")
        self.assertEqual(os.listdir(self.path("empty")), [])

    def test_newest_file_with_another_name(self):
        self.load([(b"old", b"1")])
        os.link(self.path("db/00000001.log"), self.path("linked"))
        for command in (["put", "db", "new", "2"], ["del", "db", "old"], ["compact", "db"],
                        ["repair", "db"]):
            self.expect_store_error(command, b"db/00000001.log: the file has another name",
                                    b"; while nobody writes, put a copy in its place (cp FILE copy; mv copy FILE)")
        self.assertEqual(self.dump(), b"old\t1\n")
        self.expect_store(["verify", "db"])
        os.remove(self.path("linked"))
        self.expect_store(["put", "db", "new", "2"])
        self.assertEqual(self.dump(), b"old\t1\nnew\t2\n")

    def test_killed_writer(self):
        writer = self.hold()
        text = text_of((b"%d" % i, b"v" * 50) for i in range(20000))
        writer.stdin.write(text)
        writer.stdin.flush()
        for _ in range(10000):
            if self.store("has", "db", "15000")[0] == 0:
                break
        writer.kill()
        writer.wait(PATIENCE)
        got = self.dump()
        self.assertTrue(text.startswith(got) and len(got) > len(text) // 2)
        self.expect_store(["verify", "db"])
        self.expect_store(["put", "db", "k", "v"])
        self.assertEqual(self.dump(), got + b"k\tv\n")

    def test_full_disk(self):
        self.load([(b"k", b"v" * 100)])
        with open("/dev/full", "wb") as full:
            for arguments in (["get", "db", "k"], ["dump", "db"], ["stats", "db"],
                              ["list", "--keys", "db"]):
                status, _, err = self.store(*arguments, stdout=full)
                self.assertEqual((status, err),
                                 (2, b"nestline: standard output: No space left on device\n"))
        # A limit on the size of files, behind which the system sends a signal: files of the log end
        # before it, and a record that is longer is refused.
        text = text_of((b"%d" % i, b"v" * 1000) for i in range(4000))
        self.expect_store_error(
            ["load", "small"], b"nestline: small/", b" bytes more are needed than a file may have",
            b"; records loaded before: ", stdin=text + text_of([(b"long", b"v" * 2**21)]),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20)))
        self.expect_store(["verify", "small"])
        got = self.dump(name="small")
        self.assertTrue(text.startswith(got))
        self.expect_store(["load", "small"], stdin=text)
        self.assertEqual(self.stats("small")["records"], 4000)

    def test_forbidden(self):
        options = self.as_nobody()
        self.load([(b"k", b"v")])
        os.chmod(self.folder, 0o755)
        self.expect_store(["get", "db", "k"], out=b"v", **options)
        for name in os.listdir(self.path("db")):
            os.chmod(self.path("db/" + name), 0o600)
        self.expect_store_error(["get", "db", "k"], b"nestline: db/", b": Permission denied\n",
                                **options)
        self.expect_store_error(["put", "db", "k", "w"], b"nestline: db/", b": Permission denied\n",
                                **options)
        self.expect_store_error(["put", "new", "k", "w"], b"nestline: new: Permission denied\n",
                                **options)
        os.chmod(self.path("db"), 0)
        self.addCleanup(os.chmod, self.path("db"), 0o755)
        self.expect_store_error(["get", "db", "k"], b"nestline: db: Permission denied\n", **options)
        self.expect_store_error(["put", "db", "k", "w"], b"nestline: db", b": Permission denied\n",
                                **options)

    def test_folder_of_others(self):
        os.mkdir(self.path("other"))
        self.write("other/file", b"precious")
        for command in (["put", "other", "k", "v"], ["load", "other"], ["get", "other", "k"],
                        ["compact", "other"], ["verify", "other"], ["repair", "other"]):
            self.expect_store_error(command,
                                    b"nestline: other: there is no store in this folder")
        self.assertEqual(os.listdir(self.path("other")), ["file"])

    def test_closed_pipe(self):
        self.load([(b"%d" % i, b"v" * 1000) for i in range(3000)])
        for arguments in (["dump", "db"], ["list", "--keys", "db"]):
            with self.start("store", *arguments) as process:
                process.stdout.read(10)
                process.stdout.close()
                self.assertIn(process.wait(PATIENCE), (0, -13))
                self.assertEqual(process.stderr.read(), b"")


class StoreTerminal(StoreTest):
    run_on_terminal = Terminal.run_on_terminal
    is_written_to = Terminal.is_written_to
    screens = Terminal.screens
    feed = Terminal.feed

    def test_load(self):
        records = [b"%d\tvalue\n" % i for i in range(1000)]
        status, seen = self.run_on_terminal(["store", "load", "db"],
                                            lambda process: self.feed(process, records), 200)
        self.assertEqual(status, 0)
        states = self.screens(seen, 200)
        self.assertRegex(states[0], r"^load +[\d.]+ k?B, [\d.]+ k? ?lines/s$")
        self.assertRegex(states[-1], r"^nestline: db: \d+ records loaded$")

    def test_import(self):
        pieces = [b"%d\n" % i * 2000 for i in range(1000)]
        status, seen = self.run_on_terminal(["store", "import", "db", "-", "--as", "f"],
                                            lambda process: self.feed(process, pieces), 200)
        self.assertEqual(status, 0)
        states = self.screens(seen, 200)
        self.assertRegex(states[0], r"^import +[\d.]+ k?B, [\d.]+ k?B/s$")
        self.assertRegex(states[-1], r"^nestline: f: [\d.]+ k?B, \d+ new pieces$")

    def test_short_work(self):
        self.load([(b"k", b"v"), (b"l", b"w\n")])
        for key, shown in (("k", b"v\r\n"), ("l", b"w\r\n")):
            self.assertEqual(self.run_on_terminal(["store", "get", "db", key], lambda process: None,
                                                  output_too=True), (0, shown))
        self.assertEqual(self.run_on_terminal(["store", "dump", "db"], lambda process: None,
                                              output_too=True), (0, b"k\tv\r\nl\tw\\n\r\n"))
        status, seen = self.run_on_terminal(["store", "compact", "db"], lambda process: None)
        self.assertEqual(status, 0)
        self.assertRegex(seen, rb"\Anestline: db: \d+ B of log before, \d+ B after\r\n\Z")
