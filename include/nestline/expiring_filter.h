// The filter whose keys expire, for many threads: "was this key seen in the last ten minutes?"
//
//   nestline::ExpiringFilter seen({.capacity = 1'000'000, .fpr = 0.001});
//   nestline::ExpiringClock clock(seen, std::chrono::minutes(10));
//   clock.catch_up();                       // now and then, from any thread
//   if (seen.insert("message 17")) { ... it is new: not seen for ten minutes ... }
//
// Time is a number of ticks that the program moves on, by advance() or by an ExpiringClock. Each
// key lives for the rest of the present tick and 1 to 14 whole ones, and inserting it again renews
// its life. From the moment it dies no thread finds it; its slot is emptied soon after.
//
// The one promise: a key whose insert returned stored or present is found as long as it lives.
//
// What it does not do: erase, count or grow. A key may share its slot with another one that looks
// the same and renewed it, so erasing one could lose the other; Filter and ConcurrentFilter erase.
#ifndef NESTLINE_EXPIRING_FILTER_H_
#define NESTLINE_EXPIRING_FILTER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "nestline/concurrent_filter.h"
#include "nestline/export.h"
#include "nestline/filter.h"
#include "nestline/internal/answers.h"
#include "nestline/internal/home.h"
#include "nestline/internal/memory_resource.h"
#include "nestline/internal/owned_state.h"
#include "nestline/internal/renamed.h"
#include "nestline/io.h"
#include "nestline/keys.h"

#pragma push_macro("slots")  // Qt's, which is empty
#undef slots

namespace nestline { inline namespace v0_3 {

/// What an ExpiringFilter is made for.
struct ExpiringOptions {
  /// Keys alive at once, of a whole life and one tick. Required, at least 1.
  std::uint64_t capacity = 0;
  /// Wanted false-positive rate at `capacity`, above 0 and below 1. 0 with `bits` 0: 0.02. 0 with
  /// `bits` given: what that width has at `load`.
  double fpr = 0;
  /// Fingerprint width, 8 or 12 bits; 0: the width that meets `fpr`. With 4 bits of life beside
  /// each fingerprint, and their marks, that is 16.3 and 21.7 bits a key at a load of 0.8.
  int bits = 0;
  /// Ticks that a key lives at least, its time to live, 1 to 14. More ticks cost nothing and make
  /// the end of a life more exact: a key lives between `ttl_ticks` and `ttl_ticks + 1` ticks.
  unsigned ttl_ticks = 14;
  internal::Renamed<unsigned> life =
      {};  ///< Deprecated: ttl_ticks, in version 0.2. It counts if given.
  /// How full the filter is at its capacity, 0.5 to 0.95. At 0.9 it takes an eighth less memory,
  /// and inserts of new keys take twice the time.
  double load = 0.8;
  std::uint64_t seed = 0;  ///< Seeds the hash, as Options::seed.
  /// Where the memory comes from, as Options::memory.
  std::pmr::memory_resource* memory = nullptr;
};

/// A set of keys that forgets each of them after its life.
///
/// A key that is inserted at tick t with n ticks to live is found until now() is t + n + 1; a later
/// insert of it can only put that off. An absent key is found with the probability expected_fpr().
/// Such a false positive of insert renews the key that looks the same.
///
/// Thread safety: as ConcurrentFilter's, with its promises about threads and memory, signals,
/// cancellation, fork() and calls inside a section: insert and sweep end the program where they
/// would have to wait.
///
/// Order: each insert, may_contain, remaining_ticks and advance(1) is linearizable. A batch is many
/// single operations. clear, and an advance by more than 14 ticks, which empties the filter, are
/// not at one instant: lookups meanwhile find some keys and miss others.
///
/// Progress: lookups take no lock unless writers keep changing the blocks that they read. Inserts
/// never wait for a sweep or for advance().
///
/// Complexity: single operations are O(1) and read one cache line, or two (for 0.05 of the absent
/// keys at a load of 0.8, 0.15 at 0.9). Only the constructor, snapshot and the functions for files
/// allocate.
class NESTLINE_EXPORT ExpiringFilter {
 public:
  struct State;  // private to the library

