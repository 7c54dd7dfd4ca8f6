// How room is made for a newcomer when its home has no free slot that its bucket reaches: a chain
// of moves to alternates, searched first and then carried out.
//
//   home: (displacement) -> slot of victim 1 becomes free
//   alternate of victim 1: victim 1 -> (displacement) -> slot of victim 2
//   alternate of victim 2: victim 2 -> (displacement) -> free slot
//
// In the first block the newcomer itself may be the one that leaves: then room is made in its
// alternate, and home's mark is raised for it. The newcomer is placed by the caller, as any other,
// when room has been made.
//
// The search is breadth first over blocks. In each block the candidates are tried by ascending
// spill class, so that marks stay as low as they can, kTries of them at most (of those that have
// another block and whose slot can be reached), and the newcomer's own alternate in any case. A
// block is used once in a chain, so its blocks can be searched one by one. Nothing is written while
// searching: an insert that fails has changed nothing. Moves are carried out from the far end, each
// by itself under the locks of its two blocks; with threads beside, what was found is a hint only,
// and each move is done if it is still possible (locking.h, W5).
#ifndef NESTLINE_LIB_SPILL_H_
#define NESTLINE_LIB_SPILL_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include "geometry.h"
#include "kernels.h"
#include "layout.h"
#include "locking.h"

namespace nestline {

// Candidates tried in a block, and blocks whose candidates are tried: home and the alternates of
// its candidates. More blocks gain less than 0.2 % of load and make a hopeless insert slower.
inline constexpr std::uint32_t kTries = 16;
inline constexpr std::uint32_t kMaxExpanded = 1 + kTries + 1;

// The way of a fingerprint into its bucket when a slot of the bucket is a goal itself.
inline bool step_in(std::uint64_t bucket, std::uint64_t goals, Displacement& way) {
  if ((goals & bucket) == 0) return false;
  way.steps = 1;
  way.step[0] = static_cast<std::uint8_t>(first_slot(goals & bucket));
  return true;
}

// A way from a bucket to a free slot of a block; false when there is none.
inline bool find_free_way(const Kernels& kernels, const Block& block, std::uint64_t bucket,
                          Displacement& way) {
  const std::uint64_t free = kernels.free_slots(block);
  if (free == 0) return false;
  if (step_in(bucket, free, way)) return true;
  Residents residents;
  kernels.residents(block, residents);
  kernels.displace(residents, bucket, free, way);
  return way.steps != 0;
}

// Moves everybody on the way one step on, from its end, and stores the fingerprint at its start.
template <class L>
void walk(Block& block, const Displacement& way, std::uint32_t fingerprint) {
  for (std::uint32_t i = way.steps - 1; i > 0; --i) {
    L::set(block, way.step[i], L::get(block, way.step[i - 1]));
  }
  L::set(block, way.step[0], fingerprint);
}

template <class L, class Locks>
class SpillPlan {
 public:
  SpillPlan(Block* blocks, const Geometry& geometry, const Kernels& kernels)
      : blocks_(blocks), geometry_(geometry), kernels_(kernels) {}

  // Looks for moves that make room for a newcomer; none, if there is room by now. Changes nothing.
  bool search(const Place& newcomer) {
    nodes_[0] = {newcomer, 0, kNobody};
    node_count_ = 1;
    for (std::uint32_t i = 0; i < node_count_ && i < kMaxExpanded; ++i) {
      if (expand(i)) return true;
    }
    return false;
  }

  // Carries the moves out. False when somebody else has changed the blocks too much meanwhile.
  bool carry_out() {
    for (const Node* node = &nodes_[node_count_ - 1]; node != &nodes_[0];) {
      const Node& before = nodes_[node->parent];
      if (!move(before.arrival.block, *node)) return false;
      NESTLINE_TEST_POINT(NESTLINE_POINT_UNLOCKED);
      node = &before;
    }
    return true;
  }

  // Whether room was made in the newcomer's alternate instead of at home.
  [[nodiscard]] bool newcomer_leaves() const { return newcomer_leaves_; }

 private:
  static constexpr std::uint32_t kNobody = 64;  // the newcomer itself leaves: no slot is vacated

  // A block of the search and the fingerprint that would arrive there.
  struct Node {
    Place arrival;
    std::uint32_t parent;  // the node whose block it would leave
    std::uint32_t victim;  // the slot that it would leave there, or kNobody
  };

  // Candidates of a block by ascending class; among equals the newcomer first, then by slot.
  class Candidates {
   public:
    Candidates(const Residents& residents, std::uint64_t taken) {
      order_.fill(kDone);
      for (std::uint32_t s = 0; s < L::kSlots; ++s) {
        order_[s + 1] = rank(residents.spill_class[s], s + 1);
      }
      for (std::uint64_t free = L::kAllSlots & ~taken; free != 0; free &= free - 1) {
        order_[first_slot(free) + 1] = kDone;
      }
    }
    void add_newcomer(std::uint32_t spill_class) { order_[0] = rank(spill_class, 0); }
    // The next candidate's slot, kNobody for the newcomer; false when all are done.
    bool next(std::uint32_t& slot) {
      // A rank tells its index; and this loop becomes vectors, std::min_element does not.
      std::int16_t least = kDone;
      for (const std::int16_t rank : order_) least = std::min(least, rank);
      if (least == kDone) return false;
      const std::uint32_t index = static_cast<std::uint32_t>(least) % 64;
      order_[index] = kDone;
      slot = index == 0 ? kNobody : index - 1;
      return true;
    }

   private:
    static constexpr std::int16_t kDone = std::numeric_limits<std::int16_t>::max();
    static std::int16_t rank(std::uint32_t spill_class, std::uint32_t index) {
      return static_cast<std::int16_t>(spill_class * 64 + index);
    }
    static_assert(kSpillClasses * 64 <= std::numeric_limits<std::int16_t>::max());
    alignas(64) std::array<std::int16_t, 64> order_;
  };

