// CuckooValue: what adds.
#include <algorithm>
#include <array>
#include <new>
#include <stdexcept>
#include <utility>

#include "lib/redis/value/generation_list.h"
#include "lib/redis/value/generation_plan.h"
#include "lib/redis/value/value.h"

namespace nestline::redis {
namespace {

// Items of a batch whose memory is prefetched before the first of them has its turn.
constexpr std::size_t kAhead = 16;

// From so many entries of the ledger on, searches for room beside many copies are spared: the
// searches that make so many entries take some 20 ms together on Zen 3.
constexpr std::size_t kManyEntries = 512;

// The first beside tables of RedisBloom.
constexpr std::uint64_t kLeastBesideTables = 1024;

std::uint64_t times(std::uint64_t capacity, std::uint64_t factor) {
  return capacity > kMostFurtherCapacity / factor ? kMostFurtherCapacity : capacity * factor;
}

}  // namespace

Added CuckooValue::add(std::string_view item, const Limits& limits) noexcept {
  return add_item(item_of(item), limits);
}

Added CuckooValue::add_unique(std::string_view item, const Limits& limits) noexcept {
  const Item hashes = item_of(item);
  return exists_of(hashes) ? Added::present : add_item(hashes, limits);
}

void CuckooValue::add(std::span<const std::string_view> items, Unless unless, const Limits& limits,
                      std::span<Added> outcomes) {
  if (items.size() != outcomes.size()) {
    throw std::invalid_argument("items and outcomes differ in length");
  }
  hash_chunks(items, [&](std::size_t at, std::span<const std::uint64_t> hashes) {
    add_some(hashes, items.subspan(at, hashes.size()), unless, limits,
             outcomes.subspan(at, hashes.size()));
  });
}

void CuckooValue::add(std::span<const std::uint64_t> hashes, Unless unless, const Limits& limits,
                      std::span<Added> outcomes) {
  check_hashes(hashes.size(), outcomes.size());
  in_chunks(hashes.size(), [&](std::size_t at, std::size_t some) {
    add_some(hashes.subspan(at, some), {}, unless, limits, outcomes.subspan(at, some));
  });
}

// At most kMostFound hashes; `items` are theirs, and needed only where there are tables. An item
// goes to the newest generation as a rule, so that one's memory is prefetched. Whether items are in
// an older one is looked up for all of them before the first is added: the answers hold while the
// older ones keep the items that they have. The newest is asked for each item in its turn, since
// the items before it have changed it.
void CuckooValue::add_some(std::span<const std::uint64_t> hashes,
                           std::span<const std::string_view> items, Unless unless,
                           const Limits& limits, std::span<Added> outcomes) {
  const bool is_looked_up = unless == Unless::present && tables_.empty() && !generations_.empty();
  std::array<std::uint8_t, kMostFound> is_in_older;
  const auto items_in_older = [&] { return stored_ - generations_.back().size(); };
  std::uint64_t in_older = 0;
  if (is_looked_up) {
    find_in(std::span(generations_).first(generations_.size() - 1), hashes,
            std::span(is_in_older).first(hashes.size()));
    in_older = items_in_older();
  }
  const auto is_in = [&](std::size_t i, const Item& item) {
    const bool answers_hold = is_looked_up && ledger_.empty() && items_in_older() == in_older;
    if (!answers_hold) return exists_of(item);
    return is_in_older[i] != 0 || generations_.back().may_contain(item.hash);
  };
  for (std::size_t i = 0; i < std::min(kAhead, hashes.size()); ++i) prefetch_newest(hashes[i], 1);
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (i + kAhead < hashes.size()) prefetch_newest(hashes[i + kAhead], 1);
    const Item item = tables_.empty() ? Item{hashes[i], std::nullopt} : item_of(items[i]);
    outcomes[i] =
        unless == Unless::present && is_in(i, item) ? Added::present : add_item(item, limits);
  }
}

Added CuckooValue::add_as_redisbloom(std::string_view item, bool unique) noexcept {
  const Item hashes = item_of(item);
  if (unique && tables_.may_contain(*hashes.redisbloom)) return Added::present;
  try {
    if (!tables_.add(*hashes.redisbloom)) ledger_.add(hashes.hash, 1, hashes.redisbloom);
    return Added::added;
  } catch (const std::bad_alloc&) {
    return Added::no_memory;
  }
}

void CuckooValue::open_beside_tables() { open_generation(); }

