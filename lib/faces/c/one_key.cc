// The C functions on one key: each operation once, for all kinds of keys.
#include <cstdint>

#include "lib/faces/c/handle.h"

namespace nestline { inline namespace v0_3 { namespace c { namespace {

template <class... Kinds, typename Change>
bool change(nestline_filter* filter, const char** error, Change&& make) {
  return guarded(error, false, [&] {
    return is_stored(with<Kinds...>(filter, make).outcome, kFull, kCopies, error);
  });
}

bool insert(nestline_filter* filter, auto&& key, const char** error) {
  return change<ConcurrentFilter, ExpiringFilter>(filter, error,
                                                  [&](auto& one) { return one.insert(key()); });
}

bool insert_for(nestline_filter* filter, auto&& key, unsigned life, const char** error) {
  return change<ExpiringFilter>(filter, error, [&](auto& one) { return one.insert(key(), life); });
}

bool insert_unique(nestline_filter* filter, auto&& key, const char** error) {
  return change<ConcurrentFilter>(filter, error,
                                  [&](auto& one) { return one.insert_unique(key()); });
}

bool may_contain(const nestline_filter* filter, auto&& key, const char** error) {
  return guarded(error, true, [&] {
    return with(filter, [&](const auto& one) { return one.may_contain(key()); });
  });
}

std::uint64_t prepare(const nestline_filter* filter, auto&& key, const char** error) {
  return guarded<std::uint64_t>(error, 0, [&] {
    return with(filter, [&](const auto& one) { return one.prepare(key()).value; });
  });
}

std::uint64_t count(const nestline_filter* filter, auto&& key, const char** error) {
  return guarded<std::uint64_t>(error, NESTLINE_NO_COUNT, [&] {
    return with<ConcurrentFilter, MappedFilter>(filter,
                                                [&](const auto& one) { return one.count(key()); });
  });
}

std::uint64_t remaining_ticks(const nestline_filter* filter, auto&& key, const char** error) {
  return guarded<std::uint64_t>(error, NESTLINE_NO_COUNT, [&] {
    return only<ExpiringFilter>(filter).remaining_ticks(key());
  });
}

bool erase(nestline_filter* filter, auto&& key, const char** error) {
  return guarded(error, false, [&] { return only<ConcurrentFilter>(filter).erase(key()); });
}

}  // namespace
}}}  // namespace nestline::c

using namespace nestline::c;  // NOLINT(google-build-using-namespace): the names are C's here
using nestline::ConcurrentFilter;
using nestline::Hash;

NESTLINE_FOR_EACH_KEY(bool, nestline_insert_bytes, nestline_insert_u64, nestline_insert_hash,
                      nestline_filter, insert, (const char** error), (error))
NESTLINE_FOR_EACH_KEY(bool, nestline_expiring_insert_for_bytes, nestline_expiring_insert_for_u64,
                      nestline_expiring_insert_for_hash, nestline_filter, insert_for,
                      (unsigned life, const char** error), (life, error))
NESTLINE_FOR_EACH_KEY(bool, nestline_insert_unique_bytes, nestline_insert_unique_u64,
                      nestline_insert_unique_hash, nestline_filter, insert_unique,
                      (const char** error), (error))
NESTLINE_FOR_EACH_KEY(bool, nestline_may_contain_bytes, nestline_may_contain_u64,
                      nestline_may_contain_hash, const nestline_filter, may_contain,
                      (const char** error), (error))
NESTLINE_FOR_EACH_KEY(uint64_t, nestline_prepare_bytes, nestline_prepare_u64, nestline_prepare_hash,
                      const nestline_filter, prepare, (const char** error), (error))
NESTLINE_FOR_EACH_KEY(uint64_t, nestline_count_bytes, nestline_count_u64, nestline_count_hash,
                      const nestline_filter, count, (const char** error), (error))
NESTLINE_FOR_EACH_KEY(uint64_t, nestline_expiring_remaining_ticks_bytes,
                      nestline_expiring_remaining_ticks_u64, nestline_expiring_remaining_ticks_hash,
                      const nestline_filter, remaining_ticks, (const char** error), (error))
NESTLINE_FOR_EACH_KEY(bool, nestline_erase_bytes, nestline_erase_u64, nestline_erase_hash,
                      nestline_filter, erase, (const char** error), (error))

bool nestline_update_bytes(nestline_filter* filter, const void* old_key, size_t old_size,
                           const void* new_key, size_t new_size, const char** error) {
  return change<ConcurrentFilter>(filter, error, [&](auto& one) {
    return one.update(bytes_key(old_key, old_size), bytes_key(new_key, new_size));
  });
}
bool nestline_update_u64(nestline_filter* filter, uint64_t old_key, uint64_t new_key,
                         const char** error) {
  return change<ConcurrentFilter>(filter, error,
                                  [&](auto& one) { return one.update(old_key, new_key); });
}
bool nestline_update_hash(nestline_filter* filter, uint64_t old_hash, uint64_t new_hash,
                          const char** error) {
  return change<ConcurrentFilter>(
      filter, error, [&](auto& one) { return one.update(Hash{old_hash}, Hash{new_hash}); });
}

nestline_outcome nestline_outcome_of(bool stored, const char* error) {
  if (stored) return NESTLINE_STORED;
  if (error == nullptr) return NESTLINE_PRESENT;
  if (error == kFull || error == kMapletFull) return NESTLINE_FULL;
  return error == kCopies || error == kMapletCopies ? NESTLINE_TOO_MANY_COPIES : NESTLINE_ERROR;
}
