// CuckooValue: its changes.
#include <algorithm>
#include <limits>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lib/redis/value/generation_plan.h"
#include "lib/redis/value/value.h"

namespace nestline::redis {
namespace {

// A further generation has room for this many at least: smaller ones fill badly.
constexpr std::uint64_t kLeastFurtherCapacity = 256;
// The first beside tables of RedisBloom.
constexpr std::uint64_t kLeastBesideTables = 1024;

// Entries of the ledger that an erase looks at again. More than the one it may add, so that they
// are settled faster than they come up.
constexpr int kTurns = 2;

std::uint64_t times(std::uint64_t capacity, std::uint64_t factor) {
  return capacity > kMostFurtherCapacity / factor ? kMostFurtherCapacity : capacity * factor;
}

// Adds a generation of another value to the one here that it can be united with, if there is one.
bool unite(std::vector<Generation>& generations, const Generation& other) {
  for (Generation& each : generations) {
    GenerationShape shape = other.shape();
    shape.most_growth = each.most_growth();
    const std::uint64_t keys = each.filter().size() + other.filter().size();
    if (each.shape() != shape || keys > each.filter().capacity()) continue;
    try {
      each.filter().merge(other.filter());
      return true;
    } catch (const std::length_error&) {
      // More copies of something than find place: it has to stay by itself.
    }
  }
  return false;
}

}  // namespace

Added CuckooValue::add(std::string_view item, std::uint64_t most_generations) noexcept {
  return add_item(item_of(item), most_generations);
}

Added CuckooValue::add_unique(std::string_view item, std::uint64_t most_generations) noexcept {
  const Item hashes = item_of(item);
  return exists_of(hashes) ? Added::present : add_item(hashes, most_generations);
}

Added CuckooValue::update(std::string_view old_item, std::string_view new_item,
                          std::uint64_t most_generations) noexcept {
  const Item old_hashes = item_of(old_item);
  if (!exists_of(old_hashes)) return Added::missing;
  try {
    // So that erasing cannot fail once the new item is in.
    ledger_.prepare(old_hashes.hash);
  } catch (const std::bad_alloc&) {
    return Added::no_memory;
  }
  const Added added = add_item(item_of(new_item), most_generations);
  if (added == Added::added) erase_item(old_hashes);
  ledger_.drop_prepared(old_hashes.hash);
  return added;
}

Added CuckooValue::add_item(const Item& item, std::uint64_t most_generations) noexcept {
  try {
    if (settings_.expansion == 0 && items() >= settings_.capacity) return Added::full;
    // A copy that waits to be taken out stands for the new one.
    const std::int64_t copies = ledger_.copies(item.hash);
    if (copies >= Ledger::kMostCopies) return Added::full;
    if (copies >= 0) return store(item, most_generations);
    ledger_.add(item.hash, 1, item.redisbloom);
    return Added::added;
  } catch (const std::bad_alloc&) {
    return Added::no_memory;
  }
}

Added CuckooValue::store(const Item& item, std::uint64_t most_generations) {
  for (;;) {
    if (!generations_.empty()) {
      Generation& newest = generations_.back();
      if ((newest.has_room() || settings_.expansion == 0) && store_in(newest, item)) {
        return Added::added;
      }
      if (settings_.expansion == 0) return Added::full;
      if (store_in_older(item) || store_in_grown(item)) return Added::added;
    }
    if (generations_.size() >= std::min(most_generations, kMostGenerations)) {
      return Added::too_many;
    }
    open_generation();
  }
}

// In this generation, or in the ledger when it cannot take this item although it has room: then its
// copies, and one other that has nowhere else to go, fill the item's slots. Growth would not help.
bool CuckooValue::store_in(Generation& generation, const Item& item) {
  const Outcome outcome = generation.filter().insert(item.hash).outcome;
  if (outcome == Outcome::stored) return true;
  if (outcome == Outcome::full && !generation.has_room()) return false;
  ledger_.add(item.hash, 1, item.redisbloom);
  return true;
}

// Doubles the newest generation in place, if that makes room for the item. On the side: an item
// that is refused in the end is not replicated, and so must not leave a filter that has grown.
bool CuckooValue::store_in_grown(const Item& item) {
  if (!generations_.back().may_grow()) return false;
  Generation grown = generations_.back().copy();
  while (grown.may_grow() && grown.filter().grow()) {
    if (grown.has_room() && store_in(grown, item)) {
      generations_.back() = std::move(grown);
      return true;
    }
  }
  return false;
}

// Oldest first, so that the newest ones empty.
bool CuckooValue::store_in_older(const Item& item) noexcept {
  return std::any_of(generations_.begin(), generations_.end() - 1, [&](Generation& generation) {
    return generation.has_room() && generation.filter().insert(item.hash);
  });
}

void CuckooValue::open_generation() {
  Billionths used = 0;
  std::uint64_t keys = 0;
  std::uint32_t number = 0;
  for (const Generation& generation : generations_) {
    used += rate_when_full(generation.filter().bits(), generation.filter().growth());
    keys += generation.filter().size();
    number = std::max(number, generation.number() + 1);
  }
  std::uint64_t capacity = settings_.capacity;
  if (!generations_.empty()) {
    // At least as many as there are: so generations stay few, however small the expansion.
    capacity = std::max({kLeastFurtherCapacity, std::min(keys, kMostFurtherCapacity),
                         times(generations_.back().filter().capacity(), settings_.expansion)});
  } else if (!tables_.empty()) {
    const std::uint64_t items = tables_.header().items;
    capacity = settings_.expansion == 0
                   ? std::max(kLeastBesideTables, settings_.capacity - items)
                   : times(std::max(kLeastBesideTables, items), settings_.expansion);
  }
  generations_.emplace_back(plan_generation(settings_, used, capacity), settings_.seed, number);
}

bool CuckooValue::erase(std::string_view item) { return erase_item(item_of(item)); }

bool CuckooValue::erase_item(const Item& item) {
  const std::int64_t copies = ledger_.copies(item.hash);
  const Shown slots = shown(item);
  const auto pending = static_cast<std::uint64_t>(std::max<std::int64_t>(0, 1 - copies));
  if (slots.copies < pending) return false;
  if (copies > 0 || (slots.filters > 1 && slots.copies > pending)) {
    ledger_.add(item.hash, -1, item.redisbloom);
    ++deletes_;
  } else {
    ++deletes_;
    take_out(item, pending);
  }
  for (int turn = 0; turn < kTurns && !ledger_.empty(); ++turn) settle_entry(ledger_.next());
  if (!is_complete()) return true;
  if (!ledger_.empty() && items() == 0 && block_bytes() <= kMostBytesToDouble) empty_all();
  drop_empty(kMostBytesToDouble);
  return true;
}

// Takes so many fingerprints out of whichever filters show them, and with them the item's entry.
void CuckooValue::take_out(const Item& item, std::uint64_t copies) noexcept {
  const std::int64_t entry = ledger_.copies(item.hash);
  if (entry < 0) ledger_.add(item.hash, -entry, 0);
  for (auto generation = generations_.rbegin(); generation != generations_.rend(); ++generation) {
    while (copies != 0 && generation->filter().erase(item.hash)) --copies;
  }
  while (copies != 0 && item.redisbloom != 0 && tables_.erase(item.redisbloom)) {
    --copies;
    if (deletes_ != 0) --deletes_;  // the tables count it
  }
}

// Takes out what waits to be taken out, if it is known where it is: `pending` copies were erased,
// and slots still show them. Where one filter only shows the item, they are there. Where slots show
// no more than those copies, all that they show is those copies.
void CuckooValue::settle_entry(Ledger::Entries::const_iterator entry) noexcept {
  const auto& [hash, what] = *entry;
  if (what.copies > 0) return;
  const Item item{hash, what.redisbloom_hash};
  const auto pending = static_cast<std::uint64_t>(-what.copies);
  const Shown slots = shown(item);
  if (slots.filters <= 1 || slots.copies <= pending) take_out(item, pending);
}

void CuckooValue::settle_all() noexcept {
  const Ledger::Entries& entries = ledger_.entries();
  for (auto entry = entries.begin(); entry != entries.end();) {
    const std::uint64_t hash = entry->first;
    settle_entry(entry);
    entry = entries.upper_bound(hash);
  }
}

// One generation stays, so that the next item finds it.
void CuckooValue::drop_empty(std::size_t most_bytes) noexcept {
  for (std::size_t i = generations_.size(); i-- > 0 && generations_.size() > 1;) {
    const Filter& filter = generations_[i].filter();
    if (filter.size() == 0 && filter.memory_bytes() <= most_bytes) {
      generations_.erase(generations_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

void CuckooValue::clear() {
  CuckooValue fresh(settings_);
  fresh.open_generation();
  *this = std::move(fresh);
}

void CuckooValue::compact() noexcept {
  tables_.compact(true);
  settle_all();
  if (items() == 0) empty_all();
  drop_empty(std::numeric_limits<std::size_t>::max());
  if (!generations_.empty() && tables_.is_clear()) tables_ = {};
  deletes_ = 0;
  awaited_items_ = 0;
}

// Not memory_bytes: what vectors keep in reserve differs between a value and its copy, and whoever
// replays a command must decide alike.
std::uint64_t CuckooValue::block_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const Generation& generation : generations_) bytes += generation.filter().memory_bytes();
  return bytes;
}

// When there are no items, all that slots still show waits to be taken out.
void CuckooValue::empty_all() noexcept {
  for (Generation& generation : generations_) {
    // What is empty may be memory that nobody has touched yet.
    if (generation.filter().size() != 0) generation.filter().clear();
  }
  ledger_.clear();
}

void CuckooValue::merge(const CuckooValue& other, std::uint64_t most_generations) {
  if (other.settings_.seed != settings_.seed) {
    throw std::invalid_argument("the two hash their items under different seeds");
  }
  if (!other.tables_.empty()) {
    throw std::invalid_argument("tables of RedisBloom cannot be merged into another filter");
  }
  if (settings_.expansion == 0 && items() + other.items() > settings_.capacity) {
    throw std::invalid_argument("together they hold more than the capacity, and expansion is 0");
  }
  std::vector<Generation> united;
  united.reserve(generations_.size() + other.generations_.size());
  for (const Generation& generation : generations_) united.push_back(generation.copy());
  for (const Generation& generation : other.generations_) {
    if (unite(united, generation)) continue;
    // The newest of these stays the last: it is the one that grows.
    united.insert(united.end() - !united.empty(), generation.copy());
    if (united.size() > std::min(most_generations, kMostGenerations)) {
      throw std::invalid_argument(
          "together they need more filters than a key may have (cf-max-expansions)");
    }
  }
  Ledger ledger = ledger_;
  for (const auto& [hash, entry] : other.ledger_.entries()) {
    ledger.add(hash, entry.copies, entry.redisbloom_hash);
    if (ledger.copies(hash) > Ledger::kMostCopies) {
      throw std::invalid_argument("together they hold more than 2^32 copies of one item");
    }
  }
  generations_ = std::move(united);
  ledger_ = std::move(ledger);
}

}  // namespace nestline::redis
