"""End-to-end tests of nestline uniq. Run by command_test.py.

Inputs and seeds are fixed, so false positives are the same each time. Where an exact answer is
compared, the rate is so low that there is none.
"""

import collections
import itertools
import os
import random
import re
import resource
import select
import signal
import subprocess
import time

from command_harness import PATIENCE, CommandTest, lines

EXACT = ("--fpr", "0.000001")
OTHERS = b"; leave the option out, or begin another state\n"


def awk(text):
    """The lines that awk '!seen[$0]++' prints."""
    return b"".join(dict.fromkeys(text.splitlines(keepends=True)))


def windowed(items, window):
    """Two lists: items that are not among the last `window` of the first list, and the others."""
    last, held, fresh, others = collections.deque(), set(), [], []
    for item in items:
        if item in held:
            others.append(item)
            continue
        fresh.append(item)
        held.add(item)
        last.append(item)
        if len(last) > window:
            held.remove(last.popleft())
    return fresh, others


def mixed(count, different, seed=1):
    """Lines of which many repeat, near and far."""
    chance = random.Random(seed)
    return b"".join(b"line %d\n" % int(different * chance.random() ** 2) for _ in range(count))


class UniqTest(CommandTest):
    def expect_lines(self, arguments, status=0, out=b"", err=b"", **options):
        """As expect; for a long output, a message has the first line that differs."""
        found = self.run_command("uniq", *arguments, **options)
        if found == (status, out, err):
            return
        self.assertEqual((found[0], found[2]), (status, err))
        printed, wanted = found[1].split(b"\n"), out.split(b"\n")
        at = sum(1 for _ in itertools.takewhile(lambda two: two[0] == two[1], zip(printed, wanted)))
        self.fail(f"{len(printed)} lines instead of {len(wanted)}; from line {at} on "
                  f"{printed[at:at + 3]} instead of {wanted[at:at + 3]}"[:1000])

    def expect_awk(self, *options):
        """With each of the options, all new lines are printed. Returns how many there are."""
        text = mixed(60000, 40000)
        self.write("text", text)
        for some in options:
            self.expect_lines([*some, "text"], out=awk(text))
            self.expect_lines(some, out=awk(text), stdin=text)
        return len(awk(text).splitlines())

    def expect_rates(self, rates, *options):
        """Repeated lines are never printed; of the new ones no more are missing than the rate says."""
        new = lines(b"a", 30000) + lines(b"b", 30000)
        self.write("text", lines(b"a", 30000) + new)
        for rate, some in itertools.product(rates, options):
            printed = self.output("uniq", "--fpr", rate, *some, "text").splitlines(keepends=True)
            self.assertEqual(len(set(printed)), len(printed))
            rest = iter(new.splitlines(keepends=True))
            self.assertTrue(all(line in rest for line in printed))  # in order
            self.assertLessEqual(60000 - len(printed), 60000 * float(rate) * 1.05 + 5)
        # Another seed errs on other lines.
        both = {self.output("uniq", "--fpr", "0.05", *options[-1], "--seed", seed, "text")
                for seed in ("0", "1")}
        self.assertEqual(len(both), 2)

    def expect_repeated(self, *options):
        self.expect_lines(["-d", *options], out=b"b\na\n", stdin=b"a\nb\nb\na\nb\nc\na\n")
        self.expect_lines(["-dc", *options], out=b"2\n", stdin=b"a\nb\nb\na\nb\nc\na\n")
        self.expect_lines(["-d", *options], 1, stdin=b"a\nb\n")

    def expect_full(self, options, most, instead, share):
        """The output ends where the capacity does, or, with two filters that err apart, up to that
        share of it later; up to `most`, the text has more lines."""
        text = lines(b"key", 5000) * 2 + lines(b"more", 5000)
        for capacity in (1, 100, 2048, 5000, most):
            status, out, err = self.run_command("uniq", *options, "--capacity", str(capacity),
                                                stdin=text)
            self.assertEqual((status, awk(text).startswith(out)), (2, True))
            self.assertTrue(0 <= len(out.splitlines()) - capacity <= capacity * share)
            self.assertEqual(err, b"nestline: there are more different lines than the capacity of "
                             b"%d; the output ends before the first of them; give a larger "
                             b"--capacity, or %s\n" % (capacity, instead))
        self.expect_lines([*options, "--capacity", "10000"], out=awk(text), stdin=text)

    def expect_to_continue(self, always, *options):
        """With each of the options, runs with a state print together what one run prints."""
        text = mixed(40000, 30000)
        items = text.splitlines(keepends=True)
        parts = [items[:1], items[1:9000], [], items[9000:9100], items[9100:33000], items[33000:]]
        self.assertEqual(sum(parts, []), items)
        for some in options:
            whole = self.run_command("uniq", *always, *some, stdin=text)[1]
            printed = b""
            for i, part in enumerate(parts):
                # Options that the state has may be left out, but for -d.
                given = [*always, *some] if i != 3 else ["-d"] if "-d" in some else []
                status, out, err = self.run_command("uniq", "--state", "s", *given,
                                                    stdin=b"".join(part))
                self.assertEqual((status, err), (0 if out else 1, b""))
                printed += out
            self.assertTrue(printed == whole, some)
            os.remove(self.path("s"))
        self.assertEqual(os.listdir(self.folder), [])

    def expect_refusals(self, *rows):
        """Rows of a state, options that it does not go on with, and why; the states stay as they are."""
        before = {name: self.read(name) for name, _, _ in rows}
        for name, arguments, part in rows:
            self.expect_error(["uniq", "--state", name, *arguments],
                              b"nestline: %s: %s" % (name.encode(), part), stdin=b"b\n")
        self.assertEqual({name: self.read(name) for name in before}, before)

    def expect_no_damage_missed(self, options, end, cuts=()):
        """Makes a state with numbers up to byte `end`, and damages those, the end, and other bytes."""
        self.run_command("uniq", "--state", "s", *options, stdin=lines(b"key", 400))
        good = self.read("s")
        chance = random.Random(5)
        places = [*range(3, end, 8), *range(len(good) - 20, len(good), 4)]
        places += [chance.randrange(len(good)) for _ in range(25)]
        for place in places:
            flipped = bytearray(good)
            flipped[place] ^= 1 << chance.randrange(8)
            self.write("s", bytes(flipped))
            with self.subTest(options=options, place=place):
                self.expect_error(["uniq", "--state", "s"],
                                  b"nestline: s: at byte ", stdin=b"key-1\n")
                self.assertEqual(self.read("s"), bytes(flipped))
        for damaged in (*(good[:cut] for cut in (-1, 50, 4, *cuts)), good + b"\0"):
            self.write("s", damaged)
            self.expect_error(["uniq", "--state", "s"], b"nestline: s: at byte ")
        os.remove(self.path("s"))


