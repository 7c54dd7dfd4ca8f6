#include "lib/engine/kernels/targets.h"

#include <hwy/detect_targets.h>

#include <algorithm>

#include "lib/system/system.h"
#include "nestline/internal/block.h"

#if HWY_ARCH_X86
#include <cpuid.h>
#endif

namespace nestline { inline namespace v0_3 {
namespace {

std::int64_t forced = 0;

#if HWY_ARCH_X86

struct Registers {
  std::uint32_t a = 0, b = 0, c = 0, d = 0;

  static Registers of(std::uint32_t leaf) {
    Registers registers;
    __get_cpuid_count(leaf, 0, &registers.a, &registers.b, &registers.c, &registers.d);
    return registers;  // zeros when the processor has no such leaf
  }
};

constexpr bool all(std::uint32_t word, std::uint32_t bits) { return (word & bits) == bits; }

// Registers that the system saves: XCR0. Only where the processor reports that xgetbv is allowed.
std::uint32_t saved_registers() {
  std::uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

std::int64_t detect() {
  // Bits of register c of leaf 1, and of register c of leaf 0x80000001.
  constexpr std::uint32_t kSse4 =
      1u << 9 | 1u << 19 | 1u << 20 | 1u << 1 | 1u << 25;  // SSSE3, 4.1, 4.2, CLMUL, AES
  constexpr std::uint32_t kSavesRegisters = 1u << 27;
  constexpr std::uint32_t kAvx = 1u << 28 | 1u << 12 | 1u << 29;  // AVX, FMA, F16C
  constexpr std::uint32_t kLzcnt = 1u << 5;
  // Bits of registers b and c of leaf 7.
  constexpr std::uint32_t kAvx2 = 1u << 5 | 1u << 3 | 1u << 8;                // BMI, BMI2
  constexpr std::uint32_t kAvx3 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;  // F DQ BW VL
  constexpr std::uint32_t kAvx3More = 1u << 1 | 1u << 6 | 1u << 8 | 1u << 9 | 1u << 10 | 1u << 11 |
                                      1u << 12 | 1u << 14;  // VBMI to VPOPCNTDQ
  constexpr std::uint32_t kSavesYmm = 0x6, kSavesZmm = 0xe6;

  const Registers one = Registers::of(1), seven = Registers::of(7),
                  more = Registers::of(0x80000001);
  std::int64_t targets = 0;
  if (!all(one.c, kSse4)) return targets;
  targets |= HWY_SSE4;
  if (!all(one.c, kSavesRegisters | kAvx) || !all(more.c, kLzcnt) || !all(seven.b, kAvx2)) {
    return targets;
  }
  const std::uint32_t saved = saved_registers();
  if (!all(saved, kSavesYmm)) return targets;
  targets |= HWY_AVX2;
  if (!all(saved, kSavesZmm) || !all(seven.b, kAvx3)) return targets;
  targets |= HWY_AVX3;
  if (all(seven.c, kAvx3More)) targets |= HWY_AVX3_DL;
  return targets;
}

#elif HWY_ARCH_ARM_A64

// Linux reports what the processor has to every program, in these bits and numbers.
std::int64_t detect() {
  constexpr std::uint64_t kAes = 1 << 3, kSve = 1 << 22;      // of AT_HWCAP
  constexpr std::uint64_t kSve2 = 1 << 1, kSve2Aes = 1 << 2;  // of AT_HWCAP2
  constexpr int kVectorLength = 0xffff;
  const auto has = [](std::uint64_t word, std::uint64_t bits) { return (word & bits) == bits; };
  const auto [one, two, length] = arm_features();
  std::int64_t targets = 0;
  // Highway's NEON is compiled with the instructions for AES.
  if (has(one, kAes)) targets |= HWY_NEON;
  if (!has(one, kSve)) return targets;
  targets |= HWY_SVE;
  const bool has_sve2 = has(two, kSve2 | kSve2Aes);
  if (has_sve2) targets |= HWY_SVE2;
  // Two targets are each for one vector length.
  if (length < 0) return targets;
  if ((length & kVectorLength) == 32) targets |= HWY_SVE_256;
  if ((length & kVectorLength) == 16 && has_sve2) targets |= HWY_SVE2_128;
  return targets;
}

#else

// Elsewhere kernels are compiled once.
std::int64_t detect() { return 0; }

#endif

}  // namespace

std::int64_t supported_targets() {
  static const std::int64_t detected = detect() | HWY_ENABLED_BASELINE;
  return forced != 0 ? forced : detected;
}

std::uint64_t blocks_in_near_cache() {
  static const std::uint64_t blocks = near_cache_bytes() / 2 / internal::kBlockBytes;
  return blocks;
}

void force_target(std::int64_t target) { forced = target; }

}}  // namespace nestline
