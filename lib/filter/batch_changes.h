// The batches that change or count, on one table: a chunk of keys in, the result of each out. Both
// filters use them; each filter adds its own work around them (sizes, growth, sections).
#ifndef NESTLINE_LIB_FILTER_BATCH_CHANGES_H_
#define NESTLINE_LIB_FILTER_BATCH_CHANGES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "lib/filter/filter_state.h"
#include "lib/filter/key_chunks.h"
#include "lib/filter/place_groups.h"
#include "lib/filter/span_checks.h"
#include "nestline/filter.h"

namespace nestline::batch {

// The results of a changing batch: a byte for each key, if the caller wants them, and how many keys
// were done.
class Record {
 public:
  // `name` is that of the caller's span, which is empty or has an element for each key.
  Record(const char* name, std::span<std::uint8_t> changed, std::size_t keys) : changed_(changed) {
    check_optional_length(name, changed.size(), keys);
  }
  void add(std::size_t key, bool done) {
    if (!changed_.empty()) changed_[key] = done;
    total_ += done;
  }
  // `keys` keys from this one on were done.
  void add_done(std::size_t key, std::size_t keys) {
    if (!changed_.empty()) std::ranges::fill(changed_.subspan(key, keys), std::uint8_t{1});
    total_ += keys;
  }
  [[nodiscard]] std::size_t total() const { return total_; }

 private:
  std::span<std::uint8_t> changed_;
  std::size_t total_ = 0;
};

// Where a run of inserts ended: after how many keys, and if that was early, why.
struct RunEnd {
  std::size_t taken;
  bool full = false;       // the next key found no room
  bool overtaken = false;  // other writers kept overtaking the next key
};

// Keys whose blocks are fetched before one call that stores them.
inline constexpr std::size_t kPiece = 8;

// Inserts keys from the front, the first being number `first` of the batch. A key that finds no
// room ends the run if `stops_when_full`; otherwise it is recorded as not stored.
template <class AnyTable>
RunEnd insert_run(AnyTable& table, const Filter::State& state, const Inputs& inputs,
                  bool stops_when_full, std::size_t first, Record& record) {
  for (PlaceGroups<Fetch::home, AnyTable> groups(table, *state.kernels, state.view, inputs);
       groups.next();) {
    for (std::size_t i = 0; i < groups.size(); i += kPiece) {
      const std::span<const Place> homes = groups.visit(i, std::min(kPiece, groups.size() - i));
      for (std::size_t at = 0;; ++at) {
        const std::size_t stored = table.insert_at_home(homes.subspan(at));
        const std::size_t taken = groups.first() + i + at + stored;
        record.add_done(first + taken - stored, stored);
        at += stored;
        if (at == homes.size()) break;
        const std::optional<Outcome> outcome = table.insert_with_room_made(homes[at]);
        if (!outcome) return {.taken = taken, .overtaken = true};
        if (*outcome == Outcome::full && stops_when_full) return {.taken = taken, .full = true};
        record.add(first + taken, *outcome == Outcome::stored);
      }
    }
  }
  return {.taken = inputs.count};
}

// Erases a copy of each key.
template <class AnyTable>
void erase_run(AnyTable& table, const Filter::State& state, const Inputs& inputs, std::size_t first,
               Record& record) {
  for (PlaceGroups<Fetch::both, AnyTable> groups(table, *state.kernels, state.view, inputs);
       groups.next();) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const Place& place = groups.visit(i);
      record.add(first + groups.first() + i, table.erase(place, groups.copies(i)));
    }
  }
}

// Counts the copies of each key into `out`.
template <class AnyTable>
void count_run(const AnyTable& table, const Filter::State& state, const Inputs& inputs,
               std::uint8_t* out) {
  for (PlaceGroups<Fetch::both, AnyTable> groups(table, *state.kernels, state.view, inputs);
       groups.next();) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      out[groups.first() + i] = static_cast<std::uint8_t>(table.count(groups.visit(i)));
    }
  }
}

}  // namespace nestline::batch

#endif  // NESTLINE_LIB_FILTER_BATCH_CHANGES_H_
