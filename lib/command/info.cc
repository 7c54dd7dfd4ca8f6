// nestline info: prints what is in a filter file, for people and as JSON.
//
// It reads only the header and a sample of the blocks; nestline verify checks the rest. The names
// in the JSON object are part of the interface and do not change. A state of nestline uniq is read
// as a whole.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lib/command/commands.h"
#include "lib/command/errors.h"
#include "lib/command/output.h"
#include "lib/command/progress.h"
#include "lib/command/uniq_state.h"
#include "nestline/io.h"

namespace nestline::command {
namespace {

double bits_per_key(const MappedFilter& filter) {
  return 8.0 * static_cast<double>(filter.memory_bytes()) / static_cast<double>(filter.size());
}

std::string json_text(const MappedFilter& filter, std::uintmax_t file_bytes) {
  nlohmann::ordered_json object;
  object["keys"] = filter.size();
  object["capacity"] = filter.capacity();
  object["load_factor"] = filter.load_factor();
  object["bits"] = filter.bits();
  object["memory_bytes"] = filter.memory_bytes();
  object["bits_per_key"] = nullptr;
  if (filter.size() > 0) object["bits_per_key"] = bits_per_key(filter);
  object["expected_fpr"] = filter.expected_fpr();
  object["seed"] = filter.seed();
  object["file_bytes"] = file_bytes;
  object["doublings"] = filter.growth();
  object["max_capacity"] = filter.max_capacity();
  return object.dump(2) + "\n";
}

std::string format(const char* pattern, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), pattern, value);
  return text.data();
}

std::string bytes_text(std::uintmax_t bytes) {
  std::string text = std::to_string(bytes);
  if (bytes >= 1000) text += " (" + short_number(static_cast<double>(bytes), "B") + ")";
  return text;
}

// Names and values in two columns.
class Table {
 public:
  void line(std::string name, const std::string& value) {
    name.resize(30, ' ');
    text_ += name + value + "\n";
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string table_text(const MappedFilter& filter, std::uintmax_t file_bytes) {
  Table table;
  table.line("keys", std::to_string(filter.size()));
  table.line("capacity", std::to_string(filter.capacity()));
  table.line("grows by itself up to",
             filter.max_capacity() > 0 ? std::to_string(filter.max_capacity()) : "-");
  table.line("doublings so far", std::to_string(filter.growth()));
  table.line("load", format("%.1f %%", 100 * filter.load_factor()));
  table.line("bits", std::to_string(filter.bits()));
  table.line("memory bytes", bytes_text(filter.memory_bytes()));
  table.line("bits per key", filter.size() > 0 ? format("%.2f", bits_per_key(filter)) : "-");
  table.line("expected false-positive rate", format("%.3g", filter.expected_fpr()));
  table.line("seed", std::to_string(filter.seed()));
  table.line("file bytes", bytes_text(file_bytes));
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

std::string state_text(const UniqState& state, std::uintmax_t file_bytes, bool json) {
  const SeenOptions& options = state.seen.options();
  const std::uint64_t memory = memory_of(state.seen) + (state.again ? memory_of(*state.again) : 0);
  if (json) {
    nlohmann::ordered_json object;
    object["lines"] = lines_in(state.seen);
    object["repeated_lines"] = nullptr;
    if (state.again) object["repeated_lines"] = lines_in(*state.again);
    object["capacity"] = options.capacity;
    object["window"] = options.window;
    object["fpr"] = options.fpr;
    object["seed"] = options.seed;
    object["memory_bytes"] = memory;
    object["file_bytes"] = file_bytes;
    return object.dump(2) + "\n";
  }
  const auto or_none = [](std::uint64_t number) {
    return number > 0 ? std::to_string(number) : std::string("-");
  };
  Table table;
  table.line("lines seen", std::to_string(lines_in(state.seen)));
  table.line("lines seen again", state.again ? std::to_string(lines_in(*state.again)) : "-");
  table.line("capacity", or_none(options.capacity));
  table.line("window", or_none(options.window));
  table.line("wanted false-positive rate", format("%.3g", options.fpr));
  table.line("memory bytes", bytes_text(memory));
  table.line("seed", std::to_string(options.seed));
  table.line("file bytes", bytes_text(file_bytes));
  return table.text();
}

std::string filter_text(const InfoArguments& arguments) {
  const MappedFilter filter = MappedFilter::open(arguments.file, Verify::none);
  const std::uintmax_t file_bytes = std::filesystem::file_size(arguments.file);
  return arguments.json ? json_text(filter, file_bytes) : table_text(filter, file_bytes);
}

}  // namespace

int info(const InfoArguments& arguments) {
  const auto state =
      is_state(arguments.file) ? load_state(arguments.file) : std::optional<UniqState>();
  Output output(STDOUT_FILENO, "standard output");
  output.write(state
                   ? state_text(*state, std::filesystem::file_size(arguments.file), arguments.json)
                   : filter_text(arguments));
  output.flush();
  return kExitYes;
}

}  // namespace nestline::command
