// The parallel forms, compared with the batches of the filters themselves: numbers of keys around a
// piece, numbers of threads, kinds of keys and of filters; inside an arena of one thread,
// cancelled, beside a task that throws; and spans of wrong length.
#include "nestline/parallel.h"

#include <gtest/gtest.h>
#include <tbb/parallel_for.h>
#include <tbb/task_group.h>
#include <tbb/task_scheduler_observer.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "lib/engine/place/layout.h"
#include "tests/filters/file/io_fixture.h"
#include "tests/filters/parallel/parallel_fixture.h"

namespace nestline::test { namespace {

constexpr std::size_t kPiece = 16384;  // lib/filters/parallel/parallel.cc
constexpr std::size_t kLengths[] = {
    0, 1, 63, 64, 65, kPiece - 1, kPiece, kPiece + 1, 5 * kPiece + 17};
constexpr std::size_t kMax = 5 * kPiece + 17;

// A filter with every third of the keys.
template <typename Key>
Filter sample_filter(std::span<const Key> keys, int bits) {
  Filter filter({.capacity = keys.size() / 3 + 1, .bits = bits, .seed = 5});
  for (std::size_t i = 0; i < keys.size(); i += 3) EXPECT_TRUE(filter.insert(keys[i]));
  return filter;
}

template <typename Key>
class ParallelTest : public IoTest {};
TYPED_TEST_SUITE(ParallelTest, KeyTypes);

// The answers of the sequential filter, for all lengths.
struct Expected {
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint32_t> positions;
};

template <class AnyFilter>
void expect_answers(const AnyFilter& filter, KeySpan keys, const Expected& expected) {
  const std::size_t length = keys.size();
  const std::size_t total = expected.positions.size();
  std::vector<std::uint8_t> bytes(length + 1, 77);
  EXPECT_EQ(parallel::may_contain(filter, keys, std::span(bytes).first(length)), total);
  EXPECT_TRUE(std::equal(expected.bytes.begin(), expected.bytes.end(), bytes.begin()));
  EXPECT_EQ(bytes.back(), 77);

  std::vector<std::uint32_t> positions(length, 99);
  EXPECT_EQ(parallel::select(filter, keys, positions), total);
  EXPECT_TRUE(std::equal(expected.positions.begin(), expected.positions.end(), positions.begin()));
  EXPECT_TRUE(std::all_of(positions.begin() + static_cast<std::ptrdiff_t>(total), positions.end(),
                          [](std::uint32_t position) { return position == 99; }));
}

TYPED_TEST(ParallelTest, LookupsInEachFilter) {
  const Keys<TypeParam> keys(kMax);
  for (const int bits : kFilterWidths) {
    Filter filter = sample_filter(keys.all(), bits);
    save(filter, this->path("filter"));
    const MappedFilter mapped = MappedFilter::open(this->path("filter"));
    const ConcurrentFilter shared(Filter::load(this->path("filter")));
    for (const std::size_t length : kLengths) {
      const auto batch = keys.first(length);
      Expected expected{std::vector<std::uint8_t>(length), std::vector<std::uint32_t>(length)};
      filter.may_contain(batch, expected.bytes);
      expected.positions.resize(filter.select(batch, expected.positions));
      for (const int threads : kThreads) {
        SCOPED_TRACE(std::to_string(length) + " keys, " + std::to_string(threads) + " threads");
        with_threads(threads, [&] {
          expect_answers(filter, batch, expected);
          expect_answers(shared, batch, expected);
          expect_answers(mapped, batch, expected);
        });
      }
    }
  }
}

TYPED_TEST(ParallelTest, InsertAndErase) {
  const Keys<TypeParam> keys(kMax);
  for (const std::size_t length : kLengths) {
    for (const int threads : kThreads) {
      SCOPED_TRACE(std::to_string(length) + " keys, " + std::to_string(threads) + " threads");
      const auto batch = keys.first(length);
      ConcurrentFilter filter({.capacity = length + 1, .seed = 9});
      std::vector<Outcome> outcomes(length);
      std::vector<std::uint8_t> done(length, 9);
      std::vector<std::uint8_t> found(length, 9);
      with_threads(threads, [&] {
        EXPECT_EQ(parallel::insert(filter, batch, outcomes), length);
        EXPECT_EQ(outcomes, std::vector<Outcome>(length, Outcome::stored));
        EXPECT_EQ(filter.size(), length);
        EXPECT_EQ(filter.may_contain(batch, found), length);
        EXPECT_EQ(parallel::erase(filter, batch.first(length / 2)), length / 2);
        EXPECT_EQ(
            parallel::erase(filter, batch.subspan(length / 2), std::span(done).subspan(length / 2)),
            length - length / 2);
        EXPECT_EQ(filter.size(), 0u);
        EXPECT_EQ(parallel::insert(filter, batch), length);
        EXPECT_EQ(parallel::erase(filter, batch, done), length);
        EXPECT_EQ(parallel::erase(filter, batch, done), 0u);
        EXPECT_EQ(done, std::vector<std::uint8_t>(length, 0));
      });
    }
  }
}

// The outcomes are right: as many keys are stored as the filter counts, and each of them is found.
template <typename Key>
void expect_true(const ConcurrentFilter& filter, std::span<const Key> keys,
                 const std::vector<Outcome>& outcomes) {
  std::uint64_t stored = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    stored += outcomes[i] == Outcome::stored;
    ASSERT_TRUE(outcomes[i] != Outcome::stored || filter.may_contain(keys[i])) << i;
  }
  EXPECT_EQ(filter.size(), stored);
}

TYPED_TEST(ParallelTest, InsertIntoAFullFilter) {
  const Keys<TypeParam> keys(kMax);
  with_threads(3, [&] {
    ConcurrentFilter filter({.capacity = kMax / 2, .bits = 8});
    std::vector<Outcome> stored(kMax);
    const std::size_t total = parallel::insert(filter, keys.all(), stored);
    EXPECT_LT(total, kMax);
    EXPECT_GE(total, kMax / 2);
    EXPECT_EQ(total, filter.size());
    expect_true(filter, keys.all(), stored);
  });
}

TYPED_TEST(ParallelTest, SpansOfWrongLengthChangeNothing) {
  const Keys<TypeParam> keys(2 * kPiece);
  Filter filter = sample_filter(keys.all(), 8);
  save(filter, this->path("filter"));
  const MappedFilter mapped = MappedFilter::open(this->path("filter"));
  ConcurrentFilter shared(Filter::load(this->path("filter")));
  for (const std::size_t length : {std::size_t{1}, 2 * kPiece - 1, 2 * kPiece + 1}) {
    std::vector<std::uint8_t> bytes(length, 7);
    std::vector<Outcome> outcomes(length);
    EXPECT_THROW((void)parallel::insert(shared, keys.all(), outcomes), std::invalid_argument);
    EXPECT_EQ(outcomes, std::vector<Outcome>(length));
    EXPECT_THROW(parallel::erase(shared, keys.all(), bytes), std::invalid_argument);
    EXPECT_THROW(parallel::may_contain(filter, keys.all(), bytes), std::invalid_argument);
    EXPECT_THROW(parallel::may_contain(shared, keys.all(), bytes), std::invalid_argument);
    EXPECT_THROW(parallel::may_contain(mapped, keys.all(), bytes), std::invalid_argument);
    EXPECT_EQ(bytes, std::vector<std::uint8_t>(length, 7));
    std::vector<std::uint32_t> positions(length, 7);
    EXPECT_THROW(parallel::select(filter, keys.all(), positions), std::invalid_argument);
    EXPECT_THROW(parallel::select(shared, keys.all(), positions), std::invalid_argument);
    EXPECT_THROW(parallel::select(mapped, keys.all(), positions), std::invalid_argument);
    EXPECT_EQ(positions, std::vector<std::uint32_t>(length, 7));
  }
  EXPECT_THROW(parallel::may_contain(filter, keys.all(), {}), std::invalid_argument);
  EXPECT_EQ(shared.size(), filter.size());
  EXPECT_EQ(to_bytes(std::move(shared).freeze()), to_bytes(filter));
}

// Counts the threads that come into an arena.
class Entries : public tbb::task_scheduler_observer {
 public:
  explicit Entries(tbb::task_arena& arena) : tbb::task_scheduler_observer(arena) { observe(true); }
  ~Entries() override { observe(false); }
  void on_scheduler_entry(bool) override { ++count; }
  std::atomic<int> count = 0;
};

TEST(Parallel, StaysInAnArenaOfOneThread) {
  const Keys<std::uint64_t> keys(kMax);
  tbb::task_arena arena(1);
  Entries entries(arena);
  // From inside a task of a larger arena, as a library called by a parallel program would be.
  tbb::parallel_for(0, 2, [&](int) {
    arena.execute([&] {
      Filter filter = parallel::build({.capacity = kMax}, keys.all());
      ConcurrentFilter shared(std::move(filter));
      std::vector<std::uint32_t> positions(kMax);
      EXPECT_EQ(parallel::select(shared, keys.all(), positions), kMax);
      EXPECT_EQ(parallel::erase(shared, keys.all()), kMax);
      EXPECT_EQ(parallel::insert(shared, keys.all()), kMax);
    });
  });
  // A thread comes in for each of the two calls at most; a third one would be a helper.
  EXPECT_LE(entries.count, 2);
}

// Calls `work` inside a task of a group that is cancelled already.
template <typename Work>
void inside_cancelled(const Work& work) {
  tbb::task_group_context context;
  bool called = false;
  tbb::parallel_for(
      0, 1,
      [&](int) {
        context.cancel_group_execution();
        work();
        called = true;
      },
      context);
  EXPECT_TRUE(called);
}

TEST(Parallel, CancelledBeforeItBegins) {
  const Keys<std::uint64_t> keys(kMax);
  for (const int threads : kThreads) {
    with_threads(threads, [&] {
      Filter filter({.capacity = kMax});
      EXPECT_EQ(filter.insert(keys.all()), kMax);
      ConcurrentFilter shared({.capacity = kMax});
      EXPECT_EQ(shared.insert(keys.first(1000)), 1000u);
      std::vector<std::uint8_t> bytes(kMax, 9);
      std::vector<std::uint32_t> positions(kMax);
      std::vector<Outcome> outcomes(kMax);
      inside_cancelled([&] {
        EXPECT_THROW((void)parallel::build({.capacity = 10 * kMax}, keys.all()),
                     parallel::Cancelled);
        EXPECT_THROW(parallel::may_contain(filter, keys.all(), bytes), parallel::Cancelled);
        EXPECT_THROW(parallel::select(shared, keys.all(), positions), parallel::Cancelled);
        bytes.assign(kMax, 9);
        EXPECT_THROW(parallel::erase(shared, keys.all(), bytes), parallel::Cancelled);
      });
      EXPECT_EQ(shared.size(), 1000 - std::accumulate(bytes.begin(), bytes.end(), 0u));
      shared.clear();
      inside_cancelled([&] {
        EXPECT_THROW((void)parallel::insert(shared, keys.all(), outcomes), parallel::Cancelled);
      });
      expect_true(shared, keys.all(), outcomes);
      EXPECT_LT(shared.size(), kMax);
    });
  }
}

// The task group is cancelled when a part of the keys is stored.
TEST(Parallel, CancelledInTheMiddle) {
  constexpr std::size_t kKeys = 1'000'000;
  const Keys<std::string_view> keys(kKeys);
  int cancelled = 0;
  // The canceller may come too late once, on a busy machine, but not always.
  for (int attempt = 0; attempt < 50 && cancelled == 0; ++attempt) {
    ConcurrentFilter filter({.capacity = kKeys});
    std::vector<Outcome> stored(kKeys);
    tbb::task_group_context context;
    std::atomic<bool> over = false;
    std::thread canceller([&] {
      while (filter.size() < 1000 && !over) std::this_thread::yield();
      context.cancel_group_execution();
    });
    tbb::parallel_for(
        0, 1,
        [&](int) {
          try {
            (void)parallel::insert(filter, keys.all(), stored);
          } catch (const parallel::Cancelled& error) {
            ++cancelled;
            EXPECT_STRNE(error.what(), "");
          }
        },
        context);
    over = true;
    canceller.join();
    expect_true(filter, keys.all(), stored);
    EXPECT_EQ(cancelled == 0, filter.size() == kKeys);
  }
  EXPECT_EQ(cancelled, 1);
}

TEST(Parallel, BesideATaskThatThrows) {
  constexpr std::size_t kKeys = 1'000'000;
  const Keys<std::uint64_t> keys(kKeys);
  ConcurrentFilter filter({.capacity = kKeys});
  std::vector<Outcome> stored(kKeys);
  with_threads(2, [&] {
    tbb::task_group group;
    group.run([&] {
      while (filter.size() < 1000) std::this_thread::yield();
      throw std::runtime_error("neighbour");
    });
    group.run([&] { (void)parallel::insert(filter, keys.all(), stored); });
    EXPECT_THROW(group.wait(), std::runtime_error);
  });
  expect_true(filter, keys.all(), stored);
  EXPECT_GE(filter.size(), 1000u);
  // It then works as if nothing had happened.
  std::vector<std::uint64_t> missing;
  for (std::size_t i = 0; i < kKeys; ++i) {
    if (stored[i] != Outcome::stored) missing.push_back(keys.all()[i]);
  }
  EXPECT_EQ(parallel::insert(filter, missing), missing.size());
  EXPECT_EQ(parallel::erase(filter, keys.all()), kKeys);
}

}  // namespace
}  // namespace nestline::test
