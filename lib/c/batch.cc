// The C functions on many keys of a filter. All arguments are checked before anything is touched.
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/c/batch_lookups.h"
#include "lib/c/handle.h"
#include "lib/c/key_arrays.h"
#include "nestline/concurrent_filter.h"
#include "nestline/keys.h"
#include "nestline/nestline.h"

namespace nestline::c {
namespace {

// Inserts or erases, which is `change`; `done` is null if the caller does not want it.
template <typename Change, class Keys>
std::uint64_t change_batch(nestline_filter* filter, const Keys& keys, Change&& change,
                           std::uint8_t* done, const char** error) {
  return guarded<std::uint64_t>(error, NESTLINE_NO_COUNT, [&] {
    ConcurrentFilter& one = in_memory(filter);
    check_keys(keys);
    std::uint64_t total = 0;
    keys.for_each_part(
        [&](std::size_t first, const KeySpan& part) { total += change(one, part, done, first); });
    return total;
  });
}

constexpr auto kInsert = [](auto& one, const KeySpan& keys, std::uint8_t* stored,
                            std::size_t first) {
  const std::span<Outcome> outcomes = optional_outcomes(stored, first, keys.size());
  const std::size_t count = one.insert(keys, outcomes);
  keep_stored(outcomes);
  return count;
};
constexpr auto kErase = [](auto& one, const KeySpan& keys, std::uint8_t* erased,
                           std::size_t first) {
  return one.erase(keys, optional_part(erased, first, keys.size()));
};

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
