// CuckooValue: making it, questions, figures. Its changes are in value_changes.cc, its bytes in
// value_image.cc.
#include "lib/redis/value/value.h"

#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>
#include <utility>

#include "lib/redis/redisbloom/murmur_hash64a.h"
#include "nestline/keys.h"

namespace nestline::redis {
namespace {

// Items of a batch that are asked for together: their hashes and positions lie on the stack.
constexpr std::size_t kBatch = 512;

constexpr std::uint64_t kMostKeptCapacity = std::uint64_t{1} << 40;

}  // namespace

CuckooValue::CuckooValue(const Settings& settings) : settings_(normalized(settings)) {}

std::unique_ptr<CuckooValue> CuckooValue::create(const Settings& settings) {
  check(settings);
  std::unique_ptr<CuckooValue> value(new CuckooValue(settings));
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
  std::unique_ptr<CuckooValue> value(new CuckooValue(settings));
  value->tables_ = std::move(tables);
  return value;
}

CuckooValue::Item CuckooValue::item_of(std::string_view item) const noexcept {
  return {hash_key(item, settings_.seed).value, tables_.empty() ? 0 : murmur_hash64a(item, 0)};
}

CuckooValue::Shown CuckooValue::shown(const Item& item) const noexcept {
  Shown shown{0, 0};
  const auto add = [&](std::uint64_t copies) {
    shown.copies += copies;
    shown.filters += copies != 0;
  };
  for (const Generation& generation : generations_) add(generation.filter().count(item.hash));
  if (item.redisbloom != 0) add(tables_.count(item.redisbloom));
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
         (item.redisbloom != 0 && tables_.may_contain(item.redisbloom));
}

bool CuckooValue::exists(std::string_view item) const noexcept { return exists_of(item_of(item)); }

std::uint64_t CuckooValue::count(std::string_view item) const noexcept {
  return count_of(item_of(item));
}

void CuckooValue::exists(std::span<const std::string_view> items,
                         std::span<std::uint8_t> out) const {
  if (items.size() != out.size()) throw std::invalid_argument("items and out differ in length");
  for (std::size_t at = 0; at < items.size(); at += kBatch) {
    const std::size_t some = std::min(kBatch, items.size() - at);
    exists_some(items.subspan(at, some), out.subspan(at, some));
  }
}

// At most kBatch items. Each generation is asked for those only that no newer one has shown.
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

std::uint64_t CuckooValue::items() const noexcept {
  std::int64_t items = ledger_.total();
  for (const Generation& generation : generations_) {
    items += static_cast<std::int64_t>(generation.filter().size());
  }
  // Negative only while a head's pieces are missing.
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, items)) + tables_.header().items;
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
  std::unique_ptr<CuckooValue> made(new CuckooValue(settings_));
  made->generations_.reserve(generations_.size());
  for (const Generation& generation : generations_) {
    made->generations_.push_back(generation.copy());
  }
  made->ledger_ = ledger_;
  made->tables_ = tables_.copy();
  made->deletes_ = deletes_;
  made->awaited_items_ = awaited_items_;
  return made;
}

}  // namespace nestline::redis
