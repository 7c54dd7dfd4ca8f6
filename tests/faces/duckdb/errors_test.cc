// What is refused, and with which sentence; memory that is missing, and queries that are stopped.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>

#include "nestline/io.h"
#include "tests/faces/duckdb/database.h"
#include "tests/support/child_process.h"
#include "tests/support/temp_folder.h"

namespace {

using nestline::Filter;
using nestline::test::Blob;
using nestline::test::Connection;
using nestline::test::Database;
using nestline::test::DuckdbTest;

Blob filter_to(std::uint64_t keys) {
  Filter filter({.capacity = keys, .fpr = 0.001});
  for (std::uint64_t key = 0; key < keys; ++key) (void)filter.insert(key);
  return nestline::to_bytes(filter);
}

struct Refused {
  std::string statement;
  std::string sentence;
};

TEST_F(DuckdbTest, WrongArgumentsAreErrors) {
  const std::string rate = "nestline: the false-positive rate is a number above 0 and below 1";
  const std::string room = "nestline: the capacity is a whole number above 0";
  const Refused cases[] = {
      {"SELECT nestline_build(1, -0.5)", rate},
      {"SELECT nestline_build(1, 0)", rate},
      {"SELECT nestline_build(1, 1)", rate},
      {"SELECT nestline_build(1, NULL)", rate},
      {"SELECT nestline_build(1, 'nan'::DOUBLE)", rate},
      {"SELECT nestline_build(1, 0.1, 0)", room},
      {"SELECT nestline_build(1, 0.1, NULL)", room},
      {"SELECT nestline_build(NULL::INTEGER, 0.1, -4)", room},
      {"SELECT nestline_build(1, 0.1, 9000000000000000000)", "longer than a value may be"},
      {"SELECT nestline_build(1, 1e-30)", "nestline: "},
      {"SELECT nestline_build(i, 0.01, 10) FROM range(5000) t(i)", "give a larger capacity"},
      {"SELECT nestline_build(i, 0.1 / (1 + i % 2)) FROM range(9) t(i)", "the same in all rows"},
      {"SELECT nestline_may_contain('text', 1)", "nestline: "},
      {"SELECT nestline_may_contain('\\x00'::BLOB, 1)", "nestline: "},
      {"SELECT nestline_may_contain('nest12345678'::BLOB, 1)",
       "the filter of this handle has gone"},
      {"SELECT nestline_may_contain(1, 1)", "nestline_may_contain"},
      {"SELECT nestline_info(repeat('text', 100)::BLOB)", "nestline: "},
      {"SELECT nestline_merge(f) FROM (VALUES (nestline_build(1, 0.1)), (NULL)) t(f)", "aggregate"},
      {"SELECT nestline_load('/there/is/none.nest')", "No such file"},
      {"SELECT nestline_limits(0, NULL)", "nestline: a limit is a whole number above 0"},
      {"SELECT nestline_limits(NULL, -1)", "nestline: a limit is a whole number above 0"},
      {"SELECT nestline_load('')", "is not empty and has no zero byte"},
      {"SELECT nestline_load('a' || chr(0))", "is not empty and has no zero byte"},
      {"SELECT nestline_save(f, '/there/is/none.nest') FROM (SELECT nestline_build(1) f)",
       "No such file"},
      {"SELECT nestline_merge(f) FROM (SELECT nestline_build(i, 0.1 / (1 + g), 90) f FROM "
       "(VALUES (1, 0), (1, 99)) t(i, g) GROUP BY g)",
       "their bits differ"},
      {"SELECT nestline_insert(f, i) FROM (SELECT nestline_build(1, 0.1, 10) f), range(9999) t(i)",
       "no room for all of these keys"},
      {"SELECT nestline_insert(f, 1) FROM (SELECT nestline_build(i) f FROM range(2) t(i) GROUP BY "
       "i)",
       "the filter is the same in all rows of a group"},
  };
  for (const auto& [statement, sentence] : cases) {
    const std::string error = sql.error(statement);
    EXPECT_NE(error.find(sentence), error.npos) << statement << ": " << error;
  }
}

TEST_F(DuckdbTest, EveryDamagedByteIsAnError) {
  Blob blob = filter_to(300);
  sql.run("SET errors_as_json = false");
  int found = 0;
  for (std::size_t at = 0; at < blob.size(); at += 37) {
    Blob damaged = blob;
    damaged[at] ^= std::byte{0x20};
    const std::string error = sql.error("SELECT nestline_may_contain(?, 1)", {damaged});
    EXPECT_NE(error.find("nestline: "), error.npos) << at;
    damaged = Blob(blob.begin(), blob.begin() + static_cast<std::ptrdiff_t>(at));
    found += sql.error("SELECT nestline_merge(?)", {damaged}).find("nestline: ") != error.npos;
  }
  EXPECT_EQ(found, (blob.size() + 36) / 37);
  EXPECT_EQ(sql.number("SELECT nestline_may_contain(?, 1)::INTEGER", {blob}), 1);
}

// A child, since a process cannot take more memory after it has less.
TEST(DuckdbMemory, IsMissing) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "sanitizers take all addresses";
#endif
  const int status = nestline::test::in_child([] {
    Database database(1);
    Connection sql(database.get());
    sql.run("SELECT nestline_may_contain(nestline_build(i), 1) FROM range(1000) t(i)");
    if (!nestline::test::limit_memory(96 << 20)) return 2;
    const std::string error =
        sql.error("SELECT octet_length(nestline_build(i)) FROM range(20000000) t(i)");
    if (error.find("nestline: there is no memory for it") == error.npos) {
      std::fprintf(stderr, "%s\n", error.c_str());
      return 3;
    }
    return sql.number(
               "SELECT nestline_may_contain(nestline_build(i), 7)::INT FROM range(9) t(i)") == 1
               ? 0
               : 4;
  });
  EXPECT_EQ(status, 0);
}

TEST_F(DuckdbTest, InterruptedQueriesEnd) {
  sql.run("SET VARIABLE f = (SELECT nestline_open(nestline_build(i)) FROM range(1000) t(i))");
  for (const std::string query :
       {"SELECT count(*) FROM range(1000000000000) t(i) WHERE "
        "nestline_may_contain(getvariable('f'), i)",
        "SELECT count(*) FROM (SELECT nestline_build(i % 1000) FROM range(1000000000000) t(i))",
        "SELECT i % 100, nestline_build(i % 1000) FROM range(1000000000000) t(i) GROUP BY ALL"}) {
    std::atomic<bool> has_ended = false;
    // A query that has not begun cannot be interrupted, so again and again.
    std::thread other([&] {
      while (!has_ended) {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        sql.interrupt();
      }
    });
    const std::string error = sql.error(query);
    has_ended = true;
    other.join();
    EXPECT_NE(error.find("INTERRUPT"), error.npos) << error;
  }
  EXPECT_EQ(
      sql.number(
          "SELECT count(*) FROM range(1000) t(i) WHERE nestline_may_contain(getvariable('f'), i)"),
      1000);
}

}  // namespace
