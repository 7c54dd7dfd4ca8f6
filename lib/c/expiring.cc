// The C functions on expiring filters and their clocks: each operation once, for all kinds of keys.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "lib/c/batch_lookups.h"
#include "lib/c/handle.h"
#include "lib/c/key_arrays.h"
#include "nestline/expiring_filter.h"
#include "nestline/keys.h"
#include "nestline/nestline.h"
#include "nestline/nestline_expiring.h"

struct nestline_expiring_clock {
  nestline::ExpiringClock clock;
};

namespace nestline::c {
namespace {

static_assert(sizeof(nestline_expiring_options) == sizeof(std::size_t) + 4 * 8 + 2 * sizeof(int),
              "no padding: a member of a later version must not lie in what is there today");

// The life that C++ takes for that of the filter.
constexpr unsigned kWholeLife = ExpiringFilter::kMaxLife;

constexpr bool follows(Outcome theirs, nestline_outcome ours) {
  return static_cast<int>(theirs) == static_cast<int>(ours);
}
static_assert(follows(Outcome::stored, NESTLINE_STORED) &&
              follows(Outcome::present, NESTLINE_PRESENT) && follows(Outcome::full, NESTLINE_FULL));

ExpiringOptions options_of(const nestline_expiring_options* given) {
  require(given != nullptr, "the options are NULL");
  require_known(*given, "options.struct_size is wrong: begin with NESTLINE_EXPIRING_OPTIONS_INIT");
  ExpiringOptions options = {
      .capacity = given->capacity, .fpr = given->fpr, .bits = given->bits, .seed = given->seed};
  if (given->life != 0) options.life = given->life;
  if (given->load != 0) options.load = given->load;
  return options;
}

template <typename MakeKey>
bool insert_for(nestline_expiring* filter, MakeKey&& key, unsigned life, const char** error) {
  return guarded(error, false, [&] {
    return is_stored(in_memory(filter).insert(key(), life).outcome, kFull, kCopies, error);
  });
}

template <typename MakeKey>
bool may_contain(const nestline_expiring* filter, MakeKey&& key, const char** error) {
  return guarded(error, true, [&] { return in_memory(filter).may_contain(key()); });
}

template <typename MakeKey>
std::uint64_t left(const nestline_expiring* filter, MakeKey&& key, const char** error) {
  return guarded<std::uint64_t>(error, NESTLINE_NO_COUNT,
                                [&] { return in_memory(filter).left(key()); });
}

template <class Keys>
std::uint64_t insert_batch_for(nestline_expiring* filter, const Keys& keys, unsigned life,
                               std::uint8_t* outcomes, const char** error) {
  return guarded<std::uint64_t>(error, NESTLINE_NO_COUNT, [&] {
    ExpiringFilter& one = in_memory(filter);
    check_keys(keys);
    std::uint64_t total = 0;
    keys.for_each_part([&](std::size_t first, const KeySpan& part) {
      total += one.insert(part, life, optional_outcomes(outcomes, first, part.size()));
    });
    return total;
  });
}

}  // namespace
}  // namespace nestline::c

using namespace nestline::c;  // NOLINT(google-build-using-namespace): the names are C's here
using nestline::ExpiringFilter;

nestline_expiring* nestline_expiring_create(const nestline_expiring_options* options,
                                            const char** error) {
  return make_handle<nestline_expiring>(error, [&] { return ExpiringFilter(options_of(options)); });
}

nestline_expiring* nestline_expiring_load(const char* path, const char** error) {
  return make_handle<nestline_expiring>(
      error, [&] { return nestline::ExpiringFilter::load(path_of(path)); });
}

nestline_expiring* nestline_expiring_load_from(nestline_read read, void* context,
                                               const char** error) {
  return make_handle<nestline_expiring>(
      error, [&] { return nestline::ExpiringFilter::load(source_of(read, context)); });
}

nestline_expiring* nestline_expiring_from_bytes(const void* bytes, size_t size,
                                                const char** error) {
  return make_handle<nestline_expiring>(
      error, [&] { return nestline::ExpiringFilter::load(bytes_given(bytes, size)); });
}

void nestline_expiring_free(nestline_expiring* filter) { delete filter; }

bool nestline_expiring_save(const nestline_expiring* filter, const char* path, const char** error) {
  return done(error, [&] { nestline::save(in_memory(filter), path_of(path)); });
}

