"""End-to-end tests of the nestline command: query, add, remove, info, verify, and the terminal.

Run by command_test.py.
"""

import fcntl
import os
import pathlib
import pty
import random
import resource
import select
import signal
import struct
import subprocess
import sys
import termios
import time

from command_harness import PATIENCE, CommandTest, lines

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "filters" / "file"))
from xxh3 import xxh3_64  # noqa: E402


class Query(CommandTest):
    def test_agrees_with_grep(self):
        # Every third of 30000 lines is in the filter; grep -Fx finds which these are.
        text = lines(b"line", 30000)
        held = b"".join(text.splitlines(keepends=True)[::3])
        self.write("held", held)
        self.write("text", text)
        self.build("f", held, "--fpr", "0.001")

        def grep(*options):
            done = subprocess.run(["grep", *options, "-Fxf", "held", "text"], cwd=self.folder,
                                  env={**os.environ, "LC_ALL": "C"}, capture_output=True)
            return done.stdout.splitlines()

        found, not_found = grep(), set(grep("-v"))
        printed = self.output("query", "f", "text").splitlines()
        # In order, every line that grep finds, and few others: 20 are expected, 60 do not happen.
        self.assertEqual([line for line in printed if line not in not_found], found)
        self.assertLessEqual(len(printed) - len(found), 60)

        others = self.output("query", "-v", "f", "text").splitlines()
        self.assertEqual(set(others) - not_found, set())  # no false negative
        self.assertEqual(len(others) + len(printed), 30000)
        self.assertEqual(others, sorted(others, key=lambda line: int(line[5:])))

        self.expect(["query", "f", "-c", "text"], out=b"%d\n" % len(printed))
        self.expect(["query", "-vc", "f", "text", "text"], out=b"%d\n" % (2 * len(others)))

    def test_status(self):
        self.build("f", b"a\nb\n", "--bits", "16")
        self.expect(["query", "f"], 0, b"b\n", stdin=b"b")
        self.expect(["query", "f"], 1, stdin=b"c\n")
        self.expect(["query", "f", "-v"], 1, stdin=b"a\nb\n")
        self.expect(["query", "f", "-v"], 0, b"c\nd\n", stdin=b"a\nc\nb\nd")
        self.expect(["query", "f", "-c"], 0, b"2\n", stdin=b"a\nb\nc")
        self.expect(["query", "f", "-c"], 1, b"0\n", stdin=b"c\n")
        self.expect(["query", "f", "-v", "-c"], 1, b"0\n", stdin=b"a\n")
        self.expect_error(["query", "missing"], b"nestline: missing: No such file")

    def test_output_that_cannot_be_written(self):
        self.build("f", b"a\n")
        message = b"nestline: standard output: No space left on device\n"
        with open("/dev/full", "wb") as full:
            for arguments in (["query", "f"], ["query", "f", "-c"], ["info", "f"], ["--help"]):
                status, _, err = self.run_command(*arguments, stdin=b"a\n" * 99999, stdout=full)
                self.assertEqual((status, err), (2, message))
        status, _, err = self.run_command("query", "f", stdin=b"a\n", stdout=subprocess.DEVNULL,
                                          preexec_fn=lambda: os.close(1))
        self.assertEqual((status, err), (2, b"nestline: standard output: Bad file descriptor\n"))

    def test_output_that_is_its_own_input(self):
        # Without an end; here until a limit.
        limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))}
        own = b"this input is also the output, and is not read\n"
        self.build("f", b"a\n", "--bits", "16")
        self.write("other", b"1\n2\n")
        os.link(self.path("other"), self.path("linked"))
        with open(self.path("other"), "ab") as out, open(self.path("other"), "rb") as again:
            for arguments, stdin, name in [
                (["query", "-v", "f", "other"], b"", b"other"),
                (["query", "-v", "f", "linked"], b"", b"linked"),
                (["query", "-v", "f"], again.fileno(), b"standard input"),
                (["uniq", "--window", "1", "other"], b"", b"other"),
                (["uniq", "--window", "1", "-"], again.fileno(), b"standard input"),
            ]:
                self.expect(arguments, 2, None, b"nestline: %s: %s" % (name, own), stdin=stdin,
                            stdout=out, **limit)
        self.assertEqual(self.read("other"), b"1\n2\n")
        with open(self.path("other"), "ab") as err, self.start(
                "verify", "f", "other", stderr=err, **limit) as process:
            self.assertEqual(process.wait(PATIENCE), 2)
        self.assertEqual(self.read("other"), b"1\n2\nnestline: other: " + own)
        # The other inputs are read. What is printed before is not read again.
        self.write("list", b"b\nc\n")
        with open(self.path("out"), "ab") as out, open(self.path("out"), "rb") as again:
            self.expect(["uniq", "--window", "1", "list", "out", "-", "list"], 2, None,
                        b"nestline: out: " + own + b"nestline: standard input: " + own,
                        stdin=again.fileno(), stdout=out, **limit)
        self.assertEqual(self.read("out"), b"b\nc\n" * 2)
        # These end.
        for target, written in (("none", b""), ("/dev/null", b""), ("list", b"b\nc\n2\n")):
            if target == "none":
                self.write(target, b"")
            with open(self.path(target), "ab") as out, open(self.path(target), "rb") as again:
                count = ["-c"] if written else []
                self.expect(["query", "-v", *count, "f"], 0 if written else 1, None,
                            stdin=again.fileno(), stdout=out)
            self.assertEqual(self.read(target), written)

    def test_reader_that_leaves(self):
        self.write("keys", lines(b"key", 200000))
        self.expect(["build", "-o", "f", "keys"])
        for ignore in (False, True):  # a caller that ignores SIGPIPE changes nothing
            with self.start(
                "query", "f", "keys", restore_signals=False,
                preexec_fn=lambda: signal.signal(
                    signal.SIGPIPE, signal.SIG_IGN if ignore else signal.SIG_DFL),
            ) as process:
                self.assertEqual(process.stdout.readline(), b"key-0\n")
                process.stdout.close()
                self.assertEqual(process.wait(PATIENCE), -signal.SIGPIPE)
                self.assertEqual(process.stderr.read(), b"")


