#include "lib/faces/command/filter/inserter.h"

#include <cstddef>
#include <span>

namespace nestline { inline namespace v0_3 { namespace command {

bool Inserter::insert(std::span<const Hash> keys) {
  left_out_.clear();
  positions_.clear();
  if (!refused_.empty()) keys = not_refused(keys);
  const std::span outcomes = outcomes_for(keys.size());
  const std::size_t stored = filter_.insert(keys, outcomes);
  stored_ += stored;
  if (stored == keys.size()) return true;

  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (outcomes[i] == Outcome::stored) continue;
    if (outcomes[i] == Outcome::full && !filter_.may_contain(keys[i])) return false;
    refused_.insert(keys[i].value);
    leave_out(positions_.empty() ? i : positions_[i]);
  }
  std::ranges::sort(left_out_);
  return true;
}

std::span<const Hash> Inserter::not_refused(std::span<const Hash> keys) {
  wanted_.clear();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (refused_.contains(keys[i].value)) {
      leave_out(i);
    } else {
      wanted_.push_back(keys[i]);
      positions_.push_back(i);
    }
  }
  return wanted_;
}

bool Inserter::insert_new(std::span<const Hash> keys, std::vector<Hash>& found) {
  const std::span outcomes = outcomes_for(keys.size());
  stored_ += filter_.insert_unique(keys, outcomes);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (outcomes[i] == Outcome::full) return false;
    if (outcomes[i] != Outcome::stored) found.push_back(keys[i]);
  }
  return true;
}

}}}  // namespace nestline::command
