// CuckooValue: its bytes, out and in.
#include <array>
#include <stdexcept>
#include <utility>

#include "lib/place/hash.h"
#include "lib/place/little_endian.h"
#include "lib/redis/value/image.h"
#include "lib/redis/value/value.h"

namespace nestline::redis {

bool CuckooValue::is_redisbloom() const noexcept {
  return !tables_.empty() && generations_.empty() && ledger_.empty();
}

ImageHead CuckooValue::head() const {
  ImageHead head;
  head.settings = settings_;
  head.deletes = deletes_;
  head.items = items() - tables_.header().items;
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
  const ImageHead head = this->head();
  if (iterator == 0) return {1, encode_head(head)};
  const std::uint64_t number = iterator - 1;
  if (number >= head.pieces()) return {};
  const PiecePlace place = head.place(number);
  if (place.kind == AreaKind::ledger) {
    const std::uint64_t first = (number - head.pieces_before_ledger()) * kEntriesInPiece;
    return {iterator + 1, encode_piece(place, encode_entries(ledger_, first))};
  }
  const auto index = static_cast<std::size_t>(place.index);
  const auto area =
      place.kind == AreaKind::blocks ? generations_[index].bytes() : tables_.table(place.index);
  return {iterator + 1, encode_piece(place, area.subspan(static_cast<std::size_t>(place.offset),
                                                         place.content_bytes()))};
}

std::unique_ptr<CuckooValue> CuckooValue::from_head(std::span<const std::byte> bytes,
                                                    std::uint64_t seed) {
  if (bytes.size() == kRedisBloomHeaderBytes) {
    const auto header = parse_header(bytes);
    if (!header) throw std::invalid_argument("the header of RedisBloom is not valid");
    return from_tables(RedisBloomTables(*header), seed);
  }
  const auto head = decode_head(bytes);
  if (!head) throw std::invalid_argument("the head is not valid");
  auto value = from_settings(*head);
  if (head->redisbloom.tables != 0) value->tables_ = RedisBloomTables(head->redisbloom);
  value->generations_.reserve(head->generations.size());
  for (const ImageGeneration& each : head->generations) {
    value->generations_.emplace_back(each.shape, head->settings.seed);
  }
  if (value->awaited_items_ == 0) value->awaited_items_ = head->items;
  return value;
}

// A value with all that a head says but its filters and tables.
std::unique_ptr<CuckooValue> CuckooValue::from_settings(const ImageHead& head) {
  std::unique_ptr<CuckooValue> value(new CuckooValue(head.settings));
  value->deletes_ = head.deletes;
  value->awaited_items_ = head.awaited_items;
  value->ledger_.set_cursor(head.ledger_cursor);
  return value;
}

bool CuckooValue::load_chunk(std::uint64_t iterator, std::span<const std::byte> piece) {
  if (is_redisbloom()) {
    if (iterator == 0 || iterator - 1 < piece.size()) return false;
    return tables_.load(iterator - 1 - piece.size(), piece);
  }
  if (iterator < 2) return false;
  const PiecePlace place = head().place(iterator - 2);
  const auto content = decode_piece(place, piece);
  if (!content || !load_content(place, *content)) return false;
  if (items() - tables_.header().items == awaited_items_) awaited_items_ = 0;
  return true;
}

bool CuckooValue::load_content(const PiecePlace& place, std::span<const std::byte> content) {
  switch (place.kind) {
    case AreaKind::blocks:
      return generations_[static_cast<std::size_t>(place.index)].load(place.offset, content);
    case AreaKind::slots:
      return tables_.load_table(place.index, place.offset, content);
    case AreaKind::ledger:
      return decode_entries(content, ledger_);
  }
  return false;
}

std::uint64_t CuckooValue::digest() const {
  std::uint64_t digest = 0;
  for (Chunk chunk = dump_chunk(0); chunk.next != 0; chunk = dump_chunk(chunk.next)) {
    std::array<std::byte, 16> both{};
    put(both, 0, digest);
    put(both, 8, checksum_bytes(chunk.bytes.data(), chunk.bytes.size()));
    digest = checksum_bytes(both.data(), both.size());
  }
  return digest;
}

}  // namespace nestline::redis
