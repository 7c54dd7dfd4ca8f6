// Per-target: lookups in a maplet. All 8 slots are in every bucket.
//
// A group of a batch takes three passes: places, with prefetches of the homes; which keys may have
// values in their alternates, with prefetches of those; values.
#if defined(NESTLINE_LIB_ENGINE_KERNELS_MAPLET_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_KERNELS_MAPLET_INL_H_
#undef NESTLINE_LIB_ENGINE_KERNELS_MAPLET_INL_H_
#else
#define NESTLINE_LIB_ENGINE_KERNELS_MAPLET_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "lib/engine/kernels/match-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE { namespace maplet {

using L = MapletLayout;

// Appends the values of the fingerprint in this block to `values` and returns their end.
HWY_INLINE std::uint64_t* take_values(const Block& shared, std::uint32_t fingerprint,
                                      std::uint64_t* values) {
  BlockCopy copy;
  const Block& block = readable_block(shared, copy);
  std::uint64_t slots = match_first_bytes<L>(block, fingerprint) & L::kAllSlots;
  for (; HWY_UNLIKELY(slots != 0); slots &= slots - 1) {
    const std::uint32_t s = first_slot(slots);
    if (HWY_LIKELY(L::get(block, s) == fingerprint)) *values++ = L::value(block, s);
  }
  return values;
}

using Looked = MapletGroup::Looked;

HWY_INLINE bool may_be_away(const Looked& key) {
  return eviction_rank(key.fingerprint) < (key.header & kHeaderOverflowMark);
}
HWY_INLINE std::uint64_t away_of(const Geometry& geometry, const Looked& key) {
  return alternate_of(geometry, {key.block, 0, key.fingerprint, 0});
}

// R1 and R3 of locking.h: the key's values, or null if its blocks were busy.
HWY_INLINE std::uint64_t* values_of(const BlocksView& view, const Looked& key,
                                    std::uint64_t* values) {
  const Block& home = view.blocks[key.block];
  std::uint64_t* end = take_values(home, key.fingerprint, values);
  if (HWY_UNLIKELY(may_be_away(key))) {
    const std::uint64_t other = away_of(view.geometry, key);
    if (other != key.block) {
      NESTLINE_TEST_POINT(NESTLINE_POINT_HOME_READ);
      const Block& away = view.blocks[other];
      const std::uint32_t header = away.header();
      end = take_values(away, key.fingerprint, end);
      if (HWY_UNLIKELY(changes(away, header) != 0)) return nullptr;
    }
  }
  NESTLINE_TEST_POINT(NESTLINE_POINT_BEFORE_CHECK);
  return HWY_LIKELY(changes(home, key.header) == 0) ? end : nullptr;
}

// The rest of find, apart from it: the first look needs few registers and no stack.
HWY_NOINLINE std::size_t find_values(const BlocksView& view, const Looked& key,
                                     std::uint64_t* values) noexcept {
  const std::uint64_t* const end = values_of(view, key, values);
  return HWY_UNLIKELY(end == nullptr) ? MapletLookups::kBusy
                                      : static_cast<std::size_t>(end - values);
}

inline std::size_t find(const BlocksView& view, std::uint64_t hash,
                        std::uint64_t* values) noexcept {
  const auto [block, rest] = home_block_of(view.geometry, hash);
  const Block& home = view.blocks[block];
  const Looked key{block, L::fingerprint_of(rest), home.header()};
  {
    BlockCopy copy;
    const std::uint64_t slots =
        match_first_bytes<L>(readable_block(home, copy), key.fingerprint) & L::kAllSlots;
    if (HWY_LIKELY(slots == 0 && !may_be_away(key) && changes(home, key.header) == 0)) return 0;
  }
  return find_values(view, key, values);
}

inline void locate(const BlocksView& view, const Inputs& inputs, MapletGroup& group) noexcept {
  group.count = inputs.count;
  for (std::size_t i = 0; i < inputs.count; ++i) {
    const auto [block, rest] = home_block_of(view.geometry, inputs.hash(i, view.secrets));
    group.keys[i].block = block;
    group.keys[i].fingerprint = L::fingerprint_of(rest);
    __builtin_prefetch(&view.blocks[block]);
  }
}

inline std::size_t find_batch(const BlocksView& view, MapletGroup& group, std::uint8_t* counts,
                              std::uint64_t* values) noexcept {
  for (std::size_t i = 0; i < group.count; ++i) {
    Looked& key = group.keys[i];
    key.header = view.blocks[key.block].header();
    if (HWY_UNLIKELY(may_be_away(key))) {
      __builtin_prefetch(&view.blocks[away_of(view.geometry, key)]);
    }
  }
  std::uint64_t* end = values;
  for (std::size_t i = 0; i < group.count; ++i) {
    std::uint64_t* const next = values_of(view, group.keys[i], end);
    if (HWY_UNLIKELY(next == nullptr)) return MapletLookups::kBusy;
    counts[i] = static_cast<std::uint8_t>(next - end);
    end = next;
  }
  return static_cast<std::size_t>(end - values);
}

}  // namespace maplet
}  // namespace HWY_NAMESPACE
}}  // namespace nestline
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
