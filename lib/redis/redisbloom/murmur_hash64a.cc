#include "lib/redis/redisbloom/murmur_hash64a.h"

#include <cstddef>

namespace nestline::redis {
namespace {

constexpr std::uint64_t kMultiplier = 0xc6a4a7935bd1e995u;
constexpr unsigned kShift = 47;

// The first `count` bytes, at most 8, as a little-endian number.
std::uint64_t read(std::string_view bytes, std::size_t count) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < count; ++i) {
    number |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return number;
}

}  // namespace

std::uint64_t murmur_hash64a(std::string_view bytes, std::uint64_t seed) noexcept {
  std::uint64_t hash = seed ^ (bytes.size() * kMultiplier);
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    std::uint64_t word = read(bytes, 8) * kMultiplier;
    word = (word ^ (word >> kShift)) * kMultiplier;
    hash = (hash ^ word) * kMultiplier;
  }
  if (!bytes.empty()) hash = (hash ^ read(bytes, bytes.size())) * kMultiplier;
  hash = (hash ^ (hash >> kShift)) * kMultiplier;
  return hash ^ (hash >> kShift);
}

}  // namespace nestline::redis
