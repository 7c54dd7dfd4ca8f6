// Filters do what Options ask for: they reach capacities and meet rates. Bad options are refused
// with a sentence that names them.
#include "lib/filters/filter/sizing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/engine/place/layout.h"
#include "lib/filters/filter/blocks.h"
#include "nestline/concurrent_filter.h"
#include "nestline/maplet.h"
#include "tests/filters/filter/strangers.h"
#include "tests/support/errors.h"

namespace nestline::test { namespace {

constexpr std::uint64_t kCapacities[] = {1, 2, 7, 59, 60, 61, 1000, 1000000};
constexpr double kLoads[] = {0.5, 0.6, 0.75, 0.8, 0.9, 0.95};

std::uint64_t splitmix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

// The keys of one filling: each seed has other ones.
std::vector<Hash> filling(std::uint64_t seed, std::uint64_t count) {
  std::vector<Hash> hashes(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    hashes[i].value = splitmix64(seed * 0x1234567890abcd + i);
  }
  return hashes;
}

// One filter of each width, filled to its capacity again and again. NESTLINE_CAPACITY_KEYS: so many
// keys in all.
TEST(Sizing, NoKeyIsRefusedBelowTheCapacity) {
  const char* const asked = std::getenv("NESTLINE_CAPACITY_KEYS");
  const std::uint64_t keys = asked != nullptr ? std::stoull(asked) : 3'000'000;
  constexpr std::uint64_t kCapacity = 1'000'000;
  for (const int bits : kFilterWidths) {
    Filter filter({.capacity = kCapacity, .bits = bits});
    // Refusals would be most frequent at 8 bits.
    const std::uint64_t fillings = (bits == 8 ? keys / 2 : keys / 8) / kCapacity;
    for (std::uint64_t seed = 0; seed <= fillings; ++seed) {
      filter.clear();
      const auto hashes = filling(seed, filter.capacity());
      ASSERT_EQ(filter.insert(hashes), hashes.size()) << bits << " bits, seed " << seed;
    }
  }
}

// The rare keys that a search of few candidates refuses below the capacity: each in the filling in
// which it was found.
TEST(Sizing, AHardKeyIsStoredAfterAWiderSearch) {
  const auto store = [](int bits, std::uint64_t seed, std::uint64_t number) {
    Filter filter({.capacity = 1'000'000, .bits = bits});
    return filter.insert(filling(seed, number + 1)) == number + 1;
  };
  EXPECT_TRUE(store(8, 76, 994'545));
  EXPECT_TRUE(store(12, 96, 985'590));
}

// A filter at its capacity is as full as wanted, never fuller, and takes no more memory than that.
TEST(Sizing, LoadIsThatOfTheFullFilter) {
  for (const double load : kLoads) {
    for (const int bits : kFilterWidths) {
      for (const std::uint64_t capacity : kCapacities) {
        SCOPED_TRACE("load " + std::to_string(load) + ", " + std::to_string(bits) + " bits, for " +
                     std::to_string(capacity));
        // Many small filters: the promise is one failure in a million fillings. To map their memory
        // would take longer than to fill them.
        const int most = load == 0.95 ? 2000 : 100;
        const int fillings = capacity < 100 ? most : capacity <= 1000 ? most / 10 : 1;
        for (int i = 0; i < fillings; ++i) {
          const auto seed = static_cast<std::uint64_t>(i);
          Filter filter({.capacity = capacity,
                         .bits = bits,
                         .load = load,
                         .seed = seed,
                         .memory = capacity <= 1000 ? std::pmr::new_delete_resource() : nullptr});
          ASSERT_EQ(filter.bits(), bits);
          ASSERT_GE(filter.capacity(), capacity);
          const auto slots = static_cast<double>(filter.slots());
          EXPECT_LE(static_cast<double>(filter.capacity()), load * slots);
          // At most one block more than needed; the smallest filters promise less than 95 %.
          const double needed = static_cast<double>(capacity) / (slots < 500 ? 0.5 : load);
          EXPECT_LE(slots, needed + slots_of(bits));
          ASSERT_EQ(filter.insert(sequence(seed << 32, filter.capacity())), filter.capacity());
          ASSERT_EQ(filter.size(), filter.capacity());
          if (capacity < 1000000) continue;
          EXPECT_NEAR(filter.load_factor(), load, 1e-4);
          const double planned =
              false_positive_rate(bits, load, second_probe_share(bits, load, 0), 0);
          EXPECT_NEAR(filter.expected_fpr(), planned, 0.02 * planned);
        }
      }
    }
  }
}

TEST(Sizing, ALowRateLowersTheLoad) {
  const auto full = [](const Options& options) {
    const Size size = decide_size(options);
    const double slots = static_cast<double>(size.blocks) * slots_of(size.bits);
    return static_cast<double>(size.capacity) / slots;
  };
  // 8 bits meet 0.01 at a load of about 0.62.
  EXPECT_NEAR(full({.capacity = 100000, .fpr = 0.01, .bits = 8, .load = 0.8}), 0.62, 0.01);
  EXPECT_NEAR(full({.capacity = 100000, .fpr = 0.01, .bits = 8, .load = 0.55}), 0.55, 0.001);
  EXPECT_NEAR(full({.capacity = 100000, .fpr = 0.01, .bits = 12, .load = 0.8}), 0.8, 0.001);
  // At a low load the narrower width can take less memory for the same rate.
  EXPECT_EQ(decide_size({.capacity = 100000, .fpr = 0.01, .load = 0.95}).bits, 9);
  EXPECT_EQ(decide_size({.capacity = 100000, .fpr = 0.01, .load = 0.7}).bits, 8);
}

TEST(Sizing, WidthFollowsFromTheRate) {
  const auto bits = [](double fpr) { return Filter({.capacity = 1000, .fpr = fpr}).bits(); };
  EXPECT_EQ(bits(0.5), 8);
  EXPECT_EQ(bits(0.02), 8);
  EXPECT_EQ(bits(0.014), 8);
  EXPECT_EQ(bits(0), 9) << "the default is 0.01";
  EXPECT_EQ(bits(0.01), 9);
  EXPECT_EQ(bits(0.005), 10);
  EXPECT_EQ(bits(0.001), 12);
  EXPECT_EQ(bits(0.0005), 16);
  EXPECT_EQ(bits(0.0001), 16);
  EXPECT_EQ(bits(0.00005), 16);
}

TEST(Sizing, LowerRatesOfOneWidthTakeMoreBlocks) {
  std::size_t last = 0;
  for (const double fpr : {0.016, 0.014, 0.012, 0.01, 0.009, 0.0085}) {
    const Filter filter({.capacity = 100000, .fpr = fpr, .bits = 8});
    EXPECT_EQ(filter.bits(), 8);
    EXPECT_GT(filter.memory_bytes(), last);
    last = filter.memory_bytes();
  }
}

void expect_refused(const Options& options, const std::string& part) {
  expect_error<std::invalid_argument>([&] { const Filter filter(options); }, part);
}

TEST(Sizing, BadOptionsAreRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  expect_refused({}, "capacity must be at least 1");
  expect_refused({.capacity = std::numeric_limits<std::uint64_t>::max()}, "capacity");
  expect_refused({.capacity = std::uint64_t{1} << 52}, "2^40 blocks");
  for (const double fpr : {-0.1, 1.0, 2.0, nan, infinity, -infinity}) {
    expect_refused({.capacity = 1, .fpr = fpr}, "fpr must be above 0 and below 1");
  }
  for (const int bits : {-8, 1, 7, 11, 13, 14, 32}) {
    expect_refused({.capacity = 1, .bits = bits}, "bits must be 8, 9, 10, 12 or 16");
  }
  expect_refused({.capacity = 1, .fpr = 0.001, .bits = 8}, "lowest false-positive rate of 8-bit");
  expect_refused({.capacity = 1, .fpr = 0.0001, .bits = 12}, "take more bits");
  expect_refused({.capacity = 1, .fpr = 1e-9}, "lowest false-positive rate of 16-bit");
  expect_refused({.capacity = 1, .max_capacity = (std::uint64_t{1} << 53) + 1}, "max_capacity");
  for (const double load : {0.0, 0.49, 0.9501, 1.0, -0.5, nan, infinity, -infinity}) {
    expect_refused({.capacity = 1, .load = load}, "load must be from 0.5 to 0.95; it is ");
  }
}

// The lowest rate that a message names is taken. Every width, with and without growth.
TEST(Sizing, TheRateThatARefusalNamesIsTaken) {
  for (const int bits : {0, 8, 9, 10, 12, 16}) {
    for (const std::uint64_t times : {0u, 2u, 4u, 16u, 100u, 1000u}) {
      for (const bool turns_over : {false, true}) {
        Options options{.capacity = 100000,
                        .fpr = 1e-9,
                        .bits = bits,
                        .max_capacity = 100000 * times,
                        .turns_over = turns_over};
        std::string why;
        try {
          decide_size(options);
        } catch (const std::invalid_argument& refused) {
          why = refused.what();
        }
        const std::string before = "fpr 1e-09 is below ";
        if (why.find("times at most") != std::string::npos) continue;  // at no rate
        ASSERT_EQ(why.find(before), 0u) << why;
        options.fpr = std::stod(why.substr(before.size()));
        EXPECT_NO_THROW(decide_size(options)) << why;
      }
    }
  }
}

// So is the growth that a message names, and twice as much is refused.
TEST(Sizing, TheGrowthThatARefusalNamesIsTaken) {
  const auto refusal = [](const Options& options) {
    try {
      decide_size(options);
    } catch (const std::invalid_argument& refused) {
      return std::string(refused.what());
    }
    return std::string();
  };
  int refused = 0;
  for (const int bits : {0, 8, 9, 10, 12, 16}) {
    for (const double fpr : {0.0, 0.1, 0.02, 0.01, 0.001}) {
      for (const std::uint64_t times : {300u, 3000u, 1000000u}) {
        Options options{.capacity = 100000, .fpr = fpr, .bits = bits};
        if (!refusal(options).empty()) continue;
        options.max_capacity = options.capacity * times;
        const std::string why = refusal(options);
        if (why.empty()) continue;
        const std::size_t at = std::min(why.find("grow to "), why.find("; it holds up to "));
        ASSERT_NE(at, std::string::npos) << why;
        ++refused;
        options.max_capacity = options.capacity * std::stoul(why.substr(why.find(" to ", at) + 4));
        EXPECT_EQ(refusal(options), "") << why;
        options.max_capacity *= 2;
        EXPECT_NE(refusal(options), "") << why;
      }
    }
  }
  EXPECT_GT(refused, 40);
}

TEST(Sizing, ANumberThatIsRefusedIsToldInFull) {
  expect_refused({.capacity = 1, .load = 0.9500001}, "it is 0.9500001");
  expect_refused({.capacity = 1, .load = 0.96}, "it is 0.96");
}

TEST(Sizing, OptionsThatAreLeftOutAreRefused) {
  EXPECT_THROW(Filter filter({}), std::invalid_argument);
  EXPECT_THROW(ConcurrentFilter filter({}), std::invalid_argument);
  EXPECT_THROW(Maplet maplet({}), std::invalid_argument);
}

TEST(Sizing, ImpossibleGrowthIsRefused) {
  const auto options = [](std::uint64_t times, double fpr, int bits) {
    return Options{.capacity = 1000, .fpr = fpr, .bits = bits, .max_capacity = 1000 * times};
  };
  expect_refused(options(17, 0.1, 8), "up to 16 times: raise capacity or fpr, take more bits");
  expect_refused(options(16, 0.0001, 0), "at a max_capacity of 16 times capacity");
  expect_refused(options(16, 0.0001, 0), "up to 4 times: raise capacity or fpr");
  expect_refused(options(1000, 0.01, 0), "up to 256 times");
  expect_refused(options(2000, 0.01, 0),
                 "but at fpr 0.01 a filter of 16-bit fingerprints can grow to 256");
  expect_refused(options(4, 0.0001, 12), "fpr 0.0001 is below");
  // More doublings than the width has bits for.
  expect_refused(options(33, 0, 8), "8-bit fingerprints can grow to 32 times at most");
  expect_refused(options(513, 0, 12), "12-bit fingerprints can grow to 512 times at most");
  expect_refused(options(8193, 0, 16), "16-bit fingerprints can grow to 8192 times at most");
  expect_refused(options(1000000, 0.5, 0), "16-bit fingerprints can grow to 1024 times at most");
  expect_refused({.capacity = std::uint64_t{1} << 44, .bits = 8, .max_capacity = 1ull << 48},
                 "max_capacity needs more than 2^40 blocks");
  for (const int bits : kFilterWidths) {
    EXPECT_NO_THROW(decide_size(options(std::uint64_t{2} << max_growth(bits), 0, bits)));
  }
  EXPECT_NO_THROW(decide_size(options(256, 0, 0)));
  EXPECT_NO_THROW(decide_size(options(32, 0.001, 0)));
}

// The plan for growth: doublings end at max_capacity, not before and not far beyond it, and the
// load stays the wanted one.
TEST(Sizing, GrowthReachesMaxCapacity) {
  for (const std::uint64_t capacity : {1u, 10u, 999u, 50000u, 100000000u}) {
    for (const int bits : {0, 8, 9, 10, 12, 16}) {
      for (const double fpr : {0.0, 0.1, 0.02, 0.005, 0.0005}) {
        for (const std::uint64_t times : {2u, 3u, 4u, 11u, 16u, 100u, 4096u}) {
          const Options options{.capacity = capacity,
                                .fpr = fpr,
                                .bits = bits,
                                .max_capacity = capacity * times,
                                .load = times % 2 == 0 ? 0.95 : 0.6};
          Size size{};
          try {
            size = decide_size(options);
          } catch (const std::invalid_argument&) {
            continue;  // the test above checks whether that is right
          }
          EXPECT_GE(size.capacity, capacity);
          EXPECT_EQ(size.max_capacity, options.max_capacity);
          EXPECT_LE(size.growth, max_growth(size.bits));
          std::uint64_t promised = size.capacity;
          for (std::uint32_t growth = 1; growth <= size.growth; ++growth) {
            EXPECT_LT(promised, options.max_capacity);
            promised = grown_capacity(size.bits, {size.blocks, growth}, promised);
          }
          EXPECT_GE(promised, options.max_capacity);
          // The rate holds at what is promised at the end, so at max_capacity too.
          const double slots = static_cast<double>(size.blocks << size.growth) *
                               visit_layout(size.bits, [](auto layout) { return layout.kSlots; });
          const double load = static_cast<double>(promised) / slots;
          EXPECT_LE(load, options.load);
          const double wanted = fpr == 0 && bits == 0 ? 0.01 : fpr;
          if (wanted != 0) {
            EXPECT_LE(
                false_positive_rate(size.bits, load,
                                    second_probe_share(size.bits, load, size.growth), size.growth),
                wanted);
          }
        }
      }
    }
  }
}

// What safe_keys promises for grown filters, filled many times.
TEST(Sizing, SafeKeysAfterGrowth) {
  for (const int bits : kFilterWidths) {
    for (const std::uint64_t bases : {1u, 2u, 5u, 16u, 60u, 300u}) {
      for (const std::uint32_t growth : {1u, 2u, 4u, 7u}) {
        // Leaving aside keys that look the same.
        if (growth > (bits <= 9 ? 1u : bits == 10 ? 2u : bits == 12 ? 4u : 7u)) continue;
        const Geometry geometry{bases, growth};
        const std::uint64_t keys = safe_keys(bits, geometry);
        const std::uint64_t fillings = std::clamp<std::uint64_t>(150'000 / keys, 1, 1000);
        for (std::uint64_t i = 0; i < fillings; ++i) {
          auto filter = FilterAccess::make(
              make_blocks({bits, geometry, i, keys}, std::pmr::new_delete_resource()));
          ASSERT_EQ(filter.insert(sequence(i << 32, keys)), keys)
              << bits << " bits, " << bases << " base blocks, growth " << growth << ", seed " << i;
        }
      }
    }
  }
}

// Filled up to max_capacity, doubled wherever the capacity is reached: every key is stored, and the
// measured rate is the wanted one.
TEST(Sizing, RateHoldsAtMaxCapacity) {
  struct Case {
    std::uint64_t capacity;
    std::uint64_t times;
    double fpr;
    int bits;  // that are chosen
  };
  for (const Case& c :
       {Case{50000, 2, 0.04, 8}, Case{50000, 16, 0.02, 12}, Case{20000, 7, 0.01, 12},
        Case{60000, 16, 0.01, 16}, Case{3000, 100, 0.01, 16}, Case{50000, 4, 0.004, 12},
        Case{50000, 4, 0.0005, 16}}) {
    SCOPED_TRACE("fpr " + std::to_string(c.fpr) + ", " + std::to_string(c.times) + " times");
    const std::uint64_t max_capacity = c.capacity * c.times;
    Filter filter({.capacity = c.capacity, .fpr = c.fpr, .max_capacity = max_capacity});
    EXPECT_EQ(filter.bits(), c.bits);
    EXPECT_LT(filter.capacity(), max_capacity);
    for (std::uint64_t key = 0; key < max_capacity; ++key) {
      if (filter.size() == filter.capacity()) {
        ASSERT_TRUE(filter.grow());
      }
      ASSERT_TRUE(filter.insert(key)) << key;
    }
    EXPECT_GE(filter.capacity(), max_capacity);
    std::vector<std::uint64_t> bitmap((max_capacity + 63) / 64);
    EXPECT_EQ(filter.may_contain_bits(sequence(0, max_capacity), bitmap), max_capacity);
    const double measured = measured_fpr(filter, static_cast<std::uint64_t>(5000 / c.fpr));
    EXPECT_LE(measured, c.fpr);
    EXPECT_NEAR(filter.expected_fpr(), measured, 0.1 * measured);
  }
}

TEST(Sizing, LoadHoldsWhileTheFilterGrows) {
  for (const int bits : kFilterWidths) {
    for (const double load : {0.5, 0.7}) {
      Filter filter({.capacity = 5000, .bits = bits, .max_capacity = 40000, .load = load});
      double fullest = 0;
      for (std::uint64_t key = 0; key < 40000; ++key) {
        ASSERT_TRUE(filter.insert(key)) << key;
        fullest = std::max(fullest, filter.load_factor());
      }
      EXPECT_GE(filter.growth(), 2u);
      EXPECT_LE(fullest, load);
      EXPECT_GT(fullest, 0.99 * load);
      EXPECT_EQ(filter.snapshot().capacity(), filter.capacity());
    }
  }
}

// With guest lanes, where doublings leave few classes.
TEST(Sizing, OfFiltersThatTurnOverAndDoubleOften) {
  for (const bool may_fold : {false, true}) {
    for (const int bits : kFilterWidths) {
      for (std::uint32_t doublings = 1; doublings <= max_growth(bits); ++doublings) {
        SCOPED_TRACE(std::to_string(bits) + " bits, " + std::to_string(doublings) + " doublings");
        const Options options = {.capacity = 100'000,
                                 .bits = bits,
                                 .max_capacity = std::uint64_t{100'000} << doublings,
                                 .turns_over = true,
                                 .may_fold = may_fold};
        const Size size = decide_size(options);
        const double slots = static_cast<double>(size.blocks) * slots_of(bits);
        // It begins with up to twice the blocks, and doubles once less often.
        EXPECT_LE(size.growth, doublings);
        EXPECT_GE(size.growth + 1, doublings);
        const int taken = static_cast<int>(size.growth) + 8 - bits;
        const double planned = taken < 1 ? 0.95 : taken < 4 ? 0.90 : 0.87;
        EXPECT_NEAR(static_cast<double>(size.capacity) / slots, planned, 0.002);
        Options other = options;
        other.turns_over = false;
        const Size plain = decide_size(other);
        EXPECT_NEAR(static_cast<double>(plain.capacity) /
                        (static_cast<double>(plain.blocks) * slots_of(bits)),
                    0.95, 0.002);
        other = options;
        other.load = 0.8;
        const Size lower = decide_size(other);
        EXPECT_NEAR(static_cast<double>(lower.capacity) /
                        (static_cast<double>(lower.blocks) * slots_of(bits)),
                    0.8, 0.002);
      }
    }
  }
  // Without max_capacity as many halvings as without the option.
  EXPECT_EQ(
      decide_size({.capacity = 2'000'000, .bits = 8, .turns_over = true, .may_fold = true}).growth,
      4u);
}

TEST(Sizing, RefusedMemoryIsBadAlloc) {
  EXPECT_THROW(Filter({.capacity = std::uint64_t{1} << 44}), std::bad_alloc);
}

TEST(Sizing, FilterDescribesItself) {
  Filter filter({.capacity = 1000, .fpr = 0.02, .seed = 99});
  EXPECT_EQ(filter.seed(), 99u);
  EXPECT_EQ(filter.size(), 0u);
  EXPECT_EQ(filter.load_factor(), 0);
  EXPECT_EQ(filter.expected_fpr(), 0);
  EXPECT_EQ(filter.memory_bytes() % 64, 0u);
  EXPECT_TRUE(filter.insert(std::uint64_t{1}));
  EXPECT_EQ(filter.size(), 1u);
  EXPECT_DOUBLE_EQ(filter.load_factor(),
                   1 / (static_cast<double>(filter.memory_bytes()) / 64 * 60));
  EXPECT_GT(filter.expected_fpr(), 0);
}

// A filter within a budget takes no more, and one key more would take more.
TEST(Budget, HoldsTheMostKeysThatFit) {
  for (const double fpr : {0.5, 0.02, 0.01, 0.001, 0.0001}) {
    for (const std::uint64_t bytes : {4096u, 4097u, 6399u, 6400u, 1'000'000u, 123'456'789u}) {
      SCOPED_TRACE(std::to_string(bytes) + " bytes, fpr " + std::to_string(fpr));
      const Options options = Options::within(bytes, fpr);
      EXPECT_EQ(options.capacity, capacity_for(bytes, fpr));
      EXPECT_LE(bytes_for(options), bytes);
      EXPECT_GT(bytes_for({.capacity = options.capacity + 1, .fpr = fpr}), bytes);
      if (bytes <= 1'000'000) {
        EXPECT_EQ(Filter(options).memory_bytes(), bytes_for(options));
      }
    }
  }
}

TEST(Budget, HasBounds) {
  EXPECT_EQ(capacity_for(0, 0.01), 0u);
  EXPECT_EQ(capacity_for(63, 0.01), 0u);
  EXPECT_THROW((void)Options::within(63, 0.01), std::invalid_argument);
  EXPECT_GT(capacity_for(~std::uint64_t{0}, 0.01), std::uint64_t{1} << 45);
  EXPECT_LE(bytes_for(Options::within(~std::uint64_t{0}, 0.01)), std::uint64_t{64} << 40);
  for (const double fpr : {0.0, -1.0, 1.0, 1e-9}) {
    EXPECT_THROW((void)capacity_for(1'000'000, fpr), std::invalid_argument) << fpr;
    EXPECT_THROW((void)Options::within(1'000'000, fpr), std::invalid_argument) << fpr;
  }
}

}  // namespace
}  // namespace nestline::test
