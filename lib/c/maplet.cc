// The C functions on maplets: each operation once, for all kinds of keys.
#include "nestline/maplet.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "lib/c/handle.h"
#include "lib/c/key_arrays.h"
#include "lib/c/outcomes.h"
#include "lib/c/struct_size.h"
#include "nestline/nestline.h"

struct nestline_maplet {
  std::variant<nestline::Maplet, nestline::MappedMaplet> either;
};

namespace nestline::c {
namespace {

static_assert(sizeof(nestline_maplet_options) == sizeof(std::size_t) + 3 * 8,
              "no padding: a member of a later version must not lie in what is there today");
static_assert(NESTLINE_MAPLET_MAX_VALUE == Maplet::kMaxValue &&
              NESTLINE_MAPLET_MOST_CANDIDATES == Maplet::kMostCandidates);

constexpr const char* kNull = "the maplet is NULL";

// Returns visitor(maplet), where the maplet has one of the two types.
template <typename Visitor>
auto with_maplet(const nestline_maplet* maplet, Visitor&& visitor) {
  require(maplet != nullptr, kNull);
  return std::visit(std::forward<Visitor>(visitor), maplet->either);
}

// The maplet, if it is in memory.
const Maplet& in_memory(const nestline_maplet* maplet) {
  require(maplet != nullptr, kNull);
  const auto* const one = std::get_if<Maplet>(&maplet->either);
  require(one != nullptr,
          "the maplet answers from a mapped file, which can only be asked; load the file to do "
          "more");
  return *one;
}
Maplet& in_memory(nestline_maplet* maplet) {
  return const_cast<Maplet&>(in_memory(static_cast<const nestline_maplet*>(maplet)));
}

std::uint64_t checked(std::uint64_t value) {
  require(value <= Maplet::kMaxValue, "the value is above NESTLINE_MAPLET_MAX_VALUE");
  return value;
}

template <typename Make>
nestline_maplet* make_handle(const char** error, Make&& make) {
  return guarded<nestline_maplet*>(error, nullptr, [&] { return new nestline_maplet{{make()}}; });
}

MapletOptions options_of(const nestline_maplet_options* given) {
  require(given != nullptr, "the options are NULL");
  require_known(*given, "options.struct_size is wrong: begin with NESTLINE_MAPLET_OPTIONS_INIT");
  return {.capacity = given->capacity, .max_capacity = given->max_capacity, .seed = given->seed};
}

std::filesystem::path path_of(const char* path) {
  require(path != nullptr, "the path is NULL");
  return path;
}

// Calls a function that cannot fail with a maplet in memory; otherwise its answer is 0.
template <typename Visitor>
auto describe(const nestline_maplet* maplet, Visitor&& visitor) noexcept {
  using Answer = decltype(visitor(std::declval<const Maplet&>()));
  const auto* const one = maplet == nullptr ? nullptr : std::get_if<Maplet>(&maplet->either);
  return one == nullptr ? Answer{} : visitor(*one);
}

// The same with a maplet of either type.
template <typename Visitor>
auto describe_either(const nestline_maplet* maplet, Visitor&& visitor) noexcept {
  using Answer = decltype(visitor(std::declval<const Maplet&>()));
  return maplet == nullptr ? Answer{} : std::visit(visitor, maplet->either);
}

template <typename MakeKey>
bool insert(nestline_maplet* maplet, std::uint64_t value, const char** error, MakeKey&& key) {
  return guarded(error, false, [&] {
    const Outcome outcome = in_memory(maplet).insert(key(), checked(value)).outcome;
    if (outcome == Outcome::full) set_error(error, kMapletFull);
    if (outcome == Outcome::copies) set_error(error, kMapletCopies);
    return outcome == Outcome::stored;
  });
}

template <typename MakeKey>
std::uint64_t find(const nestline_maplet* maplet, std::uint64_t* values, const char** error,
                   MakeKey&& key) {
  return guarded<std::uint64_t>(error, NESTLINE_NO_COUNT, [&]() -> std::uint64_t {
    require(maplet != nullptr, kNull);
    require(values != nullptr, "the array of values is NULL");
    const std::span<std::uint64_t, Maplet::kMostCandidates> to(values, Maplet::kMostCandidates);
    return with_maplet(maplet, [&](const auto& one) { return one.find(key(), to); });
  });
}

template <typename MakeKey>
bool replace(nestline_maplet* maplet, std::uint64_t old_value, std::uint64_t new_value,
             const char** error, MakeKey&& key) {
  return guarded(error, false, [&] {
    return in_memory(maplet).replace(key(), checked(old_value), checked(new_value));
  });
}

template <typename MakeKey>
bool erase(nestline_maplet* maplet, std::uint64_t value, const char** error, MakeKey&& key) {
  return guarded(error, false, [&] { return in_memory(maplet).erase(key(), checked(value)); });
}

template <class Keys>
void check_keys(const Keys& keys) {
  keys.check_arrays();
  for (std::size_t i = 0; i < keys.size(); ++i) keys.check_key(i);
}

template <class Keys>
std::uint64_t find_batch(const nestline_maplet* maplet, const Keys& keys, std::uint32_t* first,
                         std::uint64_t* values, std::size_t room, const char** error) {
  return guarded<std::uint64_t>(error, NESTLINE_NO_COUNT, [&] {
    return with_maplet(maplet, [&](const auto& one) {
      check_keys(keys);
      require(first != nullptr, "the array of first positions is NULL");
      require(values != nullptr || room == 0, "the array of values is NULL, but its room is not 0");
      std::vector<std::uint32_t> starts;
      std::vector<std::uint64_t> found;
      std::uint64_t total = 0;
      keys.for_each_part([&](std::size_t at, const KeySpan& part) {
        const std::size_t count = one.find(part, starts, found);
        require(total + count <= std::numeric_limits<std::uint32_t>::max(),
                "there are more than 2^32 candidates: ask for fewer keys at once");
        for (std::size_t i = 0; i < part.size(); ++i) {
          first[at + i] = static_cast<std::uint32_t>(total + starts[i]);
        }
        if (total < room) {
          const std::size_t begin = static_cast<std::size_t>(total);
          std::copy_n(found.begin(), std::min(count, room - begin), values + begin);
        }
        total += count;
      });
      first[keys.size()] = static_cast<std::uint32_t>(total);
      return total;
    });
  });
}

template <class Keys>
std::uint64_t insert_batch(nestline_maplet* maplet, const Keys& keys, const std::uint64_t* values,
                           std::uint8_t* stored, const char** error) {
  return guarded<std::uint64_t>(error, NESTLINE_NO_COUNT, [&] {
    Maplet& one = in_memory(maplet);
    check_keys(keys);
    require_array(values, keys.size(), "the array of values is NULL");
    for (std::size_t i = 0; i < keys.size(); ++i) checked(values[i]);
    std::uint64_t total = 0;
    keys.for_each_part([&](std::size_t at, const KeySpan& part) {
      const std::span theirs(values + at, part.size());
      total += one.insert(part, theirs, optional_part(stored, at, part.size()));
    });
    return total;
  });
}

}  // namespace
}  // namespace nestline::c

