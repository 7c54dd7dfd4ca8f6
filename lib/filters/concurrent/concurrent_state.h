// What a ConcurrentFilter is made of: a table that is exchanged as a whole when the filter grows,
// shrinks, merges or is cleared, and how readers and writers enter and leave it.
//
//   S1  A thread works on the table only in a ReadSection or WriteSection, and loads the pointer
//       inside it.
//   S2  A writer that finds `paused_` set inside its section leaves it and waits. So once a Pause
//       has set it and waited for the sections that had begun before, no writer is at work, and
//       none begins until the Pause ends. Readers do not look at `paused_`. A writer that meets one
//       Pause after another makes its own and works in it. So does one that finds that another
//       thread is the only writer (locking.h, W8): in its Pause it ends that.
//   S3  Only the thread that holds a Pause exchanges the table. The old table is complete then,
//       since no writer is at work. A reader that still has it gives an answer that was right just
//       before the exchange, which is after its lookup began.
//   S4  The old table is freed after a second grace period; the writers already work again then.
//
// Keys are counted inside the sections, so the count is exact during a Pause.
//
// A filter can also be made so that its readers never lock (Readers::only_look). Then its only
// writer waits for nobody, as long as it only inserts, erases and empties; a reader whose blocks
// keep changing looks again until they stand still for the some 20 ns that this takes.
#ifndef NESTLINE_LIB_FILTERS_CONCURRENT_CONCURRENT_STATE_H_
#define NESTLINE_LIB_FILTERS_CONCURRENT_CONCURRENT_STATE_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "lib/filters/concurrent/reclaim.h"
#include "lib/filters/filter/growth.h"
#include "nestline/concurrent_filter.h"

namespace nestline { inline namespace v0_3 {

// How many keys a ConcurrentFilter holds, counted by many threads without waiting for each other.
//
// Each thread adds to one of kStripes numbers, each in a cache line of its own; the sum is exact
// while no thread adds. A filter that grows by itself must compare the sum with the capacity before
// each insert: to save most of that, each sum gives a stripe a share of the room, and the stripe
// needs the next sum only when it has used up its share. So one thread grows the filter at exactly
// the same key as Filter does, and several threads close to it.
class KeyCount {
 public:
  KeyCount(std::uint64_t keys, std::uint64_t capacity) { reset(keys, capacity); }

  // Also makes everything stored before visible to all threads (locking.h, W7), unless the calling
  // thread is the only writer.
  template <class Locks>
  void add(std::int64_t keys) noexcept {
    std::atomic<std::int64_t>& sum = mine().keys;
    if constexpr (std::is_same_v<Locks, OneWriter>) {
      sum.store(sum.load(std::memory_order_relaxed) + keys, std::memory_order_relaxed);
    } else {
      sum += keys;
    }
  }

  // A thread may erase a key and subtract it here before the inserting thread has added it.
  [[nodiscard]] std::uint64_t total() const noexcept {
    std::int64_t sum = 0;
    for (const Stripe& stripe : stripes_) sum += stripe.keys;
    return static_cast<std::uint64_t>(std::max<std::int64_t>(sum, 0));
  }

  // Keys this thread may insert before it calls allow() again. Not exact when threads share a
  // stripe.
  [[nodiscard]] std::int64_t allowed() noexcept {
    Stripe& stripe = mine();
    return stripe.look_at - stripe.keys;
  }
  // True for one erased key in 256 of a thread: it is time to compare the sum.
  [[nodiscard]] bool is_at_look() noexcept { return mine().keys % 256 == 0; }
  // Allows this thread its share, at least one key, of `room` keys.
  void allow(std::uint64_t room) noexcept {
    Stripe& stripe = mine();
    stripe.look_at = stripe.keys + static_cast<std::int64_t>(share(room));
  }
  static std::uint64_t share(std::uint64_t room) noexcept {
    return std::max<std::uint64_t>(1, room / kShares);
  }

  // Sets the sum and cancels what was allowed. Where it is above the capacity, as after a merge, a
  // thread compares again until it has erased the excess. No thread may add meanwhile.
  void reset(std::uint64_t keys, std::uint64_t capacity) noexcept {
    std::int64_t sum = 0;
    for (const Stripe& stripe : stripes_) sum += stripe.keys;
    mine().keys += static_cast<std::int64_t>(keys) - sum;
    const auto excess = static_cast<std::int64_t>(keys - std::min(keys, capacity));
    for (Stripe& stripe : stripes_) stripe.look_at = stripe.keys - excess;
  }

 private:
  static constexpr std::size_t kStripes = 32;
  // So all stripes together never hold more than an eighth of the room.
  static constexpr std::size_t kShares = 8 * kStripes;
  struct alignas(64) Stripe {
    std::atomic<std::int64_t> keys{0};
    std::atomic<std::int64_t> look_at{0};  // the value of `keys` at which the share is used up
  };

