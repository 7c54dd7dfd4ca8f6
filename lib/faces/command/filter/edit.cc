// nestline add, remove and fit: load the filter, change it, replace the file in one step. add is
// all or nothing: when the filter becomes full, the file stays as it was. Both take each different
// line once, so that they are opposites. A line that add leaves out all the same has no copy in the
// filter: removing it would take the copy of a line that looks the same. So add writes these lines
// to the file of --left-out, before it replaces the filter, and remove passes over as many lines as
// the file has.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/faces/command/filter/commands.h"
#include "lib/faces/command/filter/line_hashes.h"
#include "lib/faces/command/io/errors.h"
#include "lib/faces/command/io/file_lock.h"
#include "lib/faces/command/io/progress.h"
#include "lib/faces/command/io/query_lines.h"
#include "lib/system/system.h"

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

constexpr const char* kAddFooter =
    "FILE is replaced in one step, or left unchanged when the keys do not fit. A filter that was\n"
    "built with --max-capacity grows up to that number of keys. Commands that change the same\n"
    "file wait for each other.\n"
    "A line that occurs several times is taken once; to tell, nestline keeps 10 to 15 bytes of\n"
    "memory for each different line. A line that the filter has already becomes one more copy of\n"
    "its key, as every line does with --copies. A filter holds at most 8 copies of a key (10 at "
    "16\n"
    "bits), and fewer where keys that look the same, or copies of others, take its slots. Further\n"
    "lines are left out and counted in a message; they are still found. To be able to remove the\n"
    "same lines again, write those that are left out to a file with --left-out, and give it to\n"
    "nestline remove --left-out.\n";

constexpr const char* kRemoveFooter =
    "Only remove keys that were added. A key that was not added may look the same as one that\n"
    "was; removing it removes the other key, which is then not found. Each different line removes\n"
    "one copy, however often it occurs; with --copies, which is for lines that were added with\n"
    "--copies, as many as it occurs. To undo a nestline add that left lines out, also give the "
    "file\n"
    "of these with --left-out: removing them too can remove others that look the same. Undo the\n"
    "last add first, or add the lines that later ones left out again.\n"
    "FILE is replaced in one step. Commands that change the same file wait for each other.\n"
    "Exit status: 0 done, 1 some lines were not in the filter (the others were removed), 2 error.";

constexpr const char* kFitFooter =
    "Undoes doublings of a filter that has grown, without its keys: where keys were removed, or\n"
    "where a program made it by Options::may_fold. Its keys are found as before, others as\n"
    "seldom, or more often where keys were removed without --turns-over. It grows again as it\n"
    "did. FILE is replaced in one step, or stays as it is where nothing can be undone.\n"
    "Exit status: 0 done, also where nothing was undone, 2 error.";

// A pipe may never end, so only files are counted to the end.
[[noreturn]] void fail_full(const KeysArguments& arguments, std::uint64_t before,
                            const Inserter& inserter, ShownReader& reader, LineHashes& lines) {
  std::string sentence = "full after " + std::to_string(inserter.stored()) +
                         " of the new keys; the file is unchanged; ";
  if (!take_rest(reader, lines)) {
    sentence += "build a new filter from all keys with a larger --capacity or --max-capacity";
  } else if (before + lines.size() > inserter.filter().capacity()) {
    sentence +=
        "build a new filter from all keys with a --capacity or --max-capacity of at least " +
        std::to_string(before + lines.size());
  } else {
    sentence += arguments.copies ? "some lines occur too often; add them without --copies"
                                 : "some keys occur too often in the filter";
  }
  throw CommandError(arguments.file, sentence);
}

void check_files(const KeysArguments& arguments) {
  if (is_input(arguments.file, arguments.inputs.files)) {
    throw UsageError("INPUT takes files of keys, and not the filter");
  }
  if (arguments.left_out.empty()) return;
  if (is_input(arguments.left_out, {arguments.file})) {
    throw UsageError("--left-out takes the name of a file, and not that of the filter");
  }
  // To remove the lines of an input that is also this file is to remove none.
  if (is_input(arguments.left_out, arguments.inputs.files)) {
    throw UsageError("--left-out takes another file than INPUT");
  }
}

