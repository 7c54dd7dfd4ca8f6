// Per-target: the search for an eviction, a chain of moves that makes room (eviction-inl.h).
//
// The search is breadth first over blocks and writes nothing. In each block those candidates come
// first that raise no mark: known guests, who go home, residents that the mark covers, and the
// newcomer if the mark covers it. Of these one with a free slot of its bucket in its other block is
// first, then guests before the others, then who has most free slots there. The others follow by
// ascending eviction rank, so that marks stay low. It ends when kTries candidates whose slots can
// be reached have other blocks without room, but the newcomer's own alternate is tried in any case.
// At 95 % load that refuses one key in 10^9; the search with kWideTries that follows refused none
// of 10^9. It is left out for keys that have kFewCopies or more, and where the blocks searched had
// less than one free slot in kHopeless blocks: a refusal in a full filter (99.9 %) takes 25 us on
// Sapphire Rapids, and would take 310. A filter with guest lanes is full (98 %, at 16 bits 99 %)
// while it still has one free slot a block, so that none is hopeless: a wide search that lanes
// alone cannot have stopped goes on with fewer tries, and there is none of low ranks alone. At 8
// bits a refusal takes 0.4 ms on Zen 5; with 32 tries 0.2, but then erasing in the order of hashes
// at 90 % load refuses 5 keys in 10,000 in place of 0.04. A chain uses a block only once, so its
// blocks can be searched one by one. With guest lanes a block on the way raises its guest level
// first, by moves of its own if need be: the search looks at a copy of it that has done so.
//
// What costs most is candidates that fail: the few free slots of a nearly full block are those that
// nobody in it can move to. So the number of free slots counts: at 8 bits and 95 % load a path is
// found to 38 of 100 blocks with one, to 82 with three and to 97 with five; from a guest's one slot
// to 15, 32 and 39. By rank in place of this order an erase and an insert there take 30 % more
// instructions, and in a filter that turns over 8 %.
// Rules that spare searches of blocks with one free slot, or of all with a mark, make marks rise
// faster.
#if defined(NESTLINE_LIB_ENGINE_TABLE_EVICTION_SEARCH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_TABLE_EVICTION_SEARCH_INL_H_
#undef NESTLINE_LIB_ENGINE_TABLE_EVICTION_SEARCH_INL_H_
#else
#define NESTLINE_LIB_ENGINE_TABLE_EVICTION_SEARCH_INL_H_
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "lib/engine/kernels/candidates-inl.h"
#include "lib/engine/kernels/match-inl.h"
#include "lib/engine/kernels/paths-inl.h"
#include "lib/engine/kernels/residents-inl.h"
#include "lib/engine/place/locking.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {

// Candidates that fail in a block, and blocks whose candidates are tried. In the first search more
// gain less than 0.2 % of load; the second is for keys that would be refused.
inline constexpr int kTries = 16;
inline constexpr int kWideTries = 64;
inline constexpr int kWideTriesInFull = 48;  // with guest lanes
inline constexpr std::uint32_t kHopeless = 4;
inline constexpr int kFewCopies = 1;
inline constexpr int kFewCopiesWithLanes = 3;  // with 1 a key in 10^7 was refused below capacity
// So many blocks that a search with guest lanes has seen, or twice as many for each bit of the low
// byte that doublings have taken, show that lanes and not a full filter have stopped it.
inline constexpr std::uint32_t kFewBlocks = 8;
// Where the mark covers more residents than these, one of the first can leave: so they are looked
// at in pieces of so many steps, some eight residents of a full block. With guest lanes marks fall,
// and only a higher one covers more than who may leave as a guest of one slot: all are looked at.
inline constexpr int kManyCovered = 12;
inline constexpr int kManyCoveredWithLanes = 24;
inline constexpr std::uint32_t kPieceSteps = 4;

// The search. It needs nothing of a lock policy but whether blocks change meanwhile.
template <class L>
class EvictionSearch {
 public:
  EvictionSearch(const BlocksView& view, bool blocks_are_stable)
      : stable_(blocks_are_stable),
        has_lanes_(has_lanes_in<L>(view)),
        blocks_(view.blocks),
        geometry_(view.geometry) {}

