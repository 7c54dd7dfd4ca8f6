// The n-th call of every kind to a simulated disk fails, once or from then on, for n = 1, 2, ...
// until the operation no longer makes so many calls. Then the operation reports an error that names
// a file, or has succeeded all the same. The store still answers; opened anew, and after a loss of
// power, it holds what was there before the operation or after it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <system_error>
#include <vector>

#include "lib/store/state.h"
#include "lib/store/survey.h"
#include "tests/store/on_call.h"
#include "tests/store/simulated_disk.h"
#include "tests/store/store_checks.h"
#include "tests/store/store_operations.h"

namespace nestline::test {
namespace {

constexpr std::uint64_t kSegmentBytes = 2048;
constexpr std::array kCallNames = {"read", "open",   "create", "write",      "truncate",
                                   "sync", "rename", "remove", "sync_folder"};
static_assert(kCallNames.size() == kCalls);

Store open(SimulatedMachine& machine, Sync sync) {
  return Store::State::open(machine.disk(), options_of(kSegmentBytes, sync), kOnCall);
}

struct Trial {
  Call call = Call::write;
  int error = 0;
  bool for_ever = false;
  Sync sync = Sync::never;
  std::uint64_t number = 0;

  [[nodiscard]] std::string name() const {
    return std::string(kCallNames[static_cast<std::size_t>(call)]) + " " + std::to_string(number) +
           " fails with " + std::to_string(error) + (for_ever ? " for ever" : " once");
  }
};

class FailingDisk : public testing::Test {
 protected:
  FailingDisk() {
    Store store = open(*prepared_, Sync::interval);
    before_ = prepare_store(store, kSegmentBytes);
  }

  // Throws what is wrong. Returns whether the call came up.
  bool try_step(const StoreStep& step, const Trial& trial) {
    const auto machine = prepared_->after_process_end();
    Content after = before_;
    apply_delta(after, step.delta);
    bool threw = false;
    std::uint64_t calls = 0;
    {
      Store store = open(*machine, trial.sync);
      calls = machine->calls(trial.call);
      machine->fail(trial.call, trial.number, trial.error, trial.for_ever);
      threw = throws([&] { step.run(store); });
      calls = machine->calls(trial.call) - calls;
      machine->heal();
      const Content found = content_of(store);
      if (!threw) expect(found == after, [&] { return "after: " + difference(found, after); });
      expect_before_or_after(found, before_, after);
      check_store(store, found, keys_of_steps());
      try_more(store, *machine, found, threw);
    }
    check_reopened(*machine, after, threw);
    // The folder of a machine whose names could not be synced takes no more.
    if (trial.call != Call::sync_folder) go_on(*machine->after_process_end());
    return calls > trial.number;
  }

  // Whether it throws; what it throws must be a clear error.
  static bool throws(const std::function<void()>& run) {
    try {
      run();
      return false;
    } catch (const std::system_error& error) {
      expect(std::string(error.what()).find('.') != std::string::npos ||
                 std::string(error.what()).find("folder") != std::string::npos,
             [&] { return std::string("the error names no file: ") + error.what(); });
      return true;
    } catch (const StoreError& error) {
      expect(std::string(error.what()).size() > 20,
             [&] { return std::string("not a sentence: ") + error.what(); });
      return true;
    }
  }

  // A change more works and is there, or is refused and is not there.
  static void try_more(Store& store, SimulatedMachine& machine, Content content, bool had_failed) {
    const bool refused = throws([&] { store.put("more", "more"); });
    expect(!refused || had_failed, [] { return "refuses a change though nothing failed"; });
    if (!refused) content["more"] = "more";
    const Content found = content_of(store);
    expect(found == content, [&] { return "one more: " + difference(found, content); });
    if (refused) return;
    if (throws([&] { store.sync(); })) return;
    // It said that everything is on disk.
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const Store other = open(*machine.after_power_loss(seed), Sync::never);
      const Content left = content_of(other);
      expect(left == content, [&] { return "synced, power lost: " + difference(left, content); });
    }
  }

  void check_reopened(SimulatedMachine& machine, const Content& after, bool threw) const {
    const auto without_more = [](Content content) {
      content.erase("more");
      return content;
    };
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const auto later = seed == 0 ? machine.after_process_end() : machine.after_power_loss(seed);
      const Store store = open(*later, Sync::never);
      const Content found = content_of(store);
      expect_before_or_after(without_more(found), before_, after);
      if (seed == 0 && !threw) {
        expect(without_more(found) == after,
               [&] { return "reopened: " + difference(found, after); });
      }
      check_store(store, found, keys_of_steps());
      const auto disk = later->disk();
      const StoreReport report = verify_on(*disk);
      expect(report.ok(), [&] { return "verify: " + report.problems.front(); });
    }
  }

