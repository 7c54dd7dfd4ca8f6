"""Batches of questions that worker threads answer, in servers. Others may remove, replace or change
the filter at any moment. An item that was in it all the time must be found all the same.

NESTLINE_REDIS_WORKER_SECONDS (5): how long random commands run; NESTLINE_REDIS_SEED (1)."""

import collections
import contextlib
import os
import random
import threading
import time

from hashing import hash_string, read_bits
from module_case import WRONG_TYPE, ModuleCase
from resp import Connection, Error, encode
from servers import PATIENCE, Server, wait_until

SECONDS = float(os.environ.get("NESTLINE_REDIS_WORKER_SECONDS", "5"))
SEED = int(os.environ.get("NESTLINE_REDIS_SEED", "1"))
NOT_FOUND = Error("ERR not found")
BLOCK = 20000  # items of a large batch


def names(prefix, count):
    return [f"{prefix}-{i}" for i in range(count)]


class Asker(threading.Thread):
    """Asks a key for the same hashes until it is stopped; `check` gets each reply."""

    def __init__(self, port, key, hashes, check):
        super().__init__(daemon=True)
        self.connection = Connection(port)
        self.command = ("CF.MEXISTSH", key, hashes)
        self.check = check
        self.ends = threading.Event()
        self.rounds = 0
        self.trouble = None
        self.start()

    def run(self):
        try:
            while not self.ends.is_set():
                for reply in self.connection.pipeline([self.command] * 4):
                    self.check(reply)
                self.rounds += 1
        except BaseException as trouble:  # pylint: disable=broad-exception-caught
            self.trouble = trouble
        finally:
            self.connection.close()

    def stop(self):
        self.ends.set()
        self.join()
        if self.trouble is not None:
            raise self.trouble

    def wait_for_round(self):
        """Until it has asked at least once more, all of it after this call."""
        wanted = self.rounds + 2
        wait_until(lambda: self.rounds >= wanted or not self.is_alive(), "a batch was answered")


