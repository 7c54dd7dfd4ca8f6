#include "lib/faces/command/uniq/seen_recently.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>

namespace nestline { inline namespace v0_3 { namespace command {

void SeenRecently::advance(std::uint64_t ticks) {
  for (auto& generation : generations_) {
    for (ExpiringFilter& layer : generation.layers) layer.advance(ticks);
  }
  const auto newest = generations_.end() - 1;
  generations_.erase(std::remove_if(generations_.begin(), newest,
                                    [](const auto& older) { return older.size() == 0; }),
                     newest);
}

Selected SeenRecently::select_new(std::span<const Hash> lines, std::span<std::uint32_t> positions) {
  Selected all{0, 0};
  while (all.taken < lines.size()) {
    std::span<const Hash> chunk = lines.subspan(all.taken);
    const std::uint64_t most = room();
    if (most == 0) {
      if (options_.capacity == 0) {
        add_generation();
        continue;
      }
      // One line, which must be there already.
      chunk = chunk.first(1);
      look_up(chunk, 1);
      if (held_[0] == 0) return all;
    }
    chunk = chunk.first(
        std::min<std::uint64_t>({chunk.size(), kChunkLines, std::max<std::uint64_t>(most, 1)}));
    const std::size_t older = generations_.size() - 1;
    put(chunk);
    look_up(chunk, older);
    // Without a branch: whether a line is new cannot be foreseen.
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      positions[all.fresh] = static_cast<std::uint32_t>(all.taken + i);
      all.fresh += new_[i] & (held_[i] ^ 1U);
    }
    all.taken += chunk.size();
  }
  return all;
}

std::uint64_t SeenRecently::room() {
  const auto& last = generations_.back();
  const auto left = [&] { return last.capacity - std::min(last.capacity, last.size()); };
  // Without the sweep, dead lines would count.
  if (left() < kChunkLines) {
    for (ExpiringFilter& layer : newest()) {
      while (!layer.sweep(kChunkLines)) continue;
    }
  }
  return left();
}

void SeenRecently::put(std::span<const Hash> lines) {
  const auto fresh = std::span(new_).first(lines.size());
  const auto full = std::span(full_).first(lines.size());
  const auto outcomes = std::span(outcomes_).first(lines.size());
  std::ranges::fill(fresh, std::uint8_t{0});
  std::ranges::fill(full, std::uint8_t{0});
  for (std::size_t layer = 0; layer < newest().size(); ++layer) {
    (void)newest()[layer].insert(keys_of(layer, lines), outcomes);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      fresh[i] |= outcomes[i] != Outcome::present;
      full[i] |= outcomes[i] == Outcome::full;
    }
  }
  // Hardly ever: the filters are larger than their capacity.
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (full[i] != 0) put_elsewhere(lines[i]);
  }
}

void SeenRecently::put_elsewhere(Hash line) {
  if (options_.capacity > 0) throw std::length_error("the set of seen lines has no room left");
  add_generation();
  for (std::size_t layer = 0; layer < newest().size(); ++layer) {
    (void)newest()[layer].insert(keys_of(layer, std::span(&line, 1)));
  }
}

}}}  // namespace nestline::command
