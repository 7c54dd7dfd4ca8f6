// The lookup batches of all filters: keys in, answers out as bytes, bits or positions.
//
// `lookup(inputs, bitmap)` answers a chunk: bit i % 64 of bitmap[i / 64] says whether key i may be
// in the filter, and the unused bits of the last word are 0. Only it differs between the filters.
// lookup.kernels() turns the bits into the other forms.
// The spans are checked before the first lookup.
#ifndef NESTLINE_LIB_FILTER_BATCH_QUESTIONS_H_
#define NESTLINE_LIB_FILTER_BATCH_QUESTIONS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/filter/answer_bitmap.h"
#include "lib/filter/key_chunks.h"
#include "lib/filter/span_checks.h"
#include "nestline/keys.h"

namespace nestline::batch {

using ChunkBitmap = std::array<std::uint64_t, kChunk / 64>;

template <typename Lookup>
std::size_t may_contain(const Lookup& lookup, KeySpan keys, std::uint64_t seed,
                        std::span<std::uint8_t> out) {
  check_length("out", out.size(), keys.size());
  ChunkBitmap bitmap;
  std::size_t total = 0;
  for (KeyChunks chunks(keys, seed); chunks.next();) {
    lookup(chunks.inputs(), bitmap.data());
    total += lookup.kernels().bits_to_bytes(bitmap.data(), chunks.inputs().count,
                                            out.data() + chunks.first());
  }
  return total;
}

template <typename Lookup>
std::size_t may_contain_bits(const Lookup& lookup, KeySpan keys, std::uint64_t seed,
                             std::span<std::uint64_t> bitmap) {
  check_length("bitmap", bitmap.size(), bitmap_words(keys.size()));
  std::size_t total = 0;
  for (KeyChunks chunks(keys, seed); chunks.next();) {
    std::uint64_t* const words = bitmap.data() + chunks.first() / 64;
    lookup(chunks.inputs(), words);
    total += count_bits(words, chunks.inputs().count);
  }
  return total;
}

template <typename Lookup>
std::size_t select(const Lookup& lookup, KeySpan keys, std::uint64_t seed,
                   std::span<std::uint32_t> positions) {
  check_length("positions", positions.size(), keys.size());
  check_positions(keys.size());
  ChunkBitmap bitmap;
  std::size_t total = 0;
  for (KeyChunks chunks(keys, seed); chunks.next();) {
    lookup(chunks.inputs(), bitmap.data());
    total += lookup.kernels().bits_to_positions(bitmap.data(), chunks.inputs().count, nullptr,
                                                static_cast<std::uint32_t>(chunks.first()),
                                                positions.data() + total);
  }
  return total;
}

// `positions` may be the selection's own memory.
template <typename Lookup>
std::size_t select(const Lookup& lookup, KeySpan keys, std::uint64_t seed,
                   std::span<const std::uint32_t> selection, std::span<std::uint32_t> positions) {
  check_length("positions", positions.size(), selection.size());
  check_selection(selection, keys.size());
  ChunkBitmap bitmap;
  std::size_t total = 0;
  for (KeyChunks chunks(keys, seed, selection); chunks.next();) {
    lookup(chunks.inputs(), bitmap.data());
    total += lookup.kernels().bits_to_positions(bitmap.data(), chunks.inputs().count,
                                                selection.data() + chunks.first(), 0,
                                                positions.data() + total);
  }
  return total;
}

}  // namespace nestline::batch

#endif  // NESTLINE_LIB_FILTER_BATCH_QUESTIONS_H_
