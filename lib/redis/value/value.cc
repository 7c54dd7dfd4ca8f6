// CuckooValue: making it, questions, figures; then its changes; then its bytes, out and in.
#include "lib/redis/value/value.h"

#include <algorithm>
#include <array>
#include <bit>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lib/file/filter_blocks.h"
#include "lib/redis/redisbloom/murmur_hash64a.h"
#include "lib/redis/value/family.h"
#include "lib/redis/value/generation_list.h"
#include "lib/redis/value/generation_plan.h"
#include "lib/redis/value/image.h"
#include "nestline/keys.h"

namespace nestline::redis {
namespace {

// Items of a batch that are asked for together: their hashes and positions lie on the stack.
constexpr std::size_t kBatch = 512;

constexpr std::uint64_t kMostKeptCapacity = std::uint64_t{1} << 40;

// The first beside tables of RedisBloom.
constexpr std::uint64_t kLeastBesideTables = 1024;

// Generations, newest first, whose memory is asked for ahead of a change.
constexpr std::size_t kMostPrefetched = 16;

// So many entries of the ledger are looked at again by an erase that adds to one, so that they are
// settled faster than they come up; and by one of kTurnEvery others, chosen by the item's hash,
// since each look costs as much as an erase.
constexpr std::uint64_t kTurnEvery = 8;
constexpr int kTurns = 2;

// How often a compaction goes over the ledger, as long as that settles something.
constexpr int kMostRounds = 16;

std::uint64_t times(std::uint64_t capacity, std::uint64_t factor) {
  return capacity > kMostFurtherCapacity / factor ? kMostFurtherCapacity : capacity * factor;
}

// The areas of a value's image.
class ValueAreas final : public Areas {
 public:
  ValueAreas(const std::vector<Generation>& generations, const RedisBloomTables& tables)
      : generations_(generations), tables_(tables) {}

  [[nodiscard]] std::uint64_t generations() const noexcept override { return generations_.size(); }
  [[nodiscard]] std::uint64_t tables() const noexcept override { return tables_.header().tables; }
  [[nodiscard]] std::uint64_t bytes(AreaKind kind, std::uint64_t index) const noexcept override {
    return content({kind, index, 0, 0}).size();
  }
  // All bytes of the area.
  [[nodiscard]] std::span<const std::byte> content(const PiecePlace& place) const noexcept {
    return place.kind == AreaKind::blocks
               ? generations_[static_cast<std::size_t>(place.index)].bytes()
               : tables_.table(place.index);
  }

 private:
  const std::vector<Generation>& generations_;
  const RedisBloomTables& tables_;
};

}  // namespace

CuckooValue::CuckooValue(const Settings& settings, std::pmr::memory_resource* memory)
    : settings_(normalized(settings)), memory_(memory) {}

std::unique_ptr<CuckooValue> CuckooValue::create(const Settings& settings,
                                                 std::pmr::memory_resource* memory) {
  check(settings);
  std::unique_ptr<CuckooValue> value(new CuckooValue(settings, memory));
  value->open_generation();
  return value;
}

std::unique_ptr<CuckooValue> CuckooValue::from_tables(RedisBloomTables tables, std::uint64_t seed) {
  if (tables.empty()) throw std::invalid_argument("there are no tables");
  const RedisBloomHeader& header = tables.header();
  Settings settings;
  settings.capacity = header.buckets > kMostKeptCapacity / header.bucket_size
                          ? kMostKeptCapacity
                          : header.buckets * header.bucket_size;
  settings.bucket_size = header.bucket_size;
  settings.max_iterations = header.max_iterations;
  settings.expansion = header.expansion;
  settings.seed = seed;
  std::unique_ptr<CuckooValue> value(new CuckooValue(settings, tables.memory()));
  value->tables_ = std::move(tables);
  return value;
}

std::unique_ptr<CuckooValue> CuckooValue::create_as_redisbloom(const Settings& settings,
                                                               std::pmr::memory_resource* memory) {
  check(settings);
  const Settings kept = normalized(settings);
  RedisBloomHeader header;
  header.buckets = std::bit_ceil(std::max<std::uint64_t>(1, kept.capacity / kept.bucket_size));
  header.tables = 1;
  header.bucket_size = kept.bucket_size;
  header.max_iterations = kept.max_iterations;
  header.expansion = kept.expansion;
  return from_tables(RedisBloomTables(header, memory), kept.seed);
}

CuckooValue::Item CuckooValue::item_of(std::string_view item) const noexcept {
  Item hashes{hash_key(item, settings_.seed).value, std::nullopt};
  if (!tables_.empty()) hashes.redisbloom = murmur_hash64a(item, 0);
  return hashes;
}

CuckooValue::Shown CuckooValue::shown(const Item& item) const noexcept {
  Shown shown{0, 0};
  const auto add = [&](std::uint64_t copies) {
    shown.copies += copies;
    shown.most = std::max(shown.most, copies);
  };
  for (const Generation& generation : generations_) generation.prefetch(item.hash);
  for_each_family(std::span(generations_),
                  [&](std::span<const Generation> family) { add(count_in(family, item.hash)); });
  if (item.redisbloom) add(tables_.slots_of(*item.redisbloom));
  return shown;
}

std::uint64_t CuckooValue::count_of(const Item& item) const noexcept {
  const std::int64_t copies =
      static_cast<std::int64_t>(shown(item).copies) + ledger_.copies(item.hash);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, copies));
}

