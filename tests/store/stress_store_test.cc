// Many threads on one store with small files and a small index. Each thread has its own keys, so
// that every answer about a key can be checked against an exact model while everything happens at
// once: other writers, readers, compaction, checkpoints, files that fill, an index that grows.
// After each round the store is opened anew and compared as a whole. The last test lets a sync of a
// simulated disk fail while threads write.
//
// NESTLINE_STRESS_SECONDS says how long all tests together may take (default: 3).
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "nestline/store.h"
#include "tests/store/on_call.h"
#include "tests/store/simulated_disk.h"
#include "tests/store/store_checks.h"
#include "tests/store/store_model.h"
#include "tests/support/temp_folder.h"

namespace nestline::test { namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kOwners = 3;

std::chrono::duration<double> time_of_a_test() {
  const char* const text = std::getenv("NESTLINE_STRESS_SECONDS");
  return std::chrono::duration<double>((text == nullptr ? 3 : std::stod(text)) / 4);
}

// A thread's keys, and what they should have.
class Owner {
 public:
  Owner(std::size_t number, std::size_t keys) : random_(number) {
    for (std::size_t i = 0; i < keys; ++i) {
      keys_.push_back("owner " + std::to_string(number) + " key " + std::to_string(i));
    }
  }

  [[nodiscard]] const Content& content() const { return content_; }
  [[nodiscard]] const std::vector<std::string>& keys() const { return keys_; }

  void operate(Store& store) {
    const std::string& key = keys_[random_() % keys_.size()];
    const std::uint64_t kind = random_() % 16;
    if (kind < 5) {
      const std::string value = draw_value();
      store.put(key, value);
      content_[key] = value;
    } else if (kind < 7) {
      const std::string value = draw_value();
      const bool is_new = static_cast<bool>(store.insert_unique(key, value));
      expect(is_new == content_.emplace(key, value).second, [&] { return "insert of " + key; });
    } else if (kind < 10) {
      expect(store.erase(key) == (content_.erase(key) != 0), [&] { return "erase of " + key; });
    } else if (kind == 10) {
      write(store);
    } else if (kind == 11) {
      ask_many(store);
    }
    check_key(store, key, content_);
  }

 private:
  std::string draw_value() {
    std::string value = std::to_string(++values_) + ' ';
    return value.append(random_() % 10 == 0 ? random_() % 3000 : random_() % 100, 'v');
  }

  void write(Store& store) {
    Delta delta;
    for (std::size_t i = 0; i < 5; ++i) {
      const std::string& key = keys_[random_() % keys_.size()];
      delta.emplace_back(key, random_() % 3 == 0 ? std::nullopt : std::optional(draw_value()));
    }
    store.write(batch_of(delta));
    apply_delta(content_, delta);
  }

  void ask_many(const Store& store) {
    const std::vector<std::string_view> views(keys_.begin(), keys_.end());
    const std::size_t found =
        store.get(std::span(views), [&](std::size_t i, std::string_view value) {
          const auto entry = content_.find(keys_[i]);
          expect(entry != content_.end() && entry->second == value,
                 [&] { return "a batch about " + keys_[i]; });
        });
    expect(found == content_.size(), [] { return "a batch counts wrong"; });
  }

  std::mt19937_64 random_;
  std::vector<std::string> keys_;
  Content content_;
  std::uint64_t values_ = 0;
};

// The first thing that went wrong in any thread.
class Failure {
 public:
  template <typename Work>
  void guard(Work&& work) {
    try {
      work();
    } catch (const std::exception& error) {
      if (!happened_.exchange(true)) what_ = error.what();
    }
  }
  [[nodiscard]] bool happened() const { return happened_.load(); }
  [[nodiscard]] const std::string& what() const { return what_; }  // when all threads have ended

