"""End-to-end tests of the nestline command: NESTLINE=path/to/nestline python3 command_test.py

They check what a user sees: output, messages, exit status and the files left behind. This file tests
the command line, the reading of lines, and build. command_use_test.py tests the commands that use a
filter, command_growth_test.py tests threads, growth and merge, command_store_test.py and
command_store_files_test.py the commands of nestline store, command_cluster_test.py those of nestline
cluster, command_uniq_test.py and command_uniq_within_test.py nestline uniq, command_which_test.py
nestline which; this program runs them too. The C++ tests test the filter and the store themselves.
"""

import os
import random
import resource
import stat
import subprocess
import time
import unittest

from command_cluster_test import ClusterArgumentsTest
from command_growth_test import Advice, Growth, Merge, Threads
from command_harness import NESTLINE, PATIENCE, CommandTest, lines
from command_store_files_test import StoreCopies, StoreFiles
from command_store_test import (StoreCare, StoreCommandLine, StoreRecords, StoreTerminal,
                                StoreText)
from command_uniq_test import Uniq, UniqState
from command_uniq_within_test import UniqWithin
from command_use_test import Damage, Edit, Info, Query, Terminal, Verify
from command_which_test import Which

__all__ = ["Advice", "ClusterArgumentsTest", "Damage", "Edit", "Growth", "Info", "Merge", "Query",
           "StoreCare", "StoreCommandLine", "StoreFiles", "StoreRecords", "StoreTerminal",
           "StoreText", "Terminal", "Threads", "Uniq", "UniqState", "UniqWithin", "Verify", "Which"]


