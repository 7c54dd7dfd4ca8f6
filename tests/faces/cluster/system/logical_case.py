"""What the tests of logical filters on clusters share: writers and askers that go on while the
cluster changes, and what must hold afterwards."""

import random
import threading

from cluster_case import Busy, Client, ClusterCase, Failed
from cluster_servers import Cluster

BATCH = 300


class Writer(Busy):
    """Inserts keys PREFIX-0, PREFIX-1, ... in batches. What was acknowledged is in `batches`. When
    the fate of a batch is not known, it is repeated in the form that is safe to repeat; with `gaps`
    it is left out, and so is one that failed."""

    def __init__(self, client, prefix, gaps=False):
        super().__init__(client, self.write)
        self.prefix, self.gaps = prefix, gaps
        self.batches = []
        self.failures = []

    def write(self, client, number):
        first = number * BATCH
        verb = "insert"
        while True:
            try:
                stored = client.call(verb, self.prefix, first, BATCH)
                break
            except Failed as failure:
                self.failures.append(failure)
                if self.gaps:
                    return
                if len(self.failures) > 1000:
                    raise
                verb = "unique" if failure.effect == "unknown" or verb == "unique" else "insert"
        # A key may look the same as one that is there: then unique does not add it.
        if stored != [BATCH] and verb == "insert":
            raise AssertionError(f"{self.prefix} {first}: {stored} of {BATCH} were stored")
        self.batches.append(first)


class Asker(Busy):
    """Asks for keys that `writer` has been told are stored; none may be missing."""

    def __init__(self, client, writer, forgive=False):
        super().__init__(client, self.ask)
        self.writer, self.forgive = writer, forgive
        self.chance = random.Random(1)

    def ask(self, client, _):
        if not self.writer.batches:
            self.stopped.wait(0.01)
            return
        first = self.chance.choice(self.writer.batches)
        try:
            missing = client.call("missing", self.writer.prefix, first, BATCH)
        except Failed:
            if self.forgive:
                return
            raise
        if missing != [0]:
            raise AssertionError(f"keys that were stored are denied: {missing}")


class LogicalCase(ClusterCase):
    primaries, replicas = 3, 0
    arguments = ()  # of the module

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(cls.primaries, cls.replicas, arguments=cls.arguments)
        cls.addClassCleanup(cls.cluster.remove)

    def setUp(self):
        super().setUp()
        self.cluster.wait_until_ok()
        self.servers = ("--server", f"127.0.0.1:{self.ports()[0]}")
        for server in self.cluster.primaries():
            server.call("FLUSHALL")

    def ports(self):
        return [server.port for server in self.cluster.alive()]

    def client(self, name, **options):
        return Client(name, self.ports(), **options)

    def keys_on_servers(self):
        return sum(server.call("DBSIZE") for server in self.cluster.primaries())

    def servers_of(self, name):
        """The servers that have parts, with the number of parts."""
        return {
            self.cluster.by_port(int(node["node"].rsplit(":", 1)[1])): node["parts"]
            for node in self.info(name)["nodes"]
        }

    def assert_all_there(self, name, *writers):
        """What was acknowledged is found."""
        with self.client(name) as client:
            for writer in writers:
                self.assertTrue(writer.batches)
                for first in writer.batches:
                    self.assertEqual(client.call("missing", writer.prefix, first, BATCH), [0],
                                     first)

    def assert_replicas_same(self):
        for primary in self.cluster.primaries():
            replica = self.cluster.replica_of(primary)
            if replica is not None:
                replica.wait_for_offset(primary)
                self.assertEqual(replica.call("DEBUG", "DIGEST"), primary.call("DEBUG", "DIGEST"))

    def answers_of(self, *threads):
        """Runs functions at the same time."""
        running = [threading.Thread(target=thread) for thread in threads]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
