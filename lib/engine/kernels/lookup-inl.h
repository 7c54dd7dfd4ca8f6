// Per-target: looking up many keys at a time, or one. Batches pass in groups of 64 keys through
// stages, so that no stage waits for memory or for the stores of the one before it:
//
//   group i + 2   locate: hash, block, bucket bits of all its keys, in vectors
//   group i       probe: the home block; beside it the prefetch of one key of group i + 2
//   group i - 1   resolve: results become bits. The few keys that may be away, by their homes'
//                 marks, go on a list.
//   the list      when it is full, its alternates are located, in vectors, and prefetched; then
//                 comes the second probe of the list before it. Lists of many groups make long
//                 loops, whose ends are mispredicted seldom.
//
// Beside writers lookups follow R1 to R3 of locking.h. Keys that need R4 are left undecided in
// batches, and to the caller's second look otherwise.
#if defined(NESTLINE_LIB_ENGINE_KERNELS_LOOKUP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_KERNELS_LOOKUP_INL_H_
#undef NESTLINE_LIB_ENGINE_KERNELS_LOOKUP_INL_H_
#else
#define NESTLINE_LIB_ENGINE_KERNELS_LOOKUP_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lib/engine/kernels/home-inl.h"
#include "lib/engine/kernels/locate-inl.h"
#include "lib/engine/kernels/match-inl.h"
#include "lib/engine/kernels/targets.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Beside writers home is checked once more after the alternate: what only that needs comes last.
struct ProbeGroup : Group {
  alignas(64) std::uint64_t matches[kGroup];     // slots, in the bucket or not, whatever the planes
  alignas(64) std::uint64_t planes[2 * kGroup];  // of home: from where they begin, 8 bytes for each
  alignas(64) std::uint8_t mark[kGroup];         // not beside writers
  alignas(64) std::uint32_t header[kGroup];      // of home, before it was read
  std::uint32_t drift;  // what differed between the two loads of a header, for all keys
};

// Keys that may be away.
struct WaitingList {
  static constexpr std::size_t kMany = 32;
  static constexpr std::size_t kMax = kMany + kGroup;
  std::size_t count = 0;
  std::size_t key[kMax];                 // number in the batch
  alignas(64) std::uint64_t home[kMax];  // addresses, as in Group
  alignas(64) std::uint64_t alternate[kMax];
  std::uint64_t bucket[kMax];
  alignas(64) std::uint32_t pair[kMax];  // as in Group
  std::uint32_t header[kMax];
  [[nodiscard]] std::uint32_t fingerprint(std::size_t n) const { return pair[n] & 0xffff; }
};

// Appends those keys of a group whose bits are set. `first`: the number of its first one.
template <bool kBeside>
HWY_INLINE void append(WaitingList& list, const ProbeGroup& group, std::size_t first,
                       std::uint64_t waiting) {
  std::size_t n = list.count;
  for (; waiting != 0; waiting &= waiting - 1, ++n) {
    const std::uint32_t i = first_slot(waiting);
    list.key[n] = first + i;
    list.home[n] = group.address[i];
    list.bucket[n] = group.bucket[i];
    list.pair[n] = group.pair[i];
    if constexpr (kBeside) list.header[n] = group.header[i];
  }
  list.count = n;
}

// Whether one of a group's homes was locked, or has changed meanwhile.
HWY_INLINE bool any_unsteady(const ProbeGroup& group) {
  const hn::CappedTag<std::uint32_t, kGroup> d;
  auto all = hn::Zero(d);
  for (std::size_t i = 0; i < kGroup; i += hn::Lanes(d))
    all = hn::Or(all, hn::Load(d, group.header + i));
  return group.drift != 0 || !hn::AllFalse(d, hn::TestBit(all, hn::Set(d, kHeaderLock)));
}

