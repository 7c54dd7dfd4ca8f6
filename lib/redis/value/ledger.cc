#include "lib/redis/value/ledger.h"

namespace nestline::redis {

std::int64_t Ledger::copies(std::uint64_t hash) const noexcept {
  if (entries_.empty()) return 0;
  const auto entry = entries_.find(hash);
  return entry == entries_.end() ? 0 : entry->second.copies;
}

void Ledger::add(std::uint64_t hash, std::int64_t change,
                 std::optional<std::uint64_t> redisbloom_hash) {
  const auto [place, is_new] = entries_.try_emplace(hash);
  Entry& entry = place->second;
  entry.copies += change;
  total_ += change;
  if (redisbloom_hash) entry.redisbloom_hash = redisbloom_hash;
  if (entry.copies == 0) entries_.erase(place);
}

void Ledger::prepare(std::uint64_t hash) { entries_.try_emplace(hash); }

void Ledger::drop_prepared(std::uint64_t hash) noexcept {
  const auto entry = entries_.find(hash);
  if (entry != entries_.end() && entry->second.copies == 0) entries_.erase(entry);
}

void Ledger::set(std::uint64_t hash, const Entry& entry) {
  const std::int64_t change = entry.copies - copies(hash);
  if (entry.copies == 0) {
    entries_.erase(hash);
  } else {
    entries_.insert_or_assign(hash, entry);
  }
  total_ += change;
}

void Ledger::clear() noexcept {
  entries_.clear();
  total_ = 0;
  cursor_ = 0;
}

Ledger::Entries::const_iterator Ledger::next() noexcept {
  if (entries_.empty()) return entries_.end();
  auto entry = entries_.lower_bound(cursor_);
  if (entry == entries_.end()) entry = entries_.begin();
  cursor_ = entry->first + 1;  // after the highest hash this is 0, the first
  return entry;
}

std::size_t Ledger::memory_bytes() const noexcept {
  // A tree node has three pointers and a colour before its entry.
  return entries_.size() * (4 * sizeof(void*) + sizeof(Entries::value_type));
}

}  // namespace nestline::redis
