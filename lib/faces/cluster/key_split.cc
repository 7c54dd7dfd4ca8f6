#include "lib/faces/cluster/key_split.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>

#include "lib/engine/place/hash.h"
#include "lib/engine/place/parts.h"

namespace nestline { inline namespace v0_3 { namespace cluster {

namespace {

// Calls with(i, hash, part) for each key.
template <typename With>
void for_each_hash(KeySpan keys, std::uint64_t seed, std::uint32_t parts, const With& with) {
  const KeyHasher hash_of = hasher_of(seed);
  keys.visit([&](const auto same) {
    for (std::size_t i = 0; i < same.size(); ++i) {
      const std::uint64_t hash = hash_of(same[i]).value;
      with(i, hash, part_of(hash, parts));
    }
  });
}

}  // namespace

void require_answers(KeySpan keys, std::span<const std::uint8_t> out) {
  if (out.size() == keys.size()) return;
  throw std::invalid_argument("there are " + std::to_string(keys.size()) + " keys, but room for " +
                              std::to_string(out.size()) + " answers");
}

void KeySplit::assign(KeySpan keys, std::uint64_t seed, std::uint32_t parts) {
  const std::size_t count = keys.size();
  unsorted_.resize(count);
  parts_of_.resize(count);
  hashes_.resize(count);
  positions_.resize(count);
  begins_.assign(std::size_t{parts} + 1, 0);
  for_each_hash(keys, seed, parts, [&](std::size_t i, std::uint64_t hash, std::uint32_t part) {
    unsorted_[i] = hash;
    parts_of_[i] = static_cast<std::uint16_t>(part);
    ++begins_[part + 1];
  });
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

void HashesByPart::append(KeySpan keys) {
  for_each_hash(
      keys, seed_, static_cast<std::uint32_t>(hashes_.size()),
      [&](std::size_t, std::uint64_t hash, std::uint32_t part) { hashes_[part].push_back(hash); });
  size_ += keys.size();
}

}}}  // namespace nestline::cluster