#if !NESTLINE_ONE_LANE
// Of keys i, i + 1, ..., the slots whose bits in the planes are the fingerprint's.
template <class L, class D>
HWY_INLINE hn::Vec<D> planes_match(D d, const ProbeGroup& group, std::size_t i) {
  const auto pair = hn::PromoteTo(d, hn::Load(hn::Rebind<std::uint32_t, D>(), group.pair + i));
  const auto same = [&](hn::Vec<D> plane, hn::Vec<D> bit_at_top) HWY_ATTR {
    const hn::RebindToSigned<D> signed_d;
    const auto is_set = hn::BroadcastSignBit(hn::BitCast(signed_d, bit_at_top));
    return hn::Not(hn::Xor(plane, hn::BitCast(d, is_set)));
  };
  const auto first = hn::Load(d, group.planes + L::kPlanes * i);
  if constexpr (L::kPlanes == 1) return same(first, hn::ShiftLeft<63 - 8>(pair));
  constexpr int kBits = 8 * L::kPlaneBytes;
  const auto second = hn::Load(d, group.planes + L::kPlanes * i + hn::Lanes(d));
  const auto low = hn::ConcatEven(d, second, first);
  const auto high = hn::ConcatOdd(d, second, first);
  return hn::And(same(low, hn::ShiftLeft<63 - 8>(pair)),
                 same(hn::Or(hn::ShiftRight<kBits>(low), hn::ShiftLeft<64 - kBits>(high)),
                      hn::ShiftLeft<63 - 9>(pair)));
}
#endif

// Bit i: a slot of key i's bucket matches, or several. Planes are compared here, for many keys at
// once.
template <class L, bool kSeveral = false>
HWY_INLINE std::uint64_t found_homes(const ProbeGroup& group) {
  std::uint64_t others = 0;
#if NESTLINE_ONE_LANE
  for (std::size_t i = 0; i < kGroup; ++i) {
    std::uint64_t found = group.matches[i] & group.bucket[i];
    if constexpr (kSeveral) found &= found - 1;
    others |= std::uint64_t{found == 0} << i;
  }
#else
  const BlockTag<std::uint64_t> d;
  for (std::size_t i = 0; i < kGroup; i += hn::Lanes(d)) {
    auto found = hn::And(hn::Load(d, group.matches + i), hn::Load(d, group.bucket + i));
    if constexpr (L::kPlanes > 0) found = hn::And(found, planes_match<L>(d, group, i));
    if constexpr (kSeveral) found = hn::And(found, hn::Sub(found, hn::Set(d, 1)));
    others |= bits_of(d, hn::Eq(found, hn::Zero(d))) << i;
  }
#endif
  return ~others;
}

// Bit i: the mark of key i's home covers the key: it is not less than the fingerprint's low byte.
template <bool kBeside>
HWY_INLINE std::uint64_t covered(const ProbeGroup& group) {
  std::uint64_t bits = 0;
#if NESTLINE_ONE_LANE
  for (std::size_t i = 0; i < kGroup; ++i) {
    const std::uint32_t mark = kBeside ? group.header[i] & kHeaderOverflowMark : group.mark[i];
    bits |= std::uint64_t{group.low_byte[i] <= mark} << i;
  }
#else
  if constexpr (kBeside) {
    // The header is stored anyway: taking its mark here saves a store a key.
    const BlockTag<std::uint32_t> d;
    const auto byte = hn::Set(d, 0xff);
    static_assert(kHeaderOverflowMark == 0xff);
    for (std::size_t i = 0; i < kGroup; i += hn::Lanes(d)) {
      const auto mark = hn::And(hn::Load(d, group.header + i), byte);
      const auto low = hn::And(hn::Load(d, group.pair + i), byte);
      bits |= bits_of(d, hn::Eq(hn::Max(mark, low), mark)) << i;
    }
  } else {
    const BlockTag<std::uint8_t> d;
    for (std::size_t i = 0; i < kGroup; i += hn::Lanes(d)) {
      const auto mark = hn::Load(d, group.mark + i);
      const auto low = hn::Load(d, group.low_byte + i);
      bits |= bits_of(d, hn::Eq(hn::Max(mark, low), mark)) << i;
    }
  }
#endif
  return bits;
}

// How blocks come that are probed two groups later: by themselves, or by a prefetch.
enum class Reach : std::uint8_t { none, near, far };

// A processor reaches ahead into its second-level cache by itself, faster than by prefetches. Far
// prefetches take 5 % more time at 32 MiB and 5, 15 and 20 % less at 64, 128 and 256 MiB on a Xeon
// of model 167 (AVX-512, 2 MiB of second-level cache): the border lies between.
HWY_INLINE Reach reach_of(std::uint64_t blocks) {
  constexpr std::uint64_t kFarBlocks = std::uint64_t{3} << 18;
  if (blocks <= blocks_in_near_cache()) return Reach::none;
  return blocks > kFarBlocks ? Reach::far : Reach::near;
}

