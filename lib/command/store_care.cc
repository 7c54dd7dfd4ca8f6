// nestline store compact, verify and repair.
#include <unistd.h>

#include "lib/command/errors.h"
#include "lib/command/progress.h"
#include "lib/command/store_commands.h"

namespace nestline::command {
namespace {

std::string bytes_text(std::uint64_t bytes) {
  return short_number(static_cast<double>(bytes), "B");
}

std::uint64_t log_bytes(const StoreStats& stats) { return stats.live_bytes + stats.dead_bytes; }

}  // namespace

int run(const std::string& folder, const StoreCompact& /*compact*/) {
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

int run(const std::string& folder, const StoreVerify& /*verify*/) {
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

int run(const std::string& folder, const StoreRepair& /*repair*/) {
  const StoreReport report = repair_store(folder);
  for (const std::string& problem : report.problems) complain({}, problem);
  if (!report.ok()) {
    complain(folder, std::to_string(report.records) + " records are kept, " +
                         std::to_string(report.lost_bytes) +
                         " bytes could not be; files that were damaged have the ending .damaged");
  }
  return kExitYes;
}

}  // namespace nestline::command