bool CuckooValue::exists_of(const Item& item) const noexcept {
  if (!ledger_.empty()) {
    const std::int64_t copies = ledger_.copies(item.hash);
    if (copies != 0) return copies > 0 || count_of(item) != 0;
  }
  return std::any_of(generations_.rbegin(), generations_.rend(),
                     [&](const Generation& generation) {
                       return generation.filter().may_contain(item.hash);
                     }) ||
         (item.redisbloom && tables_.may_contain(*item.redisbloom));
}

bool CuckooValue::exists(std::string_view item) const noexcept { return exists_of(item_of(item)); }

std::uint64_t CuckooValue::count(std::string_view item) const noexcept {
  const Item hashes = item_of(item);
  return is_redisbloom() ? tables_.count(*hashes.redisbloom) : count_of(hashes);
}

void CuckooValue::exists(std::span<const std::string_view> items,
                         std::span<std::uint8_t> out) const {
  if (items.size() != out.size()) throw std::invalid_argument("items and out differ in length");
  for (std::size_t at = 0; at < items.size(); at += kBatch) {
    const std::size_t some = std::min(kBatch, items.size() - at);
    exists_some(items.subspan(at, some), out.subspan(at, some));
  }
}

void CuckooValue::prefetch(std::span<const std::string_view> items) const noexcept {
  const std::size_t asked = std::min(generations_.size(), kMostPrefetched);
  for (const std::string_view item : items) {
    const std::uint64_t hash = hash_key(item, settings_.seed).value;
    std::for_each_n(generations_.rbegin(), asked,
                    [&](const Generation& generation) { generation.prefetch(hash); });
  }
}

// At most kBatch items. Each generation looks only for those that no newer one has shown.
void CuckooValue::exists_some(std::span<const std::string_view> items,
                              std::span<std::uint8_t> out) const {
  std::array<std::uint64_t, kBatch> hashes;
  std::array<std::uint16_t, kBatch> positions;  // of the hashes, in `items`
  std::array<std::uint8_t, kBatch> found;
  for (std::size_t i = 0; i < items.size(); ++i) {
    hashes[i] = hash_key(items[i], settings_.seed).value;
    positions[i] = static_cast<std::uint16_t>(i);
  }
  std::fill(out.begin(), out.end(), std::uint8_t{0});
  std::size_t left = items.size();
  for (auto generation = generations_.rbegin(); generation != generations_.rend(); ++generation) {
    generation->filter().may_contain(std::span<const std::uint64_t>(hashes.data(), left),
                                     std::span(found.data(), left));
    std::size_t kept = 0;
    for (std::size_t i = 0; i < left; ++i) {
      out[positions[i]] = found[i];
      hashes[kept] = hashes[i];
      positions[kept] = positions[i];
      kept += found[i] == 0;
    }
    left = kept;
  }
  if (tables_.empty() && ledger_.empty()) return;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!ledger_.empty() || out[i] == 0) out[i] = exists_of(item_of(items[i]));
  }
}

// Negative where copies wait to be taken out that stand in the tables, and while a head's pieces
// are missing.
std::int64_t CuckooValue::items_beside_tables() const noexcept {
  return ledger_.total() + static_cast<std::int64_t>(stored_);
}

// What a head tells of them.
std::uint64_t CuckooValue::head_items() const noexcept {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, items_beside_tables()));
}

std::uint64_t CuckooValue::items() const noexcept {
  // Negative only while a head's pieces are missing.
  return static_cast<std::uint64_t>(std::max<std::int64_t>(
      0, items_beside_tables() + static_cast<std::int64_t>(tables_.header().items)));
}

