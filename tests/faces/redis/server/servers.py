"""Servers for tests, started on the loopback with the module.

    with Server(options={"appendonly": "yes"}) as server:
        server.call("CF.ADD", "key", "item")
        server.kill()      # as kill -9
        server.start()     # the same folder and port

    primary, replica = Server(), Server.replica_of(primary)

Clusters of them: cluster_servers.py.

Each server has a temporary folder of its own (its data and its log), a free port and no
configuration file. The module is the one that the environment variable NESTLINE_REDIS_MODULE names,
the server program NESTLINE_REDIS_SERVER (redis-server on the PATH). A server that cannot start, or
dies, raises ServerTrouble with the end of its log. NESTLINE_REDIS_THREADS is the number of worker
threads of all servers whose arguments say nothing else; they then take even the smallest batches.
NESTLINE_REDIS_WRAPPER is a command that runs the server program, such as valgrind with its options.
"""

import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from resp import Connection

MODULE = os.path.abspath(os.environ.get("NESTLINE_REDIS_MODULE", "nestline_redis.so"))
PROGRAM = os.environ.get("NESTLINE_REDIS_SERVER", "redis-server")
WRAPPER = os.environ.get("NESTLINE_REDIS_WRAPPER", "").split()
THREADS = os.environ.get("NESTLINE_REDIS_THREADS")
PATIENCE = float(os.environ.get("NESTLINE_REDIS_PATIENCE", "100"))  # seconds


class ServerTrouble(Exception):
    """The server is not as the test needs it; the text has the end of its log."""


claims = []  # held until the program ends


def free_port():
    """A port of the loopback that is free, and stays so while our server is not running: the system
    gives none of these to clients, and programs that call this claim theirs by named sockets."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        end = int(file.read().split()[0])
    for port in random.SystemRandom().sample(range(10000, max(end, 20000)), 1000):
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0nestline-test-port-{port}")
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            claim.close()
            continue
        claims.append(claim)
        return port
    raise ServerTrouble("no free port")


def wait_until(condition, what, patience=PATIENCE):
    """Calls `condition` until it is true; returns its result."""
    deadline = time.monotonic() + patience
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise ServerTrouble(f"waited {patience} s in vain until {what}")
        time.sleep(0.01)


class Server:
    """One server process. `options` are lines of redis.conf, `arguments` those of the module."""

    def __init__(self, options=None, arguments=(), module=MODULE, start=True):
        self.folder = tempfile.mkdtemp(prefix="nestline_redis_test.")
        self.options = {"bind": "127.0.0.1", "save": "", "enable-debug-command": "local",
                        "enable-module-command": "local", "loglevel": "notice", "daemonize": "no",
                        "repl-diskless-sync-delay": "0", **(options or {})}
        threads = ()
        if THREADS and module == MODULE:
            threads = ("cf-threads", THREADS, "cf-thread-items", 2)
        self.arguments = [str(argument) for argument in (*threads, *arguments)]
        self.module = module
        self.port = free_port()
        self.wrapper = WRAPPER
        self.process = None
        if start:
            try:
                self.start()
            except BaseException:
                self.remove()
                raise

    @classmethod
    def replica_of(cls, primary, options=None, **more):
        """A server that follows `primary`; returns when the first copy has arrived."""
        replica = cls({"replicaof": f"127.0.0.1 {primary.port}", **(options or {})}, **more)
        replica.wait_for_link()
        return replica

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()

    def command_line(self):
        line = [*self.wrapper, PROGRAM, "--port", str(self.port), "--dir", self.folder]
        line += ["--logfile", os.path.join(self.folder, "log")]
        for name, value in self.options.items():
            # "save" with "" needs the empty word; others take their words one by one.
            line += ["--" + name, *(value.split(" ") if value else [""])]
        if self.module:
            line += ["--loadmodule", self.module, *self.arguments]
        return line

    def start(self):
        """Starts the process and waits until it answers; after stop() or kill() the same data."""
        for attempt in range(5):
            # pylint: disable=consider-using-with
            self.process = subprocess.Popen(
                self.command_line(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            if self.wait_for_answer():
                return self
            if "Address already in use" not in self.log() or attempt == 4:
                break
            os.remove(os.path.join(self.folder, "log"))
            self.port = free_port()
        raise ServerTrouble(f"the server did not start\n{self.log()[-4000:]}")

    def wait_for_answer(self):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                # Make sure that no other program has taken the port.
                if self.call("PING") == "PONG" and self.owns_port():
                    return True
            except OSError:
                pass
            time.sleep(0.01)  # not there yet, or still loading
        return False

    def owns_port(self):
        return int(self.information("server")["process_id"]) == self.process.pid

    def call(self, *arguments):
        """The reply to one command on its own connection, as resp.py shows replies."""
        with Connection(self.port) as connection:
            return connection.call(*arguments)

    def information(self, section):
        """INFO: a dict of texts."""
        text = self.call("INFO", section).decode()
        return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)

    def is_alive(self):
        return self.process is not None and self.process.poll() is None

    def log(self):
        try:
            with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def path(self, name):
        return os.path.join(self.folder, name)

    def stop(self, save=False):
        """SHUTDOWN, with SAVE or NOSAVE; the data stays for start()."""
        if self.is_alive():
            try:
                self.call("SHUTDOWN", "SAVE" if save else "NOSAVE")
            except ConnectionError:
                pass
            self.process.wait(PATIENCE)

    def kill(self):
        """kill -9"""
        if self.is_alive():
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(PATIENCE)

    def restart(self, save=True):
        self.stop(save)
        return self.start()

    def remove(self):
        """Ends the process and removes its folder."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def assert_alive(self):
        if not self.is_alive():
            raise ServerTrouble(f"the server died\n{self.log()[-8000:]}")

    def wait_for_link(self):
        """For a replica: waits until it is connected to its primary and has the data."""
        wait_until(lambda: self.information("replication").get("master_link_status") == "up",
                   "the link is up")

    def wait_for_offset(self, primary):
        """For a replica: waits until it has executed everything that `primary` has sent by now."""
        wanted = int(primary.information("replication")["master_repl_offset"])
        wait_until(lambda: int(self.information("replication")["slave_repl_offset"]) >= wanted,
                   "the replica has caught up")

    def wait_for_free(self):
        """Waits until all memory that UNLINK and the like free in the background is free."""
        wait_until(lambda: self.information("memory")["lazyfree_pending_objects"] == "0",
                   "nothing is left to be freed")

    def processor_time(self):
        """Processor seconds of the thread that executes commands; other programs do not count."""
        pid = self.process.pid
        with open(f"/proc/{pid}/task/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rewrite_aof(self):
        """BGREWRITEAOF, and waits for its end."""
        names = ("aof_rewrite_in_progress", "aof_rewrite_scheduled")
        self.call("BGREWRITEAOF")
        wait_until(lambda: all(self.information("persistence")[name] == "0" for name in names),
                   "the append-only file is rewritten")
        if self.information("persistence")["aof_last_bgrewrite_status"] != "ok":
            raise ServerTrouble(f"BGREWRITEAOF failed\n{self.log()[-4000:]}")
