// What a caller may put into a filter, and how a batch of it is passed.
//
// A key is an integer, a byte string, or a hash made elsewhere. The three live in separate worlds:
// the integer 7, the string "7" and Hash{7} are different keys. An integer is hashed by a mixer of
// our own, a string by XXH3, both under the filter's seed; a Hash is taken as it is.
#ifndef NESTLINE_KEYS_H_
#define NESTLINE_KEYS_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "nestline/export.h"
#include "nestline/internal/here.h"

namespace nestline { inline namespace v0_3 {

/// A key that the caller has hashed already. All 64 bits are used as they are, so the hash must be
/// well mixed: a counter or a pointer used as a hash gives a filter that is full early and often
/// wrong. The filter's seed has no effect on it.
struct Hash {
  std::uint64_t value;
};

/// The types that are integers as keys: the integral types of any width up to 64 bits, signed and
/// unsigned, but not bool and not char, wchar_t, char8_t, char16_t and char32_t. So std::int8_t and
/// std::uint8_t, which are signed char and unsigned char, are integers.
template <typename T>
concept IntegerKey = std::integral<T> && sizeof(T) <= sizeof(std::uint64_t) &&
                     !std::same_as<T, bool> && !std::same_as<T, char> &&
#ifdef __cpp_char8_t  // not with -fno-char8_t
                     !std::same_as<T, char8_t> &&
#endif
                     !std::same_as<T, wchar_t> && !std::same_as<T, char16_t> &&
                     !std::same_as<T, char32_t>;

/// The types that are byte strings as keys because they convert to std::string_view:
/// std::string_view, std::string, const char* (up to its first NUL), char arrays and string
/// literals (the same), and classes with such a conversion. nullptr is not one of them.
template <typename T>
concept StringKey =
    std::convertible_to<const T&, std::string_view> && !std::is_null_pointer_v<std::decay_t<T>>;

/// The types that are byte strings because they convert to std::span<const std::byte>.
template <typename T>
concept BytesKey = !StringKey<T> && std::convertible_to<const T&, std::span<const std::byte>>;

/// The types that a key cannot be made from, although the language would silently convert some of
/// them to an integer: bool, characters, floating point, enumerations, nullptr, pointers other than
/// const char*. If you mean an integer, use a static_cast.
template <typename T>
concept RefusedKey =
    (std::is_arithmetic_v<T> && !IntegerKey<T>) || std::is_enum_v<T> || std::is_null_pointer_v<T> ||
    (std::is_pointer_v<T> && !StringKey<T>);

/// One key, as the members of the filters take it. It is made implicitly and lasts only as long as
/// the call: it does not own the bytes of a string.
///
/// Integers are compared by value, whatever their type; signed ones are sign-extended to 64 bits.
/// So int{-1}, std::int64_t{-1} and std::uint64_t{0xffffffffffffffff} are the same key, and
/// std::uint32_t{0xffffffff} is another one. Byte strings are compared by their bytes, whatever
/// holds them: std::string("a"), "a" and a span of one std::byte{'a'} are the same key.
class Key {
 public:
  template <IntegerKey T>
  // NOLINTNEXTLINE(google-explicit-constructor): an integer is a key
  NESTLINE_HERE constexpr Key(T integer) noexcept
      : kind_(Kind::integer), number_(static_cast<std::uint64_t>(integer)) {}

  // NOLINTNEXTLINE(google-explicit-constructor)
  NESTLINE_HERE constexpr Key(Hash hash) noexcept : kind_(Kind::hash), number_(hash.value) {}

  template <StringKey T>
  // NOLINTNEXTLINE(google-explicit-constructor)
  NESTLINE_HERE constexpr Key(const T& string) noexcept(
      std::is_nothrow_convertible_v<const T&, std::string_view>)
      : Key(Kind::string, string) {}

  template <BytesKey T>
  // NOLINTNEXTLINE(google-explicit-constructor)
  NESTLINE_HERE Key(const T& bytes) noexcept(
      std::is_nothrow_convertible_v<const T&, std::span<const std::byte>>)
      : Key(std::span<const std::byte>(bytes)) {}

  // NOLINTNEXTLINE(google-explicit-constructor)
  NESTLINE_HERE Key(std::span<const std::byte> bytes) noexcept
      : Key(Kind::string, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}) {}

  template <typename T>
  requires RefusedKey<std::remove_cvref_t<T>>
  // NOLINTNEXTLINE(google-explicit-constructor)
  Key(T&& refused)
  = delete;

  /// Returns visitor(key), where the key is a std::uint64_t, a std::string_view or a Hash.
  template <typename Visitor>
  NESTLINE_HERE constexpr decltype(auto) visit(Visitor&& visitor) const {
    switch (kind_) {
      case Kind::string:
        return visitor(std::string_view(data_, size_));
      case Kind::hash:
        return visitor(Hash{number_});
      case Kind::integer:
        break;
    }
    return visitor(number_);
  }

 private:
  enum class Kind : std::uint8_t { integer, string, hash };

  // The view is read where it lies, a member at a time, since it may lie in such a class of the
  // caller's.
  NESTLINE_HERE constexpr Key(Kind kind, const std::string_view& string) noexcept
      : kind_(kind), size_(string.size()), data_(string.data()) {}

