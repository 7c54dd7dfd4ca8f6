// Statements with a filter in front count as they do without; what becomes of filters in them.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "nestline/io.h"
#include "tests/faces/duckdb/database.h"
#include "tests/support/temp_folder.h"

namespace {

using nestline::Filter;
using nestline::test::Blob;
using nestline::test::Connection;
using nestline::test::Database;
using nestline::test::DuckdbTest;

// `big` has 200,000 rows of 1000 groups, 2 % of them with a partner in `small`; NULLs in both.
constexpr const char* kTables[] = {
    "CREATE TABLE big AS SELECT CASE WHEN i % 1000 <> 7 THEN (hash(i) >> 1)::BIGINT END AS k, "
    "(i % 1000)::INTEGER AS g, 'user:' || hash(i) AS t FROM range(200000) r(i)",
    "CREATE TABLE small AS SELECT CASE WHEN i % 500 <> 3 THEN (hash(i) >> 1)::BIGINT END AS k, "
    "(i % 1000)::INTEGER AS g, 'user:' || hash(i) AS t FROM range(0, 400000, 50) r(i)",
    "CREATE TABLE none AS SELECT * FROM small WHERE false",
    "CREATE TABLE filters AS SELECT g, nestline_build(k, 0.001, 400) AS f FROM big GROUP BY g",
    "SET VARIABLE f = (SELECT nestline_build(k, 0.001) FROM small)",
    "SET VARIABLE h = (SELECT nestline_open(getvariable('f')))",
};
#define OPENED(key, table) "(SELECT nestline_open(nestline_build(" key ")) FROM " table ")"
constexpr std::array<const char*, 2> kShapes[] = {
    {"SELECT count(*) FROM big WHERE k IN (SELECT k FROM small)",
     "SELECT count(*) FROM big WHERE nestline_may_contain(" OPENED(
         "k", "small") ", k) AND k IN "
                       "(SELECT k FROM small)"},
    {"SELECT count(*) FROM big JOIN small USING (k)",
     "SELECT count(*) FROM (SELECT * FROM big WHERE nestline_may_contain(getvariable('h'), k)) "
     "JOIN small USING (k)"},
    {"SELECT count(*) FROM big WHERE NOT EXISTS (FROM small WHERE small.k = big.k)",
     "SELECT count(*) FROM big WHERE NOT coalesce(nestline_may_contain(getvariable('f'), k), false)"
     " OR NOT EXISTS (FROM small WHERE small.k = big.k)"},
    {"SELECT count(*) FROM big WHERE t IN (SELECT t FROM small)",
     "SELECT count(*) FROM big WHERE nestline_may_contain(" OPENED(
         "t", "small") ", t) AND t IN "
                       "(SELECT t FROM small)"},
    {"SELECT count(*) FROM big LEFT JOIN small USING (t) WHERE small.t IS NULL",
     "SELECT count(*) FROM big LEFT JOIN (SELECT * FROM small WHERE nestline_contains(" OPENED(
         "t", "big") ", t)) s USING (t) WHERE s.t IS NULL"},
    {"SELECT count(*) FROM big WHERE k IN (SELECT k FROM none)",
     "SELECT count(*) FROM big WHERE nestline_may_contain(" OPENED("k",
                                                                   "none") ", k) AND k IN "
                                                                           "(SELECT k FROM none)"},
    {"SELECT count(*) FROM big WHERE k NOT IN (SELECT k FROM none)",
     "SELECT count(*) FROM big WHERE nestline_may_contain(" OPENED("k", "none") ", k) IS NOT true"},
    {"SELECT count(*) FROM none WHERE k IN (SELECT k FROM small)",
     "SELECT count(*) FROM none WHERE nestline_may_contain(getvariable('h'), k)"},
    // 1000 filters, one for each group, and rows in any order.
    {"SELECT count(*) FROM small JOIN big USING (k, g)",
     "SELECT count(*) FROM (SELECT small.* FROM small JOIN filters USING (g) WHERE "
     "nestline_may_contain(f, k)) JOIN big USING (k, g)"},
    {"SELECT count(*) FROM big WHERE k IS NOT NULL",
     "SELECT count(*) FROM big JOIN (SELECT g, nestline_open(f) AS f FROM filters) USING (g) WHERE "
     "nestline_may_contain(f, k)"},
    {"SELECT count(*) FROM small WHERE EXISTS (FROM big WHERE big.g = small.g AND big.k = small.k)",
     "SELECT count(*) FROM small WHERE nestline_may_contain((SELECT f FROM filters WHERE filters.g "
     "= small.g), k) AND EXISTS (FROM big WHERE big.g = small.g AND big.k = small.k)"},
    {"SELECT count(*) FROM big WHERE k IN (SELECT k FROM small WHERE g < 300 UNION ALL SELECT k "
     "FROM small WHERE g >= 600)",
     "SELECT count(*) FROM big WHERE nestline_may_contain((SELECT nestline_open(nestline_merge(f)) "
     "FROM (SELECT nestline_build(k, 0.001, 9000) AS f FROM small WHERE g < 300 OR g >= 600 GROUP "
     "BY g < 300)), k) AND k IN (SELECT k FROM small WHERE g < 300 OR g >= 600)"},
};

TEST_F(DuckdbTest, CountsAreThoseOfPlainSql) {
  for (const char* const statement : kTables) sql.run(statement);
  for (const auto& [plain, filtered] : kShapes) {
    EXPECT_EQ(sql.number(filtered), sql.number(plain)) << filtered;
  }
  EXPECT_EQ(sql.number(kShapes[0][0]), 4000);  // so they are no zeros
}

TEST_F(DuckdbTest, ThreadsAndConnectionsHaveTheSameAnswers) {
  for (const char* const statement : kTables) sql.run(statement);
  sql.run("SET threads = 4");
  std::vector<std::int64_t> wanted;
  for (const auto& [plain, filtered] : kShapes) wanted.push_back(sql.number(plain));
  std::vector<int> wrong(3);
  std::vector<std::thread> threads;
  for (std::size_t number = 0; number < wrong.size(); ++number) {
    threads.emplace_back([&, number] {
      Connection other(database.get());
      for (std::size_t i = number; i < std::size(kShapes); i += 2) {
        // Variables are of a connection.
        other.run(kTables[4]);
        other.run(kTables[5]);
        wrong[number] += other.number(kShapes[i][1]) != wanted[i];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(3));
}

TEST_F(DuckdbTest, BuildsOfThreadsAreTheSameFilter) {
  sql.run("CREATE TABLE t AS SELECT (hash(i % 150000) >> 1)::BIGINT AS k FROM range(300000) r(i)");
  const Blob one = sql.blob("SELECT nestline_build(k, 0.001) FROM t");
  sql.run("SET threads = 4");
  const Blob four = sql.blob("SELECT nestline_build(k, 0.001) FROM t");
  EXPECT_EQ(four.size(), one.size());
  for (const Blob& blob : {one, four}) {
    EXPECT_EQ(sql.number("SELECT count(*) FROM t WHERE nestline_may_contain(?, k)", {blob}),
              300000);
    EXPECT_EQ(Filter::load(blob).size(), 150000u);  // once each
  }
  // A window combines one state into several.
  EXPECT_EQ(
      sql.number(
          "SELECT sum(nestline_info(f).keys) FROM (SELECT nestline_build(i) OVER (ORDER BY i ROWS "
          "BETWEEN 9 PRECEDING AND CURRENT ROW) AS f FROM range(1000) r(i))"),
      10 * 1000 - 45);
}

TEST_F(DuckdbTest, AKeyOfManyRowsIsKeptOnce) {
  const Blob blob = sql.blob("SELECT nestline_build(i % 100) FROM range(3000000) r(i)");
  EXPECT_EQ(sql.number("SELECT nestline_info(?).keys", {blob}), 100);
  EXPECT_EQ(sql.number("SELECT sum(nestline_may_contain(?, i)::INT)::BIGINT FROM range(100) r(i)",
                       {blob}),
            100);
}

// Each row has its own filter, all of one length: DuckDB takes memory of earlier ones again.
TEST_F(DuckdbTest, FiltersOfRowsAreNotMistaken) {
  sql.run(
      "CREATE TABLE f AS SELECT i, nestline_build(i, 0.0001, 50) AS b FROM range(3000) r(i) GROUP "
      "BY i");
  EXPECT_EQ(sql.number("SELECT count(DISTINCT octet_length(b)) FROM f"), 1);
  for (const std::string from : {"b", "unhex(hex(b))", "nestline_open(b)"}) {
    EXPECT_EQ(sql.number("SELECT count(*) FROM f WHERE nestline_may_contain(" + from + ", i)"),
              3000);
    EXPECT_LT(sql.number("SELECT count(*) FROM f WHERE nestline_may_contain(" + from + ", i + 1)"),
              12);
  }
  Blob place = sql.blob("SELECT b FROM f WHERE i = 0");
  for (std::int64_t i = 0; i < 200; ++i) {
    const Blob next = sql.blob("SELECT b FROM f WHERE i = ?", {i});
    std::copy(next.begin(), next.end(), place.begin());
    EXPECT_EQ(sql.number("SELECT nestline_may_contain(?, ?)::INT", {place, i}), 1);
    EXPECT_EQ(sql.number("SELECT nestline_may_contain(?, ?)::INT", {place, i + 1}), 0);
  }
}

// Sets how many filters may be open, which is of the process, until it is destroyed.
class FilterLimit {
 public:
  FilterLimit(Connection& sql, const std::string& filters) : sql_(sql) {
    sql_.run("SELECT nestline_limits(" + filters + ", NULL)");
  }
  FilterLimit(const FilterLimit&) = delete;
  FilterLimit& operator=(const FilterLimit&) = delete;
  ~FilterLimit() { (void)sql_.result("SELECT nestline_limits(4096, 1 << 30)"); }

 private:
  Connection& sql_;
};

TEST_F(DuckdbTest, HandlesLastUntilOthersNeedTheirRoom) {
  const FilterLimit limit(sql, "5");
  sql.run("SET VARIABLE h = (SELECT nestline_open(nestline_build(i)) FROM range(1000) r(i))");
  const std::string found =
      "SELECT count(*) FROM range(1000) r(i) WHERE nestline_may_contain(getvariable('h'), i)";
  sql.run("CREATE TABLE f AS SELECT i, nestline_build(i) AS b FROM range(300) r(i) GROUP BY i");
  EXPECT_EQ(sql.number("SELECT count(*) FROM f WHERE nestline_may_contain(b, i)"), 300);
  EXPECT_EQ(sql.number(found), 1000);  // blobs took it from no handle
  EXPECT_EQ(sql.number("SELECT nestline_limits(NULL, NULL).open_filters"), 5);

  EXPECT_EQ(sql.number("SELECT count(*) FROM (SELECT i, nestline_open(b) AS b FROM f ORDER BY i) "
                       "WHERE octet_length(b) = 12"),
            300);
  const std::string error = sql.error(found);
  EXPECT_NE(error.find("call nestline_open again"), error.npos) << error;
  sql.run("SET VARIABLE h = (SELECT nestline_open(nestline_build(i)) FROM range(1000) r(i))");
  EXPECT_EQ(sql.number("SELECT nestline_limits(1000, NULL).filters"), 1000);
  EXPECT_EQ(sql.number("SELECT sum(octet_length(nestline_open(b)))::BIGINT FROM f"), 3600);
  EXPECT_EQ(sql.number(found), 1000);
  EXPECT_EQ(sql.number("SELECT nestline_limits(NULL, 1000000).bytes"), 1000000);
  EXPECT_LE(sql.number("SELECT nestline_limits(NULL, NULL).open_bytes"), 1000000);
}

TEST_F(DuckdbTest, InsertAndEraseGiveChangedCopies) {
  sql.run("CREATE TABLE f AS SELECT nestline_build(i, 0.0001, 1000) AS b FROM range(500) r(i)");
  sql.run("CREATE TABLE more AS SELECT nestline_insert(b, i) AS b FROM f, range(400, 900) r(i)");
  EXPECT_EQ(sql.number("SELECT nestline_info(b).keys FROM more"), 1000);
  EXPECT_EQ(sql.number("SELECT count(*) FROM more, range(900) r(i) WHERE nestline_count(b, i) = "
                       "1 + (i BETWEEN 400 AND 499)::INT"),
            900);
  sql.run("CREATE TABLE less AS SELECT nestline_erase(b, i) AS b FROM more, range(0, 400) r(i)");
  EXPECT_EQ(
      sql.number("SELECT count(*) FROM less, range(900) r(i) WHERE nestline_may_contain(b, i)"),
      500);
  EXPECT_EQ(sql.number("SELECT nestline_info(b).keys FROM f"), 500);
}

TEST_F(DuckdbTest, WhatTwoFiltersHaveInCommon) {
  sql.run(
      "CREATE TABLE f AS SELECT i // 4000 AS n, nestline_build(i, 0.0001, 6000) AS f FROM "
      "range(12000) r(i) GROUP BY n");
  sql.run("INSERT INTO f SELECT 9, nestline_build(i, 0.0001, 6000) FROM range(3000, 5000) r(i)");
  const std::string pairs = " FROM f a, f b WHERE a.n = 9 AND b.n = ";
  for (const char* b : {"b.f", "nestline_open(b.f)"}) {
    EXPECT_EQ(
        sql.number(std::string("SELECT nestline_may_overlap(a.f, ") + b + ")::INT" + pairs + "0"),
        1);
    const std::string common = std::string("nestline_count_common(a.f, ") + b + ")";
    for (const std::string& figure : {".matches" + pairs + "0", ".estimate" + pairs + "1"}) {
      const std::int64_t keys = sql.number("SELECT " + common + figure);
      EXPECT_TRUE(keys >= 992 && keys <= 1008) << keys;
    }
    EXPECT_LT(sql.number("SELECT " + common + ".matches" + pairs + "2"), 8);
    EXPECT_EQ(sql.number("SELECT count(*)" + pairs + "2 AND " + common + ".by_chance < 2 AND " +
                         common + ".standard_error < 2"),
              1);
  }
  // A union that has doubled; a group without rows.
  sql.run(
      "CREATE TABLE parts AS SELECT i // 1000 AS g, nestline_build(i, 0.0001, 1000) AS f FROM "
      "range(8000) r(i) GROUP BY g");
  const std::string eight = "(SELECT nestline_merge(f) FROM parts)";
  EXPECT_EQ(sql.number("SELECT count(*) FROM parts WHERE nestline_may_overlap(f, " + eight +
                       ") AND nestline_count_common(" + eight + ", f).matches >= 1000"),
            8);
  EXPECT_EQ(
      sql.number("SELECT count(*) FROM parts, (SELECT nestline_build(NULL, 0.01, 70) AS e) WHERE "
                 "nestline_may_overlap(f, e) OR nestline_count_common(e, f).matches != 0"),
      0);
  for (const std::string ask : {"nestline_may_overlap", "nestline_count_common"}) {
    const auto expect_error = [&](const std::string& arguments, const char* sentence) {
      const std::string error = sql.error("SELECT " + ask + arguments);
      EXPECT_NE(error.find(sentence), error.npos) << error;
    };
    expect_error("(f, nestline_build(1)) FROM f GROUP BY f", "can be compared only if");
    expect_error("(f, NULL) FROM f", "there is no filter, it is NULL");
    expect_error("(nestline_build('2024-01-01'::DATE), nestline_build('2024-01-01'::TIMESTAMP))",
                 "date and timestamp cannot be compared");
    // DuckDB joins such columns without a word.
    expect_error("(nestline_build('500'), nestline_build(500))",
                 "text and number cannot be compared");
  }
}

TEST_F(DuckdbTest, WorthJoining) {
  sql.run(
      "SET VARIABLE few = (SELECT nestline_open(nestline_build(i, 0.0001)) FROM range(1000) r(i))");
  sql.run("CREATE TABLE f AS SELECT nestline_build(i, 0.0001) AS f FROM range(2000, 3000) r(i)");
  const auto count = [&](const std::string& ask, int rows, const std::string& key) {
    return sql.number("SELECT count(*) FROM range(" + std::to_string(rows) + ") r(i) WHERE " + ask +
                      ", " + key + ")");
  };
  const std::string worth = "nestline_worth_joining(getvariable('few')";
  // One thread, so that one count has all of the rows.
  sql.run("SET threads = 1");
  EXPECT_EQ(count(worth, 100000, "i"),
            count("nestline_may_contain(getvariable('few')", 100000, "i"));
  // Where all pass: true without a look, also for what is absent; and it looks again. A sample may
  // have begun in the statement before.
  EXPECT_EQ(count(worth, 50000, "CASE WHEN i < 12000 THEN i % 1000 ELSE i + 1000000 END"), 50000);
  const auto again = count(worth, 400000, "i + 1000000");
  EXPECT_GE(again, 20000);
  EXPECT_LT(again, 65536);
  // Each filter has a count of its own, whatever it comes in; NULLs are no answers.
  EXPECT_LT(count("nestline_worth_joining((SELECT f FROM f)", 50000, "i + 1000000"), 50);
  EXPECT_EQ(
      sql.number("SELECT count(nestline_worth_joining(getvariable('few'), CASE WHEN i % 2 = 0 "
                 "THEN i % 1000 END)) FROM range(20000) r(i)"),
      10000);
  EXPECT_NE(sql.error("SELECT nestline_worth_joining(NULL, 1)").find("there is no filter"),
            std::string::npos);
  EXPECT_NE(sql.error("SELECT nestline_worth_joining(f, 1.5::DOUBLE) FROM f").find("nestline"),
            std::string::npos);
  // Not folded, and the join is exact.
  for (const std::string ask : {"nestline_worth_joining", "nestline_may_contain"}) {
    EXPECT_EQ(
        sql.number("SELECT count(*) FROM (SELECT i % 1100 AS k FROM range(300000) r(i) WHERE " +
                   ask +
                   "(getvariable('few'), i % 1100)) JOIN (SELECT i AS k FROM "
                   "range(1000) r(i)) USING (k)"),
        300000 / 1100 * 1000 + 800);
  }
}

TEST_F(DuckdbTest, AFilterInManyRowsIsMergedOnce) {
  const std::string day = "(SELECT nestline_build(i, 0.001, 5000) AS f FROM range(1000) r(i)), ";
  for (const std::string filter : {"f", "nestline_open(f)"}) {
    const std::string merged = "SELECT nestline_info(nestline_merge(" + filter + ")).";
    EXPECT_EQ(sql.number(merged + "keys FROM " + day + "range(5000)"), 1000) << filter;
    EXPECT_EQ(sql.number(merged + "bytes FROM " + day + "range(5000)"),
              sql.number("SELECT nestline_info(f).bytes FROM " + day + "range(1)"));
  }
  EXPECT_EQ(sql.number("SELECT min(keys) + max(keys) FROM (SELECT nestline_info(nestline_merge(f))"
                       ".keys AS keys FROM " +
                       day + "range(5000) s(j) GROUP BY j % 10)"),
            2000);
  const std::string days =
      "(SELECT g, nestline_build(i + 1000 * g, 0.001, 5000) AS f FROM range(1000) r(i), range(3) "
      "s(g) GROUP BY g)";
  EXPECT_EQ(sql.number("SELECT nestline_info(nestline_merge(f ORDER BY g)).keys FROM " + days +
                       ", range(100)"),
            3000);
}

TEST_F(DuckdbTest, FilesAreThoseOfCpp) {
  const nestline::test::TempFolder folder;
  const std::string path = (folder / "f.nest").string();
  const std::int64_t saved = sql.number("SELECT nestline_save(nestline_build(i, 0.0001), '" + path +
                                        "') FROM range(1000) r(i)");
  EXPECT_EQ(saved, static_cast<std::int64_t>(std::filesystem::file_size(path)));
  Filter filter = Filter::load(path);
  EXPECT_EQ(filter.size(), 1000);
  EXPECT_EQ(sql.number("SELECT octet_length(nestline_load('" + path + "'))"),
            static_cast<std::int64_t>(nestline::to_bytes(filter).size()));
  (void)filter.insert(5000);
  nestline::save(filter, path);  // other content at the same path
  EXPECT_EQ(sql.number("SELECT nestline_may_contain(nestline_open(nestline_load('" + path +
                       "')), 5000)::INT"),
            1);
  EXPECT_EQ(sql.number("SELECT count(*) FROM range(1000) r(i) WHERE nestline_may_contain((SELECT "
                       "nestline_open(content) "
                       "FROM read_blob('" +
                       path + "')), i)"),
            1000);
}

TEST_F(DuckdbTest, InfoIsThatOfCpp) {
  const Blob blob = sql.blob("SELECT nestline_build(i, 0.001, 5000) FROM range(1000) r(i)");
  const Filter filter = Filter::load(blob);
  EXPECT_EQ(sql.number("SELECT nestline_info(?).keys", {blob}), 1000);
  EXPECT_EQ(sql.number("SELECT nestline_info(?).capacity", {blob}),
            static_cast<std::int64_t>(filter.capacity()));
  EXPECT_EQ(sql.number("SELECT nestline_info(?).bits", {blob}), filter.bits());
  EXPECT_EQ(sql.number("SELECT nestline_info(nestline_open(?)).bytes", {blob}),
            static_cast<std::int64_t>(blob.size()));
  EXPECT_EQ(sql.number("SELECT (nestline_info(?).rate * 1e12)::BIGINT", {blob}),
            static_cast<std::int64_t>(std::llround(filter.expected_fpr() * 1e12)));
}

TEST_F(DuckdbTest, NoFilterIsAnError) {
  sql.run(
      "CREATE TABLE t AS SELECT i AS k, i % 2 AS has, CASE WHEN i % 2 = 1 THEN nestline_open(f) "
      "END AS f FROM (SELECT nestline_build(1) AS f), range(300000) r(i)");
  const std::string filter = "nestline: there is no filter, it is NULL: is the variable set in ";
  for (const std::string asked :
       {"nestline_may_contain(NULL, 1)", "nestline_contains(getvariable('none'), 1)",
        "nestline_count(NULL, 1)", "nestline_may_contain(NULL, NULL)", "nestline_info(NULL)",
        "nestline_info(NULL).keys", "nestline_open(NULL)", "nestline_save(NULL, 'x')",
        "nestline_merge(NULL)", "nestline_insert(NULL, 1)", "nestline_erase(NULL, 1)",
        "count(*) FROM t WHERE nestline_may_contain(f, k)",
        "count(*) FROM t WHERE nestline_may_contain((SELECT f FROM t WHERE k < 0), k)",
        "nestline_merge(f) FROM t", "nestline_insert(f, k) FROM t WHERE k < 2"}) {
    const std::string error = sql.error("SELECT " + asked);
    EXPECT_NE(error.find(filter), error.npos) << asked << error;
  }
  for (const std::string path : {"nestline_load(NULL)", "nestline_save(nestline_build(1), NULL)"}) {
    const std::string error = sql.error("SELECT " + path);
    EXPECT_NE(error.find("nestline: there is no path, it is NULL"), error.npos) << path << error;
  }
  for (const std::string change : {"nestline_insert", "nestline_erase"}) {
    const std::string error = sql.error("SELECT " + change + "(f, k) FROM t WHERE k < 0");
    EXPECT_NE(error.find("there are no rows, so there is no filter"), error.npos) << error;
  }
  EXPECT_EQ(sql.number("SELECT nestline_info(nestline_insert(f, NULL)).keys FROM t WHERE f IS NOT "
                       "NULL"),
            1);
  // Another connection has variables of its own.
  sql.run("SET VARIABLE f = (SELECT nestline_open(nestline_build(i)) FROM range(10) r(i))");
  const std::string ask =
      "SELECT count(*) FROM range(10) r(i) WHERE nestline_may_contain("
      "getvariable('f'), i)";
  EXPECT_EQ(sql.number(ask), 10);
  EXPECT_NE(Connection(database.get()).error(ask).find(filter), std::string::npos);
}

TEST_F(DuckdbTest, NoFilterIsNullForWhoWantsIt) {
  sql.run(
      "CREATE TABLE t AS SELECT i AS k, i % 2 AS has, CASE WHEN i % 2 = 1 THEN nestline_open(f) "
      "END AS f FROM (SELECT nestline_build(1, 1e-4) AS f), range(300000) r(i)");
  const auto found = sql.number(
      "SELECT count(*) FROM t WHERE CASE WHEN f IS NOT NULL THEN nestline_may_contain(f, k) END");
  EXPECT_GE(found, 1);
  EXPECT_LT(found, 60);
  for (const std::string condition :
       {"nestline_may_contain_or_null(f, k)", "nestline_contains_or_null(f, k)",
        "nestline_count_or_null(f, k) > 0",
        "hash(k) > 0 AND k % 2 = 1 AND nestline_may_contain_or_null(f, k)",
        "CASE WHEN k % 2 = 1 THEN nestline_may_contain(f, k) END",
        // DuckDB takes the rows without a filter out as it reads the table.
        "nestline_may_contain(f, k) AND f IS NOT NULL"}) {
    EXPECT_EQ(sql.number("SELECT count(*) FROM t WHERE " + condition), found) << condition;
  }
  EXPECT_EQ(sql.number("SELECT count(*) FROM t WHERE nestline_may_contain_or_null(f, k) IS NULL"),
            150000);
  // What is not asked is no error.
  for (const std::string nothing :
       {"CASE WHEN 1 < 0 THEN nestline_may_contain(NULL, 1) END",
        "nestline_may_contain(nestline_build(1), NULL)", "nestline_may_contain_or_null(NULL, 1)",
        "nestline_contains_or_null(NULL, 1)", "nestline_count_or_null(NULL, 1)",
        "nestline_merge(f) FROM t WHERE k < 0"}) {
    EXPECT_EQ(
        sql.number(
            "SELECT (" + nothing.substr(0, nothing.find(" FROM")) + ") IS NULL" +
            (nothing.find(" FROM") == nothing.npos ? "" : nothing.substr(nothing.find(" FROM")))),
        1)
        << nothing;
  }
  EXPECT_EQ(sql.number("SELECT count(*) FROM t WHERE k < 0 AND nestline_may_contain(NULL, k)"), 0);
}

TEST_F(DuckdbTest, NoRows) {
  EXPECT_EQ(sql.number("SELECT nestline_info(nestline_build(NULL)).keys"), 0);
  EXPECT_EQ(sql.number(
                "SELECT nestline_may_contain(nestline_build(i, 0.001), 1)::INT FROM range(0) r(i)"),
            0);
  // DuckDB asks no aggregate for a row without partners; the page says so.
  sql.run("CREATE TABLE f AS SELECT nestline_build(1) AS b");
  sql.run("CREATE TABLE newer (id INTEGER)");
  sql.run("UPDATE f SET b = coalesce((SELECT nestline_insert(b, id) FROM newer), b)");
  EXPECT_EQ(sql.number("SELECT nestline_info(b).keys FROM f"), 1);
  sql.run("INSERT INTO newer VALUES (2), (3)");
  sql.run("UPDATE f SET b = coalesce((SELECT nestline_insert(b, id) FROM newer), b)");
  EXPECT_EQ(sql.number("SELECT nestline_info(b).keys FROM f"), 3);
}

}  // namespace
