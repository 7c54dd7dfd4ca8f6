"""What the system tests of logical filters share: the command, a client that lives on between its
calls, and servers.

NESTLINE names the command, NESTLINE_CLUSTER_CLIENT the program of cluster_client.cc. The servers are
those of tests/faces/redis/server.
"""

import json
import os
import pathlib
import socket
import subprocess
import sys
import threading

TESTS = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(TESTS / "faces" / "redis" / "server"), str(TESTS / "support")]

# pylint: disable=wrong-import-position
from folder_case import FolderCase
from servers import PATIENCE, Server, wait_until

NESTLINE = os.path.abspath(os.environ["NESTLINE"])
CLIENT = os.path.abspath(os.environ["NESTLINE_CLUSTER_CLIENT"])
KEYS = int(os.environ.get("NESTLINE_CLUSTER_KEYS", "200000"))
TIMEOUT_MS = int(1000 * PATIENCE)  # of calls that must succeed, however busy the machine is


def lines(prefix, count, first=0):
    return "".join(f"{prefix}-{i}\n" for i in range(first, first + count)).encode()


class Failed(Exception):
    """A call of a client failed; `effect` is "none" or "unknown"."""

    def __init__(self, effect, text):
        super().__init__(f"{effect}: {text}")
        self.effect, self.text = effect, text


class Client:
    """A process of cluster_client."""

    def __init__(self, name, ports, timeout_ms=TIMEOUT_MS, wait=0):
        servers = [f"127.0.0.1:{port}" for port in ports]
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(
            [CLIENT, name, str(timeout_ms), str(wait), *servers], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def send(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def receive(self):
        """The numbers of the result."""
        answer = self.process.stdout.readline()
        kind, _, rest = answer.rstrip("\n").partition(" ")
        if kind == "ok":
            return [float(word) if "." in word else int(word) for word in rest.split()]
        if kind in ("none", "unknown"):
            raise Failed(kind, rest)
        raise AssertionError(f"the client says {answer!r}, status {self.process.poll()}")

    def call(self, *words):
        self.send(*words)
        return self.receive()

    def ask_until_answered(self, *words):
        """For questions of a client with a short timeout, which a busy machine may let pass."""
        def answer():
            try:
                return self.call(*words)
            except Failed:
                return None

        return wait_until(answer, "the servers have answered")


class CuttingProxy:
    """A port behind which is a server. Once, after cut_after(), it breaks the connections when so
    many bytes of replies have gone through. The server still carries out what it was sent."""

    def __init__(self, port):
        self.target = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.lock = threading.Lock()
        self.budget = None
        self.cut = False
        self.pairs = []
        self.threads = [threading.Thread(target=self.accept)]

    def __enter__(self):
        self.threads[0].start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        for pair in self.pairs:
            self.end(*pair)
        self.has_cut()
        self.threads.pop().join()
        self.listener.close()

    def cut_after(self, replies):
        with self.lock:
            self.budget, self.cut = replies, False

    def has_cut(self):
        """Also waits until the server has carried out what came before the cut, and for the end of
        the connections."""
        while len(self.threads) > 1:
            self.threads.pop().join()
        while self.pairs:
            for each in self.pairs.pop():
                each.close()
        with self.lock:
            cut, self.budget = self.cut, None
        return cut

    @staticmethod
    def end(*sockets):
        for each in sockets:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.target))
            self.pairs.append((client, server))
            for work in (self.forward, self.reply):
                self.threads.append(threading.Thread(target=work, args=(client, server)))
                self.threads[-1].start()

    @staticmethod
    def forward(client, server):
        try:
            while some := client.recv(65536):
                server.sendall(some)
        except OSError:
            pass
        # The server ends the connection when it has carried out all of it.
        try:
            server.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def reply(self, client, server):
        try:
            while some := server.recv(65536):
                with self.lock:
                    if self.budget is not None and not self.cut:
                        self.cut = len(some) > self.budget
                        ends, some = self.cut, some[: self.budget]
                        self.budget -= len(some)
                    else:
                        ends = False
                client.sendall(some)
                if ends:
                    self.end(client)
        except OSError:
            self.end(client)
            while self.drain(server):
                pass
        self.end(client)

    @staticmethod
    def drain(server):
        try:
            return server.recv(65536)
        except OSError:
            return b""


