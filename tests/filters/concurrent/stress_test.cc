// Many threads on small, nearly full filters. Each thread has its own keys, so that every answer
// about a key can be checked while everything happens at once. NESTLINE_STRESS_SECONDS says how
// long all tests together may take (default: 3). A failure prints what helps to find the cause, but
// what the threads did cannot be repeated.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "lib/engine/place/layout.h"
#include "lib/filters/filter/sizing.h"
#include "nestline/concurrent_filter.h"
#include "tests/filters/concurrent/stress_owner.h"
#include "tests/support/model.h"

namespace nestline::test { namespace {

constexpr std::size_t kThreads = 4;

std::uint64_t slots_of(const Filter& filter) {
  return FilterAccess::blocks(filter).view.geometry.blocks() *
         visit_layout(filter.bits(), [](auto layout) { return std::uint64_t{layout.kSlots}; });
}

// Every block holds fingerprints where they belong and no lock or version; `keys` of them in all.
void check_blocks(const Filter& filter, std::uint64_t keys) {
  const auto& state = FilterAccess::blocks(filter);
  std::uint64_t taken = 0;
  const auto bytes = block_bytes(filter);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if (at % kBlockBytes > kOverflowMarkByte) {
      ASSERT_EQ(bytes[at], 0) << "byte " << at;
    }
  }
  visit_layout(filter.bits(), [&](auto layout) {
    using L = decltype(layout);
    for (std::uint64_t b = 0; b < state.view.geometry.blocks(); ++b) {
      for (std::uint32_t s = 0; s < L::kSlots; ++s) {
        taken += L::get(state.view.blocks[b], s) != 0;
      }
    }
  });
  ASSERT_EQ(taken, keys);
  ASSERT_EQ(filter.size(), keys);
}

// What else happens while the owners work.
enum class Beside { nothing, growing, looking };

// Runs owners on one filter until the time is over, then checks everything that is known about it.
template <typename Key>
void stress(const Options& options, double load, Beside beside,
            std::chrono::duration<double> time) {
  Filter empty(options);
  const std::uint64_t slots = slots_of(empty);
  // A filter that grows should grow now and then; one that does not is kept nearly full.
  const std::uint64_t most = std::max(options.capacity, options.max_capacity);
  const auto target = [&](double share) {
    const double keys =
        options.max_capacity == 0 ? load * static_cast<double>(slots) : static_cast<double>(most);
    return static_cast<std::uint64_t>(share * keys / kThreads);
  };
  ConcurrentFilter filter(std::move(empty));
  std::vector<std::unique_ptr<Owner<Key>>> owners;
  for (std::size_t i = 0; i < kThreads; ++i) {
    owners.push_back(std::make_unique<Owner<Key>>(filter, i + 1, target(1.2) + 40));
  }
  // Keys without an owner, stored from the beginning to the end.
  const Keys<Key> standing(target(0.2) + 2, std::uint64_t{99} << 32);
  std::uint64_t others = filter.insert(standing.all());
  ASSERT_EQ(others, standing.all().size());

  const auto start = Clock::now();
  const auto end = start + std::chrono::duration_cast<Clock::duration>(time);
  std::atomic<bool> over{false};
  const auto visit = [&] {
    for (std::uint64_t round = 0; !over; ++round) {
      if (beside == Beside::growing && round % 8 == 7) {
        filter.grow();
      } else if (beside == Beside::growing && round % 8 == 3) {
        filter.shrink();
      } else if (beside == Beside::looking && round % 4 == 3) {
        Filter addition(options);
        EXPECT_TRUE(addition.insert(standing.all().front()));
        try {
          filter.merge(addition);
          ++others;
          // Erase them again, so that there are not more and more copies.
          ASSERT_TRUE(filter.erase(standing.all().front()));
          --others;
        } catch (const std::length_error&) {
          // The filter is full at the moment.
        }
      } else if (beside != Beside::nothing) {
        std::vector<std::vector<std::uint32_t>> before;
        for (const auto& owner : owners) before.push_back(owner->stamps());
        const Filter snapshot = filter.snapshot();
        for (std::size_t i = 0; i < owners.size(); ++i) {
          owners[i]->check_stored_since(before[i], snapshot);
        }
        check_blocks(snapshot, snapshot.size());
        for (const Key& key : standing.all()) ASSERT_TRUE(snapshot.may_contain(key));
      }
      for (const Key& key : standing.all()) ASSERT_TRUE(filter.may_contain(key));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  std::thread visitor(visit);
  run_threads(kThreads, [&](std::size_t i) {
    // At least one round, however busy the machine is.
    do {
      // Growing filters fill up over the time.
      const double passed = std::min(1.0, (Clock::now() - start) / time);
      const double share = options.max_capacity == 0 ? 0.95 : 0.2 + 0.78 * passed;
      for (int step = 0; step < 100; ++step) owners[i]->step(target(share), owners);
    } while (!testing::Test::HasFatalFailure() && Clock::now() < end);
  });
  over = true;
  visitor.join();

  std::uint64_t stored = others;
  std::uint64_t steps = 0;
  std::uint64_t refused = 0;
  for (const auto& owner : owners) {
    owner->check_all(filter);
    stored += owner->stored();
    steps += owner->steps();
    refused += owner->refused();
  }
  EXPECT_EQ(filter.size(), stored);
  testing::Test::RecordProperty("steps", static_cast<int>(steps));
  testing::Test::RecordProperty("refused", static_cast<int>(refused));
  Filter frozen = std::move(filter).freeze();
  check_blocks(frozen, stored);
  for (const auto& owner : owners) owner->check_all(frozen);
  for (const auto& owner : owners) owner->erase_all(frozen);
  EXPECT_EQ(frozen.erase(standing.all()), standing.all().size());
  check_blocks(frozen, 0);
}

template <typename Key>
class StressTest : public testing::Test {
 protected:
  static constexpr double kShare = 0.7 / 3;  // of the time, for each kind of key

  static Options of_blocks(int bits, std::uint64_t blocks) {
    return {.capacity = safe_keys(bits, Geometry{blocks, 0}), .bits = bits, .seed = blocks};
  }
};
using KeyTypes = testing::Types<std::uint64_t, Hash, std::string_view>;
TYPED_TEST_SUITE(StressTest, KeyTypes);

TYPED_TEST(StressTest, NearlyFull) {
  constexpr std::uint64_t kBlocks[] = {1, 2, 3, 8, 20, 64};
  const auto time =
      stress_time(TestFixture::kShare / 2 / (kFilterWidths.size() * std::size(kBlocks)));
  for (const int bits : kFilterWidths) {
    for (const std::uint64_t blocks : kBlocks) {
      SCOPED_TRACE(std::to_string(bits) + " bits, " + std::to_string(blocks) + " blocks");
      const double load = blocks < 4 ? 0.9 : 0.96;
      stress<TypeParam>(this->of_blocks(bits, blocks), load, Beside::nothing, time);
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(StressTest, SnapshotsAndMergesMeanwhile) {
  const auto time = stress_time(TestFixture::kShare / 4 / (kFilterWidths.size() * 2));
  for (const int bits : kFilterWidths) {
    for (const std::uint64_t blocks : {2u, 30u}) {
      SCOPED_TRACE(std::to_string(bits) + " bits, " + std::to_string(blocks) + " blocks");
      stress<TypeParam>(this->of_blocks(bits, blocks), 0.9, Beside::looking, time);
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(StressTest, ThroughGrowth) {
  const auto time = stress_time(TestFixture::kShare / 4 / (kFilterWidths.size() * 2));
  for (const int bits : kFilterWidths) {
    for (const std::uint64_t blocks : {1u, 16u}) {
      SCOPED_TRACE(std::to_string(bits) + " bits, " + std::to_string(blocks) + " blocks");
      Options options = this->of_blocks(bits, blocks);
      options.max_capacity = options.capacity * 6;
      stress<TypeParam>(options, 0, Beside::growing, time);
      if (this->HasFatalFailure()) return;
    }
  }
}

// Several filters at once, and threads that come and go.
TEST(StressMore, ThreadsThatExitAndSeveralFilters) {
  using Key = std::uint64_t;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(stress_time(0.06));
  std::vector<ConcurrentFilter> filters;
  for (const int bits : {8, 9, 16}) {
    filters.emplace_back(Options{.capacity = 400, .bits = bits, .max_capacity = 1000});
  }
  std::vector<std::unique_ptr<Owner<Key>>> owners;
  for (std::size_t i = 0; i < 3 * kThreads; ++i) {
    owners.push_back(std::make_unique<Owner<Key>>(filters[i % 3], i + 1, 120));
  }
  int generations = 0;
  do {
    // Thread i has an owner for each filter; the owner's next thread takes over its keys.
    run_threads(kThreads, [&](std::size_t i) {
      for (int round = 0; round < 30; ++round) {
        for (std::size_t f = 0; f < 3; ++f) {
          const std::size_t mine = f + 3 * i;
          owners[mine]->step(80, std::span(&owners[mine], 1));
        }
      }
    });
    ++generations;
    // While all threads are gone, the filters may move.
    std::swap(filters[0], filters[1]);
    ConcurrentFilter moved(std::move(filters[2]));
    filters[2] = std::move(moved);
    for (std::size_t i = 0; i < owners.size(); ++i) {
      const std::size_t f = i % 3;
      owners[i]->work_on(filters[f == 2 || generations % 2 == 0 ? f : 1 - f]);
    }
  } while (Clock::now() < end && !testing::Test::HasFatalFailure());
  std::uint64_t stored = 0;
  for (std::size_t i = 0; i < owners.size(); ++i) stored += owners[i]->stored();
  std::uint64_t size = 0;
  for (const auto& filter : filters) size += filter.size();
  EXPECT_EQ(size, stored);
}

// When many threads insert a key if it is not stored, one of them stores it.
TEST(StressMore, OneStoresAUniqueKey) {
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(stress_time(0.06));
  std::uint64_t first = 0;
  do {
    for (const int bits : kFilterWidths) {
      constexpr std::size_t kKeys = 300;
      ConcurrentFilter filter({.capacity = kKeys, .bits = bits, .max_capacity = 3 * kKeys});
      std::vector<std::atomic<int>> stored(kKeys);
      std::atomic<bool> go{false};
      run_threads(kThreads, [&](std::size_t i) {
        if (i + 1 == kThreads) go = true;
        while (!go) std::this_thread::yield();
        for (std::size_t key = 0; key < kKeys; ++key) {
          const Inserted inserted = filter.insert_unique(first + key);
          ASSERT_TRUE(inserted || inserted.outcome == Outcome::present);
          stored[key] += inserted ? 1 : 0;
          ASSERT_TRUE(filter.may_contain(first + key));
        }
      });
      std::uint64_t total = 0;
      for (const auto& count : stored) {
        ASSERT_LE(count, 1);
        total += static_cast<std::uint64_t>(count);
      }
      ASSERT_EQ(filter.size(), total);
      // Keys that look like another are few.
      ASSERT_GT(total, kKeys * 8 / 10);
      first += kKeys;
    }
  } while (Clock::now() < end && !testing::Test::HasFatalFailure());
}

// A full filter soon reports `full` to every writer, and holds at least its capacity.
TEST(StressMore, AFullFilterAnswersFull) {
  for (const int bits : kFilterWidths) {
    for (const std::uint64_t blocks : {1u, 3u, 8u, 40u}) {
      SCOPED_TRACE(std::to_string(bits) + " bits, " + std::to_string(blocks) + " blocks");
      ConcurrentFilter filter({.capacity = safe_keys(bits, Geometry{blocks, 0}), .bits = bits});
      std::atomic<std::uint64_t> stored{0};
      run_threads(kThreads, [&](std::size_t i) {
        int refused = 0;
        for (std::uint64_t key = i << 32; refused < 100; ++key) {
          const Outcome outcome = filter.insert(key).outcome;
          ASSERT_TRUE(outcome == Outcome::stored || outcome == Outcome::full);
          if (outcome == Outcome::stored) {
            ++stored;
          } else {
            ++refused;
          }
        }
      });
      EXPECT_EQ(filter.size(), stored);
      EXPECT_GE(filter.size(), filter.capacity());
    }
  }
}

// Lookups end even beside writers that never leave a block alone, and the other way round.
TEST(StressMore, ReadersAndWritersBothProceed) {
  for (const int bits : kFilterWidths) {
    SCOPED_TRACE(std::to_string(bits) + " bits");
    ConcurrentFilter filter({.capacity = safe_keys(bits, Geometry{1, 0}), .bits = bits});
    constexpr std::uint64_t kQuestions = 3000;
    std::array<std::atomic<std::uint64_t>, 2> answered{};
    std::array<std::atomic<std::uint64_t>, 2> changed{};
    const auto enough = [&] {
      return answered[0] >= kQuestions && answered[1] >= kQuestions && changed[0] >= kQuestions &&
             changed[1] >= kQuestions;
    };
    ASSERT_TRUE(filter.insert("always there"));
    const auto end = Clock::now() + std::chrono::minutes(2);
    run_threads(4, [&](std::size_t i) {
      for (std::uint64_t key = i << 32; !enough() && Clock::now() < end; ++key) {
        if (i < 2) {
          ASSERT_TRUE(filter.may_contain("always there"));
          ASSERT_GE(filter.count("always there"), 1u);
          (void)filter.may_contain(key);  // mostly a no, which has to be validated
          ++answered[i];
        } else {
          ASSERT_TRUE(filter.insert(key));
          ASSERT_TRUE(filter.erase(key));
          ++changed[i - 2];
        }
      }
    });
    EXPECT_TRUE(enough()) << answered[0] << " and " << answered[1] << " lookups, " << changed[0]
                          << " and " << changed[1] << " changes";
    EXPECT_EQ(filter.size(), 1u);
  }
}

// Two filters are merged into each other, beside writers: no thread waits for ever.
TEST(StressMore, MergesCrosswise) {
  const Options options = {.capacity = 2000, .bits = 16};
  std::array<ConcurrentFilter, 2> filters{ConcurrentFilter(options), ConcurrentFilter(options)};
  for (std::size_t f = 0; f < 2; ++f) ASSERT_TRUE(filters[f].insert(std::uint64_t{f}));
  std::array<int, 2> merged{};
  std::atomic<int> merging{2};
  run_threads(4, [&](std::size_t i) {
    const std::size_t f = i % 2;
    if (i < 2) {
      for (int merges = 0; merges < 50; ++merges) {
        try {
          filters[f].merge(filters[1 - f]);
          ++merged[f];
        } catch (const std::length_error&) {
          // More copies than a filter can hold, after some rounds.
        }
      }
      --merging;
      return;
    }
    for (std::uint64_t key = i << 32; merging > 0; ++key) {
      ASSERT_TRUE(filters[f].may_contain(std::uint64_t{f}));
      if (filters[f].insert(key)) {
        ASSERT_TRUE(filters[f].may_contain(key));
        ASSERT_TRUE(filters[f].erase(key));
      }
    }
  });
  EXPECT_GT(merged[0] + merged[1], 0);
  for (std::size_t f = 0; f < 2; ++f) {
    EXPECT_TRUE(filters[f].may_contain(std::uint64_t{f}));
    EXPECT_TRUE(merged[f] == 0 || filters[f].may_contain(std::uint64_t{1 - f}));
  }
}

}  // namespace
}  // namespace nestline::test
