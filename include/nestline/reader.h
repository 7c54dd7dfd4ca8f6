// Lookups of single keys for loops that make millions of them, in the caller's own code. Compiled
// for AVX2 or AVX-512 (-march=x86-64-v3, x86-64-v4, native) a Reader of 8, 9 or 10 bits looks into
// the block itself; else it hashes and prefetches, and calls the library's code for this processor.
//
//   const nestline::Reader reader = filter.reader();
//   for (...) ahead[i % 16] = reader.prepare(keys[i]);        // hashes, and fetches the block
//   ... 16 keys later ...  if (reader.may_contain(ahead[j % 16])) ...
//
// Prefer Filter's batches where keys come in batches: they are faster still.
#ifndef NESTLINE_READER_H_
#define NESTLINE_READER_H_

#include <cstdint>
#include <type_traits>

#include "nestline/internal/inline_lookup.h"
#include "nestline/keys.h"

namespace nestline { inline namespace v0_3 {

/// Looks keys up in a Filter, with the answers of its may_contain. Trivially copyable; copies may
/// be used by any number of threads, each its own or all the same one.
///
/// It is valid until the filter is destroyed, moved from or assigned to, merged or grown,
/// also by an insert that makes it grow (max_capacity); later use is undefined. Keys inserted or
/// erased without growing are seen. No writer may be at work during a lookup, as with Filter.
class Reader {
 public:
  /// As Filter's: look the hash up some 16 keys later. It is good for every filter with the same
  /// seed, and for ever. O(1), for strings O(length).
  [[nodiscard]] NESTLINE_HERE Hash prepare(Key key) const noexcept {
    const Hash hash = hash_of_(key);
    const std::uint64_t block = internal::home_block_of(view_.geometry, hash.value).block;
    __builtin_prefetch(reinterpret_cast<const unsigned char*>(view_.blocks) +
                       block * internal::kBlockBytes);
    return hash;
  }

  /// False: the key is certainly not in the filter. O(1), for strings O(length).
  [[nodiscard]] NESTLINE_INLINE bool may_contain(Key key) const noexcept {
    const std::uint64_t hash = hash_of_(key).value;
#if NESTLINE_MATCHES_HERE
    return internal::inline_lookup(
        view_.layout,
        [&]<class L>(L) __attribute__((always_inline)) {
          return internal::contains_here<L>(
              view_,
              hash, [&]() __attribute__((always_inline)) { return contains_away_(view_, hash); });
        },
        [&]() __attribute__((always_inline)) { return contains_(view_, hash); });
#else
    return contains_(view_, hash);
#endif
  }

 private:
  friend class Filter;
  using Contains = bool (*)(const internal::BlocksView& view, std::uint64_t hash) noexcept;

  NESTLINE_HERE Reader(const internal::BlocksView& view, const internal::KeyHasher& hash_of,
                       Contains contains, Contains contains_away) noexcept
      : view_(view), hash_of_(hash_of), contains_(contains), contains_away_(contains_away) {}

  internal::BlocksView view_;
  internal::KeyHasher hash_of_;
  Contains contains_;
  Contains contains_away_;  // for a key whose home has no match
};
static_assert(std::is_trivially_copyable_v<Reader>);

}}  // namespace nestline

#endif  // NESTLINE_READER_H_
