#include "lib/redis/value/hash_string.h"

#include <stdexcept>

#include "lib/file/filter_blocks.h"

namespace nestline::redis {
namespace {

// A product that moves the lowest bit of byte i to bit 56 + i, for all eight bytes of a number. No
// other bits meet there: bit 8 * i is moved by 7 * j for j from 1 to 8, and 8 * i + 7 * j is the
// same number at or above 56 for one pair only.
constexpr std::uint64_t kGather = 0x0102040810204080;

// Words of eight answers that are put at a time.
constexpr std::size_t kWords = 64;

}  // namespace

HashString::HashString(std::string_view bytes) : bytes_(bytes) {
  if (bytes.empty() || bytes.size() % kHashBytes != 0) {
    throw std::invalid_argument(
        "hashes take 8 bytes each: send a string whose length is a multiple of 8, and not 0");
  }
}

void HashString::read(std::size_t first, std::span<std::uint64_t> hashes) const noexcept {
  const auto from = std::as_bytes(std::span(bytes_)).subspan(first * kHashBytes);
  get_all(from.first(hashes.size() * kHashBytes), hashes);
}

void put_bits(std::span<const std::uint8_t> answers, std::span<char> bits) noexcept {
  const auto from = std::as_bytes(answers);
  const std::size_t whole = answers.size() / 8;
  std::array<std::uint64_t, kWords> words;
  for (std::size_t at = 0; at < whole; at += kWords) {
    const auto some = std::span(words).first(std::min(kWords, whole - at));
    get_all(from.subspan(8 * at, some.size_bytes()), some);
    for (std::size_t i = 0; i < some.size(); ++i) {
      bits[at + i] = static_cast<char>(words[i] * kGather >> 56);
    }
  }
  if (whole == bits.size()) return;
  unsigned last = 0;
  for (std::size_t i = 8 * whole; i < answers.size(); ++i) {
    last |= static_cast<unsigned>(answers[i]) << (i % 8);
  }
  bits[whole] = static_cast<char>(last);
}

}  // namespace nestline::redis
