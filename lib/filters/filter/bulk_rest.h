// The end of a build in bulk (bulk_build.h): the last keys, and which were stored.
#ifndef NESTLINE_LIB_FILTERS_FILTER_BULK_REST_H_
#define NESTLINE_LIB_FILTERS_FILTER_BULK_REST_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "lib/filters/filter/bulk_block.h"
#include "lib/filters/filter/growth.h"
#include "lib/filters/filter/key_chunks.h"

namespace nestline { inline namespace v0_3 {

[[noreturn]] inline void refuse_capacity(KeySpan keys, const Blocks& state) {
  throw std::length_error("no room for all of the " + std::to_string(keys.size()) +
                          " keys in a filter that promises to hold " +
                          std::to_string(state.capacity));
}

// Calls visit(piece) for the located keys, piece by piece.
template <typename Visit>
void for_each_located(const BuildKernels& kernels, const BlocksView& view, KeySpan keys,
                      std::uint64_t seed, const Visit& visit) {
  alignas(64) std::array<std::uint64_t, kMaxLocated> piece;
  for (KeyChunks chunks(keys, seed); chunks.next();) {
    const Inputs& inputs = chunks.inputs();
    for (std::size_t i = 0; i < inputs.count; i += kMaxLocated) {
      const std::size_t count = std::min(kMaxLocated, inputs.count - i);
      kernels.locate_pairs(view, inputs.keys + i, count, inputs.kind, piece.data());
      visit(std::span<const std::uint64_t>(piece.data(), count));
    }
  }
}

class BulkRest {
 public:
  // `gives_up`: as fill_in_bulk does.
  BulkRest(OwnedBlocks& state, KeySpan keys, std::span<Outcome> outcomes, bool gives_up)
      : state_(state), view_(state->view), keys_(keys), outcomes_(outcomes), gives_up_(gives_up) {}

  // Stores the evicted and remainder of all ranges, or adds them to the refused.
  void insert(std::span<Evicted> all) {
    state_->size = keys_.size();
    const bool has_lanes = has_guest_lanes(view_.geometry);
    for (Evicted& departed : all) {
      departed.evicted.for_each_part([&](auto keys) {
        // With guest lanes it matters which block is home.
        for (const std::uint64_t key : keys) insert(has_lanes ? other(key) : key, departed);
      });
      for (const std::uint64_t key : departed.remainder) insert(key, departed);
    }
    for (const Evicted& departed : all) state_->size -= departed.refused.size();
  }

  // Sets `outcomes_`; without it, throws if a key is missed. Of keys that look the same, the first
  // ones are those that were stored, but no more with one home than a lookup from there counts: so
  // each can be found and erased (table-inl.h has the proof).
  void report(std::span<const Evicted> all) {
    std::ranges::fill(outcomes_, Outcome::stored);
    std::unordered_map<std::uint64_t, Alike> refused;
    for (const Evicted& departed : all) {
      for (const std::uint64_t key : departed.refused) {
        if (outcomes_.empty() && is_found(key) && is_found(other(key))) continue;
        const std::uint64_t low = std::min(key, other(key));
        refused.try_emplace(low, alike(low));
      }
    }
    if (refused.empty()) return;
    std::size_t i = 0;
    for_each_located(*state_->engine->build, view_, keys_, state_->seed,
                     [&](std::span<const std::uint64_t> piece) {
                       for (const std::uint64_t key : piece) {
                         const std::size_t at = i++;
                         const std::uint64_t low = std::min(key, other(key));
                         const auto found = refused.find(low);
                         if (found == refused.end()) continue;
                         Alike& remaining = found->second;
                         std::uint64_t& of_home = remaining.of_home[key == low ? 0 : 1];
                         if (outcomes_.empty()) {
                           if (of_home == 0) refuse_capacity(keys_, *state_);
                         } else if (remaining.copies == 0 || of_home == 0) {
                           outcomes_[at] = remaining.outcome;
                         } else {
                           --remaining.copies;
                           --of_home;
                         }
                       }
                     });
  }

 private:
  // Where a located key is to go by now: the filter may have doubled since.
  [[nodiscard]] Place place_of(std::uint64_t key) const {
    const std::uint32_t pair = static_cast<std::uint32_t>(key) & kPairMask;
    const std::uint32_t fingerprint = pair & 0xffff;
    std::uint64_t block = key >> 20;
    const std::uint32_t growth = state_->view.geometry.growth;
    if (growth != view_.geometry.growth) {
      const auto bits = static_cast<std::uint32_t>(fingerprint_bits(state_->bits));
      const std::uint32_t unused_bits = bits - growth;
      block = block >> view_.geometry.growth << growth | fingerprint >> unused_bits;
    }
    const std::uint32_t bucket_offset = pair >> 16;
    return {block, bucket_of(state_->bits, fingerprint, bucket_offset), fingerprint, bucket_offset};
  }

