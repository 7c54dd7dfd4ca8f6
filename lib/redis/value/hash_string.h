// The bytes in which batches of hashes travel to a server and its answers travel back.
//
//   hashes   8 bytes each, lowest byte first
//   bits     answer i is bit i % 8 of byte i / 8, the lowest bit first; the bits that are left over
//            in the last byte are 0
//   counts   a byte each
//
// A string may lie at any address, so its hashes are copied a chunk at a time.
#ifndef NESTLINE_LIB_REDIS_VALUE_HASH_STRING_H_
#define NESTLINE_LIB_REDIS_VALUE_HASH_STRING_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace nestline::redis {

inline constexpr std::size_t kHashBytes = 8;

/// Bytes of this many answers as bits.
constexpr std::size_t bit_bytes(std::size_t answers) { return (answers + 7) / 8; }

/// A view of a string of hashes.
class HashString {
 public:
  /// The most hashes of a chunk; a multiple of 8, so that the bits of a chunk begin with a byte.
  static constexpr std::size_t kMostInChunk = 1024;

  /// Throws std::invalid_argument when the length is 0 or not a multiple of kHashBytes.
  explicit HashString(std::string_view bytes);

  /// How many hashes there are.
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size() / kHashBytes; }
  /// The bytes of all hashes.
  [[nodiscard]] std::string_view bytes() const noexcept { return bytes_; }
  /// Copies the hashes from number `first` on; there must be as many as `hashes` takes.
  void read(std::size_t first, std::span<std::uint64_t> hashes) const noexcept;

  /// Calls work(first, hashes) for one chunk after the other: `hashes` is a span of at most
  /// kMostInChunk, `first` the number of the first of them.
  template <typename Work>
  void in_chunks(const Work& work) const {
    std::array<std::uint64_t, kMostInChunk> room;
    for (std::size_t first = 0; first < size(); first += kMostInChunk) {
      const auto hashes = std::span(room).first(std::min(kMostInChunk, size() - first));
      read(first, hashes);
      work(first, std::span<const std::uint64_t>(hashes));
    }
  }

 private:
  std::string_view bytes_;
};

/// Writes answers, each 0 or 1, as bits. `bits` must be bit_bytes(answers.size()) long.
void put_bits(std::span<const std::uint8_t> answers, std::span<char> bits) noexcept;

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_VALUE_HASH_STRING_H_
