#include "lib/store/digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace nestline {

std::uint64_t digest_of(std::string_view bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

struct LongDigest::State {
  XXH3_state_t state;
};

LongDigest::LongDigest(std::uint64_t seed) : state_(std::make_unique<State>()) {
  XXH3_INITSTATE(&state_->state);
  (void)XXH3_64bits_reset_withSeed(&state_->state, seed);
}
LongDigest::~LongDigest() = default;

void LongDigest::add(std::span<const std::byte> bytes) noexcept {
  (void)XXH3_64bits_update(&state_->state, bytes.data(), bytes.size());
}
std::uint64_t LongDigest::get() const noexcept { return XXH3_64bits_digest(&state_->state); }

}  // namespace nestline
