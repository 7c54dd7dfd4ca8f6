// What an ExpiringFilter is made of: the state of a ConcurrentFilter, with its sections, pauses and
// counting, and how far the sweep has come. lib/engine/place/aging.h has and proves the rules of
// time.
//
// Whoever sweeps claims the next kSlice blocks, and adds them to `swept_` when it has passed them.
// Each inserting thread does so once in kSlice inserts. At a full rate of inserts the sweep is over
// before half of the tick is: a tick brings at least 2 keys a block.
#ifndef NESTLINE_LIB_FILTERS_EXPIRING_EXPIRING_STATE_H_
#define NESTLINE_LIB_FILTERS_EXPIRING_EXPIRING_STATE_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <utility>

#include "lib/engine/engine.h"
#include "lib/engine/place/aging.h"
#include "lib/engine/place/layout.h"
#include "lib/engine/place/test_hooks.h"
#include "lib/filters/concurrent/concurrent_state.h"
#include "lib/filters/concurrent/thread_number.h"
#include "lib/filters/filter/blocks.h"
#include "nestline/expiring_filter.h"

namespace nestline { inline namespace v0_3 {

static_assert(ExpiringFilter::kMaxTtlTicks == kMaxLife);

template <class Locks>
const ExpiringOperations& expiring_operations(const Blocks& table) {
  return table.engine->of_expiring_filters().operations.with<Locks>();
}

struct ExpiringFilter::State : ConcurrentFilter::State {
  // `shape`: also where in time it stands.
  State(OwnedBlocks&& table, const Shape& shape)
      : ConcurrentFilter::State(std::move(table), Readers::may_lock, look_up_locked),
        life(shape.life),
        exchanged_(shape.exchanged),
        claimed_(shape.swept),
        swept_(shape.swept) {
    mine().inserts = shape.waiting;
  }

  [[nodiscard]] std::uint64_t present_tick() const { return tick(table_of_writer().view.blocks); }
  [[nodiscard]] std::uint64_t blocks() const { return table_of_writer().view.geometry.blocks(); }
  [[nodiscard]] bool is_swept() const { return claimed_ >= blocks(); }

  // Inside a write section: counts inserts, and does a slice of the sweep if it is time.
  template <class Locks>
  void count_inserts(const Blocks& table, std::uint32_t inserts) {
    if (is_swept()) return;
    std::atomic<std::uint32_t>& since = mine().inserts;
    const std::uint32_t counted = since.load(std::memory_order_relaxed) + inserts;
    since.store(counted % kSlice, std::memory_order_relaxed);
    for (std::uint32_t i = counted / kSlice; i != 0; --i) sweep_slice<Locks>(table);
  }

  // Inside a write section: passes the next blocks.
  template <class Locks>
  void sweep_slice(const Blocks& table);
  // Moves time on by one tick. By one thread at a time, outside of sections.
  void advance();
  // Removes all keys and moves time on; so there is nothing to sweep.
  void empty_and_advance(std::uint64_t ticks);

  // With where in time it stands; exact while no writer runs.
  [[nodiscard]] Shape shape_now() const {
    Shape shape = table_of_writer().shape();
    shape.life = life;
    shape.tick = present_tick();
    shape.exchanged = exchanged_;
    shape.swept = std::min<std::uint64_t>(claimed_, blocks());
    shape.waiting = stripes_[thread_number() % kStripes].inserts;
    return shape;
  }
  // A copy of all memory of one instant, and its shape then. Throws std::bad_alloc.
  OwnedBlocks copy_all(Shape& shape) const;
  const unsigned life;
  std::mutex advancing;

 private:
  static bool look_up_locked(const LookupFallback& second, std::uint64_t hash) noexcept;

  struct alignas(64) Stripe {
    std::atomic<std::uint32_t> inserts{0};
  };
  static constexpr std::size_t kStripes = 32;
  Stripe& mine() { return stripes_[thread_number() % kStripes]; }
  std::array<Stripe, kStripes> stripes_;
  std::atomic<std::uint64_t> exchanged_;
  alignas(64) std::atomic<std::uint64_t> claimed_;
  alignas(64) std::atomic<std::uint64_t> swept_;
};

template <class Locks>
void ExpiringFilter::State::sweep_slice(const Blocks& table) {
  const std::uint64_t end = table.view.geometry.blocks();
  if (claimed_ >= end) return;
  const std::uint64_t first = claimed_.fetch_add(kSlice);
  if (first >= end) return;
  // From here on the tick does not move on before `swept_` has these blocks.
  const std::uint64_t count = std::min(kSlice, end - first);
  const std::uint64_t now = tick(table.view.blocks);
  NESTLINE_TEST_POINT(NESTLINE_POINT_SLICE);
  const std::size_t emptied = expiring_operations<Locks>(table).sweep(
      table.view, first, count, now + (NESTLINE_SWEEP_TOO_EARLY ? 1 : 0), exchanged_ == now);
  if (emptied != 0) keys.add<Locks>(-static_cast<std::int64_t>(emptied));
  swept_ += count;
}

struct ExpiringAccess {
  static const ExpiringFilter::State& state(const ExpiringFilter& filter) { return *filter.state_; }
  static ExpiringFilter::State& state(ExpiringFilter& filter) { return *filter.state_; }
  static ExpiringFilter make(OwnedBlocks table, const Shape& shape) {
    ConcurrentFilter::register_thread();
    return ExpiringFilter(std::make_unique<ExpiringFilter::State>(std::move(table), shape));
  }
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_FILTERS_EXPIRING_EXPIRING_STATE_H_