bool nestline_expiring_save_to(const nestline_expiring* filter, nestline_write write, void* context,
                               const char** error) {
  return done(error, [&] {
    const auto sink = sink_of(write, context);
    nestline::save(in_memory(filter), sink);
  });
}

void* nestline_expiring_to_bytes(const nestline_expiring* filter, size_t* size,
                                 const char** error) {
  return hand_out_bytes(size, error, [&] {
    std::vector<std::byte> bytes;
    nestline::save(in_memory(filter), [&](std::span<const std::byte> piece) {
      bytes.insert(bytes.end(), piece.begin(), piece.end());
    });
    return bytes;
  });
}

bool nestline_expiring_advance(nestline_expiring* filter, uint64_t ticks, const char** error) {
  return done(error, [&] { in_memory(filter).advance(ticks); });
}

bool nestline_expiring_clear(nestline_expiring* filter, const char** error) {
  return done(error, [&] { in_memory(filter).clear(); });
}

bool nestline_expiring_sweep(nestline_expiring* filter, size_t blocks, const char** error) {
  return guarded(error, false, [&] { return in_memory(filter).sweep(blocks); });
}

nestline_expiring_clock* nestline_expiring_clock_create(nestline_expiring* filter, uint64_t window,
                                                        const char** error) {
  return guarded<nestline_expiring_clock*>(error, nullptr, [&] {
    ExpiringFilter& one = in_memory(filter);
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

NESTLINE_FOR_EACH_KEY(bool, nestline_expiring_insert, nestline_expiring, insert_for,
                      (const char** error), (kWholeLife, error))
NESTLINE_FOR_EACH_KEY(bool, nestline_expiring_insert_for, nestline_expiring, insert_for,
                      (unsigned life, const char** error), (life, error))
NESTLINE_FOR_EACH_KEY(bool, nestline_expiring_may_contain, const nestline_expiring, may_contain,
                      (const char** error), (error))
NESTLINE_FOR_EACH_KEY(uint64_t, nestline_expiring_left, const nestline_expiring, left,
                      (const char** error), (error))

NESTLINE_FOR_EACH_ARRAY(uint64_t, nestline_expiring_insert_batch, nestline_expiring,
                        insert_batch_for, (uint8_t * outcomes, const char** error),
                        (kWholeLife, outcomes, error))
NESTLINE_FOR_EACH_ARRAY(uint64_t, nestline_expiring_insert_batch_for, nestline_expiring,
                        insert_batch_for, (unsigned life, uint8_t* outcomes, const char** error),
                        (life, outcomes, error))
NESTLINE_FOR_EACH_ARRAY(uint64_t, nestline_expiring_may_contain_batch, const nestline_expiring,
                        may_contain_batch, (uint8_t * out, const char** error), (out, error))
NESTLINE_FOR_EACH_ARRAY(uint64_t, nestline_expiring_may_contain_bits, const nestline_expiring,
                        may_contain_bits, (uint64_t * bitmap, const char** error), (bitmap, error))
NESTLINE_FOR_EACH_ARRAY(uint64_t, nestline_expiring_select, const nestline_expiring, select_batch,
                        (uint32_t * positions, const char** error), (positions, error))
NESTLINE_FOR_EACH_ARRAY(uint64_t, nestline_expiring_select_from, const nestline_expiring,
                        select_from,
                        (const uint32_t* selection, size_t selected, uint32_t* positions,
                         const char** error),
                        (selection, selected, positions, error))

NESTLINE_FIGURE(uint64_t, nestline_expiring_now, nestline_expiring, now)
NESTLINE_FIGURE(uint64_t, nestline_expiring_size, nestline_expiring, size)
NESTLINE_FIGURE(uint64_t, nestline_expiring_capacity, nestline_expiring, capacity)
NESTLINE_FIGURE(unsigned, nestline_expiring_life, nestline_expiring, life)
NESTLINE_FIGURE(int, nestline_expiring_bits, nestline_expiring, bits)
NESTLINE_FIGURE(uint64_t, nestline_expiring_slots, nestline_expiring, slots)
NESTLINE_FIGURE(double, nestline_expiring_load_factor, nestline_expiring, load_factor)
NESTLINE_FIGURE(double, nestline_expiring_expected_fpr, nestline_expiring, expected_fpr)
NESTLINE_FIGURE(uint64_t, nestline_expiring_seed, nestline_expiring, seed)
NESTLINE_FIGURE(size_t, nestline_expiring_memory_bytes, nestline_expiring, memory_bytes)
