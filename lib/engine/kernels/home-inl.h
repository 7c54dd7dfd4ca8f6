// Per-target: the home and the bucket of one key. From AVX2 on, where each lane shifts by a number
// of its own, the bucket of a computed width (buckets.h) takes a third of the scalar instructions.
#if defined(NESTLINE_LIB_ENGINE_KERNELS_HOME_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_KERNELS_HOME_INL_H_
#undef NESTLINE_LIB_ENGINE_KERNELS_HOME_INL_H_
#else
#define NESTLINE_LIB_ENGINE_KERNELS_HOME_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "lib/engine/place/geometry.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class L>
HWY_INLINE std::uint64_t bucket_of(std::uint32_t fingerprint, std::uint32_t bucket_offset) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  if constexpr (L::kIsComputed) {
    constexpr std::size_t kFirst =
        L::kChoices - 4;  // lane 0 is not rotated: its bit is the bucket offset's
    static_assert(kFirst <= 1);
    alignas(16) static constexpr std::uint16_t kMultipliers[8] = {
        kRotationMultiplier[kFirst], kRotationMultiplier[kFirst + 1],
        kRotationMultiplier[kFirst + 2], kRotationMultiplier[kFirst + 3]};
    alignas(32) static constexpr std::uint64_t kFirstBits[4] = {
        std::uint64_t{1} << kFirst * L::kSlotsPerSegment,
        std::uint64_t{1} << (kFirst + 1) * L::kSlotsPerSegment,
        std::uint64_t{1} << (kFirst + 2) * L::kSlotsPerSegment,
        std::uint64_t{1} << (kFirst + 3) * L::kSlotsPerSegment};
    const hn::FixedTag<std::uint16_t, 8> d16;
    const hn::FixedTag<std::uint64_t, 4> d64;
    const auto slots_per_lane = hn::Set(d16, std::uint16_t{L::kSlotsPerSegment});
    const auto product =
        hn::Mul(hn::Set(d16, static_cast<std::uint16_t>(fingerprint)), hn::Load(d16, kMultipliers));
    const auto turned = hn::Add(hn::MulHigh(product, slots_per_lane),
                                hn::Set(d16, static_cast<std::uint16_t>(bucket_offset)));
    const auto at = hn::Min(turned, hn::Sub(turned, slots_per_lane));
    const auto at32 = hn::PromoteTo(hn::FixedTag<std::uint32_t, 4>(), hn::LowerHalf(at));
    const auto bits = hn::Shl(hn::Load(d64, kFirstBits), hn::PromoteTo(d64, at32));
    const hn::FixedTag<std::uint64_t, 2> half;
    const auto halves = hn::Or(hn::LowerHalf(half, bits), hn::UpperHalf(half, bits));
    const std::uint64_t bucket = hn::GetLane(hn::Or(halves, hn::Shuffle01(halves)));
    return kFirst == 0 ? bucket : bucket | std::uint64_t{1} << bucket_offset;
  }
#endif
  return L::bucket(fingerprint, bucket_offset);
}

template <class L>
HWY_INLINE Place home_of_key(const Geometry& geometry, std::uint64_t hash) {
  Place place = home_of<L>(geometry, hash);
  if constexpr (L::kIsComputed) place.bucket = bucket_of<L>(place.fingerprint, place.bucket_offset);
  return place;
}

}  // namespace HWY_NAMESPACE
}}  // namespace nestline
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
