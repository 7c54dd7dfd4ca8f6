// Per-target: giving many keys of one block their slots at once, for builds in bulk.
//
// First each newcomer takes a free slot of its bucket: the lowest one that no later newcomer wants,
// or else the lowest. Looking ahead costs three operations a key, and leaves 4 % of the keys
// without a free slot instead of 9 % (8 bits, 95 % load). Each choice waits for the one before, so
// several blocks are done side by side, one in each lane. Those without a slot get one by the
// search below.
//
// settle_one searches backwards, all slots at a time: level 0 is the goals, and level n + 1 is
// level n with every slot whose resident has a slot of level n in its bucket: a few vector
// operations a level. The first level that a resident of the newcomer's bucket can move to ends the
// search, and so does a level that equals the one before: there is no way then. That last step, of
// four or five slots, is taken by scalars, and saves half of the searches their only level.
#if defined(NESTLINE_LIB_KERNELS_SETTLE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_KERNELS_SETTLE_INL_H_
#undef NESTLINE_LIB_KERNELS_SETTLE_INL_H_
#else
#define NESTLINE_LIB_KERNELS_SETTLE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <limits>
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
void locate_pairs_each(const BlocksView& view, const std::uint64_t* keys, std::size_t count,
                       Input input, std::uint64_t* to) {
  for (std::size_t i = 0; i < count; ++i) {
    const Home home = home_block_of(view.geometry, hash_of(keys[i], input, view.secrets));
    to[i] = located(home.block, L::fingerprint_of(home.rest) | L::phase_of(home.rest) << 16);
  }
}

// Which newcomers of a block no slot is free for, as bits.
struct Late {
  std::uint64_t bits[kMaxSettled / 64];
};

// choose_slots for one block. Without branches, which would be mispredicted.
template <class Take>
HWY_INLINE void choose_slots_of_one(Settling& settling, std::size_t i, const Take& take) {
  std::uint64_t choices[kMaxSettled];  // first: what later ones want
  std::uint64_t wanted = 0;
  for (std::size_t n = settling.count; n-- > 0;) {
    choices[n] = wanted;
    wanted |= settling.bucket[n];
  }
  std::uint64_t free = settling.block.free;
  Late late{};
  for (std::size_t n = 0; n < settling.count; ++n) {
    const std::uint64_t open = settling.bucket[n] & free;
    const std::uint64_t unwanted = open & ~choices[n];
    const std::uint64_t from = unwanted != 0 ? unwanted : open;
    choices[n] = from & (~from + 1);
    free ^= choices[n];
    late.bits[n / 64] |= std::uint64_t{open == 0} << n % 64;
  }
  settling.block.free = free;
  take(i, choices, 1, late);
}

#if NESTLINE_ONE_LANE

template <class L>
void locate_pairs(const BlocksView& view, const std::uint64_t* keys, std::size_t count, Input input,
                  std::uint64_t* to) noexcept {
  locate_pairs_each<L>(view, keys, count, input, to);
}

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

// Chooses a free slot for each newcomer of these blocks; calls take(i, choices, step, late) for
// each block, where choices[step * n] is the choice of its newcomer n, as a bit, or 0.
template <class Take>
HWY_INLINE void choose_slots(Settling* blocks, std::size_t count, const Take& take) {
  for (std::size_t i = 0; i < count; ++i) choose_slots_of_one(blocks[i], i, take);
}

#else  // vectors

// Reads `count` keys rounded up to whole vectors, so up to kMaxLocated.
template <class L, Input kInput>
HWY_INLINE void locate_all_pairs(const BlocksView& view, const std::uint64_t* keys,
                                 std::size_t count, std::uint64_t* to) {
  const D64 d;
  const D16 d16;
  const D8 d8;
  const auto bases = hn::Set(d, view.geometry.base_blocks);
  const auto child_ends = static_cast<int>(32 - view.geometry.growth);
  constexpr std::uint64_t kFingerprint = (std::uint64_t{1} << L::kBits) - 1;
  const auto per_lane = hn::BitCast(d16, hn::Set(d, std::uint64_t{L::kSlotsPerLane}));
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    auto h = hn::LoadU(d, keys + i);
    if constexpr (kInput == Input::integers) h = mix_integers(h, view.secrets);
    h = base_and_rest(h, bases);
    const auto block = hn::ShiftRightSame(h, child_ends);
    // All in the lowest bits of a lane.
    const auto highest = hn::And(hn::ShiftRight<32 - L::kBits>(h), hn::Set(d, kFingerprint));
    const auto f = hn::BitCast(
        d, hn::Max(hn::BitCast(d8, highest), hn::BitCast(d8, hn::Set(d, std::uint64_t{1}))));
    const auto below = hn::And(hn::ShiftRight<16 - L::kBits>(h), hn::Set(d, std::uint64_t{0xffff}));
    const auto p = hn::BitCast(d, hn::MulHigh(hn::BitCast(d16, below), per_lane));
    const auto pair = hn::Or(f, hn::ShiftLeft<16>(p));
    hn::StoreU(hn::Or(pair, hn::ShiftLeft<20>(block)), d, to + i);
  }
}