  Stripe& mine() noexcept { return stripes_[thread_number() % kStripes]; }
  std::array<Stripe, kStripes> stripes_;
};

// Whether readers whose blocks keep changing may lock them in the end (locking.h, R4).
enum class Readers : std::uint8_t { may_lock, only_look };

// It answers the lookups that kernels leave to a second look.
struct ConcurrentFilter::State : LookupFallback {
 public:
  // What answers a second look (engine.h), inside the reader's section.
  using Look = bool (*)(const LookupFallback& second, std::uint64_t hash) noexcept;

  explicit State(OwnedBlocks&& table, Readers readers = Readers::may_lock,
                 Look second = look_up_locked)
      : LookupFallback{second},
        secrets(table->view.secrets),
        engine(*table->engine),
        seed(table->seed),
        bits(table->bits),
        keys(table->size, table->capacity),
        readers_(readers),
        table_(table.release()) {}
  ~State() { delete table_.load(); }
  State& operator=(State&&) = delete;

  // Calls work(table) for a reader: table is a const Blocks&.
  template <typename Work>
  auto read(Work&& work) const {
    const ReadSection section;
    return work(std::as_const(*table_.load()));
  }

  // For work that looks at no block: it need not wait until others see what this thread has stored.
  template <typename Work>
  auto read_no_block(Work&& work) const {
    const WriteSection section;
    return work(std::as_const(*table_.load()));
  }

  // The table, for a thread that is in a section.
  [[nodiscard]] const Blocks& table_in_section() const { return *table_.load(); }

  // Where the pointer to it is, for load_table of nestline/internal/shared_reads.h.
  [[nodiscard]] const void* address_of_table() const {
    static_assert(sizeof(table_) == sizeof(void*));
    return &table_;
  }

  // The table's, at one instant.
  [[nodiscard]] Shape shape() const {
    return read([](const Blocks& table) { return table.shape(); });
  }

  // Calls work(table, locks) for a writer; locks is OneWriter or BlockLocks. Work that returns an
  // empty optional was overtaken and is done again with the other writers paused.
  template <typename Work>
  auto write(Work&& work) {
    for (int waits = 0;; ++waits) {
      std::optional<Writers::WriteMode> turn;  // none while writers have to wait
      {
        const WriteSection section;
        if (!paused_.load()) turn = writers_.acquire_write_mode(writer());
        if (turn == Writers::WriteMode::alone) {
          auto result = work(*table_.load(), OneWriter());
          assert(result);  // nobody overtakes a lone writer
          stored_alone();
          return *std::move(result);
        }
        if (turn == Writers::WriteMode::as_one_of_many) {
          show_all();
          if (auto result = work(*table_.load(), BlockLocks())) return *std::move(result);
        }
      }
      require_no_section();
      if (turn || waits >= kMaxWaits) {
        const Pause pause(*this);
        writers_.share();
        if (auto result = work(*table_.load(), BlockLocks())) return *std::move(result);
      }
      paused_.wait(true);
    }
  }

  // The first try of a change, work(table), for a thread that writes alone: whether it changed
  // anything.
  template <typename Work>
  bool try_alone(Work&& work) {
    const WriteSection section;
    if (paused_.load() || !writers_.has_alone(writer())) return false;
    const bool changed = work(std::as_const(*table_.load()));
    if (changed) stored_alone();
    return changed;
  }

  // Makes the writers wait while it lives. Throws std::logic_error inside a section.
  class Pause {
   public:
    explicit Pause(const State& state) : Pause(state, state.begin_to_pause()) {}
    Pause(const State& state, std::unique_lock<std::mutex> lock)
        : state_(state), lock_(std::move(lock)) {
      state_.paused_.store(true);
      wait_for_readers();
      state_.table_.load()->size = state_.keys.total();
    }
    ~Pause() {
      state_.paused_.store(false);
      state_.paused_.notify_all();
    }
    Pause& operator=(Pause&&) = delete;

    [[nodiscard]] Blocks& table() const { return *state_.table_.load(); }

   private:
    const State& state_;
    std::unique_lock<std::mutex> lock_;
  };

  // The table as of one instant, in memory made ready before writers wait. Throws std::bad_alloc.
  [[nodiscard]] OwnedBlocks copy() const {
    for (;;) {
      auto made = ready_for_copy();
      const Pause pause(*this);
      if (copy_into(pause.table(), *made)) return made;  // else it has grown meanwhile
    }
  }
  [[nodiscard]] OwnedBlocks ready_for_copy() const {
    const auto [shape, memory] =
        read([](const Blocks& table) { return std::pair(table.shape(), table.storage.memory()); });
    return nestline::ready_for_copy(shape, memory);
  }

  // Calls work(operations, writers) with those of the policy for readers, inside their section, and
  // with the writers if they may lock.
  template <class Operations, typename Work>
  auto with_readers(const ByPolicy<Operations>& all, Work&& work) const {
    if (writers_.are_many()) return work(all.many_writers, nullptr);
    return work(all.one_writer, readers_ == Readers::may_lock ? &writers_ : nullptr);
  }

