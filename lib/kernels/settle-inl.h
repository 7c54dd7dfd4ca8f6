// Per-target: giving many keys of one block their slots at once, for builds in bulk.
//
// First each newcomer takes a free slot of its bucket: the lowest one that no later newcomer wants,
// or else the lowest. Looking ahead costs three operations a key, and leaves 4 % of the keys
// without a free slot where taking the lowest slot leaves 9 % (8 bits, 95 % load). To know what two
// later ones want leaves 3 %, which saves less time than it takes. Those without a slot get one by
// the search below.
//
// settle_one searches backwards, all slots at a time: level 0 is the goals, and level n + 1 is
// level n with every slot whose resident has a slot of level n in its bucket. That is a few vector
// operations a level, whatever the block looks like. The first level that meets the newcomer's
// bucket ends the search, and so does a level that equals the one before: there is no way then.
#if defined(NESTLINE_LIB_KERNELS_SETTLE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_KERNELS_SETTLE_INL_H_
#undef NESTLINE_LIB_KERNELS_SETTLE_INL_H_
#else
#define NESTLINE_LIB_KERNELS_SETTLE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "lib/kernels/kernels.h"
#include "lib/kernels/locate-inl.h"
#include "lib/kernels/match-inl.h"
#include "lib/kernels/ways-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class L>
void locate_pairs(const BlocksView& view, const std::uint64_t* keys, std::size_t count, Input input,
                  std::uint64_t* to) noexcept {
  Group group;
  locate<L>(view, keys, count, input, group);
  for (std::size_t i = 0; i < count; ++i) {
    to[i] = located(group.offset[i] / kBlockBytes, group.pair[i]);
  }
}

#if NESTLINE_ONE_LANE

template <class L>
std::uint64_t complete(const std::uint32_t* pairs, std::size_t count, Resident* newcomers,
                       std::uint64_t* buckets) noexcept {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t pair = pairs[i] & kPairMask;
    const std::uint32_t fingerprint = pair & 0xffff;
    newcomers[i] = pair | spill_class(fingerprint) << 24;
    buckets[i] = L::bucket(fingerprint, pair >> 16);
    all |= buckets[i];
  }
  return all;
}

template <class L>
void find_pairs(const Block& block, std::uint32_t* pairs) {
  for (std::uint32_t s = 0; s < L::kSlots; ++s) {
    const std::uint32_t fingerprint = L::get(block, s);
    pairs[s] = fingerprint | L::phase_at(fingerprint, s) << 16;
  }
}

// Writes the slots' bytes of a block; fingerprints of free slots are 0.
template <class L>
void write_fingerprints(const Resident* residents, Block& block) {
  for (std::uint32_t s = 0; s < L::kSlots; ++s) L::set(block, s, fingerprint_of(residents[s]));
}

inline std::uint64_t at_most(const Resident* residents, std::uint32_t spill_class) noexcept {
  std::uint64_t found = 0;
  for (std::uint32_t i = 0; i < 64; ++i) {
    found |= std::uint64_t{class_of(residents[i]) <= spill_class} << i;
  }
  return found;
}

// The slots whose buckets share a slot with `slots`.
template <class L>
std::uint64_t sharing(const std::uint64_t* buckets, std::uint64_t slots) {
  std::uint64_t found = 0;
  for (std::uint32_t s = 0; s < L::kSlots; ++s) {
    found |= std::uint64_t{(buckets[s] & slots) != 0} << s;
  }
  return found;
}

#else  // vectors

template <class L>
std::uint64_t complete(const std::uint32_t* pairs, std::size_t count, Resident* newcomers,
                       std::uint64_t* buckets) noexcept {
  const BlockTag<std::uint32_t> d32;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d32)) {
    const auto pair = hn::And(hn::LoadU(d32, pairs + i), hn::Set(d32, kPairMask));
    const auto classes = hn::Sub(pair, hn::Set(d32, 1));  // in the low byte
    hn::StoreU(hn::Or(pair, hn::ShiftLeft<24>(classes)), d32, newcomers + i);
  }

  // In 16-bit lanes: fingerprints and phases are in the lowest 16 bits of a wider lane, all else is
  // 0 and stays 0, since no constant has bits there.
  const BlockTag<std::uint64_t> d;
  const hn::Repartition<std::uint16_t, decltype(d)> d16;
  const hn::Rebind<std::uint32_t, decltype(d)> d_pair;
  const auto low = [&](std::uint64_t value) { return hn::BitCast(d16, hn::Set(d, value)); };
  const auto per_lane = low(L::kSlotsPerLane);
  const auto one = hn::Set(d, std::uint64_t{1});
  auto all = hn::Zero(d);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto pair = hn::PromoteTo(d, hn::LoadU(d_pair, newcomers + i));
    const auto f = hn::BitCast(d16, hn::And(pair, hn::Set(d, std::uint64_t{0xffff})));
    const auto phase = hn::And(hn::ShiftRight<16>(pair), hn::Set(d, std::uint64_t{0xf}));
    const auto p = hn::BitCast(d16, phase);
    auto bucket = hn::Shl(one, phase);
    for (std::uint32_t lane = 1; lane < L::kLanes; ++lane) {
      const auto turn = hn::MulHigh(hn::Mul(f, low(kRotationMultiplier[lane])), per_lane);
      const auto q = hn::Add(p, turn);
      const auto index = hn::Add(hn::Min(q, hn::Sub(q, per_lane)), low(lane * L::kSlotsPerLane));
      bucket = hn::Or(bucket, hn::Shl(one, hn::BitCast(d, index)));
    }
    hn::StoreU(bucket, d, buckets + i);
    all = hn::Or(all, hn::IfThenElseZero(hn::FirstN(d, count - i), bucket));
  }
  std::uint64_t slots[hn::MaxLanes(decltype(d)())];
  hn::StoreU(all, d, slots);
  for (std::size_t i = 1; i < hn::Lanes(d); ++i) slots[0] |= slots[i];
  return slots[0];
}

