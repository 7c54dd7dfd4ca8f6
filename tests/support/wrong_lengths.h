// Every batch of a filter refuses spans whose lengths do not fit, and changes nothing.
#ifndef NESTLINE_TESTS_SUPPORT_WRONG_LENGTHS_H_
#define NESTLINE_TESTS_SUPPORT_WRONG_LENGTHS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "nestline/concurrent_filter.h"
#include "tests/support/keys_of_kinds.h"
#include "tests/support/model.h"

namespace nestline::test {

template <class AnyFilter, typename Key>
void expect_wrong_lengths_refused() {
  const auto bytes_of = [](const AnyFilter& filter) {
    if constexpr (std::is_same_v<AnyFilter, ConcurrentFilter>) {
      return block_bytes(filter.snapshot());
    } else {
      return block_bytes(filter);
    }
  };
  const Keys<Key> keys(100);
  const auto batch = keys.all();
  AnyFilter filter({.capacity = 100});
  EXPECT_EQ(filter.insert(batch.first(50)), 50u);
  const auto before = bytes_of(filter);
  for (const std::size_t length : {1u, 99u, 101u}) {
    std::vector<std::uint8_t> bytes(length, 7);
    std::vector<Outcome> outcomes(length);
    EXPECT_THROW((void)filter.insert(batch, outcomes), std::invalid_argument);
    EXPECT_THROW((void)filter.insert_unique(batch, outcomes), std::invalid_argument);
    EXPECT_EQ(outcomes, std::vector<Outcome>(length));
    EXPECT_THROW(filter.erase(batch, bytes), std::invalid_argument);
    EXPECT_THROW((void)filter.may_contain(batch, bytes), std::invalid_argument);
    EXPECT_THROW(filter.count(batch, bytes), std::invalid_argument);
    std::vector<std::uint32_t> positions(length, 7);
    EXPECT_THROW((void)filter.select(batch, positions), std::invalid_argument);
    std::vector<std::uint32_t> selection(100, 0);
    EXPECT_THROW((void)filter.select(batch, selection, positions), std::invalid_argument);
    EXPECT_TRUE(std::all_of(bytes.begin(), bytes.end(), [](auto b) { return b == 7; }));
    EXPECT_TRUE(std::all_of(positions.begin(), positions.end(), [](auto p) { return p == 7; }));
  }
  for (const std::size_t words : {0u, 1u, 3u}) {
    std::vector<std::uint64_t> bitmap(words);
    EXPECT_THROW((void)filter.may_contain_bits(batch, bitmap), std::invalid_argument);
  }
  EXPECT_THROW((void)filter.may_contain(batch, std::span<std::uint8_t>()), std::invalid_argument);
  std::vector<std::uint32_t> selection = {0, 99, 100};
  std::vector<std::uint32_t> positions(3);
  EXPECT_THROW((void)filter.select(batch, selection, positions), std::invalid_argument);
  EXPECT_EQ(bytes_of(filter), before);
  EXPECT_EQ(filter.size(), 50u);
}

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_SUPPORT_WRONG_LENGTHS_H_
