"""Commands that a RedisBloom server has carried out: its append-only file, and its live replication.

The files in data/ were recorded from RedisBloom's newest source (October 2025 and later) in Redis
7.0.15, by a client that requested them as a replica does:

    redisbloom.rdb.gz         the first copy: `moved` (CF.RESERVE moved 1100 EXPANSION 0, 800
                              items) and `grown` (the defaults, 1200 items)
    redisbloom_stream.gz      what followed it: both go on; `q` is reserved as `moved` was and
                              gets 1600 items, of which RedisBloom takes 1577; items that are not
                              in it are deleted from it, and some that are; `made` and `options`
                              have words and options that only RedisBloom takes
    redisbloom_expected.json  of each key at the end: the reply to CF.DEBUG, and the SHA-256 of
                              every iterator, a space and its piece of CF.SCANDUMP

RedisBloom sends ADDNX and DEL also when they answered 0, and INSERT with items that it refused. Each
DEL of an item that was not in it answered 0.
"""

import gzip
import hashlib
import json
import os
import socket
import threading

from module_case import ServerCase, items
from resp import Connection, Simple, encode
from servers import Server, wait_until

OK = Simple("OK")
DATA = os.path.join(os.path.dirname(__file__), "data")
IDENTITY = "0123456789abcdef0123456789abcdef01234567"


def recorded(name):
    with gzip.open(os.path.join(DATA, name)) as file:
        return file.read()


def commands(stream):
    """The commands in a stream of RESP, as lists of bytes."""
    at = 0
    while at < len(stream):
        end = stream.index(b"\r\n", at)
        words = []
        count, at = int(stream[at + 1 : end]), end + 2
        for _ in range(count):
            end = stream.index(b"\r\n", at)
            start, size = end + 2, int(stream[at + 1 : end])
            words.append(stream[start : start + size])
            at = start + size + 2
        yield words


class RecordedPrimary:
    """Sends replicas a first copy and whatever is given to send(), as a primary does."""

    def __init__(self, rdb):
        self.rdb = rdb
        self.sent = 0
        self.link = None
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def close(self):
        # A thread that waits in accept() is not woken by close() alone.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        if self.link:
            self.link.close()

    def serve(self):
        try:
            while True:
                link, _ = self.listener.accept()
                reader = link.makefile("rb")
                while line := reader.readline():
                    words = [reader.read(int(reader.readline()[1:]) + 2)[:-2]
                             for _ in range(int(line[1:]))]  # fmt: skip
                    self.answer(link, words)
        except OSError:
            pass

    def answer(self, link, words):
        name = words[0].upper()
        if name == b"PSYNC":
            header = f"+FULLRESYNC {IDENTITY} 0\r\n${len(self.rdb)}\r\n".encode()
            link.sendall(header + self.rdb)
            self.link = link
        elif name == b"REPLCONF":
            if words[1].upper() != b"ACK":
                link.sendall(b"+OK\r\n")
        else:
            link.sendall(b"+PONG\r\n")

    def send(self, stream):
        self.link.sendall(stream)
        self.sent += len(stream)

    def wait_for(self, replica):
        wait_until(
            lambda: int(replica.information("replication")["slave_repl_offset"]) >= self.sent,
            "the replica has executed the stream",
        )


class ReplayCase(ServerCase):
    @classmethod
    def setUpClass(cls):
        cls.rdb, cls.stream = recorded("redisbloom.rdb.gz"), recorded("redisbloom_stream.gz")
        with open(os.path.join(DATA, "redisbloom_expected.json"), encoding="ascii") as file:
            cls.expected = json.load(file)

    def load_aof(self, content, **more):
        """A server whose append-only file is `content`."""
        server = self.server({"appendonly": "yes", "save": ""}, start=False, **more)
        with open(server.path("appendonly.aof"), "wb") as file:
            file.write(content)
        return server.start()

    def assert_as_recorded(self, server, keys=None):
        with Connection(server.port) as client:
            # Items for which INSERT found no room in `q` are kept here, beside the same tables.
            flat = client.call("CF.INFO", "q", "FULL")
            items = flat[flat.index("Items in RedisBloom filters") + 1]
            self.assertIn(f" items:{items} ", self.expected["q"]["debug"])
            for key in keys or self.expected.keys() - {"q"}:
                self.assertEqual(client.call("CF.DEBUG", key).decode(), self.expected[key]["debug"])
                content = hashlib.sha256()
                for iterator, piece in client.pieces(key):
                    content.update(str(iterator).encode() + b" " + piece)
                self.assertEqual(content.hexdigest(), self.expected[key]["sha256"], key)

    def assert_none_lost(self, server):
        """Every item that went into `q` alone and was not deleted: RedisBloom sent only those."""
        kept = {}
        for words in commands(self.stream):
            if words[:2] == [b"CF.ADD", b"q"]:
                kept[words[2]] = kept.get(words[2], 0) + 1
            elif words[:2] == [b"CF.DEL", b"q"] and words[2] in kept:
                kept[words[2]] -= 1
        wanted = [item for item, copies in kept.items() if copies > 0]
        self.assertGreater(len(wanted), 1500)
        with Connection(server.port) as client:
            self.assertEqual(client.call("CF.MEXISTS", "q", *wanted).count(0), 0)


