// The C functions on stores.
#include <chrono>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include "lib/faces/c/key_arrays.h"
#include "nestline/nestline_store.h"
#include "nestline/store_files.h"

struct nestline_store {
  nestline::Store store;
};

struct nestline_store_batch {
  nestline::Store::Batch batch;
};

namespace nestline { inline namespace v0_3 { namespace c { namespace {

static_assert(sizeof(nestline_store_options) == sizeof(std::size_t) + 3 * 8 + 6 * 4 &&
                  sizeof(nestline_store_counts) == sizeof(std::size_t) + 16 * 8 &&
                  sizeof(nestline_store_report) == sizeof(std::size_t) + 6 * 8,
              "no padding: a member of a later version must not lie in what is there today");

static_assert(same(NESTLINE_SYNC_NEVER, Sync::never) &&
              same(NESTLINE_SYNC_INTERVAL, Sync::interval) && same(NESTLINE_SYNC_EACH, Sync::each));

auto& store_of(auto* store) {
  require(store != nullptr, "the store is NULL");
  return store->store;
}
auto& batch_of(auto* batch) {
  require(batch != nullptr, "the batch is NULL");
  return batch->batch;
}

std::string_view value_bytes(const void* value, std::size_t size) {
  require(value != nullptr || size == 0, "the value is NULL, but its size is not 0");
  require(size <= kMaxMemory, "the size of the value is more than memory can hold");
  return {static_cast<const char*>(value), size};
}

bool flag(int given) {
  require(given == 0 || given == 1, "create, read_only and verify_reads are 0 or 1");
  return given == 1;
}

StoreOptions options_of(const nestline_store_options* given) {
  if (given == nullptr) return {};
  require_known(given, "options.struct_size is wrong: begin with NESTLINE_STORE_OPTIONS_INIT");
  require(given->sync >= NESTLINE_SYNC_NEVER && given->sync <= NESTLINE_SYNC_EACH,
          "options.sync is none of NESTLINE_SYNC_NEVER, NESTLINE_SYNC_INTERVAL, "
          "NESTLINE_SYNC_EACH");
  return {.create = flag(given->create),
          .read_only = flag(given->read_only),
          .sync = static_cast<Sync>(given->sync),
          .sync_interval = std::chrono::milliseconds(given->sync_interval_ms),
          .segment_bytes = given->segment_bytes,
          .expected_records = given->expected_records,
          .compact_above = given->compact_above,
          .verify_reads = flag(given->verify_reads)};
}

void hand_out_report(const StoreReport& report, nestline_store_report* to,
                     nestline_store_problem with, void* context) {
  if (to != nullptr) {
    hand_out({.struct_size = 0,
              .problems = report.problems.size(),
              .records = report.records,
              .bytes = report.bytes,
              .cut_bytes = report.cut_bytes,
              .cut_records = report.cut_records,
              .lost_bytes = report.lost_bytes},
             to, "report.struct_size is wrong: set it to sizeof(nestline_store_report)");
  }
  if (with == nullptr) return;
  for (const std::string& problem : report.problems) with(context, problem.c_str());
}

}  // namespace
}}}  // namespace nestline::c

using namespace nestline::c;  // NOLINT(google-build-using-namespace): the names are C's here
using nestline::Store;

nestline_store* nestline_store_open(const char* path, const nestline_store_options* options,
                                    const char** error) {
  return guarded<nestline_store*>(error, nullptr, [&] {
    return new nestline_store{Store::open(path_of(path), options_of(options))};
  });
}

void nestline_store_close(nestline_store* store) { delete store; }

void* nestline_store_get(const nestline_store* store, const void* key, size_t size,
                         size_t* value_size, const char** error) {
  return guarded<void*>(error, nullptr, [&]() -> void* {
    require(value_size != nullptr, "the pointer to the size is NULL");
    char* copy = nullptr;
    const bool found = store_of(store).get(bytes_key(key, size), [&](std::string_view value) {
      copy = copied(value);
      if (copy != nullptr) *value_size = value.size();
    });
    return found ? require_memory(copy) : nullptr;
  });
}

