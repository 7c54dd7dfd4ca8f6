#include "lib/store/digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>

#include "lib/engine/place/little_endian.h"

namespace nestline { inline namespace v0_3 {

std::uint64_t digest_of(std::string_view bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::uint64_t digest_of(std::span<const std::byte, 24> header, std::uint64_t first,
                        std::uint64_t second, std::uint64_t third, std::uint64_t seed) noexcept {
  // Number by number, so that the compiler keeps them in registers.
  std::array<std::byte, header.size() + 24> all;
  for (std::size_t at = 0; at < header.size(); at += 8)
    put(all, at, get<std::uint64_t>(header, at));
  put(all, 24, first);
  put(all, 32, second);
  put(all, 40, third);
  return XXH3_64bits_withSeed(all.data(), all.size(), seed);
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

}}  // namespace nestline
