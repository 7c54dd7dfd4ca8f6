// Names that say for which processor a function was compiled. Not for direct use.
//
// The linker keeps one of the functions that have one name. Those of headers are compiled by each
// source for its own target (such as -march=x86-64-v3), and a program with sources for several
// would run the first one on every processor. NESTLINE_HERE puts the target into the name; each
// function of the public headers that has a body carries it. Code for any x86-64 or arm64 has plain
// names. What the compiler makes by itself (copies of structs, destructors) cannot carry it:
// docs/CPP.md says what follows.
#ifndef NESTLINE_INTERNAL_HERE_H_
#define NESTLINE_INTERNAL_HERE_H_

// "1" if the macro is defined as 1, else "0".
#define NESTLINE_BIT(macro) NESTLINE_BIT_PASTE(macro)
#define NESTLINE_BIT_PASTE(macro) NESTLINE_BIT_CHOOSE(NESTLINE_BIT_##macro "0", "0", ~)
#define NESTLINE_BIT_CHOOSE(...) NESTLINE_BIT_SECOND(__VA_ARGS__)
#define NESTLINE_BIT_SECOND(first, second, ...) second
#define NESTLINE_BIT_1 ~, "1",

// A digit for each extension of the instruction set that compilers use by themselves.
// clang-format off
#if defined(__SSE3__) || defined(__POPCNT__) || defined(__LZCNT__) || defined(__BMI__) || \
    defined(__BMI2__) || defined(__MOVBE__) || defined(__GFNI__)
#define NESTLINE_TARGET_HERE                                                                   \
  "x86_" NESTLINE_BIT(__SSE3__) NESTLINE_BIT(__SSSE3__) NESTLINE_BIT(__SSE4_1__)               \
  NESTLINE_BIT(__SSE4_2__) NESTLINE_BIT(__POPCNT__) NESTLINE_BIT(__LZCNT__)                    \
  NESTLINE_BIT(__BMI__) NESTLINE_BIT(__BMI2__) NESTLINE_BIT(__MOVBE__) NESTLINE_BIT(__GFNI__)  \
  NESTLINE_BIT(__TBM__) NESTLINE_BIT(__XOP__) NESTLINE_BIT(__FMA4__) NESTLINE_BIT(__AVX__)     \
  NESTLINE_BIT(__AVX2__) NESTLINE_BIT(__FMA__) NESTLINE_BIT(__F16C__) NESTLINE_BIT(__AVXVNNI__) \
  NESTLINE_BIT(__AVX512F__) NESTLINE_BIT(__AVX512CD__) NESTLINE_BIT(__AVX512DQ__)              \
  NESTLINE_BIT(__AVX512BW__) NESTLINE_BIT(__AVX512VL__) NESTLINE_BIT(__AVX512VBMI__)           \
  NESTLINE_BIT(__AVX512VBMI2__) NESTLINE_BIT(__AVX512IFMA__) NESTLINE_BIT(__AVX512VNNI__)      \
  NESTLINE_BIT(__AVX512BITALG__) NESTLINE_BIT(__AVX512VPOPCNTDQ__) NESTLINE_BIT(__AVX512FP16__)
#elif defined(__ARM_FEATURE_ATOMICS) || defined(__ARM_FEATURE_SVE)
#define NESTLINE_TARGET_HERE                                                                   \
  "arm_" NESTLINE_BIT(__ARM_FEATURE_ATOMICS) NESTLINE_BIT(__ARM_FEATURE_QRDMX)                 \
  NESTLINE_BIT(__ARM_FEATURE_DOTPROD) NESTLINE_BIT(__ARM_FEATURE_RCPC)                         \
  NESTLINE_BIT(__ARM_FEATURE_SVE) NESTLINE_BIT(__ARM_FEATURE_SVE2)                             \
  NESTLINE_BIT(__ARM_FEATURE_MOPS)
#endif
// clang-format on

#ifdef NESTLINE_TARGET_HERE
#define NESTLINE_HERE __attribute__((abi_tag(NESTLINE_TARGET_HERE)))
#else
#define NESTLINE_HERE
#endif

// For the few functions in every lookup: they must be inlined into whatever uses them, so that
// they are compiled for its target.
#define NESTLINE_INLINE inline __attribute__((always_inline)) NESTLINE_HERE

#endif  // NESTLINE_INTERNAL_HERE_H_
