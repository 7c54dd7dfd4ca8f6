// The C functions on maplets: each operation once, for all kinds of keys.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "lib/faces/c/key_arrays.h"

namespace nestline { inline namespace v0_3 { namespace c { namespace {

static_assert(sizeof(nestline_maplet_options) == sizeof(std::size_t) + 4 * 8 + 2 * sizeof(int),
              "no padding: a member of a later version must not lie in what is there today");
static_assert(NESTLINE_MAPLET_MAX_VALUE == Maplet::kMaxValue &&
              NESTLINE_MAPLET_ERASED == Maplet::kErased &&
              NESTLINE_MAPLET_MAX_CANDIDATES == Maplet::kMaxCandidates);

// For a value that is looked for, or part of a batch. Larger ones the library refuses to insert.
std::uint64_t checked(Maplet& maplet, std::uint64_t value) {
  if (value > maplet.max_value()) (void)maplet.insert(Hash{0}, value);  // throws
  return value;
}

MapletOptions options_of(const nestline_maplet_options* given) {
  require_known(given, "options.struct_size is wrong: begin with NESTLINE_MAPLET_OPTIONS_INIT");
  MapletOptions options = {.capacity = given->capacity,
                           .max_capacity = given->max_capacity,
                           .seed = given->seed,
                           .fpr = given->fpr};
  if (given->value_bits != 0) options.value_bits = given->value_bits;
  return options;
}

bool insert(nestline_maplet* maplet, auto&& key, std::uint64_t value, const char** error) {
  return guarded(error, false, [&] {
    const Outcome outcome = only<Maplet>(maplet).insert(key(), value).outcome;
    return is_stored(outcome, kMapletFull, kMapletCopies, error);
  });
}

std::uint64_t find(const nestline_maplet* maplet, auto&& key, std::uint64_t* values,
                   const char** error) {
  return guarded<std::uint64_t>(error, NESTLINE_NO_COUNT, [&] {
    return with(maplet, [&](const auto& one) -> std::uint64_t {
      require(values != nullptr, "the array of values is NULL");
      return one.find(
          key(), std::span<std::uint64_t, Maplet::kMaxCandidates>(values, Maplet::kMaxCandidates));
    });
  });
}

std::uint64_t find_set(const nestline_maplet* maplet, auto&& key, std::uint64_t anywhere,
                       const char** error) {
  return guarded<std::uint64_t>(error, NESTLINE_NO_COUNT, [&] {
    return with(maplet, [&](const auto& one) { return one.find_set(key(), anywhere); });
  });
}

bool replace(nestline_maplet* maplet, auto&& key, std::uint64_t old_value, std::uint64_t new_value,
             const char** error) {
  return guarded(error, false, [&] {
    auto& one = only<Maplet>(maplet);
    return one.replace(key(), checked(one, old_value), new_value);
  });
}

bool erase(nestline_maplet* maplet, auto&& key, std::uint64_t value, const char** error) {
  return guarded(error, false, [&] {
    auto& one = only<Maplet>(maplet);
    return one.erase(key(), checked(one, value));
  });
}

// Shows visit() the maplet, which save copies itself.
void content(const nestline_maplet* maplet, auto&& visit) { visit(only<Maplet>(maplet)); }

}  // namespace
}}}  // namespace nestline::c

using namespace nestline::c;  // NOLINT(google-build-using-namespace): the names are C's here
using nestline::Maplet;

nestline_maplet* nestline_maplet_create(const nestline_maplet_options* options,
                                        const char** error) {
  return make_handle<nestline_maplet>(error, [&] { return Maplet(options_of(options)); });
}

nestline_maplet* nestline_maplet_build(const nestline_maplet_options* options, nestline_keys keys,
                                       const uint64_t* values, const char** error) {
  return make_handle<nestline_maplet>(error, [&] {
    const nestline::MapletOptions given = options_of(options);
    return Keys(keys).with_all([&](const nestline::KeySpan& all) {
      require_array(values, all.size(), "the array of values is NULL");
      return Maplet::build(given, all, std::span(values, all.size()));
    });
  });
}

nestline_maplet* nestline_maplet_snapshot(const nestline_maplet* maplet, const char** error) {
  return make_handle<nestline_maplet>(error, [&] { return only<Maplet>(maplet).snapshot(); });
}

