// Every target's batches against its single keys, on a million keys and a filter at 95 % load: a
// lane that is wrong for one key in a thousand, in our code or in Highway's, would be seen here.
//
// NESTLINE_TARGET_KEYS is another number of keys, for processors that are emulated.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <span>
#include <type_traits>
#include <vector>

#include "nestline/filter.h"
#include "tests/engine/kernels/each_target.h"
#include "tests/support/keys_of_kinds.h"

namespace nestline::test { namespace {

// Of each of the two kinds; half of them are stored.
std::size_t keys_of_a_kind() {
  const char* const text = std::getenv("NESTLINE_TARGET_KEYS");
  return (text != nullptr ? std::strtoull(text, nullptr, 10) : std::size_t{1} << 20) / 2;
}

// Asks for all keys, of which the first half is in the filter.
template <typename Key>
void expect_batch_is_single(const Filter& filter, std::span<const Key> keys) {
  std::vector<std::uint8_t> answers(keys.size());
  std::vector<std::uint8_t> counts(keys.size());
  filter.may_contain(keys, answers);
  filter.count(keys, counts);
  std::size_t wrong = 0;
  std::size_t lost = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const bool answer = filter.may_contain(keys[i]);
    wrong += answer != (answers[i] != 0) || answer != (counts[i] != 0);
    lost += i < keys.size() / 2 && !answer;
  }
  EXPECT_EQ(wrong, 0u) << "keys whose answers differ";
  EXPECT_EQ(lost, 0u) << "stored keys that are missed";
}

template <typename Bits>
class TargetsTest : public testing::Test {};
using Widths = testing::Types<std::integral_constant<int, 8>, std::integral_constant<int, 9>,
                              std::integral_constant<int, 10>, std::integral_constant<int, 12>,
                              std::integral_constant<int, 16>>;
TYPED_TEST_SUITE(TargetsTest, Widths);

TYPED_TEST(TargetsTest, AnswerBatchesAsSingleKeys) {
  const std::size_t keys = keys_of_a_kind();
  const std::size_t stored = keys / 2;
  const auto integers = sequence(std::uint64_t{1} << 40, keys);
  std::vector<Hash> hashes(keys);
  std::mt19937_64 random(TypeParam::value);
  std::generate(hashes.begin(), hashes.end(), [&] { return Hash{random()}; });
  const std::span<const std::uint64_t> all_integers(integers);
  const std::span<const Hash> all_hashes(hashes);
  for_each_target([&](std::int64_t) {
    Filter filter({.capacity = 2 * stored, .bits = TypeParam::value, .seed = 3});
    ASSERT_EQ(filter.insert(all_integers.first(stored)), stored);
    ASSERT_EQ(filter.insert(all_hashes.first(stored)), stored);
    EXPECT_GT(filter.load_factor(), 0.949);
    expect_batch_is_single(filter, all_integers);
    expect_batch_is_single(filter, all_hashes);
    EXPECT_EQ(filter.erase(all_integers.first(stored)), stored);
    EXPECT_EQ(filter.erase(all_hashes.first(stored)), stored);
    EXPECT_EQ(filter.size(), 0u);
  });
}

// In a filter of 70 MiB, which batches take for far away.
TYPED_TEST(TargetsTest, AnswerBatchesAsSingleKeysFarAway) {
  const auto keys = sequence(std::uint64_t{1} << 40, keys_of_a_kind());
  const std::span<const std::uint64_t> all(keys);
  const std::uint64_t capacity = (std::uint64_t{1} << 29) / TypeParam::value;
  for_each_target([&](std::int64_t) {
    Filter filter({.capacity = capacity, .bits = TypeParam::value, .seed = 3});
    ASSERT_EQ(filter.insert(all.first(all.size() / 2)), all.size() / 2);
    expect_batch_is_single(filter, all);
  });
}

}  // namespace
}  // namespace nestline::test
