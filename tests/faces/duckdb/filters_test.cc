// The cache of opened filters, without DuckDB.
#include "lib/faces/duckdb/filters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include "nestline/io.h"
#include "tests/filters/file/format_tools.h"

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
  Filters filters({8, 1 << 20});
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
  Filters filters({64, 1 << 20});
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

// What a filter names is a part of what it is known by.
TEST(DuckdbFilters, OtherKindsAreAnotherFilter) {
  using namespace nestline::format_tools;
  Filters filters({8, 1 << 20});
  const Bytes none = filter_of(7);
  Bytes dates = none;
  put32(dates, 20, 16);
  seal_header(dates);
  Bytes place = none;
  for (int round = 0; round < 3; ++round) {
    std::ranges::copy(none, place.begin());
    const auto first = filters.open(place);
    EXPECT_EQ(first.filter->key_kinds(), 0u);
    std::ranges::copy(dates, place.begin());
    const auto second = filters.open(place);
    EXPECT_EQ(second.filter->key_kinds(), 16u);
    EXPECT_NE(first.handle, second.handle);
    EXPECT_EQ(filters.open(second.handle).filter->key_kinds(), 16u);
  }
}

TEST(DuckdbFilters, AreCheckedBeforeTheyAreKept) {
  Filters filters({64, 1 << 20});
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
  Filters few({4, 1 << 30});
  const auto open = [](Filters& filters, std::uint64_t key) {
    return filters.open(filter_of(key), Filters::For::handle);
  };
  const auto first = open(few, 0);
  for (std::uint64_t key = 1; key < 4; ++key) (void)open(few, key);
  EXPECT_EQ(few.open(first.handle).filter, first.filter);  // so it is the newest
  const auto second = few.open(filter_of(1)).handle;
  (void)open(few, 4);
  (void)open(few, 5);
  EXPECT_EQ(few.open(first.handle).filter, first.filter);
  EXPECT_NO_THROW((void)few.open(second));
  for (std::uint64_t key = 6; key < 10; ++key) (void)open(few, key);
  EXPECT_THROW((void)few.open(second), std::runtime_error);
  EXPECT_TRUE(first.filter->may_contain(0));  // who has it keeps it
  EXPECT_TRUE(open(few, 1).filter->may_contain(1));
  EXPECT_NO_THROW((void)few.open(second));  // its handle is the same

  Filters small({1000, 3 * first.filter->memory_bytes()});
  std::vector<Filters::Handle> handles;
  for (std::uint64_t key = 0; key < 4; ++key) handles.push_back(open(small, key).handle);
  EXPECT_THROW((void)small.open(handles[0]), std::runtime_error);
  EXPECT_NO_THROW((void)small.open(handles[1]));
  EXPECT_EQ(small.state().open.bytes, 3 * first.filter->memory_bytes());
  Filters tiny({1000, 1});
  const auto only = open(tiny, 1);
  EXPECT_NO_THROW((void)tiny.open(only.handle));
  (void)open(tiny, 2);
  EXPECT_THROW((void)tiny.open(only.handle), std::runtime_error);
}

TEST(DuckdbFilters, OtherBlobsTakeNoneFromItsHandle) {
  Filters few({3, 1 << 30});
  const auto held = few.open(filter_of(0), Filters::For::handle).handle;
  (void)few.open(filter_of(1));
  const auto later = few.open(filter_of(1), Filters::For::handle).handle;  // first without one
  for (std::uint64_t key = 2; key < 100; ++key) {
    EXPECT_TRUE(few.open(filter_of(key)).filter->may_contain(key));
    EXPECT_LE(few.state().open.filters, 3u);
  }
  EXPECT_TRUE(few.open(held).filter->may_contain(0));
  EXPECT_TRUE(few.open(later).filter->may_contain(1));
  // Where handles fill it, the newest other one stays beside them, for the next chunk.
  (void)few.open(filter_of(2), Filters::For::handle);
  const auto blob = few.open(filter_of(7)).filter;
  EXPECT_EQ(few.open(filter_of(7)).filter, blob);
  EXPECT_TRUE(few.open(held).filter->may_contain(0));
  // A handle more takes the room of the other one first, then of the oldest handle.
  (void)few.open(filter_of(3), Filters::For::handle);
  EXPECT_TRUE(few.open(held).filter->may_contain(0));
  EXPECT_THROW((void)few.open(later), std::runtime_error);
}

TEST(DuckdbFilters, LimitsCanBeChanged) {
  Filters filters({2, 1 << 30});
  std::vector<Filters::Handle> handles;
  const auto open = [&](std::uint64_t key) {
    handles.push_back(filters.open(filter_of(key), Filters::For::handle).handle);
  };
  for (std::uint64_t key = 0; key < 3; ++key) open(key);
  EXPECT_THROW((void)filters.open(handles[0]), std::runtime_error);
  filters.limit({100, 1 << 30});
  for (std::uint64_t key = 3; key < 50; ++key) open(key);
  EXPECT_NO_THROW((void)filters.open(handles[1]));
  EXPECT_EQ(filters.state().open.filters, 49u);
  filters.limit({5, 1 << 30});
  EXPECT_EQ(filters.state().open.filters, 5u);
  EXPECT_NO_THROW((void)filters.open(handles[1]));  // asked for last
  EXPECT_THROW((void)filters.open(handles[40]), std::runtime_error);
  filters.limit({100, 1});
  EXPECT_EQ(filters.state().open.filters, 1u);
}

TEST(DuckdbFilters, ServeThreads) {
  Filters filters({8, 1 << 30});
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