  // Opened anew in the same machine, the store has in memory what the disk may have dropped. What
  // it shows, and what it takes, must survive.
  static void go_on(SimulatedMachine& machine) {
    Content content;
    {
      Store store = open(machine, Sync::each);
      content = content_of(store);
      for (unsigned i = 0; i < 2; ++i) {
        expect_after_losses(machine, content);
        store.put("later", std::to_string(i));
        content["later"] = std::to_string(i);
      }
      expect_after_losses(machine, content);
    }
    expect_after_losses(machine, content);
  }

  static void expect_after_losses(const SimulatedMachine& machine, const Content& content) {
    for (const std::uint64_t seed : {1U, 3U}) {
      const auto later = machine.after_power_loss(seed);
      const auto disk = later->disk();
      const StoreReport report = verify_on(*disk);
      expect(report.ok(), [&] { return "gone on, verify: " + report.problems.front(); });
      const Content left = content_of(open(*later, Sync::never));
      expect(left == content, [&] { return "gone on: " + difference(left, content); });
    }
  }

  void try_all(Sync sync) {
    std::uint64_t failures = 0;
    for (const StoreStep& step : store_steps(kSegmentBytes)) {
      for (std::size_t call = 0; call < kCalls; ++call) {
        for (const int error : {ENOSPC, EIO}) {
          Trial trial{static_cast<Call>(call), error, error == EIO, sync, 0};
          for (bool came_up = true; came_up; ++trial.number) {
            try {
              came_up = try_step(step, trial);
            } catch (const std::exception& wrong) {
              FAIL() << step.name << ", " << trial.name() << ": " << wrong.what();
            }
            failures += came_up ? 1 : 0;
          }
        }
      }
    }
    EXPECT_GT(failures, 100u);
  }

  std::shared_ptr<SimulatedMachine> prepared_ = SimulatedMachine::make(1);
  Content before_;
};

TEST_F(FailingDisk, StepsWithoutSync) { try_all(Sync::never); }
TEST_F(FailingDisk, StepsWithSyncEach) { try_all(Sync::each); }

// Opening after a crash: it throws, or the store is right; the next opening finds everything.
TEST_F(FailingDisk, Opening) {
  std::uint64_t refusals = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const auto crashed = prepared_->after_process_end();
    {
      Store store = open(*crashed, Sync::each);
      store.put("new", "value");
    }
    if (seed % 2 == 0) crashed->remove_file("index.nest");
    Content content = before_;
    content["new"] = "value";
    for (std::size_t call = 0; call < kCalls; ++call) {
      const int error = seed % 4 < 2 ? EIO : ENOSPC;
      Trial trial{static_cast<Call>(call), error, seed % 3 == 0, Sync::never, 0};
      for (bool came_up = true; came_up; ++trial.number) {
        const auto machine = crashed->after_power_loss(seed);
        machine->fail(trial.call, trial.number, trial.error, trial.for_ever);
        try {
          refusals += throws([&] {
            const Store store = open(*machine, Sync::never);
            const Content found = content_of(store);
            expect(found == content, [&] { return difference(found, content); });
          });
          came_up = machine->calls(trial.call) > trial.number;
          machine->heal();
          const Store store = open(*machine, Sync::never);
          check_store(store, content, keys_of_steps());
        } catch (const std::exception& wrong) {
          FAIL() << "opening, " << trial.name() << ": " << wrong.what();
        }
      }
    }
  }
  EXPECT_GT(refusals, 10u);
}

// The first opening of an empty folder.
TEST_F(FailingDisk, Making) {
  std::uint64_t refusals = 0;
  for (std::size_t call = 0; call < kCalls; ++call) {
    Trial trial{static_cast<Call>(call), ENOSPC, false, Sync::never, 0};
    for (bool came_up = true; came_up; ++trial.number) {
      const auto machine = SimulatedMachine::make(call);
      machine->fail(trial.call, trial.number, trial.error, trial.for_ever);
      try {
        refusals += throws([&] { open(*machine, Sync::each).put("new", "value"); });
        came_up = machine->calls(trial.call) > trial.number;
        machine->heal();
        for (std::uint64_t seed = 0; seed < 4; ++seed) {
          const Content found = content_of(open(*machine->after_power_loss(seed), Sync::never));
          expect(found.size() <= 1, [] { return "too many keys"; });
        }
        open(*machine, Sync::each).put("other", "value");
      } catch (const std::exception& wrong) {
        FAIL() << "making, " << trial.name() << ": " << wrong.what();
      }
    }
  }
  EXPECT_GT(refusals, 3u);
}

