// Puts a value together from the pieces of its image, as they are in an RDB file.
//
// Hostile bytes cannot make it allocate much more memory than their own size: a filter is allocated
// once an eighth of its blocks has arrived; until then the pieces themselves are kept.
#ifndef NESTLINE_LIB_REDIS_VALUE_IMAGE_READER_H_
#define NESTLINE_LIB_REDIS_VALUE_IMAGE_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "lib/redis/value/image.h"
#include "lib/redis/value/value.h"

namespace nestline::redis {

/// Not safe for concurrent use.
class ImageReader {
 public:
  /// For a value whose blocks and slots come from `memory`, as for Options::memory.
  explicit ImageReader(std::pmr::memory_resource* memory = nullptr) : memory_(memory) {}

  /// Adds the next piece, in order, beginning with the head. False: it is not the piece that must
  /// come here, and nothing more can be added. Throws std::bad_alloc.
  bool add(std::span<const std::byte> piece);

  /// The value if all its pieces have arrived and agree with its head, otherwise null. Call once.
  [[nodiscard]] std::unique_ptr<CuckooValue> finish();

 private:
  bool add_head(std::span<const std::byte> piece);
  bool add_piece(std::span<const std::byte> piece);
  bool add_content(const Piece& piece);

  std::pmr::memory_resource* memory_;
  std::optional<ImageHead> head_;
  std::unique_ptr<CuckooValue> value_;
  PiecePlace next_{};  // of the next piece; for the ledger only where it begins
  bool is_wrong_ = false;
  // The first contents of an area whose memory is not allocated yet, and where they belong.
  std::vector<std::pair<PiecePlace, std::vector<std::byte>>> waiting_;
  std::uint64_t waiting_bytes_ = 0;
};

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_VALUE_IMAGE_READER_H_
