// nestline store compact, verify and repair.
#include <unistd.h>

#include <memory>

#include "lib/command/io/errors.h"
#include "lib/command/io/progress.h"
#include "lib/command/store/commands.h"

namespace nestline::command {
namespace {

constexpr const char* kCompactFooter =
    "Copies what is live out of the files of the log that have dead bytes, and removes them. To\n"
    "make it smaller, the store needs some room on the disk first.\n"
    "Exit status: 0 done, 2 error.";

constexpr const char* kVerifyFooter =
    "Reads every byte. Prints nothing when all is well, otherwise each problem on a line of\n"
    "standard error. A torn end of the log, which a crash leaves, is no problem.\n"
    "Exit status: 0 all is well, 2 the store is damaged or another error.";

constexpr const char* kRepairFooter =
    "Makes a damaged store one that opens: keeps every record that is whole, and says what is\n"
    "lost. Damaged files are kept with the ending .damaged.\n"
    "Exit status: 0 done, 2 error.";

std::string bytes_text(std::uint64_t bytes) {
  return short_number(static_cast<double>(bytes), "B");
}

std::uint64_t log_bytes(const StoreStats& stats) { return stats.live_bytes + stats.dead_bytes; }

int compact(const std::string& folder) {
  Store store = Store::open(folder, {.create = false});
  const StoreStats before = store.stats();
  store.compact();
  finish_writing(store, Sync::interval);
  if (::isatty(STDERR_FILENO) == 1) {
    complain(folder, bytes_text(log_bytes(before)) + " of log before, " +
                         bytes_text(log_bytes(store.stats())) + " after");
  }
  return kExitYes;
}

int verify(const std::string& folder) {
  const StoreReport report = verify_store(folder);
  for (const std::string& problem : report.problems) complain({}, problem);
  if (!report.ok()) {
    complain(folder, "is damaged; nestline store repair keeps every record that is whole");
    return kExitError;
  }
  if (report.cut_bytes > 0) {
    complain(folder, "the log ends with " + std::to_string(report.cut_bytes) +
                         " torn bytes, as a crash leaves them; the next command that writes cuts "
                         "them off");
  }
  return kExitYes;
}

int repair(const std::string& folder) {
  const StoreReport report = repair_store(folder);
  for (const std::string& problem : report.problems) complain({}, problem);
  if (!report.ok()) {
    complain(folder, std::to_string(report.records) + " records are kept, " +
                         std::to_string(report.lost_bytes) +
                         " bytes could not be; files that were damaged have the ending .damaged");
  }
  return kExitYes;
}

// A command that takes the store and nothing else.
Command simple(const char* name, const char* about, const char* footer,
               int (*work)(const std::string&)) {
  const auto folder = std::make_shared<std::string>();
  return in_store(
      {{name, about, footer}, folder.get(), {}, [folder, work] { return work(*folder); }});
}

}  // namespace

Command compact_command() {
  return simple("compact", "Win back the bytes of old records", kCompactFooter, compact);
}

Command verify_store_command() {
  return simple("verify", "Check every byte of a store", kVerifyFooter, verify);
}

Command repair_command() {
  return simple("repair", "Make a damaged store usable", kRepairFooter, repair);
}

}  // namespace nestline::command
