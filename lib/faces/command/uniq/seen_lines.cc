#include "lib/faces/command/uniq/seen_lines.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace nestline { inline namespace v0_3 { namespace command {

SeenLines::SeenLines(const SeenOptions& options, Generations generations, std::vector<Hash> ring)
    : SeenSet(options, std::move(generations)),
      ring_(std::move(ring)),
      kept_(ring_.size()),
      table_(2 * kChunkLines),
      fresh_(kChunkLines),
      outcomes_(kChunkLines) {
  ring_.reserve(options_.window);  // takes no pages before they are written
}

std::array<std::span<const Hash>, 2> SeenLines::ring() const noexcept {
  const std::span<const Hash> all = ring_;
  const std::size_t until_end = std::min<std::size_t>(kept_, options_.window - oldest_);
  return {all.subspan(oldest_, until_end), all.first(kept_ - until_end)};
}

Selected SeenLines::select_new(std::span<const Hash> lines, std::span<const std::uint8_t> repeats,
                               std::span<std::uint32_t> positions) {
  std::size_t most = kChunkLines;
  if (options_.window > 0) most = std::min<std::uint64_t>(most, options_.window);
  Selected all{0, 0};
  while (all.taken < lines.size()) {
    const std::size_t size = std::min(most, lines.size() - all.taken);
    const auto fresh = positions.subspan(all.fresh, size);
    const Selected chunk =
        select_chunk(lines.subspan(all.taken, size), repeats.subspan(all.taken, size), fresh);
    for (std::uint32_t& position : fresh.first(chunk.fresh)) {
      position += static_cast<std::uint32_t>(all.taken);
    }
    all.fresh += chunk.fresh;
    all.taken += chunk.taken;
    if (chunk.taken < size) break;
  }
  return all;
}

Selected SeenLines::select_chunk(std::span<const Hash> chunk, std::span<const std::uint8_t> repeats,
                                 std::span<std::uint32_t> positions) {
  const bool windowed = options_.window > 0;
  const bool grows = options_.capacity == 0 && !windowed;
  if (grows && generations_.back().size() + chunk.size() > generations_.back().capacity) {
    add_generation();
  }
  const std::uint64_t room =
      options_.capacity > 0 ? options_.capacity - generations_.back().size() : chunk.size();

  look_up(chunk, generations_.size());
  Selected selected =
      windowed ? choose_in_window(chunk, positions) : choose(chunk, repeats, room, positions);
  selected.fresh = keep(selected.fresh, positions);
  return selected;
}

Selected SeenLines::choose(std::span<const Hash> chunk, std::span<const std::uint8_t> repeats,
                           std::uint64_t room, std::span<std::uint32_t> positions) {
  // Without a branch: whether a line is new cannot be foreseen.
  std::size_t fresh = 0;
  for (std::uint32_t i = 0; i < chunk.size(); ++i) {
    positions[fresh] = i;
    fresh_[fresh] = chunk[i];
    fresh += (held_[i] | repeats[i]) ^ 1U;
  }
  if (fresh <= room) return {fresh, chunk.size()};
  return {static_cast<std::size_t>(room), positions[room]};
}

Selected SeenLines::choose_in_window(std::span<const Hash> chunk,
                                     std::span<std::uint32_t> positions) {
  // A number below kChunkLines is a position in the chunk, the others are orders in the ring.
  const auto hash_of = [this, chunk](std::size_t number) {
    return number < kChunkLines ? chunk[number] : ring_[ring_place(number - kChunkLines)];
  };
  table_.clear();
  const std::size_t may_leave = std::min(kept_, chunk.size());
  for (std::size_t order = 0; order < may_leave; ++order) {
    table_.put(table_.find(ring_[ring_place(order)], hash_of), kChunkLines + order);
  }

  std::size_t fresh = 0;
  std::size_t left = 0;  // how many hashes have left the ring in this chunk
  for (std::uint32_t i = 0; i < chunk.size(); ++i) {
    ChunkTable::Place& place = table_.find(chunk[i], hash_of);
    const bool in_table = table_.has(place);
    const bool gone = in_table && place.number >= kChunkLines && place.number - kChunkLines < left;
    if ((in_table || held_[i] != 0) && !gone) continue;
    table_.put(place, i);
    positions[fresh] = i;
    fresh_[fresh++] = chunk[i];
    if (kept_ + fresh - left > options_.window) ++left;
  }
  forget(left);
  return {fresh, chunk.size()};
}

void SeenLines::forget(std::size_t count) {
  if (count == 0) return;
  gone_.clear();
  for (std::size_t order = 0; order < count; ++order) gone_.push_back(ring_[ring_place(order)]);
  for (std::size_t layer = 0; layer < newest().size(); ++layer) {
    newest()[layer].erase(keys_of(layer, gone_));
  }
  oldest_ = ring_place(count);
  kept_ -= count;
}

std::size_t SeenLines::keep(std::size_t count, std::span<std::uint32_t> positions) {
  for (std::size_t layer = 0; layer < newest().size(); ++layer) {
    count = keep_in_layer(layer, count, positions);
  }
  if (options_.window == 0) return count;
  for (const Hash hash : std::span(fresh_).first(count)) {
    const std::size_t place = ring_place(kept_++);
    if (place == ring_.size()) {
      ring_.push_back(hash);
    } else {
      ring_[place] = hash;
    }
  }
  return count;
}

std::size_t SeenLines::keep_in_layer(std::size_t layer, std::size_t count,
                                     std::span<std::uint32_t> positions) {
  Filter& filter = newest()[layer];
  const std::span fresh = std::span(fresh_).first(count);
  const std::span outcomes = std::span(outcomes_).first(count);
  if (filter.insert(keys_of(layer, fresh), outcomes) == count) return count;

  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    // Fewer than one filter in a million is ever full. It may have grown for a line before.
    while (outcomes[i] == Outcome::full) {
      outcomes[i] = filter.insert(layer == 0 ? Key(fresh[i]) : Key(fresh[i].value)).outcome;
      if (outcomes[i] == Outcome::full && !filter.grow()) {
        throw std::length_error("the set of seen lines has no room left");
      }
    }
    // Others that look the same have the slots; with a window they may leave.
    if (outcomes[i] == Outcome::too_many_copies && options_.window > 0) {
      if (layer > 0) newest().front().erase(fresh[i]);
      continue;
    }
    positions[kept] = positions[i];
    fresh[kept++] = fresh[i];
  }
  return kept;
}

}}}  // namespace nestline::command
