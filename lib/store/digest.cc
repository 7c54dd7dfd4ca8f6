#include "lib/store/digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace nestline {

std::uint64_t digest_of(std::string_view bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace nestline