class CommandLine(CommandTest):
    def test_version_and_help(self):
        self.assertRegex(self.output("--version"), rb"\Anestline \d+\.\d+\.\d+\n\Z")
        for command in ([], ["build"], ["query"], ["add"], ["remove"], ["info"], ["verify"],
                        ["merge"], ["fit"], ["uniq"], ["which"], ["which", "build"]):
            out = self.output(*command, "--help")
            self.assertIn(b"Exit status", out)
            self.assertIn(" ".join(["nestline", *command]).encode(), out)
        self.assertIn(b"Only remove keys that were added", self.run_command("remove", "--help")[1])

    def test_usage_errors(self):
        self.write("keys", b"a\n")
        whole = b"a whole number from "
        for arguments, part in [
            ([], b"nestline: a command is required; see nestline --help"),
            (["frobnicate"], b"frobnicate"),
            (["frobnicate", "--help"], b"there is no command 'frobnicate'; see nestline --help"),
            (["build"], b"-o is required; see nestline build --help"),
            (["build", "-o"], b"-o needs a value, FILE; see nestline build --help"),
            (["build", "-o", "f", "--fpr"], b"--fpr needs a value, P; see nestline build --help"),
            (["build", "-o", "f", "-o", "g"], b"-o can be given once; see nestline build --help"),
            (["build", "-o", "f", ""], b"nestline: '': No such file or directory"),
            (["query"], b"FILE is required; see nestline query --help"),
            (["info", "f", "extra"],
             b"there is no use for a further word, 'extra'; see nestline info --help"),
            (["build", "-o", "f", "--capacity", "9007199254740992"],
             b"nestline: --capacity needs more than 2^40 blocks"),
            (["build", "-o", "f", "--capacity", "9", "--max-capacity", "99999"],
             b"nestline: --max-capacity is 11111 times --capacity, but at --fpr 0.01 a filter of"),
            (["query", "f", "--wrong"], b"there is no option '--wrong'; see nestline query --help"),
            (["build", "-o", "f", "--capacity", "many"], b"--capacity takes " + whole),
            (["build", "-o", "f", "--capacity", "0"], b"--capacity takes " + whole),
            (["build", "-o", "f", "--capacity", "-5"], b"not '-5'"),
            (["build", "-o", "f", "--capacity", "1e6"], b"not '1e6'"),
            (["build", "-o", "f", "--capacity", "9007199254740993"], b"to 9007199254740992, not"),
            (["build", "-o", "f", "--capacity", "1", "--capacity", "2"], b"--capacity"),
            (["build", "-o", "f", "--fpr", "0"], b"--fpr takes a number above 0 and below 1"),
            (["build", "-o", "f", "--fpr", "1"], b"not '1'"),
            (["build", "-o", "f", "--fpr", "nan"], b"not 'nan'"),
            (["build", "-o", "f", "--fpr", "1%"], b"not '1%'"),
            (["build", "-o", "f", "--bits", "11"], b"--bits takes 8, 9, 10, 12 or 16, not '11'"),
            (["build", "-o", "f", "--bits", "0"], b"--bits takes 8, 9, 10, 12 or 16, not '0'"),
            (["build", "-o", "f", "--bits", "8", "--fpr", "0.1"], b"--fpr excludes --bits"),
            (["build", "-o", "f", "--load", "0.49"],
             b"--load takes a number from 0.5 to 0.95, not"),
            (["build", "-o", "f", "--load", "1"], b"not '1'"),
            (["build", "-o", "f", "--load", "nan"], b"not 'nan'"),
            (["build", "-o", "f", "--load", "80%"], b"not '80%'"),
            (["build", "-o", "f", "--seed", "18446744073709551616"], b"--seed takes " + whole),
            (["build", "-o", "f", "--seed", ""], b"--seed takes " + whole),
            (["build", "-o", "f", "--threads", "0"], b"--threads takes " + whole),
            (["build", "-o", "f", "--threads", "all"], b"not 'all'"),
            (["merge", "f", "g"], b"-o is required; see nestline merge --help"),
            (["merge", "-o", "f"], b"INPUT is required"),
            (["merge", "-o", "f", "g"],
             b"merge takes two or more filter files; see nestline merge"),
            # It stands for standard input where lines are read, and for nothing else.
            (["build", "-o", "-"],
             b"-o takes the name of a file, not '-'; /dev/stdout is standard output; see nestline"),
            (["merge", "-o", "-", "f", "g"], b"-o takes the name of a file, not '-'; /dev/stdout"),
            (["merge", "-o", "f", "-", "g"], b"INPUT takes the name of a file, not '-'; see"),
            (["query", "-", "keys"], b"FILE takes the name of a file, not '-'; see nestline query"),
            (["uniq", "--state", "-"], b"--state takes the name of a file, not '-'; see nestline"),
        ]:
            with self.subTest(arguments=arguments):
                self.expect_error(arguments, part, stdin=b"a\n")
        self.assertEqual(os.listdir(self.folder), ["keys"])

    def test_rates_of_build_and_uniq(self):
        self.write("keys", b"a\n")
        commands = (["build", "-o", "f", "keys"], ["uniq", "-c", "keys"], ["uniq", "-c", "--capacity", "9", "keys"])

        def refused(rate):
            return [self.run_command(*command, "--fpr", rate)[0] == 2 for command in commands]

        for rate in "0.999999", "0.5", "0.001", "0.00004", "4e-5":
            self.assertEqual(refused(rate), [False, False, False], rate)
        for rate in "0", "1", "nan", "inf", "-1", "", "1%", "1e-5000":
            for command in commands:
                self.expect_error([*command, "--fpr", rate], b"--fpr takes a number above 0 and below 1, not '%s'"
                                  % rate.encode())
        # A filter has one width of 16 bits at most, uniq may ask two filters.
        for rate in "0.000039", "0.000001":
            self.assertEqual(refused(rate), [True, False, False], rate)
            self.expect_error([*commands[0], "--fpr", rate], b"nestline: --fpr %g is below 3.9" % float(rate),
                              b"-05, the lowest false-positive rate of 16-bit fingerprints; nestline uniq takes less, "
                              b"since it asks two filters, and FILE has one; see nestline build --help")
        self.assertEqual(refused("1e-8"), [True, True, False])
        self.assertEqual(refused("1e-30"), [True, True, True])

    def test_the_file_is_no_input(self):
        """Keys that a filter would take the place of are not lost."""
        self.write("keys", b"a\nb\n")
        os.symlink("keys", self.path("link"))
        os.link(self.path("keys"), self.path("twin"))
        for inputs in ["keys"], ["link"], ["twin"], ["absent", "keys"], ["./keys"]:
            self.expect_error(["build", "-o", "keys", *inputs], b"-o takes another file than INPUT")
        for capacity in [], ["--capacity", "9"]:
            with open(self.path("keys"), "rb") as stdin:
                self.expect_error(["build", "-o", "keys", *capacity], b"whose lines would be lost", stdin=stdin.fileno())
        self.assertEqual(self.read("keys"), b"a\nb\n")
        self.expect(["build", "-o", "f", "--capacity", "9", "keys"])
        before = self.read("f")
        for command in "add", "remove":
            self.expect_error([command, "f", "keys", "f"], b"INPUT takes files of keys, and not the filter")
            with open(self.path("keys"), "rb") as stdin:
                self.expect_error([command, "f", "--left-out", "keys"], b"--left-out takes another file than INPUT",
                                  stdin=stdin.fileno())
        self.assertEqual((self.read("f"), self.read("keys")), (before, b"a\nb\n"))
        # What is no regular file may be both.
        self.expect(["build", "-o", "/dev/null", "/dev/null"])

    def test_odd_names_are_names(self):
        for name in ["[a,b]", "build", "a b", "{}", "-x", "\xe4"]:
            self.write(name, b"key in %s\n" % name.encode())
        self.expect(["build", "-o", "f", "--", "[a,b]", "build", "a b", "{}", "-x", "\xe4"])
        self.assertEqual(self.info("f")["keys"], 6)
        self.expect(["query", "f", "build", "[a,b]"], out=b"key in build\nkey in [a,b]\n")
        self.expect(["query", "f", "a b", "--", "-x", "build"], out=b"key in a b\nkey in -x\nkey in build\n")
        self.expect(["build", "a b", "-o", "g", "--", "-x", "build"])
        self.assertEqual(self.info("g")["keys"], 3)
        for words in (["build", "-o", "--", "a b"], ["build", "-qo", "--", "a b"], ["add", "f", "--left-out", "--", "a b"],
                      ["merge", "-o", "--", "f", "g"], ["which", "build", "-o", "--", "a b"]):
            self.expect_error(words, b"needs a value")
            self.assertEqual(self.read("a b"), b"key in a b\n")
        self.expect_error(["info", "f", "--", "-y"], b"there is no use for a further word, '-y'")
        self.expect(["which", "build", "-o", "w", "a b", "--", "-x"])
        self.expect(["which", "drop", "w", "a b", "--", "-x"])
        self.expect_error(["query", ""], b"FILE takes the name of a file; see nestline query")
        self.expect_error(["query", "f", ""], b"No such file")


