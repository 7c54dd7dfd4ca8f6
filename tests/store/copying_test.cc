// Copies of a store (Store::copy_to): they hold what the store held at one instant, each of the two
// goes on without harm to the other, and what interrupts a copy leaves the store whole and a copy
// that is refused or can be finished.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "lib/store/log_format.h"
#include "lib/store/survey.h"
#include "nestline/store.h"
#include "tests/store/on_call.h"
#include "tests/store/simulated_disk.h"
#include "tests/store/store_checks.h"
#include "tests/support/each_case.h"
#include "tests/support/files.h"
#include "tests/support/temp_folder.h"

namespace nestline::test { namespace {

namespace fs = std::filesystem;

// Overwrites and erases some keys and makes others: at least two files of the log.
void change_some(Store& store, Content& content, const std::string& round) {
  for (int i = 0; i < 60; ++i) {
    const std::string key = "k" + std::to_string(i * 7 % 40);
    store.put(key, content[key] = round + std::string(static_cast<std::size_t>(i) * 50, 'v'));
    if (i % 5 != 0) continue;
    EXPECT_EQ(store.erase(key), content.erase(key) != 0);
  }
}

void expect_content(const Store& store, const Content& content) {
  EXPECT_EQ(difference(content_of(store), content), "no difference");
}

class Copies : public testing::Test {
 protected:
  static Store open(const fs::path& folder) {
    return Store::open(folder, options_of(65536, Sync::never));
  }
  static Store read(const fs::path& folder) { return Store::open(folder, {.read_only = true}); }

  void expect_refusal(const std::string& part) const { expect_refusal(b_, part); }
  void expect_refusal(const fs::path& to, const std::string& part) const {
    const std::string refusal = refusal_of([&] { read(a_).copy_to(to); });
    EXPECT_NE(refusal.find(part), std::string::npos) << refusal;
  }

