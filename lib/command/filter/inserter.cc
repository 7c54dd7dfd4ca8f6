#include "lib/command/filter/inserter.h"

namespace nestline::inline v0_2::command {

bool Inserter::insert(std::span<const Hash> keys) {
  left_out_.clear();
  const std::span outcomes = outcomes_for(keys.size());
  const std::size_t stored = filter_.insert(keys, outcomes);
  stored_ += stored;
  if (stored == keys.size()) return true;

  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (outcomes[i] == Outcome::stored) continue;
    if (outcomes[i] == Outcome::full && !filter_.may_contain(keys[i])) return false;
    ++refused_copies_;
    left_out_.push_back(static_cast<std::uint32_t>(i));
  }
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
