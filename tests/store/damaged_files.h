// Files of a store in memory, of which something is wrong, and what all tools say about them.
#ifndef NESTLINE_TESTS_STORE_DAMAGED_FILES_H_
#define NESTLINE_TESTS_STORE_DAMAGED_FILES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "lib/store/state.h"
#include "lib/store/survey.h"
#include "tests/store/on_call.h"
#include "tests/store/simulated_disk.h"
#include "tests/store/store_checks.h"

namespace nestline::test {

using Bytes = SimulatedMachine::Bytes;
using Files = std::map<std::string, Bytes>;

inline constexpr std::uint64_t kSmallFile = 1024;
inline Store open(const std::shared_ptr<SimulatedMachine>& machine, bool read_only = false) {
  StoreOptions options = options_of(kSmallFile);
  options.read_only = read_only;
  return Store::State::open(machine->disk(), options, kOnCall);
}

inline constexpr auto machine_with = SimulatedMachine::with_files;

// The file that has the key, and where; the end of the files if none has.
inline std::pair<Files::const_iterator, std::size_t> place_of(const Files& files,
                                                              std::string_view key) {
  for (auto file = files.begin(); file != files.end(); ++file) {
    const Bytes& content = file->second;
    const std::string_view bytes(reinterpret_cast<const char*>(content.data()), content.size());
    const std::size_t at = bytes.find(key);
    if (at != std::string_view::npos) return {file, at};
  }
  return {files.end(), 0};
}

enum class Verdict : std::uint8_t { good, damaged, no_store };

inline Verdict verdict_of(auto&& call) {
  try {
    return call() ? Verdict::good : Verdict::damaged;
  } catch (const StoreError& error) {
    const std::string what = error.what();
    expect(what.size() > 20, [&] { return "not a sentence: " + what; });
    return what.find("there is no store in this folder") != std::string::npos ? Verdict::no_store
                                                                              : Verdict::damaged;
  }
}

inline Verdict opens(const Files& files, bool read_only) {
  return verdict_of([&] {
    (void)open(machine_with(files), read_only);
    return true;
  });
}
inline Verdict verdict_of(SimulatedMachine& machine) {
  return verdict_of([&] { return verify_on(*machine.disk()).ok(); });
}

// All tools agree about the files: whoever reads them and whoever writes; who opens what verify
// calls good, and verify about what does not open. What repair leaves opens. Throws what is wrong.
inline void expect_agreement(const Files& files) {
  const Verdict reads = opens(files, true);
  const Verdict writes = opens(files, false);
  const Verdict verified = verdict_of(*machine_with(files));
  const auto fails = [&](std::string_view what) {
    return std::string(what) + ": read " + std::to_string(static_cast<int>(reads)) + ", written " +
           std::to_string(static_cast<int>(writes)) + ", verified " +
           std::to_string(static_cast<int>(verified));
  };
  expect(reads == Verdict::no_store || reads == writes, [&] { return fails("openings differ"); });
  expect(reads != Verdict::no_store || writes != Verdict::damaged,
         [&] { return fails("no store for one, damaged for the other"); });
  expect(verified != Verdict::good || reads == Verdict::good,
         [&] { return fails("verify finds nothing"); });
  expect((verified == Verdict::no_store) <= (reads == Verdict::no_store),
         [&] { return fails("there is a store"); });
  const auto machine = machine_with(files);
  const Verdict repaired = verdict_of([&] {
    (void)repair_on(*machine->disk());
    return true;
  });
  expect((repaired == Verdict::no_store) == (verified == Verdict::no_store),
         [&] { return fails("repair differs"); });
  if (repaired == Verdict::no_store) return;
  expect(verdict_of(*machine) != Verdict::damaged, [&] { return fails("damaged after repair"); });
  (void)open(machine);
}

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_STORE_DAMAGED_FILES_H_