bool nestline_store_get_into(const nestline_store* store, const void* key, size_t size, void* value,
                             size_t room, size_t* value_size, const char** error) {
  return guarded(error, false, [&] {
    require(value_size != nullptr, "the pointer to the size is NULL");
    require(value != nullptr || room == 0, "the value is NULL, but its room is not 0");
    return store_of(store).get(bytes_key(key, size), [&](std::string_view bytes) {
      bytes.copy(static_cast<char*>(value), room);
      *value_size = bytes.size();
    });
  });
}

bool nestline_store_contains(const nestline_store* store, const void* key, size_t size,
                             const char** error) {
  return guarded(error, false, [&] { return store_of(store).contains(bytes_key(key, size)); });
}

uint64_t nestline_store_get_batch(const nestline_store* store, nestline_keys keys,
                                  nestline_store_value with, void* context, const char** error) {
  return guarded<uint64_t>(error, NESTLINE_NO_COUNT, [&] {
    const Store& one = store_of(store);
    require(with != nullptr, "the function that takes values is NULL");
    const Keys all(keys);
    require(all.are_bytes(), "the keys of a store are bytes");
    all.check_all();
    uint64_t found = 0;
    all.for_each_strings([&](std::size_t first, std::span<const std::string_view> part) {
      found += one.get(part, [&](std::size_t i, std::string_view value) {
        with(context, first + i, value.data(), value.size());
      });
    });
    return found;
  });
}

bool nestline_store_put(nestline_store* store, const void* key, size_t size, const void* value,
                        size_t value_size, const char** error) {
  return done(error,
              [&] { store_of(store).put(bytes_key(key, size), value_bytes(value, value_size)); });
}

bool nestline_store_insert_unique(nestline_store* store, const void* key, size_t size,
                                  const void* value, size_t value_size, const char** error) {
  return guarded(error, false, [&] {
    return static_cast<bool>(
        store_of(store).insert_unique(bytes_key(key, size), value_bytes(value, value_size)));
  });
}

bool nestline_store_erase(nestline_store* store, const void* key, size_t size, const char** error) {
  return guarded(error, false, [&] { return store_of(store).erase(bytes_key(key, size)); });
}

nestline_store_batch* nestline_store_batch_create(const char** error) {
  return guarded<nestline_store_batch*>(error, nullptr, [] { return new nestline_store_batch; });
}

void nestline_store_batch_free(nestline_store_batch* batch) { delete batch; }

bool nestline_store_batch_put(nestline_store_batch* batch, const void* key, size_t size,
                              const void* value, size_t value_size, const char** error) {
  return done(error,
              [&] { batch_of(batch).put(bytes_key(key, size), value_bytes(value, value_size)); });
}

bool nestline_store_batch_erase(nestline_store_batch* batch, const void* key, size_t size,
                                const char** error) {
  return done(error, [&] { batch_of(batch).erase(bytes_key(key, size)); });
}

void nestline_store_batch_clear(nestline_store_batch* batch) {
  if (batch != nullptr) batch->batch.clear();
}

size_t nestline_store_batch_size(const nestline_store_batch* batch) {
  return batch == nullptr ? 0 : batch->batch.size();
}

bool nestline_store_write(nestline_store* store, const nestline_store_batch* batch,
                          const char** error) {
  return done(error, [&] {
    Store& one = store_of(store);
    one.write(batch_of(batch));
  });
}

bool nestline_store_for_each(const nestline_store* store, nestline_store_record with, void* context,
                             const char** error) {
  return visited(error, [&] {
    const Store& one = store_of(store);
    require(with != nullptr, "the function that takes records is NULL");
    one.for_each([&](std::string_view key, std::string_view value) {
      if (!with(context, key.data(), key.size(), value.data(), value.size())) throw Stop();
    });
  });
}

bool nestline_store_sync(nestline_store* store, const char** error) {
  return done(error, [&] { store_of(store).sync(); });
}
bool nestline_store_compact(nestline_store* store, const char** error) {
  return done(error, [&] { store_of(store).compact(); });
}
bool nestline_store_checkpoint(nestline_store* store, const char** error) {
  return done(error, [&] { store_of(store).checkpoint(); });
}
bool nestline_store_refresh(nestline_store* store, const char** error) {
  return guarded(error, false, [&] { return store_of(store).refresh(); });
}

