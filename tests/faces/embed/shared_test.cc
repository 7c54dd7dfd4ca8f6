// A filter that one thread changes while others look up has the bytes of a Filter.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "lib/engine/place/layout.h"
#include "lib/faces/embed/bytes.h"
#include "lib/faces/embed/lineage.h"
#include "tests/support/keys_of_kinds.h"

namespace nestline { namespace {

std::vector<std::byte> bytes_of(const ConcurrentFilter& shared) {
  std::vector<std::byte> bytes(shared.memory_bytes());
  // In two pieces, as images have them.
  const std::size_t half = bytes.size() / 2 / kBlockBytes * kBlockBytes;
  copy_bytes(blocks_of(shared), 0, std::span(bytes).first(half));
  copy_bytes(blocks_of(shared), half, std::span(bytes).subspan(half));
  return bytes;
}

std::vector<std::byte> bytes_of(const Filter& filter) {
  const auto bytes = block_bytes(filter);
  return {bytes.begin(), bytes.end()};
}

class SharedBlocks : public ::testing::TestWithParam<std::tuple<int, Placement>> {
 protected:
  Filter empty_filter() const {
    const auto [bits, placement] = GetParam();
    return make_empty({bits, {100, 2, placement}, 9, capacity_of(bits, 100, 2)}, nullptr);
  }
};

TEST_P(SharedBlocks, AreThoseOfAFilter) {
  Filter plain = empty_filter();
  ConcurrentFilter shared = make_concurrent(empty_filter());
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> keys;
  for (int step = 0; step < 30000; ++step) {
    if (keys.size() < plain.capacity() * 9 / 10 || random() % 2 != 0) {
      const std::uint64_t key = random();
      const bool stored{plain.insert(key)};
      ASSERT_EQ(static_cast<bool>(shared.insert(key)), stored);
      if (stored) keys.push_back(key);
    } else {
      std::swap(keys[random() % keys.size()], keys.back());
      ASSERT_TRUE(plain.erase(keys.back()));
      ASSERT_TRUE(shared.erase(keys.back()));
      keys.pop_back();
    }
    if (step % 5000 == 0) {
      ASSERT_EQ(bytes_of(shared), bytes_of(plain));
    }
  }
  ASSERT_EQ(bytes_of(shared), bytes_of(plain));
  for (const std::uint64_t key : keys)
    ASSERT_EQ(match_confidence_of(blocks_of(shared), key),
              match_confidence_of(blocks_of(plain), key));
  const Filter copy = copy_of(shared);
  EXPECT_EQ(bytes_of(copy), bytes_of(plain));
  EXPECT_EQ(copy.size(), plain.size());
  const Filter taken_back = std::move(shared).freeze();
  EXPECT_EQ(bytes_of(taken_back), bytes_of(plain));
  EXPECT_EQ(taken_back.size(), plain.size());
}

TEST_P(SharedBlocks, AreZeroWhenEmptied) {
  ConcurrentFilter shared = make_concurrent(empty_filter());
  const auto keys = test::sequence(1, shared.capacity());
  EXPECT_EQ(shared.insert(keys), keys.size());
  empty(shared);
  EXPECT_EQ(shared.size(), 0u);
  EXPECT_EQ(bytes_of(shared), bytes_of(empty_filter()));
  std::vector<std::uint8_t> out(keys.size());
  EXPECT_EQ(shared.may_contain(keys, out), 0u);
  // It can be filled again.
  EXPECT_EQ(shared.insert(keys), keys.size());
  EXPECT_EQ(shared.may_contain(keys, out), keys.size());
  EXPECT_EQ(shared.size(), keys.size());
}

INSTANTIATE_TEST_SUITE_P(Widths, SharedBlocks,
                         ::testing::Combine(::testing::ValuesIn(kFilterWidths),
                                            ::testing::Values(Placement::anywhere,
                                                              Placement::guest_lanes)));

}  // namespace
}  // namespace nestline
