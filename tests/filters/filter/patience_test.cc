// How often a filter asks for memory that it has been refused. Most of the time goes into keys that
// a full filter cannot take.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "lib/filters/filter/blocks.h"
#include "nestline/concurrent_filter.h"
#include "tests/filters/filter/accounted_memory.h"
#include "tests/support/keys_of_kinds.h"

namespace nestline::test { namespace {

// Once growing has failed, the filter asks for memory again after many keys, not for each one, and
// grows if it then gets it. `insert` inserts the keys from `first` on and returns how many were
// stored.
template <class AnyFilter, typename Insert>
void expect_patience(const Insert& insert) {
  Zeroed memory;
  AnyFilter filter(Options{.capacity = 1000, .max_capacity = 200'000, .memory = &memory});
  memory.set_most(memory.out());
  std::uint64_t next = 0;
  const auto go_on = [&](std::uint64_t keys) {
    for (const std::uint64_t end = next + keys; next < end; next += 500) insert(filter, next, 500);
  };
  const auto until_refused = [&](std::size_t times) {
    const std::uint64_t first = next;
    while (memory.refused() < times) go_on(500);
    return next - first;
  };
  until_refused(1);
  EXPECT_EQ(filter.growth(), 0u);
  // However many of the keys find room: in the first wait some, in the second none.
  for (const std::size_t refusal : {2u, 3u}) {
    EXPECT_NEAR(static_cast<double>(until_refused(refusal)), double{1 << 16}, 2000) << refusal;
  }
  memory.set_most(~std::size_t{0});
  go_on(100'000);
  EXPECT_GE(filter.growth(), 4u);
  // A call of grow() itself does not have to wait.
  memory.set_most(memory.out());
  go_on(2 * filter.capacity());
  memory.set_most(~std::size_t{0});
  EXPECT_TRUE(filter.grow());
}

// Keys that find room below the capacity need no growth, so they do not shorten the wait.
template <class AnyFilter, typename Insert>
void expect_to_wait_on(const Insert& insert) {
  Zeroed memory;
  AnyFilter filter(Options{.capacity = 1000, .max_capacity = 200'000, .memory = &memory});
  memory.set_most(memory.out());
  const std::uint64_t capacity = filter.capacity();
  const auto erase = [&](std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t key = first; key < first + count; ++key) ASSERT_TRUE(filter.erase(key));
  };
  insert(filter, 0, capacity + 1);
  ASSERT_GE(memory.refused(), 1u);
  erase(0, capacity / 2);
  const std::uint64_t some = capacity / 4;
  for (std::uint64_t inserted = 0; inserted < 80'000; inserted += some) {
    insert(filter, 10'000, some);
    erase(10'000, some);
  }
  const std::size_t refused = memory.refused();
  memory.set_most(~std::size_t{0});
  insert(filter, 20'000, capacity / 2 + 20);
  EXPECT_GT(filter.size(), capacity);
  EXPECT_EQ(filter.growth(), 0u);
  EXPECT_EQ(memory.refused(), refused);
}

constexpr auto kOneByOne = [](auto& filter, std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t key = first; key < first + count; ++key) (void)filter.insert(key);
};
constexpr auto kAsBatch = [](auto& filter, std::uint64_t first, std::uint64_t count) {
  (void)filter.insert(sequence(first, count));
};

TEST(Memory, AskedForRarelyAfterARefusal) { expect_patience<Filter>(kOneByOne); }
TEST(Memory, AskedForRarelyAfterARefusalByBatches) { expect_patience<Filter>(kAsBatch); }
TEST(Memory, AskedForRarelyAfterARefusalByThreads) { expect_patience<ConcurrentFilter>(kOneByOne); }
TEST(Memory, AskedForRarelyAfterARefusalByBatchesOfThreads) {
  expect_patience<ConcurrentFilter>(kAsBatch);
}

TEST(Memory, WaitsOnWhileKeysFindRoom) {
  expect_to_wait_on<Filter>(kOneByOne);
  expect_to_wait_on<Filter>(kAsBatch);
  expect_to_wait_on<ConcurrentFilter>(kOneByOne);
  expect_to_wait_on<ConcurrentFilter>(kAsBatch);
}

// Growth that is refused is tried again before the same keys, whether these come singly or in
// batches: the waits are equal after each batch.
void expect_equal_waits(std::uint64_t capacity, const std::vector<Hash>& keys, bool unique) {
  Zeroed single_memory, batch_memory;
  const auto made = [&](Zeroed& memory) {
    Filter filter(
        {.capacity = capacity, .bits = 8, .max_capacity = 8 * capacity, .memory = &memory});
    memory.set_most(memory.out());
    return filter;
  };
  Filter single = made(single_memory), batched = made(batch_memory);
  const auto left = [](const Filter& filter) {
    return FilterAccess::blocks(filter).patience.left();
  };
  std::vector<Outcome> outcomes(keys.size());
  std::mt19937_64 random(3);
  for (std::size_t at = 0; at < keys.size();) {
    const std::size_t count = std::min<std::size_t>(1 + random() % 5000, keys.size() - at);
    const auto batch = std::span(keys).subspan(at, count);
    const auto out = std::span(outcomes).subspan(at, count);
    (void)(unique ? batched.insert_unique(batch, out) : batched.insert(batch, out));
    for (std::size_t i = 0; i < count; ++i) {
      const Inserted one = unique ? single.insert_unique(batch[i]) : single.insert(batch[i]);
      ASSERT_EQ(one.outcome, out[i]) << at + i;
    }
    at += count;
    ASSERT_EQ(batch_memory.refused(), single_memory.refused()) << at;
    ASSERT_EQ(left(batched), left(single)) << at;
  }
  EXPECT_GE(single_memory.refused(), 1u);
  // Below the capacity again, copies too many need no growth.
  for (std::size_t i = 1; i < 500; ++i) {
    if (outcomes[i] != Outcome::stored) continue;
    ASSERT_TRUE(single.erase(keys[i]) && batched.erase(keys[i]));
  }
  const std::vector<Hash> more(100, Hash{77});
  (void)batched.insert(more);
  for (const Hash each : more) (void)single.insert(each);
  EXPECT_EQ(left(batched), left(single));
  EXPECT_EQ(batched.size(), single.size());
}

TEST(Memory, AskedForBeforeTheSameKeysByBatches) {
  // One key in four has all copies that it can have, or is present.
  std::vector<Hash> keys(8'000);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = hash_key(i % 4 == 0 ? 0 : i, 7);
  expect_equal_waits(5'000, keys, false);
  expect_equal_waits(5'000, keys, true);
  // A whole wait after the capacity, of copies too many.
  std::vector<Hash> copies(75'000, Hash{5});
  for (std::size_t i = 0; i < 5'200; ++i) copies[i] = hash_key(i, 7);
  expect_equal_waits(5'000, copies, false);
}

}  // namespace
}  // namespace nestline::test
