// Filter::build: the keys, the invariants of lib/engine/table/table-inl.h and the statistics are
// those of inserts, for few blocks and many, keys of every type, copies, and keys made to crowd one
// block.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory_resource>
#include <new>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/engine/place/layout.h"
#include "tests/engine/kernels/each_target.h"
#include "tests/filters/filter/accounted_memory.h"
#include "tests/support/errors.h"
#include "tests/support/keys_of_kinds.h"
#include "tests/support/model.h"

namespace nestline::test { namespace {

std::vector<Hash> random_hashes(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Hash> hashes(count);
  for (Hash& hash : hashes) hash.value = random();
  return hashes;
}

std::uint64_t taken_slots(const Filter& filter) {
  const auto& state = FilterAccess::blocks(filter);
  std::uint64_t taken = 0;
  for (std::uint64_t i = 0; i < state.view.geometry.blocks(); ++i) {
    const Block& block = state.view.blocks[i];
    EXPECT_EQ(block.header() & ~kHeaderOverflowMark, 0u) << "block " << i;
    taken += slots_of(filter.bits()) -
             static_cast<std::uint32_t>(std::popcount(state.engine->block.free_slots(block)));
  }
  return taken;
}

// Hashes whose places are few: up to four blocks, `residues` values of all that a block does not
// depend on, with copies.
std::vector<Hash> crowded_hashes(std::size_t count, std::uint32_t residues,
                                 std::mt19937_64& random) {
  std::vector<std::uint64_t> rests(residues);
  for (std::uint64_t& rest : rests) rest = random() >> 2;
  std::vector<Hash> hashes(count);
  for (Hash& hash : hashes) hash.value = random() << 62 | rests[random() % residues];
  return hashes;
}

// Checks a filter of these hashes against the exact model: every answer, in both directions. Then
// erases all of them, which empties every slot if and only if I1 holds for each.
void expect_exact(Filter filter, const std::vector<Hash>& hashes) {
  ASSERT_EQ(filter.size(), hashes.size());
  ASSERT_EQ(taken_slots(filter), hashes.size());
  Model model(filter);
  for (const Hash hash : hashes) model.insert(hash.value);
  for (const Hash hash : hashes) {
    ASSERT_TRUE(filter.may_contain(hash));
    ASSERT_GE(filter.count(hash), std::min(model.at_home(hash.value), most_copies(filter.bits())));
    ASSERT_LE(filter.count(hash), model.at_both(hash.value));
  }
  for (const Hash hash : random_hashes(20'000, 99)) {
    const bool found = filter.may_contain(hash);
    ASSERT_TRUE(found || model.at_home(hash.value) == 0);
    ASSERT_TRUE(!found || model.at_both(hash.value) != 0);
  }
  for (const Hash hash : hashes) ASSERT_TRUE(filter.erase(hash));
  EXPECT_EQ(taken_slots(filter), 0u);
}

double second_probes(const Filter& filter) {
  const auto marks = marks_of(filter);
  const double sum = std::accumulate(marks.begin(), marks.end(), 0.0);
  return sum / static_cast<double>(marks.size()) / kEvictionRanks;
}

class BulkBuild : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Widths, BulkBuild, testing::ValuesIn(kFilterWidths));

TEST_P(BulkBuild, AnswersAsTheModelAtEveryLoad) {
  const int bits = GetParam();
  const std::uint64_t capacity = Filter({.capacity = 100'000, .bits = bits}).capacity();
  for (const double load : {0.0, 0.2, 0.6, 0.9, 0.97, 1.0}) {
    SCOPED_TRACE(load);
    const auto hashes =
        random_hashes(static_cast<std::size_t>(load * static_cast<double>(capacity)), 5);
    expect_exact(Filter::build({.capacity = capacity, .bits = bits}, hashes), hashes);
  }
}

// Full filters of few blocks, where many keys have no alternate and nobody has much room.
TEST_P(BulkBuild, FillsFewBlocks) {
  const int bits = GetParam();
  std::uint64_t last = 0;
  for (std::uint64_t wanted = 1; wanted < 64 * slots_of(bits); wanted += slots_of(bits) / 2) {
    const std::uint64_t capacity = Filter({.capacity = wanted, .bits = bits}).capacity();
    if (capacity == last) continue;
    last = capacity;
    SCOPED_TRACE(capacity);
    const auto hashes = random_hashes(capacity, wanted);
    expect_exact(Filter::build({.capacity = capacity, .bits = bits}, hashes), hashes);
  }
}

TEST_P(BulkBuild, GoesBeyondItsCapacity) {
  const int bits = GetParam();
  const Options options = {.capacity = 50'000, .bits = bits};
  const Filter plain(options);
  const auto hashes = random_hashes(plain.slots() * 97 / 100, 3);
  expect_exact(Filter::build(options, hashes), hashes);
}

// No more second probes than after inserts, at the loads where there are any.
TEST_P(BulkBuild, MarksAreNoHigherThanByInserts) {
  const int bits = GetParam();
  for (const double load : {0.8, 0.9, 0.95}) {
    const Options options = {.capacity = 2'000'000, .bits = bits};
    Filter plain(options);
    const Keys<std::uint64_t> keys(
        static_cast<std::size_t>(load * static_cast<double>(plain.slots())));
    ASSERT_EQ(plain.insert(keys.all()), keys.all().size());
    const Filter built = Filter::build(options, keys.all());
    // Both vary with the keys: by a hundredth where many blocks have a mark.
    const double noise = load == 0.8 ? 1.03 : 1.01;
    EXPECT_LE(second_probes(built), noise * second_probes(plain)) << load;
  }
}

TEST_P(BulkBuild, ErrsAsOftenAsExpected) {
  const int bits = GetParam();
  const Keys<std::uint64_t> keys(400'000);
  const Filter filter = Filter::build({.capacity = 400'000, .bits = bits}, keys.all());
  const Keys<std::uint64_t> strangers(bits == 16 ? 8'000'000 : 2'000'000, std::uint64_t{1} << 40);
  std::vector<std::uint8_t> found(strangers.all().size());
  const auto hits = static_cast<double>(filter.may_contain(strangers.all(), found));
  const double expected = filter.expected_fpr() * static_cast<double>(found.size());
  EXPECT_NEAR(hits, expected, 0.1 * expected + 4 * std::sqrt(expected));
}

// The target decides how fast it is, and nothing else.
TEST_P(BulkBuild, LeavesTheSameBytesOnEveryTarget) {
  const auto hashes = random_hashes(100'000, 8);
  const Options options = {.capacity = 100'000, .bits = GetParam()};
  const auto expected = block_bytes(Filter::build(options, hashes));
  for_each_target(
      [&](std::int64_t) { EXPECT_EQ(block_bytes(Filter::build(options, hashes)), expected); });
}

template <typename T>
void expect_keys(const std::vector<T>& keys) {
  const Options options = {.capacity = keys.size(), .seed = 4};
  const Filter built = Filter::build(options, keys);
  EXPECT_EQ(built.size(), keys.size());
  EXPECT_EQ(built.seed(), 4u);
  for (const T& key : keys) ASSERT_TRUE(built.may_contain(key));
}

TEST(BulkBuildKeys, AreOfEveryType) {
  constexpr std::size_t kKeys = 10'000;
  std::vector<std::string> strings;
  for (std::size_t i = 0; i < kKeys; ++i) strings.push_back("key " + std::to_string(i));
  expect_keys(sequence(std::numeric_limits<std::uint64_t>::max() / 2, kKeys));
  expect_keys(sequence<std::int64_t>(-5000, kKeys));
  expect_keys(sequence<std::uint32_t>(7, kKeys));
  expect_keys(sequence<std::int32_t>(-5000, kKeys));
  expect_keys(strings);
  expect_keys(std::vector<std::string_view>(strings.begin(), strings.end()));
  expect_keys(random_hashes(kKeys, 2));
}

TEST(BulkBuildKeys, MayBeNone) {
  const Filter filter = Filter::build({.capacity = 1000}, std::vector<std::uint64_t>());
  EXPECT_EQ(filter.size(), 0u);
  EXPECT_EQ(taken_slots(filter), 0u);
}

// Checks a build of which not everything was stored: what is told as stored can be found and
// erased, and nothing remains.
void expect_told(Filter filter, const std::vector<Hash>& hashes,
                 const std::vector<Outcome>& outcomes, std::uint64_t least, std::uint64_t most) {
  const auto count =
      static_cast<std::uint64_t>(std::count(outcomes.begin(), outcomes.end(), Outcome::stored));
  EXPECT_EQ(filter.size(), count);
  EXPECT_EQ(taken_slots(filter), count);
  EXPECT_GE(count, least);
  EXPECT_LE(count, most);
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (outcomes[i] == Outcome::stored) {
      ASSERT_TRUE(filter.may_contain(hashes[i]));
    } else if (outcomes[i] == Outcome::too_many_copies) {
      ASSERT_EQ(filter.insert(hashes[i]).outcome, Outcome::too_many_copies);
    } else {
      ASSERT_EQ(outcomes[i], Outcome::full);
    }
  }
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (outcomes[i] != Outcome::stored) continue;
    ASSERT_TRUE(filter.erase(hashes[i])) << i;
  }
  EXPECT_EQ(taken_slots(filter), 0u);
}

void expect_told(const Options& options, const std::vector<Hash>& hashes, std::uint64_t least,
                 std::uint64_t most) {
  std::vector<Outcome> outcomes(hashes.size());
  Filter filter = Filter::build(options, hashes, outcomes);
  expect_told(std::move(filter), hashes, outcomes, least, most);
}

TEST_P(BulkBuild, StoresTheMostCopiesAndTellsWhichAreTooMany) {
  const int bits = GetParam();
  const std::uint32_t most = most_copies(bits);
  // Up to four too many of some keys among others that leave them their slots.
  std::vector<Hash> hashes = random_hashes(20'000, 6);
  std::uint64_t expected = hashes.size();
  for (const Hash hash : random_hashes(20, 7)) {
    const auto copies = static_cast<std::uint32_t>(hash.value % (most + 4)) + 1;
    hashes.insert(hashes.end(), copies, hash);
    expected += std::min(copies, most);
  }
  std::shuffle(hashes.begin(), hashes.end(), std::mt19937_64(1));
  const Options options = {.capacity = 60'000, .bits = bits};
  expect_told(options, hashes, expected, expected);
  // Without `stored` too many copies are no error, since none of the keys is missed.
  const Filter filter = Filter::build(options, hashes);
  EXPECT_EQ(filter.size(), expected);
  for (const Hash hash : hashes) ASSERT_TRUE(filter.may_contain(hash));
}

TEST_P(BulkBuild, StoresTheMostCopiesOfOneKeyAlone) {
  const int bits = GetParam();
  const std::uint32_t most = most_copies(bits);
  for (const std::size_t count : {200u, 255u, 256u, 300'000u}) {
    expect_told({.capacity = 300'000, .bits = bits}, std::vector<Hash>(count, Hash{42}), most,
                most);
  }
}

// Hashes of one home, of few fingerprints, and of one bucket offset: the keys of a block are far
// too many, and nobody else's are.
TEST_P(BulkBuild, StandsCrowds) {
  const int bits = GetParam();
  const Options options = {.capacity = 100'000, .bits = bits};
  for (const std::uint64_t mask : {std::uint64_t{0x0000000000ffffff}, std::uint64_t{0xfff},
                                   ~std::uint64_t{0xffff}, ~std::uint64_t{0xff0000}}) {
    for (const std::size_t count : {100u, 129u, 254u, 255u, 1000u, 5000u}) {
      SCOPED_TRACE(std::to_string(mask) + ", " + std::to_string(count) + " hashes");
      std::vector<Hash> hashes = random_hashes(count, mask);
      for (Hash& hash : hashes) hash.value &= mask;
      const auto others = random_hashes(40'000, 12);
      hashes.insert(hashes.end(), others.begin(), others.end());
      expect_told(options, hashes, others.size(), hashes.size());
    }
  }
}

TEST_P(BulkBuild, TellsWhichKeysFindNoRoom) {
  const int bits = GetParam();
  const Options options = {.capacity = 2000, .bits = bits};
  const std::uint64_t slots = Filter(options).slots();
  const auto hashes = random_hashes(slots * 11 / 10, 4);
  expect_told(options, hashes, slots * 97 / 100, slots);
  expect_error<std::length_error>([&] { (void)Filter::build(options, hashes); },
                                  std::to_string(hashes.size()));
}

// Builds of few blocks with few residues: many keys have no alternate, many look like keys of the
// other block. A build that does not throw has every key; one that reports what it stored has that.
// NESTLINE_BUILDS: how many.
TEST_P(BulkBuild, MissesNoKeyOfFewBlocksAndFewResidues) {
  const int bits = GetParam();
  const char* const asked = std::getenv("NESTLINE_BUILDS");
  const std::uint64_t builds = asked != nullptr ? std::stoull(asked) : 4000;
  std::mt19937_64 random(static_cast<std::uint64_t>(bits));
  std::uint64_t held = 0;
  for (std::uint64_t i = 0; i < builds; ++i) {
    SCOPED_TRACE(i);
    const std::uint64_t blocks = random() % 4 + 1;
    const std::uint64_t slots = blocks * slots_of(bits);
    const Options options = {.capacity = slots * 9 / 10, .bits = bits};
    const auto hashes = crowded_hashes(slots * (60 + random() % 45) / 100,
                                       static_cast<std::uint32_t>(4 + random() % 60), random);
    std::vector<Outcome> outcomes(hashes.size());
    Filter told = Filter::build(options, hashes, outcomes);
    const bool has_all = std::all_of(hashes.begin(), hashes.end(),
                                     [&](Hash hash) { return told.may_contain(hash); });
    held += has_all;
    try {
      const Filter filter = Filter::build(options, hashes);
      for (const Hash hash : hashes) ASSERT_TRUE(filter.may_contain(hash));
      ASSERT_TRUE(has_all);
    } catch (const std::length_error&) {
      ASSERT_FALSE(has_all);
    }
    ASSERT_NO_FATAL_FAILURE(expect_told(std::move(told), hashes, outcomes, 0, hashes.size()));
  }
  EXPECT_GT(held, builds / 20);
  EXPECT_LT(held, builds);
}

TEST_P(BulkBuild, GrowsAsInsertsDo) {
  const int bits = GetParam();
  for (const std::size_t count : {900u, 1'100u, 5'000u, 7'900u}) {
    const Options options = {.capacity = 1000, .bits = bits, .max_capacity = 8'000};
    const auto hashes = random_hashes(count, 4);
    Filter plain(options);
    ASSERT_EQ(plain.insert(hashes), count);
    const Filter built = Filter::build(options, hashes);
    EXPECT_EQ(built.growth(), plain.growth());
    EXPECT_EQ(built.capacity(), plain.capacity());
    EXPECT_EQ(built.max_capacity(), plain.max_capacity());
    expect_exact(built.snapshot(), hashes);
  }
}

// Nor does it grow for copies that cannot be stored, alone or beside keys that fill it; to find
// that out takes no more memory than a build of that size, also where the copies change nothing.
TEST_P(BulkBuild, GrowsForNoCopiesInVain) {
  const int bits = GetParam();
  const Options options = {.capacity = 1000, .bits = bits, .max_capacity = 16'000};
  for (const auto& [others, copies] :
       {std::pair(0u, 10'000u), {900u, 10'000u}, {1'500u, 10'000u}, {1'500u, 30u}}) {
    std::vector<Hash> hashes = random_hashes(others, 4);
    hashes.resize(others + copies, Hash{42});
    Filter plain(options);
    const std::size_t count = plain.insert(hashes);
    std::vector<Outcome> outcomes(hashes.size());
    Zeroed memory;
    Options limited = options;
    limited.memory = &memory;
    (void)Filter::build(limited, random_hashes(hashes.size(), 5));
    memory.set_most(memory.peak());
    for (const Filter& built :
         {Filter::build(options, hashes), Filter::build(limited, hashes, outcomes)}) {
      EXPECT_EQ(built.size(), count);
      EXPECT_EQ(built.growth(), plain.growth());
      EXPECT_EQ(built.count(Hash{42}), most_copies(bits));
    }
    EXPECT_EQ(
        static_cast<std::size_t>(std::count(outcomes.begin(), outcomes.end(), Outcome::stored)),
        count);
  }
}

// All keys have one home: they find no room long before the capacity, but the filter may grow.
TEST(BulkBuildGrowth, GivesRoomToKeysThatFindNone) {
  std::vector<Hash> hashes = random_hashes(20'000, 3);
  for (Hash& hash : hashes) hash.value >>= 10;
  const Options options = {.capacity = 20'000, .bits = 16, .max_capacity = 1'000'000};
  const Filter filter = Filter::build(options, hashes);
  EXPECT_GE(filter.growth(), 1u);
  expect_exact(filter.snapshot(), hashes);
}

TEST(BulkBuildRefusals, AreThrownBeforeAnythingIsBuilt) {
  const std::vector<std::uint64_t> keys = {1, 2, 3};
  EXPECT_THROW((void)Filter::build({}, keys), std::invalid_argument);
  EXPECT_THROW((void)Filter::build({.capacity = 3, .bits = 11}, keys), std::invalid_argument);
  std::vector<Outcome> outcomes(2);
  EXPECT_THROW((void)Filter::build({.capacity = 3}, keys, outcomes), std::invalid_argument);
  EXPECT_EQ(outcomes, std::vector<Outcome>(2));
  EXPECT_THROW(
      (void)Filter::build({.capacity = 3, .memory = std::pmr::null_memory_resource()}, keys),
      std::bad_alloc);
}

}  // namespace
}  // namespace nestline::test
