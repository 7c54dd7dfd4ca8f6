// Every batch form, compared with its keys one by one: lengths around the kernels' group of 64,
// aligned and unaligned memory, the three kinds of key; and spans of wrong length.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/engine/place/layout.h"
#include "tests/support/answers.h"
#include "tests/support/wrong_lengths.h"

namespace nestline::test { namespace {

constexpr std::size_t kLengths[] = {0, 1, 7, 63, 64, 65, 127, 128, 129, 1000, 5000};

template <typename Key>
class BatchTest : public testing::Test {};
using KeyTypes = testing::Types<std::uint64_t, Hash, std::string_view>;
TYPED_TEST_SUITE(BatchTest, KeyTypes);

// A filter of each width with every third key in it.
template <typename Key>
std::vector<Filter> sample_filters(std::span<const Key> keys) {
  std::vector<Filter> filters;
  for (const int bits : kFilterWidths) {
    filters.emplace_back(Options{.capacity = keys.size() / 3 + 1, .bits = bits, .seed = 5});
    for (std::size_t i = 0; i < keys.size(); i += 3) EXPECT_TRUE(filters.back().insert(keys[i]));
  }
  return filters;
}

TYPED_TEST(BatchTest, LookupsInEveryShape) {
  const Keys<TypeParam> keys(kLengths[std::size(kLengths) - 1] + 8);
  const std::vector<Filter> filters = sample_filters(keys.all());
  for (const Filter& filter : filters) {
    for (const std::size_t length : kLengths) {
      for (const std::size_t shift : {0u, 1u, 3u}) {
        SCOPED_TRACE(std::to_string(filter.bits()) + " bits, " + std::to_string(length) +
                     " keys from " + std::to_string(shift));
        const auto batch = keys.all().subspan(shift, length);
        (void)answers_of_each(filter, batch, shift);
      }
    }
  }
}

TYPED_TEST(BatchTest, SelectionNarrows) {
  const Keys<TypeParam> keys(6000);
  std::mt19937 random(1);
  const std::vector<Filter> filters = sample_filters(keys.all());
  for (const Filter& filter : filters) {
    for (const std::size_t length : kLengths) {
      std::vector<std::uint32_t> selection(length);
      for (std::uint32_t& i : selection) i = static_cast<std::uint32_t>(random() % 6000);
      std::vector<std::uint32_t> expected;
      for (const std::uint32_t i : selection) {
        if (filter.may_contain(keys.all()[i])) expected.push_back(i);
      }
      std::vector<std::uint32_t> positions(length);
      ASSERT_EQ(filter.select(keys.all(), selection, positions), expected.size());
      positions.resize(expected.size());
      EXPECT_EQ(positions, expected);
      // In place.
      const std::size_t found =
          filter.select(keys.all(), std::span<const std::uint32_t>(selection), selection);
      selection.resize(found);
      EXPECT_EQ(selection, expected);
    }
  }
}

TYPED_TEST(BatchTest, InsertAndErase) {
  const Keys<TypeParam> keys(5008);
  for (const int bits : kFilterWidths) {
    for (const std::size_t length : kLengths) {
      const auto batch = keys.all().subspan(1, length);
      const Options options = {.capacity = length + 1, .bits = bits, .seed = 9};
      Filter one_by_one(options);
      for (const TypeParam& key : batch) ASSERT_TRUE(one_by_one.insert(key));
      Filter filter(options);
      std::vector<std::uint8_t> done(length, 9);
      std::vector<Outcome> outcomes(length);
      EXPECT_EQ(filter.insert(batch, outcomes), length);
      EXPECT_EQ(outcomes, std::vector<Outcome>(length, Outcome::stored));
      EXPECT_EQ(filter.size(), length);
      EXPECT_EQ(block_bytes(filter), block_bytes(one_by_one));
      EXPECT_EQ(filter.erase(batch.first(length / 2)), length / 2);
      EXPECT_EQ(filter.size(), length - length / 2);
      EXPECT_EQ(filter.erase(batch.subspan(length / 2), std::span(done).subspan(length / 2)),
                length - length / 2);
      EXPECT_EQ(filter.size(), 0u);
      EXPECT_EQ(filter.erase(batch, done), 0u);
      EXPECT_EQ(static_cast<std::size_t>(std::count(done.begin(), done.end(), 0)), length);
    }
  }
}

// A full filter stores what it can, says which, and loses nothing.
TYPED_TEST(BatchTest, InsertIntoAFullFilter) {
  const Keys<TypeParam> keys(1000);
  for (const int bits : kFilterWidths) {
    Filter filter({.capacity = 300, .bits = bits});
    std::vector<Outcome> outcomes(1000);
    const std::size_t total = filter.insert(keys.all(), outcomes);
    EXPECT_LT(total, 1000u);
    EXPECT_GE(total, 300u);
    EXPECT_EQ(total, filter.size());
    EXPECT_EQ(total, static_cast<std::size_t>(
                         std::count(outcomes.begin(), outcomes.end(), Outcome::stored)));
    for (std::size_t i = 0; i < 1000; ++i) {
      ASSERT_TRUE(outcomes[i] == Outcome::full || filter.may_contain(keys.all()[i]));
    }
  }
}

TYPED_TEST(BatchTest, SpansOfWrongLengthChangeNothing) {
  expect_wrong_lengths_refused<Filter, TypeParam>();
}

TEST(KeySpan, IsMadeFromEveryContiguousRange) {
  Filter filter({.capacity = 100});
  std::vector<std::uint64_t> vector = {1, 2, 3};
  const std::array<std::uint64_t, 2> array = {4, 5};
  const std::uint64_t c_array[] = {6};
  EXPECT_EQ(filter.insert(vector), 3u);
  EXPECT_EQ(filter.insert(array), 2u);
  EXPECT_EQ(filter.insert(c_array), 1u);
  EXPECT_EQ(filter.insert(std::span(vector)), 3u);
  EXPECT_EQ(filter.insert(std::span<const std::uint64_t>(vector).first(1)), 1u);
  EXPECT_EQ(filter.size(), 10u);
  const KeySpan span(vector);
  EXPECT_EQ(span.size(), 3u);
  std::vector<std::uint8_t> out(2);
  EXPECT_EQ(filter.may_contain(span.subspan(1, 2), out), 2u);
}

}  // namespace
}  // namespace nestline::test
