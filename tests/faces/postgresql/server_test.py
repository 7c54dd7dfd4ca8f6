"""What happens around statements: dumps, replicas, upgrades, cancelled queries, hostile bytes, and no memory."""

import contextlib
import os
import pathlib
import random
import resource
import time

import psycopg2

from server_case import Server, ServerCase

CORPUS = pathlib.Path(__file__).resolve().parents[2] / "filters" / "fuzz" / "corpus"
HOSTILE = int(os.environ.get("NESTLINE_POSTGRESQL_HOSTILE", "1500"))
CANCELS = int(os.environ.get("NESTLINE_POSTGRESQL_CANCELS", "25"))


def wait_for(condition):
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come")


def one_of(connection, sql):
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone()[0]


class AroundTest(ServerCase):
    SETTINGS = ("wal_level = logical",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.run_once("CREATE TABLE filters (n int PRIMARY KEY, f nestline); INSERT INTO filters "
                     "SELECT g % 3, nestline_build(g, 0.001) FROM generate_series(0, 20000) g GROUP BY 1")

    SAME = "SELECT md5(string_agg(f::bytea::text, '' ORDER BY n)) FROM filters"
    KEPT = "SELECT count(*) FROM generate_series(0, 20000) g, filters WHERE n = g % 3 AND nestline_may_contain(f, g)"

    def tearDown(self):
        self.assertNotIn("terminated by signal", self.server.log())

    def test_dump_and_restore(self):
        at = ("--host", self.server.folder, "--username", "tests")
        self.all("CREATE DATABASE restored")
        self.installation.run("pg_dump", *at, "--format", "custom", "--file", self.server.folder / "dump", "postgres")
        self.installation.run("pg_restore", *at, "--exit-on-error", "--dbname", "restored", self.server.folder / "dump")
        with contextlib.closing(self.server.connect("restored")) as restored:
            self.assertEqual(one_of(restored, self.SAME), self.one(self.SAME))
            self.assertEqual(one_of(restored, self.KEPT), 20001)

    def test_physical_replica(self):
        replica = Server(self.installation, "replica", copy_of=self.server)
        self.addCleanup(replica.stop)
        self.all("CREATE TABLE later AS SELECT nestline_build(g) AS f FROM generate_series(0, 30000) g")
        written = self.one("SELECT pg_current_wal_lsn()")
        with contextlib.closing(replica.connect()) as connection:
            wait_for(lambda: one_of(connection, f"SELECT pg_last_wal_replay_lsn() >= '{written}'"))
            self.assertEqual(one_of(connection, self.SAME), self.one(self.SAME))
            self.assertEqual(one_of(connection, self.KEPT), 20001)
            self.assertEqual(one_of(connection, "SELECT count(*) FROM generate_series(0, 30000) g, later WHERE nestline_may_contain(f, g)"), 30001)

    def test_logical_replication(self):
        self.all("CREATE DATABASE subscriber")
        self.all("CREATE PUBLICATION filters FOR TABLE filters")
        self.all("SELECT pg_create_logical_replication_slot('filters', 'pgoutput')")
        with contextlib.closing(self.server.connect("subscriber")) as subscriber, subscriber.cursor() as cursor:
            cursor.execute("CREATE EXTENSION nestline; CREATE TABLE filters (n int PRIMARY KEY, f nestline)")
            cursor.execute(f"CREATE SUBSCRIPTION filters CONNECTION 'host={self.server.folder} user=tests dbname=postgres' "
                           "PUBLICATION filters WITH (create_slot = false, binary = true)")
            wait_for(lambda: one_of(subscriber, "SELECT count(*) FROM filters") == 3)
            self.all("UPDATE filters SET f = nestline_inserted(f, 1000000) WHERE n = 1")
            wanted = self.one(self.SAME)
            wait_for(lambda: one_of(subscriber, self.SAME) == wanted)
            self.assertTrue(one_of(subscriber, "SELECT nestline_may_contain(f, 1000000) FROM filters WHERE n = 1"))
            cursor.execute("DROP SUBSCRIPTION filters")

    def test_upgrade_of_the_extension(self):
        folder = self.installation.share / "extension"
        (script,) = folder.glob("nestline--*.sql")
        version = script.stem.split("--")[1]
        (folder / "nestline--0.0.1.sql").write_text(script.read_text(encoding="utf-8"), encoding="utf-8")
        (folder / f"nestline--0.0.1--{version}.sql").write_text("-- nothing\n", encoding="utf-8")
        self.all("CREATE DATABASE upgraded")
        with contextlib.closing(self.server.connect("upgraded")) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE EXTENSION nestline VERSION '0.0.1'; CREATE TABLE f AS SELECT nestline_build(1) AS f")
            cursor.execute("ALTER EXTENSION nestline UPDATE")
            self.assertEqual(one_of(connection, "SELECT extversion FROM pg_extension WHERE extname = 'nestline'"), version)
            self.assertTrue(one_of(connection, "SELECT nestline_may_contain(f, 1) FROM f"))
            with self.assertRaises(psycopg2.Error):
                cursor.execute("DROP EXTENSION nestline")
            cursor.execute("DROP EXTENSION nestline CASCADE")

    def test_cancelled_builds_and_lookups(self):
        rng = random.Random(4)
        self.all("CREATE TABLE numbers AS SELECT g AS id FROM generate_series(1, 400000) g")
        self.all("SET parallel_setup_cost = 0; SET min_parallel_table_scan_size = 0")
        pid = self.one("SELECT pg_backend_pid()")
        statements = (
            "SELECT length(nestline_build(id)::bytea) FROM numbers",
            "SELECT length(nestline_build(id % 1000, 0.001)::bytea) FROM numbers, generate_series(1, 3)",
            "SELECT sum(length(f::bytea)) FROM (SELECT nestline_build(id) AS f FROM numbers GROUP BY id % 5000) f",
            "SELECT count(*) FROM numbers WHERE nestline_may_contain((SELECT nestline_build(id) FROM numbers), id)",
            "SELECT length(nestline_merge(f)::bytea) FROM (SELECT nestline_build(id, 0.01, 400000) AS f FROM numbers GROUP BY id % 20) f",
            "SELECT nestline_build(id) OVER (ORDER BY id) FROM numbers LIMIT 3000",
        )
        ended = cancelled = 0
        resident = None
        for number in range(CANCELS):
            self.all(f"SET max_parallel_workers_per_gather = {rng.choice([0, 2])}; SET statement_timeout = {rng.randint(1, 120)}")
            try:
                self.all(rng.choice(statements))
                ended += 1
            except psycopg2.errors.QueryCanceled:
                cancelled += 1
            self.all("SET statement_timeout = 0")
            if number == CANCELS // 3:
                resident = self.resident(pid)
        self.assertGreater(cancelled, 0)
        self.assertLess(self.resident(pid), resident + (64 << 20))
        self.assertEqual(self.one(self.KEPT), 20001)
        self.all("DROP TABLE numbers")

    @staticmethod
    def resident(pid):
        return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()

    def test_hostile_bytes(self):
        """No bytes that are cast to the type end the server, and what is taken can be asked."""
        rng = random.Random(5)
        sound = [bytes(self.one(f"SELECT nestline_build(g, {rate})::bytea FROM generate_series(1, {count}) g"))
                 for rate, count in ((0.01, 1), (0.001, 300), (0.00005, 5000))]
        cases = [file.read_bytes() for file in sorted(CORPUS.rglob("*")) if file.is_file()]
        cases += [b"", b"\0", bytes(88), bytes(64), bytes(144), bytes(4096), b"\xff" * 5000]
        while len(cases) < HOSTILE:
            data = bytearray(rng.choice(sound))
            for _ in range(rng.choice([1, 1, 2, 9])):
                data[rng.randrange(rng.choice([100, len(data)]))] = rng.randrange(256)
            cases.append(bytes(data[:rng.choice([len(data), rng.randrange(len(data))])]))
        taken = 0
        ask = ("SELECT nestline_may_contain(f, 1), nestline_count(f, 1), nestline_info(f), nestline_inserted(f, 1), nestline_erased(f, 1), "
               "nestline_merge(f) OVER () FROM (SELECT %s::bytea::nestline) AS f(f)")
        for data in cases:
            try:
                self.all(ask, (data,))
                taken += 1
            except psycopg2.errors.InvalidBinaryRepresentation as error:
                self.assertIn("nestline: ", str(error))
            except psycopg2.errors.InvalidParameterValue as error:  # other kinds of keys, no room
                self.assertRegex(str(error), "different keys|no room")
        self.assertLess(taken, len(cases) // 2)
        # Bytes that got past the check, as by a cast of a superuser's.
        self.all("CREATE TABLE raw AS SELECT f FROM filters WHERE n = 1")
        self.all("ALTER TABLE raw ALTER f TYPE bytea USING f::bytea")
        self.all("UPDATE raw SET f = set_byte(f, length(f) / 2, (get_byte(f, length(f) / 2) + 1) % 256)")
        self.all("CREATE CAST (text AS nestline) WITH INOUT")
        self.refused("nestline: bytes: ", "SELECT nestline_may_contain(f::nestline, 1) FROM raw")
        self.all("DROP CAST (text AS nestline); DROP TABLE raw")
        self.refused("nestline: bytes: ", "SELECT '\\x00'::nestline")
        self.refused("invalid hexadecimal", "SELECT '\\xzz'::nestline")

    def test_no_memory(self):
        """A server whose processes may have little memory: errors, wherever it ends, and no more."""
        pid = self.one("SELECT pg_backend_pid()")
        size = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[0]) * resource.getpagesize()
        self.connection.close()
        self.server.stop("fast")
        most = size + (48 << 20)
        self.server.start(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)))
        try:
            self.connection = self.server.connect()
            self.all("SET max_parallel_workers_per_gather = 0; SET work_mem = '1GB'")
            build = "(SELECT nestline_build(g) FROM generate_series(1, {}) g)"
            refused = taken = 0
            for keys in range(200000, 4200000, 800000):
                for sql in ("SELECT length({}::bytea)", "SELECT nestline_may_contain({}, 1)", "SELECT nestline_info(nestline_inserted({}, 1))"):
                    try:
                        self.all(sql.format(build.format(keys)))
                        taken += 1
                    except psycopg2.errors.OutOfMemory:
                        refused += 1
            self.assertGreater(refused, 2)
            self.assertGreater(taken, 0)
            self.assertEqual(self.one(self.KEPT), 20001)
            self.connection.close()
        finally:
            self.server.stop("fast")
            self.server.start()
        self.connection = self.server.connect()
