"""Clusters for tests: primaries with replicas, made by redis-cli, and a client that follows them.

    with Cluster(primaries=3, replicas=1) as cluster:
        client = cluster.client()
        client.call("CF.ADD", "key", "item")   # wherever the slot of the key is
        cluster.owner("key").kill()
        cluster.wait_until_ok()

NESTLINE_REDIS_CLI (redis-cli on the PATH) names redis-cli.
"""

import binascii
import os
import subprocess
import time

from resp import Connection, Error
from servers import PATIENCE, Server, ServerTrouble, free_port, wait_until

SLOTS = 16384
CLI = os.environ.get("NESTLINE_REDIS_CLI", "redis-cli")


def slot_of(key):
    """CRC-16 (XMODEM) of the key, or of what is in its first braces."""
    key = key.encode() if isinstance(key, str) else key
    begin = key.find(b"{")
    end = key.find(b"}", begin + 1)
    tag = key[begin + 1 : end] if begin >= 0 and end > begin + 1 else key
    return binascii.crc_hqx(tag, 0) % SLOTS


def cli(*arguments, patience=4 * PATIENCE):
    """redis-cli --cluster ...; its output, ServerTrouble when it fails."""
    done = subprocess.run(
        [CLI, "--cluster", *map(str, arguments)], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=patience, check=False,
    )  # fmt: skip
    text = done.stdout.decode(errors="replace")
    if done.returncode != 0 or "[ERR]" in text:
        raise ServerTrouble(f"redis-cli {arguments} ended with {done.returncode}\n{text[-4000:]}")
    return text


class Cluster:
    def __init__(self, primaries=3, replicas=1, options=None, **more):
        self.servers = []
        try:
            for _ in range(primaries * (1 + replicas)):
                self.start_server(options, **more)
            addresses = [
                f"127.0.0.1:{server.port}@{server.options['cluster-port']}" for server in self.servers
            ]
            cli("create", *addresses, "--cluster-replicas", replicas, "--cluster-yes")
            self.wait_until_ok()
        except BaseException:
            self.remove()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()

    def start_server(self, options=None, **more):
        """A server that can be a part of the cluster."""
        settings = {
            "cluster-enabled": "yes",
            "cluster-port": str(free_port()),
            # Long, so that no server is taken for dead only because the machine is busy.
            "cluster-node-timeout": "60000",
            # A replica is a candidate however long its link has been down.
            "cluster-replica-validity-factor": "0",
            **(options or {}),
        }
        self.servers.append(Server(settings, **more))
        return self.servers[-1]

    def join(self, options=None, **more):
        """One more primary, without slots, once servers agree about slots: redis-cli needs that."""
        self.wait_until_ok()
        server = self.start_server(options, **more)
        address = f"127.0.0.1:{server.port}@{server.options['cluster-port']}"
        cli("add-node", address, f"127.0.0.1:{self.servers[0].port}")
        self.wait_until_ok()
        return server

    def reshard(self, source, target, slots):
        """Moves so many slots, the lowest ones of the source. Waits first, as `join`."""
        self.wait_until_ok()
        ids = [server.call("CLUSTER", "MYID").decode() for server in (source, target)]
        cli("reshard", f"127.0.0.1:{source.port}", "--cluster-from", ids[0], "--cluster-to", ids[1],
            "--cluster-slots", slots, "--cluster-yes")  # fmt: skip

    def remove(self):
        for server in self.servers:
            server.remove()

    def alive(self):
        return [server for server in self.servers if server.is_alive()]

    def wait_until_ok(self):
        """Waits until all live servers see all slots served, replicas with their copy, and agree who
        is whose replica: they do not vote for a primary, and the next election is far later."""
        wait_until(self.is_ok, "the cluster is ok", 3 * PATIENCE)

    def is_ok(self):
        ports = {server.port for server in self.alive()}
        views = set()
        for server in self.alive():
            if b"cluster_state:ok" not in server.call("CLUSTER", "INFO"):
                return False
            if server.information("replication").get("master_link_status", "up") != "up":
                return False
            views.add((tuple(sorted(ranges(server))), tuple(sorted(roles(server, ports)))))
        return len(views) == 1 and all(port in ports for _, _, port in next(iter(views))[0])

    def set_node_timeout(self, milliseconds):
        for server in self.alive():
            reply = server.call("CONFIG", "SET", "cluster-node-timeout", milliseconds)
            assert reply == "OK", reply

    def by_port(self, port):
        return next(server for server in self.servers if server.port == port)

    def owner(self, key):
        """The primary that has the slot of `key` now."""
        slot = slot_of(key)
        for low, high, port in ranges(self.alive()[0]):
            if low <= slot <= high:
                return self.by_port(port)
        raise ServerTrouble(f"no server has slot {slot}")

    def primaries(self):
        return [server for server in self.alive() if role(server) == b"master"]

    def replica_of(self, primary):
        """One of its replicas; None when there is none."""
        for server in self.alive():
            if role(server) == b"slave" and server.call("ROLE")[2] == primary.port:
                return server
        return None

    def client(self):
        return Client([server.port for server in self.servers])


