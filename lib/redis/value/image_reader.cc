#include "lib/redis/value/image_reader.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "lib/redis/value/image.h"

namespace nestline::redis {
namespace {

// A filter of this many bytes is made once an eighth of them has arrived.
constexpr std::uint64_t kShare = 8;

}  // namespace

struct ImageReader::State {
  std::pmr::memory_resource* memory = nullptr;
  std::optional<ImageHead> head;
  std::unique_ptr<CuckooValue> value;
  PiecePlace next{};  // of the next piece; for the ledger only where it begins
  bool is_wrong = false;
  // The first contents of an area whose memory is not allocated yet, and where they belong.
  std::vector<std::pair<PiecePlace, std::vector<std::byte>>> waiting;
  std::uint64_t waiting_bytes = 0;
};

ImageReader::ImageReader(std::pmr::memory_resource* memory) : state_(std::make_unique<State>()) {
  state_->memory = memory;
}
ImageReader::ImageReader(ImageReader&&) noexcept = default;
ImageReader& ImageReader::operator=(ImageReader&&) noexcept = default;
ImageReader::~ImageReader() = default;

bool ImageReader::add(std::span<const std::byte> piece) {
  state_->is_wrong = state_->is_wrong || !(state_->head ? add_piece(piece) : add_head(piece));
  return !state_->is_wrong;
}

bool ImageReader::add_head(std::span<const std::byte> piece) {
  state_->head = decode_head(piece);
  if (!state_->head) return false;
  const ImageHead& head = *state_->head;
  state_->value = CuckooValue::from_settings(head, state_->memory);
  if (head.redisbloom.tables != 0) {
    state_->value->tables_ = RedisBloomTables::begin(head.redisbloom, state_->memory);
  }
  state_->next = HeadAreas(head).first();
  return true;
}

bool ImageReader::add_piece(std::span<const std::byte> bytes) {
  const ImageHead& head = *state_->head;
  const HeadAreas areas(head);
  PiecePlace& next = state_->next;
  const auto piece = decode_piece(bytes);
  if (!piece || !areas.have(piece->place)) return false;
  if (next.kind != AreaKind::ledger) {
    if (!(piece->place == next)) return false;
    next = areas.after(next);
    return add_content(piece->place, piece->content);
  }
  Ledger& ledger = state_->value->ledger_;
  if (piece->place.kind != AreaKind::ledger || piece->place.offset != next.offset ||
      ledger.size() >= head.ledger_entries) {
    return false;
  }
  next.offset = piece->place.area_bytes;
  return decode_entries(*piece, ledger);
}

bool ImageReader::add_content(const PiecePlace& place, std::span<const std::byte> content) {
  CuckooValue& value = *state_->value;
  const auto load = [&](const PiecePlace& to, std::span<const std::byte> bytes) {
    if (to.kind == AreaKind::slots) return value.tables_.load_table(to.index, to.offset, bytes);
    return value.load_blocks(value.generations_.back(), to.offset, bytes);
  };
  const bool is_made = place.offset != 0 && state_->waiting.empty();
  if (is_made) return load(place, content);

  state_->waiting.emplace_back(place, std::vector(content.begin(), content.end()));
  state_->waiting_bytes += content.size();
  if (state_->waiting_bytes < place.area_bytes / kShare) return true;
  if (place.kind == AreaKind::slots) {
    value.tables_.append_clear();
  } else {
    const GenerationShape& shape = state_->head->generations[value.generations_.size()].shape;
    value.generations_.emplace_back(shape, state_->head->settings.seed, state_->memory);
  }
  const auto waiting = std::exchange(state_->waiting, {});
  state_->waiting_bytes = 0;
  return std::all_of(waiting.begin(), waiting.end(),
                     [&](const auto& each) { return load(each.first, each.second); });
}

std::unique_ptr<CuckooValue> ImageReader::finish() {
  if (state_->is_wrong || !state_->head || state_->next.kind != AreaKind::ledger) {
    return nullptr;
  }
  const ImageHead& head = *state_->head;
  std::unique_ptr<CuckooValue> value = std::move(state_->value);
  if (!value || value->head_items() != head.items || value->ledger_.size() != head.ledger_entries) {
    return nullptr;
  }
  for (std::size_t i = 0; i < head.generations.size(); ++i) {
    if (value->generations_[i].size() != head.generations[i].keys) return nullptr;
  }
  return value;
}

}  // namespace nestline::redis
