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
// class, so that marks stay as low as they can; those that the mark covers already are all alike.
// It ends when kTries candidates whose slots can be reached have other blocks without room, but the
// newcomer's own alternate is tried in any case. A chain uses a block only once, so its blocks can
// be searched one by one. The search writes nothing: an insert that fails has changed nothing.
// Moves are carried out from the far end, each under the locks of its two blocks. Beside other
// threads the chain found is only a hint, and each move is made only if it is still possible
// (locking.h, W5).
//
// At 95 % load a block with a mark has one free slot on average, which nobody in it can move to. So
// nearly all residents that the mark covers fail: they have been tried before, or their other block
// is a home that they had to leave. Rules that spare these searches make marks rise faster when
// keys are erased and inserted in turn. After one turnover at 90 % load, second probes of absent
// keys (8 and 16 bits) were 0.092 and 0.143; 0.094 and 0.157 without searching blocks with one free
// slot, 0.144 and 0.208 without searching blocks with a mark.
//
// Tried and dropped, on Zen 3 at 90 to 95 % load: finding the way, or the first candidates, for a
// key of a batch two to eight keys before its turn (417 to 470 ns in 256 MiB against 438 to 498).
// Tried and dropped, on Zen 4: taking the next four ranks by vector minima, one after the other, in
// place of a range of ranks with two residents on average (156 ns in 256 KiB against 150); one or
// three residents on average (155 and 158); leaving out leavers whose other block has only free
// slots that nobody can move to, before one is chosen (4 % fewer instructions, but 162).
#ifndef NESTLINE_LIB_TABLE_SPILL_H_
#define NESTLINE_LIB_TABLE_SPILL_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "lib/kernels/kernels.h"
#include "lib/kernels/way.h"
#include "lib/place/geometry.h"
#include "lib/place/layout.h"
#include "lib/place/locking.h"

namespace nestline {

// Candidates that fail in a block, and blocks whose candidates are tried: home and the alternates
// of its candidates. More blocks gain less than 0.2 % of load and make a hopeless insert slower.
inline constexpr int kTries = 16;
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
  static constexpr std::uint8_t kNobody = 64;  // the newcomer itself leaves: no slot is vacated

  // A block of the search and the fingerprint that would arrive there.
  struct Node {
    Place arrival;
    std::uint32_t parent;  // the node whose block it would leave
    std::uint32_t victim;  // the slot that it would leave there, or kNobody
  };

  // Tries the candidates of node i's block. True: end_ is the end of a chain.
  //
  // Residents that the block's mark covers may leave at no cost, so they come first; then the
  // others by ascending class, a few at a time. Almost always the arrival can reach a candidate's
  // slot, so that is checked late: expand first looks for a candidate whose other block has room,
  // then for the way to its slot, which is needed anyway. Only when no candidate had both does it
  // strike out those that cannot be reached, and try as many others.
  bool expand(std::uint32_t i) {
    const Place arrival = nodes_[i].arrival;
    Block copy;
    const Block& block = Locks::copy_of(blocks_[arrival.block], copy);
    Ranks ranks;
    kernels_.rank(block, ranks);

    // Whether the arrival has a way to one of the slots. If that slot is free, a fingerprint has
    // left meanwhile, and no other has to.
    const auto arrive = [&](std::uint64_t slots) {
      const Way way = kernels_.find_way(block, &ranks, arrival.bucket, slots);
      if (!way) return false;
      if ((ranks.free >> way.step(way.steps() - 1) & 1) != 0) {
        end_ = i;
        end_way_ = way;
      }
      if (i == 0) home_way_ = way;
      return true;
    };

    // Only in the first block: elsewhere the arrival has just come from its other block.
    bool newcomer_waits = i == 0;
    const std::uint32_t newcomer = Ranks::rank_of(spill_class(arrival.fingerprint), 0);
    std::uint64_t out_of_reach = 0;  // slots known to be so
    std::uint64_t tried = 0;
    std::uint64_t some = ranks.covered | ranks.next;  // who is tried next
    std::uint32_t below = ranks.below;                // nobody else has a rank below this
    bool all_known = false;
    for (;;) {
      Leavers leavers;
      if (newcomer_waits && newcomer < below) {
        newcomer_waits = false;
        const Place away = moved(geometry_, arrival);
        leavers.target[0] = away;
        leavers.slot[0] = kNobody;
        leavers.count = away.block != arrival.block;
      }
      kernels_.leavers({blocks_, geometry_, {}}, block, arrival.block, ranks, some, leavers);
      for (std::uint64_t open = leavers.open; open != 0;) {
        const auto rank_of = [&](std::uint32_t n) -> std::uint32_t {
          return leavers.slot[n] == kNobody ? newcomer : ranks.rank[leavers.slot[n]];
        };
        std::uint32_t n = first_slot(open);
        for (std::uint64_t rest = open & (open - 1); rest != 0; rest &= rest - 1) {
          if (rank_of(first_slot(rest)) < rank_of(n)) n = first_slot(rest);
        }
        open &= ~(std::uint64_t{1} << n);
        const std::uint32_t slot = leavers.slot[n];
        if (in_chain(i, leavers.target[n].block) || !has_room(i, leavers.target[n], slot)) continue;
        if (slot == kNobody || arrive(ranks.free | std::uint64_t{1} << slot)) return true;
        out_of_reach |= std::uint64_t{1} << slot;
      }
      for (std::uint32_t n = 0; n < leavers.count; ++n) {
        if (leavers.slot[n] == kNobody || in_chain(i, leavers.target[n].block)) continue;
        tried |= std::uint64_t{1} << leavers.slot[n];
      }
      const auto failed = [&] { return tried & ~out_of_reach; };
      if (std::popcount(failed()) >= kTries || below >= Ranks::kEnd) {
        if (all_known) break;
        all_known = true;
        const std::uint64_t reached = reach(block, ranks, arrival.bucket, ranks.free);
        if ((reached & ranks.free) != 0) return arrive(ranks.free);
        out_of_reach |= L::kAllSlots & ~reached;
        if (std::popcount(failed()) >= kTries || below >= Ranks::kEnd) break;
      }
      const std::uint32_t from = std::exchange(below, below + Ranks::kStep<L>);
      some = kernels_.ranked(ranks, from, below) & ~out_of_reach;
    }
    remember_all(i, block, ranks, tried & ~out_of_reach);
    if (i != 0) return false;
    const Place away = moved(geometry_, arrival);
    if (newcomer_waits && away.block != arrival.block && has_room(i, away, kNobody)) return true;
    remember(i, away, kNobody);
    return false;
  }

