// Copies of a store, and the dropping of pieces of files, beside threads that write.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "lib/store/disk.h"
#include "nestline/store.h"
#include "nestline/store_files.h"
#include "tests/store/store_checks.h"
#include "tests/support/temp_folder.h"

namespace nestline::test { namespace {

// Each writer counts in two keys at once; a copy has the same count in both, none that had not
// begun, and none from before its call.
TEST(StoreThreads, CopiesAreOfOneInstantBesideWritersAndCompaction) {
  constexpr std::size_t kWriters = 2;
  constexpr std::uint64_t kCopies = 8;
  const TempFolder top;
  Store store = Store::open(
      top / "a",
      {.sync = Sync::never, .segment_bytes = 65536, .expected_records = 8, .compact_above = 0.3});
  std::array<std::atomic<std::uint64_t>, kWriters> begun{};
  std::array<std::atomic<std::uint64_t>, kWriters> returned{};
  // How far the writers go until the next copy, so that a slow machine has no larger store to copy.
  std::atomic<std::uint64_t> limit{400};
  std::atomic<bool> is_done{false};
  std::vector<std::thread> threads;
  for (std::size_t writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back([&, writer] {
      const std::string name = std::to_string(writer);
      for (std::uint64_t i = 1; !is_done.load(); ++i) {
        while (i > limit.load() && !is_done.load()) std::this_thread::yield();
        Store::Batch batch;
        batch.put(name + "a", std::to_string(i));
        batch.put(name + "noise" + std::to_string(i % 30), std::string(i * 37 % 3000, 'n'));
        batch.put(name + "b", std::to_string(i));
        begun[writer].store(i);
        store.write(batch);
        returned[writer].store(i);
      }
    });
  }
  threads.emplace_back([&] {
    while (!is_done.load()) store.compact();
  });
  while (std::ranges::any_of(returned, [](const auto& count) { return count < 100; })) {
    std::this_thread::yield();
  }
  const auto number = [](const Content& content, const std::string& key) {
    return std::stoull(content.at(key));
  };
  for (std::uint64_t i = 0; i < kCopies; ++i) {
    // Over the last one, or into a new folder; by the store, or as another process would.
    const auto folder = top / ("copy" + std::to_string(i % 3 == 0 ? i : 0));
    std::array<std::uint64_t, kWriters> least{};
    for (std::size_t w = 0; w < kWriters; ++w) least[w] = returned[w].load();
    limit += 400;
    if (i % 2 == 0) {
      store.copy_to(folder);
    } else {
      Store::open(top / "a", {.read_only = true}).copy_to(folder);
    }
    const Content content = content_of(Store::open(folder, {.read_only = true}));
    for (std::size_t w = 0; w < kWriters; ++w) {
      const std::string name = std::to_string(w);
      EXPECT_EQ(content.at(name + "a"), content.at(name + "b")) << i;
      EXPECT_GE(number(content, name + "a"), least[w]) << i;
      EXPECT_LE(number(content, name + "a"), begun[w].load()) << i;
    }
    EXPECT_TRUE(verify_store(folder).ok()) << i;
  }
  is_done.store(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store.stats().background_error, "");
  store.copy_to(top / "copy0");
  EXPECT_EQ(difference(content_of(Store::open(top / "copy0")), content_of(store)), "no difference");
}

// The name is there at every moment, but a link may meet the file that just loses it.
TEST(StoreThreads, AFileThatIsReplacedMeanwhileIsLinked) {
  const TempFolder top;
  const auto from = open_system_disk(top / "a", true);
  const auto to = open_system_disk(top / "b", true);
  const auto make = [&] {
    from->open("new", Disk::Mode::create);
    from->rename("new", "name");
  };
  make();
  std::atomic<bool> is_done{false};
  std::thread replacing([&] {
    while (!is_done.load()) make();
  });
  int refused = 0;
  for (int i = 0; i < 10000; ++i) refused += to->link_from(*from, "name") ? 0 : 1;
  is_done.store(true);
  replacing.join();
  EXPECT_EQ(refused, 0);
  EXPECT_FALSE(to->link_from(*from, "none"));
  std::filesystem::remove_all(top / "b");
  EXPECT_FALSE(to->link_from(*from, "name"));
}

std::string noise(std::size_t size) {
  std::mt19937_64 random(size);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

TEST(StoreThreads, FilesOfEqualPiecesArePutAndDeletedBesideCompaction) {
  const TempFolder top;
  Store store = Store::open(
      top / "a",
      {.sync = Sync::never, .segment_bytes = 65536, .expected_records = 8, .compact_above = 0.2});
  std::atomic<int> running{3};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      const std::string name = std::to_string(thread);
      for (std::size_t i = 0; i < 40; ++i) {
        const std::string content = noise(20000 + i % 3);
        std::string_view rest = content;
        put_file(store, name,
                 [&](std::span<char> to) {
                   const std::size_t size =
                       rest.copy(to.data(), std::min<std::size_t>(to.size(), 3000));
                   rest.remove_prefix(size);
                   return size;
                 },
                 {.bytes = 1000});
        std::string found;
        EXPECT_TRUE(get_file(store, name, [&](std::string_view bytes) { found += bytes; }));
        EXPECT_TRUE(found == content) << i;
        if (i % 2 != 0) continue;
        EXPECT_TRUE(erase_file(store, name));
      }
      --running;
    });
  }
  while (running != 0) store.compact();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(list_files(store).size(), 3U);
  store.compact();
  EXPECT_EQ(store.size(), 20U);  // those of the last content
  EXPECT_EQ(store.stats().background_error, "");
}

}  // namespace
}  // namespace nestline::test
