// The cuckoo filter that any number of threads read and change at the same time.
//
// A lookup takes no lock and writes no shared memory, unless writers keep changing its blocks: then
// it locks them for a moment. A writer locks one or two blocks of 64 bytes. A thread that alone has
// changed keys needs no atomic exchanges and is nearly as fast as with Filter, until a second
// thread changes one or a change disturbs a lookup 16 times.
//
//   nestline::ConcurrentFilter filter({.capacity = 1'000'000, .max_capacity = 4'000'000});
//   // from any thread, at any time:
//   if (!filter.insert("user:17")) { ... there is no room ... }
//   if (filter.may_contain("user:17")) { ... look in the slow place ... }
//
// The same operations in the same order leave the same content as in Filter, to which it converts.
#ifndef NESTLINE_CONCURRENT_FILTER_H_
#define NESTLINE_CONCURRENT_FILTER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "nestline/export.h"
#include "nestline/filter.h"
#include "nestline/internal/answers.h"
#include "nestline/internal/inline_lookup.h"
#include "nestline/internal/memory_resource.h"
#include "nestline/internal/owned_state.h"
#include "nestline/keys.h"

#pragma push_macro("slots")  // Qt's, which is empty
#undef slots

namespace nestline { inline namespace v0_3 {

struct LookupFallback;  // private to the library

/// Lookups of single keys in loops: to enter and leave the filter is paid once, not for each key.
///
///   const nestline::ConcurrentReader reader = filter.reader();
///   for (const auto key : keys) hits += reader.may_contain(key);
///
/// Each lookup is linearizable as the filter's own, also when the filter has grown meanwhile. An
/// ExpiringFilter has readers too.
///
/// One thread makes it, uses it and destroys it, before that thread ends and before the filter is
/// destroyed or moved. Threads that grow, clear, merge or copy a filter, and the first that changes
/// one beside another, wait until it is destroyed: make a new one after some thousand lookups (some
/// 10 us). A thread's readers may end in any order, but those that overlap make others wait until
/// the last of them has ended. While one lives, its own thread must not change or copy a
/// ConcurrentFilter, a Maplet or an ExpiringFilter: see ConcurrentFilter, "Inside a section".
class NESTLINE_EXPORT ConcurrentReader {
 public:
  explicit ConcurrentReader(const ConcurrentFilter& filter) noexcept;  ///< O(1).
  explicit ConcurrentReader(const ExpiringFilter& filter) noexcept;
  ~ConcurrentReader();
  ConcurrentReader(const ConcurrentReader&) = delete;
  ConcurrentReader& operator=(const ConcurrentReader&) = delete;
  /// As ConcurrentFilter's.
  [[nodiscard]] NESTLINE_INLINE bool may_contain(Key key) const noexcept {
    const Hash hash = hash_of_(key);
#if NESTLINE_MATCHES_HERE
    // The table each time: another thread may exchange it for a larger one.
    const internal::BlocksView& view = internal::load_table(table_);
    const auto library = [&]() __attribute__((always_inline)) { return may_contain_one(hash); };
    return internal::inline_lookup(
        view.layout,
        [&]<class L>(L) __attribute__((always_inline)) {
          return internal::contains_here_beside<L>(&view, hash.value, library);
        },
        [&]() __attribute__((always_inline)) {
          using Slots = internal::ExpiringSlots;
          if (view.layout != Slots::kLayout) return library();
          return internal::contains_here_beside<Slots>(&view, hash.value, library);
        });
#else
    return may_contain_one(hash);
#endif
  }
  [[nodiscard]] NESTLINE_HERE Hash prepare(Key key) const noexcept {
    const Hash hash = hash_of_(key);
    fetch(hash);
    return hash;
  }

