#include "lib/command/filter/inserter.h"

namespace nestline::inline v0_2::command {

bool Inserter::insert(std::span<const Hash> keys) {
  left_out_.clear();
  wanted_.clear();
  positions_.clear();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (refused_.contains(keys[i].value)) {
      leave_out(i);
    } else {
      wanted_.push_back(keys[i]);
      positions_.push_back(i);
    }
  }
  const std::span outcomes = outcomes_for(wanted_.size());
  const std::size_t stored = filter_.insert(wanted_, outcomes);
  stored_ += stored;
  if (stored == wanted_.size()) return true;

  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    if (outcomes[i] == Outcome::stored) continue;
    if (outcomes[i] == Outcome::full && !filter_.may_contain(wanted_[i])) return false;
    refused_.insert(wanted_[i].value);
    leave_out(positions_[i]);
  }
  std::ranges::sort(left_out_);
  return true;
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

}  // namespace nestline::inline v0_2::command
