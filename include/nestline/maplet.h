// A cuckoo filter that carries a value with each key: a place in a log, or which of many segments
// (sorted runs, files, shards) has the key.
//
// A lookup of a key returns all its values, and seldom a value of another key. So the caller
// checks each candidate where the value points, and a key that is not there costs one line of
// memory and seldom one check for nothing.
//
//   nestline::Maplet places({.capacity = 1'000'000});
//   if (!places.insert("user:17", offset)) { ... there is no room ... }
//   std::array<std::uint64_t, nestline::Maplet::kMaxCandidates> values;
//   const std::size_t count = places.find("user:17", values);
//   for (std::uint64_t value : std::span(values).first(count)) { ... is it that key? ... }
//
//   nestline::Maplet runs({.capacity = 1'000'000, .value_bits = 4});  // one of up to 15 runs
//   for (auto set = runs.find_set("user:17"); set != 0; set &= set - 1) {
//     ... look into run std::countr_zero(set) ...
//   }
//
// Bits a key at 95 % load, and false candidates of an absent key:
//
//   value_bits   fingerprint   bits a key   false candidates
//            4             8         13.5             1.7 %
//            4            12         18.0            0.13 %
//            8             8         18.0             2.1 %
//            8            12         22.5            0.12 %
//           16            16         35.9           0.009 %
//           40            20         67.4          0.0009 %
#ifndef NESTLINE_MAPLET_H_
#define NESTLINE_MAPLET_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nestline/export.h"
#include "nestline/filter.h"
#include "nestline/internal/memory_resource.h"
#include "nestline/internal/owned_state.h"
#include "nestline/io.h"
#include "nestline/keys.h"

#pragma push_macro("slots")  // Qt's, which is empty
#undef slots

namespace nestline { inline namespace v0_3 {

/// What a new Maplet should be able to hold.
struct MapletOptions {
  std::uint64_t capacity = 0;  ///< How many pairs must find room. At least 1.
  /// How far the maplet grows by itself, by doubling; up to `capacity`: not at all. Each doubling
  /// costs one bit of each fingerprint and doubles the false candidates; 4 bits must remain.
  std::uint64_t max_capacity = 0;
  std::uint64_t seed = 0;                       ///< Seed of the hash, as Options::seed.
  std::pmr::memory_resource* memory = nullptr;  ///< Where the blocks come from, as Options::memory.
  /// Bits of a value: 4, 8, 16 or 40.
  int value_bits = 40;
  /// The most false candidates of an absent key at max_capacity, on average: chooses among the
  /// fingerprints that there are for value_bits, or a lower load. 0: the least memory.
  double fpr = 0;
  /// Whether it begins with the doublings from capacity to max_capacity, to be folded by `fit`.
  bool may_fold = false;
};

/// A multiset of (key, value) pairs.
///
/// Thread safety: as ConcurrentFilter's, with its promises about order, progress, threads and
/// memory, signals, cancellation, fork() and calls inside a section: insert, find, replace and
/// erase are each linearizable. Batches of inserts, grow, shrink, fit, erase_value, rename, merge,
/// for_each, save, snapshot and snapshot_into throw std::logic_error inside a section, and change
/// nothing.
///
/// Speed: find reads one block of 64 bytes, or two for the share of keys that a full maplet keeps
/// elsewhere: of values of 40 bits 0.09, 0.14 and 0.22 of the absent keys at 85, 90 and 95 % load.
class NESTLINE_EXPORT Maplet {
 public:
  struct State;  // private to the library