 private:
  std::atomic<bool> happened_{false};
  std::string what_;
};

void stress(StoreOptions options, std::size_t keys) {
  TempFolder folder;
  options.segment_bytes = 65536;
  std::vector<Owner> owners;
  for (std::size_t i = 0; i < kOwners; ++i) owners.emplace_back(i + 1, keys);
  const auto end = Clock::now() + time_of_a_test();
  std::uint64_t rounds = 0;
  do {
    Store store = Store::open(folder.path(), options);
    Failure failure;
    std::atomic<std::size_t> working{kOwners};
    {
      std::vector<std::jthread> threads;
      for (Owner& owner : owners) {
        threads.emplace_back([&] {
          failure.guard([&] {
            for (unsigned i = 0; i < 4000 && !failure.happened(); ++i) owner.operate(store);
          });
          --working;
        });
      }
      threads.emplace_back([&] {
        failure.guard([&] {
          for (unsigned i = 0; working.load() != 0; ++i) {
            // Of one instant, so each key once; what the values are, their owners know.
            if (i % 4 == 0) (void)content_of(store);
            if (i % 4 == 1) store.compact();
            if (i % 4 == 2) store.checkpoint();
            if (i % 4 == 3) store.sync();
            // The files are read while they are written, and removed.
            if (i % 8 == 5) {
              const StoreReport report = verify_store(folder.path());
              expect(report.ok(), [&] { return "verify: " + report.problems.front(); });
            }
          }
        });
      });
    }
    ASSERT_EQ(failure.what(), "") << "round " << rounds;
    Content all;
    std::vector<std::string> all_keys;
    for (const Owner& owner : owners) {
      all.insert(owner.content().begin(), owner.content().end());
      all_keys.insert(all_keys.end(), owner.keys().begin(), owner.keys().end());
    }
    ASSERT_NO_THROW(check_store(store, all, all_keys)) << "round " << rounds;
    { const Store closing = std::move(store); }
    const StoreReport report = verify_store(folder.path());
    ASSERT_TRUE(report.ok()) << report.problems.front();
    ASSERT_EQ(report.records, all.size());
    ASSERT_NO_THROW(check_store(Store::open(folder.path(), options), all, all_keys));
    ++rounds;
  } while (Clock::now() < end);
}

// Writers wait while a full file is synced, so compaction leaves little to sync.
TEST(StressStore, CompactionSyncsAsItGoes) {
  const StoreOptions options = {
      .sync = Sync::never, .segment_bytes = std::uint64_t{2} << 20, .compact_above = 0};
  const auto machine = SimulatedMachine::make(1);
  Store store = Store::State::open(machine->disk(), options, kOnCall);
  for (unsigned i = 0; i < 1000; ++i) store.put(std::to_string(i), std::string(1000, 'v'));
  for (unsigned i = 0; i < 1000; i += 2) store.put(std::to_string(i), std::string(1000, 'w'));
  store.sync();
  std::uint64_t syncs = machine->calls(Call::sync);
  std::uint64_t before = machine->calls(Call::write);
  std::uint64_t most = 0;
  machine->before_change = [&](const SimulatedMachine& now) {
    const std::uint64_t writes = now.calls(Call::write);
    most = std::max(most, writes - before);
    if (now.calls(Call::sync) != syncs) before = writes;
    syncs = now.calls(Call::sync);
  };
  store.compact();
  machine->before_change = nullptr;
  EXPECT_LT(most, 200u) << "records of 1 KiB between two syncs";
}

TEST(StressStore, SyncsAheadOfAFullFile) {
  const StoreOptions options = {.sync = Sync::never, .segment_bytes = std::uint64_t{8} << 20};
  const auto machine = SimulatedMachine::make(2);
  Store store = Store::State::open(machine->disk(), options);
  const std::uint64_t syncs = machine->calls(Call::sync);
  for (unsigned i = 0; i < 1000; ++i) store.put(std::to_string(i), std::string(1000, 'v'));
  const auto end = Clock::now() + std::chrono::minutes(2);
  while (machine->calls(Call::sync) == syncs && Clock::now() < end) std::this_thread::yield();
  EXPECT_GT(machine->calls(Call::sync), syncs);
}

// One sync fails, and all others succeed: the system reports a failure to one caller only. So that
// others sync between the failure and its report, the report waits a moment for one that does.
void fail_a_sync(std::uint64_t seed) {
  const StoreOptions options = {.sync = Sync::each, .segment_bytes = 2048};
  const auto machine = SimulatedMachine::make(seed);
  machine->after_failed_sync = [&] {
    const std::uint64_t calls = machine->calls(Call::sync);
    const auto end = Clock::now() + std::chrono::milliseconds(5);
    while (machine->calls(Call::sync) == calls && Clock::now() < end) std::this_thread::yield();
  };
  std::vector<Content> acknowledged(kOwners);
  {
    Store store = Store::State::open(machine->disk(), options, kOnCall);
    machine->fail(Call::sync, 8 + seed % 64, EIO, false);
    std::vector<std::jthread> threads;
    for (std::size_t owner = 0; owner < kOwners; ++owner) {
      threads.emplace_back([&, owner] {
        try {
          for (unsigned i = 0; i < 200; ++i) {
            const std::string key = std::to_string(owner) + " key " + std::to_string(i);
            const std::string value(i * 37 % 600, 'v');
            store.put(key, value);
            acknowledged[owner].emplace(key, value);
          }
        } catch (const std::exception&) {  // the disk has refused a sync
        }
      });
    }
    threads.emplace_back([&] {
      try {
        for (unsigned i = 0; i < 20; ++i) store.compact();
      } catch (const std::exception&) {
      }
    });
  }
  Content all;
  for (Content& content : acknowledged) all.merge(content);
  const auto check = [&](const SimulatedMachine& now) {
    for (std::uint64_t loss = 0; loss < 4; ++loss) {
      const Content left =
          content_of(Store::State::open(now.after_power_loss(loss)->disk(), options, kOnCall));
      for (const auto& each : all) {
        const auto found = left.find(each.first);
        expect(found != left.end() && found->second == each.second,
               [&] { return "lost: " + each.first; });
      }
    }
  };
  check(*machine);
  const auto next = machine->after_process_end();
  {
    Store store = Store::State::open(next->disk(), options, kOnCall);
    all = content_of(store);
    check(*next);
    store.put("more", "more");
    all["more"] = "more";
    check(*next);
  }
}

TEST(StressStore, AFailedSyncReachesEverybodyWhoWaits) {
  const auto end = Clock::now() + time_of_a_test();
  std::uint64_t seed = 0;
  do {
    ASSERT_NO_THROW(fail_a_sync(seed)) << "seed " << seed;
  } while (++seed < 64 || Clock::now() < end);
}

TEST(StressStore, FewKeysThatChangeOften) {
  stress({.sync = Sync::never, .expected_records = 8}, 20);
}

TEST(StressStore, ManyKeysAndAGrowingIndex) {
  stress({.sync = Sync::interval,
          .sync_interval = std::chrono::milliseconds(1),
          .expected_records = 1},
         4000);
}

TEST(StressStore, EachChangeOnDisk) { stress({.sync = Sync::each, .verify_reads = false}, 200); }

}  // namespace
}  // namespace nestline::test
