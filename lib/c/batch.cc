// The C functions on many keys: each form once, for all kinds of key arrays. All arguments are
// checked before anything is touched.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/c/handle.h"
#include "lib/c/key_arrays.h"
#include "nestline/concurrent_filter.h"
#include "nestline/keys.h"
#include "nestline/nestline.h"

namespace nestline::c {
namespace {

// Bitmaps are filled part by part.
static_assert(kPart % 64 == 0);

// Inserts or erases, which is `change`; `done` is null if the caller does not want it.
template <typename Change, class Keys>
std::uint64_t change_batch(nestline_filter* filter, const Keys& keys, Change&& change,
                           std::uint8_t* done, const char** error) {
  return guarded<std::uint64_t>(error, NESTLINE_NO_COUNT, [&] {
    ConcurrentFilter& one = in_memory(filter);
    check_keys(keys);
    std::uint64_t total = 0;
    keys.for_each_part([&](std::size_t first, const KeySpan& part) {
      total += change(one, part, optional_part(done, first, part.size()));
    });
    return total;
  });
}

constexpr auto kInsert = [](auto& one, const KeySpan& keys, std::span<std::uint8_t> stored) {
  return one.insert(keys, stored);
};
constexpr auto kErase = [](auto& one, const KeySpan& keys, std::span<std::uint8_t> erased) {
  return one.erase(keys, erased);
};

// Lookups: work(filter, first, keys) returns, for each part, how many answers are yes.
template <class Keys, typename Out, typename Work>
std::uint64_t query_batch(const nestline_filter* filter, const Keys& keys, const Out* out,
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

template <class Keys>
std::uint64_t may_contain_batch(const nestline_filter* filter, const Keys& keys, std::uint8_t* out,
                                const char** error) {
  return query_batch(filter, keys, out, "the array of answers is NULL", error,
                     [&](const auto& one, std::size_t first, const KeySpan& part, std::size_t) {
                       return one.may_contain(part, std::span(out + first, part.size()));
                     });
}

template <class Keys>
std::uint64_t may_contain_bits(const nestline_filter* filter, const Keys& keys,
                               std::uint64_t* bitmap, const char** error) {
  return query_batch(filter, keys, bitmap, "the bitmap is NULL", error,
                     [&](const auto& one, std::size_t first, const KeySpan& part, std::size_t) {
                       const std::size_t words = part.size() / 64 + (part.size() % 64 != 0);
                       return one.may_contain_bits(part, std::span(bitmap + first / 64, words));
                     });
}

void require_positions(std::size_t keys) {
  require(keys == 0 || keys - 1 <= UINT32_MAX,
          "a selection has 32-bit positions: at most 2^32 keys a batch");
}

template <class Keys>
std::uint64_t select_batch(const nestline_filter* filter, const Keys& keys,
                           std::uint32_t* positions, const char** error) {
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

template <class Keys>
std::uint64_t select_from(const nestline_filter* filter, const Keys& keys,
                          const std::uint32_t* selection, std::size_t selected,
                          std::uint32_t* positions, const char** error) {
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

template <class Keys>
bool count_batch(const nestline_filter* filter, const Keys& keys, std::uint8_t* copies,
                 const char** error) {
  return query_batch(filter, keys, copies, "the array of counts is NULL", error,
                     [&](const auto& one, std::size_t first, const KeySpan& part, std::size_t) {
                       one.count(part, std::span(copies + first, part.size()));
                       return std::uint64_t{0};
                     }) != NESTLINE_NO_COUNT;
}

}  // namespace
}  // namespace nestline::c

using namespace nestline::c;  // NOLINT(google-build-using-namespace): the names are C's here

NESTLINE_FOR_EACH_ARRAY(uint64_t, nestline_insert_batch, nestline_filter, change_batch,
                        (uint8_t * stored, const char** error), (kInsert, stored, error))
NESTLINE_FOR_EACH_ARRAY(uint64_t, nestline_erase_batch, nestline_filter, change_batch,
                        (uint8_t * erased, const char** error), (kErase, erased, error))
NESTLINE_FOR_EACH_ARRAY(uint64_t, nestline_may_contain_batch, const nestline_filter,
                        may_contain_batch, (uint8_t * out, const char** error), (out, error))
NESTLINE_FOR_EACH_ARRAY(uint64_t, nestline_may_contain_bits, const nestline_filter,
                        may_contain_bits, (uint64_t * bitmap, const char** error), (bitmap, error))
NESTLINE_FOR_EACH_ARRAY(uint64_t, nestline_select, const nestline_filter, select_batch,
                        (uint32_t * positions, const char** error), (positions, error))
NESTLINE_FOR_EACH_ARRAY(uint64_t, nestline_select_from, const nestline_filter, select_from,
                        (const uint32_t* selection, size_t selected, uint32_t* positions,
                         const char** error),
                        (selection, selected, positions, error))
NESTLINE_FOR_EACH_ARRAY(bool, nestline_count_batch, const nestline_filter, count_batch,
                        (uint8_t * copies, const char** error), (copies, error))
