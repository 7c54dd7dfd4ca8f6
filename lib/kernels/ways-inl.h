// Per-target: ways inside one block (way.h), and which residents of a block would leave it first.
//
// A way is looked for from both ends. Forward from the newcomer's bucket by scalars: where each of
// its k residents could go. That is one step, and most searches end there. The others go on
// backward from the goals by vectors: who could move into slot e is one compare of all residents,
// and it is enough if one of them is in a slot that the first step reaches.
//
// The slots of residents are computed in 16-bit lanes; the one-lane target does the same through
// the definitions of layout.h.
#if defined(NESTLINE_LIB_KERNELS_WAYS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_KERNELS_WAYS_INL_H_
#undef NESTLINE_LIB_KERNELS_WAYS_INL_H_
#else
#define NESTLINE_LIB_KERNELS_WAYS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "lib/kernels/kernels.h"
#include "lib/kernels/match-inl.h"
#include "lib/kernels/way.h"

HWY_BEFORE_NAMESPACE();
namespace nestline {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// In place of the phase of a free slot: it has no slot in any lane.
constexpr std::uint16_t kNoPhase = 0x4000;

#if NESTLINE_ONE_LANE

template <class L>
void rank(const Block& shared, Ranks& ranks) noexcept {
  BlockCopy copy;
  const Block& block = readable_block(shared, copy);
  ranks.free = ranks.covered = ranks.next = 0;
  const std::uint32_t mark = Ranks::rank_of(block.mark(), 0);
  ranks.below = mark + Ranks::kStep<L>;
  for (std::uint32_t s = 0; s < L::kSlots; ++s) {
    const std::uint32_t fingerprint = L::get(block, s);
    const std::uint32_t phase = L::phase_at(fingerprint, s);
    ranks.phase[s] = fingerprint == 0 ? kNoPhase : static_cast<std::uint16_t>(phase);
    ranks.rank[s] =
        fingerprint == 0 ? Ranks::kNone : Ranks::rank_of(spill_class(fingerprint), s + 1);
    ranks.free |= std::uint64_t{fingerprint == 0} << s;
    ranks.covered |= std::uint64_t{ranks.rank[s] < mark} << s;
    ranks.next |= std::uint64_t{ranks.rank[s] >= mark && ranks.rank[s] < ranks.below} << s;
  }
}

template <class L>
std::uint64_t ranked(const Ranks& ranks, std::uint32_t from, std::uint32_t below) noexcept {
  std::uint64_t slots = 0;
  for (std::uint32_t s = 0; s < L::kSlots; ++s) {
    slots |= std::uint64_t{ranks.rank[s] >= from && ranks.rank[s] < below} << s;
  }
  return slots;
}

// Which residents of a block could move where.
template <class L>
class Movers {
 public:
  explicit Movers(const Block& block, const Ranks* = nullptr) {
    for (std::uint32_t s = 0; s < L::kSlots; ++s) {
      buckets_[s] = L::get(block, s) == 0 ? 0 : bucket_at<L>(block, s);
    }
  }
  // The slots whose residents have slot e in their buckets.
  [[nodiscard]] std::uint64_t into(std::uint32_t e) const {
    std::uint64_t slots = 0;
    for (std::uint32_t s = 0; s < L::kSlots; ++s) slots |= (buckets_[s] >> e & 1) << s;
    return slots;
  }
  // Whether there are any.
  [[nodiscard]] bool any_into(std::uint32_t e) const { return into(e) != 0; }

 private:
  std::uint64_t buckets_[L::kSlots];
};

#else  // vectors

// For each slot: its index in its lane, its lane's rotation multiplier, and its number as ranks
// contain it. After the last slot: as if there were no fingerprint.
template <class L>
struct SlotTables {
  alignas(64) std::uint16_t index[64];
  alignas(64) std::uint16_t multiplier[64];
  alignas(64) std::uint16_t number[64];
  constexpr SlotTables() : index(), multiplier(), number() {
    for (std::uint32_t s = 0; s < 64; ++s) {
      number[s] = s < L::kSlots ? static_cast<std::uint16_t>(s + 1) : Ranks::kNone;
      index[s] = kNoPhase;
      if (s >= L::kSlots) continue;
      index[s] = static_cast<std::uint16_t>(s % L::kSlotsPerLane);
      multiplier[s] = kRotationMultiplier[s / L::kSlotsPerLane];
    }
  }
};

// Fingerprints and phases of all residents, in vectors of 16-bit lanes.
template <class L>
class ResidentLanes {
 public:
  using D = hn::CappedTag<std::uint16_t, 32>;
  using Half = hn::Rebind<std::uint8_t, D>;
  using V = hn::Vec<D>;

