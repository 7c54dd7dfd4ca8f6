// A small store with one thing wrong: any byte, any length of any file, files that are swapped,
// emptied, removed, doubled. Opening it is a StoreError, or every question has the right answer or
// a StoreError; never a wrong value, and never a key that is not found though it should be. What
// repair makes of it opens, verifies, and holds only values that the keys have had.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/store/log_format.h"
#include "lib/store/state.h"
#include "lib/store/survey.h"
#include "tests/store/on_call.h"
#include "tests/store/simulated_disk.h"
#include "tests/store/store_checks.h"
#include "tests/store/store_model.h"

namespace nestline::test {
namespace {

using Bytes = SimulatedMachine::Bytes;
using Files = std::map<std::string, Bytes>;

constexpr std::uint64_t kSegmentBytes = 1024;
constexpr std::size_t kKeys = 12;

Store open(const std::shared_ptr<SimulatedMachine>& machine, bool read_only = false) {
  StoreOptions options = options_of(kSegmentBytes);
  options.read_only = read_only;
  return Store::State::open(machine->disk(), options, kOnCall);
}

constexpr auto machine_with = SimulatedMachine::with_files;

class Damage : public testing::Test {
 protected:
  Damage() {
    const auto machine = SimulatedMachine::make(7);
    {
      Store store = open(machine);
      std::mt19937_64 random(1);
      for (unsigned i = 0; i < 36; ++i) {
        const std::string key = key_of(random() % kKeys);
        had_[key].insert("");
        if (random() % 4 == 0) {
          (void)store.erase(key);
          content_.erase(key);
          continue;
        }
        const std::string value = std::to_string(i) + std::string(random() % 140, 'v');
        if (random() % 4 == 0) {
          Store::Batch batch;
          batch.put(key, value);
          batch.put("with " + key, value);
          store.write(batch);
          content_["with " + key] = value;
          had_["with " + key].insert(value);
        } else {
          store.put(key, value);
        }
        content_[key] = value;
        had_[key].insert(value);
      }
    }
    files_ = machine->files();
    // Files that hold nothing would make the tests below pass for nothing.
    std::erase_if(files_, [](const auto& file) { return file.second.empty(); });
    for (const auto& [key, values] : had_) keys_.push_back(key);
  }

  // Asks for everything. Throws what is wrong; errors of the store are right.
  void ask(const Store& store) const {
    const auto tolerant = [](auto&& question) {
      try {
        question();
      } catch (const StoreError&) {
      }
    };
    for (const std::string& key : keys_) tolerant([&] { check_key(store, key, content_); });
    tolerant([&] {
      const Content found = content_of(store);
      expect(found == content_, [&] { return "for_each: " + difference(found, content_); });
    });
    const std::vector<std::string_view> views(keys_.begin(), keys_.end());
    tolerant([&] {
      std::size_t right = 0;
      const std::size_t count =
          store.get(std::span(views), [&](std::size_t i, std::string_view value) {
            right += content_.contains(keys_[i]) && content_.at(keys_[i]) == value ? 1 : 0;
          });
      expect(count == content_.size() && right == count, [] { return "a batch is wrong"; });
    });
  }

  // Opens it as it is, verifies and repairs it. Returns whether somebody noticed.
  bool try_files(const Files& files, const std::string& what) {
    bool noticed = false;
    try {
      for (const bool read_only : {true, false}) {
        const auto machine = machine_with(files);
        try {
          ask(open(machine, read_only));
        } catch (const StoreError& error) {
          noticed = true;
          expect(std::string(error.what()).size() > 20,
                 [&] { return std::string("not a sentence: ") + error.what(); });
        }
      }
      noticed = !verify_on(*machine_with(files)->disk()).ok() || noticed;
      repair(files);
    } catch (const std::exception& wrong) {
      ADD_FAILURE() << what << ": " << wrong.what();
    }
    return noticed;
  }

  // What one damaged record can change: its key.
  [[nodiscard]] std::size_t wrong_keys(const Content& found) const {
    return static_cast<std::size_t>(
        std::count_if(keys_.begin(), keys_.end(), [&](const std::string& key) {
          const auto a = found.find(key);
          const auto b = content_.find(key);
          return (a == found.end()) != (b == content_.end()) ||
                 (a != found.end() && a->second != b->second);
        }));
  }

