// nestline which: query, list and verify, and the table of all its commands. A lookup compares the
// checksums of what it reads, and of nothing else: so a start takes no time that grows with FILE.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/faces/command/io/errors.h"
#include "lib/faces/command/io/output.h"
#include "lib/faces/command/io/query_lines.h"
#include "lib/faces/command/which/commands.h"
#include "lib/faces/command/which/named_lines.h"

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

constexpr const char* kWhichFooter =
    "FILE has the lines of many files, each file under its name. nestline which FILE is nestline\n"
    "which query FILE, with any options and INPUT.\n"
    "Exit status: 0 a name was found, or done; 1 none was; 2 error.";

constexpr const char* kQueryNamesFooter =
    "Prints a line for each name that may have the key: the key, a tab, the name. The names that\n"
    "have it are always among them. Others are too at the rate of --fpr of nestline which build,\n"
    "and for a key that is under more than 8 names (10, if there may be more than 255) all names\n"
    "are; where many such keys look the same or lie together, for one of fewer.\n"
    "A damaged part of FILE is an error when a key needs it; nestline which verify reads all of "
    "it.\n"
    "Exit status: 0 a name was found (-v: a key was selected), 1 none was, 2 error.";

constexpr const char* kListFooter =
    "Prints a line for each name: the name, a tab, and about how many different lines it has,\n"
    "without those that are told as under all names.\n";

constexpr const char* kVerifyNamesFooter =
    "Reads every byte, and prints nothing when all is well.\n"
    "Exit status: 0 all is well, 2 the file is damaged or another error.";

struct WhichQuery : LineChoice {
  std::string file;
  bool names_only = false;
};

int run(const WhichQuery& query) {
  const NamedLinesFile file(query.file);
  const Names& names = file.names();
  const MappedMaplet lines =
      file.with_maplet([](auto bytes) { return MappedMaplet::view(bytes, Verify::lazily); });
  std::vector<std::uint64_t> all;  // numbers
  for (std::uint64_t i = 0; i < names.size(); ++i) {
    if (!names[i].empty()) all.push_back(i);
  }
  std::vector<std::uint32_t> first;
  std::vector<std::uint64_t> values;
  const auto select = [&](std::span<const std::string_view> keys, std::span<std::uint32_t> found) {
    file.with_maplet([&](auto) { return lines.find(keys, first, values); });
    std::size_t count = 0;
    for (std::uint32_t i = 0; i < keys.size() && !all.empty(); ++i) {
      if (first[i] < first[i + 1]) found[count++] = i;
    }
    return count;
  };
  std::vector<bool> printed(names.size());
  const char line_end = query.inputs.line_end();
  const auto print = [&](const LineBatch& batch, std::span<const std::uint32_t> positions,
                         Output& output) {
    for (const std::uint32_t i : positions) {
      const auto found = std::span(values).subspan(first[i], first[i + 1] - first[i]);
      std::ranges::sort(found);
      const auto different =
          static_cast<std::size_t>(std::unique(found.begin(), found.end()) - found.begin());
      const bool anywhere = found[different - 1] == lines.anywhere();  // the highest
      for (const std::uint64_t number : anywhere ? std::span(all) : found.first(different)) {
        if (number >= names.size() || names[number].empty()) {
          throw FormatError(query.file, 16, "there is a line of a number that has no name");
        }
        if (query.names_only && printed[number]) continue;
        printed[number] = true;
        if (!query.names_only) output.write(std::string(batch.keys[i]) + "\t");
        output.write(names[number] + line_end);
      }
    }
  };
  return print_lines(query, select, print);
}

struct WhichList {
  std::string file;
  bool zero_terminated = false;
};

int run(const WhichList& list) {
  const NamedLines all = load_named(list.file);
  std::vector<std::uint64_t> lines(all.lines.max_value() + 1);
  all.lines.for_each([&](std::uint64_t number) { ++lines[number]; });
  std::string text;
  for (std::size_t i = 0; i < all.names.size(); ++i) {
    if (all.names[i].empty()) continue;
    text += all.names[i] + "\t" + std::to_string(lines[i]) + (list.zero_terminated ? '\0' : '\n');
  }
  print(text);
  return kExitYes;
}

struct WhichVerify {
  std::string file;
};

int run(const WhichVerify& verify) {
  NamedLinesFile(verify.file).with_maplet([](auto bytes) {
    return MappedMaplet::view(bytes, Verify::all).size();
  });
  return kExitYes;
}

Command query_names_command() {
  const auto query = std::make_shared<WhichQuery>();
  return on_named(query, {"query", "Print which names may have each key", kQueryNamesFooter},
                  {{"-l", "", "Print only names, each once", &query->names_only},
                   {"-v", "", "Print the keys that are certainly under no name", &query->invert},
                   {"-c", "", "Print only the number of keys", &query->count_only},
                   zero_option(query->inputs.zero_terminated),
                   input_keys(query->inputs)},
                  [query] {
                    if (query->names_only && query->invert) {
                      throw UsageError("-l prints names, and the keys that -v selects have none");
                    }
                  });
}

}  // namespace

Command which_command() {
  const auto list = std::make_shared<WhichList>();
  return {
      .help = {"which", "Tell which of many files may have a key", kWhichFooter},
      .file = nullptr,
      .commands = {build_named_command(), query_names_command(), add_named_command(),
                   drop_name_command(), rename_command(),
                   on_named(list,
                            {"list", "Print the names and how many lines each has", kListFooter},
                            {zero_option(list->zero_terminated)}),
                   on_named(std::make_shared<WhichVerify>(),
                            {"verify", "Check every byte of a file", kVerifyNamesFooter}, {})},
      .usual = "query",
  };
}

}}}  // namespace nestline::command
