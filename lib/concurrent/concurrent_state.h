// What a ConcurrentFilter is made of: a table that is exchanged as a whole when the filter grows,
// merges or is cleared, and how readers and writers enter and leave it.
//
//   S1  A thread works on the table only in a ReadSection, and loads the pointer inside it.
//   S2  A writer that finds `paused_` set inside its section leaves it and waits. So once a Pause
//       has set it and waited for the sections that had begun before, no writer is at work, and
//       none begins until the Pause ends. Readers do not look at `paused_`. A writer that meets one
//       Pause after another makes its own and works in it.
//   S3  Only the thread that holds a Pause exchanges the table. The old table is complete then,
//       since no writer is at work. A reader that still has it gives an answer that was right just
//       before the exchange, which is after its lookup began.
//   S4  The old table is freed after a second grace period; the writers already work again then.
//
// Keys are counted inside the sections, so the count is exact during a Pause.
#ifndef NESTLINE_LIB_CONCURRENT_CONCURRENT_STATE_H_
#define NESTLINE_LIB_CONCURRENT_CONCURRENT_STATE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "lib/concurrent/key_count.h"
#include "lib/concurrent/reclaim.h"
#include "lib/filter/filter_state.h"
#include "lib/filter/filter_table.h"
#include "lib/table/locking.h"
#include "nestline/concurrent_filter.h"

namespace nestline {

struct ConcurrentFilter::State {
 public:
  explicit State(Filter&& filter) : State(FilterAccess::take(std::move(filter))) {}
  ~State() { delete table_.load(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  template <typename Key>
  [[nodiscard]] std::uint64_t hash(Key key) const {
    return hash_key(key, secrets, seed);
  }

  // Calls work(table) for a reader: table is a const Filter::State&.
  template <typename Work>
  auto read(Work&& work) const {
    const ReadSection section;
    return work(std::as_const(*table_.load()));
  }

  // Calls work(table, blocks) for a writer; blocks is a Table<L, BlockLocks>&. The work returns an
  // optional. If it is empty, the work was overtaken and is done again with the other writers
  // paused.
  template <typename Work>
  auto write(Work&& work) {
    for (int waits = 0;; ++waits) {
      bool paused = false;
      {
        const ReadSection section;
        paused = paused_.load();
        if (!paused) {
          if (auto result = run(work)) return *result;
        }
      }
      if (!paused || waits >= kMostWaits) {
        const Pause pause(*this);
        if (auto result = run(work)) return *result;
      }
      paused_.wait(true);
    }
  }

  // Makes the writers wait while it lives. Must not be made inside a section.
  class Pause {
   public:
    explicit Pause(const State& state) : Pause(state, std::unique_lock(state.pausing_)) {}
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
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

    [[nodiscard]] Filter::State& table() const { return *state_.table_.load(); }

   private:
    const State& state_;
    std::unique_lock<std::mutex> lock_;
  };

  // Replaces the table with make(table), unless that is null or wanted(table) says no; returns
  // whether it did. When make throws, nothing has changed.
  template <typename Make, typename Wanted>
  bool exchange(Make&& make, Wanted&& wanted) {
    std::unique_ptr<Filter::State> old;
    {
      std::unique_lock lock(pausing_);
      if (!wanted(std::as_const(*table_.load()))) return false;
      const Pause pause(*this, std::move(lock));
      std::unique_ptr<Filter::State> next = make(std::as_const(pause.table()));
      if (!next) return false;
      keys.reset(next->size);
      old.reset(table_.exchange(next.release()));
    }
    wait_for_readers();
    return true;
  }

  template <typename Make>
  bool exchange(Make&& make) {
    return exchange(make, [](const Filter::State&) { return true; });
  }

  // The table, for the last owner.
  std::unique_ptr<Filter::State> release() {
    std::unique_ptr<Filter::State> table(table_.exchange(nullptr));
    table->size = keys.total();
    return table;
  }

  const MixSecrets secrets;
  const std::uint64_t seed;
  const int bits;
  KeyCount keys;

 private:
  // How many Pauses of other threads a writer waits for before it makes its own.
  static constexpr int kMostWaits = 16;

  explicit State(std::unique_ptr<Filter::State> table)
      : secrets(table->view.secrets),
        seed(table->seed),
        bits(table->bits),
        keys(table->size),
        table_(table.release()) {}

  template <typename Work>
  auto run(Work&& work) {
    Filter::State& table = *table_.load();
    return with_table<BlockLocks>(table, [&](auto& blocks) { return work(table, blocks); });
  }

  std::atomic<Filter::State*> table_;
  mutable std::atomic<bool> paused_{false};
  mutable std::mutex pausing_;
};

// Answers of a reader beside writers (locking.h, R1 to R4). Call them inside a section.
bool contains(const Filter::State& table, std::uint64_t hash);
bool contains_integer(const Filter::State& table, std::uint64_t key);
// The same after an undecided answer.
bool contains_after_all(const Filter::State& table, std::uint64_t hash);

// The result of an insert, or of a run of inserts, on one table.
struct Tried {
  Outcome outcome = Outcome::full;
  bool due = false;          // the filter has to grow, or to count its keys, before it can go on
  bool full = false;         // because a key found no room
  std::uint32_t growth = 0;  // of the table
};

// Does what `tried` needs. While the filter waits before it tries to grow again, this thread is
// allowed more keys instead.
void make_way(ConcurrentFilter::State& state, const Tried& tried) noexcept;

// Stores one key; pauses the other writers or grows the filter if it has to.
Inserted insert_hash(ConcurrentFilter::State& state, std::uint64_t hash) noexcept;

}  // namespace nestline

#endif  // NESTLINE_LIB_CONCURRENT_CONCURRENT_STATE_H_