  const TempFolder top_;
  const fs::path a_ = top_ / "a";
  const fs::path b_ = top_ / "b";
};

TEST_F(Copies, EachGoesOnByItself) {
  Content content;
  {
    Store store = open(a_);
    change_some(store, content, "one");
    store.checkpoint();
    change_some(store, content, "two");
    store.copy_to(b_);
    EXPECT_LT(read(b_).stats().replayed_records, 100U);  // it has the checkpoint
    const std::vector<fs::path> logs = logs_of(b_);
    ASSERT_GE(logs.size(), 3U);
    for (const fs::path& log : logs)
      EXPECT_EQ(fs::hard_link_count(log), log == logs.back() ? 1 : 2);
    expect_content(read(b_), content);
    EXPECT_TRUE(verify_store(b_).ok());
    Content other = content;
    Store copy = open(b_);
    EXPECT_EQ(copy.stats().cut_bytes, 0U);
    EXPECT_EQ(logs_of(b_), logs);  // its end is known to be on disk, and is not written anew
    for (int i = 0; i < 3; ++i) {
      change_some(copy, other, "copy");
      change_some(store, content, "store");
      copy.compact();
      store.compact();
    }
    expect_content(store, content);
    expect_content(copy, other);
  }
  EXPECT_NE(difference(content_of(open(b_)), content), "no difference");
  expect_content(open(a_), content);
  EXPECT_TRUE(verify_store(a_).ok());
  EXPECT_TRUE(verify_store(b_).ok());
}

TEST_F(Copies, AnOlderCopyIsBroughtUpToDate) {
  Content content;
  {
    Store store = open(a_);
    for (int round = 0; round < 5; ++round) {
      change_some(store, content, std::to_string(round));
      if (round == 3) store.compact();
      store.copy_to(b_);
      store.copy_to(b_);  // with nothing new
      expect_content(read(b_), content);
      EXPECT_TRUE(verify_store(b_).ok());
      EXPECT_EQ(logs_of(b_).size(), store.stats().segments);
    }
  }
  // From the folder alone, and of a copy.
  read(a_).copy_to(b_);
  read(b_).copy_to(top_ / "c");
  expect_content(read(top_ / "c"), content);
  // What was opened for writing is a store of its own.
  { const Store store = open(b_); }
  expect_refusal("this is no copy, or one that was written since");
  expect_content(open(b_), content);
}

// A store that is open for reading is older than the checkpoint that the writer has made since.
TEST_F(Copies, OfAReaderHaveNoNewerCheckpoint) {
  Content content;
  Store store = open(a_);
  change_some(store, content, "one");
  store.checkpoint();
  const Store reader = read(a_);
  reader.copy_to(b_);
  EXPECT_LT(read(b_).stats().replayed_records, 5U);  // it has the checkpoint
  const Content then = content;
  change_some(store, content, "two");
  store.checkpoint();
  reader.copy_to(b_);
  expect_content(read(b_), then);
  store.copy_to(b_);
  expect_content(read(b_), content);
}

TEST_F(Copies, WhatIsNoCopyIsRefused) {
  Content content;
  {
    Store store = open(a_);
    change_some(store, content, "one");
  }
  expect_refusal(a_, "this is in the folder of the store itself");
  expect_refusal(a_ / "copy", "this is in the folder of the store itself");
  EXPECT_FALSE(fs::exists(a_ / "copy"));
  EXPECT_THROW(read(a_).copy_to(top_ / "none/b"), std::system_error);
  fs::create_directory(b_);
  write_file(b_ / "letter", "text");
  expect_refusal("there is no store in this folder, and it is not empty");
  fs::remove(b_ / "letter");
  {
    Store other = open(top_ / "other");
    other.put("k", "other");
    other.copy_to(b_);
  }
  expect_refusal("this is a copy of another store");
  expect_refusal(top_ / "other", "this is no copy");
  EXPECT_EQ(content_of(read(b_)).at("k"), "other");
  EXPECT_EQ(content_of(open(top_ / "other")).at("k"), "other");
  {
    const Store writer = open(b_);
    expect_refusal("has the store open for writing");
  }
  // The store has been put back to an older state.
  fs::remove_all(b_);
  fs::copy(a_, top_ / "older");
  {
    Store store = open(a_);
    for (int i = 0; i < 3; ++i) change_some(store, content, "two");
  }
  read(a_).copy_to(b_);
  const std::string refusal = refusal_of([&] { read(top_ / "older").copy_to(b_); });
  EXPECT_NE(refusal.find("this copy is newer than the store"), std::string::npos) << refusal;
  expect_content(read(b_), content);
}

TEST_F(Copies, OnAnotherFileSystemFilesAreCopied) {
  const fs::path other = "/dev/shm";
  struct stat here {};
  struct stat there {};
  if (::stat(top_.path().c_str(), &here) != 0 || ::stat(other.c_str(), &there) != 0 ||
      here.st_dev == there.st_dev) {
    GTEST_SKIP() << "this machine has no other file system";
  }
  const fs::path b = other / top_.path().filename();
  Content content;
  Store store = open(a_);
  change_some(store, content, "one");
  store.copy_to(b);
  const fs::file_time_type time = fs::last_write_time(logs_of(b).front());
  change_some(store, content, "two");
  store.copy_to(b);
  EXPECT_EQ(fs::last_write_time(logs_of(b).front()), time);  // it was there
  for (const fs::path& log : logs_of(b)) EXPECT_EQ(fs::hard_link_count(log), 1);
  expect_content(open(b), content);
  fs::remove_all(b);
}

// The power went when the next file of the log had been made and had nothing yet: opening goes on
// in a file that a copy has too.
TEST_F(Copies, OpeningWritesToNoFileOfACopy) {
  Content content;
  std::optional<Store> store(open(a_));
  change_some(*store, content, "one");
  store->copy_to(b_);
  store.reset();
  fs::remove(a_ / "index.nest");
  fs::resize_file(logs_of(a_).back(), 0);
  const fs::path linked = logs_of(a_)[logs_of(a_).size() - 2];
  ASSERT_EQ(fs::hard_link_count(linked), 2U);
  const std::string before = read_file(b_ / linked.filename());
  store.emplace(open(a_));
  EXPECT_EQ(fs::hard_link_count(linked), 1U);
  Content rest = content_of(*store);
  for (int i = 0; i < 3; ++i) change_some(*store, rest, "more");
  store->compact();
  store.reset();
  expect_content(open(a_), rest);
  EXPECT_TRUE(read_file(b_ / linked.filename()) == before);
  expect_content(open(b_), content);
}

// On simulated disks, which have no links.
class CopiesOnDisks : public testing::Test {
 protected:
  CopiesOnDisks()
      : store_(Store::State::open(SimulatedMachine::make(1)->disk(), options_of(4096, Sync::never),
                                  kOnCall)) {
    go_on("one");
  }

