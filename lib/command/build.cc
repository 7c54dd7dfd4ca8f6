// nestline build: a new filter of the lines of the inputs.
//
// With --capacity the lines stream through the filter. Without it the keys must be counted first,
// and a pipe can be read only once, so their hashes are kept: eight bytes a key, whatever its
// length. A line that comes n times is n copies of its key.
//
// What can be known to fail is tried before the inputs are read: the options, and whether the file
// may be written. It is written at the very end, in one step.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "commands.h"
#include "errors.h"
#include "hash_store.h"
#include "inserter.h"
#include "line_reader.h"
#include "nestline/io.h"
#include "progress.h"

namespace nestline::command {
namespace {

// Finds what would make save() fail. It writes into pipes and devices, and replaces other files,
// which takes a folder that may be written.
void check_target(const std::string& file) {
  struct stat status {};
  const bool exists = ::stat(file.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) throw CommandError(file, error_text(errno));
  if (exists && S_ISDIR(status.st_mode)) throw CommandError(file, error_text(EISDIR));
  if (exists && ::faccessat(AT_FDCWD, file.c_str(), W_OK, AT_EACCESS) != 0) {
    throw CommandError(file, error_text(errno));
  }
  const bool replaced = !exists || S_ISREG(status.st_mode);
  // What a link leads to may lie in another folder.
  if (!replaced || std::filesystem::is_symlink(file)) return;
  std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (folder.empty()) folder = ".";
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK, AT_EACCESS) != 0) {
    throw CommandError(file, "cannot write in " + folder.string() + ": " + error_text(errno));
  }
}

Filter make_filter(const std::string& file, const Options& options) {
  try {
    return Filter(options);
  } catch (const std::invalid_argument& error) {
    throw UsageError(std::string(error.what()) + "; see nestline build --help");
  } catch (const std::bad_alloc&) {
    throw CommandError(file, "not enough memory for a filter of " +
                                 std::to_string(options.capacity) +
                                 " keys; give a smaller --capacity or a larger --fpr");
  }
}

// A filter and what it took to fill it.
struct Built {
  Filter filter;
  Inserter inserter{filter};

  explicit Built(Filter&& made) : filter(std::move(made)) {}
};

std::unique_ptr<Built> make_built(const std::string& file, const Options& options) {
  return std::make_unique<Built>(make_filter(file, options));
}

// With the size of the inputs known the rest of the lines is counted, so that the advice is right.
// A pipe may never end: there the user is told at once.
[[noreturn]] void fail_full(const BuildArguments& arguments, const Built& built, LineReader& reader,
                            Progress& progress) {
  std::string sentence = "full after " + std::to_string(built.inserter.stored()) + " keys; ";
  if (reader.total_bytes()) {
    LineBatch batch;
    while (reader.next(batch)) progress.update(reader.bytes(), reader.lines());
  }
  if (!reader.total_bytes()) {
    sentence += "build it again with a larger --capacity, or without it to have the keys counted";
  } else if (reader.lines() > built.filter.capacity()) {
    sentence += "build it again with --capacity of at least " + std::to_string(reader.lines());
  } else {
    sentence += "some lines come too often; build it again without --capacity, or from sort -u";
  }
  throw CommandError(arguments.file, sentence);
}

std::unique_ptr<Built> build_streaming(const BuildArguments& arguments, LineReader& reader,
                                       Progress& progress) {
  auto built = make_built(arguments.file, arguments.options);
  LineBatch batch;
  while (reader.next(batch)) {
    if (!built->inserter.insert(batch.keys)) fail_full(arguments, *built, reader, progress);
    progress.update(reader.bytes(), reader.lines());
  }
  return built;
}

HashStore read_hashes(const BuildArguments& arguments, LineReader& reader, Progress& progress) {
  HashStore hashes;
  try {
    LineBatch batch;
    while (reader.next(batch)) {
      hashes.append(batch.keys, arguments.options.seed);
      progress.update(reader.bytes(), reader.lines());
    }
  } catch (const std::bad_alloc&) {
    throw CommandError(arguments.file, "not enough memory to count the keys after " +
                                           std::to_string(hashes.size()) +
                                           "; give --capacity, which needs no counting");
  }
  return hashes;
}

std::unique_ptr<Built> build_counting(const BuildArguments& arguments, LineReader& reader,
                                      Progress& progress) {
  const HashStore hashes = read_hashes(arguments, reader, progress);
  const std::uint64_t count = std::max<std::uint64_t>(hashes.size(), 1);
  const auto fill = [&](std::uint64_t capacity, auto insert) -> std::unique_ptr<Built> {
    Options options = arguments.options;
    options.capacity = capacity;
    auto built = make_built(arguments.file, options);
    const bool filled = (hashes.*insert)(built->inserter, progress);
    return filled ? std::move(built) : nullptr;
  };

  auto built = fill(count, &HashStore::insert_in_order);
  // Many copies of one key can leave another without room, however large the filter is.
  if (built == nullptr) built = fill(count, &HashStore::insert_copies_last);
  // One filter in a million, or keys that somebody chose to make this happen.
  if (built == nullptr) built = fill(count + count / 4 + 1, &HashStore::insert_copies_last);
  if (built == nullptr) {
    throw CommandError(arguments.file,
                       "full although there is room for all keys, too many have "
                       "the same hash; build it again with another --seed");
  }
  return built;
}

void print_summary(const std::string& file, const Filter& filter) {
  if (::isatty(STDERR_FILENO) != 1) return;
  std::string text = short_number(static_cast<double>(filter.size()), "keys") + ", " +
                     short_number(static_cast<double>(filter.memory_bytes()), "B") + ", ";
  std::array<char, 96> numbers{};
  if (filter.size() > 0) {
    std::snprintf(
        numbers.data(), numbers.size(), "%.2f bits per key, ",
        8.0 * static_cast<double>(filter.memory_bytes()) / static_cast<double>(filter.size()));
    text += numbers.data();
  }
  std::snprintf(numbers.data(), numbers.size(), "expected false-positive rate %.3g",
                filter.expected_fpr());
  complain(file, text + numbers.data());
}

}  // namespace

int build(const BuildArguments& arguments) {
  check_target(arguments.file);
  const bool counting = arguments.options.capacity == 0;
  if (counting) {
    // Tells of options that no filter can have before the inputs are read.
    Options options = arguments.options;
    options.capacity = 1;
    make_filter(arguments.file, options);
  }

  LineReader reader(arguments.inputs);
  Progress progress("build");
  progress.begin(Progress::Unit::bytes, reader.total_bytes());
  const auto built = counting ? build_counting(arguments, reader, progress)
                              : build_streaming(arguments, reader, progress);
  save(built->filter, arguments.file);
  progress.erase();
  built->inserter.report_copies(arguments.file);
  print_summary(arguments.file, built->filter);
  return kExitYes;
}

}  // namespace nestline::command
