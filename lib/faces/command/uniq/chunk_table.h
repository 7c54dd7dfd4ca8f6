// A small exact table of hashes: which lines of a chunk occur in it before, and which leave the
// window meanwhile. Linear probing in at least eight times as many places as hashes, so that a
// processor foresees that a new hash finds a free place. A place has four bytes: the number of a
// hash, whose 64 bits its owner keeps and which are all compared, and that of its chunk. Only
// places of the present chunk count, so clearing is counting up. The table takes 16 KB.
#ifndef NESTLINE_LIB_FACES_COMMAND_UNIQ_CHUNK_TABLE_H_
#define NESTLINE_LIB_FACES_COMMAND_UNIQ_CHUNK_TABLE_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nestline/keys.h"

namespace nestline { inline namespace v0_3 { namespace command {

inline constexpr std::size_t kChunkLines = 512;

class ChunkTable {
 public:
  struct Place {
    std::uint16_t chunk = 0;
    std::uint16_t number = 0;
  };

  /// Room for `most` different hashes at a time, with numbers up to 65535.
  explicit ChunkTable(std::size_t most)
      : places_(std::bit_ceil(8 * most)), shift_(64 - std::countr_zero(places_.size())) {}

  void clear() {
    if (++chunk_ != 0) return;
    std::ranges::fill(places_, Place{});
    chunk_ = 1;
  }

  /// The place of this hash, or a free one for put(). `hash_of` gives the hash of a number.
  Place& find(Hash hash, const auto& hash_of) {
    std::size_t at = hash.value >> shift_;
    while (has(places_[at]) && hash_of(places_[at].number).value != hash.value) {
      at = (at + 1) & (places_.size() - 1);
    }
    return places_[at];
  }

  [[nodiscard]] bool has(const Place& place) const { return place.chunk == chunk_; }

  void put(Place& place, std::size_t number) const {
    place = {chunk_, static_cast<std::uint16_t>(number)};
  }

 private:
  std::vector<Place> places_;
  int shift_;
  std::uint16_t chunk_ = 0;
};

class ChunkRepeats {
 public:
  /// Sets repeats[i] to 1 if an earlier line of its chunk of kChunkLines has its hash, else to 0.
  void mark(std::span<const Hash> lines, std::span<std::uint8_t> repeats) {
    for (std::size_t begin = 0; begin < lines.size(); begin += kChunkLines) {
      const auto chunk = lines.subspan(begin, std::min(kChunkLines, lines.size() - begin));
      table_.clear();
      for (std::size_t i = 0; i < chunk.size(); ++i) {
        auto& place = table_.find(chunk[i], [chunk](std::size_t number) { return chunk[number]; });
        const bool repeats_one = table_.has(place);
        repeats[begin + i] = repeats_one ? 1 : 0;
        if (!repeats_one) table_.put(place, i);
      }
    }
  }

 private:
  ChunkTable table_{kChunkLines};
};

}}}  // namespace nestline::command

#endif  // NESTLINE_LIB_FACES_COMMAND_UNIQ_CHUNK_TABLE_H_