std::uint64_t CuckooValue::deletes() const noexcept { return deletes_ + tables_.header().deletes; }

Info CuckooValue::info() const {
  Info info{};
  info.settings = settings_;
  info.memory_bytes = memory_bytes();
  info.buckets =
      tables_.empty()
          ? std::bit_ceil(std::max<std::uint64_t>(1, settings_.capacity / settings_.bucket_size))
          : tables_.header().buckets;
  info.filters = generations_.size() + tables_.header().tables;
  info.items = items();
  info.deletes = deletes();
  info.promised_fpr = promised_fpr(settings_);
  info.ledger_entries = ledger_.size();
  info.redisbloom_tables = tables_.header().tables;
  info.redisbloom_items = tables_.header().items;
  double none = 1 - tables_.expected_fpr();
  for (const Generation& generation : generations_) {
    const Filter& filter = generation.filter();
    const double fpr = filter.expected_fpr();
    none *= 1 - fpr;
    info.generations.push_back({filter.bits(), filter.growth(), generation.most_growth(),
                                filter.size(), filter.capacity(), fpr, filter.memory_bytes()});
  }
  info.expected_fpr = 1 - none;
  return info;
}

std::size_t CuckooValue::memory_bytes() const noexcept {
  std::size_t bytes = sizeof(*this) + ledger_.memory_bytes() + tables_.memory_bytes() +
                      generations_.capacity() * sizeof(Generation);
  for (const Generation& generation : generations_) bytes += generation.memory_bytes();
  return bytes;
}

std::size_t CuckooValue::free_effort() const noexcept {
  return (memory_bytes() >> 20) + generations_.size() +
         static_cast<std::size_t>(tables_.header().tables) + ledger_.size() / 1000;
}

std::unique_ptr<CuckooValue> CuckooValue::copy() const {
  std::unique_ptr<CuckooValue> made(new CuckooValue(settings_, memory_));
  made->generations_.reserve(generations_.size());
  for (const Generation& generation : generations_) {
    made->generations_.push_back(generation.copy());
  }
  made->stored_ = stored_;
  made->ledger_ = ledger_;
  made->tables_ = tables_.copy();
  made->deletes_ = deletes_;
  made->awaited_items_ = awaited_items_;
  return made;
}

// Changes.

Added CuckooValue::add(std::string_view item, const Limits& limits) noexcept {
  return add_item(item_of(item), limits);
}