class Lines(CommandTest):
    def test_every_kind_of_line(self):
        keys = b"plain\nwindows\r\n\nnul\0inside\n\r\r\n\xff\xfe not text\ntail\r"
        self.build("f", keys)
        self.assertEqual(self.info("f")["keys"], 7)
        self.expect(["query", "f"], stdin=keys, out=keys + b"\n")
        # The line end is not part of the key, nor is the half of one that ends an input; a carriage
        # return anywhere else is.
        self.expect(["query", "f"], stdin=b"plain\r\nwindows\n\r\n\r\r\n",
                    out=b"plain\r\nwindows\n\r\n\r\r\n")
        self.expect(["query", "f"], stdin=b"tail\n\r\rplain\r\ntail\r", out=b"tail\ntail\r\n")
        self.expect(["query", "f", "-v"], stdin=b"tail\r\r\n\0\nplain\r\r",
                    out=b"tail\r\r\n\0\nplain\r\r\n")

    def test_half_a_line_end_at_the_end(self):
        # Also where the buffer ends, and in a second input. No key is the beginning of another, but for the empty one.
        keys = [b"abcdefghi"[i:i + 1] * size
                for i, size in enumerate((0, 1, 63, 64, 65, 2**20 - 2, 2**20 - 1, 2**20, 2**20 + 1))]
        halves = ["half-%d" % len(key) for key in keys]
        for key, half in zip(keys, halves):
            self.write(half, key + b"\r")
        self.expect(["build", "-o", "f", "--bits", "16", "--capacity", "99", *self.pipes(key + b"\r" for key in keys)])
        self.assertEqual(self.info("f")["keys"], len(keys))
        for key, half in zip(keys, halves):
            ends = [end for end in (b"", b"\r", b"\n", b"\r\n") if key + end]
            inputs = [name for pipe in self.pipes(key + end for end in ends) for name in (pipe, half)]
            self.expect(["query", "-c", "f", *inputs], out=b"%d\n" % len(inputs))
        self.expect(["verify", "f", *halves])
        again = self.pipes(key + b"\r\n" + key + b"\n" for key in keys)
        self.expect(["uniq", *(name for half, pipe in zip(halves, again) for name in (half, half, pipe))],
                    out=b"".join(key + b"\r\n" for key in keys))
        self.expect(["add", "f"], stdin=b"".join(key + b"\r\n" for key in keys))
        ended = self.pipes(key + b"\n" for key in keys)
        self.expect(["remove", "--copies", "f", *(name for pair in zip(halves, ended) for name in pair)])
        self.assertEqual(self.info("f")["keys"], 0)

    def test_lines_that_end_in_a_zero_byte(self):
        keys = [b"a", b"", b"two\nlines", b"return\r", b"return", b"\r\n", b"x" * (2**20 - 1),
                b"y" * (2**20 + 1)] + [b"%d\n" % i for i in range(40000)]
        text = b"\0".join(keys) + b"\0"
        self.write("keys", text[:-1])  # the last one has no end
        for options in ([], ["--capacity", "50000"], ["--threads", "2"]):
            self.expect(["build", "-z", "-o", "f", "--bits", "16", *options, "keys"])
            self.assertEqual(self.info("f")["keys"], len(keys))
            self.expect(["query", "--zero-terminated", "f", "keys"], out=text)
        self.expect(["verify", "-z", "f", "keys"])
        others = b"two\0lines\0return\n\0return\r\r\0a\r\0a"
        self.expect(["query", "-zv", "f"], stdin=others,
                    out=b"two\0lines\0return\n\0return\r\r\0a\r\0")
        self.expect(["verify", "-z", "f"], 0, stdin=others)
        self.expect(["verify", "-z", "f", "-"], 1, err=others[:-1], stdin=others)
        self.expect(["uniq", "-z", "--fpr", "0.000001", "keys", "keys", "-"], out=text + b"\r\0",
                    stdin=b"a\0\r\0a")
        self.expect(["add", "-z", "f"], stdin=b"more\n\0")
        self.expect(["remove", "-z", "f", "keys"])
        self.expect(["query", "-z", "f"], stdin=b"more\0more\n", out=b"more\n\0")
        self.expect_error(["query", "-z", "f", "."], b"nestline: .: Is a directory")
        with open("/dev/full", "wb") as full:
            for arguments in (["query", "-zv", "f", "keys"], ["uniq", "-z", "keys"]):
                self.expect(arguments, 2, out=None, stdout=full,
                            err=b"nestline: standard output: No space left on device\n")

    def test_long_lines_and_buffer_ends(self):
        long_line = bytes(range(32, 127)) * 58000  # 5.5 MB
        # Lengths around that of the buffer, so that a line end falls on each side of the buffer's end.
        keys = [long_line, b"", long_line[:-1]] + [b"x" * n for n in range(2**20 - 3, 2**20 + 3)]
        text = b"\r\n".join(keys) + b"\r\n" + lines(b"short", 40000)
        self.write("keys", text)
        self.expect(["build", "-o", "f", "keys"])
        self.assertEqual(self.info("f")["keys"], len(keys) + 40000)
        self.expect(["query", "f", "keys"], out=text)
        self.expect(["query", "f", "-v"], 0, long_line + b"!\n", stdin=long_line + b"!")

    def test_line_ends_at_all_places(self):
        # Other bytes differ from a line end in one bit, or are a line end with the highest bit.
        choice = random.Random(1)
        lengths = (2, 9, 30, 63, 64, 200)
        keys = [bytes(choice.choices(b"a\x0b\x8a\0\r", k=choice.choice(lengths))) + b"%d" % i
                for i in range(40000)]
        self.build("f", b"\n".join(keys))
        self.assertEqual(self.info("f")["keys"], len(keys))
        choice.shuffle(keys)
        text = b"".join(key + choice.choice((b"\n", b"\r\n")) for key in keys)
        self.expect(["query", "f"], stdin=text, out=text)
        self.expect(["query", "f", "-c", "-"], stdin=b"\n" * 100 + text, out=b"%d\n" % len(keys))

    def test_slow_pipe_is_answered_at_once(self):
        self.build("f", b"abc\n")
        with self.start("query", "f") as process:
            for piece in [b"abc\nab", b"c\nabc\r\n"]:  # the second line comes in two pieces
                self.ask(process, piece, b"abc\n")
                time.sleep(0.6)
            process.stdin.close()
            self.assertEqual(process.stdout.read(), b"abc\r\n")
            self.assertEqual(process.wait(PATIENCE), 0)
            self.assertEqual(process.stderr.read(), b"")  # not a terminal: no progress bar

    def test_inputs(self):
        self.write("one", b"1\n2")  # not joined with what follows
        self.write("two", b"3\n")
        self.expect(["build", "-o", "f", "one", "-", "two"], stdin=b"4\n")
        self.assertEqual(self.info("f")["keys"], 4)
        self.expect(["query", "f", "two", "-", "one"], stdin=b"4", out=b"3\n4\n1\n2\n")
        with open(self.path("one"), "rb") as file:
            self.expect(["query", "f"], stdin=file.fileno(), out=b"1\n2\n")

    def test_bad_inputs(self):
        self.build("f", b"a\n")
        before = self.read("f")
        os.mkdir(self.path("folder"))
        for bad, text in [("missing", b"No such file"), ("folder", b"Is a directory")]:
            message = b"nestline: %s: %s" % (bad.encode(), text)
            self.expect_error(["build", "-o", "new", bad], message)
            self.expect_error(["add", "f", "-", bad], message, stdin=b"b\n")
            self.expect_error(["remove", "f", "-", bad], message, stdin=b"a\n")
            self.expect_error(["verify", "f", bad], message)
            # query goes on with the next input, as grep does.
            status, out, err = self.run_command("query", "f", bad, "-", stdin=b"a\n")
            self.assertEqual((status, out), (2, b"a\n"))
            self.assertIn(message, err)
        self.assertEqual(self.read("f"), before)
        self.assertFalse(os.path.exists(self.path("new")))
        # A closed standard input is an error. No other file may take its number.
        for command in ("query", "add"):
            status, _, err = self.run_command(command, "f", stdin=subprocess.DEVNULL,
                                              preexec_fn=lambda: os.close(0))
            self.assertEqual((status, err), (2, b"nestline: standard input: Bad file descriptor\n"))


