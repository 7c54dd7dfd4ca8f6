// Per-target: lookups in a maplet, and changes of the values of all pairs.
//
// Batches pass in groups of 64 keys through the stages of lookup-inl.h, but for the last ones:
//
//   group i + 2   locate
//   group i       probe the homes
//   group i - 1   which keys may be away, although there are copies at home too; their alternates
//                 are located and fetched
//   group i - 2   the values, of keys with a copy at home or an alternate, in the order of the keys
#if defined(NESTLINE_LIB_ENGINE_KERNELS_MAPLET_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_KERNELS_MAPLET_INL_H_
#undef NESTLINE_LIB_ENGINE_KERNELS_MAPLET_INL_H_
#else
#define NESTLINE_LIB_ENGINE_KERNELS_MAPLET_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "lib/engine/kernels/home-inl.h"
#include "lib/engine/kernels/lookup-inl.h"
#include "lib/engine/kernels/match-inl.h"
#include "lib/engine/place/locking.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE { namespace maplet {

// Calls take(value) for each copy of the key in this block.
template <class L, class Take>
HWY_INLINE void take_values(const Block& shared, const Place& place, const Take& take) {
  BlockCopy copy;
  const Block& block = readable_block(shared, copy);
  std::uint64_t slots = match_among<L>(block, place.fingerprint, place.bucket);
  for (; HWY_UNLIKELY(slots != 0); slots &= slots - 1) take(L::value(block, first_slot(slots)));
}

HWY_INLINE bool may_be_away(const Place& home, std::uint32_t header) {
  return eviction_rank(home.fingerprint) < (header & kHeaderOverflowMark);
}

// R1 and R3 of locking.h: calls take(value) for each of the key's values; false if its blocks were
// busy, and what was taken means nothing.
template <class L, class Take>
HWY_INLINE bool take_all_values(const BlocksView& view, const Place& place, std::uint32_t header,
                                const Take& take) {
  const Block& home = view.blocks[place.block];
  take_values<L>(home, place, take);
  if (HWY_UNLIKELY(may_be_away(place, header))) {
    const Place other = moved(view.geometry, place);
    if (other.block != place.block) {
      NESTLINE_TEST_POINT(NESTLINE_POINT_HOME_READ);
      const Block& away = view.blocks[other.block];
      const std::uint32_t header_away = away.header();
      take_values<L>(away, other, take);
      if (HWY_UNLIKELY(changes(away, header_away) != 0)) return false;
    }
  }
  NESTLINE_TEST_POINT(NESTLINE_POINT_BEFORE_CHECK);
  return HWY_LIKELY(changes(home, header) == 0);
}

// The rest of a lookup, apart from it: the first look needs few registers and no stack.
template <class L>
HWY_NOINLINE std::size_t find_values(const BlocksView& view, const Place& home,
                                     std::uint32_t header, std::uint64_t* values) noexcept {
  std::uint64_t* end = values;
  const auto take = [&](std::uint64_t value) { *end++ = value; };
  return take_all_values<L>(view, home, header, take) ? static_cast<std::size_t>(end - values)
                                                      : MapletLookups::kBusy;
}

// Whether one look at home was enough: no copy there, none away, and no writer.
template <class L>
HWY_INLINE bool is_surely_absent(const BlocksView& view, const Place& home, std::uint32_t header) {
  const Block& block = view.blocks[home.block];
  return match_among<L>(block, home.fingerprint, home.bucket) == 0 && !may_be_away(home, header) &&
         changes(block, header) == 0;
}

template <class L>
std::size_t find(const BlocksView& view, std::uint64_t hash, std::uint64_t* values) noexcept {
  const Place home = home_of_key<L>(view.geometry, hash);
  const std::uint32_t header = view.blocks[home.block].header();
  if (HWY_LIKELY(is_surely_absent<L>(view, home, header))) return 0;
  return find_values<L>(view, home, header, values);
}

template <class L>
HWY_NOINLINE MapletLookups::Found find_some_set(const BlocksView& view, const Place& home,
                                                std::uint32_t header, ValueSets sets) noexcept {
  std::uint64_t set = 0;
  const bool done =
      take_all_values<L>(view, home, header, [&](std::uint64_t value) { set |= sets.of(value); });
  return {set, done};
}

template <class L>
MapletLookups::Found find_set(const BlocksView& view, std::uint64_t hash, ValueSets sets) noexcept {
  const Place home = home_of_key<L>(view.geometry, hash);
  const std::uint32_t header = view.blocks[home.block].header();
  if (HWY_LIKELY(is_surely_absent<L>(view, home, header))) return {0, true};
  return find_some_set<L>(view, home, header, sets);
}