  void go_on(const std::string& round) {
    change_some(store_, content_, round);
    store_.compact();
    change_some(store_, content_, round + round);
  }

  // What the disk shows: nothing while it is refused.
  static std::optional<Content> content_on(SimulatedMachine& machine) {
    try {
      StoreOptions options = options_of(4096);
      options.read_only = true;
      return content_of(Store::State::open(machine.disk(), options, kOnCall));
    } catch (const StoreError& error) {
      const std::string_view what = error.what();
      EXPECT_TRUE(what.find("a copy of a store that is not finished") != std::string_view::npos ||
                  what.find("there is no store in this folder") != std::string_view::npos)
          << what;
      return std::nullopt;
    }
  }

  void copy_to(SimulatedMachine& machine) { Store::State::copy_on(store_, *machine.disk()); }

  void expect_whole(SimulatedMachine& machine) {
    ASSERT_EQ(content_on(machine), content_);
    EXPECT_TRUE(verify_on(*machine.disk()).ok());
    Store copy = Store::State::open(machine.disk(), options_of(4096), kOnCall);
    Content other = content_;
    change_some(copy, other, "copy");
    copy.compact();
    expect_content(copy, other);
  }

  // The power goes, or the process ends, at each change of a copy that begins with `start`.
  void interrupt_copies(SimulatedMachine& start, const std::optional<Content>& older) {
    std::vector<std::shared_ptr<SimulatedMachine>> pictures;
    const auto machine = start.after_process_end();
    machine->before_change = [&](const SimulatedMachine& now) {
      const std::uint64_t seed = now.changes();
      pictures.push_back(seed % 3 == 0 ? now.after_process_end() : now.after_power_loss(seed));
    };
    copy_to(*machine);
    ASSERT_GT(pictures.size(), 20U);
    pictures.push_back(machine->after_power_loss(1));
    ASSERT_EQ(content_on(*pictures.back()), content_);
    std::size_t refused = 0;
    std::size_t looked_at = 0;
    for (std::size_t i = 0; i < pictures.size(); i += case_step()) {
      const auto& picture = pictures[i];
      const std::optional<Content> found = content_on(*picture);
      if (!found) ++refused;
      ASSERT_TRUE(!found || found == older || found == content_);
      copy_to(*picture);
      ASSERT_EQ(content_on(*picture), content_);
      if (looked_at++ % 4 != 0) continue;
      ASSERT_NO_FATAL_FAILURE(expect_whole(*picture));
    }
    EXPECT_GT(refused, looked_at / 2);
    expect_content(store_, content_);
  }

  Content content_;
  Store store_;
};

TEST_F(CopiesOnDisks, ThatAreInterruptedAreFinishedByTheNext) {
  const auto older = SimulatedMachine::make(2);
  interrupt_copies(*older, std::nullopt);
  copy_to(*older);
  const Content before = content_;
  go_on("two");
  interrupt_copies(*older, before);
}

TEST_F(CopiesOnDisks, ThatFindNoRoomOrAFailingDiskAreFinishedByTheNext) {
  copy_to(*SimulatedMachine::make(3));
  for (const Call call :
       {Call::create, Call::write, Call::truncate, Call::sync, Call::rename, Call::sync_folder}) {
    for (std::uint64_t number = 0;; number += case_step()) {
      const auto machine = SimulatedMachine::make(number);
      machine->fail(call, number, call == Call::write ? ENOSPC : EIO, number % 2 == 0);
      try {
        copy_to(*machine);
        EXPECT_GT(number, 1U);
        break;
      } catch (const std::system_error&) {
        const auto found = content_on(*machine);
        EXPECT_TRUE(!found || found == content_);
      }
      machine->heal();
      // After a failed sync of the folder, names last only if the power does.
      copy_to(*machine);
      ASSERT_NO_FATAL_FAILURE(expect_whole(*machine));
    }
  }
  expect_content(store_, content_);
}

}  // namespace
}  // namespace nestline::test
