// What changes promise besides: "nothing to do" is true after a loss of power, no memory is kept,
// errors in the background can be asked for; and where changes are refused.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "lib/store/state.h"
#include "nestline/concurrent_filter.h"
#include "tests/store/on_call.h"
#include "tests/store/simulated_disk.h"
#include "tests/store/store_checks.h"

namespace {

std::atomic<long> live_blocks{0};  // of memory, of all threads
thread_local bool no_memory = false;

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) {
  void* const memory = no_memory ? nullptr : std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  live_blocks.fetch_add(1, std::memory_order_relaxed);
  return memory;
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory != nullptr) live_blocks.fetch_add(1, std::memory_order_relaxed);
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  if (memory != nullptr) live_blocks.fetch_sub(1, std::memory_order_relaxed);
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace nestline::test { namespace {

StoreOptions options_of(Sync sync) {
  return {.sync = sync,
          .sync_interval = std::chrono::milliseconds(1),
          .expected_records = 8,
          .compact_above = 0};
}

// While one thread's change waits for the disk, another sees it. Then the other waits as well.
void expect_to_wait(const std::function<void(Store&)>& change,
                    const std::function<bool(Store&)>& look) {
  const auto machine = SimulatedMachine::make(1);
  Store store = Store::State::open(machine->disk(), options_of(Sync::each), kOnCall);
  store.put("there", "value");
  std::atomic<bool> has_returned{false};
  bool was_early = false;
  std::thread other;
  const std::uint64_t syncs = machine->calls(Call::sync);
  machine->before_change = [&](const SimulatedMachine& now) {
    if (other.joinable() || now.calls(Call::sync) == syncs) return;
    other = std::thread([&] {
      EXPECT_FALSE(look(store));
      has_returned.store(true);
    });
    // A call that does not wait has returned long before this ends.
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
    while (!has_returned.load() && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    was_early = has_returned.load();
  };
  change(store);
  other.join();
  machine->before_change = nullptr;
  EXPECT_FALSE(was_early);
}

TEST(Changing, AnInsertThatFindsTheKeyWaitsForItsRecord) {
  expect_to_wait(
      [](Store& store) { store.put("new", "value"); },
      [](Store& store) { return static_cast<bool>(store.insert_unique("new", "other")); });
}

TEST(Changing, AnEraseThatMissesTheKeyWaitsForItsTombstone) {
  expect_to_wait([](Store& store) { store.erase("there"); },
                 [](Store& store) { return store.erase("there"); });
}

TEST(Changing, ABatchKeepsNoMemory) {
  constexpr std::size_t kChanges = 20'000;
  StoreOptions options = options_of(Sync::never);
  options.expected_records = 2 * kChanges;
  Store store = Store::State::open(SimulatedMachine::make(1)->disk(), options, kOnCall);
  store.put("first", "value");
  Store::Batch batch;
  for (std::size_t i = 0; i < kChanges; ++i) batch.put(std::to_string(i), "");
  const long before = live_blocks.load();
  store.write(batch);
  // The simulated disk keeps the writes that were not synced.
  store.sync();
  EXPECT_LT(live_blocks.load() - before, static_cast<long>(kChanges / 10));
}

// Closing syncs the log, whatever becomes of the checkpoint: there is no memory for it, or no room.
TEST(Changing, AStoreThatCannotSaveItsIndexIsSyncedWhenItIsClosed) {
  for (const Sync sync : {Sync::never, Sync::interval}) {
    for (const bool has_memory : {false, true}) {
      const auto machine = SimulatedMachine::make(1);
      {
        Store store = Store::State::open(machine->disk(), options_of(sync), kOnCall);
        store.put("key", "value");
        if (has_memory) machine->fail(Call::create, 0, ENOSPC, true);
        // What the simulated disk does with a call needs memory.
        machine->before_change = [](const SimulatedMachine&) { no_memory = false; };
        no_memory = !has_memory;
      }
      no_memory = false;
      machine->before_change = nullptr;
      for (std::uint64_t seed = 0; seed < 8; ++seed) {
        const Store left = Store::State::open(machine->after_power_loss(seed)->disk(),
                                              options_of(Sync::never), kOnCall);
        EXPECT_TRUE(left.contains("key")) << has_memory << ", seed " << seed;
      }
    }
  }
}

// The function that get() calls may ask. What could wait for it is refused, and works afterwards.
TEST(Changing, IsRefusedInsideGet) {
  Store store =
      Store::State::open(SimulatedMachine::make(1)->disk(), options_of(Sync::never), kOnCall);
  store.put("a", "1");
  store.put("b", "2");
  const auto try_all = [&] {
    std::string other;
    EXPECT_TRUE(store.get("b", other));
    EXPECT_TRUE(store.contains("a"));
    EXPECT_EQ(store.size(), 2u);
    Store::Batch batch;
    batch.put("a", "3");
    EXPECT_THROW(store.for_each([](std::string_view, std::string_view) {}), std::logic_error);
    EXPECT_THROW(store.put("a", "3"), std::logic_error);
    EXPECT_THROW((void)store.insert_unique("c", "3"), std::logic_error);
    EXPECT_THROW(store.erase("a"), std::logic_error);
    EXPECT_THROW(store.write(batch), std::logic_error);
    EXPECT_THROW(store.sync(), std::logic_error);
    EXPECT_THROW(store.compact(), std::logic_error);
    EXPECT_THROW(store.checkpoint(), std::logic_error);
    EXPECT_THROW(store.refresh(), std::logic_error);
  };
  EXPECT_TRUE(store.get("a", [&](std::string_view) { try_all(); }));
  const std::vector<std::string_view> keys = {"a", "b"};
  EXPECT_EQ(store.get(keys, [&](std::size_t, std::string_view) { try_all(); }), 2u);
  EXPECT_THROW(store.get("a", [](std::string_view) { throw 1; }), int);
  EXPECT_EQ(content_of(store), (Content{{"a", "1"}, {"b", "2"}}));
  store.put("a", "3");
  EXPECT_EQ(content_of(store), (Content{{"a", "3"}, {"b", "2"}}));
}

// It may begin a reader that outlives it: as long as that lives, the same calls are refused.
TEST(Changing, IsRefusedBesideAReader) {
  Store store = Store::State::open(SimulatedMachine::make(1)->disk(), options_of(Sync::never));
  store.put("a", "1");
  ConcurrentFilter filter({.capacity = 100});
  std::optional<ConcurrentReader> reader;
  EXPECT_TRUE(store.get("a", [&](std::string_view) { reader.emplace(filter); }));
  EXPECT_THROW(filter.grow(), std::logic_error);
  EXPECT_THROW(store.put("a", "2"), std::logic_error);
  EXPECT_THROW(store.compact(), std::logic_error);
  EXPECT_DEATH(const Store closed = std::move(store), "its own thread");
  reader.reset();
  EXPECT_EQ(content_of(store), (Content{{"a", "1"}}));
  store.put("a", "2");
  store.compact();
  std::thread([&] { EXPECT_TRUE(filter.grow()); }).join();
  EXPECT_EQ(content_of(store), (Content{{"a", "2"}}));
}

// Makes one kind of call fail until stats() names the error.
std::string background_error(Sync sync, Call call, int error) {
  const auto machine = SimulatedMachine::make(1);
  Store store = Store::State::open(machine->disk(), options_of(sync),
                                   {.threads = true, .log_bytes_per_checkpoint = 1});
  EXPECT_EQ(store.stats().background_error, "");
  machine->fail(call, 0, error, true);
  // A new file wakes the upkeep.
  const std::string value(std::size_t{17} << 20, 'v');
  try {
    store.put("key", value);
  } catch (const std::exception&) {
  }
  for (unsigned i = 0; i < 60'000 && store.stats().background_error.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  machine->heal();
  return store.stats().background_error;
}

TEST(Changing, ErrorsInTheBackgroundAreNamed) {
  const std::string checkpoint = background_error(Sync::never, Call::create, ENOSPC);
  EXPECT_NE(checkpoint.find("index.nest.new"), std::string::npos) << checkpoint;
  const std::string sync = background_error(Sync::interval, Call::sync, EIO);
  EXPECT_NE(sync.find("refused to sync"), std::string::npos) << sync;
}

}  // namespace
}  // namespace nestline::test