// The values are read after the probe, so a home is checked after them once more.
template <class L, class Sink>
class CandidateBatch {
 public:
  HWY_INLINE CandidateBatch(const BlocksView& view, const Inputs& inputs, Sink& sink)
      : view_(view), inputs_(inputs), sink_(sink) {}

  HWY_INLINE void run() {
    const std::size_t groups = (inputs_.count + kGroup - 1) / kGroup;
    for (std::size_t g = 0; g < kAhead; ++g) {
      locate_group(g);
      prefetch_homes(ring_[g], size_of(g));
    }
    for (std::size_t g = 0; g < groups + 2; ++g) {
      if (g >= 2) take_values_of(g - 2);
      locate_group(g + kAhead);
      if (g < groups) probe(g);
      if (g >= 1 && g <= groups) look_away(ring_[(g - 1) % kRing], size_of(g - 1));
    }
  }

 private:
  static constexpr std::size_t kAhead = 2;
  static constexpr std::size_t kRing = 4;

  struct Stage : ProbeGroup {
    std::uint64_t wanted;    // keys with copies at home or an alternate
    std::uint64_t away;      // keys with an alternate to look at
    std::uint64_t unsteady;  // keys whose homes were locked or changed
    // Of the keys that are away, in order.
    alignas(64) std::uint64_t home[kGroup];
    alignas(64) std::uint64_t alternate[kGroup];
    alignas(64) std::uint32_t away_pair[kGroup];
  };

  HWY_INLINE std::size_t size_of(std::size_t g) const {
    return g * kGroup < inputs_.count ? std::min(kGroup, inputs_.count - g * kGroup) : 0;
  }
  HWY_INLINE void locate_group(std::size_t g) {
    const std::size_t size = size_of(g);
    if (size == 0) return;
    const std::uint64_t* const keys = inputs_.keys + g * kGroup;
    if constexpr (L::kForm == Form::maplet) {
      locate_each<L>(view_, keys, size, inputs_.kind, ring_[g % kRing]);
    } else {
      locate<L>(view_, keys, size, inputs_.kind, ring_[g % kRing]);
    }
  }
  HWY_INLINE void probe(std::size_t g) {
    Stage& group = ring_[g % kRing];
    const Group& ahead = ring_[(g + kAhead) % kRing];
    const std::size_t ahead_size = size_of(g + kAhead);
    if (ahead_size != kGroup) {
      prefetch_homes(ahead, ahead_size);
      probe_homes<L, true, Reach::none>(view_, group, size_of(g), nullptr);
    } else if (reach_ == Reach::none) {
      probe_homes<L, true, Reach::none>(view_, group, kGroup, nullptr);
    } else {
      probe_homes<L, true, Reach::near>(view_, group, kGroup, ahead.address);
    }
  }
  HWY_INLINE void look_away(Stage& group, std::size_t size) {
    const std::uint64_t all = ~std::uint64_t{0} >> (kGroup - size);
    group.unsteady = unsteady_homes(group, size);
    group.away = covered<true>(group) & all;
    group.wanted = (found_homes<L>(group) & all) | group.away;
    std::size_t n = 0;
    for (std::uint64_t rest = group.away; rest != 0; rest &= rest - 1, ++n) {
      const std::uint32_t i = first_slot(rest);
      group.home[n] = group.address[i];
      group.away_pair[n] = group.pair[i];
    }
    if constexpr (L::kForm == Form::maplet) {
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t block = (group.home[i] - address_of(view_, 0)) / kBlockBytes;
        group.alternate[i] =
            address_of(view_, alternate_of(view_.geometry, {block, 0, group.away_pair[i], 0}));
      }
    } else {
      locate_alternates(view_, group.home, group.away_pair, n, group.alternate);
    }
    for (std::size_t i = 0; i < n; ++i) prefetch_at(group.alternate[i]);
  }
  HWY_INLINE void take_values_of(std::size_t g) {
    const Stage& group = ring_[g % kRing];
    sink_.begin(g * kGroup, size_of(g));
    std::uint64_t undecided = group.unsteady;
    const std::uint64_t* alternate = group.alternate;
    for (std::uint64_t rest = group.wanted; rest != 0; rest &= rest - 1) {
      const std::uint32_t i = first_slot(rest);
      const Block& home = block_at(group.address[i]);
      auto key = sink_.begin_key();
      take_slots(home, group.matches[i] & group.bucket[i], key);
      std::uint32_t changed = 0;
      if ((group.away >> i & 1) != 0) {
        NESTLINE_TEST_POINT(NESTLINE_POINT_HOME_READ);
        const Block& away = block_at(*alternate++);
        const std::uint32_t header = away.header();
        if (&away != &home) {
          const std::uint32_t fingerprint = fingerprint_of_pair<L>(group.pair[i]);
          take_slots(away, match_among<L>(away, fingerprint, group.bucket[i]), key);
        }
        changed = changes(away, header);
      }
      sink_.end_key(i, key);
      NESTLINE_TEST_POINT(NESTLINE_POINT_BEFORE_CHECK);
      changed |= changes(home, group.header[i]);
      undecided |= std::uint64_t{changed != 0} << i;
    }
    sink_.end(undecided);
  }
  static HWY_INLINE void take_slots(const Block& shared, std::uint64_t slots,
                                    typename Sink::Key& key) {
    if (slots == 0) return;
    BlockCopy copy;
    const Block& block = readable_block(shared, copy);
    for (; slots != 0; slots &= slots - 1) key.take(L::value(block, first_slot(slots)));
  }

  const BlocksView& view_;
  const Inputs& inputs_;
  Sink& sink_;
  const Reach reach_ = reach_of(view_.geometry.blocks());
  Stage ring_[kRing];
};

