// The store against std::map, in a folder: reopened, compacted, followed by a reader.
#include "nestline/store.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "tests/store/limit.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/temp_folder.h"

namespace nestline { namespace {

namespace fs = std::filesystem;
using Model = std::map<std::string, std::string>;

class StoreTest : public testing::Test {
 protected:
  [[nodiscard]] fs::path db() const { return folder_ / "db"; }

  static void expect_equal(const Store& store, const Model& model) {
    Model seen;
    store.for_each([&](std::string_view key, std::string_view value) {
      EXPECT_TRUE(seen.emplace(key, value).second) << key;
    });
    EXPECT_EQ(seen, model);
    EXPECT_EQ(store.size(), model.size());
    std::string found;
    for (const auto& [key, value] : model) {
      ASSERT_TRUE(store.get(key, found)) << key;
      EXPECT_EQ(found, value);
    }
    std::vector<std::string> names;
    for (int i = 0; i < 500; ++i) names.push_back(std::to_string(i));
    std::vector<std::string_view> keys(names.begin(), names.end());
    std::vector<int> answers(keys.size());
    const std::size_t count = store.get(keys, [&](std::size_t i, std::string_view value) {
      ++answers[i];
      EXPECT_EQ(value, model.at(names[i]));
    });
    std::size_t present = 0;
    for (std::size_t i = 0; i < names.size(); ++i) {
      EXPECT_EQ(answers[i], model.count(names[i])) << names[i];
      EXPECT_EQ(store.contains(names[i]), model.contains(names[i]));
      present += model.count(names[i]);
    }
    EXPECT_EQ(count, present);
  }

  // Random changes of 500 keys.
  static void change(Store& store, Model& model, std::mt19937& random, int changes) {
    for (int i = 0; i < changes; ++i) {
      const std::string key = std::to_string(random() % 500);
      const std::string value(random() % 300, static_cast<char>('a' + random() % 26));
      switch (random() % 8) {
        case 0:
        case 1:
          EXPECT_EQ(store.erase(key), model.erase(key) == 1);
          break;
        case 2:
          EXPECT_EQ(static_cast<bool>(store.insert_unique(key, value)),
                    model.emplace(key, value).second);
          break;
        case 3: {
          Store::Batch batch;
          for (int k = 0; k < 5; ++k) {
            const std::string other = std::to_string(random() % 20);
            if (random() % 2 == 0) {
              batch.put(other, value);
              model[other] = value;
            } else {
              batch.erase(other);
              model.erase(other);
            }
          }
          store.write(batch);
          break;
        }
        default:
          store.put(key, value);
          model[key] = value;
      }
    }
  }

