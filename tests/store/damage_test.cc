// A small store with one thing wrong: any byte, any length of any file, files that are swapped,
// emptied, removed, doubled. Opening it is a StoreError, or every question has the right answer or
// a StoreError; never a wrong value, and never a key that is not found though it should be. What
// repair makes of it opens, verifies, and holds only values that the keys have had.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <exception>
#include <random>
#include <set>

#include "lib/store/log_format.h"
#include "tests/store/damaged_files.h"
#include "tests/store/store_model.h"

namespace nestline::test {
namespace {

constexpr std::size_t kKeys = 12;

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

  // Every byte of the log and the checkpoint's head; some of its maplet, which has its own tests.
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

}  // namespace
}  // namespace nestline::test