class AppendOnlyFileTest(ReplayCase):
    def test_commands_alone(self):
        server = self.load_aof(self.stream)
        self.assert_none_lost(server)
        self.assert_as_recorded(server, ["made", "options"])

    def test_after_an_rdb_preamble(self):
        server = self.load_aof(self.rdb + self.stream)
        self.assert_none_lost(server)
        self.assert_as_recorded(server)

    def test_continues_here(self):
        """Items of clients go beside the tables, also after every kind of restart."""
        server = self.load_aof(self.stream)
        with Connection(server.port) as client:
            self.assertEqual(client.call("CF.ADD", "made", "ours"), 1)
            reply = client.call("CF.INSERT", "options", "ITEMS", *items("ours", 300))
            self.assertEqual(reply.count(1), 300)
            self.assertEqual(client.call("CF.ADDNX", "q", "new here"), 1)
            self.assertEqual(client.call("CF.DEL", "made", "c100"), 1)
            digest = client.call("DEBUG", "DIGEST")
            with Server.replica_of(server) as replica:
                client.call("CF.ADD", "made", "more")
                replica.wait_for_offset(server)
                digest = client.call("DEBUG", "DIGEST")
                self.assertEqual(replica.call("DEBUG", "DIGEST"), digest)
        server.restart(save=False)
        self.assertEqual(server.call("DEBUG", "DIGEST"), digest)
        for preamble in ("no", "yes"):
            server.call("CONFIG", "SET", "aof-use-rdb-preamble", preamble)
            server.rewrite_aof()
            server.restart(save=False)
            self.assertEqual(server.call("DEBUG", "DIGEST"), digest)
        self.assert_none_lost(server)

    def test_beyond_the_capacity(self):
        """A command that says that an item was taken is believed, even without a place for it."""
        ours = [encode("CF.RESERVE", "ours", 100, "EXPANSION", 0, "SEED", 7)]
        theirs = [encode("CF.RESERVE", "theirs", 100, "EXPANSION", 0)]
        for key, lines in (("ours", ours), ("theirs", theirs)):
            lines += [encode("CF.ADD", key, item) for item in items("in", 500)]
        server = self.load_aof(b"".join(ours + theirs))
        with Connection(server.port) as client:
            for key in ("ours", "theirs"):
                self.assertEqual(client.call("CF.MEXISTS", key, *items("in", 500)).count(1), 500)
                self.assertIn(b" items:500 ", client.call("CF.DEBUG", key))
                self.assertEqual(client.call("CF.ADD", key, "more"), "Filter is full")
            digest = client.call("DEBUG", "DIGEST")
            client.call("DEBUG", "RELOAD")
            self.assertEqual(client.call("DEBUG", "DIGEST"), digest)


class LiveReplicaTest(ReplayCase):
    def test_follows_and_takes_over(self):
        primary = RecordedPrimary(self.rdb)
        self.addCleanup(primary.close)
        options = {"replicaof": f"127.0.0.1 {primary.port}", "appendonly": "yes"}
        replica = self.server(options)
        replica.wait_for_link()
        # A replica of the replica sees the same stream.
        second = self.replica(replica)
        half = self.stream.index(b"*", len(self.stream) // 2)
        primary.send(self.stream[:half])
        primary.send(self.stream[half:])
        primary.wait_for(replica)
        self.assert_none_lost(replica)
        self.assert_as_recorded(replica)
        second.wait_for_offset(replica)
        self.assert_as_recorded(second)

        # Clients leave the old server and come here.
        self.assertEqual(replica.call("REPLICAOF", "NO", "ONE"), OK)
        with Connection(replica.port) as client:
            reply = client.call("CF.INSERT", "grown", "ITEMS", *items("new", 3000))
            self.assertEqual(reply.count(1), 3000)
            self.assertEqual(client.call("CF.DEL", "q", "o99"), 1)
            self.assertEqual(client.call("CF.ADD", "q", "ours"), 1)
            second.wait_for_link()
            second.wait_for_offset(replica)
            digest = client.call("DEBUG", "DIGEST")
        self.assertEqual(second.call("DEBUG", "DIGEST"), digest)
        # Its append-only file has both parts of its life.
        replica.options.pop("replicaof")
        replica.restart(save=False)
        self.assertEqual(replica.call("DEBUG", "DIGEST"), digest)
