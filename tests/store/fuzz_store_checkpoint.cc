// Fuzz target: any bytes as the checkpoint beside a small log. The input is used in two ways. As it
// is: then the checkpoint is believed or not, and all answers are those of the log
// (hostile_files.h). And as changes of a right checkpoint, whose checksums are made right again: no
// store writes that, and it may give wrong answers, but nothing worse.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/store/checkpoint.h"
#include "lib/store/state.h"
#include "lib/store/survey.h"
#include "nestline/maplet.h"
#include "tests/store/hostile_files.h"
#include "tests/store/log_script.h"
#include "tests/store/on_call.h"
#include "tests/store/simulated_disk.h"

namespace {

using namespace nestline;
using namespace nestline::test;

// Three files, with puts, erases, overwritten keys, and a batch.
HostileFiles log_files() {
  std::vector<std::uint8_t> steps;
  for (std::uint8_t i = 0; i < 60; ++i) {
    const auto key = static_cast<std::uint8_t>(i * 7 % 40);
    if (i % 20 == 19) steps.push_back(LogScript::kSegment);
    if (i % 6 == 5) {
      steps.insert(steps.end(), {LogScript::kErase, key});
    } else {
      steps.insert(steps.end(), {LogScript::kPut, key, i});
    }
  }
  steps.insert(steps.end(), {LogScript::kBatch, 1, 4, LogScript::kPut, 1, 1, LogScript::kBatchEnd});
  return LogScript(steps).run();
}

StoreOptions options() { return {.expected_records = 8, .compact_above = 0}; }

// Takes the input, four bytes for each change.
void change(CheckpointHead& head, Maplet& pairs, std::span<const std::uint8_t> input) {
  for (; input.size() >= 4; input = input.subspan(4)) {
    const std::uint64_t number = input[2] | std::uint64_t{input[3]} << (input[1] & 56);
    LogPosition& at = head.position;
    const std::array fields = {&at.segment,       &at.offset, &at.sequence,
                               &head.offset_bits, &head.keys, &head.store_id};
    const std::uint8_t what = input[0] % 16;
    if (what < fields.size()) {
      *fields[what] += number;
    } else if (what < 13 && !head.segments.empty()) {
      CheckpointSegment& segment = head.segments[input[1] % head.segments.size()];
      const std::array<std::uint64_t*, 7> parts = {
          &segment.number, &segment.slot,       &segment.end,  &segment.sealed,
          &segment.live,   &segment.tombstones, &segment.frame};
      *parts[what - fields.size()] += number;
    } else if (what == 13) {
      head.overflow.emplace_back(number, input[1]);
    } else {
      const std::string key(input[1] % 5, 'k');
      const Hash hash{hash_in(Space::keys, key + static_cast<char>(input[1]), head.store_id)};
      (void)pairs.insert(hash, number & Maplet::kMaxValue);
    }
  }
}

// Uses whatever opens.
void use(SimulatedMachine& machine) {
  for (const bool read_only : {true, false}) {
    try {
      StoreOptions chosen = options();
      chosen.read_only = read_only;
      Store store = Store::State::open(machine.disk(), chosen, kOnCall);
      std::size_t bytes = 0;
      store.for_each([&](std::string_view key, std::string_view value) {
        bytes += key.size() + value.size();
      });
      for (unsigned byte = 0; byte < 40; ++byte) {
        const std::string key = std::string(byte % 5, 'k') += static_cast<char>(byte);
        try {
          std::string value;
          (void)store.get(key, value);
          if (!read_only && byte % 3 == 0) (void)store.erase(key);
          if (!read_only && byte % 3 == 1) store.put(key, "value");
        } catch (const StoreError&) {
        }
      }
      (void)store.refresh();
      if (!read_only) store.compact();
      if (!read_only) store.checkpoint();
    } catch (const StoreError&) {
    }
  }
  (void)verify_on(*machine.disk());
}

void try_changes(std::span<const std::uint8_t> input) {
  const auto machine = SimulatedMachine::with_files(log_files());
  { const Store make = Store::State::open(machine->disk(), options(), kOnCall); }
  const auto disk = machine->disk();
  std::optional<Checkpoint> checkpoint = read_checkpoint(*disk);
  if (!checkpoint || !checkpoint->pairs) throw std::runtime_error("there is no checkpoint");
  change(checkpoint->head, *checkpoint->pairs, input);
  write_checkpoint(*disk, checkpoint->head, *std::move(checkpoint->pairs));
  use(*machine);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span input(data, size);
  try {
    HostileFiles files = log_files();
    const auto bytes = std::as_bytes(input);
    files[std::string(kCheckpointName)].assign(bytes.begin(), bytes.end());
    (void)try_hostile_files(files);
    try_changes(input);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::abort();
  }
  return 0;
}