struct SetSink {
  struct Key {
    ValueSets sets;
    std::uint64_t set = 0;
    HWY_INLINE void take(std::uint64_t value) { set |= sets.of(value); }
  };
  const ValueSets sets;
  std::uint64_t* const found;
  std::uint64_t* const undecided;
  std::uint64_t any_undecided = 0;
  std::uint64_t* group = nullptr;
  HWY_INLINE void begin(std::size_t first, std::size_t keys) {
    group = found + first;
    std::fill_n(group, keys, 0);
  }
  [[nodiscard]] HWY_INLINE Key begin_key() const { return {sets}; }
  HWY_INLINE void end_key(std::uint32_t i, const Key& key) { group[i] = key.set; }
  HWY_INLINE void end(std::uint64_t bits) {
    undecided[static_cast<std::size_t>(group - found) / kGroup] = bits;
    any_undecided |= bits;
  }
};

struct ListSink {
  struct Key {
    std::uint64_t* first;
    std::uint64_t* last;
    HWY_INLINE void take(std::uint64_t value) { *last++ = value; }
  };
  explicit ListSink(CandidateSink& to) : sink(to) {}
  CandidateSink& sink;
  std::size_t first = 0;
  std::size_t keys = 0;
  std::uint64_t* last = nullptr;
  std::uint8_t counts[kGroup];
  std::uint64_t values[kGroup * MapletLayout::kMaxCopies];
  HWY_INLINE void begin(std::size_t of, std::size_t size) {
    first = of;
    keys = size;
    last = values;
    std::fill_n(counts, keys, std::uint8_t{0});
  }
  [[nodiscard]] HWY_INLINE Key begin_key() const { return {last, last}; }
  HWY_INLINE void end_key(std::uint32_t i, const Key& key) {
    counts[i] = static_cast<std::uint8_t>(key.last - key.first);
    last = key.last;
  }
  HWY_INLINE void end(std::uint64_t undecided) {
    sink.take(first, keys, undecided == 0 ? counts : nullptr, {values, last});
  }
};

template <class L>
bool find_sets(const BlocksView& view, const Inputs& inputs, const ValueSets& sets,
               std::uint64_t* found, std::uint64_t* undecided) noexcept {
  SetSink sink{sets, found, undecided};
  CandidateBatch<L, SetSink>(view, inputs, sink).run();
  return sink.any_undecided != 0;
}

template <class L>
void find_lists(const BlocksView& view, const Inputs& inputs, CandidateSink& sink) {
  ListSink lists(sink);
  CandidateBatch<L, ListSink>(view, inputs, lists).run();
}

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
    const std::uint64_t number = value - change.first;
    const bool affected = fingerprint != 0 && number < change.to.size();
    const std::uint64_t to = affected ? change.to[number] : value;
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
        const std::uint64_t number = v - change.first;
        const std::uint64_t to = number < change.to.size() ? change.to[number] : v;
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

template <class L, class Locks>
std::pair<std::uint64_t, std::uint64_t> change_values(const BlocksView& view,
                                                      const ValueChange& change) noexcept {
  const BlockChange<L> change_block(change);
  std::uint64_t all = 0;
  std::uint64_t erased = 0;
  for (std::uint64_t i = 0; i < view.geometry.blocks(); ++i) {
    BlockCopy copy;
    Block changed{};
    const ChangedSlots slots = change_block(readable_block(view.blocks[i], copy), changed);
    if (slots.all == 0) continue;
    typename Locks::BlockLock hold(view.blocks, i);
    store_slots(hold.change(i).bytes.data(), changed.bytes.data());
    all += static_cast<std::uint64_t>(std::popcount(slots.all));
    erased += static_cast<std::uint64_t>(std::popcount(slots.erased));
  }
  return {all, erased};
}

}  // namespace maplet
}  // namespace HWY_NAMESPACE
}}  // namespace nestline
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
