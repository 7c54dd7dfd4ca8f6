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

enum class Verdict : std::uint8_t { good, damaged, no_store };

Verdict verdict_of(auto&& call) {
  try {
    return call() ? Verdict::good : Verdict::damaged;
  } catch (const StoreError& error) {
    const std::string what = error.what();
    expect(what.size() > 20, [&] { return "not a sentence: " + what; });
    return what.find("there is no store in this folder") != std::string::npos ? Verdict::no_store
                                                                              : Verdict::damaged;
  }
}

Verdict opens(const Files& files, bool read_only) {
  return verdict_of([&] {
    (void)open(machine_with(files), read_only);
    return true;
  });
}
Verdict verdict_of(SimulatedMachine& machine) {
  return verdict_of([&] { return verify_on(*machine.disk()).ok(); });
}

// All tools agree about the files: whoever reads them and whoever writes; who opens what verify
// calls good, and verify about what does not open. What repair leaves opens. Throws what is wrong.
void expect_agreement(const Files& files) {
  const Verdict reads = opens(files, true);
  const Verdict writes = opens(files, false);
  const Verdict verified = verdict_of(*machine_with(files));
  const auto fails = [&](std::string_view what) {
    return std::string(what) + ": read " + std::to_string(static_cast<int>(reads)) + ", written " +
           std::to_string(static_cast<int>(writes)) + ", verified " +
           std::to_string(static_cast<int>(verified));
  };
  expect(reads == Verdict::no_store || reads == writes, [&] { return fails("openings differ"); });
  expect(reads != Verdict::no_store || writes != Verdict::damaged,
         [&] { return fails("no store for one, damaged for the other"); });
  expect(verified != Verdict::good || reads == Verdict::good,
         [&] { return fails("verify finds nothing"); });
  expect((verified == Verdict::no_store) <= (reads == Verdict::no_store),
         [&] { return fails("there is a store"); });
  const auto machine = machine_with(files);
  const Verdict repaired = verdict_of([&] {
    (void)repair_on(*machine->disk());
    return true;
  });
  expect((repaired == Verdict::no_store) == (verified == Verdict::no_store),
         [&] { return fails("repair differs"); });
  if (repaired == Verdict::no_store) return;
  expect(verdict_of(*machine) != Verdict::damaged, [&] { return fails("damaged after repair"); });
  (void)open(machine);
}

// A repair that is killed, or in which the power goes, is done by the next one; and what a repair
// that has returned leaves opens after a loss of power, too. Throws what is wrong.
void expect_lasting_repair(const Files& files, std::uint64_t fate) {
  std::vector<std::shared_ptr<SimulatedMachine>> left = {machine_with(files)};
  left[0]->before_change = [&](const SimulatedMachine& now) {
    left.push_back(now.after_power_loss(fate + left.size()));
    left.push_back(now.after_process_end());
  };
  const auto repair = [&](SimulatedMachine& machine) {
    return verdict_of([&] {
      (void)repair_on(*machine.disk());
      return true;
    });
  };
  const auto first = left[0];
  (void)repair(*first);
  first->before_change = nullptr;
  for (const auto& machine : left) {
    if (repair(*machine) == Verdict::no_store) continue;
    const auto after = machine->after_power_loss(fate);
    expect(verdict_of(*after) != Verdict::damaged, [] { return "damaged after repair and crash"; });
    (void)open(after);
  }
}

