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

namespace nestline::test { namespace {

constexpr std::uint64_t kSegmentBytes = 2048;
constexpr std::array kCallNames = {"read", "open",   "create", "write",      "truncate",
                                   "sync", "rename", "remove", "sync_folder"};
static_assert(kCallNames.size() == kCalls);

Store open(SimulatedMachine& machine, Sync sync) {
  return Store::State::open(machine.disk(), options_of(kSegmentBytes, sync), kOnCall);
}

std::uint64_t used_on(const SimulatedMachine& machine) {
  std::uint64_t bytes = 0;
  for (const auto& [name, file] : machine.files()) bytes += file.size();
  return bytes;
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
      expect(trial.call == Call::remove || !machine->files().contains("index.nest.new"),
             [] { return "a checkpoint that failed leaves its file"; });
      try_more(store, *machine, found, threw);
    }
    check_reopened(*machine, after, threw);
    // The folder of a machine whose names could not be synced takes no more.
    if (trial.call != Call::sync_folder) go_on(*machine->after_process_end());
    return calls > trial.number;
  }

  static bool throws(const std::function<void()>& run) {
    return throws_clearly(run, [](const std::string& what) {
      return what.find('.') != what.npos || what.find("folder") != what.npos;
    });
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

  static void expect_sound(SimulatedMachine& machine, const std::string& when) {
    const StoreReport report = verify_on(*machine.disk());
    expect(report.ok(), [&] { return when + report.problems.front(); });
  }

  void check_reopened(SimulatedMachine& machine, const Content& after, bool threw) const {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const auto later = seed == 0 ? machine.after_process_end() : machine.after_power_loss(seed);
      const Store store = open(*later, Sync::never);
      Content found = content_of(store);
      check_store(store, found, keys_of_steps());
      expect_sound(*later, "verify: ");
      found.erase("more");
      expect_before_or_after(found, before_, after);
      expect(seed != 0 || threw || found == after,
             [&] { return "reopened: " + difference(found, after); });
    }
  }

  // Opened anew in the same machine, it has what the disk may have dropped: all must survive.
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
      expect_sound(*later, "gone on, verify: ");
      const Content left = content_of(open(*later, Sync::never));
      expect(left == content, [&] { return "gone on: " + difference(left, content); });
    }
  }

  void try_all(Sync sync) {
    std::uint64_t failures = 0;
    for (const StoreStep& step : store_steps(kSegmentBytes)) {
      for (const int error : {ENOSPC, EIO}) {
        failures += try_each(step.name, {.error = error, .for_ever = error == EIO, .sync = sync},
                             [&](const Trial& trial) { return try_step(step, trial); });
        if (HasFatalFailure() || HasNonfatalFailure()) return;
      }
    }
    EXPECT_GT(failures, 100u);
  }

  // Calls run(trial) for the n-th call of each kind until none came up; how often one did.
  static std::uint64_t try_each(const std::string& what, Trial trial,
                                const std::function<bool(const Trial&)>& run) {
    std::uint64_t failures = 0;
    for (std::size_t call = 0; call < kCalls; ++call) {
      trial.call = static_cast<Call>(call);
      trial.number = 0;
      try {
        for (; run(trial); ++trial.number) ++failures;
      } catch (const std::exception& wrong) {
        ADD_FAILURE() << what << ", " << trial.name() << ": " << wrong.what();
        return failures;
      }
    }
    return failures;
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
    const int error = seed % 4 < 2 ? EIO : ENOSPC;
    try_each("opening", {.error = error, .for_ever = seed % 3 == 0}, [&](const Trial& trial) {
      const auto machine = crashed->after_power_loss(seed);
      machine->fail(trial.call, trial.number, trial.error, trial.for_ever);
      refusals += throws([&] {
        const Store store = open(*machine, Sync::never);
        const Content found = content_of(store);
        expect(found == content, [&] { return difference(found, content); });
      });
      const bool came_up = machine->calls(trial.call) > trial.number;
      machine->heal();
      check_store(open(*machine, Sync::never), content, keys_of_steps());
      return came_up;
    });
  }
  EXPECT_GT(refusals, 10u);
}

// Some file systems have bytes left, but none for a name, or learn at the first sync of a file that
// there are none. Then the end of the log is written over itself.
TEST_F(FailingDisk, OpeningWithoutRoomForANewFile) {
  for (const Call call : {Call::create, Call::rename, Call::sync}) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      Content content = before_;
      const auto killed = prepared_->after_process_end();
      {
        Store store = open(*killed, Sync::never);
        for (std::size_t i = 0; i < seed; ++i) {
          store.put("new", std::string(100 * i, 'n'));
          content["new"] = std::string(100 * i, 'n');
        }
        if (seed % 3 == 0) killed->remove_file("index.nest");
        const auto machine = killed->after_process_end();
        // The first sync is that of the newest file.
        machine->fail(call, call == Call::sync ? 1 : 0, ENOSPC, call != Call::sync);
        Store opened = open(*machine, Sync::never);
        if (call == Call::sync) machine->heal();
        EXPECT_EQ(difference(content_of(opened), content), "no difference");
        EXPECT_FALSE(machine->files().contains("end.new"));
        if (!throws([&] { opened.put("more", "more"); })) content["more"] = "more";
        check_store(opened, content, keys_of_steps());
        opened.sync();
        machine->heal();
        for (std::uint64_t fate = 0; fate < 4; ++fate) {
          const auto left = machine->after_power_loss(fate);
          expect_sound(*left, "verify: ");
          EXPECT_EQ(difference(content_of(open(*left, Sync::never)), content), "no difference");
        }
      }
    }
  }
}

// The first opening of an empty folder.
TEST_F(FailingDisk, Making) {
  std::uint64_t refusals = 0;
  try_each("making", {.error = ENOSPC}, [&](const Trial& trial) {
    const auto machine = SimulatedMachine::make(static_cast<std::uint64_t>(trial.call));
    machine->fail(trial.call, trial.number, trial.error, trial.for_ever);
    refusals += throws([&] { open(*machine, Sync::each).put("new", "value"); });
    const bool came_up = machine->calls(trial.call) > trial.number;
    machine->heal();
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const Content found = content_of(open(*machine->after_power_loss(seed), Sync::never));
      expect(found.size() <= 1, [] { return "too many keys"; });
    }
    open(*machine, Sync::each).put("other", "value");
    return came_up;
  });
  EXPECT_GT(refusals, 3u);
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
  for (std::size_t i = 1000; i < 1600; ++i) {
    const std::string key = "key " + std::to_string(i);
    store.put(key, value);
    if (i % 2 == 0) {
      store.erase(key);
    } else {
      content[key] = value;
    }
  }
  const std::uint64_t before = used_on(*machine);
  machine->set_room(before);
  (void)throws([&] { store.compact(); });
  EXPECT_EQ(difference(content_of(store), content), "no difference");
  machine->set_room(before + kFile);
  EXPECT_FALSE(throws([&] { store.compact(); }));
  EXPECT_LT(used_on(*machine), before / 4 * 3);
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
  [[nodiscard]] std::uint64_t used() const { return used_on(*machine_); }
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

// Files of 64 GiB, of which a store has 128. The last slots are for opening and compaction only.
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

}  // namespace
}  // namespace nestline::test
