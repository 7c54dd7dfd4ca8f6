// An exact model of a filter, and a wrapper that holds both and compares after every call.
//
// A filter cannot tell two keys apart that have the same fingerprint and bucket offset and whose
// homes are equal, or each other's alternates. The model knows these classes, so it knows every
// answer up to them, false positives included: with `home` keys of the key's class at its home and
// `away` keys of it at the alternate,
//
//   may_contain is true if home > 0, false if home + away == 0
//   count is between home and home + away
//
// Blocks are compared byte for byte where nothing may change.
#ifndef NESTLINE_TESTS_SUPPORT_MODEL_H_
#define NESTLINE_TESTS_SUPPORT_MODEL_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <tuple>
#include <vector>

#include "lib/engine/place/geometry.h"
#include "lib/engine/place/layout.h"
#include "lib/filters/filter/blocks.h"
#include "nestline/filter.h"

namespace nestline::test {

// Each block's overflow mark.
inline std::vector<std::uint32_t> marks_of(const Filter& filter) {
  const auto& view = FilterAccess::blocks(filter).view;
  std::vector<std::uint32_t> marks(view.geometry.blocks());
  for (std::size_t b = 0; b < marks.size(); ++b) marks[b] = view.blocks[b].overflow_mark();
  return marks;
}

inline std::vector<std::uint8_t> block_bytes(const Filter& filter) {
  const auto& state = FilterAccess::blocks(filter);
  std::vector<std::uint8_t> bytes(state.view.geometry.blocks() * kBlockBytes);
  std::memcpy(bytes.data(), state.view.blocks, bytes.size());
  return bytes;
}

// The multiset of stored hashes, by home and (fingerprint, bucket offset).
class Model {
 public:
  explicit Model(const Filter& filter) : filter_(filter) {}

  void insert(std::uint64_t hash) { ++copies_[id(place(hash))]; }
  void erase(std::uint64_t hash) {
    const auto found = copies_.find(id(place(hash)));
    ASSERT_NE(found, copies_.end());
    if (--found->second == 0) copies_.erase(found);
  }
  void clear() { copies_.clear(); }

  [[nodiscard]] unsigned at_home(std::uint64_t hash) const { return at(place(hash)); }
  [[nodiscard]] unsigned at_both(std::uint64_t hash) const {
    const Place home = place(hash);
    const Place away = moved(geometry(), home);
    return at(home) + (away.block == home.block ? 0 : at(away));
  }
  [[nodiscard]] Place place(std::uint64_t hash) const {
    return visit_layout(filter_.bits(),
                        [&](auto layout) { return home_of<decltype(layout)>(geometry(), hash); });
  }
  [[nodiscard]] const Geometry& geometry() const {
    return FilterAccess::blocks(filter_).view.geometry;
  }

 private:
  using Id = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>;
  static Id id(const Place& place) { return {place.block, place.fingerprint, place.bucket_offset}; }
  [[nodiscard]] unsigned at(const Place& place) const {
    const auto found = copies_.find(id(place));
    return found == copies_.end() ? 0 : found->second;
  }

  const Filter& filter_;
  std::map<Id, unsigned> copies_;
};

// Every operation of Filter on hashes, checked. Size and outcomes are checked after each call,
// whole blocks where an operation must not have changed them.
class CheckedFilter {
 public:
  explicit CheckedFilter(const Options& options) : filter_(options), model_(filter_) {}

  Outcome insert(std::uint64_t hash) {
    const auto before = block_bytes(filter_);
    const Outcome outcome = filter_.insert(Hash{hash}).outcome;
    after_insert(outcome, hash, before);
    return outcome;
  }

  Outcome insert_unique(std::uint64_t hash) {
    const auto before = block_bytes(filter_);
    const bool may_contain = filter_.may_contain(Hash{hash});
    const Outcome outcome = filter_.insert_unique(Hash{hash}).outcome;
    EXPECT_EQ(outcome == Outcome::present, may_contain);
    if (outcome == Outcome::present) {
      EXPECT_EQ(block_bytes(filter_), before);
    } else {
      after_insert(outcome, hash, before);
    }
    return outcome;
  }

