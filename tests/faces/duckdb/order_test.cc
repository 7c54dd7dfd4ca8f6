// The same rows give the same bytes, whatever their order and the number of threads.
#include <array>
#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

#include "nestline/io.h"
#include "tests/faces/duckdb/database.h"

namespace {

using nestline::Filter;
using nestline::test::Blob;
using nestline::test::DuckdbTest;

// Rows for several threads, each of which takes 122,880 at a time. Of `few` some keys have two
// rows, of `many` each has a hundred. `day` has handles of 200 filters.
constexpr const char* kRows[] = {
    "CREATE TABLE days AS SELECT i % 200 AS day, nestline_build(i, 0.001, 1000) AS f FROM "
    "range(40000) r(i) WHERE i % 300 > i % 200 GROUP BY day",
    "CREATE TABLE t AS SELECT i, (hash(i) >> 1)::BIGINT AS k, i % 2 AS half, 'user:' || i AS text, "
    "i % 290000 AS few, i % 3000 AS many, day FROM range(300000) r(i) JOIN (SELECT day AS d, "
    "nestline_open(f) AS day FROM days) ON i % 200 = d",
    "SET VARIABLE h = (SELECT nestline_open(nestline_build(k, 0.001, 600000)) FROM t WHERE half = "
    "0)",
};

#define GROUPS(column, call)                                                                \
  "SELECT md5(string_agg(md5(f), '' ORDER BY g))::BLOB FROM (SELECT " column " AS g, " call \
  " AS f "                                                                                  \
  "FROM t GROUP BY g)"
constexpr const char* kStatements[] = {
    "SELECT nestline_build(k) FROM t",
    "SELECT nestline_build(k, 0.0001) FROM t",
    "SELECT nestline_build(k, 0.001, 400000) FROM t",
    "SELECT nestline_build(text) FROM t",
    "SELECT nestline_build(ROW(k, half)) FROM t",
    "SELECT nestline_build(few) FROM t",
    "SELECT nestline_build(many, 0.001, 300000) FROM t",
    "SELECT nestline_open(nestline_build(k)) FROM t",  // a handle
    GROUPS("half", "nestline_build(k)"),
    GROUPS("i % 300", "nestline_build(k, 0.001, 2000)"),
    "SELECT nestline_merge(day) FROM t",
    GROUPS("half", "nestline_merge(day)"),
    "SELECT nestline_insert(getvariable('h'), k) FROM t",
    "SELECT nestline_erase(getvariable('h'), i) FROM t",  // takes what looks the same
};

// Orders of the rows, and numbers of threads.
constexpr std::array<const char*, 2> kRuns[] = {
    {"i", "1"}, {"i", "2"}, {"hash(i)", "4"}, {"hash(i)", "4"}};

TEST_F(DuckdbTest, TheSameRowsGiveTheSameBytes) {
  for (const char* const table : kRows) sql.run(table);
  std::vector<Blob> wanted;
  for (const auto& [order, threads] : kRuns) {
    sql.run("CREATE OR REPLACE TABLE t AS FROM t ORDER BY " + std::string(order));
    sql.run("SET threads = " + std::string(threads));
    for (std::size_t n = 0; n < std::size(kStatements); ++n) {
      const Blob got = sql.blob(kStatements[n]);
      if (n == wanted.size()) wanted.push_back(got);
      EXPECT_TRUE(got == wanted[n]) << kStatements[n] << ' ' << order << ' ' << threads;
    }
  }
  EXPECT_EQ(Filter::load(wanted[5]).size(), 290000u);  // each key once
  EXPECT_EQ(Filter::load(wanted[6]).size(), 3000u);
}

// A filter is merged once wherever its rows are.
TEST_F(DuckdbTest, EqualFiltersAreMergedOnce) {
  EXPECT_EQ(sql.number("SELECT nestline_info(nestline_merge(f)).keys FROM (SELECT "
                       "nestline_build(i, 0.001, 90) AS f FROM range(60) r(i) GROUP BY i % 3), "
                       "range(50)"),
            60);
}

}  // namespace
