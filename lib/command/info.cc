// nestline info: prints what is in a filter file, for people and as JSON.
//
// It reads only the header and a sample of the blocks; nestline verify checks the rest. The names
// in the JSON object are part of the interface and do not change.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lib/command/commands.h"
#include "lib/command/errors.h"
#include "lib/command/output.h"
#include "lib/command/progress.h"
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

std::string table_text(const MappedFilter& filter, std::uintmax_t file_bytes) {
  std::string text;
  const auto line = [&text](std::string name, const std::string& value) {
    name.resize(30, ' ');
    text += name + value + "\n";
  };
  line("keys", std::to_string(filter.size()));
  line("capacity", std::to_string(filter.capacity()));
  line("grows by itself up to",
       filter.max_capacity() > 0 ? std::to_string(filter.max_capacity()) : "-");
  line("doublings so far", std::to_string(filter.growth()));
  line("load", format("%.1f %%", 100 * filter.load_factor()));
  line("bits", std::to_string(filter.bits()));
  line("memory bytes", bytes_text(filter.memory_bytes()));
  line("bits per key", filter.size() > 0 ? format("%.2f", bits_per_key(filter)) : "-");
  line("expected false-positive rate", format("%.3g", filter.expected_fpr()));
  line("seed", std::to_string(filter.seed()));
  line("file bytes", bytes_text(file_bytes));
  return text;
}

}  // namespace

int info(const InfoArguments& arguments) {
  const MappedFilter filter = MappedFilter::open(arguments.file, Verify::none);
  const std::uintmax_t file_bytes = std::filesystem::file_size(arguments.file);
  Output output(STDOUT_FILENO, "standard output");
  output.write(arguments.json ? json_text(filter, file_bytes) : table_text(filter, file_bytes));
  output.flush();
  return kExitYes;
}

}  // namespace nestline::command
