#include "lib/faces/embed/value/image.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lib/faces/embed/fields.h"

namespace nestline { inline namespace v0_3 { namespace redis {
namespace {

constexpr std::uint64_t kMagic = 0x0a1a0a0d46434e8e;  // 8e 'N' 'C' 'F' 0d 0a 1a 0a
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kGenerationsAt = 128;
constexpr std::size_t kGenerationBytes = 32;
constexpr std::uint32_t kPieceMagic = 0x7046434e;
constexpr std::size_t kPieceHeadBytes = 32;
constexpr std::size_t kEntryBytes = 24;
// A piece of the ledger ends with a whole stretch.
constexpr std::uint64_t kMaxEntriesInPiece = kEntriesInPiece + (1U << kStretchBits);
// The iterator of an area's piece is 2 + (area * 2^30 + piece), where tables are numbered after the
// highest possible sub_filter. The ledger's is 2^52 + stretch. No area has 2^50 bytes.
constexpr unsigned kPieceNumberBits = 30;
constexpr std::uint64_t kMaxGenerationAreas = 65536;
constexpr std::uint64_t kLedgerIterator = std::uint64_t{1} << 52;
// What a value that turns over has there: guest lanes of hash version 4. 1 was version 3, which no
// release wrote.
constexpr std::size_t kTurnsOverAt = 118;
constexpr std::uint16_t kTurnsOver = 2;
constexpr std::uint64_t kMaxItems = std::uint64_t{1} << 62;
constexpr std::uint64_t kManyBytes = std::uint64_t{1} << 62;   // more than come
constexpr std::uint64_t kMaxEntries = std::uint64_t{1} << 29;  // so that no sum overflows
// Represents the RedisBloom hash 0 in an entry, where 0 means none. It has the same fingerprint,
// because it is a multiple of 255, and the same buckets, because no table has more than 2^56.
constexpr std::uint64_t kHashZero = std::uint64_t{255} << 56;
using Bytes = std::span<const std::byte>;

// All but the number of sub_filters and the header of RedisBloom.
constexpr auto kHeadFields = [](auto& at, auto& head) {
  auto& settings = head.settings;
  at(0, 8, kMagic);
  at(8, 4, kVersion);
  at(16, 8, settings.capacity, settings.error);
  at(32, 2, settings.bucket_size, settings.max_iterations, settings.expansion, settings.all_widths);
  at(40, 8, settings.seed, head.deletes, head.items, head.ledger_entries, head.ledger_cursor);
  at(120, 8, head.awaited_items);
};
constexpr auto kSubFilterFields = [](auto& at, auto& sub_filter) {
  auto& shape = sub_filter.shape;
  at(0, 1, shape.bits, shape.growth, shape.most_growth);
  at(3, 1, kNoBits);
  at(4, 4, shape.number);
  at(8, 8, shape.base_blocks, shape.capacity, sub_filter.keys);
};
constexpr auto kPlaceFields = [](auto& at, auto& place) {
  at(0, 4, kPieceMagic);
  at(4, 4, place.kind);
  at(8, 8, place.index, place.offset, place.area_bytes);
};

// Whether a value can have these settings. A value from RedisBloom's tables may have any capacity.
bool are_valid(const Settings& settings) {
  try {
    check(settings);
    return normalized(settings) == settings;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

// Whether there is a filter, and room for the items outside tables: the next filter's size.
bool is_sound(const ImageHead& head) {
  std::uint64_t keys = 0;
  for (const ImageSubFilter& each : head.sub_filters) {
    keys += std::min(each.keys, kMaxItems);
    if (keys > kMaxItems) return false;
  }
  // An entry may count this many copies besides.
  if (head.items > keys + head.ledger_entries * Ledger::kMaxCopies) return false;
  if (head.redisbloom.tables == 0) return !head.sub_filters.empty();
  // The first sub_filter beside tables may be as large as the capacity.
  return !head.sub_filters.empty() ||
         head.settings.capacity / head.redisbloom.bucket_size <= head.redisbloom.buckets;
}

std::uint64_t iterator_of(const PiecePlace& place) noexcept {
  if (place.kind == AreaKind::ledger) return kLedgerIterator + place.offset;
  const std::uint64_t area =
      place.index + (place.kind == AreaKind::slots ? kMaxGenerationAreas : 0);
  return 2 + (area << kPieceNumberBits) + place.offset / kPieceBytes;
}

}  // namespace

std::size_t PiecePlace::content_bytes() const noexcept {
  return static_cast<std::size_t>(std::min<std::uint64_t>(kPieceBytes, area_bytes - offset));
}

Areas::Areas(const ImageHead& head)
    : Areas(head.sub_filters.size(), head.redisbloom.tables,
            [&head](AreaKind kind, std::uint64_t index) {
              if (kind == AreaKind::slots) {
                return *head.redisbloom.buckets_of(index) * head.redisbloom.bucket_size;
              }
              const GenerationShape& shape = head.sub_filters[index].shape;
              return (shape.base_blocks << shape.growth) * kBlockBytes;
            }) {}

std::uint64_t Areas::bytes() const {
  std::uint64_t sum = 0;
  const auto add = [&](AreaKind kind, std::uint64_t areas) {
    for (std::uint64_t i = 0; i < areas && sum < kManyBytes; ++i) {
      sum += std::min(kManyBytes, bytes_(kind, i));
    }
  };
  add(AreaKind::blocks, sub_filters_);
  add(AreaKind::slots, tables_);
  return sum;
}

PiecePlace Areas::area(AreaKind kind, std::uint64_t index) const {
  if (kind == AreaKind::blocks && index >= sub_filters_) {
    index -= sub_filters_;
    kind = AreaKind::slots;
  }
  if (kind == AreaKind::slots && index >= tables_) return {AreaKind::ledger, 0, 0, 0};
  return {kind, index, 0, bytes_(kind, index)};
}

PiecePlace Areas::after(const PiecePlace& place) const {
  PiecePlace next = place;
  next.offset += kPieceBytes;
  return next.offset < place.area_bytes ? next : area(place.kind, place.index + 1);
}

std::optional<PiecePlace> Areas::at(std::uint64_t iterator) const {
  if (iterator >= kLedgerIterator) {
    const std::uint64_t stretch = iterator - kLedgerIterator;
    if (stretch >= kStretches) return std::nullopt;
    return PiecePlace{AreaKind::ledger, 0, stretch, 0};
  }
  if (iterator < 2) return std::nullopt;
  std::uint64_t index = (iterator - 2) >> kPieceNumberBits;
  const bool is_table = index >= kMaxGenerationAreas;
  if (is_table) index -= kMaxGenerationAreas;
  if (index >= (is_table ? tables_ : sub_filters_)) return std::nullopt;
  PiecePlace place = area(is_table ? AreaKind::slots : AreaKind::blocks, index);
  const std::uint64_t number = (iterator - 2) & ((std::uint64_t{1} << kPieceNumberBits) - 1);
  place.offset = number * kPieceBytes;
  return place.offset < place.area_bytes ? std::optional(place) : std::nullopt;
}

bool Areas::have(const PiecePlace& place) const {
  switch (place.kind) {
    case AreaKind::ledger:
      return place.index == 0 && place.offset < place.area_bytes && place.area_bytes <= kStretches;
    case AreaKind::blocks:
    case AreaKind::slots:
      break;
    default:
      return false;
  }
  return place.index < (place.kind == AreaKind::blocks ? sub_filters_ : tables_) &&
         place.area_bytes == bytes_(place.kind, place.index) && place.offset % kPieceBytes == 0 &&
         place.offset < place.area_bytes;
}

std::uint64_t Areas::iterator_after(const PiecePlace& place) const {
  if (place.kind == AreaKind::ledger) return kLedgerIterator + place.area_bytes;
  return iterator_of(after(place));
}

std::vector<std::byte> encode_head(const ImageHead& head) {
  std::vector<std::byte> bytes(kGenerationsAt + kGenerationBytes * head.sub_filters.size() +
                               kSealBytes);
  put_fields(bytes, kHeadFields, head);
  if (head.settings.turns_over) put(bytes, kTurnsOverAt, kTurnsOver);
  put(bytes, 12, static_cast<std::uint32_t>(head.sub_filters.size()));
  if (head.redisbloom.tables != 0) {
    const auto header = write_header(head.redisbloom);
    std::ranges::copy(header, bytes.begin() + 80);
  }
  for (std::size_t i = 0; i < head.sub_filters.size(); ++i) {
    put_fields(std::span(bytes).subspan(kGenerationsAt + kGenerationBytes * i), kSubFilterFields,
               head.sub_filters[i]);
  }
  seal(bytes);
  return bytes;
}

std::optional<ImageHead> decode_head(Bytes bytes) {
  ImageHead head;
  if (bytes.size() < kGenerationsAt + kSealBytes || !is_sealed(bytes) ||
      !get_fields(bytes, kHeadFields, head)) {
    return std::nullopt;
  }
  const auto turns_over = get<std::uint16_t>(bytes, kTurnsOverAt);
  if (turns_over != 0 && turns_over != kTurnsOver) return std::nullopt;
  head.settings.turns_over = turns_over != 0;
  const std::size_t count = get<std::uint32_t>(bytes, 12);
  const std::size_t room = bytes.size() - kGenerationsAt - kSealBytes;
  if (count > 65535 || room != count * kGenerationBytes || !are_valid(head.settings) ||
      head.ledger_entries > kMaxEntries || head.items > kMaxItems ||
      head.awaited_items > kMaxItems) {
    return std::nullopt;
  }
  if (const Bytes header = bytes.subspan(80, kRedisBloomHeaderBytes); !is_zero(header)) {
    const auto parsed = parse_header(header);
    if (!parsed || parsed->items > kMaxItems) return std::nullopt;
    head.redisbloom = *parsed;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Bytes own = bytes.subspan(kGenerationsAt + kGenerationBytes * i);
    auto& [shape, keys] = head.sub_filters.emplace_back();
    if (!get_fields(own, kSubFilterFields, head.sub_filters.back())) return std::nullopt;
    shape.placement = placement_of(head.settings.turns_over, shape.base_blocks);
    if (!is_valid(shape, keys) || (needs_all_widths(shape.bits) && !head.settings.all_widths)) {
      return std::nullopt;
    }
  }
  if (!is_sound(head)) return std::nullopt;
  return head;
}

std::vector<std::byte> encode_piece(const PiecePlace& place, Bytes content) {
  std::vector<std::byte> piece(kPieceHeadBytes + content.size() + kSealBytes);
  put_fields(piece, kPlaceFields, place);
  std::ranges::copy(content, piece.begin() + kPieceHeadBytes);
  seal(piece);
  return piece;
}

std::optional<Piece> decode_piece(Bytes bytes) noexcept {
  PiecePlace place{};
  if (bytes.size() < kPieceHeadBytes + kSealBytes || !is_sealed(bytes) ||
      !get_fields(bytes, kPlaceFields, place)) {
    return std::nullopt;
  }
  const Bytes content = bytes.subspan(kPieceHeadBytes, bytes.size() - kPieceHeadBytes - kSealBytes);
  if (place.kind != AreaKind::ledger && content.size() != place.content_bytes()) {
    return std::nullopt;
  }
  return Piece{place, content};
}

std::vector<std::byte> encode_entries(const Ledger& ledger, PiecePlace& place) {
  const Ledger::Entries& entries = ledger.entries();
  const auto begin = entries.lower_bound(place.offset << kStretchBits);
  auto end = begin;
  std::uint64_t stretch = 0;
  std::size_t count = 0;
  for (; end != entries.end(); ++end, ++count) {
    if (count >= kEntriesInPiece && end->first >> kStretchBits != stretch) break;
    stretch = end->first >> kStretchBits;
  }
  place.area_bytes = end == entries.end() ? kStretches : end->first >> kStretchBits;
  std::vector<std::byte> content(count * kEntryBytes);
  std::size_t at = 0;
  for (auto entry = begin; entry != end; ++entry, at += kEntryBytes) {
    put(content, at, entry->first);
    put(content, at + 8, static_cast<std::uint64_t>(entry->second.copies));
    const auto redisbloom_hash = entry->second.redisbloom_hash();
    put(content, at + 16, redisbloom_hash == 0 ? kHashZero : redisbloom_hash.value_or(0));
  }
  return content;
}

std::uint64_t decode_entries(const Piece& piece, Ledger& ledger) {
  const Bytes content = piece.content;
  const std::size_t count = content.size() / kEntryBytes;
  if (content.size() % kEntryBytes != 0 || count == 0 || count > kMaxEntriesInPiece) return 0;
  std::vector<std::pair<std::uint64_t, Ledger::Entry>> entries;
  entries.reserve(count);
  for (std::size_t at = 0; at < content.size(); at += kEntryBytes) {
    const auto hash = get<std::uint64_t>(content, at);
    const auto copies = static_cast<std::int64_t>(get<std::uint64_t>(content, at + 8));
    if (copies == 0 || copies > Ledger::kMaxCopies || copies < -Ledger::kMaxCopies) return 0;
    if (!entries.empty() && entries.back().first >= hash) return 0;
    if (hash >> kStretchBits < piece.place.offset ||
        hash >> kStretchBits >= piece.place.area_bytes) {
      return 0;
    }
    const auto redisbloom_hash = get<std::uint64_t>(content, at + 16);
    entries.push_back({hash, {copies}});
    if (redisbloom_hash != 0) entries.back().second.set_redisbloom_hash(redisbloom_hash);
  }
  if (ledger.size() + count > kMaxEntries) return 0;
  for (const auto& [hash, entry] : entries) ledger.set(hash, entry);
  return count;
}

std::uint64_t chained(std::uint64_t digest, Bytes bytes) {
  std::array<std::byte, 16> both{};
  put(both, 0, digest);
  put(both, 8, checksum(bytes));
  return checksum(both);
}

}}}  // namespace nestline::redis