class Damage : public testing::Test {
 protected:
  Damage() {
    const auto machine = SimulatedMachine::make(7);
    std::uint64_t fate = 0;
    machine->before_change = [&](const SimulatedMachine& now) {
      crashed_.push_back(now.after_power_loss(++fate)->files());
    };
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
    machine->before_change = nullptr;
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
      noticed = verdict_of(*machine_with(files)) != Verdict::good || noticed;
      if (++tried_ % 4 == 0) expect_agreement(files);
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
  std::size_t tried_ = 0;
  Files files_;
  std::vector<Files> crashed_;  // what losses of power would have left on the way there
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
  EXPECT_EQ(unnoticed, kSyncMarkBytes) << "all but the mark of closing, which nobody syncs";
}

// What a loss of power leaves, and then a byte is wrong, or a page, or an end or a file is missing.
TEST_F(Damage, OfWhatACrashLeaves) {
  std::mt19937_64 random(5);
  // And what one leaves of the opening after it, and of changes then.
  for (std::size_t i = 0, first = crashed_.size(); i < first; i += 2) {
    const auto machine = machine_with(crashed_[i]);
    machine->before_change = [&](const SimulatedMachine& now) {
      if (random() % 8 == 0) crashed_.push_back(now.after_power_loss(random())->files());
    };
    Store store = open(machine);
    for (const char* const key : {"a", "b", "c"}) store.put(key, std::string(random() % 400, 'w'));
    machine->before_change = nullptr;
  }
  ASSERT_GT(crashed_.size(), 100u);
  for (const Files& left : crashed_) {
    ASSERT_NO_THROW(expect_agreement(left));
    for (unsigned kind = 0; kind < 8; ++kind) {
      Files files = left;
      std::erase_if(files, [](const auto& file) { return file.second.empty(); });
      if (files.empty()) break;
      if (kind % 2 == 1) files.erase("index.nest");
      if (files.empty()) break;
      const auto file =
          std::next(files.begin(), static_cast<std::ptrdiff_t>(random() % files.size()));
      Bytes& bytes = file->second;
      const std::size_t at = random() % bytes.size();
      if (kind < 4) {
        bytes[at] ^= std::byte{1} << (random() % 8);
      } else if (kind < 6) {
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                    std::min<std::size_t>(bytes.size() - at, random() % 512), std::byte{0});
      } else if (random() % 2 == 0) {
        bytes.resize(at);
      } else {
        files.erase(file);
      }
      EXPECT_NO_THROW(expect_agreement(files)) << "kind " << kind << " of " << file->first;
      if (random() % 8 == 0) {
        EXPECT_NO_THROW(expect_lasting_repair(files, random())) << "kind " << kind;
      }
      if (HasFailure()) return;
    }
  }
}

// Closed again and again, as short runs of the command do, and the index is lost: what the log says
// by itself is that all of it was synced.
TEST(DamageOfShortRuns, IsNoTornEnd) {
  constexpr std::size_t kRuns = 8;
  for (const Sync sync : {Sync::never, Sync::each}) {
    const auto machine = SimulatedMachine::make(3);
    StoreOptions options = options_of(65536);
    options.sync = sync;
    for (std::size_t i = 0; i < kRuns; ++i) {
      Store store = Store::State::open(machine->disk(), options, kOnCall);
      store.put("key " + std::to_string(i), "value");
    }
    machine->remove_file("index.nest");
    Files files = machine->files();
    ASSERT_EQ(opens(files, false), Verdict::good);
    const std::string name = "00000001.log";
    const std::size_t end = files.at(name).size() - kSyncMarkBytes;
    // Without its header, and with no other file that has the store's id, nothing can be read.
    Files headless = files;
    headless[name][16] ^= std::byte{1};
    EXPECT_EQ(repair_on(*machine_with(headless)->disk()).lost_bytes, headless[name].size());
    for (std::size_t at = kSegmentHeaderBytes; at < end; at += 5) {
      SCOPED_TRACE(at);
      Files damaged = files;
      damaged[name][at] ^= std::byte{1};
      ASSERT_EQ(opens(damaged, true), Verdict::damaged);
      ASSERT_NO_THROW(expect_agreement(damaged));
      const auto repaired = machine_with(damaged);
      (void)repair_on(*repaired->disk());
      ASSERT_GE(open(repaired).size(), kRuns - 1);
    }
  }
}

// Everybody says how many changes of a torn end read well. A repair keeps all but one.
void expect_counted(const Files& files, std::uint64_t cut, std::uint64_t all) {
  EXPECT_EQ(verify_on(*machine_with(files)->disk()).cut_records, cut);
  for (const bool read_only : {true, false}) {
    const StoreStats stats = open(machine_with(files), read_only).stats();
    EXPECT_EQ(stats.cut_records, cut);
    EXPECT_EQ(stats.records, all - 1 - cut);
  }
  const auto repaired = machine_with(files);
  EXPECT_FALSE(repair_on(*repaired->disk()).ok());
  EXPECT_EQ(open(repaired).size(), all - 1);
}

