// The keys of a C batch as KeySpans. Integers and hashes are used where they lie; bytes become
// strings on the stack, part by part. Only a build, which needs all keys at once, takes memory.
#ifndef NESTLINE_LIB_FACES_C_KEY_ARRAYS_H_
#define NESTLINE_LIB_FACES_C_KEY_ARRAYS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string_view>

#include "lib/faces/c/handle.h"

namespace nestline { inline namespace v0_3 { namespace c {

// Keys of a part: 16 KiB of stack. Starting a new batch of the filter for each costs little.
inline constexpr std::size_t kPart = 1024;

template <typename Element>
void require_array(const Element* array, std::size_t count, const char* sentence) {
  require(array != nullptr || count == 0, sentence);
  require(count <= kMaxMemory / sizeof(Element), "the number of keys is more than memory can hold");
}

// Where to write what became of `count` keys from `first` on. Empty if the caller gave no `done`.
inline std::span<std::uint8_t> optional_part(std::uint8_t* done, std::size_t first,
                                             std::size_t count) {
  return done == nullptr ? std::span<std::uint8_t>() : std::span(done + first, count);
}
inline std::span<Outcome> optional_outcomes(std::uint8_t* outcomes, std::size_t first,
                                            std::size_t count) {
  const std::span part = optional_part(outcomes, first, count);
  return {reinterpret_cast<Outcome*>(part.data()), part.size()};
}

// Every key is checked when it is read, since another thread may change the arrays.
class Keys {
 public:
  // Refusal unless the kind is known and the arrays are there.
  explicit Keys(const nestline_keys& given) : given_(given) {
    require(given.kind >= NESTLINE_KEYS_BYTES && given.kind <= NESTLINE_KEYS_HASH,
            "the kind of the keys is none of nestline_key_kind");
    if (given.kind == NESTLINE_KEYS_OFFSETS32 || given.kind == NESTLINE_KEYS_OFFSETS64) {
      bytes_given(given.keys, given.buffer_bytes);
      require_array(static_cast<const std::int64_t*>(given.offsets), size(),
                    "the array of offsets is NULL");
      return;
    }
    require_array(static_cast<const std::uint64_t*>(given.keys), size(),
                  "the array of keys is NULL");
    if (are_bytes()) require_array(sizes(), size(), "the array of sizes is NULL");
  }

  [[nodiscard]] std::size_t size() const { return given_.count; }
  [[nodiscard]] bool are_bytes() const {
    return given_.kind != NESTLINE_KEYS_U64 && given_.kind != NESTLINE_KEYS_HASH;
  }

  // Refusal unless the key can be read; unless all can.
  void check(std::size_t i) const {
    if (are_bytes()) string(i);
  }
  void check_all() const {
    for (std::size_t i = 0; are_bytes() && i < size(); ++i) string(i);
  }

  // All integers or hashes. A Hash is a struct of one std::uint64_t.
  [[nodiscard]] KeySpan words() const {
    static_assert(sizeof(Hash) == sizeof(std::uint64_t) && alignof(Hash) == alignof(std::uint64_t));
    if (given_.kind == NESTLINE_KEYS_U64) {
      return std::span(static_cast<const std::uint64_t*>(given_.keys), size());
    }
    return std::span(static_cast<const Hash*>(given_.keys), size());
  }

  // Calls visit(first, strings) for parts of the bytes in order, `first` being the position of
  // strings[0]; a part has kPart keys or is the last one.
  void for_each_strings(auto&& visit) const { gather(size(), std::identity(), visit); }
  // The same for the keys at the positions position(0) to position(count - 1); `first` is what
  // position() is given for strings[0].
  void gather(std::size_t count, const auto& position, auto&& visit) const {
    std::array<std::string_view, kPart> strings;
    for (std::size_t first = 0; first < count; first += kPart) {
      const std::size_t part = std::min(kPart, count - first);
      for (std::size_t i = 0; i < part; ++i) strings[i] = string(position(first + i));
      visit(first, std::span<const std::string_view>(strings.data(), part));
    }
  }
  void for_each_part(auto&& visit) const {
    if (!are_bytes()) return visit(std::size_t{0}, words());
    for_each_strings([&](std::size_t first, const KeySpan& strings) { visit(first, strings); });
  }

  // Returns visit(keys) for all keys, checked. std::bad_alloc without memory for the strings.
  auto with_all(auto&& visit) const {
    if (!are_bytes()) return visit(words());
    // Fewer bytes than this may fail too; sanitizers end the process where more are requested.
    if (size() > kMaxMemory / sizeof(std::string_view)) throw std::bad_alloc();
    const auto strings = std::make_unique<std::string_view[]>(size());
    for (std::size_t i = 0; i < size(); ++i) strings[i] = string(i);
    return visit(KeySpan(std::span<const std::string_view>(strings.get(), size())));
  }

 private:
  [[nodiscard]] const std::size_t* sizes() const {
    return static_cast<const std::size_t*>(given_.offsets);
  }

  std::string_view string(std::size_t i) const {
    switch (given_.kind) {
      case NESTLINE_KEYS_BYTES:
        return bytes_key(static_cast<const void* const*>(given_.keys)[i], sizes()[i]);
      case NESTLINE_KEYS_OFFSETS32:
        return between(static_cast<const std::int32_t*>(given_.offsets) + i);
      default:
        return between(static_cast<const std::int64_t*>(given_.offsets) + i);
    }
  }
  template <typename Offset>
  [[nodiscard]] std::string_view between(const Offset* offsets) const {
    const Offset begin = offsets[0];
    const Offset end = offsets[1];
    require(begin >= 0 && begin <= end, "the offsets of a key are negative or fall");
    require(static_cast<std::uint64_t>(end) <= given_.buffer_bytes,
            "an offset of a key is behind the end of the buffer");
    return std::string_view(static_cast<const char*>(given_.keys), given_.buffer_bytes)
        .substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  }

  nestline_keys given_;
};

}}}  // namespace nestline::c

#endif  // NESTLINE_LIB_FACES_C_KEY_ARRAYS_H_