  void repair(const Files& files) const {
    const auto machine = machine_with(files);
    const StoreReport report = repair_on(*machine->disk());
    const StoreReport verified = verify_on(*machine->disk());
    expect(verified.ok(), [&] { return "after repair: " + verified.problems.front(); });
    const Store store = open(machine);
    const Content found = content_of(store);
    for (const auto& [key, value] : found) {
      expect(had_.contains(key) && had_.at(key).contains(value),
             [&, &name = key] { return "after repair, a value that never was, of " + name; });
    }
    expect(found == content_ || !report.ok(),
           [&] { return "repair does not tell of a loss: " + difference(found, content_); });
    check_store(store, found, keys_);
    expect(wrong_keys(found) <= most_wrong_keys_,
           [&] { return "repair loses more than it must: " + difference(found, content_); });
  }

  // Every byte of the log and of the head of the checkpoint; of the checkpoint's maplet, whose
  // format has tests of its own, some.
  static std::size_t step_at(const std::string& name, std::size_t at) {
    return name.ends_with(".log") || at < 600 ? 1 : 499;
  }

  std::size_t most_wrong_keys_ = ~std::size_t{0};  // after a repair
  Files files_;
  Content content_;
  std::map<std::string, std::set<std::string>> had_;  // "" also stands for: not there
  std::vector<std::string> keys_;
};

TEST_F(Damage, NoneIsNoneToAnybody) {
  ASSERT_GT(files_.size(), 4u) << "several files of the log, and a checkpoint";
  ASSERT_TRUE(files_.contains("index.nest"));
  EXPECT_FALSE(try_files(files_, "no damage"));
  const auto machine = machine_with(files_);
  const StoreReport report = repair_on(*machine->disk());
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.records, content_.size());
  EXPECT_EQ(report.lost_bytes, 0u);
  for (const auto& [name, content] : machine->files()) {
    EXPECT_EQ(name.find("damaged"), std::string::npos) << name;
  }
}

TEST_F(Damage, AnyByte) {
  std::size_t unnoticed = 0;
  most_wrong_keys_ = 1;
  for (const auto& [name, content] : files_) {
    for (std::size_t at = 0; at < content.size(); at += step_at(name, at)) {
      Files files = files_;
      std::byte& byte = files[name][at];
      const std::byte old = byte;
      const std::array changes = {old ^ std::byte{1} << (at % 8), std::byte{0}, std::byte{0xff}};
      byte = changes[at % changes.size()];
      if (byte == old) byte ^= std::byte{0x40};
      unnoticed += try_files(files, name + ", byte " + std::to_string(at)) ? 0 : 1;
      if (HasFailure()) return;
    }
  }
  EXPECT_EQ(unnoticed, 0u);
}

TEST_F(Damage, AnyLength) {
  for (const auto& [name, content] : files_) {
    for (std::size_t size = 0; size < content.size(); size += step_at(name, size)) {
      Files files = files_;
      files[name].resize(size);
      (void)try_files(files, name + " cut at " + std::to_string(size));
      // The same length, with zeros: what a lost write leaves.
      if (size % 8 == 0) {
        files[name].resize(content.size());
        (void)try_files(files, name + " zero from " + std::to_string(size));
      }
      if (HasFailure()) return;
    }
  }
}

TEST_F(Damage, LongerFiles) {
  for (const auto& [name, content] : files_) {
    for (const std::size_t more : {1u, 8u, 31u, 32u, 64u, 4096u}) {
      for (const unsigned fill : {0u, 1u, 0xffu}) {
        Files files = files_;
        files[name].resize(content.size() + more, static_cast<std::byte>(fill));
        (void)try_files(files, name + " longer by " + std::to_string(more));
      }
    }
  }
}

TEST_F(Damage, MissingSwappedAndDoubledFiles) {
  for (const auto& [name, content] : files_) {
    Files files = files_;
    files.erase(name);
    const bool noticed = try_files(files, name + " is missing");
    EXPECT_EQ(noticed, name.ends_with(".log")) << name;
    for (const auto& [other, other_content] : files_) {
      if (other == name) continue;
      files = files_;
      std::swap(files[name], files[other]);
      EXPECT_TRUE(try_files(files, name + " and " + other + " are swapped"));
      files = files_;
      files[name] = files[other];
      EXPECT_TRUE(try_files(files, name + " is a copy of " + other));
    }
  }
}

TEST_F(Damage, FilesOfAnotherStore) {
  const auto machine = SimulatedMachine::make(8);
  {
    Store store = open(machine);
    for (unsigned i = 0; i < 50; ++i) store.put("foreign " + std::to_string(i), "foreign value");
  }
  for (const auto& [name, content] : machine->files()) {
    if (content.empty()) continue;
    Files files = files_;
    files[name] = content;
    EXPECT_TRUE(try_files(files, name + " is another store's")) << name;
  }
}

TEST_F(Damage, FilesThatAreNotOurs) {
  Files files = files_;
  files["notes.txt"] = Bytes(10, std::byte{'x'});
  files["1.log"] = Bytes(10, std::byte{'x'});
  files["00000001.log.bak"] = files_.begin()->second;
  EXPECT_FALSE(try_files(files, "foreign names"));
}

// The file that has the key, and where; the end of the files if none has.
std::pair<Files::const_iterator, std::size_t> place_of(const Files& files, std::string_view key) {
  for (auto file = files.begin(); file != files.end(); ++file) {
    const Bytes& content = file->second;
    const std::string_view bytes(reinterpret_cast<const char*>(content.data()), content.size());
    const std::size_t at = bytes.find(key);
    if (at != std::string_view::npos) return {file, at};
  }
  return {files.end(), 0};
}

// One record of a sealed file is damaged: its key is hurt, and no other.
class DamagedRecord : public testing::Test {
 protected:
  static constexpr std::size_t kAll = 30;
  static constexpr const char* kHurt = "key 3 that is hurt";

