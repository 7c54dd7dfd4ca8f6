// See seen_lines.h.
#include "lib/command/seen_lines.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace nestline::command {

SeenLines::SeenLines(const SeenOptions& options) : SeenLines(options, {}, {}) {}

SeenLines::SeenLines(const SeenOptions& options, std::vector<Generation> generations,
                     std::vector<Hash> ring)
    : options_(options),
      generations_(std::move(generations)),
      ring_(std::move(ring)),
      kept_(ring_.size()),
      table_(2 * kChunk),
      held_(kChunk),
      pending_(kChunk),
      found_(kChunk),
      seconds_(kChunk),
      stored_(kChunk) {
  ring_.reserve(options_.window);  // takes no pages before they are written
  if (generations_.empty()) add_generation();
}

std::array<std::span<const Hash>, 2> SeenLines::ring() const noexcept {
  const std::span<const Hash> all = ring_;
  const std::size_t until_end = std::min<std::size_t>(kept_, options_.window - oldest_);
  return {all.subspan(oldest_, until_end), all.first(kept_ - until_end)};
}

SeenLines::Selected SeenLines::select_new(std::span<const Hash> lines,
                                          std::span<std::uint32_t> positions) {
  std::size_t most = kChunk;
  if (options_.window > 0) most = std::min<std::uint64_t>(most, options_.window);
  Selected all{0, 0};
  while (all.taken < lines.size()) {
    const std::size_t size = std::min(most, lines.size() - all.taken);
    const auto fresh = positions.subspan(all.fresh, size);
    const Selected chunk = select_chunk(lines.subspan(all.taken, size), fresh);
    for (std::uint32_t& position : fresh.first(chunk.fresh)) {
      position += static_cast<std::uint32_t>(all.taken);
    }
    all.fresh += chunk.fresh;
    all.taken += chunk.taken;
    if (chunk.taken < size) break;
  }
  return all;
}

SeenLines::Selected SeenLines::select_chunk(std::span<const Hash> chunk,
                                            std::span<std::uint32_t> positions) {
  const bool windowed = options_.window > 0;
  const bool grows = options_.capacity == 0 && !windowed;
  if (grows && generations_.back().size() + chunk.size() > generations_.back().capacity) {
    add_generation();
  }
  const std::uint64_t room =
      options_.capacity > 0 ? options_.capacity - generations_.back().size() : chunk.size();

  look_up(chunk);
  table_.clear();
  const std::uint64_t may_leave = std::min<std::uint64_t>(kept_, chunk.size());
  for (std::uint32_t order = 0; order < may_leave; ++order) {
    const Hash hash = ring_[ring_place(order)];
    table_.put(table_.find(hash), hash, order);
  }

  fresh_.clear();
  std::size_t left = 0;  // how many hashes have left the ring in this chunk
  std::size_t taken = 0;
  for (; taken < chunk.size(); ++taken) {
    if (held_[taken] != 0 && !windowed) continue;
    ChunkTable::Place& place = table_.find(chunk[taken]);
    if (table_.has(place)) {
      if (place.order >= left) continue;  // new in this chunk, or still in the ring
    } else if (held_[taken] != 0) {
      continue;
    }
    if (fresh_.size() == room) break;
    table_.put(place, chunk[taken], ChunkTable::kNew);
    positions[fresh_.size()] = static_cast<std::uint32_t>(taken);
    fresh_.push_back(chunk[taken]);
    if (windowed && kept_ + fresh_.size() - left > options_.window) ++left;
  }

  forget(left);
  keep(positions);
  return {fresh_.size(), taken};
}

