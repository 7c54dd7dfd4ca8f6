"""What depends on SQLite: how long checked blobs are kept, hostile databases, threads, the shell."""

import os
import pathlib
import random
import sqlite3
import subprocess
import sys
import threading
import unittest

from extension_case import EXTENSION, ExtensionCase, connect

SHELL = os.environ.get("SQLITE3", "")
TESTS = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = TESTS / "documents" / "examples" / "sqlite.sql"


class KeptFiltersTest(ExtensionCase):
    """The same statement, the same address, the same length: another filter must not answer."""

    def setUp(self):
        super().setUp()
        # Equal in shape, length and number of keys; no key in two of them.
        self.blobs = [self.build(range(n * 1000, n * 1000 + 500), 0.00005, 600) for n in range(6)]
        self.assertEqual(len({blob[:64] for blob in self.blobs}), 1)
        self.assertEqual(len(set(self.blobs)), len(self.blobs))

    def test_other_parameters_of_one_statement(self):
        rng = random.Random(2)
        sql = "SELECT nestline_contains(?, ?), nestline_contains(nestline_open(?1), ?2)"
        for _ in range(300):
            n, of = rng.randrange(6), rng.randrange(6)
            blob = bytes(bytearray(self.blobs[n]))  # an address of its own, perhaps used before
            wanted = 1 if n == of else 0
            self.assertEqual(self.all(sql, (blob, of * 1000 + rng.randrange(500))), [(wanted, wanted)])

    def test_a_filter_for_each_row(self):
        self.database.execute("CREATE TABLE filters (n INTEGER PRIMARY KEY, f)")
        self.database.executemany("INSERT INTO filters VALUES (?, ?)", enumerate(self.blobs))
        self.database.execute("CREATE TABLE asked (n, k)")
        rng = random.Random(3)
        asked = [(rng.randrange(6), rng.randrange(6000)) for _ in range(4000)]
        self.database.executemany("INSERT INTO asked VALUES (?, ?)", asked)
        wanted = [int(k // 1000 == n and k % 1000 < 500) for n, k in asked]
        for f in ("(SELECT f FROM filters WHERE filters.n = asked.n)",
                  "(SELECT nestline_open(f) FROM filters WHERE filters.n = asked.n)",
                  "(SELECT nestline_merge(f) FROM filters WHERE filters.n = asked.n)"):
            sql = f"SELECT nestline_contains({f}, k), nestline_count({f}, k) FROM asked ORDER BY rowid"
            answers = self.all(sql)
            self.assertEqual([answer for answer, _ in answers], wanted, f)
            self.assertEqual([answer for _, answer in answers], wanted, f)
        sql = ("SELECT sum(nestline_contains(f, k)), sum(nestline_count(f, k)) FROM asked JOIN filters "
               "USING (n)")
        self.assertEqual(self.all(sql), [(sum(wanted), sum(wanted))])

    def test_more_filters_in_a_statement_than_are_kept(self):
        count = 100
        self.database.execute("CREATE TABLE filters (n INTEGER PRIMARY KEY, f)")
        rows = [(n, self.build([n], 0.00005)) for n in range(count)]
        self.database.executemany("INSERT INTO filters VALUES (?, ?)", rows)
        path = self.folder / "one.nest"
        path.write_bytes(rows[0][1])
        each = "SELECT n, nestline_open(f) AS h FROM filters"
        self.assertEqual(self.column(f"SELECT nestline_contains(h, n) FROM ({each})"), [1] * count)
        # SQLite calls nestline_open once, twice or thrice for a row: it is the same handle.
        for kept in (f"{each} WHERE n < ? ORDER BY n", f"{each} WHERE n < ? ORDER BY nestline_count(h, n)",
                     f"{each} WHERE n < ? AND nestline_contains(h, n) ORDER BY nestline_count(h, n)",
                     f"{each} WHERE n < ? UNION {each} WHERE n < ?1 ORDER BY 1",
                     "SELECT n, nestline_open(nestline_open(f)) AS h FROM filters WHERE n < ? ORDER BY n"):
            ask = f"WITH kept AS MATERIALIZED ({kept}) SELECT nestline_contains(h, n) FROM kept"
            with self.subTest(kept=kept):
                self.assertEqual(self.column(ask, (64,)), [1] * 64)
                self.refused("among the last 64", ask, (65,))
        # What is opened again is the newest: 63 others after it leave it.
        for again, of in (("nestline_open(?)", rows[0][1]), ("nestline_file(iif(n, ?, n))", str(path)),
                          ("(SELECT nestline_open(f) FROM filters WHERE n = ? * q.n)", 0)):
            ask = (f"WITH kept AS MATERIALIZED (SELECT {again} AS g, nestline_open(f) AS h FROM filters q "
                   "WHERE n > 0 ORDER BY n) SELECT sum(nestline_contains(g, 0)) FROM kept")
            with self.subTest(again=again):
                self.assertEqual(self.column(ask, (of,)), [count - 1])

    def test_a_handle_ends_with_its_statement(self):
        handle = self.one("SELECT nestline_open(?)", (self.blobs[0],))
        self.assertEqual(len(handle), 16)
        gone = "good in the statement that made it"
        self.refused(gone, "SELECT nestline_contains(?, 1)", (handle,))
        self.refused(gone, "SELECT nestline_contains(?, 1), nestline_open(?)", (handle, self.blobs[1]))
        for sql in ("nestline_count(?, 1)", "nestline_info(?)", "nestline_merge(?)", "nestline_open(?)"):
            self.refused(gone, f"SELECT {sql}", (handle,))
        self.database.execute("CREATE TABLE handles AS SELECT nestline_open(?) AS h", (self.blobs[0],))
        self.refused(gone, "SELECT nestline_contains(h, 1) FROM handles")
        for number in range(300):  # made up
            forged = b"nestline" + number.to_bytes(8, "little")
            self.refused(gone, "SELECT nestline_contains(?, 1)", (forged,))

    def test_a_handle_leads_to_nothing_in_another_process(self):
        """Not even where the other has opened as many filters."""
        path = self.folder / "handles.db"
        with connect(path) as database:
            database.execute("CREATE TABLE filters (f)")
            database.execute("INSERT INTO filters VALUES (?)", (self.blobs[1],))
        ask = (
            "from extension_case import connect; import sqlite3, sys; d = connect(sys.argv[1]);"
            "d.execute('CREATE TABLE IF NOT EXISTS handles AS SELECT nestline_open(f) AS h FROM filters');"
            "print(d.execute('SELECT nestline_contains((SELECT nestline_open(f) FROM filters), 1000), '"
            "'nestline_contains((SELECT h FROM handles), 1000)').fetchall())"
        )
        runs = [
            subprocess.run([sys.executable, "-c", ask, path], cwd=pathlib.Path(__file__).parent,
                           capture_output=True, text=True, check=False)
            for _ in range(2)
        ]  # fmt: skip
        self.assertIn("good in the statement that made it", runs[1].stderr)

    def test_a_file_is_replaced_between_runs(self):
        path = self.folder / "f.nest"
        sql = "SELECT nestline_contains(nestline_file(?), ?)"
        for n, blob in enumerate(self.blobs):
            fresh = self.folder / "fresh"
            fresh.write_bytes(blob)
            fresh.rename(path)
            for of in range(6):
                self.assertEqual(self.one(sql, (str(path), of * 1000)), int(n == of))

    def test_triggers_ask(self):
        self.database.executescript(
            "CREATE TABLE filters (f); CREATE TABLE seen (k); CREATE TABLE log (k, answer);"
            "CREATE TRIGGER ask AFTER INSERT ON seen BEGIN INSERT INTO log VALUES (new.k, "
            "nestline_contains((SELECT nestline_open(f) FROM filters), new.k)); END")
        self.database.execute("INSERT INTO filters VALUES (?)", (self.blobs[2],))
        self.database.executemany("INSERT INTO seen VALUES (?)", ((k,) for k in range(1900, 2100)))
        rows = self.all("SELECT k, answer FROM log")
        self.assertEqual(rows, [(k, int(k >= 2000)) for k in range(1900, 2100)])


class ChangeTest(ExtensionCase):
    def test_keys_come_and_go(self):
        self.database.execute("CREATE TABLE numbers AS WITH RECURSIVE s(i) AS (VALUES (0) UNION ALL "
                              "SELECT i + 1 FROM s WHERE i < 1999) SELECT i FROM s")
        ask = "SELECT i FROM numbers WHERE nestline_may_contain(?, i) ORDER BY i"
        one = self.one("SELECT nestline_build(0, 0.0001, 4000)")
        few = self.one("SELECT nestline_insert(?, i) FROM numbers WHERE i > 0 AND i % 2 = 0", (one,))
        found = self.column(ask, (few,))
        self.assertTrue(set(found) >= set(range(0, 2000, 2)))
        self.assertLess(len(found), 1010)
        self.assertIn('"key_kinds":"number', self.one("SELECT nestline_info(?)", (few,)))
        left = self.one("SELECT nestline_erase(nestline_open(?), i) FROM numbers WHERE i % 4 = 0", (few,))
        found = self.column(ask, (left,))
        self.assertTrue(set(found) >= set(range(2, 2000, 4)))
        self.assertLess(len(found), 510)
        self.assertEqual(self.one("SELECT nestline_insert(?, NULL)", (few,)), few)
        path = self.folder / "f.nest"
        path.write_bytes(few)
        self.assertEqual(self.one("SELECT nestline_erase(nestline_file(?), i) FROM numbers WHERE i % 4 = 0", (str(path),)),
                         left)

    def test_what_is_refused(self):
        small = self.one("SELECT nestline_build(1, 0.01, 10)")
        numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000)"
        self.refused("no room for all of these keys", f"{numbers} SELECT nestline_insert(?, i) FROM n", (small,))
        for name in ("nestline_insert", "nestline_erase"):
            self.refused("there are no rows", f"{numbers} SELECT {name}(?, i) FROM n WHERE i < 0", (small,))
            self.refused("it is NULL", f"SELECT {name}(NULL, 1)")
            self.refused("the same in all rows", f"{numbers} SELECT {name}(iif(i < 5, ?, ?), i) FROM n",
                         (small, self.build([1, 2])))
            self.refused("a filter is a BLOB", f"SELECT {name}('text', 1)")


class HostileTest(ExtensionCase):
    FUNCTIONS = ("nestline_insert(?, 1)", "nestline_erase(?, 1)", "nestline_contains(?, 1)", "nestline_count(?, 1)", "nestline_info(?)",
                 "nestline_open(?)", "nestline_merge(?)", "nestline_worth_joining(?, 1)", "nestline_may_overlap(?1, ?1)")

    def test_every_damage_is_an_error(self):
        blob = self.build(range(300), 0.001)
        places = [*range(0, 90), *range(90, len(blob), 37), *range(len(blob) - 16, len(blob))]
        for i, place in enumerate(places):
            damaged = bytearray(blob)
            damaged[place] ^= 1 << i % 8
            self.refused("bytes: at byte", f"SELECT {self.FUNCTIONS[i % 9]}", (bytes(damaged),))
        for length in [*range(0, 100), *range(100, len(blob), 61), len(blob) - 1]:
            self.refused("", f"SELECT {self.FUNCTIONS[length % 9]}", (blob[:length],))
        self.refused("bytes: at byte", "SELECT nestline_contains(?, 1)", (blob + b"x",))
        self.assertEqual(self.contains(blob, 1), 1)

    def test_a_checked_blob_is_known_again_in_any_statement(self):
        # A copy of it that is damaged in a block shows which filter answers: the one that was checked.
        keys = range(300)
        blob = self.build(keys, 0.001)
        damaged = bytearray(blob)
        damaged[128:128 + 60] = bytes(60)
        self.refused("checksum", "SELECT nestline_contains(?, 1)", (bytes(damaged),))
        self.assertEqual(self.contains(blob, 1), 1)
        self.database.execute("CREATE TABLE filters (f)")
        self.database.execute("INSERT INTO filters VALUES (?)", (bytes(damaged),))
        for filter_ in ("f", "nestline_open(f)"):
            for key in keys:
                self.assertEqual(self.one(f"SELECT nestline_contains({filter_}, ?) FROM filters", (key,)), 1)
        self.refused("checksum", "SELECT nestline_merge(f) FROM filters")  # it makes a copy of its own
        # After 64 others it has gone.
        for other in range(64):
            self.assertEqual(self.contains(self.build([other], 0.01), other), 1)
        self.refused("checksum", "SELECT nestline_contains(f, 1) FROM filters")

    def test_values_that_are_no_filter(self):
        sentence = "a filter is a BLOB that nestline_build made"
        for value in (1, 2.5, "text", ""):
            for function in self.FUNCTIONS:
                self.refused(sentence, f"SELECT {function}", (value,))
        for value in (b"", b"x", b"nestline", bytes(5000), random.Random(4).randbytes(9000)):
            for function in self.FUNCTIONS:
                self.refused("nestline_", f"SELECT {function}", (value,))

    def test_what_a_schema_may_call(self):
        path = self.folder / "f.nest"
        path.write_bytes(self.build([1]))
        self.database.execute("PRAGMA trusted_schema = OFF")
        file = f"nestline_file('{path}')"
        self.database.execute(f"CREATE VIEW opens AS SELECT nestline_contains({file}, 1)")
        self.refused("unsafe use of nestline_file", "SELECT * FROM opens")
        self.refused("unsafe", f"CREATE TABLE t (k, CHECK (nestline_contains({file}, k)))")
        self.database.execute("CREATE TABLE filters (f)")
        self.database.execute("INSERT INTO filters VALUES (?)", (self.build([1]),))
        self.database.execute("CREATE VIEW asks AS SELECT nestline_contains(f, 1) AS yes FROM filters")
        self.assertEqual(self.one("SELECT yes FROM asks"), 1)
        self.database.execute("CREATE INDEX by_info ON filters (nestline_info(f))")
        self.refused("non-deterministic", "CREATE INDEX by_handle ON filters (nestline_open(f))")

    def test_limits_of_a_connection(self):
        numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000)"
        self.database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 8000)
        for of in ("i", "i % 5000"):
            self.refused("too big", f"{numbers} SELECT nestline_build({of}) FROM n")
        self.refused("too big", "SELECT nestline_build(1, 0.01, 1000000000000)")
        few = self.one(f"{numbers} SELECT nestline_build(i % 9) FROM n")
        self.assertLess(len(few), 64 + 512)

    def test_a_stopped_statement_leaves_nothing_behind(self):
        def stop(row):
            if row == 3000:
                raise ValueError
            return row

        self.database.create_function("stop", 1, stop)
        numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000)"
        for _ in range(20):
            self.refused("", f"{numbers} SELECT nestline_build(stop(i)) FROM n")
            self.refused("", f"{numbers} SELECT nestline_build(i, stop(i) / 3000.0) FROM n")
            self.refused("", f"{numbers} SELECT nestline_merge(stop(i)) FROM n")
        cursor = self.database.execute(f"{numbers} SELECT nestline_contains(?, i) FROM n",
                                       (self.build([1]),))
        self.assertEqual(cursor.fetchone(), (1,))
        cursor.close()


