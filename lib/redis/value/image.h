// A value's own image: which byte is what. Little-endian, every part with its XXH3-64 at the end.
//
// The head, of 136 bytes and 32 for each generation:
//
//     0  magic: 8e 'N' 'C' 'F' 0d 0a 1a 0a     40  u64 seed
//     8  u32 version, 1                        48  u64 deletes
//    12  u32 generations                       56  u64 items, without RedisBloom's
//    16  u64 capacity                          64  u64 entries of the ledger
//    24  u64 error: the bits of the double     72  u64 the ledger's cursor
//    32  u16 bucket size                       80  38 bytes: header of RedisBloom's tables, or 0
//    34  u16 max iterations                   118  u16 0
//    36  u16 expansion
//    38  u16 0                                120  u64 awaited items: those that the head of a
//                                                 value said whose pieces are missing still, or 0
//   128  for each generation, oldest first:
//          u8 bits, u8 growth, u8 most growth, u8 0, u32 number, u64 base blocks, u64 capacity, u64
//          keys
//    end  checksum
//
// Then the pieces. Areas are cut into pieces of 1 MiB, the last one of an area may be shorter, in
// this order: the blocks of each generation, the slots of each RedisBloom table, the ledger (24
// bytes an entry: hash, copies, RedisBloom hash, by ascending hash, 32768 entries to a piece).
//
//     0  u32 magic "NCFp"    4  u32 kind: 0 blocks, 1 slots, 2 ledger
//     8  u64 which generation or table; 0
//    16  u64 where in the area the content begins, in bytes
//    24  u64 length of the area in bytes; of the ledger 0
//    32  content, checksum
//
// A piece tells its place, so one that was made after its generation had grown, or that is put
// elsewhere, is refused.
#ifndef NESTLINE_LIB_REDIS_VALUE_IMAGE_H_
#define NESTLINE_LIB_REDIS_VALUE_IMAGE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lib/redis/redisbloom/redisbloom_tables.h"
#include "lib/redis/value/generation.h"
#include "lib/redis/value/ledger.h"
#include "lib/redis/value/settings.h"

namespace nestline::redis {

inline constexpr std::uint64_t kEntriesInPiece = 32768;
inline constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

enum class AreaKind : std::uint32_t { blocks = 0, slots = 1, ledger = 2 };

/// Where a piece's content belongs.
struct PiecePlace {
  AreaKind kind;
  std::uint64_t index;
  std::uint64_t offset;
  std::uint64_t area_bytes;
  friend bool operator==(const PiecePlace&, const PiecePlace&) = default;
  /// Bytes of its content; not of the ledger's pieces.
  [[nodiscard]] std::size_t content_bytes() const noexcept;
};

struct ImageGeneration {
  GenerationShape shape;
  std::uint64_t keys;
};

/// All that a head says.
struct ImageHead {
  Settings settings;
  std::uint64_t deletes = 0;
  std::uint64_t items = 0;
  std::uint64_t awaited_items = 0;
  std::uint64_t ledger_entries = 0;
  std::uint64_t ledger_cursor = 0;
  RedisBloomHeader redisbloom;  ///< tables is 0 when there are none.
  std::vector<ImageGeneration> generations;

  /// Pieces of generations and tables; those of the ledger follow.
  [[nodiscard]] std::uint64_t pieces_before_ledger() const noexcept;
  [[nodiscard]] std::uint64_t pieces() const noexcept;
  /// Of piece `number`, from 0; of the ledger's also behind the last one. O(generations).
  [[nodiscard]] PiecePlace place(std::uint64_t number) const noexcept;
};

std::vector<std::byte> encode_head(const ImageHead& head);
/// Nothing when any byte is wrong. Takes no more memory than `bytes` has. Throws std::bad_alloc.
std::optional<ImageHead> decode_head(std::span<const std::byte> bytes);

std::vector<std::byte> encode_piece(const PiecePlace& place, std::span<const std::byte> content);
/// The content of a piece that belongs exactly there; nothing when any byte is wrong.
std::optional<std::span<const std::byte>> decode_piece(const PiecePlace& place,
                                                       std::span<const std::byte> piece) noexcept;

/// The entries from number `first` on that fit into a piece.
std::vector<std::byte> encode_entries(const Ledger& ledger, std::uint64_t first);
/// Puts them into the ledger; false, nothing being changed, when any is wrong. Throws
/// std::bad_alloc.
bool decode_entries(std::span<const std::byte> content, Ledger& ledger);

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_VALUE_IMAGE_H_
