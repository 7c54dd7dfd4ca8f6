// Keys of each kind from numbers, for tests that do the same with all three.
#ifndef NESTLINE_TESTS_KEY_RING_H_
#define NESTLINE_TESTS_KEY_RING_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "hash.h"
#include "nestline/keys.h"

namespace nestline::test {

template <typename Key>
class KeyRing {
 public:
  KeyRing(std::uint64_t first, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      if constexpr (std::is_same_v<Key, std::string_view>) {
        // Of many lengths, NUL bytes among them.
        texts_.push_back(std::string(i % 40, static_cast<char>(i % 3)) + std::to_string(first + i));
      } else if constexpr (std::is_same_v<Key, Hash>) {
        keys_.push_back({mix_integer(first + i, {3, 4})});
      } else {
        keys_.push_back(first + i);
      }
    }
    if constexpr (std::is_same_v<Key, std::string_view>) keys_.assign(texts_.begin(), texts_.end());
  }
  [[nodiscard]] std::span<const Key> all() const { return keys_; }

 private:
  std::vector<std::string> texts_;
  std::vector<Key> keys_;
};

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_KEY_RING_H_
