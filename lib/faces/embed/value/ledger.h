// Corrections to the counts of a value's filters, by the hash of the item.
//
//   n > 0   n copies of the item are not in any slot: copies took all slots that it may use, or so
//           many that a search for another one was spared (value_change.cc).
//   n < 0   -n copies that slots show were erased, but are still in slots: more than one filter
//           showed a match, and the wrong one would have been another item's fingerprint. A filter
//           here is a family of sub_filters (sub_filter_list.h), or all tables of RedisBloom.
//
// So an item has as many copies as slots show, plus n. An entry of n < 0 is settled (the
// fingerprints are removed) as soon as it is known which filter they are in: if all but one
// together show fewer than -n copies, the rest are in that one. Erasing others brings that about,
// so entries are looked at again in turn, from the cursor on, by hash: the same everywhere.
//
// For speed alone, in no image: tallies, which show that most hashes have no entry; the next place.
#ifndef NESTLINE_LIB_FACES_EMBED_VALUE_LEDGER_H_
#define NESTLINE_LIB_FACES_EMBED_VALUE_LEDGER_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory_resource>
#include <new>
#include <optional>
#include <vector>

namespace nestline { inline namespace v0_3 { namespace redis {

/// How many entries have hashes with the same low bits: one look shows that most hashes have none.
class Tallies {
 public:
  [[nodiscard]] bool has_none(std::uint64_t hash) const noexcept {
    return !pairs_.empty() && get(hash) == 0;
  }
  /// Counts the hash of the newest of these entries.
  template <class Entries>
  void add(std::uint64_t hash, const Entries& entries) noexcept {
    if (entries.size() * kForEntry <= 2 * pairs_.size() || pairs_.size() == kMaxPairs) {
      raise(hash);
    } else {
      spread(entries);
    }
  }
  void remove(std::uint64_t hash) noexcept {
    if (!pairs_.empty() && get(hash) != kFull) change(hash, -1);
  }
  void clear() noexcept { pairs_.clear(); }
  [[nodiscard]] std::size_t memory_bytes() const noexcept { return pairs_.capacity(); }

 private:
  static constexpr unsigned kFull = 15;         // or more: it is not lowered any more
  static constexpr std::size_t kForEntry = 16;  // tallies, at least, as long as there may be more
  // So that spread() takes a few milliseconds at the most.
  static constexpr std::size_t kMaxPairs = std::size_t{1} << 20;

  [[nodiscard]] std::size_t index_of(std::uint64_t hash) const noexcept {
    return hash / 2 & (pairs_.size() - 1);
  }
  static unsigned shift_of(std::uint64_t hash) noexcept { return hash % 2 * 4; }
  [[nodiscard]] unsigned get(std::uint64_t hash) const noexcept {
    return pairs_[index_of(hash)] >> shift_of(hash) & kFull;
  }
  void raise(std::uint64_t hash) noexcept {
    if (get(hash) != kFull) change(hash, 1);
  }
  void change(std::uint64_t hash, int by) noexcept {
    std::uint8_t& pair = pairs_[index_of(hash)];
    pair = static_cast<std::uint8_t>(pair + by * (1 << shift_of(hash)));
  }
  // Over more tallies. Without memory for them there are none, and every hash may have an entry.
  template <class Entries>
  [[gnu::noinline]] void spread(const Entries& entries) noexcept {
    pairs_.clear();
    try {
      pairs_.resize(std::min(kMaxPairs, std::bit_ceil(kForEntry * entries.size())));
    } catch (const std::bad_alloc&) {
      return;
    }
    for (const auto& [hash, entry] : entries) raise(hash);
  }

  std::vector<std::uint8_t> pairs_;  // of tallies; a power of two, or none
};

/// See the head of this file. O(log entries) unless said otherwise.
class Ledger {
 public:
  struct Entry {
    std::int64_t copies = 0;       ///< n; not 0 but for prepare.
    std::uint64_t redisbloom = 0;  ///< See redisbloom_hash.
    bool has_redisbloom = false;
    /// Two sub_filters that showed the item at the last look: a hint, in no image.
    mutable std::array<std::uint8_t, 2> seen_in = {};

