// The faults of the program that the store's idea comes from, each a test: see the comment of each.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "nestline/store.h"
#include "tests/store/store_checks.h"
#include "tests/store/store_folder.h"
#include "tests/store/store_model.h"

namespace nestline::test {
namespace {

StoreOptions small_options() {
  return {.sync = Sync::never, .segment_bytes = 65536, .expected_records = 1};
}

std::string value_of(const Store& store, const std::string& key) {
  std::string value = "(missing)";
  store.get(key, value);
  return value;
}

// A delete of a key that was never there marked a slot that was never used. (That a delete hits
// another key with the same tag is in collisions_test.)
TEST(ArticleFaults, ErasingWhatIsNotThereErasesNothing) {
  const StoreFolder folder;
  Store store = Store::open(folder.path(), small_options());
  for (unsigned i = 0; i < 100; ++i) EXPECT_FALSE(store.erase("absent " + std::to_string(i)));
  EXPECT_EQ(store.size(), 0u);
  store.put("key", "value");
  for (unsigned i = 0; i < 1000; ++i) EXPECT_FALSE(store.erase("absent " + std::to_string(i)));
  EXPECT_EQ(value_of(store, "key"), "value");
  EXPECT_EQ(store.size(), 1u);
}

// A put of a deleted key brought its old value back.
TEST(ArticleFaults, ADeletedKeyDoesNotComeBackWithItsOldValue) {
  const StoreFolder folder;
  for (unsigned round = 0; round < 3; ++round) {
    {
      Store store = Store::open(folder.path(), small_options());
      EXPECT_EQ(value_of(store, "key"), "(missing)");
      store.put("key", "old");
      EXPECT_TRUE(store.erase("key"));
      EXPECT_EQ(value_of(store, "key"), "(missing)");
      EXPECT_TRUE(store.insert("key", "new"));
      EXPECT_EQ(value_of(store, "key"), "new");
      EXPECT_TRUE(store.erase("key"));
      store.put("key", "newer");
      EXPECT_EQ(value_of(store, "key"), "newer");
      if (round == 1) store.compact();
      EXPECT_TRUE(store.erase("key"));
      if (round == 2) store.compact();
    }
    // Without the checkpoint, the log alone must know it.
    std::filesystem::remove(folder.path() / "index.nest");
  }
}

// The live key behind a deleted one with its tag was missed. Here all keys but one in seven are
// deleted, from an index that is full of them.
TEST(ArticleFaults, LiveKeysBehindDeletedOnesAreFound) {
  const StoreFolder folder;
  Store store = Store::open(folder.path(), small_options());
  Content content;
  std::vector<std::string> keys;
  for (std::size_t i = 1; i <= 20'000; ++i) {
    keys.push_back(key_of(i));
    store.put(keys.back(), std::to_string(i));
    content[keys.back()] = std::to_string(i);
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i % 7 == 0) continue;
    EXPECT_TRUE(store.erase(keys[i]));
    content.erase(keys[i]);
  }
  check_store(store, content, keys);
}

// A rehash of a full table asserted. Here the index grows from nothing, past the doublings that a
// maplet has, and then all over again after a reopening.
TEST(ArticleFaults, TheIndexGrows) {
  const StoreFolder folder;
  Content content;
  std::vector<std::string> keys;
  for (unsigned round = 0; round < 2; ++round) {
    Store store = Store::open(folder.path(), small_options());
    const std::uint64_t slots = store.stats().index_slots;
    for (std::size_t i = 0; i < 20'000; ++i) {
      keys.push_back("key " + std::to_string(keys.size()));
      store.put(keys.back(), std::to_string(i));
      content[keys.back()] = std::to_string(i);
    }
    EXPECT_GT(store.stats().index_slots, slots);
    check_store(store, content, keys);
  }
}

}  // namespace
}  // namespace nestline::test
