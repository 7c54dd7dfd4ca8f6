// Per-target: the engines of a kind, for each of its layouts, and the choice among targets. What an
// engine of a kind has is in filters-inl.h, maplets-inl.h and expiring_filters-inl.h.
#if defined(NESTLINE_LIB_ENGINE_ENGINES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_ENGINES_INL_H_
#undef NESTLINE_LIB_ENGINE_ENGINES_INL_H_
#else
#define NESTLINE_LIB_ENGINE_ENGINES_INL_H_
#endif

#include <cstddef>

#include "lib/engine/engines.h"
#include "lib/engine/table/further-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {

#if NESTLINE_IS_COMPILED_HERE
namespace layouts {
template <class Kind, class L>
struct EngineOf;  // engine() makes it
}

template <class Kind, class... Layouts>
constexpr Engines<Kind> make_engines(LayoutList<Layouts...>) {
  return {{layouts::EngineOf<Kind, Layouts>::engine()...}};
}
// A template, so that it is made when all targets are there.
template <class Kind>
const Engines<Kind>* engines() {
  static constexpr Engines<Kind> kAll = make_engines<Kind>(typename Kind::Layouts());
  return &kAll;
}
#else  // in the other source
template <class Kind>
const Engines<Kind>* engines();
#endif

}}}  // namespace nestline::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE && !defined(NESTLINE_OF_ALL_TARGETS)
#define NESTLINE_OF_ALL_TARGETS
namespace nestline { inline namespace v0_3 {

// One for each compiled target, the best first; null for the others. These lists are Highway's.
// Highway's own way of choosing from them needs its library (targets.h).
template <class Kind>
inline constexpr const Engines<Kind>* (*kOfTargets[])() = {
#if HWY_ARCH_X86 || HWY_ARCH_ARM
    HWY_CHOOSE_TARGET_LIST(engines<Kind>),
#endif
    HWY_CHOOSE_FALLBACK(engines<Kind>),
};
template <class Kind>
const typename Kind::Engine& best_engine(std::size_t layout) {
  return best_of(kOfTargets<Kind>).of[layout];
}

}}  // namespace nestline

// For the end of a source that has the older targets: the engines of a kind for each of those.
#if (HWY_TARGETS & HWY_SSE4) != 0 && HWY_STATIC_TARGET != HWY_SSE4
#define NESTLINE_OF_OLDER(Kind)                          \
  template const Engines<Kind>* N_SSE4::engines<Kind>(); \
  template const Engines<Kind>* HWY_STATIC_DISPATCH(engines<Kind>)()
#else
#define NESTLINE_OF_OLDER(Kind) template const Engines<Kind>* HWY_STATIC_DISPATCH(engines<Kind>)()
#endif
#endif

#endif  // per-target include guard
