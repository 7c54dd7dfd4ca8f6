"""A connection that speaks RESP2 or RESP3 and shows what kind of reply each one is.

Replies come as Python values that differ where the protocol does:

    simple string   Simple (a str)          integer   int
    error           Error (a str)           boolean   bool
    bulk string     bytes                   double    float
    null            None                    array     list
    map             dict (order kept)       set, push list

redis-py of Debian 12 knows RESP2 only and turns some replies into others."""

import socket


class Simple(str):
    """A simple string."""


class Error(str):
    """An error; the text without the leading "-"."""


def encode(*arguments):
    """The bytes of one command."""
    parts = [b"*%d\r\n" % len(arguments)]
    for argument in arguments:
        if not isinstance(argument, bytes):
            argument = str(argument).encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(argument), argument))
    return b"".join(parts)


class Connection:
    """One connection; `protocol` 2 or 3."""

    def __init__(self, port, protocol=2):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=120)
        self.reader = self.socket.makefile("rb")
        if protocol == 3:
            hello = self.call("HELLO", 3)
            assert isinstance(hello, dict) and hello[b"proto"] == 3, hello

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.reader.close()
        self.socket.close()

    def call(self, *arguments):
        self.socket.sendall(encode(*arguments))
        return self.read()

    def pipeline(self, commands):
        """The replies of many commands, which are sent at once."""
        self.socket.sendall(b"".join(encode(*command) for command in commands))
        return [self.read() for _ in commands]

    def pieces(self, key):
        """All (iterator, piece) of CF.SCANDUMP; none where the reply is an error."""
        pieces = []
        iterator = 0
        while True:
            reply = self.call("CF.SCANDUMP", key, iterator)
            if isinstance(reply, Error):
                return pieces
            iterator, piece = reply
            if iterator == 0:
                assert piece is None, piece
                return pieces
            pieces.append((iterator, piece))

    def read(self):
        line = self.reader.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return Simple(rest.decode())
        if kind == b"-":
            return Error(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b",":
            return float(rest)
        if kind == b"#":
            return {b"t": True, b"f": False}[rest]
        if kind == b"_":
            return None
        if kind in b"$=":
            return self.read_bulk(int(rest))
        if kind in b"*~>":
            return None if int(rest) < 0 else [self.read() for _ in range(int(rest))]
        if kind == b"%":
            return {hashable(self.read()): self.read() for _ in range(int(rest))}
        raise ValueError(f"unknown kind of reply: {line!r}")

    def read_bulk(self, length):
        if length < 0:
            return None
        content = self.reader.read(length + 2)
        if len(content) != length + 2:
            raise ConnectionError("the server closed the connection")
        return content[:-2]


def hashable(value):
    return tuple(value) if isinstance(value, list) else value
