// What a caller may put into a filter, and how a batch of it is passed.
//
// A key is a 64-bit integer, a byte string, or a hash made elsewhere. The three live in separate
// worlds: the integer 7, the string "7" and Hash{7} are different keys. An integer is hashed by a
// mixer of our own, a string by XXH3, both under the filter's seed; a Hash is taken as it is.
#ifndef NESTLINE_KEYS_H_
#define NESTLINE_KEYS_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "nestline/export.h"

namespace nestline {

/// A key that the caller has hashed already. All 64 bits are used and none is mixed again, so the
/// hash must be well mixed: a counter or a pointer used as a hash gives a filter that is full early
/// and often wrong. The filter's seed has no effect on it.
struct Hash {
  std::uint64_t value;
};

/// The hash under which a filter with this seed stores `key`: inserting hash_key(key,
/// filter.seed()) is inserting `key`. For callers that keep hashes instead of keys, or hash once
/// for many filters. O(1) and O(length). Safe in any thread.
NESTLINE_EXPORT Hash hash_key(std::uint64_t key, std::uint64_t seed) noexcept;
NESTLINE_EXPORT Hash hash_key(std::string_view key, std::uint64_t seed) noexcept;

/// A batch of keys: a view of a contiguous range of std::uint64_t, Hash or std::string_view.
///
/// Made implicitly from std::span, std::vector, std::array or a C array of one of the three types.
/// It does not own the keys; they must outlive the call that it is passed to.
class KeySpan {
 public:
  using Integers = std::span<const std::uint64_t>;
  using Hashes = std::span<const Hash>;
  using Strings = std::span<const std::string_view>;

  template <typename Range>
  requires std::convertible_to<Range&&, Integers>
  // NOLINTNEXTLINE(google-explicit-constructor): a span of keys is a batch of keys
  constexpr KeySpan(Range&& keys) : keys_(Integers(keys)) {}

  template <typename Range>
  requires std::convertible_to<Range&&, Hashes>
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr KeySpan(Range&& keys) : keys_(Hashes(keys)) {}

  template <typename Range>
  requires std::convertible_to<Range&&, Strings>
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr KeySpan(Range&& keys) : keys_(Strings(keys)) {}

  /// Number of keys.
  [[nodiscard]] constexpr std::size_t size() const noexcept {
    return std::visit([](const auto& keys) { return keys.size(); }, keys_);
  }

  /// The `count` keys from `offset` on; both must lie inside the batch.
  [[nodiscard]] constexpr KeySpan subspan(std::size_t offset, std::size_t count) const {
    return std::visit([&](const auto& keys) { return KeySpan(keys.subspan(offset, count)); },
                      keys_);
  }

  /// Calls `visitor` with the span itself: Integers, Hashes or Strings.
  template <typename Visitor>
  constexpr decltype(auto) visit(Visitor&& visitor) const {
    return std::visit(static_cast<Visitor&&>(visitor), keys_);
  }

 private:
  std::variant<Integers, Hashes, Strings> keys_;
};

}  // namespace nestline

#endif  // NESTLINE_KEYS_H_