  // Looks for moves that make room for a newcomer, if there is none; changes nothing. With guest
  // lanes higher classes leave only where nobody else can, and last of all it looks for moves that
  // open blocks (lanes.h, G3).
  HWY_NOINLINE bool search(const Place& newcomer, bool may_leave = true) {
    may_leave_ = may_leave;
    if (L::kHasGuestLanes && has_lanes_) {
      classes_ = block_classes<L>(geometry_, newcomer.block);
      end_of_ranks_ = classes_.often_away();
      if (search(newcomer, kTries)) return true;
      end_of_ranks_ = kEvictionRanks;
      if (search_near_and_far(newcomer)) return true;
      if (has_seen_many()) return false;
      opens_ = true;
      opens_on_the_way_ = copies(newcomer) == 0;
    }
    return search_near_and_far(newcomer);
  }

 protected:
  // Whether it may open blocks.
  [[nodiscard]] bool opens() const { return L::kHasGuestLanes && opens_; }
  // Whether a block is opened to all where this arrives, if it has to be.
  [[nodiscard]] bool opens_to_all(Residence as) const {
    return L::kHasGuestLanes && opens_ && classes_.shift() != 0 && as == Residence::guest;
  }
  // In place of a victim's slot: the newcomer itself leaves, and no slot is vacated.
  static constexpr std::uint32_t kNobody = EvictionOrder::kNobody;

  // A block of the search and the fingerprint that would arrive there.
  struct Node {
    Place arrival;
    std::uint32_t parent;  // the node whose block it would leave
    std::uint32_t victim;  // the slot that it would leave there, or kNobody
    Residence as;          // as what it would arrive
  };

 private:
  // A block as it stood at one instant.
  const Block& seen(const Block& block, Block& copy) const {
    return stable_ ? block : copy_of(block, copy);
  }

  bool search_near_and_far(const Place& newcomer) {
    if (search(newcomer, kTries)) return true;
    if (is_hopeless()) return false;
    return copies(newcomer) < (has_lanes_ ? kFewCopiesWithLanes : kFewCopies) &&
           search(newcomer, kWideTries);
  }
  // What looks like the newcomer at home.
  [[nodiscard]] int copies(const Place& newcomer) const {
    return std::popcount(
        match_among<L>(blocks_[newcomer.block], newcomer.fingerprint, newcomer.bucket));
  }
  HWY_NOINLINE bool search(const Place& newcomer, int tries) {
    tries_ = tries;
    nodes_[0] = {newcomer, 0, kNobody, has_lanes_ ? Residence::native : Residence::anywhere};
    if constexpr (L::kHasGuestLanes) {
      nodes_[0].arrival.bucket &=
          GuestLanes<L>(classes_, blocks_[newcomer.block]).of_native(newcomer.fingerprint);
    }
    node_count_ = 1;
    end_ = 0;
    for (std::uint32_t i = 0; i < node_count_ && i < most_expanded(tries_); ++i) {
      if (expand(i)) return true;
    }
    return false;
  }
  // In a full filter a search has seen many blocks; of guest lanes alone it ends after a few.
  [[nodiscard]] bool has_seen_many() const { return node_count_ > kFewBlocks << classes_.shift(); }
  // Whether the blocks of a search that failed have hardly a free slot.
  [[nodiscard]] HWY_NOINLINE bool is_hopeless() const {
    std::uint32_t free = 0;
    for (std::uint32_t i = 0; i < node_count_; ++i) {
      const std::uint64_t slots = free_slots<L>(blocks_[nodes_[i].arrival.block]);
      free += static_cast<std::uint32_t>(std::popcount(slots));
    }
    return free < node_count_ / kHopeless;
  }
  static constexpr std::uint32_t most_expanded(int tries) {
    return 1 + static_cast<std::uint32_t>(tries) + 1;
  }

