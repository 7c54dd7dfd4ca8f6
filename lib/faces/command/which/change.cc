// nestline which build, add, drop and rename. build keeps the hashes of all lines, since the number
// of pairs decides about the maplet, then inserts them name by name; add inserts into what it
// loads. A pair that a lookup finds already is not inserted again: no pair is ever erased alone,
// but all of a name at once, so keys that look the same can share it.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lib/faces/command/filter/line_hashes.h"
#include "lib/faces/command/io/errors.h"
#include "lib/faces/command/io/file_lock.h"
#include "lib/faces/command/io/output.h"
#include "lib/faces/command/which/commands.h"
#include "lib/faces/command/which/named_lines.h"

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

constexpr std::uint64_t kFewNames = 255;  // that values of 8 bits have, beside the one for all
constexpr std::uint64_t kMostPairs = std::uint64_t{1} << 40;
constexpr std::size_t kAtOnce = 4096;  // keys; their blocks stay in the cache from find to insert

constexpr const char* kBuildNamesFooter =
    "Each INPUT is read once, and its lines are those of its name, which is INPUT as it is given.\n"
    "A line that a file has several times counts once, and so does a file that is given twice.\n"
    "FILE takes about 23 bits for each line and file that has it, or 36 where there may be more\n"
    "than 255 names. nestline which add makes more room where it is needed.\n"
    "It needs 8 bytes of memory for each of these, and 10 to 15 for each different line of one\n"
    "INPUT.\n"
    "Exit status: 0 done, 2 error. FILE is written only on success.";

constexpr const char* kAddNamesFooter =
    "A name that is there already gets these lines too. When there is no more room, FILE doubles\n"
    "and then errs twice as often at the same load: build it with --max-capacity, or again.\n"
    "FILE is replaced in one step. Commands that change the same file wait for each other.\n";

constexpr const char* kDropFooter =
    "All lines go that are under these names alone, but for lines that are told as in all files.\n"
    "FILE is replaced in one step, or left as it is when it lacks a name.\n"
    "Exit status: 0 done, 1 there is no such name, 2 error.";

constexpr const char* kRenameFooter =
    "If there is a name NEW already, it gets the lines of OLD too.\n"
    "FILE is replaced in one step, or left as it is when it lacks the name.\n"
    "Exit status: 0 done, 1 there is no such name, 2 error.";

struct WhichAdd {
  std::string file;
  LineInputs inputs;
  std::string name;  // --name; empty: each input has its own
};

struct WhichBuild : WhichAdd {
  MapletOptions options;
  std::uint64_t names = 1;
};

struct WhichDrop {
  std::string file;
  std::vector<std::string> names;
};

struct WhichRename {
  std::string file;
  std::string old_name;
  std::string new_name;
};

void check_name(const std::string& name) {
  if (!is_name(name)) throw UsageError("a name has no tab and no line feed, and is not empty");
}

Read name_of_lines(std::string& into) {
  return [&into](const std::string& /*option*/, const std::string& text) {
    check_name(text);
    into = text;
  };
}

// The inputs of each name.
struct Source {
  std::string name;
  LineInputs inputs;
};

std::vector<Source> sources_of(const WhichAdd& add) {
  if (!add.name.empty()) return {{add.name, add.inputs}};
  std::vector<Source> sources;
  for (const std::string& file : add.inputs.files) {
    if (file == "-") throw UsageError("standard input needs a name: give it --name");
    check_name(file);
    if (std::ranges::find(sources, file, &Source::name) != sources.end()) continue;
    sources.push_back({file, {{file}, add.inputs.zero_terminated}});
  }
  return sources;
}

std::vector<Hash> read_lines(const Source& source, std::uint64_t seed, const char* verb) {
  ShownReader reader(source.inputs, verb);
  LineHashes lines(seed, false);
  for (LineBatch batch; reader.next(batch);) lines.take(batch.keys);
  return lines.set().take();
}

