// The C functions on whole filters: making, storing, freeing, describing and changing them.
#include "nestline/filter.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

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

// A handle of `filter`, which make() returns.
template <typename Make>
nestline_filter* make_handle(const char** error, Make&& make) {
  return guarded<nestline_filter*>(error, nullptr, [&] { return new nestline_filter{{make()}}; });
}

// The filter's content at one instant.
Filter snapshot(const nestline_filter* filter) {
  return with_filter(filter, [](const auto& one) { return one.snapshot(); });
}

Options options_of(const nestline_options* given) {
  require(given != nullptr, "the options are NULL");
  const std::size_t size = given->struct_size;
  require(size == kFirstOptions || size >= sizeof(nestline_options),
          "options.struct_size is too small: begin with NESTLINE_OPTIONS_INIT");
  require(size <= 4096, "options.struct_size is too large: begin with NESTLINE_OPTIONS_INIT");
  // Members of a later version: this one cannot do what they ask.
  const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
  require(std::all_of(bytes + std::min(size, sizeof(nestline_options)), bytes + size,
                      [](unsigned char byte) { return byte == 0; }) &&
              given->reserved == 0,
          "the options ask for something that this version of the library does not know");
  Options options = {.capacity = given->capacity,
                     .fpr = given->fpr,
                     .bits = given->bits,
                     .max_capacity = given->max_capacity,
                     .seed = given->seed};
  if (size > kFirstOptions && given->load != 0) options.load = given->load;
  return options;
}

// A handle of a filter of all the keys.
template <class Keys>
nestline_filter* build(const nestline_options* options, const Keys& keys, std::uint8_t* stored,
                       const char** error) {
  return make_handle(error, [&] {
    const Options given = options_of(options);
    keys.check_arrays();
    return keys.with_all([&](const KeySpan& all) {
      return ConcurrentFilter(Filter::build(given, all, optional_part(stored, 0, all.size())));
    });
  });
}

std::filesystem::path path_of(const char* path) {
  require(path != nullptr, "the path is NULL");
  return path;
}

// Calls a function that cannot fail, unless the filter is NULL.
template <typename Visitor>
auto describe(const nestline_filter* filter, Visitor&& visitor) noexcept {
  using Answer = decltype(with_filter(filter, visitor));
  return filter == nullptr ? Answer{} : with_filter(filter, visitor);
}

}  // namespace
}  // namespace nestline::c

using namespace nestline::c;  // NOLINT(google-build-using-namespace): the names are C's here

const char* nestline_version(void) { return NESTLINE_VERSION_STRING; }

bool nestline_register_thread(const char** error) {
  return guarded(error, false, [] {
    nestline::ConcurrentFilter::register_thread();
    return true;
  });
}

nestline_filter* nestline_create(const nestline_options* options, const char** error) {
  return make_handle(error, [&] { return nestline::ConcurrentFilter(options_of(options)); });
}

nestline_filter* nestline_build_bytes(const nestline_options* options, const void* const* keys,
                                      const size_t* sizes, size_t count, uint8_t* stored,
                                      const char** error) {
  return build(options, BytesKeys(keys, sizes, count), stored, error);
}
nestline_filter* nestline_build_u64(const nestline_options* options, const uint64_t* keys,
                                    size_t count, uint8_t* stored, const char** error) {
  return build(options, Integers(keys, count), stored, error);
}
nestline_filter* nestline_build_hash(const nestline_options* options, const uint64_t* hashes,
                                     size_t count, uint8_t* stored, const char** error) {
  return build(options, Hashes(hashes, count), stored, error);
}

nestline_filter* nestline_copy(const nestline_filter* filter, const char** error) {
  return make_handle(error, [&] { return nestline::ConcurrentFilter(snapshot(filter)); });
}

nestline_filter* nestline_load(const char* path, const char** error) {
  return make_handle(error,
                     [&] { return nestline::ConcurrentFilter(nestline::load(path_of(path))); });
}

nestline_filter* nestline_map(const char* path, const char** error) {
  return make_handle(error, [&] { return nestline::MappedFilter::open(path_of(path)); });
}

nestline_filter* nestline_map_with(const char* path, nestline_verify_mode verify,
                                   const char** error) {
  return make_handle(error, [&] {
    require(verify == NESTLINE_VERIFY_NONE || verify == NESTLINE_VERIFY_LAZILY ||
                verify == NESTLINE_VERIFY_ALL,
            "verify is none of NESTLINE_VERIFY_NONE, NESTLINE_VERIFY_LAZILY, NESTLINE_VERIFY_ALL");
    return nestline::MappedFilter::open(path_of(path), static_cast<nestline::Verify>(verify));
  });
}

nestline_filter* nestline_load_from(nestline_read read, void* context, const char** error) {
  return make_handle(error, [&] {
    require(read != nullptr, "the function that reads is NULL");
    return nestline::ConcurrentFilter(nestline::load([&](std::span<std::byte> to) {
      const std::size_t count = read(context, to.data(), to.size());
      require(count != NESTLINE_READ_FAILED, "the function that reads has failed");
      return count;
    }));
  });
}