  // A node's block and which residents may leave it.
  struct Candidates {
    Candidates(std::uint32_t node_, const Place& arrival_, const Block& block_)
        : node(node_),
          arrival(arrival_),
          newcomer_class(eviction_rank(arrival_.fingerprint)),
          block(block_) {}

    // Those that failed although the arrival may reach their slots.
    [[nodiscard]] std::uint64_t failed() const { return tried & ~out_of_reach; }
    [[nodiscard]] bool are_enough(int tries, std::uint32_t end_of_ranks) const {
      return std::popcount(failed()) >= tries || below >= end_of_ranks;
    }

    const std::uint32_t node;
    const Place arrival;
    const std::uint32_t newcomer_class;
    const Block& block;
    EvictionOrder order;
    // Only in the first block: elsewhere the arrival has just come from its other block.
    bool newcomer_waits = false;
    bool all_known = false;          // what is out of reach
    std::uint64_t out_of_reach = 0;  // slots known to be so
    std::uint64_t tried = 0;
    std::uint64_t some = 0;   // which are tried next
    std::uint32_t below = 0;  // nobody else has a class below this
  };

  // Tries the candidates of node i's block. True: end_ is the end of a chain. Residents that the
  // mark covers leave at no cost, so they come first; then the others by ascending rank, a few at
  // a time. The arrival can nearly always reach a candidate's slot: only when none has room and a
  // way to its slot does it strike out those that cannot be reached, and try as many others.
  bool expand(std::uint32_t i) {
    Block copy;
    const Place& arrival = nodes_[i].arrival;
    Candidates from(i, arrival, admitting(seen(blocks_[arrival.block], copy), nodes_[i], copy));
    const bool may_leave = may_leave_ && from.newcomer_class < end_of_ranks_;
    from.newcomer_waits = i == 0 && may_leave;
    from.order.classes = classes_;
    rank<L>(from.block, from.order);
    if (L::kHasGuestLanes && has_lanes_) {
      from.out_of_reach = unknown_of<L>(from.block, GuestLanes<L>(classes_, from.block), blocks_,
                                        geometry_, from.arrival.block);
      if (end_of_ranks_ != kEvictionRanks) {
        from.out_of_reach |= L::kAllSlots & ~of_ranks<L>(from.block, 0, end_of_ranks_);
      }
      // Who leaves here does so before the arrival, and raises the mark by which the arrival's own
      // block, if it is open, knows it for a native.
      const Block& before = blocks_[nodes_[nodes_[i].parent].arrival.block];
      if (i != 0 && GuestLanes<L>(classes_, before).is_unknown(arrival.fingerprint)) {
        from.out_of_reach |= of_ranks<L>(from.block, from.newcomer_class, 255) & ~from.order.guests;
      }
    }
    if (std::popcount(from.order.covered) <= (has_lanes_ ? kManyCoveredWithLanes : kManyCovered)) {
      from.some = from.order.covered | from.order.next;
      if (L::kHasGuestLanes) from.some = (from.some | from.order.guests) & ~from.out_of_reach;
      from.below = from.order.below;
    } else {
      choose(from, kPieceSteps * EvictionOrder::kStep<L>);
    }
    if (looks_past_copies(from)) return true;
    for (;;) {
      if (some_leaves(from)) return true;
      if (from.below < std::min(from.order.below, end_of_ranks_)) {
        choose(from, from.below + kPieceSteps * EvictionOrder::kStep<L>);
        continue;
      }
      if (from.are_enough(tries_, end_of_ranks_)) {
        if (from.all_known) break;
        from.all_known = true;
        const std::uint64_t reached = reach(from);
        if ((reached & from.order.free) != 0 && ends_here(from)) return true;
        from.out_of_reach |= L::kAllSlots & ~reached;
        if (from.are_enough(tries_, end_of_ranks_)) break;
      }
      choose(from, from.below + EvictionOrder::kStep<L>);
    }
    remember_all(from);
    if (i != 0 || !may_leave) return false;
    const Place away = moved(geometry_, from.arrival);
    const Residence as = residence_after(from, kNobody);
    if (from.newcomer_waits && away.block != from.arrival.block && has_room(0, away, kNobody, as)) {
      return true;
    }
    remember(0, away, kNobody, as);
    return false;
  }