class Uniq(UniqTest):
    def test_agrees_with_awk(self):
        count = self.expect_awk(EXACT, (*EXACT, "--capacity", "40000"),
                                (*EXACT, "--window", "60000"))
        self.expect_lines(["-c", *EXACT, "text", "text"], out=b"%d\n" % count)
        done = subprocess.run(["awk", "!seen[$0]++", "text"], cwd=self.folder, capture_output=True)
        self.assertTrue(done.stdout == awk(self.read("text")))

    def test_rate(self):
        self.expect_rates(("0.05", "0.01", "0.001", "0.00005"),
                          ("--capacity", "60000"), ("--window", "60000"), ())

    def test_repeated(self):
        self.expect_repeated()
        text = mixed(60000, 30000)
        items = text.splitlines(keepends=True)
        for window in (60000, 700):
            repeated = windowed(windowed(items, window)[1], window)[0]
            self.assertGreater(len(repeated), 1500)
            self.expect_lines(["-d", *EXACT, "--window", str(window)], stdin=text,
                        out=b"".join(repeated))
        # In error both ways, each time at the rate.
        once, twice = lines(b"once", 40000), lines(b"twice", 40000)
        status, out, _ = self.run_command("uniq", "-d", "--fpr", "0.01", "--capacity", "80000",
                                          stdin=twice + once + twice)
        out = out.splitlines(keepends=True)
        wrong = sum(line.startswith(b"once") for line in out)
        self.assertEqual((status, len(set(out))), (0, len(out)))
        self.assertTrue(0 < wrong < 500, wrong)
        self.assertTrue(39500 < len(out) - wrong < 40000, len(out))

    def test_windows(self):
        text = mixed(30000, 3000)
        items = text.splitlines(keepends=True)
        for window in (1, 2, 5, 63, 400, 2047, 2048, 2049, 2500, 5000):
            fresh = b"".join(windowed(items, window)[0])
            self.expect_lines([*EXACT, "--window", str(window)], out=fresh, stdin=text)
        self.write("text", text)
        program = ("!($0 in seen) {print; seen[$0]; last[++n] = $0; "
                   "if (n > N) delete seen[last[n - N]]}")
        done = subprocess.run(["awk", program, "N=400", "text"], cwd=self.folder,
                              capture_output=True)
        self.assertTrue(done.stdout == b"".join(windowed(items, 400)[0]))
        # Round and round: nothing is left of a line once it is forgotten.
        around = lines(b"key", 3001) * 20
        self.expect_lines(["--fpr", "0.00001", "--window", "3000"], out=around, stdin=around)
        self.expect_lines(["--fpr", "0.00001", "--window", "3001"], out=lines(b"key", 3001),
                    stdin=around)
        # No seen line is printed at high rates either, however often everything is replaced.
        status, out, _ = self.run_command("uniq", "--fpr", "0.3", "--window", "500", stdin=text)
        self.assertEqual(status, 0)
        self.assertEqual(windowed(out.splitlines(), 500)[1], [])

    def test_lines_of_all_kinds(self):
        self.expect_lines([], 1)
        self.expect_lines([], out=b"\n", stdin=b"\n\n\n")
        self.expect_lines([], out=b"a\n", stdin=b"a")
        self.expect_lines([], out=b"a\r\nb\n", stdin=b"a\r\na\nb\na\r\nb")
        self.expect_lines([], out=b"\0\n\0\0\n\xff\xfe\n\r\r\n",
                    stdin=b"\0\n\0\0\n\xff\xfe\n\0\n\r\r\n\xff\xfe")
        huge = b"x" * 5_000_000
        self.expect_lines([], out=huge + b"\n" + huge + b"y\n",
                    stdin=huge + b"\n" + huge + b"y\n" + huge + b"\n" + huge + b"y")
        every = bytes(range(256)).replace(b"\n", b"") * 40
        text = b"".join(every[i:i + i % 97] + b"\n" for i in range(9000))
        keys = {}
        for line in text.split(b"\n")[:-1]:
            keys.setdefault(line.removesuffix(b"\r"), line)
        self.expect_lines([*EXACT], out=b"".join(line + b"\n" for line in keys.values()),
                    stdin=text)
        # Lines of two inputs are not joined.
        self.write("one", b"a\nb")
        self.write("two", b"b\nc")
        self.expect_lines(["one", "-", "two"], out=b"a\nb\nd\nc\n", stdin=b"d\na")
        # Nor are half line ends keys: what is printed has no line twice, and goes through as it is.
        dos = b"A\r\nB\r\n"
        self.write("half", b"A\r")
        for arguments, text, printed in [([], dos + b"A\r", dos), (["-c"], dos + b"A\r", b"2\n"),
                                         (["-", "half"], dos, dos), (["half", "-"], dos, dos),
                                         (["-d"], dos + b"A\r", b"A\r\n")]:
            self.expect_lines(arguments, out=printed, stdin=text)
        for _ in range(2):
            self.expect_lines(["--state", "s", "half", "-"], 0 if dos else 1, out=dos, stdin=dos)
            dos = b""

    def test_capacity(self):
        finest = ("--fpr", "0.00000001")
        self.expect_full(finest, 9999, b"--window", share=0)
        self.expect_lines(["-d", *finest, "--capacity", "10000"], out=lines(b"key", 5000),
                          stdin=lines(b"key", 5000) * 2 + lines(b"more", 5000))
        # A new line that is left out takes no room.
        for count, wanted in ((5001, 0), (6000, 2)):
            status, out, _ = self.run_command("uniq", "--fpr", "0.01", "--capacity", "5000", "-c",
                                              stdin=lines(b"key", count))
            self.assertEqual(status, wanted)
            self.assertTrue(4950 < int(out) < 5000 if wanted == 0 else int(out) == 5000, out)

    def test_arguments(self):
        for arguments, part in [
            (("--capacity", "0"), b"--capacity takes a whole number from 1 to "),
            (("--window", "x"), b"--window takes a whole number from 1 to "),
            (("--window", "5", "--capacity", "5"), b"excludes"),
            (("--fpr", "1"), b"--fpr takes a number above 0 and below 1, not '1'"),
            (("--fpr", "1e-7"), b"--fpr must be at least 0.000001, or 0.00000001 with --capacity or --window;"),
            (("--fpr", "1e-9", "--window", "9"), b"--fpr must be at least 0.00000001"),
            (("--state", ""), b"--state takes the name of a file"),
            (("-x",), b"-x"),
        ]:
            self.expect_error(["uniq", *arguments], part, b"; see nestline uniq --help\n")
        self.expect_lines(["--fpr", "1e-8", "--capacity", "5"], out=b"a\n", stdin=b"a\na\n")
        self.expect_error(["uniq", "missing"], b"nestline: missing: No such file")
        self.write("there", b"a\nb\na\n")
        status, out, err = self.run_command("uniq", "there", "missing", "there", "-", stdin=b"c")
        self.assertEqual((status, out), (2, b"a\nb\nc\n"))
        self.assertRegex(err, rb"\Anestline: missing: No such file[^\n]*\n\Z")

    def test_output_that_cannot_be_written(self):
        message = b"nestline: standard output: No space left on device\n"
        with open("/dev/full", "wb") as full:
            for options in ((), ("-c",), ("--state", "s")):
                status, _, err = self.run_command("uniq", *options, stdin=lines(b"key", 99999),
                                                  stdout=full)
                self.assertEqual(status, 2)
                self.assertIn(message[:-1], err)
        self.assertEqual(os.listdir(self.folder), [])  # nothing counts as seen
        # The command ends although its input does not.
        with open("/dev/full", "wb") as full, self.start("uniq", stdout=full) as process:
            process.stdin.write(b"a\n")
            process.stdin.flush()
            self.assertEqual(process.stderr.read(), message)
            self.assertEqual(process.wait(PATIENCE), 2)

    def test_slow_input(self):
        # Each line is printed before the next one comes, on one processor too.
        one = {min(os.sched_getaffinity(0))}
        for limit in (lambda: None, lambda: os.sched_setaffinity(0, one)):
            with self.start("uniq", preexec_fn=limit) as process:
                for sent, printed in ((b"a\n", b"a\n"), (b"b\na\n", b"b\n"),
                                      (b"a\nb\nc\n", b"c\n")):
                    self.ask(process, sent, printed)
                process.stdin.close()
                self.assertEqual((process.stdout.read(), process.wait(PATIENCE)), (b"", 0))

    def test_input_without_a_pause(self):
        # A line is printed although its input never waits, and no further line is new.
        with subprocess.Popen(["yes"], stdout=subprocess.PIPE) as endless, \
                self.start("uniq", stdin=endless.stdout) as process:
            try:
                ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
                self.assertTrue(ready, "nothing was printed")
                self.assertEqual(process.stdout.readline(), b"y\n")
            finally:
                process.kill()
                endless.kill()

    def test_ends_before_its_input(self):
        # It waits for more lines in one thread while another sees that no more can be taken.
        with self.start("uniq", "--capacity", "2") as process:
            process.stdin.write(b"a\nb\na\nc\n")
            process.stdin.flush()
            self.assertEqual((process.stdout.read(), process.wait(PATIENCE)), (b"a\nb\n", 2))