  explicit HWY_INLINE ResidentLanes(const Block& block) : block_(block) {
    if constexpr (L::kBits == 12) unpack_nibbles();
  }

  HWY_INLINE V fingerprints(std::size_t s) const {
    const std::uint8_t* const bytes = block_.bytes.data();
    if constexpr (L::kBits == 16) {
      return hn::Load(D(), reinterpret_cast<const std::uint16_t*>(bytes) + s);
    } else {
      const V low = hn::PromoteTo(D(), hn::Load(Half(), bytes + s));
      if constexpr (L::kBits == 8) return low;
      return hn::Or(low, hn::ShiftLeft<8>(hn::PromoteTo(D(), hn::Load(Half(), nibbles_ + s))));
    }
  }
  HWY_INLINE V phases(std::size_t s) const {
    const V own = rotations(fingerprints(s), hn::Load(D(), kTables.multiplier + s));
    // index - rotation, or that plus R where it is negative (then huge as an unsigned number).
    const V distance = hn::Sub(hn::Load(D(), kTables.index + s), own);
    const V phase = hn::Min(distance, hn::Add(distance, per_lane()));
    return hn::IfThenElse(hn::Eq(fingerprints(s), hn::Zero(D())), hn::Set(D(), kNoPhase), phase);
  }
  static HWY_INLINE V rotations(V fingerprints, V multipliers) {
    return hn::MulHigh(hn::Mul(fingerprints, multipliers), per_lane());
  }
  static HWY_INLINE V per_lane() {
    return hn::Set(D(), static_cast<std::uint16_t>(L::kSlotsPerLane));
  }

  static constexpr SlotTables<L> kTables{};

 private:
  // 12 bit: the high nibbles in the order of the slots. 16 slots at a time: those from 16 on are
  // the low halves of the last 4 nibble bytes, then the high halves of all 20.
  HWY_INLINE void unpack_nibbles() {
    alignas(16) static constexpr std::uint8_t kTail[16] = {
        8, 9, 10, 11, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};
    alignas(16) static constexpr std::uint8_t kHead[16] = {0x80, 0x80, 0x80, 0x80, 0, 1, 2,  3,
                                                           4,    5,    6,    7,    8, 9, 10, 11};
    const hn::CappedTag<std::uint8_t, 16> d;
    const auto low = hn::Set(d, std::uint8_t{15});
    const auto first = hn::LoadU(d, block_.bytes.data() + L::kNibbleByte);
    const auto last = hn::LoadU(d, block_.bytes.data() + L::kNibbleByte + 8);
    const auto high = [&](auto bytes) {
      const hn::Repartition<std::uint16_t, decltype(d)> wide;
      return hn::And(hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(wide, bytes))), low);
    };
    hn::Store(hn::And(first, low), d, nibbles_);
    hn::Store(hn::Or(hn::TableLookupBytesOr0(hn::And(last, low), hn::Load(d, kTail)),
                     hn::TableLookupBytesOr0(high(first), hn::Load(d, kHead))),
              d, nibbles_ + 16);
    // Slots 32 to 39; what is behind them is loaded too, but does not count.
    static_assert(L::kNibbleRun == 20 && L::kSlots == 40);
    hn::Store(hn::Zero(d), d, nibbles_ + 32);
    hn::Store(hn::Zero(d), d, nibbles_ + 48);
    hn::StoreU(high(last), d, nibbles_ + 28);
  }

  const Block& block_;
  alignas(64) std::uint8_t nibbles_[L::kBits == 12 ? 64 : 1];
};

