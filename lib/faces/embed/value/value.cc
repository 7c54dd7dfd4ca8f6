// CuckooValue: making it, lookups, figures, its bytes. What changes it is in value_change.cc.
#include "lib/faces/embed/value/value.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/faces/embed/value/view.h"

namespace nestline { inline namespace v0_3 { namespace redis {
namespace {

constexpr std::uint64_t kMaxKeptCapacity = std::uint64_t{1} << 40;

}  // namespace

CuckooValue::CuckooValue(const Settings& settings, std::pmr::memory_resource* memory)
    : settings_(normalized(settings)), memory_(memory), ledger_(memory) {}

std::unique_ptr<CuckooValue> CuckooValue::create(const Settings& settings,
                                                 std::pmr::memory_resource* memory) {
  check(settings);
  std::unique_ptr<CuckooValue> value(new CuckooValue(settings, memory));
  value->open_generation();
  return value;
}

// The first sub_filter takes at once what it can; what is beyond its capacity or slots is added.
std::unique_ptr<CuckooValue> CuckooValue::build(const Settings& settings,
                                                std::span<const std::uint64_t> hashes) {
  auto value = create(settings);
  SubFilter& first = value->sub_filters_.front();
  const auto many = hashes.first(std::min<std::uint64_t>(hashes.size(), first.capacity()));
  std::vector<Outcome> filled(many.size());
  first.fill(many, filled);
  value->stored_ = first.size();
  if (value->stored_ == hashes.size()) return value;
  std::vector<std::uint64_t> others;
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (i >= many.size() || filled[i] != Outcome::stored) others.push_back(hashes[i]);
  }
  std::vector<Outcome> outcomes(others.size());
  value->insert(others, Unless::never, kUnlimited, outcomes);
  const auto is_out = [](Outcome outcome) { return outcome != Outcome::stored; };
  if (std::ranges::any_of(outcomes, is_out)) throw std::bad_alloc();
  return value;
}

std::unique_ptr<CuckooValue> CuckooValue::from_tables(RedisBloomTables tables, std::uint64_t seed) {
  if (tables.empty()) throw std::invalid_argument("there are no tables");
  const RedisBloomHeader& header = tables.header();
  Settings settings;
  settings.capacity = header.buckets > kMaxKeptCapacity / header.bucket_size
                          ? kMaxKeptCapacity
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

std::uint64_t CuckooValue::hash_of(std::string_view item) const noexcept {
  return hash_key(item, settings_.seed).value;
}

CuckooValue::Item CuckooValue::item_of(std::string_view item) const noexcept {
  Item hashes{hash_of(item), std::nullopt};
  if (!tables_.empty()) hashes.redisbloom = murmur_hash64a(item, 0);
  return hashes;
}

CuckooValue::Shown CuckooValue::shown(const Item& item) const noexcept {
  Shown shown{0, 0};
  const auto add = [&](std::uint64_t copies) {
    shown.copies += copies;
    shown.most = std::max(shown.most, copies);
  };
  for (const SubFilter& sub_filter : sub_filters_) sub_filter.prefetch(item.hash);
  for_each_family(std::span(sub_filters_),
                  [&](std::span<const SubFilter> family) { add(count_in(family, item.hash)); });
  if (item.redisbloom) add(tables_.count(*item.redisbloom, true));
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
  return std::any_of(
             sub_filters_.rbegin(), sub_filters_.rend(),
             [&](const SubFilter& sub_filter) { return sub_filter.may_contain(item.hash); }) ||
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
  hash_chunks(items, [&](std::size_t at, std::span<const std::uint64_t> hashes) {
    exists_some(hashes, items.subspan(at, hashes.size()), out.subspan(at, hashes.size()));
  });
}

void CuckooValue::exists(std::span<const std::uint64_t> hashes, std::span<std::uint8_t> out) const {
  check_hashes(hashes.size(), out.size());
  in_chunks(hashes.size(), [&](std::size_t at, std::size_t some) {
    exists_some(hashes.subspan(at, some), {}, out.subspan(at, some));
  });
}

// At most kMaxHashes; `items` are theirs, if there are tables. Slots answer for all without entry.
void CuckooValue::exists_some(std::span<const std::uint64_t> hashes,
                              std::span<const std::string_view> items,
                              std::span<std::uint8_t> out) const {
  find_in(sub_filters_, hashes, out);
  if (ledger_.empty() && tables_.empty()) return;
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (!tables_.empty()) {
      if (!ledger_.empty() || out[i] == 0) out[i] = exists_of(item_of(items[i]));
    } else if (ledger_.copies(hashes[i]) != 0) {
      out[i] = exists_of({hashes[i], std::nullopt});
    }
  }
}

void CuckooValue::count(std::span<const std::uint64_t> hashes, std::span<std::uint8_t> out) const {
  check_hashes(hashes.size(), out.size());
  in_chunks(hashes.size(), [&](std::size_t at, std::size_t some) {
    exists_some(hashes.subspan(at, some), {}, out.subspan(at, some));
    // Copies are counted only of those that are in it.
    for (std::size_t i = at; i < at + some; ++i) {
      if (out[i] == 0) continue;
      const std::uint64_t copies = count_of({hashes[i], std::nullopt});
      out[i] = static_cast<std::uint8_t>(std::min(kMaxCounted, copies));
    }
  });
}

void CuckooValue::check_hashes(std::size_t hashes, std::size_t results) const {
  if (hashes != results) throw std::invalid_argument("hashes and results differ in length");
  if (!tables_.empty()) {
    throw std::invalid_argument(
        "this filter has tables of RedisBloom, which need another hash: send the items themselves");
  }
}

void CuckooValue::prefetch(std::uint64_t hash, std::size_t most) const noexcept {
  std::for_each_n(sub_filters_.rbegin(), std::min(sub_filters_.size(), most),
                  [&](const SubFilter& sub_filter) { sub_filter.prefetch(hash); });
}

std::unique_ptr<View> CuckooValue::view() {
  if (!tables_.empty() || !is_complete() || ledger_.size() > View::kMaxNamed) return nullptr;
  if (!notices_) notices_ = std::make_shared<Notices>();
  return std::make_unique<View>(sub_filters_, ledger_, notices_);
}

// Negative while copies in tables wait to be taken out, or a head's pieces are missing.
std::int64_t CuckooValue::items_beside_tables() const noexcept {
  return ledger_.total() + static_cast<std::int64_t>(stored_);
}

// What a head counts of them.
std::uint64_t CuckooValue::head_items() const noexcept {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, items_beside_tables()));
}

