// See inserter.h.
#include "lib/command/filter/inserter.h"

#include <algorithm>

namespace nestline::command {

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
  if (flags_.size() < keys.size()) flags_.resize(keys.size());
  const std::span flags = std::span(flags_).first(keys.size());
  const std::size_t stored = filter_.insert(keys, flags);
  stored_ += stored;
  if (stored == keys.size()) return true;

  // The flags show which keys were not stored. Another try with each of them finds out why.
  return keys.visit([&](const auto& span) {
    for (std::size_t i = 0; i < span.size(); ++i) {
      if (flags[i] != 0) continue;
      const Hash hash = hash_key(span[i], filter_.seed());
      if (!refused_.contains(hash.value)) {
        const Outcome outcome = filter_.insert(hash).outcome;
        if (outcome == Outcome::full && !filter_.may_contain(hash)) return false;
        if (outcome == Outcome::stored) {
          ++stored_;
          continue;
        }
        refused_.insert(hash.value);
      }
      leave_out(positions_.empty() ? i : positions_[i]);
    }
    return true;
  });
}

bool Inserter::insert_new(std::span<const Hash> keys, std::vector<Hash>& found) {
  for (const Hash key : keys) {
    const Outcome outcome = filter_.insert_unique(key).outcome;
    if (outcome == Outcome::full) return false;
    if (outcome == Outcome::stored) {
      ++stored_;
    } else {
      found.push_back(key);
    }
  }
  return true;
}

}  // namespace nestline::command
