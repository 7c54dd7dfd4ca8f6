// Per-target: a maplet's pairs get other values, all blocks in one pass, without their keys. Values
// of at most 8 bits are looked up in vectors; others, and all on one lane, slot after slot.
#if defined(NESTLINE_LIB_ENGINE_KERNELS_VALUES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_KERNELS_VALUES_INL_H_
#undef NESTLINE_LIB_ENGINE_KERNELS_VALUES_INL_H_
#else
#define NESTLINE_LIB_ENGINE_KERNELS_VALUES_INL_H_
#endif

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "lib/engine/kernels/match-inl.h"
#include "lib/engine/place/locking.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE { namespace maplet {

// Slots of a block whose values have changed, and those of them that are free now.
struct ChangedSlots {
  std::uint64_t all = 0;
  std::uint64_t erased = 0;
};

// A block with its values changed, but for its header, slot after slot.
template <class L>
HWY_INLINE ChangedSlots change_by_slots(const Block& block, const ValueChange& change,
                                        Block& changed) {
  ChangedSlots slots;
  const auto change_slot = [&](std::uint32_t s) {
    const std::uint32_t fingerprint = L::get(block, s);
    const std::uint64_t value = L::value(block, s);
    const std::uint64_t to = fingerprint != 0 ? change.of(value) : value;
    const bool gone = to == ValueChange::kErased;
    slots.all |= std::uint64_t{to != value} << s;
    slots.erased |= std::uint64_t{gone} << s;
    L::set(changed, s, gone ? 0 : fingerprint, gone ? 0 : to);
  };
  // Slots as constants.
  [&]<std::uint32_t... kSlot>(std::integer_sequence<std::uint32_t, kSlot...>) {
    (change_slot(kSlot), ...);
  }
  (std::make_integer_sequence<std::uint32_t, L::kSlots>());
  return slots;
}

#if NESTLINE_ONE_LANE

template <class L>
class BlockChange {
 public:
  explicit BlockChange(const ValueChange& change) : change_(change) {}
  ChangedSlots operator()(const Block& block, Block& changed) const {
    return change_by_slots<L>(block, change_, changed);
  }

 private:
  const ValueChange& change_;
};

#else  // vectors

// Values of at most 8 bits are looked up in vectors, 16 of them in one table.
template <class L>
class BlockChange {
 public:
  explicit BlockChange(const ValueChange& change) : change_(change) {
    if constexpr (kLooksUp) {
      for (std::uint64_t v = 0; v <= L::kValueMask; ++v) {
        const std::uint64_t to = change.of(v);
        const bool gone = to == ValueChange::kErased;
        to_[v] = static_cast<std::uint8_t>(gone ? 0 : to);
        gone_[v] = gone ? 0xff : 0;
        tables_ |= (to != v ? 1u : 0u) << v / 16;
      }
    }
  }
  HWY_INLINE ChangedSlots operator()(const Block& block, Block& changed) const {
    if constexpr (!kLooksUp) {
      return change_by_slots<L>(block, change_, changed);
    } else if constexpr (L::kForm == Form::halfwords) {
      return of_halfwords(block, changed);
    } else {
      return of_nibbles(block, changed);
    }
  }

 private:
  static constexpr bool kLooksUp = L::kValueBits <= 8;

