// Corrections to the counts of a value's filters, by the hash of the item.
//
//   n > 0   n copies of the item are not in any slot: copies took all slots that it may use, or so
//           many that a search for another one was spared (value_change.cc).
//   n < 0   -n copies that slots show were erased, but are still in slots: more than one filter
//           showed a match, and the wrong one would have been another item's fingerprint. A filter
//           here is a family of generations (generation_list.h), or all tables of RedisBloom.
//
// So an item has as many copies as slots show, plus n. An entry of n < 0 is settled, that is, the
// fingerprints are removed, as soon as it is known which filter they are in: if all filters but one
// together show fewer than -n copies, the rest are in that one. Erasing other items brings that
// about, so entries are looked at again in turn, from the cursor on. They are in the order of their
// hashes, so images and turns are the same everywhere.
#ifndef NESTLINE_LIB_REDIS_VALUE_LEDGER_H_
#define NESTLINE_LIB_REDIS_VALUE_LEDGER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory_resource>
#include <optional>

namespace nestline::redis {

/// See the head of this file. O(log entries) unless said otherwise.
class Ledger {
 public:
  struct Entry {
    std::int64_t copies = 0;  ///< n; not 0 but for prepare.
    /// The item's MurmurHash64A; none if its copies cannot be in RedisBloom's tables.
    std::optional<std::uint64_t> redisbloom_hash = std::nullopt;
  };
  /// The most copies that one entry may count, so that sums cannot overflow.
  static constexpr std::int64_t kMaxCopies = std::int64_t{1} << 32;
  using Entries = std::pmr::map<std::uint64_t, Entry>;

  /// Entries lie in `memory`; null: the process's, as those of copies that are not assigned to.
  explicit Ledger(std::pmr::memory_resource* memory = nullptr)
      : entries_(memory != nullptr ? memory : std::pmr::new_delete_resource()) {}

  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  /// n for this hash, 0 without an entry.
  [[nodiscard]] std::int64_t copies(std::uint64_t hash) const noexcept {
    if (entries_.empty()) return 0;
    const auto entry = entries_.find(hash);
    return entry == entries_.end() ? 0 : entry->second.copies;
  }
  /// The sum of all n. O(1).
  [[nodiscard]] std::int64_t total() const noexcept { return total_; }
  /// Adds `change` to the hash's n, and the other hash if there is one. Throws std::bad_alloc only
  /// where there was no entry. Not inlined: most callers need it rarely.
  [[gnu::noinline]] void add(std::uint64_t hash, std::int64_t change,
                             std::optional<std::uint64_t> redisbloom_hash = std::nullopt) {
    const auto [place, is_new] = entries_.try_emplace(hash);
    Entry& entry = place->second;
    entry.copies += change;
    total_ += change;
    if (redisbloom_hash) entry.redisbloom_hash = redisbloom_hash;
    if (entry.copies == 0) entries_.erase(place);
  }
  /// If there is no entry, makes one with n = 0, so that the next add for this hash cannot fail;
  /// drop_prepared must follow. Throws std::bad_alloc.
  void prepare(std::uint64_t hash) { entries_.try_emplace(hash); }
  void drop_prepared(std::uint64_t hash) noexcept {
    const auto entry = entries_.find(hash);
    if (entry != entries_.end() && entry->second.copies == 0) entries_.erase(entry);
  }
  /// Sets n, which is not 0, and the other hash. Throws std::bad_alloc.
  void set(std::uint64_t hash, const Entry& entry) {
    const std::int64_t change = entry.copies - copies(hash);
    entries_.insert_or_assign(hash, entry);
    total_ += change;
  }
  void clear() noexcept {
    entries_.clear();
    total_ = 0;
    cursor_ = 0;
  }

  /// The entry whose turn is next, entries().end() when empty; moves the cursor past it.
  Entries::const_iterator next() noexcept {
    if (entries_.empty()) return entries_.end();
    auto entry = entries_.lower_bound(cursor_);
    if (entry == entries_.end()) entry = entries_.begin();
    cursor_ = entry->first + 1;  // after the highest hash this is 0, the first
    return entry;
  }
  [[nodiscard]] std::uint64_t cursor() const noexcept { return cursor_; }
  void set_cursor(std::uint64_t cursor) noexcept { cursor_ = cursor; }

  [[nodiscard]] const Entries& entries() const noexcept { return entries_; }
  /// An estimate: the size of a node of the tree times the number of entries.
  [[nodiscard]] std::size_t memory_bytes() const noexcept {
    // A tree node has three pointers and a colour before its entry.
    return entries_.size() * (4 * sizeof(void*) + sizeof(Entries::value_type));
  }

 private:
  Entries entries_;
  std::int64_t total_ = 0;
  std::uint64_t cursor_ = 0;  // the next turn begins at the first hash that is not below this
};

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_VALUE_LEDGER_H_
