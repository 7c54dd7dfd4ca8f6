"""What each function of the extension for SQLite answers, against Python's sets and a reader of the
format that shares no code with the library (tests/filters/file/format_reader.py)."""

import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest

from extension_case import ExtensionCase, connect

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "filters" / "file"))
from format_reader import Reader  # noqa: E402
from xxh3 import xxh3_64  # noqa: E402

COMMAND = os.environ.get("NESTLINE", "")


def naming(blob, kinds):
    """The same filter, which names these kinds of keys."""
    header = blob[:20] + kinds.to_bytes(4, "little") + blob[24:56]
    return header + xxh3_64(header).to_bytes(8, "little") + blob[64:]


class BuildTest(ExtensionCase):
    def test_finds_all_and_few_others(self):
        rng = random.Random(1)
        kinds = {
            "integers": lambda: rng.getrandbits(64) - 2**63,
            "texts": lambda: "".join(rng.choices("abcdefgh\u00e4\u20ac", k=rng.randint(6, 12))),
            "blobs": lambda: rng.randbytes(rng.randint(4, 40)),
            "reals": lambda: rng.uniform(-1e9, 1e9),
            "mixed": lambda: rng.choice([rng.random(), rng.getrandbits(40), rng.randbytes(9)]),
        }
        for name, make in kinds.items():
            for fpr in (0.01, 0.0005):
                with self.subTest(keys=name, fpr=fpr):
                    keys = {make() for _ in range(3000)}
                    others = {make() for _ in range(8000)} - keys
                    blob = self.build(keys, fpr)
                    ask = "SELECT sum(nestline_contains(?1, value)) FROM asked"
                    self.database.execute("CREATE TABLE asked (value)")
                    self.database.executemany("INSERT INTO asked VALUES (?)", ((k,) for k in keys))
                    self.assertEqual(self.one(ask, (blob,)), len(keys))
                    self.database.execute("DELETE FROM asked")
                    self.database.executemany("INSERT INTO asked VALUES (?)", ((k,) for k in others))
                    # 8 deviations above the rate.
                    wanted = fpr * len(others)
                    self.assertLess(self.one(ask, (blob,)), wanted + 8 * wanted**0.5)
                    self.database.execute("DROP TABLE asked")

    def test_keys_are_those_of_the_format(self):
        integers = [0, 1, -1, 2**63 - 1, -(2**63), 17]
        texts = ["", "a", "\u20ac", "with \0 zero"]
        blobs = [b"\x00", b"\xff" * 70]
        reals = [0.5, -1e300, float("inf")]
        reader = Reader(self.build(integers + texts + blobs + reals, 0.0001))
        for key in integers:
            self.assertEqual(reader.count_integer(key % 2**64), 1, key)
        strings = [key.encode() for key in texts] + blobs
        for key in strings + [struct.pack("<d", key) for key in reals]:
            self.assertEqual(reader.count_string(key), 1, key)
        self.assertEqual(reader.count_string(b"17"), 0)

    def test_what_sql_calls_equal_is_one_key(self):
        for stored, asked in ((7, 7.0), (7.0, 7), (-0.0, 0), (2.0**62, 2**62), (-(2.0**63), -(2**63))):
            with self.subTest(stored=stored, asked=asked):
                self.assertEqual(self.one("SELECT ? = ?", (stored, asked)), 1)
                self.assertEqual(self.contains(self.build([stored], 0.0001), asked), 1)
        # 2^63 is no integer of SQL. Its key is its bytes.
        self.assertEqual(self.contains(self.build([2.0**63], 0.0001), struct.pack("<d", 2.0**63)), 1)
        self.assertEqual(self.contains(self.build(["a"], 0.0001), b"a"), 1)
        self.assertEqual(self.contains(self.build([7], 0.0001), "7"), 0)

    def test_null_is_no_key_and_no_filter(self):
        blob = self.build([None, 1, None])
        self.assertEqual(self.one("SELECT nestline_info(?) ->> 'keys'", (blob,)), 1)
        self.assertIsNone(self.contains(blob, None))
        no_row = "(SELECT nestline_open(x) FROM (SELECT 1 AS x) WHERE 0)"
        for sql in ("nestline_contains(NULL, 1)", "nestline_count(NULL, 1)", "nestline_info(NULL)",
                    "nestline_open(NULL)", "nestline_merge(NULL)", "nestline_contains(NULL, NULL)",
                    f"nestline_contains({no_row}, 1)", "nestline_contains(?, 1)"):
            self.refused("there is no filter, it is NULL", "SELECT " + sql, (None,) if "?" in sql else ())
        self.refused("a TEXT without a zero byte", "SELECT nestline_file(NULL)")
        self.refused("there is no filter, it is NULL",
                     "SELECT nestline_merge(column1) FROM (VALUES (?), (NULL))", (blob,))
        for sql in ("nestline_contains_or_null(NULL, 1)", "nestline_count_or_null(NULL, 1)",
                    f"nestline_contains_or_null({no_row}, 1)", "nestline_merge(1) WHERE 0",
                    "CASE WHEN 0 THEN nestline_contains(NULL, 1) END"):
            self.assertIsNone(self.one("SELECT " + sql), sql)
        answers = "SELECT nestline_contains_or_null(?1, ?2), nestline_count_or_null(?1, ?2)"
        self.assertEqual(self.all(answers, (blob, 1)), [(1, 1)])
        self.assertEqual(self.all(answers, (blob, None)), [(None, None)])
        # Rows that conditions exclude are not asked.
        self.database.execute("CREATE TABLE some (f, k)")
        self.database.executemany("INSERT INTO some VALUES (?, ?)", [(blob, 1), (None, 1)] * 500)
        for condition in ("f IS NOT NULL AND nestline_contains(f, k)",
                          "nestline_contains_or_null(f, k)",
                          "CASE WHEN f IS NOT NULL THEN nestline_contains(f, k) END"):
            self.assertEqual(self.one(f"SELECT count(*) FROM some WHERE {condition}"), 500, condition)

    def kinds(self, blob):
        return self.one("SELECT nestline_info(?) ->> 'key_kinds'", (blob,))

    def test_filters_name_the_kinds_of_their_keys(self):
        for keys, kinds in (([1, 2.0, 0.5], "number"), (["a"], "text"), ([b"a"], "bytes"), ([None], ""),
                            ([7, "x", b"y"], "number, text, bytes"), ([], "")):
            self.assertEqual(self.kinds(self.build(keys)), kinds)
        self.assertEqual(int.from_bytes(self.build([7, b"y"])[20:24], "little"), 5)
        merged = "SELECT nestline_merge(column1) FROM (VALUES (?), (?))"
        parts = [self.build(keys, 0.01, 100) for keys in ([7], ["x"], [None])]
        self.assertEqual(self.kinds(self.one(merged, (parts[0], parts[1]))), "number, text")
        self.assertEqual(self.kinds(self.one(merged, (parts[2], parts[1]))), "text")
        self.assertEqual(self.kinds(self.one(merged, (parts[0], naming(parts[1], 0)))), "")
        # A column may have values of all types, so each is asked, unless the filter has no such keys.
        text = self.build(["x"], 0.0001)
        self.assertEqual([self.contains(text, key) for key in ("x", b"x", 7, 0.5, None)], [1, 1, 0, 0, None])
        dates = naming(text, 1 << 4)
        path = self.folder / "dates.nest"
        path.write_bytes(dates)
        for key, kind in (("x", "text"), (b"x", "bytes"), (7, "number"), (0.5, "number")):
            for filter_, parameter in (("?1", dates), ("nestline_open(?1)", dates),
                                       ("nestline_file(?1)", str(path))):
                for function in ("contains", "count", "contains_or_null"):
                    self.refused(f"built of keys of kind date, and this key is of kind {kind}: ",
                                 f"SELECT nestline_{function}({filter_}, ?2)", (parameter, key))
        self.assertEqual(self.contains(naming(text, 1 << 4 | 2), 7), 0)
        self.assertIsNone(self.contains(dates, None))
        self.assertEqual(self.contains(naming(text, 0), "x"), 1)
        self.refused("kinds of keys that this library does not know", "SELECT nestline_contains(?, 1)",
                     (naming(text, 1 << 15),))
        # Of the same length, at the same place: other kinds are another filter.
        self.database.execute("CREATE TABLE two (f)")
        self.database.executemany("INSERT INTO two VALUES (?)", [(text,), (dates,)])
        self.refused("of kind date", "SELECT nestline_contains(f, 'x') FROM two")
        self.refused("of kind date", "SELECT nestline_contains(nestline_open(f), 'x') FROM two")

    def test_no_keys_give_a_filter_that_contains_nothing(self):
        for keys in ([], [None]):
            blob = self.build(keys, 0.001)
            self.assertEqual(self.one("SELECT nestline_info(?) ->> 'keys'", (blob,)), 0)
            self.assertEqual(self.contains(blob, 1), 0)
        self.assertIsNone(self.one("SELECT nestline_merge(1) WHERE 0"))

    def test_copies_are_counted_and_many_of_them_fit(self):
        blob = self.build([1, 2, 2, 3, 3, 3, "x"], 0.0001)
        counts = self.all("SELECT nestline_count(?1, 1), nestline_count(?1, 2), nestline_count(?1, 3), "
                          "nestline_count(?1, 4), nestline_count(?1, 'x')", (blob,))
        self.assertEqual(counts, [(1, 2, 3, 0, 1)])
        once = self.one("SELECT nestline_build(DISTINCT key) FROM build_keys")
        self.assertEqual(self.one("SELECT nestline_count(?, 3)", (once,)), 1)
        # A filter keeps some of very many, and a thousand keys that each come nine times have room.
        many = self.build([5] * 100000 + [6])
        self.assertEqual(self.one("SELECT nestline_info(?) ->> 'keys' < 12", (many,)), 1)
        keys = list(range(1000))
        nine = self.build(keys * 9, 0.001)
        self.assertEqual(sum(self.contains(nine, key) for key in keys), len(keys))

    def test_what_is_kept_of_more_than_a_million_rows(self):
        rows = 1_100_000
        numbers = f"WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {rows - 1})"
        for key, fewest, most in (
            ("i", rows, rows),
            ("i % 30000", 30000, 10 * 30000),  # 36 copies each
            ("iif(i % 100, 7, i)", rows // 100, rows // 100 + 11),  # one key nearly always
        ):
            with self.subTest(key=key):
                blob = self.one(f"{numbers} SELECT nestline_build({key}) FROM n")
                info = json.loads(self.one("SELECT nestline_info(?)", (blob,)))
                self.assertGreaterEqual(info["keys"], fewest)
                self.assertLessEqual(info["keys"], most)
                # Large enough for what is in it, and not for all rows.
                self.assertLess(info["capacity"], 2.1 * most)
                for i in random.Random(5).sample(range(rows), 50):
                    value = {"i": i, "i % 30000": i % 30000}.get(key, 7 if i % 100 else i)
                    self.assertEqual(self.contains(blob, value), 1, value)

    def test_the_same_rows_give_the_same_bytes(self):
        self.database.execute("CREATE TABLE ordered (k)")
        keys = [k % 90000 for k in range(100000)]
        blobs = set()
        for order in (keys, keys[::-1], random.Random(6).sample(keys, len(keys))):
            self.database.execute("DELETE FROM ordered")
            self.database.executemany("INSERT INTO ordered VALUES (?)", ((k,) for k in order))
            blobs.add(self.one("SELECT nestline_build(k) FROM ordered"))
        self.assertEqual(len(blobs), 1)
        self.assertEqual(self.one("SELECT nestline_info(?) ->> 'keys'", (blobs.pop(),)), 100000)

    def test_groups_and_filters_of_rows(self):
        self.database.execute("CREATE TABLE t (g, k)")
        rows = [(k % 5, k) for k in range(1000)]
        self.database.executemany("INSERT INTO t VALUES (?, ?)", rows)
        blobs = dict(self.all("SELECT g, nestline_build(k, 0.0001) FROM t GROUP BY g"))
        for g, k in rows:
            self.assertEqual(self.contains(blobs[g], k), 1)
        odd = self.one("SELECT nestline_build(k) FILTER (WHERE k % 2) FROM t")
        self.assertEqual(self.one("SELECT nestline_info(?) ->> 'keys'", (odd,)), 500)
        rates = self.column("SELECT nestline_info(nestline_build(k, 0.1 / (g + 1) / (g + 1))) ->> "
                            "'bits' FROM t GROUP BY g ORDER BY g")
        self.assertEqual(rates, sorted(rates))

    def test_options_are_checked(self):
        rate = "the false-positive rate is a number above 0 and below 1"
        for fpr in ("0", "1", "-0.5", "2", "'0.1'", "NULL", "9e999"):
            self.refused(rate, f"SELECT nestline_build(1, {fpr})")
        capacity = "the capacity is a whole number above 0"
        for number in ("0", "-1", "1.5", "NULL", "'9'", "x'39'", "0.0", "-5.0", "9e999", "-9e999", "1e19"):
            self.refused(capacity, f"SELECT nestline_build(1, 0.1, {number})")
        self.refused("too big", "SELECT nestline_build(1, 0.1, 9e18)")
        self.refused("nestline_build: ", "SELECT nestline_build(1, 1e-30)")
        two = "(SELECT 1 k, 0.1 p UNION ALL SELECT 2, 0.2)"
        self.refused("the same in all rows", f"SELECT nestline_build(k, p) FROM {two}")
        self.refused("give a larger capacity", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i "
                     "+ 1 FROM n WHERE i < 5000) SELECT nestline_build(i, 0.01, 10) FROM n")
        self.refused("wrong number of arguments", "SELECT nestline_build()")
        # Some interfaces bind every number as REAL; one that is whole is that integer, in all rows.
        rows = "(SELECT 1 AS k, 5000 AS c UNION ALL SELECT 2, 5000.0)"
        whole = self.one("SELECT nestline_build(k, 0.1, 5000) FROM " + rows)
        self.assertEqual(self.one("SELECT nestline_info(?) ->> 'capacity' >= 5000", (whole,)), 1)
        self.assertEqual(self.one("SELECT nestline_build(k, 0.1, ?) FROM " + rows, (5000.0,)), whole)
        self.assertEqual(self.one("SELECT nestline_build(k, 0.1, c) FROM " + rows), whole)
        self.assertEqual(self.one("SELECT nestline_build(k * 1.0, 0.1, 5000) FROM " + rows), whole)

    def test_text_is_one_key_in_every_encoding(self):
        utf8 = self.build(["gr\u00fc\u00df", "\U0001f426"])
        for encoding in ("UTF-16le", "UTF-16be"):
            other = connect()
            self.addCleanup(other.close)
            other.execute(f"PRAGMA encoding = '{encoding}'")
            other.execute("CREATE TABLE t (k)")
            other.executemany("INSERT INTO t VALUES (?)", [("gr\u00fc\u00df",), ("\U0001f426",)])
            rows = other.execute("SELECT nestline_contains(?, k) FROM t", (utf8,)).fetchall()
            self.assertEqual(rows, [(1,), (1,)])
            blob = other.execute("SELECT nestline_build(k) FROM t").fetchone()[0]
            self.assertEqual(blob, utf8)


class MergeTest(ExtensionCase):
    def test_unites(self):
        self.database.execute("CREATE TABLE parts (f)")
        for first in range(0, 3000, 500):
            keys = range(first, first + 700)  # some are in two
            blob = self.build(keys, 0.001, 1000)
            self.database.execute("INSERT INTO parts VALUES (?)", (blob,))
        self.database.execute("INSERT INTO parts VALUES (NULL)")
        merged = self.one("SELECT nestline_merge(f) FILTER (WHERE f IS NOT NULL) FROM parts")
        found = [self.contains(merged, key) for key in range(40000)]
        self.assertTrue(all(found[:3200]))
        self.assertLess(sum(found[3200:]), 1200)
        info = json.loads(self.one("SELECT nestline_info(?)", (merged,)))
        self.assertEqual(info["keys"], 6 * 700)
        self.assertGreaterEqual(info["capacity"], 6 * 700)
        self.assertEqual(self.one("SELECT nestline_count(?, 510)", (merged,)), 2)

    def test_a_key_may_be_in_all_of_many(self):
        day = self.build(range(100), 0.001, 5000)
        self.database.execute("CREATE TABLE days (f)")
        self.database.executemany("INSERT INTO days VALUES (?)", [(day,)] * 31)
        merged = self.one("SELECT nestline_merge(f) FROM days")
        self.assertTrue(all(self.contains(merged, key) for key in range(100)))

    def test_one_filter_stays_as_it_is(self):
        blob = self.build(range(300))
        self.assertEqual(self.one("SELECT nestline_merge(?)", (blob,)), blob)

    def test_others_are_refused(self):
        small, large = self.build(range(10), 0.01, 10), self.build(range(10), 0.01, 9999)
        wide = self.build(range(10), 0.0001, 10)
        sql = "SELECT nestline_merge(column1) FROM (VALUES (?), (?))"
        self.refused("their bytes before the first doubling differ", sql, (small, large))
        self.refused("their bits differ", sql, (small, wide))
        # A group without rows has a filter of the smallest shape.
        none = self.one("SELECT nestline_build(1, 0.01, 9999) FILTER (WHERE 0)")
        for pair in ((large, none), (none, large)):
            self.assertEqual(self.one(sql, pair), large)
        full = self.build(range(200), 0.01, 200)
        self.database.execute("CREATE TABLE parts (f)")
        for first in range(0, 400000, 20000):
            blob = self.build(range(first, first + 200), 0.01, 200)
            self.database.execute("INSERT INTO parts VALUES (?)", (blob,))
        merged = self.one("SELECT nestline_merge(f) FROM parts")
        self.assertEqual(self.contains(merged, 380199), 1)
        self.assertGreater(len(merged), len(full))


class OverlapTest(ExtensionCase):
    def common(self, one, other):
        return json.loads(self.one("SELECT nestline_count_common(?, ?)", (one, other)))

    def test_what_two_filters_have_in_common(self):
        one, other, far = (self.build(range(n, n + 5000), 0.0001, 6000) for n in (0, 4000, 10_000))
        for ask in ("?1, ?2", "nestline_open(?1), ?2", "?2, nestline_open(?1)"):
            self.assertEqual(self.one(f"SELECT nestline_may_overlap({ask})", (one, other)), 1)
        common = self.common(one, other)
        self.assertTrue(1000 <= common["matches"] < 1010, common)
        self.assertTrue(abs(common["estimate"] - 1000) < 10 and 0 < common["standard_error"] < 2, common)
        self.assertLess(self.common(one, far)["matches"], 12)
        self.assertEqual(self.one("SELECT nestline_may_overlap(?, ?)", (one, self.build(range(20_000, 20_003), 0.0001, 6000))), 0)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "f.nest"
            path.write_bytes(other)
            self.assertEqual(self.one("SELECT nestline_count_common(?1, nestline_file(?2)) = nestline_count_common(?1, ?3)",
                                      (one, str(path), other)), 1)

    def test_others_are_refused(self):
        one = self.build(range(100), 0.001, 1000)
        for function in ("nestline_may_overlap", "nestline_count_common"):
            for other in (self.build(range(100), 0.001, 9000), self.build(range(100), 0.1, 1000)):
                self.refused("can be compared only if", f"SELECT {function}(?, ?)", (one, other))
            # Filters without keys are of any shape; columns may have values of several kinds.
            empty = self.build([], 0.5, 7)
            none = self.one(f"SELECT {function}(?, ?)", (empty, empty))
            self.assertEqual(none if function.endswith("overlap") else json.loads(none)["matches"], 0)
            self.assertEqual(self.one(f"SELECT {function}(?, ?)", (one, empty)), none)
            mixed, others = (self.build(keys, 0.001, 1000) for keys in ([5, "a"], [5, b"b"]))
            self.assertNotEqual(self.one(f"SELECT {function}(?, ?)", (mixed, others)), none)
            for names in (((1 << 4), (1 << 5)),):
                self.refused("date and timestamp cannot be compared", f"SELECT {function}(?, ?)",
                             tuple(naming(one, kind) for kind in names))
            for pair in ((None, one), (one, None)):
                self.refused("there is no filter, it is NULL", f"SELECT {function}(?, ?)", pair)


class WorthJoiningTest(ExtensionCase):
    NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {}) "

    def count(self, rows, key, filter_, parameters):
        return self.one(self.NUMBERS.format(rows - 1) + f"SELECT count(*) FROM n WHERE nestline_worth_joining({filter_}, {key})", parameters)

    def test_exact_where_few_pass(self):
        blob = self.build(range(1000), 0.0001)
        exact = self.one(self.NUMBERS.format(99999) + "SELECT count(*) FROM n WHERE nestline_may_contain(?, i)", (blob,))
        for filter_ in ("?", "(SELECT ?)", "nestline_open(?)", "(SELECT nestline_open(?))"):
            self.assertEqual(self.count(100000, "i", filter_, (blob,)), exact)

    def test_true_without_a_look_where_most_pass(self):
        blob = self.build(range(1000), 0.0001)
        key = "iif(i < 5000, i % 1000, i + 1000000)"
        for filter_ in ("?", "(SELECT ?)", "(SELECT nestline_open(?))"):
            self.assertEqual(self.count(50000, key, filter_, (blob,)), 50000)
            # After 65,536 rows it looks again.
            again = self.count(200000, key, filter_, (blob,))
            self.assertTrue(4096 + 65536 <= again <= 4096 + 65536 + 80, again)
        # Another filter in the same statement has a count of its own.
        other = self.build(range(50000), 0.0001)
        few = self.one(self.NUMBERS.format(49999) + "SELECT sum(nestline_worth_joining(?1, i + 1000000)) + 0 * "
                       "sum(nestline_worth_joining(?2, i)) FROM n", (blob, other))
        self.assertLess(few, 40)

    def test_null_and_indexes(self):
        blob = self.build([1])
        self.assertIsNone(self.one("SELECT nestline_worth_joining(?, NULL)", (blob,)))
        self.refused("there is no filter, it is NULL", "SELECT nestline_worth_joining(NULL, 1)")
        self.database.execute("CREATE TABLE t (f, k)")
        self.refused("non-deterministic", "CREATE INDEX i ON t (nestline_worth_joining(f, k))")


