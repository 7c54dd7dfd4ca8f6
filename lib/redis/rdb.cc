#include "rdb.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "image_reader.h"

namespace nestline::redis {
namespace {

// A string as the server has read it, in memory of the server.
class Buffer {
 public:
  explicit Buffer(Io* io) : bytes_(api.LoadStringBuffer(io, &size_)) {}
  Buffer(Buffer&& other) noexcept
      : size_(std::exchange(other.size_, 0)), bytes_(std::exchange(other.bytes_, nullptr)) {}
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer() {
    if (bytes_ != nullptr) api.Free(bytes_);
  }

  // False after an error of reading.
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

// Collects tables until an eighth of all bytes has come: only then is there reason to believe the
// header, and to ask for memory for all of them.
class TablesReader {
 public:
  explicit TablesReader(const RedisBloomHeader& header) : header_(header) {}

  bool add(Io* io, bool tells_buckets) {
    const auto buckets = header_.buckets_of(read_);
    if (tells_buckets && (api.LoadUnsigned(io) != buckets || api.IsIOError(io) != 0)) return false;
    Buffer slots(io);
    if (!buckets || !slots.is_there() || slots.bytes().size() != *buckets * header_.bucket_size) {
      return false;
    }
    bytes_ += slots.bytes().size();
    waiting_.push_back(std::move(slots));
    ++read_;
    return store();
  }

  RedisBloomTables take() { return std::move(*tables_); }

 private:
  [[nodiscard]] bool is_believable() const {
    std::uint64_t wanted = 0;
    for (std::uint64_t i = 0; i < header_.tables; ++i) {
      const auto buckets = header_.buckets_of(i);
      if (!buckets || *buckets * header_.bucket_size > bytes_ * 8 - wanted) return false;
      wanted += *buckets * header_.bucket_size;
    }
    return true;
  }

  bool store() {
    if (!tables_ && !is_believable()) return true;
    if (!tables_) tables_.emplace(header_);
    for (std::uint64_t i = 0; i < waiting_.size(); ++i) {
      if (!tables_->set_table(read_ - waiting_.size() + i, waiting_[i].bytes())) return false;
    }
    waiting_.clear();
    return true;
  }

  RedisBloomHeader header_;
  std::optional<RedisBloomTables> tables_;
  std::vector<Buffer> waiting_;
  std::uint64_t read_ = 0;
  std::uint64_t bytes_ = 0;
};

// Whether `number` fits into 16 bits; then it is in `field`.
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
  TablesReader reader(header);
  for (std::uint64_t i = 0; i < header.tables; ++i) {
    if (!reader.add(io, is_new)) return nullptr;
  }
  return CuckooValue::from_tables(reader.take(), 0);
}

std::unique_ptr<CuckooValue> load_image(Io* io) {
  ImageReader reader;
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
    api.LogIOError(io, "warning", "a cuckoo filter of a later version (%d) than nestline knows (%d)",
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