  // A closed store, so that opening it reads the checkpoint and not the old files.
  DamagedRecord() {
    Store store = open(machine_);
    for (std::size_t i = 0; i < kAll; ++i) {
      const std::string key = i == 3 ? kHurt : "key " + std::to_string(i);
      store.put(key, value_of(i));
      content_[key] = value_of(i);
      // So that there is something to compact, beside its record too.
      if (i > 0 && i % 3 == 1) store.put("key 0", content_["key 0"] = value_of(100 + i));
    }
  }

  static std::optional<std::string> value_in(const Store& store, const std::string& key) {
    std::optional<std::string> value;
    (void)store.get(key, [&](std::string_view found) { value = std::string(found); });
    return value;
  }

  static std::string value_of(std::size_t i) { return std::to_string(i) + std::string(100, 'v'); }

  // `at`: from the beginning of the record.
  void damage(std::size_t at) {
    const Files files = machine_->files();
    const auto [file, key] = place_of(files, kHurt);
    ASSERT_NE(file, files.end()) << "the record is not there";
    Bytes content = file->second;
    content[key - kRecordHeaderBytes + at] ^= std::byte{4};
    machine_->set_file(file->first, content);
  }

  void expect_others(const Store& store) const {
    for (const auto& [key, value] : content_) {
      if (key != kHurt) {
        EXPECT_EQ(value_in(store, key), value) << key;
      }
    }
  }
  // for_each gives the others, and then reports the damage if there is any.
  std::string message_of_iteration(const Store& store, Content expected) const {
    Content found;
    std::string message;
    try {
      store.for_each(
          [&](std::string_view key, std::string_view value) { found[std::string(key)] = value; });
    } catch (const StoreError& error) {
      message = error.what();
    }
    EXPECT_EQ(found, expected);
    return message;
  }

  Content others() const {
    Content others = content_;
    others.erase(kHurt);
    return others;
  }

