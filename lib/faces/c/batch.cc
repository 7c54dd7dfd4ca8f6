// The C functions on many keys of a filter. All arguments are checked before anything is touched.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/faces/c/key_arrays.h"

namespace nestline { inline namespace v0_3 { namespace c { namespace {

// Bitmaps are filled part by part.
static_assert(kPart % 64 == 0);

// change(filter, first, keys) returns, for each part, how many keys it was done for.
template <class... Kinds, typename Change>
std::uint64_t change_batch(nestline_filter* filter, const nestline_keys& given, const char** error,
                           Change&& change) {
  return guarded<std::uint64_t>(error, NESTLINE_NO_COUNT, [&] {
    return with<Kinds...>(filter, [&](auto& one) {
      const Keys keys(given);
      keys.check_all();
      std::uint64_t total = 0;
      keys.for_each_part(
          [&](std::size_t first, const KeySpan& part) { total += change(one, first, part); });
      return total;
    });
  });
}

// ask(filter, first, keys, total) returns how many answers are yes; `total` is those before.
template <class... Kinds, typename Out, typename Ask>
std::uint64_t ask_batch(const nestline_filter* filter, const nestline_keys& given, const Out* out,
                        const char* out_is_null, const char** error, Ask&& ask) {
  return guarded<std::uint64_t>(error, NESTLINE_NO_COUNT, [&] {
    return with<Kinds...>(filter, [&](const auto& one) {
      const Keys keys(given);
      keys.check_all();
      require(out != nullptr || keys.size() == 0, out_is_null);
      std::uint64_t total = 0;
      keys.for_each_part([&](std::size_t first, const KeySpan& part) {
        total += ask(one, first, part, static_cast<std::size_t>(total));
      });
      return total;
    });
  });
}

// A selection has 32-bit positions.
void require_positions(std::size_t keys) {
  require(keys == 0 || keys - 1 <= UINT32_MAX,
          "a selection has 32-bit positions: at most 2^32 keys a batch");
}

// `positions` may be the memory of the selection itself: each position is written to the element
// that it comes from or to one before it, and elements are read in order.
std::size_t select_strings(const auto& one, const Keys& keys,
                           std::span<const std::uint32_t> selection, std::uint32_t* positions) {
  std::size_t total = 0;
  const auto position = [&](std::size_t i) { return selection[i]; };
  keys.gather(selection.size(), position, [&](std::size_t first, const KeySpan& part) {
    std::array<std::uint32_t, kPart> hits;
    const std::size_t found = one.select(part, std::span(hits.data(), part.size()));
    for (std::size_t i = 0; i < found; ++i) positions[total++] = selection[first + hits[i]];
  });
  return total;
}

}  // namespace
}}}  // namespace nestline::c

using namespace nestline::c;  // NOLINT(google-build-using-namespace): the names are C's here
using nestline::ConcurrentFilter;
using nestline::ExpiringFilter;
using nestline::KeySpan;
using nestline::MappedFilter;

uint64_t nestline_insert_batch(nestline_filter* filter, nestline_keys keys, uint8_t* outcomes,
                               const char** error) {
  return change_batch<ConcurrentFilter, ExpiringFilter>(
      filter, keys, error, [&](auto& one, std::size_t first, const KeySpan& part) {
        return one.insert(part, optional_outcomes(outcomes, first, part.size()));
      });
}

uint64_t nestline_insert_unique_batch(nestline_filter* filter, nestline_keys keys,
                                      uint8_t* outcomes, const char** error) {
  return change_batch<ConcurrentFilter>(
      filter, keys, error, [&](auto& one, std::size_t first, const KeySpan& part) {
        return one.insert_unique(part, optional_outcomes(outcomes, first, part.size()));
      });
}