void SeenLines::look_up(std::span<const Hash> chunk) {
  std::span<const std::uint64_t> hashes;  // later generations have as many layers or more
  if (generations_.back().layers.size() > 1) hashes = second_hashes(chunk);
  std::ranges::fill(held_, std::uint8_t{0});
  std::span<std::uint32_t> pending = std::span(pending_).first(chunk.size());
  std::iota(pending.begin(), pending.end(), 0U);
  // The newest first, as it has most of the lines.
  for (auto generation = generations_.rbegin(); generation != generations_.rend(); ++generation) {
    std::span<std::uint32_t> found = std::span(found_).first(pending.size());
    const bool all = pending.size() == chunk.size();
    const Filter& first = generation->layers.front();
    found = found.first(all ? first.select(chunk, found) : first.select(chunk, pending, found));
    if (generation->layers.size() > 1) {
      found = found.first(generation->layers.back().select(hashes, found, found));
    }
    if (found.empty()) continue;
    for (const std::uint32_t position : found) held_[position] = 1;
    const auto rest =
        std::remove_if(pending.begin(), pending.end(),
                       [this](std::uint32_t position) { return held_[position] != 0; });
    pending = pending.first(static_cast<std::size_t>(rest - pending.begin()));
    if (pending.empty()) break;
  }
}

std::span<const std::uint64_t> SeenLines::second_hashes(std::span<const Hash> hashes) {
  std::ranges::transform(hashes, seconds_.begin(), &Hash::value);
  return std::span(seconds_).first(hashes.size());
}

void SeenLines::add_generation() {
  if (generations_.size() == kMostGenerations) {
    throw std::length_error("there are more lines than a growing set can hold");
  }
  const auto plan = plan_generation(options_, static_cast<unsigned>(generations_.size()));
  Generation generation{plan.capacity, {}};
  for (const Options& layer : plan.layers) generation.layers.emplace_back(layer);
  generations_.push_back(std::move(generation));
}

void SeenLines::forget(std::size_t count) {
  if (count == 0) return;
  gone_.clear();
  for (std::size_t order = 0; order < count; ++order) gone_.push_back(ring_[ring_place(order)]);
  std::vector<Filter>& layers = generations_.back().layers;
  layers.front().erase(gone_);
  if (layers.size() > 1) layers.back().erase(second_hashes(gone_));
  oldest_ = ring_place(count);
  kept_ -= count;
}

void SeenLines::keep(std::span<std::uint32_t> positions) {
  for (std::size_t layer = 0; layer < generations_.back().layers.size(); ++layer) {
    keep_in_layer(layer, positions);
  }
  if (options_.window == 0) return;
  for (const Hash hash : fresh_) {
    const std::size_t place = ring_place(kept_++);
    if (place == ring_.size()) {
      ring_.push_back(hash);
    } else {
      ring_[place] = hash;
    }
  }
}

void SeenLines::keep_in_layer(std::size_t layer, std::span<std::uint32_t> positions) {
  std::vector<Filter>& layers = generations_.back().layers;
  const KeySpan keys = layer == 0 ? KeySpan(fresh_) : KeySpan(second_hashes(fresh_));
  const std::span stored = std::span(stored_).first(fresh_.size());
  if (layers[layer].insert(keys, stored) == fresh_.size()) return;

  std::size_t kept = 0;
  for (std::size_t i = 0; i < fresh_.size(); ++i) {
    if (stored[i] == 0 &&
        !keep_one(layers[layer], layer == 0 ? Key(fresh_[i]) : Key(fresh_[i].value))) {
      if (layer > 0) layers.front().erase(fresh_[i]);
      continue;
    }
    positions[kept] = positions[i];
    fresh_[kept++] = fresh_[i];
  }
  fresh_.resize(kept);
}

bool SeenLines::keep_one(Filter& filter, Key key) const {
  while (true) {
    switch (filter.insert(key).outcome) {
      case Outcome::stored:
      case Outcome::present:
        return true;
      case Outcome::copies:
        return options_.window == 0;
      case Outcome::full:
        break;
    }
    // Fewer than one filter in a million comes here.
    if (!filter.grow()) throw std::length_error("the set of seen lines has no room left");
  }
}

}  // namespace nestline::command
