// nestline store put, get, has and del. A value from standard input is read before the store is
// opened, so that no other program is locked out meanwhile.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/faces/command/io/errors.h"
#include "lib/faces/command/io/output.h"
#include "lib/faces/command/store/commands.h"
#include "lib/faces/command/store/record_text.h"
#include "nestline/store_files.h"

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

constexpr const char* kPutFooter =
    "The key has this value from then on, whether it was there or not. Without VALUE, and with -,\n"
    "the value is all of standard input.\n"
    "Exit status: 0 done, 1 with --new: the key is there, nothing was changed, 2 error.";

constexpr const char* kGetFooter =
    "Prints the bytes of the value and nothing else, no line end either, so that a value can be\n"
    "kept byte for byte; on a terminal, a line end too. nestline store mget prints lines.\n"
    "Exit status: 0 found, 1 not found, 2 error.";

constexpr const char* kHasFooter =
    "Prints nothing.\n"
    "Exit status: 0 found, 1 not found, 2 error.";

constexpr const char* kDelFooter =
    "Deleting a file keeps its pieces, which other files may share; nestline store compact drops\n"
    "those that no file has.\n"
    "Exit status: 0 done, 1 some were not in the store (the others were deleted), 2 error.";

struct StorePut {
  std::string folder;
  std::string key;
  std::optional<std::string> value;  // not given: standard input
  bool only_new = false;             // --new
  bool escaped = false;              // -e
  Sync sync = Sync::interval;
  std::uint64_t wait = kUsualWait;
};

struct StoreGet {
  std::string folder;
  std::string key;
  bool escaped = false;  // -e
};

struct StoreDel {
  std::string folder;
  std::vector<std::string> keys;
  bool files = false;    // --file: the keys are names of files
  bool escaped = false;  // -e
  Sync sync = Sync::interval;
  std::uint64_t wait = kUsualWait;
};

constexpr std::size_t kMaxValue = std::numeric_limits<std::uint32_t>::max();

constexpr const char* kTooLong = "a value may have; nestline store import takes files of any size";

// These commands end before compaction in the background would.
constexpr double kOnlyWhenCalled = 0;

int run(const StorePut& put) {
  const std::string value = put.value ? *put.value : read_all("-", kMaxValue, kTooLong);
  Store store =
      open_to_write(put.folder, {.sync = put.sync, .compact_above = kOnlyWhenCalled}, put.wait);
  bool done = true;
  if (put.only_new) {
    done = static_cast<bool>(store.insert_unique(put.key, value));
  } else {
    store.put(put.key, value);
  }
  finish_writing(store, put.sync);
  return done ? kExitYes : kExitNo;
}

int get_value(const StoreGet& get) {
  const Store store = open_to_read(get.folder);
  std::string value;
  if (!store.get(get.key, value)) return kExitNo;
  // The bytes of the value and no other, unless a person looks at them.
  if (is_terminal(STDOUT_FILENO) && !value.ends_with('\n')) value += '\n';
  print(value);
  return kExitYes;
}

int has_key(const StoreGet& has) {
  return open_to_read(has.folder).contains(has.key) ? kExitYes : kExitNo;
}

int run(const StoreDel& del) {
  Store store = open_to_write(
      del.folder, {.create = false, .sync = del.sync, .compact_above = kOnlyWhenCalled}, del.wait);
  std::size_t missing = 0;
  for (const std::string& key : del.keys) {
    if (!(del.files ? erase_file(store, key) : store.erase(key))) ++missing;
  }
  finish_writing(store, del.sync);
  if (missing == 0) return kExitYes;
  complain(del.folder, std::to_string(missing) + " of " + std::to_string(del.keys.size()) +
                           (del.files ? " files" : " keys") + " were not in the store");
  return kExitNo;
}

// -e for keys and values on the command line.
Option escapes(bool& escaped, const char* help) { return {"-e,--escaped", "", help, &escaped}; }

void unescape_word(std::string& word) {
  std::string bytes;
  if (!unescape(word, bytes)) {
    throw UsageError("in '" + word + "', after a backslash comes t, n, r, 0 or another backslash");
  }
  word = std::move(bytes);
}

Command key_command(const char* name, const char* about, const char* footer,
                    int (*work)(const StoreGet&)) {
  const auto get = std::make_shared<StoreGet>();
  return in_store({{name, about, footer},
                   &get->folder,
                   {{"KEY", "", "The key", &get->key, kRequired},
                    escapes(get->escaped, "KEY has the escapes of nestline store load")},
                   [get, work] { return work(*get); },
                   [get] {
                     if (get->escaped) unescape_word(get->key);
                   }});
}

}  // namespace

Command put_command() {
  const auto put = std::make_shared<StorePut>();
  return in_store(put, {"put", "Store a value under a key", kPutFooter},
                  {{"KEY", "", "The key", &put->key, kRequired},
                   {"VALUE", "", "The value; - or nothing: standard input", &put->value},
                   {"--new", "", "Only if the key is not in the store", &put->only_new},
                   escapes(put->escaped, "KEY and VALUE have the escapes of nestline store load"),
                   sync_option(put->sync),
                   wait_option(put->wait)},
                  [put] {
                    if (put->value == "-") put->value.reset();
                    if (!put->escaped) return;
                    unescape_word(put->key);
                    if (put->value) unescape_word(*put->value);
                  });
}

Command get_command() {
  return key_command("get", "Print the value of a key", kGetFooter, get_value);
}

Command has_command() {
  return key_command("has", "Check whether a key is there: the exit status is the answer",
                     kHasFooter, has_key);
}

Command del_command() {
  const auto del = std::make_shared<StoreDel>();
  return in_store(del, {"del", "Delete keys, or files", kDelFooter},
                  {{"KEY", "", "The keys", &del->keys, kRequired},
                   {"--file", "", "The words are names of imported files, not keys", &del->files},
                   escapes(del->escaped, "KEY has the escapes of nestline store load"),
                   sync_option(del->sync),
                   wait_option(del->wait)},
                  [del] {
                    if (!del->escaped) return;
                    for (std::string& key : del->keys) unescape_word(key);
                  });
}

}}}  // namespace nestline::command
