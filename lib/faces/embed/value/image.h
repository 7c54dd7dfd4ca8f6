// The format of a value's own image. Little-endian, every part with its XXH3-64 at the end.
//
// The head, of 136 bytes and 32 for each sub_filter:
//
//     0  magic: 8e 'N' 'C' 'F' 0d 0a 1a 0a     40  u64 seed
//     8  u32 version, 1                        48  u64 deletes
//    12  u32 sub_filters                       56  u64 items, without RedisBloom's
//    16  u64 capacity                          64  u64 entries of the ledger
//    24  u64 error: the bits of the double     72  u64 the ledger's cursor
//    32  u16 bucket size                       80  38 bytes: header of RedisBloom's tables, or 0
//    34  u16 max iterations                   118  u16 turns over: 0 or 2. Versions before 0.3
//    36  u16 expansion                             know 0 only, and refuse such a value
//    38  u16 all widths: 0 or 1               120  u64 awaited items: those that the head of a
//                                                 value said whose pieces are missing still, or 0
//   128  for each sub_filter, oldest first:
//          u8 bits, u8 growth, u8 most growth, u8 0, u32 number of its family, u64 base blocks, u64
//          capacity, u64 keys
//    end  checksum
//
// Then come the pieces. Areas are cut into pieces of 1 MiB (the last one of an area may be
// shorter), in this order: the blocks of each sub_filter, the slots of each RedisBloom table, the
// ledger (24 bytes an entry: hash, copies, RedisBloom hash, by ascending hash). "No RedisBloom
// hash" is 0; the hash 0 is written as ff00000000000000, which is the same to every table.
//
//     0  u32 magic "NCFp"    4  u32 kind: 0 blocks, 1 slots, 2 ledger
//     8  u64 which sub_filter or table; 0
//    16  u64 where in the area the content begins, in bytes; in the ledger the lowest stretch
//    24  u64 length of the area in bytes; in the ledger the stretch where the next piece begins
//    32  content, checksum
//
// A stretch of the ledger is 8192 consecutive hashes: the entry of hash h is in stretch h / 8192. A
// piece has the entries of whole stretches and ends with the first one that brings them to 32768.
//
// A piece contains its place, so one from before its sub_filter grew, or for elsewhere, is refused.
// Its iterator gives the same place, from 2 and below 2^53, which every client's numbers can hold.
#ifndef NESTLINE_LIB_FACES_EMBED_VALUE_IMAGE_H_
#define NESTLINE_LIB_FACES_EMBED_VALUE_IMAGE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "lib/faces/embed/redisbloom/redisbloom_tables.h"
#include "lib/faces/embed/value/ledger.h"
#include "lib/faces/embed/value/sub_filter.h"

namespace nestline { inline namespace v0_3 { namespace redis {

inline constexpr std::uint64_t kEntriesInPiece = 32768;
inline constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
/// Readers make a value of this many bytes once so much of them, 1 / kShareToBegin, has arrived.
inline constexpr std::uint64_t kShareToBegin = 8;
inline constexpr unsigned kStretchBits = 13;
inline constexpr std::uint64_t kStretches = std::uint64_t{1} << (64 - kStretchBits);

enum class AreaKind : std::uint32_t { blocks = 0, slots = 1, ledger = 2 };

/// Where a piece's content belongs. In the ledger, `offset` and `area_bytes` are stretches, above.
struct PiecePlace {
  AreaKind kind;
  std::uint64_t index;
  std::uint64_t offset;
  std::uint64_t area_bytes;
  friend bool operator==(const PiecePlace&, const PiecePlace&) = default;
  /// Bytes of its content; not for the ledger's pieces.
  [[nodiscard]] std::size_t content_bytes() const noexcept;
};

struct ImageSubFilter {
  GenerationShape shape;
  std::uint64_t keys;
};

struct ImageHead {
  Settings settings;
  std::uint64_t deletes = 0;
  std::uint64_t items = 0;
  std::uint64_t awaited_items = 0;
  std::uint64_t ledger_entries = 0;
  std::uint64_t ledger_cursor = 0;
  RedisBloomHeader redisbloom;  ///< tables is 0 when there are none.
  std::vector<ImageSubFilter> sub_filters;
};

/// The areas of an image before the ledger.
class Areas {
 public:
  /// Bytes of an area that exists; more than 0. O(1).
  using Bytes = std::function<std::uint64_t(AreaKind kind, std::uint64_t index)>;

  Areas(std::uint64_t sub_filters, std::uint64_t tables, Bytes bytes)
      : sub_filters_(sub_filters), tables_(tables), bytes_(std::move(bytes)) {}
  /// Those that a head describes, which must outlive this object.
  explicit Areas(const ImageHead& head);
  /// The first piece: without areas the ledger's, as far as that is known without the ledger.
  [[nodiscard]] PiecePlace first() const { return area(AreaKind::blocks, 0); }
  /// Bytes of all of them, or as many as any number of bytes. O(areas).
  [[nodiscard]] std::uint64_t bytes() const;
  /// The piece after one that is in an area.
  [[nodiscard]] PiecePlace after(const PiecePlace& place) const;
  /// The piece with this iterator, if there is one; of the ledger, only the place where it begins.
  [[nodiscard]] std::optional<PiecePlace> at(std::uint64_t iterator) const;
  /// Whether there is such a piece; for the ledger, whether there can be one.
  [[nodiscard]] bool have(const PiecePlace& place) const;
  [[nodiscard]] std::uint64_t iterator_after(const PiecePlace& place) const;