uint64_t nestline_store_size(const nestline_store* store, const char** error) {
  return guarded<uint64_t>(error, NESTLINE_NO_COUNT, [&] { return store_of(store).size(); });
}

bool nestline_store_stats(const nestline_store* store, nestline_store_counts* counts,
                          const char** error) {
  return done(error, [&] {
    const Store& one = store_of(store);
    require(counts != nullptr, "the counts are NULL");
    const nestline::StoreStats stats = one.stats();
    const nestline_store_counts made = {.struct_size = 0,
                                        .records = stats.records,
                                        .live_bytes = stats.live_bytes,
                                        .dead_bytes = stats.dead_bytes,
                                        .segments = stats.segments,
                                        .index_bytes = stats.index_bytes,
                                        .index_slots = stats.index_slots,
                                        .overflow_keys = stats.overflow_keys,
                                        .reads = stats.reads,
                                        .false_reads = stats.false_reads,
                                        .lookups = stats.lookups,
                                        .found = stats.found,
                                        .syncs = stats.syncs,
                                        .replayed_records = stats.replayed_records,
                                        .cut_bytes = stats.cut_bytes,
                                        .cut_records = stats.cut_records,
                                        .index_doublings_left = stats.index_doublings_left};
    hand_out(made, counts, "counts.struct_size is wrong: set it to sizeof(nestline_store_counts)");
  });
}

char* nestline_store_background_error(const nestline_store* store, const char** error) {
  return guarded<char*>(error, nullptr, [&]() -> char* {
    const std::string sentence = store_of(store).stats().background_error;
    if (sentence.empty()) return nullptr;
    return require_memory(copied(sentence));
  });
}

uint64_t nestline_store_put_file(nestline_store* store, const void* name, size_t size,
                                 nestline_read read, void* context, uint64_t piece_bytes,
                                 bool lines, const char** error) {
  return guarded<uint64_t>(error, NESTLINE_NO_COUNT, [&] {
    Store& one = store_of(store);
    const auto source = source_of(read, context);
    nestline::FilePieces pieces;
    if (piece_bytes != 0) pieces.bytes = piece_bytes;
    pieces.lines = lines;
    return nestline::put_file(one, bytes_key(name, size), source, pieces);
  });
}

bool nestline_store_get_file(const nestline_store* store, const void* name, size_t size,
                             nestline_write write, void* context, const char** error) {
  return guarded(error, false, [&] {
    const Store& one = store_of(store);
    const auto sink = sink_of(write, context);
    return nestline::get_file(one, bytes_key(name, size), sink);
  });
}

bool nestline_store_erase_file(nestline_store* store, const void* name, size_t size,
                               const char** error) {
  return guarded(error, false,
                 [&] { return nestline::erase_file(store_of(store), bytes_key(name, size)); });
}

bool nestline_store_files(const nestline_store* store, nestline_store_file with, void* context,
                          const char** error) {
  return visited(error, [&] {
    const Store& one = store_of(store);
    require(with != nullptr, "the function that takes files is NULL");
    for (const nestline::StoredFile& file : nestline::list_files(one)) {
      if (!with(context, file.name.data(), file.name.size(), file.bytes, file.pieces)) throw Stop();
    }
  });
}

bool nestline_store_verify(const char* path, nestline_store_report* report,
                           nestline_store_problem with, void* context, const char** error) {
  return done(error, [&] {
    const nestline::StoreReport found = nestline::verify_store(path_of(path));
    hand_out_report(found, report, with, context);
    if (!found.ok()) throw nestline::StoreError(found.problems.front());
  });
}

bool nestline_store_repair(const char* path, nestline_store_report* report,
                           nestline_store_problem with, void* context, const char** error) {
  return done(error, [&] {
    hand_out_report(nestline::repair_store(path_of(path)), report, with, context);
  });
}
