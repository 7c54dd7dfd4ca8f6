// Tests must be able to fail: faults are planted (lib/store/test_switches.h), and the tests of
// crashes, refusing disks and damaged files find each; they find nothing without.
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <future>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "lib/store/state.h"
#include "lib/store/test_switches.h"
#include "tests/store/crash_history.h"
#include "tests/store/on_call.h"
#include "tests/store/simulated_disk.h"
#include "tests/store/store_checks.h"
#include "tests/store/store_model.h"

namespace nestline::test { namespace {

// On while it lives.
class Planted {
 public:
  explicit Planted(store_faults::Switch& fault) : fault_(fault) { fault_.store(true); }
  ~Planted() { fault_.store(false); }
  Planted(const Planted&) = delete;
  Planted& operator=(const Planted&) = delete;

 private:
  store_faults::Switch& fault_;
};

// Plays crash histories until one finds something. Returns that, or "" after `most` of them.
std::string find_by_crashes(std::uint64_t most,
                            CrashPlan plan = {.operations = 150, .one_in = 3, .crashes = 2}) {
  for (; plan.seed < most; ++plan.seed) {
    const CrashReport report = play_crashes(plan);
    if (!report.violation.empty()) return report.violation;
  }
  return "";
}

TEST(PlantedFaults, AFolderThatIsNotSynced) {
  EXPECT_EQ(find_by_crashes(3), "");
  const Planted fault(store_faults::no_folder_sync);
  EXPECT_NE(find_by_crashes(200), "");
}

// Each is found with as many losses of power as the tests of crashes see without it.
TEST(PlantedFaults, OpeningsThatDoNotSync) {
  const CrashPlan plan = {.operations = 40, .one_in = 30, .kills_openings = true};
  EXPECT_EQ(find_by_crashes(2, plan), "");
  for (store_faults::Switch* const fault :
       {&store_faults::trust_names_at_opening, &store_faults::no_sync_at_opening,
        &store_faults::no_sync_of_renewal}) {
    const Planted planted(*fault);
    EXPECT_NE(find_by_crashes(200, plan), "");
  }
}

TEST(PlantedFaults, FilesThatGoBeforeTheCheckpointHasItsName) {
  const Planted fault(store_faults::no_sync_before_removal);
  EXPECT_NE(find_by_crashes(200), "");
}

Store open(SimulatedMachine& machine) {
  return Store::State::open(machine.disk(), options_of(2048), kOnCall);
}

// Whether a compaction comes back within that time although a reader is in a file of the store.
bool comes_back_under_a_reader(std::chrono::milliseconds time) {
  const auto machine = SimulatedMachine::make(1);
  StoreOptions options = options_of(2048, Sync::never, 1000);
  options.compact_above = 0.1;
  Store store = Store::State::open(machine->disk(), options, kOnCall);
  for (std::size_t i = 0; i < 60; ++i) store.put(key_of(i % 20), std::string(100, 'v'));
  std::promise<void> inside, leave;
  std::thread reader([&] {
    (void)store.get(key_of(1), [&](std::string_view) {
      inside.set_value();
      leave.get_future().wait();
    });
  });
  inside.get_future().wait();
  auto compaction = std::async(std::launch::async, [&] { Store::State::keep_up_on(store); });
  const bool is_back = compaction.wait_for(time) == std::future_status::ready;
  leave.set_value();
  reader.join();
  compaction.get();
  return is_back;
}

TEST(PlantedFaults, FilesThatAreForgottenUnderReaders) {
  EXPECT_FALSE(comes_back_under_a_reader(std::chrono::milliseconds(50)));
  const Planted fault(store_faults::forget_under_readers);
  EXPECT_TRUE(comes_back_under_a_reader(std::chrono::seconds(20)));
}

TEST(PlantedFaults, TombstonesThatAreDroppedTooEarly) {
  const Planted fault(store_faults::drop_tombstones_early);
  EXPECT_NE(find_by_crashes(200), "");
}

// Changes that the disk refuses. Returns what is wrong afterwards.
std::string find_by_refusals() {
  const auto machine = SimulatedMachine::make(1);
  Store store = open(*machine);
  Content content;
  for (std::size_t i = 0; i < 20; ++i) {
    store.put(key_of(i), "old");
    content[key_of(i)] = "old";
  }
  for (std::size_t i = 0; i < 40; ++i) {
    machine->fail(Call::write, 0, ENOSPC, false);
    try {
      store.put(key_of(i), "new");
      content[key_of(i)] = "new";
    } catch (const std::system_error&) {
    }
    machine->heal();
    try {
      check_key(store, key_of(i), content);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  }
  return "";
}

TEST(PlantedFaults, AnIndexThatIsChangedBeforeTheLog) {
  EXPECT_EQ(find_by_refusals(), "");
  const Planted fault(store_faults::index_before_log);
  EXPECT_NE(find_by_refusals(), "");
}

// A checkpoint with one byte changed. Returns what is wrong then.
std::string find_by_damage() {
  const auto machine = SimulatedMachine::make(1);
  Content content;
  std::vector<std::string> keys;
  {
    Store store = open(*machine);
    for (std::size_t i = 0; i < 40; ++i) {
      keys.push_back(key_of(i));
      store.put(keys.back(), "value");
      content[keys.back()] = "value";
    }
  }
  const SimulatedMachine::Bytes whole = machine->files().at("index.nest");
  for (std::size_t at = 0; at < whole.size(); ++at) {
    SimulatedMachine::Bytes changed = whole;
    changed[at] ^= std::byte{0x10};
    const auto damaged = machine->after_process_end();
    damaged->set_file("index.nest", changed);
    try {
      check_store(open(*damaged), content, keys);
    } catch (const std::exception& error) {
      return "byte " + std::to_string(at) + ": " + error.what();
    }
  }
  return "";
}

TEST(PlantedFaults, ACheckpointThatIsBelievedWithoutItsChecksum) {
  EXPECT_EQ(find_by_damage(), "");
  const Planted fault(store_faults::trust_checkpoint);
  EXPECT_NE(find_by_damage(), "");
}

}  // namespace
}  // namespace nestline::test