  // Replaces the table with make(table), unless that is null or wanted(table) is false; returns
  // whether it did. When make throws, or it is called inside a section, nothing has changed.
  template <typename Make, typename Wanted>
  bool exchange(Make&& make, Wanted&& wanted) {
    OwnedBlocks old;
    {
      std::unique_lock<std::mutex> lock = begin_to_pause();
      if (!wanted(std::as_const(*table_.load()))) return false;
      const Pause pause(*this, std::move(lock));
      OwnedBlocks next = make(std::as_const(pause.table()));
      if (!next) return false;
      keys.reset(next->size, next->capacity);
      old = OwnedBlocks(table_.exchange(next.release()));
    }
    wait_for_readers();
    return true;
  }

  template <typename Make>
  bool exchange(Make&& make) {
    return exchange(make, [](const Blocks&) { return true; });
  }

  // Folds the table up to `most` times, as fitted does; returns how often it has.
  std::uint32_t fold(std::uint32_t most = ~0u);
  [[nodiscard]] bool can_shrink() const noexcept;
  // After keys were erased, outside of a section: halves the table while it is due. In a thread
  // that has another section nothing happens.
  void shrink_if_due() noexcept;

  // The table as it is, for the only thread that changes it, or while no thread does.
  [[nodiscard]] const Blocks& table_of_writer() const { return *table_.load(); }

  // Takes all keys out, in place and block by block: unlike an exchange it needs no memory and
  // waits for no reader. Readers may meanwhile find some keys and miss others.
  void empty() {
    write([&]<class Locks>(Blocks& table, Locks) {
      std::for_each_n(table.blocks(), table.view.geometry.blocks(), Locks::empty);
      keys.template add<Locks>(-static_cast<std::int64_t>(keys.total()));
      return std::optional(true);
    });
  }

  // The table, for the last owner.
  OwnedBlocks release() {
    OwnedBlocks table(table_.exchange(nullptr));
    table->size = keys.total();
    return table;
  }

  const MixSecrets secrets;  // for batches
  const Engine& engine;      // of all its tables
  const std::uint64_t seed;
  const KeyHasher hasher{seed, secrets};
  const int bits;
  KeyCount keys;

 private:
  // How many Pauses of other threads a writer waits for before it makes its own.
  static constexpr int kMaxWaits = 16;
  // That of filters.
  static bool look_up_locked(const LookupFallback& second, std::uint64_t hash) noexcept;

  // For a Pause. A thread inside a section would wait here for one that waits for the section.
  [[nodiscard]] std::unique_lock<std::mutex> begin_to_pause() const {
    refuse_in_section();
    return std::unique_lock(pausing_);
  }

  // This thread among the writers.
  static Writers::Thread writer() { return 2 * thread_number(); }
  const Readers readers_;
  std::atomic<Blocks*> table_;
  mutable Writers writers_;
  mutable std::atomic<bool> paused_{false};
  mutable std::mutex pausing_;
};

// Access to a filter's state for the files that make filters with other properties.
struct ConcurrentAccess {
  static ConcurrentFilter::State& state(const ConcurrentFilter& filter) { return *filter.state_; }
  // Throws std::bad_alloc; `filter` is then unchanged.
  static ConcurrentFilter make(Filter&& filter, Readers readers) {
    ConcurrentFilter::register_thread();
    return ConcurrentFilter(
        std::make_unique<ConcurrentFilter::State>(FilterAccess::take(std::move(filter)), readers));
  }
};

template <class Locks>
const FilterOperations& operations(const Blocks& table) {
  return table.engine->of_filters().operations.with<Locks>();
}

// The result of an insert, or of a run of inserts, on one table.
struct Tried {
  Outcome outcome = Outcome::full;
  bool due = false;          // the filter has to grow, or to count its keys, before it can go on
  bool full = false;         // because a key found no room
  std::uint32_t growth = 0;  // of the table
};

// Does what `tried` needs; allows more keys instead while the filter waits to grow again.
void make_way(ConcurrentFilter::State& state, const Tried& tried) noexcept;

// Runs an insert or update, work(table, locks, added), until it has an outcome; grows the filter
// for it if possible. Counts a stored key unless the work has set `added` to false. `adds`: a
// stored key is always a new one, so that the filter must grow first if it is due.
template <typename Work>
Outcome insert_or_grow(ConcurrentFilter::State& state, bool adds, Work&& work) {
  for (;;) {
    const Tried tried = state.write([&]<class Locks>(Blocks& table, Locks locks) {
      const bool growing = table.grows_by_itself();
      const std::uint32_t growth = table.view.geometry.growth;
      if (growing && adds && state.keys.allowed() <= 0) {
        return std::optional(Tried{.due = true, .growth = growth});
      }
      bool added = true;
      const Result outcome = work(table, locks, added);
      if (!outcome) return std::optional<Tried>();
      if (outcome == Outcome::stored && added) state.keys.add<Locks>(1);
      const bool full = growing && *outcome == Outcome::full && !table.patience.waits(1);
      return std::optional(Tried{*outcome, full, full, growth});
    });
    if (!tried.due) return tried.outcome;
    make_way(state, tried);
  }
}

// Stores one key; pauses the other writers or grows the filter if it has to.
Inserted insert_hash(ConcurrentFilter::State& state, std::uint64_t hash) noexcept;

}}  // namespace nestline

#endif  // NESTLINE_LIB_FILTERS_CONCURRENT_CONCURRENT_STATE_H_
