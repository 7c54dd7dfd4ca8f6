"""A cluster of three primaries and three replicas: keys, moving slots, a primary that dies."""

import threading
import unittest

from cluster_servers import SLOTS, Cluster, slot_of
from module_case import items
from resp import Connection, Simple
from servers import PATIENCE, wait_until

# Each command with one key "K" (or several) in its place, and other arguments that fit.
COMMANDS = [("CF.RESERVE", "K", 100), ("CF.ADD", "K", "x"), ("CF.ADDNX", "K", "x"),
            ("CF.INSERT", "K", "CAPACITY", 100, "ITEMS", "x", "y"),
            ("CF.INSERTNX", "K", "NOCREATE", "ITEMS", "x", "y"), ("CF.EXISTS", "K", "x"),
            ("CF.MEXISTS", "K", "x", "y"), ("CF.COUNT", "K", "x"), ("CF.DEL", "K", "x"),
            ("CF.MDEL", "K", "x", "y"), ("CF.CLEAR", "K"),
            *((f"CF.{name}", "K", 8 * b"h")
              for name in ("MEXISTSH", "MADDH", "MADDNXH", "MDELH", "MCOUNTH")),
            ("CF.UPDATE", "K", "x", "y"),
            ("CF.MERGE", "K", "K2", "K3"), ("CF.COMPACT", "K"), ("CF.INFO", "K"), ("CF.DEBUG", "K"),
            ("CF.SCANDUMP", "K", 0), ("CF.LOADCHUNK", "K", 1, "x"), ("CF.ADVANCE", "K", 1)]  # fmt: skip


def key_in(slots, prefix):
    """A name whose slot is in `slots`."""
    return next(key for key in (f"{prefix}-{i}" for i in range(10**6)) if slot_of(key) in slots)