  static constexpr unsigned kMaxTtlTicks = 14;  ///< The longest time to live, in ticks.
  [[deprecated("kMaxTtlTicks")]] static constexpr unsigned kMaxLife = kMaxTtlTicks;
  /// An empty filter at tick 0. Throws as Filter's constructor does.
  explicit ExpiringFilter(const ExpiringOptions& options);
  ExpiringFilter(ExpiringFilter&& other) noexcept;
  ExpiringFilter& operator=(ExpiringFilter&& other) noexcept;
  ~ExpiringFilter();
  /// As Filter's. The filter is at the tick at which it was saved.
  static ExpiringFilter load(const Input& from, std::pmr::memory_resource* memory = nullptr);
  /// As ConcurrentFilter's, with the same tick. Writers wait while it is copied. O(memory).
  [[nodiscard]] ExpiringFilter snapshot() const;

  /// Makes the key live for the rest of this tick and the filter's ttl_ticks() more, or `ttl_ticks`
  /// more, 1 to ttl_ticks() (else the nearest of these). `stored`: it was not there. `present`: it
  /// was, and dies at the later one of its two deaths. `full`: no room; nothing changed for any
  /// key. Of several threads with one new key, one gets `stored`.
  [[nodiscard]] NESTLINE_HERE Inserted insert(Key key) noexcept {
    return insert_one(hash_of_(key), kMaxTtlTicks);
  }
  [[nodiscard]] NESTLINE_HERE Inserted insert(Key key, unsigned ttl_ticks) noexcept {
    return insert_one(hash_of_(key), ttl_ticks);
  }

  /// Whether the key may be there and alive.
  [[nodiscard]] NESTLINE_HERE bool may_contain(Key key) const noexcept {
    return may_contain_one(hash_of_(key));
  }
  /// Many lookups by this thread: see ConcurrentReader. While one lives, its thread must not insert
  /// or sweep, and advance() throws.
  [[nodiscard]] ConcurrentReader reader() const noexcept;
  /// For how many more ticks it lives at least: it is still found when now() has moved on by so
  /// many. 0: it is not there, or this is its last tick.
  [[nodiscard]] NESTLINE_HERE unsigned remaining_ticks(Key key) const noexcept {
    return remaining_ticks_one(hash_of_(key));
  }
  /// The same for every key: ticks[i] for key i. Throws std::invalid_argument when the lengths
  /// differ.
  void remaining_ticks(KeySpan keys, std::span<std::uint8_t> ticks) const;
  [[deprecated("remaining_ticks")]] [[nodiscard]] NESTLINE_HERE unsigned left(
      Key key) const noexcept {
    return remaining_ticks(key);
  }
  [[deprecated("remaining_ticks")]] NESTLINE_HERE void left(KeySpan keys,
                                                            std::span<std::uint8_t> ticks) const {
    remaining_ticks(keys, ticks);
  }
  /// As Filter's.
  [[nodiscard]] NESTLINE_HERE Hash prepare(Key key) const noexcept {
    const Hash hash = hash_of_(key);
    fetch(hash);
    return hash;
  }

  /// As ConcurrentFilter's, for ttl_ticks() or `ttl_ticks` ticks.
  [[nodiscard]] NESTLINE_HERE std::size_t insert(KeySpan keys, std::span<Outcome> outcomes = {}) {
    return insert_all(keys, kMaxTtlTicks, outcomes);
  }
  [[nodiscard]] NESTLINE_HERE std::size_t insert(KeySpan keys, unsigned ttl_ticks,
                                                 std::span<Outcome> outcomes = {}) {
    return insert_all(keys, ttl_ticks, outcomes);
  }

  // Batches of lookups, as Filter's.
  NESTLINE_HERE std::size_t may_contain(KeySpan keys, std::span<std::uint8_t> out) const {
    return look_up(keys, {out});
  }
  NESTLINE_HERE std::size_t may_contain_bits(KeySpan keys, std::span<std::uint64_t> bitmap) const {
    return look_up(keys, {bitmap});
  }
  NESTLINE_HERE std::size_t select(KeySpan keys, std::span<std::uint32_t> positions) const {
    return look_up(keys, {positions});
  }
  NESTLINE_HERE std::size_t select(KeySpan keys, std::span<const std::uint32_t> selection,
                                   std::span<std::uint32_t> positions) const {
    return look_up(keys, {positions, selection});
  }