using namespace nestline::c;  // NOLINT(google-build-using-namespace): the names are C's here
using nestline::Hash;
using nestline::Maplet;

nestline_maplet* nestline_maplet_create(const nestline_maplet_options* options,
                                        const char** error) {
  return make_handle(error, [&] { return Maplet(options_of(options)); });
}

nestline_maplet* nestline_maplet_copy(const nestline_maplet* maplet, const char** error) {
  return make_handle(error, [&] { return in_memory(maplet).snapshot(); });
}

nestline_maplet* nestline_maplet_load(const char* path, const char** error) {
  return make_handle(error, [&] { return nestline::load_maplet(path_of(path)); });
}

nestline_maplet* nestline_maplet_map(const char* path, const char** error) {
  return make_handle(error, [&] { return nestline::MappedMaplet(path_of(path)); });
}

nestline_maplet* nestline_maplet_load_from(nestline_read read, void* context, const char** error) {
  return make_handle(error, [&] {
    require(read != nullptr, "the function that reads is NULL");
    return nestline::load_maplet([&](std::span<std::byte> to) {
      const std::size_t count = read(context, to.data(), to.size());
      require(count != NESTLINE_READ_FAILED, "the function that reads has failed");
      return count;
    });
  });
}

void nestline_maplet_free(nestline_maplet* maplet) { delete maplet; }

