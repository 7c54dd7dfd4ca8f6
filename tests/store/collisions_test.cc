// Keys with the same fingerprint and home. Sixteen of them fit a bucket and its alternate; others
// are in the overflow. Each is found, and none keeps the store from taking others.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/store/log_format.h"
#include "lib/store/state.h"
#include "tests/store/log_script.h"
#include "tests/store/on_call.h"
#include "tests/store/simulated_disk.h"
#include "tests/store/store_checks.h"
#include "tests/store/store_model.h"

namespace nestline::test { namespace {

constexpr std::uint64_t kCapacity = 8;

// Keys of 8 bytes with given hashes: XXH3 of 8 bytes is a bijection, and this goes back through its
// steps (doc/xxhash_spec.md of xxHash: "XXH3 64 bits, 4 to 8 bytes"). What its secret and the seed
// contribute is an exclusive or, which one known pair of key and hash tells.
class KeysByHash {
 public:
  explicit KeysByHash(std::uint64_t store_id)
      : flip_(number_of("any key.") ^ undo(hash_in(Space::keys, "any key.", store_id))) {}

  [[nodiscard]] std::string key(std::uint64_t hash) const {
    const std::uint64_t number = undo(hash) ^ flip_;
    std::string key(8, '\0');
    for (std::size_t i = 0; i < 8; ++i) {
      key[i] = static_cast<char>(number >> (8 * ((i + 4) % 8)) & 0xff);
    }
    return key;
  }

 private:
  // Its first four bytes are the high half.
  static std::uint64_t number_of(std::string_view key) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      number |= std::uint64_t{static_cast<unsigned char>(key[i])} << (8 * ((i + 4) % 8));
    }
    return number;
  }
  static std::uint64_t undo(std::uint64_t hash) {
    constexpr std::uint64_t kMultiplier = 0x9fb21c651e98df25u;
    std::uint64_t inverse = kMultiplier;  // modulo 2^64, by Newton's method
    for (int i = 0; i < 6; ++i) inverse *= 2 - kMultiplier * inverse;
    hash ^= hash >> 28 ^ hash >> 56;
    hash *= inverse;
    hash ^= (hash >> 35) + 8;
    hash *= inverse;
    // The map x ^ rotl(x, 49) ^ rotl(x, 24) is 1 when it is done 64 times.
    for (int i = 0; i < 63; ++i) hash ^= std::rotl(hash, 49) ^ std::rotl(hash, 24);
    return hash;
  }

  std::uint64_t flip_;
};

class Collisions : public testing::Test {
 protected:
  Collisions() {
    // The first file of an empty store.
    machine_->set_file(segment_name(1), LogScript({}).run().at(segment_name(1)));
    // Neighbouring hashes have the same home and fingerprint, whatever the size of the index.
    constexpr std::uint64_t kHash = 0x5a17c0ffee123456u;
    const KeysByHash keys(LogScript::kStoreId);
    for (std::uint64_t i = 0; i < 21; ++i) keys_.push_back(keys.key(kHash + i));
    absent_ = keys.key(kHash + 21);
    EXPECT_EQ(hash_in(Space::keys, absent_, LogScript::kStoreId), kHash + 21);
    open_again();
  }

  Store open() {
    return Store::State::open(machine_->disk(), options_of(4096, Sync::interval, kCapacity),
                              kOnCall);
  }
  void open_again() {
    store_.reset();
    store_ = std::make_unique<Store>(open());
  }

  void put(const std::string& key, const std::string& value) {
    store_->put(key, value);
    content_[key] = value;
  }
  void put_all() {
    for (const std::string& key : keys_) put(key, "value of " + key);
  }
  void check() {
    std::vector<std::string> all = keys_;
    all.push_back(absent_);
    for (const auto& [key, value] : content_) all.push_back(key);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    ASSERT_NO_THROW(check_store(*store_, content_, all));
  }
  // What happens to a store in its life.
  void check_for_life() {
    check();
    store_->checkpoint();
    open_again();
    check();
    store_->compact();
    check();
    store_.reset();
    machine_->remove_file("index.nest");
    open_again();
    check();
  }

  std::shared_ptr<SimulatedMachine> machine_ = SimulatedMachine::make(1);
  std::vector<std::string> keys_;
  std::string absent_;
  std::unique_ptr<Store> store_;
  Content content_;
};

TEST_F(Collisions, AllAreFoundAndNoOther) {
  put_all();
  EXPECT_GT(store_->stats().overflow_keys, 0u) << "the keys do not look the same";
  EXPECT_FALSE(store_->contains(absent_));
  EXPECT_FALSE(store_->erase(absent_));
  EXPECT_GT(store_->stats().false_reads, 0u);
  check_for_life();
}

TEST_F(Collisions, EachCanBeReplacedAndErased) {
  put_all();
  for (std::size_t i = 0; i < keys_.size(); i += 2) put(keys_[i], "another value");
  check();
  for (std::size_t i = 0; i < keys_.size(); i += 3) {
    EXPECT_FALSE(store_->insert_unique(keys_[i], "no"));
    EXPECT_TRUE(store_->erase(keys_[i]));
    EXPECT_FALSE(store_->erase(keys_[i]));
    content_.erase(keys_[i]);
    check();
  }
  check_for_life();
  for (const std::string& key : keys_) {
    EXPECT_EQ(store_->erase(key), content_.erase(key) != 0) << key;
    check();
  }
  EXPECT_EQ(store_->stats().overflow_keys, 0u);
}

TEST_F(Collisions, OthersAreTakenBesideThem) {
  for (unsigned i = 0; i < 600; ++i) {
    put("other " + std::to_string(i), "value");
    if (i == 100) put_all();
  }
  check_for_life();
}

TEST_F(Collisions, ABatchOfThem) {
  Store::Batch batch;
  for (unsigned round = 0; round < 3; ++round) {
    for (const std::string& key : keys_) {
      const std::string value = "value " + std::to_string(round);
      batch.put(key, value);
      content_[key] = value;
    }
  }
  store_->write(batch);
  check_for_life();
}

}  // namespace
}  // namespace nestline::test
