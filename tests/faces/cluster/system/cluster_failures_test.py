"""A logical filter on three primaries with replicas, while the cluster changes and servers and
clients die.

NESTLINE_CLUSTER_KEYS is the number of keys of the large filter, NESTLINE_CLUSTER_KILLS how many
pushes are killed.
"""

import os
import random
import signal
import subprocess
import time
import unittest

from cluster_case import KEYS, Busy, Failed, lines
from logical_case import BATCH, Asker, LogicalCase, Writer
from servers import PATIENCE, wait_until

KILLS = int(os.environ.get("NESTLINE_CLUSTER_KILLS", "12"))
AT_ONCE = 100_000  # keys in one call of a client


def in_calls(client, verb, prefix, count, first=0):
    """The sum of the results of calls for many keys."""
    total = 0
    for at in range(first, first + count, AT_ONCE):
        total += client.call(verb, prefix, at, min(AT_ONCE, first + count - at))[0]
    return total


def has_ended(process, seconds):
    """Whether it ends within so many seconds."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


class JoiningTest(LogicalCase):
    """Has a cluster of its own: the primary that joins has no replica."""

    replicas = 1

    def test_slots_move_and_a_primary_joins(self):
        self.create("moving", 200_000, "--parts", 512, "--max-capacity", 10_000_000)
        writers = [Writer(self.client("moving"), f"w{i}") for i in range(2)]
        askers = [Asker(self.client("moving"), writer) for writer in writers]
        removed = set()

        # One more client removes what it has added, so that a lost or repeated removal shows.
        def come_and_go(client, number):
            first = number * BATCH
            self.assertEqual(client.call("insert", "gone", first, BATCH), [BATCH])
            self.assertEqual(client.call("missing", "gone", first, BATCH), [0])
            self.assertEqual(client.call("erase", "gone", first, BATCH), [BATCH])
            removed.add(first)

        source, target, _ = self.servers_of("moving")
        with writers[0], writers[1], askers[0], askers[1]:
            with Busy(self.client("moving"), come_and_go) as other:
                writers[0].wait_for_more(2)
                self.cluster.reshard(source, target, 400)
                fourth = self.cluster.join()
                for primary in (source, target):
                    self.cluster.reshard(primary, fourth, 700)
                for busy in (*writers, *askers, other):
                    busy.wait_for_more(5)
        self.assertEqual([writer.failures for writer in writers], [[], []])
        self.assertGreater(self.servers_of("moving")[fourth], 20)
        self.assert_all_there("moving", *writers)
        wanted = sum(len(writer.batches) * BATCH for writer in writers)
        self.assertEqual(self.info("moving")["items"], wanted)
        self.cluster.wait_until_ok()
        self.assert_replicas_same()


class PlannedTest(LogicalCase):
    """Worker threads answer even the smallest batches, so a primary has some in flight whenever it
    becomes a replica."""

    replicas = 1
    arguments = ("cf-threads", 2, "cf-thread-items", 2)

    @staticmethod
    def fail_over(heir):
        """A server that is too busy gives up after five seconds: then it is asked again."""
        asked = None

        def is_primary():
            nonlocal asked
            if heir.call("ROLE")[0] == b"master":
                return True
            if asked is None or time.monotonic() > asked + 10:
                heir.call("CLUSTER", "FAILOVER")
                asked = time.monotonic()
            return False

        wait_until(is_primary, "the replica is the primary")

    def test_planned_failovers(self):
        self.create("planned", 200_000, "--parts", 64, "--max-capacity", 10_000_000)
        writer = Writer(self.client("planned"), "w")
        askers = [Asker(self.client("planned"), writer) for _ in range(3)]
        with writer, askers[0], askers[1], askers[2]:
            writer.wait_for_more(3)
            # Once for each: servers do not vote for another one within two node timeouts.
            for primary in self.cluster.primaries():
                heir = self.cluster.replica_of(primary)
                self.fail_over(heir)
                self.cluster.wait_until_ok()
                for busy in (writer, *askers):
                    busy.wait_for_more(5)
        self.assertEqual(writer.failures, [])
        self.assert_all_there("planned", writer)
        self.assertEqual(self.info("planned")["items"], len(writer.batches) * BATCH)
        self.assert_replicas_same()


class FailuresTest(LogicalCase):
    replicas = 1

    def test_many_keys(self):
        self.create("large", KEYS, "--fpr", 0.001)
        with self.client("large") as client:
            self.assertEqual(client.call("push", "in", 0, KEYS), [KEYS])
            self.assertEqual(in_calls(client, "missing", "in", KEYS), 0)
            self.assertLess(in_calls(client, "ask", "out", KEYS), 0.002 * KEYS + 20)
            self.assertEqual(self.info("large")["items"], KEYS)
            half = KEYS // 2
            self.assertEqual(in_calls(client, "erase", "in", half), half)
            self.assertEqual(in_calls(client, "missing", "in", KEYS - half, half), 0)
            self.assertLess(in_calls(client, "ask", "in", half), 0.002 * half + 20)
            self.assertEqual(in_calls(client, "insert", "more", half), half)
            self.assertEqual(in_calls(client, "missing", "more", half), 0)
        self.assert_replicas_same()
        self.assertGreater(self.keys_on_servers(), 64)

    def test_a_primary_dies(self):
        self.create("dying", 200_000, "--max-capacity", 10_000_000)
        victim = self.cluster.primaries()[0]
        heir = self.cluster.replica_of(victim)
        self.assertIsNotNone(heir)
        # The new primary has no replica, so nothing there is acknowledged: those are left out.
        writer = Writer(self.client("dying", wait=1, timeout_ms=3000), "w", gaps=True)
        asker = Asker(self.client("dying", timeout_ms=3000), writer, forgive=True)
        with writer, asker:
            writer.wait_for_more(5)
            self.cluster.set_node_timeout(3000)
            victim.kill()
            self.cluster.wait_until_ok()
            writer.wait_for_more(2)
            victim.start()
            self.cluster.set_node_timeout(60000)
            self.cluster.wait_until_ok()
            # The same clients go on.
            acknowledged = len(writer.batches)
            wait_until(lambda: len(writer.batches) > acknowledged + 3, "writes are acknowledged")
            asker.wait_for_more(20)
        self.assertIn(heir, self.cluster.primaries())
        self.assertTrue(all(failure.effect == "unknown" for failure in writer.failures))
        self.assert_all_there("dying", writer)
        self.assert_replicas_same()

    def test_a_primary_stands_still(self):
        """Its process is stopped and keeps its connections, as when a machine is paused: clients
        go to the replica that is promoted meanwhile."""
        self.create("paused", 20_000)
        self.expect("add", "paused", stdin=lines("in", 5000))
        victim = self.cluster.primaries()[0]
        heir = self.cluster.replica_of(victim)
        heir.wait_for_offset(victim)
        with self.client("paused", timeout_ms=20_000) as client:
            self.assertEqual(client.call("ask", "in", 0, 5000), [5000])
            self.cluster.set_node_timeout(2000)
            os.kill(victim.process.pid, signal.SIGSTOP)
            try:
                self.assertEqual(client.ask_until_answered("ask", "in", 0, 5000), [5000])
                self.assertEqual(heir.call("ROLE")[0], b"master")
                self.assertEqual(client.call("unique", "in", 0, 5000), [0])
            finally:
                os.kill(victim.process.pid, signal.SIGCONT)
                self.cluster.set_node_timeout(60000)
            self.cluster.wait_until_ok()
            self.assertEqual(client.call("ask", "in", 0, 5000), [5000])

    def push_first_of_two(self, count, *options):
        """Makes the filter "pushed" of the keys "one", beside a file of the keys "two". Returns the
        keys by name, and how many seconds the push took."""
        self.create("pushed", count)
        contents = {word: lines(word, count) for word in ("one", "two")}
        for word, keys in contents.items():
            self.write(word, keys)
        begin = time.monotonic()
        self.expect("push", "pushed", *options, "one")
        return contents, time.monotonic() - begin

    def test_a_primary_dies_during_a_push(self):
        """With --wait 1: the old content or the new one, and the new one if the push ended well."""
        count = 100_000
        contents, whole = self.push_first_of_two(count, "--wait", 1)
        chance = random.Random(9)
        current = "one"
        for _ in range(3):
            new = "two" if current == "one" else "one"
            victim = chance.choice(self.cluster.primaries())
            self.cluster.set_node_timeout(3000)
            process = self.start("push", "pushed", "--wait", 1, "--timeout", 30_000, new)
            has_ended(process, whole * chance.uniform(0.2, 1))
            victim.kill()
            process.communicate()
            self.cluster.wait_until_ok()
            victim.start()
            self.cluster.set_node_timeout(60000)
            self.cluster.wait_until_ok()
            there = {word: self.found("pushed", keys) for word, keys in contents.items()}
            current = max(there, key=there.get)
            self.assertEqual(there[current], count, (there, process.returncode))
            if process.returncode == 0:
                self.assertEqual(current, new)
        self.expect("push", "pushed", "--wait", 1, "one")
        self.assert_found("pushed", contents["one"])
        self.assert_replicas_same()
        self.expect("drop", "pushed")
        self.assertEqual(self.keys_on_servers(), 0)

    def test_two_clients_at_once(self):
        self.create("shared", 200_000, "--max-capacity", 1_000_000)
        writers = [Writer(self.client("shared"), f"w{i}") for i in range(2)]
        with writers[0], writers[1]:
            for writer in writers:
                writer.wait_for_more(40)
        self.assert_all_there("shared", *writers)
        wanted = sum(len(writer.batches) * BATCH for writer in writers)
        self.assertEqual(self.info("shared")["items"], wanted)

        # The same key from both: each addition is a copy.
        clients = [self.client("shared") for _ in range(2)]

        def insert(client):
            return lambda: self.assertEqual(client.call("insert", "same", 0, 5000), [5000])

        self.answers_of(*map(insert, clients))
        self.assertEqual(clients[0].call("count", "same", 0, 5000)[1] >= 2, True)
        self.assertEqual(self.info("shared")["items"], wanted + 10_000)
        for client in clients:
            self.assertEqual(client.call("erase", "same", 0, 5000), [5000])
            client.close()
        self.assertEqual(self.info("shared")["items"], wanted)
        self.assert_all_there("shared", *writers)

    def test_one_of_two_makes_a_filter(self):
        for number in range(10):
            name = f"race-{number}"
            both = [self.start("create", name, "--capacity", 1000 + i) for i in range(2)]
            statuses = []
            for process in both:
                process.communicate(timeout=4 * PATIENCE)
                statuses.append(process.returncode)
            self.assertEqual(sorted(statuses), [0, 2])
            self.assertEqual(self.info(name)["capacity"], 1000 + statuses.index(0))
            self.expect("add", name, stdin=lines("in", 500))
            self.assert_found(name, lines("in", 500))

    def test_pushes_beside_questions(self):
        """Both contents have the keys "both": no question may ever miss one of them."""
        self.create("busy", 30_000)
        both = lines("both", 5000)
        self.write("one", both + lines("one", 10_000))
        self.write("two", both + lines("two", 10_000))
        self.expect("push", "busy", "one")

        def ask(client, _):
            self.assertEqual(client.call("missing", "both", 0, 5000), [0])

        with Busy(self.client("busy"), ask) as one, Busy(self.client("busy"), ask) as two:
            for number in range(30):
                self.expect("push", "busy", ("one", "two")[number % 2])
            one.wait_for_more(5)
            two.wait_for_more(5)
        self.assert_found("busy", both + lines("two", 10_000))
        self.assertLess(self.found("busy", lines("one", 10_000)), 300)
        self.assertEqual(self.info("busy")["items"], 15_000)

    def test_a_merging_push_beside_a_replacing_one(self):
        self.create("both", 20_000)
        self.write("base", lines("base", 5000))
        self.expect("push", "both", "base")
        failures = []

        def merge(client, _):
            try:
                client.call("pushmerge", "more", 0, 3000)
            except Failed as failure:
                failures.append(failure)

        def ask(client, _):
            self.assertEqual(client.call("missing", "base", 0, 5000), [0])

        with Busy(self.client("both"), merge) as merger, Busy(self.client("both"), ask):
            for _ in range(20):
                self.expect("push", "both", "base")
            merger.wait_for_more(2)
        self.expect("push", "both", "base")
        self.expect("push", "both", "--merge", stdin=lines("more", 3000))
        self.assertEqual(self.info("both")["items"], 8000)
        self.expect("drop", "both")
        self.assertEqual(self.keys_on_servers(), 0, failures)

    def test_a_client_is_killed_in_the_middle_of_a_push(self):
        count = 100_000
        contents, whole = self.push_first_of_two(count)
        chance = random.Random(7)
        seen = {"one": 0, "two": 0}
        current = "one"
        for _ in range(KILLS):
            new = "two" if current == "one" else "one"
            process = self.start("push", "pushed", new)
            if not has_ended(process, whole * chance.uniform(0.05, 1.1)):
                process.kill()
            process.communicate()
            there = {word: self.found("pushed", keys) for word, keys in contents.items()}
            current = max(there, key=there.get)
            self.assertEqual(there[current], count, there)
            self.assertLess(there["two" if current == "one" else "one"], 0.02 * count, there)
            self.assertEqual(self.info("pushed")["items"], count)
            if process.returncode == 0:
                self.assertEqual(current, new)
            seen[current] += 1
        self.expect("push", "pushed", "two")
        self.assert_found("pushed", contents["two"])
        self.expect("drop", "pushed")
        self.assertEqual(self.keys_on_servers(), 0, seen)

    def test_a_client_is_killed_while_it_makes_a_filter(self):
        chance = random.Random(8)
        for number in range(KILLS):
            process = self.start("create", "new", "--capacity", 10_000, "--parts", 2000)
            if not has_ended(process, chance.uniform(0.005, 0.3)):
                process.kill()
            process.communicate()
            status, _, err = self.run_command("query", "new", stdin=b"key\n")
            self.assertIn(status, (1, 2))
            if status == 2:
                self.assertIn(b"new", err)
            status, _, err = self.run_command("drop", "new")
            self.assertIn(status, (0, 1), (number, err))
            self.assertEqual(self.keys_on_servers(), 0)
        self.create("new", 10_000)

    def test_a_slot_moves_during_a_push(self):
        self.create("pushed", 50_000, "--parts", 512)
        self.write("one", lines("in", 50_000))
        self.expect("push", "pushed", "one")

        def push(client, _):
            self.assertEqual(client.call("push", "in", 0, 50_000), [50_000])

        def ask(client, _):
            self.assertEqual(client.call("missing", "in", 0, 50_000), [0])

        source, target, *_ = self.servers_of("pushed")
        with Busy(self.client("pushed"), push) as pusher, Busy(self.client("pushed"), ask) as asker:
            pusher.wait_for_more(1)
            self.cluster.reshard(source, target, 300)
            pusher.wait_for_more(2)
            asker.wait_for_more(2)
        self.assertEqual(self.info("pushed")["items"], 50_000)
        self.create("merged", 50_000, "--parts", 512, "--seed", self.info("pushed")["seed"])
        self.expect("merge", "merged", "pushed")
        self.assert_found("merged", lines("in", 50_000))
        for name in ("merged", "pushed"):
            self.expect("drop", name)
        self.assertEqual(self.keys_on_servers(), 0)


if __name__ == "__main__":
    unittest.main()
