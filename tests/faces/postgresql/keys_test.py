"""Which values of SQL are which keys, against SQL's own =, and a reader of the format that shares no code with the
library (tests/filters/file/format_reader.py)."""

import contextlib
import datetime
import decimal
import pathlib
import random
import struct
import sys
import uuid

from server_case import ServerCase

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "filters" / "file"))
from format_reader import Reader  # noqa: E402

WHOLE = "0, 1, -1, 7, 32767"
# A type and some of its values, equal and near ones among them.
VALUES = {
    "smallint": f"{WHOLE}, -32768",
    "integer": f"{WHOLE}, 2147483647, -2147483648, 16777217",
    "bigint": f"{WHOLE}, 9223372036854775807, -9223372036854775808, 9007199254740993, 9007199254740992, 16777217",
    "numeric": f"{WHOLE}, 1.0, 7.000, 0.1, 0.10, -0.5, 9007199254740993, 9223372036854775808, 1e30, 1e40, -1e39, 'NaN', "
               "'Infinity', 1e-20, 0.30000000000000004",
    "real": f"{WHOLE}, '-0', 0.1, 'NaN', 'Infinity', 16777216",
    "double precision": f"{WHOLE}, '-0', 0.1, 0.10000000149011612, 'NaN', '-Infinity', 9007199254740992, 1e30, "
                        "0.30000000000000004, 9.2233720368547758e18",
    "boolean": "true, false",
    "text": "'', ' ', 'a', 'a ', 'b', '\u00e4', '7', repeat('long', 5000)",
    "varchar": "'', ' ', 'a', 'a ', 'a  ', 'b', '\u00e4', repeat('long', 5000)",
    "char(3)": "'', 'a', 'b', '\u00e4'",
    "name": "'', 'a', 'a ', 'b'",
    "mood": "'a', 'b'",
    "bytea": r"'\x', '\x61', '\x6100', '\xc3a4'",
    "uuid": "'00112233-4455-6677-8899-aabbccddeeff', '00112233-4455-6677-8899-aabbccddee00'",
    "date": "'2000-01-01', '1969-12-31', 'infinity', '-infinity', '2024-02-29'",
    "timestamp": "'2000-01-01', '1969-12-31 23:59:59.999999', 'infinity', '-infinity', '2024-02-29', '294276-01-01'",
    "timestamptz": "'2000-01-01', '1969-12-31 23:59:59.999999', 'infinity', '-infinity', '2024-02-29', '294276-01-01'",
    "time": "'0:00', '24:00', '12:34:56.789'",
    "timetz": "'0:00', '12:34:56.789', '12:34:56.789+1', '13:34:56.789+1'",
    "interval": "'1 month', '30 days', '720 hours', '1 us', '-1 us', '0', '178000000 years', '12:34:56.789'",
    "inet": "'10.0.0.1', '10.0.0.1/8', '::1', '10.0.0.0/8'",
    "cidr": "'10.0.0.0/8', '10.0.0.1', '::/0'",
    "jsonb": """'1', '1.0', '"1"', '[1]', '{"b": 1, "a": [true, null]}', '{"a":[true,null],"b":1.00}', '{}', '[]'""",
    "integer[]": "'{}', '{1,2}', '{2,1}', '{{1,2}}', '{1,NULL}', '[0:1]={1,2}'",
    "bigint[]": "'{}', '{1,2}', '{2,1}'",
    "text[]": "'{}', '{a,b}', '{ab}', '{a,NULL}', '{\"a\",\"b\"}'",
    "pair": "'(1,a)', '(1,)', '(,a)', '(,)'",
    "small_pair": "'(1,a)', '(2,a)'",
    "positive": "1, 7",
    "word": "'a', 'b'",
}
# Pairs that SQL compares without a cast, and that are an error: built of one, asked with the other.
MIXED = {frozenset(pair) for pair in (
    ("date", "timestamp"), ("date", "timestamptz"), ("timestamp", "timestamptz"), ("time", "timetz"), ("time", "interval"))}
FLOATS = {"real", "double precision"}
EXACT = {"smallint", "integer", "bigint", "numeric", "positive"}


def split(values):
    """At the commas outside of quotes and brackets."""
    parts, depth, quoted = [""], 0, False
    for character in values:
        quoted ^= character == "'"
        depth += 0 if quoted else (character == "(") - (character == ")")
        if character == "," and not quoted and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


