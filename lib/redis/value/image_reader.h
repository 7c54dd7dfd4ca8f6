// Puts a value together from the pieces of its image, as they stand in an RDB file.
//
// Hostile bytes cannot make it ask for much more memory than they bring: a filter is allocated once
// an eighth of its blocks has come; until then the pieces themselves are kept.
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

  /// The next piece, in order, the head first. False: it is not what has to come here, and nothing
  /// more can be added. Throws std::bad_alloc.
  bool add(std::span<const std::byte> piece);

  /// The value when all its pieces have come and agree with its head; else null. Call once.
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