  // Tries the candidates of node i's block. True: the last node is the end of a chain.
  bool expand(std::uint32_t i) {
    const Place arrival = nodes_[i].arrival;
    Block copy;
    const Block& block = Locks::look(blocks_[arrival.block], copy);
    const std::uint64_t free = kernels_.free_slots(block);
    Residents residents;
    kernels_.residents(block, residents);
    Candidates candidates(residents, L::kAllSlots & ~free);
    // Only in the first block: elsewhere the arrival has just come from its other block.
    bool newcomer_tried = i != 0;
    if (i == 0) candidates.add_newcomer(spill_class(arrival.fingerprint, arrival.phase));

    const std::uint64_t reached = reach(residents, arrival.bucket, free);
    // Somebody has just left home: no move is needed any more.
    if (i == 0 && (reached & free) != 0) return true;
    // The next few that may leave, with their other blocks on the way from memory already.
    constexpr std::uint32_t kAhead = 4;
    struct Leaver {
      Place target;
      std::uint32_t slot;
    };
    std::array<Leaver, kAhead> ahead;
    std::uint32_t known = 0;
    const auto find_next = [&] {
      for (std::uint32_t slot = kNobody; candidates.next(slot);) {
        Place leaver = arrival;
        if (slot != kNobody) {
          leaver.fingerprint = L::get(block, slot);
          leaver.phase = residents.phase[slot];
        }
        Place target = moved(geometry_, leaver);
        if (in_chain(i, target.block)) continue;  // also where there is no alternate
        if (slot != kNobody) {
          if ((reached & (free | std::uint64_t{1} << slot)) == 0) continue;
          target.bucket = L::bucket(target.fingerprint, target.phase);
        }
        prefetch_block(blocks_[target.block]);
        ahead[known++ % kAhead] = {target, slot};
        return true;
      }
      return false;
    };
    while (known < kAhead && find_next()) continue;
    for (std::uint32_t tries = 0; tries < kTries && tries < known; ++tries) {
      const Leaver leaver = ahead[tries % kAhead];
      if (leaver.slot == kNobody) newcomer_tried = true;
      if (try_block(i, leaver.target, leaver.slot)) return true;
      find_next();
    }
    if (newcomer_tried) return false;
    const Place target = moved(geometry_, arrival);
    return !in_chain(i, target.block) && try_block(i, target, kNobody);
  }

  // Every slot that some displacement from the bucket ends in. One pass over the block for all its
  // candidates: a quarter of the time of a search by `displace` for each.
  static std::uint64_t reach(const Residents& residents, std::uint64_t bucket, std::uint64_t free) {
    std::uint64_t reached = bucket;
    for (std::uint64_t todo = bucket & ~free; todo != 0;) {
      const std::uint32_t s = first_slot(todo);
      std::uint64_t steps = 0;
      for (std::uint32_t lane = 0; lane < L::kLanes; ++lane) {
        steps |= std::uint64_t{1} << residents.slot_in_lane[lane][s];
      }
      todo = (todo & (todo - 1)) | (steps & ~reached & ~free);
      reached |= steps;
    }
    return reached;
  }

  // Whether the fingerprint that leaves node i's block for `arrival` finds a way to a free slot
  // there. If not, that block is remembered for a longer chain.
  bool try_block(std::uint32_t i, const Place& arrival, std::uint32_t slot) {
    Block copy;
    Displacement way;
    const bool found =
        find_free_way(kernels_, Locks::look(blocks_[arrival.block], copy), arrival.bucket, way);
    if (!found && (node_count_ >= kMaxExpanded || is_node(arrival.block))) return false;
    nodes_[node_count_++] = {arrival, i, slot};
    return found;
  }

  // Moves what leaves block `from` to where it arrives.
  bool move(std::uint64_t from, const Node& node) {
    const Place& arrival = node.arrival;
    if (node.victim == kNobody) {
      const typename Locks::Hold hold(blocks_, from);
      blocks_[from].raise_mark(spill_class(arrival.fingerprint, arrival.phase));
      newcomer_leaves_ = true;
      return true;
    }
    const typename Locks::Hold hold(blocks_, from, arrival.block);
    Block& source = blocks_[from];
    Block& target = blocks_[arrival.block];
    Displacement way;
    // The slot and the fingerprint give the phase, so this is the same fingerprint or as good.
    if (L::get(source, node.victim) != arrival.fingerprint) return false;
    if (!find_free_way(kernels_, target, arrival.bucket, way)) return false;
    source.raise_mark(spill_class(arrival.fingerprint, arrival.phase));
    walk<L>(target, way, arrival.fingerprint);
    NESTLINE_TEST_POINT(NESTLINE_POINT_BETWEEN_STEPS);
    L::set(source, node.victim, 0);
    return true;
  }

  // Whether `block` is node i's or one of those before it.
  [[nodiscard]] bool in_chain(std::uint32_t i, std::uint64_t block) const {
    while (i != 0 && nodes_[i].arrival.block != block) i = nodes_[i].parent;
    return nodes_[i].arrival.block == block;
  }

  [[nodiscard]] bool is_node(std::uint64_t block) const {
    return std::any_of(nodes_.begin(), nodes_.begin() + node_count_,
                       [&](const Node& node) { return node.arrival.block == block; });
  }

  Block* blocks_;
  Geometry geometry_;
  const Kernels& kernels_;
  bool newcomer_leaves_ = false;
  std::uint32_t node_count_ = 0;
  std::array<Node, kMaxExpanded + 1> nodes_;
};

}  // namespace nestline

#endif  // NESTLINE_LIB_SPILL_H_