class Busy:
    """A thread with a client of its own that calls `step(client, number)` again and again, until
    stop(). A context that fails when a step failed."""

    def __init__(self, client, step):
        self.client, self.step = client, step
        self.steps = 0
        self.error = None
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, *_):
        self.stopped.set()
        self.thread.join()
        self.client.close()
        if self.error is not None and kind is None:
            raise self.error

    def run(self):
        try:
            while not self.stopped.is_set():
                self.step(self.client, self.steps)
                self.steps += 1
        except BaseException as error:  # pylint: disable=broad-exception-caught
            self.error = error

    def wait_for_more(self, least):
        """Waits for so many more steps."""
        wanted = self.steps + least
        wait_until(lambda: self.error or self.steps >= wanted, "the client goes on", 3 * PATIENCE)
        if self.error is not None:
            raise self.error


class ClusterCase(FolderCase):
    """A folder, and functions that run the command. `servers` are the words that name servers."""

    servers = ()

    def start(self, command, *arguments, servers=None, **options):
        """nestline cluster COMMAND --server ... as a process."""
        servers = self.servers if servers is None else servers
        line = [NESTLINE, "cluster", command, *servers, *map(str, arguments)]
        if servers and "--timeout" not in line:
            line += ["--timeout", str(TIMEOUT_MS)]
        options.setdefault("stdin", subprocess.PIPE)
        return subprocess.Popen(
            line, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
        )

    def run_command(self, command, *arguments, stdin=b"", **options):
        """Status, standard output and standard error."""
        process = self.start(command, *arguments, **options)
        out, err = process.communicate(stdin, timeout=4 * PATIENCE)
        return process.returncode, out, err

    def output(self, command, *arguments, **options):
        """What a command prints, which must succeed without a message."""
        status, out, err = self.run_command(command, *arguments, **options)
        self.assertEqual((status, err), (0, b""))
        return out

    def expect(self, command, *arguments, status=0, out=b"", err=b"", **options):
        done = self.run_command(command, *arguments, **options)
        self.assertEqual(done, (status, out, err), (command, *arguments))

    def expect_error(self, parts, command, *arguments, **options):
        """Expects status 2, no output, and one message that contains all the parts: returns it."""
        status, out, err = self.run_command(command, *arguments, **options)
        self.assertEqual((status, out), (2, b""), err)
        self.assertRegex(err, rb"\Anestline: [^\n]*\n\Z")
        for part in parts:
            self.assertIn(part.encode(), err)
        return err

    def create(self, name, capacity, *options):
        """With a fixed seed, so that the same keys are false positives each time."""
        seed = () if "--seed" in options else ("--seed", 1)
        self.expect("create", name, "--capacity", capacity, *seed, *options)

    def info(self, name):
        return json.loads(self.output("info", name, "--json"))

    def assert_found(self, name, keys):
        """All the lines are found."""
        status, out, err = self.run_command("query", "-v", name, stdin=keys)
        self.assertEqual((status, out[:200], err), (1, b"", b""))

    def found(self, name, keys):
        """How many of the lines are."""
        status, out, err = self.run_command("query", "-c", name, stdin=keys)
        self.assertIn(status, (0, 1), err)
        return int(out)


class CommandCase(ClusterCase):
    """One server without cluster mode, which is empty."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.remove)
        cls.servers = ("--server", f"127.0.0.1:{cls.server.port}")

    def setUp(self):
        super().setUp()
        self.server.call("FLUSHALL")