class Build(CommandTest):
    def test_options_reach_the_filter(self):
        keys = lines(b"key", 1000)
        for bits in (8, 9, 10, 12, 16):
            self.build("f", keys, "--bits", str(bits))
            self.assertEqual(self.info("f")["bits"], bits)
        self.build("f", keys, "--seed", "18446744073709551615", "--fpr", "1e-4")
        info = self.info("f")
        self.assertEqual(info["seed"], 2**64 - 1)
        self.assertLessEqual(info["expected_fpr"], 1e-4)
        self.build("g", keys, "--fpr", "1e-4")
        self.assertNotEqual(self.read("f"), self.read("g"))  # the seed matters
        self.expect(["query", "f"], stdin=keys, out=keys)

    def test_load(self):
        self.write("keys", lines(b"key", 30000))
        for options in ([], ["--capacity", "30000"], ["--threads", "2"],
                        ["--max-capacity", "60000"]):
            for load in (0.5, 0.8, 0.95):
                self.expect(["build", "-o", "f", "--bits", "12", "--load", str(load), *options,
                             "keys"])
                told = self.info("f")
                self.assertEqual(told["keys"], 30000)
                self.assertAlmostEqual(told["load_factor"], load, delta=0.002)
                self.assertLess(told["capacity"], 30050)
                self.expect(["verify", "f", "keys"])

    def test_counted_and_given_capacity_find_the_same(self):
        self.write("keys", lines(b"key", 50000))
        self.expect(["build", "-o", "counted", "keys"])
        self.expect(["build", "-o", "given", "--capacity", "50000", "keys"])
        self.build("piped", self.read("keys"))
        self.assertEqual(self.read("counted"), self.read("piped"))
        self.expect(["build", "-o", "threads", "--threads", "3", "keys"])
        self.assertEqual(self.read("counted"), self.read("threads"))
        # Built of keys that came one by one, so its fingerprints lie elsewhere.
        for file in ("counted", "given"):
            info = self.info(file)
            self.assertEqual(info["keys"], 50000)
            self.assertGreaterEqual(info["capacity"], 50000)
            self.assertLessEqual(info["expected_fpr"], 0.01)
            self.expect(["verify", file, "keys"])
        self.assertEqual(self.info("counted")["capacity"], self.info("given")["capacity"])

    def test_no_keys(self):
        self.build("f", b"")
        info = self.info("f")
        self.assertEqual((info["keys"], info["bits_per_key"], info["expected_fpr"]), (0, None, 0))
        self.expect(["query", "f"], 1, stdin=b"a\n\n")
        self.expect(["query", "f"], 1)

    def test_copies(self):
        for bits, most in ((8, 8), (12, 8), (16, 10)):
            options = ["-o", "f", "--bits", str(bits), "--capacity", "9999"]
            self.expect(["build", *options], stdin=b"again\n" * 30 + b"once\n")
            self.assertEqual(self.info("f")["keys"], 2)
            status, out, err = self.run_command("build", "--copies", *options,
                                                stdin=b"again\n" * 30 + b"once\n")
            self.assertEqual((status, out), (0, b""))
            self.assertEqual(err, b"nestline: f: %d lines were further copies of keys that have "
                             b"the most copies already, or no room for one more; they are still found; to know which, build "
                             b"from no lines with --capacity, then nestline add --copies "
                             b"--left-out\n"
                             % (30 - most))
            self.assertEqual(self.info("f")["keys"], most + 1)
            self.expect(["query", "f"], stdin=b"again\nonce\n", out=b"again\nonce\n")

    def test_copies_leave_room_for_other_keys(self):
        # Eight copies of each key take all the slots that it shares with others, so not all copies
        # fit. Every key must be stored, whatever the order.
        grouped = b"".join(line * 8 for line in lines(b"k", 1000).splitlines(keepends=True))
        for keys in (grouped, lines(b"k", 1000) * 8):
            status, out, err = self.run_command("build", "--copies", "-o", "f", stdin=keys)
            self.assertEqual((status, out), (0, b""))
            self.assertIn(b"further copies", err)
            self.assertGreater(self.info("f")["keys"], 2000)
            self.expect(["verify", "f", "-"], stdin=lines(b"k", 1000))
            status, _, err = self.run_command("add", "--copies", "f", stdin=b"k-1\n" * 8)
            self.assertEqual(status, 0, err)

    def test_a_list_with_repeated_lines_is_a_set(self):
        # Each line about 2.5 times, in no order. Built in all ways, added and removed, from several
        # inputs too: as if each line were there once.
        words = random.Random(7).choices(lines(b"id", 20000).splitlines(keepends=True), k=50000)
        self.write("list", b"".join(words))
        different = list(dict.fromkeys(words))
        self.write("once", b"".join(different))
        for number, options in enumerate(([], ["--capacity", "30000"], ["--threads", "2"],
                                          ["--capacity", "1000", "--max-capacity", "30000"])):
            file = "f%d" % number
            self.expect(["build", "-o", file, *options, "list"])
            self.assertEqual(self.info(file)["keys"], len(different))
            self.expect(["build", "-o", "g", *options, "once"])
            self.assertEqual(self.read(file), self.read("g"))
            self.expect(["verify", file, "list"])
            self.expect(["remove", file, "list", "list"])
            self.assertEqual(self.info(file)["keys"], 0)
        self.build("f", lines(b"other", 9000), "--capacity", "60000")
        self.expect(["add", "f", "list", "once"])
        self.assertEqual(self.info("f")["keys"], 9000 + len(different))
        self.expect(["remove", "f", "list"])
        self.assertEqual(self.info("f")["keys"], 9000)
        self.expect(["verify", "f", "-"], stdin=lines(b"other", 9000))
        # An add of what is there already is one more copy, as a second list is to be removed alone.
        self.expect(["add", "f", "list"])
        self.expect(["add", "f", "list"])
        self.expect(["remove", "f", "list"])
        self.expect(["verify", "f", "list"])
        self.expect_error(["build", "-o", "small", "--capacity", "9000", "list"],
                          b"--capacity of at least %d\n" % len(different))

    def test_repeated_lines_take_no_longer(self):
        seconds = []
        for ids in (500000, 50000):
            draw = random.Random(7)
            words = (range(ids) if ids == 500000 else (draw.randrange(ids) for _ in range(500000)))
            self.write("list", b"".join(b"id=%09d GET\n" % i for i in words))
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            self.expect(["build", "-o", "f", "list"])
            seconds.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
        self.assertLess(seconds[1], 2 * seconds[0] + 0.2)

    def test_repeated_lines_are_counted_only(self):
        # The copies fill the filter at once; then each further copy would need a long search for room.
        keys = lines(b"k", 600)
        seconds = []
        for repeats in (12, 120):
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            status, _, err = self.run_command("build", "--copies", "-o", "f", "--capacity", "5000",
                                              stdin=keys * repeats)
            seconds.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
            self.assertEqual(status, 0, err)
            left_out = 600 * repeats - self.info("f")["keys"]
            self.assertGreater(left_out, 600 * (repeats - 8))
            self.assertIn(b"nestline: f: %d lines were further copies of keys that have the most "
                          b"copies already, or no room for one more; they are still found" % left_out, err)
            self.expect(["verify", "f", "-"], stdin=keys)
        self.assertLess(seconds[1], 4 * seconds[0] + 0.5)

    def test_full(self):
        self.write("f", b"precious")
        self.write("keys", lines(b"key", 1000))
        self.expect_error(["build", "-o", "f", "--capacity", "10", "keys"],
                          b"nestline: f: full after ",
                          b" keys; build it again with a --capacity of at least 1000\n")
        self.expect_error(["build", "-o", "f", "--capacity", "10"], b"nestline: f: full after ",
                          b"larger --capacity", stdin=lines(b"key", 1000))
        self.assertEqual(self.read("f"), b"precious")
        self.assertEqual(sorted(os.listdir(self.folder)), ["f", "keys"])
        self.expect(["build", "-o", "f", "--capacity", "1000", "keys"])

    def test_targets(self):
        self.write("f", b"anything\n")
        self.expect(["build", "-o", "f"], stdin=b"anything\n")  # whatever was there
        self.expect(["query", "f"], stdin=b"anything\n", out=b"anything\n")
        os.mkdir(self.path("folder"))
        self.expect_error(["build", "-o", "folder"], b"nestline: folder: Is a directory")
        # A pipe gets the same bytes, and a device stays one.
        self.expect(["build", "-o", "/dev/stdout"], out=self.read("f"), stdin=b"anything\n")
        self.expect(["build", "-o", "/dev/null"], stdin=b"a\n")
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))
        self.expect_error(["build", "-o", "/dev/full"], b"nestline: /dev/full: No space left")
        os.symlink("f", self.path("link"))
        self.build("link", b"through\n")
        self.assertTrue(os.path.islink(self.path("link")))
        self.expect(["query", "f"], stdin=b"through\n", out=b"through\n")
        self.expect_error(["build", "-o", "none/f"], b"nestline: none/f: ", b"No such file")

    def test_limited_size_of_files(self):
        limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))}
        self.expect_error(["build", "-o", "f", "--capacity", "100000"],
                          b"nestline: f: File too large", stdin=b"a\n", **limit)
        self.assertEqual(os.listdir(self.folder), [])

    def test_not_enough_memory(self):
        # 54 TiB, with a limit below that: without one the system might grant it on paper. A sanitizer
        # itself needs some 20 TiB of address space.
        limit = 40 * 2**40
        self.expect_error(
            ["build", "-o", "f", "--capacity", str(2**45), "--bits", "12"],
            b"nestline: f: not enough memory for a filter of 35184372088832 keys; give a smaller ",
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.expect_error(["build", "-o", "f", "--capacity", str(2**53)], b"nestline: --capacity ",
                          b"see nestline build --help\n")

    def test_forbidden(self):
        options = self.as_nobody()
        self.build("f", b"a\n")
        self.build("secret", b"a\n")
        self.build("open", b"a\n")
        os.chmod(self.path("open"), 0o666)
        os.chmod(self.path("f"), 0o444)
        os.chmod(self.path("secret"), 0)
        os.chmod(self.folder, 0o555)
        self.addCleanup(os.chmod, self.folder, 0o755)
        before = self.read("f")
        for arguments, name in [
            (["query", "secret"], b"secret"),
            (["query", "f", "secret"], b"secret"),
            (["build", "-o", "f"], b"f"),
            (["build", "-o", "new"], b"new: cannot write in ."),
            (["add", "f"], b"f"),
            (["remove", "f"], b"f"),
            # The file itself may be written, but not replaced.
            (["add", "open"], b"open: cannot write in ."),
            (["remove", "open"], b"open: cannot write in ."),
            (["uniq", "--state", "new"], b"new: cannot write in ."),
        ]:
            self.expect_error(arguments, b"nestline: %s: Permission denied\n" % name,
                              stdin=b"a\n", **options)
        self.assertEqual(self.read("f"), before)
        self.assertEqual(self.read("open"), before)
        self.assertEqual(sorted(os.listdir(self.folder)), ["f", "open", "secret"])


if __name__ == "__main__":
    unittest.main()