NESTLINE_LOADS(nestline_maplet, Maplet::load, nestline_maplet_load, nestline_maplet_load_from,
               nestline_maplet_from_bytes)
NESTLINE_SAVES(nestline_maplet, content, nestline_maplet_save, nestline_maplet_save_to,
               nestline_maplet_to_bytes)

nestline_maplet* nestline_maplet_map(const char* path, nestline_verify_mode verify,
                                     const char** error) {
  return make_handle<nestline_maplet>(
      error, [&] { return nestline::MappedMaplet::open(path_of(path), verify_of(verify)); });
}

nestline_maplet* nestline_maplet_view(const void* bytes, size_t size, nestline_verify_mode verify,
                                      const char** error) {
  return make_handle<nestline_maplet>(error, [&] {
    return nestline::MappedMaplet::view(bytes_given(bytes, size), verify_of(verify));
  });
}

void nestline_maplet_free(nestline_maplet* maplet) { delete maplet; }

NESTLINE_FOR_EACH_KEY(bool, nestline_maplet_insert_bytes, nestline_maplet_insert_u64,
                      nestline_maplet_insert_hash, nestline_maplet, insert,
                      (uint64_t value, const char** error), (value, error))
NESTLINE_FOR_EACH_KEY(uint64_t, nestline_maplet_find_bytes, nestline_maplet_find_u64,
                      nestline_maplet_find_hash, const nestline_maplet, find,
                      (uint64_t * values, const char** error), (values, error))
NESTLINE_FOR_EACH_KEY(uint64_t, nestline_maplet_find_set_bytes, nestline_maplet_find_set_u64,
                      nestline_maplet_find_set_hash, const nestline_maplet, find_set,
                      (uint64_t anywhere, const char** error), (anywhere, error))
NESTLINE_FOR_EACH_KEY(bool, nestline_maplet_replace_bytes, nestline_maplet_replace_u64,
                      nestline_maplet_replace_hash, nestline_maplet, replace,
                      (uint64_t old_value, uint64_t new_value, const char** error),
                      (old_value, new_value, error))
NESTLINE_FOR_EACH_KEY(bool, nestline_maplet_erase_bytes, nestline_maplet_erase_u64,
                      nestline_maplet_erase_hash, nestline_maplet, erase,
                      (uint64_t value, const char** error), (value, error))

uint64_t nestline_maplet_find_batch(const nestline_maplet* maplet, nestline_keys keys,
                                    uint32_t* first, uint64_t* values, size_t room,
                                    const char** error) {
  return guarded<uint64_t>(error, NESTLINE_NO_COUNT, [&] {
    return with(maplet, [&](const auto& one) {
      const Keys all(keys);
      all.check_all();
      require(first != nullptr, "the array of first positions is NULL");
      require(values != nullptr || room == 0, "the array of values is NULL, but its room is not 0");
      std::vector<uint32_t> starts;
      std::vector<uint64_t> found;
      uint64_t total = 0;
      all.for_each_part([&](std::size_t at, const nestline::KeySpan& part) {
        const std::size_t count = one.find(part, starts, found);
        require(total + count <= UINT32_MAX,
                "there are more than 2^32 candidates: ask for fewer keys at once");
        for (std::size_t i = 0; i < part.size(); ++i) {
          first[at + i] = static_cast<uint32_t>(total + starts[i]);
        }
        if (total < room) {
          const auto begin = static_cast<std::size_t>(total);
          std::copy_n(found.begin(), std::min(count, room - begin), values + begin);
        }
        total += count;
      });
      first[all.size()] = static_cast<uint32_t>(total);
      return total;
    });
  });
}

bool nestline_maplet_find_sets(const nestline_maplet* maplet, nestline_keys keys, uint64_t* sets,
                               uint64_t anywhere, const char** error) {
  return done(error, [&] {
    with(maplet, [&](const auto& one) {
      const Keys all(keys);
      all.check_all();
      require_array(sets, all.size(), "the array of sets is NULL");
      all.for_each_part([&](std::size_t at, const nestline::KeySpan& part) {
        one.find_sets(part, std::span(sets + at, part.size()), anywhere);
      });
    });
  });
}

