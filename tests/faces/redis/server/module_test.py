"""The module as a file and as the server sees it: loading, arguments, CONFIG, descriptions, keys."""

import os
import random
import re
import struct
import subprocess
import unittest

import servers
from dump import crc64
from module_case import ModuleCase
from resp import Connection, Error, Simple
from servers import MODULE, Server, ServerTrouble

COMMANDS = """add addnx advance clear compact count debug del exists info insert insertnx loadchunk maddh
    maddnxh mcounth mdel mdelh merge mexists mexistsh reserve scandump update""".split()
servers.PATIENCE = max(servers.PATIENCE, 10)


class FileTest(unittest.TestCase):
    def test_needs_the_run_time_and_liburcu_only(self):
        out = subprocess.run(["readelf", "-d", MODULE], check=True, capture_output=True, text=True)
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", out.stdout))
        allowed = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", "liburcu-bp.so.8"}
        self.assertLessEqual({n for n in needed if not n.startswith("ld-linux")}, allowed)
        self.assertNotRegex(out.stdout, "RPATH|RUNPATH")

    def test_shows_one_name(self):
        out = subprocess.run(
            ["nm", "--dynamic", "--defined-only", MODULE], check=True, capture_output=True,
            text=True
        )
        names = {line.split()[-1] for line in out.stdout.splitlines()}
        self.assertEqual(names, {"RedisModule_OnLoad"})