class WorkersTest(ModuleCase):
    arguments = ("cf-threads", 2, "cf-thread-items", 8, "cf-max-expansions", 65536)

    def counter(self, name):
        lines = self.call("INFO", "nestline").decode().split()
        return int(dict(line.split(":") for line in lines if ":" in line)[f"nestline_{name}"])

    def batches(self):
        return self.counter("thread_batches")

    def fill(self, key, present, *options):
        self.expect("OK", "CF.RESERVE", key, max(1000, len(present)), "SEED", 7, *options)
        for start in range(0, len(present), 5000):
            self.call("CF.INSERT", key, "ITEMS", *present[start : start + 5000])

    def asker(self, key, present):
        """Checks that all are there, where the key is."""

        def check(reply):
            if reply not in (NOT_FOUND, WRONG_TYPE):
                self.assertEqual(read_bits(reply, len(present)), [1] * len(present))

        asker = Asker(self.server.port, key, hash_string(present, 7), check)
        self.addCleanup(asker.ends.set)
        return asker

    def test_same_replies(self):
        present = names("item", BLOCK)
        self.fill("a", present[: BLOCK // 2])
        self.call("CF.INSERT", "a", "ITEMS", *present[:50], *["many"] * 40)
        asked = present + ["many"]
        commands = [("CF.MEXISTS", "a", *asked), ("CF.MEXISTSH", "a", hash_string(asked, 7)),
                    ("CF.MCOUNTH", "a", hash_string(asked, 7)),
                    *(("CF.MEXISTSH", "a", hash_string(asked[:count], 7))
                      for count in (1, 7, 8, 9, 511, 513))]  # fmt: skip
        for connection in (self.two, self.three):
            before = self.batches()
            threads = connection.pipeline(commands)
            self.assertEqual(self.batches() - before, 7)
            self.expect("OK", "CONFIG", "SET", "nestline.cf-threads", 0)
            self.assertEqual(connection.pipeline(commands), threads)
            self.assertEqual(self.batches() - before, 7)
            self.expect("OK", "CONFIG", "SET", "nestline.cf-threads", 2)
            self.assertEqual(threads[0][: BLOCK // 2].count(1), BLOCK // 2)
            self.assertEqual(threads[2][-1], 40)

    def test_slow_log_has_the_time_of_the_workers(self):
        self.call("CF.RESERVE", "a", 2_000_000, "SEED", 1)
        hashes = random.Random(1).randbytes(8 << 20)
        self.call("CF.MADDH", "a", hashes)
        self.call("CONFIG", "SET", "slowlog-log-slower-than", 0)
        self.addCleanup(self.call, "CONFIG", "SET", "slowlog-log-slower-than", 10000)

        def slow_log():
            """Microseconds of the batch."""
            self.call("SLOWLOG", "RESET")
            self.call("CF.MEXISTSH", "a", hashes)
            return next(entry[2] for entry in self.call("SLOWLOG", "GET", 10)
                        if entry[3][0] == b"CF.MEXISTSH")  # fmt: skip

        # In turn. Two threads take at least half of what one takes; handing over takes a thousandth.
        here, there = [], []
        for _ in range(3):
            self.call("CONFIG", "SET", "nestline.cf-threads", 0)
            here.append(slow_log())
            self.call("CONFIG", "SET", "nestline.cf-threads", 2)
            before = self.batches()
            there.append(slow_log())
            self.assertEqual(self.batches(), before + 1)
        self.assertGreater(min(there), min(here) / 8, (here, there))

    def test_transactions_and_scripts_wait_for_nobody(self):
        present = names("item", 1000)
        self.fill("a", present)
        hashes = hash_string(present, 7)
        before = self.batches()
        self.call("MULTI")
        self.call("CF.MEXISTSH", "a", hashes)
        self.call("CF.MDELH", "a", hashes)
        self.call("CF.MEXISTS", "a", *present)
        bits, _, after = self.call("EXEC")
        self.assertEqual(read_bits(bits, len(present)), [1] * len(present))
        self.assertLess(sum(after), 20)
        script = "return redis.call('CF.MCOUNTH', KEYS[1], ARGV[1])"
        self.assertEqual(len(self.call("EVAL", script, 1, "a", hashes)), len(present))
        self.assertEqual(self.batches(), before)

    def test_clients_that_are_told_of_changes(self):
        """The server's thread answers them: no reply is older than a message that came before it."""
        self.fill("a", names("item", 20))
        hashes = hash_string(names("item", 20), 7)
        commands = (("CF.MEXISTS", "a", *names("item", 20)), ("CF.MEXISTSH", "a", hashes),
                    ("CF.MCOUNTH", "a", hashes))  # fmt: skip
        other = self.two.call("CLIENT", "ID")
        tracking = ((), ("BCAST",), ("OPTIN",), ("OPTOUT",), ("NOLOOP",), ("BCAST", "PREFIX", "a"))
        ways = [(("CLIENT", "TRACKING", "ON", *mode), ("CLIENT", "TRACKING", "OFF")) for mode in tracking]
        ways += [(("SUBSCRIBE", "x"), ("UNSUBSCRIBE", "x")), (("PSUBSCRIBE", "x"), ("PUNSUBSCRIBE", "x"))]
        redirect = ("CLIENT", "TRACKING", "ON", "REDIRECT", other)
        asker = Connection(self.server.port)
        self.addCleanup(asker.close)
        cases = [(self.three, *way) for way in ways]
        cases += [(asker, redirect, ways[0][1]), (self.three, redirect, ways[0][1])]
        for client, begin, end in cases:
            before = self.batches()
            client.call(*begin)
            client.pipeline(commands)
            self.assertEqual(self.batches() - before, 0, begin)
            client.call(*end)
            client.pipeline(commands)
            self.assertEqual(self.batches() - before, 3, begin)

    def test_key_goes_away(self):
        """Each answer is of the filter that the key had, or there is no key."""
        present = names("item", BLOCK)
        self.fill("kept", present)
        payload = self.call("DUMP", "kept")
        self.fill("other", names("other", 1000))
        askers = [self.asker("a", present) for _ in range(2)]
        for _ in range(3):
            for remove in (("DEL", "a"), ("UNLINK", "a"), ("SET", "a", "x"), ("RENAME", "a", "b"),
                           ("RENAME", "kept", "a"), ("SWAPDB", 0, 1), ("FLUSHALL",),
                           ("FLUSHALL", "ASYNC"), ("PEXPIRE", "a", 1),
                           ("RESTORE", "a", 0, payload, "REPLACE"),
                           ("CF.MERGE", "a", "kept", "a")):  # fmt: skip
                self.call("DEL", "a")
                self.expect("OK", "RESTORE", "kept", 0, payload, "REPLACE")
                self.expect("OK", "RESTORE", "a", 0, payload)
                askers[0].wait_for_round()
                self.call(*remove)
                if remove[0] == "SET":
                    self.call("DEL", "a")
                self.server.assert_alive()
        for asker in askers:
            asker.stop()
        self.call("FLUSHALL")

        def bytes_held():
            return b"nestline_filter_bytes:0\r\n" in self.call("INFO", "nestline")

        wait_until(bytes_held, "all filters were freed")

    def test_other_value_in_place(self):
        """What is done to the filter under way: growing, uniting, dropping, merging."""
        present = names("item", 2000)
        self.fill("a", present)
        asker = self.asker("a", present)
        for turn in range(6):
            more = names(f"more-{turn}", 6000)
            for start in range(0, 6000, 500):
                self.call("CF.INSERT", "a", "ITEMS", *more[start : start + 500])
            self.fill(f"b-{turn}", names(f"b-{turn}", 1500))
            self.expect("OK", "CF.MERGE", "a", f"b-{turn}")
            for start in range(0, 6000, 500):
                self.call("CF.MDEL", "a", *more[start : start + 500])
            self.expect("OK", "CF.COMPACT", "a")
            asker.wait_for_round()
        asker.stop()

    def test_clients_that_are_killed(self):
        present = names("item", BLOCK)
        self.fill("a", present)
        hashes = hash_string(present, 7)
        for turn in range(40):
            with Connection(self.server.port) as victim:
                number = victim.call("CLIENT", "ID")
                victim.socket.sendall(encode("CF.MEXISTSH", "a", hashes))
                if turn % 2 == 0:
                    self.call("CLIENT", "KILL", "ID", number)
        self.server.assert_alive()
        self.assert_all_found("a", present[:1000])
        wait_until(lambda: b"blocked_clients:0\r\n" in self.call("INFO", "clients"),
                   "none is blocked")

    def test_saving_while_batches_run(self):
        present = names("item", BLOCK)
        self.fill("a", present)
        self.call("CONFIG", "SET", "save", "")
        askers = [self.asker("a", present) for _ in range(2)]
        for turn in range(4):
            self.call("CF.INSERT", "a", "ITEMS", *names(f"more-{turn}", 300))
            digest = self.call("DEBUG", "DIGEST-VALUE", "a")
            askers[0].wait_for_round()
            self.assertEqual(self.call("DEBUG", "DIGEST-VALUE", "a"), digest)
            self.call("BGSAVE")
            wait_until(lambda: b"rdb_bgsave_in_progress:0" in self.call("INFO", "persistence"),
                       "saved")
            self.assertIn(b"rdb_last_bgsave_status:ok", self.call("INFO", "persistence"))
            self.expect("OK", "SAVE")
            with Server.replica_of(self.server) as replica, Connection(replica.port) as other:
                self.assertEqual(other.call("DEBUG", "DIGEST-VALUE", "a"), digest)
        for asker in askers:
            asker.stop()

    def test_number_of_threads_changes(self):
        present = names("item", BLOCK)
        self.fill("a", present)

        def tasks():
            """Threads that are nicer than the server's by as much as workers."""
            folder = f"/proc/{self.server.process.pid}/task"
            nice = {}
            for task in os.listdir(folder):
                # One that ends meanwhile does not count.
                with (contextlib.suppress(FileNotFoundError, ProcessLookupError),
                      open(f"{folder}/{task}/stat", encoding="ascii") as stat):
                    nice[int(task)] = int(stat.read().rpartition(")")[2].split()[16])
            return list(nice.values()).count(nice[self.server.process.pid] + 10)

        askers = [self.asker("a", present) for _ in range(2)]
        for threads in (0, 5, 1, 3, 0, 2, 8, 2):
            self.expect("OK", "CONFIG", "SET", "nestline.cf-threads", threads)
            askers[0].wait_for_round()
        for asker in askers:
            asker.stop()

        for threads in (7, 3, 0):
            self.expect("OK", "CONFIG", "SET", "nestline.cf-threads", threads)
            self.call("CF.MEXISTSH", "a", hash_string(present, 7))
            self.assertEqual(self.counter("threads"), threads)
            if os.nice(0) < 10:  # nobody is nicer than 19
                wait_until(lambda: tasks() == threads, "the others have ended")
        self.expect("OK", "CONFIG", "SET", "nestline.cf-threads", 2)

    def test_random_commands_against_the_model(self):
        """A writer with an exact model; others ask all the time for what stays."""
        chance = random.Random(SEED)
        keys = {"a": (), "b": ("ERROR", "0.05"), "c": ("EXPANSION", 2)}
        stay = {key: names(f"stay-{key}", 3000) for key in keys}
        come = {key: [] for key in keys}
        for key, options in keys.items():
            self.expect("OK", "CF.RESERVE", key, 500, "SEED", 7, *options)
            self.call("CF.INSERT", key, "ITEMS", *stay[key])
        askers = [self.asker(key, stay[key]) for key in keys]
        fresh = checked = 0
        end = time.monotonic() + SECONDS

        def is_enough():
            """Also that there were answers of threads which a change has made useless."""
            return time.monotonic() > end and checked >= 20 and self.counter("thread_left_open") > 0

        while time.monotonic() < end + PATIENCE and not is_enough():
            key = chance.choice(list(keys))
            there = come[key]
            dice = chance.random()
            if dice < 0.45:
                some = names(f"come-{fresh}", chance.randrange(1, 900))
                some += chance.choices(there, k=20) if there else []
                fresh += 1
                self.assertEqual(self.call("CF.INSERT", key, "ITEMS", *some), [1] * len(some))
                there += some
            elif dice < 0.80:
                chance.shuffle(there)
                some = there[: chance.randrange(len(there) + 1)][:1200]
                del there[: len(some)]
                if some:
                    bits = self.call("CF.MDELH", key, hash_string(some, 7))
                    self.assertEqual(read_bits(bits, len(some)), [1] * len(some))
            elif dice < 0.82:
                self.expect("OK", "CF.COMPACT", key)
            elif dice < 0.83:
                payload = self.call("DUMP", key)
                self.expect("OK", "RESTORE", key, 0, payload, "REPLACE")
            elif dice < 0.84:
                self.expect("OK", "RENAME", key, "elsewhere")
                self.expect("OK", "RENAME", "elsewhere", key)
            else:
                some = stay[key] + there
                bits = self.call("CF.MEXISTSH", key, hash_string(some, 7))
                self.assertEqual(read_bits(bits, len(some)), [1] * len(some))
                copies = collections.Counter(some)
                counts = self.call("CF.MCOUNTH", key, hash_string(list(copies), 7))
                wrong = [item for item, count in zip(copies, counts)
                         if count < min(255, copies[item])]
                self.assertEqual(wrong, [])
                self.assertEqual(self.debug(key)["items"], len(some))
                absent = self.call("CF.MEXISTS", key, *names("absent", 1000))
                self.assertLess(sum(absent), 300)
                checked += 1
        for asker in askers:
            asker.stop()
        self.assertGreater(min(asker.rounds for asker in askers), 0)
        self.assertGreater(self.counter("thread_left_open"), 0)
        print(f"{fresh} insertions, {checked} comparisons, {sum(a.rounds for a in askers)} rounds")