  // The length and the pointer are members of their own: in a class that has a std::string_view
  // directly behind an integer, g++ 11 to 14 forget where the view points to. Its length comes
  // first, and their analysis of pointers takes it and the integer before it for one field. Where
  // the whole view is read by its address (IPA-SRA does so to the pieces of a function that was
  // split), they count its bytes from the beginning of that field, and so leave out its last ones,
  // the pointer. What nothing else points to is then never written. Members that are read one by
  // one do not depend on what is before them, nor does a std::span, whose pointer comes first. In
  // the order of libstdc++'s view, since functions of the library take a Key by value.
  Kind kind_;
  std::uint64_t number_ = 0;
  std::size_t size_ = 0;
  const char* data_ = nullptr;
};

namespace internal {
NESTLINE_EXPORT Hash hash_key(std::uint64_t key, std::uint64_t seed) noexcept;
NESTLINE_EXPORT Hash hash_key(std::string_view key, std::uint64_t seed) noexcept;
NESTLINE_HERE inline Hash hash_key(Hash key, std::uint64_t /*seed*/) noexcept { return key; }
}  // namespace internal

/// The hash under which a filter with this seed stores `key`: to insert hash_key(key,
/// filter.seed()) is to insert `key`. A Hash is returned as it is. The high bits of an integer's
/// hash are well mixed and its lowest 18 are not: divide keys by the high ones. O(1), for strings
/// O(length). Safe in any thread.
[[nodiscard]] NESTLINE_HERE inline Hash hash_key(Key key, std::uint64_t seed) noexcept {
  return key.visit([seed](auto one) { return internal::hash_key(one, seed); });
}

/// A batch of keys: a view of a contiguous range of integers of 32 or 64 bits, signed or unsigned,
/// of Hash, std::string_view or std::string.
///
/// Made implicitly from std::span, std::vector, std::array or a C array of such a type. It does not
/// own the keys; they must outlive the call that it is passed to. Each key means the same as it
/// does alone (Key). 64-bit integers and hashes are read where they lie; 32-bit integers and
/// strings are converted, a few thousand at a time, while the batch runs.
class KeySpan {
 public:
  using Integers = std::span<const std::uint64_t>;
  using Hashes = std::span<const Hash>;
  using Strings = std::span<const std::string_view>;
  using OwnedStrings = std::span<const std::string>;
  using Unsigned32 = std::span<const std::uint32_t>;
  using Signed32 = std::span<const std::int32_t>;
  /// std::uint64_t is either unsigned long or unsigned long long; these are the other one.
  using OtherIntegers =
      std::span<const std::conditional_t<std::same_as<std::uint64_t, unsigned long>,
                                         unsigned long long, unsigned long>>;
  template <typename Span>
  using SignedOf =
      std::span<const std::make_signed_t<std::remove_const_t<typename Span::element_type>>>;

  using Any =
      std::variant<Integers, Hashes, Strings, OwnedStrings, Unsigned32, Signed32, OtherIntegers>;

  template <typename Range>
  requires std::convertible_to<Range&&, Any>
      // NOLINTNEXTLINE(google-explicit-constructor): a span of keys is a batch of keys
      NESTLINE_HERE constexpr KeySpan(Range&& keys) : keys_(static_cast<Range&&>(keys)) {}

  template <typename Range>
  requires std::convertible_to<Range&&, std::span<const std::int64_t>>
      // NOLINTNEXTLINE(google-explicit-constructor)
      NESTLINE_HERE KeySpan(Range&& keys)
      : keys_(unsigned_twins<Integers>(std::span<const std::int64_t>(keys))) {}

  template <typename Range>
  requires std::convertible_to<Range&&, SignedOf<OtherIntegers>>
      // NOLINTNEXTLINE(google-explicit-constructor)
      NESTLINE_HERE KeySpan(Range&& keys)
      : keys_(unsigned_twins<OtherIntegers>(SignedOf<OtherIntegers>(keys))) {}

  /// Number of keys.
  [[nodiscard]] NESTLINE_HERE constexpr std::size_t size() const noexcept {
    return std::visit([](const auto& keys) { return keys.size(); }, keys_);
  }

  /// The `count` keys from `offset` on; both must lie inside the batch.
  [[nodiscard]] NESTLINE_HERE constexpr KeySpan subspan(std::size_t offset,
                                                        std::size_t count) const {
    return std::visit([&](const auto& keys) { return KeySpan(keys.subspan(offset, count)); },
                      keys_);
  }

  /// Calls `visitor` with the span itself, one of the types above.
  template <typename Visitor>
  NESTLINE_HERE constexpr decltype(auto) visit(Visitor&& visitor) const {
    return std::visit(static_cast<Visitor&&>(visitor), keys_);
  }

 private:
  // The same memory as unsigned integers, which the language allows, with the values of Key.
  template <typename Unsigned, typename Signed>
  NESTLINE_HERE static Unsigned unsigned_twins(Signed keys) {
    return {reinterpret_cast<typename Unsigned::pointer>(keys.data()), keys.size()};
  }

  Any keys_;
};

}}  // namespace nestline

#endif  // NESTLINE_KEYS_H_
