"""End-to-end tests of nestline which, against sets of lines. Run by command_test.py.

Seeds are fixed, so false positives are the same each time.
"""

import collections
import os
import random
import struct
import subprocess
import sys

from command_harness import CommandTest, lines

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "filters", "file"))
from xxh3 import xxh3_64

MOST = 8  # names that a key can be under and not be told as under all


def text_of(keys):
    return b"".join(key + b"\n" for key in keys)


def start_of(names, **other):
    """What docs/FORMAT.md, section 14, has before the maplet."""
    body = b"".join(struct.pack("<Q", len(name)) + name for name in names) + other.get("after", b"")
    size = -(-(32 + len(body) + 8) // 64) * 64
    head = struct.pack("<8sQQQ", b"\x8eNWH\r\n\x1a\n", other.get("version", 1),
                       other.get("count", len(names)), other.get("size", size))
    start = (head + body).ljust(size - 8, b"\0")
    return start + struct.pack("<Q", xxh3_64(start, 0))


class Which(CommandTest):
    def find(self, name, keys, *options):
        """The names that are printed for each key."""
        status, out, err = self.run_command("which", name, *options, stdin=text_of(keys))
        found = collections.defaultdict(list)
        for line in out.splitlines():
            key, _, of = line.rpartition(b"\t")
            found[key].append(of.decode())
        self.assertEqual((status, err), (0 if out else 1, b""))
        return found

    def listed(self, name):
        rows = [line.rpartition(b"\t") for line in self.output("which", "list", name).splitlines()]
        return {of.decode(): int(count) for of, _, count in rows}

    def check(self, name, model, absent=2000, told_as_all=frozenset()):
        """Compares with a model, {name: keys}; returns the keys that are told as under all names."""
        of_key = collections.defaultdict(set)
        for of, keys in model.items():
            for key in keys:
                of_key[key].add(of)
        asked = [*of_key, *told_as_all, *(b"absent-%d" % i for i in range(absent))]
        found = self.find(name, list(dict.fromkeys(asked)))
        self.assertEqual(set(self.listed(name)), set(model))
        wrong, every = 0, set()
        for key in asked:
            names = found.get(key, [])
            self.assertEqual(len(set(names)), len(names), (key, names))
            self.assertLessEqual(of_key[key], set(names), key)
            if names and set(names) == set(model) != of_key[key]:
                every.add(key)
            else:
                wrong += len(names) - len(of_key[key])
        self.assertLess(wrong, 5 + len(asked) // 100)
        many = {key for key, names in of_key.items() if len(names) > MOST}
        # Others are rare: they look like one of these.
        self.assertLessEqual(len(every - many - told_as_all), len(asked) // 100)
        return every

    def test_agrees_with_sets(self):
        for seed in range(4):
            chance = random.Random(seed)
            model = {}
            all_keys = [b"key %d" % i for i in range(6000)]
            common = all_keys[:40]
            for i in range(12):
                keys = chance.sample(all_keys, chance.choice([0, 1, 40, 700, 2000]))
                model[f"part {i}.txt"] = set(keys + common)
                twice = keys + common + keys
                chance.shuffle(twice)
                self.write(f"part {i}.txt", text_of(twice))
            names = list(model)
            self.expect(["which", "build", "-o", "f", *names, names[3]])
            every = self.check("f", model)
            for step in range(8):
                what = chance.choice(["add", "add more", "drop", "rename", "unite"])
                of = chance.choice(list(model))
                keys = chance.sample(all_keys, 900)
                self.write("new", text_of(keys + keys))
                with self.subTest(seed=seed, step=step, what=what, of=of):
                    if what == "add":
                        os.rename(self.path("new"), self.path(f"new {step}"))
                        self.expect(["which", "add", "f", f"new {step}"])
                        model[f"new {step}"] = set(keys)
                    elif what == "add more":
                        self.expect(["which", "add", "f", "--name", of, "new"])
                        model[of] |= set(keys)
                    elif what == "drop":
                        self.expect(["which", "drop", "f", of, of])
                        del model[of]
                    elif what == "rename":
                        self.expect(["which", "rename", "f", of, f"other {step}"])
                        model[f"other {step}"] = model.pop(of)
                    else:
                        to = chance.choice([name for name in model if name != of])
                        self.expect(["which", "rename", "f", of, to])
                        model[to] |= model.pop(of)
                    every = self.check("f", model, told_as_all=frozenset(every))
            self.output("which", "verify", "f")

    def test_keys_under_many_names(self):
        # All keys in all files; then in half of them. Room for the pairs is there.
        for count, share in ((40, 40), (20, 9), (12, 8), (300, 12)):
            chance = random.Random(count)
            model = {f"{i}": set() for i in range(count)}
            for i in range(1500):
                for of in chance.sample(list(model), share):
                    model[of].add(b"%d" % i)
            for of, keys in model.items():
                self.write(of, text_of(keys))
            with self.subTest(count=count, share=share):
                self.expect(["which", "build", "-o", "f", *model])
                of_key = self.find("f", [b"%d" % i for i in range(1500)])
                told = sum(len(names) == count for names in of_key.values())
                for i in range(1500):
                    of = {of for of in model if b"%d" % i in model[of]}
                    self.assertLessEqual(of, set(of_key[b"%d" % i]))
                # With 8 of 8 slots each, keys are in each other's way.
                self.assertEqual(told == 1500, share > (10 if count > 255 else 8), told)

    def test_what_is_printed(self):
        self.write("a", b"one\ntwo\r\ntwo\none\n")
        self.write("name with blanks", b"two\nthree")
        self.expect(["which", "build", "-o", "f", "a", "./a", "a", "name with blanks"])
        self.assertEqual(self.listed("f"), {"a": 2, "./a": 2, "name with blanks": 2})
        asked = b"three\nnone\ntwo\none\nno one"
        table = b"three\tname with blanks\ntwo\ta\ntwo\t./a\ntwo\tname with blanks\none\ta\none\t./a\n"
        self.write("keys", asked)
        for command in (["which", "f"], ["which", "query", "f"]):
            self.expect(command, out=table, stdin=asked)
            self.expect([*command, "keys"], out=table)
            self.expect([*command, "-", "keys"], out=table * 2, stdin=asked)
            self.expect([*command, "-l", "keys"], out=b"name with blanks\na\n./a\n")
            self.expect([*command, "-c", "keys"], out=b"3\n")
            self.expect([*command, "-v", "keys"], out=b"none\nno one\n")
            self.expect([*command, "-vc", "keys"], out=b"2\n")
        self.expect(["which", "-z", "f"], out=b"one\ta\0one\t./a\0", stdin=b"one\0none\0one\n")
        self.expect(["which", "-zl", "f"], out=b"a\0./a\0", stdin=b"one")
        self.expect(["which", "f"], 1, stdin=b"none\n")
        self.expect(["which", "f"], 1)
        self.expect(["which", "-c", "f"], 1, b"0\n", stdin=b"none\n")
        self.expect(["which", "list", "-z", "f"], out=b"a\t2\0./a\t2\0name with blanks\t2\0")
        # The keys of an input that cannot be read are left out.
        status, out, err = self.run_command("which", "f", "keys", "absent", "keys")
        self.assertEqual((status, out), (2, table * 2))
        self.assertEqual(err, b"nestline: absent: No such file or directory\n")

    def test_names(self):
        self.write("a", b"one\n")
        self.write("b", b"two\ntwo\n")
        self.expect(["which", "build", "-o", "f", "--name", "both", "a", "-"], stdin=b"three\n")
        self.expect(["which", "f"], out=b"one\tboth\nthree\tboth\n", stdin=b"one\ntwo\nthree\n")
        self.expect(["which", "add", "f", "b", "a"])
        self.expect(["which", "add", "-z", "f", "--name", "of zeros", "-"], stdin=b"one\0x\ny\0")
        self.expect(["which", "f"], out=b"one\tboth\none\ta\none\tof zeros\ntwo\tb\n",
                    stdin=b"one\ntwo\n")
        before = self.read("f")
        for arguments, status, part in [
            (["drop", "f", "a", "absent"], 1, b"f: there is no name 'absent'; nothing was changed"),
            (["rename", "f", "absent", "b"], 1, b"f: there is no name 'absent'"),
            (["rename", "f", "a", "b\tc"], 2, b"a name has no tab and no line feed"),
            (["rename", "f", "a", ""], 2, b"a name has no tab"),
            (["add", "f", "--name", "x\ny", "a"], 2, b"a name has no tab"),
            (["add", "f", "-"], 2, b"standard input needs a name"),
            (["add", "f", "f"], 2, b"INPUT takes files of keys, and not FILE"),
            (["add", "f"], 2, b"INPUT is required"),
            (["add", "f", "a", "absent"], 2, b"absent: No such file"),
            (["build", "-o", "a", "a"], 2, b"-o takes another file than INPUT"),
            (["build", "-o", "g", "--names", "65536", "a"], 2, b"--names takes a whole number from 1"),
            (["build", "-o", "g", "--fpr", "0.000000001", "a"], 2, b"--fpr"),
            (["build", "-o", "g", "a", "absent"], 2, b"absent: No such file"),
            (["list", "a"], 2, b"a: at byte 4: the file ends here"),
            (["list", "b"], 2, b"b: at byte 0: this is not a file of nestline which"),
            (["-lv", "f"], 2, b"-l prints names"),
            (["drop", "absent", "a"], 2, b"absent: No such file"),
            (["f", "--wrong"], 2, b"there is no option '--wrong'; see nestline which query --help"),
            ([], 2, b"a command is required; see nestline which --help"),
        ]:
            found, out, err = self.run_command("which", *arguments)
            self.assertEqual((found, out), (status, b""), (arguments, err))
            self.assertRegex(err, rb"\Anestline: [^\n]*\n\Z")
            self.assertIn(part, err)
        self.assertEqual(self.read("f"), before)
        self.assertEqual(sorted(os.listdir(self.folder)), ["a", "b", "f"])
        # A name that was dropped leaves its number to the next one.
        self.expect(["which", "drop", "f", "both", "of zeros"])
        self.expect(["which", "rename", "f", "a", "a"])
        self.expect(["which", "add", "f", "--name", "new", "b"])
        self.expect(["which", "f"], out=b"one\ta\ntwo\tnew\ntwo\tb\n", stdin=b"one\ntwo\nthree\nx\n")
        self.expect(["which", "drop", "f", "new", "a", "b"])
        self.expect(["which", "f"], 1, stdin=b"one\ntwo\n")
        self.expect(["which", "list", "f"])
        # A key that is told as under all names is under none then.
        for i in range(12):
            self.expect(["which", "add", "f", "--name", "%d" % i, "a"])
        self.assertEqual(len(self.find("f", [b"one"])[b"one"]), 12)
        self.expect(["which", "drop", "f", *map(str, range(12))])
        self.expect(["which", "-l", "f"], 1, stdin=b"one\n")

    def test_most_names(self):
        for i in range(256):
            self.write("%d" % i, b"%d\n" % i)
        names = ["%d" % i for i in range(256)]
        self.expect(["which", "build", "-o", "f", *names[:255]])
        self.expect_error(["which", "add", "f", "255"], b"build it with --names")
        self.expect(["which", "drop", "f", "254"])
        self.expect(["which", "add", "f", "255"])
        self.check("f", {name: {name.encode()} for name in names if name != "254"}, 0)
        for options in ([], ["--names", "300"]):
            self.expect(["which", "build", "-o", "g", *options, *names[:256 if not options else 9]])
            self.expect(["which", "add", "g", *names])
            self.check("g", {name: {name.encode()} for name in names}, 500)

    def test_grows(self):
        model = {"first": {b"first %d" % i for i in range(3000)}}
        self.write("first", text_of(model["first"]))
        self.expect(["which", "build", "-o", "f", "first"])
        self.expect(["which", "build", "-o", "large", "--capacity", "21000", "first"])
        self.expect(["which", "build", "-o", "rate", "--max-capacity", "21000", "first"])
        self.expect(["which", "build", "-o", "small", "--fpr", "0.05", "first"])
        size = {name: os.path.getsize(self.path(name)) for name in ("f", "large", "rate", "small")}
        self.assertLess(size["small"], size["f"])
        self.assertGreater(size["large"], 2 * size["f"])
        for step in range(6):
            keys = {b"%d %d" % (step, i) for i in range(3000)}
            model["%d" % step] = keys
            self.write("%d" % step, text_of(keys))
            for name in ("f", "large", "rate"):
                self.expect(["which", "add", name, "%d" % step])
        self.assertLess(os.path.getsize(self.path("large")), size["large"] * 1.01)
        absent = [b"absent-%d" % i for i in range(20000)]
        wrong = {}
        for name in ("f", "large", "rate"):
            found = self.find(name, [key for keys in model.values() for key in keys])
            self.assertEqual(sum(of in found[key] for of, keys in model.items() for key in keys), 21000)
            wrong[name] = sum(len(names) for names in self.find(name, absent).values())
        self.assertLess(wrong["large"], 60)   # 0.12 %
        self.assertLess(wrong["rate"], 250)   # at most 1 %
        self.assertLess(wrong["f"], 400)      # three doublings
        # It ends where no doubling is left, and then leaves the file as it is.
        for step in range(30):
            before = self.read("f")
            status, _, err = self.run_command("which", "add", "f", "--name", "all", "-",
                                              stdin=lines(b"%d" % step, 100000))
            if status != 0:
                break
        self.assertEqual((status, self.read("f")), (2, before))
        self.assertIn(b"it cannot double again", err)

    def test_one_change_at_a_time(self):
        self.write("a", b"one\n")
        self.expect(["which", "build", "-o", "f", "a"])
        adds = [self.start("which", "add", "f", "--name", "%d" % i, "a") for i in range(12)]
        for add in adds:
            add.communicate()
            self.assertEqual(add.returncode, 0)
        self.assertEqual(set(self.listed("f")), {"a", *("%d" % i for i in range(12))})
        self.assertEqual(sorted(os.listdir(self.folder)), ["a", "f"])

    def test_other_kinds_of_files(self):
        self.write("a", b"one\n")
        self.expect(["which", "build", "-o", "f", "a"])
        self.build("filter", b"one\n")
        self.expect(["uniq", "--state", "state", "a"], out=b"one\n")
        self.write("empty", b"")
        for name, why in (("filter", b"filter: at byte 0: this is not a file of nestline which"),
                          ("state", b"state: this is a state of nestline uniq")):
            self.expect_error(["which", name], why)
            self.expect_error(["which", "add", name, "a"], why)
        self.expect_error(["which", "empty"], b"at byte 0: the file ends here")
        for command in (["query", "f"], ["info", "f"], ["verify", "f"], ["add", "f"],
                        ["merge", "-o", "g", "f", "filter"]):
            self.expect_error(command, b"f: this is a file of nestline which\n")
        self.expect_error(["uniq", "--state", "f"], b"f: this is a file of nestline which\n")

    def test_damage(self):
        self.write("a", lines(b"key", 70))
        self.write("b", lines(b"key", 20))
        self.expect(["which", "build", "-o", "f", "a", "b"])
        good = self.read("f")
        start = start_of([b"a", b"b"])
        self.assertEqual(good[: len(start)], start)
        self.assertEqual(good[len(start) :][:8], b"\x8eNST\r\n\x1a\n")
        chance = random.Random(3)
        blocks = len(start) + 4096
        places = {*range(len(start)), *range(len(start), len(start) + 80), *range(blocks, len(good), 29),
                  *(chance.randrange(len(start), blocks) for _ in range(40)),
                  *range(blocks - 8, blocks), *range(len(good) - 16, len(good))}
        damaged = [(place, good[:place] + bytes([good[place] ^ 1 << chance.randrange(8)]) +
                    good[place + 1 :]) for place in sorted(places)]
        cuts = [0, 1, 31, 39, 40, len(start) - 1, len(start), blocks, len(good) - 1]
        damaged += [(cut, good[:cut]) for cut in cuts] + [("longer", good + b"\0" * 64)]
        for place, content in damaged:
            self.write("f", content)
            with self.subTest(place=place):
                self.expect_error(["which", "verify", "f"], b"nestline: f: at byte ")
                self.expect_error(["which", "f", "a"], b"nestline: f: at byte ")
                self.expect_error(["which", "add", "f", "a"], b"nestline: f: at byte ")
                self.assertEqual(self.read("f"), content)

    def test_hostile_names(self):
        self.write("a", lines(b"key", 70))
        self.write("b", b"key-1\n")
        self.expect(["which", "build", "-o", "f", "a", "b"])
        maplet = self.read("f")[len(start_of([b"a", b"b"])) :]
        self.write("f", start_of([b"x" * 1000, b"", b"a"]) + maplet)
        self.expect(["which", "f"], out=b"key-2\t" + b"x" * 1000 + b"\n", stdin=b"key-2\n")
        for why, start in {
            b"this version": start_of([b"a", b"b"], version=2),
            b"there are not so many names": start_of([b"a"], count=9),
            b"there are too many names": start_of([b"a"], count=10**18),
            b"name is too long": start_of([b"a"], after=struct.pack("<Q", 2**63), count=2),
            b"the file ends here; it is not whole": start_of([b"a", b"b"], size=2**63),
            b"the lines cannot begin there": start_of([b"a", b"b"], size=8),
            b"no name, or one that": start_of([b"a", b"a"]),
            b"f: at byte 32: this is no name": start_of([b"a\tb", b"a"]),
            b"at byte 41: this is no name": start_of([b"a", b"a\nb"]),
            b"do not match": start_of([b"a", b"b"], after=b"\1"),
            b"byte 16: the maplet has no values": start_of([b"%d" % i for i in range(256)]),
        }.items():
            self.write("f", start + maplet)
            with self.subTest(why=why):
                self.expect_error(["which", "list", "f"], why)
        for names in ([b"a"], [b"a", b""]):
            self.write("f", start_of(names) + maplet)
            self.expect_error(["which", "f"],
                              b"byte 16: there is a line of a number that has no name",
                              stdin=b"key-1\n")
        self.write("f", start_of([]) + maplet)
        self.expect(["which", "f"], 1, stdin=b"key-1\n")

    def test_examples_of_others(self):
        """What grep finds in the files, it finds in those that are named."""
        for i in range(9):
            self.write("log %d" % i, lines(b"request", 100 * i) + b"user %d\n" % i)
        names = ["log %d" % i for i in range(9)]
        self.expect(["which", "build", "-o", "f", "--fpr", "0.001", *names])
        for key in (b"user 3", b"request-650", b"request-350", b"absent"):
            whole = subprocess.run(["grep", "-lFx", key, *names], cwd=self.folder, capture_output=True)
            status, found, _ = self.run_command("which", "-l", "f", stdin=key)
            self.assertEqual((status, sorted(found.splitlines())),
                             (whole.returncode, sorted(whole.stdout.splitlines())))
