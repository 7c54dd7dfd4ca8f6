// The n-th system call of every kind fails, for n = 1, 2, ... until the operation no longer makes
// so many. Then the operation reports an error that names the file, or has succeeded all the same;
// the store still answers; opened anew, it holds what was there before the operation or after it.
// Calls that a signal interrupts, or that do a part of what they should, are no errors at all.
#include "tests/store/failing_calls.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <ios>
#include <string>
#include <system_error>
#include <vector>

#include "nestline/store.h"
#include "tests/store/store_checks.h"
#include "tests/store/store_operations.h"
#include "tests/support/child_process.h"
#include "tests/support/temp_folder.h"

namespace nestline::test { namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSegmentBytes = 65536;

struct Trial {
  SystemCall call = SystemCall::open;
  int error = 0;
  bool for_ever = false;
  std::uint64_t number = 0;

  [[nodiscard]] std::string name() const {
    return std::string(kSystemCalls[static_cast<std::size_t>(call)]) + " " +
           std::to_string(number) + " fails with " + std::to_string(error) +
           (for_ever ? " for ever" : "");
  }
};

class FailingCalls : public testing::Test {
 protected:
  FailingCalls() {
    Store store = Store::open(prepared_.path(), options_of(kSegmentBytes, Sync::interval));
    before_ = prepare_store(store, kSegmentBytes);
  }

  // Whether it throws. The error must name a file of the store.
  static bool throws(const fs::path& folder, const std::function<void()>& run) {
    return throws_clearly(
        run, [&](const std::string& what) { return what.find(folder.string()) != what.npos; });
  }

  // Throws what is wrong. Returns whether the call came up. `harmless`: it must succeed.
  bool try_step(const StoreStep& step, const Trial& trial, Sync sync, bool harmless) {
    const TempFolder folder;
    fs::copy(prepared_.path(), folder.path());
    Content after = before_;
    apply_delta(after, step.delta);
    bool came_up = false;
    bool threw = false;
    {
      Store store = Store::open(folder.path(), options_of(kSegmentBytes, sync));
      {
        const FailingCall failing(trial.call, trial.number, trial.error, trial.for_ever);
        threw = throws(folder.path(), [&] { step.run(store); });
        came_up = failing.has_failed();
      }
      expect(!threw || (came_up && !harmless), [] { return "throws without a reason"; });
      const Content found = content_of(store);
      if (!threw) expect(found == after, [&] { return "after: " + difference(found, after); });
      expect_before_or_after(found, before_, after);
      check_store(store, found, keys_of_steps());
    }
    const Store store = Store::open(folder.path(), options_of(kSegmentBytes, sync));
    const Content found = content_of(store);
    if (!threw) expect(found == after, [&] { return "reopened: " + difference(found, after); });
    expect_before_or_after(found, before_, after);
    check_store(store, found, keys_of_steps());
    return came_up;
  }

  bool try_open(const Trial& trial, bool harmless) {
    const TempFolder folder;
    fs::copy(prepared_.path(), folder.path());
    if (trial.number % 2 == 0) fs::remove(folder.path() / "index.nest");
    bool came_up = false;
    bool threw = false;
    {
      const FailingCall failing(trial.call, trial.number / 2, trial.error, trial.for_ever);
      threw = throws(folder.path(), [&] {
        const Store store = Store::open(folder.path(), options_of(kSegmentBytes, Sync::each));
        const Content found = content_of(store);
        expect(found == before_, [&] { return difference(found, before_); });
      });
      came_up = failing.has_failed();
    }
    expect(!threw || (came_up && !harmless), [] { return "throws without a reason"; });
    const Store store = Store::open(folder.path(), options_of(kSegmentBytes, Sync::never));
    check_store(store, before_, keys_of_steps());
    return came_up;
  }

  // Calls run(trial) for each n. It returns whether the call came up. Returns how often that was.
  static std::uint64_t try_each(const std::string& what, Trial trial,
                                const std::function<bool(const Trial&)>& run) {
    std::uint64_t failures = 0;
    unsigned quiet = 0;
    // The upkeep thread makes calls too, so that one n can be missing; two are not.
    for (; quiet < 2; ++trial.number) {
      bool came_up = false;
      try {
        came_up = run(trial);
      } catch (const std::exception& wrong) {
        ADD_FAILURE() << what << ", " << trial.name() << ": " << wrong.what();
        return failures;
      }
      failures += came_up ? 1 : 0;
      quiet = came_up ? 0 : quiet + 1;
    }
    return failures;
  }

