// Building a filter of many keys on all cores: keys go to their homes while these are in the cache
// of one core, and without locks.
//
// The build takes the keys a slice at a time, so that the memory beside the filter is bounded. For
// each slice:
//
//   1  sort    Chunks of keys, in parallel: they are hashed, and sorted by the range of blocks that
//              they belong to (range_sort.h).
//   2  place   Ranges, in parallel: one task has a range of blocks to itself and never leaves it,
//              so it takes no locks. It gives each hash of the range a slot at home. Those that
//              find no way to a free slot are written back to the front of the range's hashes.
//   3  spill   What was written back, in parallel over the ranges, by the general insert with its
//              locks.
//
// Locking leaves versions behind; the build clears them at the end.
#include <tbb/enumerable_thread_specific.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lib/filter/filter_state.h"
#include "lib/filter/growth.h"
#include "lib/kernels/kernels.h"
#include "lib/parallel/parallel_tasks.h"
#include "lib/parallel/range_sort.h"
#include "lib/table/locking.h"
#include "lib/table/table.h"
#include "nestline/parallel.h"

namespace nestline::parallel {
namespace {
using State = Filter::State;

// Keys of a slice at most: 128 MiB of hashes. In smaller filters a tenth of their slots: larger
// slices make spills search longer, since more keys go home before any spills; smaller slices pass
// over the blocks more often. But never fewer than 8 chunks, so that several threads have work.
constexpr std::size_t kMostSliceKeys = std::size_t{1} << 24;
constexpr std::size_t kLeastSliceKeys = 8 * RangeSort::kChunkKeys;

template <class L>
std::size_t slice_keys(const State& state) {
  const std::uint64_t slots = state.view.geometry.blocks() * L::kSlots;
  return static_cast<std::size_t>(
      std::clamp<std::uint64_t>(slots / 10, kLeastSliceKeys, kMostSliceKeys));
}

// Fewer keys than this are spilled by one thread, without locks.
constexpr std::size_t kFewKeys = 4096;

[[noreturn]] void refuse(const State& state, Outcome outcome, std::size_t keys) {
  std::ostringstream sentence;
  if (outcome == Outcome::copies) {
    sentence << "one of the " << keys
             << " keys, with those that look the same, occurs more often than the "
             << most_copies(state.bits) << " copies that a filter of " << state.bits
             << " bits holds";
  } else {
    sentence << "no room for all of the " << keys << " keys in a filter that promises to hold "
             << state.capacity;
  }
  throw std::length_error(sentence.str());
}

// The most threads that may work for the caller.
std::size_t threads() {
  return std::min(static_cast<std::size_t>(tbb::this_task_arena::max_concurrency()),
                  tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism));
}

template <class L>
class Builder {
 public:
  Builder(std::unique_ptr<State>& state, std::size_t keys)
      : state_(state), keys_(keys), sort_(std::min(keys, kMostSliceKeys)) {}

  // Inserts a slice of the keys.
  void add(KeySpan slice) {
    sort_.begin(*state_, slice);
    for_each_task(sort_.chunks(),
                  [&](std::size_t chunk) { sort_.sort_chunk(chunk, scratch_.local()); });
    left_.resize(sort_.ranges());
    // Where most blocks get no key, prefetching all of them would be a waste.
    const std::uint64_t blocks = state_->view.geometry.blocks();
    blocks_a_group_ = slice.size() < blocks / 4 ? 0 : blocks * kGroup / slice.size() + 1;
    for_each_task(sort_.ranges(), [&](std::size_t range) { left_[range] = place_at_home(range); });
    spill();
    state_->size += slice.size();
  }

  // Resets the blocks' versions to those of a filter without locks.
  void finish() {
    if (!locked_) return;
    constexpr std::size_t kBlocks = 65536;
    const std::uint64_t blocks = state_->view.geometry.blocks();
    for_each_task(static_cast<std::size_t>((blocks - 1) / kBlocks) + 1, [&](std::size_t task) {
      const std::uint64_t end = std::min<std::uint64_t>(blocks, (task + 1) * kBlocks);
      for (std::uint64_t i = task * kBlocks; i < end; ++i) {
        BlockLocks::forget_version(state_->blocks()[i]);
      }
    });
  }

 private:
  static constexpr std::size_t kGroup = kLocateMost;

  template <class Locks>
  Table<L, Locks> table() const {
    return {state_->blocks(), state_->view.geometry, *state_->kernels};
  }

