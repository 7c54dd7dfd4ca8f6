// nestline store stats: what is in a store, for people and as JSON. The names in the JSON object
// are those of StoreStats, and part of the interface.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "lib/command/io/errors.h"
#include "lib/command/io/output.h"
#include "lib/command/io/progress.h"
#include "lib/command/io/report.h"
#include "lib/command/store/commands.h"

namespace nestline::command {
namespace {

constexpr const char* kStatsFooter =
    "A line of advice says what may need a decision, such as much dead space.\n"
    "Exit status: 0 done, 2 error.";

struct StoreShow {
  std::string folder;
  bool json = false;
};

double index_bytes_per_record(const StoreStats& stats) {
  return static_cast<double>(stats.index_bytes) / static_cast<double>(stats.records);
}

std::vector<std::string> advice_on(const StoreStats& stats) {
  constexpr std::uint64_t kMuch = std::uint64_t{1} << 20;
  const auto text = [](std::uint64_t bytes) {
    return short_number(static_cast<double>(bytes), "B");
  };
  std::vector<std::string> advice;
  if (stats.dead_bytes >= kMuch && stats.dead_bytes > stats.live_bytes) {
    advice.push_back("more than half of the log is dead: nestline store compact frees up to " +
                     text(stats.dead_bytes) +
                     "; a program that keeps the store open for writing frees by itself what is "
                     "dead in full files of the log");
  }
  // The index doubles when 95 % of its slots are taken.
  const std::uint64_t room = stats.index_slots - stats.index_slots / 20;
  if (stats.records >= room - room / 20) {
    advice.push_back("the index is nearly full: after about " +
                     std::to_string(room - std::min(stats.records, room)) +
                     " more records it doubles to " + text(2 * stats.index_bytes) +
                     " of memory, and while it does, " + text(3 * stats.index_bytes) +
                     " are needed");
  }
  return advice;
}

std::string json_text(const StoreStats& stats) {
  return json_object({
      {"records", stats.records},
      {"live_bytes", stats.live_bytes},
      {"dead_bytes", stats.dead_bytes},
      {"segments", stats.segments},
      {"index_bytes", stats.index_bytes},
      {"index_slots", stats.index_slots},
      {"index_bytes_per_record", stats.records > 0 ? Json(index_bytes_per_record(stats)) : Json()},
      {"overflow_keys", stats.overflow_keys},
      {"replayed_records", stats.replayed_records},
      {"cut_bytes", stats.cut_bytes},
      {"back_end", stats.back_end},
      {"advice", advice_on(stats)},
  });
}

std::string table_text(const StoreStats& stats) {
  Table table;
  table.line("records", std::to_string(stats.records));
  table.line("live bytes", bytes_text(stats.live_bytes));
  table.line("dead bytes", bytes_text(stats.dead_bytes));
  table.line("files of the log", std::to_string(stats.segments));
  table.line("index bytes", bytes_text(stats.index_bytes));
  table.line("index slots", std::to_string(stats.index_slots));
  table.line("index bytes per record",
             stats.records > 0 ? formatted("%.2f", index_bytes_per_record(stats)) : "-");
  table.line("keys beside the index", std::to_string(stats.overflow_keys));
  table.line("records read by opening", std::to_string(stats.replayed_records));
  table.line("torn bytes at the end", std::to_string(stats.cut_bytes));
  table.line("cold reads go through", stats.back_end);
  table.advice(advice_on(stats));
  return table.text();
}

int run(const StoreShow& show) {
  const StoreStats stats = open_to_read(show.folder).stats();
  print(show.json ? json_text(stats) : table_text(stats));
  return kExitYes;
}

}  // namespace

Command stats_command() {
  const auto show = std::make_shared<StoreShow>();
  return in_store({{"stats", "Show what is in a store", kStatsFooter},
                   &show->folder,
                   {{"--json", "", "Print one JSON object", &show->json}},
                   [show] { return run(*show); }});
}

}  // namespace nestline::command
