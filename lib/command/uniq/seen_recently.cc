// See seen_recently.h.
#include "lib/command/uniq/seen_recently.h"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>

#include "lib/command/uniq/chunk_table.h"

namespace nestline::command {

SeenRecently::SeenRecently(const SeenOptions& options) : SeenRecently(options, {}) {}

SeenRecently::SeenRecently(const SeenOptions& options, std::vector<RecentGeneration> generations)
    : options_(options),
      generations_(std::move(generations)),
      new_(kChunkLines),
      full_(kChunkLines),
      answers_(kChunkLines),
      found_(kChunkLines),
      outcomes_(kChunkLines),
      seconds_(kChunkLines) {
  if (generations_.empty()) add_generation();
}

void SeenRecently::advance(std::uint64_t ticks) {
  for (RecentGeneration& generation : generations_) {
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
      const auto& layers = generations_.back().layers;
      for (std::size_t layer = 0; layer < layers.size(); ++layer) {
        if (layers[layer].may_contain(keys_of(layer, chunk), std::span(answers_).first(1)) == 0) {
          return all;
        }
      }
    }
    chunk = chunk.first(
        std::min<std::uint64_t>({chunk.size(), kChunkLines, std::max<std::uint64_t>(most, 1)}));
    const std::size_t older = generations_.size() - 1;
    put(chunk);
    look_into_older(chunk, older);
    // Without a branch: whether a line is new cannot be foreseen.
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      positions[all.fresh] = static_cast<std::uint32_t>(all.taken + i);
      all.fresh += new_[i];
    }
    all.taken += chunk.size();
  }
  return all;
}

void SeenRecently::add_generation() {
  const unsigned number = generations_.empty() ? 0 : generations_.back().number + 1;
  if (number == kMaxGenerations) {
    throw std::length_error("there are more lines than a growing set can hold");
  }
  const auto plan = plan_recent(options_, number);
  RecentGeneration generation{number, plan.capacity, {}};
  for (const ExpiringOptions& layer : plan.layers) generation.layers.emplace_back(layer);
  generations_.push_back(std::move(generation));
}

std::uint64_t SeenRecently::room() {
  const RecentGeneration& newest = generations_.back();
  const auto left = [&] { return newest.capacity - std::min(newest.capacity, newest.size()); };
  // Without the sweep, dead lines would count.
  if (left() < kChunkLines) {
    for (ExpiringFilter& layer : generations_.back().layers) {
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
  std::vector<ExpiringFilter>& layers = generations_.back().layers;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    (void)layers[layer].insert(keys_of(layer, lines), outcomes);
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
  std::vector<ExpiringFilter>& layers = generations_.back().layers;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    (void)layers[layer].insert(keys_of(layer, std::span(&line, 1)));
  }
}

void SeenRecently::look_into_older(std::span<const Hash> lines, std::size_t count) {
  const auto answers = std::span(answers_).first(lines.size());
  const auto found = std::span(found_).first(lines.size());
  for (std::size_t i = 0; i < count; ++i) {
    std::ranges::fill(found, std::uint8_t{1});
    const std::vector<ExpiringFilter>& layers = generations_[i].layers;
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
      layers[layer].may_contain(keys_of(layer, lines), answers);
      std::ranges::transform(found, answers, found.begin(), std::bit_and());
    }
    std::ranges::transform(
        found, std::span(new_).first(lines.size()), new_.begin(),
        [](std::uint8_t seen, std::uint8_t fresh) -> std::uint8_t { return fresh & (seen ^ 1U); });
  }
}

KeySpan SeenRecently::keys_of(std::size_t layer, std::span<const Hash> lines) {
  if (layer == 0) return lines;
  std::ranges::transform(lines, seconds_.begin(), &Hash::value);
  return std::span<const std::uint64_t>(seconds_).first(lines.size());
}

}  // namespace nestline::command