  std::shared_ptr<SimulatedMachine> machine_ = SimulatedMachine::make(7);
  Content content_;
};

constexpr std::size_t kInHeader = 26;  // of the key's hash
constexpr std::size_t kInValue = 100;

TEST_F(DamagedRecord, OfAValueCanBeReplacedAndErased) {
  damage(kInValue);
  for (const bool erases : {false, true}) {
    SCOPED_TRACE(erases);
    const auto machine = machine_with(machine_->files());
    {
      Store store = open(machine);
      EXPECT_THROW((void)value_in(store, kHurt), StoreError);
      EXPECT_THROW((void)store.insert(kHurt, "x"), StoreError);
      expect_others(store);
      EXPECT_NE(message_of_iteration(store, others()).find(kHurt), std::string::npos);
      EXPECT_THROW(store.compact(), StoreError);
      EXPECT_THROW((void)value_in(store, kHurt), StoreError);
      expect_others(store);
      Content now = others();
      if (erases) {
        EXPECT_TRUE(store.erase(kHurt));
        EXPECT_EQ(value_in(store, kHurt), std::nullopt);
      } else {
        store.put(kHurt, "new");
        now[kHurt] = "new";
        EXPECT_EQ(value_in(store, kHurt), "new");
      }
      EXPECT_EQ(message_of_iteration(store, now), "");
      EXPECT_EQ(store.stats().records, now.size());
      store.compact();
      EXPECT_EQ(message_of_iteration(store, now), "");
    }
    EXPECT_TRUE(verify_on(*machine->disk()).ok());
    const Store store = open(machine);
    EXPECT_EQ(value_in(store, kHurt), erases ? std::nullopt : std::optional<std::string>("new"));
    expect_others(store);
  }
}

// Whose it was is not known: its key is never denied, and can be put anew.
TEST_F(DamagedRecord, WithoutAKeyHurtsNobodyElse) {
  damage(kInHeader);
  Store store = open(machine_);
  EXPECT_THROW((void)value_in(store, kHurt), StoreError);
  EXPECT_THROW((void)store.erase(kHurt), StoreError);
  expect_others(store);
  EXPECT_NE(message_of_iteration(store, others()), "");
  EXPECT_THROW(store.compact(), StoreError);
  EXPECT_THROW((void)value_in(store, kHurt), StoreError);
  expect_others(store);
  store.put(kHurt, "new");
  EXPECT_EQ(value_in(store, kHurt), "new");
  Content now = others();
  now[kHurt] = "new";
  EXPECT_NE(message_of_iteration(store, now), "");
  expect_others(store);
}

// Records of 128 bytes, so that a length with one wrong bit points to the beginning of another one.
// Each bit of one record's header is damaged in turn.
TEST(DamagedHeader, HurtsNoOtherKey) {
  constexpr std::size_t kValueBytes = 128 - record_bytes(4, 0);
  static_assert(record_bytes(4, kValueBytes) == 128);
  const auto key_of = [](std::size_t i) { return "k" + std::to_string(100 + i); };
  const auto value_of = [](std::size_t i) {
    return std::string(kValueBytes, static_cast<char>('a' + i));
  };
  constexpr std::size_t kHurt = 1;
  constexpr std::size_t kAll = 20;
  const auto machine = SimulatedMachine::make(9);
  {
    Store store = open(machine);
    for (std::size_t i = 0; i < kAll; ++i) store.put(key_of(i), value_of(i));
  }
  const Files files = machine->files();
  const auto place = place_of(files, "k101");
  ASSERT_NE(place.first, files.end());
  const std::size_t record = place.second - kRecordHeaderBytes;
  for (std::size_t bit = 0; bit < 8 * kRecordHeaderBytes; ++bit) {
    SCOPED_TRACE("bit " + std::to_string(bit));
    Files damaged = files;
    damaged[place.first->first][record + bit / 8] ^= std::byte{1} << (bit % 8);
    Store store = open(machine_with(damaged));
    const auto expect_others = [&] {
      Content found;
      try {
        store.for_each(
            [&](std::string_view key, std::string_view value) { found[std::string(key)] = value; });
      } catch (const StoreError&) {
      }
      for (std::size_t i = 0; i < kAll; ++i) {
        if (i == kHurt) continue;
        EXPECT_EQ(found[key_of(i)], value_of(i)) << key_of(i);
        std::string value;
        EXPECT_TRUE(store.get(key_of(i), [&](std::string_view bytes) { value = bytes; }));
        EXPECT_EQ(value, value_of(i)) << key_of(i);
      }
    };
    expect_others();
    try {
      store.put(key_of(kHurt), "again");
      store.compact();
    } catch (const StoreError&) {
    }
    expect_others();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace nestline::test
