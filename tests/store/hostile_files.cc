// See hostile_files.h.
#include "tests/store/hostile_files.h"

#include <optional>
#include <vector>

#include "lib/store/state.h"
#include "lib/store/survey.h"
#include "tests/store/on_call.h"
#include "tests/store/store_checks.h"

namespace nestline::test {
namespace {

constexpr auto machine_with = SimulatedMachine::with_files;

Store open(SimulatedMachine& machine, bool read_only = false) {
  const StoreOptions options = {.read_only = read_only, .expected_records = 8, .compact_above = 0};
  return Store::State::open(machine.disk(), options, kOnCall);
}

// The content, or nothing if the store says that something is damaged.
std::optional<Content> content_if_whole(const Store& store) {
  try {
    Content content = content_of(store);
    std::vector<std::string> keys = {"absent"};
    for (const auto& [key, value] : content) keys.push_back(key);
    check_store(store, content, keys);
    return content;
  } catch (const StoreError&) {
    return std::nullopt;
  }
}

std::optional<Content> read_only_content(const HostileFiles& files) {
  try {
    const auto machine = machine_with(files);
    Store store = open(*machine, true);
    const std::optional<Content> content = content_if_whole(store);
    (void)store.refresh();
    return content;
  } catch (const StoreError&) {
    return std::nullopt;
  }
}

void change_and_reopen(SimulatedMachine& machine, const Content& before) {
  Content content = before;
  {
    Store store = open(machine);
    store.put("another", "value");
    content["another"] = "value";
    if (!before.empty()) {
      const std::string first = before.begin()->first;
      expect(store.erase(first), [] { return "a key cannot be erased"; });
      content.erase(first);
    }
  }
  for (unsigned round = 0; round < 2; ++round) {
    Store store = open(machine);
    const Content found = content_of(store);
    expect(found == content, [&] { return "after a change: " + difference(found, content); });
    store.compact();
  }
}

}  // namespace

bool try_hostile_files(const HostileFiles& files) {
  const std::optional<Content> seen = read_only_content(files);
  const auto machine = machine_with(files);
  bool opened = false;
  try {
    std::optional<Content> content;
    {
      const Store store = open(*machine);
      content = content_if_whole(store);
    }
    opened = true;
    if (content) {
      if (seen) {
        expect(*seen == *content,
               [&] { return "a reader differs: " + difference(*seen, *content); });
      }
      change_and_reopen(*machine, *content);
    }
  } catch (const StoreError&) {
  }
  const auto repaired = machine_with(files);
  StoreReport report;
  try {
    (void)verify_on(*machine_with(files)->disk());
    report = repair_on(*repaired->disk());
    const StoreReport verified = verify_on(*repaired->disk());
    expect(verified.ok(), [&] { return "after repair: " + verified.problems.front(); });
  } catch (const StoreError&) {  // there is no store in the folder
    expect(!seen, [] { return "a reader finds a store, and verify or repair finds none"; });
  }
  const Store store = open(*repaired);
  const std::optional<Content> content = content_if_whole(store);
  expect(content.has_value(), [] { return "after repair, something is still damaged"; });
  expect(report.records == content->size(), [] { return "repair counts wrong"; });
  return opened;
}

}  // namespace nestline::test
