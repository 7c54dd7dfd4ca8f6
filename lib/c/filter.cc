// The C functions on whole filters: making, storing, freeing, describing and changing them.
#include "nestline/filter.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "lib/c/handle.h"
#include "lib/c/key_arrays.h"
#include "nestline/io.h"
#include "nestline/keys.h"
#include "nestline/nestline.h"
#include "nestline/version.h"

namespace nestline::c {
namespace {

static_assert(sizeof(nestline_options) == sizeof(std::size_t) + 5 * 8 + 2 * sizeof(int),
              "no padding: a member of a later version must not lie in what is there today");

// What the first programs know of the options: `load` and what follows came later.
constexpr std::size_t kFirstOptions = offsetof(nestline_options, load);

constexpr bool same(nestline_verify_mode ours, Verify theirs) {
  return static_cast<int>(ours) == static_cast<int>(theirs);
}
static_assert(same(NESTLINE_VERIFY_NONE, Verify::none) &&
              same(NESTLINE_VERIFY_LAZILY, Verify::lazily) &&
              same(NESTLINE_VERIFY_ALL, Verify::all));

// The filter's content at one instant.
Filter snapshot(const nestline_filter* filter) {
  return with(filter, [](const auto& one) { return one.snapshot(); });
}

Options options_of(const nestline_options* given) {
  require(given != nullptr, "the options are NULL");
  const std::size_t size = given->struct_size;
  require(size == kFirstOptions || size >= sizeof(nestline_options),
          "options.struct_size is too small: begin with NESTLINE_OPTIONS_INIT");
  require(size <= kMaxStruct, "options.struct_size is too large: begin with NESTLINE_OPTIONS_INIT");
  require_zeros(*given, std::min(size, sizeof(nestline_options)));
  Options options = {.capacity = given->capacity,
                     .fpr = given->fpr,
                     .bits = given->bits,
                     .max_capacity = given->max_capacity,
                     .seed = given->seed};
  if (size > kFirstOptions && given->load != 0) options.load = given->load;
  return options;
}

// A filter of all the keys.
template <class Keys>
nestline_filter* build(const nestline_options* options, const Keys& keys, std::uint8_t* stored,
                       const char** error) {
  return make_handle<nestline_filter>(error, [&] {
    const Options given = options_of(options);
    keys.check_arrays();
    return keys.with_all([&](const KeySpan& all) {
      const std::span<Outcome> outcomes = optional_outcomes(stored, 0, all.size());
      ConcurrentFilter built(Filter::build(given, all, outcomes));
      keep_stored(outcomes);
      return built;
    });
  });
}

// The mapped filter; null for one in memory.
const MappedFilter* mapped_in(const nestline_filter* filter) {
  require_handle(filter);
  return std::get_if<MappedFilter>(&filter->either);
}

}  // namespace
}  // namespace nestline::c

using namespace nestline::c;  // NOLINT(google-build-using-namespace): the names are C's here
using nestline::ConcurrentFilter;
using nestline::MappedFilter;

const char* nestline_version(void) { return NESTLINE_VERSION_STRING; }

bool nestline_register_thread(const char** error) {
  return done(error, [] { nestline::ConcurrentFilter::register_thread(); });
}

nestline_filter* nestline_create(const nestline_options* options, const char** error) {
  return make_handle<nestline_filter>(error, [&] { return ConcurrentFilter(options_of(options)); });
}

NESTLINE_FOR_EACH_ARRAY(nestline_filter*, nestline_build, const nestline_options, build,
                        (uint8_t * stored, const char** error), (stored, error))

nestline_filter* nestline_copy(const nestline_filter* filter, const char** error) {
  return make_handle<nestline_filter>(error, [&] { return ConcurrentFilter(snapshot(filter)); });
}

nestline_filter* nestline_load(const char* path, const char** error) {
  return make_handle<nestline_filter>(
      error, [&] { return ConcurrentFilter(nestline::Filter::load(path_of(path))); });
}

nestline_filter* nestline_map(const char* path, const char** error) {
  return make_handle<nestline_filter>(error, [&] { return MappedFilter::open(path_of(path)); });
}

nestline_filter* nestline_map_with(const char* path, nestline_verify_mode verify,
                                   const char** error) {
  return make_handle<nestline_filter>(error, [&] {
    require(verify == NESTLINE_VERIFY_NONE || verify == NESTLINE_VERIFY_LAZILY ||
                verify == NESTLINE_VERIFY_ALL,
            "verify is none of NESTLINE_VERIFY_NONE, NESTLINE_VERIFY_LAZILY, NESTLINE_VERIFY_ALL");
    return MappedFilter::open(path_of(path), static_cast<nestline::Verify>(verify));
  });
}

nestline_filter* nestline_load_from(nestline_read read, void* context, const char** error) {
  return make_handle<nestline_filter>(
      error, [&] { return ConcurrentFilter(nestline::Filter::load(source_of(read, context))); });
}

nestline_filter* nestline_from_bytes(const void* bytes, size_t size, const char** error) {
  return make_handle<nestline_filter>(
      error, [&] { return ConcurrentFilter(nestline::Filter::load(bytes_given(bytes, size))); });
}

void nestline_free(nestline_filter* filter) { delete filter; }

bool nestline_save(const nestline_filter* filter, const char* path, const char** error) {
  return done(error, [&] {
    const std::filesystem::path target = path_of(path);
    nestline::save(snapshot(filter), target);
  });
}

bool nestline_save_to(const nestline_filter* filter, nestline_write write, void* context,
                      const char** error) {
  return done(error, [&] {
    const auto sink = sink_of(write, context);
    nestline::save(snapshot(filter), sink);
  });
}

void* nestline_to_bytes(const nestline_filter* filter, size_t* size, const char** error) {
  return hand_out_bytes(size, error, [&] { return nestline::to_bytes(snapshot(filter)); });
}

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
  return done(error, [&] { in_memory(filter).clear(); });
}

bool nestline_grow(nestline_filter* filter, const char** error) {
  return done(error, [&] {
    require(in_memory(filter).grow(),
            "the filter cannot grow any more: too few bits of its fingerprints are left");
  });
}

bool nestline_merge(nestline_filter* filter, const nestline_filter* other, const char** error) {
  return done(error, [&] {
    ConcurrentFilter& into = in_memory(filter);
    require(other != nullptr, "the other filter is NULL");
    into.merge(snapshot(other));
  });
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

bool nestline_is_mapped(const nestline_filter* filter) {
  return filter != nullptr && std::holds_alternative<MappedFilter>(filter->either);
}

uint64_t nestline_hash_bytes(const void* key, size_t size, uint64_t seed, const char** error) {
  return guarded<uint64_t>(error, 0,
                           [&] { return nestline::hash_key(bytes_key(key, size), seed).value; });
}
uint64_t nestline_hash_u64(uint64_t key, uint64_t seed) {
  return nestline::hash_key(key, seed).value;
}