uint64_t nestline_expiring_insert_for_batch(nestline_filter* filter, nestline_keys keys,
                                            unsigned life, uint8_t* outcomes, const char** error) {
  return change_batch<ExpiringFilter>(
      filter, keys, error, [&](auto& one, std::size_t first, const KeySpan& part) {
        return one.insert(part, life, optional_outcomes(outcomes, first, part.size()));
      });
}

uint64_t nestline_erase_batch(nestline_filter* filter, nestline_keys keys, uint8_t* erased,
                              const char** error) {
  return change_batch<ConcurrentFilter>(
      filter, keys, error, [&](auto& one, std::size_t first, const KeySpan& part) {
        return one.erase(part, optional_part(erased, first, part.size()));
      });
}

uint64_t nestline_may_contain_batch(const nestline_filter* filter, nestline_keys keys, uint8_t* out,
                                    const char** error) {
  return ask_batch(filter, keys, out, "the array of answers is NULL", error,
                   [&](const auto& one, std::size_t first, const KeySpan& part, std::size_t) {
                     return one.may_contain(part, std::span(out + first, part.size()));
                   });
}

uint64_t nestline_may_contain_bits(const nestline_filter* filter, nestline_keys keys,
                                   uint64_t* bitmap, const char** error) {
  return ask_batch(filter, keys, bitmap, "the bitmap is NULL", error,
                   [&](const auto& one, std::size_t first, const KeySpan& part, std::size_t) {
                     const std::size_t words = part.size() / 64 + (part.size() % 64 != 0);
                     return one.may_contain_bits(part, std::span(bitmap + first / 64, words));
                   });
}

uint64_t nestline_select(const nestline_filter* filter, nestline_keys keys, uint32_t* positions,
                         const char** error) {
  return ask_batch(filter, keys, positions, "the array of positions is NULL", error,
                   [&](const auto& one, std::size_t first, const KeySpan& part, std::size_t total) {
                     require_positions(keys.count);
                     // Each key gives at most one position, so the positions of this part end where
                     // its keys end.
                     const std::span hits(positions + total, part.size());
                     const std::size_t found = one.select(part, hits);
                     for (uint32_t& i : hits.first(found)) i += static_cast<uint32_t>(first);
                     return found;
                   });
}

uint64_t nestline_select_from(const nestline_filter* filter, nestline_keys keys,
                              const uint32_t* selection, size_t selected, uint32_t* positions,
                              const char** error) {
  return guarded<uint64_t>(error, NESTLINE_NO_COUNT, [&] {
    return with(filter, [&](const auto& one) -> uint64_t {
      const Keys all(keys);
      require_array(selection, selected, "the selection is NULL");
      require_array(positions, selected, "the array of positions is NULL");
      const std::span chosen(selection, selected);
      for (const uint32_t i : chosen) {
        require(i < all.size(), "the selection has a position outside the keys");
        all.check(i);
      }
      if (all.are_bytes()) return select_strings(one, all, chosen, positions);
      return one.select(all.words(), chosen, std::span(positions, selected));
    });
  });
}

bool nestline_count_batch(const nestline_filter* filter, nestline_keys keys, uint8_t* copies,
                          const char** error) {
  return ask_batch<ConcurrentFilter, MappedFilter>(
             filter, keys, copies, "the array of counts is NULL", error,
             [&](const auto& one, std::size_t first, const KeySpan& part, std::size_t) {
               one.count(part, std::span(copies + first, part.size()));
               return std::size_t{0};
             }) != NESTLINE_NO_COUNT;
}

bool nestline_expiring_remaining_ticks_batch(const nestline_filter* filter, nestline_keys keys,
                                             uint8_t* ticks, const char** error) {
  return ask_batch<ExpiringFilter>(
             filter, keys, ticks, "the array of ticks is NULL", error,
             [&](const auto& one, std::size_t first, const KeySpan& part, std::size_t) {
               one.remaining_ticks(part, std::span(ticks + first, part.size()));
               return std::size_t{0};
             }) != NESTLINE_NO_COUNT;
}
