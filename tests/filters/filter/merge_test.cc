// Merging: the union of two filters at many loads against the model of all their keys. Filters that
// cannot be merged are refused with a reason, and nothing changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lib/engine/place/layout.h"
#include "nestline/concurrent_filter.h"
#include "nestline/io.h"
#include "tests/support/errors.h"
#include "tests/support/model.h"

namespace nestline::test { namespace {

Filter empty_filter(int bits, const Geometry& geometry, std::uint64_t seed = 5) {
  return FilterAccess::make(make_blocks({bits, geometry, seed, geometry.blocks()}, nullptr));
}

// Keys are integers; the model wants their hashes.
std::vector<std::uint64_t> hashes(std::uint64_t from, std::uint64_t count) {
  const MixSecrets secrets = derive_secrets(99);
  std::vector<std::uint64_t> all(count);
  for (auto& hash : all) hash = mix_integer(from++, secrets);
  return all;
}

Geometry geometry_of(const Filter& filter) { return FilterAccess::blocks(filter).view.geometry; }

void insert_all(Filter& filter, const std::vector<std::uint64_t>& all) {
  for (const std::uint64_t hash : all) ASSERT_TRUE(filter.insert(Hash{hash}));
}

std::uint64_t sum_of_marks(const Filter& filter) {
  const auto marks = marks_of(filter);
  return std::accumulate(marks.begin(), marks.end(), std::uint64_t{0});
}

// Every key of both is found, and counted as the model of the union says.
void expect_union(const Filter& filter, const std::vector<std::uint64_t>& one,
                  const std::vector<std::uint64_t>& other) {
  ASSERT_EQ(filter.size(), one.size() + other.size());
  Model model(filter);
  for (const auto* all : {&one, &other}) {
    for (const std::uint64_t hash : *all) model.insert(hash);
  }
  for (const auto* all : {&one, &other}) {
    for (const std::uint64_t hash : *all) {
      const unsigned count = filter.count(Hash{hash});
      ASSERT_TRUE(filter.may_contain(Hash{hash}));
      ASSERT_GE(count, model.at_home(hash));
      ASSERT_LE(count, model.at_both(hash));
    }
  }
  for (const std::uint64_t hash : hashes(std::uint64_t{1} << 50, 20000)) {
    const bool answer = filter.may_contain(Hash{hash});
    ASSERT_TRUE(!answer || model.at_both(hash) > 0) << "a match that nothing explains";
  }
  ASSERT_EQ(to_bytes(Filter::load(to_bytes(filter))), to_bytes(filter));
}

class MergeTest : public testing::TestWithParam<int> {};

TEST_P(MergeTest, UnionsAtManyLoads) {
  const int bits = GetParam();
  for (const Geometry geometry : {Geometry{1, 0}, Geometry{2, 0}, Geometry{7, 0}, Geometry{100, 0},
                                  Geometry{1, 2}, Geometry{3, 2}, Geometry{60, 3}}) {
    const double most = geometry.base_blocks < 8 ? 0.3 : geometry.growth != 0 ? 0.8 : 0.97;
    for (const double load : {0.0, 0.5 * most, most}) {
      for (const double share : {0.0, 0.1, 0.5, 0.9, 1.0}) {
        SCOPED_TRACE(std::to_string(geometry.base_blocks) + " base blocks, growth " +
                     std::to_string(geometry.growth) + ", load " + std::to_string(load) +
                     ", share " + std::to_string(share));
        Filter into = empty_filter(bits, geometry);
        Filter other = empty_filter(bits, geometry);
        const double keys = load * static_cast<double>(into.slots());
        const auto in_other = static_cast<std::uint64_t>(keys * share);
        const auto one = hashes(0, static_cast<std::uint64_t>(keys) - in_other);
        const auto two = hashes(1 << 20, in_other);
        insert_all(into, one);
        insert_all(other, two);
        const auto before = block_bytes(into);
        const auto other_bytes = block_bytes(other);
        const std::uint64_t capacity = into.capacity();

        into.merge(other);
        EXPECT_EQ(into.capacity(), capacity);
        EXPECT_EQ(block_bytes(other), other_bytes);
        expect_union(into, one, two);
        const auto after = block_bytes(into);
        for (std::size_t at = kOverflowMarkByte; at < after.size(); at += kBlockBytes) {
          ASSERT_GE(after[at], std::max(before[at], other_bytes[at]));
        }
        // Every copy can be erased again, so all are where they can be found.
        for (const auto* all : {&two, &one}) {
          for (const std::uint64_t hash : *all) ASSERT_TRUE(into.erase(Hash{hash}));
        }
        EXPECT_EQ(into.size(), 0u);
      }
    }
  }
}

// Two half-full filters have few keys in their alternates; their union must send many there.
TEST_P(MergeTest, SpillsAsInsertsDo) {
  Filter into = empty_filter(GetParam(), {300, 0});
  Filter other = empty_filter(GetParam(), {300, 0});
  const std::uint64_t half = into.slots() * 48 / 100;
  const auto one = hashes(0, half);
  const auto two = hashes(half, half);
  insert_all(into, one);
  insert_all(other, two);
  const std::uint64_t before = sum_of_marks(into) + sum_of_marks(other);
  into.merge(other);
  expect_union(into, one, two);
  EXPECT_GT(sum_of_marks(into), 20 * before + 1000);
  // And not many more than single inserts would.
  Filter single = empty_filter(GetParam(), {300, 0});
  insert_all(single, one);
  insert_all(single, two);
  EXPECT_LT(static_cast<double>(sum_of_marks(into)),
            1.15 * static_cast<double>(sum_of_marks(single)));
}

// Block after block no longer fits here; the other order does.
TEST_P(MergeTest, NearlyFullUnionsFit) {
  const double load = GetParam() == 16 ? 0.988 : 0.984;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    Filter into = empty_filter(GetParam(), {1000, 0});
    Filter other = empty_filter(GetParam(), {1000, 0});
    const auto keys = static_cast<std::uint64_t>(load * static_cast<double>(into.slots()));
    const auto one = hashes(seed << 40, keys / 2);
    const auto two = hashes((seed << 40) + keys / 2, keys / 2);
    insert_all(into, one);
    insert_all(other, two);
    ASSERT_NO_THROW(into.merge(other));
    expect_union(into, one, two);
  }
}

// What can_merge says, for any kinds of filters.
template <class Into, class Other>
void expect_can_merge(const Into& into, const Other& other) {
  std::string why = "as before";
  EXPECT_TRUE(into.can_merge(other));
  EXPECT_TRUE(into.can_merge(other, &why));
  EXPECT_EQ(why, "as before");
}

template <class Into, class Other>
void expect_cannot_merge(const Into& into, const Other& other, const std::string& expected) {
  std::string why;
  EXPECT_FALSE(into.can_merge(other));
  EXPECT_FALSE(into.can_merge(other, &why));
  EXPECT_EQ(why, expected);
}

template <typename Error>
void expect_refused(Filter& into, const Filter& other, const std::string& part) {
  const auto before = block_bytes(into);
  const auto other_bytes = block_bytes(other);
  const std::uint64_t size = into.size();
  expect_error<Error>([&] { into.merge(other); }, part);
  EXPECT_EQ(block_bytes(into), before);
  EXPECT_EQ(block_bytes(other), other_bytes);
  EXPECT_EQ(into.size(), size);
}

TEST_P(MergeTest, TooManyKeysChangeNothing) {
  for (const Geometry geometry : {Geometry{1, 0}, Geometry{40, 0}, Geometry{10, 2}}) {
    for (const double load : {1.0, 1.3, 1.8}) {
      Filter into = empty_filter(GetParam(), geometry);
      Filter other = empty_filter(GetParam(), geometry);
      const auto each =
          static_cast<std::uint64_t>(load / 2 * static_cast<double>(into.slots())) + 1;
      for (const std::uint64_t hash : hashes(0, each)) (void)into.insert(Hash{hash});
      for (const std::uint64_t hash : hashes(each, each)) (void)other.insert(Hash{hash});
      expect_refused<std::length_error>(into, other, "more keys than find room");
      expect_can_merge(into, other);  // which says nothing about room
    }
  }
}

TEST_P(MergeTest, TooManyCopiesChangeNothing) {
  const unsigned most = GetParam() == 16 ? 10 : 8;
  Filter into = empty_filter(GetParam(), {100, 0});
  Filter other = empty_filter(GetParam(), {100, 0});
  for (unsigned i = 0; i < most - 3; ++i) ASSERT_TRUE(into.insert("the same"));
  for (unsigned i = 0; i < 3; ++i) ASSERT_TRUE(other.insert("the same"));
  insert_all(other, hashes(0, 1000));
  into.merge(other);
  EXPECT_EQ(into.count("the same"), most);
  Filter third = empty_filter(GetParam(), {100, 0});
  insert_all(third, hashes(1000, 500));
  ASSERT_TRUE(third.insert("the same"));
  expect_refused<std::length_error>(into, third, "more copies of one key");
  EXPECT_EQ(into.count("the same"), most);
  // Also where there are more of them than slots.
  Filter crowded = empty_filter(GetParam(), {10, 0});
  for (const std::uint64_t hash : hashes(0, 8 * slots_of(GetParam()) / most)) {
    for (unsigned i = 0; i < most; ++i) (void)crowded.insert(Hash{hash});
  }
  ASSERT_GT(2 * crowded.size(), crowded.slots());
  expect_refused<std::length_error>(crowded, crowded, "more copies of one key");
  // Left out on demand: one copy, and nothing else.
  const std::uint64_t size = into.size() + third.size();
  ConcurrentFilter shared(into.snapshot());
  for (const Copies copies : {Copies::most, Copies::that_fit}) {
    Filter united = into.snapshot();
    EXPECT_EQ(united.merge(third, copies), 1u);
    EXPECT_EQ(united.size(), size - 1);
    EXPECT_EQ(united.count("the same"), most);
    for (const std::uint64_t hash : hashes(0, 1500)) EXPECT_TRUE(united.may_contain(Hash{hash}));
    EXPECT_EQ(to_bytes(Filter::load(to_bytes(united))), to_bytes(united));
    for (unsigned i = 0; i < most; ++i) EXPECT_TRUE(united.erase("the same"));
    for (const std::uint64_t hash : hashes(0, 1500)) EXPECT_TRUE(united.erase(Hash{hash}));
    EXPECT_EQ(united.size(), 0u);
  }
  EXPECT_EQ(shared.merge(ConcurrentFilter(std::move(third)), Copies::that_fit), 1u);
  EXPECT_EQ(shared.size(), size - 1);
  EXPECT_EQ(shared.count("the same"), most);
}

// Lists with common keys at half load: copies crowd each other out, which is no lack of room.
// Copies of keys that have few already are none of these: then there are too many keys.
TEST_P(MergeTest, CopiesThatCrowdEachOther) {
  const auto all = hashes(0, 4000);
  const auto merge_lists = [&](Filter& into, unsigned lists, Copies copies) {
    Filter list = empty_filter(GetParam(), geometry_of(into));
    insert_all(list, all);
    std::uint64_t left_out = 0;
    for (unsigned i = 0; i < lists; ++i) left_out += into.merge(list, copies);
    return left_out;
  };
  const unsigned lists = most_copies(GetParam()) + 2;
  const auto blocks = std::uint64_t{lists} * all.size() * 2 / slots_of(GetParam());
  Filter filter = empty_filter(GetParam(), {blocks, 0});
  const std::uint64_t left_out = merge_lists(filter, lists, Copies::that_fit);
  EXPECT_GE(left_out, 2 * all.size());
  EXPECT_LT(left_out, 4 * all.size());
  EXPECT_EQ(filter.size(), lists * all.size() - left_out);
  for (const std::uint64_t hash : all) ASSERT_GE(filter.count(Hash{hash}), 4u);
  Filter refused = empty_filter(GetParam(), {blocks, 0});
  expect_error<std::length_error>([&] { merge_lists(refused, lists, Copies::all); },
                                  "more copies of one key");
  Filter small = empty_filter(GetParam(), {all.size() * 3 / 2 / slots_of(GetParam()), 0});
  for (const Copies copies : {Copies::all, Copies::most, Copies::that_fit}) {
    expect_error<std::length_error>([&] { merge_lists(small, 2, copies); },
                                    "more keys than find room");
  }
}

TEST_P(MergeTest, WithItself) {
  Filter filter = empty_filter(GetParam(), {100, 0});
  const auto all = hashes(0, filter.slots() * 2 / 5);
  insert_all(filter, all);
  filter.merge(filter);
  expect_union(filter, all, all);
  for (const std::uint64_t hash : all) ASSERT_GE(filter.count(Hash{hash}), 2u);
  expect_refused<std::length_error>(filter, filter, "more keys than find room");
}

TEST_P(MergeTest, FiltersOfEqualOptionsThatHaveGrown) {
  const Options options{.capacity = 3000, .bits = GetParam(), .seed = 8};
  Filter into(options);
  Filter other(options);
  const auto one = hashes(0, 2800);
  const auto two = hashes(2800, 2800);
  insert_all(into, one);
  insert_all(other, two);
  expect_refused<std::length_error>(into, other, "when both have grown once more");
  ASSERT_TRUE(into.grow());
  expect_refused<std::invalid_argument>(into, other, "doubled 1 and 0");
  ASSERT_TRUE(other.grow());
  into.merge(other);
  expect_union(into, one, two);
}

INSTANTIATE_TEST_SUITE_P(Widths, MergeTest, testing::ValuesIn(kFilterWidths));

TEST(Merge, DifferentFiltersAreRefused) {
  const auto refused = [](Filter into, Filter other, const std::string& part) {
    const std::string sentence = "filters can be merged only when they have " + part;
    EXPECT_TRUE(into.insert("kept"));
    expect_refused<std::invalid_argument>(into, other, sentence);
    EXPECT_TRUE(into.may_contain("kept"));
    // can_merge gives the same reason, for every kind of filter.
    expect_cannot_merge(into, other, sentence);
    expect_can_merge(into, into);
    const ConcurrentFilter shared(std::move(into));
    expect_cannot_merge(shared, other, sentence);
    expect_can_merge(shared, shared.snapshot());
    const ConcurrentFilter other_shared(std::move(other));
    expect_cannot_merge(shared, other_shared, sentence);
    expect_can_merge(shared, shared);
  };
  refused(empty_filter(8, {9, 0}), empty_filter(12, {9, 0}),
          "fingerprints of the same width; these have bits 8 and 12");
  refused(empty_filter(8, {9, 0}, 1), empty_filter(8, {9, 0}, 2),
          "the same seed; these have the seeds 1 and 2");
  refused(empty_filter(8, {9, 0}), empty_filter(8, {10, 0}),
          "begun with the same number of blocks; these have begun with 9 and 10");
  refused(empty_filter(8, {8, 1}), empty_filter(8, {16, 0}),
          "begun with the same number of blocks; these have begun with 8 and 16");
  Filter crowded = empty_filter(8, {9, 3});
  insert_all(crowded, hashes(0, 300));
  refused(empty_filter(8, {9, 1}), std::move(crowded),
          "doubled equally often (grow the smaller one); these have doubled 1 and 3");
}

}  // namespace
}  // namespace nestline::test
