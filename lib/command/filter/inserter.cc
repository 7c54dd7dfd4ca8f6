#include "lib/command/filter/inserter.h"

namespace nestline::inline v0_2::command {

bool Inserter::insert(KeySpan keys) {
  left_out_.clear();
  positions_.clear();
  const bool done = insert_batch(refused_.empty() ? keys : KeySpan(not_refused(keys)));
  std::ranges::sort(left_out_);
  return done;
}

std::span<const Hash> Inserter::not_refused(KeySpan keys) {
  hashes_.clear();
  keys.visit([&](const auto& span) {
    for (std::size_t i = 0; i < span.size(); ++i) {
      const Hash hash = hash_key(span[i], filter_.seed());
      if (refused_.contains(hash.value)) {
        leave_out(i);
      } else {
        hashes_.push_back(hash);
        positions_.push_back(i);
      }
    }
  });
  return hashes_;
}

bool Inserter::insert_batch(KeySpan keys) {
  const std::span outcomes = outcomes_for(keys.size());
  const std::size_t stored = filter_.insert(keys, outcomes);
  stored_ += stored;
  if (stored == keys.size()) return true;

  return keys.visit([&](const auto& span) {
    for (std::size_t i = 0; i < span.size(); ++i) {
      if (outcomes[i] == Outcome::stored) continue;
      const Hash hash = hash_key(span[i], filter_.seed());
      if (outcomes[i] == Outcome::full && !filter_.may_contain(hash)) return false;
      refused_.insert(hash.value);
      leave_out(positions_.empty() ? i : positions_[i]);
    }
    return true;
  });
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
