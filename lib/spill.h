// Where a newcomer goes when its home has no free slot in its bucket: the plan, and carrying it
// out.
//
// A plan is a chain of blocks. In the last one the fingerprint that arrives finds a slot, free or
// made free by a displacement inside that block; in every other one a resident, the victim, leaves
// for its alternate, the next block of the chain, and its slot is reached from the bucket of the
// fingerprint that arrives. In the first block the newcomer may itself be the one that leaves.
//
//   home: newcomer -> (displacement) -> slot of victim 1
//   alternate of victim 1: victim 1 -> (displacement) -> slot of victim 2
//   alternate of victim 2: victim 2 -> (displacement) -> free slot
//
// The search is breadth first over blocks. In each block the candidates are tried by ascending
// spill class, so that marks stay as low as they can, kTries of them at most (of those that have
// another block and whose slot can be reached), and the newcomer's own alternate in any case. A
// block is used once in a chain, so its blocks can be planned one by one. Nothing is written while
// planning: an insert that fails has changed nothing. A plan is carried out from its far end, each
// fingerprint copied before it is cleared, marks raised before their fingerprints leave.
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

template <class L>
class SpillPlan {
 public:
  SpillPlan(Block* blocks, const Geometry& geometry, const Kernels& kernels)
      : blocks_(blocks), geometry_(geometry), kernels_(kernels) {}

  // Looks for a plan for a newcomer that finds no way to a free slot at home. Changes nothing.
  bool search(const Place& newcomer) {
    nodes_[0] = {newcomer, 0, kNobody, {}};
    node_count_ = 1;
    for (std::uint32_t i = 0; i < node_count_ && i < kMaxExpanded; ++i) {
      if (expand(i)) return true;
    }
    return false;
  }

  // Carries the found plan out.
  void carry_out() {
    // The last block of the chain takes its newcomer; then each block before it loses its victim.
    const Node* node = &nodes_[node_count_ - 1];
    walk<L>(blocks_[node->arrival.block], last_way_, node->arrival.fingerprint);
    while (node != &nodes_[0]) {
      const Node& before = nodes_[node->parent];
      Block& block = blocks_[before.arrival.block];
      block.raise_mark(spill_class(node->arrival.fingerprint, node->arrival.phase));
      if (node->victim != kNobody) {
        L::set(block, node->victim, 0);
        walk<L>(block, node->way, before.arrival.fingerprint);
      }
      node = &before;
    }
  }

 private:
  static constexpr std::uint32_t kNobody = 64;  // the newcomer itself leaves: no slot is vacated

  // A block of the search and the fingerprint that would arrive there.
  struct Node {
    Place arrival;
    std::uint32_t parent;  // the node whose block it would leave
    std::uint32_t victim;  // the slot that it would leave there, or kNobody
    Displacement way;      // in the parent's block: from its arrival's bucket to that slot
  };

  // Candidates of a block by ascending class; among equals the newcomer first, then by slot.
  class Candidates {
   public:
    Candidates(const Residents& residents, std::uint64_t taken) {
      order_.fill(kDone);
      for (std::uint64_t rest = taken; rest != 0; rest &= rest - 1) {
        const std::uint32_t s = first_slot(rest);
        order_[s + 1] = rank(residents.spill_class[s], s + 1);
      }
    }
    void add_newcomer(std::uint32_t spill_class) { order_[0] = rank(spill_class, 0); }
    // The next candidate's slot, kNobody for the newcomer; false when all are done.
    bool next(std::uint32_t& slot) {
      const std::int16_t least = *std::min_element(order_.begin(), order_.end());
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
    std::array<std::int16_t, 64> order_;
  };

  // Tries the candidates of node i's block. True: the last node is the end of a plan.
  bool expand(std::uint32_t i) {
    const Place arrival = nodes_[i].arrival;
    const Block& block = blocks_[arrival.block];
    const std::uint64_t free = kernels_.free_slots(block);
    Residents residents;
    kernels_.residents(block, residents);
    Candidates candidates(residents, L::kAllSlots & ~free);
    // Only in the first block: elsewhere the arrival has just come from its other block.
    bool newcomer_tried = i != 0;
    if (i == 0) candidates.add_newcomer(spill_class(arrival.fingerprint, arrival.phase));

    std::uint32_t slot = kNobody;
    for (std::uint32_t tries = 0; tries < kTries && candidates.next(slot);) {
      Place leaver = arrival;
      if (slot != kNobody) {
        leaver.fingerprint = L::get(block, slot);
        leaver.phase = residents.phase[slot];
      }
      Place target = moved(geometry_, leaver);
      if (in_chain(i, target.block)) continue;  // also where there is no alternate
      Displacement way{};
      if (slot == kNobody) {
        newcomer_tried = true;
      } else {
        target.bucket = L::bucket(target.fingerprint, target.phase);
        const std::uint64_t goals = free | std::uint64_t{1} << slot;
        if (!step_in(arrival.bucket, goals, way)) {
          kernels_.displace(residents, arrival.bucket, goals, way);
        }
        if (way.steps == 0) continue;  // out of the arrival's reach
      }
      ++tries;
      if (try_block(i, target, slot, way)) return true;
    }
    if (newcomer_tried) return false;
    const Place target = moved(geometry_, arrival);
    return !in_chain(i, target.block) && try_block(i, target, kNobody, {});
  }

  // Whether the fingerprint that leaves node i's block for `arrival` finds a way to a free slot
  // there. If not, that block is remembered for a longer chain.
  bool try_block(std::uint32_t i, const Place& arrival, std::uint32_t slot,
                 const Displacement& way) {
    const bool found = find_free_way(kernels_, blocks_[arrival.block], arrival.bucket, last_way_);
    if (!found && (node_count_ >= kMaxExpanded || is_node(arrival.block))) return false;
    nodes_[node_count_++] = {arrival, i, slot, way};
    return found;
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
  std::uint32_t node_count_ = 0;
  Displacement last_way_{};
  std::array<Node, kMaxExpanded + 1> nodes_;
};

}  // namespace nestline

#endif  // NESTLINE_LIB_SPILL_H_
