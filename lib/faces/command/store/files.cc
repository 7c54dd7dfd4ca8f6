// nestline store import and export: files in a store, byte for byte, by nestline/store_files.h. An
// export to a file replaces it in one step, so a file without its end never has the name.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lib/faces/command/io/errors.h"
#include "lib/faces/command/io/output.h"
#include "lib/faces/command/io/progress.h"
#include "lib/faces/command/store/commands.h"
#include "lib/system/system.h"
#include "nestline/store_files.h"

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

constexpr const char* kImportFooter =
    "The file is cut into pieces; equal pieces, also of other files, are stored once. A file that\n"
    "has the name already is replaced in one step when all is read.\n";

constexpr const char* kExportFooter =
    "Writes the file byte for byte, and checks each piece against its SHA-256 digest. OUT is\n"
    "replaced in one step, or left unchanged.\n"
    "Exit status: 0 done, 1 there is no file with this name, 2 error.";

struct StoreImport {
  std::string folder;
  std::string input;
  std::optional<std::string> name;  // not given: input
  FilePieces pieces;
  Sync sync = Sync::interval;
  std::uint64_t wait = kUsualWait;
};

struct StoreExport {
  std::string folder;
  std::string name;
  std::string output;  // empty: standard output
};

constexpr std::uint64_t kMaxPiece = std::numeric_limits<std::uint32_t>::max();

// Thrown while the output is written, so that a file which is there is not replaced.
struct NotThere {};

int run(const StoreImport& import) {
  InputFile input(import.input);
  Store store = open_to_write(import.folder, {.sync = import.sync}, import.wait);
  refuse_own_file(import.folder, import.input);
  const std::uint64_t before = store.size();
  Progress progress("import", total_bytes(std::span(&import.input, 1)));
  const std::string& name = import.name ? *import.name : import.input;
  const std::uint64_t bytes = put_file(
      store, name,
      [&](std::span<char> to) {
        const std::size_t got = input.read(to);
        progress.update(input.bytes());
        return got;
      },
      import.pieces);
  finish_writing(store, import.sync);
  progress.erase();
  if (is_terminal(STDERR_FILENO)) {
    const std::uint64_t added = store.size() - before;
    complain(name, short_number(bytes, "B") + ", " + short_number(added, "new pieces"));
  }
  return kExitYes;
}

int run(const StoreExport& chosen) {
  const Store store = open_to_read(chosen.folder);
  const bool to_file = !chosen.output.empty();
  if (to_file) check_target(chosen.output);
  Progress progress("export", std::nullopt, to_file || !is_terminal(STDOUT_FILENO));
  const auto write_to = [&](const auto& write) {
    std::uint64_t done = 0;
    const bool there = get_file(store, chosen.name, [&](std::string_view bytes) {
      write(bytes);
      done += bytes.size();
      progress.update(done);
    });
    if (!there) throw NotThere();
  };
  try {
    if (to_file) {
      replace_file(chosen.output, [&](const ByteSink& sink) {
        write_to([&](std::string_view bytes) { sink(std::as_bytes(std::span(bytes))); });
      });
    } else {
      Output output;
      write_to([&](std::string_view bytes) { output.write(bytes); });
      output.flush();
    }
  } catch (const NotThere&) {
    progress.erase();
    complain(chosen.folder, "there is no file '" + chosen.name +
                                "'; nestline store list shows the files that are there");
    return kExitNo;
  }
  return kExitYes;
}

}  // namespace

Command import_command() {
  const auto import = std::make_shared<StoreImport>();
  return in_store(
      import, {"import", "Store a file", kImportFooter},
      {{"FILE", "", "The file; - is standard input", &import->input, kRequired},
       {"--as", "NAME", "Its name in the store; default: FILE as it is given", &import->name},
       {"--piece", "BYTES", "The size of a piece; default: 4096",
        count(import->pieces.bytes, 1, kMaxPiece)},
       {"--lines", "", "Makes a piece of each line; one above 4096 bytes is several",
        &import->pieces.lines, false, "--piece"},
       sync_option(import->sync),
       wait_option(import->wait)},
      [import] {
        if (!import->name && import->input == "-") {
          throw UsageError("standard input has no name: give one with --as");
        }
      });
}

Command export_command() {
  const auto chosen = std::make_shared<StoreExport>();
  return in_store(chosen, {"export", "Write a file that was imported", kExportFooter},
                  {{"NAME", "", "The name of the file in the store", &chosen->name, kRequired},
                   {"-o", "OUT", "The file to write or replace; default: standard output",
                    output_name(chosen->output)}});
}

}}}  // namespace nestline::command
