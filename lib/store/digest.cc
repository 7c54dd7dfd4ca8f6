#include "lib/store/digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace nestline {

std::uint64_t digest_of(std::string_view bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::uint64_t digest_of_48(std::span<const std::byte, 48> bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::uint64_t digest_of_pieces(std::uint64_t seed,
                               const std::function<std::span<const std::byte>()>& next) {
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  (void)XXH3_64bits_reset_withSeed(&state, seed);
  for (auto bytes = next(); !bytes.empty(); bytes = next()) {
    (void)XXH3_64bits_update(&state, bytes.data(), bytes.size());
  }
  return XXH3_64bits_digest(&state);
}

}  // namespace nestline
