// Filter's single-key contract for the three kinds of key, at each width.
#include "nestline/filter.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <utility>

#include "lib/engine/place/layout.h"
#include "nestline/concurrent_filter.h"
#include "nestline/io.h"

namespace nestline::test { namespace {

static_assert(std::is_nothrow_move_constructible_v<Filter>);
static_assert(std::is_nothrow_move_assignable_v<Filter>);
static_assert(!std::is_copy_constructible_v<Filter>);
static_assert(noexcept(std::declval<const Filter&>().may_contain(std::uint64_t{1})));

class FilterTest : public testing::TestWithParam<int> {
 protected:
  Filter filter_{{.capacity = 10000, .bits = GetParam(), .seed = 1}};
};

TEST_P(FilterTest, InsertFindCountErase) {
  EXPECT_FALSE(filter_.may_contain(std::uint64_t{42}));
  EXPECT_EQ(filter_.count(std::uint64_t{42}), 0u);
  EXPECT_FALSE(filter_.erase(std::uint64_t{42}));
  EXPECT_EQ(filter_.insert(std::uint64_t{42}).outcome, Outcome::stored);
  EXPECT_EQ(filter_.insert(std::uint64_t{42}).outcome, Outcome::stored);
  EXPECT_TRUE(filter_.may_contain(std::uint64_t{42}));
  EXPECT_EQ(filter_.count(std::uint64_t{42}), 2u);
  EXPECT_EQ(filter_.size(), 2u);
  EXPECT_TRUE(filter_.erase(std::uint64_t{42}));
  EXPECT_TRUE(filter_.may_contain(std::uint64_t{42}));
  EXPECT_TRUE(filter_.erase(std::uint64_t{42}));
  EXPECT_FALSE(filter_.may_contain(std::uint64_t{42}));
  EXPECT_EQ(filter_.size(), 0u);
}

TEST_P(FilterTest, InsertUnique) {
  EXPECT_EQ(filter_.insert_unique("key").outcome, Outcome::stored);
  const Inserted again = filter_.insert_unique("key");
  EXPECT_EQ(again.outcome, Outcome::present);
  EXPECT_FALSE(again);
  EXPECT_EQ(filter_.count("key"), 1u);
  EXPECT_EQ(filter_.size(), 1u);
}

TEST_P(FilterTest, Update) {
  EXPECT_TRUE(filter_.insert("old"));
  EXPECT_EQ(filter_.update("old", "new").outcome, Outcome::stored);
  EXPECT_FALSE(filter_.may_contain("old"));
  EXPECT_TRUE(filter_.may_contain("new"));
  EXPECT_EQ(filter_.size(), 1u);
  EXPECT_EQ(filter_.update("new", "new").outcome, Outcome::stored);
  EXPECT_EQ(filter_.count("new"), 1u);
  EXPECT_EQ(filter_.size(), 1u);
}

TEST_P(FilterTest, UpdateOfAFullFilterKeepsTheOldKey) {
  std::uint64_t stored = 0;
  while (filter_.insert(stored)) ++stored;
  for (std::uint64_t key = 0; key < 200; ++key) {
    const Outcome outcome = filter_.update(key, key + (std::uint64_t{1} << 40)).outcome;
    ASSERT_TRUE(outcome == Outcome::stored || outcome == Outcome::full);
    ASSERT_TRUE(
        filter_.may_contain(outcome == Outcome::full ? key : key + (std::uint64_t{1} << 40)));
    ASSERT_EQ(filter_.size(), stored);
  }
  for (std::uint64_t key = 200; key < stored; ++key) ASSERT_TRUE(filter_.may_contain(key));
}

TEST_P(FilterTest, StringsMayHoldAnyBytes) {
  const std::string nul(1, '\0');
  const std::string two(2, '\0');
  const std::string high = "\xff\xfe\n\r";
  const std::string large(1 << 20, 'x');
  for (const std::string& key : {std::string(), nul, two, high, large}) {
    EXPECT_FALSE(filter_.may_contain(key)) << key.size();
    EXPECT_TRUE(filter_.insert(key));
    EXPECT_TRUE(filter_.may_contain(key));
  }
  EXPECT_FALSE(filter_.may_contain(std::string(3, '\0')));
}

TEST_P(FilterTest, MovesKeepTheContent) {
  EXPECT_TRUE(filter_.insert("key"));
  Filter moved(std::move(filter_));
  EXPECT_TRUE(moved.may_contain("key"));
  Filter other({.capacity = 1});
  other = std::move(moved);
  EXPECT_TRUE(other.may_contain("key"));
  EXPECT_EQ(other.size(), 1u);
  EXPECT_EQ(other.bits(), GetParam());
}

TEST_P(FilterTest, ACloneHasItsOwnContent) {
  const Options options{.capacity = 1000, .bits = GetParam(), .max_capacity = 4000, .seed = 9};
  Filter filter(options);
  for (std::uint64_t key = 0; key < 1500; ++key) ASSERT_TRUE(filter.insert(key));
  ASSERT_GT(filter.growth(), 0u);
  Filter clone = filter.snapshot();
  EXPECT_EQ(to_bytes(clone), to_bytes(filter));
  EXPECT_EQ(clone.max_capacity(), filter.max_capacity());
  const auto bytes = to_bytes(filter);
  EXPECT_TRUE(clone.erase(std::uint64_t{1}));
  EXPECT_TRUE(clone.insert("only here"));
  EXPECT_EQ(to_bytes(filter), bytes);
  const auto changed = to_bytes(clone);
  filter.clear();
  EXPECT_EQ(to_bytes(clone), changed);
  // It keeps the promise to grow.
  for (std::uint64_t key = 1500; key < 4000; ++key) ASSERT_TRUE(clone.insert(key));
  EXPECT_GE(clone.capacity(), 4000u);
  for (std::uint64_t key = 2; key < 4000; ++key) ASSERT_TRUE(clone.may_contain(key));
}

TEST_P(FilterTest, SlotsAreThoseOfTheBlocks) {
  const std::uint64_t in_a_block =
      std::map<int, std::uint64_t>{{8, 60}, {9, 52}, {10, 48}, {12, 40}, {16, 30}}.at(GetParam());
  EXPECT_EQ(filter_.slots(), filter_.memory_bytes() / 64 * in_a_block);
  EXPECT_GE(filter_.slots(), filter_.capacity());
  const std::uint64_t before = filter_.slots();
  for (std::uint64_t key = 0; key < 5000; ++key) ASSERT_TRUE(filter_.insert(key));
  EXPECT_DOUBLE_EQ(filter_.load_factor(), 5000 / static_cast<double>(before));
  ASSERT_TRUE(filter_.grow());
  EXPECT_EQ(filter_.slots(), 2 * before);
  ConcurrentFilter shared(std::move(filter_));
  EXPECT_EQ(shared.slots(), 2 * before);
  ASSERT_TRUE(shared.grow());
  EXPECT_EQ(shared.slots(), 4 * before);
}

// Copies of one key: no more than the slots it may use, and the filter stays usable.
TEST_P(FilterTest, FloodOfOneKey) {
  const unsigned choices = GetParam() == 16 ? 5 : 4;
  for (int i = 0; i < 100000; ++i) {
    const Outcome outcome = filter_.insert("the same").outcome;
    ASSERT_EQ(outcome,
              i < static_cast<int>(2 * choices) ? Outcome::stored : Outcome::too_many_copies);
  }
  EXPECT_EQ(filter_.size(), 2 * choices);
  for (std::uint64_t key = 0; key < 9990; ++key) ASSERT_TRUE(filter_.insert(key));
  for (std::uint64_t key = 0; key < 9990; ++key) ASSERT_TRUE(filter_.may_contain(key));
}

// Filters larger than 2^32 bytes of blocks address them with 64 bits. They reserve the memory, but
// only touched pages use any.
TEST_P(FilterTest, SparseFilterBeyondFourGigabytes) {
  Filter filter({.capacity = std::uint64_t{1} << 33, .bits = GetParam()});
  ASSERT_GT(filter.memory_bytes(), std::size_t{1} << 33);
  for (std::uint64_t i = 0; i < 64; ++i) {
    ASSERT_TRUE(filter.insert(Hash{i << 58 | i * 0x1234567}));
  }
  for (std::uint64_t i = 0; i < 64; ++i) {
    ASSERT_EQ(filter.count(Hash{i << 58 | i * 0x1234567}), 1u);
    ASSERT_FALSE(filter.may_contain(Hash{(i << 58 | i * 0x1234567) + (std::uint64_t{1} << 50)}));
    ASSERT_TRUE(filter.erase(Hash{i << 58 | i * 0x1234567}));
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, FilterTest, testing::ValuesIn(kFilterWidths));

#ifndef NDEBUG
template <class Handle, typename Use>
void expect_named(Handle handle, Use&& use) {
  const Handle next = std::move(handle);
  EXPECT_DEATH(use(handle), "an object that was moved from is used");  // NOLINT
}

TEST(MovedFrom, IsNamed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Options options = {.capacity = 1000};
  expect_named(Filter(options), [](Filter& filter) { (void)filter.insert("key"); });
  expect_named(Filter(options), [](Filter& filter) { (void)filter.may_contain("key"); });
  expect_named(Filter(options), [](Filter& filter) { (void)filter.size(); });
  expect_named(Filter(options), [](Filter& filter) { (void)filter.reader(); });
  expect_named(ConcurrentFilter(options),
               [](ConcurrentFilter& filter) { (void)filter.may_contain("key"); });
  expect_named(ConcurrentFilter(options),
               [](ConcurrentFilter& filter) { (void)filter.insert("key"); });
}
#endif

}  // namespace
}  // namespace nestline::test
