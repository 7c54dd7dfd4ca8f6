#include "lib/redis/value/image.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <iterator>
#include <limits>
#include <stdexcept>

#include "lib/place/hash.h"
#include "lib/place/layout.h"
#include "lib/place/little_endian.h"
#include "lib/redis/value/generation_plan.h"

namespace nestline::redis {
namespace {

constexpr std::array<std::uint8_t, 8> kMagic = {0x8e, 'N', 'C', 'F', '\r', '\n', 0x1a, '\n'};
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kGenerationsAt = 128;
constexpr std::size_t kGenerationBytes = 32;
constexpr std::size_t kChecksumBytes = 8;

constexpr std::uint32_t kPieceMagic = 0x7046434e;
constexpr std::size_t kPieceHeadBytes = 32;

constexpr std::size_t kEntryBytes = 24;
constexpr std::uint64_t kMostItems = std::uint64_t{1} << 62;
constexpr std::uint64_t kMostEntries = std::uint64_t{1} << 29;  // so that no sum overflows

using Bytes = std::span<const std::byte>;

std::uint64_t pieces_of(std::uint64_t bytes) {
  return bytes / kPieceBytes + (bytes % kPieceBytes != 0);
}

std::uint64_t bytes_of(const GenerationShape& shape) {
  return (shape.base_blocks << shape.growth) * kBlockBytes;
}

std::uint64_t bytes_of(const RedisBloomHeader& header, std::uint64_t table) {
  return *header.buckets_of(table) * header.bucket_size;
}

void seal(std::vector<std::byte>& bytes) {
  const std::size_t covered = bytes.size() - kChecksumBytes;
  put(bytes, covered, checksum_bytes(bytes.data(), covered));
}

bool is_sealed(Bytes bytes) {
  const std::size_t covered = bytes.size() - kChecksumBytes;
  return get<std::uint64_t>(bytes, covered) == checksum_bytes(bytes.data(), covered);
}

bool is_zero(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

void put_generation(std::span<std::byte> bytes, const ImageGeneration& generation) {
  const GenerationShape& shape = generation.shape;
  put(bytes, 0, static_cast<std::uint8_t>(shape.bits));
  put(bytes, 1, static_cast<std::uint8_t>(shape.growth));
  put(bytes, 2, static_cast<std::uint8_t>(shape.most_growth));
  put(bytes, 4, shape.number);
  put(bytes, 8, shape.base_blocks);
  put(bytes, 16, shape.capacity);
  put(bytes, 24, generation.keys);
}

std::optional<ImageGeneration> get_generation(Bytes bytes) {
  ImageGeneration generation{};
  GenerationShape& shape = generation.shape;
  shape.bits = get<std::uint8_t>(bytes, 0);
  shape.growth = get<std::uint8_t>(bytes, 1);
  shape.most_growth = get<std::uint8_t>(bytes, 2);
  shape.number = get<std::uint32_t>(bytes, 4);
  shape.base_blocks = get<std::uint64_t>(bytes, 8);
  shape.capacity = get<std::uint64_t>(bytes, 16);
  generation.keys = get<std::uint64_t>(bytes, 24);
  if (bytes[3] != std::byte{0} || !is_valid(shape, generation.keys)) return std::nullopt;
  return generation;
}

// Whether the settings are such as a value has: those of a value from RedisBloom's tables may have
// any capacity.
bool are_valid(const Settings& settings) {
  try {
    check(settings);
    return normalized(settings) == settings;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

}  // namespace

std::size_t PiecePlace::content_bytes() const noexcept {
  return static_cast<std::size_t>(std::min<std::uint64_t>(kPieceBytes, area_bytes - offset));
}

std::uint64_t ImageHead::pieces_before_ledger() const noexcept {
  std::uint64_t pieces = 0;
  for (const ImageGeneration& each : generations) pieces += pieces_of(bytes_of(each.shape));
  for (std::uint64_t i = 0; i < redisbloom.tables; ++i)
    pieces += pieces_of(bytes_of(redisbloom, i));
  return pieces;
}

std::uint64_t ImageHead::pieces() const noexcept {
  return pieces_before_ledger() + (ledger_entries + kEntriesInPiece - 1) / kEntriesInPiece;
}

PiecePlace ImageHead::place(std::uint64_t number) const noexcept {
  const auto inside = [&](std::uint64_t bytes) {
    const std::uint64_t pieces = pieces_of(bytes);
    if (number < pieces) return true;
    number -= pieces;
    return false;
  };
  for (std::uint64_t i = 0; i < generations.size(); ++i) {
    const std::uint64_t bytes = bytes_of(generations[i].shape);
    if (inside(bytes)) return {AreaKind::blocks, i, number * kPieceBytes, bytes};
  }
  for (std::uint64_t i = 0; i < redisbloom.tables; ++i) {
    const std::uint64_t bytes = bytes_of(redisbloom, i);
    if (inside(bytes)) return {AreaKind::slots, i, number * kPieceBytes, bytes};
  }
  return {AreaKind::ledger, 0, number * kEntriesInPiece * kEntryBytes, 0};
}

std::vector<std::byte> encode_head(const ImageHead& head) {
  std::vector<std::byte> bytes(kGenerationsAt + kGenerationBytes * head.generations.size() +
                               kChecksumBytes);
  const Settings& settings = head.settings;
  std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
  put(bytes, 8, kVersion);
  put(bytes, 12, static_cast<std::uint32_t>(head.generations.size()));
  put(bytes, 16, settings.capacity);
  put(bytes, 24, std::bit_cast<std::uint64_t>(settings.error));
  put(bytes, 32, settings.bucket_size);
  put(bytes, 34, settings.max_iterations);
  put(bytes, 36, settings.expansion);
  put(bytes, 40, settings.seed);
  put(bytes, 48, head.deletes);
  put(bytes, 56, head.items);
  put(bytes, 64, head.ledger_entries);
  put(bytes, 72, head.ledger_cursor);
  put(bytes, 120, head.awaited_items);
  if (head.redisbloom.tables != 0) {
    const auto header = write_header(head.redisbloom);
    std::copy(header.begin(), header.end(), bytes.begin() + 80);
  }
  for (std::size_t i = 0; i < head.generations.size(); ++i) {
    put_generation(std::span(bytes).subspan(kGenerationsAt + kGenerationBytes * i),
                   head.generations[i]);
  }
  seal(bytes);
  return bytes;
}

std::optional<ImageHead> decode_head(Bytes bytes) {
  if (bytes.size() < kGenerationsAt + kChecksumBytes || !is_sealed(bytes) ||
      std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0 ||
      get<std::uint32_t>(bytes, 8) != kVersion) {
    return std::nullopt;
  }
  const std::size_t count = get<std::uint32_t>(bytes, 12);
  const std::size_t room = bytes.size() - kGenerationsAt - kChecksumBytes;
  if (count > 65535 || room != count * kGenerationBytes) return std::nullopt;

  ImageHead head;
  Settings& settings = head.settings;
  settings.capacity = get<std::uint64_t>(bytes, 16);
  settings.error = std::bit_cast<double>(get<std::uint64_t>(bytes, 24));
  settings.bucket_size = get<std::uint16_t>(bytes, 32);
  settings.max_iterations = get<std::uint16_t>(bytes, 34);
  settings.expansion = get<std::uint16_t>(bytes, 36);
  settings.seed = get<std::uint64_t>(bytes, 40);
  head.deletes = get<std::uint64_t>(bytes, 48);
  head.items = get<std::uint64_t>(bytes, 56);
  head.ledger_entries = get<std::uint64_t>(bytes, 64);
  head.ledger_cursor = get<std::uint64_t>(bytes, 72);
  head.awaited_items = get<std::uint64_t>(bytes, 120);
  if (!are_valid(settings) || head.ledger_entries > kMostEntries || head.items > kMostItems ||
      head.awaited_items > kMostItems || !is_zero(bytes.subspan(38, 2)) ||
      !is_zero(bytes.subspan(118, 2))) {
    return std::nullopt;
  }
  if (const Bytes header = bytes.subspan(80, kRedisBloomHeaderBytes); !is_zero(header)) {
    const auto parsed = parse_header(header);
    if (!parsed || parsed->items > kMostItems) return std::nullopt;
    head.redisbloom = *parsed;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto generation = get_generation(bytes.subspan(kGenerationsAt + kGenerationBytes * i));
    if (!generation) return std::nullopt;
    head.generations.push_back(*generation);
  }
  return head;
}

std::vector<std::byte> encode_piece(const PiecePlace& place, Bytes content) {
  std::vector<std::byte> piece(kPieceHeadBytes + content.size() + kChecksumBytes);
  put(piece, 0, kPieceMagic);
  put(piece, 4, static_cast<std::uint32_t>(place.kind));
  put(piece, 8, place.index);
  put(piece, 16, place.offset);
  put(piece, 24, place.area_bytes);
  std::copy(content.begin(), content.end(), piece.begin() + kPieceHeadBytes);
  seal(piece);
  return piece;
}

std::optional<Bytes> decode_piece(const PiecePlace& place, Bytes piece) noexcept {
  if (piece.size() < kPieceHeadBytes + kChecksumBytes || !is_sealed(piece) ||
      get<std::uint32_t>(piece, 0) != kPieceMagic) {
    return std::nullopt;
  }
  const PiecePlace told{static_cast<AreaKind>(get<std::uint32_t>(piece, 4)),
                        get<std::uint64_t>(piece, 8), get<std::uint64_t>(piece, 16),
                        get<std::uint64_t>(piece, 24)};
  const Bytes content =
      piece.subspan(kPieceHeadBytes, piece.size() - kPieceHeadBytes - kChecksumBytes);
  if (!(told == place)) return std::nullopt;
  if (place.kind != AreaKind::ledger && content.size() != place.content_bytes()) {
    return std::nullopt;
  }
  return content;
}

std::vector<std::byte> encode_entries(const Ledger& ledger, std::uint64_t first) {
  const Ledger::Entries& entries = ledger.entries();
  if (first >= entries.size()) return {};
  const std::uint64_t count = std::min(kEntriesInPiece, entries.size() - first);
  std::vector<std::byte> content(static_cast<std::size_t>(count) * kEntryBytes);
  auto entry = std::next(entries.begin(), static_cast<std::ptrdiff_t>(first));
  for (std::size_t at = 0; at < content.size(); at += kEntryBytes, ++entry) {
    put(content, at, entry->first);
    put(content, at + 8, static_cast<std::uint64_t>(entry->second.copies));
    put(content, at + 16, entry->second.redisbloom_hash);
  }
  return content;
}

bool decode_entries(Bytes content, Ledger& ledger) {
  const std::size_t count = content.size() / kEntryBytes;
  if (content.size() % kEntryBytes != 0 || count == 0 || count > kEntriesInPiece) return false;
  std::vector<std::pair<std::uint64_t, Ledger::Entry>> entries;
  entries.reserve(count);
  for (std::size_t at = 0; at < content.size(); at += kEntryBytes) {
    const auto hash = get<std::uint64_t>(content, at);
    const auto copies = static_cast<std::int64_t>(get<std::uint64_t>(content, at + 8));
    if (copies == 0 || copies > Ledger::kMostCopies || copies < -Ledger::kMostCopies) return false;
    if (!entries.empty() && entries.back().first >= hash) return false;
    entries.push_back({hash, {copies, get<std::uint64_t>(content, at + 16)}});
  }
  if (ledger.size() + count > kMostEntries) return false;
  for (const auto& [hash, entry] : entries) ledger.set(hash, entry);
  return true;
}

}  // namespace nestline::redis
