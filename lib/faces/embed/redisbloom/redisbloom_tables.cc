#include "lib/faces/embed/redisbloom/redisbloom_tables.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "lib/faces/embed/fields.h"

namespace nestline { inline namespace v0_3 { namespace redis {
namespace {

constexpr std::uint64_t kMaxBuckets = (std::uint64_t{1} << 56) - 1;
constexpr std::uint64_t kMaxTables = 65535;
constexpr std::uint64_t kPieceBytes = std::uint64_t{16} << 20;
// Slots that are sampled to find out how full tables are: in all of them together, and in each.
constexpr std::uint64_t kSampledSlots = std::uint64_t{1} << 18;
constexpr std::uint64_t kMinSampledSlots = 4;
constexpr std::uint64_t kOtherHash = 0x5bd1e995;
// More than any machine has memory for; sums of a few of these do not overflow.
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 60;

constexpr auto kHeaderFields = [](auto& at, auto& header) {
  at(0, 8, header.items, header.buckets, header.deletes, header.tables);
  at(32, 2, header.bucket_size, header.max_iterations, header.expansion);
};

// The first `count` bytes, at most 8, as a little-endian number.
std::uint64_t read(std::string_view bytes, std::size_t count) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < count; ++i) {
    number |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return number;
}

std::uint64_t blocks_of(std::uint64_t bytes) { return (bytes + kBlockBytes - 1) / kBlockBytes; }

std::uint8_t fingerprint_of(std::uint64_t hash) {
  return static_cast<std::uint8_t>(hash % 255 + 1);
}

std::uint64_t other_hash(std::uint64_t hash, std::uint8_t fingerprint) {
  return hash ^ (fingerprint * kOtherHash);
}

// The first slot of a bucket with this content, 0 for a free one; null if there is none.
std::uint8_t* find_slot(std::span<std::uint8_t> bucket, std::uint8_t content) {
  const auto slot = std::ranges::find(bucket, content);
  return slot == bucket.end() ? nullptr : &*slot;
}

}  // namespace

std::uint64_t murmur_hash64a(std::string_view bytes, std::uint64_t seed) noexcept {
  constexpr std::uint64_t kMultiplier = 0xc6a4a7935bd1e995u;
  constexpr unsigned kShift = 47;
  std::uint64_t hash = seed ^ (bytes.size() * kMultiplier);
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    std::uint64_t word = read(bytes, 8) * kMultiplier;
    word = (word ^ (word >> kShift)) * kMultiplier;
    hash = (hash ^ word) * kMultiplier;
  }
  if (!bytes.empty()) hash = (hash ^ read(bytes, bytes.size())) * kMultiplier;
  hash = (hash ^ (hash >> kShift)) * kMultiplier;
  return hash ^ (hash >> kShift);
}

std::optional<std::uint64_t> RedisBloomHeader::buckets_of(std::uint64_t i) const noexcept {
  std::uint64_t all = buckets;
  if (expansion > 1) {
    const auto shift = static_cast<unsigned>(std::bit_width(expansion) - 1);
    if (i >= 64 || i * shift >= 57 || all > kMaxBuckets >> (i * shift)) return std::nullopt;
    all <<= i * shift;
  }
  return all <= kMaxBuckets ? std::optional(all) : std::nullopt;
}

// Whether all tables together have a slot for each item.
static bool has_slots_for_items(const RedisBloomHeader& header) noexcept {
  std::uint64_t left = header.items;
  for (std::uint64_t i = 0; i < header.tables; ++i) {
    const auto slots = header.buckets_of(i).value_or(0) * header.bucket_size;  // below 2^64
    if (left <= slots) return true;
    left -= slots;
  }
  return false;
}

bool is_valid(const RedisBloomHeader& header) noexcept {
  return header.bucket_size >= 1 && header.bucket_size <= 255 && header.tables >= 1 &&
         header.tables <= kMaxTables && header.max_iterations >= 1 && header.expansion <= 32768 &&
         (header.expansion == 0 ? header.tables == 1 : std::has_single_bit(header.expansion)) &&
         std::has_single_bit(header.buckets) && header.buckets_of(header.tables - 1).has_value() &&
         has_slots_for_items(header);
}

std::optional<RedisBloomHeader> parse_header(std::span<const std::byte> bytes) noexcept {
  RedisBloomHeader header;
  if (bytes.size() != kRedisBloomHeaderBytes || !get_fields(bytes, kHeaderFields, header) ||
      header.expansion > 32768) {
    return std::nullopt;
  }
  if (header.expansion != 0) header.expansion = std::bit_ceil(header.expansion);
  return is_valid(header) ? std::optional(header) : std::nullopt;
}

std::array<std::byte, kRedisBloomHeaderBytes> write_header(
    const RedisBloomHeader& header) noexcept {
  std::array<std::byte, kRedisBloomHeaderBytes> bytes{};
  put_fields(bytes, kHeaderFields, header);
  return bytes;
}

std::span<std::uint8_t> RedisBloomTables::Table::slots() const noexcept {
  return {reinterpret_cast<std::uint8_t*>(storage->bytes().data()) + offset,
          static_cast<std::size_t>(bytes)};
}

RedisBloomTables RedisBloomTables::begin(const RedisBloomHeader& header,
                                         std::pmr::memory_resource* memory) {
  if (!is_valid(header)) throw std::invalid_argument("the header of RedisBloom is not valid");
  RedisBloomTables tables;
  tables.header_ = header;
  tables.memory_ = memory;
  return tables;
}

RedisBloomTables::RedisBloomTables(const RedisBloomHeader& header,
                                   std::pmr::memory_resource* memory)
    : RedisBloomTables(begin(header, memory)) {
  std::uint64_t blocks = 0;
  tables_.reserve(static_cast<std::size_t>(header_.tables));
  while (!is_whole()) {
    Table table = next_table();
    table.offset = static_cast<std::size_t>(blocks * kBlockBytes);
    blocks += blocks_of(table.bytes);
    if (blocks > kMaxBytes / kBlockBytes) throw std::bad_alloc();
    tables_.push_back(std::move(table));
  }
  const auto storage = std::make_shared<Storage>(Storage::allocate(blocks, memory_));
  for (Table& table : tables_) table.storage = storage;
}

bool RedisBloomTables::append_clear() {
  if (is_whole()) return false;
  Table table = next_table();
  table.storage = std::make_shared<Storage>(Storage::allocate(blocks_of(table.bytes), memory_));
  tables_.push_back(std::move(table));
  return true;
}

RedisBloomTables::Table RedisBloomTables::next_table() const {
  Table table;
  table.buckets = *header_.buckets_of(tables_.size());
  if (table.buckets > kMaxBytes / header_.bucket_size) throw std::bad_alloc();
  table.bytes = table.buckets * header_.bucket_size;
  return table;
}

std::span<std::uint8_t> RedisBloomTables::bucket(const Table& table,
                                                 std::uint64_t hash) const noexcept {
  const std::uint64_t number = hash & (table.buckets - 1);
  return table.slots().subspan(static_cast<std::size_t>(number * header_.bucket_size),
                               header_.bucket_size);
}

// The same in the two buckets of an item.
std::uint8_t* RedisBloomTables::find(const Table& table, std::uint64_t hash,
                                     std::uint8_t fingerprint,
                                     std::uint8_t content) const noexcept {
  std::uint8_t* const slot = find_slot(bucket(table, hash), content);
  if (slot != nullptr) return slot;
  return find_slot(bucket(table, other_hash(hash, fingerprint)), content);
}

bool RedisBloomTables::may_contain(std::uint64_t hash) const noexcept {
  const std::uint8_t fingerprint = fingerprint_of(hash);
  return std::any_of(tables_.rbegin(), tables_.rend(), [&](const Table& table) {
    return find(table, hash, fingerprint, fingerprint) != nullptr;
  });
}

std::uint64_t RedisBloomTables::taken() const noexcept {
  std::uint64_t taken = 0;
  for (const Table& table : tables_) {
    const auto slots = table.slots();
    taken += slots.size() - static_cast<std::uint64_t>(std::ranges::count(slots, 0));
  }
  return taken;
}

std::uint64_t RedisBloomTables::count(std::uint64_t hash, bool each_once) const noexcept {
  const std::uint8_t fingerprint = fingerprint_of(hash);
  std::uint64_t copies = 0;
  const auto add = [&](std::span<const std::uint8_t> slots) {
    copies += static_cast<std::uint64_t>(std::ranges::count(slots, fingerprint));
  };
  for (const Table& table : tables_) {
    const auto first = bucket(table, hash), second = bucket(table, other_hash(hash, fingerprint));
    add(first);
    if (!each_once || second.data() != first.data()) add(second);
  }
  return copies;
}

bool RedisBloomTables::insert(std::uint64_t hash) {
  const std::uint8_t fingerprint = fingerprint_of(hash);
  for (;;) {
    for (auto table = tables_.rbegin(); table != tables_.rend(); ++table) {
      std::uint8_t* const free = find(*table, hash, fingerprint, 0);
      if (free == nullptr) continue;
      *free = fingerprint;
      ++header_.items;
      return true;
    }
    if (push_in(tables_.back(), hash)) {
      ++header_.items;
      return true;
    }
    if (header_.expansion == 0 || header_.tables == kMaxTables) return false;
    open_table();
  }
}

// Puts it into its first bucket, moves what was there to its other bucket, and so on, until a
// bucket has a free slot. After as many steps as the header allows, everything is undone.
bool RedisBloomTables::push_in(const Table& table, std::uint64_t hash) const noexcept {
  std::uint8_t carried = fingerprint_of(hash);
  std::size_t victim = 0;
  std::uint64_t place = hash;
  unsigned steps = 0;
  while (steps < header_.max_iterations) {
    ++steps;
    std::swap(carried, bucket(table, place)[victim]);
    place = other_hash(place, carried);
    if (std::uint8_t* const free = find_slot(bucket(table, place), 0)) {
      *free = carried;
      return true;
    }
    victim = (victim + 1) % header_.bucket_size;
  }
  for (; steps != 0; --steps) {
    victim = (victim + header_.bucket_size - 1) % header_.bucket_size;
    place = other_hash(place, carried);
    std::swap(carried, bucket(table, place)[victim]);
  }
  return false;
}

void RedisBloomTables::open_table() {
  RedisBloomHeader larger = header_;
  ++larger.tables;
  if (!larger.buckets_of(larger.tables - 1)) throw std::bad_alloc();
  const RedisBloomHeader before = std::exchange(header_, larger);
  try {
    append_clear();
  } catch (const std::bad_alloc&) {
    header_ = before;
    throw;
  }
}

bool RedisBloomTables::erase(std::uint64_t hash) noexcept {
  const std::uint8_t fingerprint = fingerprint_of(hash);
  for (auto table = tables_.rbegin(); table != tables_.rend(); ++table) {
    std::uint8_t* const slot = find(*table, hash, fingerprint, fingerprint);
    if (slot == nullptr) continue;
    *slot = 0;
    // A header may give fewer items than there are slots in use.
    if (header_.items != 0) --header_.items;
    ++header_.deletes;
    if (tables_.size() > 1 && header_.deletes > header_.items / 10) compact(false);
    return true;
  }
  return false;
}

// Moves what it can from table `from` to older ones; whether the table is empty then.
bool RedisBloomTables::move_out(std::size_t from) noexcept {
  const Table& source = tables_[from];
  bool emptied = true;
  const auto slots = source.slots();
  for (std::size_t at = 0; at < slots.size(); ++at) {
    const std::uint8_t fingerprint = slots[at];
    if (fingerprint == 0) continue;
    // The number of its bucket is all that is left of its hash, which is enough for smaller tables.
    const std::uint64_t hash = at / header_.bucket_size;
    std::uint8_t* free = nullptr;
    for (std::size_t older = 0; older < from && free == nullptr; ++older) {
      free = find(tables_[older], hash, fingerprint, 0);
    }
    if (free == nullptr) {
      emptied = false;
      continue;
    }
    *free = fingerprint;
    slots[at] = 0;
  }
  return emptied;
}

void RedisBloomTables::compact(bool all) noexcept {
  for (std::size_t from = tables_.size(); from-- > 1;) {
    const bool emptied = move_out(from);
    if (emptied && from + 1 == tables_.size()) tables_.pop_back();
    if (!emptied && !all) break;
  }
  header_.tables = tables_.size();
  header_.deletes = 0;
  // Only a header whose slots have not arrived counts more.
  header_.items = std::min(header_.items, slots());
}

std::span<const std::byte> RedisBloomTables::table(std::uint64_t i) const noexcept {
  return std::as_bytes(tables_[static_cast<std::size_t>(i)].slots());
}

bool RedisBloomTables::load_table(std::uint64_t i, std::uint64_t offset,
                                  std::span<const std::byte> slots) noexcept {
  if (i >= tables_.size() || slots.empty()) return false;
  const auto all = tables_[static_cast<std::size_t>(i)].slots();
  if (offset > all.size() || slots.size() > all.size() - offset) return false;
  std::memcpy(all.data() + offset, slots.data(), slots.size());
  return true;
}

std::uint64_t RedisBloomTables::slots() const noexcept {
  std::uint64_t all = 0;
  for (const Table& table : tables_) all += table.bytes;
  return all;
}

std::optional<RedisBloomTables::Spot> RedisBloomTables::spot_of(
    std::uint64_t offset) const noexcept {
  std::size_t first = 0;
  // Tables that grow are few; there may be many that do not.
  if (header_.expansion <= 1 && !tables_.empty()) {
    first = static_cast<std::size_t>(
        std::min<std::uint64_t>(offset / tables_[0].bytes, tables_.size()));
    offset -= first * tables_[0].bytes;
  }
  for (std::size_t i = first; i < tables_.size(); ++i) {
    if (offset < tables_[i].bytes) return Spot{i, offset};
    offset -= tables_[i].bytes;
  }
  return std::nullopt;
}

std::span<const std::byte> RedisBloomTables::piece(std::uint64_t offset) const noexcept {
  const auto spot = spot_of(offset);
  if (!spot) return {};
  const auto rest = table(spot->table).subspan(static_cast<std::size_t>(spot->offset));
  return rest.first(static_cast<std::size_t>(std::min<std::uint64_t>(rest.size(), kPieceBytes)));
}

bool RedisBloomTables::load(std::uint64_t offset, std::span<const std::byte> slots) noexcept {
  const auto spot = spot_of(offset);
  return spot && load_table(spot->table, spot->offset, slots);
}

double RedisBloomTables::expected_fpr() const noexcept {
  double none = 1;
  const std::uint64_t sampled =
      std::max(kMinSampledSlots, kSampledSlots / std::max<std::uint64_t>(1, tables_.size()));
  for (const Table& table : tables_) {
    const auto slots = table.slots();
    const std::size_t step = std::max<std::size_t>(1, slots.size() / sampled);
    std::size_t taken = 0;
    std::size_t seen = 0;
    for (std::size_t at = 0; at < slots.size(); at += step, ++seen) taken += slots[at] != 0;
    const double load = static_cast<double>(taken) / static_cast<double>(seen);
    none *= 1 - std::min(1.0, 2 * header_.bucket_size * load / 255);
  }
  return 1 - none;
}

std::size_t RedisBloomTables::memory_bytes() const noexcept {
  std::size_t bytes = tables_.capacity() * sizeof(Table);
  const Storage* counted = nullptr;
  for (const Table& table : tables_) {
    if (table.storage.get() != counted) bytes += table.storage->bytes().size();
    counted = table.storage.get();
  }
  return bytes;
}

RedisBloomTables RedisBloomTables::copy() const {
  if (empty()) return {};
  // Pages of free slots stay untouched: a header may claim far more tables than slots came.
  constexpr std::size_t kPage = 4096;
  RedisBloomTables made(header_, memory_);
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    for (auto rest = table(i); !rest.empty();) {
      const auto page = rest.first(std::min(kPage, rest.size()));
      if (!is_zero(page)) made.load_table(i, table(i).size() - rest.size(), page);
      rest = rest.subspan(page.size());
    }
  }
  return made;
}

}}}  // namespace nestline::redis
