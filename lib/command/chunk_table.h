// A small exact table of hashes: which lines of a chunk are new, and which lines leave the ring
// while the chunk is handled.
//
// Linear probing in twice as many places as there can be hashes. A place counts only if it has the
// number of the present chunk, so clearing the table is counting up. All 64 bits are compared.
#ifndef NESTLINE_LIB_COMMAND_CHUNK_TABLE_H_
#define NESTLINE_LIB_COMMAND_CHUNK_TABLE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "nestline/keys.h"

namespace nestline::command {

class ChunkTable {
 public:
  /// What a hash has in place of an order when its line is new in this chunk.
  static constexpr std::uint32_t kNew = ~std::uint32_t{0};

  struct Place {
    std::uint64_t hash = 0;
    std::uint32_t chunk = 0;
    std::uint32_t order = 0;  // in which it leaves the ring, or kNew
  };

  /// Room for `most` different hashes at a time.
  explicit ChunkTable(std::size_t most)
      : places_(std::bit_ceil(2 * most)), shift_(64 - std::countr_zero(places_.size())) {}

  void clear() {
    if (++chunk_ != 0) return;
    for (Place& place : places_) place = {};
    chunk_ = 1;
  }

  /// The place of this hash, or the free place where put() may put it.
  Place& find(Hash hash) {
    std::size_t at = hash.value >> shift_;
    while (places_[at].chunk == chunk_ && places_[at].hash != hash.value) {
      at = (at + 1) & (places_.size() - 1);
    }
    return places_[at];
  }

  [[nodiscard]] bool has(const Place& place) const { return place.chunk == chunk_; }

  void put(Place& place, Hash hash, std::uint32_t order) const {
    place = {hash.value, chunk_, order};
  }

 private:
  std::vector<Place> places_;
  int shift_;
  std::uint32_t chunk_ = 0;
};

}  // namespace nestline::command

#endif  // NESTLINE_LIB_COMMAND_CHUNK_TABLE_H_
