// How an insert makes room when home has no free slot that the newcomer's bucket reaches: it
// searches a chain of moves to alternates, then carries it out.
//
//   home: (displacement) -> slot of victim 1 becomes free
//   alternate of victim 1: victim 1 -> (displacement) -> slot of victim 2
//   alternate of victim 2: victim 2 -> (displacement) -> free slot
//
// In the first block the newcomer itself may be the one that leaves: then the chain makes room in
// its alternate and raises home's mark for it. Once there is room, the caller places the newcomer
// like any other.
//
// The search is breadth first over blocks. In each block it tries candidates by ascending spill
// class, so that marks stay as low as they can: kTries at most (of those that have another block
// and whose slot can be reached), and the newcomer's own alternate in any case. A chain uses a
// block only once, so its blocks can be searched one by one. The search writes nothing: an insert
// that fails has changed nothing. Moves are carried out from the far end, each under the locks of
// its two blocks. Beside other threads the chain found is only a hint, and each move is made only
// if it is still possible (locking.h, W5).
//
// Tried and dropped, on Zen 3 at 90 to 95 % load. Finding the way, or the first candidates, for a
// key of a batch two to eight keys before its turn: 417 to 470 ns in 256 MiB against 438 to 498,
// not worth a second form of insert. Searching for all reachable slots when the first candidate
// fails, instead of when all have: no difference, since most spills try three. Stopping that search
// at the first reachable candidate: covering four of sixty slots means looking at thirty to forty.
#ifndef NESTLINE_LIB_TABLE_SPILL_H_
#define NESTLINE_LIB_TABLE_SPILL_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include "lib/kernels/kernels.h"
#include "lib/place/geometry.h"
#include "lib/place/layout.h"
#include "lib/table/displacement.h"
#include "lib/table/locking.h"

namespace nestline {

// Candidates tried in a block, and blocks whose candidates are tried: home and the alternates of
// its candidates. More blocks gain less than 0.2 % of load and make a hopeless insert slower.
inline constexpr std::uint32_t kTries = 16;
inline constexpr std::uint32_t kMaxExpanded = 1 + kTries + 1;

template <class L, class Locks>
class SpillPlan {
 public:
  SpillPlan(const Block* blocks, const Geometry& geometry, const Kernels& kernels)
      : blocks_(blocks), geometry_(geometry), kernels_(kernels) {}

  // Looks for moves that make room for a newcomer; no moves if there is room by now. Changes
  // nothing.
  bool search(const Place& newcomer) {
    nodes_[0] = {newcomer, 0, kNobody};
    node_count_ = 1;
    end_ = 0;
    for (std::uint32_t i = 0; i < node_count_ && i < kMaxExpanded; ++i) {
      if (expand(i)) return true;
    }
    return false;
  }

  // Carries the moves out. False when other writers have changed the blocks too much meanwhile.
  bool carry_out() {
    for (const Node* node = &nodes_[end_]; node != &nodes_[0];) {
      const Node& before = nodes_[node->parent];
      if (!move(before.arrival.block, *node)) return false;
      NESTLINE_TEST_POINT(NESTLINE_POINT_UNLOCKED);
      node = &before;
    }
    return true;
  }

  // Whether room was made in the newcomer's alternate instead of at home.
  [[nodiscard]] bool newcomer_leaves() const { return newcomer_leaves_; }
  // The newcomer's way in that block when the moves have been made, if it is known.
  [[nodiscard]] Way newcomer_way() const {
    if (!newcomer_leaves_) return home_way_;
    return nodes_[end_].victim == kNobody ? end_way_ : Way();
  }

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
    // The next candidate's slot, or kNobody for the newcomer; false after the last.
    bool next(std::uint32_t& slot) {
      // A rank contains its index. Compilers vectorize this loop, but not std::min_element.
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

  // Tries the candidates of node i's block. True: end_ is the end of a chain.
  //
  // Almost always the arrival can reach a candidate's slot, so that is checked late: expand first
  // looks for a candidate whose other block has room, then for the way to its slot, which is needed
  // anyway. Only when no candidate had both does it strike out those that cannot be reached, and
  // try as many others.
  bool expand(std::uint32_t i) {
    const Place arrival = nodes_[i].arrival;
    Block copy;
    const Block& block = Locks::copy_of(blocks_[arrival.block], copy);
    const std::uint64_t free = kernels_.free_slots(block);
    Residents residents;
    kernels_.residents(block, residents);
    Candidates candidates(residents, L::kAllSlots & ~free);
    // Only in the first block: elsewhere the arrival has just come from its other block.
    bool newcomer_tried = i != 0;
    if (i == 0) candidates.add_newcomer(spill_class(arrival.fingerprint));

    // The next few that may leave; their other blocks are already being prefetched. Two: with four
    // the last 5 % of 256 MiB took 522 to 556 ns an insert instead of 438 to 498 (Zen 3), since
    // most spills try three, and each block costs a page walk.
    constexpr std::uint32_t kAhead = 2;
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
        if (slot != kNobody) target.bucket = L::bucket(target.fingerprint, target.phase);
        prefetch_block(blocks_[target.block]);
        ahead[known++ % kAhead] = {target, slot};
        return true;
      }
      return false;
    };
    while (known < kAhead && find_next()) continue;