std::uint64_t CuckooValue::items() const noexcept {
  // Negative only while a head's pieces are missing.
  return static_cast<std::uint64_t>(std::max<std::int64_t>(
      0, items_beside_tables() + static_cast<std::int64_t>(tables_.header().items)));
}

std::uint64_t CuckooValue::deletes() const noexcept { return deletes_ + tables_.header().deletes; }

Info CuckooValue::info(bool wants_rates) const {
  Info info{};
  info.settings = settings_;
  info.memory_bytes = memory_bytes();
  info.buckets =
      tables_.empty()
          ? std::bit_ceil(std::max<std::uint64_t>(1, settings_.capacity / settings_.bucket_size))
          : tables_.header().buckets;
  info.filters = sub_filters_.size() + tables_.header().tables;
  info.items = items();
  info.deletes = deletes();
  info.promised_fpr = promised_fpr(settings_);
  info.ledger_entries = ledger_.size();
  info.redisbloom_items = tables_.header().items;
  double none = wants_rates ? 1 - tables_.expected_fpr() : 1;
  for (const SubFilter& sub_filter : sub_filters_) {
    if (wants_rates) none *= 1 - sub_filter.expected_fpr();
  }
  info.expected_fpr = 1 - none;
  return info;
}

std::size_t CuckooValue::memory_bytes() const noexcept {
  std::size_t bytes = sizeof(*this) + ledger_.memory_bytes() + tables_.memory_bytes() +
                      sub_filters_.capacity() * sizeof(SubFilter);
  for (const SubFilter& sub_filter : sub_filters_) bytes += sub_filter.memory_bytes();
  return bytes;
}

// Not memory_bytes: vectors' reserves differ in a copy, and replicas must decide alike.
std::uint64_t CuckooValue::block_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const SubFilter& sub_filter : sub_filters_) bytes += sub_filter.block_bytes();
  return bytes + tables_.slots();
}

// Whether all that slots show waits to be taken out. A header may count fewer than tables' slots.
bool CuckooValue::all_is_erased() const noexcept {
  return items() == 0 && items_beside_tables() + static_cast<std::int64_t>(tables_.taken()) <= 0;
}

std::size_t CuckooValue::free_effort() const noexcept {
  return (memory_bytes() >> 20) + sub_filters_.size() +
         static_cast<std::size_t>(tables_.header().tables) + ledger_.size() / 1000;
}

std::unique_ptr<CuckooValue> CuckooValue::copy() const {
  std::unique_ptr<CuckooValue> made(new CuckooValue(settings_, memory_));
  made->sub_filters_.reserve(sub_filters_.size());
  for (const SubFilter& sub_filter : sub_filters_) {
    made->sub_filters_.push_back(sub_filter.copy());
  }
  made->stored_ = stored_;
  made->ledger_ = ledger_;
  made->tables_ = tables_.copy();
  made->deletes_ = deletes_;
  made->awaited_items_ = awaited_items_;
  made->awaited_entries_ = awaited_entries_;
  return made;
}

}}}  // namespace nestline::redis
