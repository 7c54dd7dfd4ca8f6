// Plans: bounds of settings, widths, and sums of rates that stay below the promise.
#include "lib/faces/embed/value/sub_filter_plan.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lib/engine/place/layout.h"
#include "tests/support/errors.h"

namespace nestline::redis { namespace {

Settings with_error(double error, std::uint16_t expansion = 1) {
  return {.error = error, .expansion = expansion};
}

TEST(SubFilterPlan, RefusesSettingsOutOfBounds) {
  EXPECT_NO_THROW(check({}));
  EXPECT_NO_THROW(check({1, 0.5, 255, 65535, 32768, 0}));
  const auto refused = [](const std::function<void(Settings&)>& spoil, const char* name) {
    Settings settings;
    spoil(settings);
    test::expect_error<std::invalid_argument>([&] { check(settings); }, name);
  };
  refused([](auto& s) { s.capacity = 0; }, "capacity");
  refused([](auto& s) { s.capacity = (std::uint64_t{1} << 40) + 1; }, "capacity");
  refused([](auto& s) { s.bucket_size = 0; }, "bucket_size");
  refused([](auto& s) { s.bucket_size = 256; }, "bucket_size");
  refused([](auto& s) { s.max_iterations = 0; }, "max_iterations");
  refused([](auto& s) { s.expansion = 32769; }, "expansion");
  refused([](auto& s) { s.error = 1; }, "error");
  refused([](auto& s) { s.error = -0.1; }, "error");
  refused([](auto& s) { s.error = std::numeric_limits<double>::quiet_NaN(); }, "error");
  refused([](auto& s) { s.error = 0.0002; }, "error");
  refused([](auto& s) { s.all_widths = true; }, "expansion 0");
  refused([](auto& s) { s = {.error = 0.01, .all_widths = true}; }, "expansion 0");
  EXPECT_NO_THROW(check(with_error(0.00012, 0)));
}

TEST(SubFilterPlan, RoundsExpansionUp) {
  for (const auto& [given, kept] : {std::pair{0, 0}, {1, 1}, {3, 4}, {32767, 32768}}) {
    const Settings settings = {.expansion = static_cast<std::uint16_t>(given)};
    EXPECT_EQ(normalized(settings).expansion, kept);
  }
}

TEST(SubFilterPlan, PromisesRedisBloomsRateByDefault) {
  EXPECT_DOUBLE_EQ(promised_fpr({}), 4.0 / 255);
  EXPECT_DOUBLE_EQ(promised_fpr(with_error(0.003)), 0.003);
  EXPECT_LE(promised_fpr({1, 0, 255, 20, 1, 0}), 1);
}

// A value that opens sub_filters one after the other, each grown as far as it may.
TEST(SubFilterPlan, SumsStayBelowThePromise) {
  for (const double error : {0.0, 0.1, 0.02, 0.01, 0.001, 0.0004, 0.00025}) {
    SCOPED_TRACE(error);
    const Settings settings = with_error(error);
    const auto promise = static_cast<Billionths>(promised_fpr(settings) * 1e9);
    Billionths used = 0;
    int kept = 0;
    for (int i = 0; i < 1000; ++i, ++kept) {
      const SubFilterPlan plan = plan_generation(settings, used, 1000);
      EXPECT_EQ(plan.capacity, 1000U);
      EXPECT_GE(plan.bits, error == 0 ? 12 : 8);
      const Billionths rate = rate_when_full(plan.bits, plan.most_growth);
      if (used + rate > promise) {
        // Only when the last width is all that is left; nothing is wasted then.
        EXPECT_EQ(plan.bits, 16);
        EXPECT_EQ(plan.most_growth, 0U);
        break;
      }
      used += rate;
    }
    RecordProperty("sub_filters", kept);
    EXPECT_GE(kept, error == 0 ? 58 : error > 0.015 ? 73 : error >= 0.001 ? 7 : 2);
  }
}

TEST(SubFilterPlan, TakesTheNarrowestWidthAndNoGrowthWithoutExpansion) {
  const auto bits = [](double error) { return plan_generation(with_error(error, 0), 0, 1).bits; };
  EXPECT_EQ(bits(0.05), 8);
  EXPECT_EQ(bits(0.01), 12);
  EXPECT_EQ(bits(0.0005), 16);
  EXPECT_EQ(bits(0), 12);
  for (const auto& [error, wanted] : {std::pair{0.05, 8}, {0.012, 9}, {0.01, 10}, {0.005, 12}}) {
    Settings settings = with_error(error, 0);
    settings.all_widths = true;
    EXPECT_NO_THROW(check(settings));
    EXPECT_EQ(plan_generation(settings, 0, 1).bits, wanted) << error;
  }
  EXPECT_EQ(plan_generation(with_error(0.01, 0), 0, 1).most_growth, 0U);
  EXPECT_GE(plan_generation({}, 0, 1).most_growth, 1U);
  for (const double error : {0.02, 0.01, 0.001, 0.00012}) {
    const SubFilterPlan plan = plan_generation(with_error(error, 0), 0, 1);
    EXPECT_LE(static_cast<double>(rate_when_full(plan.bits, 0)), error * 1e9) << error;
  }
}

// How far a value goes from a thousand items until the sum breaks the promise, by largest families.
TEST(SubFilterPlan, KeepsThePromiseForManyItems) {
  const auto items_kept = [](double error) {
    const Settings settings = with_error(error);
    const auto promise = static_cast<Billionths>(promised_fpr(settings) * 1e9);
    Billionths used = 0;
    std::uint64_t items = 0;
    SubFilterPlan plan = plan_generation(settings, used, 1000);
    while (items < std::uint64_t{1} << 40) {
      used += rate_when_full(plan.bits, plan.most_growth);
      if (used > promise) break;
      items += plan.capacity << plan.most_growth;
      plan = plan_family(settings, used, items);
    }
    return items;
  };
  EXPECT_GE(items_kept(0), 90'000'000'000U);
  EXPECT_GE(items_kept(0.01), 50'000'000'000U);
  EXPECT_GE(items_kept(0.001), 250'000U);
}

TEST(SubFilterPlan, NextMembersAreHalfOfWhatThereIs) {
  Settings settings;
  std::uint64_t units = 1;
  std::vector<unsigned> growths;
  while (const auto growth = next_growth(settings, units, 4)) {
    growths.push_back(*growth);
    units += std::uint64_t{1} << *growth;
  }
  EXPECT_EQ(growths, (std::vector<unsigned>{0, 0, 0, 1, 1, 2, 2}));
  settings.expansion = 4;
  EXPECT_EQ(next_growth(settings, 2, 4), 2U);
  EXPECT_EQ(next_growth(settings, 9, 4), std::nullopt);
  EXPECT_EQ(further_capacity(settings, 1000), 2000U);
  EXPECT_EQ(further_capacity(settings, 1), kMinFurtherCapacity);
  EXPECT_EQ(further_capacity(settings, ~std::uint64_t{0}), kMaxFurtherCapacity);
}

// After many turnovers more items are away than inserts alone put there: plans count with that.
TEST(SubFilterPlan, CountsWithTheRatesOfWhatTurnsOver) {
  for (const int bits : kFilterWidths) {
    EXPECT_GT(rate_when_full(bits, 0, true), rate_when_full(bits, 0) * 103 / 100) << bits;
  }
  Settings settings = with_error(0.0225, 0);
  EXPECT_EQ(plan_generation(settings, 0, 1).bits, 8);
  settings.turns_over = true;
  const SubFilterPlan plan = plan_generation(settings, 0, 1);
  EXPECT_TRUE(plan.turns_over);
  EXPECT_EQ(plan.bits, 12);
  settings.expansion = 1;
  for (const double error : {0.05, 0.01, 0.001, lowest_error(1)}) {
    settings.error = error;
    const SubFilterPlan first = plan_generation(settings, 0, 1000);
    EXPECT_LE(static_cast<double>(rate_when_full(first.bits, first.most_growth, true)),
              error / 2 * 1e9);
    EXPECT_TRUE(plan_family(settings, 1, 100'000).turns_over);
  }
  settings = with_error(lowest_error(0), 0);
  settings.turns_over = true;
  EXPECT_LE(static_cast<double>(rate_when_full(plan_generation(settings, 0, 1).bits, 0, true)),
            settings.error * 1e9);
}

TEST(SubFilterPlan, RatesDoubleWithEveryDoubling) {
  for (const int bits : kFilterWidths) {
    for (unsigned growth = 1; growth <= (bits == 8 ? 1U : 4U); ++growth) {
      const auto before = static_cast<double>(rate_when_full(bits, growth - 1));
      EXPECT_NEAR(static_cast<double>(rate_when_full(bits, growth)) / before, 2, 0.15);
    }
  }
}

}  // namespace
}  // namespace nestline::redis
