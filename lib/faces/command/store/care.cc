// nestline store stats, compact, copy, verify, repair and damaged. The names in the JSON object
// never change.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "lib/faces/command/io/errors.h"
#include "lib/faces/command/io/output.h"
#include "lib/faces/command/io/progress.h"
#include "lib/faces/command/io/report.h"
#include "lib/faces/command/store/commands.h"
#include "lib/faces/command/store/record_text.h"

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

constexpr const char* kStatsFooter =
    "A line of advice says what may need a decision, such as much dead space.\n";

constexpr const char* kCompactFooter =
    "Copies what is live out of the files of the log that have dead bytes, and removes them.\n"
    "Pieces of deleted and replaced files go if no file has them. Some room is needed first.\n";

constexpr const char* kCopyFooter =
    "TO becomes a copy as of one instant, also beside programs that write. It is missing, empty,\n"
    "or an older copy that was not written since: then only what is new is copied. Full files of\n"
    "the log become hard links, or copies on another file system. After an interruption, repeat.\n";

constexpr const char* kVerifyFooter =
    "Reads every byte. Prints nothing when all is well, otherwise each problem on a line of\n"
    "standard error. A torn end of the log, which a crash leaves, is no problem; a line says how\n"
    "many changes read well in it, which the next command that writes cuts off.\n"
    "Exit status: 0 all is well, 2 the store is damaged or another error.";

constexpr const char* kRepairFooter =
    "Makes a damaged store one that opens: keeps every record that is whole, and says what is\n"
    "lost. Damaged files are kept with the ending .damaged. Changes behind a torn end are kept\n"
    "too, where they read well. It needs room for copies of what is whole in damaged files; "
    "without,\n"
    "or when it is killed, nothing is lost: repair again.\n";

constexpr const char* kDamagedFooter =
    "Prints a line for each file that repair has put away: its path, a tab, its bytes. The store\n"
    "does not need them.\n";

struct StoreDamaged {
  std::string folder;
  bool removes = false;
};

struct StoreShow {
  std::string folder;
  bool json = false;
};

std::string short_bytes(std::uint64_t bytes) { return short_number(bytes, "B"); }

std::vector<std::string> advice_on(const StoreStats& stats) {
  constexpr std::uint64_t kMuch = std::uint64_t{1} << 20;
  std::vector<std::string> advice;
  if (stats.dead_bytes >= kMuch && stats.dead_bytes > stats.live_bytes) {
    advice.push_back("more than half of the log is dead: nestline store compact frees up to " +
                     short_bytes(stats.dead_bytes) +
                     "; a program that keeps the store open for writing frees by itself what is "
                     "dead in full files of the log");
  }
  // The index doubles when 95 % of its slots are taken.
  const std::uint64_t room = stats.index_slots - stats.index_slots / 20;
  if (stats.records >= room - room / 20) {
    const std::string nearly_full = "the index is nearly full: after about " +
                                    std::to_string(room - std::min(stats.records, room)) +
                                    " more records ";
    if (stats.index_doublings_left > 0) {
      advice.push_back(nearly_full + "it doubles to " + short_bytes(2 * stats.index_bytes) +
                       " of memory, and while it does, " + short_bytes(3 * stats.index_bytes) +
                       " are needed");
    } else {
      advice.push_back(nearly_full +
                       "it is full; a program that keeps the store open for writing "
                       "makes a new one, and while it does, " +
                       short_bytes(2 * stats.index_bytes) + " or more are needed");
    }
  }
  return advice;
}

int run(const StoreShow& show) {
  const Store store = open_to_read(show.folder);
  StoreStats stats = store.stats();
  const std::uint64_t unused = store.unused_piece_bytes();
  stats.live_bytes -= unused;
  stats.dead_bytes += unused;
  Report report;
  report.add("records", "records", stats.records);
  report.add_bytes("live_bytes", "live bytes", stats.live_bytes);
  report.add_bytes("dead_bytes", "dead bytes", stats.dead_bytes);
  report.add_bytes("unused_piece_bytes", "of them pieces of no file", unused);
  report.add("segments", "files of the log", stats.segments);
  report.add_bytes("index_bytes", "index bytes", stats.index_bytes);
  report.add("index_slots", "index slots", stats.index_slots);
  if (stats.records > 0) {
    const double bytes =
        static_cast<double>(stats.index_bytes) / static_cast<double>(stats.records);
    report.add("index_bytes_per_record", "index bytes per record", bytes, formatted("%.2f", bytes));
  } else {
    report.add("index_bytes_per_record", "index bytes per record", Json(), "-");
  }
  report.add("overflow_keys", "keys beside the index", stats.overflow_keys);
  report.add("replayed_records", "records read by opening", stats.replayed_records);
  report.add("cut_bytes", "torn bytes at the end", stats.cut_bytes);
  report.add("cut_records", "changes there that read well", stats.cut_records);
  report.advice(advice_on(stats));
  print(report.text(show.json));
  return kExitYes;
}