  /// The highest value of 40 bits. That of this maplet: max_value().
  static constexpr std::uint64_t kMaxValue = (std::uint64_t{1} << 40) - 1;
  /// In a table for rename: pairs with this value are erased.
  static constexpr std::uint64_t kErased = ~std::uint64_t{0};
  /// The most values that a lookup returns, and the most pairs of keys that look the same.
  static constexpr std::size_t kMaxCandidates = 16;
  /// Empty. Throws std::invalid_argument for a capacity of 0 or above 2^40 blocks, for value_bits
  /// that there are not, and for an fpr that they cannot have; std::bad_alloc.
  explicit Maplet(const MapletOptions& options);
  /// A maplet of the pairs (keys[i], values[i]), in less time than by inserts one by one; values of
  /// up to 16 bits take some 3 bytes a pair beside it for a while. Doubles first if
  /// options.max_capacity allows it and there are more than options.capacity. Throws as the
  /// constructor and as the batch insert; std::length_error when a pair finds no room, unless
  /// `outcomes` is given.
  [[nodiscard]] static Maplet build(const MapletOptions& options, KeySpan keys,
                                    std::span<const std::uint64_t> values,
                                    std::span<Outcome> outcomes = {});
  Maplet(Maplet&& other) noexcept;
  Maplet& operator=(Maplet&& other) noexcept;
  ~Maplet();
  /// As Filter's.
  static Maplet load(const Input& from, std::pmr::memory_resource* memory = nullptr);

  /// Adds a pair, as often as it is inserted. `full`: there is no room, and the maplet can or may
  /// not grow; `too_many_copies`: there are as many pairs of keys that look like this one as there
  /// can be (max_copies()). The pair was not added then. Expected O(1), and a pass over the memory
  /// when the maplet grows. Throws std::invalid_argument for a value above max_value().
  ///
  /// Where there is no room, or there are too many pairs, insert(key, anywhere()) gives one of the
  /// key's pairs that value instead, if there is one: the outcome is `stored`, size() stays. That
  /// pair's own value is then part of `anywhere`, and cannot be erased or replaced any more.
  [[nodiscard]] NESTLINE_HERE Inserted insert(Key key, std::uint64_t value) {
    return insert_one(hash_of_(key), value);
  }

  /// Puts the candidates for `key`, all its values and seldom another, to the front of `values`,
  /// and returns how many there are. O(1).
  NESTLINE_HERE std::size_t find(Key key,
                                 std::span<std::uint64_t, kMaxCandidates> values) const noexcept {
    return find_one(hash_of_(key), values);
  }
  /// The candidates as a set: bit v for value v, and the bits of `anywhere` for a candidate that is
  /// anywhere() or 64 or more. With the default 0 only for a key without a pair. O(1).
  [[nodiscard]] NESTLINE_HERE std::uint64_t find_set(Key key,
                                                     std::uint64_t anywhere = ~std::uint64_t{
                                                         0}) const noexcept {
    return find_set_one(hash_of_(key), anywhere);
  }
  /// Gives one pair (key, old_value) the new value, at one instant; false if there is none. O(1).
  /// Throws std::invalid_argument for a new value above max_value(). Only for pairs that were
  /// inserted, as erase.
  NESTLINE_HERE bool replace(Key key, std::uint64_t old_value, std::uint64_t new_value) {
    return replace_one(hash_of_(key), old_value, new_value);
  }
  /// Removes one pair (key, value); false if there is none. O(1). Erase only pairs that were
  /// inserted: the pair of another key that looks the same would be removed. So do not erase by
  /// trying values: beside a rename, know which of the two values the pair has.
  NESTLINE_HERE bool erase(Key key, std::uint64_t value) noexcept {
    return erase_one(hash_of_(key), value);
  }
  /// As Filter's.
  [[nodiscard]] NESTLINE_HERE Hash prepare(Key key) const noexcept {
    const Hash hash = hash_of_(key);
    fetch(hash);
    return hash;
  }
  /// The candidates of many keys: those of key i are values[first[i]] up to, not with,
  /// values[first[i + 1]]; first gets an entry more than there are keys. Both vectors are
  /// overwritten, and grow as they need. Returns how many there are in all. Throws std::bad_alloc.
  std::size_t find(KeySpan keys, std::vector<std::uint32_t>& first,
                   std::vector<std::uint64_t>& values) const;
  /// sets[i] becomes find_set of key i. Throws std::invalid_argument when the lengths differ.
  void find_sets(KeySpan keys, std::span<std::uint64_t> sets,
                 std::uint64_t anywhere = ~std::uint64_t{0}) const;
  /// Adds the pairs (keys[i], values[i]) in this order; returns how many were added. Throws
  /// std::invalid_argument, before anything is added, when the lengths differ or a value is above
  /// max_value().
  [[nodiscard]] std::size_t insert(KeySpan keys, std::span<const std::uint64_t> values,
                                   std::span<Outcome> outcomes = {});

