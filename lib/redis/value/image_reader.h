// Puts a value together from the pieces of its image, as they are in an RDB file.
//
// Hostile bytes cannot make it allocate much more memory than their own size: a filter is allocated
// once an eighth of its blocks has arrived; until then the pieces themselves are kept.
#ifndef NESTLINE_LIB_REDIS_VALUE_IMAGE_READER_H_
#define NESTLINE_LIB_REDIS_VALUE_IMAGE_READER_H_

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <span>

#include "lib/redis/value/value.h"

namespace nestline::redis {

struct PiecePlace;  // image.h

/// Not safe for concurrent use.
class ImageReader {
 public:
  /// For a value whose blocks and slots come from `memory`, as Options::memory says.
  explicit ImageReader(std::pmr::memory_resource* memory = nullptr);
  ImageReader(ImageReader&&) noexcept;
  ImageReader& operator=(ImageReader&&) noexcept;
  ~ImageReader();

  /// Adds the next piece, in order, beginning with the head. False: it is not the piece that must
  /// come here, and nothing more can be added. Throws std::bad_alloc.
  bool add(std::span<const std::byte> piece);

  /// The value if all its pieces have arrived and agree with its head, otherwise null. Call once.
  [[nodiscard]] std::unique_ptr<CuckooValue> finish();

 private:
  struct State;

  bool add_head(std::span<const std::byte> piece);
  bool add_piece(std::span<const std::byte> piece);
  bool add_content(const PiecePlace& place, std::span<const std::byte> content);

  std::unique_ptr<State> state_;
};

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_VALUE_IMAGE_READER_H_
