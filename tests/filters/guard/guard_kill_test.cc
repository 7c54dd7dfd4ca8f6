// A process with a guard before a nestline::Store is killed, and the next one must find every key.
//
// The first tests kill it at each point of a script, one after the other: around each change of the
// engine, while the filter is saved, and between the calls. So the guard with the wrong order,
// which tells the engine first and its file then, is noticed each time, and not by chance. The last
// test kills at any moment.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <thread>

#include "nestline/guard.h"
#include "nestline/store.h"
#include "tests/support/child_process.h"
#include "tests/support/temp_folder.h"

namespace nestline::test { namespace {

constexpr int kLostKey = 3;
constexpr int kWrongCount = 4;

// Between the processes.
struct Shared {
  std::atomic<std::uint64_t> passed{0};  // points of this process
  std::atomic<std::uint64_t> loads{0};   // starts with a saved filter
  std::atomic<std::uint64_t> fills{0};
  std::uint64_t kill_at = 0;

  void point() {
    if (++passed == kill_at) ::raise(SIGKILL);
  }
};

// The store behind the guard, with a point before and after each change.
struct RightOrder {
  static void put(Guard& guard, Store& store, const std::string& key, Shared& shared) {
    guard.put(
        key, [&] { return store.contains(key); },
        [&] {
          shared.point();
          store.put(key, "value");
          shared.point();
        });
  }
};

// The engine first; the filter, and with it the file, then.
struct WrongOrder {
  static void put(Guard& guard, Store& store, const std::string& key, Shared& shared) {
    const bool is_new = !store.contains(key);
    shared.point();
    store.put(key, "value");
    shared.point();
    if (is_new) guard.add(key);
  }
};

bool erase(Guard& guard, Store& store, const std::string& key, Shared& shared) {
  return guard.erase(key, [&] {
    shared.point();
    const bool was_there = store.erase(key);
    shared.point();
    return was_there;
  });
}

// Whether the guard knows each key of the store; right after the start also by number.
int check(const Guard& guard, const Store& store, bool counted) {
  std::uint64_t keys = 0;
  bool lost = false;
  store.for_each([&](std::string_view key, std::string_view) {
    ++keys;
    lost = lost || !guard.may_contain(key);
  });
  if (lost) return kLostKey;
  return counted && guard.filter().size() != keys ? kWrongCount : 0;
}

// One process: starts from what the last one left, checks, works. Ends with an error as soon as a
// key is lost.
template <class Order>
int session(const TempFolder& folder, Shared& shared, std::uint64_t seed, std::uint64_t rounds) {
  Store store = Store::open(folder / "store", {.sync = Sync::never});
  Guard guard({.capacity = 100, .fpr = 0.001, .max_capacity = 1000}, folder / "guard.nest");
  if (guard.load()) {
    ++shared.loads;
  } else {
    guard.fill(
        [&] { return [&](auto&& add) { store.for_each([&](auto key, auto) { add(key); }); }; });
    ++shared.fills;
  }
  if (const int wrong = check(guard, store, true); wrong != 0) return wrong;
  std::mt19937_64 random(seed);
  const auto name = [&] { return "key " + std::to_string(random() % 200); };
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < 3; ++i) Order::put(guard, store, name(), shared);
    for (int i = 0; i < 2; ++i) erase(guard, store, name(), shared);
    // The next process has a file only if this one ends between the two: so there are many points.
    guard.save([&] {
      shared.point();
      store.sync();
      shared.point();
    });
    for (int i = 0; i < 4; ++i) {
      shared.point();
      guard.erase("stranger", [] { return false; });
    }
  }
  return check(guard, store, false);
}

// Kills a process at each point, and starts the next one after it. Returns the first error.
template <class Order>
int kill_at_each_point(SharedMemory<Shared>& shared) {
  TempFolder folder;
  for (std::uint64_t point = 1; point < 1000; ++point) {
    shared->passed = 0;
    shared->kill_at = point;
    const int status =
        wait_for(start([&] { return session<Order>(folder, *shared, point % 5, 3); }));
    if (WIFEXITED(status)) return WEXITSTATUS(status);  // it has passed all points, or complains
  }
  return 98;
}

TEST(GuardKilled, AtEachPointLosesNoKey) {
  SharedMemory<Shared> shared;
  EXPECT_EQ(kill_at_each_point<RightOrder>(shared), 0);
  EXPECT_GT(shared->passed.load(), 30u);
  EXPECT_GT(shared->loads.load(), 3u);
  EXPECT_GT(shared->fills.load(), 3u);
}

TEST(GuardKilled, InTheWrongOrderLosesAKey) {
  SharedMemory<Shared> shared;
  EXPECT_EQ(kill_at_each_point<WrongOrder>(shared), kLostKey);
}

TEST(GuardKilled, AtAnyMomentLosesNoKey) {
  SharedMemory<Shared> shared;
  TempFolder folder;
  for (std::uint64_t time = 0; time < 10; ++time) {
    shared->passed = 0;
    const std::uint64_t most = 1 + time * 17;
    const pid_t child =
        start([&] { return session<RightOrder>(folder, *shared, time, 1'000'000'000); });
    while (shared->passed < most) {
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, WNOHANG), 0) << "it ended with " << status;
      std::this_thread::yield();
    }
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    const int status = wait_for(child);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
  }
  shared->passed = 0;
  EXPECT_EQ(wait_for(start([&] { return session<RightOrder>(folder, *shared, 1, 1); })), 0);
}

}  // namespace
}  // namespace nestline::test
