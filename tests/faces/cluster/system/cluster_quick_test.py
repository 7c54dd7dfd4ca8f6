"""A logical filter on three primaries: its life, moving slots, a server that hangs or is away."""

import os
import signal
import time
import unittest

from cluster_case import KEYS, Failed, lines
from logical_case import Asker, LogicalCase, Writer


class QuickTest(LogicalCase):
    def test_the_life_of_a_filter(self):
        count = KEYS // 2
        self.create("life", count, "--max-capacity", 2 * count)
        self.expect("push", "life", stdin=lines("in", count))
        self.assert_found("life", lines("in", count))
        self.assertLess(self.found("life", lines("out", count)), 0.02 * count)
        info = self.info("life")
        self.assertEqual(info["items"], count)
        self.assertEqual(sum(node["parts"] for node in info["nodes"]), 64)
        self.assertEqual(len(info["nodes"]), 3)
        self.assertGreater(min(node["parts"] for node in info["nodes"]), 8)
        half = count // 2
        self.expect("remove", "life", stdin=lines("in", half))
        self.assert_found("life", lines("in", count - half, half))
        self.assertLess(self.found("life", lines("in", half)), 0.02 * count)
        self.expect("add", "life", stdin=lines("more", half))
        self.expect("pull", "life", "-o", "copy")
        kept = lines("in", count - half, half) + lines("more", half)
        self.assert_found("life", kept)
        self.expect("query", "-v", "--file", "copy", stdin=kept, status=1, servers=())
        self.create("other", count, "--seed", info["seed"], "--max-capacity", 2 * count)
        self.expect("add", "other", stdin=lines("other", half))
        self.expect("merge", "other", "life")
        self.assert_found("other", kept + lines("other", half))
        self.expect("push", "other", "--merge", stdin=lines("pushed", half))
        self.assert_found("other", kept + lines("other", half) + lines("pushed", half))
        self.assertEqual(self.info("other")["items"], count + 2 * half)
        self.expect("drop", "life")
        self.assert_found("other", kept)
        memory = self.info("other")["memory_bytes"]
        self.expect("remove", "other", stdin=kept + lines("other", half))
        self.expect("fit", "other")
        self.assert_found("other", lines("pushed", half))
        self.assertLess(self.info("other")["memory_bytes"], 0.7 * memory)
        self.expect("drop", "other")
        self.assertEqual(self.keys_on_servers(), 0)

    def test_slots_move_while_clients_write_and_ask(self):
        # A part in every 16th slot, so that a move of a few slots moves parts.
        self.create("moving", 100_000, "--parts", 1024, "--max-capacity", 10_000_000)
        before = self.servers_of("moving")
        source, target, _ = before
        with (
            Writer(self.client("moving"), "w") as writer,
            Asker(self.client("moving"), writer) as asker,
        ):
            writer.wait_for_more(3)
            self.cluster.reshard(source, target, 200)
            writer.wait_for_more(5)
            asker.wait_for_more(20)
        self.assertEqual(writer.failures, [])
        after = self.servers_of("moving")
        self.assertLess(after[source], before[source] - 4)
        self.assertEqual(after[target], before[target] + before[source] - after[source])
        self.assert_all_there("moving", writer)
        # Each key was added once, whichever way its command went.
        self.assertEqual(self.info("moving")["items"], len(writer.batches) * 300)

    def test_a_slot_that_stays_half_moved(self):
        self.create("half", 10_000)
        self.expect("add", "half", stdin=lines("in", 5000))
        with self.client("half") as client:
            self.assertEqual(client.call("ask", "in", 0, 5000), [5000])
            part = self.info("half")["parts"][7]
            source = self.cluster.by_port(int(part["node"].rsplit(":", 1)[1]))
            target = next(server for server in self.cluster.primaries() if server is not source)
            ids = [server.call("CLUSTER", "MYID") for server in (source, target)]
            slot = source.call("CLUSTER", "KEYSLOT", part["key"])
            target.call("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[0])
            source.call("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[1])
            self.assertEqual(client.call("ask", "in", 0, 5000), [5000])
            move = "MIGRATE", "127.0.0.1", target.port, part["key"], 0, 20000
            self.assertEqual(source.call(*move), "OK")
            # Only ASK leads to the part now.
            self.assertEqual(client.call("ask", "in", 0, 5000), [5000])
            self.assertEqual(client.call("insert", "more", 0, 3000), [3000])
            self.assertEqual(client.call("count", "more", 0, 3000)[1:][0], 1)
            self.assertEqual(client.call("erase", "in", 0, 1000), [1000])
            self.assertEqual(client.call("missing", "more", 0, 3000), [0])
            for server in (target, source):
                server.call("CLUSTER", "SETSLOT", slot, "NODE", ids[1])
            self.assertEqual(client.call("missing", "more", 0, 3000), [0])
        self.cluster.wait_until_ok()
        self.assertEqual(self.info("half")["items"], 7000)

    def test_a_server_that_hangs(self):
        self.create("hang", 20_000)
        self.expect("add", "hang", stdin=lines("in", 5000) + lines("erase", 5000))
        stopped = self.cluster.servers[1]
        with self.client("hang", timeout_ms=500) as client:
            self.assertEqual(client.ask_until_answered("ask", "in", 0, 5000), [5000])
            os.kill(stopped.process.pid, signal.SIGSTOP)
            try:
                for verb, effect in (
                    ("ask", "none"), ("insert", "unknown"), ("unique", "unknown"),
                    ("erase", "unknown"), ("ask", "none"),
                ):  # fmt: skip
                    begin = time.monotonic()
                    with self.assertRaises(Failed) as caught:
                        client.call(verb, "in" if verb == "ask" else verb, 0, 5000)
                    self.assertLess(time.monotonic() - begin, 20)
                    self.assertEqual(caught.exception.effect, effect, caught.exception)
                    self.assertIn(f"127.0.0.1:{stopped.port}", caught.exception.text)
            finally:
                os.kill(stopped.process.pid, signal.SIGCONT)
            # Late answers are not taken for those of another question.
            self.cluster.wait_until_ok()
            for _ in range(3):
                self.assertLess(client.ask_until_answered("ask", "out", 0, 5000)[0], 200)
                self.assertEqual(client.ask_until_answered("missing", "in", 0, 5000), [0])
            self.assertGreaterEqual(client.ask_until_answered("count", "unique", 0, 5000)[0], 3000)

    def test_a_server_that_is_away(self):
        self.create("away", 10_000)
        self.expect("add", "away", stdin=lines("in", 5000))
        gone = self.cluster.servers[2]
        gone.call("SAVE")
        with self.client("away", timeout_ms=1000) as client, self.client("away") as patient:
            self.assertEqual(client.ask_until_answered("ask", "in", 0, 5000), [5000])
            self.assertEqual(patient.call("ask", "in", 0, 5000), [5000])
            gone.kill()
            for _ in range(2):
                with self.assertRaises(Failed) as caught:
                    client.call("ask", "in", 0, 5000)
                self.assertEqual(caught.exception.effect, "none")
                self.assertIn(f"127.0.0.1:{gone.port}", caught.exception.text)
            # Waits until it is there again.
            patient.send("missing", "in", 0, 5000)
            gone.start()
            self.assertEqual(patient.receive(), [0])
            self.cluster.wait_until_ok()
            self.assertEqual(client.ask_until_answered("missing", "in", 0, 5000), [0])

    def test_a_filter_that_is_made_again_under_the_same_name(self):
        for parts, seed in ((64, 1), (64, 2), (65, 2)):
            self.create("again", 10_000, "--parts", parts, "--seed", seed)
            if seed == 1:
                client = self.client("again")
                self.addCleanup(client.close)
            self.expect("add", "again", stdin=lines("in", 5000))
            try:
                missing = client.call("missing", "in", 0, 5000)
            except Failed:
                client.call("open")
                missing = client.call("missing", "in", 0, 5000)
            self.assertEqual(missing, [0])
            self.assertEqual(client.call("insert", f"s{seed}-{parts}", 0, 1000), [1000])
            self.assert_found("again", lines(f"s{seed}-{parts}", 1000))
            self.expect("drop", "again")
        with self.assertRaises(Failed):
            client.call("missing", "in", 0, 5000)


if __name__ == "__main__":
    unittest.main()