  // All pairs with a value, without their keys: one pass over the memory. Lookups go on meanwhile
  // and see each pair before or after; changes wait. Inside a section they throw std::logic_error,
  // and change nothing.

  /// Erases all pairs with this value; returns how many there were.
  std::uint64_t erase_value(std::uint64_t value);
  /// Gives each pair with a value v below table.size() the value table[v], or erases it where that
  /// is kErased; returns how many pairs have changed. Several values may become one. Throws
  /// std::invalid_argument, before anything is changed, for a table of more than max_value() + 1
  /// entries, or one with another entry above max_value().
  std::uint64_t rename(std::span<const std::uint64_t> table);
  /// Adds all pairs of `other`, which must be like this one: of the same value_bits, fingerprints,
  /// seed and number of blocks before any doubling; it may be this one. The one that has grown more
  /// often is folded first, if the keys of both have room then. Each of the two as of one instant.
  /// Throws as Filter::merge, and std::logic_error inside a section; this maplet is then unchanged.
  void merge(const Maplet& other);
  /// As Filter's.
  bool can_merge(const Maplet& other, std::string* why = nullptr) const;

  [[nodiscard]] int value_bits() const noexcept;           ///< 4, 8, 16 or 40.
  [[nodiscard]] int bits() const noexcept;                 ///< Fingerprint width: 8, 12, 16 or 20.
  [[nodiscard]] std::uint64_t max_value() const noexcept;  ///< 2^value_bits - 1.
  /// The value that means all segments: max_value(), which then stands for no segment. For the
  /// caller to use or not; of 40 bits it is a value as all others.
  [[nodiscard]] std::uint64_t anywhere() const noexcept;
  /// The most pairs of keys that look the same: 8, 10 or 16.
  [[nodiscard]] std::size_t max_copies() const noexcept;
  /// Pairs in the maplet; exact while nobody changes it.
  [[nodiscard]] std::uint64_t size() const noexcept;
  /// Pairs that find room in all but one of a million maplets.
  [[nodiscard]] std::uint64_t capacity() const noexcept;
  [[nodiscard]] std::uint64_t max_capacity() const noexcept;
  [[nodiscard]] std::uint64_t slots() const noexcept;
  [[nodiscard]] double load_factor() const noexcept;
  /// How many false candidates a lookup of an absent key returns on average now.
  [[nodiscard]] double expected_false_candidates() const noexcept;
  [[nodiscard]] std::uint64_t seed() const noexcept;
  [[nodiscard]] std::size_t memory_bytes() const noexcept;  ///< Bytes of the blocks.
  [[nodiscard]] unsigned growth() const noexcept;  ///< Doublings so far, and how many are left.
  [[nodiscard]] unsigned growth_left() const noexcept;
  /// Doubles the slots and the capacity, without the keys. False if no doubling is left. Lookups
  /// go on meanwhile, changes wait. Throws std::bad_alloc, and std::logic_error inside a section;
  /// the maplet is then unchanged.
  bool grow();
  /// As Filter's: undoes one doubling, or as many as its pairs allow. Otherwise as grow.
  bool shrink();
  [[nodiscard]] bool can_shrink() const noexcept;
  unsigned fit();
  /// Calls with(value) for each pair of a copy, in no particular order; `with` may do anything.
  /// Throws std::bad_alloc, std::logic_error inside a section, and what `with` throws.
  void for_each(const std::function<void(std::uint64_t value)>& with) const;
  /// A copy as of one instant. Changes wait while it is copied, not while memory is made ready for
  /// it. Throws std::bad_alloc, and std::logic_error inside a section.
  [[nodiscard]] Maplet snapshot() const;

  /// The same in two steps, for a caller that copies while it holds a lock: an empty maplet with as
  /// many slots and memory that is ready to be written, and the copy into it, which allocates
  /// nothing. The copy is refused, and `ready` stays as it is, when this maplet has grown between
  /// the two: begin again. `ready` must be another maplet, used by no other thread; one that was
  /// copied into before may serve again. ready_for_snapshot throws std::bad_alloc, snapshot_into
  /// std::logic_error inside a section.
  [[nodiscard]] Maplet ready_for_snapshot() const;
  [[nodiscard]] bool snapshot_into(Maplet& ready) const;

