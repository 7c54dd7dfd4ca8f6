// Lookups of single keys for loops that make millions of them: a Reader of a filter hashes and
// prefetches in the caller's own code, and then calls the code of this processor.
//
//   const nestline::Reader reader = filter.reader();
//   for (...) ahead[i % 16] = reader.prepare(keys[i]);        // hashes, and fetches the block
//   ... 16 keys later ...  if (reader.may_contain(ahead[j % 16])) ...
//
// Prefer Filter's batches where keys come in batches: they are faster still.
#ifndef NESTLINE_READER_H_
#define NESTLINE_READER_H_

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "nestline/internal/home.h"
#include "nestline/keys.h"

namespace nestline {

/// Looks keys up in a Filter, with the answers of its may_contain. Trivially copyable; copies may
/// be used by any number of threads, each its own or all the same one.
///
/// It is valid until the filter is destroyed, moved from or assigned to, merged or grown,
/// also by an insert that makes it grow (max_capacity); later use is undefined. Keys inserted or
/// erased without growing are seen. No writer may be at work during a lookup, as with Filter.
class Reader {
 public:
  /// Hashes `key` and starts to fetch its block into the cache. Look the hash up some keys later:
  /// 16 are enough for filters in memory. The hash is good for every filter with the same seed, and
  /// for ever. O(1), for strings O(length).
  template <IntegerKey Integer>
  [[nodiscard]] Hash prepare(Integer key) const noexcept {
    return fetched({mix_integer(static_cast<std::uint64_t>(key), view_.secrets)});
  }
  [[nodiscard]] Hash prepare(std::string_view key) const noexcept {
    return fetched(hash_key(key, seed_));
  }
  [[nodiscard]] Hash prepare(Hash key) const noexcept { return fetched(key); }

  /// False: the key is certainly not in the filter. O(1), for strings O(length).
  [[nodiscard]] bool may_contain(Hash key) const noexcept { return contains_(view_, key.value); }
  template <IntegerKey Integer>
  [[nodiscard]] bool may_contain(Integer key) const noexcept {
    return contains_(view_, mix_integer(static_cast<std::uint64_t>(key), view_.secrets));
  }
  [[nodiscard]] bool may_contain(std::string_view key) const noexcept {
    return may_contain(hash_key(key, seed_));
  }

 private:
  friend class Filter;
  using Contains = bool (*)(const BlocksView& view, std::uint64_t hash) noexcept;

  Reader(const BlocksView& view, std::uint64_t seed, Contains contains) noexcept
      : view_(view), seed_(seed), contains_(contains) {}

  [[nodiscard]] Hash fetched(Hash key) const noexcept {
    constexpr std::uint64_t kBytes = 64;
    const std::uint64_t block = home_block_of(view_.geometry, key.value).block;
    __builtin_prefetch(reinterpret_cast<const unsigned char*>(view_.blocks) + block * kBytes);
    return key;
  }

  BlocksView view_;
  std::uint64_t seed_;
  Contains contains_;
};
static_assert(std::is_trivially_copyable_v<Reader>);

}  // namespace nestline

#endif  // NESTLINE_READER_H_
