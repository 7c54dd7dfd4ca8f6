"""Random operations in pipelines against exact multisets: no item in a filter is ever missed.

NESTLINE_REDIS_OPERATIONS (200000) sets how many (a million: 20 seconds), NESTLINE_REDIS_SEED changes
the seed. In between are compactions that unite filters and two restarts, one after kill -9."""

import collections
import os
import random
import time

from hashing import hash_string, read_bits
from module_case import ModuleCase

OPERATIONS = int(os.environ.get("NESTLINE_REDIS_OPERATIONS", "200000"))
SEED = int(os.environ.get("NESTLINE_REDIS_SEED", "1"))
BATCH = 500
KEYS = {"default": (),
        "small": ("CF.RESERVE", "small", 64, "EXPANSION", 1, "SEED", 7),
        "doubling": ("CF.RESERVE", "doubling", 100, "EXPANSION", 2, "BUCKETSIZE", 4, "SEED", 7),
        "strict": ("CF.RESERVE", "strict", 1000, "ERROR", "0.0004", "SEED", 7),
        "loose": ("CF.RESERVE", "loose", 1000, "ERROR", "0.05", "SEED", 7)}
HASHED = [key for key, reserve in KEYS.items() if reserve]  # seed 7


class Multiset:
    """Copies of items, with a random one in constant time."""

    def __init__(self):
        self.copies = collections.Counter()
        self.all = []

    def add(self, item):
        self.copies[item] += 1
        self.all.append(item)

    def choose(self, chance):
        return chance.choice(self.all)

    def remove_random(self, chance):
        place = chance.randrange(len(self.all))
        item = self.all[place]
        self.all[place] = self.all[-1]
        self.all.pop()
        self.forget(item)
        return item

    def forget(self, item):
        self.copies[item] -= 1
        if not self.copies[item]:
            del self.copies[item]


class ModelTest(ModuleCase):
    options = {"appendonly": "yes", "appendfsync": "always"}
    arguments = ("cf-max-expansions", 65536)

    def setUp(self):
        super().setUp()
        self.chance = random.Random(SEED)
        self.models = {key: Multiset() for key in KEYS}
        for reserve in KEYS.values():
            if reserve:
                self.expect("OK", *reserve)
        self.fresh = 0
        self.absent = self.found_absent = 0
        self.united = 0

    def new_item(self):
        # Some items come again and again, most are new.
        if self.chance.random() < 0.1:
            return f"again-{self.chance.randrange(50)}"
        self.fresh += 1
        return f"item-{self.fresh}"

    def hashed_operation(self):
        """The same for a command on the hashes of items."""
        key = self.chance.choice(HASHED)
        model = self.models[key]
        kind = self.chance.choice(["CF.MADDH", "CF.MADDNXH", "CF.MDELH", "CF.MEXISTSH",
                                   "CF.MCOUNTH"])
        if not model.all:
            kind = "CF.MADDH"
        if kind in ("CF.MADDH", "CF.MADDNXH"):
            some = [self.new_item() for _ in range(self.chance.randrange(1, 12))]
        elif kind == "CF.MDELH":
            count = self.chance.randrange(1, min(12, len(model.all) + 1))
            some = [model.remove_random(self.chance) for _ in range(count)]
        else:
            some = [model.choose(self.chance) for _ in range(11)]
        had = [model.copies[item] for item in some]
        if kind == "CF.MADDH":
            for item in some:
                model.add(item)

        def check(reply):
            if kind == "CF.MCOUNTH":
                return all(count >= min(copies, 255)
                           for count, copies in zip(reply, had, strict=True))
            bits = read_bits(reply, len(some))
            if kind != "CF.MADDNXH":
                return all(bits)
            for item, bit in zip(some, bits):
                if bit:
                    model.add(item)
            return not any(bit and copies for bit, copies in zip(bits, had))

        return (kind, key, hash_string(some, 7)), check

    def operation(self, key):
        """(command, check of its reply); the model is changed here, before the reply."""
        if self.chance.random() < 0.1:
            return self.hashed_operation()
        model = self.models[key]
        dice = self.chance.random()
        grows = len(model.all) < 2000 or self.chance.random() < 0.52
        if not model.all or dice < 0.30:
            item = self.new_item()
            model.add(item)
            return ("CF.ADD", key, item), lambda reply: reply == 1
        if dice < 0.40:
            item = self.new_item()
            had = model.copies[item] > 0
            return ("CF.ADDNX", key, item), self.adds_unless_present(model, item, had)
        if dice < 0.55 and grows:
            some = [self.new_item() for _ in range(self.chance.randrange(1, 5))]
            for item in some:
                model.add(item)
            return ("CF.INSERT", key, "ITEMS", *some), lambda reply: reply == [1] * len(some)
        if dice < 0.75:
            item = model.remove_random(self.chance)
            return ("CF.DEL", key, item), lambda reply: reply == 1
        if dice < 0.78:
            old, new = model.remove_random(self.chance), self.new_item()
            model.add(new)
            return ("CF.UPDATE", key, old, new), lambda reply: reply == 1
        if dice < 0.90:
            item = model.choose(self.chance)
            least = model.copies[item]
            return ("CF.COUNT", key, item), lambda reply: reply >= least
        if dice < 0.999:
            some = [model.choose(self.chance) for _ in range(3)] + [f"absent-{self.fresh}"]
            return ("CF.MEXISTS", key, *some), self.finds_three
        return ("CF.COMPACT", key), lambda reply: reply == "OK"

    def adds_unless_present(self, model, item, had):
        # Only the reply says whether it was added, so no copy is removed in this batch.
        def check(reply):
            if reply == 1:
                model.add(item)
            return reply == 0 if had else reply in (0, 1)

        return check

    def finds_three(self, reply):
        self.absent += 1
        self.found_absent += reply[3]
        return reply[:3] == [1, 1, 1]

    def run_batch(self):
        work = [self.operation(self.chance.choice(list(KEYS))) for _ in range(BATCH)]
        replies = self.two.pipeline([command for command, _ in work])
        for (command, check), reply in zip(work, replies):
            self.assertTrue(check(reply), f"{command} -> {reply!r}, seed {SEED}")

    def check_all(self):
        for key, model in self.models.items():
            wanted = list(model.copies)
            for start in range(0, len(wanted), 10000):
                part = wanted[start : start + 10000]
                found = self.call("CF.MEXISTS", key, *part)
                self.assertEqual(found.count(1), len(part), key)
            self.assertEqual(self.debug(key)["items"], len(model.all), key)

    def compact_all(self):
        for key in KEYS:
            before = self.debug(key)["filters"]
            self.expect("OK", "CF.COMPACT", key)
            # Empty ones are gone already.
            self.united += self.debug(key)["filters"] < before

    def test_random_operations(self):
        batches = max(3, OPERATIONS // BATCH)
        started = time.monotonic()
        for number in range(batches):
            self.run_batch()
            if number % 20 == 19:
                self.compact_all()
                self.check_all()
            if number == batches // 3:
                self.server.rewrite_aof()
                self.server.kill()
                self.server.start()
                self.connect()
                self.check_all()
            if number == 2 * batches // 3:
                self.restart(save=False)
                self.check_all()
        self.check_all()
        self.compact_all()
        self.check_all()
        self.assertGreater(self.united, 0)
        self.assertLess(self.found_absent, self.absent * 0.05)
        print(f"{batches * BATCH} operations in {time.monotonic() - started:.1f} s")
