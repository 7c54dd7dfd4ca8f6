// PassRate beside filters of every kind: exact below seven in eight, then without a look for so
// many keys, and again.
#include "nestline/pass_rate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "nestline/concurrent_filter.h"
#include "nestline/filter.h"
#include "nestline/guard.h"
#include "nestline/reader.h"

namespace nestline::test { namespace {

constexpr std::uint64_t kAbsent = 1'000'000;

// Keys, of which in each ten so many are in the filter.
std::vector<std::uint64_t> keys_with(unsigned present, std::size_t count = 300'000) {
  std::vector<std::uint64_t> keys(count);
  for (std::size_t i = 0; i < count; ++i) keys[i] = i % 10 < present ? i % 100 : kAbsent + i;
  return keys;
}

template <class AnyFilter>
AnyFilter small_filter() {
  AnyFilter filter({.capacity = 100, .bits = 16});
  for (std::uint64_t key = 0; key < 100; ++key) EXPECT_TRUE(filter.insert(key));
  return filter;
}

// Of batches of `length`: how many passed.
template <class AnyFilter>
std::size_t select_all(PassRate& rate, const AnyFilter& filter, KeySpan keys, std::size_t length) {
  std::vector<std::uint32_t> positions(length);
  std::size_t passed = 0;
  for (std::size_t at = 0; at < keys.size(); at += length) {
    const KeySpan some = keys.subspan(at, std::min(length, keys.size() - at));
    const std::size_t found = rate.select(filter, some, std::span(positions).first(some.size()));
    for (std::size_t i = 1; i < found; ++i) EXPECT_LT(positions[i - 1], positions[i]);
    passed += found;
  }
  return passed;
}

template <class AnyFilter>
void expect_rates() {
  const auto filter = small_filter<AnyFilter>();
  for (const unsigned tenths : {0u, 1u, 5u, 8u}) {
    PassRate rate;
    const auto keys = keys_with(tenths);
    std::vector<std::uint32_t> positions(keys.size());
    const std::size_t exact = filter.select(keys, positions);
    EXPECT_EQ(select_all(rate, filter, keys, 2048), exact);
    EXPECT_NEAR(rate.pass_rate(), tenths / 10.0, 0.001);
  }
  PassRate rate;
  const auto keys = keys_with(9);
  const std::size_t passed = select_all(rate, filter, keys, 2048);
  // Of each 4096 + 65,536 keys it looked at 4096.
  const auto share = static_cast<double>(keys.size() - passed) / static_cast<double>(keys.size());
  EXPECT_NEAR(share, 0.1 * 4096 / (4096 + 65536), 0.002);
  EXPECT_NEAR(rate.pass_rate(), 0.9, 0.01);
}

TEST(PassRate, OfBatches) {
  expect_rates<Filter>();
  expect_rates<ConcurrentFilter>();
}

TEST(PassRate, OfSingleKeys) {
  const auto filter = small_filter<Filter>();
  const Reader reader = filter.reader();
  PassRate rate;
  EXPECT_EQ(rate.pass_rate(), 0);
  for (std::uint32_t i = 0; i < PassRate::kAsked; ++i)
    ASSERT_TRUE(rate.may_contain(reader, i % 100));
  EXPECT_EQ(rate.pass_rate(), 1);
  for (std::uint32_t i = 0; i < PassRate::kPassedOver; ++i) {
    ASSERT_TRUE(rate.may_contain(filter, kAbsent + i));
  }
  EXPECT_EQ(rate.pass_rate(), 1);  // these were not looked at
  for (std::uint32_t i = 0; i < 2 * PassRate::kAsked; ++i) {
    ASSERT_EQ(rate.may_contain(filter, kAbsent + i), filter.may_contain(kAbsent + i));
  }
  EXPECT_LT(rate.pass_rate(), 0.4);
}

// A batch longer than what is passed over; batches of one key; none.
TEST(PassRate, LengthsOfBatches) {
  const auto filter = small_filter<Filter>();
  const auto present = keys_with(10, 100'000);
  const auto absent = keys_with(0, 100'000);
  PassRate rate;
  EXPECT_EQ(select_all(rate, filter, present, present.size()), present.size());
  EXPECT_EQ(select_all(rate, filter, absent, absent.size()), absent.size());
  EXPECT_LT(select_all(rate, filter, absent, absent.size()), 10u);
  PassRate of_one;
  EXPECT_EQ(select_all(of_one, filter, present, 1), present.size());
  EXPECT_EQ(of_one.select(filter, KeySpan(present).subspan(0, 0), {}), 0u);
  // Refused whether it looks or not.
  std::vector<std::uint32_t> positions(1000, 7);
  for (const std::size_t length : {9u, 11u}) {
    const auto some = std::span(positions).first(length);
    EXPECT_THROW((void)of_one.select(filter, KeySpan(present).subspan(0, 10), some),
                 std::invalid_argument);
  }
  EXPECT_EQ(std::ranges::count(positions, 7u), 1000);
}

TEST(PassRate, BeforeAnEngine) {
  Guard guard({.capacity = 100, .bits = 16});
  guard.fill([] {
    return [](auto add) {
      for (std::uint64_t key = 0; key < 100; ++key) add(key);
    };
  });
  for (const unsigned tenths : {5u, 10u}) {
    PassRate rate;
    std::size_t asked = 0;
    const auto ask = [&](std::span<const std::uint32_t> positions) { asked += positions.size(); };
    guard.get_many(keys_with(tenths, 10'000), ask, &rate);
    EXPECT_NEAR(static_cast<double>(asked), tenths * 1000.0, 10);
    asked = 0;
    guard.get_many(keys_with(0, 10'000), ask, &rate);
    EXPECT_EQ(asked > 9'000, tenths == 10);
    asked = 0;
    guard.get_many(keys_with(0, 10'000), ask);
    EXPECT_LT(asked, 10u);
    const auto get = [&] { return std::optional<int>(++asked); };
    EXPECT_EQ(guard.get(kAbsent, get, &rate).has_value(), tenths == 10);
    EXPECT_FALSE(guard.get(kAbsent, get).has_value());
  }
}

}  // namespace
}  // namespace nestline::test