  static std::uint64_t try_all_calls(const std::string& what,
                                     const std::function<bool(const Trial&)>& run) {
    std::uint64_t failures = 0;
    for (std::size_t call = 0; call < kSystemCalls.size(); ++call) {
      for (const int error : {ENOSPC, EIO}) {
        failures += try_each(what, {static_cast<SystemCall>(call), error, error == EIO, 0}, run);
      }
    }
    return failures;
  }

  TempFolder prepared_;
  Content before_;
};

TEST_F(FailingCalls, Steps) {
  std::uint64_t failures = 0;
  for (const StoreStep& step : store_steps(kSegmentBytes)) {
    failures += try_all_calls(step.name, [&](const Trial& trial) {
      return try_step(step, trial, trial.error == EIO ? Sync::each : Sync::never, false);
    });
  }
  EXPECT_GT(failures, 50u);
}

TEST_F(FailingCalls, Opening) {
  EXPECT_GT(try_all_calls("open", [&](const Trial& trial) { return try_open(trial, false); }), 10u);
}

// Until there is a log: the process that made the folder may have been killed before it did.
TEST(FailingCallsTest, TheFolderAboveIsSyncedBeforeTheFirstLog) {
  const TempFolder top;
  const fs::path folder = top / "store";
  fs::create_directory(folder);
  for (const bool is_new : {true, false}) {
    try {
      const FailingCall failing(SystemCall::fsync, 0, EIO, false);
      const Store store = Store::open(folder);
      ADD_FAILURE() << "nothing was synced";
    } catch (const std::system_error& error) {
      const bool names_store = std::string(error.what()).find(folder) != std::string::npos;
      EXPECT_NE(names_store, is_new) << error.what();
    }
    Store::open(folder).put("k", "v");
  }
}

TEST(FailingCallsTest, TheFolderAboveNeedNotBeReadable) {
  const TempFolder top;
  const fs::path folder = top / "store";
  fs::create_directory(folder);
  const FailingCall failing(SystemCall::open, 0, EACCES, false);
  Store::open(folder).put("k", "v");
  EXPECT_TRUE(failing.has_failed());
}

// A call that finds no room can take milliseconds, so not every put may make one.
TEST(FullDiskTest, IsFilledWithFewCalls) {
  constexpr std::uint64_t kRoom = 3'000'000;
  constexpr std::uint64_t kRecord = 56;  // 32 bytes, a key of 8 and a value of 16
  const TempFolder folder;
  Store store = Store::open(folder.path(), {.sync = Sync::never});
  const FullDisk full(kRoom);
  std::uint64_t puts = 0;
  const std::string value(16, 'v');
  EXPECT_THROW(
      while (puts < kRoom) {
        store.put(std::to_string(10'000'000 + puts), value);
        ++puts;
      },
      std::system_error);
  EXPECT_GT(puts, (kRoom - 8192) / kRecord);
  EXPECT_LT(full.refused(), 100u);
  EXPECT_TRUE(store.contains(std::to_string(10'000'000 + puts - 1)));
}

// Opening a log of which nothing says how much is on disk, where the disk has no byte left, takes
// none. It shows what is there, and what is refused says how much is missing where.
TEST(FullDiskTest, OpensAndKeepsNothing) {
  const TempFolder folder;
  const fs::path log = folder.path() / "00000001.log";
  Content content;
  {
    Store store = Store::open(folder.path(), {.sync = Sync::never});
    for (unsigned i = 0; i < 300; ++i) {
      const std::string key = std::to_string(i);
      store.put(key, content[key] = std::string(i, 'v'));
    }
  }
  fs::remove(folder.path() / "index.nest");
  const auto bytes = fs::file_size(log);
  for (const int error : {ENOSPC, EDQUOT, ENOSPC}) {
    const FailingCall failing(SystemCall::fallocate, 0, error, true);
    Store store = Store::open(folder.path(), {.sync = Sync::never});
    EXPECT_EQ(difference(content_of(store), content), "no difference");
    try {
      store.put("new", "value");
      ADD_FAILURE() << "a full disk takes a record";
    } catch (const std::system_error& refusal) {
      EXPECT_EQ(refusal.code().value(), error);
      const std::string what = refusal.what();
      EXPECT_NE(what.find(log.string() + ": "), std::string::npos) << what;
      EXPECT_NE(what.find(" bytes more are needed; free room there"), std::string::npos) << what;
    }
    EXPECT_EQ(fs::file_size(log), bytes);
    EXPECT_FALSE(fs::exists(folder.path() / "end.new"));
  }
  Store store = Store::open(folder.path());
  store.put("new", "value");
  EXPECT_TRUE(store.contains("new"));
}

// Damage that the checkpoint alone proves. A repair without room says how much it needs, and leaves
// the store as it was: who writes is refused as before.
TEST(FullDiskTest, RepairSaysHowMuchItNeedsAndKeepsTheProof) {
  const TempFolder folder;
  const fs::path log = folder.path() / "00000001.log";
  {
    Store store = Store::open(folder.path(), {.sync = Sync::never});
    for (unsigned i = 0; i < 2000; ++i) store.put(std::to_string(i), std::string(400, 'v'));
  }
  {
    std::fstream file(log, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(5000);
    file.put('x');
  }
  fs::resize_file(log, fs::file_size(log) - 100);
  const auto expect_damaged = [&] {
    EXPECT_THROW((void)Store::open(folder.path()), StoreError);
    EXPECT_THROW((void)Store::open(folder.path(), {.read_only = true}), StoreError);
  };
  expect_damaged();
  try {
    const FailingCall failing(SystemCall::fallocate, 0, ENOSPC, true);
    (void)repair_store(folder.path());
    ADD_FAILURE() << "repaired without room";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), std::errc::no_space_on_device);
    const std::string what = error.what();
    const std::size_t needs = what.find("repair needs ");
    ASSERT_NE(needs, std::string::npos) << what;
    const double bytes = std::stod(what.substr(needs + 13));
    EXPECT_NEAR(bytes, 1998.0 * 440, 20'000) << what;
  }
  expect_damaged();
  EXPECT_TRUE(damaged_files(folder.path()).empty());
  EXPECT_EQ(repair_store(folder.path()).records, 1998U);
  EXPECT_EQ(Store::open(folder.path()).size(), 1998U);
  const std::vector<fs::path> away = {log.string() + ".damaged",
                                      folder.path() / "index.nest.damaged"};
  EXPECT_EQ(damaged_files(folder.path()), away);
}

// Files end before the limit of a process for them, behind which the system sends a signal.
TEST(FullDiskTest, ALimitOfFilesIsAnErrorAndNoSignal) {
  constexpr std::uint64_t kLimit = 200'000;
  const TempFolder folder;
  const int status = in_child([&] {
    const rlimit limit{kLimit, kLimit};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    Store store = Store::open(folder.path(), {.sync = Sync::never});
    for (unsigned i = 0; i < 500; ++i) store.put(std::to_string(i), std::string(1000, 'v'));
    store.sync();
    try {
      store.put("too long", std::string(kLimit, 'v'));
      return 2;
    } catch (const std::system_error& error) {
      if (error.code() != std::errc::file_too_large) throw;
    }
    try {
      store.checkpoint();
      return 3;
    } catch (const std::system_error& error) {
      if (error.code() != std::errc::file_too_large) throw;
    }
    store.put("499", "last");
    store.compact();
    return 0;
  });
  EXPECT_EQ(status, 0);
  for (const fs::directory_entry& file : fs::directory_iterator(folder.path())) {
    EXPECT_LE(file.file_size(), kLimit) << file.path();
    EXPECT_NE(file.path().extension(), ".new");
  }
  const Store store = Store::open(folder.path(), {.read_only = true});
  EXPECT_EQ(store.size(), 500U);
}

// What is interrupted or short is done again.
TEST_F(FailingCalls, InterruptedAndShortCallsAreNoErrors) {
  std::uint64_t failures = 0;
  for (const SystemCall call :
       {SystemCall::open, SystemCall::pread, SystemCall::pwrite, SystemCall::ftruncate,
        SystemCall::fallocate, SystemCall::fdatasync, SystemCall::fsync, SystemCall::flock}) {
    const bool can_be_short = call == SystemCall::pread || call == SystemCall::pwrite;
    for (const int error : {EINTR, kShort}) {
      if (error == kShort && !can_be_short) continue;
      const Trial trial{call, error, error == kShort, 0};
      failures += try_each("open", trial, [&](const Trial& t) { return try_open(t, true); });
      for (const StoreStep& step : store_steps(kSegmentBytes)) {
        failures += try_each(step.name, trial,
                             [&](const Trial& t) { return try_step(step, t, Sync::each, true); });
      }
    }
  }
  EXPECT_GT(failures, 30u);
}

}  // namespace
}  // namespace nestline::test
