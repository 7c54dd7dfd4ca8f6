// The bytes in which batches of hashes travel to a server and its answers travel back.
//
//   hashes   8 bytes each, lowest byte first
//   bits     answer i is bit i % 8 of byte i / 8, the lowest bit first; the bits that are left over
//            in the last byte are 0
//   counts   a byte each
//
// A string may lie at any address, so its hashes are copied a chunk at a time.
#ifndef NESTLINE_LIB_FACES_EMBED_VALUE_HASH_STRING_H_
#define NESTLINE_LIB_FACES_EMBED_VALUE_HASH_STRING_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string_view>

#include "lib/faces/embed/bytes.h"

namespace nestline { inline namespace v0_3 { namespace redis {

inline constexpr std::size_t kHashBytes = 8;
/// Bytes of this many answers as bits.
constexpr std::size_t bit_bytes(std::size_t answers) { return (answers + 7) / 8; }

class HashString {
 public:
  /// The most hashes of a chunk; a multiple of 8, so that the bits of a chunk begin with a byte.
  static constexpr std::size_t kMaxInChunk = 1024;

  /// Throws std::invalid_argument when the length is 0 or not a multiple of kHashBytes.
  explicit HashString(std::string_view bytes) : bytes_(bytes) {
    if (!bytes.empty() && bytes.size() % kHashBytes == 0) return;
    throw std::invalid_argument(
        "hashes take 8 bytes each: send a string whose length is a multiple of 8, and not 0");
  }

  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size() / kHashBytes; }
  [[nodiscard]] std::string_view bytes() const noexcept { return bytes_; }
  /// Copies the hashes from number `first` on; there must be as many as `hashes` takes.
  void read(std::size_t first, std::span<std::uint64_t> hashes) const noexcept {
    const auto from = std::as_bytes(std::span(bytes_)).subspan(first * kHashBytes);
    get_all(from.first(hashes.size() * kHashBytes), hashes);
  }

  /// Calls work(first, hashes) for each chunk, of at most kMaxInChunk from number `first` on.
  template <typename Work>
  void in_chunks(const Work& work) const {
    std::array<std::uint64_t, kMaxInChunk> room;
    for (std::size_t first = 0; first < size(); first += kMaxInChunk) {
      const auto hashes = std::span(room).first(std::min(kMaxInChunk, size() - first));
      read(first, hashes);
      work(first, std::span<const std::uint64_t>(hashes));
    }
  }

 private:
  std::string_view bytes_;
};

/// Writes answers, each 0 or 1, as bits. `bits` must be bit_bytes(answers.size()) long.
inline void put_bits(std::span<const std::uint8_t> answers, std::span<char> bits) noexcept {
  // A product that moves the lowest bit of byte i to bit 56 + i. No others meet there: bit 8 * i
  // moves by 7 * j, j from 1 to 8, and 8 * i + 7 * j is the same at or above 56 for one pair only.
  constexpr std::uint64_t kGather = 0x0102040810204080;
  constexpr std::size_t kWords = 64;  // of eight answers, put at a time
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

}}}  // namespace nestline::redis

#endif  // NESTLINE_LIB_FACES_EMBED_VALUE_HASH_STRING_H_
