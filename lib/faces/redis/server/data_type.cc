// The data type of filters in the server, and their content by CF.SCANDUMP and LOADCHUNK.
//
// Its name and encoding version are those of RedisBloom's cuckoo filters, whose values are loaded
// and, while nothing else is added, saved as they were. In RDB files, DUMP, MIGRATE, replication:
//
// RedisBloom, encoding 4, all numbers unsigned: tables, buckets of table 0, items, deletes, bucket
// size, max iterations, expansion; then for each table its buckets and a string of its slots. Below
// 4, deletes, bucket size, max iterations, expansion and each table's buckets are missing.
//
// Ours: the number 0 in place of "tables", which RedisBloom refuses; then the image's pieces
// (value.h) as strings, an empty one at the end.
//
// A filter with a WINDOW has such pieces too; its head (windowed_value.h) begins in another way.
//
// A value that consists of RedisBloom's tables only is saved as RedisBloom's.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "lib/faces/redis/server/server_memory.h"
#include "lib/faces/redis/server/ticker.h"

namespace nestline { inline namespace v0_3 { namespace redis {
namespace {

constexpr int kEncodingVersion = 4;
Type* registered = nullptr;
const KeptValue& kept(const void* value) { return *static_cast<const KeptValue*>(value); }
template <typename Use>
auto on(const void* value, const Use& use) {
  const KeptValue& one = kept(value);
  return one.windowed ? use(std::as_const(*one.windowed)) : use(std::as_const(*one.filter));
}

// A string that the server has read, in memory of the server.
class Buffer {
 public:
  explicit Buffer(Io* io) : bytes_(api.LoadStringBuffer(io, &size_)) {}
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer() {
    if (bytes_ != nullptr) api.Free(bytes_);
  }

  // False after a read error.
  [[nodiscard]] bool is_there() const { return bytes_ != nullptr; }
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return std::as_bytes(std::span(bytes_, is_there() ? size_ : 0));
  }

