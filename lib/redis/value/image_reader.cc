#include "lib/redis/value/image_reader.h"

#include <algorithm>

namespace nestline::redis {
namespace {

// A filter of this many bytes is made once an eighth of them has arrived.
constexpr std::uint64_t kShare = 8;

}  // namespace

bool ImageReader::add(std::span<const std::byte> piece) {
  is_wrong_ = is_wrong_ || !(head_ ? add_piece(piece) : add_head(piece));
  return !is_wrong_;
}

bool ImageReader::add_head(std::span<const std::byte> piece) {
  head_ = decode_head(piece);
  if (!head_) return false;
  value_ = CuckooValue::from_settings(*head_, memory_);
  if (head_->redisbloom.tables != 0) {
    value_->tables_ = RedisBloomTables::begin(head_->redisbloom, memory_);
  }
  next_ = Areas(*head_).first();
  return true;
}

bool ImageReader::add_piece(std::span<const std::byte> bytes) {
  const Areas areas(*head_);
  const auto piece = decode_piece(bytes);
  if (!piece || !areas.have(piece->place)) return false;
  const PiecePlace& place = piece->place;
  if (next_.kind != AreaKind::ledger) {
    if (!(place == next_)) return false;
    next_ = areas.after(next_);
    return add_content(*piece);
  }
  if (place.kind != AreaKind::ledger || place.offset != next_.offset ||
      value_->ledger_.size() >= head_->ledger_entries) {
    return false;
  }
  next_.offset = place.area_bytes;
  return value_->load_content(*piece);
}

bool ImageReader::add_content(const Piece& piece) {
  const PiecePlace& place = piece.place;
  const bool is_made = place.offset != 0 && waiting_.empty();
  if (is_made) return value_->load_content(piece);

  waiting_.emplace_back(place, std::vector(piece.content.begin(), piece.content.end()));
  waiting_bytes_ += piece.content.size();
  if (waiting_bytes_ < place.area_bytes / kShare) return true;
  if (place.kind == AreaKind::slots) {
    value_->tables_.append_clear();
  } else {
    const GenerationShape& shape = head_->generations[place.index].shape;
    value_->generations_.emplace_back(shape, head_->settings.seed, memory_);
  }
  waiting_bytes_ = 0;
  const auto waiting = std::exchange(waiting_, {});
  return std::all_of(waiting.begin(), waiting.end(), [&](const auto& each) {
    return value_->load_content({each.first, each.second});
  });
}

std::unique_ptr<CuckooValue> ImageReader::finish() {
  if (is_wrong_ || !head_ || next_.kind != AreaKind::ledger || !value_) return nullptr;
  std::unique_ptr<CuckooValue> value = std::move(value_);
  bool is_whole =
      value->head_items() == head_->items && value->ledger_.size() == head_->ledger_entries;
  for (std::size_t i = 0; i < head_->generations.size(); ++i) {
    is_whole &= value->generations_[i].size() == head_->generations[i].keys;
  }
  return is_whole ? std::move(value) : nullptr;
}

}  // namespace nestline::redis
