"""nestline cluster on one server: servers that cannot help, rights, TLS, and the examples of the
documents."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time
import unittest
import unittest.mock

from cluster_case import (
    NESTLINE, TIMEOUT_MS, Client, ClusterCase, CommandCase, CuttingProxy, Failed, lines,
)  # fmt: skip
from resp import Connection
from servers import PATIENCE, Server, free_port, wait_until

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "documents" / "examples"


class TroubleTest(CommandCase):
    """Servers that cannot help. The timeout must pass only where a server might still come."""

    def test_nobody_listens(self):
        nobody = f"127.0.0.1:{free_port()}"
        self.expect_error([nobody], "query", "x", "--timeout", 300, servers=("--server", nobody))
        # The other one helps.
        self.create("x", 100)
        self.expect("add", "x", stdin=b"key\n", servers=("--server", nobody, *self.servers))

    def test_a_server_that_hangs(self):
        self.create("slow", 1000)
        os.kill(self.server.process.pid, signal.SIGSTOP)
        try:
            for arguments in (
                ("query", "slow"), ("add", "slow"), ("push", "slow"), ("info", "slow"),
                ("drop", "slow"), ("create", "new", "--capacity", 100),
            ):  # fmt: skip
                begin = time.monotonic()
                self.expect_error(
                    [f"127.0.0.1:{self.server.port}"], *arguments, "--timeout", 500, stdin=b"key\n"
                )
                self.assertGreater(time.monotonic() - begin, 0.4)
                self.assertLess(time.monotonic() - begin, 20)
        finally:
            os.kill(self.server.process.pid, signal.SIGCONT)
        self.expect("add", "slow", stdin=b"key\n")

    def test_one_who_accepts_and_says_nothing_or_nonsense(self):
        for answer in (None, b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x00" * 100,
                       b"*9999999\r\n"):
            with socket.create_server(("127.0.0.1", 0)) as listener:
                address = f"127.0.0.1:{listener.getsockname()[1]}"
                process = self.start("query", "x", "--timeout", 500, servers=("--server", address))
                peer, _ = listener.accept()
                with peer:
                    if answer is not None:
                        peer.sendall(answer)
                        peer.shutdown(socket.SHUT_WR)
                    _, err = process.communicate(b"key\n", timeout=PATIENCE)
                self.assertEqual((process.returncode, err.count(b"\n")), (2, 1), err)
                self.assertIn(address.encode(), err)

    def test_words_that_are_no_server(self):
        for word in (
            "", ":", "host:", "host:0", "host:65536", "host:1x", "http://host", "redis://", "[::1",
            "redis://user:pass%zz@host", "redis:/host", "redis://host:1/1", "redis://host?db=0&pass=x",
        ):  # fmt: skip
            status, out, err = self.run_command("query", "x", servers=("--server", word))
            self.assertEqual((status, out, err.count(b"\n")), (2, b"", 1), (word, err))
            self.assertNotIn(b"pass", err.replace(b"password", b""))

    def test_no_password_in_the_list_of_processes(self):
        with socket.create_server(("127.0.0.1", 0)) as nobody_answers:
            url = f"redis://me:secret@127.0.0.1:{nobody_answers.getsockname()[1]}"
            process = self.start("info", "x", servers=("--server", url))
            try:
                command_line = pathlib.Path(f"/proc/{process.pid}/cmdline")
                wait_until(lambda: b"redis://*********@127.0.0.1" in command_line.read_bytes(),
                           "the password is gone")
                self.assertNotIn(b"secret", command_line.read_bytes())
            finally:
                process.kill()
                process.communicate()

    def test_wrong_password(self):
        with Server() as server:
            server.call("CONFIG", "SET", "requirepass", "sesame")
            servers = ("--server", f"127.0.0.1:{server.port}")
            address = servers[1]
            create = "create", "x", "--capacity", 100
            clean = {name: value for name, value in os.environ.items()
                     if "NESTLINE_CLUSTER" not in name}
            begin = time.monotonic()
            self.expect_error([address, "password"], *create, servers=servers, env=clean)
            wrong = {**clean, "NESTLINE_CLUSTER_PASSWORD": "simsim"}
            self.expect_error([address, "password"], *create, servers=servers, env=wrong)
            self.assertLess(time.monotonic() - begin, PATIENCE / 2)  # no waiting for another answer
            right = {**clean, "NESTLINE_CLUSTER_PASSWORD": "sesame"}
            self.expect(*create, servers=servers, env=right)
            self.write("secret", b"sesame\nsomething else\n")
            self.expect("drop", "x", "--password-file", "secret", servers=servers, env=wrong)
            self.write("secret", b"\n")
            self.expect_error(
                ["secret", "empty"], *create, "--password-file", "secret", servers=servers
            )
            self.expect_error(["nowhere"], *create, "--password-file", "nowhere", servers=servers)
            inside = ("--server", f"redis://:sesame@{address}/0")
            self.expect(*create, servers=inside, env=clean)
            with Connection(server.port) as admin:
                admin.call("AUTH", "sesame")
                admin.call("ACL", "SETUSER", "ann", "on", ">a@b", "~*", "+@all")
                admin.call("ACL", "SETUSER", "bob", "on", ">b", "~*", "+@all", "-cf.mexistsh")
            inside = ("--server", f"redis://ann:a%40b@{address}")
            self.expect("info", "x", servers=inside, env={**clean}, status=0, out=unittest.mock.ANY)
            bob = {**clean, "NESTLINE_CLUSTER_PASSWORD": "b"}
            self.expect_error(
                [address, "mexistsh"], "query", "x", "--user", "bob", stdin=b"key\n",
                servers=servers,
                env=bob,
            )  # fmt: skip

    def test_the_rights_that_docs_name_suffice(self):
        text = (EXAMPLES.parents[2] / "docs" / "CLUSTER.md").read_text()
        rights = re.search(r"\n```\n(\+cf.*?)```", text, re.DOTALL)[1].split()
        self.assertEqual(rights[-2:], ["~words", "~words:*"])
        self.server.call("ACL", "SETUSER", "ann", "on", ">secret", *rights)
        self.addCleanup(self.server.call, "ACL", "DELUSER", "ann")
        self.write("secret", b"secret")
        servers = (*self.servers, "--user", "ann", "--password-file", "secret")
        self.expect("create", "words", "--capacity", 1000, "--seed", 1, servers=servers)
        self.expect("create", "words:2", "--capacity", 1000, "--seed", 1, servers=servers)
        keys = lines("in", 500)
        for change in (["push"], ["push", "--merge"], ["add"], ["add", "--unique"], ["remove"]):
            self.expect(change[0], "words", *change[1:], stdin=keys, servers=servers)
        self.expect("merge", "words:2", "words", servers=servers)
        self.expect("query", "-c", "words:2", stdin=keys, out=b"500\n", servers=servers)
        self.expect("pull", "words", "-o", "copy", servers=servers)
        self.expect("push", "words:2", "--file", "copy", servers=servers)
        self.assertEqual(self.run_command("info", "words", servers=servers)[0], 0)
        for name in ("words", "words:2"):
            self.expect("drop", name, servers=servers)
        self.expect("drop", "words", status=1, servers=servers)
        self.expect_error(["permission"], "create", "other", "--capacity", 9, servers=servers)

    def test_no_module(self):
        with Server(module=None) as server:
            servers = ("--server", f"127.0.0.1:{server.port}")
            self.expect_error(
                [servers[1], "module"], "create", "x", "--capacity", 100, servers=servers
            )
            self.assertEqual(server.call("DBSIZE"), 0)

    def test_no_memory(self):
        self.create("big", 10_000)
        self.expect("add", "big", stdin=lines("in", 1000))
        used = self.server.information("memory")["used_memory"]
        self.server.call("CONFIG", "SET", "maxmemory", int(used) // 2)
        try:
            self.expect_error(["memory"], "add", "big", stdin=lines("more", 10))
            self.expect_error(["memory"], "push", "big", stdin=lines("more", 10))
            self.assert_found("big", lines("in", 1000))
        finally:
            self.server.call("CONFIG", "SET", "maxmemory", 0)
        self.assertEqual(self.info("big")["items"], 1000)
        self.expect("drop", "big")
        self.assertEqual(self.server.call("DBSIZE"), 0)

    def test_replicas_that_are_not_there(self):
        self.create("copied", 1000)
        # A busy server may be too late with its count of replicas: ever more patience, then.
        for timeout in (300, 1200, 4800, TIMEOUT_MS):
            err = self.expect_error(["copied"], "add", "copied", "--wait", 1, "--timeout", timeout,
                                    stdin=b"key\n")
            if b"has not answered" not in err:
                break
        self.assertIn(b"replica", err)
        self.expect("query", "copied", stdin=b"key\n", out=b"key\n")


class CutsTest(CommandCase):
    """Replies that end after any number of bytes, a transaction's too: what a client reports about
    the effect is what the server has."""

    KEYS = 100

    def state(self, client):
        return [client.call("count", prefix, 0, self.KEYS)[0] for prefix in ("old", "new")]

    def outcome_of(self, client, words):
        try:
            client.call(*words)
        except Failed as failure:
            return failure.effect
        return "ok"

    def test_replies_are_cut_at_every_byte(self):
        step = int(os.environ.get("NESTLINE_CUT_STEP", "9"))
        self.create("cut", 10_000, "--parts", 2)
        with CuttingProxy(self.server.port) as proxy:
            with Client("cut", [self.server.port]) as healthy:
                for verb in ("push", "pushmerge", "insert", "unique", "erase"):
                    words = (verb, "old" if verb == "erase" else "new", 0, self.KEYS)
                    healthy.call("push", "old", 0, self.KEYS)
                    before = self.state(healthy)
                    healthy.call(*words)
                    after = self.state(healthy)
                    self.assertNotEqual(before, after)
                    outcomes = set()
                    for cut in range(0, 1_000_000, step):
                        healthy.call("push", "old", 0, self.KEYS)
                        self.assertEqual(self.state(healthy), before)
                        with Client("cut", [proxy.port]) as client:
                            client.call("open")
                            proxy.cut_after(cut)
                            outcome = self.outcome_of(client, words)
                        if not proxy.has_cut():
                            break
                        outcomes.add(outcome)
                        now = self.state(healthy)
                        told = (verb, cut, outcome, now)
                        if outcome == "ok":
                            self.assertEqual(now, after, told)
                        elif outcome == "none":
                            self.assertEqual(now, before, told)
                        else:
                            for low, have, high in zip(map(min, before, after), now,
                                                       map(max, before, after)):
                                self.assertTrue(low <= have <= high, told)
                    self.assertEqual(outcome, "ok", verb)
                    # A push finds out what became of its exchange.
                    self.assertIn("none" if verb == "push" else "unknown", outcomes)


class ExampleTest(CommandCase):
    """The examples of docs/CLUSTER.md do what they say."""

    def test_program(self):
        program = os.environ["NESTLINE_CLUSTER_EXAMPLE"]
        done = subprocess.run([program, self.servers[1]], capture_output=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"2 of 2\n", b""))

    def test_shell(self):
        text = (EXAMPLES / "cluster.sh").read_text()
        text = text.replace("10.0.0.1:6379", self.servers[1]).replace("=...", "=")
        text = text.replace("--fpr", "--seed 1 --fpr")  # the same false positives each time
        self.assertEqual(text.count(self.servers[1]), 17)
        self.write("words", lines("word", 2000))
        self.write("words2", lines("other", 2000))
        self.write("list", b"word-1\nno such key\nother-5\n")
        os.symlink(NESTLINE, self.path("nestline"))
        done = subprocess.run(
            ["bash", "-e", "-c", text], cwd=self.folder, capture_output=True, timeout=4 * PATIENCE,
            env={**os.environ, "PATH": self.folder + os.pathsep + os.environ["PATH"]},
        )  # fmt: skip
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertTrue(done.stdout.startswith(b"word-1\nother-5\n"), done.stdout)
        self.assertTrue(done.stdout.endswith(b"word-1\nother-5\n"), done.stdout)
        self.assertEqual(self.server.call("DBSIZE"), 0)


class TlsTest(ClusterCase):
    def setUp(self):
        super().setUp()
        # An authority, and a certificate that it signed.
        self.openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out",
                     "ca.crt", "-days", "2", "-subj", "/CN=test authority")  # fmt: skip
        self.openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "server.key", "-out",
                     "server.csr", "-subj", "/CN=localhost")  # fmt: skip
        self.write("names", b"subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        self.openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.crt", "-CAkey", "ca.key",
                     "-CAcreateserial", "-out", "server.crt", "-days", "2", "-extfile",
                     "names")  # fmt: skip
        self.openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "other.key",
                     "-out",
                     "other.crt", "-days", "2", "-subj", "/CN=another authority")  # fmt: skip

    def openssl(self, *arguments):
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)

    def server(self, clients):
        port = free_port()
        server = Server({
            "bind": "127.0.0.1 127.0.0.2", "tls-port": str(port),
            "tls-cert-file": self.path("server.crt"),
            "tls-key-file": self.path("server.key"), "tls-ca-cert-file": self.path("ca.crt"),
            "tls-auth-clients": clients,
        })  # fmt: skip
        self.addCleanup(server.remove)
        return server, port

    def test_tls(self):
        server, port = self.server("no")
        self.servers = ("--server", f"127.0.0.1:{port}", "--tls", "--ca", "ca.crt")
        self.create("safe", 20_000)
        self.expect("push", "safe", stdin=lines("in", 20_000))
        self.assert_found("safe", lines("in", 20_000))
        self.expect("add", "safe", stdin=lines("more", 1000))
        self.assert_found("safe", lines("more", 1000))
        url = ("--server", f"rediss://localhost:{port}", "--ca", "ca.crt")
        self.expect("query", "safe", stdin=b"in-1\n", out=b"in-1\n", servers=url)
        plain = ("--server", f"127.0.0.1:{port}")
        for servers in (
            (*plain, "--tls", "--ca", "other.crt"), (*plain, "--tls"),
            (*plain, "--timeout", "1000"),
            ("--server", f"rediss://127.0.0.2:{port}", "--ca", "ca.crt"),
        ):  # fmt: skip
            self.expect_error([], "query", "safe", stdin=b"in-1\n", servers=servers)
        self.expect_error(["nowhere"], "query", "safe",
                          servers=(*plain, "--tls", "--ca", "nowhere"))
        # TLS to a port without it.
        port = ("--server", f"127.0.0.1:{server.port}", "--tls", "--ca", "ca.crt", "--timeout",
                "1000")
        self.expect_error([], "query", "safe", stdin=b"in-1\n", servers=port)

    def test_certificates_of_clients(self):
        _, port = self.server("yes")
        servers = ("--server", f"127.0.0.1:{port}", "--tls", "--ca", "ca.crt")
        # Every command that follows has the certificate.
        self.expect_error([], "create", "x", "--capacity", 100,
                          servers=(*servers, "--timeout", "1000"))
        self.servers = (*servers, "--cert", "server.crt", "--key", "server.key")
        self.create("x", 100)
        self.expect("add", "x", stdin=b"key\n")
        self.assertEqual(json.loads(self.run_command("info", "x", "--json")[1])["items"], 1)


if __name__ == "__main__":
    unittest.main()
