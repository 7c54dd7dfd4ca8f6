"""RESTORE of payloads from RedisBloom, of our own, damaged or hostile."""

import random
import struct

from chunks_test import redisbloom_filter
from dump import Payload
from module_case import ModuleCase, items
from resp import Error, Simple

OK = Simple("OK")
BAD = "ERR Bad data format"
NAMES = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def module_number(name, version):
    number = 0
    for letter in name:
        number = number << 6 | NAMES.index(letter)
    return number << 10 | version


class RestoreTest(ModuleCase):
    # Strings of RDB as they are, and no check of payloads beyond the checksum.
    options = {"rdbcompression": "no", "sanitize-dump-payload": "no"}

    def redisbloom_payload(self):
        """The payload of a RedisBloom filter with 600 items, put together here."""
        header, slots = redisbloom_filter(items("old", 600), 8192)
        self.call("CF.ADD", "any", "x")
        payload = Payload(self.call("DUMP", "any"))
        payload.module = module_number("MBbloomCF", 4)
        count, buckets, deletes, tables, bucket_size, iterations, expansion = struct.unpack(
            "<QQQQHHH", header
        )
        numbers = [tables, buckets, count, deletes, bucket_size, iterations, expansion, buckets]
        payload.fields = [("number", number) for number in numbers] + [("string", slots)]
        return payload

    def restore(self, payload, key="b"):
        if isinstance(payload, Payload):
            payload = payload.bytes()
        return self.call("RESTORE", key, 0, payload, "REPLACE")

    def test_redisbloom(self):
        payload = self.redisbloom_payload()
        self.assertEqual(self.restore(payload), OK)
        self.assert_all_found("b", items("old", 600))
        self.assertEqual(self.call("DUMP", "b"), payload.bytes())
        self.add_all("b", items("new", 10))
        ours = Payload(self.call("DUMP", "b"))
        self.assertEqual(ours.module, module_number("MBbloomCF", 4))
        self.assertEqual(ours.fields[0], ("number", 0))
        self.assertEqual({kind for kind, _ in ours.fields[1:]}, {"string"})
        self.assertEqual(ours.fields[-1], ("string", b""))

    def test_more_items_than_slots(self):
        for expansion in (0, 1, 2):
            for count in (5, 1 << 30, 1 << 32, (1 << 64) - 1):
                payload = self.redisbloom_payload()
                numbers = [1, 2, count, 0, 2, 20, expansion, 2]
                payload.fields = [("number", number) for number in numbers]
                payload.fields.append(("string", b"\1\2\3\4"))
                self.expect_error(BAD, "RESTORE", "c", 0, payload.bytes())
                header = struct.pack("<QQQQHHH", count, 2, 0, 1, 2, 20, expansion)
                self.assertIsInstance(self.call("CF.LOADCHUNK", "c", 1, header), Error)
                payload.fields[2] = ("number", 4)
                self.assertEqual(self.restore(payload, "c"), OK)
                self.call("CF.ADD", "c", "x")
                self.assertLess(self.info("c")["Size"], 100000)
                self.call("DEL", "c")

    def test_old_encodings(self):
        for version in range(4):
            payload = self.redisbloom_payload()
            payload.module = module_number("MBbloomCF", version)
            payload.fields = payload.fields[:3] + payload.fields[-1:]
            self.assertEqual(self.restore(payload), OK, version)
            self.assert_all_found("b", items("old", 600))
        payload = self.redisbloom_payload()
        payload.module = module_number("MBbloomCF", 5)
        self.expect_error(BAD, "RESTORE", "c", 0, payload.bytes())

    def test_wrong_numbers_of_redisbloom(self):
        for field in range(8):
            for value in (0, 1, 2, 3, 255, 256, 65535, 65536, 65537, 1 << 31, 1 << 33, 1 << 56,
                          (1 << 63) + 1, (1 << 64) - 1):  # fmt: skip
                payload = self.redisbloom_payload()
                if payload.fields[field] == ("number", value):
                    continue
                payload.fields[field] = ("number", value)
                reply = self.restore(payload, "c")
                # Items, deletes, iterations and one table's expansion are free; the rest fits slots.
                if field in (0, 1, 4, 7):
                    self.assertEqual(reply, BAD, (field, value))
                else:
                    self.assertIn(reply, (OK, BAD))
                    if reply == OK:
                        self.assert_all_found("c", items("old", 600))
                        self.call("CF.DEL", "c", "old-1")
                        self.call("CF.ADD", "c", "old-1")
                        self.call("CF.INFO", "c")
                        self.call("CF.COMPACT", "c")
        self.server.assert_alive()

    def test_wrong_shapes(self):
        ours = Payload(self.filled_payload())
        for payload in (self.redisbloom_payload(), ours):
            good = list(payload.fields)
            for i, (kind, value) in enumerate(good):
                other = ("string", b"x") if kind == "number" else ("number", 7)
                for fields in (good[:i], good[:i] + good[i + 1 :],
                               [*good[:i], other, *good[i + 1 :]],
                               [*good[: i + 1], (kind, value), *good[i + 1 :]]):  # fmt: skip
                    payload.fields = fields
                    self.assertIsInstance(self.restore(payload, "c"), Error, i)
            payload.fields = good
        self.expect(0, "EXISTS", "c")

    def filled_payload(self):
        self.call("CF.RESERVE", "a", 200, "EXPANSION", 2)
        self.add_all("a", items("in", 3000))
        return self.call("DUMP", "a")

    def test_damaged(self):
        content = self.filled_payload()
        payload = Payload(content)
        chance = random.Random(3)
        self.assertEqual(self.restore(payload), OK)
        self.assert_all_found("b", items("in", 3000))
        strings = [i for i, (kind, _) in enumerate(payload.fields) if kind == "string"][:-1]
        for _ in range(300):
            at = chance.choice(strings)
            good = payload.fields[at]
            damaged = bytearray(good[1])
            damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
            payload.fields[at] = ("string", bytes(damaged))
            self.assertEqual(self.restore(payload, "c"), BAD)
            payload.fields[at] = good
        for _ in range(100):
            raw = b"".join(payload.encoded_fields())[: chance.randrange(5000)]
            self.assertIsInstance(self.restore(payload.wrap(raw), "c"), Error)
        self.server.assert_alive()

    def test_claims_of_much_memory(self):
        """A head that claims more than follows does not make the server allocate it."""
        used = int(self.server.information("memory")["used_memory_peak"])
        for tables in (1, 100, 65535):
            payload = self.redisbloom_payload()
            payload.fields[0] = ("number", tables)
            payload.fields[6] = ("number", 2 if tables == 1 else 1)
            payload.fields[1] = payload.fields[7] = ("number", 1 << 44)
            self.assertEqual(self.restore(payload, "c"), BAD)
        self.assertLess(int(self.server.information("memory")["used_memory_peak"]),
                        used + (8 << 20))
