"""The functions in statements of all kinds, against exact sets."""

import io
import os
import pathlib
import random

from server_case import ServerCase

PARALLEL = ("parallel_setup_cost = 0", "parallel_tuple_cost = 0", "min_parallel_table_scan_size = 0")
EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "documents" / "examples" / "postgresql.sql"
STATEMENTS = int(os.environ.get("NESTLINE_POSTGRESQL_STATEMENTS", "150"))


class StatementsTest(ServerCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.run_once("""
            CREATE TABLE k AS SELECT g::bigint AS id, g % 10 AS part, 'text ' || g AS name FROM generate_series(0, 49999) g;
            CREATE TABLE rows AS SELECT g::bigint AS id, 'text ' || g AS name, repeat('x', 60) AS pad
              FROM generate_series(0, 99999, 5) g;
            CREATE TABLE filters (n int PRIMARY KEY, f nestline);
            INSERT INTO filters SELECT part, nestline_build(id, 0.0001) FROM k GROUP BY part;
            INSERT INTO filters SELECT 100, nestline_build(id, 0.0001) FROM k;
            ANALYZE""")

    def workers(self, count):
        for setting in (*PARALLEL, f"max_parallel_workers_per_gather = {count}"):
            self.all("SET " + setting)

    def plan(self, sql):
        return "\n".join(self.column("EXPLAIN (VERBOSE, COSTS OFF) " + sql))

    def test_forms_of_aggregates(self):
        keys = "(nestline_info(nestline_build({}))).keys"
        self.assertEqual(self.one(f"SELECT {keys.format('id')} FROM k"), 50000)
        self.assertEqual(self.one(f"SELECT {keys.format('part')} FROM k"), 10)
        self.assertEqual(self.one(f"SELECT {keys.format('DISTINCT part')} FROM k"), 10)
        self.assertEqual(self.one(f"SELECT (nestline_info(nestline_build(id) FILTER (WHERE part = 3))).keys FROM k"), 5000)
        self.assertEqual(self.one(f"SELECT {keys.format('id')} FROM k WHERE false"), 0)
        self.assertEqual(self.one(f"SELECT {keys.format('nullif(id, 7)')} FROM k"), 49999)
        self.assertFalse(self.one("SELECT nestline_may_contain(nestline_build(id), 7) FROM k WHERE false"))
        self.assertIsNone(self.one("SELECT nestline_merge(f) FROM filters WHERE false"))
        same = self.column("SELECT DISTINCT md5(nestline_build(id {})::bytea) FROM k".format("ORDER BY id DESC"))
        self.assertEqual(same, self.column("SELECT md5(nestline_build(id)::bytea) FROM k"))
        sets = self.all("SELECT part, (nestline_info(nestline_build(id))).keys FROM k GROUP BY GROUPING SETS ((part), ()) ORDER BY 1")
        self.assertEqual(sets, [*((part, 5000) for part in range(10)), (None, 50000)])
        window = ("SELECT id, (nestline_info(f)).keys, nestline_may_contain(f, id), nestline_may_contain(f, id - {0}) FROM (SELECT id, "
                  "nestline_build(id, 0.0001) OVER (ORDER BY id {1}) AS f FROM k WHERE id < 30) AS w ORDER BY id")
        self.assertEqual(self.all(window.format(-1, "")), [(i, i + 1, True, False) for i in range(30)])
        self.assertEqual(self.all(window.format(3, "ROWS 2 PRECEDING")), [(i, min(i + 1, 3), True, False) for i in range(30)])
        self.assertEqual(self.one("SELECT bits FROM nestline_info((SELECT nestline_build(id, 0.00005) FROM k))"), 16)

    def test_options(self):
        info = "SELECT capacity >= 5000 FROM nestline_info((SELECT nestline_build(id, 0.01, 5000) FROM k WHERE id < {}))"
        self.assertEqual([self.one(info.format(count)) for count in (1, 10, 5000)], [True] * 3)
        for rate in ("0", "1", "-1", "'NaN'", "NULL", "2"):
            self.refused("rate is a number above 0 and below 1", f"SELECT nestline_build(id, {rate}) FROM k")
        for capacity in ("0", "-1", "NULL"):
            self.refused("capacity is a whole number above 0", f"SELECT nestline_build(id, 0.1, {capacity}) FROM k")
        for workers in (0, 2):
            self.workers(workers)
            self.refused("the same in all rows of a group", "SELECT nestline_build(id, CASE WHEN id < 25000 THEN 0.1 ELSE 0.2 END) FROM k")
            self.refused("no room for 50000 keys in a filter for 100: give a larger capacity", "SELECT nestline_build(id, 0.1, 100) FROM k")
        self.refused("longer than a value may be", "SELECT nestline_build(1, 0.1, 2000000000)")

    def test_parallel_plans_leave_the_same_bytes(self):
        for key, table in (("id", "k"), ("name", "k"), ("part", "k"), ("id, 0.001", "k"), ("ROW(id, name), 0.1, 70000", "k"), ("id", "k WHERE false")):
            sql = f"SELECT md5(nestline_build({key})::bytea) FROM {table}"
            digests = set()
            for workers in (0, 1, 3):
                self.workers(workers)
                self.assertEqual("Partial Aggregate" in self.plan(sql), workers > 0 and "false" not in table)
                digests.add(self.one(sql))
            self.assertEqual(len(digests), 1)
        self.workers(2)
        sql = "SELECT part, md5(nestline_build(id)::bytea) FROM k GROUP BY part ORDER BY part"
        self.assertIn("Partial", self.plan(sql))
        parallel = self.all(sql)
        self.workers(0)
        self.assertEqual(self.all(sql), parallel)
        merged = "SELECT keys FROM nestline_info((SELECT nestline_merge(f) FROM many))"
        self.all("CREATE TEMP TABLE parts AS SELECT nestline_build(id, 0.01, 50000) AS f FROM k GROUP BY id % 7")
        self.all("CREATE TABLE many AS TABLE parts; ANALYZE many")
        for workers in (0, 2):
            self.workers(workers)
            self.assertEqual(self.one(merged), 50000)
        self.all("DROP TABLE many")

    def test_lookups_in_all_places_of_a_statement(self):
        wanted = 10000  # of the rows 0, 5 ... 99995 those below 50000
        whole = "(SELECT f FROM filters WHERE n = 100)"
        built = "(SELECT nestline_build(id, 0.0001) FROM k)"
        for workers in (0, 2):
            self.workers(workers)
            for sql in (f"SELECT count(*) FROM rows WHERE nestline_may_contain({whole}, id)",
                        f"SELECT count(*) FROM rows WHERE nestline_may_contain({built}, id)",
                        "SELECT count(*) FROM rows, filters WHERE n = 100 AND nestline_may_contain(f, id)",
                        "WITH f AS MATERIALIZED (SELECT f FROM filters WHERE n = 100) SELECT count(*) FROM rows, f WHERE nestline_may_contain(f, id)",
                        f"SELECT count(*) FROM rows JOIN k USING (id) WHERE nestline_may_contain({whole}, rows.id)",
                        f"SELECT count(*) FROM rows WHERE nestline_may_contain({whole}, id) AND EXISTS (SELECT FROM k WHERE k.id = rows.id)",
                        "SELECT count(*) FROM rows WHERE nestline_may_contain((SELECT (f::bytea || '')::nestline FROM filters WHERE n = 100), id)"):
                with self.subTest(sql=sql, workers=workers):
                    count = self.one(sql)
                    self.assertTrue(wanted <= count <= wanted + 20, count)
        # Rows that ask filters in turn: more of them than are kept, and few.
        self.all("CREATE TEMP TABLE more AS SELECT n, nestline_build(n * 10 + i, 0.0001) AS f FROM generate_series(0, 199) n, "
                 "generate_series(0, 4) i GROUP BY n")
        for most in (199, 20):
            answers = self.one(f"SELECT count(*) FROM generate_series(0, 9) i, more WHERE n <= {most} AND nestline_may_contain(f, n * 10 + i)")
            self.assertTrue((most + 1) * 5 <= answers <= (most + 1) * 5 + 5)
            wrong = self.one(f"SELECT count(*) FROM generate_series(0, 4) i, more WHERE n <= {most} AND NOT nestline_may_contain(f, n * 10 + i)")
            self.assertEqual(wrong, 0)
        # Left and anti joins answer exactly where the filter is in a subquery of the rows.
        self.assertEqual(self.one(f"SELECT count(*) FROM rows WHERE NOT (nestline_may_contain({whole}, id) AND id IN (SELECT id FROM k))"), 10000)

    def test_null(self):
        self.refused("there is no filter, it is NULL", "SELECT nestline_may_contain(NULL, 1)")
        self.refused("there is no filter, it is NULL", "SELECT nestline_may_contain((SELECT f FROM filters WHERE n = -1), id) FROM k")
        for call in ("count(NULL, 1)", "inserted(NULL, 1)", "erased(NULL, 1)", "info(NULL)", "worth_joining(NULL, 1)", "merge(NULL)",
                     "may_contain(NULL, NULL::int)"):
            self.refused("there is no filter, it is NULL", "SELECT nestline_" + call)
        self.refused("it is NULL", "SELECT nestline_merge(f) FROM (SELECT f FROM filters WHERE n = 1 UNION ALL SELECT NULL) AS f(f)")
        for call in ("may_contain(f, NULL::int)", "count(f, NULL::int)", "worth_joining(f, NULL::int)", "may_contain_or_null(NULL, 1)",
                     "count_or_null(NULL, 1)"):
            self.assertIsNone(self.one(f"SELECT nestline_{call} FROM filters WHERE n = 100"), call)
        self.assertEqual(self.all("SELECT nestline_may_contain_or_null(f, 5), nestline_count_or_null(f, 5) FROM filters WHERE n = 100"), [(True, 1)])
        self.assertTrue(self.one("SELECT nestline_inserted(f, NULL::int)::bytea = f::bytea FROM filters WHERE n = 100"))

    def test_prepared_statements(self):
        filters = dict(self.all("SELECT n, f::text FROM filters WHERE n < 4"))
        for mode in ("force_generic_plan", "force_custom_plan", "auto"):
            self.all(f"SET plan_cache_mode = {mode}")
            self.all("PREPARE ask (nestline, bigint) AS SELECT nestline_may_contain($1, $2)")
            self.all("PREPARE count (nestline) AS SELECT count(*) FROM k WHERE nestline_may_contain($1, id)")
            for n, text in filters.items():
                for key in (n, n + 1):
                    self.assertEqual(self.one(f"EXECUTE ask ('{text}', {key})"), key == n)
                self.assertTrue(5000 <= self.one(f"EXECUTE count ('{text}')") <= 5020)
            self.refused("it is NULL", "EXECUTE count (NULL)")
            self.all("DEALLOCATE ALL")

    def test_functions_triggers_checks_policies_and_columns(self):
        self.all("""
            CREATE FUNCTION sum_of(first int, last int) RETURNS bigint LANGUAGE plpgsql AS $$
            DECLARE f nestline; found bigint := 0;
            BEGIN
              FOR i IN first..last LOOP
                SELECT filters.f INTO f FROM filters WHERE n = i % 10;
                FOR j IN 0..9 LOOP
                  IF nestline_may_contain(f, i * 10 + j) THEN found := found + j; END IF;
                END LOOP;
              END LOOP;
              RETURN found;
            END $$""")
        self.assertEqual(self.one("SELECT sum_of(0, 299)"), sum(i % 10 for i in range(300)))
        # A value that is made anew at the place of another.
        self.assertEqual(self.one("""
            WITH made AS (SELECT g, nestline_build(g, 0.0001, 50) OVER (PARTITION BY g) AS f FROM generate_series(1, 300) g)
            SELECT count(*) FROM made WHERE nestline_may_contain(f, g) AND NOT nestline_may_contain(f, g + 1)"""), 300)
        self.all("""
            CREATE TABLE checked (f nestline, key bigint, found boolean GENERATED ALWAYS AS (nestline_may_contain(f, key)) STORED,
              CHECK (nestline_may_contain(f, key)));
            INSERT INTO checked SELECT f, 5 FROM filters WHERE n IN (5, 100)""")
        self.refused("violates check constraint", "INSERT INTO checked SELECT f, 6 FROM filters WHERE n = 5")
        self.assertEqual(self.column("SELECT found FROM checked"), [True, True])
        self.all("""
            CREATE TABLE log (key bigint);
            CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
              IF nestline_may_contain((SELECT f FROM filters WHERE n = 100), NEW.key) THEN RETURN NEW; END IF; RETURN NULL; END $$;
            CREATE TRIGGER keep BEFORE INSERT ON log FOR EACH ROW EXECUTE FUNCTION keep();
            INSERT INTO log SELECT g FROM generate_series(49990, 50009) g""")
        self.assertTrue(10 <= self.one("SELECT count(*) FROM log") <= 12)
        self.all("""
            CREATE ROLE reader; GRANT SELECT ON k, filters TO reader; ALTER TABLE k ENABLE ROW LEVEL SECURITY;
            CREATE POLICY few ON k TO reader USING (nestline_may_contain((SELECT f FROM filters WHERE n = 3), id))""")
        self.all("SET ROLE reader")
        self.assertTrue(5000 <= self.one("SELECT count(*) FROM k") <= 5020)
        self.all("RESET ROLE; ALTER TABLE k DISABLE ROW LEVEL SECURITY")
        self.all("CREATE INDEX ON filters ((nestline_may_contain(f, 5)))")
        self.assertEqual(self.column("SELECT n FROM filters WHERE nestline_may_contain(f, 5) ORDER BY n"), [5, 100])

    def test_changes_of_a_value(self):
        self.all("CREATE TEMP TABLE own AS SELECT nestline_build(id, 0.0001, 1000) AS f FROM k WHERE id < 100")
        self.all("UPDATE own SET f = nestline_inserted(f, 1000)")
        self.all("UPDATE own SET f = nestline_erased(f, 5)")
        self.assertEqual(self.all("SELECT nestline_may_contain(f, 1000), nestline_may_contain(f, 5), nestline_count(f, 7), (nestline_info(f)).keys FROM own"),
                         [(True, False, 1, 100)])
        self.all("UPDATE own SET f = nestline_inserted(f, 7)")
        self.assertEqual(self.one("SELECT nestline_count(f, 7) FROM own"), 2)
        self.refused("of kind text", "SELECT nestline_inserted(f, 'x') FROM own")
        self.refused("no room", "DO $$ DECLARE f nestline := nestline_build(1, 0.01, 1); BEGIN FOR i IN 1..99 LOOP f := nestline_inserted(f, i); END LOOP; END $$")
        # Both keys of a varchar come and go.
        self.assertEqual(self.all("SELECT nestline_may_contain(f, 'a'::char(3)), nestline_may_contain(nestline_erased(f, 'a '::varchar), 'a'::text) FROM "
                                  "(SELECT nestline_inserted(nestline_build('z', 0.0001, 9), 'a '::varchar) AS f) AS f"), [(True, False)])

    def test_merge(self):
        self.assertEqual(self.one("SELECT count(*) FROM k WHERE NOT nestline_may_contain((SELECT nestline_merge(f) FROM (SELECT nestline_build(id, 0.001, 50000) "
                                  "FROM k GROUP BY part) AS f(f)), id)"), 0)
        self.refused("different shapes", "SELECT nestline_merge(f) FROM filters")
        # A group without rows has a filter of the smallest shape.
        self.assertEqual(self.one("SELECT count(*) FROM k WHERE NOT nestline_may_contain((SELECT nestline_merge(f) FROM (SELECT nestline_build(id, 0.001, 50000) "
                                  "FILTER (WHERE part <> 1) FROM k GROUP BY part) AS f(f)), id) AND part <> 1"), 0)

    def test_worth_joining(self):
        # A tenth of the rows pass: exact. All pass: true without a look, also for what is absent.
        sql = "SELECT count(*) FROM rows WHERE nestline_worth_joining((SELECT f FROM filters WHERE n = {}), {})"
        few = self.one(sql.format(0, "id"))
        self.assertTrue(self.one("SELECT count(*) FROM rows WHERE id < 50000 AND id % 10 = 0") <= few < 6000, few)
        looked = self.one("SELECT count(*) FROM generate_series(0, 49999) g WHERE nestline_worth_joining((SELECT f FROM filters WHERE n = 100), "
                          "CASE WHEN g < 5000 THEN g ELSE g + 1000000 END)")
        self.assertEqual(looked, 50000)
        # After 65,536 rows it looks again.
        again = self.one("SELECT count(*) FROM generate_series(0, 199999) g WHERE nestline_worth_joining((SELECT f FROM filters WHERE n = 100), "
                         "CASE WHEN g < 5000 THEN g ELSE g + 1000000 END)")
        self.assertTrue(4096 + 65536 <= again <= 4096 + 65536 + 50, again)

    def test_overlaps(self):
        build = "nestline_build(id, 0.0001, 50000) FILTER (WHERE {})"
        self.all(f"CREATE TEMP TABLE pairs AS SELECT {build.format('id < 20000')} AS a, {build.format('id >= 19000')} AS b, "
                 f"{build.format('id >= 49000')} AS c FROM k")
        self.assertEqual(self.all("SELECT nestline_may_overlap(a, b), nestline_may_overlap(a, a) FROM pairs"), [(True, True)])
        ((matches, by_chance, estimate, error),) = self.all("SELECT (nestline_count_common(a, b)).* FROM pairs")
        self.assertTrue(1000 <= matches < 1030 and 0 < by_chance < 20 and abs(estimate - 1000) < 20 and 0 < error < 5)
        self.assertLess(self.one("SELECT matches FROM pairs, nestline_count_common(a, c)"), 10)
        for function in ("nestline_may_overlap", "nestline_count_common"):
            self.refused("can be compared only if", f"SELECT {function}(a, (SELECT nestline_build(1))) FROM pairs")
            self.refused("no filter", f"SELECT {function}(a, NULL) FROM pairs")
            self.refused("date and timestamp cannot be compared",
                         f"SELECT {function}(nestline_build('2024-01-01'::date), nestline_build('2024-01-01'::timestamp))")

    def test_the_planner_knows_how_many_pass(self):
        text = self.one("SELECT f::text FROM filters WHERE n = 3")
        ((plan,),) = self.all(f"EXPLAIN (FORMAT JSON) SELECT FROM k WHERE nestline_may_contain('{text}'::nestline, id)")
        self.assertTrue(4000 < plan[0]["Plan"]["Plan Rows"] < 6000)
        ((plan,),) = self.all("EXPLAIN (FORMAT JSON) SELECT FROM k WHERE nestline_may_contain((SELECT f FROM filters WHERE n = 3), id)")
        self.assertEqual(plan[0]["Plan"]["Plan Rows"], 5000)
        # After what is cheaper.
        self.assertRegex(self.plan("SELECT FROM k WHERE nestline_may_contain((SELECT f FROM filters WHERE n = 3), id) AND part > 3"), r"part > 3\) AND nestline")

    def test_copy_and_casts(self):
        for form in ("text", "csv", "binary"):
            out = io.BytesIO()
            with self.connection.cursor() as cursor:
                cursor.copy_expert(f"COPY filters TO STDOUT (FORMAT {form})", out)
                cursor.execute("CREATE TEMP TABLE copied (LIKE filters)")
                out.seek(0)
                cursor.copy_expert(f"COPY copied FROM STDIN (FORMAT {form})", out)
            self.assertEqual(self.one("SELECT count(*) FROM filters JOIN copied USING (n) WHERE filters.f::bytea = copied.f::bytea"), 11)
            self.all("DROP TABLE copied")
        self.assertTrue(self.one("SELECT bool_and(f::bytea::nestline::text::nestline::bytea = f::bytea) FROM filters"))
        self.assertEqual(self.one("SELECT attstorage::text FROM pg_attribute WHERE attrelid = 'filters'::regclass AND attname = 'f'"), "e")

    def test_the_example_of_the_document(self):
        self.all("CREATE DATABASE example")
        printed = self.installation.run("psql", "--host", self.server.folder, "--username", "tests", "--quiet", "--tuples-only", "--no-align",
                                        "--set", "ON_ERROR_STOP=1", "example", input=EXAMPLE.read_text(encoding="ascii"))
        self.assertEqual(printed, "1000\n1000\n2000\n7\n3000\nt|f\nt|f\n")

    def test_random_statements(self):
        """Random builds and questions beside the exact answer; NESTLINE_POSTGRESQL_STATEMENTS of them."""
        rng = random.Random(7)
        types = ("bigint", "int", "numeric", "float8", "text", "varchar(9)", "char(9)", "date", "timestamp", "bytea", "ROW")
        made = {"text": "({} * 37 % 1009)::text", "varchar(9)": "({} * 37 % 1009)::varchar(9)", "char(9)": "({} * 37 % 1009)::char(9)",
                "date": "date '2020-01-01' + ({})::int", "timestamp": "timestamp '2020-01-01' + ({}) * interval '1 minute'",
                "bytea": "('x' || ({}))::bytea", "ROW": "ROW(({})::int, ({})::text)", "float8": "({})::float8 / 4", "numeric": "({})::numeric / 4"}
        for number in range(STATEMENTS):
            name = rng.choice(types)
            key = lambda column: made.get(name, "({})::" + name).replace("{}", column)  # noqa: B023, E731
            rows, modulus = rng.choice([0, 1, 5, 300, 3000]), rng.choice([2, 7, 1000])
            where = rng.choice(["", f"AND g % 3 = {rng.randint(0, 2)}"])
            filter_ = f"SELECT nestline_build({key('g % ' + str(modulus))}{rng.choice(['', ', 0.001', ', 0.01, 4000'])}) FROM generate_series(1, {rows}) g WHERE true {where}"
            exact = f"SELECT {key('g % ' + str(modulus))} AS key FROM generate_series(1, {rows}) g WHERE true {where}"
            asked = f"SELECT {key('(h * 3)')} AS key FROM generate_series(0, 400) h"
            sql = rng.choice([
                f"SELECT count(*), (SELECT count(*) FROM a WHERE key IN ({exact})) FROM a WHERE nestline_may_contain(({filter_}), key) AND key IN ({exact})",
                f"SELECT count(*), (SELECT count(*) FROM a WHERE EXISTS (SELECT FROM ({exact}) e WHERE e.key = a.key)) FROM a, ({filter_}) AS f(f) "
                f"WHERE nestline_may_contain(f, key) AND EXISTS (SELECT FROM ({exact}) e WHERE e.key = a.key)",
                f"SELECT count(*), (SELECT count(*) FROM a WHERE key NOT IN ({exact})) FROM a WHERE NOT (nestline_may_contain(({filter_}), key) AND key IN ({exact}))",
                f"SELECT count(*) FILTER (WHERE yes AND key IN ({exact})), count(*) FILTER (WHERE key IN ({exact})) FROM (SELECT key, "
                f"nestline_worth_joining(({filter_}), key) AS yes FROM a) AS b",
            ])
            with self.subTest(number=number):
                ((answer, right),) = self.all(f"WITH a AS MATERIALIZED ({asked}) {sql}")
                self.assertEqual(answer, right, sql)