// Where a pair finds no room though the maplet is not full, the key has as many as it can, or
// others with many pairs have its slots: then it is told as under all names.
void insert_one(const std::string& file, Maplet& lines, Hash key, std::uint64_t number) {
  while (true) {
    const Inserted inserted = lines.insert(key, number);
    if (inserted) return;
    const bool full = inserted.outcome == Outcome::full &&
                      (lines.size() >= lines.capacity() || lines.find_set(key) == 0);
    if (!full && lines.insert(key, lines.anywhere())) return;
    if (!lines.grow()) {
      throw CommandError(file, "full, and it cannot double again; build it from all files");
    }
  }
}

void insert_lines(const std::string& file, Maplet& lines, std::span<const Hash> hashes,
                  std::uint64_t number) {
  std::vector<std::uint32_t> first;
  std::vector<std::uint64_t> found;
  std::vector<Hash> missing;
  const std::vector<std::uint64_t> numbers(kAtOnce, number);
  std::array<Outcome, kAtOnce> outcomes;
  while (!hashes.empty()) {
    const auto some = hashes.first(std::min(kAtOnce, hashes.size()));
    hashes = hashes.subspan(some.size());
    lines.find(some, first, found);
    missing.clear();
    for (std::size_t i = 0; i < some.size(); ++i) {
      const auto has = [&](auto value) { return value == number || value == lines.anywhere(); };
      const auto begin = found.begin();
      if (std::none_of(begin + first[i], begin + first[i + 1], has)) missing.push_back(some[i]);
    }
    const auto results = std::span(outcomes).first(missing.size());
    const auto stored = lines.insert(missing, std::span(numbers).first(missing.size()), results);
    for (std::size_t i = 0; stored < missing.size() && i < missing.size(); ++i) {
      if (results[i] != Outcome::stored) insert_one(file, lines, missing[i], number);
    }
  }
}

void save_and_tell(NamedLines&& all, const std::string& file) {
  const double bytes = static_cast<double>(all.lines.memory_bytes());
  const std::string text =
      short_number(all.lines.size(), "lines") + ", " + short_number(bytes, "B") +
      formatted(", %.2f bits per line, %.2g names for a key that no file has",
                8 * bytes / static_cast<double>(std::max<std::uint64_t>(all.lines.size(), 1)),
                all.lines.expected_false_candidates());
  save_named(std::move(all), file);
  if (is_terminal(STDERR_FILENO)) complain(file, text);
}

Maplet empty_lines(const MapletOptions& options) {
  try {
    return Maplet(options);
  } catch (const std::invalid_argument& error) {
    throw UsageError(with_option_names(error.what()) + "; see nestline which build --help");
  }
}

int run(WhichBuild& build) {
  if (is_input(build.file, build.inputs.files)) {
    throw UsageError("-o takes another file than INPUT, whose lines would be lost");
  }
  check_target(build.file);
  const std::vector<Source> sources = sources_of(build);
  const std::uint64_t names = std::max<std::uint64_t>(build.names, sources.size());
  if (names > kMostNames) throw UsageError("there are more than 65535 names");
  MapletOptions& options = build.options;
  options.value_bits = names > kFewNames ? 16 : 8;
  // Refuses an impossible rate before anything is read.
  empty_lines({.capacity = 1, .value_bits = options.value_bits, .fpr = options.fpr});
  std::vector<std::vector<Hash>> lines;
  std::uint64_t pairs = 0;
  for (const Source& source : sources) {
    pairs += lines.emplace_back(read_lines(source, options.seed, "build")).size();
  }
  options.capacity = std::max({options.capacity, pairs, std::uint64_t{1}});
  NamedLines all{{}, empty_lines(options)};
  for (std::size_t i = 0; i < sources.size(); ++i) {
    all.names.push_back(sources[i].name);
    insert_lines(build.file, all.lines, lines[i], i);
    std::vector<Hash>().swap(lines[i]);
  }
  save_and_tell(std::move(all), build.file);
  return kExitYes;
}