class ThreadsTest(ExtensionCase):
    def test_a_connection_for_each_thread(self):
        path = self.folder / "shared.nest"
        keys = list(range(0, 20000, 2))
        path.write_bytes(self.build(keys, 0.001))
        file = str(self.folder / "data.db")
        with sqlite3.connect(file) as database:
            database.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
            database.executemany("INSERT INTO t VALUES (?)", ((k,) for k in keys))
        database.close()
        sums = []

        def work():
            mine = connect(file)
            for _ in range(4):
                sums.append(mine.execute(
                    "SELECT sum(nestline_contains((SELECT nestline_open(nestline_build(k)) FROM t), k)),"
                    "sum(nestline_contains(nestline_file(?), k)) FROM t", (str(path),)).fetchone())
            mine.close()

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sums, [(len(keys), len(keys))] * 16)


class FileTest(unittest.TestCase):
    def test_exports_nothing_but_the_entry_points(self):
        printed = subprocess.run(["nm", "--dynamic", "--defined-only", EXTENSION], text=True,
                                 capture_output=True, check=True).stdout
        names = sorted(line.split()[-1] for line in printed.splitlines())
        self.assertEqual(names, ["sqlite3_extension_init", "sqlite3_nestlinesqlite_init"])


class ShellTest(ExtensionCase):
    @unittest.skipUnless(SHELL, "there is no shell of SQLite")
    def test_loads_without_a_name_for_the_entry(self):
        # Also under a name of its own.
        other = self.folder / "other.so"
        other.symlink_to(EXTENSION)
        for path in (EXTENSION, str(other)):
            sql = "SELECT nestline_contains(nestline_build(value), 7) FROM json_each('[5, 6, 7]');"
            printed = subprocess.run(
                [SHELL, ":memory:", f".load {path}", sql], capture_output=True, text=True, check=True)
            self.assertEqual(printed.stdout, "1\n", printed.stderr)

    @unittest.skipUnless(SHELL, "there is no shell of SQLite")
    def test_the_example_of_the_document(self):
        (self.folder / "nestline_sqlite.so").symlink_to(EXTENSION)
        printed = subprocess.run([SHELL, "data.db"], input=EXAMPLE.read_text(), text=True,
                                 capture_output=True, cwd=self.folder)
        self.assertEqual(printed.stderr, "")
        self.assertEqual(printed.stdout, "2000\n2000\n1\n2000\n7\n3000\n")