  HWY_INLINE ChangedSlots of_halfwords(const Block& block, Block& changed) const {
    const BlockTag<std::uint16_t> d;
    const hn::Rebind<std::uint8_t, BlockTag<std::uint16_t> > d8;
    const hn::Repartition<std::uint8_t, BlockTag<std::uint16_t> > d_bytes;
    const auto* const from = reinterpret_cast<const std::uint16_t*>(block.bytes.data());
    auto* const to = reinterpret_cast<std::uint16_t*>(changed.bytes.data());
    constexpr bool kMore = L::kMoreBits == 4;
    alignas(64) std::uint8_t more[64];  // the high nibbles of values, in the order of the slots
    if constexpr (kMore) unpack_more(block, more);
    const auto fingerprint_bits = hn::Set(d, kFingerprintMask<L>);
    ChangedSlots slots;
    for (std::size_t i = 0; i < kBlockBytes / 2; i += hn::Lanes(d)) {
      const auto all = hn::Load(d, from + i);
      auto value = hn::ShiftRight<L::kBits>(all);
      if constexpr (kMore) {
        value =
            hn::Or(value, hn::ShiftLeft<16 - L::kBits>(hn::PromoteTo(d, hn::Load(d8, more + i))));
      }
      // 0xff in the high byte of each lane: it is looked up as 0.
      const auto index = hn::Or(hn::And(value, hn::Set(d, 15)), hn::Set(d, 0xff00));
      auto changed_to = value;
      auto gone = hn::Zero(d);
      for (std::uint32_t rest = tables_; rest != 0; rest &= rest - 1) {
        const std::uint32_t table = first_slot(rest);
        const auto look_up = [&](const std::uint8_t* bytes) HWY_ATTR {
          return hn::BitCast(d, hn::TableLookupBytesOr0(hn::LoadDup128(d_bytes, bytes + 16 * table),
                                                        hn::BitCast(d_bytes, index)));
        };
        const auto here =
            hn::Eq(hn::ShiftRight<4>(value), hn::Set(d, static_cast<std::uint16_t>(table)));
        changed_to = hn::IfThenElse(here, look_up(to_), changed_to);
        gone = hn::Or(gone, hn::IfThenElseZero(here, look_up(gone_)));
      }
      const auto fingerprint = hn::And(all, fingerprint_bits);
      const std::uint64_t taken = bits_of(d, hn::Ne(fingerprint, hn::Zero(d))) & L::kAllSlots >> i;
      const std::uint64_t erased = bits_of(d, hn::Ne(gone, hn::Zero(d))) & taken;
      slots.erased |= erased << i;
      slots.all |= ((bits_of(d, hn::Ne(changed_to, value)) & taken) | erased) << i;
      const auto result = hn::Or(fingerprint, hn::ShiftLeft<L::kBits>(changed_to));
      hn::Store(
          hn::IfThenElse(mask_of(d, taken), hn::IfThenZeroElse(mask_of(d, erased), result), all), d,
          to + i);
      if constexpr (kMore) {
        const auto high = hn::IfThenElseZero(mask_of(d, taken & ~erased),
                                             hn::ShiftRight<16 - L::kBits>(changed_to));
        hn::Store(hn::TruncateTo(d8, high), d8, more + i);
      }
    }
    if constexpr (kMore) pack_more(more, changed);
    return slots;
  }
  // The nibbles behind the halfwords, of which two are in a byte, and bytes without meaning.
  static HWY_INLINE void unpack_more(const Block& block, std::uint8_t* more) {
    const hn::CappedTag<std::uint8_t, 16> d;
    const hn::Repartition<std::uint16_t, decltype(d)> d16;
    const auto half = hn::Set(d, std::uint8_t{15});
    const auto both = hn::Load(d, block.bytes.data() + L::kMoreByte);
    const auto even = hn::And(both, half);
    const auto odd = hn::And(hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(d16, both))), half);
    hn::Store(hn::InterleaveLower(d, even, odd), d, more);
    hn::Store(hn::InterleaveUpper(d, even, odd), d, more + 16);
  }
  static HWY_INLINE void pack_more(const std::uint8_t* more, Block& block) {
    const hn::CappedTag<std::uint16_t, 8> d;
    const hn::Rebind<std::uint8_t, decltype(d)> d8;
    for (std::size_t i = 0; i < L::kSlots; i += 16) {
      const auto two = hn::Load(d, reinterpret_cast<const std::uint16_t*>(more + i));
      const auto both = hn::And(hn::Or(two, hn::ShiftRight<4>(two)), hn::Set(d, 0xff));
      hn::StoreU(hn::TruncateTo(d8, both), d8, block.bytes.data() + L::kMoreByte + i / 2);
    }
  }

  // Bytes with nibbles.
  HWY_INLINE ChangedSlots of_nibbles(const Block& block, Block& changed) const {
    const hn::CappedTag<std::uint8_t, 32> d;
    const hn::Repartition<std::uint16_t, decltype(d)> d16;
    constexpr std::uint64_t kRun = (std::uint64_t{1} << L::kNibbleRun) - 1;
    const std::uint64_t taken = ~match_first_bytes<L>(block, 0) & L::kAllSlots;
    const std::uint64_t in_low = (taken & kRun) << L::kNibbleByte;
    const std::uint64_t in_high = taken >> L::kNibbleRun << L::kNibbleByte;
    const auto half = hn::Set(d, std::uint8_t{15});
    std::uint64_t all_low = 0;
    std::uint64_t all_high = 0;
    std::uint64_t erased_low = 0;
    std::uint64_t erased_high = 0;
    for (std::size_t i = kBlockBytes / 2; i < kBlockBytes; i += hn::Lanes(d)) {
      const auto both = hn::Load(d, block.bytes.data() + i);
      const auto low = hn::And(both, half);
      const auto high = hn::And(hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(d16, both))), half);
      const auto to = hn::LoadDup128(d, to_);
      const auto gone = hn::LoadDup128(d, gone_);
      const auto to_low =
          hn::IfThenElseZero(mask_of(d, in_low >> i), hn::TableLookupBytes(to, low));
      const auto to_high =
          hn::IfThenElseZero(mask_of(d, in_high >> i), hn::TableLookupBytes(to, high));
      const auto bits = [&](auto mask) HWY_ATTR { return bits_of(d, mask) << i; };
      all_low |= bits(hn::Ne(to_low, low));
      all_high |= bits(hn::Ne(to_high, high));
      erased_low |= bits(hn::Ne(hn::TableLookupBytes(gone, low), hn::Zero(d)));
      erased_high |= bits(hn::Ne(hn::TableLookupBytes(gone, high), hn::Zero(d)));
      const auto packed = hn::BitCast(d, hn::ShiftLeft<4>(hn::BitCast(d16, to_high)));
      hn::Store(hn::Or(to_low, packed), d, changed.bytes.data() + i);
    }
    const auto slots_of = [&](std::uint64_t low, std::uint64_t high) {
      return (low & in_low) >> L::kNibbleByte | (high & in_high) >> L::kNibbleByte << L::kNibbleRun;
    };
    ChangedSlots slots;
    slots.erased = slots_of(erased_low, erased_high);
    slots.all = slots_of(all_low, all_high) | slots.erased;
    // The fingerprints, whose last ones are in the vectors of the nibbles too.
    const hn::CappedTag<std::uint8_t, 8> d8;
    for (std::size_t i = 0; i < L::kNibbleByte; i += hn::Lanes(d8)) {
      const auto kept =
          hn::IfThenZeroElse(mask_of(d8, slots.erased >> i), hn::Load(d8, block.bytes.data() + i));
      hn::Store(kept, d8, changed.bytes.data() + i);
    }
    return slots;
  }

  const ValueChange& change_;
  std::uint32_t tables_ = 0;  // those with a value that changes
  alignas(16) std::uint8_t to_[kLooksUp ? L::kValueMask + 1 : 1];
  alignas(16) std::uint8_t gone_[kLooksUp ? L::kValueMask + 1 : 1];
};

