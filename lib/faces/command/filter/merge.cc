// nestline merge: merges each further filter into the first. Of filters that were built alike, the
// smaller is grown first; both grow when their keys do not fit and the first was built to grow.
// What cannot be merged is found before anything is written; the result may replace an input.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "lib/faces/command/filter/commands.h"
#include "lib/faces/command/io/errors.h"
#include "lib/faces/command/io/file_lock.h"
#include "lib/faces/command/io/output.h"
#include "lib/faces/command/io/progress.h"

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

constexpr const char* kMergeFooter =
    "All filters must have been built with the same --bits or --fpr, --seed, --capacity,\n"
    "--max-capacity and --load. The keys are not needed. Filters that have grown less are grown\n"
    "to match. When the keys do not fit and the first filter was built with --max-capacity, the\n"
    "result grows. Copies add up, to at most 8 of a key (10 at 16 bits), or fewer where copies of\n"
    "other keys take its slots. Further ones are left out, with a message; their key is still\n"
    "found. FILE may be one of the inputs; it is replaced in one step.\n"
    "Exit status: 0 done, 2 error. FILE is written only on success.";

struct Source {
  std::string file;
  Filter filter;

  [[nodiscard]] std::uint64_t first_bytes() const {
    return std::uint64_t{filter.memory_bytes()} >> filter.growth();
  }
};

Source load_source(const std::string& file) {
  return {file, concerning(file, [&] { return Filter::load(file); })};
}

void check_alike(const Source& one, const Source& other) {
  const auto refuse = [&](const std::string& difference) {
    throw CommandError(other.file, "cannot be merged into " + one.file + ": " + difference);
  };
  const auto but = [](std::uint64_t its, const char* unit, std::uint64_t wanted) {
    return std::to_string(its) + unit + ", not " + std::to_string(wanted);
  };
  if (one.filter.bits() != other.filter.bits()) {
    refuse("its fingerprints have " + std::to_string(other.filter.bits()) + " bits, not " +
           std::to_string(one.filter.bits()));
  }
  if (one.filter.seed() != other.filter.seed()) {
    refuse("its seed is " + but(other.filter.seed(), "", one.filter.seed()));
  }
  if (one.first_bytes() != other.first_bytes()) {
    refuse("it was made with " + but(other.first_bytes(), " bytes", one.first_bytes()) +
           "; build both with the same --capacity, --max-capacity and --load");
  }
}

void grow(Source& source) {
  if (!source.filter.grow()) throw CommandError(source.file, "cannot grow any further");
}

[[noreturn]] void refuse_room(const Source& one, const Source& other) {
  throw CommandError(other.file,
                     "no room for its " + std::to_string(other.filter.size()) + " keys beside " +
                         std::to_string(one.filter.size()) + " others in a filter for " +
                         std::to_string(one.filter.capacity()) +
                         "; build the filters with a larger --capacity or --max-capacity");
}

// Merges `other` into `one` and returns how many copies were left out. Grows both as far as needed
// and as far as `one` was built for; not for copies that find no place in a larger filter either.
std::uint64_t merge_into(Source& one, Source& other) {
  check_alike(one, other);
  while (other.filter.memory_bytes() < one.filter.memory_bytes()) grow(other);
  while (one.filter.memory_bytes() < other.filter.memory_bytes()) grow(one);
  for (bool may_grow = true;;) {
    may_grow = may_grow && one.filter.capacity() < one.filter.max_capacity();
    try {
      Filter both = one.filter.snapshot();
      const bool grows = may_grow && both.size() + other.filter.size() > both.capacity();
      const std::uint64_t left_out =
          both.merge(other.filter, grows ? Copies::most : Copies::that_fit);
      if (!may_grow || both.size() <= both.capacity()) {
        one.filter = std::move(both);
        return left_out;
      }
    } catch (const std::length_error&) {
      if (!may_grow) refuse_room(one, other);
    }
    may_grow = one.filter.grow() && other.filter.grow();
  }
}

int merge(const KeysArguments& arguments) {
  check_target(arguments.file);
  // The file may be one of the inputs, and another command may be adding to it.
  const FileLock lock(arguments.file);
  Progress progress("merge", total_bytes(arguments.inputs.files));
  Source result = load_source(arguments.inputs.files.front());
  std::uint64_t done = result.filter.memory_bytes();
  std::uint64_t keys = result.filter.size();
  std::uint64_t left_out = 0;
  for (std::size_t i = 1; i < arguments.inputs.files.size(); ++i) {
    progress.update(done, keys);
    Source next = load_source(arguments.inputs.files[i]);
    done += next.filter.memory_bytes();
    keys += next.filter.size();
    left_out += merge_into(result, next);
  }
  progress.update(done, keys);
  save(result.filter, arguments.file);
  progress.erase();
  report_copies(arguments.file, left_out, "line",
                "; removing such keys as often as they were added can remove others");
  print_summary(arguments.file, result.filter);
  return kExitYes;
}

}  // namespace

Command merge_command() {
  const auto arguments = std::make_shared<KeysArguments>();
  return {{"merge", "Combine filters into one, without their keys", kMergeFooter},
          &arguments->file,
          {{"-o", "FILE", "The filter file to write or replace", output_name(arguments->file),
            kRequired},
           {"INPUT", "", "Filter files, two or more", &arguments->inputs.files, kRequired}},
          [arguments] { return merge(*arguments); },
          [arguments] {
            if (arguments->inputs.files.size() < 2) {
              throw UsageError("merge takes two or more filter files");
            }
            if (std::ranges::count(arguments->inputs.files, "-") > 0) {
              throw UsageError("INPUT takes the name of a file, not '-'");
            }
          }};
}

}}}  // namespace nestline::command
