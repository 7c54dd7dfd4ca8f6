// A cuckoo filter as RedisBloom stores it.
//
// The filter is a list of tables ("sub-filters"). Table i has numBuckets * expansion^i buckets of
// bucketSize one-byte slots, bucket after bucket; 0 is a free slot. An item has the hash
// h = MurmurHash64A (seed 0), the fingerprint h mod 255 + 1, and two buckets in each table: h and
// h xor fingerprint * 0x5bd1e995, both modulo the table's number of buckets, a power of two.
//
// All operations do what RedisBloom does, byte for byte, but a slot's number has 64 bits here
// (RedisBloom's lookups cut it to 32 and lose items in larger tables). Additions are for commands
// that RedisBloom has carried out: clients' new items go to filters beside the tables.
//
// The header is the 38 bytes that CF.SCANDUMP gives first, little-endian without gaps:
//
//     0  u64 items        8  u64 buckets of table 0   16  u64 deletes    24  u64 tables
//    32  u16 bucket size 34  u16 max iterations       36  u16 expansion
//
// Headers and bytes are treated as hostile; it is safe to compute with what passes parse_header.
#ifndef NESTLINE_LIB_FACES_EMBED_REDISBLOOM_REDISBLOOM_TABLES_H_
#define NESTLINE_LIB_FACES_EMBED_REDISBLOOM_REDISBLOOM_TABLES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "lib/faces/embed/bytes.h"

