// A small store with one thing wrong: any byte, any length of any file, files that are swapped,
// emptied, removed, doubled. Opening it is a StoreError, or every question has the right answer or
// a StoreError; never a wrong value, and never a key that is not found though it should be. What
// repair makes of it opens, verifies, and holds only values that the keys have had.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/store/damages.h"
#include "tests/support/each_case.h"

namespace nestline::test { namespace {

class Damage : public testing::Test {
 protected:
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
      const auto had = store_.had.find(key);
      expect(had != store_.had.end() && std::ranges::count(had->second, value) != 0,
             [&, &name = key] { return "after repair, a value that never was, of " + name; });
    }
    expect(found == content_ || !report.ok(),
           [&] { return "repair does not tell of a loss: " + difference(found, content_); });
    check_store(store, found, keys_);
    expect(wrong_keys(found) <= most_wrong_keys_,
           [&] { return "repair loses more than it must: " + difference(found, content_); });
  }

  // The same for damage of which it is known whether openings notice it, of each `step` cases one;
  // how often none did.
  std::size_t try_all(void (*damages)(const SmallStore& store, const WithDamage& with),
                      std::size_t step = 1) {
    std::size_t unnoticed = 0;
    std::size_t number = 0;
    damages(store_, [&](const DamagedFiles& damaged) {
      if (HasFailure() || number++ % step != 0) return;
      const bool noticed = try_files(damaged.files, damaged.what);
      EXPECT_EQ(noticed, damaged.is_noticed.value_or(noticed)) << damaged.what;
      unnoticed += noticed ? 0 : 1;
    });
    return unnoticed;
  }

  const SmallStore store_{false};
  const Files& files_ = store_.files;
  const Content& content_ = store_.content;
  const std::vector<std::string>& keys_ = store_.keys;
  std::size_t most_wrong_keys_ = ~std::size_t{0};  // after a repair
  std::size_t tried_ = 0;
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
  most_wrong_keys_ = 1;
  EXPECT_EQ(try_all(damage_bytes), kSyncMarkBytes)
      << "all but the mark of closing, which nobody syncs";
}

TEST_F(Damage, OfWhatACrashLeaves) {
  std::size_t tried = 0;
  damage_what_crashes_leave(store_, [&](const DamagedFiles& damaged) {
    if (HasFailure()) return;
    ++tried;
    EXPECT_NO_THROW(expect_agreement(damaged.files)) << damaged.what;
  });
  EXPECT_GT(tried, 800u);
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

TEST_F(Damage, AnyLength) { (void)try_all(damage_lengths, case_step()); }
TEST_F(Damage, LongerFiles) { (void)try_all(lengthen_files); }
TEST_F(Damage, MissingSwappedAndDoubledFiles) { (void)try_all(lose_and_swap_files); }
TEST_F(Damage, FilesOfAnotherStore) { (void)try_all(mix_with_another_store); }

TEST_F(Damage, FilesThatAreNotOurs) {
  Files files = files_;
  files["notes.txt"] = Bytes(10, std::byte{'x'});
  files["1.log"] = Bytes(10, std::byte{'x'});
  files["00000001.log.bak"] = files_.begin()->second;
  EXPECT_FALSE(try_files(files, "foreign names"));
}

}  // namespace
}  // namespace nestline::test