template <class L>
void rank(const Block& shared, Ranks& ranks) noexcept {
  using Lanes = ResidentLanes<L>;
  const typename Lanes::D d;
  BlockCopy copy;
  const Block& block = readable_block(shared, copy);
  const Lanes lanes(block);
  const std::uint16_t mark = Ranks::rank_of(block.mark(), 0);
  ranks.below = mark + Ranks::kStep<L>;
  const auto at_mark = hn::Set(d, mark);
  const auto below = hn::Set(d, static_cast<std::uint16_t>(ranks.below));
  std::uint64_t covered = 0;
  std::uint64_t either = 0;
  for (std::size_t s = 0; s < L::kSlots; s += hn::Lanes(d)) {
    const auto fingerprint = lanes.fingerprints(s);
    const auto phase = lanes.phases(s);
    hn::Store(phase, d, ranks.phase + s);
    const auto low_byte = hn::And(fingerprint, hn::Set(d, std::uint16_t{0xff}));
    const auto spill_class = hn::Sub(low_byte, hn::Set(d, std::uint16_t{1}));
    const auto number = hn::Load(d, Lanes::kTables.number + s);
    const auto rank = hn::Or(hn::ShiftLeft<Ranks::kNumberBits>(spill_class), number);
    const auto free = hn::Eq(fingerprint, hn::Zero(d));
    const auto ranked = hn::IfThenElse(free, hn::Set(d, Ranks::kNone), rank);
    hn::Store(ranked, d, ranks.rank + s);
    covered |= bits_of(d, hn::Lt(ranked, at_mark)) << s;
    either |= bits_of(d, hn::Lt(ranked, below)) << s;
  }
  ranks.covered = covered;
  ranks.next = either & ~covered;
  ranks.free = match_first_bytes<L>(block, 0) & L::kAllSlots;
}

template <class L>
std::uint64_t ranked(const Ranks& ranks, std::uint32_t from, std::uint32_t below) noexcept {
  const typename ResidentLanes<L>::D d;
  const auto least = hn::Set(d, static_cast<std::uint16_t>(from));
  const auto range = hn::Set(d, static_cast<std::uint16_t>(below - from));
  std::uint64_t slots = 0;
  for (std::size_t s = 0; s < L::kSlots; s += hn::Lanes(d)) {
    slots |= bits_of(d, hn::Lt(hn::Sub(hn::Load(d, ranks.rank + s), least), range)) << s;
  }
  return slots;
}

// Which residents of a block could move where. Each slot's answer is computed when it is asked for:
// most searches need two or three.
template <class L>
class Movers {
 public:
  explicit HWY_INLINE Movers(const Block& block, const Ranks* ranks = nullptr) : lanes_(block) {
    if (ranks != nullptr) {
      phases_ = ranks->phase;
      return;
    }
    for (std::size_t s = 0; s < L::kSlots; s += hn::Lanes(D())) {
      hn::Store(lanes_.phases(s), D(), own_phases_ + s);
    }
    phases_ = own_phases_;
  }
  Movers(const Movers&) = delete;
  Movers& operator=(const Movers&) = delete;

  // The slots whose residents have slot e in their buckets.
  [[nodiscard]] HWY_INLINE std::uint64_t into(std::uint32_t e) const {
    const D d;
    const auto multiplier = hn::Set(d, kRotationMultiplier[e / L::kSlotsPerLane]);
    const auto index = hn::Set(d, static_cast<std::uint16_t>(e % L::kSlotsPerLane));
    std::uint64_t slots = 0;
    for (std::size_t s = 0; s < L::kSlots; s += hn::Lanes(d)) {
      slots |= bits_of(d, hn::Eq(index_in_lane(s, multiplier), index)) << s;
    }
    return slots;
  }
  // Whether there are any.
  [[nodiscard]] HWY_INLINE bool any_into(std::uint32_t e) const {
    const D d;
    const auto multiplier = hn::Set(d, kRotationMultiplier[e / L::kSlotsPerLane]);
    const auto index = hn::Set(d, static_cast<std::uint16_t>(e % L::kSlotsPerLane));
    for (std::size_t s = 0; s < L::kSlots; s += hn::Lanes(d)) {
      if (!hn::AllFalse(d, hn::Eq(index_in_lane(s, multiplier), index))) return true;
    }
    return false;
  }

 private:
  using D = typename ResidentLanes<L>::D;

  // Where in the lane of `multiplier` the residents of slots s, s + 1, ... have their slots.
  HWY_INLINE hn::Vec<D> index_in_lane(std::size_t s, hn::Vec<D> multiplier) const {
    const auto q =
        hn::Add(hn::Load(D(), phases_ + s), lanes_.rotations(lanes_.fingerprints(s), multiplier));
    return hn::Min(q, hn::Sub(q, ResidentLanes<L>::per_lane()));
  }

  ResidentLanes<L> lanes_;
  const std::uint16_t* phases_;
  alignas(64) std::uint16_t own_phases_[64];
};

#endif  // NESTLINE_ONE_LANE

// Where the residents of a bucket's slots could go, one bucket for each lane.
template <class L>
struct FirstSteps {
  std::uint32_t from[L::kLanes];
  std::uint64_t to[L::kLanes];
  std::uint64_t all = 0;

