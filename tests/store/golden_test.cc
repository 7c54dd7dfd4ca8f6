// The files of a store are the same on every processor: golden_store.h.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "lib/store/survey.h"
#include "tests/store/golden_store.h"

namespace nestline::test { namespace {

// A machine with the files of a golden folder.
std::shared_ptr<SimulatedMachine> machine_with(std::string_view name) {
  return SimulatedMachine::with_files(golden::read(NESTLINE_TEST_DATA, name));
}

// What make_store_golden did, without its files.
golden::Records records_of_first() {
  golden::Records records;
  golden::change(*SimulatedMachine::make(1), records, [](auto twin) { golden::begin(twin); });
  return records;
}

// Without the pieces of imported files, whose keys are digests of 32 bytes.
golden::Records content(SimulatedMachine& machine) {
  const Store store = Store::State::open(machine.disk(), {.read_only = true}, kOnCall);
  golden::Records found;
  store.for_each([&](std::string_view key, std::string_view value) {
    if (key.size() != 32) {
      EXPECT_TRUE(found.emplace(key, value).second) << key;
    }
    return true;
  });
  for (const auto& [key, value] : found) {
    std::string again;
    EXPECT_TRUE(store.get(key, again)) << key;
    EXPECT_EQ(again, value) << key;
  }
  return found;
}

TEST(GoldenStore, IsRead) {
  golden::Records records = records_of_first();
  for (const char* const name : {"first", "second", "third", "fourth"}) {
    SCOPED_TRACE(name);
    const auto machine = machine_with(name);
    EXPECT_EQ(verify_on(*machine->disk()).problems.size(), 0U);
    EXPECT_TRUE(content(*machine) == records);
    if (std::string_view(name) == "first") {
      golden::change(*machine, records, [](auto twin) { golden::go_on(twin); });
    }
  }
}

TEST(GoldenStore, GoesOnByteForByte) {
  const auto machine = machine_with("first");
  golden::Records records = records_of_first();
  golden::change(*machine, records, [](auto twin) { golden::go_on(twin); });

  const golden::Files expected = golden::read(NESTLINE_TEST_DATA, "fourth");
  const golden::Files found = machine->files();
  for (const auto& [name, bytes] : expected) {
    ASSERT_TRUE(found.contains(name)) << name;
    EXPECT_TRUE(found.at(name) == bytes) << name << " differs";
  }
  EXPECT_EQ(found.size(), expected.size());
  EXPECT_TRUE(content(*machine) == records);
}

}  // namespace
}  // namespace nestline::test
