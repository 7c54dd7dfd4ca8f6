// The C functions on one key: each operation once, for all kinds of keys.
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "lib/c/handle.h"
#include "lib/c/outcomes.h"
#include "nestline/filter.h"
#include "nestline/keys.h"
#include "nestline/nestline.h"

namespace nestline::c {
namespace {

// Calls change(filter), which returns an Inserted. It makes the keys first.
template <typename Change>
bool insert(nestline_filter* filter, const char** error, Change&& change) {
  return guarded(error, false, [&] {
    const Outcome outcome = change(changeable(filter)).outcome;
    if (outcome == Outcome::full) set_error(error, kFull);
    if (outcome == Outcome::copies) set_error(error, kCopies);
    return outcome == Outcome::stored;
  });
}

template <typename MakeKey>
bool may_contain(const nestline_filter* filter, const char** error, MakeKey&& key) {
  return guarded(error, true, [&] {
    return with_filter(filter, [&](const auto& one) { return one.may_contain(key()); });
  });
}

template <typename MakeKey>
std::uint64_t prepare(const nestline_filter* filter, const char** error, MakeKey&& key) {
  return guarded<std::uint64_t>(error, 0, [&] {
    return with_filter(filter, [&](const auto& one) { return one.prepare(key()).value; });
  });
}

template <typename MakeKey>
std::uint64_t count(const nestline_filter* filter, const char** error, MakeKey&& key) {
  return guarded<std::uint64_t>(error, NESTLINE_NO_COUNT, [&] {
    return with_filter(filter, [&](const auto& one) { return one.count(key()); });
  });
}

template <typename MakeKey>
bool erase(nestline_filter* filter, const char** error, MakeKey&& key) {
  return guarded(error, false, [&] { return changeable(filter).erase(key()); });
}

}  // namespace
}  // namespace nestline::c

using namespace nestline::c;  // NOLINT(google-build-using-namespace): the names are C's here
using nestline::Hash;

bool nestline_insert_bytes(nestline_filter* filter, const void* key, size_t size,
                           const char** error) {
  return insert(filter, error, [&](auto& one) { return one.insert(bytes_key(key, size)); });
}
bool nestline_insert_u64(nestline_filter* filter, uint64_t key, const char** error) {
  return insert(filter, error, [&](auto& one) { return one.insert(key); });
}
bool nestline_insert_hash(nestline_filter* filter, uint64_t hash, const char** error) {
  return insert(filter, error, [&](auto& one) { return one.insert(Hash{hash}); });
}

bool nestline_insert_unique_bytes(nestline_filter* filter, const void* key, size_t size,
                                  const char** error) {
  return insert(filter, error, [&](auto& one) { return one.insert_unique(bytes_key(key, size)); });
}
bool nestline_insert_unique_u64(nestline_filter* filter, uint64_t key, const char** error) {
  return insert(filter, error, [&](auto& one) { return one.insert_unique(key); });
}
bool nestline_insert_unique_hash(nestline_filter* filter, uint64_t hash, const char** error) {
  return insert(filter, error, [&](auto& one) { return one.insert_unique(Hash{hash}); });
}

bool nestline_update_bytes(nestline_filter* filter, const void* old_key, size_t old_size,
                           const void* new_key, size_t new_size, const char** error) {
  return insert(filter, error, [&](auto& one) {
    return one.update(bytes_key(old_key, old_size), bytes_key(new_key, new_size));
  });
}
bool nestline_update_u64(nestline_filter* filter, uint64_t old_key, uint64_t new_key,
                         const char** error) {
  return insert(filter, error, [&](auto& one) { return one.update(old_key, new_key); });
}
bool nestline_update_hash(nestline_filter* filter, uint64_t old_hash, uint64_t new_hash,
                          const char** error) {
  return insert(filter, error,
                [&](auto& one) { return one.update(Hash{old_hash}, Hash{new_hash}); });
}

nestline_outcome nestline_outcome_of(bool stored, const char* error) {
  if (stored) return NESTLINE_STORED;
  if (error == nullptr) return NESTLINE_PRESENT;
  if (error == kFull || error == kMapletFull) return NESTLINE_FULL;
  return error == kCopies || error == kMapletCopies ? NESTLINE_COPIES : NESTLINE_ERROR;
}

bool nestline_may_contain_bytes(const nestline_filter* filter, const void* key, size_t size,
                                const char** error) {
  return may_contain(filter, error, [&] { return bytes_key(key, size); });
}
bool nestline_may_contain_u64(const nestline_filter* filter, uint64_t key, const char** error) {
  return may_contain(filter, error, [&] { return key; });
}
bool nestline_may_contain_hash(const nestline_filter* filter, uint64_t hash, const char** error) {
  return may_contain(filter, error, [&] { return Hash{hash}; });
}

uint64_t nestline_prepare_bytes(const nestline_filter* filter, const void* key, size_t size,
                                const char** error) {
  return prepare(filter, error, [&] { return bytes_key(key, size); });
}
uint64_t nestline_prepare_u64(const nestline_filter* filter, uint64_t key, const char** error) {
  return prepare(filter, error, [&] { return key; });
}
uint64_t nestline_prepare_hash(const nestline_filter* filter, uint64_t hash, const char** error) {
  return prepare(filter, error, [&] { return Hash{hash}; });
}

uint64_t nestline_count_bytes(const nestline_filter* filter, const void* key, size_t size,
                              const char** error) {
  return count(filter, error, [&] { return bytes_key(key, size); });
}
uint64_t nestline_count_u64(const nestline_filter* filter, uint64_t key, const char** error) {
  return count(filter, error, [&] { return key; });
}
uint64_t nestline_count_hash(const nestline_filter* filter, uint64_t hash, const char** error) {
  return count(filter, error, [&] { return Hash{hash}; });
}

bool nestline_erase_bytes(nestline_filter* filter, const void* key, size_t size,
                          const char** error) {
  return erase(filter, error, [&] { return bytes_key(key, size); });
}
bool nestline_erase_u64(nestline_filter* filter, uint64_t key, const char** error) {
  return erase(filter, error, [&] { return key; });
}
bool nestline_erase_hash(nestline_filter* filter, uint64_t hash, const char** error) {
  return erase(filter, error, [&] { return Hash{hash}; });
}
