// The value of a key of the CF.* commands: a cuckoo filter that grows as long as it may, and also
// answers from tables that were made by RedisBloom. Plain C++: no server in here.
//
//   generations   nestline filters, oldest first. New items go to the newest one, or to an older
//                 one that has room again. It doubles in place as generation_plan.h decides, from
//                 settings and history alone; then a further generation is opened. compact()
//                 unites those of a family (generation_list.h).
//   ledger        what the filters alone do not show, by hash: copies beyond the 2k at most that a
//                 filter holds, and erased copies whose slot is not known for certain yet
//                 (ledger.h).
//   tables        of RedisBloom (redisbloom_tables.h). Only add_as_redisbloom, which repeats what a
//                 RedisBloom server did, adds to them.
//
// An item is hashed once, to 64 bits, under the seed of the settings; each family of generations
// mixes those once more. Callers may hash items themselves, hash_key(item, settings().seed), except
// where there are tables of RedisBloom, which need another hash.
//
// Promises. An item that was added and not erased is always found, provided that only items that
// are in it are erased: a copy is never taken from a generation unless it must be there. Every
// change is a function of the value and the call: the same operations make the same bytes
// everywhere. A change that fails leaves everything as it was.
//
// Thread safety: const members may run together; nothing else. But other threads may look up in a
// view() (view.h): from then on the same thread must make all changes.
#ifndef NESTLINE_LIB_REDIS_VALUE_VALUE_H_
#define NESTLINE_LIB_REDIS_VALUE_VALUE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/redis/redisbloom/redisbloom_tables.h"
#include "lib/redis/value/generation_list.h"
#include "lib/redis/value/image.h"

namespace nestline::redis {

class View;  // view.h

// How an add, or an update, ended: as an insert into a filter does, where `full` means that
// expansion is 0 and `capacity` items are in it, or in one of these ways.

/// A further generation is needed, and there are as many as the call allows.
inline constexpr Outcome kTooMany{std::uint8_t{16}};
/// Memory for growth or for the ledger cannot be had.
inline constexpr Outcome kNoMemory{std::uint8_t{17}};
/// update: the old item is not in it.
inline constexpr Outcome kMissing{std::uint8_t{18}};

/// Whether an item is added a second time.
enum class Unless : std::uint8_t {
  never,    ///< It is.
  present,  ///< Not where it is found.
};

/// The most generations that a value may have.
inline constexpr std::uint64_t kMaxGenerations = 65535;

/// What an add keeps to. The same call with and without limits differs only in too_many and full,
/// so replicas, which get only items that were added, may go without.
struct Limits {
  /// How many generations (not RedisBloom tables) a call that needs a further one may leave.
  std::uint64_t generations;
  /// Whether `capacity` is the most when expansion is 0; if not, that counts as 1.
  bool capacity;

  constexpr Limits(std::uint64_t most_generations = kMaxGenerations, bool keeps_capacity = true)
      : generations(most_generations), capacity(keeps_capacity) {}
};

/// The highest count of a batch.
inline constexpr std::uint64_t kMaxCounted = 255;

/// For items that have been acknowledged already.
inline constexpr Limits kUnlimited{kMaxGenerations, false};

/// One generation, for CF.INFO and the like.
struct GenerationInfo {
  int bits;                ///< Of a fingerprint.
  unsigned growth;         ///< How often it has doubled.
  unsigned most_growth;    ///< How often it may.
  std::uint64_t items;     ///< Fingerprints in it.
  std::uint64_t capacity;  ///< Fingerprints that it is promised to hold now.
  double expected_fpr;     ///< Now.
  std::size_t memory_bytes;
};

/// For CF.INFO, CF.DEBUG and their kin.
struct Info {
  Settings settings;           ///< As given; of RedisBloom's tables, those of their header.
  std::uint32_t hash_version;  ///< Of hash_key (docs/FORMAT.md), for callers that hash items.
  std::uint64_t memory_bytes;  ///< All memory of the value, this object included.
  std::uint64_t buckets;       ///< As RedisBloom reports it: from capacity and bucket size.
  std::uint64_t filters;       ///< Generations and RedisBloom tables.
  std::uint64_t items;         ///< Copies in it.
  std::uint64_t deletes;       ///< Erased since the last compaction.
  double promised_fpr;         ///< settings.error, or 2 * bucket_size / 255.
  double expected_fpr;         ///< Now, of everything together, tables included.
  std::uint64_t ledger_entries;
  std::uint64_t redisbloom_tables;
  std::uint64_t redisbloom_items;
  std::vector<GenerationInfo> generations;  ///< Oldest first.
};

/// A piece of a value's image, with the iterator that fetches the next one.
struct Chunk {
  std::uint64_t next = 0;  ///< 0: there was no piece at this iterator, `bytes` is empty.
  std::vector<std::byte> bytes;
};

/// See the head of this file.
class CuckooValue {
 public:
  /// An empty value. Throws std::invalid_argument with a sentence that names the setting and its
  /// bounds, and std::bad_alloc. Blocks and slots of it and its copies come from `memory`, as
  /// Options::memory requires. A ZeroedMemory is not touched: about O(1) in capacity.
  static std::unique_ptr<CuckooValue> create(const Settings& settings,
                                             std::pmr::memory_resource* memory = nullptr);