void write_left_out(const std::string& file, std::string_view lines) {
  concerning(file, [&] {
    replace_file(file, [&](const ByteSink& sink) { sink(std::as_bytes(std::span(lines))); });
  });
}

std::unordered_map<std::string, std::uint64_t> read_left_out(const KeysArguments& arguments) {
  std::unordered_map<std::string, std::uint64_t> lines;
  if (arguments.left_out.empty()) return lines;
  LineReader reader({{arguments.left_out}, arguments.inputs.zero_terminated});
  LineBatch batch;
  while (reader.next(batch)) {
    for (const std::string_view key : batch.keys) ++lines[std::string(key)];
  }
  return lines;
}

int add(const KeysArguments& arguments) {
  check_files(arguments);
  if (!arguments.left_out.empty()) check_target(arguments.left_out);
  const FileLock lock(arguments.file);
  Inserter inserter(Filter::load(arguments.file));
  require_text_keys(arguments.file, inserter.filter().key_kinds());
  check_target(arguments.file);
  const std::uint64_t before = inserter.filter().size();
  ShownReader reader(arguments.inputs, "add");
  LineHashes lines(inserter.filter().seed(), arguments.copies);
  LineBatch batch;
  std::string left_out;
  while (reader.next(batch)) {
    if (!inserter.insert(lines.take(batch.keys))) {
      fail_full(arguments, before, inserter, reader, lines);
    }
    if (arguments.left_out.empty()) continue;
    for (const std::uint32_t n : inserter.left_out()) {
      const std::size_t i = lines.positions()[n];
      left_out.append(batch.lines(i, i + 1)).append(batch.missing_end(i + 1));
    }
  }
  if (!arguments.left_out.empty()) write_left_out(arguments.left_out, left_out);
  if (inserter.stored() > 0) save(inserter.filter(), arguments.file);
  reader.bar.erase();
  report_copies(arguments.file, inserter.refused_copies(), "line",
                arguments.left_out.empty() ? "; to know which, use --left-out" : "");
  return kExitYes;
}

int remove(const KeysArguments& arguments) {
  check_files(arguments);
  auto left_out = read_left_out(arguments);
  const FileLock lock(arguments.file);
  Filter filter = Filter::load(arguments.file);
  require_text_keys(arguments.file, filter.key_kinds());
  check_target(arguments.file);
  ShownReader reader(arguments.inputs, "remove");
  LineHashes lines(filter.seed(), arguments.copies);
  LineBatch batch;
  std::uint64_t removed = 0;
  std::uint64_t passed_over = 0;
  std::vector<Hash> kept;
  while (reader.next(batch)) {
    const std::span hashes = lines.take(batch.keys);
    if (left_out.empty()) {
      removed += filter.erase(hashes);
      continue;
    }
    kept.clear();
    for (std::size_t n = 0; n < hashes.size(); ++n) {
      const auto found = left_out.find(std::string(batch.keys[lines.positions()[n]]));
      if (found == left_out.end() || found->second == 0) {
        kept.push_back(hashes[n]);
      } else {
        --found->second;
        ++passed_over;
      }
    }
    removed += filter.erase(kept);
  }
  if (removed > 0) save(filter, arguments.file);
  reader.bar.erase();
  return report_removed(arguments.file, removed, lines.size() - passed_over);
}

int fit(const std::string& file) {
  const FileLock lock(file);
  Filter filter = Filter::load(file);
  check_target(file);
  if (filter.fit() != 0) save(filter, file);
  print_summary(file, filter);
  return kExitYes;
}

}  // namespace

Command fit_command() {
  const auto file = std::make_shared<std::string>();
  return {{"fit", "Make a filter as small as its keys allow", kFitFooter},
          file.get(),
          {filter_file(*file)},
          [file] { return fit(*file); }};
}

Command add_command() {
  return keys_command("add", "Add keys to a filter", kAddFooter, add, kStandardInput,
                      "Write the lines that are left out to this file");
}

Command remove_command() {
  return keys_command("remove", "Remove keys from a filter", kRemoveFooter, remove, kStandardInput,
                      "Lines that nestline add left out: as many of INPUT are passed over");
}

}}}  // namespace nestline::command
