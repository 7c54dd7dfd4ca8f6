// Per-target: how an insert makes room when home has no free slot that the newcomer's bucket
// reaches: it searches a chain of moves to alternates, then carries it out.
//
//   home: (displacement) -> slot of victim 1 becomes free
//   alternate of victim 1: victim 1 -> (displacement) -> slot of victim 2
//   alternate of victim 2: victim 2 -> (displacement) -> free slot
//
// In the first block the newcomer itself may be the one that leaves: then the chain makes room in
// its alternate and raises home's mark for it. The last move stores the newcomer too, unless the
// caller has to look again first.
//
// Moves are carried out from the far end, each under the locks of its two blocks, and, as the chain
// is a hint beside other threads, if still possible (locking.h, W5).
#if defined(NESTLINE_LIB_ENGINE_TABLE_EVICTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_TABLE_EVICTION_INL_H_
#undef NESTLINE_LIB_ENGINE_TABLE_EVICTION_INL_H_
#else
#define NESTLINE_LIB_ENGINE_TABLE_EVICTION_INL_H_
#endif

#include <cstdint>
#include <utility>

#include "lib/engine/kernels/dead-inl.h"
#include "lib/engine/kernels/match-inl.h"
#include "lib/engine/kernels/paths-inl.h"
#include "lib/engine/kernels/residents-inl.h"
#include "lib/engine/place/aging.h"
#include "lib/engine/table/eviction_search-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {

template <class L>
bool still_possible(const Block& block, BlockClasses classes, const Place& place, Residence as,
                    EvictionPath path) {
  const GuestLanes<L> lanes(classes, block);
  const std::uint64_t bucket = bucket_of<L>(place.fingerprint, place.bucket_offset);
  return still_valid<L>(block, path, lanes, bucket & lanes.of(place.fingerprint, as));
}

// Stores in a held block if there is a path to a free slot: the known one if it is still valid. (Of
// an expiring filter, dead slots on it may have been emptied since.)
template <class L, class Locks>
bool store_by_path(const Locks& locks, typename Locks::BlockLock& hold, const Geometry& geometry,
                   const Place& place, Residence as, typename L::Value value, EvictionPath path,
                   bool may_open = false) {
  const Block& block = hold.at(place.block);
  const BlockClasses classes = block_classes<L>(geometry, place.block);
  if (L::kHasGuestLanes && may_open) {
    path = find_path_of_arrival<L>(hold.change(place.block), place, as, classes, true);
  } else if (!admit<L>(hold, classes, place.block, place.fingerprint, as)) {
    return false;
  } else if (!path || ((!locks.blocks_are_stable() || L::kExpires) &&
                       !still_possible<L>(block, classes, place, as, path))) {
    path = find_path_to_free<L>(block, place, as, classes);
  }
  if (path) apply<L>(hold.change(place.block), path, place.fingerprint, value);
  return static_cast<bool>(path);
}

// A search, and its moves.
template <class L, class Locks>
class EvictionPlan : public EvictionSearch<L> {
 public:
  EvictionPlan(const BlocksView& view, const Locks& locks)
      : EvictionSearch<L>(view, locks.blocks_are_stable()), locks_(locks) {}

  // Whether one of its moves is of what looks like this key, from its home.
  [[nodiscard]] bool moves(const Place& home) const {
    for (std::uint32_t i = end_; i != 0; i = nodes_[i].parent) {
      const Node& node = nodes_[i];
      if (node.victim == kNobody || node.as == Residence::native) continue;
      if (nodes_[node.parent].arrival.block == home.block &&
          node.arrival.fingerprint == home.fingerprint && (home.bucket >> node.victim & 1) != 0) {
        return true;
      }
    }
    return false;
  }
  // Counts the moves that change this block; beside other threads only.
  void watch(std::uint64_t block) { watched_ = block; }

