"""A stream of random commands of every kind for a server whose copies must stay the same.

    stream = Stream(port, seed=1)
    stream.run(2000)        # sends this many commands, and reads the replies
    stream.settle()         # no key expires any more
    stream.done             # how often each kind changed something

Only what a replica is told matters here, so the commands may delete items that were never added,
and keys hold whatever earlier commands have left. Nothing but the expiry of keys depends on time.
"""

import collections
import random

from chunks_test import redisbloom_filter
from hashing import hash_string
from resp import Connection, Error
from servers import wait_until

KEYS = [f"{{t}}key-{i}" for i in range(12)]
MERGED = [f"{{t}}merged-{i}" for i in range(4)]  # of one seed
SCRIPT = "redis.call('CF.ADD', KEYS[1], ARGV[1]); return redis.call('CF.DEL', KEYS[1], ARGV[2])"


class Stream:
    def __init__(self, port, seed):
        self.chance = random.Random(seed)
        self.connection = Connection(port)
        self.done = collections.Counter()
        self.fresh = 0
        header, slots = redisbloom_filter([f"old-{i}" for i in range(500)], 4096)
        self.redisbloom = [(1, header), (len(slots) + 1, slots)]
        for key in MERGED:
            self.call("CF.RESERVE", key, 100, "SEED", 77)
        # Each returns whether it changed something.
        self.kinds = {
            "add": (20, lambda: self.call("CF.ADD", self.any_key(), self.item()) == 1),
            "add_unique": (8, lambda: self.call("CF.ADDNX", self.any_key(), self.item()) == 1),
            "insert": (20, lambda: self.inserted("CF.INSERT")),
            "insert_unique": (8, lambda: self.inserted("CF.INSERTNX")),
            "delete": (12, lambda: self.call("CF.DEL", self.any_key(), self.item()) == 1),
            "delete_many": (6, lambda: self.some("CF.MDEL", self.any_key(), *self.items())),
            "add_hashes": (6, lambda: self.hashed("CF.MADDH")),
            "add_unique_hashes": (4, lambda: self.hashed("CF.MADDNXH")),
            "delete_hashes": (6, lambda: self.hashed("CF.MDELH")),
            "update": (6, lambda: self.call("CF.UPDATE", self.any_key(), self.item(),
                                            self.item()) == 1),
            "reserve": (6, self.reserve), "merge": (4, self.merge),
            "clear": (1, lambda: self.works("CF.CLEAR", self.any_key())),
            "compact": (2, lambda: self.works("CF.COMPACT", self.any_key())),
            "load": (4, lambda: self.load_pieces(self.pieces())),
            # The last piece never arrives.
            "load_part": (3, lambda: self.load_pieces(self.pieces()[:-1])),
            "load_redisbloom": (3, lambda: self.load_pieces(self.redisbloom)),
            "restore": (3, self.restore),
            "copy": (3, lambda: self.call("COPY", self.any_key(), self.key(), "REPLACE") == 1),
            "rename": (2, lambda: self.works("RENAME", self.key(), self.key())),
            "expire": (2, lambda: self.call("PEXPIRE", self.key(),
                                            self.chance.randrange(1, 50)) == 1),
            "remove": (2, lambda: self.call(self.chance.choice(["DEL", "UNLINK"]),
                                            self.key()) == 1),
            "transaction": (3, self.transaction),
            "script": (3, lambda: self.works("EVAL", SCRIPT, 1, self.key(), self.item(),
                                             self.item())),
            "wrong": (3, self.wrong), "grow": (1, self.grow), "unite": (1, self.unite),
        }  # fmt: skip

    def close(self):
        self.connection.close()

    def reconnect(self, port):
        """Continues with another server."""
        self.close()
        self.connection = Connection(port)

    def run(self, count):
        weights = [weight for weight, _ in self.kinds.values()]
        for kind in self.chance.choices(list(self.kinds), weights, k=count):
            self.done[kind] += bool(self.kinds[kind][1]())

    def settle(self):
        """Waits until all keys that should expire have, by reading them on the primary."""
        keys = KEYS + MERGED
        wait_until(lambda: all(self.call("PTTL", key) < 0 for key in keys),
                   "no key expires any more")
        self.call("EXISTS", *keys)

    def call(self, *arguments):
        return self.connection.call(*arguments)

    def works(self, *arguments):
        return not isinstance(self.call(*arguments), Error)

    def key(self):
        return self.chance.choice(KEYS)

    def any_key(self):
        return self.chance.choice(KEYS + MERGED)

    def item(self):
        if self.chance.random() < 0.5:
            return f"again-{self.chance.randrange(400)}"
        if self.chance.random() < 0.05:
            return f"old-{self.chance.randrange(600)}"
        self.fresh += 1
        return f"item-{self.fresh}"

    def items(self, most=60):
        return [self.item() for _ in range(self.chance.randrange(1, most))]

    def some(self, *command):
        """Whether one of the answers, or a bit of one, is 1."""
        reply = self.call(*command)
        return not isinstance(reply, Error) and any(answer > 0 for answer in reply)

    def inserted(self, command):
        options = self.chance.choice([(), ("NOCREATE",),
                                      ("CAPACITY", self.chance.randrange(16, 999))])
        return self.some(command, self.key(), *options, "ITEMS", *self.items())

    def grow(self):
        some = [self.item() for _ in range(3000)]
        return self.works("CF.INSERT", self.any_key(), "ITEMS", *some)

    def filters(self, key):
        reply = self.call("CF.INFO", key)
        return 0 if isinstance(reply, Error) else reply[reply.index("Number of filters") + 1]

    def unite(self):
        """Whether there are fewer filters after it."""
        key = self.any_key()
        some = [self.item() for _ in range(3000)]
        self.call("CF.INSERT", key, "ITEMS", *some)
        self.call("CF.MDEL", key, *self.chance.choices(some, k=1500))
        before = self.filters(key)
        return self.works("CF.COMPACT", key) and self.filters(key) < before

    def hashed(self, command):
        """Where the seed is another one, these are other items."""
        return self.some(command, self.any_key(), hash_string(self.items(600), 77))

    def reserve(self):
        merged = self.chance.random() < 0.3
        key = self.chance.choice(MERGED) if merged else self.key()
        if self.chance.random() < 0.3:
            self.call("DEL", key)
        line = ["CF.RESERVE", key, self.chance.choice([8, 64, 300, 2000, 4000])]
        for option, values in (("BUCKETSIZE", (1, 2, 4)), ("EXPANSION", (0, 1, 2, 4)),
                               ("MAXITERATIONS", (1, 20, 500)),
                               ("ERROR", ("0.05", "0.01", "0.001", "0.00035"))):  # fmt: skip
            if self.chance.random() < 0.4:
                line += [option, self.chance.choice(values)]
        # Those that are merged turn over or not alike.
        if not merged and self.chance.random() < 0.4:
            line += ["TURNSOVER", self.chance.choice((0, 1, 1))]
        return self.works(*line, *(("SEED", 77) if merged else ()))

    def merge(self):
        keys = self.chance.choices(MERGED, k=self.chance.randrange(2, 5))
        works = self.works("CF.MERGE", *keys)
        # A key that is merged into itself again and again gets more and more filters.
        if self.filters(keys[0]) > 20:
            self.call("CF.CLEAR", keys[0])
        return works

    def pieces(self):
        return self.connection.pieces(self.any_key())

    def load_pieces(self, pieces):
        key = self.key()
        self.call("DEL", key)
        return [self.works("CF.LOADCHUNK", key, *piece) for piece in pieces].count(True) > 1

    def restore(self):
        payload = self.call("DUMP", self.any_key())
        return payload is not None and self.works("RESTORE", self.key(), 0, payload, "REPLACE")

    def transaction(self):
        key, item = self.key(), self.item()
        replies = self.connection.pipeline(
            [("MULTI",), ("CF.ADD", key, item), ("CF.DEL", key, self.item()),
             ("CF.INSERTNX", key, "ITEMS", *self.items()), ("EXEC",)]
        )  # fmt: skip
        # An error if the server has refused a command because it had no memory.
        return not isinstance(replies[-1], Error) and 1 in replies[-1][:2]

    def wrong(self):
        key = self.key()
        wrong = [("CF.ADD", key), ("CF.RESERVE", key, 0), ("CF.LOADCHUNK", key, 1, "x"),
                 ("CF.INSERT", key, "CAPACITY", -1, "ITEMS", "x"), ("CF.MERGE", key, "{t}none")]  # fmt: skip
        return not self.works(*self.chance.choice(wrong))
