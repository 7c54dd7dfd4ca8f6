// See store_arguments.h. Each command is defined, and read after parsing, by one function of
// Commands: `define` runs at once, and what it returns is run for the command that was given.
#include "lib/command/store_arguments.h"

#include <functional>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "lib/command/errors.h"
#include "lib/command/option_values.h"
#include "lib/command/record_text.h"

namespace nestline::command {
namespace {

constexpr std::uint64_t kMostRecords = std::uint64_t{1} << 40;
constexpr std::uint64_t kMostPiece = std::numeric_limits<std::uint32_t>::max();

constexpr const char* kStoreFooter =
    "DB is a folder. Any number of commands can read it while one program writes. A KEY or VALUE\n"
    "that begins with - comes after --, as in nestline store put DB -- -1 -2.\n"
    "Exit status: 0 done or found, 1 not found, 2 error.";

constexpr const char* kPutFooter =
    "The key has this value from then on, whether it was there or not. Without VALUE, and with -,\n"
    "the value is all of standard input.\n"
    "Exit status: 0 done, 1 with --new: the key is there, nothing was changed, 2 error.";

constexpr const char* kGetFooter =
    "Prints the bytes of the value and nothing else; on a terminal, a line end too.\n"
    "Exit status: 0 found, 1 not found, 2 error.";

constexpr const char* kHasFooter =
    "Prints nothing.\n"
    "Exit status: 0 found, 1 not found, 2 error.";

constexpr const char* kDelFooter =
    "Deleting a file keeps its pieces, which other files may share.\n"
    "Exit status: 0 done, 1 some were not in the store (the others were deleted), 2 error.";

constexpr const char* kLoadFooter =
    "A line is KEY, a tab and VALUE. In both, \\t is a tab, \\n a line feed, \\r a carriage "
    "return,\n"
    "\\0 a zero byte and \\\\ a backslash; every other byte is itself. A line ends with a line "
    "feed;\n"
    "a carriage return before it is part of the value. With --cdb, a record is\n"
    "+klen,dlen:key->data and a line feed, and an empty line ends the records.\n"
    "When a key occurs again, its last value stays. When a line is wrong, those before it are in\n"
    "the store.\n"
    "Exit status: 0 done, 2 error.";

constexpr const char* kDumpFooter =
    "Prints what nestline store load reads, in the order in which the records were written. The\n"
    "pieces of imported files are records too; the names of the files are not: use export.\n"
    "Exit status: 0 done, 2 error.";

constexpr const char* kListFooter =
    "A line has the name of a file, its bytes and its pieces, with tabs between them. Names and\n"
    "keys have the escapes of nestline store load.\n"
    "Exit status: 0 done, 2 error.";

constexpr const char* kMgetFooter =
    "Prints KEY, a tab and VALUE for each key that is there, in the order of the input, with the\n"
    "escapes of nestline store load; keys in the input have them too.\n"
    "Exit status: 0 at least one key is there, 1 none is, 2 error.";

constexpr const char* kStatsFooter = "Exit status: 0 done, 2 error.";

constexpr const char* kImportFooter =
    "The file is cut into pieces; equal pieces, also of other files, are stored once. A file that\n"
    "has the name already is replaced in one step when all is read.\n"
    "Exit status: 0 done, 2 error.";

constexpr const char* kExportFooter =
    "Writes the file byte for byte, and checks each piece against its SHA-256 digest. OUT is\n"
    "replaced in one step, or left unchanged.\n"
    "Exit status: 0 done, 1 there is no file with this name, 2 error.";

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

}  // namespace

struct StoreParser::Commands {
  using Read = std::function<decltype(StoreArguments::work)()>;

  explicit Commands(CLI::App& app) : store(app) {
    define_put();
    define_get();
    define_has();
    define_del();
    define_load();
    define_dump();
    define_list();
    define_mget();
    define_stats();
    define_import();
    define_export();
    define_simple<StoreCompact>("compact", "Win back the bytes of old records", kCompactFooter);
    define_simple<StoreVerify>("verify", "Check every byte of a store", kVerifyFooter);
    define_simple<StoreRepair>("repair", "Make a damaged store usable", kRepairFooter);
  }

