// nestline info: prints what is in a filter file, for people and as JSON.
//
// It reads only the header and a sample of the blocks; nestline verify checks the rest. The names
// in the JSON object are part of the interface and do not change. A state of nestline uniq is read
// as a whole.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "lib/command/filter/commands.h"
#include "lib/command/io/errors.h"
#include "lib/command/io/output.h"
#include "lib/command/io/progress.h"
#include "lib/command/io/report.h"
#include "lib/command/uniq/state.h"
#include "nestline/io.h"

namespace nestline::command {
namespace {

constexpr const char* kInfoFooter =
    "Does not check the whole file; nestline verify does. FILE may also be a state of "
    "nestline\n"
    "uniq. A line of advice says what may need a decision, such as a filter that is nearly full.\n"
    "Exit status: 0 done, 2 error.";

struct InfoArguments {
  std::string file;
  bool json = false;
};

double bits_per_key(const MappedFilter& filter) {
  return 8.0 * static_cast<double>(filter.memory_bytes()) / static_cast<double>(filter.size());
}

// From here on, it is time to think about the room.
bool is_nearly_full(std::uint64_t size, std::uint64_t capacity) {
  return size >= capacity - capacity / 20;
}

std::string room_text(std::uint64_t size, std::uint64_t capacity, const char* unit) {
  return "nearly full: there is room for " + std::to_string(capacity - std::min(size, capacity)) +
         " more " + unit + ", and ";
}

// Doublings beyond those that the rate was chosen for. The file does not have that rate.
unsigned surplus_doublings(const MappedFilter& filter) {
  if (filter.max_capacity() == 0) return filter.growth();
  unsigned surplus = 0;
  while (surplus < filter.growth() &&
         (filter.capacity() >> (surplus + 1)) >= filter.max_capacity()) {
    ++surplus;
  }
  return surplus;
}

std::vector<std::string> advice_on(const MappedFilter& filter) {
  const std::uint64_t size = filter.size();
  const std::uint64_t capacity = filter.capacity();
  const bool grows = capacity < filter.max_capacity();
  const bool has_grown = !grows && filter.max_capacity() > 0 && filter.growth() > 0;
  std::vector<std::string> advice;
  if (size > capacity && !grows) {
    advice.push_back("there are " + std::to_string(size - capacity) +
                     " keys more than its capacity: further ones may find no room, and it may err "
                     "more often than was asked for; build it from all keys with a larger "
                     "--capacity");
  } else if (is_nearly_full(size, capacity)) {
    const std::string bytes = short_number(2.0 * static_cast<double>(filter.memory_bytes()), "B");
    advice.push_back(
        room_text(size, capacity, "keys") +
        (grows ? "then it doubles to " + bytes +
                     "; when it is full again, it errs about twice as often as now"
         : has_grown ? "it has grown as far as its --max-capacity; for more, build it from all "
                       "keys with a larger one"
                     : "it does not grow; for more, build it from all keys with a larger "
                       "--capacity, or with --max-capacity"));
  } else if (has_grown) {
    advice.emplace_back("it has grown as far as its --max-capacity, and will not double again");
  }
  if (const unsigned surplus = surplus_doublings(filter); surplus > 0) {
    advice.push_back("it has doubled " + std::to_string(surplus) +
                     " times beyond what it was built for, so it errs about " +
                     std::to_string(1U << surplus) +
                     " times as often as was asked for at the same load; build it from all keys "
                     "for the rate that was asked for");
  }
  return advice;
}

std::string json_text(const MappedFilter& filter, std::uintmax_t file_bytes) {
  return json_object({
      {"keys", filter.size()},
      {"capacity", filter.capacity()},
      {"load_factor", filter.load_factor()},
      {"bits", static_cast<unsigned>(filter.bits())},
      {"memory_bytes", filter.memory_bytes()},
      {"bits_per_key", filter.size() > 0 ? Json(bits_per_key(filter)) : Json()},
      {"expected_fpr", filter.expected_fpr()},
      {"seed", filter.seed()},
      {"file_bytes", file_bytes},
      {"doublings", filter.growth()},
      {"max_capacity", filter.max_capacity()},
      {"advice", advice_on(filter)},
  });
}

std::string table_text(const MappedFilter& filter, std::uintmax_t file_bytes) {
  Table table;
  table.line("keys", std::to_string(filter.size()));
  table.line("capacity", std::to_string(filter.capacity()));
  table.line("grows by itself up to",
             filter.max_capacity() > 0 ? std::to_string(filter.max_capacity()) : "-");
  table.line("doublings so far", std::to_string(filter.growth()));
  table.line("load", formatted("%.1f %%", 100 * filter.load_factor()));
  table.line("bits", std::to_string(filter.bits()));
  table.line("memory bytes", bytes_text(filter.memory_bytes()));
  table.line("bits per key", filter.size() > 0 ? formatted("%.2f", bits_per_key(filter)) : "-");
  table.line("expected false-positive rate", formatted("%.3g", filter.expected_fpr()));
  table.line("seed", std::to_string(filter.seed()));
  table.line("file bytes", bytes_text(file_bytes));
  table.advice(advice_on(filter));
  return table.text();
}

std::uint64_t lines_in(const SeenLines& lines) {
  std::uint64_t sum = 0;
  for (const Generation& generation : lines.generations()) sum += generation.size();
  return sum;
}

std::uint64_t memory_of(const SeenLines& lines) {
  std::uint64_t sum = lines.ring()[0].size_bytes() + lines.ring()[1].size_bytes();
  for (const Generation& generation : lines.generations()) {
    for (const Filter& layer : generation.layers) sum += layer.memory_bytes();
  }
  return sum;
}

std::vector<std::string> advice_on(const UniqState& state) {
  const std::uint64_t capacity = state.seen.options().capacity;
  const std::uint64_t lines = lines_in(state.seen);
  if (capacity == 0 || !is_nearly_full(lines, capacity)) return {};
  return {room_text(lines, capacity, "different lines") +
          "then nestline uniq ends with an error; begin another state with a larger --capacity, or "
          "with --window"};
}

std::string state_text(const UniqState& state, std::uintmax_t file_bytes, bool json) {
  const SeenOptions& options = state.seen.options();
  const std::uint64_t memory = memory_of(state.seen) + (state.again ? memory_of(*state.again) : 0);
  if (json) {
    return json_object({
        {"lines", lines_in(state.seen)},
        {"repeated_lines", state.again ? Json(lines_in(*state.again)) : Json()},
        {"capacity", options.capacity},
        {"window", options.window},
        {"fpr", options.fpr},
        {"seed", options.seed},
        {"memory_bytes", memory},
        {"file_bytes", file_bytes},
        {"advice", advice_on(state)},
    });
  }
  const auto or_none = [](std::uint64_t number) {
    return number > 0 ? std::to_string(number) : std::string("-");
  };
  Table table;
  table.line("lines seen", std::to_string(lines_in(state.seen)));
  table.line("lines seen again", state.again ? std::to_string(lines_in(*state.again)) : "-");
  table.line("capacity", or_none(options.capacity));
  table.line("window", or_none(options.window));
  table.line("wanted false-positive rate", formatted("%.3g", options.fpr));
  table.line("memory bytes", bytes_text(memory));
  table.line("seed", std::to_string(options.seed));
  table.line("file bytes", bytes_text(file_bytes));
  table.advice(advice_on(state));
  return table.text();
}

std::string filter_text(const InfoArguments& arguments) {
  const MappedFilter filter = MappedFilter::open(arguments.file, Verify::none);
  const std::uintmax_t file_bytes = std::filesystem::file_size(arguments.file);
  return arguments.json ? json_text(filter, file_bytes) : table_text(filter, file_bytes);
}

int info(const InfoArguments& arguments) {
  const auto state =
      is_state(arguments.file) ? load_state(arguments.file) : std::optional<UniqState>();
  print(state ? state_text(*state, std::filesystem::file_size(arguments.file), arguments.json)
              : filter_text(arguments));
  return kExitYes;
}

}  // namespace

Command info_command() {
  const auto arguments = std::make_shared<InfoArguments>();
  return {{"info", "Show what is in a filter file", kInfoFooter},
          &arguments->file,
          {filter_file(arguments->file), {"--json", "", "Print one JSON object", &arguments->json}},
          [arguments] { return info(*arguments); }};
}

}  // namespace nestline::command
