// The value of a key of the CF.* commands, without a server: a growing cuckoo filter, maybe tables.
//
//   sub_filters   nestline filters, oldest first. New items go to the newest, or to an older one
//                 that has room again. It doubles in place as sub_filter_plan.h decides, from
//                 settings and history alone; then a further one is opened.
//   ledger        by hash: copies beyond those that a filter holds (2k at most), and erased ones
//                 whose slot is not certain yet (ledger.h).
//   tables        of RedisBloom (redisbloom_tables.h), to which only insert_as_redisbloom adds.
//
// An item is hashed once, to 64 bits, under the settings' seed, and mixed once more by each family.
// Callers may do hash_key(item, settings().seed), unless there are tables: they need another hash.
//
// Promises. An item that was added and not erased is found, if only items that are in it are
// erased: a copy is taken from a sub_filter only if it must be there. Every change is a function of
// the value and the call: the same operations make the same bytes. One that fails changes nothing.
//
// Thread safety: const members may run together; nothing else. Others may look up in a view()
// (view.h): from then on one thread makes all changes.
#ifndef NESTLINE_LIB_FACES_EMBED_VALUE_VALUE_H_
#define NESTLINE_LIB_FACES_EMBED_VALUE_VALUE_H_

#include <algorithm>
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

#include "lib/faces/embed/value/image.h"
#include "lib/faces/embed/value/sub_filter_list.h"

namespace nestline { inline namespace v0_3 { namespace redis {

class View;  // view.h

// How an add or update ended: as an insert (`full`: expansion 0, `capacity` items are in it), or:

/// A further sub_filter is needed, and there are as many as the call allows.
inline constexpr Outcome kTooMany{std::uint8_t{16}};
/// Memory for growth or for the ledger cannot be had.
inline constexpr Outcome kNoMemory{std::uint8_t{17}};
inline constexpr Outcome kMissing{std::uint8_t{18}};  ///< update: the old item is not in it.

/// Whether an item is added a second time.
enum class Unless : std::uint8_t {
  never,    ///< It is.
  present,  ///< Not where it is found.
};

inline constexpr std::uint64_t kMaxGenerations = 65535;

/// What an add keeps to. It decides only whether kTooMany or `full` refuses, so replicas, which get
/// just what was added, may go without.
struct Limits {
  /// How many sub_filters (not RedisBloom tables) a call that needs a further one may leave.
  std::uint64_t sub_filters;
  /// Whether expansion 0 makes `capacity` the most; if not, 0 counts as 1.
  bool capacity;

  constexpr Limits(std::uint64_t most_generations = kMaxGenerations, bool keeps_capacity = true)
      : sub_filters(most_generations), capacity(keeps_capacity) {}
};

inline constexpr std::uint64_t kMaxCounted = 255;  ///< The highest count of a batch.
/// For items that have been acknowledged already.
inline constexpr Limits kUnlimited{kMaxGenerations, false};

/// For CF.INFO, CF.DEBUG and their kin.
struct Info {
  Settings settings;           ///< As given; of RedisBloom's tables, those of their header.
  std::uint64_t memory_bytes;  ///< All memory of the value, this object included.
  std::uint64_t buckets;       ///< As RedisBloom reports it: from capacity and bucket size.
  std::uint64_t filters;       ///< Sub-filters and RedisBloom tables.
  std::uint64_t items;         ///< Copies in it.
  std::uint64_t deletes;       ///< Erased since the last compaction.
  double promised_fpr;         ///< settings.error, or 2 * bucket_size / 255.
  double expected_fpr;         ///< Now, of everything together, tables included.
  std::uint64_t ledger_entries;
  std::uint64_t redisbloom_items;
};

/// A piece of a value's image, with the iterator that fetches the next one.
struct Chunk {
  std::uint64_t next = 0;  ///< 0: there was no piece at this iterator, `bytes` is empty.
  std::vector<std::byte> bytes;
};

/// Members that are not noexcept may throw std::bad_alloc; the value is then as it was.
class CuckooValue {
 public:
  /// An empty value. Throws std::invalid_argument with a sentence that names the setting and its
  /// bounds, and std::bad_alloc. Blocks and slots of it and its copies come from `memory`, as for
  /// Options::memory. A ZeroedMemory is not touched: about O(1) in capacity.
  static std::unique_ptr<CuckooValue> create(const Settings& settings,
                                             std::pmr::memory_resource* memory = nullptr);

  /// A value of these items: what create() and add() make but for places, in half the time. As
  /// create.
  static std::unique_ptr<CuckooValue> build(const Settings& settings,
                                            std::span<const std::uint64_t> hashes);

  /// A value of these tables; `seed`: of sub_filters to come. Throws std::invalid_argument if none.
  static std::unique_ptr<CuckooValue> from_tables(RedisBloomTables tables, std::uint64_t seed);
  /// The empty value that RedisBloom makes for these settings: one table. Throws as create.
  static std::unique_ptr<CuckooValue> create_as_redisbloom(
      const Settings& settings, std::pmr::memory_resource* memory = nullptr);