  // Returns how many hashes were written back. Each group of hashes is located, and its blocks
  // prefetched, while the group before it is placed. Some blocks of the next range are prefetched
  // too, since this thread most likely gets that range next.
  std::size_t place_at_home(std::size_t range) {
    struct Group {
      std::size_t size;
      std::array<std::uint64_t, kGroup> hashes;
      std::array<Place, kGroup> places;
    };
    std::array<Group, 2> groups;
    RangeSort::Cursor from(sort_, range);
    RangeSort::Cursor back(sort_, range);
    const auto fetch = [&](Group& group) {
      group.size = from.read(group.hashes.data(), kGroup);
      if (group.size == 0) return;
      state_->kernels->locate_batch(state_->view, group.hashes.data(), group.size, Input::hashes,
                                    group.places.data());
    };
    auto blocks = table<NoLocks>();
    std::uint64_t next = sort_.first_block(range + 1);
    const std::uint64_t next_end = sort_.first_block(range + 2);
    std::size_t left = 0;
    fetch(groups[0]);
    for (std::size_t g = 0; groups[g % 2].size != 0; ++g) {
      Group& after = groups[(g + 1) % 2];
      fetch(after);
      const Group& group = groups[g % 2];
      for (const std::uint64_t end = std::min(next + blocks_a_group_, next_end); next < end;
           ++next) {
        prefetch_block(state_->view.blocks[next]);
      }
      for (std::size_t i = 0; i < group.size; ++i) {
        if (i < after.size) prefetch_block(state_->view.blocks[after.places[i].block]);
        if (blocks.insert_at_home(group.places[i])) continue;
        back.write(group.hashes[i]);
        ++left;
      }
    }
    return left;
  }

  void spill() {
    const std::size_t all = std::accumulate(left_.begin(), left_.end(), std::size_t{0});
    if (all < kFewKeys || threads() == 1) {
      for (std::size_t range = 0; range < sort_.ranges(); ++range) spill_range<NoLocks>(range);
    } else {
      locked_ = true;
      for_each_task(sort_.ranges(), [&](std::size_t range) { spill_range<BlockLocks>(range); });
    }
    for (std::vector<std::uint64_t>& hashes : waiting_) {
      for (const std::uint64_t hash : hashes) insert_alone(hash);
      hashes.clear();
    }
    must_grow_ = false;
  }

  // Inserts what is left of a range. A key that must wait until the others are done goes to
  // waiting_.
  template <class Locks>
  void spill_range(std::size_t range) {
    auto blocks = table<Locks>();
    std::array<std::uint64_t, kGroup> hashes;
    RangeSort::Cursor from(sort_, range);
    for (std::size_t left = left_[range]; left > 0;) {
      const std::size_t size = from.read(hashes.data(), std::min(left, kGroup));
      for (std::size_t i = 0; i < size; ++i) {
        prefetch_block(state_->view.blocks[blocks.home(hashes[i]).block]);
      }
      for (std::size_t i = 0; i < size; ++i) {
        std::optional<Outcome> outcome;
        if (!must_grow_) outcome = blocks.insert(blocks.home(hashes[i]));
        if (outcome == Outcome::stored) continue;
        if (outcome == Outcome::full && state_->grows_by_itself()) {
          must_grow_ = true;
        } else if (outcome) {
          refuse(*state_, *outcome, keys_);
        }
        waiting_.local().push_back(hashes[i]);
      }
      left -= size;
    }
  }

  // Inserts one key while no other thread is at work. Grows the filter if it has to.
  void insert_alone(std::uint64_t hash) {
    for (;;) {
      auto blocks = table<NoLocks>();
      const Outcome outcome = *blocks.insert(blocks.home(hash));
      if (outcome == Outcome::stored) return;
      if (outcome != Outcome::full || !state_->grows_by_itself() || !try_to_grow(state_)) {
        refuse(*state_, outcome, keys_);
      }
    }
  }

  std::unique_ptr<State>& state_;
  std::size_t keys_;
  RangeSort sort_;
  tbb::enumerable_thread_specific<RangeSort::Scratch> scratch_;
  std::vector<std::size_t> left_;        // hashes of each range that were written back
  std::atomic<bool> must_grow_ = false;  // a key found no room, and the filter can grow
  std::uint64_t blocks_a_group_ = 0;
  bool locked_ = false;
  tbb::enumerable_thread_specific<std::vector<std::uint64_t>> waiting_;
};

}  // namespace

Filter build(const Options& options, KeySpan keys) {
  std::unique_ptr<State> state = FilterAccess::take(Filter(options));
  while (keys.size() > state->capacity && state->grows_by_itself()) {
    std::unique_ptr<State> next = grown(*state);
    if (!next) break;
    state = std::move(next);
  }
  visit_layout(state->bits, [&](auto layout) {
    if (keys.size() > state->view.geometry.blocks() * layout.kSlots) {
      refuse(*state, Outcome::full, keys.size());
    }
    using L = decltype(layout);
    Builder<L> builder(state, keys.size());
    for (std::size_t at = 0; at < keys.size();) {
      const std::size_t count = std::min(slice_keys<L>(*state), keys.size() - at);
      builder.add(keys.subspan(at, count));
      at += count;
    }
    builder.finish();
  });
  return FilterAccess::make(std::move(state));
}

}  // namespace nestline::parallel