Added CuckooValue::add_unique(std::string_view item, const Limits& limits) noexcept {
  const Item hashes = item_of(item);
  return exists_of(hashes) ? Added::present : add_item(hashes, limits);
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
    // A copy that waits to be taken out stands for the new one.
    const std::int64_t copies = ledger_.copies(item.hash);
    if (copies >= Ledger::kMostCopies) return Added::full;
    if (copies >= 0) return store(item, limits);
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
bool CuckooValue::store_in(Generation& generation, const Item& item) {
  const Outcome outcome = generation.filter().insert(item.hash).outcome;
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
  while (may_grow(grown) && grown.filter().grow()) {
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
        return generation.has_room() && generation.filter().insert(item.hash);
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
}

bool CuckooValue::erase(std::string_view item) { return erase_item(item_of(item)); }

bool CuckooValue::erase_item(const Item& item) {
  const std::int64_t copies = ledger_.copies(item.hash);
  const Shown slots = shown(item);
  const auto pending = static_cast<std::uint64_t>(std::max<std::int64_t>(0, 1 - copies));
  if (slots.copies < pending) return false;
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
// is left in its place. A family is one filter: family.h says which of its slots is taken.
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
  Compaction compaction(generations_, settings_.seed, memory_);  // all that can fail
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
  for (const Generation& generation : generations_) bytes += generation.filter().memory_bytes();
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
    if (generation.filter().size() != 0) generation.filter().clear();
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
  Ledger ledger = ledger_;
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

// Images.

bool CuckooValue::is_redisbloom() const noexcept {
  return !tables_.empty() && generations_.empty() && ledger_.empty();
}

ImageHead CuckooValue::head() const {
  ImageHead head;
  head.settings = settings_;
  head.deletes = deletes_;
  head.items = head_items();
  head.awaited_items = awaited_items_;
  head.ledger_entries = ledger_.size();
  head.ledger_cursor = ledger_.cursor();
  head.redisbloom = tables_.header();
  head.generations.reserve(generations_.size());
  for (const Generation& generation : generations_) {
    head.generations.push_back({generation.shape(), generation.filter().size()});
  }
  return head;
}

Chunk CuckooValue::dump_chunk(std::uint64_t iterator) const {
  if (is_redisbloom()) {
    if (iterator == 0) {
      const auto header = write_header(tables_.header());
      return {1, {header.begin(), header.end()}};
    }
    const auto slots = tables_.piece(iterator - 1);
    if (slots.empty()) return {};
    return {iterator + slots.size(), {slots.begin(), slots.end()}};
  }
  if (iterator == 0) return {1, encode_head(head())};
  const ValueAreas areas(generations_, tables_);
  auto place = iterator == 1 ? areas.first() : areas.at(iterator);
  if (!place) return {};
  if (place->kind == AreaKind::ledger) {
    const auto entries = encode_entries(ledger_, *place);
    if (entries.empty()) return {};
    return {areas.iterator_after(*place), encode_piece(*place, entries)};
  }
  const auto content = areas.content(*place).subspan(static_cast<std::size_t>(place->offset),
                                                     place->content_bytes());
  return {areas.iterator_after(*place), encode_piece(*place, content)};
}

std::unique_ptr<CuckooValue> CuckooValue::from_head(std::span<const std::byte> bytes,
                                                    std::uint64_t seed,
                                                    std::pmr::memory_resource* memory) {
  if (bytes.size() == kRedisBloomHeaderBytes) {
    const auto header = parse_header(bytes);
    if (!header) throw std::invalid_argument("the header of RedisBloom is not valid");
    return from_tables(RedisBloomTables(*header, memory), seed);
  }
  const auto head = decode_head(bytes);
  if (!head) throw std::invalid_argument("the head is not valid");
  auto value = from_settings(*head, memory);
  if (head->redisbloom.tables != 0) value->tables_ = RedisBloomTables(head->redisbloom, memory);
  value->generations_.reserve(head->generations.size());
  for (const ImageGeneration& each : head->generations) {
    value->generations_.emplace_back(each.shape, head->settings.seed, memory);
  }
  if (value->awaited_items_ == 0) value->awaited_items_ = head->items;
  return value;
}

// A value with all that a head says but its filters and tables.
std::unique_ptr<CuckooValue> CuckooValue::from_settings(const ImageHead& head,
                                                        std::pmr::memory_resource* memory) {
  std::unique_ptr<CuckooValue> value(new CuckooValue(head.settings, memory));
  value->deletes_ = head.deletes;
  value->awaited_items_ = head.awaited_items;
  value->ledger_.set_cursor(head.ledger_cursor);
  return value;
}

bool CuckooValue::load_chunk(std::uint64_t iterator, std::span<const std::byte> bytes) {
  if (is_redisbloom()) {
    if (iterator == 0 || iterator - 1 < bytes.size()) return false;
    return tables_.load(iterator - 1 - bytes.size(), bytes);
  }
  const ValueAreas areas(generations_, tables_);
  const auto piece = decode_piece(bytes);
  if (!piece || !areas.have(piece->place) || areas.iterator_after(piece->place) != iterator ||
      !load_content(*piece)) {
    return false;
  }
  if (head_items() == awaited_items_) awaited_items_ = 0;
  return true;
}

bool CuckooValue::load_content(const Piece& piece) {
  const PiecePlace& place = piece.place;
  switch (place.kind) {
    case AreaKind::blocks:
      return load_blocks(generations_[static_cast<std::size_t>(place.index)], place.offset,
                         piece.content);
    case AreaKind::slots:
      return tables_.load_table(place.index, place.offset, piece.content);
    case AreaKind::ledger:
      return decode_entries(piece, ledger_);
  }
  return false;
}

bool CuckooValue::load_blocks(Generation& generation, std::uint64_t offset,
                              std::span<const std::byte> blocks) {
  stored_ -= generation.filter().size();
  const bool loaded = generation.load(offset, blocks);
  stored_ += generation.filter().size();
  return loaded;
}

std::uint64_t CuckooValue::digest() const {
  std::uint64_t digest = 0;
  for (Chunk chunk = dump_chunk(0); chunk.next != 0; chunk = dump_chunk(chunk.next)) {
    std::array<std::byte, 16> both{};
    put(both, 0, digest);
    put(both, 8, checksum(chunk.bytes));
    digest = checksum(both);
  }
  return digest;
}

}  // namespace nestline::redis