class LoadTest(unittest.TestCase):
    def refusal(self, *arguments, options=None):
        server = Server(options, arguments, start=False)
        self.addCleanup(server.remove)
        with self.assertRaises(ServerTrouble) as caught:
            server.start()
        return str(caught.exception)

    def test_wrong_arguments(self):
        self.assertIn("Unknown argument `cf-size`", self.refusal("cf-size", 3))
        self.assertIn("Invalid value for `cf-bucket-size`", self.refusal("cf-bucket-size"))
        self.assertIn("Invalid value for `cf-bucket-size`", self.refusal("cf-bucket-size", "x"))
        text = "Value for `cf-max-iterations` must be in the range [1, 65535]"
        self.assertIn(text, self.refusal("cf-max-iterations", 0))

    def test_loads_after_arguments_that_were_refused(self):
        # Redis 7.0 keeps the module then, with defaults; Redis 8.0 puts it out, but keeps its ACL category.
        with Server({"enable-module-command": "yes"}, module=None) as server:
            for setting in ("cf-bucket-size", 4), ("nestline.cf-bucket-size", 300):
                refused = server.call("MODULE", "LOADEX", MODULE, "CONFIG", *setting)
                self.assertIn("Error loading the extension", refused)
            server.call("MODULE", "LOADEX", MODULE, "CONFIG", "nestline.cf-bucket-size", 4)
            self.assertEqual(server.call("CF.ADD", "a", "x"), 1)

    def test_refuses_a_second_one(self):
        with Server() as server:
            copy = server.path("copy.so")
            with open(MODULE, "rb") as source, open(copy, "wb") as target:
                target.write(source.read())
            os.chmod(copy, 0o755)
            self.assertIn("Error loading the extension", server.call("MODULE", "LOAD", copy))
            self.assertIn("a module named nestline is already loaded", server.log())
            self.assertEqual(server.call("CF.ADD", "a", "x"), 1)

    def test_refuses_beside_other_cf_commands(self):
        with Server() as server:
            # The same module under another name, so that only the commands conflict.
            copy = server.path("other.so")
            with open(MODULE, "rb") as source:
                content = source.read()
            with open(copy, "wb") as target:
                target.write(content.replace(b"\0nestline\0", b"\0nestling\0"))
            os.chmod(copy, 0o755)
            self.assertIn("Error loading the extension", server.call("MODULE", "LOAD", copy))
            self.assertIn("the command cf.reserve exists already", server.log())
            self.assertEqual(server.call("CF.ADD", "a", "x"), 1)

    def test_arguments(self):
        arguments = ("CF-Bucket-Size", 4, "cf-initial-size", 4096, "CF_MAX_EXPANSIONS", 7,
                     "cf-expansion-factor", 3, "cf-max-iterations", 9)  # fmt: skip
        with Server(arguments=arguments) as server, Connection(server.port) as client:
            client.call("CF.ADD", "a", "x")
            line = b"bktsize:4 buckets:1024 items:1 deletes:0 filters:1 max_iterations:9 expansion:4"
            self.assertEqual(client.call("CF.DEBUG", "a"), line)
            name = "nestline.cf-max-expansions"
            self.assertEqual(client.call("CONFIG", "GET", name), [name.encode(), b"7"])
            client.call("CF.RESERVE", "b", 1000)
            self.assertIn(b"bktsize:4 ", client.call("CF.DEBUG", "b"))

    def test_configuration_file(self):
        settings = {"nestline.cf-bucket-size": "8", "nestline.cf-initial-size": "16"}
        with Server(settings) as server, Connection(server.port) as client:
            client.call("CF.ADD", "a", "x")
            self.assertIn(b"bktsize:8 buckets:2 ", client.call("CF.DEBUG", "a"))

    def test_rewritten_configuration(self):
        """What CONFIG REWRITE writes after CONFIG SET is read at the next start."""
        with Server(start=False) as server:
            with open(server.path("redis.conf"), "w", encoding="utf-8") as file:
                file.write(f"port {server.port}\ndir {server.folder}\nbind 127.0.0.1\nsave ''\n"
                           f"logfile {server.path('log')}\nloadmodule {MODULE}\n")  # fmt: skip
            server.command_line = lambda: [servers.PROGRAM, server.path("redis.conf")]
            server.start()
            for bucket, size in ((4, 8), (255, 510), (1, 2)):
                name = "nestline.cf-bucket-size"
                wanted = (name, bucket, "nestline.cf-initial-size", size)
                self.assertEqual(server.call("CONFIG", "SET", *wanted), "OK")
                self.assertEqual(server.call("CONFIG", "REWRITE"), "OK")
                server.restart(save=False)
                self.assertEqual(server.call("CONFIG", "GET", name)[1], str(bucket).encode())
                server.call("CF.ADD", f"k{bucket}", "x")
                debug = server.call("CF.DEBUG", f"k{bucket}").decode()
                self.assertIn(f"bktsize:{bucket} buckets:{size // bucket} ", debug)
        server = Server({"nestline.cf-bucket-size": "6", "nestline.cf-initial-size": "11"}, start=False)
        self.addCleanup(server.remove)
        with self.assertRaises(ServerTrouble) as caught:
            server.start()
        self.assertRegex(str(caught.exception), "Value for `cf-.*must be in the range")

    def test_unload_is_refused_while_the_type_exists(self):
        with Server() as server, Connection(server.port) as client:
            self.assertIsInstance(client.call("MODULE", "UNLOAD", "nestline"), Error)
            self.assertEqual(client.call("PING"), Simple("PONG"))