bool nestline_maplet_save(const nestline_maplet* maplet, const char* path, const char** error) {
  return guarded(error, false, [&] {
    nestline::save(in_memory(maplet), path_of(path));
    return true;
  });
}

bool nestline_maplet_save_to(const nestline_maplet* maplet, nestline_write write, void* context,
                             const char** error) {
  return guarded(error, false, [&] {
    require(write != nullptr, "the function that writes is NULL");
    nestline::save(in_memory(maplet), [&](std::span<const std::byte> bytes) {
      require(write(context, bytes.data(), bytes.size()), "the function that writes has failed");
    });
    return true;
  });
}

bool nestline_maplet_insert_bytes(nestline_maplet* maplet, const void* key, size_t size,
                                  uint64_t value, const char** error) {
  return insert(maplet, value, error, [&] { return bytes_key(key, size); });
}
bool nestline_maplet_insert_u64(nestline_maplet* maplet, uint64_t key, uint64_t value,
                                const char** error) {
  return insert(maplet, value, error, [&] { return key; });
}
bool nestline_maplet_insert_hash(nestline_maplet* maplet, uint64_t hash, uint64_t value,
                                 const char** error) {
  return insert(maplet, value, error, [&] { return Hash{hash}; });
}

uint64_t nestline_maplet_find_bytes(const nestline_maplet* maplet, const void* key, size_t size,
                                    uint64_t* values, const char** error) {
  return find(maplet, values, error, [&] { return bytes_key(key, size); });
}
uint64_t nestline_maplet_find_u64(const nestline_maplet* maplet, uint64_t key, uint64_t* values,
                                  const char** error) {
  return find(maplet, values, error, [&] { return key; });
}
uint64_t nestline_maplet_find_hash(const nestline_maplet* maplet, uint64_t hash, uint64_t* values,
                                   const char** error) {
  return find(maplet, values, error, [&] { return Hash{hash}; });
}

bool nestline_maplet_replace_bytes(nestline_maplet* maplet, const void* key, size_t size,
                                   uint64_t old_value, uint64_t new_value, const char** error) {
  return replace(maplet, old_value, new_value, error, [&] { return bytes_key(key, size); });
}
bool nestline_maplet_replace_u64(nestline_maplet* maplet, uint64_t key, uint64_t old_value,
                                 uint64_t new_value, const char** error) {
  return replace(maplet, old_value, new_value, error, [&] { return key; });
}
bool nestline_maplet_replace_hash(nestline_maplet* maplet, uint64_t hash, uint64_t old_value,
                                  uint64_t new_value, const char** error) {
  return replace(maplet, old_value, new_value, error, [&] { return Hash{hash}; });
}

bool nestline_maplet_erase_bytes(nestline_maplet* maplet, const void* key, size_t size,
                                 uint64_t value, const char** error) {
  return erase(maplet, value, error, [&] { return bytes_key(key, size); });
}
bool nestline_maplet_erase_u64(nestline_maplet* maplet, uint64_t key, uint64_t value,
                               const char** error) {
  return erase(maplet, value, error, [&] { return key; });
}
bool nestline_maplet_erase_hash(nestline_maplet* maplet, uint64_t hash, uint64_t value,
                                const char** error) {
  return erase(maplet, value, error, [&] { return Hash{hash}; });
}