// A full disk that gets room again takes changes again.
TEST_F(FailingDisk, AFullDiskThatGetsRoom) {
  const auto machine = prepared_->after_process_end();
  Store store = open(*machine, Sync::never);
  Content content = before_;
  for (unsigned i = 0; i < 20; ++i) {
    machine->fail(Call::write, i % 3, ENOSPC, true);
    const std::string key = "key " + std::to_string(1000 + i);
    const std::string value(300, 'v');
    unsigned refusals = 0;
    while (!throws([&] { store.put(key, value); })) {
      content[key] = value;
      ASSERT_LT(++refusals, 100u) << "the disk is full and nobody says so";
    }
    machine->heal();
    ASSERT_FALSE(throws([&] { store.put(key, value + "!"); })) << i;
    content[key] = value + "!";
    ASSERT_EQ(difference(content_of(store), content), "no difference");
  }
  store = open(*SimulatedMachine::make(9), Sync::never);
  EXPECT_EQ(difference(content_of(open(*machine, Sync::never)), content), "no difference");
}

// Half of every file is dead, and the disk has room for one file more: compaction takes that room
// again and again. Without any room, it fails and loses nothing.
TEST_F(FailingDisk, CompactionNeedsTheRoomOfOneFile) {
  constexpr std::uint64_t kFile = 16384;
  const auto machine = SimulatedMachine::make(3);
  StoreOptions options = options_of(kSegmentBytes, Sync::never);
  options.segment_bytes = kFile;
  Content content;
  Store store = Store::State::open(machine->disk(), options, kOnCall);
  const std::string value(500, 'v');
  for (unsigned i = 0; i < 600; ++i) {
    const std::string key = "key " + std::to_string(1000 + i);
    store.put(key, value);
    content[key] = value;
  }
  for (unsigned i = 0; i < 600; i += 2) {
    const std::string key = "key " + std::to_string(1000 + i);
    store.erase(key);
    content.erase(key);
  }
  const auto used = [&] {
    std::uint64_t bytes = 0;
    for (const auto& [name, file] : machine->files()) bytes += file.size();
    return bytes;
  };
  const std::uint64_t before = used();
  machine->set_room(before);
  (void)throws([&] { store.compact(); });
  EXPECT_EQ(difference(content_of(store), content), "no difference");
  machine->set_room(before + kFile);
  EXPECT_FALSE(throws([&] { store.compact(); }));
  EXPECT_LT(used(), before / 4 * 3);
  EXPECT_EQ(difference(content_of(store), content), "no difference");
  store = open(*SimulatedMachine::make(9), Sync::never);
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    EXPECT_EQ(difference(content_of(open(*machine->after_power_loss(seed), Sync::never)), content),
              "no difference");
  }
}

// What the store has taken, or others, is all that the disk has. Then the store opens as often as
// one likes and takes no more of it, reads go on, and erasing and compacting empty it.
class FullDisk : public testing::TestWithParam<std::uint64_t> {
 protected:
  FullDisk() { machine_->set_room(room_); }

  Store open() { return Store::State::open(machine_->disk(), options_, kOnCall); }
  static bool is_refused(const std::function<void()>& run) {
    try {
      run();
      return false;
    } catch (const std::system_error& error) {
      EXPECT_EQ(error.code(), std::errc::no_space_on_device) << error.what();
      return true;
    }
  }
  [[nodiscard]] std::uint64_t used() const {
    std::uint64_t bytes = 0;
    for (const auto& [name, file] : machine_->files()) bytes += file.size();
    return bytes;
  }
  void put_until_refused(Store& store) {
    for (;;) {
      const std::string key = "key " + std::to_string(content_.size());
      const std::string value(random_() % 900, 'v');
      if (is_refused([&] { store.put(key, value); })) return;
      content_[key] = value;
    }
  }
  void erase_until_refused(Store& store) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : content_) keys.push_back(key);
    std::shuffle(keys.begin(), keys.end(), random_);
    for (const std::string& key : keys) {
      if (is_refused([&] { EXPECT_TRUE(store.erase(key)); })) return;
      content_.erase(key);
    }
  }
  void kill(std::uint64_t room) {
    machine_ = machine_->after_process_end();
    machine_->set_room(room);
  }
  void expect_whole(const Store& store) const {
    ASSERT_EQ(difference(content_of(store), content_), "no difference");
  }

  std::mt19937_64 random_{GetParam()};
  const std::uint64_t room_ = GetParam() % 2 == 0 ? 2'000'000 : 300'000;
  const StoreOptions options_ =
      options_of(std::array<std::uint64_t, 3>{16384, 65536, 1 << 30}[GetParam() % 3], Sync::never);
  std::shared_ptr<SimulatedMachine> machine_ = SimulatedMachine::make(GetParam());
  Content content_;
};

INSTANTIATE_TEST_SUITE_P(Seeds, FullDisk, ::testing::Range<std::uint64_t>(0, 12));

