// XXH3-64, with a seed: the hashes of keys and the checksums of all files of a store. The seed is
// the store's id, so records of another store are never taken for its own. The only file of the
// store with xxHash in it.
#ifndef NESTLINE_LIB_STORE_DIGEST_H_
#define NESTLINE_LIB_STORE_DIGEST_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace nestline { inline namespace v0_3 {

std::uint64_t digest_of(std::string_view bytes, std::uint64_t seed) noexcept;

inline std::uint64_t digest_of(std::span<const std::byte> bytes, std::uint64_t seed) noexcept {
  return digest_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, seed);
}

// The same of the header's bytes and then of the numbers as bytes, without writing them down.
std::uint64_t digest_of(std::span<const std::byte, 24> header, std::uint64_t first,
                        std::uint64_t second, std::uint64_t third, std::uint64_t seed) noexcept;
// The same of all bytes that next() returns until it returns none.
std::uint64_t digest_of_pieces(std::uint64_t seed,
                               const std::function<std::span<const std::byte>()>& next);

}}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_DIGEST_H_