 private:
  std::size_t size_ = 0;  // before bytes_, whose initializer writes it
  char* bytes_;
};

void save_bytes(Io* io, std::span<const std::byte> bytes) {
  api.SaveStringBuffer(io, reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void save_tables(Io* io, const RedisBloomTables& tables) {
  const RedisBloomHeader& header = tables.header();
  for (const std::uint64_t field :
       {header.tables, header.buckets, header.items, header.deletes,
        std::uint64_t{header.bucket_size}, std::uint64_t{header.max_iterations},
        std::uint64_t{header.expansion}}) {
    api.SaveUnsigned(io, field);
  }
  for (std::uint64_t i = 0; i < header.tables; ++i) {
    api.SaveUnsigned(io, tables.table(i).size() / header.bucket_size);
    save_bytes(io, tables.table(i));
  }
}

// Reads the next table, whose memory is allocated when its slots have arrived.
bool load_table(Io* io, bool has_buckets, std::uint64_t number, RedisBloomTables& tables) {
  const auto buckets = tables.header().buckets_of(number);
  if (has_buckets && (api.LoadUnsigned(io) != buckets || api.IsIOError(io) != 0)) return false;
  const Buffer slots(io);
  return buckets && slots.is_there() &&
         slots.bytes().size() == *buckets * tables.header().bucket_size && tables.append_clear() &&
         tables.load_table(number, 0, slots.bytes());
}

// Whether `number` fits into 16 bits; if so, sets `field` to it.
bool narrow(std::uint64_t number, std::uint16_t& field) {
  field = static_cast<std::uint16_t>(number);
  return field == number;
}

std::unique_ptr<CuckooValue> load_tables(Io* io, std::uint64_t tables, int encoding_version) {
  RedisBloomHeader header;
  header.tables = tables;
  header.buckets = api.LoadUnsigned(io);
  header.items = api.LoadUnsigned(io);
  header.bucket_size = 2;
  header.max_iterations = 20;
  header.expansion = 1;
  const bool is_new = encoding_version >= kEncodingVersion;
  if (is_new) {
    header.deletes = api.LoadUnsigned(io);
    if (!narrow(api.LoadUnsigned(io), header.bucket_size) ||
        !narrow(api.LoadUnsigned(io), header.max_iterations) ||
        !narrow(api.LoadUnsigned(io), header.expansion)) {
      return nullptr;
    }
  }
  if (api.IsIOError(io) != 0 || !is_valid(header)) return nullptr;
  RedisBloomTables read = RedisBloomTables::begin(header, &server_memory());
  for (std::uint64_t i = 0; i < header.tables; ++i) {
    if (!load_table(io, is_new, i, read)) return nullptr;
  }
  return CuckooValue::from_tables(std::move(read), 0);
}

// Reads the pieces after `head` until the empty one.
template <typename Reader>
auto load_pieces(Io* io, const Buffer& head) -> decltype(Reader().finish()) {
  Reader reader(&server_memory());
  if (!reader.add(head.bytes())) return nullptr;
  while (true) {
    const Buffer piece(io);
    if (!piece.is_there()) return nullptr;
    if (piece.bytes().empty()) return reader.finish();
    if (!reader.add(piece.bytes())) return nullptr;
  }
}

void save(Io* io, const WindowedValue& value) {
  api.SaveUnsigned(io, 0);
  save_bytes(io, value.dump_chunk(0).bytes);
  for (std::uint64_t i = 0; i < value.pieces(); ++i) save_bytes(io, value.piece(i));
  save_bytes(io, {});
}

void save(Io* io, const CuckooValue& value) {
  if (value.is_redisbloom()) {
    save_tables(io, value.tables());
    return;
  }
  api.SaveUnsigned(io, 0);
  value.for_each_chunk([&](const Chunk& chunk) { save_bytes(io, chunk.bytes); });
  save_bytes(io, {});
}

// Null when the bytes are wrong or end early, or when there is not enough memory: the server then
// refuses them. Takes no more memory than a small multiple of the size of the bytes.
KeptValue load(Io* io, int encoding_version) {
  if (encoding_version > kEncodingVersion) {
    api.LogIOError(io, "warning",
                   "a cuckoo filter has encoding version %d; nestline knows versions up to %d",
                   encoding_version, kEncodingVersion);
    return {};
  }
  KeptValue value;
  try {
    const std::uint64_t tables = api.LoadUnsigned(io);
    if (api.IsIOError(io) == 0) {
      if (tables != 0) {
        value.filter = load_tables(io, tables, encoding_version);
      } else if (const Buffer head(io); WindowedValue::is_head(head.bytes())) {
        value.windowed = load_pieces<WindowedReader>(io, head);
      } else {
        value.filter = load_pieces<ImageReader>(io, head);
      }
    }
  } catch (const std::exception& error) {
    api.LogIOError(io, "warning", "a cuckoo filter cannot be loaded: %s", error.what());
  }
  return value;
}

// Null when there is no value, or no memory. `key` is where it will be, if that is known.
void* keep(KeptValue value, const String* key = nullptr, int database = 0) {
  if (!value.filter && !value.windowed) return nullptr;
  try {
    auto made = std::make_unique<KeptValue>(std::move(value));
    if (made->windowed && key != nullptr) tick_key(*made->windowed, database, text(key));
    ++counters.values;
    return made.release();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void* load_value(Io* io, int encoding_version) {
  void* const loaded =
      keep(load(io, encoding_version), api.GetKeyNameFromIO(io), api.GetDbIdFromIO(io));
  if (loaded == nullptr) ++counters.refused_payloads;
  return loaded;
}

// Without memory the process ends: a file without this value would be taken for a whole one.
void save_value(Io* io, void* value) noexcept {
  on(value, [&](const auto& one) { save(io, one); });
}

void rewrite(Io* io, String* key, void* value) noexcept {
  on(value, [&](const auto& one) {
    one.for_each_chunk([&](const Chunk& chunk) {
      api.EmitAOF(io, "CF.LOADCHUNK", "slb", key, static_cast<long long>(chunk.next),
                  reinterpret_cast<const char*>(chunk.bytes.data()), chunk.bytes.size());
    });
  });
}

void add_to_digest(Digest* digest, void* value) noexcept {
  const std::uint64_t number = on(value, [](const auto& one) { return one.digest(); });
  std::array<char, sizeof number> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(number >> 8 * i);
  api.DigestAddStringBuffer(digest, bytes.data(), bytes.size());
  api.DigestEndSequence(digest);
}

// Also by the server's thread for freeing. Batches may still use it; the last frees it.
void free_value(void* value) {
  delete static_cast<KeptValue*>(value);
  --counters.values;
}

void* copy_value(String*, String*, const void* value) {
  try {
    const KeptValue& from = kept(value);
    return from.windowed ? keep({nullptr, from.windowed->copy()})
                         : keep({from.filter->copy(), nullptr});
  } catch (const std::exception&) {
    return nullptr;  // COPY then answers with an error
  }
}

// Neither RedisBloom's head nor its RDB value has a seed, so every copy of the data takes this one.
constexpr std::uint64_t kSeedOfRedisBloom = 0;

std::span<const std::byte> bytes_of(String* argument) {
  const std::string_view bytes = text(argument);
  return std::as_bytes(std::span(bytes.data(), bytes.size()));
}

// A server that begins with a file of its own from which a piece does not load would answer without
// it, so it does not begin. A piece stands there only if it was loaded before.
int refuse(const Call& call, const char* text) {
  if (!is_loading(call)) return reply_error(call, text);
  const std::string key(nestline::redis::text(call.key()));
  api.Log(call.context, "warning",
          "the append-only file has a piece of the cuckoo filter '%s' that cannot be loaded (%s); "
          "the server ends, since without this piece it would deny items",
          key.c_str(), text);
  std::_Exit(1);
}

int load_head(const Call& call, OpenedKey& key) {
  if (key.filter() != nullptr || key.windowed() != nullptr) return reply_error(call, kItemExists);
  const auto head = bytes_of(call.arguments[3]);
  try {
    // A header of 38 bytes may claim any size.
    const WithinMaxmemory limited(call.context, is_replayed(call), Unlimited::machine);
    if (WindowedValue::is_head(head)) {
      key.set(WindowedValue::from_head(head, &server_memory()));
    } else {
      key.set(CuckooValue::from_head(head, kSeedOfRedisBloom, &server_memory()));
    }
  } catch (const std::invalid_argument&) {
    const bool is_redisbloom = head.size() == kRedisBloomHeaderBytes;
    return refuse(call, is_redisbloom ? kCouldNotCreateFromHeader : kInvalidHeader);
  } catch (const AboveMaxmemory&) {
    ++counters.refused_by_maxmemory;
    return reply_error(call, kCouldNotCreateFromHeader);
  } catch (const std::bad_alloc&) {
    return refuse(call, kCouldNotCreateFromHeader);
  }
  replicate(call, "cf.loadchunk");
  return reply_ok(call);
}

}  // namespace

Type* data_type() { return registered; }

bool register_data_type(Context* context) {
  TypeMethods methods = {};
  methods.version = kTypeMethodsVersion;
  methods.rdb_load = load_value;
  methods.rdb_save = save_value;
  methods.aof_rewrite = rewrite;
  methods.mem_usage = [](const void* value) {
    return on(value, [](const auto& one) { return one.memory_bytes(); });
  };
  methods.digest = add_to_digest;
  methods.free = free_value;
  methods.free_effort = [](String*, const void* value) {
    return on(value, [](const auto& one) { return one.free_effort(); });
  };
  methods.copy = copy_value;
  registered = api.CreateDataType(context, "MBbloomCF", kEncodingVersion, &methods);
  if (registered == nullptr) {
    api.Log(context, "warning", "this server refuses the data type MBbloomCF");
  }
  return registered != nullptr;
}

int scan_dump(const Call& call) {
  const auto iterator = integer(call.arguments[2]);
  if (!iterator || *iterator < 0) return reply_error(call, kInvalidPosition);
  const OpenedKey key(call, kRead);
  Chunk chunk;  // of an empty filter: the end; not of one whose pieces are still to come
  if (const WindowedValue* const windowed = key.windowed()) {
    chunk = windowed->dump_chunk(static_cast<std::uint64_t>(*iterator));
  } else if (key.refuse(kNotFound)) {
    return kOk;
  } else if (key->items() != 0 || !key->is_complete()) {
    chunk = key->dump_chunk(static_cast<std::uint64_t>(*iterator));
  }
  api.ReplyWithArray(call.context, 2);
  api.ReplyWithLongLong(call.context, static_cast<long long>(chunk.next));
  if (chunk.next == 0) return api.ReplyWithNull(call.context);
  return api.ReplyWithStringBuffer(call.context, reinterpret_cast<const char*>(chunk.bytes.data()),
                                   chunk.bytes.size());
}

int load_chunk(const Call& call) {
  const auto iterator = integer(call.arguments[2]);
  if (!iterator || *iterator == 0) return reply_error(call, kInvalidPosition);
  OpenedKey key(call, kWrite);
  WindowedValue* const windowed = key.windowed();
  if (windowed == nullptr && key.refuse(*iterator == 1 ? nullptr : kNotFound)) return kOk;
  if (*iterator == 1) return load_head(call, key);
  const auto place = static_cast<std::uint64_t>(*iterator);
  const auto piece = bytes_of(call.arguments[3]);
  if (*iterator < 0 ||
      !(windowed != nullptr ? windowed->load_chunk(place, piece) : key->load_chunk(place, piece))) {
    return refuse(call, kCouldNotLoadChunk);
  }
  replicate(call, "cf.loadchunk");
  return reply_ok(call);
}

}}}  // namespace nestline::redis
