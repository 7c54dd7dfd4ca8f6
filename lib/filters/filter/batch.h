// What the batches of all filters have in common: keys in, the result of each out. Each filter adds
// its own work around them (sizes, growth, sections).
#ifndef NESTLINE_LIB_FILTERS_FILTER_BATCH_H_
#define NESTLINE_LIB_FILTERS_FILTER_BATCH_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <variant>

#include "lib/filters/filter/blocks.h"
#include "lib/filters/filter/key_chunks.h"

namespace nestline { inline namespace v0_3 {

// The checks on a selection, beside those of lib/engine/batch.h.

inline void check_selection(std::span<const std::uint32_t> selection, std::size_t keys) {
  const auto outside = std::find_if(selection.begin(), selection.end(),
                                    [&](std::uint32_t position) { return position >= keys; });
  if (outside != selection.end()) {
    throw std::invalid_argument("the selection has position " + std::to_string(*outside) +
                                ", but there are only " + std::to_string(keys) + " keys");
  }
}

inline void check_positions(std::size_t keys) {
  if (keys != 0 && keys - 1 > std::numeric_limits<std::uint32_t>::max()) {
    throw std::invalid_argument("a selection has 32-bit positions: at most 2^32 keys a batch");
  }
}

// Calls `visit` with first + i for every bit i that is set, ascending.
template <typename Visit>
void for_each_bit(std::uint64_t bits, std::size_t first, Visit&& visit) {
  for (; bits != 0; bits &= bits - 1) {
    visit(first + static_cast<std::size_t>(std::countr_zero(bits)));
  }
}

namespace batch {

using ChunkBitmap = std::array<std::uint64_t, kChunk / 64>;

// The lookups. lookup(inputs, bitmap) answers a chunk: bit i % 64 of bitmap[i / 64] says whether
// key i may be in the filter, and the unused bits of the last word are 0. lookup.operations() turns
// the bits into other forms. Returns how many keys were found.
template <typename Lookup>
std::size_t look_up(const Lookup& lookup, KeySpan keys, std::uint64_t seed,
                    const internal::Answers& answers) {
  const auto& selection = answers.selection;
  const std::size_t all = selection ? selection->size() : keys.size();
  const auto* const bytes = std::get_if<std::span<std::uint8_t>>(&answers.to);
  const auto* const bits = std::get_if<std::span<std::uint64_t>>(&answers.to);
  const auto* const positions = std::get_if<std::span<std::uint32_t>>(&answers.to);
  if (bytes != nullptr) check_length("out", bytes->size(), all);
  if (bits != nullptr) check_length("bitmap", bits->size(), all / 64 + (all % 64 != 0));
  if (positions != nullptr) check_length("positions", positions->size(), all);
  if (selection) {
    check_selection(*selection, keys.size());
  } else if (positions != nullptr) {
    check_positions(keys.size());
  }
  std::size_t total = 0;
  for (KeyChunks chunks(keys, seed, selection); chunks.next();) {
    const std::size_t first = chunks.first();
    const std::size_t count = chunks.inputs().count;
    ChunkBitmap room;
    std::uint64_t* const bitmap = bits != nullptr ? bits->data() + first / 64 : room.data();
    lookup(chunks.inputs(), bitmap);
    if (bytes != nullptr) {
      total += lookup.operations().bits_to_bytes(bitmap, count, bytes->data() + first);
    } else if (positions != nullptr) {
      total += lookup.operations().bits_to_positions(
          bitmap, count, selection ? selection->data() + first : nullptr,
          static_cast<std::uint32_t>(first), positions->data() + total);
    } else {
      for (const std::uint64_t word : std::span(bitmap, (count + 63) / 64)) {
        total += static_cast<std::size_t>(std::popcount(word));
      }
    }
  }
  return total;
}

}  // namespace batch
}}  // namespace nestline

#endif  // NESTLINE_LIB_FILTERS_FILTER_BATCH_H_
