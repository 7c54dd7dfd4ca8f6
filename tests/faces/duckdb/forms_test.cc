// Every form in which a statement may call an aggregate: the filter of each row has the keys of its
// group, no others, and the process goes on.
#include <array>
#include <string>

#include "tests/faces/duckdb/database.h"

namespace {

using nestline::test::Connection;
using nestline::test::Database;

// 200 keys in groups of one, two and fifty, in no order. `b` is a filter of the key in its row,
// `none` one of no key, `all` one of all, each with room for all.
constexpr const char* kFormTables[] = {
    "CREATE TABLE b AS SELECT i, nestline_build(i, 0.0001, 300) AS b FROM range(200) r(i) GROUP "
    "BY i",
    "CREATE TABLE t AS SELECT i, CASE WHEN i < 40 THEN i WHEN i < 100 THEN 1000 + i // 2 ELSE "
    "2000 + "
    "i // 50 END AS g, b, (SELECT nestline_build(NULL::INT, 0.0001, 300)) AS none, "
    "(SELECT nestline_build(i, 0.0001, 300) FROM range(200) r(i)) AS \"all\" FROM b ORDER BY "
    "hash(i)",
};

// What an aggregate has between its brackets, the argument that differs, and whether its filters
// have the keys of all other groups instead.
struct Aggregate {
  const char* name;
  const char* arguments;
  const char* key;
  bool is_of_others = false;
};
constexpr Aggregate kAggregates[] = {
    {"nestline_build", "i, 0.0001, 300", "i"},
    {"nestline_merge", "b", "b"},
    {"nestline_insert", "none, i", "i"},
    {"nestline_erase", "\"all\", i", "i", true},
};

// Rows (g, f), perhaps several of a group. The words in capitals stand for the members of
// Aggregate.
constexpr const char* kForms[] = {
    "SELECT g, CALL(ARGUMENTS) AS f FROM t GROUP BY g",
    "SELECT g, CALL(ARGUMENTS ORDER BY i) AS f FROM t GROUP BY g",
    "SELECT g, CALL(ARGUMENTS ORDER BY -i, t.rowid) AS f FROM t GROUP BY g",
    "SELECT g, CALL(DISTINCT ARGUMENTS) AS f FROM t GROUP BY g",
    "SELECT g, CALL(DISTINCT ARGUMENTS ORDER BY KEY) AS f FROM t GROUP BY g",
    "SELECT g, CALL(ARGUMENTS) FILTER (i >= 0) AS f FROM t GROUP BY g",
    "SELECT g, CALL(ARGUMENTS ORDER BY i) FILTER (i >= 0) AS f FROM t GROUP BY g",
    "SELECT g, CALL(ARGUMENTS) AS f FROM t GROUP BY GROUPING SETS (g, (g, g < 5))",
    "SELECT g, CALL(ARGUMENTS) OVER (PARTITION BY g) AS f FROM t",
    "SELECT g, CALL(ARGUMENTS ORDER BY i) OVER (PARTITION BY g) AS f FROM t",
    "SELECT g, CALL(DISTINCT ARGUMENTS) OVER (PARTITION BY g) AS f FROM t",
    "SELECT g, CALL(ARGUMENTS) FILTER (i >= 0) OVER (PARTITION BY g) AS f FROM t",
    "SELECT g, CALL(ARGUMENTS) OVER (PARTITION BY g ORDER BY i ROWS BETWEEN UNBOUNDED PRECEDING "
    "AND "
    "UNBOUNDED FOLLOWING) AS f FROM t",
    "SELECT g, CALL(ARGUMENTS ORDER BY -i) OVER (PARTITION BY g ORDER BY i ROWS BETWEEN UNBOUNDED "
    "PRECEDING AND UNBOUNDED FOLLOWING) AS f FROM t",
    "SELECT g, CALL(ARGUMENTS) OVER (ORDER BY g RANGE BETWEEN CURRENT ROW AND CURRENT ROW) AS f "
    "FROM t",
    "SELECT g, CALL(ARGUMENTS) OVER (ORDER BY g GROUPS BETWEEN 0 PRECEDING AND 0 FOLLOWING) AS f "
    "FROM t",
    // The states of one lie behind those of the other.
    "SELECT g, CALL(ARGUMENTS) OVER (PARTITION BY g) AS f, CALL(ARGUMENTS) OVER (PARTITION BY g "
    "RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS f2 FROM t",
    "SELECT g, CALL(ARGUMENTS ORDER BY -i) AS f, CALL(ARGUMENTS ORDER BY i) AS f2, CALL(ARGUMENTS) "
    "AS "
    "f3 FROM t GROUP BY g",
};
// The same of a single group.
constexpr const char* kForAll[] = {
    "SELECT CALL(ARGUMENTS) AS f FROM t",
    "SELECT CALL(ARGUMENTS ORDER BY i DESC) AS f FROM t",
    "SELECT CALL(DISTINCT ARGUMENTS ORDER BY KEY) AS f FROM t",
    "SELECT CALL(ARGUMENTS) OVER () AS f FROM t",
    "SELECT CALL(ARGUMENTS ORDER BY i) OVER () AS f FROM t",
    "SELECT max(f) AS f FROM (SELECT CALL(ARGUMENTS) OVER (ROWS UNBOUNDED PRECEDING) AS f, "
    "row_number() OVER () AS n FROM t) WHERE n = 200",
    "SELECT f FROM (SELECT CALL(ARGUMENTS) OVER (ORDER BY i ROWS UNBOUNDED PRECEDING) AS f, i FROM "
    "t) "
    "WHERE i = 199",
    "SELECT f FROM (SELECT CALL(ARGUMENTS) OVER (ORDER BY i ROWS UNBOUNDED PRECEDING EXCLUDE NO "
    "OTHERS) AS f, i FROM t) WHERE i = 199",
};

std::string filled(std::string form, const Aggregate& aggregate) {
  for (const auto& [word, text] :
       {std::array{"CALL", aggregate.name}, std::array{"ARGUMENTS", aggregate.arguments},
        std::array{"KEY", aggregate.key}}) {
    const std::string searched = word;
    for (auto at = form.find(searched); at != form.npos; at = form.find(searched, at)) {
      form.replace(at, searched.size(), text);
    }
  }
  return form;
}

TEST(DuckdbForms, EachGivesTheKeysOfItsGroup) {
  const Database database(2);
  Connection sql(database.get());
  for (const char* const table : kFormTables) sql.run(table);
  sql.run("CREATE TABLE sizes AS SELECT g, count(*) AS size FROM t GROUP BY g");
  for (const Aggregate& aggregate : kAggregates) {
    const std::string others = aggregate.is_of_others ? "200 - " : "";
    for (const char* const form : kForms) {
      const std::string statement = filled(form, aggregate);
      sql.run("CREATE OR REPLACE TABLE w AS SELECT DISTINCT g, f FROM (" + statement + ")");
      EXPECT_EQ(sql.number("SELECT count(DISTINCT g) FROM w"), 72) << statement;
      EXPECT_EQ(sql.number("SELECT count(*) FROM w JOIN sizes USING (g) WHERE "
                           "nestline_info(f).keys <> " +
                           others + "size"),
                0)
          << statement;
      EXPECT_EQ(sql.number("SELECT count(*) FROM w JOIN t ON (w.g = t.g) <> " +
                           std::string(aggregate.is_of_others ? "true" : "false") +
                           " WHERE NOT nestline_may_contain(f, i)"),
                0)
          << statement;
    }
    for (const char* const form : kForAll) {
      const std::string statement = filled(form, aggregate);
      EXPECT_EQ(
          sql.number("SELECT sum(nestline_may_contain(f, i)::INT)::BIGINT FROM (SELECT f FROM (" +
                     statement + ") LIMIT 1), range(200) r(i)"),
          aggregate.is_of_others ? 0 : 200)
          << statement;
    }
  }
}

// Statements in which DuckDB has no such form, or we have none.
TEST(DuckdbForms, OthersAreErrors) {
  const Database database(1);
  Connection sql(database.get());
  for (const std::string form : {
           "SELECT nestline_build(i) EXPORT_STATE FROM range(9) t(i)",
           "SELECT nestline_build(*) FROM range(9) t(i)",
           "SELECT nestline_build(i, 0.1 / (1 + i) ORDER BY i) FROM range(9) t(i)",
           "SELECT nestline_build(i, 0.1 / (1 + i)) OVER () FROM range(9) t(i)",
           "SELECT nestline_merge('x'::BLOB ORDER BY i) OVER () FROM range(9) t(i)",
           "SELECT nestline_insert(nestline_build(1, 0.1, 10), i ORDER BY i) FROM range(9999) t(i)",
       }) {
    EXPECT_NE(sql.error(form), "") << form;
  }
  EXPECT_EQ(sql.number("SELECT nestline_info(list_aggregate(list(i), 'nestline_build')).keys FROM "
                       "range(9) t(i)"),
            9);
}

}  // namespace