// Probes the home of key i.
template <class L, bool kBeside>
HWY_INLINE void probe_home([[maybe_unused]] const BlocksView& view, ProbeGroup& group,
                           std::size_t i, [[maybe_unused]] std::uint32_t& drift) {
  const Block& block = block_at(group.address[i]);
  std::uint32_t header = 0;
  if constexpr (kBeside) header = block.header();
  std::uint64_t slots = match_repeated<L>(block, group, i);
  if constexpr (L::kExpires) slots = live_among<L>(view, block, slots);
  group.matches[i] = slots;
  if constexpr (L::kPlanes > 0) {
    BlockCopy copy;
    const std::uint8_t* const bytes = readable_block(block, copy).bytes.data();
    std::memcpy(group.planes + L::kPlanes * i, bytes + L::kPlaneByte, 8 * L::kPlanes);
  }
  if constexpr (!kBeside) {
    group.mark[i] = block.bytes[kOverflowMarkByte];
  } else {
    NESTLINE_TEST_POINT(NESTLINE_POINT_BEFORE_CHECK);
    group.header[i] = header;
    drift |= block.header_again() ^ header;
  }
}
// The homes of a whole group. `ahead`: as many blocks to fetch meanwhile.
template <class L, bool kBeside, Reach kReach>
HWY_INLINE void probe_homes(const BlocksView& view, ProbeGroup& group, const std::uint64_t* ahead) {
  std::uint32_t drift = 0;
  const auto probe_next = [&](std::size_t i) HWY_ATTR {
    if constexpr (kReach == Reach::near) prefetch_at(ahead[i]);
    if constexpr (kReach == Reach::far) prefetch_far(ahead[i]);
    probe_home<L, kBeside>(view, group, i, drift);
  };
#if NESTLINE_SMALL
  for (std::size_t i = 0; i < kGroup; ++i) probe_next(i);
#else
  // What g++ makes of either form takes up to 4 % more instructions for the other kind.
  constexpr std::size_t kPiece = kBeside ? kGroup : 8;
  for (std::size_t i = 0; i < kGroup; i += kPiece) {
    HWY_UNROLL(8)
    for (std::size_t j = i; j < i + kPiece; ++j) probe_next(j);
  }
#endif
  if constexpr (kBeside) group.drift = drift;
}
// The first homes, of a group that is not full; apart, since it is little work.
template <class L, bool kBeside>
HWY_NOINLINE void probe_some(const BlocksView& view, ProbeGroup& group, std::size_t count) {
  std::uint32_t drift = 0;
  for (std::size_t i = 0; i < count; ++i) probe_home<L, kBeside>(view, group, i, drift);
  if constexpr (kBeside) group.drift = drift;
}

HWY_INLINE void prefetch_homes(const Group& group, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) prefetch_at(group.address[i]);
}

// The keys whose homes were locked, or have changed since.
HWY_INLINE std::uint64_t unsteady_homes(const ProbeGroup& group, std::size_t count) {
  std::uint64_t unsteady = 0;
  if (HWY_UNLIKELY(count != kGroup || any_unsteady(group))) {
    // Find out which ones: a header that has changed stays changed, so it is not too late.
    for (std::size_t i = 0; i < count; ++i) {
      const Block& block = block_at(group.address[i]);
      unsteady |= std::uint64_t{changes(block, group.header[i]) != 0} << i;
    }
  }
  return unsteady;
}

// The first stages of a batch. kBeside: beside writers. Stage: a ProbeGroup, with what the stages
// after them keep of its group.
template <class L, bool kBeside, class Stage>
class HomeStages {
 public:
  HWY_INLINE HomeStages(const BlocksView& view, const Inputs& inputs)
      : view_(view), keys_(inputs.keys), count_(inputs.count), input_(inputs.kind) {}

 protected:
  static constexpr std::size_t kAhead = 2;  // groups between locating and probing
  static constexpr std::size_t kRing = 4;   // those, the probed group and the one to resolve

