// A Filter and a ConcurrentFilter. One thread does the same to both; they are compared after every
// step.
#ifndef NESTLINE_TESTS_FILTERS_CONCURRENT_FILTER_PAIR_H_
#define NESTLINE_TESTS_FILTERS_CONCURRENT_FILTER_PAIR_H_

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "nestline/concurrent_filter.h"
#include "nestline/io.h"
#include "tests/filters/concurrent/many_writers.h"
#include "tests/support/answers.h"
#include "tests/support/model.h"

namespace nestline::test {

// Random steps on keys of one kind.
template <typename Key>
class FilterPair {
 public:
  FilterPair(const Options& options, std::span<const Key> keys, std::uint64_t seed, Writing writing)
      : options_(options), one_(options), many_(options), keys_(keys), random_(seed) {
    if (writing == Writing::many) become_many_writers(many_);
  }

  void step() {
    const std::uint64_t what = random_() % 100;
    if (what < 40) {
      const Key key = any();
      ASSERT_EQ(one_.insert(key).outcome, many_.insert(key).outcome);
    } else if (what < 48) {
      const Key key = any();
      ASSERT_EQ(one_.insert_unique(key).outcome, many_.insert_unique(key).outcome);
    } else if (what < 66) {
      const Key key = any();
      ASSERT_EQ(one_.erase(key), many_.erase(key));
    } else if (what < 74) {
      // The old key may be missing: then both still store the new one.
      const Key old_key = any();
      const Key new_key = any();
      ASSERT_EQ(one_.update(old_key, new_key).outcome, many_.update(old_key, new_key).outcome);
    } else if (what < 86) {
      const Key key = any();
      ASSERT_EQ(one_.may_contain(key), many_.may_contain(key));
      ASSERT_EQ(one_.count(key), many_.count(key));
    } else {
      batch_step(what);
    }
    ASSERT_EQ(one_.size(), many_.size());
  }

  void batch_step(std::uint64_t what) {
    constexpr std::array<std::size_t, 8> kLengths = {0, 1, 3, 63, 64, 65, 129, 200};
    const std::size_t length = kLengths[random_() % kLengths.size()];
    const auto batch = keys_.subspan(random_() % (keys_.size() - length), length);
    std::vector<std::uint8_t> expected(length, 7);
    std::vector<std::uint8_t> done(length, 7);
    std::vector<Outcome> of_one(length);
    std::vector<Outcome> of_many(length);
    if (what < 88) {
      ASSERT_EQ(one_.insert(batch, of_one), many_.insert(batch, of_many));
    } else if (what < 90) {
      ASSERT_EQ(one_.insert_unique(batch, of_one), many_.insert_unique(batch, of_many));
    } else if (what < 93) {
      ASSERT_EQ(one_.erase(batch, expected), many_.erase(batch, done));
    } else {
      ask(batch);
    }
    ASSERT_EQ(expected, done);
    ASSERT_EQ(of_one, of_many);
  }

  // All lookups in all forms.
  void ask(std::span<const Key> batch) {
    ASSERT_EQ(answers_of(many_, batch), answers_of(one_, batch));
  }
  void grow() { ASSERT_EQ(one_.grow(), many_.grow()); }
  void shrink() {
    ASSERT_EQ(one_.can_shrink(), many_.can_shrink());
    ASSERT_EQ(one_.shrink(), many_.shrink());
  }
  void fit() { ASSERT_EQ(one_.fit(), many_.fit()); }
  void clear() {
    one_.clear();
    many_.clear();
  }

  // Merges the same few keys into both.
  void merge() {
    Filter other(options_);
    const std::uint32_t growth = FilterAccess::blocks(one_).view.geometry.growth;
    while (FilterAccess::blocks(other).view.geometry.growth < growth) ASSERT_TRUE(other.grow());
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(other.insert(any()));
    ASSERT_EQ(outcome_of_merging(one_, other), outcome_of_merging(many_, other));
  }
  void merge_with_itself() {
    ASSERT_EQ(outcome_of_merging(one_, one_), outcome_of_merging(many_, many_));
  }

  // Everything that can be compared without changing anything.
  void compare() const {
    ASSERT_EQ(one_.size(), many_.size());
    ASSERT_EQ(one_.capacity(), many_.capacity());
    ASSERT_EQ(one_.load_factor(), many_.load_factor());
    ASSERT_EQ(one_.expected_fpr(), many_.expected_fpr());
    ASSERT_EQ(one_.bits(), many_.bits());
    ASSERT_EQ(one_.seed(), many_.seed());
    ASSERT_EQ(one_.memory_bytes(), many_.memory_bytes());
    const Filter snapshot = many_.snapshot();
    ASSERT_EQ(block_bytes(one_), block_bytes(snapshot));
    ASSERT_EQ(one_.size(), snapshot.size());
    ASSERT_EQ(one_.capacity(), snapshot.capacity());
  }
  // Compares the filter that it freezes into too; after that the pair can only be destroyed.
  void compare_frozen() {
    const Filter frozen = std::move(many_).freeze();
    ASSERT_EQ(to_bytes(one_), to_bytes(frozen));
  }

  Filter& one() { return one_; }
  ConcurrentFilter& many() { return many_; }

 private:
  template <class AnyFilter, class Other>
  static std::string outcome_of_merging(AnyFilter& filter, const Other& other) {
    try {
      filter.merge(other);
      return "merged";
    } catch (const std::length_error& error) {
      return error.what();
    }
  }

  Key any() { return keys_[random_() % keys_.size()]; }

  Options options_;
  Filter one_;
  ConcurrentFilter many_;
  std::span<const Key> keys_;
  std::mt19937_64 random_;
};

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_FILTERS_CONCURRENT_FILTER_PAIR_H_