  HWY_INLINE FirstSteps(const Block& block, std::uint64_t bucket) {
    for (std::uint32_t lane = 0; lane < L::kLanes; ++lane, bucket &= bucket - 1) {
      const std::uint32_t slot = first_slot(bucket);
      const std::uint32_t fingerprint = L::get(block, slot);
      std::uint32_t phase = slot - lane * L::kSlotsPerLane;
      if (lane != 0) {
        phase -= rotation(fingerprint, lane, L::kSlotsPerLane);
        phase = std::min(phase, phase + L::kSlotsPerLane);  // negative numbers are huge
      }
      from[lane] = slot;
      to[lane] = L::bucket(fingerprint, phase);
      all |= to[lane];
    }
  }
  // A way to a slot that one of them reaches.
  [[nodiscard]] HWY_INLINE Way way_to(std::uint32_t slot) const {
    std::uint32_t lane = 0;
    while ((to[lane] >> slot & 1) == 0) ++lane;
    return Way(from[lane]).then(slot);
  }
};

// The rest of a search, where one step is not enough.
template <class L>
HWY_INLINE Way find_longer_way(const Movers<L>& movers, const FirstSteps<L>& first,
                               std::uint64_t goals) {
  // Slots that lead to a goal: the goals themselves, then those whose residents can move `into` a
  // slot of the entry `parent`.
  struct Entry {
    std::uint64_t slots;
    std::uint32_t parent;
    std::uint32_t into;
  };
  Entry entries[L::kSlots + 1];
  entries[0] = {goals, 0, 0};
  std::uint32_t count = 1;
  std::uint64_t unseen = L::kAllSlots & ~goals;
  for (std::uint32_t i = 0; i < count; ++i) {
    for (std::uint64_t rest = entries[i].slots; rest != 0; rest &= rest - 1) {
      const std::uint32_t e = first_slot(rest);
      const std::uint64_t found = movers.into(e) & unseen;
      if ((found & first.all) != 0) {
        Way way = first.way_to(first_slot(found & first.all)).then(e);
        for (; i != 0; i = entries[i].parent) {
          if (way.steps() == Way::kMostSteps) return {};
          way = way.then(entries[i].into);
        }
        return way;
      }
      unseen &= ~found;
      entries[count] = {found, i, e};
      count += found != 0;
    }
  }
  return {};
}

template <class L>
HWY_NOINLINE Way find_longer_way(const Block& block, const Ranks* ranks, const FirstSteps<L>& first,
                                 std::uint64_t goals) {
  const Movers<L> movers(block, ranks);
  return find_longer_way(movers, first, goals);
}

// A way from a bucket without goals.
template <class L>
HWY_INLINE Way find_way_out(const Block& block, const Ranks* ranks, std::uint64_t bucket,
                            std::uint64_t goals) {
  const FirstSteps<L> first(block, bucket);
  if (HWY_LIKELY((first.all & goals) != 0)) return first.way_to(first_slot(first.all & goals));
  return find_longer_way<L>(block, ranks, first, goals);
}

// The same in a block that has not had room for somebody. Most of the time nobody in it can move to
// a free slot, so that is found out first.
template <class L>
HWY_NOINLINE Way find_rare_way(const Block& block, std::uint64_t bucket, std::uint64_t free) {
  const Movers<L> movers(block);
  for (std::uint64_t rest = free; rest != 0; rest &= rest - 1) {
    if (!movers.any_into(first_slot(rest))) continue;
    const FirstSteps<L> first(block, bucket);
    if ((first.all & free) != 0) return first.way_to(first_slot(first.all & free));
    return find_longer_way(movers, first, free);
  }
  return {};
}

template <class L>
Way find_way(const Block& shared, const Ranks* ranks, std::uint64_t bucket,
             std::uint64_t goals) noexcept {
  if ((goals & bucket) != 0) return Way(first_slot(goals & bucket));
  BlockCopy copy;
  return find_way_out<L>(readable_block(shared, copy), ranks, bucket, goals);
}

template <class L>
HWY_INLINE Way find_free_way_in(const Block& block, std::uint64_t free, std::uint64_t bucket) {
  if (HWY_LIKELY((free & bucket) != 0)) return Way(first_slot(free & bucket));
  if (free == 0) return {};
  if (block.mark() == 0) return find_way_out<L>(block, nullptr, bucket, free);
  return find_rare_way<L>(block, bucket, free);
}

