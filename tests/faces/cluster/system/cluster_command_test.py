"""nestline cluster on one server without cluster mode: what each command does, and what it says when
the keys of a filter are not as they should be."""

import os
import unittest

from cluster_case import CommandCase, lines
from resp import Connection
from servers import PATIENCE


class WorkTest(CommandCase):
    def test_add_query_remove(self):
        self.create("seen", 10_000)
        self.expect("add", "seen", stdin=lines("in", 5000))
        self.assert_found("seen", lines("in", 5000))
        self.assertLess(self.found("seen", lines("out", 5000)), 150)
        mixed = b"in-1\nno such key\nin-2\nanother one"
        self.expect("query", "seen", stdin=mixed, out=b"in-1\nin-2\n")
        self.expect("query", "-v", "seen", stdin=mixed, out=b"no such key\nanother one\n")
        self.expect("query", "-c", "seen", stdin=mixed, out=b"2\n")
        self.expect("query", "seen", stdin=b"no such key\n", status=1)
        self.expect("query", "-c", "seen", stdin=b"", status=1, out=b"0\n")
        self.write("some", lines("in", 2000))
        self.write("more", lines("in", 1000, 2000))
        self.expect("remove", "seen", "some", "more")
        self.assertEqual(self.info("seen")["items"], 2000)
        self.assert_found("seen", lines("in", 2000, 3000))
        self.assertLess(self.found("seen", lines("in", 3000)), 100)
        self.expect(
            "remove", "seen", stdin=b"in-3000\nno such key\n", status=1,
            err=b"nestline: seen: 1 of 2 lines were not in the filter; "
            b"nothing was removed for them\n",
        )  # fmt: skip
        self.expect("add", "seen", stdin=b"")
        self.assertEqual(self.info("seen")["items"], 1999)
        # Lines that end in a zero byte, and half a line end at the end of an input.
        self.create("odd", 1000, "--bits", 16)
        for change in ("add", "push"):
            self.expect(change, "-z", "odd", stdin=b"a\nb\0c\r\0d")
            self.expect("query", "-z", "odd", stdin=b"d\0c\0c\r\0a\nb", out=b"d\0c\r\0a\nb\0")
        self.expect("query", "odd", stdin=b"a\nc\r\nd\r", out=b"d\r\n")
        self.expect("remove", "-z", "odd", stdin=b"a\nb\0c\r\0d\0")
        self.assertEqual(self.info("odd")["items"], 0)

    def test_copies(self):
        self.create("copies", 1000, "--max-capacity", 1000)
        self.server.call("CF.ADD", "copies:{p0}", "x")
        bits = self.server.call("CF.SCANDUMP", "copies:{p0}", 0)[1][128]  # as parts that are pushed
        self.assertEqual(bits, 10)
        self.server.call("CF.DEL", "copies:{p0}", "x")
        self.expect("add", "copies", stdin=b"x\n" * 3)
        self.expect("add", "copies", "--unique", stdin=b"x\ny\n")
        self.assertEqual(self.info("copies")["items"], 4)
        self.expect("remove", "copies", stdin=b"x\n" * 3)
        self.expect("query", "copies", stdin=b"x\ny\n", out=b"y\n")

    def test_a_full_filter(self):
        self.create("small", 1000, "--max-capacity", 1000, "--parts", 2)
        status, out, err = self.run_command("add", "small", stdin=lines("in", 5000))
        self.assertEqual((status, out), (2, b""))
        self.assertRegex(err, rb"\Anestline: small: \d+ of 5000 lines found no room, [^\n]*\n\Z")
        refused = int(err.split()[2])
        self.assertEqual(self.info("small")["items"], 5000 - refused)
        self.assertGreaterEqual(5000 - refused, 1000)
        self.assertGreaterEqual(self.found("small", lines("in", 5000)), 5000 - refused)

    def test_it_holds_its_capacity(self):
        for parts in (1, 7, 64):
            self.create(f"of{parts}", 20_000, "--max-capacity", 20_000, "--parts", parts)
            self.expect("add", f"of{parts}", stdin=lines(f"in{parts}", 20_000))
            self.assert_found(f"of{parts}", lines(f"in{parts}", 20_000))

    def test_the_rate_is_kept(self):
        self.create("exact", 50_000, "--fpr", 0.001, "--seed", 7)
        self.expect("push", "exact", stdin=lines("in", 50_000))
        self.assertLess(self.found("exact", lines("out", 100_000)), 200)
        info = self.info("exact")
        self.assertEqual((info["seed"], info["fpr"], info["capacity"]), (7, 0.001, 50_000))
        self.assertLess(info["expected_fpr"], 0.0015)
        self.assertGreater(info["expected_fpr"], 0)

    def test_push(self):
        self.create("pushed", 10_000)
        self.expect("add", "pushed", stdin=lines("old", 10_000))
        self.expect("push", "pushed", stdin=lines("new", 8000))
        self.assert_found("pushed", lines("new", 8000))
        self.assertLess(self.found("pushed", lines("old", 10_000)), 300)
        self.assertEqual(self.info("pushed")["items"], 8000)
        self.expect("push", "pushed", "--merge", stdin=lines("more", 2000))
        self.assert_found("pushed", lines("new", 8000) + lines("more", 2000))
        self.assertEqual(self.info("pushed")["items"], 10_000)
        # More than it was created for, then nothing at all.
        self.expect("push", "pushed", stdin=lines("many", 50_000))
        self.assert_found("pushed", lines("many", 50_000))
        self.expect("add", "pushed", stdin=lines("after", 100))
        self.assert_found("pushed", lines("after", 100))
        self.expect("push", "pushed", stdin=b"")
        self.assertEqual(self.info("pushed")["items"], 0)
        self.assertEqual(self.found("pushed", lines("many", 1000)), 0)
        self.expect("drop", "pushed")
        self.assertEqual(self.server.call("DBSIZE"), 0)

    def test_pull(self):
        self.create("here", 10_000, "--seed", 5, "--parts", 9)
        self.expect("add", "here", stdin=lines("in", 10_000))
        self.expect("pull", "here", "-o", "copy")
        keys = lines("in", 10_000)
        self.expect("query", "-v", "--file", "copy", stdin=keys, status=1, servers=())
        self.write("words", keys)
        self.expect("query", "-c", "--file", "copy", "words", out=b"10000\n", servers=())
        online = self.run_command("query", "here", stdin=lines("out", 20_000))
        offline = self.run_command("query", "--file", "copy", stdin=lines("out", 20_000),
                                   servers=())
        self.assertEqual(online, offline)
        self.create("there", 10_000, "--seed", 5, "--parts", 9)
        self.expect("push", "there", "--file", "copy")
        self.assert_found("there", keys)
        self.expect("push", "there", "--file", "copy", "--merge")
        self.assertEqual(self.info("there")["items"], 20_000)
        self.create("other", 10_000, "--seed", 6, "--parts", 9)
        self.expect_error(["seed"], "push", "other", "--file", "copy")
        self.create("fewer", 10_000, "--seed", 5, "--parts", 8)
        self.expect_error(["parts"], "push", "fewer", "--file", "copy")
        whole = self.read("copy")
        for at in (0, 100, len(whole) // 2, len(whole) - 1):
            self.write("copy", whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
            self.expect_error(["copy: "], "query", "--file", "copy", stdin=keys, servers=())
            self.expect_error(["copy: "], "push", "there", "--file", "copy")
        self.write("copy", whole[:-1])
        self.expect_error(["copy: "], "query", "--file", "copy", stdin=keys, servers=())
        self.expect_error(["nothing here: "], "query", "--file", "nothing here", servers=())
        self.assertEqual(self.info("there")["items"], 20_000)

    def test_merge(self):
        for name, seed in (("a", 3), ("b", 3), ("c", 4)):
            self.create(name, 5000, "--seed", seed)
            self.expect("add", name, stdin=lines(name, 2000))
        self.expect("merge", "a", "b")
        self.assert_found("a", lines("a", 2000) + lines("b", 2000))
        self.assertEqual(self.info("a")["items"], 4000)
        self.assertEqual(self.info("b")["items"], 2000)
        self.expect_error(["seed"], "merge", "a", "c")
        # Copies beyond those that a filter holds are counted beside it.
        self.create("one", 10, "--bits", 8, "--seed", 3, "--parts", 1)
        self.create("nine", 10, "--bits", 8, "--seed", 3, "--parts", 1)
        self.expect("add", "one", stdin=b"the same\n")
        for _ in range(12):
            self.expect("merge", "nine", "one")
        self.assertEqual(self.info("nine")["items"], 12)
        self.expect("remove", "nine", stdin=b"the same\n" * 12)
        self.expect("query", "nine", stdin=b"the same\n", status=1)
        self.expect_error(["nobody"], "merge", "a", "nobody")

    def test_fit(self):
        for name, *more in (("grows",), ("turns", "--turns-over")):
            self.create(name, 1000, "--parts", 4, *more)
            self.expect("add", name, stdin=lines("in", 40_000))
            before = self.info(name)
            self.expect("remove", name, stdin=lines("in", 38_000))
            self.expect("fit", name)
            after = self.info(name)
            self.assertEqual(after["items"], 2000)
            self.assertLess(after["memory_bytes"], before["memory_bytes"] / 4)
            self.assert_found(name, lines("in", 2000, 38_000))
            self.expect("add", name, stdin=lines("in", 38_000))
            self.assert_found(name, lines("in", 40_000))
        self.server.call("DEL", "grows:{p2}")
        self.expect_error(["part 2 of 'grows'", "grows:{p2}"], "fit", "grows")
        self.expect_error(["nobody"], "fit", "nobody")

    def test_filters_that_turn_over(self):
        turns_over = lambda key: self.server.call("CF.SCANDUMP", key, 0)[1][118]  # noqa: E731
        like = ("--seed", 3, "--parts", 2)
        self.create("turns", 10_000, "--turns-over", *like)
        self.expect("add", "turns", stdin=lines("in", 100))
        self.assertEqual(turns_over("turns:{p0}"), 2)
        self.expect("push", "turns", stdin=lines("in", 10_000))
        epoch = self.server.call("HGET", "turns", "epoch").decode()
        self.assertEqual(turns_over("turns:{p1}:" + epoch), 2)
        self.expect("remove", "turns", stdin=lines("in", 5000))
        self.expect("add", "turns", stdin=lines("new", 5000))
        self.assert_found("turns", lines("in", 5000, 5000) + lines("new", 5000))
        self.expect("pull", "turns", "-o", "copy")
        self.expect("query", "-c", "--file", "copy", stdin=lines("new", 5000), out=b"5000\n",
                    servers=())  # fmt: skip
        # Clients that do not know the field look at the format first.
        self.assertEqual(self.server.call("HMGET", "turns", "format", "turns_over"), [b"2", b"1"])
        self.create("again", 10_000, "--turns-over", *like)
        self.expect("push", "again", "--file", "copy")
        self.expect("merge", "again", "turns")
        self.assertEqual(self.info("again")["items"], 20_000)
        self.create("plain", 10_000, *like)
        self.assertEqual(self.server.call("HMGET", "plain", "format", "turns_over"), [b"1", None])
        self.expect("add", "plain", stdin=lines("in", 100))
        self.assertEqual(turns_over("plain:{p0}"), 0)
        self.expect_error(["turns over"], "merge", "plain", "turns")
        self.expect_error(["turns over"], "merge", "turns", "plain")
        self.expect_error(["turns over"], "push", "plain", "--file", "copy")
        self.server.call("HSET", "turns", "format", "3")
        self.expect_error(["format 3"], "query", "turns", stdin=b"x\n")

    def test_info(self):
        self.create("shown", 3000, "--seed", 18446744073709551615, "--parts", 4)
        self.expect("add", "shown", stdin=lines("in", 3000))
        info = self.info("shown")
        self.assertEqual(
            list(info),
            ["name", "items", "capacity", "fpr", "expected_fpr", "memory_bytes", "seed", "nodes",
             "parts"],
        )  # fmt: skip
        self.assertEqual((info["name"], info["seed"], info["items"]), ("shown", 2**64 - 1, 3000))
        node = f"127.0.0.1:{self.server.port}"
        self.assertEqual([n["node"] for n in info["nodes"]], [node])
        self.assertEqual((info["nodes"][0]["parts"], info["nodes"][0]["items"]), (4, 3000))
        self.assertEqual([p["number"] for p in info["parts"]], [0, 1, 2, 3])
        self.assertEqual(sum(p["items"] for p in info["parts"]), 3000)
        for part in info["parts"]:
            self.assertEqual(self.server.call("TYPE", part["key"]), "MBbloomCF")
            self.assertGreaterEqual(part["capacity"], 750)
            self.assertTrue(0 < part["load"] < 1, part)
        short = self.output("info", "shown")
        self.assertRegex(short.decode(), r"keys +3000\n")
        self.assertRegex(short.decode(), rf"{node} +4 +3000 ")
        whole = self.output("info", "shown", "--each")
        self.assertTrue(whole.startswith(short))
        self.assertEqual(whole.count(b"shown:{"), 4)

    def test_drop(self):
        self.create("gone", 1000)
        self.expect("drop", "gone")
        self.assertEqual(self.server.call("DBSIZE"), 0)
        self.expect("drop", "gone", status=1)
        self.expect_error(["gone", "create"], "query", "gone")

    def test_answers_come_as_fast_as_lines_do(self):
        self.create("live", 1000)
        self.expect("add", "live", stdin=b"yes\n")
        process = self.start("query", "live")
        for _ in range(3):
            process.stdin.write(b"no such key\nyes\n")
            process.stdin.flush()
            self.assertEqual(process.stdout.readline(), b"yes\n")
        self.assertEqual(process.communicate(timeout=PATIENCE), (b"", b""))
        self.assertEqual(process.returncode, 0)


class NamesTest(CommandCase):
    def test_names(self):
        for name in ("with blank", "\u00e4", "a:b", "[a,b]", "++", "x" * 300):
            self.create(name, 100)
            self.expect("add", name, stdin=b"key\n")
            self.expect("query", name, stdin=b"key\nno such key\n", out=b"key\n")
            self.expect("drop", name)
        self.assertEqual(self.server.call("DBSIZE"), 0)

    def test_a_lost_descriptor(self):
        """It leaves parts without a name; drop finds them, and nothing else."""
        self.create("axb", 100)
        self.server.call("SET", "a*b:{p700}", "text")
        kept = self.server.call("DBSIZE")
        for name in ("a*b", "[ax]b", "a\\b", "a?b"):
            self.create(name, 100)
            self.server.call("COPY", f"{name}:{{p0}}", f"{name}:{{p0}}:77")
            self.server.call("DEL", name)
            self.expect_error([name, "drop"], "create", name, "--capacity", 100)
            self.expect("drop", name)
            self.assertEqual(self.server.call("DBSIZE"), kept)
            self.expect("drop", name, status=1)
        # Without the number of parts.
        self.create("broken", 100)
        self.server.call("HDEL", "broken", "parts")
        self.expect("drop", "broken")
        self.assertEqual(self.server.call("DBSIZE"), kept)

    def test_names_that_would_put_all_parts_into_one_slot(self):
        for name in ("{a}", "x{a}y", ""):
            self.expect_error([], "create", "--capacity", 100, "--", name)
        self.assertEqual(self.server.call("DBSIZE"), 0)

    def test_a_taken_name(self):
        self.create("mine", 1000)
        self.expect("add", "mine", stdin=b"key\n")
        self.expect_error(["mine"], "create", "mine", "--capacity", 1000)
        self.assertEqual(self.found("mine", b"key\n"), 1)
        self.server.call("SET", "text", "x")
        self.server.call("CF.ADD", "single", "x")
        for name in ("text", "single"):
            self.expect_error([name], "create", name, "--capacity", 1000)
            self.expect_error([name], "query", name)
            self.expect_error([name], "drop", name)
        self.server.call("HSET", "hash", "a", "b")
        self.expect_error(["hash"], "query", "hash")
        self.expect_error(["hash"], "drop", "hash")
        self.assertEqual(self.server.call("HGETALL", "hash"), [b"a", b"b"])


class PartsTest(CommandCase):
    """What others do to the keys of a filter."""

    def setUp(self):
        super().setUp()
        self.create("whole", 10_000, "--parts", 8)
        self.expect("push", "whole", stdin=lines("in", 10_000))
        self.parts = [part["key"] for part in self.info("whole")["parts"]]

    def expect_all_fail(self, *words):
        for command in (("query",), ("query", "-c"), ("add",), ("remove",), ("info",),
                        ("pull", "-o", "copy")):
            self.expect_error(["whole", *words], *command, "whole", stdin=lines("in", 100))
        self.assertFalse(os.path.exists(self.path("copy")))

    def test_a_lost_part_is_an_error(self):
        self.server.call("DEL", self.parts[3])
        self.expect_all_fail("3")
        self.expect("push", "whole", stdin=lines("again", 5000))
        self.assert_found("whole", lines("again", 5000))

    def test_an_incomplete_part_is_an_error(self):
        """As on a replica that became the primary before the last piece of a push had come."""
        key = self.parts[3]
        with Connection(self.server.port) as connection:
            pieces = connection.pieces(key)
        self.server.call("DEL", key)
        for number, piece in enumerate(pieces):
            self.server.call("CF.LOADCHUNK", key, *piece)
            if number + 1 < len(pieces):
                for command in ("query", "add", "remove"):
                    self.expect_error(
                        ["whole", "3", "incomplete"], command, "whole", stdin=lines("in", 100)
                    )
                self.expect_error(["whole", "3", "incomplete"], "pull", "whole", "-o", "copy")
        self.assert_found("whole", lines("in", 10_000))

    def test_a_part_of_another_type(self):
        self.server.call("SET", self.parts[3], "x")
        self.expect_all_fail("3")

    def test_another_version_of_the_descriptor(self):
        self.server.call("HSET", "whole", "format", "999999")
        self.expect_error(["whole"], "query", "whole", stdin=b"in-1\n")
        self.expect_error(["whole"], "add", "whole", stdin=b"in-1\n")

    def test_a_damaged_descriptor(self):
        fields = self.server.call("HGETALL", "whole")
        for name in fields[::2]:
            saved = self.server.call("HGET", "whole", name)
            for value in (b"", b"-1", b"99999999999999999999999", b"nan", b"\xff\x00"):
                self.server.call("HSET", "whole", name, value)
                status, _, err = self.run_command("query", "-v", "whole", stdin=lines("in", 100))
                self.assertIn((status, err.count(b"\n")), [(1, 0), (2, 1)], (name, value, err))
            self.server.call("HSET", "whole", name, saved)
        self.assert_found("whole", lines("in", 100))

if __name__ == "__main__":
    unittest.main()
