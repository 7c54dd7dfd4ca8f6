// Inserts batches of keys and finds out why some were not stored. A key has a limited number of
// slots, fewer when copies of others use them too. A copy without room is counted if its key is
// found. A key without room that is not found means that the filter is full. Finding that takes
// many blocks, most of the work when keys repeat often. So a key that was left out is remembered:
// nothing is erased here, so it never has room later.
#ifndef NESTLINE_LIB_FACES_COMMAND_FILTER_INSERTER_H_
#define NESTLINE_LIB_FACES_COMMAND_FILTER_INSERTER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "nestline/filter.h"

namespace nestline { inline namespace v0_3 { namespace command {

class Inserter {
 public:
  explicit Inserter(Filter&& filter) : filter_(std::move(filter)) {}

  [[nodiscard]] const Filter& filter() const noexcept { return filter_; }

  /// False when the filter is full; then some keys of the batch are left out.
  [[nodiscard]] bool insert(std::span<const Hash> keys);
  /// Positions of the copies that the last insert() left out, in ascending order.
  [[nodiscard]] std::span<const std::uint32_t> left_out() const noexcept { return left_out_; }

  /// Inserts the keys that are not found yet, and appends the others to `found`. False when full.
  [[nodiscard]] bool insert_new(std::span<const Hash> keys, std::vector<Hash>& found);

  [[nodiscard]] std::uint64_t stored() const noexcept { return stored_; }

  void add_refused_copies(std::uint64_t copies) noexcept { refused_copies_ += copies; }

  [[nodiscard]] std::uint64_t refused_copies() const noexcept { return refused_copies_; }

 private:
  std::span<Outcome> outcomes_for(std::size_t keys) {
    outcomes_.resize(std::max(outcomes_.size(), keys));
    return std::span(outcomes_).first(keys);
  }
  // Those that were not left out before; leaves out the others.
  std::span<const Hash> not_refused(std::span<const Hash> keys);
  void leave_out(std::size_t position) {
    ++refused_copies_;
    left_out_.push_back(static_cast<std::uint32_t>(position));
  }

  Filter filter_;
  std::vector<Outcome> outcomes_;
  std::vector<Hash> wanted_;            // what not_refused() returns,
  std::vector<std::size_t> positions_;  // and where they are in the batch
  std::vector<std::uint32_t> left_out_;
  std::unordered_set<std::uint64_t> refused_;  // hashes of keys that were left out
  std::uint64_t stored_ = 0;
  std::uint64_t refused_copies_ = 0;
};

}}}  // namespace nestline::command

#endif  // NESTLINE_LIB_FACES_COMMAND_FILTER_INSERTER_H_
