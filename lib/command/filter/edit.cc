// nestline add and nestline remove: load the filter, change it, replace the file in one step.
//
// add is all or nothing: when the filter becomes full, the file stays as it was. remove removes the
// keys that it finds and counts the others.
#include "lib/command/filter/commands.h"
#include "lib/command/filter/inserter.h"
#include "lib/command/io/errors.h"
#include "lib/command/io/file_lock.h"
#include "lib/command/io/progress.h"
#include "lib/command/io/query_lines.h"
#include "nestline/io.h"

namespace nestline::command {
namespace {

constexpr const char* kAddFooter =
    "FILE is replaced in one step, or left unchanged when the keys do not fit. A filter that was\n"
    "built with --max-capacity grows up to that number of keys. Commands that change the same\n"
    "file wait for each other.\n"
    "Exit status: 0 done, 2 error.";

constexpr const char* kRemoveFooter =
    "Only remove keys that were added. A key that was not added may look the same as one that\n"
    "was; removing it removes the other key, which is then not found. Each line removes one copy.\n"
    "FILE is replaced in one step. Commands that change the same file wait for each other.\n"
    "Exit status: 0 done, 1 some lines were not in the filter (the others were removed), 2 error.";

// A pipe may never end, so only files are counted to the end.
[[noreturn]] void fail_full(const KeysArguments& arguments, std::uint64_t before,
                            const Inserter& inserter, LineReader& reader) {
  std::string sentence = "full after " + std::to_string(inserter.stored()) +
                         " of the new keys; the file is unchanged; ";
  if (reader.total_bytes()) {
    LineBatch batch;
    while (reader.next(batch)) continue;
  }
  if (!reader.total_bytes()) {
    sentence += "build a new filter from all keys with a larger --capacity or --max-capacity";
  } else if (before + reader.lines() > inserter.filter().capacity()) {
    sentence +=
        "build a new filter from all keys with a --capacity or --max-capacity of at least " +
        std::to_string(before + reader.lines());
  } else {
    sentence += "some lines occur too often; add each line once, from the output of sort -u";
  }
  throw CommandError(arguments.file, sentence);
}

int add(const KeysArguments& arguments) {
  const FileLock lock(arguments.file);
  Inserter inserter(load(arguments.file));
  const std::uint64_t before = inserter.filter().size();
  ShownReader reader(arguments.inputs, "add");
  LineBatch batch;
  while (reader.next(batch)) {
    if (!inserter.insert(batch.keys)) fail_full(arguments, before, inserter, reader);
  }
  if (inserter.stored() > 0) save(inserter.filter(), arguments.file);
  reader.bar.erase();
  inserter.report_copies(arguments.file);
  return kExitYes;
}

int remove(const KeysArguments& arguments) {
  const FileLock lock(arguments.file);
  Filter filter = load(arguments.file);
  ShownReader reader(arguments.inputs, "remove");
  LineBatch batch;
  std::uint64_t removed = 0;
  while (reader.next(batch)) removed += filter.erase(batch.keys);
  if (removed > 0) save(filter, arguments.file);
  reader.bar.erase();
  return report_removed(arguments.file, removed, reader.lines());
}

}  // namespace

Command add_command() { return keys_command("add", "Add keys to a filter", kAddFooter, add); }

Command remove_command() {
  return keys_command("remove", "Remove keys from a filter", kRemoveFooter, remove);
}

}  // namespace nestline::command
