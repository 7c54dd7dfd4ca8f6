#include "lib/cluster/hashes_by_part.h"

#include "lib/place/hash.h"
#include "lib/place/parts.h"

namespace nestline::cluster {

template <typename OneKey>
void HashesByPart::append_all(std::span<const OneKey> keys) {
  const KeyHasher hash_of = hasher_of(seed_);
  const auto parts = static_cast<std::uint32_t>(hashes_.size());
  for (const OneKey& key : keys) {
    const std::uint64_t hash = hash_of(key).value;
    hashes_[part_of(hash, parts)].push_back(hash);
  }
}

void HashesByPart::append(KeySpan keys) {
  keys.visit([&](auto same) { append_all(same); });
  size_ += keys.size();
}

}  // namespace nestline::cluster