 private:
  friend struct MapletAccess;
  // A template, so that {} is not taken for a pointer.
  template <internal::OwnerOf<State> Owner>
  explicit Maplet(Owner state) noexcept : state_(std::move(state)), hash_of_(hasher(*state_)) {}

  Inserted insert_one(Hash key, std::uint64_t value);
  std::size_t find_one(Hash key, std::span<std::uint64_t, kMaxCandidates> values) const noexcept;
  [[nodiscard]] std::uint64_t find_set_one(Hash key, std::uint64_t anywhere) const noexcept;
  void fetch(Hash key) const noexcept;
  bool replace_one(Hash key, std::uint64_t old_value, std::uint64_t new_value);
  bool erase_one(Hash key, std::uint64_t value) noexcept;
  static internal::KeyHasher hasher(const State& state) noexcept;
  internal::OwnedState<State> state_;
  internal::KeyHasher hash_of_;
};

/// Saves a snapshot, which needs memory. Throws as ConcurrentFilter's.
NESTLINE_EXPORT void save(const Maplet& maplet, const Output& to);
/// The same for a maplet that no other thread uses, such as a snapshot: without a copy.
NESTLINE_EXPORT void save(Maplet&& maplet, const Output& to);

/// A maplet's mapped file, or a maplet in bytes of somebody else. Opening and checks are those of
/// MappedFilter; a damaged section is a FormatError for each lookup that needs it.
///
/// Thread safety: as const members of a Maplet.
class NESTLINE_EXPORT MappedMaplet {
 public:
  // As MappedFilter's.
  static MappedMaplet open(const std::filesystem::path& path, Verify verify = Verify::lazily);
  static MappedMaplet view(std::span<const std::byte> bytes, Verify verify = Verify::lazily);
  MappedMaplet(MappedMaplet&& other) noexcept;
  MappedMaplet& operator=(MappedMaplet&& other) noexcept;
  ~MappedMaplet();
  void verify() const;
  [[nodiscard]] std::optional<FormatError> damage() const;
  /// As Maplet's. Throws FormatError when a section that it needs is damaged.
  NESTLINE_HERE std::size_t find(Key key,
                                 std::span<std::uint64_t, Maplet::kMaxCandidates> values) const {
    return find_one(hash_of_(key), values);
  }
  std::size_t find(KeySpan keys, std::vector<std::uint32_t>& first,
                   std::vector<std::uint64_t>& values) const;
  [[nodiscard]] NESTLINE_HERE std::uint64_t find_set(Key key,
                                                     std::uint64_t anywhere = ~std::uint64_t{
                                                         0}) const {
    return find_set_one(hash_of_(key), anywhere);
  }
  void find_sets(KeySpan keys, std::span<std::uint64_t> sets,
                 std::uint64_t anywhere = ~std::uint64_t{0}) const;
  [[nodiscard]] int value_bits() const noexcept;
  [[nodiscard]] int bits() const noexcept;
  [[nodiscard]] std::uint64_t max_value() const noexcept;
  [[nodiscard]] std::uint64_t anywhere() const noexcept;
  [[nodiscard]] std::size_t max_copies() const noexcept;
  [[nodiscard]] std::uint64_t size() const noexcept;
  [[nodiscard]] std::uint64_t capacity() const noexcept;
  [[nodiscard]] std::uint64_t seed() const noexcept;
  [[nodiscard]] std::size_t memory_bytes() const noexcept;

 private:
  struct State;
  explicit MappedMaplet(internal::OwnedState<State> state) noexcept;
  std::size_t find_one(Hash key, std::span<std::uint64_t, Maplet::kMaxCandidates> values) const;
  [[nodiscard]] std::uint64_t find_set_one(Hash key, std::uint64_t anywhere) const;
  internal::OwnedState<State> state_;
  internal::KeyHasher hash_of_;
};

}}  // namespace nestline

#pragma pop_macro("slots")

#endif  // NESTLINE_MAPLET_H_