template <class L>
void locate_pairs(const BlocksView& view, const std::uint64_t* keys, std::size_t count, Input input,
                  std::uint64_t* to) noexcept {
  if (HWY_UNLIKELY(view.geometry.base_blocks > std::numeric_limits<std::uint32_t>::max())) {
    return locate_pairs_each<L>(view, keys, count, input, to);
  }
  alignas(64) std::uint64_t padded[kMaxLocated];
  if (count < kMaxLocated) {
    std::copy_n(keys, count, padded);
    std::fill(padded + count, padded + kMaxLocated, 0);
    keys = padded;
  }
  if (input == Input::integers) {
    locate_all_pairs<L, Input::integers>(view, keys, count, to);
  } else {
    locate_all_pairs<L, Input::hashes>(view, keys, count, to);
  }
}

template <class L>
std::uint64_t complete(const std::uint32_t* pairs, std::size_t count, Resident* newcomers,
                       std::uint64_t* buckets) noexcept {
  const D32 d32;
  const D8 d8;
  static constexpr BothHalves kFingerprints(0, 1);
  static constexpr BothHalves kPhases(2, 3);
  const auto fingerprints = hn::LoadDup128(d8, kFingerprints.bytes);
  const auto phases = hn::LoadDup128(d8, kPhases.bytes);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d32)) {
    const auto pair = hn::And(hn::LoadU(d32, pairs + i), hn::Set(d32, kPairMask));
    const auto classes = hn::Sub(pair, hn::Set(d32, 1));  // in the low byte
    hn::StoreU(hn::Or(pair, hn::ShiftLeft<24>(classes)), d32, newcomers + i);
    const auto bytes = hn::BitCast(d8, pair);
    BlockLocator<L>::store_buckets(hn::BitCast(D16(), hn::TableLookupBytes(bytes, fingerprints)),
                                   hn::BitCast(D16(), hn::TableLookupBytes(bytes, phases)),
                                   buckets + i);
  }
  const D64 d;
  auto all = hn::Zero(d);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    all = hn::Or(all, hn::LoadU(d, buckets + i));
  }
  std::uint64_t slots[hn::MaxLanes(D64())];
  hn::StoreU(all, d, slots);
  for (std::size_t lane = 1; lane < hn::Lanes(d); ++lane) slots[0] |= slots[lane];
  for (; i < count; ++i) slots[0] |= buckets[i];
  return slots[0];
}

