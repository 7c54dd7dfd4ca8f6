// Tells new lines from seen ones, in order. One batch of lookups finds which lines of a chunk the
// filters have. The others are new, unless an exact table (chunk_table.h) has found them earlier in
// the chunk. Then one batch inserts the new ones while the blocks are still in the cache. So a line
// is compared with every line before it. Two lines of one chunk that only look alike are both new,
// which is one error less.
//
// A line that the set has is always found, as no filter loses a key. Without a window nothing is
// erased; a line without room because others look the same is found through those. With a window of
// N, a ring holds the hashes of the last N new lines, oldest first, and the filters one copy of
// each and nothing else: a line that is taken for a seen one is in neither; a new one goes into
// both, or into neither without room, and is then taken for a seen one. A hash is erased when it
// leaves the ring, so only what was inserted is erased, and copies of lines that look the same
// stay. A line that is seen again keeps its place in the ring.
//
// Within a chunk, a line may leave the ring before it comes again. So with a window the table
// begins with the oldest hashes of the ring, in order. A chunk is no longer than the window, so no
// line that is new in it leaves the ring before its end.
#ifndef NESTLINE_LIB_FACES_COMMAND_UNIQ_SEEN_LINES_H_
#define NESTLINE_LIB_FACES_COMMAND_UNIQ_SEEN_LINES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/faces/command/uniq/seen_set.h"

namespace nestline { inline namespace v0_3 { namespace command {

class SeenLines : public SeenSet<Filter> {
 public:
  /// With a window there is one generation, and `ring` has its hashes, oldest first. Throws
  /// std::bad_alloc, and std::invalid_argument for a capacity that no filter has.
  explicit SeenLines(const SeenOptions& options, Generations generations = {},
                     std::vector<Hash> ring = {});

  /// Writes the ascending positions of new lines to `positions`, which has room for all. Ends
  /// before a new line that the capacity has no room for. `repeats` is ChunkRepeats's, unused with
  /// a window. Throws std::bad_alloc, and std::length_error when a filter has no room.
  Selected select_new(std::span<const Hash> lines, std::span<const std::uint8_t> repeats,
                      std::span<std::uint32_t> positions);

  [[nodiscard]] std::uint64_t memory_bytes() const {
    return SeenSet::memory_bytes() + kept_ * sizeof(Hash);
  }
  /// The ring in two pieces, oldest hash first.
  [[nodiscard]] std::array<std::span<const Hash>, 2> ring() const noexcept;

 private:
  Selected select_chunk(std::span<const Hash> chunk, std::span<const std::uint8_t> repeats,
                        std::span<std::uint32_t> positions);
  // The positions and hashes of at most `room` new lines, to `positions` and fresh_; inserts none.
  Selected choose(std::span<const Hash> chunk, std::span<const std::uint8_t> repeats,
                  std::uint64_t room, std::span<std::uint32_t> positions);
  // The same with a window; takes out of the ring and the filters what leaves the window.
  Selected choose_in_window(std::span<const Hash> chunk, std::span<std::uint32_t> positions);
  void forget(std::size_t count);
  // Inserts the first `count` of fresh_. Takes out what has no room; returns how many are left.
  std::size_t keep(std::size_t count, std::span<std::uint32_t> positions);
  std::size_t keep_in_layer(std::size_t layer, std::size_t count,
                            std::span<std::uint32_t> positions);
  [[nodiscard]] std::size_t ring_place(std::size_t order) const {
    const std::size_t place = oldest_ + order;
    return place < options_.window ? place : place - options_.window;
  }

  std::vector<Hash> ring_;  // places are written in order at first, so it grows up to the window
  std::size_t oldest_ = 0;  // the place of the oldest hash
  std::size_t kept_;        // hashes in the ring

  ChunkTable table_;
  std::vector<Hash> fresh_, gone_;
  std::vector<Outcome> outcomes_;
};

}}}  // namespace nestline::command

#endif  // NESTLINE_LIB_FACES_COMMAND_UNIQ_SEEN_LINES_H_