  // Those of the next ranks, below `below`, have their turn; guests with the first of them, `next`
  // together with the last covered.
  static void choose(Candidates& from, std::uint32_t below) {
    const bool has_passed = from.below >= from.order.below;
    if (!has_passed) below = std::min(below, from.order.below);
    from.some = of_ranks<L>(from.block, from.below, below);
    if constexpr (L::kHasGuestLanes) {
      from.some &= ~from.order.guests;
      if (from.below == 0) from.some |= from.order.guests;
    }
    from.some &= ~from.out_of_reach;
    from.below = below;
  }

  // Copies of the arrival cannot make room for it, unless it may not leave itself. Where they have
  // all slots of its bucket but one, little can be reached past them: that is found out at once.
  // True: the chain ends here.
  bool looks_past_copies(Candidates& from) {
    if (from.node == 0 && !may_leave_) return false;
    if (!may_be_crowded(from.block, from.arrival)) return false;
    const std::uint64_t copies =
        match_among<L>(from.block, from.arrival.fingerprint, from.arrival.bucket);
    if (copies == 0 || std::popcount(copies) + 1 < std::popcount(from.arrival.bucket)) return false;
    const std::uint64_t reached = reach(from);
    if ((reached & from.order.free) != 0) return ends_here(from);
    from.all_known = true;
    from.out_of_reach |= (L::kAllSlots & ~reached) | copies;
    from.some = L::kAllSlots & ~from.out_of_reach;
    from.below = kEvictionRanks;
    return false;
  }

  // Tries those whose turn it is, and the newcomer if it is its turn.
  bool some_leaves(Candidates& from) {
    const std::uint32_t i = from.node;
    EvictionCandidates candidates;
    if (from.newcomer_waits && from.newcomer_class < from.below) {
      from.newcomer_waits = false;
      candidates.target[kNobody] = moved(geometry_, from.arrival);
      candidates.all = std::uint64_t{1} << kNobody;
    }
    find_candidates<L>({blocks_, geometry_, from.block, from.arrival.block, from.order}, from.some,
                       candidates);
    std::uint64_t covered = from.order.covered | from.order.guests;
    if (from.newcomer_class < from.block.overflow_mark()) {
      covered |= std::uint64_t{1} << kNobody;
    }
    while (candidates.open != 0) {
      const std::uint32_t slot = best_of(candidates, covered, from);
      const std::uint64_t bit = std::uint64_t{1} << slot;
      candidates.open &= ~bit;
      if (in_chain(i, candidates.target[slot].block) || !has_room(from, candidates, slot)) continue;
      if (slot == kNobody || path_to(from, bit)) return true;
      from.out_of_reach |= bit;
    }
    // The chain of the first block is this block alone, which is nobody's other block.
    std::uint64_t others = candidates.away & L::kAllSlots;
    for (std::uint64_t rest = i == 0 ? 0 : others; rest != 0; rest &= rest - 1) {
      const std::uint32_t slot = first_slot(rest);
      if (in_chain(i, candidates.target[slot].block)) others &= ~(std::uint64_t{1} << slot);
    }
    from.tried |= others;
    return false;
  }

  // The arrival's way to one of these slots.
  EvictionPath path_to(const Candidates& from, std::uint64_t slots) {
    const EvictionPath path = find_path<L>(from.block, from.order, from.arrival.bucket, slots);
    if (from.node == 0) home_path_ = path;
    return path;
  }

  // The arrival reaches a free slot, as a fingerprint has left; or the path is too long to be one.
  bool ends_here(const Candidates& from) {
    const EvictionPath path = path_to(from, from.order.free);
    if (!path) return false;
    end_ = from.node;
    end_path_ = path;
    return true;
  }

