// Filters for several threads, to test the history checker: one that is right, and some that are
// broken as a protocol can be broken.
#ifndef NESTLINE_TESTS_FILTERS_CONCURRENT_HISTORY_WRAPPERS_H_
#define NESTLINE_TESTS_FILTERS_CONCURRENT_HISTORY_WRAPPERS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>

#include "lib/engine/place/geometry.h"
#include "lib/engine/place/layout.h"
#include "lib/filters/filter/blocks.h"
#include "nestline/filter.h"
#include "nestline/io.h"
#include "tests/support/histories.h"

namespace nestline::test {

// A filter behind a mutex. It is right, and the base of the filters that are wrong in one
// operation.
class MutexFilter {
 public:
  explicit MutexFilter(Filter&& filter) : filter_(std::move(filter)) {}

  template <typename Work>
  auto locked(Work&& work) const {
    perturb(0);
    const std::lock_guard lock(mutex_);
    return work();
  }

  Inserted insert(Hash key) {
    return locked([&] { return filter_.insert(key); });
  }
  Inserted insert_unique(Hash key) {
    return locked([&] { return filter_.insert_unique(key); });
  }
  Inserted update(Hash old_key, Hash new_key) {
    return locked([&] { return filter_.update(old_key, new_key); });
  }
  bool erase(Hash key) {
    return locked([&] { return filter_.erase(key); });
  }
  unsigned count(Hash key) const {
    return locked([&] { return filter_.count(key); });
  }
  bool may_contain(Hash key) const {
    return locked([&] { return filter_.may_contain(key); });
  }

  void insert(std::span<const Hash> keys, std::span<Outcome> outcomes) {
    locked([&] { return filter_.insert(keys, outcomes); });
  }
  void insert_unique(std::span<const Hash> keys, std::span<Outcome> outcomes) {
    locked([&] { return filter_.insert_unique(keys, outcomes); });
  }
  void erase(std::span<const Hash> keys, std::span<std::uint8_t> out) {
    locked([&] { return filter_.erase(keys, out); });
  }
  void count(std::span<const Hash> keys, std::span<std::uint8_t> out) const {
    locked([&] { return filter_.count(keys, out), 0; });
  }
  std::size_t may_contain(std::span<const Hash> keys, std::span<std::uint8_t> out) const {
    return locked([&] { return filter_.may_contain(keys, out); });
  }

  bool grow() {
    return locked([&] { return filter_.grow(); });
  }
  bool shrink() {
    return locked([&] { return filter_.shrink(); });
  }
  void clear() {
    locked([&] { return filter_.clear(), 0; });
  }
  Filter snapshot() const {
    return locked([&] { return Filter::load(to_bytes(filter_)); });
  }
  void merge(const Filter& other) {
    locked([&] { return filter_.merge(other), 0; });
  }
  std::uint64_t size() const { return filter_.size(); }

 protected:
  Filter filter_;
  mutable std::mutex mutex_;
};

// Looks at home and at the alternate at two different times, as a reader without validation does.
class TornReader : public MutexFilter {
 public:
  using MutexFilter::may_contain;
  using MutexFilter::MutexFilter;
  bool may_contain(Hash key) const {
    bool look_away = false;
    if (locked([&] { return found(key, false, look_away); })) return true;
    linger();
    return look_away && locked([&] { return found(key, true, look_away); });
  }

 private:
  // Whether a copy is at home, or in the alternate; `look_away`: whether one may be there.
  bool found(Hash key, bool away, bool& look_away) const {
    const auto& state = FilterAccess::blocks(filter_);
    return visit_layout(state.bits, [&](auto layout) {
      Place place = home_of<decltype(layout)>(state.view.geometry, key.value);
      look_away = eviction_rank(place.fingerprint) < state.view.blocks[place.block].overflow_mark();
      if (away) place = moved(state.view.geometry, place);
      const Block& block = state.view.blocks[place.block];
      return (state.engine->block.match(block, place.fingerprint) & place.bucket) != 0;
    });
  }
};

// Computes a block's new bytes from what it saw before others changed it.
class LostUpdate : public MutexFilter {
 public:
  using MutexFilter::insert;
  using MutexFilter::MutexFilter;
  Inserted insert(Hash key) {
    const Block seen = locked([&] { return home(key); });
    const std::uint64_t blocks = locked([&] { return geometry().blocks(); });
    linger();
    return locked([&] {
      if (geometry().blocks() == blocks) home(key) = seen;
      return filter_.insert(key);
    });
  }

 private:
  [[nodiscard]] const Geometry& geometry() const {
    return FilterAccess::blocks(filter_).view.geometry;
  }
  [[nodiscard]] Block& home(Hash key) const {
    const auto& state = FilterAccess::blocks(filter_);
    return visit_layout(state.bits, [&](auto layout) -> Block& {
      return state.blocks()[home_of<decltype(layout)>(geometry(), key.value).block];
    });
  }
};

class LooseUnique : public MutexFilter {
 public:
  using MutexFilter::insert_unique;
  using MutexFilter::MutexFilter;
  Inserted insert_unique(Hash key) {
    if (may_contain(key)) return {Outcome::present};
    linger();
    return insert(key);
  }
};

class EraseFirst : public MutexFilter {
 public:
  using MutexFilter::MutexFilter;
  Inserted update(Hash old_key, Hash new_key) {
    erase(old_key);
    linger();
    const Inserted inserted = insert(new_key);
    if (!inserted) (void)insert(old_key);
    return inserted;
  }
};

class InsertFirst : public MutexFilter {
 public:
  using MutexFilter::MutexFilter;
  Inserted update(Hash old_key, Hash new_key) {
    const Inserted inserted = insert(new_key);
    linger();
    if (inserted) erase(old_key);
    return inserted;
  }
};

// Two threads may both get the answer that they erased the only copy.
class DoubleErase : public MutexFilter {
 public:
  using MutexFilter::erase;
  using MutexFilter::MutexFilter;
  bool erase(Hash key) {
    const bool there = count(key) > 0;
    linger();
    if (there) MutexFilter::erase(key);
    return there;
  }
};

// Takes a key out of the table and puts it back, as a move does that clears before it copies.
class MovesInTheOpen : public MutexFilter {
 public:
  using MutexFilter::insert;
  using MutexFilter::MutexFilter;
  Inserted insert(Hash key) {
    const Inserted inserted = MutexFilter::insert(key);
    if (inserted) {
      erase(key);
      linger();
      (void)MutexFilter::insert(key);
    }
    return inserted;
  }
};

// Gives the size of one instant with the content of another.
class TornSnapshot : public MutexFilter {
 public:
  using MutexFilter::MutexFilter;
  Filter snapshot() const {
    auto first = locked([&] { return to_bytes(filter_); });
    linger();
    auto second = locked([&] { return to_bytes(filter_); });
    Filter snapshot = Filter::load(second);
    const Filter before = Filter::load(first);
    const auto& view = FilterAccess::blocks(before).view;
    std::copy_n(view.blocks, view.geometry.blocks() / 2, FilterAccess::blocks(snapshot).blocks());
    return snapshot;
  }
};

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_FILTERS_CONCURRENT_HISTORY_WRAPPERS_H_