// Chooses a free slot for each newcomer of these blocks, one block in each lane; calls take(i,
// choices, step, late) for each block, where choices[step * n] is the choice of its newcomer n, as
// a bit, or 0.
template <class Take>
HWY_INLINE void choose_slots(Settling* blocks, std::size_t count, const Take& take) {
  const hn::CappedTag<std::uint64_t, kSettleBlocks> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t first = 0; first < count; first += lanes) {
    const std::size_t group = std::min(lanes, count - first);
    if (group == 1) {
      choose_slots_of_one(blocks[first], first, take);
      continue;
    }
    std::size_t most = 0;
    for (std::size_t i = 0; i < group; ++i) most = std::max(most, blocks[first + i].count);
    // Copied by scalars: a gather takes longer.
    alignas(64) std::uint64_t buckets[kMaxSettled * kSettleBlocks];
    alignas(64) std::uint64_t frees[kSettleBlocks] = {};
    for (std::size_t i = 0; i < lanes; ++i) {
      std::size_t n = 0;
      if (i < group) {
        const Settling& settling = blocks[first + i];
        frees[i] = settling.block.free;
        for (; n < settling.count; ++n) buckets[n * lanes + i] = settling.bucket[n];
      }
      for (; n < most; ++n) buckets[n * lanes + i] = 0;
    }
    // First: the slots of each bucket that no later newcomer wants.
    alignas(64) std::uint64_t choices[kMaxSettled * kSettleBlocks];
    const auto zero = hn::Zero(d);
    auto wanted = zero;
    for (std::size_t n = most; n-- > 0;) {
      const auto bucket = hn::Load(d, buckets + n * lanes);
      hn::Store(hn::AndNot(wanted, bucket), d, choices + n * lanes);
      wanted = hn::Or(wanted, bucket);
    }
    const auto lowest_bit = [&](auto bits) { return hn::And(bits, hn::Sub(zero, bits)); };
    auto free = hn::Load(d, frees);
    alignas(64) std::uint64_t lates[kMaxSettled / 64][kSettleBlocks] = {};
    for (std::size_t half = 0; half * 64 < most; ++half) {
      auto late = zero;
      auto bit = hn::Set(d, std::uint64_t{1});
      for (std::size_t n = half * 64; n < std::min(most, half * 64 + 64); ++n) {
        const auto open = hn::And(hn::Load(d, buckets + n * lanes), free);
        const auto unwanted = hn::And(hn::Load(d, choices + n * lanes), free);
        const auto choice =
            hn::IfThenElse(hn::Eq(unwanted, zero), lowest_bit(open), lowest_bit(unwanted));
        free = hn::Xor(free, choice);
        hn::Store(choice, d, choices + n * lanes);
        late = hn::Or(late, hn::IfThenElseZero(hn::Eq(open, zero), bit));
        bit = hn::Add(bit, bit);
      }
      hn::Store(late, d, lates[half]);
    }
    hn::Store(free, d, frees);
    for (std::size_t i = 0; i < group; ++i) {
      Settling& settling = blocks[first + i];
      settling.block.free = frees[i];
      Late late;
      for (std::size_t half = 0; half < kMaxSettled / 64; ++half) {
        const std::size_t end = settling.count - std::min(settling.count, half * 64);
        late.bits[half] =
            lates[half][i] & (end < 64 ? (std::uint64_t{1} << end) - 1 : ~std::uint64_t{0});
      }
      take(first + i, choices + i, lanes, late);
    }
  }
}

