"""nestline cluster: its command line, and what it says when there is no server. tests/faces/cluster has what
it does with one. Run by command_test.py.
"""

import os
import socket

from command_harness import CommandTest

COMMANDS = {
    "create": ["--capacity", "9"], "add": [], "query": [], "remove": [], "push": [],
    "pull": ["-o", "file"], "merge": ["other"], "info": [], "drop": [],
}  # fmt: skip


class ClusterArgumentsTest(CommandTest):
    def refuse(self, *arguments):
        """The message about a wrong command line."""
        status, out, err = self.run_command("cluster", *arguments)
        self.assertEqual((status, out), (2, b""), (arguments, err))
        self.assertRegex(err, rb"\Anestline: [^\n]+; see nestline cluster [a-z ]*--help\n\Z")
        return err.decode()

    def test_help(self):
        status, out, err = self.run_command("cluster", "--help")
        self.assertEqual((status, err), (0, b""))
        for name in COMMANDS:
            self.assertRegex(out.decode(), rf"\n  {name} +[A-Z]")
            status, text, err = self.run_command("cluster", name, "--help")
            self.assertEqual((status, err), (0, b""))
            self.assertIn(b"--server SERVER", text)
            self.assertIn(b"NESTLINE_CLUSTER_PASSWORD", text)
            self.assertEqual(b"-z,--zero-terminated" in text,
                             name in ("add", "query", "remove", "push"))
            self.assertIn(b"Exit status: 0", text)
            self.assertLess(max(map(len, text.splitlines())), 110)

    def test_what_is_required(self):
        self.refuse()
        self.assertIn("there is no command 'bogus'", self.refuse("bogus"))
        for name, more in COMMANDS.items():
            self.assertIn("--server is required", self.refuse(name, "x", *more))
            options = [] if name == "merge" else more  # merge has two names
            self.assertIn("NAME is required", self.refuse(name, "--server", "a", *options))
            self.assertIn("--bogus", self.refuse(name, "x", "--server", "a", "--bogus", *more))
            self.assertIn("--server", self.refuse(name, "x", *more, "--server"))
        self.assertIn("--capacity is required", self.refuse("create", "x", "--server", "a"))
        self.assertIn("-o is required", self.refuse("pull", "x", "--server", "a"))
        self.assertIn("SOURCE is required", self.refuse("merge", "x", "--server", "a"))
        self.assertIn("b", self.refuse("drop", "x", "--server", "a", "b"))

    def test_values(self):
        create = "create", "x", "--server", "a", "--capacity"
        for option, values in {
            "--capacity": ["0", "-1", "x", "1e6", str(2**53 + 1)],
            "--parts": ["0", "16385", "many"],
            "--fpr": ["0", "1", "-0.1", "few"],
            "--bits": ["11", "eight"],
            "--seed": ["0", "-1", str(2**64)],
            "--max-capacity": ["0"],
            "--timeout": ["0", "x", "3600001"],
        }.items():
            for value in values:
                line = (*create, value) if option == "--capacity" else (*create, "9", option, value)
                self.assertIn(option, self.refuse(*line))
        self.assertIn("--bits", self.refuse(*create, "9", "--bits", "8", "--fpr", "0.1"))
        self.assertIn("--wait", self.refuse("add", "x", "--server", "a", "--wait", "-1"))
        self.assertIn("--file or INPUT",
                      self.refuse("push", "x", "y", "--server", "a", "--file", "f"))
        self.assertIn("--server or --file", self.refuse("query", "--server", "a", "--file", "f"))

    def test_there_is_no_server(self):
        """A port that nobody listens at, and none is asked for long."""
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            for name, more in COMMANDS.items():
                line = name, "x", "--server", address, "--timeout", "50", *more
                self.expect_error(["cluster", *line], b"nestline: x: ", address.encode(),
                                  stdin=b"key\n")
        self.assertEqual(os.listdir(self.folder), [])

    def test_files_that_are_none(self):
        self.write("bad", b"not a copy")
        self.expect_error(["cluster", "query", "--file", "bad"], b"bad: ")
        self.expect_error(["cluster", "query", "--file", "absent"], b"absent: ")
        self.build("filter", b"key\n")
        self.expect_error(["cluster", "query", "--file", "filter"], b"filter: ")