uint64_t nestline_maplet_insert_batch(nestline_maplet* maplet, nestline_keys keys,
                                      const uint64_t* values, uint8_t* outcomes,
                                      const char** error) {
  return guarded<uint64_t>(error, NESTLINE_NO_COUNT, [&] {
    auto& one = only<Maplet>(maplet);
    const Keys all(keys);
    all.check_all();
    require_array(values, all.size(), "the array of values is NULL");
    for (const uint64_t value : std::span(values, all.size())) checked(one, value);
    uint64_t total = 0;
    all.for_each_part([&](std::size_t at, const nestline::KeySpan& part) {
      total += one.insert(part, std::span(values + at, part.size()),
                          optional_outcomes(outcomes, at, part.size()));
    });
    return total;
  });
}

uint64_t nestline_maplet_erase_value(nestline_maplet* maplet, uint64_t value, const char** error) {
  return guarded<uint64_t>(error, NESTLINE_NO_COUNT, [&] {
    auto& one = only<Maplet>(maplet);
    return one.erase_value(checked(one, value));
  });
}

uint64_t nestline_maplet_rename(nestline_maplet* maplet, const uint64_t* table, size_t entries,
                                const char** error) {
  return guarded<uint64_t>(error, NESTLINE_NO_COUNT, [&] {
    auto& one = only<Maplet>(maplet);
    require(table != nullptr || entries == 0, "the table is NULL");
    return one.rename(std::span(table, entries));
  });
}

bool nestline_maplet_merge(nestline_maplet* maplet, const nestline_maplet* other,
                           const char** error) {
  return done(error, [&] {
    auto& into = only<Maplet>(maplet);
    require(other != nullptr, "the other maplet is NULL");
    into.merge(only<Maplet>(other));
  });
}

bool nestline_maplet_grow(nestline_maplet* maplet, const char** error) {
  return done(error, [&] {
    require(only<Maplet>(maplet).grow(), "the maplet has doubled as often as it can");
  });
}

bool nestline_maplet_fit(nestline_maplet* maplet, unsigned* times, const char** error) {
  return done(error, [&] {
    const unsigned count = only<Maplet>(maplet).fit();
    if (times != nullptr) *times = count;
  });
}

bool nestline_maplet_for_each(const nestline_maplet* maplet, nestline_maplet_value show,
                              void* context, const char** error) {
  return visited(error, [&] {
    require(show != nullptr, "the function that takes values is NULL");
    only<Maplet>(maplet).for_each([&](std::uint64_t value) {
      if (!show(context, value)) throw Stop();
    });
  });
}

NESTLINE_FIGURE(int, nestline_maplet_value_bits, nestline_maplet, value_bits)
NESTLINE_FIGURE(int, nestline_maplet_bits, nestline_maplet, bits)
NESTLINE_FIGURE(uint64_t, nestline_maplet_max_value, nestline_maplet, max_value)
NESTLINE_FIGURE(uint64_t, nestline_maplet_anywhere, nestline_maplet, anywhere)
NESTLINE_FIGURE(size_t, nestline_maplet_max_copies, nestline_maplet, max_copies)
NESTLINE_FIGURE(uint64_t, nestline_maplet_size, nestline_maplet, size)
NESTLINE_FIGURE(uint64_t, nestline_maplet_capacity, nestline_maplet, capacity)
NESTLINE_FIGURE(uint64_t, nestline_maplet_max_capacity, nestline_maplet, max_capacity)
NESTLINE_FIGURE(unsigned, nestline_maplet_growth, nestline_maplet, growth)
NESTLINE_FIGURE(double, nestline_maplet_load_factor, nestline_maplet, load_factor)
NESTLINE_FIGURE(double, nestline_maplet_expected_false_candidates, nestline_maplet,
                expected_false_candidates)
NESTLINE_FIGURE(uint64_t, nestline_maplet_seed, nestline_maplet, seed)
NESTLINE_FIGURE(size_t, nestline_maplet_memory_bytes, nestline_maplet, memory_bytes)

bool nestline_maplet_is_mapped(const nestline_maplet* maplet) {
  return maplet != nullptr && std::holds_alternative<nestline::MappedMaplet>(maplet->kind);
}