  // Whether copies can have all slots of the bucket but one: two slots almost always show it.
  static bool may_be_crowded(const Block& block, const Place& arrival) {
    // A guest's bucket has one slot.
    const std::uint32_t first = first_slot(arrival.bucket);
    const std::uint64_t others = arrival.bucket & (arrival.bucket - 1);
    return L::get(block, first) == arrival.fingerprint ||
           (others != 0 && L::get(block, first_slot(others)) == arrival.fingerprint);
  }

  // Every slot in which a path from the bucket ends. One pass over the block covers all its
  // candidates, in a quarter of the time that find_path takes for each.
  static std::uint64_t reach(const Candidates& from) {
    const std::uint64_t free = from.order.free;
    const GuestLanes<L> lanes(from.order.classes, from.block);
    std::uint64_t reached = from.arrival.bucket;
    std::uint64_t last = reached & ~free;
    for (std::uint32_t steps = 1; last != 0 && steps < EvictionPath::kMaxSteps; ++steps) {
      std::uint64_t next = 0;
      for (; last != 0; last &= last - 1) {
        const std::uint32_t s = first_slot(last);
        const std::uint32_t fingerprint = L::get(from.block, s);
        next |= L::bucket(fingerprint, from.order.template bucket_offset<L>(s)) &
                lanes.of_resident(fingerprint, s);
      }
      last = next & ~reached & ~free;
      reached |= next;
    }
    return reached;
  }

  // Which of the open candidates leaves first; `covered` are those that raise no mark.
  static std::uint32_t best_of(const EvictionCandidates& candidates, std::uint64_t covered,
                               const Candidates& from) {
    std::uint64_t some = candidates.open & covered;
    if (some == 0) return first_of(candidates.open, from);
    if ((some & candidates.direct) != 0) {
      some &= candidates.direct;
      if ((some >> kNobody) != 0) return kNobody;
      const std::uint64_t near = some & from.arrival.bucket;  // without a displacement
      return first_slot(near != 0 ? near : some);
    }
    if (L::kHasGuestLanes && (some & from.order.guests) != 0) some &= from.order.guests;
    std::uint32_t best = kNobody;
    int most = 0;
    for (; some != 0; some &= some - 1) {
      const std::uint32_t slot = first_slot(some);
      const int free = std::popcount(candidates.free[slot]);
      if (free > most) {
        most = free;
        best = slot;
      }
    }
    return best;
  }

  // By rank. Guests raise no mark.
  static std::uint32_t first_of(std::uint64_t some, const Candidates& from) {
    std::uint32_t least = ~0u;
    if constexpr (L::kHasGuestLanes) {
      const std::uint64_t guests = some & from.order.guests;
      if (guests != 0) return first_slot(guests);
    }
    for (; some != 0; some &= some - 1) {
      const std::uint32_t slot = first_slot(some);
      const std::uint32_t rank =
          slot == kNobody
              ? EvictionOrder::rank_of(from.newcomer_class, 0)
              : EvictionOrder::rank_of(eviction_rank(L::get(from.block, slot)), slot + 1);
      least = std::min(least, rank);
    }
    return EvictionOrder::slot_of(least);
  }

  // As what the resident of a slot comes to its other block.
  static Residence residence_after(const Candidates& from, std::uint32_t slot) {
    return L::kHasGuestLanes ? from.order.residence_after(slot) : Residence::anywhere;
  }