std::uint64_t log_bytes(const StoreStats& stats) { return stats.live_bytes + stats.dead_bytes; }

struct StoreCopy {
  std::string folder;
  std::string to;
};

int run(const StoreCopy& copy) {
  open_to_read(copy.folder).copy_to(copy.to);
  return kExitYes;
}

struct StoreCompact {
  std::string folder;
  std::uint64_t wait = kUsualWait;
};

int run(const StoreCompact& compact) {
  const std::string& folder = compact.folder;
  Store store = open_to_write(folder, {.create = false}, compact.wait);
  const StoreStats before = store.stats();
  store.compact();
  finish_writing(store, Sync::interval);
  if (is_terminal(STDERR_FILENO)) {
    complain(folder, short_bytes(log_bytes(before)) + " of log before, " +
                         short_bytes(log_bytes(store.stats())) + " after");
  }
  return kExitYes;
}

int verify(const std::string& folder) {
  const StoreReport report = verify_store(folder);
  for (const std::string& problem : report.problems) complain({}, problem);
  if (!report.ok()) {
    complain(folder,
             report.needs_repair()
                 ? "is damaged; nestline store repair keeps every record that is whole"
                 : "needs no repair: the log is whole, and the next command that writes makes "
                   "index.nest anew");
    return kExitError;
  }
  if (report.cut_bytes > 0) {
    complain(folder,
             "the log ends with " + std::to_string(report.cut_bytes) +
                 " torn bytes, as a crash leaves them; the next command that writes cuts "
                 "them off" +
                 (report.cut_records == 0
                      ? ""
                      : ", and in them " + std::to_string(report.cut_records) +
                            " changes that read well, which were never known to be on disk; "
                            "only whoever wants these needs nestline store repair"));
  }
  return kExitYes;
}

int repair(const std::string& folder) {
  const StoreReport report = repair_store(folder);
  for (const std::string& problem : report.problems) complain({}, problem);
  if (!report.ok()) {
    complain(folder, std::to_string(report.records) + " records are kept, " +
                         std::to_string(report.lost_bytes) +
                         " bytes could not be; files that were damaged have the ending .damaged: "
                         "nestline store damaged lists and removes them");
  }
  return kExitYes;
}

int run(const StoreDamaged& damaged) {
  Output output;
  for (const std::filesystem::path& file : damaged_files(damaged.folder)) {
    std::string text;
    append_line(text, file.string(), std::to_string(std::filesystem::file_size(file)), '\n');
    if (damaged.removes) std::filesystem::remove(file);
    output.write(text);
  }
  output.flush();
  return kExitYes;
}

Command simple(const char* name, const char* about, const char* footer,
               int (*work)(const std::string&)) {
  const auto folder = std::make_shared<std::string>();
  return in_store(
      {{name, about, footer}, folder.get(), {}, [folder, work] { return work(*folder); }});
}

}  // namespace

Command stats_command() {
  const auto show = std::make_shared<StoreShow>();
  return in_store(show, {"stats", "Show what is in a store", kStatsFooter},
                  {{"--json", "", "Print one JSON object", &show->json}});
}

Command compact_command() {
  const auto compact = std::make_shared<StoreCompact>();
  return in_store(compact, {"compact", "Win back the bytes of old records", kCompactFooter},
                  {wait_option(compact->wait)});
}

Command copy_command() {
  const auto copy = std::make_shared<StoreCopy>();
  return in_store(copy, {"copy", "Copy a store, also one that is written meanwhile", kCopyFooter},
                  {{"TO", "", "The folder of the copy", &copy->to, kRequired}});
}

Command verify_store_command() {
  return simple("verify", "Check every byte of a store", kVerifyFooter, verify);
}

Command damaged_command() {
  const auto damaged = std::make_shared<StoreDamaged>();
  return in_store(damaged,
                  {"damaged", "List or remove the files that repair has put away", kDamagedFooter},
                  {{"--remove", "", "Remove them as well", &damaged->removes}});
}

Command repair_command() {
  return simple("repair", "Make a damaged store usable", kRepairFooter, repair);
}

}}}  // namespace nestline::command
