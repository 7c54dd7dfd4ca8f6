// ExpiringFilter: single keys, time, properties, and the clock.
#include "nestline/expiring_filter.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>

#include "lib/filters/expiring/expiring_state.h"
#include "lib/filters/filter/growth.h"
#include "lib/filters/filter/sizing.h"

namespace nestline { inline namespace v0_3 {
namespace {

using State = ExpiringFilter::State;

std::unique_ptr<State> make_state(const ExpiringOptions& options) {
  const Size size = decide_expiring_size(options);
  Shape shape = size.shape(options.seed);
  shape.life = ttl_ticks_of(options);
  shape.swept = size.blocks;
  shape.kind = &kExpiringFilters;
  ConcurrentFilter::register_thread();
  return std::make_unique<State>(make_blocks(shape, options.memory), shape);
}

// A life of this many ticks is not shorter than the window.
std::chrono::nanoseconds whole_tick(std::chrono::nanoseconds window, unsigned life) {
  const auto ticks = static_cast<std::chrono::nanoseconds::rep>(life);
  return window / ticks + std::chrono::nanoseconds(window.count() % ticks > 0);
}

}  // namespace

bool State::look_up_locked(const LookupFallback& second, std::uint64_t hash) noexcept {
  const auto& state = static_cast<const State&>(second);
  const Blocks& table = state.table_of_writer();
  return state.with_readers(table.engine->of_expiring_filters().operations,
                            [&](const auto& expiring, Writers* writers) {
                              return expiring.contains(table.view, hash, writers);
                            });
}

void State::advance() {
  // A few slices a section: others wait for sections.
  constexpr int kSlices = 16;
  while (!is_swept()) {
    write([&]<class Locks>(const Blocks& table, Locks) {
      for (int i = 0; i < kSlices; ++i) sweep_slice<Locks>(table);
      return std::optional(true);
    });
  }
  for (Backoff backoff; swept_ < blocks() && !NESTLINE_TICK_DOES_NOT_WAIT;) backoff.pause();
  write([&]<class Locks>(Blocks& table, Locks) {
    const std::uint64_t next = tick(table.view.blocks) + 1;
    if (next - exchanged_ >= kOverflowMarkTicks) exchanged_ = next;
    set_tick(table.blocks(), next);
    swept_ = 0;
    claimed_ = 0;
    return std::optional(true);
  });
}

void State::empty_and_advance(std::uint64_t ticks) {
  const Pause pause(*this);
  Blocks& table = pause.table();
  const std::uint64_t count = table.view.geometry.blocks();
  std::for_each_n(table.blocks(), count, HeaderLock::empty);
  std::memset(&next_overflow_mark(table.view.blocks, table.view.geometry, 0), 0,
              static_cast<std::size_t>(count));
  const std::uint64_t now = tick(table.view.blocks) + ticks;
  set_tick(table.blocks(), now);
  exchanged_ = now;
  claimed_ = count;
  swept_ = count;
  keys.reset(0, 0);
}

OwnedBlocks State::copy_all(Shape& shape) const {
  const Blocks& from = table_of_writer();
  const Geometry& geometry = from.view.geometry;
  auto made = make_blocks(from.shape(), nullptr);
  made->storage.touch();
  const Pause pause(*this);
  (void)copy_into(from, *made);  // of one shape, since it never grows
  std::memcpy(&next_overflow_mark(made->view.blocks, geometry, 0),
              &next_overflow_mark(from.view.blocks, geometry, 0),
              static_cast<std::size_t>(geometry.blocks()));
  set_tick(made->blocks(), tick(from.view.blocks));
  shape = shape_now();
  return made;
}

ExpiringFilter::ExpiringFilter(const ExpiringOptions& options)
    : ExpiringFilter(make_state(options)) {}

ExpiringFilter::ExpiringFilter(ExpiringFilter&& other) noexcept = default;
ExpiringFilter& ExpiringFilter::operator=(ExpiringFilter&& other) noexcept = default;
ExpiringFilter::~ExpiringFilter() = default;

KeyHasher ExpiringFilter::hasher(const State& state) noexcept { return state.hasher; }

// Inside a write section.
template <class Locks>
NESTLINE_INLINE static Result renew(State& state, const Blocks& table, std::uint64_t hash,
                                    unsigned life) noexcept {
  std::uint32_t emptied = 0;
  const Result result = expiring_operations<Locks>(table).renew(table.view, hash, life, emptied);
  const std::int64_t added = (result == Outcome::stored) - std::int64_t{emptied};
  if (added != 0) {
    state.keys.add<Locks>(added);
  } else if (!Locks().blocks_are_stable()) {
    full_fence();
  }
  state.count_inserts<Locks>(table, 1);
  return result;
}

// Of a thread that does not write alone. Apart from the first try, which needs few registers.
[[gnu::noinline]] static Inserted insert_further(State& state, std::uint64_t hash,
                                                 unsigned life) noexcept {
  return {state.write([&]<class Locks>(const Blocks& table, Locks) {
    return renew<Locks>(state, table, hash, life);
  })};
}

Inserted ExpiringFilter::insert_one(Hash key, unsigned life) noexcept {
  State& state = *state_;
  life = std::clamp(life, 1u, state.life);
  Result result;
  // That a writer alone finds no room is known at once too.
  (void)state.try_alone([&](const Blocks& table) {
    result = renew<OneWriter>(state, table, key.value, life);
    return result.has_value();
  });
  if (result) [[likely]]
    return {*result};
  return insert_further(state, key.value, life);
}

bool ExpiringFilter::may_contain_one(Hash key) const noexcept {
  const State& state = *state_;
  return state.read([&](const Blocks& table) {
    return state.engine.lookups.contains(table.view, state, key.value);
  });
}

ConcurrentReader::ConcurrentReader(const ExpiringFilter& filter) noexcept
    : ConcurrentReader(*filter.state_, filter.hash_of_) {}

ConcurrentReader ExpiringFilter::reader() const noexcept { return ConcurrentReader(*this); }

unsigned ExpiringFilter::remaining_ticks_one(Hash key) const noexcept {
  const State& state = *state_;
  return state.read([&](const Blocks& table) {
    const Place home = home_of(state.bits, table.view.geometry, key.value);
    return state.with_readers(table.engine->of_expiring_filters().operations,
                              [&](const auto& expiring, Writers* writers) {
                                return expiring.ticks_left(table.view, home, writers);
                              });
  });
}

void ExpiringFilter::fetch(Hash key) const noexcept {
  state_->read_no_block([&](const Blocks& table) { prefetch_home(table.view, key.value); });
}

void ExpiringFilter::advance(std::uint64_t ticks) {
  refuse_in_section();  // before it waits for whoever holds the mutex
  const std::lock_guard lock(state_->advancing);
  if (ticks > kMaxTtlTicks) return state_->empty_and_advance(ticks);
  for (; ticks != 0; --ticks) state_->advance();
}

bool ExpiringFilter::sweep(std::size_t blocks) noexcept {
  State& state = *state_;
  if (state.is_swept()) return true;
  state.write([&]<class Locks>(const Blocks& table, Locks) {
    for (std::size_t done = 0; done < blocks && !state.is_swept(); done += kSlice) {
      state.sweep_slice<Locks>(table);
    }
    return std::optional(true);
  });
  return state.is_swept();
}

void ExpiringFilter::clear() {
  refuse_in_section();
  const std::lock_guard lock(state_->advancing);
  state_->empty_and_advance(0);
}

std::uint64_t ExpiringFilter::now() const noexcept { return state_->present_tick(); }

std::uint64_t ExpiringFilter::size() const noexcept {
  return state_->read([&](const Blocks&) { return state_->keys.total(); });
}

std::uint64_t ExpiringFilter::capacity() const noexcept { return state_->shape().capacity; }
unsigned ExpiringFilter::ttl_ticks() const noexcept { return state_->life; }
int ExpiringFilter::bits() const noexcept { return fingerprint_bits(state_->bits); }
std::uint64_t ExpiringFilter::slots() const noexcept { return state_->shape().slots(); }

double ExpiringFilter::load_factor() const noexcept {
  return nestline::load_factor(state_->table_of_writer(), size());
}

double ExpiringFilter::expected_fpr() const noexcept {
  return nestline::expected_fpr(state_->table_of_writer(), size());
}

std::uint64_t ExpiringFilter::seed() const noexcept { return state_->seed; }

std::size_t ExpiringFilter::memory_bytes() const noexcept { return state_->shape().memory_bytes(); }

ExpiringClock::ExpiringClock(ExpiringFilter& filter, std::chrono::nanoseconds window)
    : filter_(filter),
      tick_(whole_tick(window, filter.ttl_ticks())),
      begin_(std::chrono::steady_clock::now()),
      first_(filter.now()) {
  if (window.count() < filter.ttl_ticks()) {
    throw std::invalid_argument("the window must be at least " +
                                std::to_string(filter.ttl_ticks()) +
                                " nanoseconds, one for each tick of a life");
  }
}

void ExpiringClock::catch_up(std::chrono::steady_clock::time_point now) {
  if (now < begin_) return;
  const std::uint64_t tick =
      first_ + static_cast<std::uint64_t>((now - begin_).count() / tick_.count());
  // Ticks go on from 0 after 2^64 - 1.
  const auto late = [&] { return static_cast<std::int64_t>(tick - filter_.now()); };
  if (late() <= 0) return;
  refuse_in_section();
  const std::lock_guard lock(catching_up_);
  // Asked once: others may advance the filter too.
  if (const std::int64_t ticks = late(); ticks > 0)
    filter_.advance(static_cast<std::uint64_t>(ticks));
}

}}  // namespace nestline
