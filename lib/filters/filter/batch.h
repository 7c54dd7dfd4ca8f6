// What the batches of all filters have in common: keys in, the result of each out. Each filter adds
// its own work around them (sizes, growth, sections).
#ifndef NESTLINE_LIB_FILTERS_FILTER_BATCH_H_
#define NESTLINE_LIB_FILTERS_FILTER_BATCH_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <variant>

#include "lib/filters/filter/blocks.h"
#include "lib/filters/filter/key_chunks.h"

namespace nestline { inline namespace v0_3 {

// The checks on a batch's spans before anything is changed, with one wording for all filters.

inline void check_length(const char* span, std::size_t length, std::size_t wanted) {
  if (length != wanted) {
    throw std::invalid_argument(std::string("the span '") + span + "' has " +
                                std::to_string(length) + " elements, but the keys need " +
                                std::to_string(wanted));
  }
}

inline void check_optional_length(const char* span, std::size_t length, std::size_t wanted) {
  if (length != 0) check_length(span, length, wanted);
}

inline void check_selection(std::span<const std::uint32_t> selection, std::size_t keys) {
  const auto outside = std::find_if(selection.begin(), selection.end(),
                                    [&](std::uint32_t position) { return position >= keys; });
  if (outside != selection.end()) {
    throw std::invalid_argument("the selection has position " + std::to_string(*outside) +
                                ", but there are only " + std::to_string(keys) + " keys");
  }
}

inline void check_positions(std::size_t keys) {
  if (keys != 0 && keys - 1 > std::numeric_limits<std::uint32_t>::max()) {
    throw std::invalid_argument("a selection has 32-bit positions: at most 2^32 keys a batch");
  }
}

// Calls `visit` with first + i for every bit i that is set, ascending.
template <typename Visit>
void for_each_bit(std::uint64_t bits, std::size_t first, Visit&& visit) {
  for (; bits != 0; bits &= bits - 1) {
    visit(first + static_cast<std::size_t>(std::countr_zero(bits)));
  }
}

// Which blocks are fetched before a key's turn: its home, or also its alternate where home has no
// copy and a mark that covers the rank. `both` is for erase and count, which look there.
enum class Fetch { home, both };

// The places of a chunk of keys, group by group, with their blocks prefetched:
//
//   for (PlaceGroups<Fetch::home, Table> groups(...); groups.next();) {
//     for (std::size_t i = 0; i < groups.size(); ++i) { ... groups.visit(i) ... }
//   }
//
// Homes are fetched two groups ahead. With Fetch::both they are read for copies one group ahead,
// and alternates are fetched then. visit(i) fetches one block of each kind: memory takes only a
// limited number of requests at once.
template <Fetch kFetch, class AnyTable>
class PlaceGroups {
 public:
  // Only filters have the kernel that looks for copies.
  static constexpr bool kMatch = kFetch == Fetch::both;
  using Kernels = std::conditional_t<kMatch, FilterKernels, LookupKernels>;

  PlaceGroups(const AnyTable& table, const Kernels& kernels, const BlocksView& view,
              const Inputs& inputs)
      : table_(table), kernels_(kernels), view_(view), inputs_(inputs) {
    for (Group* group : {&ring_[0], &ring_[1]}) {
      locate(*group);
      for (std::size_t i = 0; i < group->size; ++i) fetch_home(group->places[i]);
    }
    match(ring_[0]);
  }
  PlaceGroups(const PlaceGroups&) = delete;
  PlaceGroups& operator=(const PlaceGroups&) = delete;

  // Goes to the first or the next group; false at the end.
  bool next() {
    now_ = &ring_[at_ % kGroups];
    near_ = &ring_[(at_ + 1) % kGroups];
    far_ = &ring_[(at_ + 2) % kGroups];
    if (at_ * kMaxLocated >= inputs_.count) return false;
    ++at_;
    locate(*far_);
    match(*near_);
    return true;
  }

  // The number of the group's first input, and how many keys the group has.
  [[nodiscard]] std::size_t first() const { return (at_ - 1) * kMaxLocated; }
  [[nodiscard]] std::size_t size() const { return now_->size; }

  // Starts the turn of key i of the group and returns its place. Call it for each key, in order.
  const Place& visit(std::size_t i) const {
    if (i < far_->size) fetch_home(far_->places[i]);
    if constexpr (kMatch) {
      if (i < near_->size && near_->copies[i] == 0) table_.prefetch_away(near_->places[i]);
    }
    return now_->places[i];
  }
  // The same for `count` keys from key i on.
  std::span<const Place> visit(std::size_t i, std::size_t count) const {
    for (std::size_t at = i; at < i + count; ++at) visit(at);
    return std::span(now_->places).subspan(i, count);
  }
  // Places from key i of the group on, at most `count`, whose homes have been fetched.
  [[nodiscard]] std::span<const Place> ahead(std::size_t i, std::size_t count) const {
    const Group& group = i < now_->size ? *now_ : *near_;
    const std::size_t from = i < now_->size ? i : 0;
    return std::span(group.places).subspan(from, std::min(count, group.size - from));
  }
  // With Fetch::both, the slots of its home's bucket that held a copy a group ago: a hint.
  [[nodiscard]] std::uint64_t copies(std::size_t i) const { return now_->copies[i]; }