  CLI::App* add(const char* name, const char* description, const char* footer) {
    CLI::App* const command = store.add_subcommand(name, description);
    command->add_option("DB", folder, "The folder of the store")->required()->type_name("");
    command->footer(footer);
    return command;
  }

  std::vector<std::string> unshielded_words() {
    for (std::string& value : words) value = unshield(value);
    return words;
  }

  void inputs(CLI::App* command, const char* description) {
    command->add_option("INPUT", words, description)->type_name("");
  }

  // -e for keys and values on the command line. What it returns reads one of them.
  static std::function<std::string(std::string)> escapes(CLI::App* command,
                                                         const char* description) {
    const CLI::Option* const escaped = flag_option(command, "-e,--escaped", description);
    return [escaped](std::string text) {
      std::string bytes;
      if (!*escaped) return text;
      if (unescape(text, bytes)) return bytes;
      throw UsageError("in '" + text +
                       "', after a backslash comes t, n, r, 0 or another backslash");
    };
  }

  static std::function<Sync()> sync_option(CLI::App* command) {
    const CLI::Option* const option =
        text_option(command, "--sync", "WHEN",
                    "When records are on disk: never (when the system writes them), interval\n"
                    "(within 0.1 s, and at the end) or each (at once); default: interval");
    return [option] {
      if (!*option) return Sync::interval;
      const std::string text = value_of(option);
      if (text == "never") return Sync::never;
      if (text == "interval") return Sync::interval;
      if (text == "each") return Sync::each;
      throw UsageError("--sync takes never, interval or each, not '" + text + "'");
    };
  }

  void define_put() {
    CLI::App* const command = add("put", "Store a value under a key", kPutFooter);
    const CLI::Option* const key = word_option(command, "KEY", "The key");
    const CLI::Option* const value =
        word_option(command, "VALUE", "The value; - or nothing: standard input")->required(false);
    const CLI::Option* const only_new =
        flag_option(command, "--new", "Only if the key is not in the store");
    const auto unescaped =
        escapes(command, "KEY and VALUE have the escapes of nestline store load");
    const auto sync = sync_option(command);
    readers["put"] = [=] {
      StorePut put = {.key = unescaped(value_of(key)),
                      .value = {},
                      .only_new = bool(*only_new),
                      .sync = sync()};
      if (*value && value_of(value) != "-") put.value = unescaped(value_of(value));
      return put;
    };
  }

  void define_get() {
    CLI::App* const command = add("get", "Print the value of a key", kGetFooter);
    const CLI::Option* const key = word_option(command, "KEY", "The key");
    const auto unescaped = escapes(command, "KEY has the escapes of nestline store load");
    readers["get"] = [=] { return StoreGet{unescaped(value_of(key))}; };
  }

  void define_has() {
    CLI::App* const command =
        add("has", "Tell whether a key is there, by the exit status", kHasFooter);
    const CLI::Option* const key = word_option(command, "KEY", "The key");
    const auto unescaped = escapes(command, "KEY has the escapes of nestline store load");
    readers["has"] = [=] { return StoreHas{unescaped(value_of(key))}; };
  }

  void define_del() {
    CLI::App* const command = add("del", "Delete keys, or files", kDelFooter);
    command->add_option("KEY", words, "The keys")->required()->type_name("");
    const CLI::Option* const files =
        flag_option(command, "--file", "The words are names of imported files, not keys");
    const auto unescaped = escapes(command, "KEY has the escapes of nestline store load");
    const auto sync = sync_option(command);
    readers["del"] = [=, this] {
      StoreDel del = {.keys = unshielded_words(), .files = bool(*files), .sync = sync()};
      for (std::string& key : del.keys) key = unescaped(key);
      return del;
    };
  }