  void insert(std::uint64_t key, Evicted& departed) {
    if (gives_up_ && has_failed_) return departed.refused.push_back(key);
    for (;;) {
      const Place place = place_of(key);
      const Outcome outcome = insert_at(place);
      if (outcome == Outcome::stored) return;
      if (outcome == Outcome::full && state_->grows_by_itself() && try_to_grow(state_)) continue;
      if (!gives_up_ && outcomes_.empty() && !is_found(key) && !is_found(other(key)) &&
          ++missed_ > kMaxMissed) {
        refuse_capacity(keys_, *state_);
      }
      has_failed_ = true;
      departed.refused.push_back(key);
      return;
    }
  }

  Outcome insert_at(const Place& home) {
    const Engine& engine = *state_->engine;
    if (is_maplet(state_->bits))
      return *engine.of_maplets().operations.one_writer.insert_at(state_->view, home, 0);
    return *engine.of_filters().operations.alone.insert_at(state_->view, home);
  }

  // Copies of a key, as a lookup from there counts them.
  [[nodiscard]] unsigned count(const Place& home) const {
    return state_->engine->of_filters().operations.alone.count(state_->view, home, nullptr);
  }
  // As many keys with this home as may be among the copies. With guest lanes that are its natives,
  // its guests in the alternate, and those of which it is not known: the others are of keys whose
  // home the alternate is, although a lookup counts them.
  [[nodiscard]] unsigned most_of_home(const Place& home) const {
    const Geometry& geometry = state_->view.geometry;
    if (!has_guest_lanes(geometry)) return count(home);
    return visit_layout(state_->bits, [&](auto layout) {
      using Lanes = GuestLanes<Laned<decltype(layout)> >;
      const auto copies = [&](const Place& place, bool is_home) {
        const Block& block = state_->blocks()[place.block];
        const Lanes lanes(block_classes(state_->bits, geometry, place.block), block);
        const std::uint64_t own =
            is_home ? lanes.of_native(place.fingerprint) : lanes.of_guests_now(place.fingerprint);
        return std::popcount(state_->engine->block.copies(block, place) & own);
      };
      Place away = home;
      const std::uint32_t mark = state_->blocks()[home.block].overflow_mark();
      const bool both = may_be_away(geometry, mark, home, away);
      return static_cast<unsigned>(copies(home, true) + (both ? copies(away, false) : 0));
    });
  }
  // Whether a lookup finds a key that has its home in the block where it is located.
  [[nodiscard]] bool is_found(std::uint64_t key) const { return count(place_of(key)) != 0; }

  // What was stored of look-alikes: keys with equal pairs and homes in the same two blocks. Their
  // copies are interchangeable, so it is not known which of them were refused.
  struct Alike {
    std::uint64_t copies;                  // in both blocks
    std::array<std::uint64_t, 2> of_home;  // the most that may have their homes in either block
    Outcome outcome;                       // of an insert of one more
  };

  // `key`: located in the lower one of its blocks.
  [[nodiscard]] Alike alike(std::uint64_t key) const {
    const Place low = place_of(key);
    const Place high = moved(state_->view.geometry, low);
    const auto copies = [&](const Place& place) {
      const Block& block = state_->blocks()[place.block];
      return std::popcount(state_->engine->block.copies(block, place));
    };
    const bool is_alone = high.block == low.block;
    const int all = copies(low) + (is_alone ? 0 : copies(high));
    // With guest lanes those of one home find no more than in one block.
    const bool in_both = !is_alone && !has_guest_lanes(state_->view.geometry);
    const int most = std::popcount(low.bucket) + (in_both ? std::popcount(high.bucket) : 0);
    return {static_cast<std::uint64_t>(all),
            {most_of_home(low), most_of_home(high)},
            all >= most ? Outcome::too_many_copies : Outcome::full};
  }

  // The same key in its other block.
  [[nodiscard]] std::uint64_t other(std::uint64_t key) const {
    const std::uint32_t pair = static_cast<std::uint32_t>(key) & kPairMask;
    return located(alternate_of(view_.geometry, {key >> 20, 0, pair & 0xffff, pair >> 16}), pair);
  }

  OwnedBlocks& state_;
  const BlocksView view_;  // as the build began
  KeySpan keys_;
  std::span<Outcome> outcomes_;
  const bool gives_up_;
  // Keys that are missed as they are refused. Where they are few, that is decided at the end: marks
  // that rise for later keys may show others that look the same.
  static constexpr std::uint32_t kMaxMissed = 256;
  std::uint32_t missed_ = 0;
  bool has_failed_ = false;
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_FILTERS_FILTER_BULK_REST_H_