 private:
  static constexpr std::size_t kGroups = 3;
  struct Group {
    std::size_t size;
    std::array<Place, kMaxLocated> places;
    std::array<std::uint64_t, kMatch ? kMaxLocated : 0> copies;
  };

  // Locates the next keys that have no place yet.
  void locate(Group& group) {
    group.size = std::min(kMaxLocated, inputs_.count - located_);
    kernels_.locate_batch(view_, inputs_.keys + located_, group.size, inputs_.kind,
                          group.places.data());
    located_ += group.size;
  }
  void match(Group& group) const {
    if constexpr (kMatch) {
      kernels_.match_batch(view_, group.places.data(), group.size, group.copies.data());
    }
  }
  void fetch_home(const Place& place) const { prefetch_block(view_.blocks[place.block]); }
  const AnyTable& table_;
  const Kernels& kernels_;
  const BlocksView& view_;
  Inputs inputs_;
  std::size_t located_ = 0;
  std::size_t at_ = 0;  // groups that have had their turn, this one included
  Group* now_ = nullptr;
  Group* near_ = nullptr;
  Group* far_ = nullptr;
  std::array<Group, kGroups> ring_;
};

namespace batch {

using ChunkBitmap = std::array<std::uint64_t, kChunk / 64>;

// The lookups. lookup(inputs, bitmap) answers a chunk: bit i % 64 of bitmap[i / 64] says whether
// key i may be in the filter, and the unused bits of the last word are 0. lookup.kernels() turns
// the bits into other forms. Returns how many keys were found.
template <typename Lookup>
std::size_t look_up(const Lookup& lookup, KeySpan keys, std::uint64_t seed,
                    const internal::Answers& answers) {
  const auto& selection = answers.selection;
  const std::size_t all = selection ? selection->size() : keys.size();
  const auto* const bytes = std::get_if<std::span<std::uint8_t>>(&answers.to);
  const auto* const bits = std::get_if<std::span<std::uint64_t>>(&answers.to);
  const auto* const positions = std::get_if<std::span<std::uint32_t>>(&answers.to);
  if (bytes != nullptr) check_length("out", bytes->size(), all);
  if (bits != nullptr) check_length("bitmap", bits->size(), all / 64 + (all % 64 != 0));
  if (positions != nullptr) check_length("positions", positions->size(), all);
  if (selection) {
    check_selection(*selection, keys.size());
  } else if (positions != nullptr) {
    check_positions(keys.size());
  }
  std::size_t total = 0;
  for (KeyChunks chunks(keys, seed, selection); chunks.next();) {
    const std::size_t first = chunks.first();
    const std::size_t count = chunks.inputs().count;
    ChunkBitmap room;
    std::uint64_t* const bitmap = bits != nullptr ? bits->data() + first / 64 : room.data();
    lookup(chunks.inputs(), bitmap);
    if (bytes != nullptr) {
      total += lookup.kernels().bits_to_bytes(bitmap, count, bytes->data() + first);
    } else if (positions != nullptr) {
      total += lookup.kernels().bits_to_positions(
          bitmap, count, selection ? selection->data() + first : nullptr,
          static_cast<std::uint32_t>(first), positions->data() + total);
    } else {
      for (const std::uint64_t word : std::span(bitmap, (count + 63) / 64)) {
        total += static_cast<std::size_t>(std::popcount(word));
      }
    }
  }
  return total;
}

// The changes, and counting, on one table.

// The results of a changing batch: an Outcome, or whether a key was erased, for each key if the
// caller wants them, and how many keys were stored or erased.
class Record {
 public:
  // The caller's span is empty or has an element for each key.
  Record(std::span<Outcome> outcomes, std::size_t keys)
      : results_(reinterpret_cast<std::uint8_t*>(outcomes.data()), outcomes.size()) {
    check_optional_length("outcomes", outcomes.size(), keys);
  }
  Record(std::span<std::uint8_t> erased, std::size_t keys) : results_(erased) {
    check_optional_length("erased", erased.size(), keys);
  }
  void add(std::size_t key, Outcome outcome) {
    if (!results_.empty()) results_[key] = static_cast<std::uint8_t>(outcome);
    total_ += outcome == Outcome::stored;
  }
  void add_erased(std::size_t key, bool erased) {
    if (!results_.empty()) results_[key] = erased;
    total_ += erased;
  }
  // `keys` keys from this one on were stored.
  void add_stored(std::size_t key, std::size_t keys) {
    constexpr auto kStored = static_cast<std::uint8_t>(Outcome::stored);
    if (!results_.empty()) std::ranges::fill(results_.subspan(key, keys), kStored);
    total_ += keys;
  }
  [[nodiscard]] std::size_t total() const { return total_; }