Added CuckooValue::update(std::string_view old_item, std::string_view new_item,
                          const Limits& limits) noexcept {
  const Item old_hashes = item_of(old_item);
  const Item new_hashes = item_of(new_item);
  if (!exists_of(old_hashes)) return Added::missing;
  // An item that takes its own place: adding it might drop the entry that erasing it then needs.
  if (new_hashes.hash == old_hashes.hash) {
    ++deletes_;
    return Added::added;
  }
  try {
    // So that erasing cannot fail once the new item is in.
    ledger_.prepare(old_hashes.hash);
  } catch (const std::bad_alloc&) {
    return Added::no_memory;
  }
  const Added added = add_item(new_hashes, limits);
  if (added == Added::added) erase_item(old_hashes);
  ledger_.drop_prepared(old_hashes.hash);
  return added;
}

Added CuckooValue::add_item(const Item& item, const Limits& limits) noexcept {
  try {
    if (limits.capacity && settings_.expansion == 0 && items() >= settings_.capacity) {
      return Added::full;
    }
    // A copy that waits to be taken out stands for the new one. A further copy of an item that has
    // some without a slot joins those, without a search for room that would be in vain.
    const std::int64_t copies = ledger_.copies(item.hash);
    if (copies >= Ledger::kMostCopies) return Added::full;
    if (copies == 0) return store(item, limits);
    ledger_.add(item.hash, 1, item.redisbloom);
    return Added::added;
  } catch (const std::bad_alloc&) {  // a generation's options are in bounds: nothing else is thrown
    return Added::no_memory;
  }
}

Added CuckooValue::store(const Item& item, const Limits& limits) {
  for (;;) {
    if (!generations_.empty()) {
      Generation& newest = generations_.back();
      if ((newest.has_room() || settings_.expansion == 0) && store_in(newest, item)) {
        return Added::added;
      }
      if (settings_.expansion == 0 && limits.capacity) return Added::full;
      if (store_in_older(item) || store_in_grown(item)) return Added::added;
    }
    if (generations_.size() >= std::min(limits.generations, kMostGenerations)) {
      return Added::too_many;
    }
    open_generation();
  }
}

// In this generation, or in the ledger when it cannot take this item although it has room: then its
// copies, and one other that has nowhere else to go, fill the item's slots. Growth would not help.
// Once the ledger has many entries, an item is also counted there that would need a search beside
// nearly as many copies as a bucket has slots: among blocks full of copies each search takes 10 to
// 50 us on Zen 3, and most find nothing. Until then no insert pays for that check.
bool CuckooValue::store_in(Generation& generation, const Item& item) {
  if (ledger_.size() >= kManyEntries && generation.has_room() && generation.is_crowded(item.hash)) {
    ledger_.add(item.hash, 1, item.redisbloom);
    return true;
  }
  const Outcome outcome = generation.insert(item.hash);
  if (outcome == Outcome::stored) {
    ++stored_;
    return true;
  }
  if (outcome == Outcome::full && !generation.has_room()) return false;
  ledger_.add(item.hash, 1, item.redisbloom);
  return true;
}

// Doubles the newest generation in place, if that makes room for the item. On the side: an item
// that is refused in the end is not replicated, and so must not leave a filter that has grown.
bool CuckooValue::store_in_grown(const Item& item) {
  const std::uint64_t others = units_of(newest_family(generations_)) - generations_.back().units();
  const auto may_grow = [&](const Generation& generation) {
    return generation.may_grow() &&
           others + 2 * generation.units() <= std::uint64_t{1} << generation.most_growth();
  };
  if (!may_grow(generations_.back())) return false;
  Generation grown = generations_.back().copy();
  while (may_grow(grown) && grown.grow()) {
    if (grown.has_room() && store_in(grown, item)) {
      generations_.back() = std::move(grown);
      return true;
    }
  }
  return false;
}

// Oldest first, so that the newest ones empty.
bool CuckooValue::store_in_older(const Item& item) noexcept {
  const bool stored =
      std::any_of(generations_.begin(), generations_.end() - 1, [&](Generation& generation) {
        return generation.has_room() && generation.insert(item.hash) == Outcome::stored;
      });
  stored_ += stored;
  return stored;
}

void CuckooValue::open_generation() {
  std::uint64_t first = settings_.capacity;
  if (!tables_.empty()) {
    const std::uint64_t items = tables_.header().items;
    first =
        settings_.expansion == 0
            ? std::max(kLeastBesideTables, settings_.capacity - std::min(items, settings_.capacity))
            : times(std::max(kLeastBesideTables, items), settings_.expansion);
  }
  append_generation(generations_, settings_, first, memory_);
  if (notices_) Notices::advance(notices_->lists);
}

}  // namespace nestline::redis
