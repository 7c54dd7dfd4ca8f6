// Per-target: what two filters of one geometry have in common.
//
// Residents look the same if fingerprint, bucket offset and pair of blocks are equal: with a key of
// both filters, each has a resident of its kind. Counted are, kind by kind, as many as the filter
// has that has fewer. Of one kind there may be A and B residents in block i, and A' and B' in its
// other block.
//   in block i   min(A, B): for each segment one shuffle brings the residents that lie there in the
//                buckets of the other block's residents beside these. A resident counts if there
//                are more of its kind in the other block than in slots before its own.
//   across       min(A - B, B' - A'), if that is above 0 and a key can have one resident in i and
//                one in the other block. Then one of them is away from home, and the mark of i in
//                the other filter covers it, or of the other block in the first one. So a resident
//                that such a mark covers is looked for in its other block. It counts if of those
//                that are left over in i fewer lie before it than there are left over there.
// Blocks to look into are prefetched, and looked into when kMany are waiting.
#if defined(NESTLINE_LIB_ENGINE_KERNELS_OVERLAP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_KERNELS_OVERLAP_INL_H_
#undef NESTLINE_LIB_ENGINE_KERNELS_OVERLAP_INL_H_
#else
#define NESTLINE_LIB_ENGINE_KERNELS_OVERLAP_INL_H_
#endif

#include <bit>
#include <cstddef>
#include <cstdint>

#include "lib/engine/kernels/match-inl.h"
#include "lib/engine/kernels/residents-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class L>
HWY_INLINE unsigned copies_in(const Block& block, const Place& place) {
  const std::uint64_t slots = match_among<L>(block, place.fingerprint, place.bucket);
  return static_cast<unsigned>(std::popcount(slots));
}
// The same in the slots before one of them.
template <class L>
HWY_INLINE unsigned copies_before(const Block& block, const Place& place, std::uint32_t slot) {
  return copies_in<L>(block,
                      {0, place.bucket & ((std::uint64_t{1} << slot) - 1), place.fingerprint, 0});
}

#if NESTLINE_ONE_LANE

template <class L>
std::uint64_t common_slots(const Block& one, const Block& other) {
  std::uint64_t slots = 0;
  for (std::uint32_t s = 0; s < L::kSlots; ++s) {
    const std::uint32_t fingerprint = L::get(one, s);
    if (fingerprint == 0) continue;
    const std::uint64_t bucket = L::bucket(fingerprint, L::bucket_offset_at(fingerprint, s));
    const Place place{0, bucket, fingerprint, 0};
    slots |= std::uint64_t{copies_before<L>(one, place, s) < copies_in<L>(other, place)} << s;
  }
  return slots;
}

#else  // vectors

// For each segment: all ones in the slots behind it.
template <class L>
inline constexpr auto kBehindSegment = [] {
  using T = typename ResidentLanes<L>::T;
  struct alignas(64) {
    T of[L::kChoices][64 / sizeof(T)];
  } behind{};
  for (std::uint32_t segment = 0; segment < L::kChoices; ++segment) {
    for (std::uint32_t s = (segment + 1) * L::kSlotsPerSegment; s < L::kSlots; ++s) {
      behind.of[segment][s] = static_cast<T>(~T{0});
    }
  }
  return behind;
}();

// The slots of `one` whose residents count in this block.
template <class L>
HWY_INLINE std::uint64_t common_slots(const Block& one, const Block& other) {
  using Lanes = ResidentLanes<L>;
  const typename Lanes::D d;
  const hn::RebindToSigned<typename Lanes::D> signed_lanes;
  const Lanes residents(one);
  const Lanes others(other);
  std::uint64_t slots = 0;
  for (std::size_t s = 0; s < L::kSlots; s += hn::Lanes(d)) {
    const auto offsets = residents.bucket_offsets(s);
    auto more = hn::Zero(d);  // those of the other block, less those before the slot
    for (std::uint32_t segment = 0; segment < L::kChoices; ++segment) {
      const auto indices = residents.indices(s, offsets, kRotationMultiplier[segment]);
      const auto before = hn::Load(d, kBehindSegment<L>.of[segment] + s);
      more = hn::Sub(more, residents.equal_to(s, others, segment, indices));  // -1 where equal
      more = hn::Add(more, hn::And(before, residents.equal_to(s, residents, segment, indices)));
    }
    const auto counts = hn::Gt(hn::BitCast(signed_lanes, more), hn::Zero(signed_lanes));
    slots |= bits_of(signed_lanes, counts) << s;
  }
  return slots & L::kAllSlots & ~match_first_bytes<L>(one, 0);
}

