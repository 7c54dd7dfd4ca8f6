// XXH3, compiled into this file so that the library needs no libxxhash at run time.
#include "lib/engine/place/hash.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace nestline { inline namespace v0_3 {

std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::uint64_t checksum_bytes(const void* bytes, std::size_t size) noexcept {
  return XXH3_64bits(bytes, size);
}

namespace internal {

Hash hash_key(std::uint64_t key, std::uint64_t seed) noexcept { return hasher_of(seed)(key); }

Hash hash_key(std::string_view key, std::uint64_t seed) noexcept { return {hash_bytes(key, seed)}; }

}  // namespace internal
}}  // namespace nestline