  /// Moves time on. First finishes the sweep of the present tick, if inserts and sweep() have not:
  /// one pass over the memory for each tick. Threads that advance take turns. More than 14 ticks at
  /// once empty the filter, and writers wait. Throws std::logic_error inside a section.
  void advance(std::uint64_t ticks = 1);
  /// Sweeps about so many blocks of 64 bytes in the present tick, for a program that must not stop
  /// for long in advance(). True: nothing is left to sweep, and advance() will return at once.
  bool sweep(std::size_t blocks) noexcept;
  /// The tick, from 0 on; 2^64 - 1 is followed by 0.
  [[nodiscard]] std::uint64_t now() const noexcept;
  /// Slots in use, by dead keys that were not swept yet too; exact while no writer runs.
  [[nodiscard]] std::uint64_t size() const noexcept;
  /// Removes all; time stays. Writers wait. O(memory). Throws std::logic_error inside a section.
  void clear();
  [[nodiscard]] std::uint64_t capacity() const noexcept;  ///< Keys that may be alive at once.
  [[nodiscard]] unsigned ttl_ticks() const noexcept;      ///< Ticks that insert gives a key.
  [[deprecated("ttl_ticks")]] [[nodiscard]] NESTLINE_HERE unsigned life() const noexcept {
    return ttl_ticks();
  }
  [[nodiscard]] int bits() const noexcept;  ///< Fingerprint width: 8 or 12.
  [[nodiscard]] std::uint64_t slots() const noexcept;
  [[nodiscard]] double load_factor() const noexcept;
  /// The false-positive rate at the present size.
  [[nodiscard]] double expected_fpr() const noexcept;
  [[nodiscard]] std::uint64_t seed() const noexcept;
  /// Bytes of the blocks, and of one more byte for each.
  [[nodiscard]] std::size_t memory_bytes() const noexcept;

 private:
  friend struct ExpiringAccess;  // lib/filters/expiring/expiring_state.h
  friend class ConcurrentReader;
  // A template, so that {} is not taken for a pointer.
  template <internal::OwnerOf<State> Owner>
  explicit ExpiringFilter(Owner state) noexcept
      : state_(std::move(state)), hash_of_(hasher(*state_)) {}