template <class L>
HWY_INLINE void find_pairs(const Block& block, std::uint32_t* pairs) {
  using Lanes = ResidentLanes<L>;
  const Lanes lanes(block);
  for (std::size_t s = 0; s < L::kSlots; s += hn::Lanes(typename Lanes::D())) {
    lanes.store_pairs(s, pairs + s);
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

// Also overwrites the header: for 8 and 16 bits no detour of the bytes, since a vector that is
// loaded soon after its parts were stored waits for them.
template <class L>
HWY_INLINE void write_fingerprints(const Resident* residents, Block& block) {
  using T = hwy::UnsignedFromSize<L::kBits == 16 ? 2 : 1>;
  const BlockTag<std::uint32_t> d;
  const hn::Rebind<T, decltype(d)> d_to;
  const std::size_t step = hn::Lanes(d);
  const auto write = [&](T* to) {
    for (std::size_t s = 0; s < kBlockBytes / sizeof(T) && s < L::kSlots; s += step) {
      hn::StoreU(demoted<T, 0>(d, residents + s), d_to, to + s);
    }
  };
  if constexpr (L::kBits != 12) {
    write(reinterpret_cast<T*>(block.bytes.data()));
  } else {
    alignas(64) T to[128] = {};
    write(to);
    for (std::size_t s = 0; s < L::kNibbleRun; s += step) {
      const auto low = demoted<T, 8>(d, residents + s);
      const auto high = demoted<T, 8>(d, residents + L::kNibbleRun + s);
      hn::StoreU(hn::Or(low, hn::ShiftLeft<4>(high)), d_to, to + L::kNibbleByte + s);
    }
    std::memcpy(block.bytes.data(), to, kBlockBytes);
  }
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
  // The slots that residents of the bucket could move to: the step that meets the bucket.
  std::uint64_t next = 0;
  for (std::uint64_t slots = bucket & ~block.free; slots != 0; slots &= slots - 1) {
    next |= block.bucket[first_slot(slots)];
  }
  std::uint64_t level[L::kSlots + 1];
  level[0] = goals;
  std::uint32_t n = 0;
  const auto swap_with = [&](std::uint32_t slot) {
    std::swap(newcomer, block.resident[slot]);
    std::swap(bucket, block.bucket[slot]);
  };
  if ((goals & bucket) == 0) {
    while ((level[n] & next) == 0) {
      level[n + 1] = level[n] | (sharing<L>(block.bucket, level[n]) & ~block.free);
      if (level[n + 1] == level[n]) {
        reach = level[n];
        return false;
      }
      ++n;
    }
    std::uint64_t slots = bucket & ~block.free;
    while ((block.bucket[first_slot(slots)] & level[n]) == 0) slots &= slots - 1;
    swap_with(first_slot(slots));
  }
  // Now the newcomer takes a slot of the highest level, whose resident has one of the level below,
  // and so on.
  for (;; --n) {
    while (n != 0 && (level[n - 1] & bucket) != 0) --n;
    const std::uint32_t slot = first_slot(level[n] & bucket);
    swap_with(slot);
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

// Stores a newcomer for which no slot is free, or notes that there is no way.
template <class L>
HWY_INLINE void settle_late(Settling& settling, std::size_t number) {
  UnpackedBlock& block = settling.block;
  const std::uint64_t bucket = settling.bucket[number];
  // What has led to no free slot leads to none later, when fewer are free.
  if ((bucket & block.reach) == 0 ||
      !settle_by_search<L>(block, settling.newcomer[number], bucket, block.free, block.reach)) {
    settling.unplaced[settling.unplaced_count++] = static_cast<std::uint8_t>(number);
  }
}

template <class L>
void settle(Settling* blocks, std::size_t count) noexcept {
  choose_slots(
      blocks, count,
      [&](std::size_t i, const std::uint64_t* choices, std::size_t step, const Late& late) {
        Settling& settling = blocks[i];
        UnpackedBlock& block = settling.block;
        for (std::size_t n = 0; n < settling.count; ++n) {
          // 64, where nobody looks, if there is no choice.
          const std::uint32_t slot = first_slot(choices[n * step]);
          block.bucket[slot] = settling.bucket[n];
          block.resident[slot] = settling.newcomer[n];
        }
        settling.unplaced_count = 0;
        for (std::size_t half = 0; half < kMaxSettled / 64; ++half) {
          for (std::uint64_t bits = late.bits[half]; bits != 0; bits &= bits - 1) {
            settle_late<L>(settling, half * 64 + first_slot(bits));
          }
        }
      });
}

template <class L>
void settle_few(Settling& settling) noexcept {
  UnpackedBlock& block = settling.block;
  settling.unplaced_count = 0;
  for (std::size_t n = 0; n < settling.count; ++n) {
    const std::uint64_t open = settling.bucket[n] & block.free;
    if (open == 0) {
      settle_late<L>(settling, n);
      continue;
    }
    const std::uint32_t slot = first_slot(open);
    block.bucket[slot] = settling.bucket[n];
    block.resident[slot] = settling.newcomer[n];
    block.free ^= std::uint64_t{1} << slot;
  }
}

template <class L>
void clear(UnpackedBlock& unpacked) noexcept {
  // By hand, since a compiler without vectors makes one slow instruction of it.
  const hn::CappedTag<std::uint32_t, 8> d;
  static_assert(UnpackedBlock::kSlots % 8 == 0);
  for (std::size_t s = 0; s < UnpackedBlock::kSlots; s += hn::Lanes(d)) {
    hn::Store(hn::Zero(d), d, unpacked.resident + s);
  }
  unpacked.free = unpacked.reach = L::kAllSlots;
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
void pack(const UnpackedBlock& unpacked, std::uint32_t mark, Block& block) noexcept {
  write_fingerprints<L>(unpacked.resident, block);
  const std::uint32_t header = Block::to_header(mark);
  std::memcpy(block.bytes.data() + kMarkByte, &header, sizeof(header));
}

}  // namespace HWY_NAMESPACE
}  // namespace nestline
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