// Without a proof it may be what a crash leaves.
TEST(DamageOfShortRuns, ThatNothingProvesIsCounted) {
  constexpr std::size_t kAll = 40;
  const auto machine = SimulatedMachine::make(3);
  StoreOptions options = options_of(65536);
  options.sync = Sync::never;
  Store store = Store::State::open(machine->disk(), options, kOnCall);
  for (std::size_t i = 0; i < kAll; ++i) store.put("key " + std::to_string(i), "value");
  Files files = machine->files();
  const auto place = place_of(files, "key 9");
  files["00000001.log"][place.second] ^= std::byte{1};
  expect_counted(files, kAll - 10, kAll);
}

// A mark that finds no room is written before the next record that does.
TEST(DamageOfShortRuns, IsProvedByAMarkThatWasRefused) {
  const auto machine = SimulatedMachine::make(3);
  Store store = Store::State::open(machine->disk(), options_of(65536), kOnCall);
  store.put("key 1", "value");
  store.sync();
  machine->fail(Call::write, 0, ENOSPC, false);
  EXPECT_THROW(store.put("key 2", "value"), std::system_error);
  store.put("key 3", "value");
  Files files = machine->files();
  files["00000001.log"][place_of(files, "key 1").second] ^= std::byte{1};
  EXPECT_EQ(opens(files, true), Verdict::damaged);
}

// A file that holds an end anew was synced before it got its name.
TEST(DamageOfShortRuns, InARenewedEndIsNoTornEnd) {
  const auto machine = SimulatedMachine::make(3);
  StoreOptions options = options_of(65536);
  options.sync = Sync::never;
  const Store killed = [&] {
    Store store = Store::State::open(machine->disk(), options, kOnCall);
    for (std::size_t i = 0; i < 9; ++i) store.put("key " + std::to_string(i), "value");
    return store;
  }();
  const auto later = machine->after_process_end();
  const Store store = open(later);
  Files files = later->files();
  Bytes& renewed = files["00000002.log"];
  const auto place = place_of({{"", renewed}}, "key 5");
  ASSERT_NE(place.second, 0u);
  renewed[place.second] ^= std::byte{1};
  EXPECT_EQ(opens(files, true), Verdict::damaged);
}

// Those of the same batch before it are counted, too, also where only its end reads well behind.
TEST(DamageOfShortRuns, CountsTheWholeBatchThatIsCut) {
  constexpr std::size_t kAll = 20;
  const auto machine = SimulatedMachine::make(3);
  StoreOptions options = options_of(65536);
  options.sync = Sync::never;
  Store store = Store::State::open(machine->disk(), options, kOnCall);
  store.put("before", "value");
  Store::Batch batch;
  for (std::size_t i = 0; i < kAll; ++i) batch.put("key " + std::to_string(i), "value");
  store.write(batch);
  for (const char* const key : {"key 9", "key 19"}) {
    Files files = machine->files();
    files["00000001.log"][place_of(files, key).second] ^= std::byte{1};
    expect_counted(files, kAll - 1, kAll + 1);
  }
}

// The second file of a batch that was never whole comes back, as an unlink does that nobody synced,
// when the first has been cut and filled with fewer records: numbers are missing between the two.
TEST(DamageOfNames, AFileThatComesBackIsNoHistory) {
  for (const std::size_t length : {300u, 500u}) {
    const auto machine = SimulatedMachine::make(3);
    Files torn;
    {
      Store store = open(machine);
      store.put("a", "1");
      machine->before_change = [&](const SimulatedMachine& now) { torn = now.files(); };
      Store::Batch batch;
      for (std::size_t i = 0; i < 30; ++i) batch.put(key_of(i), "of a batch");
      store.write(batch);
      machine->before_change = nullptr;
    }
    ASSERT_TRUE(torn.contains("00000002.log") && !torn["00000002.log"].empty());
    const auto next = machine_with(torn);
    {
      Store store = open(next);
      ASSERT_EQ(store.size(), 1u);
      for (std::size_t i = 0; i < 8; ++i) store.put(key_of(i), std::string(length, 'v'));
    }
    Files files = next->files();
    std::erase_if(files, [](const auto& file) { return file.first > "00000001.log"; });
    files["00000002.log"] = torn["00000002.log"];
    EXPECT_EQ(opens(files, true), Verdict::damaged);
    EXPECT_NO_THROW(expect_agreement(files));
  }
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
      EXPECT_EQ(store.size(), now.size());
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