  Inserted insert_one(Hash key, unsigned ttl_ticks) noexcept;
  [[nodiscard]] bool may_contain_one(Hash key) const noexcept;
  void fetch(Hash key) const noexcept;
  [[nodiscard]] unsigned remaining_ticks_one(Hash key) const noexcept;
  std::size_t insert_all(KeySpan keys, unsigned ttl_ticks, std::span<Outcome> outcomes);
  std::size_t look_up(KeySpan keys, const internal::Answers& answers) const;
  static internal::KeyHasher hasher(const State& state) noexcept;
  internal::OwnedState<State> state_;
  internal::KeyHasher hash_of_;
};

/// Saves a snapshot, with the tick in it. Throws as save of a ConcurrentFilter does.
NESTLINE_EXPORT void save(const ExpiringFilter& filter, const Output& to);

/// An expiring filter's file, mapped read-only, at the tick at which it was saved, or one in bytes
/// of somebody else. Opening, checks and damaged sections are those of MappedFilter.
///
/// Thread safety: const members are for any number of threads.
class NESTLINE_EXPORT MappedExpiringFilter {
 public:
  // As MappedFilter's.
  static MappedExpiringFilter open(const std::filesystem::path& path,
                                   Verify verify = Verify::lazily);
  static MappedExpiringFilter view(std::span<const std::byte> bytes,
                                   Verify verify = Verify::lazily);
  MappedExpiringFilter(MappedExpiringFilter&& other) noexcept;
  MappedExpiringFilter& operator=(MappedExpiringFilter&& other) noexcept;
  ~MappedExpiringFilter();
  void verify() const;
  [[nodiscard]] std::optional<FormatError> damage() const;
  // As ExpiringFilter's.
  [[nodiscard]] NESTLINE_HERE bool may_contain(Key key) const noexcept {
    return may_contain_one(hash_of_(key));
  }
  NESTLINE_HERE std::size_t may_contain(KeySpan keys, std::span<std::uint8_t> out) const {
    return look_up(keys, {out});
  }
  NESTLINE_HERE std::size_t may_contain_bits(KeySpan keys, std::span<std::uint64_t> bitmap) const {
    return look_up(keys, {bitmap});
  }
  NESTLINE_HERE std::size_t select(KeySpan keys, std::span<std::uint32_t> positions) const {
    return look_up(keys, {positions});
  }
  NESTLINE_HERE std::size_t select(KeySpan keys, std::span<const std::uint32_t> selection,
                                   std::span<std::uint32_t> positions) const {
    return look_up(keys, {positions, selection});
  }
  [[nodiscard]] NESTLINE_HERE Hash prepare(Key key) const noexcept {
    const Hash hash = hash_of_(key);
    fetch(hash);
    return hash;
  }
  /// As ExpiringFilter's; kMaxTtlTicks where a section is damaged.
  [[nodiscard]] NESTLINE_HERE unsigned remaining_ticks(Key key) const noexcept {
    return remaining_ticks_one(hash_of_(key));
  }
  [[deprecated("remaining_ticks")]] [[nodiscard]] NESTLINE_HERE unsigned left(
      Key key) const noexcept {
    return remaining_ticks(key);
  }
  [[nodiscard]] std::uint64_t now() const noexcept;
  [[nodiscard]] std::uint64_t size() const noexcept;
  [[nodiscard]] std::uint64_t capacity() const noexcept;
  [[nodiscard]] unsigned ttl_ticks() const noexcept;
  [[deprecated("ttl_ticks")]] [[nodiscard]] NESTLINE_HERE unsigned life() const noexcept {
    return ttl_ticks();
  }
  [[nodiscard]] int bits() const noexcept;
  [[nodiscard]] std::uint64_t slots() const noexcept;
  [[nodiscard]] double load_factor() const noexcept;
  [[nodiscard]] double expected_fpr() const noexcept;
  [[nodiscard]] std::uint64_t seed() const noexcept;
  [[nodiscard]] std::size_t memory_bytes() const noexcept;  ///< Bytes of the file.

 private:
  struct State;
  explicit MappedExpiringFilter(internal::OwnedState<State> state) noexcept;
  [[nodiscard]] bool may_contain_one(Hash key) const noexcept;
  void fetch(Hash key) const noexcept;
  [[nodiscard]] unsigned remaining_ticks_one(Hash key) const noexcept;
  std::size_t look_up(KeySpan keys, const internal::Answers& answers) const;
  internal::OwnedState<State> state_;
  internal::KeyHasher hash_of_;
};

/// Moves an ExpiringFilter's time on by the clock, so that its keys live at least `window` and at
/// most a tick longer. A tick is window / ttl_ticks(), rounded up to nanoseconds. A key that is
/// inserted while the filter is behind the clock lives shorter by that, so call catch_up before
/// inserts.
///
/// catch_up is safe in any thread. The filter must outlive the clock and not be moved meanwhile.
class NESTLINE_EXPORT ExpiringClock {
 public:
  /// Begins now, at the filter's tick. Throws std::invalid_argument for a window below
  /// ttl_ticks() ns.
  ExpiringClock(ExpiringFilter& filter, std::chrono::nanoseconds window);
  /// Advances the filter to the tick of `now`, if that is later. Where no tick has passed, it costs
  /// the reading of the clock. Throws std::logic_error inside a section when one has.
  void catch_up(std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now());
  /// How long a tick takes.
  [[nodiscard]] NESTLINE_HERE std::chrono::nanoseconds tick() const noexcept { return tick_; }

 private:
  ExpiringFilter& filter_;
  std::chrono::nanoseconds tick_;
  std::chrono::steady_clock::time_point begin_;
  std::uint64_t first_;
  std::mutex catching_up_;
};

}}  // namespace nestline

#pragma pop_macro("slots")

#endif  // NESTLINE_EXPIRING_FILTER_H_
