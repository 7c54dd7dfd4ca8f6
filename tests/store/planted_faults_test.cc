// Tests must be able to fail: faults are planted in the store (lib/store/test_switches.h), and the
// tests of crashes, refusing disks and damaged files find each of them. The same runs find nothing
// without the fault.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "lib/store/state.h"
#include "lib/store/test_switches.h"
#include "tests/store/crash_history.h"
#include "tests/store/on_call.h"
#include "tests/store/simulated_disk.h"
#include "tests/store/store_checks.h"
#include "tests/store/store_model.h"

namespace nestline::test {
namespace {

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
std::string find_by_crashes(std::uint64_t most) {
  for (CrashPlan plan{.seed = 0, .operations = 150, .one_in = 3, .refusals = 0, .crashes = 2};
       plan.seed < most; ++plan.seed) {
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

TEST(PlantedFaults, TombstonesThatAreDroppedTooEarly) {
  const Planted fault(store_faults::drop_tombstones_early);
  EXPECT_NE(find_by_crashes(200), "");
}

Store open(SimulatedMachine& machine) {
  return Store::State::open(machine.disk(), options_of(2048), kOnCall);
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
