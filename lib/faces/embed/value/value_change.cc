// CuckooValue: what adds, takes out, moves and unites.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/faces/embed/value/value.h"

namespace nestline { inline namespace v0_3 { namespace redis {
namespace {

// From so many entries on, searches beside many copies are spared; the others take 20 ms on Zen 3.
constexpr std::size_t kManyEntries = 512;
constexpr std::uint64_t kMinBesideTables = 1024;  // the first beside tables of RedisBloom
// So many entries are looked at again by an erase that adds to one, so that they are settled faster
// than they come; and by one of kTurnEvery others, by hash: a look costs as much as an erase.
constexpr std::uint64_t kTurnEvery = 8;
constexpr int kTurns = 2;
// How often a compaction goes over the ledger, as long as that settles something.
constexpr int kMaxRounds = 16;

// While it lives, Views know that an erase that may choose between sub_filters is under way.
struct EndOfChoice {
  void operator()(Notices* notices) const noexcept { Notices::advance(notices->erases); }
};
using Choice = std::unique_ptr<Notices, EndOfChoice>;

Choice begin_choice(Notices* notices, std::size_t sub_filters) noexcept {
  if (notices == nullptr || sub_filters <= 1) return nullptr;
  Notices::advance(notices->erases);
  return Choice(notices);
}

}  // namespace

Outcome CuckooValue::insert(std::string_view item, const Limits& limits, Unless unless) noexcept {
  const Item hashes = item_of(item);
  return unless == Unless::present && exists_of(hashes) ? Outcome::present
                                                        : insert_item(hashes, limits);
}

void CuckooValue::insert(std::span<const std::string_view> items, Unless unless,
                         const Limits& limits, std::span<Outcome> outcomes) {
  if (items.size() != outcomes.size()) {
    throw std::invalid_argument("items and outcomes differ in length");
  }
  hash_chunks(items, [&](std::size_t at, std::span<const std::uint64_t> hashes) {
    insert_some(hashes, items.subspan(at, hashes.size()), unless, limits,
                outcomes.subspan(at, hashes.size()));
  });
}

void CuckooValue::insert(std::span<const std::uint64_t> hashes, Unless unless, const Limits& limits,
                         std::span<Outcome> outcomes) {
  check_hashes(hashes.size(), outcomes.size());
  in_chunks(hashes.size(), [&](std::size_t at, std::size_t some) {
    insert_some(hashes.subspan(at, some), {}, unless, limits, outcomes.subspan(at, some));
  });
}

// At most kMaxHashes; `items` are theirs, if there are tables. Most go to the newest sub_filter,
// whose memory is prefetched. Older ones are looked up in for all before the first is added:
// answers hold while those keep their items. The newest, which items change, is looked up in turn.
void CuckooValue::insert_some(std::span<const std::uint64_t> hashes,
                              std::span<const std::string_view> items, Unless unless,
                              const Limits& limits, std::span<Outcome> outcomes) {
  const bool is_looked_up = unless == Unless::present && tables_.empty() && !sub_filters_.empty();
  std::array<std::uint8_t, kMaxHashes> is_in_older;
  const auto items_in_older = [&] { return stored_ - sub_filters_.back().size(); };
  std::uint64_t in_older = 0;
  if (is_looked_up) {
    find_in(std::span(sub_filters_).first(sub_filters_.size() - 1), hashes,
            std::span(is_in_older).first(hashes.size()));
    in_older = items_in_older();
  }
  const auto is_in = [&](std::size_t i, const Item& item) {
    const bool answers_hold = is_looked_up && ledger_.empty() && items_in_older() == in_older;
    if (!answers_hold) return exists_of(item);
    return is_in_older[i] != 0 || sub_filters_.back().may_contain(item.hash);
  };
  const auto prefetch_one = [&](std::size_t i) { prefetch(hashes[i], 1); };
  ahead(hashes.size(), prefetch_one, [&](std::size_t i) {
    const Item item = tables_.empty() ? Item{hashes[i], std::nullopt} : item_of(items[i]);
    outcomes[i] =
        unless == Unless::present && is_in(i, item) ? Outcome::present : insert_item(item, limits);
  });
}

Outcome CuckooValue::insert_as_redisbloom(std::string_view item, Unless unless) noexcept {
  const Item hashes = item_of(item);
  if (unless == Unless::present && tables_.may_contain(*hashes.redisbloom)) return Outcome::present;
  try {
    if (!tables_.insert(*hashes.redisbloom)) ledger_.add(hashes.hash, 1, hashes.redisbloom);
    return Outcome::stored;
  } catch (const std::bad_alloc&) {
    return kNoMemory;
  }
}

Outcome CuckooValue::update(std::string_view old_item, std::string_view new_item,
                            const Limits& limits) noexcept {
  const Item old_hashes = item_of(old_item);
  const Item new_hashes = item_of(new_item);
  if (!exists_of(old_hashes)) return kMissing;
  // An item that takes its own place: adding it might drop the entry that erasing it then needs.
  if (new_hashes.hash == old_hashes.hash) {
    ++deletes_;
    return Outcome::stored;
  }
  try {
    ledger_.prepare(old_hashes.hash);  // so that erasing cannot fail once the new item is in
  } catch (const std::bad_alloc&) {
    return kNoMemory;
  }
  // A filter that is full has one item more until the old one is erased.
  const Outcome added = insert_item(new_hashes, limits, 1);
  if (added == Outcome::stored) erase_item(old_hashes);
  ledger_.drop_prepared(old_hashes.hash);
  return added;
}

Outcome CuckooValue::insert_item(const Item& item, const Limits& limits,
                                 std::uint64_t beyond) noexcept {
  try {
    if (limits.capacity && settings_.expansion == 0 && items() >= settings_.capacity + beyond) {
      return Outcome::full;
    }
    // A copy that waits to be taken out stands for the new one. A further copy of an item that has
    // some without a slot joins those, without a search for room that would be in vain.
    const std::int64_t copies = ledger_.copies(item.hash);
    if (copies >= Ledger::kMaxCopies) return Outcome::full;
    if (copies == 0) return insert_in_any(item, limits);
    ledger_.add(item.hash, 1, item.redisbloom);
    return Outcome::stored;
  } catch (const std::bad_alloc&) {  // a sub_filter's options are in bounds: nothing else is thrown
    return kNoMemory;
  }
}

Outcome CuckooValue::insert_in_any(const Item& item, const Limits& limits) {
  for (;;) {
    if (!sub_filters_.empty()) {
      SubFilter& newest = sub_filters_.back();
      if ((newest.has_room() || settings_.expansion == 0) && insert_in(newest, item)) {
        return Outcome::stored;
      }
      if (settings_.expansion == 0 && limits.capacity) return Outcome::full;
      if (insert_in_older(item) || insert_in_grown(item)) return Outcome::stored;
    }
    if (sub_filters_.size() >= std::min(limits.sub_filters, kMaxGenerations)) {
      return kTooMany;
    }
    open_generation();
  }
}

// In this sub_filter, or in the ledger when it has room but cannot take this item: its copies,
// and one other that has nowhere else to go, fill its slots, and growth would not help. With many
// entries so does an item that would need a search beside nearly as many copies as a bucket has
// slots: among blocks full of copies a search takes 10 to 50 us on Zen 3, mostly in vain.
bool CuckooValue::insert_in(SubFilter& sub_filter, const Item& item) {
  const bool is_spared =
      ledger_.size() >= kManyEntries && sub_filter.has_room() && sub_filter.is_crowded(item.hash);
  const Outcome outcome = is_spared ? Outcome::too_many_copies : sub_filter.insert(item.hash);
  if (outcome == Outcome::full && !sub_filter.has_room()) return false;
  if (outcome == Outcome::stored) {
    ++stored_;
  } else {
    ledger_.add(item.hash, 1, item.redisbloom);
  }
  return true;
}

// Doubles the newest sub_filter, if that makes room for the item. On the side: an item that is
// refused in the end is not replicated, so it must not leave a filter that has grown.
bool CuckooValue::insert_in_grown(const Item& item) {
  const std::uint64_t others = units_of(newest_family(sub_filters_)) - sub_filters_.back().units();
  const auto may_grow = [&](const SubFilter& sub_filter) {
    return sub_filter.may_grow() &&
           others + 2 * sub_filter.units() <= std::uint64_t{1} << sub_filter.most_growth();
  };
  if (!may_grow(sub_filters_.back())) return false;
  SubFilter grown = sub_filters_.back().copy();
  while (may_grow(grown) && grown.grow()) {
    if (grown.has_room() && insert_in(grown, item)) {
      sub_filters_.back() = std::move(grown);
      return true;
    }
  }
  return false;
}

// Oldest first, so that the newest ones empty.
bool CuckooValue::insert_in_older(const Item& item) noexcept {
  const bool stored =
      std::any_of(sub_filters_.begin(), sub_filters_.end() - 1, [&](SubFilter& sub_filter) {
        return sub_filter.has_room() && sub_filter.insert(item.hash) == Outcome::stored;
      });
  stored_ += stored;
  return stored;
}

void CuckooValue::open_generation() {
  std::uint64_t first = settings_.capacity;
  if (!tables_.empty()) {
    const std::uint64_t items = tables_.header().items, factor = settings_.expansion;
    first =
        factor == 0
            ? std::max(kMinBesideTables, first - std::min(items, first))
            : std::min(std::max(kMinBesideTables, items), kMaxFurtherCapacity / factor) * factor;
  }
  append_generation(sub_filters_, settings_, first, memory_);
  none_is_empty_ = false;
  if (notices_) Notices::advance(notices_->lists);
}

bool CuckooValue::erase(std::string_view item) { return erase_item(item_of(item)); }

void CuckooValue::erase(std::span<const std::uint64_t> hashes, std::span<std::uint8_t> erased) {
  check_hashes(hashes.size(), erased.size());
  std::ranges::fill(erased, std::uint8_t{0});
  for (std::size_t at = 0; at < hashes.size();) {
    const std::size_t some = std::min(kMaxHashes, hashes.size() - at);
    at += erase_some(hashes.subspan(at, some), erased.subspan(at, some));
  }
}

// Erases from the front, at most kMaxHashes. Returns how many items it has dealt with: all, unless
// the sub-filters became fewer. It looks all of them up first. Erases add no items, so what the
// lookup found still holds when an item's turn comes: an item that no sub-filter showed is not
// there, and one that a single sub-filter showed is in no other. The other items are erased singly.
std::size_t CuckooValue::erase_some(std::span<const std::uint64_t> hashes,
                                    std::span<std::uint8_t> erased) {
  const std::size_t sub_filters = sub_filters_.size();
  if (sub_filters == 1 && ledger_.empty()) {
    const std::size_t count = sub_filters_.front().erase(hashes, erased);
    stored_ -= count;
    deletes_ += count;
    none_is_empty_ = false;
    return hashes.size();
  }
  std::array<std::uint16_t, kMaxHashes> places;
  places_alone(sub_filters_, hashes, std::span(places).first(hashes.size()));
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (ledger_.copies(hashes[i]) != 0 || places[i] == kInSeveral) {
      erased[i] = erase_item({hashes[i], std::nullopt});
    } else if (places[i] != kInNone) {
      erased[i] = erase_alone(sub_filters_[places[i]], hashes[i]);
    }
    if (sub_filters_.size() != sub_filters) return i + 1;
  }
  return hashes.size();
}

bool CuckooValue::erase_item(const Item& item) {
  const std::int64_t copies = ledger_.copies(item.hash);
  if (copies == 0 && tables_.empty()) {
    const std::uint16_t place = place_alone(sub_filters_, item.hash);
    if (place == kInNone) return false;
    if (place != kInSeveral) return erase_alone(sub_filters_[place], item.hash);
  }
  const Shown slots = shown(item);
  const auto pending = static_cast<std::uint64_t>(std::max<std::int64_t>(0, 1 - copies));
  if (slots.copies < pending) return false;
  const Choice choice = begin_choice(notices_.get(), sub_filters_.size());
  const bool waits = copies > 0 || pending <= slots.copies - slots.most;
  if (waits) ledger_.add(item.hash, -1, item.redisbloom);
  ++deletes_;
  if (!waits) take_out(item, slots, pending);
  finish_erase(item.hash, waits);
  return true;
}

// Erases an item without an entry from the only sub-filter that shows it, as most erases do.
bool CuckooValue::erase_alone(SubFilter& sub_filter, std::uint64_t hash) noexcept {
  const Choice choice = begin_choice(notices_.get(), sub_filters_.size());
  if (!sub_filter.erase(hash)) return false;
  --stored_;
  ++deletes_;
  none_is_empty_ &= sub_filter.size() != 0;
  finish_erase(hash, false);
  return true;
}

// What follows an erase, which may have `added` to an entry of the ledger.
void CuckooValue::finish_erase(std::uint64_t hash, bool added) noexcept {
  const int turns = added || hash % kTurnEvery == 0 ? kTurns : 0;
  for (int turn = 0; turn < turns && !ledger_.empty(); ++turn) settle_entry(ledger_.next());
  // Tables alone are saved as RedisBloom's, which counts its own.
  if (follows_redisbloom() && ledger_.empty()) deletes_ = 0;
  if (!is_complete()) return;
  if (!ledger_.empty() && all_is_erased() && block_bytes() <= kMaxBytesToDouble) empty_all();
  none_is_empty_ = none_is_empty_ || !drop_empty(sub_filters_, kMaxBytesToDouble);
}

// `pending` erased copies of the item still stand in slots. If all other filters together show n
// copies of it, at least pending - n of them are in this filter: that many are taken out here. The
// rest stays in the ledger's entry. That is right for several filters at once, since each of these
// copies is in one of them. Within a filter any slot that shows the item may go: if it was another
// item's, a slot that is left shows that one. A family is one filter: sub_filter_list.cc chooses
// the slot.
void CuckooValue::take_out(const Item& item, const Shown& slots, std::uint64_t pending) noexcept {
  none_is_empty_ = false;
  std::uint64_t rest = pending;
  const bool is_alone = slots.most == slots.copies;  // one filter only shows it
  const auto take_from = [&](const auto& showing, const auto& erase) {
    std::uint64_t here = rest;
    if (!is_alone) {
      const std::uint64_t copies = showing();
      const std::uint64_t elsewhere = slots.copies - copies;
      here = pending > elsewhere ? std::min(copies, pending - elsewhere) : 0;
    }
    for (; here != 0 && erase(); --here) --rest;
  };
  for_each_family(std::span(sub_filters_), [&](std::span<SubFilter> family) {
    take_from([&] { return count_in(family, item.hash); },
              [&] {
                if (!erase_from(family, item.hash)) return false;
                --stored_;
                return true;
              });
  });
  if (item.redisbloom) {
    take_from([&] { return tables_.count(*item.redisbloom, true); },
              [&] {
                if (!tables_.erase(*item.redisbloom)) return false;
                if (deletes_ != 0) --deletes_;  // the tables count it
                return true;
              });
  }
  // Slots may show less than an entry counts, in a forged image.
  if (pending >= slots.copies) rest = 0;
  const std::int64_t change = -static_cast<std::int64_t>(rest) - ledger_.copies(item.hash);
  if (change != 0) ledger_.add(item.hash, change, item.redisbloom);
}

// Whether two families show the item where they did before: then it is not known which has it.
bool CuckooValue::is_seen_in_two(const Ledger::Entries::value_type& entry) const noexcept {
  const auto [first, second] = entry.second.seen_in;
  return first < second && second < sub_filters_.size() &&
         !sub_filters_[first].is_related(sub_filters_[second]) &&
         sub_filters_[first].may_contain(entry.first) &&
         sub_filters_[second].may_contain(entry.first);
}

// Whether something waited to be taken out of which it is known where it is, and was.
bool CuckooValue::settle_entry(Ledger::Entries::const_iterator entry) noexcept {
  const auto& [hash, what] = *entry;
  if (what.copies > 0) return false;
  const Item item{hash, tables_.empty() ? std::nullopt : what.redisbloom_hash()};
  const auto pending = static_cast<std::uint64_t>(-what.copies);
  if (pending == 1 && is_seen_in_two(*entry)) return false;
  const Shown slots = shown(item);
  if (pending <= slots.copies - slots.most) {
    what.seen_in = two_places(sub_filters_, hash);
    return false;
  }
  take_out(item, slots, pending);
  return true;
}

bool CuckooValue::settle_all() noexcept {
  bool any = false;
  const Ledger::Entries& entries = ledger_.entries();
  for (auto entry = entries.begin(); entry != entries.end();) {
    const std::uint64_t hash = entry->first;
    any = settle_entry(entry) || any;
    entry = entries.upper_bound(hash);
  }
  return any;
}

void CuckooValue::clear() {
  CuckooValue fresh(settings_, memory_);
  fresh.open_generation();
  *this = std::move(fresh);
}

void CuckooValue::compact() {
  Compaction compaction(sub_filters_, settings_.seed, memory_);  // all that can fail, and this:
  for (SubFilter& sub_filter : sub_filters_) sub_filter.take_back();
  tables_.compact(true);
  for (int round = 0; round < kMaxRounds && settle_all(); ++round) {
  }
  if (!follows_redisbloom() && all_is_erased()) empty_all();
  compaction.carry_out(sub_filters_);
  none_is_empty_ = !drop_empty(sub_filters_);
  if (!sub_filters_.empty() && tables_.taken() == 0) tables_ = {};
  deletes_ = 0;
  awaited_items_ = 0;
}

// Of a value that has a sub_filter: what is left is erased.
void CuckooValue::empty_all() noexcept {
  deletes_ += tables_.header().deletes;
  tables_ = {};
  for (SubFilter& sub_filter : sub_filters_) {
    // What is empty may be memory that was never touched.
    if (sub_filter.size() != 0) sub_filter.clear();
  }
  stored_ = 0;
  none_is_empty_ = false;
  ledger_.clear();
}

void CuckooValue::merge(const CuckooValue& other, std::uint64_t most_generations) {
  if (other.settings_.seed != settings_.seed) {
    throw std::invalid_argument("the two hash their items under different seeds");
  }
  if (other.settings_.turns_over != settings_.turns_over) {
    throw std::invalid_argument("one of the two turns over (TURNSOVER) and the other does not");
  }
  if (!other.tables_.empty()) {
    throw std::invalid_argument("tables of RedisBloom cannot be merged into another filter");
  }
  if (settings_.expansion == 0 && items() + other.items() > settings_.capacity) {
    throw std::invalid_argument("together they hold more than the capacity, and expansion is 0");
  }
  std::vector<SubFilter> both =
      united(sub_filters_, other.sub_filters_, std::min(most_generations, kMaxGenerations));
  Ledger ledger(memory_);
  ledger = ledger_;
  for (const auto& [hash, entry] : other.ledger_.entries()) {
    ledger.add(hash, entry.copies, entry.redisbloom_hash());
    if (ledger.copies(hash) > Ledger::kMaxCopies) {
      throw std::invalid_argument("together they hold more than 2^32 copies of one item");
    }
  }
  sub_filters_ = std::move(both);
  none_is_empty_ = false;
  stored_ += other.stored_;
  ledger_ = std::move(ledger);
}

}}}  // namespace nestline::redis
