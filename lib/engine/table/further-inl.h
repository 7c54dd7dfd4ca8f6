// Per-target: what first looks do not decide (first_looks-inl.h), as functions that are compiled
// once for each layout, of filters for each width. A target that gains nothing by code of its own
// calls those of the one below.
#if defined(NESTLINE_LIB_ENGINE_TABLE_FURTHER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_TABLE_FURTHER_INL_H_
#undef NESTLINE_LIB_ENGINE_TABLE_FURTHER_INL_H_
#else
#define NESTLINE_LIB_ENGINE_TABLE_FURTHER_INL_H_
#endif

#include <cstdint>
#include <type_traits>

#include "lib/engine/engine.h"
#include "lib/engine/table/table-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE { namespace layouts {

// A class, since what a target declares before it is compiled must not be a function: that would
// lack the target's instructions.
template <class L>
struct Further {
  using Value = typename L::Value;

  // The rest of an insert, for a key that has no way at home.
  static HWY_NOINLINE Result evict_for(const BlocksView& view, AnyMode mode, const Place& home,
                                       Value value) noexcept {
    Table<L> table(view, AnyLocks(mode));
    if constexpr (!NESTLINE_ANY_PLACEMENT && !L::kHasValues) {
      if (mode.sharing() == Sharing::alone) return table.evict_under(NoLocks(), home, value);
    }
    return table.evict_for(home, value);
  }
  // The rest of an erase.
  static HWY_NOINLINE bool erase(const BlocksView& view, AnyMode mode, const Place& home,
                                 Value value) noexcept {
    return Table<L>(view, AnyLocks(mode)).erase(home, value);
  }
  // After an erase at home, in a filter with guest lanes.
  static HWY_NOINLINE void let_guests_come_home(const BlocksView& view, AnyMode mode,
                                                std::uint64_t block) noexcept {
    Homecoming<L>(view, mode, block).run();
  }
  static HWY_NOINLINE void prefetch_candidates(const BlocksView& view, AnyMode mode,
                                               const Place& home) noexcept {
    Table<L>(view, AnyLocks(mode)).prefetch_candidates(home);
  }
};

}}}}  // namespace nestline::HWY_NAMESPACE::layouts
HWY_AFTER_NAMESPACE();

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {

// The policy of an operation as a value; and the policy that its first look is compiled for.
template <class Locks>
inline constexpr AnyMode kModeOf = {Locks::sharing()};
template <class Locks>
using FirstLocks = std::conditional_t<NESTLINE_ANY_PLACEMENT, AnyLocks, Locks>;
template <class Locks>
HWY_INLINE FirstLocks<Locks> first_locks() {
#if NESTLINE_ANY_PLACEMENT
  return AnyLocks(kModeOf<Locks>);
#else
  return Locks();
#endif
}

}}}  // namespace nestline::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

// Most targets have lookups and first looks of their own, and all else from the one below: AVX-512
// from AVX2, the others from what any processor of the architecture has. Only AVX2 has all.
#undef NESTLINE_BELOW
#if HWY_ARCH_X86 && HWY_TARGET < HWY_AVX2 && defined(NESTLINE_HAS_AVX2)
#define NESTLINE_BELOW(name) N_AVX2::name
#elif HWY_TARGET != HWY_STATIC_TARGET && !(HWY_ARCH_X86 && HWY_TARGET == HWY_AVX2)
#define NESTLINE_BELOW(name) HWY_STATIC_DISPATCH(name)
// It is compiled last.
namespace nestline { inline namespace v0_3 { namespace NESTLINE_BELOW(layouts) {
  template <class L>
  struct Further;
  template <class L>
  struct ExpiringFurther;
  template <class Kind, class L>
  struct EngineOf;
}}}  // namespace nestline::NESTLINE_BELOW(layouts)
#endif
// A class of the one below, or the target's own.
#undef NESTLINE_FROM_BELOW
#ifdef NESTLINE_BELOW
#define NESTLINE_FROM_BELOW(Class) NESTLINE_BELOW(layouts::Class)
#else
#define NESTLINE_FROM_BELOW(Class) layouts::Class
#endif
#if HWY_TARGET == HWY_AVX2
#define NESTLINE_HAS_AVX2
#endif

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {

// The rest of an insert. At 16 bits AVX-512 makes room for the last 5 % of keys 8 to 10 % faster
// than AVX2 (Zen 4), at other widths no faster.
template <class L>
HWY_INLINE Result make_room_and_store(const BlocksView& view, AnyMode mode, const Place& home,
                                      typename L::Value value) {
  constexpr bool kGains = HWY_ARCH_X86 && HWY_TARGET < HWY_AVX2 && !NESTLINE_ANY_PLACEMENT &&
                          L::kBits == 16 && !L::kHasValues && !L::kHasGuestLanes;
  if constexpr (kGains) {
    if (mode.sharing() == Sharing::alone) {
      return Table<L>(view, AnyLocks(mode)).evict_under(NoLocks(), home, value);
    }
  }
  return NESTLINE_FROM_BELOW(Further)<Shared<L> >::evict_for(view, mode, home, value);
}

}}}  // namespace nestline::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