  const test::TempFolder folder_;
};

TEST_F(StoreTest, IsAMapThatLasts) {
  Model model;
  std::mt19937 random(1);
  for (int round = 0; round < 12; ++round) {
    const StoreOptions options = {.sync = static_cast<Sync>(round % 3),
                                  .segment_bytes = 65'536,
                                  .compact_above = round % 2 == 0 ? 0.5 : 0};
    const bool has_checkpoint = round % 3 != 2;
    if (!has_checkpoint) {
      ASSERT_TRUE(fs::remove(db() / "index.nest"));
    }
    Store store = Store::open(db(), options);
    EXPECT_EQ(store.stats().replayed_records == 0, has_checkpoint);
    expect_equal(store, model);
    change(store, model, random, 3'000);
    expect_equal(store, model);
    if (round % 4 == 3) store.compact();
    expect_equal(store, model);
  }
  const Store store = Store::open(db(), {.read_only = true});
  expect_equal(store, model);
  EXPECT_EQ(store.stats().replayed_records, 0U);
}

TEST_F(StoreTest, CompactionLeavesWhatIsLive) {
  Store store = Store::open(db(), {.segment_bytes = 65'536, .compact_above = 0});
  Model model;
  for (int i = 0; i < 20'000; ++i) store.put(std::to_string(i), std::string(100, 'x'));
  for (int i = 0; i < 20'000; ++i) {
    if (i % 4 == 0) {
      store.put(std::to_string(i), "new");
      model[std::to_string(i)] = "new";
    } else if (i % 4 == 1) {
      model[std::to_string(i)] = std::string(100, 'x');
    } else {
      EXPECT_TRUE(store.erase(std::to_string(i)));
    }
  }
  store.compact();
  const StoreStats stats = store.stats();
  expect_equal(store, model);
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(db())) {
    if (entry.path().extension() == ".log") bytes += entry.file_size();
  }
  EXPECT_LT(static_cast<double>(stats.dead_bytes), 0.1 * static_cast<double>(stats.live_bytes));
  EXPECT_LT(static_cast<double>(bytes), 1.2 * static_cast<double>(stats.live_bytes) + 131'072);
}

TEST_F(StoreTest, CountsLookups) {
  Store store = Store::open(db());
  store.put("a", "b");
  EXPECT_TRUE(store.contains("a"));
  EXPECT_FALSE(store.contains("b"));
  const StoreStats stats = store.stats();
  EXPECT_EQ(stats.lookups, 2U);
  EXPECT_EQ(stats.found, 1U);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const std::uint64_t under_its_old_name = stats.questions;
#pragma GCC diagnostic pop
  EXPECT_EQ(under_its_old_name, 2U);
}

TEST_F(StoreTest, ReadersFollowTheWriter) {
  Model model;
  std::mt19937 random(3);
  // Compaction in the background would be news at any time.
  const StoreOptions options = {.segment_bytes = 65'536, .compact_above = 0};
  Store store = Store::open(db(), options);
  const StoreOptions reading = {.read_only = true};
  Store reader = Store::open(db(), reading);
  EXPECT_FALSE(reader.refresh());
  for (int round = 0; round < 20; ++round) {
    change(store, model, random, 500);
    if (round % 5 == 4) store.compact();
    EXPECT_TRUE(reader.refresh());
    expect_equal(reader, model);
    EXPECT_FALSE(reader.refresh());
    if (round % 7 == 0) expect_equal(Store::open(db(), reading), model);
  }
  EXPECT_THROW(reader.put("a", "b"), StoreError);
  test::expect_error<StoreError>([&] { (void)Store::open(db(), options); },
                                 ": this process has the store open");
}

// Opening from a checkpoint and from the log alone, changes, batches that end and that do not fit,
// batches of questions, compaction, iteration, a reader that follows, verification.
TEST_F(StoreTest, HasManyMoreFilesThanDescriptors) {
  const StoreOptions options = {.sync = Sync::never, .segment_bytes = 64 << 10, .compact_above = 0};
  StoreOptions reading = options;
  reading.read_only = true;
  Model model;
  std::uint64_t number = 0;
  const auto next = [&] {
    const std::string key = std::to_string(number % 9000);
    const std::string value(1000, static_cast<char>('a' + number % 26));
    model[key] = value;
    ++number;
    return std::pair(key, value);
  };
  const auto put = [&](Store& store, int count) {
    for (int i = 0; i < count; ++i) {
      const auto [key, value] = next();
      store.put(key, value);
    }
  };
  const auto get_all = [&](const Store& store) {
    std::vector<std::string_view> keys;
    for (const auto& [key, value] : model) keys.push_back(key);
    std::size_t right = 0;
    store.get(keys, [&](std::size_t i, std::string_view value) {
      right += model[std::string(keys[i])] == value ? 1 : 0;
    });
    EXPECT_EQ(right, model.size());
  };
  const test::FewDescriptors few(24);
  {
    Store store = Store::open(db(), options);
    put(store, 6000);
    Store reader = Store::open(db(), reading);
    get_all(reader);
    put(store, 3000);
    Store::Batch batch;  // of several files
    for (int i = 0; i < 200; ++i) {
      const auto [key, value] = next();
      batch.put(key, value);
    }
    store.write(batch);
    put(store, 100);
    EXPECT_GT(store.stats().segments, 120U);
    get_all(store);
    expect_equal(store, model);
    EXPECT_TRUE(reader.refresh());
    expect_equal(reader, model);
    EXPECT_NO_THROW(store.compact());
    get_all(reader);  // files that are gone
    expect_equal(reader, model);
    EXPECT_TRUE(reader.refresh());
    get_all(reader);
    put(store, 1000);
    get_all(store);
  }
  EXPECT_TRUE(verify_store(db()).ok());
  {
    const Store store = Store::open(db(), options);
    EXPECT_GT(store.stats().segments, 120U);
    get_all(store);
  }
  fs::remove(db() / "index.nest");
  {
    const Store reader = Store::open(db(), reading);
    EXPECT_GT(reader.stats().segments, 120U);
    get_all(reader);
  }
  Store store = Store::open(db(), options);
  put(store, 1000);
  get_all(store);
  expect_equal(store, model);
}

// What opening after a crash writes anew is an ordinary file of the log: errors name it so.
TEST_F(StoreTest, ErrorsNameTheFileThatOpeningHasMade) {
  const fs::path copy = db().parent_path() / "copy";
  {
    Store store = Store::open(db(), {.sync = Sync::never});
    store.put("a", "1");
    fs::copy(db(), copy);
  }
  Store store = Store::open(copy);
  std::signal(SIGXFSZ, SIG_IGN);
  const test::Limit few(RLIMIT_FSIZE, 100'000);
  test::expect_error<std::system_error>([&] { store.put("b", std::string(1'000'000, 'b')); },
                                        "copy/00000002.log");
}

// As a process leaves them that crashes soon after each start.
TEST_F(StoreTest, PutsSmallFilesTogether) {
  Model model;
  for (int i = 0; i < 60; ++i) {
    const fs::path copy = folder_ / ("copy" + std::to_string(i % 2));
    {
      Store store = Store::open(db());
      store.put(std::to_string(i), "value");
      model[std::to_string(i)] = "value";
      store.sync();
      fs::remove_all(copy);
      fs::copy(db(), copy);  // without what closing writes
    }
    fs::remove_all(db());
    fs::rename(copy, db());
    fs::remove(db() / "index");
  }
  Store store = Store::open(db());
  const auto files = [&] {
    return std::count_if(fs::directory_iterator(db()), {}, [](const fs::directory_entry& entry) {
      return entry.path().extension() == ".log";
    });
  };
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  for (int i = 0; files() > 25 && std::chrono::steady_clock::now() < end; ++i) {
    store.put("0", std::string(1 << 20, 'x'));  // the upkeep looks again every 16 MiB
    model["0"] = std::string(1 << 20, 'x');
  }
  EXPECT_LE(files(), 25);
  expect_equal(store, model);
}

TEST_F(StoreTest, EverySizeOfKeyAndValue) {
  Model model;
  const StoreOptions options = {.segment_bytes = 65'536};
  {
    Store store = Store::open(db(), options);
    for (const std::size_t key : {0u, 1u, 7u, 8u, 9u, 255u, 4'096u, 65'536u}) {
      for (const std::size_t value : {0u, 1u, 11u, 4'096u, 65'535u, 65'536u, 300'000u}) {
        const std::string name(key, 'k');
        store.put(name, model[name] = std::string(value, 'v'));
        std::string found;
        ASSERT_TRUE(store.get(name, found));
        EXPECT_EQ(found, model[name]);
      }
    }
    EXPECT_THROW(store.put(std::string(65'537, 'k'), ""), std::invalid_argument);
    expect_equal(store, model);
    store.compact();
    expect_equal(store, model);
  }
  expect_equal(Store::open(db(), options), model);
}

TEST_F(StoreTest, GrowsItsIndexAndMakesItAnew) {
  Store store = Store::open(db(), {.sync = Sync::never, .expected_records = 100});
  const std::uint64_t slots = store.stats().index_slots;
  const auto key = [](int i) { return "key " + std::to_string(i); };
  for (int i = 0; i < 60'000; ++i) store.put(key(i), std::to_string(i));
  std::string value;
  for (int i = 0; i < 60'000; ++i) {
    ASSERT_TRUE(store.get(key(i), value)) << i;
    ASSERT_EQ(value, std::to_string(i));
  }
  store.compact();
  for (int i = 0; i < 60'000; ++i) ASSERT_TRUE(store.get(key(i), value)) << i;
  EXPECT_FALSE(store.contains(key(60'000)));
  EXPECT_EQ(store.size(), 60'000U);
  EXPECT_GT(store.stats().index_slots, slots);
}

// Changes while the index is made anew in the background; verify_store() compares it with the log.
TEST_F(StoreTest, ChangesBesideANewIndex) {
  // Each new file wakes the store's thread.
  const StoreOptions options = {
      .sync = Sync::never, .segment_bytes = 64 << 10, .expected_records = 100, .compact_above = 0};
  const auto key = [](std::uint64_t i) { return "key " + std::to_string(i); };
  Model model;
#if defined(__SANITIZE_THREAD__)  // each takes some 20 s
  constexpr std::uint64_t kSeeds = 1;
#else
  constexpr std::uint64_t kSeeds = 3;
#endif
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    std::mt19937_64 random(seed);
    model.clear();
    std::filesystem::remove_all(db());
    {
      Store store = Store::open(db(), options);
      for (std::uint64_t i = 0; i < 40'000; ++i) {
        const std::string old = key(random() % (i + 1));
        if (i % 4 == 0) {
          Store::Batch batch;
          batch.put(key(i), "batch");
          batch.erase(old);
          batch.put(old, std::to_string(i));
          batch.erase(key(i));
          store.write(batch);
          model[old] = std::to_string(i);
          model.erase(key(i));
        } else if (i % 4 == 1) {
          EXPECT_EQ(store.erase(old), model.erase(old) == 1);
        } else {
          store.put(key(i), std::to_string(i));
          store.put(old, "new");
          model[key(i)] = std::to_string(i);
          model[old] = "new";
        }
      }
      expect_equal(store, model);
    }
    const StoreReport report = verify_store(db());
    EXPECT_TRUE(report.ok()) << report.problems.front();
    EXPECT_EQ(report.records, model.size());
  }
}

TEST_F(StoreTest, RefusesWhatIsNoStore) {
  EXPECT_THROW((void)Store::open(db(), {.create = false}), std::system_error);
  fs::create_directory(db());
  test::write_file(db() / "letter.txt", "Dear");
  EXPECT_THROW((void)Store::open(db()), StoreError);
  EXPECT_THROW((void)Store::open(db(), {.create = false, .read_only = true}), StoreError);
  EXPECT_THROW((void)Store::open(folder_ / "other", {.segment_bytes = 1'000}),
               std::invalid_argument);
}

// Iteration beside refresh(), which replaces the content: sanitizers look for uses of the old one.
TEST_F(StoreTest, IterationBesideRefresh) {
  StoreOptions options = {.segment_bytes = 64 << 10, .compact_above = 0};
  Store store = Store::open(db(), options);
  const std::string value(1000, 'v');
  const auto fill = [&] {
    for (int i = 0; i < 200; ++i) store.put(std::to_string(i), value);
  };
  fill();
  options.read_only = true;
  Store reader = Store::open(db(), options);
  std::atomic<int> passes = 0;
  std::atomic<bool> done = false;
  std::thread visitor([&] {
    while (!done) {
      std::size_t seen = 0;
      reader.for_each([&](std::string_view, std::string_view) { ++seen; });
      EXPECT_EQ(seen, 200u);
      ++passes;
    }
  });
  for (int round = 0; round < 10; ++round) {
    // The files that the reader knows go, so it must open anew.
    fill();
    store.compact();
    const int before = passes;
    EXPECT_TRUE(reader.refresh());
    while (passes == before) std::this_thread::yield();
  }
  done = true;
  visitor.join();
}

}  // namespace
}  // namespace nestline