  HWY_INLINE std::size_t groups() const { return (count_ + kGroup - 1) / kGroup; }
  HWY_INLINE std::size_t size_of(std::size_t g) const {
    return g * kGroup < count_ ? std::min(kGroup, count_ - g * kGroup) : 0;
  }
  // Of the first groups; probe() goes on with it.
  HWY_INLINE void begin_to_locate() {
    for (std::size_t g = 0; g < kAhead; ++g) {
      locate_group(g);
      prefetch_homes(ring_[g], size_of(g));
    }
  }
  HWY_INLINE void probe(std::size_t g) {
    Stage& group = ring_[g % kRing];
    const Group& ahead = ring_[(g + kAhead) % kRing];
    const std::size_t ahead_size = size_of(g + kAhead);
    if (HWY_LIKELY(ahead_size == kGroup)) {
      locate_whole(g + kAhead);
    } else {
      locate_group(g + kAhead);
    }
    // At the end of the batch nothing, or less than a group, is left to prefetch. WebAssembly has
    // no prefetches.
    const bool is_end = ahead_size != kGroup || HWY_TARGET == HWY_WASM;
    if (is_end) prefetch_homes(ahead, ahead_size);
    if (const std::size_t size = size_of(g); HWY_UNLIKELY(size != kGroup)) {
      probe_some<L, kBeside>(view_, group, size);
    } else if (is_end || reach_ == Reach::none) {
      probe_homes<L, kBeside, Reach::none>(view_, group, nullptr);
    } else if (reach_ == Reach::far) {
      probe_homes<L, kBeside, Reach::far>(view_, group, ahead.address);
    } else {
      probe_homes<L, kBeside, Reach::near>(view_, group, ahead.address);
    }
  }
  HWY_INLINE Stage& group(std::size_t g) { return ring_[g % kRing]; }

  const BlocksView& view_;

 private:
  HWY_INLINE void locate_group(std::size_t g) {
    const std::size_t size = size_of(g);
    if (size != 0) locate<L>(view_, keys_ + g * kGroup, size, input_, ring_[g % kRing]);
  }

  // A group that is full, so that the number of keys is a constant here.
  HWY_INLINE void locate_whole(std::size_t g) {
    const std::uint64_t* const keys = keys_ + g * kGroup;
#if !NESTLINE_ONE_LANE
    if constexpr (L::kForm != Form::maplet && HWY_TARGET != HWY_WASM) {
      if (has_vector_places<L>(view_)) {
        if (input_ == InputKind::integers) {
          locate_all<L, InputKind::integers>(view_, keys, kGroup, ring_[g % kRing]);
        } else {
          locate_all<L, InputKind::hashes>(view_, keys, kGroup, ring_[g % kRing]);
        }
        return;
      }
    }
#endif
    locate<L>(view_, keys, kGroup, input_, ring_[g % kRing]);
  }

  const Reach reach_ = reach_of(view_.geometry.blocks());
  const std::uint64_t* keys_;
  std::size_t count_;
  InputKind input_;
  Stage ring_[kRing];
};

// A batch of lookups on its way.
template <class L, bool kBeside>
class Lookups : HomeStages<L, kBeside, ProbeGroup> {
  using Homes = HomeStages<L, kBeside, ProbeGroup>;
  using Homes::view_;

 public:
  // Bit i of the bitmaps is key i's. `undecided` only beside writers.
  HWY_INLINE Lookups(const BlocksView& view, const Inputs& inputs, std::uint64_t* hits,
                     std::uint64_t* undecided)
      : Homes(view, inputs), hits_(hits), undecided_(undecided) {}

  // True if any key is undecided.
  HWY_INLINE bool run() {
    const std::size_t groups = Homes::groups();
    if (groups == 0) return false;
    Homes::begin_to_locate();
    for (std::size_t g = 0; g <= groups; ++g) {
      if (g < groups) Homes::probe(g);
      if (g > 0) resolve(g - 1);
    }
    for (int turn = 0; turn < 2; ++turn) end_list();
    return any_undecided_ != 0;
  }

 private:
  HWY_INLINE void resolve(std::size_t g) {
    const ProbeGroup& group = Homes::group(g);
    const std::size_t size = Homes::size_of(g);
    const std::uint64_t all = ~std::uint64_t{0} >> (kGroup - size);
    std::uint64_t hits = found_homes<L>(group) & all;
    std::uint64_t decided = hits;
    if constexpr (kBeside) {
      const std::uint64_t unsteady = unsteady_homes(group, size);
      if constexpr (kHasSecondParts<L>) hits &= ~unsteady;
      undecided_[g] = unsteady & ~hits;
      any_undecided_ |= undecided_[g];
      decided = hits | undecided_[g];
    }
    hits_[g] = hits;

    WaitingList& list = lists_[at_];
    const std::uint64_t waiting = covered<kBeside>(group) & ~decided & all;
    append<kBeside>(list, group, g * kGroup, waiting);
    if (list.count >= WaitingList::kMany) end_list();
  }

