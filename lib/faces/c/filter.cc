// The C functions on whole filters: making, storing, freeing, describing and changing them.
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <type_traits>
#include <variant>

#include "lib/faces/c/key_arrays.h"
#include "nestline/pass_rate.h"

namespace nestline { inline namespace v0_3 { namespace c { namespace {

static_assert(sizeof(nestline_options) == sizeof(std::size_t) + 6 * 8 + 4 * sizeof(int),
              "no padding: a member of a later version must not lie in what is there today");

static_assert(same(NESTLINE_MERGE_ALL, Copies::all) && same(NESTLINE_MERGE_MOST, Copies::most) &&
              same(NESTLINE_MERGE_THAT_FIT, Copies::that_fit));

static_assert(same(NESTLINE_STORED, Outcome::stored) && same(NESTLINE_PRESENT, Outcome::present) &&
              same(NESTLINE_FULL, Outcome::full) &&
              same(NESTLINE_TOO_MANY_COPIES, Outcome::too_many_copies));

Options options_of(const nestline_options* given) {
  require_known(given, "options.struct_size is wrong: begin with NESTLINE_OPTIONS_INIT",
                offsetof(nestline_options, shrink_below));
  require(given->turns_over == 0 || given->turns_over == 1,
          "options.turns_over must be 0 or 1: begin with NESTLINE_OPTIONS_INIT");
  Options options = {.capacity = given->capacity,
                     .fpr = given->fpr,
                     .bits = given->bits,
                     .max_capacity = given->max_capacity,
                     .seed = given->seed,
                     .turns_over = given->turns_over == 1};
  if (given->load != 0) options.load = given->load;
  if (given->struct_size < sizeof(*given)) return options;
  require(given->may_fold == 0 || given->may_fold == 1,
          "options.may_fold must be 0 or 1: begin with NESTLINE_OPTIONS_INIT");
  options.may_fold = given->may_fold == 1;
  options.shrink_below = given->shrink_below;
  return options;
}

// Shows visit() what can be saved: a mapped filter's copy.
void content(const nestline_filter* filter, auto&& visit) {
  with(filter, [&](const auto& one) {
    if constexpr (std::is_same_v<decltype(one), const MappedFilter&>) {
      visit(one.snapshot());
    } else {
      visit(one);
    }
  });
}

Filter copy_of(const nestline_filter* filter) {
  return with<ConcurrentFilter, MappedFilter>(filter,
                                              [](const auto& one) { return one.snapshot(); });
}

const MappedFilter* mapped_in(const nestline_filter* filter) {
  require_handle(filter);
  return std::get_if<MappedFilter>(&filter->kind);
}

}  // namespace
}}}  // namespace nestline::c

using namespace nestline::c;  // NOLINT(google-build-using-namespace): the names are C's here
using nestline::ConcurrentFilter;
using nestline::ExpiringFilter;
using nestline::Filter;
using nestline::MappedFilter;

const char* nestline_version(void) { return NESTLINE_VERSION_STRING; }

bool nestline_register_thread(const char** error) {
  return done(error, [] { nestline::ConcurrentFilter::register_thread(); });
}

nestline_filter* nestline_create(const nestline_options* options, const char** error) {
  return make_handle<nestline_filter>(error, [&] { return ConcurrentFilter(options_of(options)); });
}

nestline_filter* nestline_build(const nestline_options* options, nestline_keys keys,
                                uint8_t* outcomes, const char** error) {
  return make_handle<nestline_filter>(error, [&] {
    const nestline::Options given = options_of(options);
    return Keys(keys).with_all([&](const nestline::KeySpan& all) {
      return ConcurrentFilter(
          Filter::build(given, all, optional_outcomes(outcomes, 0, all.size())));
    });
  });
}

nestline_filter* nestline_snapshot(const nestline_filter* filter, const char** error) {
  return guarded<nestline_filter*>(error, nullptr, [&] {
    return with(filter, [](const auto& one) {
      if constexpr (std::is_same_v<decltype(one), const ExpiringFilter&>) {
        return new nestline_filter{one.snapshot()};
      } else {
        return new nestline_filter{ConcurrentFilter(one.snapshot())};
      }
    });
  });
}

NESTLINE_LOADS(nestline_filter, ConcurrentFilter::load, nestline_load, nestline_load_from,
               nestline_from_bytes)
NESTLINE_SAVES(nestline_filter, content, nestline_save, nestline_save_to, nestline_to_bytes)

nestline_filter* nestline_map(const char* path, nestline_verify_mode verify, const char** error) {
  return make_handle<nestline_filter>(
      error, [&] { return MappedFilter::open(path_of(path), verify_of(verify)); });
}

nestline_filter* nestline_view(const void* bytes, size_t size, nestline_verify_mode verify,
                               const char** error) {
  return make_handle<nestline_filter>(
      error, [&] { return MappedFilter::view(bytes_given(bytes, size), verify_of(verify)); });
}

void nestline_free(nestline_filter* filter) { delete filter; }

void nestline_free_bytes(void* bytes) { std::free(bytes); }

bool nestline_verify(const nestline_filter* filter, const char** error) {
  return done(error, [&] {
    const MappedFilter* const mapped = mapped_in(filter);
    require(mapped != nullptr,
            "only a filter that answers from a mapped file can be verified; one in memory was "
            "checked when it was loaded");
    mapped->verify();
  });
}

