// A value as bytes: its head, its pieces, and back; and how it is put together from them.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lib/faces/embed/value/value.h"

namespace nestline { inline namespace v0_3 { namespace redis {

Areas CuckooValue::areas() const {
  return {sub_filters_.size(), tables_.header().tables, [this](AreaKind kind, std::uint64_t index) {
            return kind == AreaKind::blocks ? sub_filters_[index].block_bytes()
                                            : tables_.table(index).size();
          }};
}

bool CuckooValue::is_redisbloom() const noexcept {
  // While pieces of an image of our own are missing, it is none of RedisBloom's.
  return !tables_.empty() && sub_filters_.empty() && ledger_.empty() && is_complete();
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
  head.sub_filters.reserve(sub_filters_.size());
  for (const SubFilter& sub_filter : sub_filters_) {
    head.sub_filters.push_back({sub_filter.shape(), sub_filter.size()});
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
  const Areas all = areas();
  auto place = iterator == 1 ? all.first() : all.at(iterator);
  if (!place) return {};
  if (place->kind == AreaKind::ledger) {
    const auto entries = encode_entries(ledger_, *place);
    if (entries.empty()) return {};
    return {all.iterator_after(*place), encode_piece(*place, entries)};
  }
  std::vector<std::byte> copy;
  const std::size_t length = place->content_bytes();
  const auto content = place->kind == AreaKind::blocks
                           ? sub_filters_[place->index].bytes(place->offset, length, copy)
                           : tables_.table(place->index).subspan(place->offset, length);
  return {all.iterator_after(*place), encode_piece(*place, content)};
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
  return from_head(*head, memory);
}

std::unique_ptr<CuckooValue> CuckooValue::from_head(const ImageHead& head,
                                                    std::pmr::memory_resource* memory) {
  std::unique_ptr<CuckooValue> value(new CuckooValue(head.settings, memory));
  if (head.redisbloom.tables != 0) value->tables_ = RedisBloomTables(head.redisbloom, memory);
  value->sub_filters_.reserve(head.sub_filters.size());
  for (const ImageSubFilter& each : head.sub_filters) {
    value->sub_filters_.emplace_back(each.shape, head.settings.seed, memory);
  }
  value->deletes_ = head.deletes;
  value->awaited_items_ = head.awaited_items == 0 ? head.items : head.awaited_items;
  value->awaited_entries_ = head.ledger_entries;
  value->ledger_.set_cursor(head.ledger_cursor);
  return value;
}

// Whether pieces that came in order make what the head says.
bool CuckooValue::finish_reading(const ImageHead& head) {
  awaited_items_ = head.awaited_items;
  bool is_whole = head_items() == head.items && ledger_.size() == head.ledger_entries;
  for (std::size_t i = 0; i < head.sub_filters.size(); ++i) {
    is_whole &= sub_filters_[i].size() == head.sub_filters[i].keys;
  }
  return is_whole;
}

bool CuckooValue::load_chunk(std::uint64_t iterator, std::span<const std::byte> bytes) {
  if (is_redisbloom()) {
    if (iterator == 0 || iterator - 1 < bytes.size()) return false;
    return tables_.load(iterator - 1 - bytes.size(), bytes);
  }
  const Areas all = areas();
  const auto piece = decode_piece(bytes);
  if (!piece || !all.have(piece->place) || all.iterator_after(piece->place) != iterator ||
      !load_content(*piece)) {
    return false;
  }
  if (awaited_entries_ == 0 && head_items() == awaited_items_) awaited_items_ = 0;
  return true;
}

bool CuckooValue::load_content(const Piece& piece) {
  const PiecePlace& place = piece.place;
  if (place.kind == AreaKind::slots) {
    return tables_.load_table(place.index, place.offset, piece.content);
  }
  if (place.kind == AreaKind::ledger) {
    const std::uint64_t entries = decode_entries(piece, ledger_);
    awaited_entries_ -= std::min(awaited_entries_, entries);
    return entries != 0;
  }
  SubFilter& sub_filter = sub_filters_[place.index];
  stored_ -= sub_filter.size();
  const bool loaded = sub_filter.load(place.offset, piece.content);
  stored_ += sub_filter.size();
  none_is_empty_ = false;
  return loaded;
}

std::uint64_t CuckooValue::digest() const {
  std::uint64_t digest = 0;
  for_each_chunk([&](const Chunk& chunk) { digest = chained(digest, chunk.bytes); });
  return digest;
}

}}}  // namespace nestline::redis
