#include "lib/redis/server/data_type.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <utility>

#include "lib/redis/server/info_section.h"
#include "lib/redis/server/rdb.h"

namespace nestline::redis {
namespace {

Type* registered = nullptr;

const CuckooValue& value_of(const void* value) { return **static_cast<const KeptValue*>(value); }

// Null when there is no value, or no memory.
void* keep(std::unique_ptr<CuckooValue> value) {
  if (!value) return nullptr;
  try {
    void* const kept = new KeptValue(std::move(value));
    ++counters.values;
    return kept;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void* load_value(Io* io, int encoding_version) {
  void* const kept = keep(load(io, encoding_version));
  if (kept == nullptr) ++counters.refused_payloads;
  return kept;
}

// Only ending the process stops a save when memory runs out. A file without this value would be
// taken for a complete one.
void save_value(Io* io, void* value) noexcept { save(io, value_of(value)); }

void rewrite(Io* io, String* key, void* value) noexcept {
  for (std::uint64_t iterator = 0;;) {
    const Chunk chunk = value_of(value).dump_chunk(iterator);
    if (chunk.next == 0) break;
    api.EmitAOF(io, "CF.LOADCHUNK", "slb", key, static_cast<long long>(chunk.next),
                reinterpret_cast<const char*>(chunk.bytes.data()), chunk.bytes.size());
    iterator = chunk.next;
  }
}

std::size_t memory_of(const void* value) { return value_of(value).memory_bytes(); }

void add_to_digest(Digest* digest, void* value) noexcept {
  const std::uint64_t number = value_of(value).digest();
  std::array<char, sizeof number> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(number >> 8 * i);
  api.DigestAddStringBuffer(digest, bytes.data(), bytes.size());
  api.DigestEndSequence(digest);
}

// Also called by the server's thread for freeing. Nothing else uses the value then but batches, the
// last of which frees it.
void free_value(void* value) {
  delete static_cast<KeptValue*>(value);
  --counters.values;
}

std::size_t effort_of(String*, const void* value) { return value_of(value).free_effort(); }

void* copy_value(String*, String*, const void* value) {
  try {
    return keep(value_of(value).copy());
  } catch (const std::exception&) {
    return nullptr;  // COPY then answers with an error
  }
}

}  // namespace

Type* data_type() { return registered; }

bool register_data_type(Context* context) {
  TypeMethods methods = {};
  methods.version = kTypeMethodsVersion;
  methods.rdb_load = load_value;
  methods.rdb_save = save_value;
  methods.aof_rewrite = rewrite;
  methods.mem_usage = memory_of;
  methods.digest = add_to_digest;
  methods.free = free_value;
  methods.free_effort = effort_of;
  methods.copy = copy_value;
  registered = api.CreateDataType(context, "MBbloomCF", kEncodingVersion, &methods);
  if (registered == nullptr) {
    api.Log(context, "warning", "this server refuses the data type MBbloomCF");
  }
  return registered != nullptr;
}

}  // namespace nestline::redis
