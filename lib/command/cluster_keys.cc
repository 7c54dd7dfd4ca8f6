// nestline cluster add, query and remove: the lines of the inputs, batch by batch, each batch to
// all servers at once.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/command/cluster_commands.h"
#include "lib/command/errors.h"
#include "lib/command/line_reader.h"
#include "lib/command/progress.h"

namespace nestline::command {
namespace {

using Keys = std::span<const std::string_view>;

std::span<std::uint8_t> fitting(std::vector<std::uint8_t>& flags, std::size_t count) {
  if (flags.size() < count) flags.resize(count);
  return std::span(flags).first(count);
}

// A change of one batch; when it fails, the message also says how many lines before were done.
template <typename Change>
std::size_t change(const ClusterPlace& place, const LineReader& reader, Keys batch,
                   const char* done, Change&& make) {
  try {
    return make();
  } catch (const ClusterError& error) {
    const std::uint64_t before = reader.lines() - batch.size();
    throw CommandError(place.name, std::string(error.what()) + "; the first " +
                                       std::to_string(before) + " lines were " + done);
  }
}

// Finds out why keys were not added: their key is there as often as it can be, or there is no room.
class Refusals {
 public:
  Refusals(ClusterFilter& filter, bool unique) : filter_(filter), unique_(unique) {}

  void note(Keys keys, std::span<const std::uint8_t> added) {
    refused_.clear();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (added[i] == 0) refused_.push_back(keys[i]);
    }
    const std::size_t there = filter_.may_contain(refused_, fitting(flags_, refused_.size()));
    copies_ += there;
    full_ += refused_.size() - there;
  }

  // The exit status, after the message. Where there is no room, some of the refused keys seem to be
  // there only by chance.
  [[nodiscard]] int report(const std::string& name, std::uint64_t lines) const {
    const std::uint64_t refused = full_ + (unique_ ? 0 : copies_);
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
  ClusterFilter& filter_;
  bool unique_;
  std::vector<std::string_view> refused_;
  std::vector<std::uint8_t> flags_;
  std::uint64_t copies_ = 0;
  std::uint64_t full_ = 0;
};

// Turns the flags of may_contain() into positions.
template <typename AnyFilter>
SelectKeys selection(AnyFilter& filter) {
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

}  // namespace

int run(const ClusterPlace& place, const ClusterAdd& add) {
  ClusterFilter filter = place.open();
  LineReader reader(add.inputs);
  Progress progress("add");
  progress.begin(Progress::Unit::bytes, reader.total_bytes());
  Refusals refusals(filter, add.unique);
  std::vector<std::uint8_t> flags;
  LineBatch batch;
  while (reader.next(batch)) {
    const std::span<std::uint8_t> added = fitting(flags, batch.keys.size());
    const std::size_t count = change(place, reader, batch.keys, "added", [&] {
      return add.unique ? filter.insert_unique(batch.keys, added)
                        : filter.insert(batch.keys, added);
    });
    if (count < batch.keys.size()) refusals.note(batch.keys, added);
    progress.update(reader.bytes(), reader.lines());
  }
  progress.erase();
  return refusals.report(place.name, reader.lines());
}

int run(const ClusterPlace& place, const ClusterQuery& query) {
  if (!query.file.empty()) {
    const ClusterCopy copy = ClusterCopy::load(query.file);
    return print_lines(query, selection(copy));
  }
  ClusterFilter filter = place.open();
  return print_lines(query, selection(filter));
}

int run(const ClusterPlace& place, const ClusterRemove& remove) {
  ClusterFilter filter = place.open();
  LineReader reader(remove.inputs);
  Progress progress("remove");
  progress.begin(Progress::Unit::bytes, reader.total_bytes());
  LineBatch batch;
  std::uint64_t removed = 0;
  while (reader.next(batch)) {
    removed +=
        change(place, reader, batch.keys, "removed", [&] { return filter.erase(batch.keys); });
    progress.update(reader.bytes(), reader.lines());
  }
  progress.erase();
  if (removed == reader.lines()) return kExitYes;
  complain(place.name, std::to_string(reader.lines() - removed) + " of " +
                           std::to_string(reader.lines()) +
                           " lines were not in the filter; nothing was removed for them");
  return kExitNo;
}

}  // namespace nestline::command