  // Fetches the alternates of the list that is filling; then comes the second probe of the other.
  HWY_NOINLINE void end_list() {
    WaitingList& list = lists_[at_];
    locate_alternates<L>(view_, list.home, list.pair, list.count, list.alternate);
    for (std::size_t n = 0; n < list.count; ++n) prefetch_at(list.alternate[n]);
    at_ ^= 1;
    second_probe(lists_[at_]);
  }
  // The second probe of the keys on a list, which is empty then.
  HWY_INLINE void second_probe(WaitingList& list) {
    for (std::size_t n = 0; n < list.count; ++n) {
      const Block& block = block_at(list.alternate[n]);
      const std::size_t word = list.key[n] / 64;
      const std::size_t bit = list.key[n] % 64;
      if constexpr (!kBeside) {
        const bool found = match_live<L>(view_, block, list.fingerprint(n), list.bucket[n]) != 0;
        hits_[word] |= std::uint64_t{found} << bit;
      } else {
        NESTLINE_TEST_POINT(NESTLINE_POINT_HOME_READ);
        const std::uint32_t header = block.header();
        const bool found = match_live<L>(view_, block, list.fingerprint(n), list.bucket[n]) != 0;
        NESTLINE_TEST_POINT(NESTLINE_POINT_BEFORE_CHECK);
        // A no needs its home too.
        const std::uint32_t unsteady =
            changes(block, header) |
            (changes(block_at(list.home[n]), list.header[n]) & (std::uint32_t{found} - 1));
        if (HWY_UNLIKELY(unsteady != 0) && (kHasSecondParts<L> || !found)) {
          undecided_[word] |= std::uint64_t{1} << bit;
          any_undecided_ = 1;
        } else {
          hits_[word] |= std::uint64_t{found} << bit;
        }
      }
    }
    list.count = 0;
  }
  std::uint64_t* hits_;
  std::uint64_t* undecided_;
  std::uint64_t any_undecided_ = 0;
  std::size_t at_ = 0;  // the list that is filling
  WaitingList lists_[2];
};

// LookupOperations::locate.
template <class L>
HWY_NOINLINE void locate_places(const BlocksView& view, const Inputs& inputs,
                                Place* places) noexcept {
  Group group;
  locate<L>(view, inputs.keys, inputs.count, inputs.kind, group);
#if NESTLINE_ONE_LANE
  for (std::size_t i = 0; i < inputs.count; ++i) {
    places[i] = {group.number(view, i), group.bucket[i], fingerprint_of_pair<L>(group.pair[i]),
                 bucket_offset_of_pair<L>(group.pair[i])};
  }
#else
  static_assert(sizeof(Place) == 24 && kBlockBytes == 64);
  const D64 d;
  const auto base = hn::Set(d, address_of(view, 0));
  for (std::size_t i = 0; i < inputs.count; i += hn::Lanes(d)) {
    const auto block = hn::ShiftRight<6>(hn::Sub(hn::Load(d, group.address + i), base));
    auto pair = hn::PromoteTo(d, hn::Load(hn::Half<D32>(), group.pair + i));
    if constexpr (L::kForm != Form::maplet) {
      pair = hn::Or(hn::And(pair, hn::Set(d, 0xffff)), hn::ShiftLeft<32>(hn::ShiftRight<16>(pair)));
    }
    hn::StoreInterleaved3(block, hn::Load(d, group.bucket + i), pair, d,
                          reinterpret_cast<std::uint64_t*>(places + i));
  }
#endif
}

// Out of line and from the hash again: most keys need no second probe, nor pay for its registers.
template <class L>
HWY_NOINLINE bool contains_away(const BlocksView& view, std::uint64_t hash) noexcept {
  const Place away = moved(view.geometry, home_of_key<L>(view.geometry, hash));
  return match_live<L>(view, view.blocks[away.block], away.fingerprint, away.bucket) != 0;
}

// One key: scalar except for the compare, and one branch, on the mark: few marks cover a key, so it
// is predicted. Yes and no are equally likely, and a mispredicted branch on them would throw away
// the next lookups: so only keys behind that branch have one on the match.
template <class L>
bool contains(const BlocksView& view, std::uint64_t hash) noexcept {
  const Place place = home_of_key<L>(view.geometry, hash);
  const Block& home = view.blocks[place.block];
  const std::uint64_t matches = match_live<L>(view, home, place.fingerprint, place.bucket);
  if (HWY_UNLIKELY(eviction_rank(place.fingerprint) < home.bytes[kOverflowMarkByte])) {
    if (matches == 0) return contains_away<L>(view, hash);
  }
  return matches != 0;
}

