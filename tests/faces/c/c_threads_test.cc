// Many threads use one C handle while it grows and is saved. Every thread knows what it stored, and
// no thread's error disturbs another thread's.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "nestline/nestline.h"

namespace {

constexpr std::uint64_t kThreads = 3;
constexpr std::uint64_t kKeys = 20'000;  // of each thread

// Inserts its own keys, finds each of them at once and all of them later, and erases every other
// one.
void own_keys(nestline_filter* filter, std::uint64_t thread) {
  const char* error = nullptr;
  std::vector<std::uint64_t> keys;
  for (std::uint64_t i = 0; i < kKeys; ++i) keys.push_back(thread << 32 | i);
  for (std::uint64_t i = 0; i < kKeys / 2; ++i) {
    ASSERT_TRUE(nestline_insert_u64(filter, keys[i], &error)) << error;
    ASSERT_TRUE(nestline_may_contain_u64(filter, keys[i], &error));
  }
  std::vector<std::uint8_t> done(kKeys);
  const nestline_keys rest = nestline_keys_u64(keys.data() + kKeys / 2, kKeys / 2);
  ASSERT_EQ(nestline_insert_batch(filter, rest, done.data(), &error), kKeys / 2);
  const nestline_keys all = nestline_keys_u64(keys.data(), kKeys);
  ASSERT_EQ(nestline_may_contain_batch(filter, all, done.data(), &error), kKeys);
  for (std::uint64_t i = 0; i < kKeys; i += 2) {
    ASSERT_TRUE(nestline_erase_u64(filter, keys[i], &error));
  }
}

TEST(CThreads, ShareOneFilter) {
  nestline_options options = NESTLINE_OPTIONS_INIT;
  options.capacity = 4000;
  options.max_capacity = kThreads * kKeys;
  nestline_filter* const filter = nestline_create(&options, nullptr);
  ASSERT_NE(filter, nullptr);
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < kThreads; ++t) threads.emplace_back(own_keys, filter, t);
  // Takes snapshots meanwhile, which must be whole filters.
  std::thread looker([&] {
    do {
      std::size_t size = 0;
      const char* error = nullptr;
      void* const bytes = nestline_to_bytes(filter, &size, &error);
      ASSERT_NE(bytes, nullptr) << error;
      nestline_filter* const other = nestline_from_bytes(bytes, size, &error);
      ASSERT_NE(other, nullptr) << error;
      ASSERT_LE(nestline_size(other), kThreads * kKeys);
      nestline_free(other);
      nestline_free_bytes(bytes);
    } while (!over);
  });
  for (std::thread& thread : threads) thread.join();
  over = true;
  looker.join();

  EXPECT_EQ(nestline_size(filter), kThreads * kKeys / 2);
  EXPECT_GE(nestline_growth(filter), 3u);
  for (std::uint64_t t = 0; t < kThreads; ++t) {
    for (std::uint64_t i = 1; i < kKeys; i += 2) {
      ASSERT_TRUE(nestline_may_contain_u64(filter, t << 32 | i, nullptr)) << t << ' ' << i;
    }
  }
  nestline_free(filter);
}

// Lookups see the value of each pair before a change of all of them, or after.
TEST(CThreads, RenameAMapletThatOthersAsk) {
  std::vector<std::uint64_t> keys(kKeys);
  for (std::uint64_t i = 0; i < kKeys; ++i) keys[i] = i;
  const std::vector<std::uint64_t> ones(kKeys, 1);
  nestline_maplet_options options = NESTLINE_MAPLET_OPTIONS_INIT;
  options.capacity = kKeys;
  options.value_bits = 4;
  const nestline_keys all = nestline_keys_u64(keys.data(), kKeys);
  nestline_maplet* const maplet = nestline_maplet_build(&options, all, ones.data(), nullptr);
  ASSERT_NE(maplet, nullptr);
  constexpr std::uint64_t kEither = 1 << 1 | 1 << 2;
  std::atomic<std::uint64_t> rounds{0};
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      std::vector<std::uint64_t> sets(kKeys);
      while (!over) {
        ASSERT_TRUE(nestline_maplet_find_sets(maplet, all, sets.data(), 0, nullptr));
        for (const std::uint64_t set : sets) ASSERT_NE(set & kEither, 0u);
        for (const std::uint64_t key : keys) {
          ASSERT_NE(nestline_maplet_find_set_u64(maplet, key, 0, nullptr) & kEither, 0u);
        }
        ++rounds;
      }
    });
  }
  const std::array<std::uint64_t, 3> swapped = {0, 2, 1};
  std::uint64_t renames = 0;
  while ((renames < 100 || rounds < kThreads) && !HasFailure()) {
    ASSERT_EQ(nestline_maplet_rename(maplet, swapped.data(), swapped.size(), nullptr), kKeys);
    ++renames;
  }
  over = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(nestline_maplet_erase_value(maplet, 1 + renames % 2, nullptr), kKeys);
  EXPECT_EQ(nestline_maplet_size(maplet), 0u);
  nestline_maplet_free(maplet);
}

TEST(CThreads, HaveTheirOwnErrors) {
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([t, &failed] {
      const std::string path = "/nowhere/" + std::to_string(t) + "/file";
      const std::string expected = path + ": No such file or directory";
      const char* error = nullptr;
      ASSERT_EQ(nestline_load(path.c_str(), &error), nullptr);
      // The other threads fail meanwhile. This thread fails too, without asking for the error.
      ++failed;
      while (failed < 4) std::this_thread::yield();
      ASSERT_EQ(nestline_map("/nowhere/else", NESTLINE_VERIFY_ALL, nullptr), nullptr);
      ASSERT_STREQ(error, expected.c_str());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
