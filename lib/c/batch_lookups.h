// The lookups of many keys for C, on whatever has a Filter's: each form once, for all kinds of key
// arrays. All arguments are checked before anything is touched.
#ifndef NESTLINE_LIB_C_BATCH_LOOKUPS_H_
#define NESTLINE_LIB_C_BATCH_LOOKUPS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/c/handle.h"
#include "lib/c/key_arrays.h"
#include "nestline/keys.h"
#include "nestline/nestline.h"

namespace nestline::c {

// Bitmaps are filled part by part.
static_assert(kPart % 64 == 0);

// Lookups: work(filter, first, keys) returns, for each part, how many answers are yes.
template <class Handle, class Keys, typename Out, typename Work>
std::uint64_t query_batch(const Handle* filter, const Keys& keys, const Out* out,
                          const char* out_is_null, const char** error, Work&& work) {
  return guarded<std::uint64_t>(error, NESTLINE_NO_COUNT, [&] {
    return with(filter, [&](const auto& one) {
      check_keys(keys);
      require(out != nullptr || keys.size() == 0, out_is_null);
      std::uint64_t total = 0;
      keys.for_each_part([&](std::size_t first, const KeySpan& part) {
        total += work(one, first, part, static_cast<std::size_t>(total));
      });
      return total;
    });
  });
}

template <class Handle, class Keys>
std::uint64_t may_contain_batch(const Handle* filter, const Keys& keys, std::uint8_t* out,
                                const char** error) {
  return query_batch(filter, keys, out, "the array of answers is NULL", error,
                     [&](const auto& one, std::size_t first, const KeySpan& part, std::size_t) {
                       return one.may_contain(part, std::span(out + first, part.size()));
                     });
}

template <class Handle, class Keys>
std::uint64_t may_contain_bits(const Handle* filter, const Keys& keys, std::uint64_t* bitmap,
                               const char** error) {
  return query_batch(filter, keys, bitmap, "the bitmap is NULL", error,
                     [&](const auto& one, std::size_t first, const KeySpan& part, std::size_t) {
                       const std::size_t words = part.size() / 64 + (part.size() % 64 != 0);
                       return one.may_contain_bits(part, std::span(bitmap + first / 64, words));
                     });
}

inline void require_positions(std::size_t keys) {
  require(keys == 0 || keys - 1 <= UINT32_MAX,
          "a selection has 32-bit positions: at most 2^32 keys a batch");
}

template <class Handle, class Keys>
std::uint64_t select_batch(const Handle* filter, const Keys& keys, std::uint32_t* positions,
                           const char** error) {
  return query_batch(
      filter, keys, positions, "the array of positions is NULL", error,
      [&](const auto& one, std::size_t first, const KeySpan& part, std::size_t total) {
        require_positions(keys.size());
        // Each key gives at most one position, so the positions of this part end where its keys
        // end.
        const std::span hits(positions + total, part.size());
        const std::size_t found = one.select(part, hits);
        for (std::uint32_t& i : hits.first(found)) {
          i += static_cast<std::uint32_t>(first);
        }
        return found;
      });
}

template <class AnyFilter, typename Key>
std::size_t select_chosen(const AnyFilter& one, const WordKeys<Key>& keys,
                          std::span<const std::uint32_t> selection,
                          std::span<std::uint32_t> positions) {
  return one.select(keys.all(), selection, positions);
}

// `positions` may be the memory of the selection itself: each position is written to the element
// that it comes from or to one before it, and elements are read in order.
template <class AnyFilter>
std::size_t select_chosen(const AnyFilter& one, const BytesKeys& keys,
                          std::span<const std::uint32_t> selection,
                          std::span<std::uint32_t> positions) {
  std::size_t total = 0;
  keys.for_each_chosen(selection, [&](std::size_t first, const KeySpan& part) {
    std::array<std::uint32_t, kPart> hits;
    const std::size_t found = one.select(part, std::span(hits.data(), part.size()));
    for (std::size_t i = 0; i < found; ++i) positions[total++] = selection[first + hits[i]];
  });
  return total;
}

template <class Handle, class Keys>
std::uint64_t select_from(const Handle* filter, const Keys& keys, const std::uint32_t* selection,
                          std::size_t selected, std::uint32_t* positions, const char** error) {
  return guarded<std::uint64_t>(error, NESTLINE_NO_COUNT, [&] {
    return with(filter, [&](const auto& one) -> std::uint64_t {
      keys.check_arrays();
      require_array(selection, selected, "the selection is NULL");
      require_array(positions, selected, "the array of positions is NULL");
      const std::span chosen(selection, selected);
      for (const std::uint32_t i : chosen) {
        require(i < keys.size(), "the selection has a position outside the keys");
        keys.check_key(i);
      }
      return select_chosen(one, keys, chosen, std::span(positions, selected));
    });
  });
}

}  // namespace nestline::c

#endif  // NESTLINE_LIB_C_BATCH_LOOKUPS_H_
