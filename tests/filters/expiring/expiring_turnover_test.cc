// Filters that turn over at their capacities, for ever as far as can be tested, refuse no key and
// miss none: keys that come evenly, all at once, or with lives of any length.
//
// NESTLINE_TURNOVER_KEYS is how many keys come in all, 200 million unless it is set.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "nestline/expiring_filter.h"

namespace nestline::test { namespace {

enum class Coming : std::uint8_t { evenly, with_any_life, at_once, in_two_parts };
constexpr std::array kComings = {Coming::evenly, Coming::with_any_life, Coming::at_once,
                                 Coming::in_two_parts};
constexpr std::array kCapacities = {1u, 2u, 10u, 100u, 300u, 400u, 500u, 1000u, 20'000u};
constexpr std::array kLoads = {0.5, 0.9, 0.95};

class ExpiringTurnover : public testing::TestWithParam<std::tuple<int, Coming>> {};

TEST_P(ExpiringTurnover, NoKeyIsRefusedOrMissed) {
  const auto [bits, coming] = GetParam();
  const char* const asked = std::getenv("NESTLINE_TURNOVER_KEYS");
  const std::uint64_t all = asked != nullptr ? std::strtoull(asked, nullptr, 10) : 200'000'000;
  constexpr std::uint64_t kTicks = ExpiringFilter::kMaxTtlTicks + 1;  // of one turnover
  std::mt19937_64 random(static_cast<std::uint64_t>(bits));
  for (const double load : kLoads) {
    for (const std::uint64_t wanted : kCapacities) {
      SCOPED_TRACE("capacity " + std::to_string(wanted) + ", load " + std::to_string(load));
      ExpiringFilter filter({.capacity = wanted, .bits = bits, .load = load});
      const std::uint64_t capacity = filter.capacity();
      ASSERT_GE(capacity, wanted);
      const std::uint64_t turnovers =
          all / (2 * kComings.size() * kLoads.size() * kCapacities.size()) / capacity + 2;
      std::uint64_t come = 0;
      std::vector<std::uint64_t> last;  // keys of this tick
      for (std::uint64_t tick = 0; tick < turnovers * kTicks; ++tick) {
        const std::uint64_t part = tick % kTicks;
        std::uint64_t count = 0;
        if (coming <= Coming::with_any_life) {
          count = capacity * (part + 1) / kTicks - capacity * part / kTicks;
        } else if (coming == Coming::at_once) {
          count = part == 0 ? capacity : 0;
        } else {
          count = part == 0 || part == kTicks / 2 ? capacity / 2 : 0;
        }
        last.resize(count);
        for (std::uint64_t& key : last) {
          key = come++;
          const auto life = static_cast<unsigned>(coming == Coming::with_any_life
                                                      ? 1 + random() % ExpiringFilter::kMaxTtlTicks
                                                      : ExpiringFilter::kMaxTtlTicks);
          ASSERT_NE(filter.insert(key, life).outcome, Outcome::full) << "key " << key;
        }
        if (tick % 101 == 0) {
          std::vector<std::uint8_t> found(last.size());
          ASSERT_EQ(filter.may_contain(last, found), last.size());
        }
        ASSERT_LE(filter.size(), filter.slots());
        filter.advance();
      }
      // All of the last life are there, until they die.
      if (coming == Coming::evenly) {
        std::vector<std::uint64_t> alive(capacity - capacity / kTicks - 1);
        for (std::uint64_t i = 0; i < alive.size(); ++i) alive[i] = come - 1 - i;
        std::vector<std::uint8_t> found(alive.size());
        ASSERT_EQ(filter.may_contain(alive, found), alive.size());
      }
      for (std::uint64_t tick = 0; tick < kTicks; ++tick) filter.advance();
      ASSERT_EQ(filter.size(), 0u);
    }
  }
}

// Whatever is asked for, at any load, there are as many blocks as that takes.
TEST(ExpiringSizing, CapacityIsAtLeastTheWantedOne) {
  for (const int bits : {8, 12}) {
    for (std::uint64_t capacity = 1; capacity < 3000; capacity += 7) {
      for (const double load : {0.5, 0.55, 0.7, 0.9, 0.93, 0.95}) {
        const ExpiringFilter filter({.capacity = capacity, .bits = bits, .load = load});
        ASSERT_GE(filter.capacity(), capacity);
        const auto slots = static_cast<double>(filter.slots());
        ASSERT_LE(static_cast<double>(filter.capacity()), load * slots + 1e-6);
        const double most = std::max(320.0, static_cast<double>(capacity) / load * 1.04 + 40);
        ASSERT_LE(slots, most);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ExpiringTurnover,
                         testing::Combine(testing::Values(8, 12), testing::ValuesIn(kComings)));

}  // namespace
}  // namespace nestline::test