class ConfigTest(ModuleCase):
    def test_defaults(self):
        flat = self.call("CONFIG", "GET", "nestline.*")
        threads = servers.THREADS or str(max(0, len(os.sched_getaffinity(0)) - 1))
        self.assertEqual(
            dict(zip(flat[::2], flat[1::2])),
            {
                b"nestline.cf-bucket-size": b"2", b"nestline.cf-initial-size": b"1024",
                b"nestline.cf-max-iterations": b"20", b"nestline.cf-expansion-factor": b"1",
                b"nestline.cf-turns-over": b"0", b"nestline.cf-max-expansions": b"32",
                b"nestline.cf-threads": threads.encode(),
                b"nestline.cf-thread-items": b"2" if servers.THREADS else b"8192",
                b"nestline.cf-window-timer": b"1", b"nestline.cf-huge-pages": b"0",
            },
        )  # fmt: skip

    def expect_range(self, name, low, high, widest=None):
        """The range that it has now, and that of values which it may have at any time."""
        for value in (low - 1, high + 1):
            reply = self.call("CONFIG", "SET", f"nestline.{name}", value)
            self.assertIsInstance(reply, Error)
            least, most = widest or (low, high)
            shown = (low, high) if least <= value <= most else (least, most)
            self.assertIn(f"Value for `{name}` must be in the range [{shown[0]}, {shown[1]}]", reply)
        old = self.call("CONFIG", "GET", f"nestline.{name}")[1]
        for value in (low, high, old):
            self.expect("OK", "CONFIG", "SET", f"nestline.{name}", value)

    def test_ranges(self):
        self.expect_range("cf-bucket-size", 1, 255)
        self.expect_range("cf-initial-size", 4, 1 << 30, widest=(2, 1 << 30))
        self.expect_range("cf-max-iterations", 1, 65535)
        self.expect_range("cf-expansion-factor", 0, 32768)
        self.expect_range("cf-turns-over", 0, 1)
        self.expect_range("cf-max-expansions", 1, 65536)
        self.expect_range("cf-threads", 0, 256)
        self.expect_range("cf-thread-items", 1, 1 << 30)
        self.expect_range("cf-window-timer", 0, 1)
        self.expect_range("cf-huge-pages", 0, 1)

    def test_huge_pages(self):
        """Whatever the system makes of the advice, filters are empty and then right."""
        hashes = random.Random(5).randbytes(80_000)
        for wanted in (1, 0, 1):
            self.expect("OK", "CONFIG", "SET", "nestline.cf-huge-pages", wanted)
            for name in "ab":
                self.expect("OK", "CF.RESERVE", name, 4_000_000, "SEED", 1)
                self.assertEqual(self.call("CF.MEXISTSH", name, hashes), bytes(1250))
                self.assertEqual(self.call("CF.MADDH", name, hashes), b"\xff" * 1250)
                self.assertEqual(self.call("CF.MEXISTSH", name, hashes), b"\xff" * 1250)
            self.expect(2, "DEL", "a", "b")
        self.expect("OK", "CONFIG", "SET", "nestline.cf-huge-pages", 0)

    def test_ranges_that_move(self):
        self.expect("OK", "CONFIG", "SET", "nestline.cf-initial-size", 20)
        self.expect_range("cf-bucket-size", 1, 10, widest=(1, 255))
        self.expect_error("BUCKETSIZE: value must be in the range [1, 10]",
                          "CF.RESERVE", "a", 1000, "BUCKETSIZE", 11)
        self.expect("OK", "CONFIG", "SET", "nestline.cf-bucket-size", 10)
        self.expect_range("cf-initial-size", 20, 1 << 30, widest=(2, 1 << 30))
        self.expect("OK", "CONFIG", "SET", "nestline.cf-bucket-size", 2)
        self.expect("OK", "CONFIG", "SET", "nestline.cf-initial-size", 1024)

    def test_both_in_one_command(self):
        """Whatever their order, they are checked together, when all are set."""
        size, bucket = "nestline.cf-initial-size", "nestline.cf-bucket-size"
        for values in ((size, 8, bucket, 4), (bucket, 255, size, 510), (bucket, 1, size, 2),
                       (size, 100, bucket, 50), (bucket, 2, size, 1024)):  # fmt: skip
            self.expect("OK", "CONFIG", "SET", *values)
        for values in ((size, 100, bucket, 51), (bucket, 51, size, 100)):
            self.assertRegex(self.call("CONFIG", "SET", *values), "Value for `cf-.*must be in the range")
            for name, kept in ((bucket, b"2"), (size, b"1024")):
                self.assertEqual(self.call("CONFIG", "GET", name)[1], kept)

    def test_used_for_new_filters(self):
        self.expect("OK", "CONFIG", "SET", "nestline.cf-expansion-factor", 5)
        self.call("CF.ADD", "a", "x")
        self.assertEqual(self.debug("a")["expansion"], 8)
        self.expect("OK", "CONFIG", "SET", "nestline.cf-expansion-factor", 1)
        self.assertEqual(self.debug("a")["expansion"], 8)
        self.expect("OK", "CONFIG", "SET", "nestline.cf-turns-over", 1)
        self.call("CF.ADD", "added", "x")
        self.call("CF.RESERVE", "reserved", 1000)
        self.call("CF.RESERVE", "without", 1000, "TURNSOVER", 0)
        self.expect("OK", "CF.RESERVE", "window", 1000, "WINDOW", 60)
        self.expect("OK", "CONFIG", "SET", "nestline.cf-turns-over", 0)
        for key, wanted in (("a", 0), ("added", 1), ("reserved", 1), ("without", 0)):
            self.assertEqual(self.info(key)["Turns over"], wanted, key)


