// Which value of SQL is which key: a filter built in DuckDB answers in C++, and one built in C++
// there.
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "nestline/io.h"
#include "tests/faces/duckdb/database.h"

namespace {

using namespace std::string_view_literals;
using nestline::Filter;
using nestline::Key;
using nestline::test::Blob;
using nestline::test::DuckdbTest;

struct Value {
  const char* sql;
  Key key;
};

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
const Value kValues[] = {
    {"7::TINYINT", 7},
    {"(-7)::TINYINT", -7},
    {"200::UTINYINT", 200},
    {"(-300)::SMALLINT", -300},
    {"60000::USMALLINT", 60000},
    {"(-70000)::INTEGER", -70000},
    {"4000000000::UINTEGER", std::uint64_t{4000000000}},
    {"(-9223372036854775807 - 1)::BIGINT", std::numeric_limits<std::int64_t>::min()},
    {"18446744073709551615::UBIGINT", kMost},
    {"18446744073709551615::HUGEINT", kMost},
    {"(-8)::HUGEINT", -8},
    {"9::UHUGEINT", 9},
    {"(-170141183460469231731687303715884105727)::HUGEINT", "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x80"sv},
    {"18446744073709551616::HUGEINT", "\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0"sv},
    {"true", 1},
    {"false", 0},
    {"DATE '1970-01-12'", 11},
    {"DATE '1969-12-20'", -12},
    {"TIME '00:00:01.5'", 1500000},
    {"'00:00:01.5'::TIME_NS", 1500000},
    {"'00:00:00.000001002'::TIME_NS", "\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0"sv},
    {"TIMESTAMP '2001-09-09 01:46:40'", std::uint64_t{1000000000000000}},
    {"TIMESTAMP '1969-12-31 23:59:59'", -1000000},
    {"TIMESTAMPTZ '1970-01-01 01:00:00+00'", std::uint64_t{3600000000}},
    {"TIMESTAMP_S '2001-09-09 01:46:40'", std::uint64_t{1000000000000000}},
    {"TIMESTAMP_S '1969-12-31 23:59:59'", -1000000},
    {"TIMESTAMP_MS '2001-09-09 01:46:40.005'", std::uint64_t{1000000000005000}},
    {"TIMESTAMP_NS '2001-09-09 01:46:40.000005'", std::uint64_t{1000000000000005}},
    {"TIMESTAMP_NS '1969-12-31 23:59:59.999999'", -1},
    {"TIMESTAMP_NS '1970-01-01 00:00:00.000001002'", "\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0"sv},
    {"TIMESTAMP_NS '1969-12-31 23:59:59.999999999'",
     "\xff\xff\xff\xff\xff\xff\xff\xff\xe7\3\0\0\0\0\0\0"sv},
    {"'infinity'::TIMESTAMP_S", std::numeric_limits<std::int64_t>::max()},
    {"'-infinity'::TIMESTAMP_MS", -std::numeric_limits<std::int64_t>::max()},
    {"'infinity'::TIMESTAMP_NS", std::numeric_limits<std::int64_t>::max()},
    {"'infinity'::TIMESTAMP", std::numeric_limits<std::int64_t>::max()},
    {"7::DECIMAL(4, 0)", 7},
    {"7.00::DECIMAL(4, 2)", 7},
    {"(-700.00)::DECIMAL(9, 2)", -700},
    {"0.000", 0},
    {"7.50::DECIMAL(4, 2)", "7.5"sv},
    {"(-0.05)::DECIMAL(9, 3)", "-0.05"sv},
    {"(-0.5)::DECIMAL(1, 1)", "-0.5"sv},
    {"1234567890.12::DECIMAL(18, 4)", "1234567890.12"sv},
    {"(-9223372036854775808.0)::DECIMAL(38, 1)", std::numeric_limits<std::int64_t>::min()},
    {"18446744073709551615.0::DECIMAL(38, 1)", kMost},
    {"18446744073709551616.0::DECIMAL(38, 1)", "\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0"sv},
    {"(-1234567890123456789012345.60)::DECIMAL(38, 2)", "-1234567890123456789012345.6"sv},
    {"0.00000000000000000000000000000000000001::DECIMAL(38, 38)",
     "0.00000000000000000000000000000000000001"sv},
    {"'' ", ""sv},
    {"'a'", "a"sv},
    {"'twelve bytes'", "twelve bytes"sv},
    {"'thirteen byte'", "thirteen byte"sv},
    {"'with ' || chr(0) || ' zero, in a long text'", "with \0 zero, in a long text"sv},
    {"'gr\u00fc\u00df \u20ac \U0001f426'", "gr\u00fc\u00df \u20ac \U0001f426"sv},
    {"'\\x00\\xFF'::BLOB", "\0\xff"sv},
    {"'loud'::ENUM ('soft', 'loud')", "loud"sv},
    {"'12345678-9abc-def0-8123-456789abcdef'::UUID",
     "\x12\x34\x56\x78\x9a\xbc\xde\xf0\x81\x23\x45\x67\x89\xab\xcd\xef"sv},
    {"'92345678-9abc-def0-8123-456789abcdef'::UUID",
     "\x92\x34\x56\x78\x9a\xbc\xde\xf0\x81\x23\x45\x67\x89\xab\xcd\xef"sv},
    {"'[1]'::JSON", "[1]"sv},
    {"ROW(7)", "\1\7\0\0\0\0\0\0\0"sv},
    {"ROW(-2::TINYINT, NULL)", "\1\xfe\xff\xff\xff\xff\xff\xff\xff\0"sv},
    {"ROW(DATE '1970-01-12', '', 'ab')", "\1\x0b\0\0\0\0\0\0\0\2\0\0\0\0\2\2\0\0\0ab"sv},
    {"ROW(7.5, 7.00, 18446744073709551616::HUGEINT)",
     "\2\3\0\0\0"
     "7.5"
     "\1\7\0\0\0\0\0\0\0"
     "\2\x10\0\0\0"
     "\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0"sv},
    {"ROW('soft'::ENUM ('soft', 'loud'), ROW('\\xFF'::BLOB, true))",
     "\2\4\0\0\0soft\2\x0f\0\0\0\2\1\0\0\0\xff\1\1\0\0\0\0\0\0\0"sv},
};

// So that constants are not all that is tested, the value is in a column of many rows, with NULLs.
std::string column_of(const Value& value) {
  return std::string("(SELECT CASE WHEN i % 3 = 1 THEN ") + value.sql +
         " END AS k FROM range(5000) t(i))";
}

TEST_F(DuckdbTest, FiltersBuiltHereAnswerInCpp) {
  for (const Value& value : kValues) {
    const Filter filter = Filter::load(
        sql.blob("SELECT nestline_build(DISTINCT k, 0.0001, 100) FROM " + column_of(value)));
    EXPECT_EQ(filter.size(), 1) << value.sql;
    EXPECT_EQ(filter.count(value.key), 1) << value.sql;
  }
}

TEST_F(DuckdbTest, FiltersBuiltInCppAnswerHere) {
  for (const Value& value : kValues) {
    Filter filter({.capacity = 100, .fpr = 0.0001, .seed = 99});
    (void)filter.insert(value.key);
    (void)filter.insert(value.key);
    Filter other({.capacity = 100, .fpr = 0.0001});
    (void)other.insert("something else"sv);
    const Blob blob = nestline::to_bytes(filter);
    const std::string from = " FROM " + column_of(value);
    EXPECT_EQ(sql.number("SELECT nestline_count(?, " + std::string(value.sql) + ")", {blob}), 2);
    EXPECT_EQ(sql.number("SELECT count(*)" + from + " WHERE nestline_may_contain(?, k)", {blob}),
              1667)
        << value.sql;
    EXPECT_EQ(sql.number("SELECT count(*)" + from + " WHERE nestline_contains(?, k)",
                         {nestline::to_bytes(other)}),
              0)
        << value.sql;
    EXPECT_EQ(
        sql.number("SELECT count(*)" + from + " WHERE nestline_may_contain(?, k) IS NULL", {blob}),
        3333)
        << value.sql;
  }
}

TEST_F(DuckdbTest, EnumsOfEverySize) {
  for (const int labels : {3, 300, 70000}) {
    sql.run("CREATE OR REPLACE TABLE texts AS SELECT 'label ' || i AS k FROM range(" +
            std::to_string(labels) + ") t(i)");
    sql.run("DROP TYPE IF EXISTS label");
    sql.run("CREATE TYPE label AS ENUM (SELECT k FROM texts)");
    EXPECT_EQ(sql.number("SELECT count(*) FROM texts WHERE nestline_may_contain((SELECT "
                         "nestline_open(nestline_build(k::label)) FROM texts), k)"),
              labels);
    EXPECT_EQ(sql.number("SELECT count(*) FROM texts WHERE nestline_may_contain((SELECT "
                         "nestline_open(nestline_build(k)) FROM texts), k::label)"),
              labels);
  }
}

TEST_F(DuckdbTest, OtherTypesAreRefused) {
  const std::array refused{
      std::array{"0.5::FLOAT", "FLOAT and DOUBLE are no keys"},
      std::array{"7::DOUBLE", "FLOAT and DOUBLE are no keys"},
      std::array{"TIMETZ '01:00:00+01'", "a key is an integer, BOOLEAN, DECIMAL, VARCHAR"},
      std::array{"'101'::BIT", "a key is an integer, BOOLEAN, DECIMAL, VARCHAR"},
      std::array{"[1, 2]", "a key is an integer, BOOLEAN, DECIMAL, VARCHAR"},
      std::array{"{'a': 1}", "a STRUCT with names is no key: write ROW(a, b)"},
      std::array{"ROW(1, {'a': 1})", "a STRUCT with names is no key: write ROW(a, b)"},
      std::array{"ROW(1, 7::DOUBLE)", "FLOAT and DOUBLE are no keys"},
      std::array{"7::BIGNUM", "a key is an integer, BOOLEAN, DECIMAL, VARCHAR"},
      std::array{"MAP {1: 2}", "a key is an integer, BOOLEAN, DECIMAL, VARCHAR"},
      std::array{"INTERVAL 1 DAY", "a key is an integer, BOOLEAN, DECIMAL, VARCHAR"},
  };
  sql.run("SET VARIABLE f = (SELECT nestline_build(1))");
  for (const auto& [value, sentence] : refused) {
    for (const std::string function :
         {"nestline_build(", "nestline_may_contain(getvariable('f'), ",
          "nestline_count(getvariable('f'), ", "nestline_insert(getvariable('f'), ",
          "nestline_erase(getvariable('f'), "}) {
      const std::string error = sql.error("SELECT " + function + value + ")");
      EXPECT_NE(error.find(std::string("nestline: ")), error.npos) << function << value << error;
      EXPECT_NE(error.find(sentence), error.npos) << function << value << error;
    }
  }
}

// What a type of SQL is called, and a value that is that.
constexpr std::array<const char*, 2> kKinds[] = {
    {"number", "7"},
    {"number", "true"},
    {"number", "7.5"},
    {"number", "170141183460469231731687303715884105727::UHUGEINT"},
    {"text", "'a'"},
    {"text", "'a'::ENUM ('a')"},
    {"bytes", "'a'::BLOB"},
    {"uuid", "'12345678-9abc-def0-8123-456789abcdef'::UUID"},
    {"date", "DATE '2020-01-02'"},
    {"timestamp", "TIMESTAMP '2020-01-02'"},
    {"timestamp", "TIMESTAMP_S '2020-01-02'"},
    {"timestamp", "TIMESTAMP_MS '2020-01-02'"},
    {"timestamp", "TIMESTAMP_NS '2020-01-02'"},
    {"timestamp with zone", "TIMESTAMPTZ '2020-01-02 00:00:00+00'"},
    {"time", "TIME '00:00:01'"},
    {"time", "'00:00:01'::TIME_NS"},
    {"json", "'1'::JSON"},
    {"row of (number, date)", "ROW(7, DATE '2020-01-02')"},
    {"row of (number, date)", "ROW(DATE '2020-01-02', NULL, 7)"},
    {"row of (text, row)", "ROW(ROW('a'))"},
};

TEST_F(DuckdbTest, FiltersNameTheKindsOfTheirKeys) {
  sql.run("SET threads = 4");
  for (const auto& [kind, value] : kKinds) {
    EXPECT_EQ(sql.number("SELECT (nestline_info(nestline_build(k)).key_kinds = '" +
                         std::string(kind) + "')::INT FROM " + column_of({value, 0})),
              1)
        << value << " " << kind;
    // The same key asked by a value of each kind: those of others are errors that name both.
    for (const auto& [asked, key] : kKinds) {
      const std::string filter = std::string("(SELECT nestline_build(") + value + "))";
      for (const char* const function : {"nestline_may_contain(", "nestline_count("}) {
        const std::string error =
            sql.error(std::string("SELECT ") + function + filter + ", " + key + ")");
        const std::string sentence =
            std::string("nestline: the filter was built of keys of kind ") + kind +
            ", and this key is of kind " + asked + ": ";
        EXPECT_EQ(error.find(sentence) != error.npos, std::string_view(kind) != asked)
            << value << " " << key << error;
      }
      const std::string change = sql.error(std::string("SELECT nestline_insert(f, ") + key +
                                           ") FROM (SELECT nestline_build(" + value + ") AS f)");
      EXPECT_EQ(change.empty(), std::string_view(kind) == asked) << value << " " << key << change;
    }
    EXPECT_EQ(sql.error("SELECT nestline_may_contain((SELECT nestline_build(" + std::string(value) +
                        ")), NULL)"),
              "");
  }
}

TEST_F(DuckdbTest, KindsGoWithTheFilter) {
  const auto kinds = [&](const std::string& filter) {
    const Blob blob = sql.blob("SELECT " + filter);
    EXPECT_EQ(sql.number("SELECT octet_length(nestline_info(?).key_kinds::BLOB)", {blob}) != 0,
              Filter::load(blob).key_kinds() != 0);
    return Filter::load(blob).key_kinds();
  };
  constexpr std::uint32_t kNumber = 1, kText = 2, kDate = 16, kRow = 1 << 10;
  sql.run(
      "CREATE TABLE f AS SELECT nestline_build(7, 0.01, 100) AS number, nestline_build('a', 0.01, "
      "100) AS text, nestline_build(DATE '2020-01-02', 0.01, 100) AS date, nestline_build(NULL, "
      "0.01, 100) AS empty");
  sql.run("SET VARIABLE h = (SELECT nestline_open(date) FROM f)");
  EXPECT_EQ(kinds("date FROM f"), kDate);
  EXPECT_EQ(kinds("empty FROM f"), 0u);
  EXPECT_EQ(kinds("nestline_merge(k) FROM (SELECT unnest([number, date, empty]) AS k FROM f)"),
            kNumber | kDate);
  // A union of these would deny keys of one kind that a join finds equal to those of the other.
  for (const char* const values :
       {"DATE '2020-01-02', TIMESTAMP '2020-01-02'",
        "TIMESTAMP '2020-01-02', TIMESTAMPTZ '2020-01-02 00:00:00+00'", "ROW(7, 'a'), ROW(7, 7)"}) {
    const std::string each = values;
    const std::size_t comma = each.find(each[0] == 'R' ? "), " : "', ") + 1;
    const std::string error =
        sql.error("SELECT nestline_merge(k) FROM (SELECT unnest([(SELECT nestline_build(" +
                  each.substr(0, comma) + ", 0.01, 100)), (SELECT nestline_build(" +
                  each.substr(comma + 2) + ", 0.01, 100))]) AS k)");
    EXPECT_NE(error.find("cannot be merged: they are different keys"), std::string::npos) << error;
  }
  EXPECT_EQ(kinds("nestline_merge(getvariable('h'))"), kDate);
  EXPECT_EQ(kinds("nestline_insert(getvariable('h'), DATE '2021-01-01')"), kDate);
  EXPECT_EQ(kinds("nestline_erase(date, DATE '2020-01-02') FROM f"), kDate);
  EXPECT_EQ(kinds("nestline_insert(empty, 'a') FROM f"), kText);  // it had no keys
  EXPECT_EQ(kinds("nestline_insert(empty, ROW(1, 'a')) FROM f"), kRow | (kNumber | kText) << 16);
  EXPECT_EQ(kinds("nestline_build(k) FROM (SELECT NULL::DATE AS k)"), kDate);
  // A filter of rows of numbers is none of numbers, nor the other way round.
  EXPECT_NE(sql.error("SELECT nestline_may_contain(nestline_build(ROW(7, 8)), 7)"), "");
  EXPECT_NE(sql.error("SELECT nestline_may_contain(nestline_build(7), ROW(7, 8))"), "");
  // Nor is a row of two numbers one of a number and a text, though all its kinds are there.
  for (const char* const built :
       {"ROW(7, 'a')", "ROW(DATE '2020-01-02', TIMESTAMP '2020-01-02')", "ROW(ROW(7, 'a'), 7)"}) {
    for (const char* const asked :
         {"ROW(7, 7)", "ROW('a', 'a')", "ROW(DATE '2020-01-02', DATE '2020-01-02')",
          "ROW(ROW(7, 7), 7)"}) {
      EXPECT_NE(sql.error(std::string("SELECT nestline_may_contain(nestline_build(") + built +
                          "), " + asked + ")"),
                "")
          << built << " " << asked;
    }
    EXPECT_EQ(sql.number(std::string("SELECT nestline_may_contain(nestline_build(") + built +
                         "), " + built + ")::INT"),
              1);
  }
  // Those of other interfaces name none, and so do unions with them.
  Filter other = Filter::load(sql.blob("SELECT empty FROM f"));
  (void)other.insert("line"sv);
  const Blob lines = nestline::to_bytes(other);
  EXPECT_EQ(sql.number("SELECT nestline_may_contain(?, DATE '2020-01-02')::INT", {lines}), 0);
  EXPECT_EQ(Filter::load(sql.blob("SELECT nestline_merge(k) FROM (SELECT unnest([date, ?]) AS k "
                                  "FROM f)",
                                  {lines}))
                .key_kinds(),
            0u);
  EXPECT_EQ(Filter::load(sql.blob("SELECT nestline_insert(?, 7)", {lines})).key_kinds(), 0u);
}

// Members lie in vectors of their own, each of which may be constant, NULL, sliced or sorted.
TEST_F(DuckdbTest, RowsOfEveryForm) {
  sql.run(
      "CREATE TABLE t AS SELECT i, i % 3 AS a, CASE WHEN i % 5 <> 0 THEN 'text ' || i END AS b "
      "FROM range(10000) r(i)");
  for (const std::string key :
       {"ROW(1, i)",
        "ROW('c', i, ROW(NULL, DATE '2020-01-01', i), 'a constant text, which is long')",
        "ROW(a, b, i)", "(b, a, i::DECIMAL(9, 2))",
        "CASE WHEN i % 2 = 0 THEN ROW(a, i) ELSE ROW(-a, i) END",
        "(SELECT ROW(s.a, s.i) FROM t s WHERE s.i = t.i)"}) {
    sql.run("SET VARIABLE f = (SELECT nestline_open(nestline_build(k, 0.0001)) FROM (SELECT " +
            key + " AS k, i FROM t ORDER BY hash(i)) WHERE i % 10 < 4)");
    EXPECT_EQ(sql.number("SELECT nestline_info(getvariable('f')).keys"), 4000) << key;
    EXPECT_EQ(sql.number("SELECT count(*) FROM t WHERE i % 10 < 4 AND "
                         "nestline_may_contain(getvariable('f'), " +
                         key + ")"),
              4000)
        << key;
    EXPECT_LT(sql.number("SELECT count(*) FROM t WHERE i % 10 >= 4 AND "
                         "nestline_may_contain(getvariable('f'), " +
                         key + ")"),
              20)
        << key;
  }
  EXPECT_EQ(sql.number("SELECT nestline_info(nestline_build(CASE WHEN i % 2 = 0 THEN ROW(i, b) "
                       "END)).keys FROM t"),
            5000);
  // As DuckDB joins rows, NULL is equal to itself in them.
  sql.run("SET VARIABLE f = (SELECT nestline_open(nestline_build(ROW(a, b))) FROM t)");
  EXPECT_EQ(sql.number("SELECT count(*) FROM (SELECT * FROM t WHERE "
                       "nestline_may_contain(getvariable('f'), ROW(a, b))) u JOIN t s ON ROW(u.a, "
                       "u.b) = ROW(s.a, s.b)"),
            sql.number("SELECT count(*) FROM t JOIN t s ON ROW(t.a, t.b) = ROW(s.a, s.b)"));
}

}  // namespace