  // Carries the moves out. False when other writers have changed the blocks too much meanwhile.
  HWY_INLINE bool execute() {
    for (const Node* node = &nodes_[end_]; node != &nodes_[0];) {
      const Node& before = nodes_[node->parent];
      if (!move(before.arrival.block, *node)) return false;
      NESTLINE_TEST_POINT(NESTLINE_POINT_UNLOCKED);
      node = &before;
    }
    return true;
  }
  // The same, and stores the newcomer under the locks of the last move, the one from home. False
  // also when others have taken its room.
  bool execute(typename L::Value value) {
    value_ = value;
    stores_ = true;
    if (!execute()) return false;
    if (end_ != 0) return stored_;
    const std::uint64_t home = nodes_[0].arrival.block;
    typename Locks::BlockLock hold(locks_, blocks_, home);  // there are no moves
    return store(hold, nodes_[0].arrival, nodes_[0].as, this->home_path_);
  }

  // Whether room was made in the newcomer's alternate instead of at home.
  [[nodiscard]] bool newcomer_leaves() const { return newcomer_leaves_; }
  // How many of its moves have changed the watched block.
  [[nodiscard]] std::uint32_t changes() const { return changes_; }
  // Dead slots that it has emptied.
  [[nodiscard]] std::uint32_t emptied() const { return emptied_; }
  // The newcomer's way in that block when the moves have been made, if it is known.
  [[nodiscard]] EvictionPath newcomer_path() const {
    if (!newcomer_leaves_) return this->home_path_;
    return nodes_[end_].victim == kNobody ? end_path_ : EvictionPath();
  }

 private:
  using EvictionSearch<L>::blocks_;
  using EvictionSearch<L>::end_;
  using EvictionSearch<L>::end_path_;
  using EvictionSearch<L>::kNobody;
  using EvictionSearch<L>::nodes_;
  using typename EvictionSearch<L>::Node;

  // Moves the node's fingerprint from block `from` to where it arrives.
  bool move(std::uint64_t from, const Node& node) {
    if (node.victim == kNobody) {
      let_newcomer_leave(from, node);
      return true;
    }
    typename Locks::BlockLock hold(locks_, blocks_, from, node.arrival.block);
    // As the search saw the block: its level is raised for what arrives next before this leaves.
    const Node& next = nodes_[node.parent];
    if (!this->opens_to_all(next.as) &&
        !admit<L>(hold, this->classes_, from, next.arrival.fingerprint, next.as, this->opens())) {
      return false;
    }
    // The slot and the fingerprint determine the bucket offset, so this is the same fingerprint or
    // an equal one. It moves with the value that it has now.
    if (L::get(blocks_[from], node.victim) != node.arrival.fingerprint) return false;
    if (L::kHasGuestLanes && !locks_.blocks_are_stable() && !still_leaves_so(from, node))
      return false;
    if (is_dead_now(from, node.victim)) {
      ++emptied_;
    } else if (!copy_victim(hold, from, node)) {
      return false;
    }
    L::set(hold.change(from), node.victim, 0);
    if (L::kHasGuestLanes && node.as == Residence::native && !this->opens()) {
      lower_guest_level<L>(hold, blocks_, this->geometry_, from);
    }
    count_change(from);
    if (is_last(node)) stored_ = store(hold, nodes_[0].arrival, nodes_[0].as, this->home_path_);
    return true;
  }

  // The newcomer goes to its alternate, which has room.
  HWY_INLINE void let_newcomer_leave(std::uint64_t from, const Node& node) {
    const Place& arrival = node.arrival;
    typename Locks::BlockLock hold(locks_, blocks_, from,
                                   is_last(node) || this->opens() ? arrival.block : from);
    raise_overflow_marks<L>(hold, blocks_, this->geometry_, from,
                            eviction_rank(arrival.fingerprint));
    count_change(from);
    newcomer_leaves_ = true;
    if (!is_last(node)) {
      if (this->opens()) {
        (void)find_path_of_arrival<L>(hold.change(arrival.block), arrival, node.as, this->classes_,
                                      true);
        count_change(arrival.block);
      }
      return;
    }
    if constexpr (L::kExpires) {
      emptied_ += empty_dead<L>(hold, arrival.block, tick_of_holder(locks_, blocks_));
    }
    stored_ = store(hold, arrival, node.as, known_path(node));
  }