template <class L>
HWY_INLINE void find_pairs(const Block& block, std::uint32_t* pairs) {
  using Lanes = ResidentLanes<L>;
  const typename Lanes::D d;
  const Lanes lanes(block);
  for (std::size_t s = 0; s < L::kSlots; s += hn::Lanes(d)) {
    hn::StoreInterleaved2(lanes.fingerprints(s), lanes.phases(s), d,
                          reinterpret_cast<std::uint16_t*>(pairs + s));
  }
}

// Writes the lowest bits of the residents, shifted right, as lanes of T one after the other.
template <typename T, int kShift, class D>
HWY_INLINE auto demoted(D d, const Resident* residents) {
  const hn::RebindToSigned<D> signed_d;
  const hn::Rebind<T, D> d_to;
  constexpr std::uint32_t kMask = kShift != 0 ? 0xf : sizeof(T) == 1 ? 0xff : 0xffff;
  const auto bits = hn::And(hn::ShiftRight<kShift>(hn::LoadU(d, residents)), hn::Set(d, kMask));
  return hn::DemoteTo(d_to, hn::BitCast(signed_d, bits));
}

template <class L>
HWY_INLINE void write_fingerprints(const Resident* residents, Block& block) {
  using T = hwy::UnsignedFromSize<L::kBits == 16 ? 2 : 1>;
  const BlockTag<std::uint32_t> d;
  const hn::Rebind<T, decltype(d)> d_to;
  const std::size_t step = hn::Lanes(d);
  alignas(64) T to[128] = {};
  for (std::size_t s = 0; s < L::kSlots; s += step) {
    hn::StoreU(demoted<T, 0>(d, residents + s), d_to, to + s);
  }
  if constexpr (L::kBits == 12) {
    for (std::size_t s = 0; s < L::kNibbleRun; s += step) {
      const auto low = demoted<T, 8>(d, residents + s);
      const auto high = demoted<T, 8>(d, residents + L::kNibbleRun + s);
      hn::StoreU(hn::Or(low, hn::ShiftLeft<4>(high)), d_to, to + L::kNibbleByte + s);
    }
  }
  std::memcpy(block.bytes.data(), to, kMarkByte);
}

inline std::uint64_t at_most(const Resident* residents, std::uint32_t spill_class) noexcept {
  const BlockTag<std::uint32_t> d;
  const hn::RebindToSigned<decltype(d)> signed_d;
  const auto above = hn::Set(signed_d, static_cast<std::int32_t>(spill_class + 1));
  std::uint64_t found = 0;
  for (std::size_t i = 0; i < 64; i += hn::Lanes(d)) {
    const auto classes = hn::BitCast(signed_d, hn::ShiftRight<24>(hn::LoadU(d, residents + i)));
    found |= bits_of(signed_d, hn::Lt(classes, above)) << i;
  }
  return found;
}

template <class L>
HWY_INLINE std::uint64_t sharing(const std::uint64_t* buckets, std::uint64_t slots) {
  const BlockTag<std::uint64_t> d;
  const std::size_t step = hn::Lanes(d);
  const auto wanted = hn::Set(d, slots);
  std::uint64_t found = 0;
  for (std::size_t s = 0; s < L::kSlots; s += step) {
    const auto shared = hn::And(hn::Load(d, buckets + s), wanted);
    found |= bits_of(d, hn::Ne(shared, hn::Zero(d))) << s;
  }
  return found & L::kAllSlots;
}

#endif  // NESTLINE_ONE_LANE