    // Whether the arrival has a way to one of the slots. If that slot is free, a fingerprint has
    // left meanwhile, and no other has to.
    const auto arrive = [&](std::uint64_t slots) {
      Way way;
      if (!find_way<L>(kernels_, block, arrival.bucket, slots, way)) return false;
      if ((free >> way.path.step[way.path.steps - 1] & 1) != 0) {
        end_ = i;
        end_way_ = way;
      }
      if (i == 0) home_way_ = way;
      return true;
    };

    std::array<Leaver, kTries> failed;  // whose other blocks have no room
    std::uint32_t tries = 0;            // how many of those
    std::uint64_t out_of_reach = 0;     // slots known to be out of the arrival's reach
    const auto is_out_of_reach = [&](const Leaver& leaver) {
      return leaver.slot != kNobody && (out_of_reach >> leaver.slot & 1) != 0;
    };
    std::uint32_t at = 0;
    for (const bool all_known : {false, true}) {
      if (all_known) {
        const std::uint64_t reached = reach(block, residents, arrival.bucket, free);
        if ((reached & free) != 0) return arrive(free);
        out_of_reach = L::kAllSlots & ~reached;
        const auto end = std::remove_if(failed.begin(), failed.begin() + tries, is_out_of_reach);
        tries = static_cast<std::uint32_t>(end - failed.begin());
      }
      for (; at != known && tries < kTries; ++at) {
        const Leaver leaver = ahead[at % kAhead];
        find_next();
        if (is_out_of_reach(leaver)) continue;
        if (leaver.slot == kNobody) newcomer_tried = true;
        if (!has_room(i, leaver.target, leaver.slot)) {
          failed[tries++] = leaver;
        } else if (leaver.slot == kNobody || arrive(free | std::uint64_t{1} << leaver.slot)) {
          return true;
        } else {
          out_of_reach |= std::uint64_t{1} << leaver.slot;
        }
      }
    }
    std::for_each_n(failed.begin(), tries, [&](const Leaver& leaver) {
      remember({leaver.target, i, leaver.slot});
    });
    if (newcomer_tried) return false;
    const Place target = moved(geometry_, arrival);
    if (in_chain(i, target.block)) return false;
    if (has_room(i, target, kNobody)) return true;
    remember({target, i, kNobody});
    return false;
  }

  // Every slot in which some displacement from the bucket ends. One pass over the block covers all
  // its candidates, in a quarter of the time that `displace` takes to search for each.
  static std::uint64_t reach(const Block& block, const Residents& residents, std::uint64_t bucket,
                             std::uint64_t free) {
    std::uint64_t reached = bucket;
    for (std::uint64_t todo = bucket & ~free; todo != 0;) {
      const std::uint32_t s = first_slot(todo);
      const std::uint64_t steps = L::bucket(L::get(block, s), residents.phase[s]);
      todo = (todo & (todo - 1)) | (steps & ~reached & ~free);
      reached |= steps;
    }
    return reached;
  }

  // Whether the fingerprint that leaves node i's block for `arrival` finds a way to a free slot
  // there: then the chain ends there.
  bool has_room(std::uint32_t i, const Place& arrival, std::uint32_t slot) {
    Block copy;
    const Block& block = Locks::copy_of(blocks_[arrival.block], copy);
    if (!find_free_way<L>(kernels_, block, arrival.bucket, end_way_)) return false;
    end_ = node_count_;
    nodes_[end_] = {arrival, i, slot};
    return true;
  }

  // Keeps a block without room for a longer chain.
  void remember(const Node& node) {
    if (node_count_ < kMaxExpanded && !is_node(node.arrival.block)) nodes_[node_count_++] = node;
  }

  // Moves the node's fingerprint from block `from` to where it arrives.
  bool move(std::uint64_t from, const Node& node) {
    const Place& arrival = node.arrival;
    if (node.victim == kNobody) {
      typename Locks::Hold hold(blocks_, from);
      hold.change(from).raise_mark(spill_class(arrival.fingerprint));
      newcomer_leaves_ = true;
      return true;
    }
    typename Locks::Hold hold(blocks_, from, arrival.block);
    const Block& target = blocks_[arrival.block];
    // The slot and the fingerprint determine the phase, so this is the same fingerprint or an equal
    // one.
    if (L::get(blocks_[from], node.victim) != arrival.fingerprint) return false;
    Way way;
    const bool known = &node == &nodes_[end_] && is_open<L>(target, end_way_);
    if (!known && !find_free_way<L>(kernels_, target, arrival.bucket, way)) return false;
    Block& source = hold.change(from);
    source.raise_mark(spill_class(arrival.fingerprint));
    walk<L>(hold.change(arrival.block), known ? end_way_ : way, arrival.fingerprint);
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

  const Block* blocks_;  // changed through Hold
  Geometry geometry_;
  const Kernels& kernels_;
  bool newcomer_leaves_ = false;
  std::uint32_t node_count_ = 0;
  std::uint32_t end_ = 0;  // the node that ends the chain
  Way end_way_;            // of the arrival there, to a free slot
  Way home_way_;           // of the newcomer at home, to the slot that is vacated for it
  std::array<Node, kMaxExpanded + 1> nodes_;
};

}  // namespace nestline

#endif  // NESTLINE_LIB_TABLE_SPILL_H_
