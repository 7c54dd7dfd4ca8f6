// The C functions that only expiring filters have, and their clocks.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "lib/faces/c/handle.h"

struct nestline_expiring_clock {
  nestline::ExpiringClock clock;
};

namespace nestline { inline namespace v0_3 { namespace c { namespace {

static_assert(sizeof(nestline_expiring_options) == sizeof(std::size_t) + 4 * 8 + 2 * sizeof(int),
              "no padding: a member of a later version must not lie in what is there today");

ExpiringOptions options_of(const nestline_expiring_options* given) {
  require_known(given, "options.struct_size is wrong: begin with NESTLINE_EXPIRING_OPTIONS_INIT");
  ExpiringOptions options = {
      .capacity = given->capacity, .fpr = given->fpr, .bits = given->bits, .seed = given->seed};
  if (given->ttl_ticks != 0) options.ttl_ticks = given->ttl_ticks;
  if (given->load != 0) options.load = given->load;
  return options;
}

}  // namespace
}}}  // namespace nestline::c

using namespace nestline::c;  // NOLINT(google-build-using-namespace): the names are C's here
using nestline::ExpiringFilter;

nestline_filter* nestline_expiring_create(const nestline_expiring_options* options,
                                          const char** error) {
  return make_handle<nestline_filter>(error, [&] { return ExpiringFilter(options_of(options)); });
}

NESTLINE_LOADS(nestline_filter, ExpiringFilter::load, nestline_expiring_load,
               nestline_expiring_load_from, nestline_expiring_from_bytes)

bool nestline_expiring_advance(nestline_filter* filter, uint64_t ticks, const char** error) {
  return done(error, [&] { only<ExpiringFilter>(filter).advance(ticks); });
}

bool nestline_expiring_sweep(nestline_filter* filter, size_t blocks, const char** error) {
  return guarded(error, false, [&] { return only<ExpiringFilter>(filter).sweep(blocks); });
}

nestline_expiring_clock* nestline_expiring_clock_create(nestline_filter* filter, uint64_t window,
                                                        const char** error) {
  return guarded<nestline_expiring_clock*>(error, nullptr, [&] {
    ExpiringFilter& one = only<ExpiringFilter>(filter);
    require(window <= std::uint64_t{std::numeric_limits<std::int64_t>::max()},
            "the window is more than 292 years; it is in nanoseconds");
    return new nestline_expiring_clock{
        {one, std::chrono::nanoseconds(static_cast<std::int64_t>(window))}};
  });
}

void nestline_expiring_clock_free(nestline_expiring_clock* clock) { delete clock; }

bool nestline_expiring_clock_catch_up(nestline_expiring_clock* clock, const char** error) {
  return done(error, [&] {
    require(clock != nullptr, "the clock is NULL");
    clock->clock.catch_up();
  });
}

uint64_t nestline_expiring_clock_tick(const nestline_expiring_clock* clock) {
  return clock == nullptr ? 0 : static_cast<uint64_t>(clock->clock.tick().count());
}

NESTLINE_FIGURE(uint64_t, nestline_expiring_now, nestline_filter, now)
NESTLINE_FIGURE(unsigned, nestline_expiring_ttl_ticks, nestline_filter, ttl_ticks)
