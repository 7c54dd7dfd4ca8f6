// Hashes in place of items, and batches of them that must succeed.
#ifndef NESTLINE_TESTS_FACES_EMBED_VALUE_HASHES_H_
#define NESTLINE_TESTS_FACES_EMBED_VALUE_HASHES_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "lib/faces/embed/value/value.h"

namespace nestline::redis {

using Hashes = std::vector<std::uint64_t>;

inline Hashes random_hashes(std::mt19937_64& random, std::size_t count) {
  Hashes hashes(count);
  for (std::uint64_t& hash : hashes) hash = random();
  return hashes;
}

inline void add(CuckooValue& value, const Hashes& hashes) {
  std::vector<Outcome> outcomes(hashes.size());
  value.insert(hashes, Unless::never, kUnlimited, outcomes);
  for (const Outcome outcome : outcomes) ASSERT_EQ(outcome, Outcome::stored);
}

inline void erase(CuckooValue& value, const Hashes& hashes) {
  std::vector<std::uint8_t> erased(hashes.size());
  value.erase(hashes, erased);
  for (const std::uint8_t one : erased) ASSERT_EQ(one, 1);
}

}  // namespace nestline::redis

#endif  // NESTLINE_TESTS_FACES_EMBED_VALUE_HASHES_H_