#endif  // NESTLINE_ONE_LANE

template <class L>
HWY_NOINLINE std::pair<std::uint64_t, std::uint64_t> change_all_values(
    const BlocksView& view, AnyMode mode, const ValueChange& change) noexcept {
  const BlockChange<L> change_block(change);
  std::uint64_t all = 0;
  std::uint64_t erased = 0;
  for (std::uint64_t i = 0; i < view.geometry.blocks(); ++i) {
    BlockCopy copy;
    Block changed{};
    const ChangedSlots slots = change_block(readable_block(view.blocks[i], copy), changed);
    if (slots.all == 0) continue;
    AnyLocks::BlockLock hold(mode, view.blocks, i);
    store_slots(hold.change(i).bytes.data(), changed.bytes.data());
    all += static_cast<std::uint64_t>(std::popcount(slots.all));
    erased += static_cast<std::uint64_t>(std::popcount(slots.erased));
  }
  return {all, erased};
}
template <class L, class Locks>
std::pair<std::uint64_t, std::uint64_t> change_values(const BlocksView& view,
                                                      const ValueChange& change) noexcept {
  return change_all_values<L>(view, {Locks::sharing()}, change);
}

}  // namespace maplet
}  // namespace HWY_NAMESPACE
}}  // namespace nestline
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