bool nestline_undamaged(const nestline_filter* filter, const char** error) {
  return done(error, [&] {
    const MappedFilter* const mapped = mapped_in(filter);
    const auto damage = mapped == nullptr ? std::nullopt : mapped->damage();
    if (damage) throw *damage;
  });
}

bool nestline_clear(nestline_filter* filter, const char** error) {
  return done(error, [&] {
    with<ConcurrentFilter, ExpiringFilter>(filter, [](auto& one) { one.clear(); });
  });
}

bool nestline_grow(nestline_filter* filter, const char** error) {
  return done(error, [&] {
    require(only<ConcurrentFilter>(filter).grow(),
            "the filter cannot grow any more: too few bits of its fingerprints are left");
  });
}

bool nestline_shrink(nestline_filter* filter, const char** error) {
  return done(error, [&] {
    require(only<ConcurrentFilter>(filter).shrink(),
            "the filter cannot shrink: it has not doubled, its keys need the room, or it has too "
            "many copies of a key");
  });
}

bool nestline_fit(nestline_filter* filter, unsigned* times, const char** error) {
  return done(error, [&] {
    const unsigned count = only<ConcurrentFilter>(filter).fit();
    if (times != nullptr) *times = count;
  });
}

bool nestline_merge(nestline_filter* filter, const nestline_filter* other, nestline_copies copies,
                    uint64_t* left_out, const char** error) {
  return done(error, [&] {
    auto& into = only<ConcurrentFilter>(filter);
    require(other != nullptr, "the other filter is NULL");
    require(copies == NESTLINE_MERGE_ALL || copies == NESTLINE_MERGE_MOST ||
                copies == NESTLINE_MERGE_THAT_FIT,
            "copies is none of NESTLINE_MERGE_ALL, NESTLINE_MERGE_MOST, NESTLINE_MERGE_THAT_FIT");
    const uint64_t left = into.merge(copy_of(other), static_cast<nestline::Copies>(copies));
    if (left_out != nullptr) *left_out = left;
  });
}

bool nestline_may_overlap(const nestline_filter* filter, const nestline_filter* other,
                          const char** error) {
  return guarded(error, true, [&] { return copy_of(filter).may_overlap(copy_of(other)); });
}

bool nestline_count_common(const nestline_filter* filter, const nestline_filter* other,
                           nestline_overlap* overlap, const char** error) {
  return done(error, [&] {
    require(overlap != nullptr, "overlap is NULL");
    const auto [matches, by_chance, estimate, standard_error] =
        copy_of(filter).count_common(copy_of(other));
    *overlap = {matches, by_chance, estimate, standard_error};
  });
}

static_assert(std::is_trivially_copyable_v<nestline::PassRate> &&
              sizeof(nestline::PassRate) == sizeof(nestline_pass_rate));

bool nestline_asks_next(nestline_pass_rate* rate, uint64_t keys) {
  if (rate == nullptr) return true;
  auto counts = std::bit_cast<nestline::PassRate>(*rate);
  const bool asks = counts.asks_next(keys);
  *rate = std::bit_cast<nestline_pass_rate>(counts);
  return asks;
}

void nestline_note_passed(nestline_pass_rate* rate, uint64_t asked, uint64_t passed) {
  if (rate == nullptr) return;
  auto counts = std::bit_cast<nestline::PassRate>(*rate);
  counts.note(asked, passed);
  *rate = std::bit_cast<nestline_pass_rate>(counts);
}

NESTLINE_FIGURE(uint64_t, nestline_size, nestline_filter, size)
NESTLINE_FIGURE(uint64_t, nestline_slots, nestline_filter, slots)
NESTLINE_FIGURE(uint64_t, nestline_capacity, nestline_filter, capacity)
NESTLINE_FIGURE(uint64_t, nestline_max_capacity, nestline_filter, max_capacity)
NESTLINE_FIGURE(unsigned, nestline_growth, nestline_filter, growth)
NESTLINE_FIGURE(double, nestline_load_factor, nestline_filter, load_factor)
NESTLINE_FIGURE(double, nestline_expected_fpr, nestline_filter, expected_fpr)
NESTLINE_FIGURE(int, nestline_bits, nestline_filter, bits)
NESTLINE_FIGURE(uint64_t, nestline_seed, nestline_filter, seed)
NESTLINE_FIGURE(size_t, nestline_memory_bytes, nestline_filter, memory_bytes)
NESTLINE_FIGURE(bool, nestline_turns_over, nestline_filter, turns_over)
NESTLINE_FIGURE(bool, nestline_can_shrink, nestline_filter, can_shrink)

bool nestline_is_mapped(const nestline_filter* filter) {
  return filter != nullptr && std::holds_alternative<MappedFilter>(filter->kind);
}

uint64_t nestline_capacity_for(uint64_t bytes, double fpr, const char** error) {
  return guarded<uint64_t>(error, NESTLINE_NO_COUNT,
                           [&] { return nestline::capacity_for(bytes, fpr); });
}

uint64_t nestline_bytes_for(const nestline_options* options, const char** error) {
  return guarded<uint64_t>(error, NESTLINE_NO_COUNT,
                           [&] { return nestline::bytes_for(options_of(options)); });
}

uint64_t nestline_hash_bytes(const void* key, size_t size, uint64_t seed, const char** error) {
  return guarded<uint64_t>(error, 0,
                           [&] { return nestline::hash_key(bytes_key(key, size), seed).value; });
}
uint64_t nestline_hash_u64(uint64_t key, uint64_t seed) {
  return nestline::hash_key(key, seed).value;
}