  // Each change is O(sub_filters); an add may also double a filter, in a few milliseconds.

  /// Adds one copy, or none where Unless::present and exists(item). Copies beyond 2k in a
  /// sub_filter, k - 1 where their home is full, go to the ledger, without limit: 75 bytes an item.
  Outcome insert(std::string_view item, const Limits& limits = {},
                 Unless unless = Unless::never) noexcept;
  /// The same for many, in order, faster. Throws std::invalid_argument when the lengths differ.
  void insert(std::span<const std::string_view> items, Unless unless, const Limits& limits,
              std::span<Outcome> outcomes);
  /// The same for hashes. Throws std::invalid_argument also when there are tables of RedisBloom.
  void insert(std::span<const std::uint64_t> hashes, Unless unless, const Limits& limits,
              std::span<Outcome> outcomes);
  /// Replaces one copy of `old_item` by `new_item`: adds, then erases. No change unless stored.
  Outcome update(std::string_view old_item, std::string_view new_item,
                 const Limits& limits = {}) noexcept;

  /// Whether it has RedisBloom's tables and no sub_filter: only insert_as_redisbloom has added.
  [[nodiscard]] bool follows_redisbloom() const noexcept {
    return !tables_.empty() && sub_filters_.empty();
  }
  /// For a value that follows_redisbloom(), and a command that a RedisBloom server has carried out:
  /// adds to the tables what that server added, so that they stay its byte for byte. The ledger
  /// counts an item that has no place: that server may have had other settings.
  Outcome insert_as_redisbloom(std::string_view item, Unless unless) noexcept;
  /// Opens the first sub_filter beside tables, as an add does, or another. Throws std::bad_alloc.
  void open_generation();
  /// Takes one copy out; false when none is found. Only for items that are in it: a stranger may
  /// look like another, which is then missed. From tables it erases as RedisBloom does.
  bool erase(std::string_view item);
  /// Calls each(i) for each item, which may erase it, with the item's memory in the cache.
  template <typename Each>
  void in_turn(std::span<const std::string_view> items, const Each& each) const {
    ahead(
        items.size(), [&](std::size_t i) { prefetch(hash_of(items[i]), kMaxPrefetched); }, each);
  }
  /// As erase in order: erased[i] is 1 or 0, also when this throws. Throws as add does.
  void erase(std::span<const std::uint64_t> hashes, std::span<std::uint8_t> erased);
  /// Takes everything out, tables too. Throws std::bad_alloc, nothing being changed.
  void clear();
  /// Settles the ledger where possible, compacts tables, and moves each family into few sub_filters
  /// that are nearly full; old and new are there at once. O(memory), up to 16 times O(ledger).
  void compact();
  /// Adds everything in `other`, copies included. Each of its sub_filters is united with one of its
  /// family here that has room for both, or comes as a further one. Throws std::invalid_argument
  /// when the seeds differ, only one turns over, `other` has tables, both are more than `capacity`
  /// at expansion 0, or a sub_filter would come beyond `most_generations`. All or nothing. O(memory
  /// of both).
  void merge(const CuckooValue& other, std::uint64_t most_generations = kMaxGenerations);

