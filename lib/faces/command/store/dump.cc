// nestline store dump, list and mget: records and names as text, in the forms of record_text.h.
// What was printed before a damaged record stays printed. mget looks up a batch of keys at once,
// since the library reads their records side by side.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/faces/command/io/errors.h"
#include "lib/faces/command/io/output.h"
#include "lib/faces/command/io/progress.h"
#include "lib/faces/command/store/commands.h"
#include "lib/faces/command/store/record_text.h"
#include "nestline/store_files.h"

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

constexpr const char* kDumpFooter =
    "Prints what nestline store load reads, in the order of the log: that of writing, until a\n"
    "compaction puts what it keeps behind all else. The pieces of imported files are records too;\n"
    "the names of the files are not: use export.\n";

constexpr const char* kListFooter =
    "A line has the name of a file, its bytes and its pieces, with tabs between them. Names and\n"
    "keys have the escapes of nestline store load, also with -z.\n";

constexpr const char* kMgetFooter =
    "Prints KEY, a tab and VALUE for each key that is there, in the order of the input, with the\n"
    "escapes of nestline store load; keys in the input have them too. A key is a line without its\n"
    "line end, a line feed or a carriage return and a line feed: \\r ends a key with a carriage\n"
    "return. With -z a zero byte in a key or a value is \\0. An INPUT that is also the output is\n"
    "refused.\n"
    "Exit status: 0 at least one key is there, 1 none is, 2 error.";

struct StoreDump {
  std::string folder;
  bool cdb = false;
  LineInputs lines;  // none are read; how those that are printed end
};

struct StoreList {
  std::string folder;
  bool keys = false;
  LineInputs lines;
};

struct StoreMget {
  std::string folder;
  LineInputs inputs;
  bool stats = false;  // prints what the lookups cost
};

// Keys that are looked up together, and bytes of values kept for printing; others are read again.
constexpr std::size_t kKeysAtOnce = 1024;
constexpr std::size_t kBytesAtOnce = std::size_t{1} << 26;

// Bars and printed lines would spoil each other.
bool bar_wanted() { return !is_terminal(STDOUT_FILENO); }

// Does the work. What it has written is printed also when a record is damaged.
void print_all_of(auto&& work, Output& output) {
  try {
    work();
  } catch (const StoreError&) {
    output.flush();
    throw;
  }
}

void print_all(const Store& store, const char* verb, Output& output, auto&& print) {
  Progress progress(verb, std::nullopt, bar_wanted());
  progress.begin(Progress::Unit::keys, store.size());
  std::uint64_t records = 0;
  std::string text;
  const auto print_one = [&](std::string_view key, std::string_view value) {
    text.clear();
    print(text, key, value);
    output.write(text);
    ++records;
    if (records % 256 == 0) progress.update(records, records);
  };
  print_all_of([&] { store.for_each(print_one); }, output);
}

class Answers {
 public:
  Answers(const Store& store, char line_end) : store_(store), line_end_(line_end) {}

  // Returns how many of the keys are there; at most kKeysAtOnce keys.
  std::size_t print(std::span<const std::string_view> keys, Output& output) {
    bytes_.clear();
    answers_.fill({});
    const std::size_t found = store_.get(keys, [&](std::size_t i, std::string_view value) {
      Answer& answer = answers_[i];
      answer = {.there = true, .kept = bytes_.size() + value.size() <= kBytesAtOnce};
      if (!answer.kept) return;
      answer.begin = bytes_.size();
      answer.size = value.size();
      bytes_.append(value);
    });
    for (std::size_t i = 0; i < keys.size(); ++i) print_one(keys[i], answers_[i], output);
    return found;
  }

 private:
  struct Answer {
    bool there = false;
    bool kept = false;
    std::size_t begin = 0;
    std::size_t size = 0;
  };

  void print_one(std::string_view key, const Answer& answer, Output& output) {
    if (!answer.there) return;
    text_.clear();
    if (answer.kept) {
      append_line(text_, key, std::string_view(bytes_).substr(answer.begin, answer.size),
                  line_end_);
    } else if (store_.get(key, value_)) {
      append_line(text_, key, value_, line_end_);
    }
    output.write(text_);
  }

  const Store& store_;
  const char line_end_;
  std::array<Answer, kKeysAtOnce> answers_;
  std::string bytes_;
  std::string value_;
  std::string text_;
};