namespace nestline { inline namespace v0_3 { namespace redis {

/// MurmurHash64A, Austin Appleby's 64-bit MurmurHash2, the same on every machine. O(length).
std::uint64_t murmur_hash64a(std::string_view bytes, std::uint64_t seed) noexcept;

struct RedisBloomHeader {
  std::uint64_t items = 0;    ///< At most as many as there are slots.
  std::uint64_t buckets = 0;  ///< Of table 0: a power of two, at most 2^55.
  std::uint64_t deletes = 0;
  std::uint64_t tables = 0;          ///< 1 to 65535.
  std::uint16_t bucket_size = 0;     ///< 1 to 255.
  std::uint16_t max_iterations = 0;  ///< 1 to 65535; only kept.
  std::uint16_t expansion = 0;       ///< 0 (then one table) or a power of two up to 32768.
  /// Buckets of table i; nothing when there are more than 2^56 - 1.
  [[nodiscard]] std::optional<std::uint64_t> buckets_of(std::uint64_t i) const noexcept;
};

inline constexpr std::size_t kRedisBloomHeaderBytes = 38;
/// Whether all is in its ranges and there is a slot for each item. O(tables).
bool is_valid(const RedisBloomHeader& header) noexcept;
/// The header in `bytes`; nothing unless there are 38 bytes and is_valid. An expansion that is not
/// a power of two is rounded up to one, as RedisBloom does.
std::optional<RedisBloomHeader> parse_header(std::span<const std::byte> bytes) noexcept;
std::array<std::byte, kRedisBloomHeaderBytes> write_header(const RedisBloomHeader& header) noexcept;

/// The tables. Not safe for concurrent use; const members may run together.
class RedisBloomTables {
 public:
  RedisBloomTables() = default;  ///< No tables.
  /// Empty tables as in the header, in one block of memory, touched as slots arrive and freed with
  /// the last table. `memory` as Options::memory. Throws std::invalid_argument, std::bad_alloc.
  explicit RedisBloomTables(const RedisBloomHeader& header,
                            std::pmr::memory_resource* memory = nullptr);
  /// The header alone, for loaders. Throws std::invalid_argument when it is not valid.
  static RedisBloomTables begin(const RedisBloomHeader& header,
                                std::pmr::memory_resource* memory = nullptr);
  /// Adds the next of the header's tables, empty. False when all are there. Throws std::bad_alloc.
  bool append_clear();
  [[nodiscard]] bool is_whole() const noexcept { return tables_.size() == header_.tables; }
  [[nodiscard]] bool empty() const noexcept { return tables_.empty(); }
  /// The header as it is now: items, deletes and tables change with erase and compact.
  [[nodiscard]] const RedisBloomHeader& header() const noexcept { return header_; }
  /// Whether the item with this hash is in one of the tables; O(tables).
  [[nodiscard]] bool may_contain(std::uint64_t hash) const noexcept;
  /// Slots that are not free; the header may count fewer. O(slots).
  [[nodiscard]] std::uint64_t taken() const noexcept;
  /// Slots that hold its fingerprint: with `each_once` it can be erased this many times. Without,
  /// as RedisBloom's CF.COUNT counts them: twice where both buckets are the same.
  [[nodiscard]] std::uint64_t count(std::uint64_t hash, bool each_once = false) const noexcept;
  /// Inserts one copy: into a free slot, newest table first, else by moving others in the newest
  /// table, else into a further table. False, nothing being changed, when there is no place and
  /// expansion is 0 or there are 65535 tables. Throws std::bad_alloc likewise.
  bool insert(std::uint64_t hash);
  /// Clears one slot, newest table first; compacts after deletes of a tenth of the items.
  bool erase(std::uint64_t hash) noexcept;
  /// Moves fingerprints from newer tables to free slots of older ones and drops the newest tables
  /// that are then empty, up to the first that is not or in `all`; sets deletes to 0. O(slots).
  void compact(bool all) noexcept;
  /// Table i's slots. i < header().tables.
  [[nodiscard]] std::span<const std::byte> table(std::uint64_t i) const noexcept;
  /// Overwrites slots of table i from `offset` on. False when they lie outside or there are none.
  bool load_table(std::uint64_t i, std::uint64_t offset, std::span<const std::byte> slots) noexcept;
  /// All slots, as one run of bytes from table 0 on.
  [[nodiscard]] std::uint64_t slots() const noexcept;
  /// A piece of CF.SCANDUMP: from `offset` of that run to the end of the table, at most 16 MiB.
  [[nodiscard]] std::span<const std::byte> piece(std::uint64_t offset) const noexcept;
  /// As load_table, from `offset` of that run on. The header's items stay.
  bool load(std::uint64_t offset, std::span<const std::byte> slots) noexcept;
  /// Expected share of absent items that are found. O(slots) up to 256 KiB; then a sample.
  [[nodiscard]] double expected_fpr() const noexcept;
  [[nodiscard]] std::size_t memory_bytes() const noexcept;
  /// Where the slots lie: what the constructor or begin was given.
  [[nodiscard]] std::pmr::memory_resource* memory() const noexcept { return memory_; }
  [[nodiscard]] RedisBloomTables copy() const;  ///< A copy. Throws std::bad_alloc.

 private:
  struct Table {
    std::uint64_t buckets = 0;
    std::uint64_t bytes = 0;
    std::shared_ptr<Storage> storage;  // of this table, or of all that were made together
    std::size_t offset = 0;            // in it
    [[nodiscard]] std::span<std::uint8_t> slots() const noexcept;
  };
  struct Spot {
    std::size_t table;
    std::uint64_t offset;
  };

  [[nodiscard]] Table next_table() const;
  [[nodiscard]] std::span<std::uint8_t> bucket(const Table& table,
                                               std::uint64_t hash) const noexcept;
  [[nodiscard]] std::uint8_t* find(const Table& table, std::uint64_t hash, std::uint8_t fingerprint,
                                   std::uint8_t content) const noexcept;
  [[nodiscard]] std::optional<Spot> spot_of(std::uint64_t offset) const noexcept;
  bool push_in(const Table& table, std::uint64_t hash) const noexcept;
  void open_table();
  bool move_out(std::size_t from) noexcept;
  RedisBloomHeader header_;
  std::vector<Table> tables_;
  std::pmr::memory_resource* memory_ = nullptr;
};

}}}  // namespace nestline::redis

#endif  // NESTLINE_LIB_FACES_EMBED_REDISBLOOM_REDISBLOOM_TABLES_H_