  // Lookups.
  [[nodiscard]] bool exists(std::string_view item) const noexcept;  ///< False: certainly not in it.
  /// The same for many: out[i] is 1 or 0. Throws std::invalid_argument when the lengths differ.
  void exists(std::span<const std::string_view> items, std::span<std::uint8_t> out) const;
  /// The same for hashes. Throws std::invalid_argument also when there are tables of RedisBloom.
  void exists(std::span<const std::uint64_t> hashes, std::span<std::uint8_t> out) const;
  /// Copies of the item; may count those of others that look the same.
  [[nodiscard]] std::uint64_t count(std::string_view item) const noexcept;
  /// The same for the hashes of many items, at most kMaxCounted. Throws as exists.
  void count(std::span<const std::uint64_t> hashes, std::span<std::uint8_t> out) const;
  /// Where other threads may look up while this one changes or destroys the value; all filters
  /// become shared. None when it has tables, pieces of its image are missing, or the ledger has
  /// more than View::kMaxNamed entries. Throws std::bad_alloc. O(sub_filters + ledger).
  [[nodiscard]] std::unique_ptr<View> view();
  /// Copies in it, RedisBloom's included. O(1).
  [[nodiscard]] std::uint64_t items() const noexcept;
  /// Copies erased since creation or the last compact().
  [[nodiscard]] std::uint64_t deletes() const noexcept;
  [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
  [[nodiscard]] std::uint64_t sub_filters() const noexcept { return sub_filters_.size(); }
  /// All of them, oldest first, until the next change.
  [[nodiscard]] std::span<const SubFilter> list() const noexcept { return sub_filters_; }
  /// All figures; rates are 0 unless wanted. O(sub_filters), with up to 4096 blocks of each for
  /// them.
  [[nodiscard]] Info info(bool wants_rates = true) const;
  [[nodiscard]] std::size_t memory_bytes() const noexcept;
  /// For the server's choice where to free it: MiB, filters and thousands of ledger entries.
  [[nodiscard]] std::size_t free_effort() const noexcept;
  /// Another value of the same bytes. Throws std::bad_alloc. O(memory).
  [[nodiscard]] std::unique_ptr<CuckooValue> copy() const;

  // Images. A value of tables alone is written as RedisBloom does: is_redisbloom(), tables() for
  // RDB, chunks as of CF.SCANDUMP. Others have our own image (image.h).

  [[nodiscard]] bool is_redisbloom() const noexcept;
  [[nodiscard]] const RedisBloomTables& tables() const noexcept { return tables_; }
  /// The piece at `iterator`, and the next iterator: 0 gives the head and next 1; past the end next
  /// is 0, without bytes. Of one moment if nothing changes between calls. O(bytes + log entries).
  [[nodiscard]] Chunk dump_chunk(std::uint64_t iterator) const;
  /// Calls each(chunk) for all of them from `iterator` on. Throws std::bad_alloc.
  template <typename Each>
  void for_each_chunk(const Each& each, std::uint64_t iterator = 0) const {
    for (Chunk chunk = dump_chunk(iterator); chunk.next != 0; chunk = dump_chunk(iterator)) {
      iterator = chunk.next;
      each(std::move(chunk));
    }
  }

  /// A value from the head that dump_chunk(0) gave, for load_chunk to fill, which works meanwhile.
  /// `seed` is for RedisBloom's head, which has none. Throws std::invalid_argument for a bad head.
  static std::unique_ptr<CuckooValue> from_head(std::span<const std::byte> head, std::uint64_t seed,
                                                std::pmr::memory_resource* memory = nullptr);
  /// Puts a piece into its place; `iterator` is its `next`. False, unchanged, when they do not fit.
  bool load_chunk(std::uint64_t iterator, std::span<const std::byte> bytes);
  /// Whether the pieces loaded so far make what the head said: every item has come. O(1).
  [[nodiscard]] bool is_complete() const noexcept {
    return awaited_items_ == 0 && awaited_entries_ == 0;
  }

  /// XXH3 of the whole image: equal values have equal digests. O(memory). Throws std::bad_alloc.
  [[nodiscard]] std::uint64_t digest() const;

 private:
  friend class PieceReader<CuckooValue>;
  using Head = ImageHead;

  // An item's hash for the sub_filters, and for tables: none where it cannot be in them.
  struct Item {
    std::uint64_t hash;
    std::optional<std::uint64_t> redisbloom;
  };
  // What slots show of an item: in all filters (families; all tables are one), and the most in one.
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
  // Prefetches for an item in so many sub_filters at the most, newest first.
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
  // For the pieces of a head, in the memory that they take.
  static std::unique_ptr<CuckooValue> from_head(const ImageHead& head,
                                                std::pmr::memory_resource* memory);
  static constexpr auto* decode_head = &redis::decode_head;
  static Areas areas_of(const ImageHead& head) { return Areas(head); }
  bool load_content(const Piece& piece);
  bool finish_reading(const ImageHead& head);
  [[nodiscard]] Areas areas() const;
  [[nodiscard]] std::int64_t items_beside_tables() const noexcept;
  [[nodiscard]] std::uint64_t head_items() const noexcept;
  // `beyond`: items that there may be beyond the capacity, of a value that does not grow.
  Outcome insert_item(const Item& item, const Limits& limits, std::uint64_t beyond = 0) noexcept;
  void insert_some(std::span<const std::uint64_t> hashes, std::span<const std::string_view> items,
                   Unless unless, const Limits& limits, std::span<Outcome> outcomes);
  Outcome insert_in_any(const Item& item, const Limits& limits);
  bool insert_in(SubFilter& sub_filter, const Item& item);
  bool insert_in_older(const Item& item) noexcept;
  bool insert_in_grown(const Item& item);
  std::size_t erase_some(std::span<const std::uint64_t> hashes, std::span<std::uint8_t> erased);
  bool erase_item(const Item& item);
  bool erase_alone(SubFilter& sub_filter, std::uint64_t hash) noexcept;
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
  std::vector<SubFilter> sub_filters_;
  std::uint64_t stored_ = 0;          // fingerprints in all sub_filters
  bool none_is_empty_ = false;        // of the sub_filters, for certain: a hint, in no image
  std::shared_ptr<Notices> notices_;  // from the first view on
  Ledger ledger_;
  RedisBloomTables tables_;
  std::uint64_t deletes_ = 0;  // less those of tables_
  // Items of a head while pieces for empty sub_filters may come; else 0. Part of the image.
  std::uint64_t awaited_items_ = 0;
  // Entries of the ledger whose pieces are to come. Not part of the image.
  std::uint64_t awaited_entries_ = 0;
};

using ImageReader = PieceReader<CuckooValue>;

}}}  // namespace nestline::redis

#endif  // NESTLINE_LIB_FACES_EMBED_VALUE_VALUE_H_
