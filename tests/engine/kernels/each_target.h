// Runs a test once for every instruction set that was compiled in and that this machine has.
#ifndef NESTLINE_TESTS_ENGINE_KERNELS_EACH_TARGET_H_
#define NESTLINE_TESTS_ENGINE_KERNELS_EACH_TARGET_H_

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstdint>
#include <random>
#include <vector>

#include "lib/engine/kernels/build_kernels.h"
#include "lib/engine/kernels/targets.h"

namespace nestline::test {

// While it lives, the engines are those of this target.
class ForcedTarget {
 public:
  explicit ForcedTarget(std::int64_t target) { force_target(target); }
  ~ForcedTarget() { force_target(0); }
  ForcedTarget(const ForcedTarget&) = delete;
  ForcedTarget& operator=(const ForcedTarget&) = delete;
};

// The engine of a layout, of its kind.
template <class L>
const auto& engine_of(Placement placement = Placement::anywhere) {
  if constexpr (kind_of(L::kNumber) == Kind::maplet) {
    return maplet_engine(L::kNumber, placement).of_maplets();
  } else if constexpr (kind_of(L::kNumber) == Kind::expiring) {
    return expiring_engine(L::kNumber, placement).of_expiring_filters();
  } else {
    return filter_engine(L::kNumber, placement).of_filters();
  }
}

// A key's fingerprint, and its bucket offset << 16.
template <class L>
std::uint32_t random_pair(std::mt19937_64& random) {
  const auto rest = static_cast<std::uint32_t>(random());
  return L::fingerprint_of(rest) | L::bucket_offset_of(rest) << 16;
}

template <typename Test>
void for_each_target(Test&& test) {
  const std::vector<std::int64_t> targets = usable_targets();
  ASSERT_FALSE(targets.empty());
  for (const std::int64_t target : targets) {
    SCOPED_TRACE(hwy::TargetName(target));
    const ForcedTarget forced(target);
    test(target);
  }
}

// The same with the engine for a layout.
template <class L, typename Test>
void for_each_engine(Test&& test) {
  for_each_target([&](std::int64_t) { test(engine_of<L>()); });
}

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_ENGINE_KERNELS_EACH_TARGET_H_