class UniqState(UniqTest):
    def test_runs_continue(self):
        self.expect_to_continue(EXACT, (), ("--capacity", "30000"), ("--window", "900"),
                                ("--window", "40000"), ("-d",), ("-d", "--window", "2500"),
                                ("--seed", "7"))

    def test_other_options(self):
        self.expect_lines(["--state", "s", "--window", "9"], out=b"a\n", stdin=b"a\n")
        self.expect_lines(["--state", "t", "-d", "--seed", "3", "--fpr", "0.02"], 1)
        self.expect_refusals(
            ("s", ["--window", "10"], b"the state was begun with --window 9" + OTHERS),
            ("s", ["--capacity", "9"], b"the state was begun without --capacity" + OTHERS),
            ("s", ["--fpr", "0.002"], b"the state was begun with --fpr 0.001" + OTHERS),
            ("s", ["--seed", "2"], b"the state was begun without --seed" + OTHERS),
            ("s", ["-d"], b"the state was begun without -d; begin another state\n"),
            ("t", [], b"the state was begun with -d; give -d too\n"),
            ("t", ["-d", "--seed", "4"], b"the state was begun with --seed 3" + OTHERS),
            ("t", ["-d", "--fpr", "0.1"], b"the state was begun with --fpr 0.02" + OTHERS),
            ("t", ["-d", "--window", "1"], b"the state was begun without --window" + OTHERS),
        )

    def test_full(self):
        # What was printed counts as seen, and nothing else.
        text = lines(b"key", 50)
        status, out, err = self.run_command("uniq", "--state", "s", "--capacity", "30", stdin=text)
        self.assertEqual((status, out), (2, lines(b"key", 30)))
        self.assertTrue(err.startswith(b"nestline: s: there are more different lines than"))
        self.expect_lines(["--state", "s"], 1, stdin=lines(b"key", 30))
        self.expect_error(["uniq", "--state", "s"], b"capacity of 30", stdin=text)

    def test_reader_that_leaves(self):
        self.expect_lines(["--state", "s"], out=lines(b"old", 10), stdin=lines(b"old", 10))
        before = self.read("s")
        self.write("text", lines(b"key", 200000))
        for state in ("s", "none"):
            with self.start("uniq", "--state", state, "text") as process:
                self.assertEqual(process.stdout.readline(), b"key-0\n")
                process.stdout.close()
                self.assertEqual(process.wait(PATIENCE), -signal.SIGPIPE)
                self.assertEqual(process.stderr.read(), b"")
        self.assertEqual(self.read("s"), before)
        self.assertEqual(sorted(os.listdir(self.folder)), ["s", "text"])

    def test_a_run_that_fails_leaves_no_state_where_there_was_none(self):
        limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))}
        self.expect_lines(["--state", "s"], 2, b"a\n", b"nestline: s: File too large\n", stdin=b"a\n",
                          **limit)
        self.assertEqual(os.listdir(self.folder), [])
        # Nor does it take that of a run that waits for it.
        with self.start("uniq", "--state", "s") as first:
            self.ask(first, b"a\n", b"a\n")
            with self.start("uniq", "--state", "s") as second:
                second.stdin.write(b"a\nb\n")
                second.stdin.close()
                self.wait_for_lock(second.pid)
                first.stdout.close()
                first.stdin.write(b"b\n")
                first.stdin.close()
                self.assertEqual(first.wait(PATIENCE), -signal.SIGPIPE)
                self.assertEqual((second.stdout.read(), second.stderr.read()), (b"a\nb\n", b""))
                self.assertEqual(second.wait(PATIENCE), 0)
        self.expect_lines(["--state", "s"], out=b"c\n", stdin=b"a\nc\nb\n")
        # An empty file that somebody else left is no state, and stays where it is.
        self.write("empty", b"")
        for options, status, out in (([*limit], 2, b"a\n"), ([], 0, b"a\n"), ([], 1, b"")):
            err = b"" if status == 1 else b"nestline: empty: this file is empty; a new state begins\n"
            err += b"nestline: empty: File too large\n" if options else b""
            self.expect_lines(["--state", "empty"], status, out, err, stdin=b"a\n",
                              **(limit if options else {}))
        # A state that is the output would replace what is printed.
        with open(self.path("s"), "ab") as out:
            self.expect_lines(["--state", "s"], 2, None, b"nestline: s: this state is also the output\n",
                              stdout=out)

    def wait_for_lock(self, pid):
        """Until the process waits for another one's lock."""
        for _ in range(PATIENCE * 20):
            with open("/proc/locks", encoding="ascii") as locks:
                if re.search(rf"-> FLOCK .* {pid} ", locks.read()):
                    return
            time.sleep(0.05)
        self.fail("it does not wait")

    def test_signals(self):
        # The first signal ends the input: what was printed is in the state.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
            name = number.name
            with self.start("uniq", "--state", name) as process:
                self.ask(process, b"a\nb\na\nunfinished", b"a\n", b"b\n")
                process.send_signal(number)
                self.assertEqual(process.stdout.read(), b"")
                self.assertEqual(process.wait(PATIENCE), -number)
            kept = number != signal.SIGKILL
            empty = b"nestline: %s: this file is empty; a new state begins\n" % name.encode()
            self.expect_lines(["--state", name], stdin=b"a\nunfinished\n", err=b"" if kept else empty,
                        out=b"unfinished\n" if kept else b"a\nunfinished\n")
        # Without a state it ends at once; a signal that the caller ignores does nothing.
        with self.start("uniq") as process:
            self.ask(process, b"a\n", b"a\n")
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(PATIENCE), -signal.SIGINT)
        with self.start("uniq", "--state", "ignoring", preexec_fn=lambda: signal.signal(
                signal.SIGHUP, signal.SIG_IGN)) as process:
            self.ask(process, b"a\n", b"a\n")
            process.send_signal(signal.SIGHUP)
            process.stdin.write(b"b\n")
            process.stdin.close()
            self.assertEqual(process.stdout.read(), b"b\n")
            self.assertEqual(process.wait(PATIENCE), 0)

    def test_runs_at_the_same_time_wait(self):
        runs = [self.start("uniq", "--state", "s", stderr=None) for _ in range(6)]
        for run in runs:
            run.stdin.write(lines(b"key", 300))
            run.stdin.close()
        printed = b""
        for run in runs:
            printed += run.stdout.read()
            run.stdout.close()
            self.assertIn(run.wait(PATIENCE), (0, 1))
        self.assertTrue(printed == lines(b"key", 300))

    def test_advice(self):
        # The run goes on to the capacity, and ends with an error where the advice says.
        for count, more in ((94, 0), (2, 4), (4, 0)):
            self.run_command("uniq", "--state", "s", "--capacity", "100", "-c",
                             stdin=lines(b"%d" % count, count))
            if count == 94:
                self.assertEqual(self.info("s")["advice"], [])
                continue
            told = (f"nearly full: there is room for {more} more different lines, and then "
                    "nestline uniq ends with an error; begin another state with a larger "
                    "--capacity, or with --window")
            self.assertEqual(self.info("s")["advice"], [told])
            line = "advice".ljust(30) + told + "\n"
            self.assertIn(line.encode(), self.run_command("info", "s")[1])
        status, out, err = self.run_command("uniq", "--state", "s", "-c", stdin=b"one more\n")
        self.assertEqual(status, 2)
        self.assertIn(b"more different lines than the capacity of 100", err)

    def test_info_and_verify(self):
        self.expect_lines(["--state", "s", "-d", "--window", "5", "--seed", "9"], out=b"a\n",
                          stdin=b"a\nb\na\na\n")
        info = self.info("s")
        self.assertEqual(list(info), ["lines", "repeated_lines", "capacity", "window", "fpr", "seed",
                                      "memory_bytes", "file_bytes", "advice"])
        self.assertEqual(info["advice"], [])
        self.assertEqual(list(info.values())[:6], [2, 1, 0, 5, 0.001, 9])
        self.assertEqual(info["file_bytes"], os.path.getsize(self.path("s")))
        self.assertTrue(24 < info["memory_bytes"] < info["file_bytes"])
        out = self.output("info", "s")
        self.assertIn(b"\nlines seen again              1\n", out)
        self.assertIn(b"\ncapacity                      -\n", out)
        self.expect(["verify", "s"])
        self.expect_error(["verify", "s", "s"], b"nestline: s: this is a state of nestline uniq")
        self.expect_error(["query", "s"], b"nestline: s: this is a state of nestline uniq, and no "
                                          b"filter\n")
        good = self.read("s")
        self.write("s", good[:-1] + bytes([good[-1] ^ 1]))
        for command in ("info", "verify"):
            self.expect_error([command, "s"], b"nestline: s: at byte ")

    def test_damage(self):
        self.expect_no_damage_missed(["--window", "300"], 88)  # the ring has gone round
        self.expect_no_damage_missed(["-d", "--capacity", "400", *EXACT], 88)
        self.build("filter", b"a\n")
        self.expect_error(["uniq", "--state", "filter"],
                          b"nestline: filter: at byte 0: this is not a state of nestline uniq")
        self.expect_error(["uniq", "--state", "."], b"nestline: .: Is a directory")
        self.expect_error(["uniq", "--state", "no/s"], b"nestline: no/s: ", b"No such file")
        self.assertEqual(os.listdir(self.folder), ["filter"])
