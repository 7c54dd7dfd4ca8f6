// CuckooValue: what takes out, moves and unites.
#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lib/redis/value/generation_list.h"
#include "lib/redis/value/generation_plan.h"
#include "lib/redis/value/value.h"

namespace nestline::redis {
namespace {

// So many entries of the ledger are looked at again by an erase that adds to one, so that they are
// settled faster than they come up; and by one of kTurnEvery others, chosen by the item's hash,
// since each look costs as much as an erase.
constexpr std::uint64_t kTurnEvery = 8;
constexpr int kTurns = 2;

// Hashes whose memory is prefetched before the first of them has its turn, and the generations,
// newest first, that this is done for.
constexpr std::size_t kHashesAhead = 16;
constexpr std::size_t kMostAhead = 4;

// How often a compaction goes over the ledger, as long as that settles something.
constexpr int kMostRounds = 16;

// While it lives, other threads know that an erase is under way that may choose between generations
// (view.h).
class Choosing {
 public:
  Choosing(Notices* notices, std::size_t generations)
      : notices_(generations > 1 ? notices : nullptr) {
    advance();
  }
  ~Choosing() { advance(); }
  Choosing(const Choosing&) = delete;
  Choosing& operator=(const Choosing&) = delete;

 private:
  void advance() const noexcept {
    if (notices_ != nullptr) Notices::advance(notices_->erases);
  }
  Notices* notices_;
};

}  // namespace

bool CuckooValue::erase(std::string_view item) { return erase_item(item_of(item)); }

void CuckooValue::erase(std::span<const std::uint64_t> hashes, std::span<std::uint8_t> erased) {
  check_hashes(hashes.size(), erased.size());
  std::fill(erased.begin(), erased.end(), std::uint8_t{0});
  const auto prefetch = [&](std::size_t i) {
    if (i < hashes.size()) prefetch_newest(hashes[i], kMostAhead);
  };
  for (std::size_t i = 0; i < kHashesAhead; ++i) prefetch(i);
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    prefetch(i + kHashesAhead);
    erased[i] = erase_item({hashes[i], std::nullopt});
  }
}

bool CuckooValue::erase_item(const Item& item) {
  // One filter with nothing beside it: what it shows is there. Most erases are of this kind.
  if (generations_.size() == 1 && ledger_.empty() && tables_.empty()) {
    if (!generations_.front().erase(item.hash)) return false;
    --stored_;
    ++deletes_;
    return true;
  }
  const std::int64_t copies = ledger_.copies(item.hash);
  const Shown slots = shown(item);
  const auto pending = static_cast<std::uint64_t>(std::max<std::int64_t>(0, 1 - copies));
  if (slots.copies < pending) return false;
  const Choosing choosing(notices_.get(), generations_.size());
  const bool waits = copies > 0 || pending <= slots.copies - slots.most;
  if (waits) {
    ledger_.add(item.hash, -1, item.redisbloom);
    ++deletes_;
  } else {
    ++deletes_;
    take_out(item, slots, pending);
  }
  const int turns = waits || item.hash % kTurnEvery == 0 ? kTurns : 0;
  for (int turn = 0; turn < turns && !ledger_.empty(); ++turn) settle_entry(ledger_.next());
  if (!is_complete()) return true;
  if (!ledger_.empty() && block_bytes() <= kMostBytesToDouble && all_is_erased()) empty_all();
  drop_empty(generations_, kMostBytesToDouble);
  return true;
}

// Takes out of each filter the copies that are certainly there, of `pending` that were erased and
// still stand in slots: those that all other filters together have no room for, since they show no
// more of the item. The rest stays in the item's entry.
//
// That is right for several filters at once: each of these copies is in one of them, wherever. And
// it is right to take any slot that shows the item, for whoever owns it is shown by the slot that
// is left in its place. A family is one filter: generation_list.h says which of its slots is taken.
void CuckooValue::take_out(const Item& item, const Shown& slots, std::uint64_t pending) noexcept {
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
  for_each_family(std::span(generations_), [&](std::span<Generation> family) {
    take_from([&] { return count_in(family, item.hash); },
              [&] {
                if (!erase_from(family, item.hash)) return false;
                --stored_;
                return true;
              });
  });
  if (item.redisbloom) {
    take_from([&] { return tables_.slots_of(*item.redisbloom); },
              [&] {
                if (!tables_.erase(*item.redisbloom)) return false;
                if (deletes_ != 0) --deletes_;  // the tables count it
                return true;
              });
  }
  // Slots may show less than an entry says, in a forged image.
  if (pending >= slots.copies) rest = 0;
  const std::int64_t change = -static_cast<std::int64_t>(rest) - ledger_.copies(item.hash);
  if (change != 0) ledger_.add(item.hash, change, item.redisbloom);
}

// Whether something waited to be taken out of which it is known where it is, and was.
bool CuckooValue::settle_entry(Ledger::Entries::const_iterator entry) noexcept {
  const auto& [hash, what] = *entry;
  if (what.copies > 0) return false;
  const Item item{hash, tables_.empty() ? std::nullopt : what.redisbloom_hash};
  const auto pending = static_cast<std::uint64_t>(-what.copies);
  const Shown slots = shown(item);
  if (pending <= slots.copies - slots.most) return false;
  take_out(item, slots, pending);
  return true;
}

// Whether anything was settled.
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
  Compaction compaction(generations_, settings_.seed, memory_);  // all that can fail, and this:
  for (Generation& generation : generations_) generation.take_back();
  tables_.compact(true);
  for (int round = 0; round < kMostRounds && settle_all(); ++round) {
  }
  if (!follows_redisbloom() && all_is_erased()) empty_all();
  compaction.carry_out(generations_);
  drop_empty(generations_);
  if (!generations_.empty() && tables_.is_clear()) tables_ = {};
  deletes_ = 0;
  awaited_items_ = 0;
}

// Not memory_bytes: what vectors keep in reserve differs between a value and its copy, and whoever
// replays a command must decide alike.
std::uint64_t CuckooValue::block_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const Generation& generation : generations_) bytes += generation.block_bytes();
  return bytes + tables_.slots();
}

// Whether all that slots still show waits to be taken out. Slots of tables are counted, since their
// header may tell less.
bool CuckooValue::all_is_erased() const noexcept {
  return items() == 0 && items_beside_tables() + static_cast<std::int64_t>(tables_.taken()) <= 0;
}

// Of a value that has a generation: what is left is erased.
void CuckooValue::empty_all() noexcept {
  deletes_ += tables_.header().deletes;
  tables_ = {};
  for (Generation& generation : generations_) {
    // What is empty may be memory that was never touched.
    if (generation.size() != 0) generation.clear();
  }
  stored_ = 0;
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
  std::vector<Generation> both =
      united(generations_, other.generations_, std::min(most_generations, kMostGenerations));
  Ledger ledger(memory_);
  ledger = ledger_;
  for (const auto& [hash, entry] : other.ledger_.entries()) {
    ledger.add(hash, entry.copies, entry.redisbloom_hash);
    if (ledger.copies(hash) > Ledger::kMostCopies) {
      throw std::invalid_argument("together they hold more than 2^32 copies of one item");
    }
  }
  generations_ = std::move(both);
  stored_ += other.stored_;
  ledger_ = std::move(ledger);
}

}  // namespace nestline::redis
