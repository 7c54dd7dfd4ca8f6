// nestline store import and export: files in a store, byte for byte.
#include <unistd.h>

#include <span>

#include "lib/command/errors.h"
#include "lib/command/input_file.h"
#include "lib/command/output.h"
#include "lib/command/progress.h"
#include "lib/command/store_commands.h"
#include "lib/file/replacement.h"

namespace nestline::command {
namespace {

// Thrown while the output is written, so that a file which is there is not replaced.
struct NotThere {};

class Exporter {
 public:
  Exporter(const Store& store, const std::string& name, bool bar)
      : store_(store), name_(name), progress_("export", bar) {}

  // Calls write(bytes) with all bytes of the file.
  template <typename Write>
  void write_to(Write&& write) {
    std::uint64_t done = 0;
    const bool there = store_.get_file(name_, [&](std::string_view bytes) {
      write(bytes);
      done += bytes.size();
      progress_.update(done);
    });
    if (!there) throw NotThere();
  }

 private:
  const Store& store_;
  const std::string& name_;
  Progress progress_;
};

void export_to_standard_output(Exporter& exporter) {
  Output output(STDOUT_FILENO, "standard output");
  exporter.write_to([&](std::string_view bytes) { output.write(bytes); });
  output.flush();
}

void export_to_file(Exporter& exporter, const std::string& file) {
  replace_file(file, [&](const ByteSink& sink) {
    exporter.write_to([&](std::string_view bytes) { sink(std::as_bytes(std::span(bytes))); });
  });
}

}  // namespace

int run(const std::string& folder, const StoreImport& import) {
  InputFile input(import.input);
  Store store = Store::open(folder, {.sync = import.sync});
  const std::uint64_t before = store.stats().records;
  Progress progress("import");
  progress.begin(Progress::Unit::bytes, input.total_bytes());
  const std::string& name = import.name ? *import.name : import.input;
  const std::uint64_t bytes = store.put_file(
      name,
      [&](std::span<char> to) {
        const std::size_t got = input.read(to);
        progress.update(input.bytes());
        return got;
      },
      import.pieces);
  finish_writing(store, import.sync);
  progress.erase();
  if (::isatty(STDERR_FILENO) == 1) {
    const std::uint64_t added = store.stats().records - before;
    complain(name, short_number(static_cast<double>(bytes), "B") + ", " +
                       short_number(static_cast<double>(added), "new pieces"));
  }
  return kExitYes;
}

int run(const std::string& folder, const StoreExport& chosen) {
  const Store store = open_to_read(folder);
  const bool to_file = !chosen.output.empty();
  try {
    Exporter exporter(store, chosen.name, to_file || ::isatty(STDOUT_FILENO) != 1);
    to_file ? export_to_file(exporter, chosen.output) : export_to_standard_output(exporter);
  } catch (const NotThere&) {
    complain(folder, "there is no file '" + chosen.name +
                         "'; nestline store list shows the files that are there");
    return kExitNo;
  }
  return kExitYes;
}

}  // namespace nestline::command