// The same beside writers.
template <class L>
HWY_NOINLINE bool contains_away_beside(const BlocksView& view, const LookupFallback& second,
                                       std::uint64_t hash, std::uint32_t home_header) noexcept {
  const Place home = home_of_key<L>(view.geometry, hash);
  const Place away = moved(view.geometry, home);
  const Block& block = view.blocks[away.block];
  NESTLINE_TEST_POINT(NESTLINE_POINT_HOME_READ);
  const std::uint32_t header = block.header();
  const bool found = match_live<L>(view, block, away.fingerprint, away.bucket) != 0;
  if (found && !kHasSecondParts<L>) {
    acquire_fence();
    return true;
  }
  NESTLINE_TEST_POINT(NESTLINE_POINT_BEFORE_CHECK);
  const bool steady =
      changes(block, header) == 0 && (found || changes(view.blocks[home.block], home_header) == 0);
  return steady ? found : second.look(second, hash);
}

template <class L>
bool contains_concurrent(const BlocksView& view, const LookupFallback& second,
                         std::uint64_t hash) noexcept {
  const Place place = home_of_key<L>(view.geometry, hash);
  const Block& home = view.blocks[place.block];
  const std::uint32_t header = home.header();
  const std::uint64_t matches = match_live<L>(view, home, place.fingerprint, place.bucket);
  NESTLINE_TEST_POINT(NESTLINE_POINT_BEFORE_CHECK);
  const std::uint32_t unsteady = changes(home, header);
  if (HWY_UNLIKELY(unsteady != 0 ||
                   eviction_rank(place.fingerprint) < (header & kHeaderOverflowMark))) {
    // Without a match something forbids a no; a match in two parts has to be steady too.
    if (unsteady != 0 && (kHasSecondParts<L> || matches == 0)) return second.look(second, hash);
    if (matches == 0) return contains_away_beside<L>(view, second, hash, header);
  }
  return matches != 0;
}

#if NESTLINE_ONE_LANE

// One key after the other: there are no vectors to fill. look(hash, i) answers.
template <typename Look>
HWY_INLINE void look_up_each(const BlocksView& view, const Inputs& inputs, std::uint64_t* bitmap,
                             const Look& look) {
  constexpr std::size_t kAhead = 16;
  std::fill_n(bitmap, (inputs.count + 63) / 64, std::uint64_t{0});
  for (std::size_t i = 0; i < inputs.count; ++i) {
    if (i + kAhead < inputs.count) prefetch_home(view, inputs.hash(i + kAhead, view.secrets));
    bitmap[i / 64] |= std::uint64_t{look(inputs.hash(i, view.secrets), i)} << i % 64;
  }
}

template <class L>
void contains_batch(const BlocksView& view, const Inputs& inputs, std::uint64_t* bitmap) noexcept {
  look_up_each(view, inputs, bitmap,
               [&](std::uint64_t hash, std::size_t) { return contains<L>(view, hash); });
}

template <class L>
bool contains_batch_concurrent(const BlocksView& view, const Inputs& inputs, std::uint64_t* bitmap,
                               std::uint64_t* undecided) noexcept {
  struct Note : LookupFallback {
    mutable bool was_asked = false;
  };
  Note note;
  note.look = [](const LookupFallback& second, std::uint64_t) noexcept {
    static_cast<const Note&>(second).was_asked = true;
    return false;
  };
  bool any_undecided = false;
  std::fill_n(undecided, (inputs.count + 63) / 64, std::uint64_t{0});
  look_up_each(view, inputs, bitmap, [&](std::uint64_t hash, std::size_t i) {
    note.was_asked = false;
    const bool found = contains_concurrent<L>(view, note, hash);
    undecided[i / 64] |= std::uint64_t{note.was_asked} << i % 64;
    any_undecided |= note.was_asked;
    return found;
  });
  return any_undecided;
}

#else

template <class L>
void contains_batch(const BlocksView& view, const Inputs& inputs, std::uint64_t* bitmap) noexcept {
  Lookups<L, false>(view, inputs, bitmap, nullptr).run();
}

template <class L>
bool contains_batch_concurrent(const BlocksView& view, const Inputs& inputs, std::uint64_t* bitmap,
                               std::uint64_t* undecided) noexcept {
  return Lookups<L, true>(view, inputs, bitmap, undecided).run();
}

#endif  // NESTLINE_ONE_LANE

}  // namespace HWY_NAMESPACE
}}  // namespace nestline
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
