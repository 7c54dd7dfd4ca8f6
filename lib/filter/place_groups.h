// The places of a chunk of keys, group by group, with their blocks prefetched. The batches that
// change or count iterate over them.
//
//   for (PlaceGroups<Fetch::home, Table> groups(...); groups.next();) {
//     for (std::size_t i = 0; i < groups.size(); ++i) { ... groups.visit(i) ... }
//   }
//
// Homes are fetched two groups ahead. With Fetch::both they are read for copies one group ahead,
// and alternates are fetched then. visit(i) fetches one block of each kind, which keeps memory busy
// all the time: it takes only a limited number of requests at once.
#ifndef NESTLINE_LIB_FILTER_PLACE_GROUPS_H_
#define NESTLINE_LIB_FILTER_PLACE_GROUPS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/filter/key_chunks.h"
#include "lib/kernels/kernels.h"
#include "lib/place/geometry.h"

namespace nestline {

// Which blocks are fetched before a key's turn: its home, or also its alternate where home has no
// copy and a mark that covers the class. `both` is for erase and count, which look there.
enum class Fetch { home, both };

template <Fetch kFetch, class AnyTable>
class PlaceGroups {
 public:
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
    if (at_ * kLocateMost >= inputs_.count) return false;
    ++at_;
    locate(*far_);
    match(*near_);
    return true;
  }

  // The number of the group's first input, and how many keys the group has.
  [[nodiscard]] std::size_t first() const { return (at_ - 1) * kLocateMost; }
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
  // With Fetch::both, the slots of its home's bucket that held a copy a group ago: a hint.
  [[nodiscard]] std::uint64_t copies(std::size_t i) const { return now_->copies[i]; }

 private:
  static constexpr bool kMatch = kFetch == Fetch::both;
  static constexpr std::size_t kGroups = 3;
  struct Group {
    std::size_t size;
    std::array<Place, kLocateMost> places;
    std::array<std::uint64_t, kMatch ? kLocateMost : 0> copies;
  };

  // Locates the next keys that have no place yet.
  void locate(Group& group) {
    group.size = std::min(kLocateMost, inputs_.count - located_);
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

}  // namespace nestline

#endif  // NESTLINE_LIB_FILTER_PLACE_GROUPS_H_