  // Every slot in which some displacement from the bucket ends. One pass over the block covers all
  // its candidates, in a quarter of the time that `displace` takes to search for each.
  static std::uint64_t reach(const Block& block, const Ranks& ranks, std::uint64_t bucket,
                             std::uint64_t free) {
    std::uint64_t reached = bucket;
    for (std::uint64_t todo = bucket & ~free; todo != 0;) {
      const std::uint32_t s = first_slot(todo);
      const std::uint64_t steps = L::bucket(L::get(block, s), ranks.phase[s]);
      todo = (todo & (todo - 1)) | (steps & ~reached & ~free);
      reached |= steps;
    }
    return reached;
  }

  // Whether the fingerprint that leaves the slot of node i's block finds a way to a free slot in
  // its other block: then the chain ends there.
  bool has_room(std::uint32_t i, const Place& target, std::uint32_t slot) {
    Block copy;
    const Block& block = Locks::copy_of(blocks_[target.block], copy);
    end_way_ = kernels_.find_free_way(block, target);
    if (!end_way_) return false;
    end_ = node_count_;
    nodes_[end_] = {target, i, slot};
    return true;
  }

  // Keeps the other blocks of those in some slots of node i's block, which have no room.
  void remember_all(std::uint32_t i, const Block& block, const Ranks& ranks, std::uint64_t slots) {
    while (slots != 0) {
      std::uint32_t slot = first_slot(slots);
      for (std::uint64_t rest = slots & (slots - 1); rest != 0; rest &= rest - 1) {
        if (ranks.rank[first_slot(rest)] < ranks.rank[slot]) slot = first_slot(rest);
      }
      slots &= ~(std::uint64_t{1} << slot);
      Place leaver = nodes_[i].arrival;
      leaver.fingerprint = L::get(block, slot);
      leaver.phase = ranks.phase[slot];
      remember(i, moved(geometry_, leaver), slot);
    }
  }

  // Keeps a block without room for a longer chain.
  void remember(std::uint32_t i, const Place& target, std::uint32_t slot) {
    if (node_count_ >= kMaxExpanded || is_node(target.block)) return;
    Node& node = nodes_[node_count_++];
    node = {target, i, slot};
    node.arrival.bucket = L::bucket(target.fingerprint, target.phase);
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
    Way way = &node == &nodes_[end_] ? end_way_ : Way();
    if (!Locks::kAlone && !is_open<L>(target, way)) way = Way();
    if (!way) way = kernels_.find_free_way(target, arrival);
    if (!way) return false;
    Block& source = hold.change(from);
    source.raise_mark(spill_class(arrival.fingerprint));
    walk<L>(hold.change(arrival.block), way, arrival.fingerprint);
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