def ranges(server):
    """(first slot, last slot, port of the primary) of all slots that are served."""
    return [(low, high, first[1]) for low, high, first, *_ in server.call("CLUSTER", "SLOTS")]


def roles(server, ports):
    """(port, id of its primary or "-") of those servers with these ports that `server` knows."""
    for line in server.call("CLUSTER", "NODES").decode().splitlines():
        _, address, _, primary, *_ = line.split()
        port = int(address.split("@")[0].rsplit(":", 1)[1])
        if port in ports:
            yield port, primary


def role(server):
    return server.call("ROLE")[0]


class Client:
    """Sends commands to the server that has the slot of their key. Follows MOVED and ASK, and tries
    again while a slot moves or a server is gone, so a command may be executed more than once."""

    def __init__(self, ports):
        self.ports = ports
        self.connections = {}
        self.owners = {}  # port by slot
        self.followed = {"MOVED": 0, "ASK": 0}

    def close(self):
        for connection in self.connections.values():
            connection.close()
        self.connections = {}

    def connection(self, port):
        if port not in self.connections:
            self.connections[port] = Connection(port)
        return self.connections[port]

    def forget(self, port):
        connection = self.connections.pop(port, None)
        if connection is not None:
            connection.close()

    def call(self, *arguments, wait=None):
        """The reply to a command whose key is its first argument. `wait` is (replicas, milliseconds)
        for a WAIT after it on the same connection; the result is then both replies."""
        slot = slot_of(arguments[1])
        deadline = time.monotonic() + 2 * PATIENCE
        attempt = 0
        while True:
            port = self.owners.get(slot, self.ports[(slot + attempt) % len(self.ports)])
            try:
                reply, waited = self.ask(port, arguments, slot, wait)
            except OSError:
                self.forget(port)
                reply, waited = Error("TRYAGAIN the server is gone"), None
            if not isinstance(reply, Error) or not reply.startswith(
                ("MOVED", "TRYAGAIN", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY")
            ):
                return reply if wait is None else (reply, waited)
            if time.monotonic() > deadline:
                raise ServerTrouble(f"{arguments[:2]}: {reply}")
            attempt += 1
            if not reply.startswith("MOVED"):
                self.owners.pop(slot, None)
                time.sleep(0.02)

    def ask(self, port, arguments, slot, wait):
        both = [arguments] if wait is None else [arguments, ("WAIT", *wait)]
        replies = self.connection(port).pipeline(both)
        if isinstance(replies[0], Error) and replies[0].startswith(("MOVED", "ASK ")):
            kind, _, address = replies[0].split()
            port = int(address.rsplit(":", 1)[1])
            self.followed[kind] += 1
            if kind == "MOVED":
                self.owners[slot] = port
            else:
                replies = self.connection(port).pipeline([("ASKING",), *both])[1:]
        return replies[0], replies[-1]
