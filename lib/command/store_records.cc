// nestline store put, get, has and del: single records.
//
// A value that comes from standard input is read before the store is opened, so that nobody is
// locked out while the command waits.
#include <unistd.h>

#include <limits>

#include "lib/command/errors.h"
#include "lib/command/input_file.h"
#include "lib/command/output.h"
#include "lib/command/store_commands.h"

namespace nestline::command {
namespace {

constexpr std::size_t kMostValue = std::numeric_limits<std::uint32_t>::max();

// These commands end before compaction in the background would.
constexpr double kOnlyWhenCalled = 0;

}  // namespace

int run(const std::string& folder, const StorePut& put) {
  const std::string value = put.value ? *put.value : read_all("-", kMostValue);
  Store store = Store::open(folder, {.sync = put.sync, .compact_above = kOnlyWhenCalled});
  bool done = true;
  if (put.only_new) {
    done = store.insert(put.key, value);
  } else {
    store.put(put.key, value);
  }
  finish_writing(store, put.sync);
  return done ? kExitYes : kExitNo;
}

int run(const std::string& folder, const StoreGet& get) {
  const Store store = open_to_read(folder);
  std::string value;
  if (!store.get(get.key, value)) return kExitNo;
  // The bytes of the value and no other, unless a person looks at them.
  if (::isatty(STDOUT_FILENO) == 1 && !value.ends_with('\n')) value += '\n';
  Output output(STDOUT_FILENO, "standard output");
  output.write(value);
  output.flush();
  return kExitYes;
}

int run(const std::string& folder, const StoreHas& has) {
  return open_to_read(folder).contains(has.key) ? kExitYes : kExitNo;
}

int run(const std::string& folder, const StoreDel& del) {
  Store store =
      Store::open(folder, {.create = false, .sync = del.sync, .compact_above = kOnlyWhenCalled});
  std::size_t missing = 0;
  for (const std::string& key : del.keys) {
    if (!(del.files ? store.erase_file(key) : store.erase(key))) ++missing;
  }
  finish_writing(store, del.sync);
  if (missing == 0) return kExitYes;
  complain(folder, std::to_string(missing) + " of " + std::to_string(del.keys.size()) +
                       (del.files ? " files" : " keys") + " were not in the store");
  return kExitNo;
}

}  // namespace nestline::command
