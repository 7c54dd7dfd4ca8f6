"""What the tests of the module share: one server for each class, connections of both protocols.

By hand, in this folder: NESTLINE_REDIS_MODULE=<nestline_redis.so> python3 -m unittest <test>"""

import unittest

from resp import Connection, Error
from servers import Server

WRONG_TYPE = Error("WRONGTYPE Operation against a key holding the wrong kind of value")


def items(prefix, count):
    return [f"{prefix}-{i}" for i in range(count)]


class ServerCase(unittest.TestCase):
    """Servers, replicas and connections to them, until the end of the test."""

    def kept(self, server):
        self.addCleanup(server.remove)
        return server

    def server(self, options=None, arguments=(), **more):
        return self.kept(Server(options, arguments, **more))

    def replica(self, primary, options=None, **more):
        return self.kept(Server.replica_of(primary, options, **more))

    def connect(self, server):
        connection = Connection(server.port)
        self.addCleanup(connection.close)
        return connection


class ModuleCase(unittest.TestCase):
    """`self.two` and `self.three` speak RESP2 and RESP3 to `self.server`, which is empty."""

    options = {}
    arguments = ()

    @classmethod
    def setUpClass(cls):
        cls.server = Server(cls.options, cls.arguments)
        cls.addClassCleanup(cls.server.remove)

    def setUp(self):
        self.server.assert_alive()
        self.connect()
        self.two.call("FLUSHALL")

    def connect(self):
        """Connects again after a restart of the server."""
        self.two = Connection(self.server.port)
        self.addCleanup(self.two.close)
        self.three = Connection(self.server.port, protocol=3)
        self.addCleanup(self.three.close)

    def restart(self, save=True):
        self.server.restart(save)
        self.connect()

    def call(self, *arguments):
        """The reply to a command in RESP2."""
        return self.two.call(*arguments)

    def expect(self, reply, *arguments):
        self.assertEqual(self.call(*arguments), reply, arguments)

    def expect_error(self, text, *arguments):
        reply = self.call(*arguments)
        self.assertIsInstance(reply, Error, arguments)
        self.assertEqual(reply, text, arguments)

    def expect_wrong_arity(self, *arguments):
        name = arguments[0].lower()
        self.expect_error(f"ERR wrong number of arguments for '{name}' command", *arguments)

    def expect_both(self, two, three, *arguments):
        """The reply of each protocol; the command changes nothing, or the key is removed between."""
        self.assertEqual((two, type(two)), with_type(self.two.call(*arguments)), arguments)
        self.assertEqual((three, type(three)), with_type(self.three.call(*arguments)), arguments)

    def add_all(self, key, wanted):
        for reply in self.two.pipeline([("CF.ADD", key, item) for item in wanted]):
            self.assertEqual(reply, 1)

    def assert_all_found(self, key, wanted):
        replies = self.two.call("CF.MEXISTS", key, *wanted)
        self.assertEqual(replies.count(1), len(wanted))

    def info(self, key):
        flat = self.call("CF.INFO", key, "FULL")
        return dict(zip(flat[::2], flat[1::2]))

    def debug(self, key):
        line = self.call("CF.DEBUG", key)
        self.assertIsInstance(line, bytes)
        return {name: int(value) for name, value in (w.split(":") for w in line.decode().split())}

    def expect_events(self, key, commands, events):
        """The commands cause these events of the key and, before the last of them, no others."""
        self.call("CONFIG", "SET", "notify-keyspace-events", "KEA")
        self.addCleanup(self.call, "CONFIG", "SET", "notify-keyspace-events", "")
        with Connection(self.server.port) as listener:
            listener.call("SUBSCRIBE", f"__keyspace@0__:{key}")
            for command in commands:
                self.call(*command)
            self.assertEqual([listener.read()[2].decode() for _ in events], events)

    def expect_watched(self, *rows):
        """Each row is a command, and whether a client that watches its key sees a change."""
        for command, is_seen in rows:
            self.two.call("WATCH", command[1])
            self.three.call(*command)
            self.two.call("MULTI")
            self.two.call("PING")
            self.assertEqual(self.two.call("EXEC") is None, is_seen, command)

    def dump(self, key):
        """All (iterator, piece) of CF.SCANDUMP."""
        return self.two.pieces(key)


def with_type(value):
    return value, type(value)