#endif  // NESTLINE_ONE_LANE

template <class L>
class OverlapCount {
 public:
  OverlapCount(const BlocksView& one, const BlocksView& other) : views_{&one, &other} {}

  std::uint64_t count(bool any) {
    const std::uint64_t blocks = views_[0]->geometry.blocks();
    for (std::uint64_t block = 0; block < blocks && !(any && common_ != 0); ++block) {
      const Block& one = views_[0]->blocks[block];
      const Block& other = views_[1]->blocks[block];
      const std::uint64_t here = common_slots<L>(one, other);
      common_ += static_cast<unsigned>(std::popcount(here));
      if (const std::uint32_t mark = other.overflow_mark(); mark != 0) {
        look_across(0, block, of_ranks<L>(one, 0, mark) & ~here);
      }
      if (const std::uint32_t mark = one.overflow_mark(); mark != 0) {
        look_across(1, block, of_ranks<L>(other, 0, mark));
      }
      if (waiting_ >= kMany) look();
    }
    look();
    return common_;
  }

 private:
  static constexpr std::size_t kMany = 128;
  struct Waiting {
    Place away;
    std::uint64_t block;
    std::uint32_t slot;
    std::uint32_t of;  // of which filter
  };

  void look_across(std::uint32_t of, std::uint64_t block, std::uint64_t slots) {
    const BlocksView& view = *views_[of];
    for (; slots != 0; slots &= slots - 1) {
      const std::uint32_t slot = first_slot(slots);
      const std::uint32_t fingerprint = L::get(view.blocks[block], slot);
      const Place here{block, 0, fingerprint, L::bucket_offset_at(fingerprint, slot)};
      const Place away = moved(view.geometry, here);
      if (away.block == block) continue;
      prefetch_bytes(views_[1 - of]->blocks + away.block, 1);
      list_[waiting_++] = {away, block, slot, of};
    }
  }
  void look() {
    for (std::size_t i = 0; i < waiting_; ++i) {
      const Waiting& one = list_[i];
      const std::uint64_t slots = match_among<L>(views_[1 - one.of]->blocks[one.away.block],
                                                 one.away.fingerprint, L::kAllSlots);
      if (HWY_UNLIKELY(slots != 0) && counts(one, slots)) ++common_;
    }
    waiting_ = 0;
  }
  // `slots`: where in its other block the other filter has its fingerprint.
  HWY_NOINLINE bool counts(const Waiting& one, std::uint64_t slots) const {
    const Block* const own = views_[one.of]->blocks;
    const Block* const others = views_[1 - one.of]->blocks;
    Place kind = one.away;
    kind.bucket = L::bucket(kind.fingerprint, kind.bucket_offset);
    const auto found = static_cast<unsigned>(std::popcount(slots & kind.bucket));
    // From the other filter it is counted unless it is from the first one.
    if (found == 0 ||
        (one.of == 1 && eviction_rank(kind.fingerprint) < own[kind.block].overflow_mark())) {
      return false;
    }
    const unsigned here = copies_in<L>(others[one.block], kind);
    const unsigned before = copies_before<L>(own[one.block], kind, one.slot);
    return before >= here && before + copies_in<L>(own[kind.block], kind) < here + found;
  }

  const BlocksView* views_[2];
  std::uint64_t common_ = 0;
  std::size_t waiting_ = 0;
  Waiting list_[kMany + 2 * L::kSlots];
};

template <class L>
std::uint64_t count_common(const BlocksView& one, const BlocksView& other, bool any) noexcept {
  return OverlapCount<L>(one, other).count(any);
}

}}}  // namespace nestline::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
