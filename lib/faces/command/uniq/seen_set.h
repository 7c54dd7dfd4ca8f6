// What the two kinds of sets of lines share: their generations, as seen_plan.h plans them.
#ifndef NESTLINE_LIB_FACES_COMMAND_UNIQ_SEEN_SET_H_
#define NESTLINE_LIB_FACES_COMMAND_UNIQ_SEEN_SET_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/faces/command/uniq/chunk_table.h"
#include "lib/faces/command/uniq/seen_plan.h"

namespace nestline { inline namespace v0_3 { namespace command {

/// A layer or two that hold the same lines; the second holds hashes of the first one's hashes.
template <typename Layer>
struct Generation {
  unsigned number;  ///< What its capacity follows from.
  std::uint64_t capacity;
  std::vector<Layer> layers;

  /// Lines in it; with two layers perhaps a few less, as a new line can look like another.
  [[nodiscard]] std::uint64_t size() const {
    return std::max(layers.front().size(), layers.back().size());
  }
};

template <typename Layer>
class SeenSet {
 public:
  using Plan = std::conditional_t<std::is_same_v<Layer, Filter>, Options, ExpiringOptions>;
  using Generations = std::vector<Generation<Layer>>;

  [[nodiscard]] const SeenOptions& options() const noexcept { return options_; }
  [[nodiscard]] const Generations& generations() const noexcept { return generations_; }
  [[nodiscard]] std::uint64_t size() const {
    std::uint64_t sum = 0;
    for (const auto& generation : generations_) sum += generation.size();
    return sum;
  }
  [[nodiscard]] std::uint64_t memory_bytes() const {
    std::uint64_t sum = 0;
    for (const auto& generation : generations_) {
      for (const Layer& layer : generation.layers) sum += layer.memory_bytes();
    }
    return sum;
  }

 protected:
  SeenSet(const SeenOptions& options, Generations generations)
      : options_(options), generations_(std::move(generations)) {
    if (generations_.empty()) add_generation();
  }

  [[nodiscard]] std::vector<Layer>& newest() { return generations_.back().layers; }

  void add_generation() {
    const unsigned number = generations_.empty() ? 0 : generations_.back().number + 1;
    if (number == kMaxGenerations) {
      throw std::length_error("there are more lines than a growing set can hold");
    }
    const auto plan = plan_generation<Plan>(options_, number);
    Generation<Layer> generation{number, plan.capacity, {}};
    for (const Plan& layer : plan.layers) generation.layers.emplace_back(layer);
    generations_.push_back(std::move(generation));
  }

  KeySpan keys_of(std::size_t layer, std::span<const Hash> lines) {
    if (layer == 0) return lines;
    std::ranges::transform(lines, seconds_.begin(), &Hash::value);
    return std::span<const std::uint64_t>(seconds_).first(lines.size());
  }

  /// Sets held_: which lines of the chunk one of the oldest `left` generations has.
  void look_up(std::span<const Hash> chunk, std::size_t left) {
    const std::span held = std::span(held_).first(chunk.size());
    std::ranges::fill(held, std::uint8_t{0});
    if (left == 0) return;
    // The newest first, as it has most of the lines. Those before it have no more layers.
    const std::vector<Layer>& newest = generations_[left - 1].layers;
    const KeySpan seconds = keys_of(newest.size() - 1, chunk);
    if (newest.size() == 1) {
      newest.front().may_contain(chunk, held);
      --left;
    }
    std::span<std::uint32_t> pending = std::span(pending_).first(chunk.size());
    if (left > 0) std::iota(pending.begin(), pending.end(), 0U);
    for (; left > 0; --left) {
      std::size_t count = 0;
      for (const std::uint32_t position : pending) {
        pending[count] = position;
        count += held[position] ^ 1U;
      }
      if (count == 0) return;
      pending = pending.first(count);
      const std::vector<Layer>& layers = generations_[left - 1].layers;
      std::span<std::uint32_t> found = std::span(found_).first(count);
      found = found.first(layers.front().select(chunk, pending, found));
      if (layers.size() > 1) found = found.first(layers.back().select(seconds, found, found));
      for (const std::uint32_t position : found) held[position] = 1;
    }
  }

  SeenOptions options_;
  Generations generations_;

  std::vector<std::uint8_t> held_ = std::vector<std::uint8_t>(kChunkLines);

 private:
  std::vector<std::uint32_t> pending_ = std::vector<std::uint32_t>(kChunkLines);
  std::vector<std::uint32_t> found_ = pending_;
  std::vector<std::uint64_t> seconds_ = std::vector<std::uint64_t>(kChunkLines);
};

}}}  // namespace nestline::command

#endif  // NESTLINE_LIB_FACES_COMMAND_UNIQ_SEEN_SET_H_