  void define_load() {
    CLI::App* const command = add("load", "Store the records of text", kLoadFooter);
    inputs(command, "Files with records; - is standard input, and the default");
    const CLI::Option* const cdb = flag_option(command, "--cdb", "The records are as cdb has them");
    const CLI::Option* const expected = text_option(command, "--expected-records", "N",
                                                    "Makes the first index for so many records");
    const auto sync = sync_option(command);
    readers["load"] = [=, this] {
      return StoreLoad{.inputs = unshielded_words(),
                       .cdb = bool(*cdb),
                       .expected_records = *expected ? parse_count(expected, 0, kMostRecords) : 0,
                       .sync = sync()};
    };
  }

  void define_dump() {
    CLI::App* const command = add("dump", "Print all records as text", kDumpFooter);
    const CLI::Option* const cdb = flag_option(command, "--cdb", "Print them as cdb has them");
    readers["dump"] = [=] { return StoreDump{bool(*cdb)}; };
  }

  void define_list() {
    CLI::App* const command = add("list", "List the imported files", kListFooter);
    const CLI::Option* const keys =
        flag_option(command, "--keys", "Print all keys instead, one a line");
    readers["list"] = [=] { return StoreList{bool(*keys)}; };
  }

  void define_mget() {
    CLI::App* const command = add("mget", "Print the records of many keys", kMgetFooter);
    inputs(command, "Files with a key a line; - is standard input, and the default");
    const CLI::Option* const stats = flag_option(
        command, "--stats", "Also tell, on standard error, how many records of the log were read");
    readers["mget"] = [=, this] { return StoreMget{unshielded_words(), bool(*stats)}; };
  }

  void define_stats() {
    CLI::App* const command = add("stats", "Show what is in a store", kStatsFooter);
    const CLI::Option* const json = flag_option(command, "--json", "Print one JSON object");
    readers["stats"] = [=] { return StoreShow{bool(*json)}; };
  }

  void define_import() {
    CLI::App* const command = add("import", "Store a file", kImportFooter);
    const CLI::Option* const file = word_option(command, "FILE", "The file; - is standard input");
    const CLI::Option* const name =
        text_option(command, "--as", "NAME", "Its name in the store; default: FILE as it is given");
    CLI::Option* const piece =
        text_option(command, "--piece", "BYTES", "The size of a piece; default: 4096");
    const CLI::Option* const lines =
        flag_option(command, "--lines",
                    "Makes a piece of each line; one above 4096 bytes is several")
            ->excludes(piece);
    const auto sync = sync_option(command);
    readers["import"] = [=] {
      StoreImport import = {.input = value_of(file), .name = {}, .pieces = {}, .sync = sync()};
      if (*name) import.name = value_of(name);
      if (!import.name && import.input == "-") {
        throw UsageError("standard input has no name: give one with --as");
      }
      if (*piece) import.pieces.bytes = parse_count(piece, 1, kMostPiece);
      import.pieces.lines = bool(*lines);
      return import;
    };
  }

  void define_export() {
    CLI::App* const command = add("export", "Write a file that was imported", kExportFooter);
    const CLI::Option* const name =
        word_option(command, "NAME", "The name of the file in the store");
    const CLI::Option* const output =
        text_option(command, "-o", "OUT", "The file to write or replace; default: standard output");
    readers["export"] = [=] {
      return StoreExport{value_of(name), *output ? value_of(output) : ""};
    };
  }

  template <typename Work>
  void define_simple(const char* name, const char* description, const char* footer) {
    add(name, description, footer);
    readers[name] = [] { return Work{}; };
  }

  CLI::App& store;
  // Of the command that was given.
  std::string folder;
  std::vector<std::string> words;

  std::map<std::string, Read> readers;
};

StoreParser::StoreParser(CLI::App& program)
    : app_(program.add_subcommand("store", "Exact keys and values in a folder")) {
  app_->require_subcommand(1);
  app_->footer(kStoreFooter);
  commands_ = std::make_unique<Commands>(*app_);
}

StoreParser::~StoreParser() = default;

std::string StoreParser::selected_name() const {
  const auto commands = app_->get_subcommands();
  return commands.empty() ? "" : commands.front()->get_name();
}

StoreArguments StoreParser::parse() {
  auto work = commands_->readers.at(selected_name())();
  return {unshield(commands_->folder), std::move(work)};
}

}  // namespace nestline::command
