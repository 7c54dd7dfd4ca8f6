// An exact model of a maplet for tests: which pairs are in it.
#ifndef NESTLINE_TESTS_FILTERS_MAPLET_PAIRS_H_
#define NESTLINE_TESTS_FILTERS_MAPLET_PAIRS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "nestline/maplet.h"

namespace nestline::test {

class Pairs {
 public:
  void insert(std::uint64_t key, std::uint64_t value) { pairs_.emplace(key, value); }
  bool erase(std::uint64_t key, std::uint64_t value) {
    const auto [from, to] = pairs_.equal_range(key);
    const auto found =
        std::find_if(from, to, [&](const auto& pair) { return pair.second == value; });
    if (found == to) return false;
    pairs_.erase(found);
    return true;
  }
  [[nodiscard]] std::size_t size() const { return pairs_.size(); }
  [[nodiscard]] std::vector<std::uint64_t> values(std::uint64_t key) const {
    const auto [from, to] = pairs_.equal_range(key);
    std::vector<std::uint64_t> values;
    for (auto pair = from; pair != to; ++pair) values.push_back(pair->second);
    return values;
  }
  [[nodiscard]] auto begin() const { return pairs_.begin(); }
  [[nodiscard]] auto end() const { return pairs_.end(); }
  // A pair that is in it.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> any(std::mt19937_64& random) const {
    auto pair = pairs_.lower_bound(random());
    return pair == pairs_.end() ? *pairs_.begin() : *pair;
  }

  // That all of `wanted` are among `found`, as often.
  static void expect_among(std::vector<std::uint64_t> wanted,
                           std::span<const std::uint64_t> found) {
    std::vector<std::uint64_t> sorted(found.begin(), found.end());
    std::sort(sorted.begin(), sorted.end());
    std::sort(wanted.begin(), wanted.end());
    EXPECT_TRUE(std::includes(sorted.begin(), sorted.end(), wanted.begin(), wanted.end()));
  }
  // That every key's values are among what the maplet gives, one by one and in a batch, and that
  // the two agree unless other threads change the maplet. Returns how many candidates the maplet
  // gave that are not values of their keys.
  enum class Threads : bool { one, several };
  template <class AnyMaplet>
  std::size_t expect_in(const AnyMaplet& maplet, Threads threads = Threads::one) const {
    std::vector<std::uint64_t> keys;
    for (const auto& [key, value] : pairs_) {
      if (keys.empty() || keys.back() != key) keys.push_back(key);
    }
    std::vector<std::uint32_t> first;
    std::vector<std::uint64_t> values;
    const std::size_t all = maplet.find(keys, first, values);
    EXPECT_EQ(values.size(), all);
    EXPECT_EQ(first.size(), keys.size() + 1);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::vector<std::uint64_t> wanted = this->values(keys[i]);
      std::array<std::uint64_t, Maplet::kMaxCandidates> buffer;
      const auto alone = std::span(buffer).first(maplet.find(keys[i], buffer));
      const auto in_batch = std::span(values).subspan(first[i], first[i + 1] - first[i]);
      expect_among(wanted, alone);
      expect_among(wanted, in_batch);
      if (threads == Threads::several) continue;
      EXPECT_TRUE(std::equal(in_batch.begin(), in_batch.end(), alone.begin(), alone.end()));
    }
    return all - pairs_.size();
  }

 private:
  std::multimap<std::uint64_t, std::uint64_t> pairs_;
};

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_FILTERS_MAPLET_PAIRS_H_