class DescriptionTest(ModuleCase):
    def test_command_info(self):
        expected = {
            "reserve": (-3, {b"write", b"denyoom"}), "add": (-3, {b"write", b"denyoom"}),
            "addnx": (-3, {b"write", b"denyoom"}), "advance": (-3, {b"write"}), "insert": (-4, {b"write", b"denyoom"}),
            "insertnx": (-4, {b"write", b"denyoom"}), "exists": (3, {b"readonly", b"fast"}),
            "count": (3, {b"readonly", b"fast"}), "mexists": (-3, {b"readonly", b"fast"}),
            "del": (3, {b"write", b"fast"}), "mdel": (-3, {b"write", b"fast"}),
            "mexistsh": (3, {b"readonly", b"fast"}), "mcounth": (3, {b"readonly", b"fast"}),
            "maddh": (3, {b"write", b"denyoom"}), "maddnxh": (3, {b"write", b"denyoom"}),
            "mdelh": (3, {b"write", b"fast"}),
            "clear": (2, {b"write"}), "update": (4, {b"write", b"denyoom", b"fast"}),
            "merge": (-3, {b"write", b"denyoom"}), "compact": (2, {b"write"}),
            "scandump": (3, {b"readonly", b"fast"}), "loadchunk": (4, {b"write", b"denyoom"}),
            "info": (-2, {b"readonly", b"fast"}), "debug": (2, {b"readonly", b"fast"}),
        }  # fmt: skip
        self.assertEqual(sorted(expected), sorted(COMMANDS))
        for name, (arity, flags) in expected.items():
            info = self.call("COMMAND", "INFO", f"cf.{name}")[0]
            self.assertEqual(info[1], arity, name)
            self.assertEqual({flag.encode() for flag in info[2]} - {b"module", b"movablekeys"},
                             flags)
            tips = [b"dont_cache"] if name in ("info", "debug", "scandump") else []
            self.assertEqual(list(info[7]), tips, name)

    def test_documentation(self):
        for name in COMMANDS:
            pairs = self.three.call("COMMAND", "DOCS", f"cf.{name}")[f"cf.{name}".encode()]
            self.assertGreater(len(pairs[b"summary"]), 20, name)
            self.assertTrue(pairs[b"complexity"].startswith(b"O("), name)
            self.assertEqual(pairs[b"module"], b"nestline")
            arguments = [argument[b"name"] for argument in pairs[b"arguments"]]
            self.assertIn(arguments[0], (b"key", b"destination"), name)

    def test_keys(self):
        """Those of all commands: cluster_test.py."""
        for command in (("RESERVE", "k", 10, "WINDOW", 60), ("ADD", "k", "x", "EX", 9)):
            self.expect([b"k"], "COMMAND", "GETKEYS", "CF." + command[0], *command[1:])
        reply = self.call("COMMAND", "GETKEYSANDFLAGS", "CF.MERGE", "d", "s1", "s2")
        flags = {key: {str(flag) for flag in some} for key, some in reply}
        self.assertEqual(flags[b"d"], {"RW", "insert"})
        self.assertEqual(flags[b"s2"], {"RO", "access"})
        # The keys of commands whose replies depend on what is in the filter need "access" too.
        for names, wanted in (
            ("INFO DEBUG EXISTS MEXISTS COUNT MEXISTSH MCOUNTH SCANDUMP", {"RO", "access"}),
            ("ADD ADDNX INSERT INSERTNX MADDH MADDNXH LOADCHUNK", {"RW", "access", "insert"}),
            ("DEL MDEL MDELH", {"RW", "access", "delete"}), ("UPDATE", {"RW", "access", "update"}),
            ("RESERVE", {"RW", "insert"}), ("CLEAR", {"RW", "delete"}),
            ("ADVANCE COMPACT", {"RW", "update"}),
        ):  # fmt: skip
            for name in names.split():
                arguments = {"INSERT": 2, "INSERTNX": 2, "UPDATE": 2, "LOADCHUNK": 2, "INFO": 0,
                             "DEBUG": 0, "CLEAR": 0, "COMPACT": 0}.get(name, 1)  # fmt: skip
                command = (f"CF.{name}", "k", *("x" * arguments))
                ((_, some),) = self.call("COMMAND", "GETKEYSANDFLAGS", *command)
                self.assertEqual({str(flag) for flag in some}, wanted, name)

    def test_type(self):
        self.call("CF.ADD", "a", "x")
        self.expect(Simple("MBbloomCF"), "TYPE", "a")
        self.expect([b"0", [b"a"]], "SCAN", 0, "TYPE", "MBbloomCF")

    def has_categories(self):
        """Whether modules may add ACL categories on this server: Redis from 7.4 on."""
        return b"cuckoo" in self.call("ACL", "CAT")

    def test_acl_category(self):
        if not self.has_categories():
            self.skipTest("this server has no ACL categories for modules")
        names = {name.decode() for name in self.call("ACL", "CAT", "cuckoo")}
        self.assertEqual(names, {f"cf.{name}" for name in COMMANDS})

    def test_acl(self):
        allowed = ["+@read"] if self.has_categories() else ["+cf.exists"]
        self.call("ACL", "SETUSER", "reader", "on", "nopass", "~in-*", *allowed)
        with Connection(self.server.port) as reader:
            reader.call("AUTH", "reader", "")
            self.assertEqual(reader.call("CF.EXISTS", "in-a", "x"), 0)
            for command in (("CF.ADD", "in-a", "x"), ("CF.COMPACT", "in-a"),
                            ("CF.EXISTS", "a", "x")):
                self.assertTrue(reader.call(*command).startswith("NOPERM"), command)
        self.call("ACL", "SETUSER", "reader", "reset", "on", "nopass", "%W~*", "+@all")
        with Connection(self.server.port) as writer:
            writer.call("AUTH", "reader", "")
            self.assertEqual(writer.call("CF.RESERVE", "a", 100, "WINDOW", 60), "OK")
            for command in (("CF.ADD", "a", "x"), ("CF.INSERT", "a", "ITEMS", "x"),
                            ("CF.MADDH", "a", 8 * "h"), ("CF.UPDATE", "a", "x", "y"),
                            ("CF.LOADCHUNK", "a", 2, "piece")):  # fmt: skip
                self.assertTrue(writer.call(*command).startswith("NOPERM"), command)
        self.call("ACL", "DELUSER", "reader")

    def test_scripts_and_transactions(self):
        script = "return redis.call('CF.ADD', KEYS[1], ARGV[1]) + redis.call('CF.COUNT', KEYS[1], 'x')"
        self.expect(2, "EVAL", script, 1, "a", "x")
        self.call("MULTI")
        self.call("CF.ADD", "a", "y")
        self.call("CF.MEXISTS", "a", "x", "y", "z")
        self.expect([1, [1, 1, 0]], "EXEC")

    def test_out_of_memory(self):
        self.call("CF.ADD", "a", "x")
        self.call("CONFIG", "SET", "maxmemory", 1)
        try:
            for command in (("CF.ADD", "a", "y"), ("CF.RESERVE", "b", 100), ("CF.MERGE", "b", "a"),
                            ("CF.MADDH", "a", 8 * b"h"), ("CF.MADDNXH", "a", 8 * b"h")):  # fmt: skip
                self.assertTrue(self.call(*command).startswith("OOM"), command)
            self.expect(1, "CF.DEL", "a", "x")
            self.expect(b"\0", "CF.MDELH", "a", 8 * b"h")
        finally:
            self.call("CONFIG", "SET", "maxmemory", 0)


