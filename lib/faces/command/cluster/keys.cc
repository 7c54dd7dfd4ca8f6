// nestline cluster add, query and remove: each batch of lines to all servers at once. A batch is
// what a read of the input gives (io/line_reader.h), so output keeps pace with input. A change that
// fails is not repeated, since it may have been made; the message says how many lines came before.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/faces/command/cluster/commands.h"
#include "lib/faces/command/io/errors.h"
#include "lib/faces/command/io/progress.h"
#include "lib/faces/command/io/query_lines.h"

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

constexpr const char* kAddFooter =
    "A line that occurs n times is n copies of its key. When an error ends the work, the message\n"
    "says how many lines were added. After a lost connection, some that follow may have been\n"
    "added too: adding all of them again with --unique does no harm.\n"
    "Exit status: 0 done, 2 error, or some lines found no room (the others were added).";

constexpr const char* kQueryFooter =
    "Lines that were added are always printed. A few others are printed too, at the rate that\n"
    "nestline cluster info shows. When a part cannot be reached, the command ends with an error;\n"
    "it never takes silence for an answer. With --file no server is asked, and there is no NAME.\n"
    "Exit status: 0 at least one line was selected, 1 none was, 2 error.";

constexpr const char* kRemoveFooter =
    "Only remove keys that were added. A key that was not added may look the same as one that\n"
    "was; removing it removes the other key, which is then not found. Each line removes one copy.\n"
    "Exit status: 0 done, 1 some lines were not in the filter (the others were removed), 2 error.";

struct ClusterAdd : InCluster {
  LineInputs inputs;
  bool unique = false;  // --unique
};

struct ClusterQuery : InCluster, LineChoice {
  std::string file;                       // --file: a file that pull wrote, in place of servers
  std::optional<std::string> first_word;  // NAME, or with --file the first input
};

struct ClusterRemove : InCluster {
  LineInputs inputs;
};

using Keys = std::span<const std::string_view>;

template <typename Result>
std::span<Result> fitting(std::vector<Result>& room, std::size_t count) {
  if (room.size() < count) room.resize(count);
  return std::span(room).first(count);
}

// A change of one batch; when it fails, the message also states how many lines before were done.
std::size_t change(const InCluster& place, const LineReader& reader, Keys batch, const char* done,
                   auto&& make) {
  try {
    return make();
  } catch (const ClusterError& error) {
    const std::uint64_t before = reader.lines() - batch.size();
    throw CommandError(place.name, std::string(error.what()) + "; the first " +
                                       std::to_string(before) + " lines were " + done);
  }
}

class Refusals {
 public:
  void note(std::span<const Outcome> outcomes) {
    full_ += static_cast<std::uint64_t>(std::ranges::count(outcomes, Outcome::full));
    copies_ += static_cast<std::uint64_t>(std::ranges::count(outcomes, Outcome::too_many_copies));
  }

  // The exit status, after the message. Without room, some refused keys seem present by chance.
  [[nodiscard]] int report(const std::string& name, std::uint64_t lines) const {
    const std::uint64_t refused = full_ + copies_;
    const std::string count = std::to_string(refused) + " of " + std::to_string(lines) + " lines ";
    if (full_ > 0) {
      complain(name, count +
                         "found no room, the others were added; push all keys to a filter that is "
                         "created with a larger --capacity");
      return kExitError;
    }
    if (refused > 0) {
      complain(name, count +
                         "were further copies of keys that have the most copies already; they are "
                         "still found");
    }
    return kExitYes;
  }

 private:
  std::uint64_t copies_ = 0;
  std::uint64_t full_ = 0;
};

SelectKeys selection(auto& filter) {
  return [&filter, flags = std::vector<std::uint8_t>()](Keys keys,
                                                        std::span<std::uint32_t> found) mutable {
    const std::span<std::uint8_t> out = fitting(flags, keys.size());
    filter.may_contain(keys, out);
    std::size_t count = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      found[count] = static_cast<std::uint32_t>(i);
      count += out[i];
    }
    return count;
  };
}

int run(const ClusterAdd& add) {
  ClusterFilter filter = add.open();
  ShownReader reader(add.inputs, "add");
  Refusals refusals;
  std::vector<Outcome> room;
  LineBatch batch;
  while (reader.next(batch)) {
    const std::span<Outcome> outcomes = fitting(room, batch.keys.size());
    change(add, reader, batch.keys, "added", [&] {
      return add.unique ? filter.insert_unique(batch.keys, outcomes)
                        : filter.insert(batch.keys, outcomes);
    });
    refusals.note(outcomes);
  }
  reader.bar.erase();
  return refusals.report(add.name, reader.lines());
}

int run(const ClusterQuery& query) {
  if (query.copy_instead) {
    const ClusterCopy copy = ClusterCopy::load(query.file);
    return print_lines(query, selection(copy));
  }
  ClusterFilter filter = query.open();
  return print_lines(query, selection(filter));
}

int run(const ClusterRemove& remove) {
  ClusterFilter filter = remove.open();
  ShownReader reader(remove.inputs, "remove");
  LineBatch batch;
  std::uint64_t removed = 0;
  while (reader.next(batch)) {
    removed +=
        change(remove, reader, batch.keys, "removed", [&] { return filter.erase(batch.keys); });
  }
  reader.bar.erase();
  return report_removed(remove.name, removed, reader.lines());
}

// The words of query mean something else with --file.
void choose_filter(ClusterQuery& query) {
  query.copy_instead = !query.file.empty();
  if (query.copy_instead) {
    query.name = query.file;
    if (query.first_word) query.inputs.files.insert(query.inputs.files.begin(), *query.first_word);
  } else {
    if (!query.first_word) throw UsageError("NAME is required");
    query.name = *query.first_word;
  }
}

}  // namespace

Command add_keys_command() {
  const auto add = std::make_shared<ClusterAdd>();
  return in_cluster(add, {"add", "Add keys", kAddFooter},
                    {filter_name(*add),
                     zero_option(add->inputs.zero_terminated),
                     input_keys(add->inputs),
                     {"--unique", "", "Add only keys that do not seem to be there", &add->unique},
                     wait_option(*add)});
}

Command query_keys_command() {
  const auto query = std::make_shared<ClusterQuery>();
  return in_cluster(
      query, {"query", "Print the lines that may be in it", kQueryFooter},
      {{"NAME", "", "The name of the logical filter", &query->first_word},
       zero_option(query->inputs.zero_terminated),
       input_keys(query->inputs),
       {"-v", "", "Print the other lines: those that are certainly not in it", &query->invert},
       {"-c", "", "Print only the number of lines", &query->count_only},
       {"--file", "FILE", "Ask a file that nestline cluster pull wrote", file_name(query->file)}},
      [query] { choose_filter(*query); }, "; not with --file");
}

Command remove_keys_command() {
  const auto remove = std::make_shared<ClusterRemove>();
  return in_cluster(remove, {"remove", "Remove keys", kRemoveFooter},
                    {filter_name(*remove), zero_option(remove->inputs.zero_terminated),
                     input_keys(remove->inputs), wait_option(*remove)});
}

}}}  // namespace nestline::command