  // Whether the candidate finds a path to a free slot in its other block: then the chain ends
  // there.
  bool has_room(const Candidates& from, const EvictionCandidates& candidates, std::uint32_t slot) {
    const Place& target = candidates.target[slot];
    const Residence as = residence_after(from, slot);
    if ((candidates.direct >> slot & 1) == 0) return has_room(from.node, target, slot, as);
    end_at(from.node, target, slot, as,
           EvictionPath(first_slot(candidates.free[slot] & target.bucket)));
    return true;
  }
  bool has_room(std::uint32_t i, const Place& target, std::uint32_t slot, Residence as) {
    Block copy;
    const Block& block = seen(blocks_[target.block], copy);
    const GuestLanes<L> lanes(classes_, block);
    EvictionPath path;
    if (L::kHasGuestLanes && (opens_ || lanes.are_too_low(target.fingerprint, as))) {
      Block changed = block;
      path = find_path_of_arrival<L>(changed, target, as, classes_, opens_);
    } else {
      path = find_path_to_free<L>(block, target, as, classes_);
    }
    if (path) end_at(i, target, slot, as, path);
    return static_cast<bool>(path);
  }
  // The block with a guest level that covers the node's arrival. Only for nodes that are kept.
  const Block& admitting(const Block& block, const Node& node, Block& copy) const {
    if (!L::kHasGuestLanes || node.as != Residence::guest) return block;
    copy = block;
    (void)lets_in(copy, node.arrival.fingerprint, node.as);
    return copy;
  }
  // Makes this a block whose guest level is not too low for an arrival, if that is possible.
  [[nodiscard]] bool lets_in(Block& block, std::uint32_t fingerprint, Residence as) const {
    if (opens_to_all(as)) block.set_guest_level(kOpenToAllLevel);
    return !GuestLanes<L>(classes_, block).are_too_low(fingerprint, as) ||
           take_guest<L>(block, classes_, fingerprint, opens_on_the_way_);
  }

  // The chain ends where the fingerprint that leaves the slot of node i's block arrives.
  void end_at(std::uint32_t i, const Place& target, std::uint32_t slot, Residence as,
              EvictionPath path) {
    end_ = node_count_;
    end_path_ = path;
    nodes_[end_] = {target, i, slot, as};
  }

  // Keeps the other blocks of those that failed, which have no room.
  void remember_all(const Candidates& from) {
    for (std::uint64_t slots = from.failed(); slots != 0;) {
      const std::uint32_t slot = first_of(slots, from);
      slots &= ~(std::uint64_t{1} << slot);
      Place candidate = from.arrival;
      candidate.fingerprint = L::get(from.block, slot);
      candidate.bucket_offset = from.order.template bucket_offset<L>(slot);
      remember(from.node, moved(geometry_, candidate), slot, residence_after(from, slot));
    }
  }

  // Keeps a block without room for a longer chain.
  void remember(std::uint32_t i, const Place& target, std::uint32_t slot, Residence as) {
    if (L::kHasGuestLanes && has_lanes_ && has_seen_many()) {
      tries_ = std::min(tries_, kWideTriesInFull);
    }
    if (node_count_ >= most_expanded(tries_) || is_node(target.block)) return;
    std::uint64_t slots = L::bucket(target.fingerprint, target.bucket_offset);
    if (L::kHasGuestLanes && has_lanes_) {
      Block copy;
      copy = seen(blocks_[target.block], copy);
      if (!lets_in(copy, target.fingerprint, as)) return;
      slots &= GuestLanes<L>(classes_, copy).of(target.fingerprint, as);
    }
    Node& node = nodes_[node_count_++];
    node = {target, i, slot, as};
    node.arrival.bucket = slots;
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

  int tries_ = kTries;
  std::uint32_t node_count_ = 0;
  const bool stable_;
  bool may_leave_ = true;                        // the newcomer
  std::uint32_t end_of_ranks_ = kEvictionRanks;  // only residents of lower ranks leave

 protected:
  const bool has_lanes_;
  bool opens_ = false;             // blocks, where nothing else makes room
  bool opens_on_the_way_ = false;  // and not only the last one
  const Block* blocks_;            // changed through BlockLock
  Geometry geometry_;
  BlockClasses classes_;    // of all blocks that the newcomer's chains can reach
  std::uint32_t end_ = 0;   // the node that ends the chain
  EvictionPath end_path_;   // of the arrival there, to a free slot
  EvictionPath home_path_;  // of the newcomer at home, to the slot that is vacated for it
  std::array<Node, most_expanded(kWideTries) + 1> nodes_;
};

}}}  // namespace nestline::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