uint64_t nestline_maplet_find_batch_bytes(const nestline_maplet* maplet, const void* const* keys,
                                          const size_t* sizes, size_t count, uint32_t* first,
                                          uint64_t* values, size_t room, const char** error) {
  return find_batch(maplet, BytesKeys(keys, sizes, count), first, values, room, error);
}
uint64_t nestline_maplet_find_batch_u64(const nestline_maplet* maplet, const uint64_t* keys,
                                        size_t count, uint32_t* first, uint64_t* values,
                                        size_t room, const char** error) {
  return find_batch(maplet, Integers(keys, count), first, values, room, error);
}
uint64_t nestline_maplet_find_batch_hash(const nestline_maplet* maplet, const uint64_t* hashes,
                                         size_t count, uint32_t* first, uint64_t* values,
                                         size_t room, const char** error) {
  return find_batch(maplet, Hashes(hashes, count), first, values, room, error);
}

uint64_t nestline_maplet_insert_batch_bytes(nestline_maplet* maplet, const void* const* keys,
                                            const size_t* sizes, size_t count,
                                            const uint64_t* values, uint8_t* stored,
                                            const char** error) {
  return insert_batch(maplet, BytesKeys(keys, sizes, count), values, stored, error);
}
uint64_t nestline_maplet_insert_batch_u64(nestline_maplet* maplet, const uint64_t* keys,
                                          size_t count, const uint64_t* values, uint8_t* stored,
                                          const char** error) {
  return insert_batch(maplet, Integers(keys, count), values, stored, error);
}
uint64_t nestline_maplet_insert_batch_hash(nestline_maplet* maplet, const uint64_t* hashes,
                                           size_t count, const uint64_t* values, uint8_t* stored,
                                           const char** error) {
  return insert_batch(maplet, Hashes(hashes, count), values, stored, error);
}

bool nestline_maplet_grow(nestline_maplet* maplet, const char** error) {
  return guarded(error, false, [&] {
    require(in_memory(maplet).grow(), "the maplet has doubled as often as it can");
    return true;
  });
}

bool nestline_maplet_for_each(const nestline_maplet* maplet, nestline_maplet_value with,
                              void* context, const char** error) {
  struct Stop {};
  return guarded(error, false, [&] {
    require(with != nullptr, "the function that takes values is NULL");
    try {
      in_memory(maplet).for_each([&](std::uint64_t value) {
        if (!with(context, value)) throw Stop();
      });
    } catch (const Stop&) {
      return false;
    }
    return true;
  });
}

uint64_t nestline_maplet_size(const nestline_maplet* maplet) {
  return describe_either(maplet, [](const auto& one) { return one.size(); });
}
uint64_t nestline_maplet_capacity(const nestline_maplet* maplet) {
  return describe_either(maplet, [](const auto& one) { return one.capacity(); });
}
uint64_t nestline_maplet_max_capacity(const nestline_maplet* maplet) {
  return describe(maplet, [](const Maplet& one) { return one.max_capacity(); });
}
unsigned nestline_maplet_growth(const nestline_maplet* maplet) {
  return describe(maplet, [](const Maplet& one) { return one.growth(); });
}
double nestline_maplet_load_factor(const nestline_maplet* maplet) {
  return describe(maplet, [](const Maplet& one) { return one.load_factor(); });
}
double nestline_maplet_expected_false_candidates(const nestline_maplet* maplet) {
  return describe(maplet, [](const Maplet& one) { return one.expected_false_candidates(); });
}
uint64_t nestline_maplet_seed(const nestline_maplet* maplet) {
  return describe_either(maplet, [](const auto& one) { return one.seed(); });
}
size_t nestline_maplet_memory_bytes(const nestline_maplet* maplet) {
  return describe_either(maplet, [](const auto& one) { return one.memory_bytes(); });
}
bool nestline_maplet_is_mapped(const nestline_maplet* maplet) {
  return maplet != nullptr && std::holds_alternative<nestline::MappedMaplet>(maplet->either);
}