 private:
  ConcurrentReader(const LookupFallback& of, const internal::KeyHasher& hash_of) noexcept;
  [[nodiscard]] bool may_contain_one(Hash key) const noexcept;
  void fetch(Hash key) const noexcept;
  alignas(std::uint64_t) unsigned char section_[2 * sizeof(std::uint64_t)];
  const void* state_;
  const void* table_;  // where the state keeps its pointer to the table
  internal::KeyHasher hash_of_;
};

/// A Filter for many threads. Only the differences from Filter's members are described here.
///
/// Thread safety: every member may be called from any thread at any time, except construction,
/// destruction, move and freeze.
///
/// Order: each single-key operation is linearizable: it takes effect at one instant between its
/// call and its return; so insert_unique and update check and change at one instant. A batch is
/// many single-key operations, each at an instant of its own during the call; changes are made in
/// the order of the keys, lookups in any order. size() and what is computed from it are exact while
/// no writer runs. One exception, for a thread that alone has inserted, updated or erased so far:
/// other threads may see its change a moment after the return, as with a release store. They see it
/// before anything that this thread stores afterwards with release (a mutex, an atomic), and before
/// its next lookup in any filter. To read something else only after others can see the change, call
/// std::atomic_thread_fence(std::memory_order_seq_cst) in between.
///
/// Progress: a lookup whose blocks writers change retries a bounded number of times, then locks
/// them (a lone writer gets a request for that first, and the lookup retries until its next call or
/// next part of a batch); an insert that is overtaken again and again makes the other writers wait
/// for it. So every call ends, and a full filter answers `full` however many writers there are. A
/// failed insert changes no answer, but may move other keys' fingerprints.
///
/// The first change by a second thread waits once for the lookups that are running, and for every
/// urcu_bp section of the program's own. liburcu blocks the signals of a thread while it waits.
///
/// While the filter grows or shrinks, or while merge, clear or snapshot runs, lookups go on
/// undisturbed and writers wait. Old memory is freed by userspace RCU (liburcu): the thread that
/// grows the filter waits for the lookups that are running. They are short: batches are cut into
/// chunks.
///
/// Inside a section: a thread that has a ConcurrentReader, is in a function that Store::get calls,
/// or is between urcu_bp_read_lock() and urcu_bp_read_unlock() of the program's own would wait for
/// itself. So clear, grow, shrink, fit, merge, snapshot and the batches that change keys throw
/// std::logic_error there, and change nothing. insert, insert_unique, update and erase of one key
/// do not throw: where they would have to wait, they end the program by std::terminate() with the
/// same sentence.
///
/// Threads and memory: a thread's first call on any filter of this kind registers it with liburcu,
/// which sometimes allocates a little memory (256 bytes a thread, in pieces that double) and calls
/// abort() if the system refuses it. register_thread() does this ahead of time and reports a
/// failure. The constructors register their own thread.
///
/// Signals: a handler may look up and count keys if the thread that it interrupted has registered
/// and is not in a call on the same filter, whose lock it might wait for for ever. A handler must
/// not change a filter or leave by longjmp.
///
/// Cancellation: no member is a cancellation point, so a thread that is cancelled ends after the
/// call. Asynchronous cancellation must be off: it could leave a lock taken.
///
/// fork(): the child may use the filter if no other thread was in a call on any filter of this
/// kind, or in an urcu_bp call or section of its own, at that moment; it may have had a
/// ConcurrentReader. A change that was under way is never finished in the child, and its locks stay
/// taken. Where threads cannot be kept quiet, take a snapshot() before fork(): it has no locks.
class NESTLINE_EXPORT ConcurrentFilter {
 public:
  struct State;  // private to the library

  /// An empty filter. Throws as Filter's constructor does.
  explicit ConcurrentFilter(const Options& options);
  /// Takes over the filter's memory, in O(1). Throws std::bad_alloc; `filter` is then unchanged.
  explicit ConcurrentFilter(Filter&& filter);
  ConcurrentFilter(ConcurrentFilter&& other) noexcept;
  ConcurrentFilter& operator=(ConcurrentFilter&& other) noexcept;
  ~ConcurrentFilter();
  /// Registers the calling thread with liburcu (see above), once and for all filters. Afterwards no
  /// lookup of this thread allocates memory. Throws std::bad_alloc when the system refuses 1 MiB;
  /// abort() is still possible if another thread takes the last memory just then.
  static void register_thread();
  /// The filter without locks, in the same memory. This one, which no other thread may use, can
  /// then only be destroyed or assigned to. One pass over the memory, to clear the versions.
  [[nodiscard]] Filter freeze() &&;
  /// As Filter's.
  static ConcurrentFilter load(const Input& from, std::pmr::memory_resource* memory = nullptr);
  /// A copy of the present content, for saving or shipping. It has each operation whole or not at
  /// all. Throws std::bad_alloc, and std::logic_error inside a section.
  [[nodiscard]] Filter snapshot() const;
  [[nodiscard]] NESTLINE_HERE Inserted insert(Key key) noexcept {
    return insert_one(hash_of_(key));
  }

  /// If several threads call this with the same key, one stores it and the others get `present`.
  [[nodiscard]] NESTLINE_HERE Inserted insert_unique(Key key) noexcept {
    return insert_unique_one(hash_of_(key));
  }

  /// `new_key` takes the place of `old_key` at one instant.
  [[nodiscard]] NESTLINE_HERE Inserted update(Key old_key, Key new_key) noexcept {
    return update_one(hash_of_(old_key), hash_of_(new_key));
  }

