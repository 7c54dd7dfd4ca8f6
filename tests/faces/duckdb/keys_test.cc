// Which value of SQL is which key: a filter built in DuckDB answers in C++, and one built in C++
// there.
#include <array>
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
      std::array{"{'a': 1}", "a key is an integer, BOOLEAN, DECIMAL, VARCHAR"},
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

}  // namespace