 private:
  std::span<std::uint8_t> results_;
  std::size_t total_ = 0;
};

// How far a run of inserts may go.
struct RunLimits {
  std::uint64_t room;    // how many keys may be stored before the filter is due to grow
  bool stops_when_full;  // at a key that finds no room; otherwise it is recorded as `full`
};

// Where a run of inserts ended: after how many keys, and if that was early, why.
struct RunEnd {
  std::size_t taken;
  std::size_t present = 0;  // how many of them were there already
  std::size_t refused = 0;  // how many of them found no room
  bool due = false;         // the filter must grow before the next key is stored
  bool full = false;        // the next key found no room
  bool overtaken = false;   // other writers kept overtaking the next key
};

// Keys whose blocks are fetched before one call that stores them.
inline constexpr std::size_t kPiece = 8;
// From 8 MiB on, while keys spill, a batch also fetches the alternates of those that would leave
// the homes of the next piece: from 90 to 95 % load that saves 10 to 25 % of the time in filters of
// 16 MiB and 64 MiB. In a processor's nearer caches it costs 6 %.
inline constexpr std::uint64_t kLargeBlocks = std::uint64_t{1} << 17;

// Inserts keys from the front, the first being number `first` of the batch.
template <class AnyTable>
RunEnd insert_run(AnyTable& table, const Blocks& state, const Inputs& all, const RunLimits& limits,
                  std::size_t first, Record& record) {
  RunEnd end{};
  end.due = limits.room == 0;
  if (end.due) return end;
  const Inputs inputs = all.first(limits.room);
  const auto store =
      state.kernels->of_filter().first_tries<typename AnyTable::Policy>().store_batch;
  const bool is_large = state.view.geometry.blocks() >= kLargeBlocks;
  bool spills = false;
  for (PlaceGroups<Fetch::home, AnyTable> groups(table, state.kernels->of_filter(), state.view,
                                                 inputs);
       groups.next();) {
    for (std::size_t i = 0; i < groups.size(); i += kPiece) {
      const std::span<const Place> homes = groups.visit(i, std::min(kPiece, groups.size() - i));
      if (spills && is_large) {
        for (const Place& home : groups.ahead(i + kPiece, kPiece)) table.prefetch_leavers(home);
      }
      spills = false;
      for (std::size_t at = 0;; ++at) {
        const std::size_t stored = store(state.view.blocks, homes.data() + at, homes.size() - at);
        end.taken = groups.first() + i + at + stored;
        record.add_stored(first + end.taken - stored, stored);
        at += stored;
        if (at == homes.size()) break;
        spills = true;
        const std::optional<Outcome> outcome = table.insert_by_spill(homes[at]);
        end.overtaken = !outcome;
        end.full = outcome == Outcome::full && limits.stops_when_full;
        if (end.overtaken || end.full) return end;
        record.add(first + end.taken, *outcome);
        end.refused += *outcome == Outcome::full;
      }
    }
  }
  end.taken = inputs.count;
  return end;
}

// Inserts keys from the front unless they are there already.
template <class AnyTable>
RunEnd insert_unique_run(AnyTable& table, const Blocks& state, const Inputs& inputs,
                         const RunLimits& limits, std::size_t first, Record& record) {
  RunEnd end{};
  std::uint64_t room = limits.room;
  for (PlaceGroups<Fetch::both, AnyTable> groups(table, state.kernels->of_filter(), state.view,
                                                 inputs);
       groups.next();) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const Place& home = groups.visit(i);
      std::optional<Outcome> outcome;
      // The table looks too, but takes locks for it where there are any.
      if ((room == 0 || !AnyTable::Policy::kBlocksAreStable) && table.contains(home)) {
        outcome = Outcome::present;
      } else if (room == 0) {
        end.due = true;
        return end;
      } else {
        outcome = table.insert(home, {}, true);
      }
      end.overtaken = !outcome;
      end.full = outcome == Outcome::full && limits.stops_when_full;
      if (end.overtaken || end.full) return end;
      record.add(first + end.taken++, *outcome);
      end.present += *outcome == Outcome::present;
      end.refused += *outcome == Outcome::full;
      room -= *outcome == Outcome::stored;
    }
  }
  return end;
}

// Erases a copy of each key.
template <class AnyTable>
void erase_run(AnyTable& table, const Blocks& state, const Inputs& inputs, std::size_t first,
               Record& record) {
  for (PlaceGroups<Fetch::both, AnyTable> groups(table, state.kernels->of_filter(), state.view,
                                                 inputs);
       groups.next();) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const Place& place = groups.visit(i);
      record.add_erased(first + groups.first() + i, table.erase(place, groups.copies(i)));
    }
  }
}

// Counts the copies of each key into `out`.
template <class AnyTable>
void count_run(const AnyTable& table, const Blocks& state, const Inputs& inputs,
               std::uint8_t* out) {
  for (PlaceGroups<Fetch::both, AnyTable> groups(table, state.kernels->of_filter(), state.view,
                                                 inputs);
       groups.next();) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      out[groups.first() + i] = static_cast<std::uint8_t>(table.count(groups.visit(i)));
    }
  }
}

}  // namespace batch
}}  // namespace nestline

#endif  // NESTLINE_LIB_FILTERS_FILTER_BATCH_H_
