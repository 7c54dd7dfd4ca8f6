// nestline add and nestline remove: load the filter, change it, replace the file in one step.
//
// add is all or nothing: when the filter becomes full, the file stays as it was. remove removes the
// keys that it finds and counts the others.
#include "lib/command/commands.h"
#include "lib/command/errors.h"
#include "lib/command/file_lock.h"
#include "lib/command/inserter.h"
#include "lib/command/line_reader.h"
#include "lib/command/progress.h"
#include "nestline/io.h"

namespace nestline::command {
namespace {

// A pipe may never end, so only files are counted to the end.
[[noreturn]] void fail_full(const KeysArguments& arguments, const Filter& filter,
                            const Inserter& inserter, LineReader& reader) {
  const std::uint64_t before = filter.size() - inserter.stored();
  std::string sentence = "full after " + std::to_string(inserter.stored()) +
                         " of the new keys; the file is unchanged; ";
  if (reader.total_bytes()) {
    LineBatch batch;
    while (reader.next(batch)) continue;
  }
  if (!reader.total_bytes()) {
    sentence += "build a new filter from all keys with a larger --capacity";
  } else if (before + reader.lines() > filter.capacity()) {
    sentence += "build a new filter from all keys with a --capacity of at least " +
                std::to_string(before + reader.lines());
  } else {
    sentence += "some lines occur too often; add each line once, from the output of sort -u";
  }
  throw CommandError(arguments.file, sentence);
}

}  // namespace

int add(const KeysArguments& arguments) {
  const FileLock lock(arguments.file);
  Filter filter = load(arguments.file);
  LineReader reader(arguments.inputs);
  Progress progress("add");
  progress.begin(Progress::Unit::bytes, reader.total_bytes());
  Inserter inserter(filter);
  LineBatch batch;
  while (reader.next(batch)) {
    if (!inserter.insert(batch.keys)) fail_full(arguments, filter, inserter, reader);
    progress.update(reader.bytes(), reader.lines());
  }
  if (inserter.stored() > 0) save(filter, arguments.file);
  progress.erase();
  inserter.report_copies(arguments.file);
  return kExitYes;
}

int remove(const KeysArguments& arguments) {
  const FileLock lock(arguments.file);
  Filter filter = load(arguments.file);
  LineReader reader(arguments.inputs);
  Progress progress("remove");
  progress.begin(Progress::Unit::bytes, reader.total_bytes());
  LineBatch batch;
  std::uint64_t removed = 0;
  while (reader.next(batch)) {
    removed += filter.erase(batch.keys);
    progress.update(reader.bytes(), reader.lines());
  }
  if (removed > 0) save(filter, arguments.file);
  progress.erase();
  if (removed == reader.lines()) return kExitYes;
  complain(arguments.file, std::to_string(reader.lines() - removed) + " of " +
                               std::to_string(reader.lines()) +
                               " lines were not in the filter; nothing was removed for them");
  return kExitNo;
}

}  // namespace nestline::command