class Edit(CommandTest):
    def test_add_then_remove(self):
        first, second = lines(b"first", 2000), lines(b"second", 1500)
        self.build("f", first, "--capacity", "4000", "--bits", "16")
        self.expect(["add", "f"], stdin=second)
        self.assertEqual(self.info("f")["keys"], 3500)
        self.expect(["query", "f"], stdin=first + second, out=first + second)
        self.write("first", first)
        self.expect(["remove", "f", "first"])
        self.assertEqual(self.info("f")["keys"], 1500)
        self.expect(["query", "f"], stdin=second, out=second)
        self.expect(["query", "f", "-c"], 1, b"0\n", stdin=first[: len(first) // 50])
        self.expect(["remove", "f"], stdin=second)
        self.assertEqual(self.info("f")["keys"], 0)
        # With nothing to do, the file stays unchanged.
        before = os.stat(self.path("f"))
        self.expect(["add", "f"])
        self.expect(["remove", "f"])
        self.assertEqual(os.stat(self.path("f")).st_ino, before.st_ino)

    def test_copies(self):
        self.build("f", b"a\n" * 3, "--copies", "--capacity", "9999", "--bits", "16")
        status, _, err = self.run_command("add", "--copies", "f", stdin=b"a\n" * 8)
        self.assertEqual(status, 0)
        self.assertEqual(err, b"nestline: f: 1 line was a further copy of a key that has the most "
                         b"copies already, or no room for one more; it is still found; to know which, use --left-out\n")
        self.assertEqual(self.info("f")["keys"], 10)
        self.expect(["remove", "--copies", "f"], stdin=b"a\n" * 8)
        self.expect(["remove", "f"], stdin=b"a\n" * 9)
        self.expect(["query", "f"], stdin=b"a\n", out=b"a\n")
        self.expect(["remove", "--copies", "f"], 1, b"", b"nestline: f: 1 of 2 lines were not in the filter; "
                    b"nothing was removed for them\n", stdin=b"a\na\n")
        self.expect(["query", "f"], 1, stdin=b"a\n")

    def test_an_add_that_leaves_lines_out_can_be_undone(self):
        # The lines occur as often as a filter can hold, but some look the same as others.
        others = lines(b"other", 100000)
        self.write("others", others)
        for bits, end, options in (("8", b"\n", []), ("12", b"\0", ["-z"]),
                                   ("8", b"\r\n", ["--max-capacity", "1000000"])):
            zero = [option for option in options if option == "-z"]
            self.expect(["build", "-o", "f", "--bits", bits, "--capacity", "120000",
                         *[option for option in options if option != "-z"], "others"])
            added = end.join(lines(b"added", 1000).split()) + end
            text = added * 8 + b"added-0"  # without an end
            self.write("text", text)
            status, out, err = self.run_command("add", "--copies", "f", *zero, "--left-out",
                                                "rest", "text")
            self.assertEqual((status, out), (0, b""))
            self.assertRegex(err, rb"\Anestline: f: \d+ lines were further copies [^\n]* found\n\Z")
            rest = self.read("rest").replace(b"\r", b"").split(end[-1:])[:-1]
            self.assertEqual(self.info("f")["keys"], 100000 + 8001 - len(rest))
            self.assertGreater(len(rest), 0)
            self.assertIn(b"added-0", rest)
            self.expect(["verify", "f", *zero, "text"])
            self.expect(["remove", "--copies", "f", *zero, "--left-out", "rest", "text"])
            self.assertEqual(self.info("f")["keys"], 100000)
            self.expect(["verify", "f", "others"])

    def test_what_a_later_add_left_out_is_added_again_after_an_earlier_one_is_removed(self):
        self.build("f", b"", "--capacity", "1000", "--bits", "8")
        self.write("first", b"a\n" * 8)
        self.write("second", b"a\nb\n")
        for number, rest in (("first", b""), ("second", b"a\n")):
            self.run_command("add", "--copies", "f", "--left-out", number + ".rest", number)
            self.assertEqual(self.read(number + ".rest"), rest)
        self.expect(["remove", "--copies", "f", "--left-out", "first.rest", "first"])
        self.expect(["query", "f", "second"], out=b"b\n")
        self.expect(["add", "f", "--left-out", "again.rest", "second.rest"])
        self.expect(["verify", "f", "second"])
        self.expect(["remove", "f", "--left-out", "again.rest", "second"])
        self.assertEqual(self.info("f")["keys"], 0)

    def test_files_of_lines_that_are_left_out(self):
        self.build("f", b"a\n", "--capacity", "100")
        self.write("keys", b"b\n" * 10)
        before = self.read("f")
        for arguments, message in [
            (["add", "--left-out", "f"], b"--left-out takes the name of a file"),
            (["remove", "--left-out", "./f"], b"--left-out takes the name of a file"),
            (["add", "--left-out", "-"], b"--left-out takes the name of a file"),
            (["remove", "--left-out", ""], b"--left-out takes the name of a file"),
            (["add", "--left-out", "."], b"nestline: .: Is a directory"),
            (["remove", "--left-out", "."], b"nestline: .: Is a directory"),
            (["add", "--left-out", "none/rest"], b"nestline: none/rest: "),
            (["remove", "--left-out", "none"], b"nestline: none: No such file"),
            (["add", "--left-out", "./keys"], b"--left-out takes another file than INPUT"),
            (["remove", "--left-out", "keys"], b"--left-out takes another file than INPUT"),
            (["add", "--copies", "--left-out", "/dev/full"], b"nestline: /dev/full: No space left on device"),
        ]:
            self.expect_error([*arguments, "f", "keys"], message)
            self.assertEqual(self.read("f"), before)
            self.assertEqual(self.read("keys"), b"b\n" * 10)
        # Nothing is written when the add fails, and an empty file when nothing is left out.
        self.write("many", lines(b"key", 9000))
        self.expect_error(["add", "f", "--left-out", "rest", "many"], b"full after")
        self.assertFalse(os.path.exists(self.path("rest")))
        self.expect(["add", "f", "--left-out", "rest"], stdin=b"b\n")
        self.assertEqual(self.read("rest"), b"")
        self.expect(["remove", "f", "--left-out", "rest"], stdin=b"b\n")
        self.expect(["remove", "f", "--left-out", "keys"], stdin=b"b\n" * 11)
        self.expect(["remove", "--copies", "f", "--left-out", "keys"], stdin=b"b\n" * 11, status=1,
                    err=b"nestline: f: 1 of 1 lines were not in the filter; nothing was removed "
                        b"for them\n")

    def test_full_leaves_the_file_alone(self):
        self.build("f", lines(b"key", 40), "--capacity", "40")
        self.write("more", lines(b"more", 2000))
        before = self.read("f")
        self.expect_error(["add", "f", "more"], b"nestline: f: full after ", b" of the new keys; "
                          b"the file is unchanged", b"--capacity or --max-capacity of at least 2040\n")
        self.expect_error(["add", "f"], b"larger --capacity or --max-capacity", stdin=lines(b"more", 2000))
        self.assertEqual(self.read("f"), before)
        self.assertEqual(sorted(os.listdir(self.folder)), ["f", "more"])

    def test_changes_at_the_same_time_are_all_kept(self):
        self.build("f", b"", "--capacity", "1000")
        keys = [lines(b"editor%d" % i, 50) for i in range(8)]
        for command, count in (("add", 400), ("remove", 0)):
            editors = [self.start(command, "f", stdout=None, stderr=None) for _ in keys]
            for editor, own in zip(editors, keys):
                editor.stdin.write(own)
                editor.stdin.close()
            for editor in editors:
                self.assertEqual(editor.wait(PATIENCE), 0)
            self.assertEqual(self.info("f")["keys"], count)
            if command == "add":
                self.expect(["query", "f"], stdin=b"".join(keys), out=b"".join(keys))

    def test_missing_file(self):
        for command in ("add", "remove"):
            self.expect_error([command, "missing"], b"nestline: missing: No such file")
        self.assertEqual(os.listdir(self.folder), [])


class Info(CommandTest):
    def test_json_and_table(self):
        self.build("f", lines(b"key", 5000), "--capacity", "6000", "--bits", "12", "--seed", "7")
        info = self.info("f")
        self.assertEqual(list(info), ["keys", "capacity", "load_factor", "bits", "memory_bytes",
                                      "bits_per_key", "expected_fpr", "seed", "file_bytes",
                                      "doublings", "max_capacity", "turns_over", "key_kinds",
                                      "advice"])
        self.assertEqual((info["keys"], info["bits"], info["seed"]), (5000, 12, 7))
        self.assertEqual(info["file_bytes"], os.path.getsize(self.path("f")))
        self.assertTrue(6000 <= info["capacity"] < 7000)
        self.assertTrue(0.7 < info["load_factor"] < 0.9)
        self.assertTrue(info["file_bytes"] - 8192 <= info["memory_bytes"] <= info["file_bytes"])
        self.assertAlmostEqual(info["bits_per_key"], 8 * info["memory_bytes"] / 5000)
        self.assertTrue(0.0005 < info["expected_fpr"] < 0.002)
        table = dict(line.split(b"  ", 1) for line in self.output("info", "f").splitlines())
        for name, value in ((b"keys", b"5000"), (b"seed", b"7"), (b"grows by itself up to", b"-"),
                            (b"turns over", b"no"),
                            (b"load", b"%.1f %%" % (100 * info["load_factor"]))):
            self.assertEqual(table[name].strip(), value, name)
        self.expect_error(["info", "missing"], b"nestline: missing: No such file")

    def test_kinds_of_keys(self):
        def name(file, kinds):
            bytes_ = self.read(file)
            header = bytes_[:36] + kinds.to_bytes(4, "little") + bytes_[40:4088]
            whole = header + xxh3_64(header).to_bytes(8, "little") + bytes_[4096:]
            self.write(file, whole)

        keys, more = lines(b"key", 500), lines(b"more", 400)
        for file, own in (("f", keys), ("g", more), ("h", more)):
            self.build(file, own, "--capacity", "1000")
        self.assertEqual(self.info("f")["key_kinds"], "")
        self.assertNotIn(b"kinds of keys", self.output("info", "f"))
        name("f", 1 << 4)
        name("g", 1 << 10 | 2 << 16)
        self.assertEqual(self.info("f")["key_kinds"], "date")
        self.assertRegex(self.output("info", "f"), rb"\nkinds of keys +date\n")
        before = self.read("f")
        for verb in ("add", "remove", "query"):  # no line is a date
            self.expect_error([verb, "f"], b"f: it was built in a database of keys of kind date", stdin=more)
        self.write("keys", keys)
        self.expect_error(["verify", "f", "keys"], b"of kind date, and lines are text")
        self.expect(["verify", "f"])
        self.assertEqual(self.read("f"), before)
        name("h", 1 << 1)
        self.expect(["add", "h"], stdin=keys)
        self.expect(["query", "h"], stdin=keys, out=keys)
        self.expect(["remove", "h"], stdin=keys)
        self.assertEqual(self.info("h")["key_kinds"], "text")
        self.output("merge", "-o", "both", "f", "g")
        self.assertEqual(self.info("both")["key_kinds"], "date, row of (text)")
        name("h", 0)
        self.output("merge", "-o", "both", "f", "h")
        self.assertEqual(self.info("both")["key_kinds"], "")
        self.expect(["query", "both"], stdin=keys + more, out=keys + more)
        name("f", 1 << 31)
        self.expect_error(["query", "f"], b"kinds of keys that this library does not know; use a newer nestline")

    def test_filters_that_turn_over(self):
        keys, more = lines(b"key", 20000), lines(b"more", 10000)
        for options in ([], ["--capacity", "20000"], ["--threads", "2"]):
            self.build("f", keys, "--turns-over", *options)
            self.assertIs(self.info("f")["turns_over"], True)
            self.assertIn(b"\nturns over ", self.output("info", "f"))
            self.expect(["remove", "f"], stdin=lines(b"key", 10000))
            self.expect(["add", "f"], stdin=more)
            self.assertIs(self.info("f")["turns_over"], True)
            self.expect(["verify", "f", "-"], stdin=more + keys[len(lines(b"key", 10000)):])
            self.assertEqual(int.from_bytes(self.read("f")[16:20], "little"), 4)
        self.build("small", lines(b"key", 100), "--turns-over")
        self.assertIs(self.info("small")["turns_over"], False)
        self.build("plain", keys)
        self.assertIs(self.info("plain")["turns_over"], False)
        self.expect_error(["merge", "-o", "new", "f", "plain"], b"hash version")


class Verify(CommandTest):
    def test_keys(self):
        keys = lines(b"key", 3000)
        self.build("f", keys, "--bits", "16")
        self.write("keys", keys)
        self.expect(["verify", "f"])
        self.expect(["verify", "f", "keys"])
        self.expect(["verify", "f", "keys", "-"], 1, b"", b"missing\r\n\nlost\n",
                    stdin=b"missing\r\nkey-7\n\nlost")
        self.expect_error(["verify", "missing"], b"nestline: missing: No such file")


class Damage(CommandTest):
    def test_every_command_refuses_other_files(self):
        self.build("good", lines(b"key", 1000))
        good = self.read("good")
        os.mkdir(self.path("folder"))
        for name, content in [
            ("empty", b""),
            ("text", b"this is a list of words\n" * 1000),
            ("truncated", good[:-1]),
            ("short", good[:20]),
            ("longer", good + b"\0"),
            ("header", bytes([good[0] ^ 1]) + good[1:]),
        ]:
            self.write(name, content)
            for command in ("query", "add", "remove", "info", "verify"):
                with self.subTest(name=name, command=command):
                    self.expect_error([command, name], b"nestline: %s: at byte " % name.encode(),
                                      stdin=b"key-1\n")
                    self.assertEqual(self.read(name), content)
        for command in ("query", "add", "remove", "info", "verify"):
            self.expect_error([command, "folder"], b"nestline: folder: ")

    def test_blocks_are_checked_by_all_that_read_them_whole(self):
        self.build("good", lines(b"key", 50000))
        good = self.read("good")
        place = len(good) // 2  # far after the header
        self.write("f", good[:place] + bytes([good[place] ^ 0x10]) + good[place + 1:])
        before = self.read("f")
        self.assertEqual(self.run_command("info", "f")[0], 0)
        self.write("other", good)
        for arguments in (["verify", "f"], ["add", "f"], ["remove", "f"], ["query", "f"],
                          ["query", "-v", "f"], ["query", "-c", "f"],
                          ["merge", "-o", "new", "other", "f"]):
            self.expect_error(arguments, b"nestline: f: at byte ",
                              b"do not match their checksum; copy the file again or restore it\n",
                              stdin=b"key-1\n")
        self.assertEqual(self.read("f"), before)

    def test_query_refuses_every_flipped_bit(self):
        # At random: some in the file, and some in each part of the header, the blocks and the
        # checksums. The error comes before any output, even if the line would be found. Checksums
        # are those of bytes of any width.
        random.seed(11)
        for bits in (8, 9, 16):
            keys = lines(b"key", 2000)
            self.build("good", keys, "--bits", str(bits))
            good = self.read("good")
            places = [random.randrange(len(good)) for _ in range(20)]
            places += [random.randrange(80) for _ in range(5)]
            places += [random.randrange(4088, 4096) for _ in range(5)]
            places += [4096 + 64 * random.randrange(10) + 60 for _ in range(5)]
            places += [len(good) - 16 + random.randrange(16) for _ in range(5)]
            for place in places:
                flipped = bytearray(good)
                flipped[place] ^= 1 << random.randrange(8)
                self.write("f", flipped)
                with self.subTest(bits=bits, place=place):
                    self.expect_error(["query", "f"], b"nestline: f: at byte ", stdin=keys)


class Terminal(CommandTest):
    def run_on_terminal(self, arguments, work, columns=100, output_too=False):
        """Runs with a terminal as standard error; returns the status and the text written there."""
        master, slave = pty.openpty()
        self.master = master
        self.addCleanup(os.close, master)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        with self.start(*arguments, stdout=slave if output_too else subprocess.PIPE,
                        stderr=slave) as process:
            work(process)
            process.stdin.close()
            if not output_too:
                process.stdout.read()
            status = process.wait(PATIENCE)
        os.close(slave)
        seen = b""
        try:
            while piece := os.read(master, 65536):
                seen += piece
        except OSError:  # how Linux ends a terminal that no process has open any more
            pass
        return status, seen

    def is_written_to(self):
        """Whether the terminal has received anything."""
        return bool(select.select([self.master], [], [], 0)[0])

    def screens(self, seen, columns):
        """The states of the terminal's only line; none may be longer than the terminal is wide."""
        states = [state.rstrip() for state in seen.split(b"\r")]
        self.assertLess(max(len(state) for state in states), columns)
        return [state.decode() for state in states if state]

    def feed(self, process, lines):
        """Sends line by line, until the terminal is written to or none is left; returns how many."""
        count = 0
        for line in lines:
            if self.is_written_to():
                break
            time.sleep(0.05)
            process.stdin.write(line)
            process.stdin.flush()
            count += 1
        return count

    def slowly(self, process):
        """Reads the output bit by bit until the bar appears. The command has to wait meanwhile, since
        its pipe is full. After half of the output, three seconds of waiting are over."""
        size, length = os.path.getsize(self.path("keys")), 0
        while length < size / 2 and not self.is_written_to():
            time.sleep(0.05)
            length += len(process.stdout.read(size // 120))
        self.assertEqual(length + len(process.stdout.read()), size)

    def test_bar_over_files(self):
        self.write("keys", lines(b"key", 300000))
        self.expect(["build", "-o", "f", "keys"])
        for columns, bar in ((100, "[#"), (60, ""), (20, "")):
            status, seen = self.run_on_terminal(["query", "f", "keys"], self.slowly, columns)
            self.assertEqual(status, 0)
            states = self.screens(seen, columns)
            self.assertRegex(states[-1], r"^query +\d+% ")
            self.assertIn(bar, states[-1])
            if columns == 100:
                self.assertRegex(states[-1], r"% \[#+-*\] [\d.]+ MB of [\d.]+ MB, "
                                 r"[\d.]+ [kM]? ?lines/s, \d+:\d\d left$")
            # Erased at the end: spaces over all the text, and back to the left margin. The last text
            # may itself have ended in spaces, cut off by the margin.
            self.assertRegex(seen, rb"\r {%d,%d}\r\Z" % (len(states[-1]), columns))

    def test_no_size_and_then_a_summary(self):
        def work(process):
            keys = lines(b"key", 1001).splitlines(keepends=True)
            process.stdin.write(b"".join(keys[:500]))
            at = 500 + self.feed(process, keys[500:1000])
            process.stdin.write(b"".join(keys[at:]))

        status, seen = self.run_on_terminal(["build", "-o", "f"], work, 300)
        self.assertEqual(status, 0)
        states = self.screens(seen, 300)
        self.assertRegex(states[0], r"^build +[\d.]+ kB, [\d.]+ k? ?lines/s$")
        self.assertRegex(states[-1], r"^nestline: f: 1\.0 k keys, [\d.]+ kB, [\d.]+ bits per "
                         r"key, expected false-positive rate 0?\.?\d")

    def test_no_bar_between_printed_lines(self):
        def work(process):
            for _ in range(2):
                time.sleep(0.55)
                process.stdin.write(b"a\n")
                process.stdin.flush()

        self.build("f", b"a\n")
        status, seen = self.run_on_terminal(["query", "f"], work, output_too=True)
        self.assertEqual((status, seen), (0, b"a\r\na\r\n"))

        count = 0

        def work_until_drawn(process):
            nonlocal count
            count = self.feed(process, [b"a\n"] * 1000)

        status, seen = self.run_on_terminal(["query", "f", "-c"], work_until_drawn, output_too=True)
        self.assertEqual(status, 0)
        self.assertRegex(seen, rb"\A\rquery  [^\n]*\r {20,}\r%d\r\n\Z" % count)

    def test_short_work_shows_no_bar(self):
        self.build("f", b"a\n", "--bits", "16")
        status, seen = self.run_on_terminal(["query", "f"],
                                            lambda process: process.stdin.write(b"a\n"))
        self.assertEqual((status, seen), (0, b""))
        # A message comes after the bar is erased, so the bar does not hide it.
        self.write("keys", b"a\n")
        status, seen = self.run_on_terminal(["query", "f", "keys", "gone"], lambda process: None)
        self.assertEqual((status, seen), (2, b"nestline: gone: No such file or directory\r\n"))
