// Guard in threads that change the same keys, some of which look the same or have the same hash.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "nestline/guard.h"
#include "tests/filters/guard/toy_engine.h"
#include "tests/support/temp_folder.h"

namespace nestline::test { namespace {

// Threads that put and erase the same keys, while others look, one learns the keys, and one saves.
class GuardThreads : public testing::Test {
 protected:
  struct Place {
    std::mutex mutex;
    bool there = false;
    std::uint64_t version = 0;
  };
  // Changes the key, and returns whether it was there.
  bool set(std::uint64_t key, bool there) {
    const std::lock_guard lock(places_[key].mutex);
    ++places_[key].version;
    return std::exchange(places_[key].there, there);
  }
  bool has(std::uint64_t key) {
    const std::lock_guard lock(places_[key].mutex);
    return places_[key].there;
  }
  // The version of a key that is there.
  std::optional<std::uint64_t> version(std::uint64_t key) {
    const std::lock_guard lock(places_[key].mutex);
    return places_[key].there ? std::optional(places_[key].version) : std::nullopt;
  }
  void change(Guard& guard, std::uint64_t key, bool puts) {
    if (puts) {
      guard.put(
          toy_hash(key), [&] { return has(key); }, [&] { set(key, true); });
    } else {
      guard.erase(toy_hash(key), [&] { return set(key, false); });
    }
  }
  // Not one key that was there all the time is missed.
  void look(const Guard& guard) {
    std::mt19937_64 random(99);
    std::vector<Hash> hashes;
    for (std::uint64_t key = 0; key < kToyKeys; ++key) hashes.push_back(toy_hash(key));
    while (!done_) {
      const std::uint64_t key = random() % kToyKeys;
      const auto before = version(key);
      const bool maybe = guard.may_contain(toy_hash(key));
      if (!maybe && before && version(key) == before) ++missed_;

      std::vector<std::optional<std::uint64_t>> versions;
      for (std::uint64_t each = 0; each < kToyKeys; ++each) versions.push_back(version(each));
      std::vector<bool> asked(kToyKeys);
      guard.get_many(hashes, [&](auto positions) {
        for (const std::uint32_t position : positions) asked[position] = true;
      });
      for (std::uint64_t each = 0; each < kToyKeys; ++each) {
        if (!asked[each] && versions[each] && version(each) == versions[each]) ++missed_;
      }
      ++looked_;
    }
  }

  TempFolder folder_;
  std::deque<Place> places_{kToyKeys};
  std::atomic<bool> filled_{false};
  std::atomic<bool> done_{false};
  std::atomic<std::uint64_t> missed_{0};
  std::atomic<std::uint64_t> looked_{0};
};

TEST_F(GuardThreads, MissNoKey) {
  for (std::uint64_t key = 0; key < kToyKeys; key += 2) set(key, true);
  Guard guard({.capacity = 40, .bits = 8, .seed = 7}, folder_ / "guard.nest");
  std::vector<std::thread> writers;
  std::vector<std::thread> others;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    writers.emplace_back([&, seed] {
      std::mt19937_64 random(seed);
      // On until all have worked beside each other for long enough.
      for (int i = 0; i < 20'000 || looked_ < 100 || !filled_; ++i) {
        change(guard, random() % kToyKeys, random() % 2 == 0);
      }
    });
  }
  for (int i = 0; i < 2; ++i) others.emplace_back([&] { look(guard); });
  others.emplace_back([&] {
    guard.fill([&] {
      std::vector<std::uint64_t> keys;
      for (std::uint64_t key = 0; key < kToyKeys; ++key) {
        if (has(key)) keys.push_back(key);
      }
      return [keys](auto&& add) {
        for (const std::uint64_t key : keys) {
          add(toy_hash(key));
          std::this_thread::yield();
        }
      };
    });
    filled_ = true;
    for (int i = 0; i < 5; ++i) guard.save([] {});
  });
  for (std::thread& writer : writers) writer.join();
  done_ = true;
  for (std::thread& other : others) other.join();
  EXPECT_EQ(missed_, 0u);
  EXPECT_TRUE(guard.filters());
  std::size_t keys = 0;
  for (std::uint64_t key = 0; key < kToyKeys; ++key) keys += has(key);
  EXPECT_EQ(guard.filter().size() + guard.listed(), keys);
}

// Runs `intruder` in a thread and gives it every chance to end before the call that this is a part
// of; a guard that lets it wait is not waited for.
class Intruder {
 public:
  template <class F>
  void come(F&& intruder) {
    thread_ = std::thread([this, intruder] {
      began_ = true;
      intruder();
      ended_ = true;
    });
    while (!began_) std::this_thread::yield();
    for (int i = 0; i < 2000 && !ended_; ++i) std::this_thread::yield();
  }
  void leave() { thread_.join(); }

 private:
  std::atomic<bool> began_{false};
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

TEST_F(GuardThreads, LetNothingComeBetweenAQuestionAndItsWrite) {
  Guard guard({.capacity = 40, .bits = 8, .seed = 7});
  guard.fill([] { return [](auto&&) {}; });
  change(guard, 1, true);
  Intruder intruder;
  guard.put(
      toy_hash(1),
      [&] {
        const bool there = has(1);
        intruder.come([&] { change(guard, 1, false); });
        return there;
      },
      [&] { set(1, true); });
  intruder.leave();
  EXPECT_TRUE(guard.may_contain(toy_hash(1)) || !has(1));
}

TEST_F(GuardThreads, EraseAKeyOnce) {
  Guard guard({.capacity = 40, .bits = 8, .seed = 7});
  guard.fill([] { return [](auto&&) {}; });
  ASSERT_EQ(toy_hash(3).value, toy_hash(18).value);
  change(guard, 3, true);
  change(guard, 18, true);
  // As with an engine whose deletion does not know whether the key was there.
  const auto erase = [&](auto&& between) {
    guard.erase(toy_hash(3), [&] {
      if (!has(3)) return false;
      between();
      set(3, false);
      return true;
    });
  };
  Intruder intruder;
  erase([&] { intruder.come([&] { erase([] {}); }); });
  intruder.leave();
  EXPECT_TRUE(guard.may_contain(toy_hash(18)));
}

}  // namespace
}  // namespace nestline::test
