// The cache of opened filters, without DuckDB.
#include "lib/duckdb/filters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <vector>

#include "nestline/io.h"

namespace {

using nestline::Filter;
using nestline::to_bytes;
using nestline::duckdb::Filters;
using Bytes = std::vector<std::byte>;

Bytes filter_of(std::uint64_t key) {
  Filter filter({.capacity = 100, .fpr = 0.0001});
  (void)filter.insert(key);
  return to_bytes(filter);
}

TEST(DuckdbFilters, OpenOnceWhereverTheBytesLie) {
  Filters filters(8, 1 << 20);
  const Bytes bytes = filter_of(7);
  const auto first = filters.open(bytes);
  EXPECT_TRUE(first.filter->may_contain(7));
  EXPECT_EQ(first.bytes, bytes.size());
  Bytes elsewhere(1);
  elsewhere.insert(elsewhere.end(), bytes.begin(), bytes.end());
  EXPECT_EQ(filters.open(std::span(elsewhere).subspan(1)).filter, first.filter);
  EXPECT_EQ(filters.open(first.handle).filter, first.filter);
}

// DuckDB uses the memory of a chunk again: other filters of the same length come at the same place.
TEST(DuckdbFilters, TheSamePlaceHasOtherContent) {
  Filters filters(64, 1 << 20);
  Bytes place = filter_of(0);
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t key = 0; key < 40; ++key) {
      const Bytes next = filter_of(key);
      ASSERT_EQ(next.size(), place.size());
      std::ranges::copy(next, place.begin());
      const auto opened = filters.open(place);
      EXPECT_TRUE(opened.filter->may_contain(key));
      EXPECT_FALSE(opened.filter->may_contain((key + 1) % 40));
    }
  }
  std::ranges::fill(place, std::byte{0});
  EXPECT_THROW((void)filters.open(place), nestline::FormatError);
}

TEST(DuckdbFilters, AreCheckedBeforeTheyAreKept) {
  Filters filters(64, 1 << 20);
  const Bytes whole = filter_of(5);
  for (std::size_t at = 0; at < whole.size(); at += 7) {
    Bytes damaged = whole;
    damaged[at] ^= std::byte{4};
    EXPECT_THROW((void)filters.open(damaged), nestline::FormatError) << at;
    if (at < 200) {
      EXPECT_THROW((void)filters.open(std::span(whole).first(at)), nestline::FormatError) << at;
    }
  }
  EXPECT_TRUE(filters.open(whole).filter->may_contain(5));
  Bytes longer = whole;
  longer.insert(longer.end() - 8, std::byte{0});
  EXPECT_THROW((void)filters.open(longer), nestline::FormatError);
}

TEST(DuckdbFilters, TheOldestGo) {
  Filters few(4, 1 << 30);
  const auto first = few.open(filter_of(0));
  for (std::uint64_t key = 1; key < 4; ++key) (void)few.open(filter_of(key));
  EXPECT_EQ(few.open(first.handle).filter, first.filter);  // so it is the newest
  const auto second = few.open(filter_of(1)).handle;
  (void)few.open(filter_of(4));
  (void)few.open(filter_of(5));
  EXPECT_EQ(few.open(first.handle).filter, first.filter);
  EXPECT_NO_THROW((void)few.open(second));
  for (std::uint64_t key = 6; key < 10; ++key) (void)few.open(filter_of(key));
  EXPECT_THROW((void)few.open(second), std::runtime_error);
  EXPECT_TRUE(first.filter->may_contain(0));  // who has it keeps it
  EXPECT_TRUE(few.open(filter_of(1)).filter->may_contain(1));
  EXPECT_NO_THROW((void)few.open(second));  // its handle is the same

  Filters small(1000, 3 * first.filter->memory_bytes());
  for (std::uint64_t key = 0; key < 4; ++key) (void)small.open(filter_of(key));
  EXPECT_THROW((void)small.open(Filters(1, 1).open(filter_of(3)).handle), std::runtime_error);
  Filters tiny(1000, 1);
  const auto only = tiny.open(filter_of(1));
  EXPECT_NO_THROW((void)tiny.open(only.handle));
  (void)tiny.open(filter_of(2));
  EXPECT_THROW((void)tiny.open(only.handle), std::runtime_error);
}

TEST(DuckdbFilters, ServeThreads) {
  Filters filters(8, 1 << 30);
  std::vector<Bytes> blobs;
  for (std::uint64_t key = 0; key < 16; ++key) blobs.push_back(filter_of(key));
  std::vector<std::thread> threads;
  std::vector<int> wrong(3);
  for (int& count : wrong) {
    threads.emplace_back([&] {
      for (std::uint64_t i = 0; i < 3000; ++i) {
        const std::uint64_t key = i * 7 % 16;
        const auto opened = filters.open(blobs[key]);
        count += !opened.filter->may_contain(key) || opened.filter->may_contain((key + 1) % 16);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(3));
}

}  // namespace