class InfoAndFileTest(ExtensionCase):
    def write(self, name, blob):
        path = self.folder / name
        path.write_bytes(blob)
        return str(path)

    @unittest.skipUnless(COMMAND, "built without the command")
    def test_info_is_that_of_the_command(self):
        for keys, options in ((range(1000), ()), ([], ()), (range(77), (0.0001, 500))):
            blob = self.build(keys, *options)
            path = self.write("f.nest", blob)
            printed = json.loads(subprocess.run([COMMAND, "info", "--json", path],
                                                capture_output=True, check=True).stdout)
            del printed["advice"]  # sentences for people
            # The mapping of a file is longer than the blocks.
            mapped = json.loads(self.one("SELECT nestline_info(nestline_file(?))", (path,)))
            self.assertEqual(mapped, printed)
            loaded = json.loads(self.one("SELECT nestline_info(?)", (blob,)))
            self.assertEqual(list(loaded), list(mapped))
            for name in set(loaded) - {"memory_bytes", "bits_per_key"}:
                self.assertEqual(loaded[name], mapped[name], name)
            opened = self.one("SELECT nestline_info(nestline_open(?))", (blob,))
            self.assertEqual(json.loads(opened), loaded)

    @unittest.skipUnless(COMMAND, "built without the command")
    def test_files_of_the_command_have_the_keys_of_text(self):
        path = str(self.folder / "words.nest")
        subprocess.run([COMMAND, "build", "-o", path, "--fpr", "0.0001"], input=b"one\ntwo\n42\n",
                       capture_output=True, check=True)
        words = ["one", "two", "42", "three", 42]
        answers = [self.one("SELECT nestline_contains(nestline_file(?), ?)", (path, word))
                   for word in words]
        self.assertEqual(answers, [1, 1, 1, 0, 0])
        path = self.write("sql.nest", self.build(["one", "x"], 0.0001))
        printed = subprocess.run([COMMAND, "query", path], input=b"one\ntwo\nx\n",
                                 capture_output=True, check=True).stdout
        self.assertEqual(printed, b"one\nx\n")

    def test_files_and_handles_answer_as_the_blob(self):
        keys = range(0, 4000, 2)
        blob = self.build([*keys, 8, 8])
        path = self.write("f.nest", blob)
        self.database.execute("CREATE TABLE asked (k)")
        self.database.executemany("INSERT INTO asked VALUES (?)", ((k,) for k in range(9000)))
        ask = "SELECT nestline_contains({0}, k), nestline_count({0}, k) FROM asked"
        wanted = self.all(ask.format("?1"), (blob,))
        self.assertEqual(wanted[8], (1, 3))
        for filter_, parameter in (("nestline_file(?1)", path), ("nestline_open(?1)", blob),
                                   ("(SELECT nestline_file(?1))", path),
                                   ("(SELECT nestline_open(?1))", blob),
                                   ("nestline_open(nestline_file(?1))", path),
                                   ("(SELECT ?1)", blob), ("substr(?1, 1)", blob),
                                   ("CASE WHEN k >= 0 THEN nestline_file(?1) END", path)):
            with self.subTest(filter=filter_):
                self.assertEqual(self.all(ask.format(filter_), (parameter,)), wanted)
        for sql in ("WITH f(x) AS MATERIALIZED (SELECT nestline_open(?1)) SELECT "
                    "nestline_contains(x, k), nestline_count(x, k) FROM f, asked ORDER BY k",
                    "SELECT nestline_contains(x, k), nestline_count(x, k) FROM (SELECT nestline_open(?1)"
                    " AS x LIMIT 1) CROSS JOIN asked"):
            self.assertEqual(self.all(sql, (blob,)), wanted)

    def test_files_that_are_none(self):
        self.refused("No such file", "SELECT nestline_file(?)", (str(self.folder / "none"),))
        self.refused("nestline_file", "SELECT nestline_file(?)", (str(self.folder),))
        path = self.write("short", b"nestline")
        self.refused(path, "SELECT nestline_file(?)", (path,))
        for value in ("", "a\0b", 5, b"x"):
            self.refused("a TEXT without a zero byte", "SELECT nestline_file(?)", (value,))

    def test_damage_in_a_file_is_an_error_when_it_is_met(self):
        blob = bytearray(self.build(range(5000)))
        blob[64 + 64 * 40 + 5] ^= 1
        path = self.write("f.nest", blob)
        self.refused("do not match their checksum", "SELECT nestline_contains(nestline_file(?), 1)", (path,))
        self.refused("do not match their checksum", "SELECT nestline_merge(nestline_file(?))", (path,))
