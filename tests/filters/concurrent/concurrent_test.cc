// ConcurrentFilter, used by one thread, behaves as Filter does: the same outcomes, answers, errors
// and bytes after every call, through growth, clear and merge. Each can turn into the other without
// copying.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <new>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/engine/place/layout.h"
#include "lib/filters/concurrent/reclaim.h"
#include "nestline/concurrent_filter.h"
#include "nestline/expiring_filter.h"
#include "nestline/filter.h"
#include "nestline/io.h"
#include "nestline/maplet.h"
#include "nestline/parallel.h"
#include "tests/filters/concurrent/filter_pair.h"
#include "tests/filters/concurrent/many_writers.h"
#include "tests/support/errors.h"
#include "tests/support/keys_of_kinds.h"
#include "tests/support/model.h"
#include "tests/support/wrong_lengths.h"

#ifndef _WIN32
#include "tests/support/child_process.h"
#endif

namespace nestline::test { namespace {

static_assert(std::is_nothrow_move_constructible_v<ConcurrentFilter>);
static_assert(std::is_nothrow_move_assignable_v<ConcurrentFilter>);
static_assert(!std::is_copy_constructible_v<ConcurrentFilter>);
static_assert(!std::is_convertible_v<Filter&&, ConcurrentFilter>);
static_assert(noexcept(std::declval<const ConcurrentFilter&>().may_contain(std::uint64_t{1})));
static_assert(noexcept(std::declval<ConcurrentFilter&>().insert(std::uint64_t{1})));

template <typename Key>
class ConcurrentTest : public testing::Test {};
using KeyTypes = testing::Types<std::uint64_t, Hash, std::string_view>;
TYPED_TEST_SUITE(ConcurrentTest, KeyTypes);

// A test with one thread shows the thread sanitizer little and is slow under it.
#if defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kCapacities[] = {20, 100};
#else
constexpr std::uint64_t kCapacities[] = {20, 45, 100, 400};
#endif

// All for one type of keys, two for the others: keys are hashes before the width matters.
template <typename Key>
std::span<const int> widths_of() {
  return std::span(kFilterWidths).first(std::is_same_v<Key, Hash> ? kFilterWidths.size() : 2);
}

// Whether the filter grows, and which threads write.
constexpr std::pair<bool, Writing> kTerms[] = {
    {false, Writing::alone}, {true, Writing::alone}, {false, Writing::many}, {true, Writing::many}};

// Somewhat more keys than the capacity, so that filters become full, and copies happen. With far
// more keys, most of the time would go into searches for room that fail.
TYPED_TEST(ConcurrentTest, DoesWhatFilterDoes) {
  for (const int bits : widths_of<TypeParam>()) {
    for (const std::uint64_t capacity : kCapacities) {
      for (const auto& [grows, writing] : kTerms) {
        SCOPED_TRACE(std::to_string(bits) + " bits, capacity " + std::to_string(capacity) +
                     (grows ? ", growing" : "") +
                     (writing == Writing::many ? ", many writers" : ""));
        const Options options = {.capacity = capacity,
                                 .bits = bits,
                                 .max_capacity = grows ? 4 * capacity : 0,
                                 .seed = capacity};
        const Keys<TypeParam> keys(capacity * (grows ? 4 : 1) * 5 / 4 + 210);
        FilterPair<TypeParam> pair(options, keys.all(), capacity * 16 + static_cast<unsigned>(bits),
                                   writing);
        for (std::uint64_t step = 0; step < 500 + 5 * capacity; ++step) {
          pair.step();
          if (step % 251 == 250) pair.compare();
          if (this->HasFatalFailure()) FAIL() << "at step " << step;
        }
        pair.compare();
        pair.ask(keys.all());
        pair.compare_frozen();
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TYPED_TEST(ConcurrentTest, GrowsClearsAndMergesAsFilterDoes) {
  for (const int bits : kFilterWidths) {
    SCOPED_TRACE(std::to_string(bits) + " bits");
    const Keys<TypeParam> keys(3000);
    FilterPair<TypeParam> pair({.capacity = 100, .bits = bits, .seed = 3}, keys.all(),
                               static_cast<unsigned>(bits),
                               bits == 12 ? Writing::many : Writing::alone);
    for (int round = 0; round < 12; ++round) {
      for (int step = 0; step < 60; ++step) pair.step();
      pair.compare();
      if (round % 3 == 0) pair.grow();  // 4 doublings in all, which 8 bits allow
      if (round % 4 == 2) pair.shrink();
      if (round == 8) pair.fit();
      if (round == 7) pair.clear();
      pair.merge();
      if (round % 4 == 1) pair.merge_with_itself();
      pair.compare();
      if (this->HasFatalFailure()) FAIL() << "in round " << round;
    }
    pair.ask(keys.all());
    pair.compare_frozen();
  }
}

// Long batches: several chunks, growth in the middle of one. The last hundreds of keys find no
// room.
TYPED_TEST(ConcurrentTest, LongBatches) {
  const Keys<TypeParam> keys(10'011);
  for (const int bits : widths_of<TypeParam>()) {
    for (const bool grows : {false, true}) {
      SCOPED_TRACE(std::to_string(bits) + " bits" + (grows ? ", growing" : ""));
      const Options options = {
          .capacity = grows ? 3500u : 14'000u, .bits = bits, .max_capacity = grows ? 14'000u : 0};
      Filter one(options);
      ConcurrentFilter many(options);
      std::vector<std::uint8_t> expected(keys.all().size());
      std::vector<std::uint8_t> done(keys.all().size());
      std::vector<Outcome> of_one(keys.all().size());
      std::vector<Outcome> of_many(keys.all().size());
      EXPECT_EQ(one.insert_unique(keys.first(5'000), std::span(of_one).first(5'000)),
                many.insert_unique(keys.first(5'000), std::span(of_many).first(5'000)));
      EXPECT_EQ(of_one, of_many);
      EXPECT_EQ(one.insert(keys.all(), of_one), many.insert(keys.all(), of_many));
      EXPECT_EQ(of_one, of_many);
      EXPECT_EQ(one.size(), many.size());
      EXPECT_EQ(block_bytes(one), block_bytes(many.snapshot()));
      const auto half = keys.all().subspan(3, 5'001);
      EXPECT_EQ(one.erase(half), many.erase(half));
      EXPECT_EQ(one.may_contain(keys.all(), expected), many.may_contain(keys.all(), done));
      EXPECT_EQ(expected, done);
      EXPECT_EQ(to_bytes(one), to_bytes(std::move(many).freeze()));
    }
  }
}

// I6 (table-inl.h) where guests come home as well: single calls of every kind, and copies.
TEST(ConcurrentFilterTest, TurnsOverAsFilterDoes) {
  for (const int bits : kFilterWidths) {
    for (const Writing writing : {Writing::alone, Writing::many}) {
      SCOPED_TRACE(std::to_string(bits) + " bits" + (writing == Writing::many ? ", many" : ""));
      const Options options = {.capacity = 3000, .bits = bits, .turns_over = true};
      Filter one(options);
      ConcurrentFilter many(options);
      if (writing == Writing::many) become_many_writers(many);
      const std::uint64_t most = one.slots() * 19 / 20;
      std::mt19937_64 random(static_cast<unsigned>(bits));
      std::vector<std::uint64_t> stored;
      for (int step = 0; step < 20'000; ++step) {
        const std::uint64_t what = random() % 10;
        if (what < 6 && stored.size() < most) {
          const bool is_copy = random() % 8 == 0 && !stored.empty();
          const std::uint64_t key = is_copy ? stored[random() % stored.size()] : random();
          const Inserted expected = what < 3 ? one.insert_unique(key) : one.insert(key);
          const Inserted inserted = what < 3 ? many.insert_unique(key) : many.insert(key);
          ASSERT_EQ(inserted.outcome, expected.outcome) << "at step " << step;
          if (expected) stored.push_back(key);
        } else if (!stored.empty()) {
          std::swap(stored[random() % stored.size()], stored.back());
          EXPECT_TRUE(one.erase(stored.back()));
          EXPECT_TRUE(many.erase(stored.back()));
          stored.pop_back();
        }
        if (step % 2000 == 0) {
          ASSERT_EQ(block_bytes(one), block_bytes(many.snapshot())) << "at step " << step;
        }
      }
      EXPECT_EQ(to_bytes(one), to_bytes(std::move(many).freeze()));
    }
  }
}

// A merge may go beyond the capacity, and what is erased then makes no room above it.
TEST(ConcurrentFilterTest, DoublesAtItsCapacityAfterAMergeBeyondIt) {
  const Options options = {.capacity = 9'500, .bits = 12, .max_capacity = 50'000};
  Filter one(options);
  ConcurrentFilter many(options);
  Filter more(options);
  std::uint64_t key = 0;
  const auto insert = [&] {
    ++key;
    EXPECT_TRUE(one.insert(key));
    EXPECT_TRUE(many.insert(key));
  };
  while (one.size() < one.capacity()) insert();
  for (std::uint64_t other = 1; other <= 100; ++other) ASSERT_TRUE(more.insert(~other));
  one.merge(more);
  many.merge(more);
  const std::uint64_t capacity = one.capacity();
  ASSERT_GT(one.size(), capacity);
  for (std::uint64_t erased = 1; erased <= 5'000; ++erased) {
    ASSERT_TRUE(one.erase(erased));
    ASSERT_TRUE(many.erase(erased));
  }
  ASSERT_EQ(one.growth(), 0u);
  while (many.growth() == 0) {
    insert();
    ASSERT_EQ(many.growth(), one.growth()) << "at " << one.size() << " keys";
  }
  EXPECT_EQ(one.size(), capacity + 1);
  EXPECT_EQ(block_bytes(one), block_bytes(many.snapshot()));
}

TYPED_TEST(ConcurrentTest, SpansOfWrongLengthChangeNothing) {
  expect_wrong_lengths_refused<ConcurrentFilter, TypeParam>();
}

const Block* blocks_of(const Filter& filter) { return FilterAccess::blocks(filter).view.blocks; }

TEST(ConcurrentFilterTest, TakesOverAndGivesBackTheMemory) {
  for (const int bits : kFilterWidths) {
    Filter filter({.capacity = 1000, .bits = bits, .seed = 4});
    for (std::uint64_t key = 0; key < 700; ++key) ASSERT_TRUE(filter.insert(key));
    const Block* const blocks = blocks_of(filter);
    const auto bytes = to_bytes(filter);
    ConcurrentFilter concurrent(std::move(filter));
    EXPECT_EQ(concurrent.size(), 700u);
    ConcurrentFilter moved(std::move(concurrent));
    ConcurrentFilter assigned({.capacity = 1});
    assigned = std::move(moved);
    EXPECT_EQ(assigned.seed(), 4u);
    // Changed and changed back, so that versions have advanced.
    for (std::uint64_t key = 1000; key < 1100; ++key) ASSERT_TRUE(assigned.insert(key));
    for (std::uint64_t key = 1000; key < 1100; ++key) ASSERT_TRUE(assigned.erase(key));
    const Filter snapshot = assigned.snapshot();
    EXPECT_NE(blocks_of(snapshot), blocks);
    const Filter frozen = std::move(assigned).freeze();
    EXPECT_EQ(blocks_of(frozen), blocks);
    EXPECT_EQ(frozen.size(), 700u);
    for (std::uint64_t key = 0; key < 700; ++key) ASSERT_TRUE(frozen.may_contain(key));
    for (std::size_t at = 0; const std::uint8_t byte : block_bytes(frozen)) {
      if (at++ % kBlockBytes > kOverflowMarkByte) {
        ASSERT_EQ(byte, 0) << at;
      }
    }
    EXPECT_EQ(block_bytes(snapshot), block_bytes(frozen));
    // The strict loader, which checks locks and versions, accepts the bytes.
    EXPECT_EQ(Filter::load(to_bytes(frozen)).size(), 700u);
    EXPECT_EQ(to_bytes(frozen).size(), bytes.size());
  }
}

TEST(ConcurrentFilterTest, AMovedFilterCanBeAssignedTo) {
  ConcurrentFilter filter({.capacity = 100});
  ConcurrentFilter other(std::move(filter));
  filter = ConcurrentFilter({.capacity = 50, .bits = 16});
  EXPECT_TRUE(filter.insert("key"));
  EXPECT_EQ(filter.bits(), 16);
  const Filter frozen = std::move(filter).freeze();
  filter = std::move(other);
  EXPECT_FALSE(filter.may_contain("key"));
  EXPECT_TRUE(frozen.may_contain("key"));
}

TEST(ConcurrentFilterTest, ASnapshotIsACopy) {
  ConcurrentFilter filter({.capacity = 1000, .max_capacity = 4000, .seed = 9});
  for (std::uint64_t key = 0; key < 500; ++key) ASSERT_TRUE(filter.insert(key));
  Filter snapshot = filter.snapshot();
  ASSERT_TRUE(filter.erase(std::uint64_t{1}));
  ASSERT_TRUE(snapshot.may_contain(std::uint64_t{1}));
  ASSERT_TRUE(snapshot.erase(std::uint64_t{2}));
  ASSERT_TRUE(filter.may_contain(std::uint64_t{2}));
  EXPECT_EQ(snapshot.size(), 499u);
  EXPECT_EQ(filter.size(), 499u);
  EXPECT_EQ(snapshot.seed(), 9u);
  // It keeps the promise to grow.
  for (std::uint64_t key = 1000; key < 4400; ++key) ASSERT_TRUE(snapshot.insert(key));
  EXPECT_GE(snapshot.capacity(), 4000u);
}

TEST(ConcurrentFilterTest, RefusesWhatFilterRefuses) {
  const auto refusal = [](auto&& work) { return message_of<std::invalid_argument>(work); };
  for (const Options& options :
       {Options{}, Options{.capacity = 10, .bits = 11}, Options{.capacity = 10, .fpr = 2},
        Options{.capacity = 10, .bits = 8, .max_capacity = 1u << 20},
        Options{.capacity = 10, .load = 0.96}}) {
    const std::string expected = refusal([&] { Filter filter(options); });
    EXPECT_EQ(refusal([&] { ConcurrentFilter filter(options); }), expected);
  }
  ConcurrentFilter filter({.capacity = 100, .bits = 8});
  EXPECT_TRUE(filter.insert("key"));
  for (const Options& options :
       {Options{.capacity = 100, .bits = 12}, Options{.capacity = 1000, .bits = 8},
        Options{.capacity = 100, .bits = 8, .seed = 1}}) {
    Filter one({.capacity = 100, .bits = 8});
    const std::string expected = refusal([&] { one.merge(Filter(options)); });
    EXPECT_EQ(refusal([&] { filter.merge(Filter(options)); }), expected);
    EXPECT_EQ(refusal([&] { filter.merge(ConcurrentFilter(options)); }), expected);
  }
  EXPECT_EQ(filter.size(), 1u);
  EXPECT_TRUE(filter.may_contain("key"));
}

TEST(ConcurrentFilterTest, GrowsAsOftenAsTheWidthAllows) {
  ConcurrentFilter filter({.capacity = 60, .bits = 8});
  for (std::uint64_t key = 0; key < 40; ++key) ASSERT_TRUE(filter.insert(key));
  for (int doublings = 0; doublings < 4; ++doublings) {
    const std::size_t bytes = filter.memory_bytes();
    EXPECT_TRUE(filter.grow());
    EXPECT_EQ(filter.memory_bytes(), 2 * bytes);
  }
  EXPECT_FALSE(filter.grow());
  for (std::uint64_t key = 0; key < 40; ++key) ASSERT_TRUE(filter.may_contain(key));
  EXPECT_EQ(filter.size(), 40u);
}

TEST(ConcurrentReaderTest, AnswersAsItsFilter) {
  for (const int bits : kFilterWidths) {
    ConcurrentFilter filter({.capacity = 1000, .bits = bits});
    for (std::uint64_t key = 0; key < 1000; ++key) ASSERT_TRUE(filter.insert(key));
    const ConcurrentReader reader = filter.reader();
    for (std::uint64_t key = 0; key < 100'000; ++key) {
      ASSERT_EQ(reader.may_contain(key), filter.may_contain(key));
    }
    EXPECT_EQ(reader.prepare("key").value, filter.prepare("key").value);
    EXPECT_EQ(reader.may_contain(filter.prepare("key")), filter.may_contain("key"));
  }
}

// A reader that began while a writer already waited to exchange the table lives on after that, and
// looks for keys that another writer has put into the new table only.
TEST(ConcurrentReaderTest, SeesWhatIsInsertedAfterTheFilterHasGrown) {
  constexpr std::uint64_t kKeys = 3000;  // of each writer
  for (int tries = 0; tries < 10; ++tries) {
    ConcurrentFilter filter({.capacity = 50, .bits = 16, .max_capacity = 2 * kKeys});
    std::array<std::atomic<std::uint64_t>, 2> inserted = {};
    std::vector<std::thread> writers;
    for (std::uint64_t own = 0; own < 2; ++own) {
      writers.emplace_back([&, own] {
        for (std::uint64_t key = 0; key < kKeys; ++key) {
          ASSERT_TRUE(filter.insert(2 * key + own));
          inserted[own] = key + 1;
        }
      });
    }
    std::uint64_t missed = 0;
    while (inserted[0] < kKeys || inserted[1] < kKeys) {
      const ConcurrentReader reader = filter.reader();
      for (std::uint64_t i = 0; i < 10'000; ++i) {
        const std::uint64_t own = i % 2;
        const std::uint64_t keys = inserted[own];
        if (keys != 0) missed += !reader.may_contain(2 * (keys - 1) + own);
      }
    }
    for (std::thread& writer : writers) writer.join();
    ASSERT_EQ(missed, 0u);
  }
}

// Making room for a key raises marks, and so may show another key that looks the same: for the call
// itself the key was absent when it looked first. Few blocks have many such keys.
template <class AnyFilter, typename Change>
void expect_outcomes_of_first_looks(const std::function<AnyFilter()>& make, const Change& change) {
  std::mt19937_64 random(3);
  std::uint64_t stored = 0;
  for (int round = 0; round < 250; ++round) {
    AnyFilter filter = make();
    for (bool is_full = false; !is_full;) {
      const Hash key{random()};
      const bool was_there = filter.may_contain(key);
      const Outcome outcome = change(filter, key).outcome;
      is_full = outcome == Outcome::full;
      ASSERT_EQ(outcome == Outcome::present, was_there) << "in round " << round;
      stored += outcome == Outcome::stored;
    }
  }
  EXPECT_GT(stored, 10'000u);
}

TEST(OutcomesTest, AreOfTheFirstLook) {
  const Options options = {.capacity = 150, .bits = 8};
  const auto insert = [](auto& filter, Hash key) { return filter.insert_unique(key); };
  expect_outcomes_of_first_looks<Filter>([&] { return Filter(options); }, insert);
  for (const Writing writing : {Writing::alone, Writing::many}) {
    SCOPED_TRACE(writing == Writing::many ? "many writers" : "one writer");
    const auto make = [&] {
      ConcurrentFilter filter(options);
      if (writing == Writing::many) become_many_writers(filter);
      return filter;
    };
    expect_outcomes_of_first_looks<ConcurrentFilter>(make, insert);
    // The old key is absent, but for a false positive.
    expect_outcomes_of_first_looks<ConcurrentFilter>(make, [](auto& filter, Hash key) {
      if (filter.may_contain(key)) return Inserted{Outcome::present};
      const std::uint64_t before = filter.size();
      // Both at the same home, whose mark is raised for the new one.
      const Inserted done = filter.update(key, Hash{key.value ^ 0xffff'ffffu << 12});
      EXPECT_EQ(filter.size(), before + done.operator bool());
      return done.outcome == Outcome::too_many_copies ? Inserted{Outcome::stored} : done;
    });
    expect_outcomes_of_first_looks<ExpiringFilter>(
        [&] {
          ExpiringFilter filter({.capacity = 150});
          if (writing == Writing::many) {
            (void)filter.insert(1);
            std::thread([&] { (void)filter.insert(2); }).join();
          }
          return filter;
        },
        [](auto& filter, Hash key) { return filter.insert(key); });
  }
}

// The sections that this thread is in, and one of the program's own: with liburcu as that counts
// and has them.
#if NESTLINE_COUNTED_SECTIONS
unsigned long sections() { return sections_here; }
std::optional<ReadSection> own_section;
void begin_own() { own_section.emplace(); }
void end_own() { own_section.reset(); }
#else
unsigned long sections() {
  const unsigned long* const count = section_count();
  return count == nullptr ? 0 : *count & URCU_BP_GP_CTR_NEST_MASK;
}
void begin_own() { ::urcu_bp_read_lock(); }
void end_own() { ::urcu_bp_read_unlock(); }
#endif

ConcurrentFilter some_filter() {
  ConcurrentFilter filter({.capacity = 500, .bits = 8, .max_capacity = 8000});
  EXPECT_EQ(filter.insert(sequence(0, 500)), 500u);
  return filter;
}

// Readers of two filters, one that begins slowly, and a section of the program's own.
TEST(ConcurrentReaderTest, MayEndInAnyOrder) {
  ConcurrentFilter one = some_filter();
  ConcurrentFilter other = some_filter();
  std::array<unsigned, 4> order = {0, 1, 2, 3};
  do {
    std::array<std::optional<ConcurrentReader>, 4> readers;
    readers[0].emplace(one);
    begin_own();
    readers[2].emplace(other);
    stored_alone();
    readers[3].emplace(one);
    unsigned long left = readers.size();
    for (const unsigned i : order) {
      ASSERT_EQ(sections(), left--);
      if (i == 1) {
        end_own();
      } else {
        readers[i].reset();
      }
      for (const auto& reader : readers) ASSERT_TRUE(!reader || reader->may_contain(7));
    }
    ASSERT_EQ(sections(), 0u);
  } while (std::next_permutation(order.begin(), order.end()));
  std::thread([&] {
    EXPECT_TRUE(one.grow());
    other.clear();
  }).join();
}

// Of a thread that has ended. Without assertions nothing happens then.
TEST(ConcurrentReaderTest, IsNotDestroyedByAnotherThread) {
  ConcurrentFilter filter = some_filter();
  alignas(ConcurrentReader) std::array<std::byte, sizeof(ConcurrentReader)> memory;
  auto* const reader = reinterpret_cast<ConcurrentReader*>(memory.data());
  std::thread([&] { new (reader) ConcurrentReader(filter); }).join();
  // The new thread may get the memory of the other from liburcu.
  std::thread([&] {
    EXPECT_TRUE(filter.may_contain(7));
    EXPECT_DEBUG_DEATH(reader->~ConcurrentReader(), "must destroy it");
    EXPECT_EQ(sections(), 0u);
  }).join();
  EXPECT_TRUE(filter.grow());
}

// Sanitizers see whether a reader looks at memory that was freed.
TEST(ConcurrentReaderTest, HoldsItsMemoryWhicheverEndsBeforeIt) {
  std::array<ConcurrentFilter, 2> filters = {some_filter(), some_filter()};
  std::atomic<bool> over = false;
  std::thread changer([&] {
    const Filter nothing({.capacity = 500, .bits = 8, .max_capacity = 8000});
    for (std::size_t i = 0; i < 400; ++i) filters[i % 2].merge(nothing);
    over = true;
  });
  std::uint64_t missed = 0;
  while (!over) {
    std::deque<ConcurrentReader> readers;
    readers.emplace_back(filters[0]);
    readers.emplace_back(filters[1]);
    readers.pop_front();
    for (std::uint64_t key = 0; key < 500; ++key) missed += !readers[0].may_contain(key);
  }
  changer.join();
  EXPECT_EQ(missed, 0u);
}

// Every call that would wait for its own thread's section, of each kind of filter: it is refused
// and changes nothing, and works when the section has ended.
TEST(ConcurrentReaderTest, RefusesCallsThatWouldWaitForTheirOwnThread) {
  ConcurrentFilter filter = some_filter();
  ConcurrentFilter other({.capacity = 500, .bits = 8, .max_capacity = 8000});
  Maplet maplet({.capacity = 500});
  EXPECT_TRUE(maplet.insert(1, 2));
  Maplet ready = maplet.ready_for_snapshot();
  ExpiringFilter expiring({.capacity = 500});
  EXPECT_TRUE(expiring.insert(1));
  ExpiringClock clock(expiring, std::chrono::hours(14));
  const auto keys = sequence(500, 100);
  const std::vector<std::uint64_t> values(100);
  const ByteSink sink = [](std::span<const std::byte>) {};
  const std::vector<std::function<void()>> calls = {
      [&] { (void)filter.snapshot(); },
      [&] { filter.merge(Filter({.capacity = 500, .bits = 8, .max_capacity = 8000})); },
      [&] { filter.merge(other); },
      [&] { (void)filter.insert(keys); },
      [&] { filter.erase(keys); },
      [&] { (void)parallel::insert(filter, keys); },
      [&] { parallel::erase(filter, keys); },
      [&] { filter.clear(); },
      [&] { filter.grow(); },
      [&] { filter.shrink(); },
      [&] { filter.fit(); },
      [&] { (void)maplet.snapshot(); },
      [&] { (void)maplet.snapshot_into(ready); },
      [&] { maplet.for_each([](std::uint64_t) {}); },
      [&] { save(maplet, sink); },
      [&] { (void)maplet.insert(keys, values); },
      [&] { maplet.grow(); },
      [&] { maplet.fit(); },
      [&] { save(expiring, sink); },
      [&] { (void)expiring.insert(keys); },
      [&] { clock.catch_up(std::chrono::steady_clock::now() + std::chrono::hours(3)); },
      [&] { expiring.advance(); },
      [&] { expiring.advance(20); },
      [&] { expiring.clear(); },
  };
  const auto state = [&] {
    return std::tuple(to_bytes(filter.snapshot()), maplet.size(), maplet.capacity(),
                      expiring.size(), expiring.now());
  };
  const auto before = state();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    for (const bool is_own : {false, true}) {
      std::optional<ConcurrentReader> reader;
      is_own ? begin_own() : void(reader.emplace(other));
      expect_error<std::logic_error>(calls[i], "its own thread");
      EXPECT_TRUE(filter.may_contain(7));
      EXPECT_EQ(sections(), 1u);
      if (is_own) end_own();
    }
  }
  EXPECT_EQ(state(), before);
  for (const auto& call : calls) EXPECT_NO_THROW(call());
}

// What must not throw ends the program with the same sentence: an insert that has to make the
// filter grow, and the first change by a second thread.
TEST(ConcurrentReaderTest, EndsTheProgramWhereACallMustNotThrow) {
  ConcurrentFilter filter = some_filter();
  const auto change = [&](auto&& work) {
    const ConcurrentReader reader = filter.reader();
    work();
  };
  EXPECT_DEATH(change([&] {
                 for (std::uint64_t key = 500; filter.insert(key); ++key) continue;
               }),
               "its own thread");
  std::optional<ConcurrentFilter> elsewhere;
  std::thread([&] { elsewhere.emplace(some_filter()); }).join();
  EXPECT_DEATH(change([&] { elsewhere->erase(1); }), "its own thread");
}

#ifndef _WIN32

TEST(ConcurrentFilterTest, RefusedMemoryChangesNothing) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer itself needs memory";
#endif
  constexpr std::uint64_t kKeys = 2'000'000;
  ConcurrentFilter filter({.capacity = kKeys, .max_capacity = 2 * kKeys});
  const auto keys = sequence(0, filter.capacity());
  ASSERT_EQ(filter.insert(keys), keys.size());
  const std::size_t bytes = filter.memory_bytes();
  std::vector<std::uint8_t> found(keys.size());  // the child has no memory for it
  EXPECT_EQ(in_child([&] {
              if (!limit_memory(std::size_t{1} << 20)) return 1;
              int refused = 0;
              const auto try_to = [&](auto&& work) {
                try {
                  work();
                } catch (const std::bad_alloc&) {
                  ++refused;
                }
              };
              try_to([&] { filter.grow(); });
              try_to([&] { filter.clear(); });
              try_to([&] { (void)filter.snapshot(); });
              try_to([&] { filter.merge(filter); });
              if (refused != 4 || filter.size() != keys.size()) return 2;
              // It should grow now. It cannot, but still takes keys.
              for (std::uint64_t key = kKeys * 2; key < kKeys * 2 + 1000; ++key) {
                if (!filter.insert(key) || !filter.may_contain(key)) return 3;
              }
              if (filter.may_contain(keys, found) != keys.size()) return 4;
              return filter.memory_bytes() == bytes ? 0 : 5;
            }),
            0);
  // Nothing has changed here, and memory is available.
  ASSERT_TRUE(filter.insert(~std::uint64_t{0}));
  EXPECT_GT(filter.memory_bytes(), bytes);
}

#endif  // _WIN32

}  // namespace
}  // namespace nestline::test