template <class L>
Way find_free_way(const Block& shared, const Place& place) noexcept {
  BlockCopy copy;
  const Block& block = readable_block(shared, copy);
  const std::uint64_t free = match_first_bytes<L>(block, 0) & L::kAllSlots;
  if (free == 0) return {};
  return find_free_way_in<L>(block, free, L::bucket(place.fingerprint, place.phase));
}

template <class L>
void leavers(const BlocksView& view, const Block& block, std::uint64_t number, const Ranks& ranks,
             std::uint64_t slots, Leavers& leavers) noexcept {
  std::uint32_t count = leavers.count;
  for (; slots != 0; slots &= slots - 1) {
    const std::uint32_t slot = first_slot(slots);
    Place& target = leavers.target[count];
    target.block = number;
    target.fingerprint = L::get(block, slot);
    target.phase = ranks.phase[slot];
    target.block = alternate_of(view.geometry, target);
    leavers.slot[count] = static_cast<std::uint8_t>(slot);
    prefetch_block(view.blocks[target.block]);
    count += target.block != number;
  }
  std::uint64_t open = 0;
  for (std::uint32_t n = 0; n < count; ++n) {
    open |= std::uint64_t{free_slots<L>(view.blocks[leavers.target[n].block]) != 0} << n;
  }
  leavers.count = count;
  leavers.open = open;
}

template <class L>
HWY_INLINE bool store_in(Block& block, std::uint64_t bucket, std::uint32_t fingerprint) {
  BlockCopy copy;
  const Block& now = readable_block(block, copy);
  const std::uint64_t free = match_first_bytes<L>(now, 0) & L::kAllSlots;
  const Way way = find_free_way_in<L>(now, free, bucket);
  if (!way) return false;
  walk<L>(block, way, fingerprint);
  return true;
}

template <class L>
bool store(Block& block, std::uint64_t bucket, std::uint32_t fingerprint) noexcept {
  return store_in<L>(block, bucket, fingerprint);
}

// Stores at home, which nobody holds yet.
template <class L, class Locks>
HWY_INLINE bool store_at(const Block* blocks, const Place& home) {
  typename Locks::Hold hold(blocks, home.block);
  BlockCopy copy;
  const Block& now = readable_block(hold.at(home.block), copy);
  const std::uint64_t free = match_first_bytes<L>(now, 0) & L::kAllSlots;
  const Way way = find_free_way_in<L>(now, free, home.bucket);
  if (!way) return false;
  walk<L>(hold.change(home.block), way, home.fingerprint);
  return true;
}

// The rest of store_first, apart from it: the first look needs few registers and no stack.
template <class L, class Locks>
HWY_NOINLINE bool store_by_way(const Block* blocks, const Geometry& geometry, std::uint64_t hash,
                               Place& home) noexcept {
  const Place place = home_of<L>(geometry, hash);
  if (store_at<L, Locks>(blocks, place)) return true;
  home = place;
  return false;
}

template <class L, class Locks>
bool store_first(const Block* blocks, const Geometry& geometry, std::uint64_t hash,
                 Place& home) noexcept {
  {
    const Place place = home_of<L>(geometry, hash);
    typename Locks::Hold hold(blocks, place.block);
    BlockCopy copy;
    const Block& now = readable_block(hold.at(place.block), copy);
    const std::uint64_t free = match_first_bytes<L>(now, 0) & place.bucket;
    if (HWY_LIKELY(free != 0)) {
      L::set(hold.change(place.block), first_slot(free), place.fingerprint);
      return true;
    }
  }
  return store_by_way<L, Locks>(blocks, geometry, hash, home);
}

template <class L, class Locks>
std::size_t store_batch(const Block* blocks, const Place* places, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    if (!store_at<L, Locks>(blocks, places[i])) return i;
  }
  return count;
}

template <class L>
HWY_NOINLINE bool not_at_home(const Geometry& geometry, std::uint64_t hash, Place& home) noexcept {
  home = home_of<L>(geometry, hash);
  return false;
}

template <class L, class Locks>
bool erase_first(const Block* blocks, const Geometry& geometry, std::uint64_t hash,
                 Place& home) noexcept {
  {
    const Place place = home_of<L>(geometry, hash);
    typename Locks::Hold hold(blocks, place.block);
    const std::uint64_t copies =
        match_among<L>(hold.at(place.block), place.fingerprint, place.bucket);
    if (HWY_LIKELY(copies != 0)) {
      L::set(hold.change(place.block), first_slot(copies), 0);
      return true;
    }
  }
  return not_at_home<L>(geometry, hash, home);
}

}  // namespace HWY_NAMESPACE
}  // namespace nestline
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
