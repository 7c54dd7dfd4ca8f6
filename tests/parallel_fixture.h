// What the tests of the parallel forms share: keys of each kind, and a number of threads.
#ifndef NESTLINE_TESTS_PARALLEL_FIXTURE_H_
#define NESTLINE_TESTS_PARALLEL_FIXTURE_H_

#include <gtest/gtest.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "hash.h"
#include "nestline/keys.h"

namespace nestline::test {

using KeyTypes = testing::Types<std::uint64_t, Hash, std::string_view>;

// Distinct keys of a kind, made of the numbers from `first` on.
template <typename Key>
class Keys {
 public:
  explicit Keys(std::size_t count, std::uint64_t first = 0) {
    if constexpr (std::is_same_v<Key, std::string_view>) texts_.reserve(count);
    keys_.reserve(count);
    for (std::uint64_t number = first; number < first + count; ++number) {
      if constexpr (std::is_same_v<Key, std::string_view>) {
        keys_.push_back(texts_.emplace_back("key " + std::to_string(number)));
      } else if constexpr (std::is_same_v<Key, Hash>) {
        keys_.push_back({mix_integer(number, {1, 2})});
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

// Calls `work` in an arena of so many threads, which may be more than there are cores.
template <typename Work>
void with_threads(int threads, Work&& work) {
  const tbb::global_control allow(tbb::global_control::max_allowed_parallelism,
                                  static_cast<std::size_t>(threads));
  tbb::task_arena(threads).execute(std::forward<Work>(work));
}

inline constexpr int kThreads[] = {1, 2, 3, 8};

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_PARALLEL_FIXTURE_H_
