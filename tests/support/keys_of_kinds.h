// Keys of each kind from numbers, for tests that do the same with all three.
#ifndef NESTLINE_TESTS_SUPPORT_KEYS_OF_KINDS_H_
#define NESTLINE_TESTS_SUPPORT_KEYS_OF_KINDS_H_

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "lib/engine/place/hash.h"
#include "nestline/keys.h"

namespace nestline::test {

// The numbers from `first` on.
template <typename Number = std::uint64_t>
std::vector<Number> sequence(std::type_identity_t<Number> first, std::size_t count) {
  std::vector<Number> numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

// Distinct keys of a kind, made of the numbers from `first` on.
template <typename Key>
class Keys {
 public:
  explicit Keys(std::size_t count, std::uint64_t first = 0) {
    if constexpr (std::is_same_v<Key, std::string_view>) texts_.reserve(count);
    keys_.reserve(count);
    for (std::uint64_t number = first; number < first + count; ++number) {
      if constexpr (std::is_same_v<Key, std::string_view>) {
        // Of many lengths, NUL bytes among them.
        const std::size_t i = number % 40;
        keys_.push_back(texts_.emplace_back(std::string(i, static_cast<char>(number % 3)) +
                                            std::to_string(number)));
      } else if constexpr (std::is_same_v<Key, Hash>) {
        keys_.push_back({mix_integer(number, {3, 4})});
      } else {
        keys_.push_back(number);
      }
    }
  }
  [[nodiscard]] std::span<const Key> all() const { return keys_; }
  [[nodiscard]] std::span<const Key> first(std::size_t count) const { return all().first(count); }

 private:
  std::vector<std::string> texts_;
  std::vector<Key> keys_;
};

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_SUPPORT_KEYS_OF_KINDS_H_