  // Only of a stored old_hash.
  Outcome update(std::uint64_t old_hash, std::uint64_t new_hash) {
    const auto before = block_bytes(filter_);
    const Outcome outcome = filter_.update(Hash{old_hash}, Hash{new_hash}).outcome;
    if (outcome == Outcome::stored) {
      model_.insert(new_hash);
      model_.erase(old_hash);
    } else {
      EXPECT_NE(outcome, Outcome::present);
      EXPECT_EQ(block_bytes(filter_), before);
    }
    EXPECT_EQ(filter_.size(), size_);
    check(new_hash);
    return outcome;
  }

  // Only of a stored hash.
  void erase(std::uint64_t hash) {
    EXPECT_TRUE(filter_.erase(Hash{hash}));
    model_.erase(hash);
    --size_;
    EXPECT_EQ(filter_.size(), size_);
    check(hash);
  }

  void clear() {
    filter_.clear();
    model_.clear();
    size_ = 0;
    EXPECT_EQ(filter_.size(), 0u);
  }

  // What the filter may say of one hash.
  void check(std::uint64_t hash) const {
    const unsigned home = model_.at_home(hash);
    const unsigned both = model_.at_both(hash);
    const bool answer = filter_.may_contain(Hash{hash});
    EXPECT_TRUE(answer || home == 0) << "false negative for hash " << hash;
    EXPECT_TRUE(!answer || both > 0) << "a match that nothing explains for hash " << hash;
    const unsigned count = filter_.count(Hash{hash});
    EXPECT_GE(count, home);
    EXPECT_LE(count, both);
    EXPECT_EQ(answer, count > 0);
  }

  // Blocks hold as many fingerprints as keys were stored, and nothing else but marks.
  void check_blocks() const {
    const auto& state = FilterAccess::blocks(filter_);
    std::uint64_t taken = 0;
    visit_layout(filter_.bits(), [&](auto layout) {
      using L = decltype(layout);
      for (std::uint64_t b = 0; b < state.view.geometry.blocks(); ++b) {
        const Block& block = state.view.blocks[b];
        for (std::uint32_t s = 0; s < L::kSlots; ++s) {
          const std::uint32_t fingerprint = L::get(block, s);
          const std::uint64_t slot_bit = std::uint64_t{1} << s;
          if (fingerprint == 0) {
            EXPECT_NE(state.engine->block.free_slots(block) & slot_bit, 0u);
            continue;
          }
          ++taken;
          const std::uint64_t bucket = L::bucket(fingerprint, L::bucket_offset_at(fingerprint, s));
          EXPECT_NE(bucket & slot_bit, 0u);
        }
        for (std::size_t i = kOverflowMarkByte + 1; i < kBlockBytes; ++i)
          EXPECT_EQ(block.bytes[i], 0);
      }
    });
    EXPECT_EQ(taken, size_);
  }

  [[nodiscard]] const Filter& filter() const { return filter_; }
  [[nodiscard]] Filter& unchecked() { return filter_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] const Model& model() const { return model_; }

 private:
  void after_insert(Outcome outcome, std::uint64_t hash, const std::vector<std::uint8_t>& before) {
    if (outcome == Outcome::stored) {
      model_.insert(hash);
      ++size_;
    } else {
      EXPECT_TRUE(outcome == Outcome::full || outcome == Outcome::too_many_copies);
      EXPECT_EQ(block_bytes(filter_), before) << "a failed insert changed a byte";
    }
    EXPECT_EQ(filter_.size(), size_);
    check(hash);
  }

  Filter filter_;
  Model model_;
  std::uint64_t size_ = 0;
};

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_SUPPORT_MODEL_H_