// Stores the newcomer as settle_one does. If there is no way, `reach` is set to all slots from
// which there is one.
template <class L>
HWY_INLINE bool settle_by_search(UnpackedBlock& block, Resident newcomer, std::uint64_t bucket,
                                 std::uint64_t goals, std::uint64_t& reach) {
  std::uint64_t level[L::kSlots + 1];
  level[0] = goals;
  std::uint32_t n = 0;
  while ((level[n] & bucket) == 0) {
    level[n + 1] = level[n] | (sharing<L>(block.bucket, level[n]) & ~block.free);
    if (level[n + 1] == level[n]) {
      reach = level[n];
      return false;
    }
    ++n;
  }
  // The newcomer takes a slot of the highest level, whose resident has one of the level below, and
  // so on.
  for (;; --n) {
    while (n != 0 && (level[n - 1] & bucket) != 0) --n;
    const std::uint32_t slot = first_slot(level[n] & bucket);
    std::swap(newcomer, block.resident[slot]);
    std::swap(bucket, block.bucket[slot]);
    if (n != 0) continue;
    block.free &= ~(std::uint64_t{1} << slot);
    return true;
  }
}

template <class L>
bool settle_one(UnpackedBlock& block, Resident newcomer, std::uint64_t bucket,
                std::uint64_t goals) noexcept {
  std::uint64_t reach = 0;
  return settle_by_search<L>(block, newcomer, bucket, goals, reach);
}

// The lowest bit.
HWY_INLINE std::uint64_t lowest(std::uint64_t bits) { return bits & (~bits + 1); }

// All bits if `bits` is 0, else none.
HWY_INLINE std::uint64_t if_none(std::uint64_t bits) { return std::uint64_t{bits != 0} - 1; }

template <class L>
std::size_t settle(UnpackedBlock& block, const Resident* newcomers, const std::uint64_t* buckets,
                   std::size_t count, std::uint8_t* left) noexcept {
  std::uint64_t wanted[kSettleMost];  // slots that newcomers after this one want
  std::uint64_t all = 0;
  for (std::size_t i = count; i-- > 0;) {
    wanted[i] = all;
    all |= buckets[i];
  }
  const auto choose = [&](std::size_t i, std::uint64_t free) {
    const std::uint64_t open = lowest(buckets[i] & free);
    const std::uint64_t unwanted = lowest(buckets[i] & ~wanted[i] & free);
    // Without a branch, which would be mispredicted as often as not.
    return unwanted | (if_none(unwanted) & open);
  };
  const auto take = [&](std::size_t i, std::uint64_t choice) {
    const std::uint32_t slot = first_slot(choice);
    block.bucket[slot] = buckets[i];
    block.resident[slot] = newcomers[i];
  };
  std::uint8_t late[kSettleMost];
  std::size_t late_count = 0;
  std::uint64_t free = block.free;
  const auto choose_and_take = [&](std::size_t i) {
    const std::uint64_t choice = choose(i, free);
    if (choice == 0) {
      late[late_count++] = static_cast<std::uint8_t>(i);
    } else {
      free ^= choice;
      take(i, choice);
    }
  };
  // Two at a time, since each choice waits for the one before; seldom do both want the same slot.
  std::size_t first = 0;
  for (; first + 1 < count; first += 2) {
    const std::uint64_t choice = choose(first, free);
    const std::uint64_t other = choose(first + 1, free);
    if (HWY_LIKELY((choice != 0) & (other != 0) & (choice != other))) {
      free ^= choice | other;
      take(first, choice);
      take(first + 1, other);
    } else {
      choose_and_take(first);
      choose_and_take(first + 1);
    }
  }
  if (first < count) choose_and_take(first);
  block.free = free;
  std::size_t left_count = 0;
  for (std::size_t n = 0; n < late_count; ++n) {
    const std::uint8_t i = late[n];
    // What has led to no free slot leads to none later, when fewer are free.
    const bool hopeless = (buckets[i] & block.reach) == 0;
    if (hopeless ||
        !settle_by_search<L>(block, newcomers[i], buckets[i], block.free, block.reach)) {
      left[left_count++] = i;
    }
  }
  return left_count;
}

template <class L>
void unpack(const Block& block, UnpackedBlock& unpacked) noexcept {
  alignas(64) std::uint32_t pairs[64];
  find_pairs<L>(block, pairs);
  complete<L>(pairs, L::kSlots, unpacked.resident, unpacked.bucket);
  unpacked.free = free_slots<L>(block);
  unpacked.reach = L::kAllSlots;
}

template <class L>
void pack(UnpackedBlock& unpacked, std::uint32_t mark, Block& block) noexcept {
  for (std::uint64_t free = unpacked.free; free != 0; free &= free - 1) {
    unpacked.resident[first_slot(free)] = 0;
  }
  Block packed;
  write_fingerprints<L>(unpacked.resident, packed);
  std::fill(packed.bytes.begin() + kMarkByte, packed.bytes.end(), std::uint8_t{0});
  packed.bytes[kMarkByte] = static_cast<std::uint8_t>(mark);
  block = packed;
}

}  // namespace HWY_NAMESPACE
}  // namespace nestline
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