  /// A value of the items with these hashes, whatever its capacity is: what create() and add()
  /// make, up to where fingerprints lie, in half of the time. Throws as create.
  static std::unique_ptr<CuckooValue> build(const Settings& settings,
                                            std::span<const std::uint64_t> hashes);

  /// A value of these tables; `seed` is for the generations to come, whose memory is that of the
  /// tables. Throws std::invalid_argument when there are no tables, std::bad_alloc.
  static std::unique_ptr<CuckooValue> from_tables(RedisBloomTables tables, std::uint64_t seed);
  /// The empty value that RedisBloom makes for these settings: one table. Throws as create.
  static std::unique_ptr<CuckooValue> create_as_redisbloom(
      const Settings& settings, std::pmr::memory_resource* memory = nullptr);

  // Changes. Each is O(generations), except that an add may double a filter of at most
  // kMaxBytesToDouble, which takes a few milliseconds.

  /// Adds one copy, or none where Unless::present and exists(item). Copies are not limited: beyond
  /// 2k in one generation, or k - 1 where their home is full, the ledger counts them, in some 75
  /// bytes an item.
  Outcome add(std::string_view item, const Limits& limits = {},
              Unless unless = Unless::never) noexcept;
  /// The same for each item in the order given: the fast form for 2 items and more. Throws
  /// std::invalid_argument when the lengths differ, nothing being changed.
  void add(std::span<const std::string_view> items, Unless unless, const Limits& limits,
           std::span<Outcome> outcomes);
  /// The same for hashes. Throws std::invalid_argument also when there are tables of RedisBloom.
  void add(std::span<const std::uint64_t> hashes, Unless unless, const Limits& limits,
           std::span<Outcome> outcomes);
  /// Replaces one copy of `old_item` by `new_item`: adds first, then erases. Nothing changes unless
  /// it returns Outcome::stored.
  Outcome update(std::string_view old_item, std::string_view new_item,
                 const Limits& limits = {}) noexcept;

  /// Whether it has RedisBloom's tables and no generation: only add_as_redisbloom has added.
  [[nodiscard]] bool follows_redisbloom() const noexcept {
    return !tables_.empty() && generations_.empty();
  }
  /// For a value that follows_redisbloom(), and a command that a RedisBloom server has carried out:
  /// adds to the tables what that server added, so that they stay those of that server byte for
  /// byte. The ledger counts an item that has no place in them:
  /// its server may have had other settings.
  Outcome add_as_redisbloom(std::string_view item, Unless unless) noexcept;
  /// Opens the first generation beside tables, as the first add does, or a further one. Throws
  /// std::bad_alloc.
  void open_generation();

  /// Takes one copy out; false when none is found. Only for items that are in it: a stranger may
  /// look like another item, which is then missed. From RedisBloom's tables it erases as RedisBloom
  /// does. Throws std::bad_alloc, nothing being changed, when the ledger needs memory.
  bool erase(std::string_view item);
  /// Calls each(i) for each item, which may erase it, with the item's memory in the cache.
  template <typename Each>
  void in_turn(std::span<const std::string_view> items, const Each& each) const {
    ahead(
        items.size(), [&](std::size_t i) { prefetch(hash_of(items[i]), kMaxPrefetched); }, each);
  }
  /// As erase for the item of each hash in the order given: erased[i] is 1 or 0, also when it
  /// throws std::bad_alloc. Throws std::invalid_argument as add does.
  void erase(std::span<const std::uint64_t> hashes, std::span<std::uint8_t> erased);

  /// Takes everything out, tables too. Throws std::bad_alloc, nothing being changed.
  void clear();

  /// Settles the ledger as far as possible, compacts RedisBloom's tables, and moves each family
  /// into few generations that are nearly full. Old and new ones are there at once. Throws
  /// std::bad_alloc, nothing being changed. O(memory), and up to 16 times O(ledger).
  void compact();

  /// Adds everything in `other`, copies included. A generation of `other` is united with one of its
  /// family here that has room for both, or else comes as a further one. Throws
  /// std::invalid_argument when the seeds differ, when `other` has RedisBloom's tables, when
  /// expansion is 0 here and both together are more than `capacity`, or when a generation would
  /// have to come beyond `most_generations`; std::bad_alloc. All or nothing. O(memory of both).
  void merge(const CuckooValue& other, std::uint64_t most_generations = kMaxGenerations);