  // To where it arrives, and raises the mark of `from`, if that is still possible.
  HWY_INLINE bool copy_victim(typename Locks::BlockLock& hold, std::uint64_t from,
                              const Node& node) {
    const Place& arrival = node.arrival;
    const Block& target = blocks_[arrival.block];
    EvictionPath path = known_path(node);
    if (this->opens()) {
      path = find_path_of_arrival<L>(hold.change(arrival.block), arrival, node.as, this->classes_,
                                     true);
    } else if (!admit<L>(hold, this->classes_, arrival.block, arrival.fingerprint, node.as)) {
      return false;
    } else if (!path || (!locks_.blocks_are_stable() &&
                         !still_possible<L>(target, this->classes_, arrival, node.as, path))) {
      path = find_path_to_free<L>(target, arrival, node.as, this->classes_);
    }
    if (!path) return false;
    Block& source = hold.change(from);
    if (!L::kHasGuestLanes || node.as != Residence::native) {
      raise_overflow_marks<L>(hold, blocks_, this->geometry_, from,
                              eviction_rank(arrival.fingerprint));
    }
    apply<L>(hold.change(arrival.block), path, arrival.fingerprint, L::value(source, node.victim));
    NESTLINE_TEST_POINT(NESTLINE_POINT_BETWEEN_STEPS);
    count_change(arrival.block);
    return true;
  }

  // The last move is the first one from home.
  [[nodiscard]] bool is_last(const Node& node) const { return stores_ && node.parent == 0; }
  // The way in the block where the node arrives, if the search found one: at the end of its chain.
  [[nodiscard]] EvictionPath known_path(const Node& node) const {
    return &node == &nodes_[end_] ? end_path_ : EvictionPath();
  }

  // Whether the victim may still leave as the search had it: its block may have been opened since.
  [[nodiscard]] bool still_leaves_so(std::uint64_t from, const Node& node) const {
    if (node.as == Residence::anywhere) return true;
    const std::uint32_t fingerprint = node.arrival.fingerprint;
    const GuestLanes<L> lanes(this->classes_, blocks_[from]);
    if (lanes.is_unknown(fingerprint) &&
        may_be_guest(blocks_, this->geometry_, from, fingerprint)) {
      return false;
    }
    return lanes.is_guest(fingerprint, node.victim) == (node.as == Residence::native);
  }

  // A dead slot makes room where it is (aging.h, T2).
  [[nodiscard]] bool is_dead_now(std::uint64_t block, std::uint32_t slot) const {
    if constexpr (L::kExpires) {
      const auto now = tick_of_holder(locks_, blocks_);
      return ticks_left(L::value(blocks_[block], slot), now) == 0 && !NESTLINE_MOVE_THE_DEAD;
    }
    return false;
  }

  bool store(typename Locks::BlockLock& hold, const Place& place, Residence as, EvictionPath path) {
    return store_by_path<L>(locks_, hold, this->geometry_, place, as, value_, path, this->opens());
  }

  void count_change(std::uint64_t block) {
    if (!locks_.blocks_are_stable()) changes_ += block == watched_;
  }

  const Locks& locks_;
  typename L::Value value_{};  // of the newcomer
  bool stores_ = false;
  bool stored_ = false;
  bool newcomer_leaves_ = false;
  std::uint32_t emptied_ = 0;
  std::uint32_t changes_ = 0;
  std::uint64_t watched_ = ~std::uint64_t{0};  // no block
};

}}}  // namespace nestline::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
