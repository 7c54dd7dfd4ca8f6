// nestline info: reads the header and a sample of the blocks; a state of nestline uniq is read
// as a whole (uniq/state_text.cc). The names in the JSON object are part of the interface.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "lib/faces/command/filter/commands.h"
#include "lib/faces/command/io/command.h"
#include "lib/faces/command/io/errors.h"
#include "lib/faces/command/io/input_file.h"
#include "lib/faces/command/io/output.h"
#include "lib/faces/command/io/progress.h"
#include "lib/faces/command/io/report.h"
#include "lib/faces/command/uniq/state.h"
#include "lib/faces/embed/key_kinds.h"

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

constexpr const char* kInfoFooter = kHasParallel
                                        ? "Does not check the whole file; nestline verify does. "
                                          "FILE may also be a state of nestline\n"
                                          "uniq. A line of advice says what may need a decision, "
                                          "such as a filter that is nearly full.\n"
                                        : "Does not check the whole file; nestline verify does. A "
                                          "line of advice says what may need a\n"
                                          "decision, such as a filter that is nearly full.\n";

struct InfoArguments {
  std::string file;
  bool json = false;
};

// Doublings beyond those that the rate was chosen for. The file does not have that rate.
unsigned surplus_doublings(const MappedFilter& filter) {
  if (filter.max_capacity() == 0) return filter.growth();
  unsigned surplus = 0;
  while (surplus < filter.growth() &&
         (filter.capacity() >> (surplus + 1)) >= filter.max_capacity()) {
    ++surplus;
  }
  return surplus;
}

std::vector<std::string> advice_on(const MappedFilter& filter) {
  const std::uint64_t size = filter.size();
  const std::uint64_t capacity = filter.capacity();
  // Filter::grow takes all bits of a fingerprint but four.
  const bool can_double = filter.growth() + 4 < static_cast<unsigned>(filter.bits());
  const bool wants_more = capacity < filter.max_capacity();
  const bool grows = wants_more && can_double;
  const bool has_grown = !wants_more && filter.max_capacity() > 0 && filter.growth() > 0;
  std::vector<std::string> advice;
  if (size > capacity && !grows) {
    advice.push_back("there are " + std::to_string(size - capacity) +
                     " keys more than its capacity: further ones may find no room, and it may err "
                     "more often than was asked for; build it from all keys with a larger "
                     "--capacity");
  } else if (is_nearly_full(size, capacity)) {
    const std::string bytes = short_number(2 * filter.memory_bytes(), "B");
    advice.push_back(
        room_text(size, capacity, "keys") +
        (grows ? "then it doubles to " + bytes +
                     "; when it is full again, it errs about twice as often as now"
         : has_grown ? "it has grown as far as its --max-capacity; for more, build it from all "
                       "keys with a larger one"
         : wants_more
             ? "it has doubled as often as it can; for more, build it from all keys with a "
               "larger --capacity"
             : "it does not grow; for more, build it from all keys with a larger "
               "--capacity, or with --max-capacity"));
  } else if (has_grown) {
    advice.emplace_back("it has grown as far as its --max-capacity, and will not double again");
  }
  if (const unsigned surplus = surplus_doublings(filter); surplus > 0) {
    advice.push_back("it has doubled " + std::to_string(surplus) +
                     " times beyond what it was built for, so it errs about " +
                     std::to_string(1U << surplus) +
                     " times as often as was asked for at the same load; build it from all keys "
                     "for the rate that was asked for");
  }
  return advice;
}

std::string filter_text(const InfoArguments& arguments) {
  const MappedFilter filter = MappedFilter::open(arguments.file, Verify::none);
  Report report;
  report.add("keys", "keys", filter.size());
  report.add("capacity", "capacity", filter.capacity());
  report.line("grows by itself up to", number_or_none(filter.max_capacity()));
  report.line("doublings so far", std::to_string(filter.growth()));
  report.line("turns over", filter.turns_over() ? "yes" : "no");
  report.add("load_factor", "load", filter.load_factor(),
             formatted("%.1f %%", 100 * filter.load_factor()));
  report.add("bits", "bits", static_cast<unsigned>(filter.bits()));
  report.add_bytes("memory_bytes", "memory bytes", filter.memory_bytes());
  if (filter.size() > 0) {
    const double bits =
        8.0 * static_cast<double>(filter.memory_bytes()) / static_cast<double>(filter.size());
    report.add("bits_per_key", "bits per key", bits, formatted("%.2f", bits));
  } else {
    report.add("bits_per_key", "bits per key", Json(), "-");
  }
  report.add("expected_fpr", "expected false-positive rate", filter.expected_fpr(),
             formatted("%.3g", filter.expected_fpr()));
  report.add("seed", "seed", filter.seed());
  report.add_bytes("file_bytes", "file bytes", std::filesystem::file_size(arguments.file));
  report.json("doublings", filter.growth());
  report.json("max_capacity", filter.max_capacity());
  report.json("turns_over", filter.turns_over());
  const std::string kinds = key_kinds_text(filter.key_kinds());
  report.json("key_kinds", kinds);
  if (!kinds.empty()) report.line("kinds of keys", kinds);
  report.advice(advice_on(filter));
  return report.text(arguments.json);
}

int info(const InfoArguments& arguments) {
  if constexpr (kHasParallel) {
    if (is_state(arguments.file)) {
      print(state_text(arguments.file, arguments.json));
      return kExitYes;
    }
  }
  print(filter_text(arguments));
  return kExitYes;
}

}  // namespace

Command info_command() {
  const auto arguments = std::make_shared<InfoArguments>();
  return {{"info", "Show what is in a filter file", kInfoFooter},
          &arguments->file,
          {filter_file(arguments->file), {"--json", "", "Print one JSON object", &arguments->json}},
          [arguments] { return info(*arguments); }};
}

}}}  // namespace nestline::command
