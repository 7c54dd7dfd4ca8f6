// Many threads use one C handle while it grows and is saved. Every thread knows what it stored, and
// no thread's error disturbs another thread's.
#include <gtest/gtest.h>

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