  // Lookups.

  /// False: certainly not in it.
  [[nodiscard]] bool exists(std::string_view item) const noexcept;
  /// The same for many: out[i] is 1 or 0. Throws std::invalid_argument when the lengths differ.
  void exists(std::span<const std::string_view> items, std::span<std::uint8_t> out) const;
  /// The same for hashes. Throws std::invalid_argument also when there are tables of RedisBloom.
  void exists(std::span<const std::uint64_t> hashes, std::span<std::uint8_t> out) const;
  /// Copies of the item; may count those of others that look the same.
  [[nodiscard]] std::uint64_t count(std::string_view item) const noexcept;
  /// The same for the hashes of many items, at most kMaxCounted. Throws as exists.
  void count(std::span<const std::uint64_t> hashes, std::span<std::uint8_t> out) const;

  /// Where other threads may look up while this one changes the value, or has destroyed it; all
  /// filters become shared ones. None when it has RedisBloom's tables, pieces of its image are
  /// missing, or the ledger has more than View::kMaxNamed entries. Throws std::bad_alloc.
  /// O(generations + ledger).
  [[nodiscard]] std::unique_ptr<View> view();

  /// Copies in it, RedisBloom's included. O(1).
  [[nodiscard]] std::uint64_t items() const noexcept;
  /// Copies erased since creation or the last compact().
  [[nodiscard]] std::uint64_t deletes() const noexcept;
  [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
  [[nodiscard]] std::uint64_t generations() const noexcept { return generations_.size(); }
  /// All figures. O(generations), with up to 4096 blocks looked at in each for the expected rates,
  /// which are 0 when they are not wanted. Throws std::bad_alloc.
  [[nodiscard]] Info info(bool wants_rates = true) const;
  [[nodiscard]] std::size_t memory_bytes() const noexcept;
  /// For the server's choice where to free it: MiB, filters and thousands of ledger entries.
  [[nodiscard]] std::size_t free_effort() const noexcept;
  /// Another value of the same bytes. Throws std::bad_alloc. O(memory).
  [[nodiscard]] std::unique_ptr<CuckooValue> copy() const;

  // Images. A value that has tables of RedisBloom and nothing else is written as RedisBloom does:
  // is_redisbloom() is true, tables() has what its RDB value holds, and chunks are those of its
  // CF.SCANDUMP. Any other value has an image of our own (image.h).

  [[nodiscard]] bool is_redisbloom() const noexcept;
  [[nodiscard]] const RedisBloomTables& tables() const noexcept { return tables_; }

  /// The piece at `iterator`, and the iterator of the next one: 0 gives the head and next 1. At the
  /// end, and where no piece is, next is 0 and there are no bytes. They are of one moment if
  /// nothing changes between the calls. O(bytes of the piece + log entries). Throws std::bad_alloc.
  [[nodiscard]] Chunk dump_chunk(std::uint64_t iterator) const;
  /// Calls each(chunk) for all of them from `iterator` on. Throws std::bad_alloc.
  template <typename Each>
  void for_each_chunk(const Each& each, std::uint64_t iterator = 0) const {
    for (Chunk chunk = dump_chunk(iterator); chunk.next != 0; chunk = dump_chunk(iterator)) {
      iterator = chunk.next;
      each(std::move(chunk));
    }
  }

  /// A value from the head, as dump_chunk(0) gave it, for load_chunk to fill. It works meanwhile,
  /// with what it has. `seed` is for a head of RedisBloom's, which has none. `memory` as for
  /// create. Throws std::invalid_argument when the head is not valid, std::bad_alloc.
  static std::unique_ptr<CuckooValue> from_head(std::span<const std::byte> head, std::uint64_t seed,
                                                std::pmr::memory_resource* memory = nullptr);
  /// Puts a piece into its place. `iterator` is the `next` beside it. False, nothing being changed,
  /// when the two do not fit each other or this value. Throws std::bad_alloc.
  bool load_chunk(std::uint64_t iterator, std::span<const std::byte> bytes);
  /// Whether the pieces loaded so far make what the head said: every item has come. O(1).
  [[nodiscard]] bool is_complete() const noexcept {
    return awaited_items_ == 0 && awaited_entries_ == 0;
  }

  /// XXH3 of the whole image: equal values have equal digests. O(memory). Throws std::bad_alloc.
  [[nodiscard]] std::uint64_t digest() const;

 private:
  friend class ImageReader;

  // An item's hash for the generations, and for tables: none where it cannot be in them.
  struct Item {
    std::uint64_t hash;
    std::optional<std::uint64_t> redisbloom;
  };
  // What slots show of an item: in all filters, and in the one that shows most of it. A family
  // counts as one filter, and so do all tables of RedisBloom.
  struct Shown {
    std::uint64_t copies;
    std::uint64_t most;
  };

  CuckooValue(const Settings& settings, std::pmr::memory_resource* memory);

  [[nodiscard]] std::uint64_t hash_of(std::string_view item) const noexcept;
  [[nodiscard]] Item item_of(std::string_view item) const noexcept;
  [[nodiscard]] Shown shown(const Item& item) const noexcept;
  [[nodiscard]] std::uint64_t count_of(const Item& item) const noexcept;
  [[nodiscard]] bool exists_of(const Item& item) const noexcept;
  // Calls each(offset, hashes) for one chunk of items after the other.
  template <typename Each>
  void hash_chunks(std::span<const std::string_view> items, const Each& each) const {
    std::array<std::uint64_t, kMaxHashes> hashes;
    in_chunks(items.size(), [&](std::size_t at, std::size_t some) {
      for (std::size_t i = 0; i < some; ++i) hashes[i] = hash_of(items[at + i]);
      each(at, std::span<const std::uint64_t>(hashes).first(some));
    });
  }
  void exists_some(std::span<const std::uint64_t> hashes, std::span<const std::string_view> items,
                   std::span<std::uint8_t> out) const;
  void check_hashes(std::size_t hashes, std::size_t results) const;
  // Prefetches for an item in so many generations at the most, newest first.
  void prefetch(std::uint64_t hash, std::size_t most) const noexcept;
  static constexpr std::size_t kMaxPrefetched = 16;
  // Calls use(i) for each number below `size`, some time after prefetch(i).
  template <typename Prefetch, typename Use>
  static void ahead(std::size_t size, const Prefetch& prefetch, const Use& use) {
    constexpr std::size_t kAhead = 16;
    for (std::size_t i = 0; i < std::min(kAhead, size); ++i) prefetch(i);
    for (std::size_t i = 0; i < size; ++i) {
      if (i + kAhead < size) prefetch(i + kAhead);
      use(i);
    }
  }

  [[nodiscard]] ImageHead head() const;
  static std::unique_ptr<CuckooValue> from_settings(const ImageHead& head,
                                                    std::pmr::memory_resource* memory);
  bool load_content(const Piece& piece);
  [[nodiscard]] Areas areas() const;

  [[nodiscard]] std::int64_t items_beside_tables() const noexcept;
  [[nodiscard]] std::uint64_t head_items() const noexcept;
  Outcome add_item(const Item& item, const Limits& limits) noexcept;
  void add_some(std::span<const std::uint64_t> hashes, std::span<const std::string_view> items,
                Unless unless, const Limits& limits, std::span<Outcome> outcomes);
  Outcome store(const Item& item, const Limits& limits);
  bool store_in(Generation& generation, const Item& item);
  bool store_in_older(const Item& item) noexcept;
  bool store_in_grown(const Item& item);
  std::size_t erase_some(std::span<const std::uint64_t> hashes, std::span<std::uint8_t> erased);
  bool erase_item(const Item& item);
  bool erase_alone(Generation& generation, std::uint64_t hash) noexcept;
  void finish_erase(std::uint64_t hash, bool added) noexcept;
  void take_out(const Item& item, const Shown& slots, std::uint64_t pending) noexcept;
  [[nodiscard]] bool is_seen_in_two(const Ledger::Entries::value_type& entry) const noexcept;
  bool settle_entry(Ledger::Entries::const_iterator entry) noexcept;
  bool settle_all() noexcept;
  [[nodiscard]] bool all_is_erased() const noexcept;
  [[nodiscard]] std::uint64_t block_bytes() const noexcept;
  void empty_all() noexcept;

  Settings settings_;
  std::pmr::memory_resource* memory_;
  std::vector<Generation> generations_;
  std::uint64_t stored_ = 0;          // fingerprints in all generations
  bool none_is_empty_ = false;        // of the generations, for certain: a hint, in no image
  std::shared_ptr<Notices> notices_;  // from the first view on
  Ledger ledger_;
  RedisBloomTables tables_;
  std::uint64_t deletes_ = 0;  // less those of tables_
  // Items of a head, as long as pieces for generations that are empty may be to come; else 0. Part
  // of the image: what is saved or copied meanwhile goes on being loaded like this one.
  std::uint64_t awaited_items_ = 0;
  // Entries of the ledger whose pieces are still to come. Not part of the image.
  std::uint64_t awaited_entries_ = 0;
};

/// Puts a value together from the pieces of its image, as they are in an RDB file. Not safe for
/// concurrent use.
///
/// Hostile bytes cannot make it allocate much more memory than their own size: a filter is
/// allocated once an eighth of its blocks has arrived; until then the pieces themselves are kept.
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

#endif  // NESTLINE_LIB_REDIS_VALUE_VALUE_H_
