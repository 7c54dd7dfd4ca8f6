#include "lib/redis/server/rdb.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <utility>

#include "lib/redis/server/server_memory.h"
#include "lib/redis/value/image_reader.h"

namespace nestline::redis {
namespace {

// A string that the server has read, in memory of the server.
class Buffer {
 public:
  explicit Buffer(Io* io) : bytes_(api.LoadStringBuffer(io, &size_)) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (bytes_ != nullptr) api.Free(bytes_);
  }

  // False after a read error.
  [[nodiscard]] bool is_there() const { return bytes_ != nullptr; }
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return std::as_bytes(std::span(bytes_, size_));
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
bool load_table(Io* io, bool tells_buckets, std::uint64_t number, RedisBloomTables& tables) {
  const auto buckets = tables.header().buckets_of(number);
  if (tells_buckets && (api.LoadUnsigned(io) != buckets || api.IsIOError(io) != 0)) return false;
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

std::unique_ptr<CuckooValue> load_image(Io* io) {
  ImageReader reader(&server_memory());
  while (true) {
    const Buffer piece(io);
    if (!piece.is_there()) return nullptr;
    if (piece.bytes().empty()) return reader.finish();
    if (!reader.add(piece.bytes())) return nullptr;
  }
}

}  // namespace

void save(Io* io, const CuckooValue& value) {
  if (value.is_redisbloom()) {
    save_tables(io, value.tables());
    return;
  }
  api.SaveUnsigned(io, 0);
  for (std::uint64_t iterator = 0;;) {
    const Chunk chunk = value.dump_chunk(iterator);
    save_bytes(io, chunk.bytes);
    if (chunk.next == 0) break;
    iterator = chunk.next;
  }
}

std::unique_ptr<CuckooValue> load(Io* io, int encoding_version) {
  if (encoding_version > kEncodingVersion) {
    api.LogIOError(io, "warning",
                   "a cuckoo filter has encoding version %d; nestline knows versions up to %d",
                   encoding_version, kEncodingVersion);
    return nullptr;
  }
  std::unique_ptr<CuckooValue> value;
  try {
    const std::uint64_t tables = api.LoadUnsigned(io);
    if (api.IsIOError(io) == 0) {
      value = tables != 0 ? load_tables(io, tables, encoding_version) : load_image(io);
    }
  } catch (const std::exception& error) {
    api.LogIOError(io, "warning", "a cuckoo filter cannot be loaded: %s", error.what());
  }
  return value;
}

}  // namespace nestline::redis