int run(const WhichAdd& add) {
  if (is_input(add.file, add.inputs.files)) {
    throw UsageError("INPUT takes files of keys, and not FILE");
  }
  const FileLock lock(add.file);
  NamedLines all = load_named(add.file);
  check_target(add.file);
  for (const Source& source : sources_of(add)) {
    auto place = std::ranges::find(all.names, source.name);
    if (place == all.names.end()) place = std::ranges::find(all.names, "");  // a free number
    if (place == all.names.end() && all.names.size() == all.lines.max_value()) {
      throw CommandError(add.file, "there are as many names as it can have; build it with --names");
    }
    if (place == all.names.end()) place = all.names.emplace(place);
    *place = source.name;
    insert_lines(add.file, all.lines, read_lines(source, all.lines.seed(), "add"),
                 static_cast<std::uint64_t>(place - all.names.begin()));
  }
  save_and_tell(std::move(all), add.file);
  return kExitYes;
}

// Gives the lines of these names the number that `to` says. Names that have none then are free.
int change_names(const std::string& file, const std::vector<std::string>& names, const auto& to) {
  const FileLock lock(file);
  NamedLines all = load_named(file);
  check_target(file);
  std::vector<std::uint64_t> table(all.names.size());
  std::iota(table.begin(), table.end(), std::uint64_t{0});
  for (const std::string& name : names) {
    const auto found = std::ranges::find(all.names, name);
    if (found == all.names.end()) {
      complain(file, "there is no name '" + name + "'; nothing was changed");
      return kExitNo;
    }
    const auto number = static_cast<std::size_t>(found - all.names.begin());
    table[number] = to(all.names, number);
  }
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i] != i) all.names[i].clear();
  }
  all.lines.rename(table);
  save_named(std::move(all), file);
  return kExitYes;
}

int run(const WhichDrop& drop) {
  return change_names(drop.file, drop.names, [](auto&, std::size_t) { return Maplet::kErased; });
}

int run(const WhichRename& rename) {
  return change_names(rename.file, {rename.old_name}, [&](Names& names, std::size_t number) {
    const auto found = std::ranges::find(names, rename.new_name);
    if (found != names.end()) return static_cast<std::uint64_t>(found - names.begin());
    names[number] = rename.new_name;
    return std::uint64_t{number};
  });
}

std::vector<Option> with_input(std::vector<Option> options, WhichAdd& add) {
  options.push_back(
      {"--name", "NAME", "All INPUT together have this name", name_of_lines(add.name)});
  options.push_back(zero_option(add.inputs.zero_terminated));
  options.push_back({"INPUT", "", "Files with one key per line; - is standard input",
                     &add.inputs.files, kRequired});
  return options;
}

}  // namespace

Command build_named_command() {
  const auto build = std::make_shared<WhichBuild>();
  MapletOptions& options = build->options;
  options.fpr = 0.01;
  return {
      {"build", "Make a file of the lines of many files", kBuildNamesFooter},
      &build->file,
      with_input(
          {{"-o", "FILE", "The file to write or replace", output_name(build->file), kRequired},
           {"--capacity", "N", "Room for so many lines of all files; default: as many as there are",
            count(options.capacity, 1, kMostPairs)},
           {"--max-capacity", "N", "Number of lines up to which it grows and keeps --fpr",
            count(options.max_capacity, 1, kMostPairs)},
           {"--fpr", "P", "How many names may be told for a key that no file has; default: 0.01",
            rate(options.fpr)},
           {"--names", "N", "How many names there may be, up to 65535; default: 255",
            count(build->names, 1, kMostNames)},
           {"--seed", "S", "Seed of the hash",
            count(options.seed, 0, std::numeric_limits<std::uint64_t>::max())}},
          *build),
      [build] { return run(*build); },
      [build] { sources_of(*build); }};
}

Command add_named_command() {
  const auto add = std::make_shared<WhichAdd>();
  return on_named(add, {"add", "Add the lines of further files", kAddNamesFooter},
                  with_input({}, *add), [add] { sources_of(*add); });
}

Command drop_name_command() {
  const auto drop = std::make_shared<WhichDrop>();
  return on_named(drop, {"drop", "Forget the lines of files", kDropFooter},
                  {{"NAME", "", "Their names", &drop->names, kRequired}});
}

Command rename_command() {
  const auto rename = std::make_shared<WhichRename>();
  return on_named(rename, {"rename", "Give the lines of a file another name", kRenameFooter},
                  {{"OLD", "", "Its name", &rename->old_name, kRequired},
                   {"NEW", "", "The other one", name_of_lines(rename->new_name), kRequired}});
}

}}}  // namespace nestline::command