  [[nodiscard]] NESTLINE_HERE bool may_contain(Key key) const noexcept {
    return may_contain_one(hash_of_(key));
  }
  [[nodiscard]] NESTLINE_HERE Hash prepare(Key key) const noexcept {
    const Hash hash = hash_of_(key);
    fetch(hash);
    return hash;
  }
  /// Many lookups by this thread: see ConcurrentReader.
  [[nodiscard]] ConcurrentReader reader() const noexcept;
  [[nodiscard]] NESTLINE_HERE unsigned count(Key key) const noexcept {
    return count_one(hash_of_(key));
  }
  NESTLINE_HERE bool erase(Key key) noexcept { return erase_one(hash_of_(key)); }
  /// Removes everything, at one instant. Allocates new memory of the same size and frees the old.
  /// Throws std::bad_alloc, and std::logic_error inside a section; the filter is then unchanged.
  void clear();

  // Batches, as Filter's. No other thread may write to a span during the call.

  [[nodiscard]] std::size_t insert(KeySpan keys, std::span<Outcome> outcomes = {});
  [[nodiscard]] std::size_t insert_unique(KeySpan keys, std::span<Outcome> outcomes = {});
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
  std::size_t erase(KeySpan keys, std::span<std::uint8_t> erased = {});
  void count(KeySpan keys, std::span<std::uint8_t> out) const;
  [[nodiscard]] std::uint64_t size() const noexcept;
  [[nodiscard]] std::uint64_t capacity() const noexcept;
  [[nodiscard]] std::uint64_t max_capacity() const noexcept;
  [[nodiscard]] unsigned growth() const noexcept;
  [[nodiscard]] bool turns_over() const noexcept;
  [[nodiscard]] std::uint64_t slots() const noexcept;
  [[nodiscard]] double load_factor() const noexcept;
  [[nodiscard]] double expected_fpr() const noexcept;
  [[nodiscard]] int bits() const noexcept;
  [[nodiscard]] std::uint64_t seed() const noexcept;
  /// Bytes of the blocks, as Filter's. While the filter grows, the new blocks are not counted yet.
  [[nodiscard]] std::size_t memory_bytes() const noexcept;
  bool grow();  ///< As Filter's. Lookups go on meanwhile. Throws std::logic_error inside a section.
  bool shrink();                                   ///< The same; changes wait as they do for grow.
  [[nodiscard]] bool can_shrink() const noexcept;  ///< As Filter's, by the keys of one instant.
  unsigned fit();                                  ///< As shrink, as often as its keys allow.
  /// As Filter's, at one instant. Of a ConcurrentFilter, a snapshot is merged, which needs memory
  /// too; `other` may be this filter. Throws std::logic_error inside a section.
  std::uint64_t merge(const Filter& other, Copies copies = Copies::all);
  std::uint64_t merge(const ConcurrentFilter& other, Copies copies = Copies::all);
  /// As Filter's. The answer is for this moment: it can change when a filter grows.
  bool can_merge(const Filter& other, std::string* why = nullptr) const;
  bool can_merge(const ConcurrentFilter& other, std::string* why = nullptr) const;

 private:
  friend struct ConcurrentAccess;  // lib/filters/concurrent/concurrent_state.h
  friend class ConcurrentReader;
  // A template, so that {} is not taken for a pointer.
  template <internal::OwnerOf<State> Owner>
  explicit ConcurrentFilter(Owner state) noexcept
      : state_(std::move(state)), hash_of_(hasher(*state_)) {}

  Inserted insert_one(Hash key) noexcept;
  Inserted insert_unique_one(Hash key) noexcept;
  Inserted update_one(Hash old_key, Hash new_key) noexcept;
  [[nodiscard]] bool may_contain_one(Hash key) const noexcept;
  void fetch(Hash key) const noexcept;
  std::size_t look_up(KeySpan keys, const internal::Answers& answers) const;
  [[nodiscard]] unsigned count_one(Hash key) const noexcept;
  bool erase_one(Hash key) noexcept;
  static internal::KeyHasher hasher(const State& state) noexcept;
  internal::OwnedState<State> state_;
  internal::KeyHasher hash_of_;
};

/// Saves a snapshot, which needs memory. Throws also std::logic_error inside a section.
NESTLINE_EXPORT void save(const ConcurrentFilter& filter, const Output& to);

}}  // namespace nestline

#pragma pop_macro("slots")

#endif  // NESTLINE_CONCURRENT_FILTER_H_