// The keys of a batch of lines. Only those with escapes are copied.
void read_keys(const LineBatch& batch, std::uint64_t lines_before,
               std::vector<std::string_view>& keys, std::deque<std::string>& copies) {
  keys.clear();
  copies.clear();
  for (std::size_t i = 0; i < batch.keys.size(); ++i) {
    std::string_view key = batch.keys[i];
    if (key.find('\\') != std::string_view::npos) {
      if (!unescape(key, copies.emplace_back())) {
        throw CommandError("line " + std::to_string(lines_before + i + 1),
                           "after a backslash comes t, n, r, 0 or another backslash");
      }
      key = copies.back();
    }
    keys.push_back(key);
  }
}

void print_costs(const std::string& folder, const Store& store) {
  const StoreStats stats = store.stats();
  complain(folder, std::to_string(stats.lookups) + " keys asked for, " +
                       std::to_string(stats.found) + " there, " + std::to_string(stats.reads) +
                       " records of the log read, " + std::to_string(stats.false_reads) +
                       " of them another key's");
}

int run(const StoreDump& dump) {
  const Store store = open_to_read(dump.folder);
  Output output;
  print_all(store, "dump", output,
            [&](std::string& text, std::string_view key, std::string_view value) {
              if (dump.cdb) return append_cdb(text, key, value);
              append_line(text, key, value, dump.lines.line_end());
            });
  if (dump.cdb) output.write("\n");
  output.flush();
  return kExitYes;
}

int run(const StoreList& list) {
  const Store store = open_to_read(list.folder);
  Output output;
  const char line_end = list.lines.line_end();
  if (list.keys) {
    print_all(store, "list", output,
              [&](std::string& text, std::string_view key, std::string_view /*value*/) {
                append_escaped(text, key, line_end);
                // Beside a line feed it would be read as a part of the line end.
                if (line_end == '\n' && key.ends_with('\r'))
                  text.replace(text.size() - 1, 1, "\\r");
                text += line_end;
              });
  } else {
    std::string text;
    for (const StoredFile& file : list_files(store)) {
      append_line(text, file.name, std::to_string(file.bytes), line_end);
      text.back() = '\t';
      text.append(std::to_string(file.pieces)).push_back(line_end);
    }
    output.write(text);
  }
  output.flush();
  return kExitYes;
}

int run(const StoreMget& mget) {
  const Store store = open_to_read(mget.folder);
  ShownReader reader(mget.inputs.printed_to(STDOUT_FILENO), "mget", bar_wanted());
  Output output;
  Answers answers(store, mget.inputs.line_end());
  LineBatch batch;
  std::vector<std::string_view> keys;
  std::deque<std::string> copies;
  std::uint64_t found = 0;
  while (reader.next(batch)) {
    read_keys(batch, reader.lines() - batch.keys.size(), keys, copies);
    for (std::size_t first = 0; first < keys.size(); first += kKeysAtOnce) {
      const std::size_t count = std::min(kKeysAtOnce, keys.size() - first);
      const auto some = std::span(keys).subspan(first, count);
      print_all_of([&] { found += answers.print(some, output); }, output);
      reader.bar.update(reader.bytes(), reader.lines());
    }
    if (batch.drained) output.flush();
  }
  output.flush();
  reader.bar.erase();
  if (mget.stats) print_costs(mget.folder, store);
  return found > 0 ? kExitYes : kExitNo;
}

}  // namespace

Command dump_command() {
  const auto dump = std::make_shared<StoreDump>();
  return in_store(dump, {"dump", "Print all records as text", kDumpFooter},
                  {zero_option(dump->lines.zero_terminated),
                   {"--cdb", "", "Print them as cdb has them", &dump->cdb, false, "-z"}});
}

Command list_command() {
  const auto list = std::make_shared<StoreList>();
  return in_store(list, {"list", "List the imported files", kListFooter},
                  {{"--keys", "", "Print all keys instead, one a line", &list->keys},
                   zero_option(list->lines.zero_terminated)});
}

Command mget_command() {
  const auto mget = std::make_shared<StoreMget>();
  return in_store(
      mget, {"mget", "Print the records of many keys", kMgetFooter},
      {{"INPUT", "", "Files with a key a line; - is standard input, and the default",
        &mget->inputs.files},
       zero_option(mget->inputs.zero_terminated),
       {"--stats", "", "Also print, on standard error, how many records of the log were read",
        &mget->stats}});
}

}}}  // namespace nestline::command