TEST_P(FullDisk, OfTheStoreIsEmptied) {
  {
    Store store = open();
    put_until_refused(store);
    expect_whole(store);
    if (GetParam() % 4 < 2) kill(room_);
  }
  ASSERT_GT(content_.size(), 300U);
  for (unsigned rounds = 0; !content_.empty(); ++rounds) {
    ASSERT_LT(rounds, 40U) << content_.size() << " keys are left";
    Store store = open();
    expect_whole(store);
    erase_until_refused(store);
    (void)is_refused([&] { store.compact(); });
    expect_whole(store);
    if (rounds % 2 == 0) kill(room_);
  }
  EXPECT_LT(used(), room_ / 4);
  Store store = open();
  store.put("key", "value");
  EXPECT_EQ(content_of(store).size(), 1U);
}

TEST_P(FullDisk, OfOthersLeavesTheStoreOpen) {
  {
    Store store = open();
    while (used() < room_ / 2) {
      const std::string key = "key " + std::to_string(content_.size());
      store.put(key, content_[key] = std::string(random_() % 900, 'v'));
    }
    if (GetParam() % 4 < 2) {
      store.sync();
    } else {
      kill(room_);
    }
  }
  machine_->remove_file("index.nest");
  for (const std::string left : {"index.nest.new", "end.new"}) {
    machine_->set_file(left, SimulatedMachine::Bytes(5000));
  }
  const std::uint64_t full = used() - 10'000;
  machine_->set_room(full);
  for (unsigned times = 0; times < 3; ++times) {
    {
      Store store = open();
      expect_whole(store);
      while (!is_refused([&] { store.put("new", std::string(500, 'n')); })) {
        content_["new"] = std::string(500, 'n');
      }
      (void)is_refused([&] { store.compact(); });
      expect_whole(store);
    }
    EXPECT_LE(used(), full);
    const auto files = machine_->files();
    EXPECT_FALSE(files.contains("index.nest.new") || files.contains("end.new"));
    if (times == 0) kill(full);
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const auto later = machine_->after_power_loss(seed);
      expect_whole(Store::State::open(later->disk(), options_, kOnCall));
    }
  }
  machine_->set_room(2 * room_);
  Store store = open();
  store.put("new", "value");
  content_["new"] = "value";
  store.compact();
  expect_whole(store);
}

// Files of 64 GiB, of which a store has 128, each left by a crash. The last slots are not for
// changes: opening and compaction find one.
TEST(FailingDiskTest, TheLastFilesAreForOpeningAndCompaction) {
  const StoreOptions options = {.segment_bytes = std::uint64_t{64} << 30, .compact_above = 0};
  auto machine = SimulatedMachine::make(1);
  std::uint64_t files = 0;
  for (; files < 126; ++files) {
    Store store = Store::State::open(machine->disk(), options, kOnCall);
    store.put(std::to_string(files % 2), "value");
    store.sync();
    machine = machine->after_process_end();
  }
  Store store = Store::State::open(machine->disk(), options, kOnCall);
  ASSERT_EQ(store.stats().segments, 127U);
  EXPECT_THROW(store.put("2", "value"), StoreError);  // the file that opening has begun
  store.compact();
  EXPECT_LE(store.stats().segments, 3U);
  store.put("2", "value");
  EXPECT_EQ(content_of(store).size(), 3U);
}

// A batch of several files that the disk refuses, and a loss of power while it is taken back.
TEST(FailingBatch, LeavesWhatOpens) {
  Store::Batch batch;
  Content before, after;
  for (std::size_t i = 0; i < 120; ++i) batch.put(key_of(i), after[key_of(i)] = "of a batch");
  before["first"] = after["first"] = "1";
  for (const Call call : {Call::create, Call::write, Call::sync, Call::sync_folder}) {
    for (std::uint64_t number = 0; number < 5; ++number) {
      for (std::uint64_t seed = 0; seed < 2; ++seed) {
        const auto machine = SimulatedMachine::make(seed);
        Store store = open(*machine, Sync::each);
        store.put("first", "1");
        std::vector<std::shared_ptr<SimulatedMachine>> left;
        machine->before_change = [&](const SimulatedMachine& now) {
          left.push_back(now.after_power_loss(left.size() + 100 * seed));
        };
        machine->fail(call, number, EIO, seed % 2 == 1);
        try {
          store.write(batch);
        } catch (const std::exception&) {
        }
        machine->before_change = nullptr;
        for (std::uint64_t fate = 0; fate < 40; ++fate) {
          left.push_back(machine->after_power_loss(fate));
        }
        for (const auto& each : left) {
          try {
            expect_before_or_after(content_of(open(*each, Sync::never)), before, after);
          } catch (const std::exception& error) {
            FAIL() << kCallNames[static_cast<std::size_t>(call)] << ' ' << number << ", seed "
                   << seed << ": " << error.what();
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace nestline::test