class InfoTest(ModuleCase):
    def section(self):
        text = self.call("INFO", "nestline").decode()
        self.assertIn("# nestline\r\n", text)
        fields = dict(line.split(":") for line in text.split() if ":" in line)
        return {name.removeprefix("nestline_"): int(value) for name, value in fields.items()}

    def change(self, *commands):
        """How much the commands have raised each field of the section that changed."""
        before = self.section()
        for command in commands:
            self.call(*command)
        after = self.section()
        return {name: after[name] - before[name] for name in after if after[name] != before[name]}

    def test_filters_come_and_go(self):
        empty = self.section()
        gained = self.change(("CF.RESERVE", "a", 100000), ("CF.ADD", "b", "x"), ("COPY", "a", "c"))
        self.assertEqual((gained["keys"], gained["filters"], gained["items_added"]), (3, 3, 1))
        sizes = sum(self.call("MEMORY", "USAGE", key) for key in "abc")
        self.assertLess(abs(gained["filter_bytes"] - sizes), 3000)
        self.assertGreater(gained["filter_bytes"], 300000)
        self.assertEqual(self.change(("CF.RESERVE", "a", 100)), {})
        self.call("FLUSHALL")
        self.assertEqual([self.section()[name] for name in ("keys", "filters", "filter_bytes")],
                         [empty[name] for name in ("keys", "filters", "filter_bytes")])  # fmt: skip

    def test_filters_that_grow(self):
        items = [f"item-{i}" for i in range(20000)]
        gained = self.change(("CF.INSERT", "a", "ITEMS", *items))
        self.assertEqual((gained["keys"], gained["items_added"]), (1, 20000))
        self.assertEqual(gained["filters"], dict(self.pairs("CF.INFO", "a"))["Number of filters"])
        self.assertGreater(gained["filters"], 1)

    def test_ledger_is_no_filter(self):
        copies = [f"item-{i}" for i in range(20)] * 50
        gained = self.change(("CF.RESERVE", "a", 10000), ("CF.INSERT", "a", "ITEMS", *copies))
        self.assertEqual(dict(self.pairs("CF.INFO", "a", "FULL"))["Corrections"], 20)
        self.assertEqual(gained["filters"], dict(self.pairs("CF.INFO", "a"))["Number of filters"])
        self.assertLess(gained["filter_bytes"], self.call("MEMORY", "USAGE", "a"))
        self.call("DEL", "a")
        self.assertEqual(self.change(("CF.RESERVE", "a", 10000), ("DEL", "a")), {})

    def pairs(self, *command):
        flat = self.call(*command)
        return {str(name): value for name, value in zip(flat[::2], flat[1::2])}

    def test_items(self):
        gained = self.change(
            *(("CF.INSERT", "a", "ITEMS", "x", "y", "z"), ("CF.DEL", "a", "x"),
              ("CF.DEL", "a", "no")),
            *(("CF.MDEL", "a", "y", "no"), ("CF.UPDATE", "a", "z", "w"), ("CF.ADDNX", "a", "w")),
        )
        self.assertEqual((gained["items_added"], gained["items_deleted"]), (4, 3))
        three = b"first...second..third..."
        gained = self.change(
            *(("CF.MADDH", "a", three), ("CF.MADDNXH", "a", three), ("CF.MDELH", "a", three[:16])),
            *(("CF.MDELH", "a", three[:16]), ("CF.MADDNXH", "a", three),
              ("CF.MEXISTSH", "a", three)),
        )
        self.assertEqual((gained["items_added"], gained["items_deleted"]), (5, 2))

    def test_what_is_refused(self):
        self.call("CONFIG", "SET", "nestline.cf-max-expansions", 1)
        self.addCleanup(self.call, "CONFIG", "SET", "nestline.cf-max-expansions", 32)
        items = [f"item-{i}" for i in range(20000)]
        # A payload is compressed, so with a random seed the flip might leave its content the same.
        self.call("CF.RESERVE", "a", 1024, "SEED", 1)
        gained = self.change(("CF.INSERT", "a", "ITEMS", *items))
        self.assertEqual(gained["items_added"] + gained["stopped_by_max_expansions"], 20000)
        damaged = bytearray(self.call("DUMP", "a"))
        damaged[len(damaged) // 2] ^= 1
        damaged[-8:] = struct.pack("<Q", crc64(damaged[:-8]))
        gained = self.change(("RESTORE", "c", 0, bytes(damaged)))
        self.assertEqual(gained, {"refused_payloads": 1})

    def test_whole_section_in_everything(self):
        self.assertIn(b"nestline_keys:", self.call("INFO", "everything"))


class MaxmemoryTest(ModuleCase):
    LARGE = ("CF.RESERVE", "large", 200_000_000)  # some 340 MB

    def limit(self, size, policy="noeviction"):
        self.call("CONFIG", "SET", "maxmemory-policy", policy)
        self.call("CONFIG", "SET", "maxmemory", size)
        self.addCleanup(self.call, "CONFIG", "SET", "maxmemory", 0)

    def refused(self, *command):
        reply = self.call(*command)
        self.assertIsInstance(reply, Error, command)
        found = re.fullmatch(
            r"ERR Insufficient memory to create filter: it takes (\d+) bytes and maxmemory leaves (\d+)",
            str(reply),
        )
        self.assertTrue(found, reply)
        wanted, room = map(int, found.groups())
        self.assertGreater(wanted, room)
        self.assertEqual(self.call("EXISTS", command[1]), 0)
        return wanted, room

    def test_more_than_it_leaves(self):
        self.limit("100mb")
        wanted, room = self.refused(*self.LARGE)
        self.assertGreater(wanted, 300_000_000)
        self.assertLess(room, 100 << 20)
        self.refused("CF.INSERT", "large", "CAPACITY", 200_000_000, "ITEMS", "x")
        self.expect("OK", "CF.RESERVE", "small", 1_000_000)
        self.expect(1, "CF.ADD", "small", "x")

    def test_what_is_used_counts(self):
        self.call("SETBIT", "other", (60 << 23) - 1, 1)  # 60 MiB
        self.limit("100mb")
        self.refused("CF.RESERVE", "a", 30_000_000)
        self.call("DEL", "other")
        self.expect("OK", "CF.RESERVE", "a", 30_000_000)

    def test_what_can_be_evicted_is_room(self):
        self.call("SETBIT", "other", (60 << 23) - 1, 1)  # 60 MiB
        self.limit("100mb", "allkeys-lru")
        self.expect("OK", "CF.RESERVE", "a", 30_000_000)
        self.refused(*self.LARGE)

    def test_heads_of_pieces(self):
        self.call("CF.RESERVE", "from", 200_000_000)
        self.call("CF.ADD", "from", "x")
        head = self.call("CF.SCANDUMP", "from", 0)[1]
        self.call("FLUSHALL", "SYNC")
        self.limit("100mb")
        self.expect_error("Couldn't create filter!", "CF.LOADCHUNK", "large", 1, head)
        self.call("CONFIG", "SET", "maxmemory", 0)
        self.expect("OK", "CF.LOADCHUNK", "large", 1, head)

    def test_replicas_follow(self):
        """A filter that the primary has made is made on a replica with less memory too."""
        with Server.replica_of(self.server, {"maxmemory": "100mb"}) as replica:
            self.call("CF.RESERVE", "large", 200_000_000)
            self.expect(1, "CF.ADD", "large", "x")
            self.assertEqual(self.call("WAIT", 1, 100000), 1)
            self.assertEqual(replica.call("CF.EXISTS", "large", "x"), 1)