class Writers:
    """Threads that add new items to their keys until stop(); what was acknowledged is in `kept`."""

    def __init__(self, cluster, keys, wait=None):
        self.cluster, self.wait = cluster, wait
        self.kept = {key: [] for key in keys}
        self.sent = dict.fromkeys(keys, 0)
        self.stopped = threading.Event()
        self.errors = []
        self.clients = [cluster.client() for _ in range(2)]
        self.threads = [threading.Thread(target=self.write, args=(client, keys[i::2]))
                        for i, client in enumerate(self.clients)]
        for thread in self.threads:
            thread.start()

    def write(self, client, keys):
        try:
            number = 0
            while not self.stopped.is_set():
                number += 1
                for key in keys:
                    item = f"{key}/{number}"
                    reply = client.call("CF.ADD", key, item, wait=self.wait)
                    reply, copies = reply if self.wait else (reply, None)
                    self.sent[key] += 1
                    if reply != 1:
                        raise AssertionError(f"{key}: {reply}")
                    if self.wait is None or copies >= self.wait[0]:
                        self.kept[key].append(item)
        except Exception as error:  # pylint: disable=broad-exception-caught
            self.errors.append(error)

    def wait_for_more(self, least):
        """Waits until each key has had this many more additions."""
        wanted = {key: count + least for key, count in self.sent.items()}
        wait_until(
            lambda: self.errors or all(self.sent[key] >= count for key, count in wanted.items()),
            "all keys are written to", 3 * PATIENCE,
        )  # fmt: skip

    def stop(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join()
        for client in self.clients:
            client.close()

    def followed(self, kind):
        return sum(client.followed[kind] for client in self.clients)


class ClusterTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(primaries=3, replicas=1)
        cls.addClassCleanup(cls.cluster.remove)

    def setUp(self):
        self.cluster.wait_until_ok()
        self.client = self.cluster.client()
        self.addCleanup(self.client.close)

    def assert_all_found(self, kept):
        for key, wanted in kept.items():
            self.assertEqual(self.client.call("CF.MEXISTS", key, *wanted).count(1), len(wanted),
                             key)

    def assert_replicas_same(self):
        for primary in self.cluster.primaries():
            replica = self.cluster.replica_of(primary)
            if replica is not None:
                replica.wait_for_offset(primary)
                self.assertEqual(replica.call("DEBUG", "DIGEST"), primary.call("DEBUG", "DIGEST"))

    def test_every_command_finds_its_key(self):
        listed = self.cluster.servers[0].call("COMMAND", "LIST", "FILTERBY", "MODULE", "nestline")
        self.assertEqual({name.decode() for name in listed}, {line[0].lower() for line in COMMANDS})
        key = "{tag}of-nobody"
        owner = self.cluster.owner(key)
        for server in self.cluster.servers:
            with Connection(server.port) as connection:
                for line in COMMANDS:
                    keys = [key + word[1:] for word in line if str(word).startswith("K")]
                    line = [key + word[1:] if str(word).startswith("K") else word for word in line]
                    self.assertEqual(
                        connection.call("COMMAND", "GETKEYS", *line), [k.encode() for k in keys]
                    )
                    if server is not owner:
                        moved = f"MOVED {slot_of(key)} 127.0.0.1:{owner.port}"
                        self.assertEqual(connection.call(*line), moved, line)
        # A replica that may read answers commands that only read, and no others.
        with Connection(self.cluster.replica_of(owner).port) as connection:
            self.assertEqual(connection.call("READONLY"), "OK")
            self.assertEqual(connection.call("CF.MEXISTS", key, "x"), [0])
            self.assertIn("MOVED", connection.call("CF.COMPACT", key))
        other = key_in(range(SLOTS), "{other}")
        reply = owner.call("CF.MERGE", key, other)
        self.assertTrue(reply.startswith("CROSSSLOT"), reply)

    def test_keys_spread_and_merge(self):
        wanted = {f"spread-{i}": items(f"in-{i}", 20) for i in range(60)}
        for key, some in wanted.items():
            self.assertEqual(self.client.call("CF.INSERT", key, "ITEMS", *some), [1] * 20)
        self.assert_all_found(wanted)
        for primary in self.cluster.primaries():
            self.assertGreater(primary.call("DBSIZE"), 5)
        for name in "abc":
            self.assertEqual(self.client.call("CF.RESERVE", f"{{m}}{name}", 100, "SEED", 5), "OK")
            self.assertEqual(self.client.call("CF.ADD", f"{{m}}{name}", name), 1)
        self.assertEqual(self.client.call("CF.MERGE", "{m}d", "{m}a", "{m}b", "{m}c"), "OK")
        self.assertEqual(self.client.call("CF.MEXISTS", "{m}d", "a", "b", "c"), [1, 1, 1])
        self.assert_replicas_same()

    def test_slots_move_while_clients_write(self):
        source = self.cluster.owner(key_in(range(1), "low"))
        target = next(p for p in self.cluster.primaries() if p is not source)
        count = 120  # slots: the lowest ones of the source
        keys = [key_in(range(20 * i, 20 * i + 20), f"moving-{i}") for i in range(6)]
        keys += [key_in(range(count, SLOTS), f"staying-{i}") for i in range(2)]
        writers = Writers(self.cluster, keys)
        try:
            self.cluster.reshard(source, target, count)
            writers.wait_for_more(20)
        finally:
            writers.stop()
        self.assertEqual(writers.errors, [])
        self.assertGreater(min(map(len, writers.kept.values())), 20)
        self.assertGreater(writers.followed("MOVED") + writers.followed("ASK"), 0)
        self.assertIs(self.cluster.owner(keys[0]), target)
        self.assert_all_found(writers.kept)
        for key in keys[:6]:
            self.assertEqual(source.call("CLUSTER", "COUNTKEYSINSLOT", slot_of(key)), 0)
        self.cluster.wait_until_ok()
        self.assert_replicas_same()
        self.check_asked_slot(keys[0], target, source)

    def check_asked_slot(self, key, source, target):
        """Moves a slot by hand: one key has moved, one has not, new ones go to the target."""
        tag = f"{{{key}}}"
        for name in ("a", "b"):
            self.assertEqual(self.client.call("CF.RESERVE", tag + name, 100, "SEED", 6), "OK")
            self.assertEqual(self.client.call("CF.ADD", tag + name, name), 1)
        before = source.call("DEBUG", "DIGEST-VALUE", tag + "a")
        ids = [server.call("CLUSTER", "MYID") for server in (source, target)]
        slot = slot_of(key)
        self.assertEqual(target.call("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[0]), "OK")
        self.assertEqual(source.call("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[1]), "OK")
        move = "MIGRATE", "127.0.0.1", target.port, "", 0, 20000, "KEYS"
        self.assertEqual(source.call(*move, tag + "a"), "OK")
        self.assertEqual(target.call("DEBUG", "DIGEST-VALUE", tag + "a"), before)
        ask = f"ASK {slot} 127.0.0.1:{target.port}"
        self.assertEqual(source.call("CF.ADD", tag + "a", "more"), ask)
        self.assertEqual(source.call("CF.ADD", tag + "new", "more"), ask)
        self.assertEqual(source.call("CF.ADD", tag + "b", "more"), 1)
        merge = "CF.MERGE", tag + "b", tag + "a"
        self.assertTrue(source.call(*merge).startswith("TRYAGAIN"))
        asked = self.client.followed["ASK"]
        for name in ("a", "b", "new"):
            self.assertEqual(self.client.call("CF.ADD", tag + name, "there"), 1)
        self.assertEqual(self.client.followed["ASK"], asked + 2)
        rest = source.call("CLUSTER", "GETKEYSINSLOT", slot, 100)
        self.assertEqual(source.call(*move, *rest), "OK")
        for server in (target, source):
            self.assertEqual(server.call("CLUSTER", "SETSLOT", slot, "NODE", ids[1]), "OK")
        self.assertEqual(self.client.call(*merge), "OK")
        self.assertEqual(self.client.call("CF.MEXISTS", tag + "b", "a", "b", "more", "there"),
                         [1] * 4)
        self.assertEqual(self.client.call("CF.COUNT", tag + "b", "there"), 2)

    def test_a_primary_dies(self):
        victim = self.cluster.owner("victim")
        heir = self.cluster.replica_of(victim)
        keys = [key for key in items("dying", 200) if self.cluster.owner(key) is victim][:3]
        keys += [key for key in items("living", 200) if self.cluster.owner(key) is not victim][:3]
        writers = Writers(self.cluster, keys, wait=(1, 500))
        try:
            writers.wait_for_more(10)
            self.cluster.set_node_timeout(3000)
            victim.kill()
            self.cluster.wait_until_ok()
            # The new primary has no replica, so no replica acknowledges its commands any more.
            writers.wait_for_more(2)
        finally:
            writers.stop()
        self.assertEqual(writers.errors, [])
        self.cluster.set_node_timeout(60000)
        self.assertIs(self.cluster.owner("victim"), heir)
        self.assertGreater(min(map(len, writers.kept.values())), 0)
        self.assert_all_found(writers.kept)
        self.assertEqual(self.client.call("CF.ADD", keys[0], "after"), 1)
        victim.start()
        self.cluster.wait_until_ok()
        self.assertIs(self.cluster.replica_of(heir), victim)
        self.assertNotEqual(heir.call("DEBUG", "DIGEST"), Simple("0" * 40))
        self.assert_replicas_same()
