// The lock policies of locking.h: what AnyLocks does as a value, in each of its modes, is what the
// policy does that is fixed to that mode, to the header of every block and at every step; and both
// do what the protocol says.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>

#include "lib/engine/place/locking.h"

namespace nestline::test { namespace {

template <class Fixed>
class LockPoliciesTest : public testing::Test {
 protected:
  static constexpr bool kAlone = Fixed::sharing() == Sharing::alone;
  static constexpr bool kMany = Fixed::sharing() == Sharing::many_writers;
  static constexpr AnyMode kMode = {Fixed::sharing()};
};
using Policies = testing::Types<NoLocks, OneWriter, BlockLocks>;
TYPED_TEST_SUITE(LockPoliciesTest, Policies);

TYPED_TEST(LockPoliciesTest, SayWhoSharesTheBlocks) {
  const auto expect_right = [](auto&& make) {
    const auto locks = make(nullptr);
    EXPECT_EQ(locks.sharing(), TypeParam::sharing());
    EXPECT_EQ(locks.are_alone(), TestFixture::kAlone);
    EXPECT_EQ(locks.blocks_are_stable(), !TestFixture::kMany);
    EXPECT_EQ(locks.read_tries(), TestFixture::kAlone ? 1u : TypeParam::kReadTries);
    if (TestFixture::kMany) {
      EXPECT_LT(locks.max_tries(), 100u);
    } else {
      EXPECT_EQ(locks.max_tries(), std::numeric_limits<std::uint32_t>::max());
    }
    // Only a reader who can ask the one writer, and only once that has agreed.
    EXPECT_EQ(locks.readers_may_lock(), TestFixture::kMany);
    if (TestFixture::kAlone) return;
    Writers writers;
    EXPECT_EQ(writers.acquire_write_mode(2), Writers::WriteMode::alone);
    const auto reading = make(&writers);
    EXPECT_EQ(reading.readers_may_lock(), TestFixture::kMany);
    EXPECT_EQ(writers.acquire_write_mode(2),
              TestFixture::kMany ? Writers::WriteMode::alone : Writers::WriteMode::as_one_of_many);
    EXPECT_TRUE(TestFixture::kMany || reading.readers_may_lock());
  };
  expect_right([](Writers* writers) { return TypeParam(writers); });
  expect_right([](Writers* writers) { return AnyLocks(TestFixture::kMode, writers); });
}

constexpr std::size_t kBlocks = 4;
using Blocks4 = std::array<Block, kBlocks>;
using Headers = std::array<std::uint32_t, kBlocks>;

Headers headers_of(const Blocks4& blocks) {
  Headers headers;
  for (std::size_t i = 0; i < kBlocks; ++i) headers[i] = blocks[i].header();
  return headers;
}

// One session of a writer after the other, with one block or two, each step under the fixed policy
// and under the value.
TYPED_TEST(LockPoliciesTest, SessionsOfAValueLeaveTheSameHeaders) {
  std::mt19937_64 random(5);
  std::array<Blocks4, 2> blocks{};
  std::array<std::uint32_t, kBlocks> versions{};
  std::array<std::size_t, 4> seen{};  // sessions that added, changed, kept one of two, changed none
  for (int session = 0; session < 2000; ++session) {
    std::array<bool, kBlocks> held{};
    std::array<bool, kBlocks> changed{};
    std::optional<typename TypeParam::BlockLock> fixed;
    std::optional<AnyLocks::BlockLock> any;
    const auto expect_headers = [&] {
      ASSERT_EQ(headers_of(blocks[0]), headers_of(blocks[1]));
      for (std::size_t i = 0; i < kBlocks; ++i) {
        const bool locked = TestFixture::kMany ? held[i] : !TestFixture::kAlone && changed[i];
        ASSERT_EQ(blocks[0][i].header(),
                  versions[i] * kHeaderVersion + (locked ? kHeaderLock : 0u));
      }
    };
    // A changed block is released with its next version.
    const auto release = [&](std::size_t block) {
      versions[block] += !TestFixture::kAlone && changed[block];
      held[block] = changed[block] = false;
    };
    std::uint64_t first = random() % kBlocks;
    std::uint64_t second = random() % kBlocks;
    if (random() % 2 == 0) {
      fixed.emplace(TypeParam(), blocks[0].data(), first);
      any.emplace(TestFixture::kMode, blocks[1].data(), first);
      second = first;
    } else {
      fixed.emplace(TypeParam(), blocks[0].data(), first, second);
      any.emplace(TestFixture::kMode, blocks[1].data(), first, second);
    }
    held[first] = held[second] = true;
    expect_headers();
    bool has_changed = false;
    for (std::uint64_t steps = random() % 5; steps > 0; --steps) {
      const std::uint64_t block = random() % 2 == 0 ? first : second;
      ASSERT_EQ(&fixed->at(block), &blocks[0][block]);
      ASSERT_EQ(&any->at(block), &blocks[1][block]);
      switch (random() % 3) {
        case 0:
          ASSERT_EQ(&fixed->change(block), &blocks[0][block]);
          ASSERT_EQ(&any->change(block), &blocks[1][block]);
          changed[block] = has_changed = true;
          ++seen[1];
          break;
        case 1:
          if (first != second) {
            fixed->keep(block);
            any->keep(block);
            if (!TestFixture::kAlone) release(first == block ? second : first);
            first = second = block;
            ++seen[2];
          }
          break;
        default:
          if (first == second) {
            second = random() % kBlocks;
            ASSERT_TRUE(fixed->add(second));  // nobody else has locks
            ASSERT_TRUE(any->add(second));
            held[second] = true;
            ++seen[0];
          }
      }
      if (!TestFixture::kAlone) {
        for (std::uint64_t i = 0; i < kBlocks; ++i) {
          ASSERT_EQ(fixed->holds(i), held[i]);
          ASSERT_EQ(any->holds(i), held[i]);
        }
      }
      expect_headers();
    }
    seen[3] += !has_changed;
    fixed.reset();
    any.reset();
    for (std::size_t i = 0; i < kBlocks; ++i) release(i);
    expect_headers();
    if (testing::Test::HasFailure()) return;
  }
  for (const std::size_t count : seen) EXPECT_GT(count, 200u);
}

// What a reader sees of two blocks, one of which a writer may lock or change in between.
TYPED_TEST(LockPoliciesTest, ReadsOfAValueCountAsOften) {
  enum class Beside { nothing, a_change, a_lock };
  for (const Beside beside : {Beside::nothing, Beside::a_change, Beside::a_lock}) {
    for (const std::uint64_t disturbed : {0u, 1u}) {
      const auto expect_right = [&](auto read_of) {
        Blocks4 blocks{};
        blocks[0].bytes[0] = 7;
        blocks[1].bytes[0] = 9;
        if (beside == Beside::a_lock) HeaderLock::lock(blocks[disturbed]);
        auto read = read_of(blocks.data());
        const Block& home = read.at(0);
        const Block& away = read.at(1);
        EXPECT_EQ(&home == blocks.data(), TestFixture::kAlone);
        EXPECT_EQ(home.bytes, blocks[0].bytes);
        EXPECT_EQ(away.bytes, blocks[1].bytes);
        if (beside == Beside::a_change) {
          HeaderLock::lock(blocks[disturbed]);
          HeaderLock::unlock(blocks[disturbed], kHeaderVersion);
        }
        EXPECT_EQ(read.valid(), TestFixture::kAlone || beside == Beside::nothing);
      };
      expect_right(
          [](const Block* blocks) { return typename TypeParam::BlockRead(TypeParam(), blocks); });
      expect_right(
          [](const Block* blocks) { return AnyLocks::BlockRead(TestFixture::kMode, blocks); });
    }
  }
}

// A block that is held is read where it stands, and what its holder does to it does not count.
TYPED_TEST(LockPoliciesTest, ReadsUnderALock) {
  const auto expect_right = [](auto& hold, auto read_of, Blocks4& blocks) {
    auto read = read_of(&hold);
    EXPECT_EQ(&read.at(2), &blocks[2]);
    hold.change(2).bytes[0] = 1;
    EXPECT_TRUE(read.valid());
    EXPECT_EQ(read.at(1).bytes, blocks[1].bytes);
    EXPECT_TRUE(read.valid());
    HeaderLock::lock(blocks[1]);
    HeaderLock::unlock(blocks[1], kHeaderVersion);
    EXPECT_EQ(read.valid(), TestFixture::kAlone);
  };
  {
    Blocks4 blocks{};
    typename TypeParam::BlockLock hold(TypeParam(), blocks.data(), 2);
    expect_right(
        hold,
        [&](auto* held) { return typename TypeParam::BlockRead(TypeParam(), blocks.data(), held); },
        blocks);
  }
  Blocks4 blocks{};
  AnyLocks::BlockLock hold(TestFixture::kMode, blocks.data(), 2);
  expect_right(
      hold,
      [&](auto* held) { return AnyLocks::BlockRead(TestFixture::kMode, blocks.data(), held); },
      blocks);
}

// Readers that lock (R4) hold each block that they look at, and change no header.
TEST(LockPolicies, ReadersThatLockHoldWhatTheyLookAt) {
  const auto expect_right = [](auto& hold, auto&& read, Blocks4& blocks) {
    EXPECT_EQ(&read.at(1), &blocks[1]);
    EXPECT_EQ(headers_of(blocks), (Headers{0, kHeaderLock, 0, 0}));
    for (const std::uint64_t second : {3u, 3u}) EXPECT_EQ(&read.at(second), &blocks[second]);
    EXPECT_EQ(headers_of(blocks), (Headers{0, kHeaderLock, 0, kHeaderLock}));
    EXPECT_TRUE(read.valid());
    EXPECT_TRUE(hold.holds(3));
  };
  const AnyMode many = {Sharing::many_writers};
  Blocks4 blocks{};
  {
    BlockLocks::BlockLock hold(BlockLocks(), blocks.data(), 1);
    expect_right(hold, BlockLocks::BlockRead(BlockLocks(), blocks.data(), &hold, true), blocks);
  }
  EXPECT_EQ(headers_of(blocks), Headers{});
  {
    AnyLocks::BlockLock hold(many, blocks.data(), 1);
    expect_right(hold, AnyLocks::BlockRead(many, blocks.data(), &hold, true), blocks);
  }
  EXPECT_EQ(headers_of(blocks), Headers{});
}

}}  // namespace nestline::test
