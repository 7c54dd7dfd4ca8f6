// The keys of a C batch as KeySpans. Arrays of integers and hashes are used where they lie. Arrays
// of pointers and sizes are turned into strings on the stack, part by part, so that no batch
// allocates. Only a build, which needs all keys at once, takes memory for all strings.
//
// Each kind of array has
//
//   check_arrays(), check_key(i)  Refusal unless the arrays are there, unless key i can be read
//   for_each_part(visit)          calls visit(first, keys) for parts of the keys in order, `first`
//                                 being the position of keys[0]; a part has kPart keys or is last
//   with_all(visit)               visit(keys) for all keys at once, which it checks; std::bad_alloc
//                                 without memory for the strings
#ifndef NESTLINE_LIB_C_KEY_ARRAYS_H_
#define NESTLINE_LIB_C_KEY_ARRAYS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string_view>

#include "lib/c/handle.h"
#include "nestline/keys.h"
#include "nestline/outcome.h"

namespace nestline::c {

// Keys of a part, if they have to be put together: 16 KiB of stack. Starting a new batch of the
// filter for each part costs little.
inline constexpr std::size_t kPart = 1024;

// Checks an array that a C caller gives. The sentence is a literal.
template <typename Element>
void require_array(const Element* array, std::size_t count, const char* sentence) {
  require(array != nullptr || count == 0, sentence);
  require(count <= kMaxMemory / sizeof(Element), "the number of keys is more than memory can hold");
}

// Where what became of `count` keys from `first` on is to be written. Empty if the caller, who gave
// `done`, does not want it.
inline std::span<std::uint8_t> optional_part(std::uint8_t* done, std::size_t first,
                                             std::size_t count) {
  return done == nullptr ? std::span<std::uint8_t>() : std::span(done + first, count);
}

// The same for outcomes, whose numbers are those of nestline_outcome.
inline std::span<Outcome> optional_outcomes(std::uint8_t* done, std::size_t first,
                                            std::size_t count) {
  const auto bytes = optional_part(done, first, count);
  return {reinterpret_cast<Outcome*>(bytes.data()), bytes.size()};
}

// What a caller gets who wants to know whether each key was stored.
inline void keep_stored(std::span<Outcome> outcomes) {
  for (Outcome& each : outcomes) each = each == Outcome::stored ? each : Outcome{};
}

// Keys of 64 bits: std::uint64_t or Hash.
template <typename Key>
class WordKeys {
 public:
  WordKeys(const std::uint64_t* keys, std::size_t count) : keys_(keys), count_(count) {
    static_assert(sizeof(Key) == sizeof(std::uint64_t) && alignof(Key) == alignof(std::uint64_t));
  }

  [[nodiscard]] std::size_t size() const { return count_; }
  void check_arrays() const { require_array(keys_, count_, "the array of keys is NULL"); }
  static void check_key(std::size_t) {}

  template <typename Visit>
  void for_each_part(Visit&& visit) const {
    visit(std::size_t{0}, all());
  }
  template <typename Visit>
  auto with_all(Visit&& visit) const {
    return visit(all());
  }

  // A Hash is a struct of one std::uint64_t.
  [[nodiscard]] KeySpan all() const {
    return std::span(reinterpret_cast<const Key*>(keys_), count_);
  }

 private:
  const std::uint64_t* keys_;
  std::size_t count_;
};

using Integers = WordKeys<std::uint64_t>;
using Hashes = WordKeys<Hash>;

// Pointers and sizes.
class BytesKeys {
 public:
  BytesKeys(const void* const* keys, const std::size_t* sizes, std::size_t count)
      : keys_(keys), sizes_(sizes), count_(count) {}

  [[nodiscard]] std::size_t size() const { return count_; }
  void check_arrays() const {
    require_array(keys_, count_, "the array of keys is NULL");
    require_array(sizes_, count_, "the array of sizes is NULL");
  }
  void check_key(std::size_t i) const { bytes_key(keys_[i], sizes_[i]); }

  template <typename Visit>
  void for_each_part(Visit&& visit) const {
    gather(
        count_, [](std::size_t i) { return i; }, visit);
  }
  // The same for the keys at the positions in `selection`; `first` is an index of `selection`.
  template <typename Visit>
  void for_each_chosen(std::span<const std::uint32_t> selection, Visit&& visit) const {
    gather(
        selection.size(), [&](std::size_t i) { return selection[i]; }, visit);
  }
  template <typename Visit>
  auto with_all(Visit&& visit) const {
    // Fewer bytes than this may fail too; sanitizers end the process where more are requested.
    if (count_ > kMaxMemory / sizeof(std::string_view)) throw std::bad_alloc();
    const auto keys = std::make_unique<std::string_view[]>(count_);
    for (std::size_t i = 0; i < count_; ++i) keys[i] = bytes_key(keys_[i], sizes_[i]);
    return visit(KeySpan(std::span<const std::string_view>(keys.get(), count_)));
  }

 private:
  template <typename Position, typename Visit>
  void gather(std::size_t count, const Position& position, Visit& visit) const {
    std::array<std::string_view, kPart> keys;
    for (std::size_t first = 0; first < count; first += kPart) {
      const std::size_t size = std::min(kPart, count - first);
      for (std::size_t i = 0; i < size; ++i) {
        const std::size_t at = position(first + i);
        keys[i] = bytes_key(keys_[at], sizes_[at]);
      }
      visit(first, std::span<const std::string_view>(keys.data(), size));
    }
  }

  const void* const* keys_;
  const std::size_t* sizes_;
  std::size_t count_;
};

template <class Keys>
void check_keys(const Keys& keys) {
  keys.check_arrays();
  for (std::size_t i = 0; i < keys.size(); ++i) keys.check_key(i);
}

// Defines NAME_bytes, NAME_u64 and NAME_hash, a C function for each kind of key array. It returns
// work(handle, keys, arguments); see NESTLINE_FOR_EACH_KEY.
#define NESTLINE_FOR_EACH_ARRAY(Result, name, Handle, work, parameters, arguments)                \
  Result name##_bytes(Handle* handle, const void* const* keys, const size_t* sizes, size_t count, \
                      NESTLINE_BARE parameters) {                                                 \
    return work(handle, BytesKeys(keys, sizes, count), NESTLINE_BARE arguments);                  \
  }                                                                                               \
  Result name##_u64(Handle* handle, const uint64_t* keys, size_t count,                           \
                    NESTLINE_BARE parameters) {                                                   \
    return work(handle, Integers(keys, count), NESTLINE_BARE arguments);                          \
  }                                                                                               \
  Result name##_hash(Handle* handle, const uint64_t* hashes, size_t count,                        \
                     NESTLINE_BARE parameters) {                                                  \
    return work(handle, Hashes(hashes, count), NESTLINE_BARE arguments);                          \
  }

}  // namespace nestline::c

#endif  // NESTLINE_LIB_C_KEY_ARRAYS_H_
