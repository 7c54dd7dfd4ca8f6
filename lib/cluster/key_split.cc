// A counting sort: see key_split.h.
#include "lib/cluster/key_split.h"

#include <bit>
#include <numeric>

#include "lib/place/hash.h"
#include "lib/place/parts.h"

namespace nestline::cluster {

template <typename OneKey>
void KeySplit::hash(std::span<const OneKey> keys, std::uint64_t seed, std::uint32_t parts) {
  const KeyHasher hash_of = hasher_of(seed);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::uint64_t hash = hash_of(keys[i]).value;
    const std::uint32_t part = part_of(hash, parts);
    unsorted_[i] = hash;
    parts_of_[i] = static_cast<std::uint16_t>(part);
    ++begins_[part + 1];
  }
}

void KeySplit::assign(KeySpan keys, std::uint64_t seed, std::uint32_t parts) {
  const std::size_t count = keys.size();
  unsorted_.resize(count);
  parts_of_.resize(count);
  hashes_.resize(count);
  positions_.resize(count);
  begins_.assign(std::size_t{parts} + 1, 0);
  keys.visit([&](auto same) { hash(same, seed, parts); });
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  next_.assign(begins_.begin(), begins_.end() - 1);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = next_[parts_of_[i]]++;
    hashes_[at] = unsorted_[i];
    positions_[at] = static_cast<std::uint32_t>(i);
  }
}

void KeySplit::make_bytes() {
  if constexpr (std::endian::native == std::endian::little) return;
  for (std::uint64_t& hash : hashes_) hash = __builtin_bswap64(hash);
}

}  // namespace nestline::cluster