class KeysTest(ServerCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with contextlib.closing(cls.server.connect()) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TYPE mood AS ENUM ('a', 'b'); CREATE TYPE pair AS (x integer, y text);"
                           "CREATE TYPE small_pair AS (x smallint, y varchar);"
                           "CREATE DOMAIN positive AS integer CHECK (VALUE > 0); CREATE DOMAIN word AS varchar(9)")
            for number, (name, values) in enumerate(VALUES.items()):
                cursor.execute(f"CREATE TABLE t{number} (v {name})")
                for value in split(values):
                    cursor.execute(f"INSERT INTO t{number} VALUES (CAST({value} AS {name}))")
            cls.tables = {name: f"t{number}" for number, name in enumerate(VALUES)}

    def test_what_sql_calls_equal_is_never_absent(self):
        compared, refused = set(), set()
        for built, of in self.tables.items():
            self.all("DROP TABLE IF EXISTS f")
            self.all(f"CREATE TABLE f AS SELECT nestline_build(v, 0.0001) AS f FROM {of}")
            for asked, table in self.tables.items():
                with self.subTest(built=built, asked=asked):
                    try:
                        equal = self.column(f"SELECT (SELECT coalesce(bool_or(a.v = b.v), false) FROM {of} a) FROM {table} b")
                    except Exception as error:  # noqa: BLE001
                        self.assertRegex(str(error), "operator does not exist|cannot compare|not unique")
                        continue
                    compared.add((built, asked))
                    sql = f"SELECT nestline_may_contain(f, v), nestline_count(f, v) FROM f, {table}"
                    try:
                        answers = self.all(sql)
                    except Exception as error:  # noqa: BLE001
                        self.assertIn("different keys, so cast one to the type of the other", str(error))
                        refused.add((built, asked))
                        continue
                    for is_equal, (answer, count) in zip(equal, answers):
                        self.assertGreaterEqual(answer, is_equal)
                        self.assertEqual(answer, count > 0)
                    # A varchar is in it without blanks at its end too, and 2^63 has the key of -2^63.
                    may_be_wrong = {built, asked} & {"varchar", "word"} or {built, asked} == {"bigint", "numeric"}
                    wrong = sum(answer and not is_equal for is_equal, (answer, _) in zip(equal, answers))
                    self.assertLessEqual(wrong, 2 if may_be_wrong else 0)
        expected = {(a, b) for a, b in compared
                    if frozenset((a, b)) in MIXED or (b in FLOATS and a in EXACT)}
        self.assertEqual(refused, expected)
        self.assertGreater(len(compared), 80)

    def test_values_are_the_keys_of_the_format(self):
        days = (datetime.date(2024, 2, 29) - datetime.date(1970, 1, 1)).days
        one = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")
        cases = [
            ("1::smallint", 1), ("-1", 2**64 - 1), ("9223372036854775807", 2**63 - 1), ("7.00", 7), ("7.50", b"7.5"),
            ("-0.5", b"-0.5"), ("18446744073709551615.0", 2**64 - 1), ("1e30", (10**30).to_bytes(16, "little")),
            ("-1e30", (2**128 - 10**30).to_bytes(16, "little")), ("1e50", b"1" + b"0" * 50),
            ("'NaN'::numeric", b"NaN"), ("true", 1), ("0.5::float8", struct.pack("<d", 0.5)),
            ("0.1::float4", struct.pack("<d", struct.unpack("<f", struct.pack("<f", 0.1))[0])),
            ("'-0'::float8", bytes(8)), ("'\u00e4'", "\u00e4".encode()), ("'a'::char(5)", b"a"), (r"'\x00ff'::bytea", b"\0\xff"),
            (f"'{one}'::uuid", one.bytes), ("'2024-02-29'::date", days), ("'infinity'::date", 2**31 - 1),
            ("'2024-02-29'::timestamp", days * 86400 * 10**6), ("'1969-12-31 23:59:59'::timestamptz", 2**64 - 10**6),
            ("'infinity'::timestamp", 2**63 - 1), ("'-infinity'::timestamp", 2**63 + 1),
            ("'01:00'::time", 3600 * 10**6), ("'1 month'::interval", 30 * 86400 * 10**6),
            ("'10.0.0.1/8'::inet", bytes([4, 8, 10, 0, 0, 1])), ("""'{"b": 1.0, "a": [null]}'::jsonb""", b'{"a":[null],"b":1}'),
            ("ROW(1, 'x'::text, NULL::int)", b"\1" + (1).to_bytes(8, "little") + b"\2" + (1).to_bytes(4, "little") + b"x" + b"\0"),
            ("ARRAY[5]", b"\1\0\0\0\1\0\0\0\1\0\0\0" + b"\1" + (5).to_bytes(8, "little")),
        ]
        for sql, key in cases:
            with self.subTest(sql=sql):
                reader = Reader(bytes(self.one(f"SELECT nestline_build({sql}, 0.0001)::bytea")))
                count = reader.count_integer(key) if isinstance(key, int) else reader.count_string(key)
                self.assertEqual(count, 1)

    def test_random_numbers_of_all_types(self):
        rng = random.Random(3)
        numbers = [decimal.Decimal(rng.choice([rng.randint(-9, 9), rng.getrandbits(rng.randint(1, 140)) - 2**60])) /
                   10 ** rng.choice([0, 0, 1, 5]) for _ in range(500)]
        for built, asked in (("numeric", "numeric"), ("numeric(60,9)", "numeric(70,20)"), ("float8", "numeric")):
            sql = (f"WITH n AS MATERIALIZED (SELECT unnest(%s::numeric[]) AS v) SELECT count(*), count(*) FILTER (WHERE "
                   f"nestline_may_contain((SELECT nestline_build(v::{built}, 0.0001) FROM n), v::{asked})) FROM n")
            self.assertEqual(self.all(sql, (numbers,)), [(500, 500)])

    def test_filters_name_the_kinds_of_their_keys(self):
        for sql, kinds in (("1", "number"), ("1.5", "number"), ("1::real", "float"), ("'a'::name", "text"), ("now()", "timestamp with zone"),
                           ("ROW(1, now())", "row of (number, timestamp with zone)"), ("ARRAY['a']", "array of (text)"),
                           ("ROW(1, ROW('a'::text))", "row of (number, text, row)"), ("'::1'::inet", "network address"),
                           ("NULL::int", ""), ("'1 s'::interval", "interval"), ("'1:00+0'::timetz", "time with zone")):
            self.assertEqual(self.one(f"SELECT (nestline_info(nestline_build({sql}))).key_kinds"), kinds, sql)
        merged = ("SELECT (nestline_info(nestline_merge(f))).key_kinds FROM (SELECT nestline_build({}, 0.01, 100) "
                  "UNION ALL SELECT nestline_build({}, 0.01, 100)) AS f(f)")
        self.assertEqual(self.one(merged.format("1", "'a'")), "number, text")
        # Floats and numbers in one: a number asks for both, a float may be a number's.
        both = ("SELECT nestline_may_contain(f, {}) FROM (SELECT nestline_merge(f) FROM (SELECT nestline_build(1, 0.0001, 100) "
                "UNION ALL SELECT nestline_build(0.5::float8, 0.0001, 100)) AS f(f)) AS f(f)")
        self.assertEqual([self.one(both.format(key)) for key in ("1", "0.5", "2")], [True, True, False])
        self.refused("number, and this key is of kind float", both.format("1::real"))
        for one, other in (("'2024-01-01'::date", "'2024-01-01'::timestamp"), ("'10:00'::time", "'10:00+0'::timetz"),
                           ("ROW(1)", "ROW('a'::text)")):
            self.refused("cannot be merged: they are different keys", merged.format(one, other))
            self.refused("cannot be compared", f"SELECT nestline_may_overlap(nestline_build({one}), nestline_build({other}))")
        for one, other in (("1", "1::real"), ("1.5", "1.5::float8"), ("'1'::text", "1")):
            self.refused("cannot be compared", f"SELECT nestline_may_overlap(nestline_build({one}), nestline_build({other}))")

    def test_what_is_no_key(self):
        for sql in ("point(1, 2)", "'{}'::json", "'[1,2)'::int4range", "1::money", "B'1'", "'a'::\"char\"", "1::oid",
                    "ARRAY[point(1, 2)]", "ROW(1, point(1, 2))", "'a'::tsvector", "pg_lsn '0/0'"):
            error = self.refused("are no keys", f"SELECT nestline_build({sql})")
            self.assertEqual(error.pgcode, "42804")
            self.refused("are no keys", f"SELECT nestline_may_contain(nestline_build(1), {sql})")
        self.refused("of type character are no keys in a row", "SELECT nestline_build(ROW('a'::char(3)))")
        self.all("CREATE COLLATION IF NOT EXISTS loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
        self.all("CREATE TABLE loosely AS SELECT 'a'::text COLLATE loose AS a")
        for sql in ("a", "ROW(1, a)", "ARRAY[a]", "loosely", "a::varchar", "lower(a)"):
            self.refused("nondeterministic collation", f"SELECT nestline_build({sql}) FROM loosely")
        self.assertTrue(self.one("SELECT nestline_may_contain(nestline_build('a' COLLATE \"C\"), 'a')"))

    def test_rows_of_changing_types(self):
        self.all("CREATE TYPE shape AS (a int, b text); CREATE TABLE shapes (s shape, t shape);"
                 "INSERT INTO shapes VALUES ((1, 'x'), (1, 'x')), ((NULL, 'y'), NULL)")
        ask = "SELECT nestline_may_contain((SELECT nestline_build(s, 0.0001) FROM shapes), t) FROM shapes"
        self.assertEqual(self.column(ask), [True, None])
        self.all("ALTER TYPE shape DROP ATTRIBUTE a CASCADE; ALTER TYPE shape ADD ATTRIBUTE c numeric CASCADE")
        self.assertEqual(self.column(ask), [True, None])
        self.assertEqual(self.one("SELECT (nestline_info(nestline_build(s))).key_kinds FROM shapes"), "row of (number, text)")
        # Anonymous ones, other in each row.
        rows = "(VALUES (ROW(1, 'a'::text)), (ROW('a'::text, 1)), (ROW(now()))) AS r(r)"
        self.assertEqual(self.one(f"SELECT count(*) FROM {rows} WHERE nestline_may_contain((SELECT nestline_build(r) FROM {rows}), r)"), 3)
