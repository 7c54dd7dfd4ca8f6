// What nestline info says of a state of nestline uniq.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "lib/faces/command/io/command.h"
#include "lib/faces/command/io/output.h"
#include "lib/faces/command/io/report.h"
#include "lib/faces/command/uniq/state.h"

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

std::vector<std::string> advice_on(const UniqState& state) {
  const std::uint64_t capacity = state.options.capacity;
  const std::uint64_t lines = state.seen.size();
  if (capacity == 0 || !is_nearly_full(lines, capacity)) return {};
  return {
      room_text(lines, capacity, "different lines") +
      "then nestline uniq ends with an error; begin another state with a larger --capacity, or " +
      (state.options.within > 0 ? "without one" : "with --window")};
}

}  // namespace

std::string state_text(const std::string& file, bool as_json) {
  const UniqState state = load_state(file).value();
  const SeenOptions& options = state.options;
  const std::uint64_t memory =
      state.seen.memory_bytes() + (state.again ? state.again->memory_bytes() : 0);
  Report report;
  report.add("lines", "lines seen", state.seen.size());
  if (state.again) {
    report.add("repeated_lines", "lines seen again", state.again->size());
  } else {
    report.add("repeated_lines", "lines seen again", Json(), "-");
  }
  report.add("capacity", "capacity", options.capacity, number_or_none(options.capacity));
  report.add("window", "window", options.window, number_or_none(options.window));
  if (options.within > 0) {
    report.add("within_seconds", "forgets after", static_cast<double>(options.within) / 1e9,
               duration_text(options.within));
  }
  report.add("fpr", "wanted false-positive rate", options.fpr, formatted("%.3g", options.fpr));
  report.json("seed", options.seed);
  report.add_bytes("memory_bytes", "memory bytes", memory);
  report.line("seed", std::to_string(options.seed));
  report.add_bytes("file_bytes", "file bytes", std::filesystem::file_size(file));
  report.advice(advice_on(state));
  return report.text(as_json);
}

}}}  // namespace nestline::command