    /// The item's MurmurHash64A; none if its copies cannot be in RedisBloom's tables.
    [[nodiscard]] std::optional<std::uint64_t> redisbloom_hash() const noexcept {
      return has_redisbloom ? std::optional(redisbloom) : std::nullopt;
    }
    void set_redisbloom_hash(std::uint64_t hash) noexcept {
      redisbloom = hash;
      has_redisbloom = true;
    }
  };
  static_assert(sizeof(Entry) == 24);
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
    if (entries_.empty() || tallies_.has_none(hash)) return 0;
    return find_copies(hash);
  }
  [[nodiscard]] std::int64_t total() const noexcept { return total_; }  ///< The sum of all n. O(1).
  /// Adds `change` to the hash's n, and the other hash. Throws std::bad_alloc for a new entry only.
  [[gnu::noinline]] void add(std::uint64_t hash, std::int64_t change,
                             std::optional<std::uint64_t> redisbloom_hash = std::nullopt) {
    const auto place = put(hash);
    Entry& entry = place->second;
    entry.copies += change;
    total_ += change;
    if (redisbloom_hash) entry.set_redisbloom_hash(*redisbloom_hash);
    if (entry.copies == 0) drop(place);
  }
  /// Makes an entry with n = 0 if there is none, so that the next add cannot fail; drop_prepared
  /// must follow. Throws std::bad_alloc.
  void prepare(std::uint64_t hash) { put(hash); }
  void drop_prepared(std::uint64_t hash) noexcept {
    const auto entry = entries_.find(hash);
    if (entry != entries_.end() && entry->second.copies == 0) drop(entry);
  }
  /// Sets n, which is not 0, and the other hash. Throws std::bad_alloc.
  void set(std::uint64_t hash, const Entry& entry) {
    Entry& present = put(hash)->second;
    total_ += entry.copies - present.copies;
    present = entry;
  }
  void clear() noexcept {
    entries_.clear();
    tallies_.clear();
    total_ = 0;
    set_cursor(0);
  }

  /// The entry whose turn is next, entries().end() when empty; moves the cursor past it.
  Entries::const_iterator next() noexcept {
    if (!next_.is_known) next_.set(entries_.lower_bound(cursor_));
    const auto entry = next_.place == entries_.end() ? entries_.begin() : next_.place;
    if (entry == entries_.end()) return entry;
    cursor_ = entry->first + 1;  // after the highest hash this is 0, the first
    next_.set(cursor_ == 0 ? entries_.begin() : std::next(entry));
    return entry;
  }
  [[nodiscard]] std::uint64_t cursor() const noexcept { return cursor_; }
  void set_cursor(std::uint64_t cursor) noexcept {
    cursor_ = cursor;
    next_.is_known = false;
  }

  [[nodiscard]] const Entries& entries() const noexcept { return entries_; }
  /// An estimate: the size of a node of the tree times the number of entries.
  [[nodiscard]] std::size_t memory_bytes() const noexcept {
    // A tree node has three pointers and a colour before its entry.
    return entries_.size() * (4 * sizeof(void*) + sizeof(Entries::value_type)) +
           tallies_.memory_bytes();
  }

 private:
  // The first entry from the cursor on. Not known in copies, which have entries of their own.
  struct Next {
    Next() = default;
    Next(const Next&) noexcept {}
    Next& operator=(const Next&) noexcept {
      is_known = false;
      return *this;
    }
    ~Next() = default;
    void set(Entries::iterator entry) noexcept {
      place = entry;
      is_known = true;
    }
    Entries::iterator place;
    bool is_known = false;
  };

  [[gnu::noinline]] [[nodiscard]] std::int64_t find_copies(std::uint64_t hash) const noexcept {
    const auto entry = entries_.find(hash);
    return entry == entries_.end() ? 0 : entry->second.copies;
  }
  // The entry of this hash, which may be a new one. Throws std::bad_alloc.
  Entries::iterator put(std::uint64_t hash) {
    const auto [place, is_new] = entries_.try_emplace(hash);
    if (!is_new) return place;
    tallies_.add(hash, entries_);
    if (next_.is_known && hash >= cursor_ &&
        (next_.place == entries_.end() || hash < next_.place->first)) {
      next_.place = place;
    }
    return place;
  }
  void drop(Entries::iterator place) noexcept {
    if (next_.is_known && next_.place == place) ++next_.place;
    tallies_.remove(place->first);
    entries_.erase(place);
    if (entries_.empty()) set_cursor(0);  // as in every copy, also of a value saved without it
  }

  Entries entries_;
  Tallies tallies_;
  std::int64_t total_ = 0;
  std::uint64_t cursor_ = 0;  // the next turn begins at the first hash that is not below this
  Next next_;
};

}}}  // namespace nestline::redis

#endif  // NESTLINE_LIB_FACES_EMBED_VALUE_LEDGER_H_