nestline_filter* nestline_from_bytes(const void* bytes, size_t size, const char** error) {
  return make_handle(error, [&] {
    require(bytes != nullptr || size == 0, "the bytes are NULL");
    require(size <= kMostMemory, "the size of the bytes is more than memory can hold");
    const std::span given(static_cast<const std::byte*>(bytes), size);
    return nestline::ConcurrentFilter(nestline::from_bytes(given));
  });
}

void nestline_free(nestline_filter* filter) { delete filter; }

bool nestline_save(const nestline_filter* filter, const char* path, const char** error) {
  return guarded(error, false, [&] {
    const std::filesystem::path target = path_of(path);
    nestline::save(snapshot(filter), target);
    return true;
  });
}

bool nestline_save_to(const nestline_filter* filter, nestline_write write, void* context,
                      const char** error) {
  return guarded(error, false, [&] {
    require(write != nullptr, "the function that writes is NULL");
    nestline::save(snapshot(filter), [&](std::span<const std::byte> bytes) {
      require(write(context, bytes.data(), bytes.size()), "the function that writes has failed");
    });
    return true;
  });
}

void* nestline_to_bytes(const nestline_filter* filter, size_t* size, const char** error) {
  return guarded<void*>(error, nullptr, [&] {
    require(size != nullptr, "the pointer to the size is NULL");
    const std::vector<std::byte> bytes = nestline::to_bytes(snapshot(filter));
    void* const copy = std::malloc(bytes.size());
    if (copy == nullptr) throw std::bad_alloc();
    std::memcpy(copy, bytes.data(), bytes.size());
    *size = bytes.size();
    return copy;
  });
}

void nestline_free_bytes(void* bytes) { std::free(bytes); }

bool nestline_verify(const nestline_filter* filter, const char** error) {
  return guarded(error, false, [&] {
    require(filter != nullptr, "the filter is NULL");
    const auto* const mapped = std::get_if<nestline::MappedFilter>(&filter->either);
    require(mapped != nullptr,
            "only a filter that answers from a mapped file can be verified; one in memory was "
            "checked when it was loaded");
    mapped->verify();
    return true;
  });
}

bool nestline_undamaged(const nestline_filter* filter, const char** error) {
  return guarded(error, false, [&] {
    require(filter != nullptr, "the filter is NULL");
    const auto* const mapped = std::get_if<nestline::MappedFilter>(&filter->either);
    const auto damage = mapped == nullptr ? std::nullopt : mapped->damage();
    if (damage) throw *damage;
    return true;
  });
}

bool nestline_clear(nestline_filter* filter, const char** error) {
  return guarded(error, false, [&] {
    changeable(filter).clear();
    return true;
  });
}

bool nestline_grow(nestline_filter* filter, const char** error) {
  return guarded(error, false, [&] {
    require(changeable(filter).grow(),
            "the filter cannot grow any more: too few bits of its fingerprints are left");
    return true;
  });
}

bool nestline_merge(nestline_filter* filter, const nestline_filter* other, const char** error) {
  return guarded(error, false, [&] {
    nestline::ConcurrentFilter& into = changeable(filter);
    require(other != nullptr, "the other filter is NULL");
    into.merge(snapshot(other));
    return true;
  });
}

uint64_t nestline_size(const nestline_filter* filter) {
  return describe(filter, [](const auto& one) { return one.size(); });
}
uint64_t nestline_slots(const nestline_filter* filter) {
  return describe(filter, [](const auto& one) { return one.slots(); });
}
uint64_t nestline_capacity(const nestline_filter* filter) {
  return describe(filter, [](const auto& one) { return one.capacity(); });
}
uint64_t nestline_max_capacity(const nestline_filter* filter) {
  return describe(filter, [](const auto& one) { return one.max_capacity(); });
}
unsigned nestline_growth(const nestline_filter* filter) {
  return describe(filter, [](const auto& one) { return one.growth(); });
}
double nestline_load_factor(const nestline_filter* filter) {
  return describe(filter, [](const auto& one) { return one.load_factor(); });
}
double nestline_expected_fpr(const nestline_filter* filter) {
  return describe(filter, [](const auto& one) { return one.expected_fpr(); });
}
int nestline_bits(const nestline_filter* filter) {
  return describe(filter, [](const auto& one) { return one.bits(); });
}
uint64_t nestline_seed(const nestline_filter* filter) {
  return describe(filter, [](const auto& one) { return one.seed(); });
}
size_t nestline_memory_bytes(const nestline_filter* filter) {
  return describe(filter, [](const auto& one) { return one.memory_bytes(); });
}
bool nestline_is_mapped(const nestline_filter* filter) {
  return filter != nullptr && std::holds_alternative<nestline::MappedFilter>(filter->either);
}

uint64_t nestline_hash_bytes(const void* key, size_t size, uint64_t seed, const char** error) {
  return guarded<uint64_t>(error, 0,
                           [&] { return nestline::hash_key(bytes_key(key, size), seed).value; });
}
uint64_t nestline_hash_u64(uint64_t key, uint64_t seed) {
  return nestline::hash_key(key, seed).value;
}
