// nestline store stats: what is in a store, for people and as JSON. The names in the JSON object
// are those of StoreStats, and part of the interface.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "lib/command/errors.h"
#include "lib/command/output.h"
#include "lib/command/progress.h"
#include "lib/command/store_commands.h"

namespace nestline::command {
namespace {

double index_bytes_per_record(const StoreStats& stats) {
  return static_cast<double>(stats.index_bytes) / static_cast<double>(stats.records);
}

std::string json_text(const StoreStats& stats) {
  nlohmann::ordered_json object;
  object["records"] = stats.records;
  object["live_bytes"] = stats.live_bytes;
  object["dead_bytes"] = stats.dead_bytes;
  object["segments"] = stats.segments;
  object["index_bytes"] = stats.index_bytes;
  object["index_slots"] = stats.index_slots;
  object["index_bytes_per_record"] = nullptr;
  if (stats.records > 0) object["index_bytes_per_record"] = index_bytes_per_record(stats);
  object["overflow_keys"] = stats.overflow_keys;
  object["replayed_records"] = stats.replayed_records;
  object["cut_bytes"] = stats.cut_bytes;
  object["back_end"] = stats.back_end;
  return object.dump(2) + "\n";
}

std::string bytes_text(std::uint64_t bytes) {
  std::string text = std::to_string(bytes);
  if (bytes >= 1000) text += " (" + short_number(static_cast<double>(bytes), "B") + ")";
  return text;
}

std::string table_text(const StoreStats& stats) {
  std::array<char, 32> per_record{};
  std::snprintf(per_record.data(), per_record.size(), "%.2f", index_bytes_per_record(stats));
  std::string text;
  const auto line = [&text](std::string name, const std::string& value) {
    name.resize(30, ' ');
    text += name + value + "\n";
  };
  line("records", std::to_string(stats.records));
  line("live bytes", bytes_text(stats.live_bytes));
  line("dead bytes", bytes_text(stats.dead_bytes));
  line("files of the log", std::to_string(stats.segments));
  line("index bytes", bytes_text(stats.index_bytes));
  line("index slots", std::to_string(stats.index_slots));
  line("index bytes per record", stats.records > 0 ? per_record.data() : "-");
  line("keys beside the index", std::to_string(stats.overflow_keys));
  line("records read by opening", std::to_string(stats.replayed_records));
  line("torn bytes at the end", std::to_string(stats.cut_bytes));
  line("cold reads go through", stats.back_end);
  return text;
}

}  // namespace

int run(const std::string& folder, const StoreShow& show) {
  const StoreStats stats = open_to_read(folder).stats();
  Output output(STDOUT_FILENO, "standard output");
  output.write(show.json ? json_text(stats) : table_text(stats));
  output.flush();
  return kExitYes;
}

}  // namespace nestline::command