 private:
  [[nodiscard]] PiecePlace area(AreaKind kind, std::uint64_t index) const;
  std::uint64_t sub_filters_;
  std::uint64_t tables_;
  Bytes bytes_;
};

std::vector<std::byte> encode_head(const ImageHead& head);
/// Nothing when any byte is wrong, when there are neither sub_filters nor tables, or when it claims
/// more items than there is room for. Takes no more memory than `bytes` has. Throws std::bad_alloc.
std::optional<ImageHead> decode_head(std::span<const std::byte> bytes);
std::vector<std::byte> encode_piece(const PiecePlace& place, std::span<const std::byte> content);
struct Piece {
  PiecePlace place;
  std::span<const std::byte> content;
};
/// A piece whose bytes are unchanged, for any place.
std::optional<Piece> decode_piece(std::span<const std::byte> bytes) noexcept;
/// The content of the ledger's piece that begins at place.offset; sets place.area_bytes to where
/// the next one begins. Empty if there are no entries from there on. O(log entries + length).
std::vector<std::byte> encode_entries(const Ledger& ledger, PiecePlace& place);
/// Puts them into the ledger, and how many; 0, unchanged, when any is wrong. Throws std::bad_alloc.
std::uint64_t decode_entries(const Piece& piece, Ledger& ledger);

/// The digest of what a digest stands for and these bytes.
std::uint64_t chained(std::uint64_t digest, std::span<const std::byte> bytes);

/// Puts a value together from the pieces of its image in their order, as in an RDB file. Not safe
/// for concurrent use. Hostile bytes cannot make it allocate much more than their own size: the
/// value is made once an eighth of its areas has arrived; until then the pieces are kept.
template <class Value>
class PieceReader {
 public:
  /// For a value whose blocks and slots come from `memory`, as for Options::memory.
  explicit PieceReader(std::pmr::memory_resource* memory = nullptr) : memory_(memory) {}
  /// Adds the next piece, head first. False: not this one, and nothing more. Throws std::bad_alloc.
  bool add(std::span<const std::byte> bytes) {
    is_wrong_ = is_wrong_ || !(head_ ? add_piece(bytes) : add_head(bytes));
    return !is_wrong_;
  }
  /// The value if all its pieces have arrived and agree with its head, otherwise null. Call once.
  [[nodiscard]] std::unique_ptr<Value> finish() {
    if (is_wrong_ || !value_ || next_.kind != AreaKind::ledger) return nullptr;
    return value_->finish_reading(*head_) ? std::move(value_) : nullptr;
  }

 private:
  bool add_head(std::span<const std::byte> bytes) {
    head_ = Value::decode_head(bytes);
    if (!head_) return false;
    const Areas areas = Value::areas_of(*head_);
    next_ = areas.first();
    bytes_to_begin_ = areas.bytes() / kShareToBegin;
    return true;
  }

  bool add_piece(std::span<const std::byte> bytes) {
    const Areas areas = Value::areas_of(*head_);
    const auto piece = decode_piece(bytes);
    if (!piece || !areas.have(piece->place)) return false;
    if (next_.kind == AreaKind::ledger) {
      if (piece->place.kind != next_.kind || piece->place.offset != next_.offset) return false;
      next_.offset = piece->place.area_bytes;
    } else {
      if (!(piece->place == next_)) return false;
      next_ = areas.after(next_);
    }
    return value_ ? value_->load_content(*piece) : keep(*piece);
  }

  bool keep(const Piece& piece) {
    waiting_.emplace_back(piece.place, std::vector(piece.content.begin(), piece.content.end()));
    waiting_bytes_ += piece.content.size();
    if (waiting_bytes_ < bytes_to_begin_) return true;
    value_ = Value::from_head(*head_, memory_);
    const auto waiting = std::exchange(waiting_, {});
    return std::ranges::all_of(waiting, [&](const auto& each) {
      return value_->load_content({each.first, each.second});
    });
  }

  std::pmr::memory_resource* memory_;
  std::optional<typename Value::Head> head_;
  std::unique_ptr<Value> value_;
  PiecePlace next_{};  // of the next piece; for the ledger only where it begins
  bool is_wrong_ = false;
  std::vector<std::pair<PiecePlace, std::vector<std::byte>>> waiting_;  // until there is a value
  std::uint64_t waiting_bytes_ = 0;
  std::uint64_t bytes_to_begin_ = 0;
};

}}}  // namespace nestline::redis

#endif  // NESTLINE_LIB_FACES_EMBED_VALUE_IMAGE_H_
