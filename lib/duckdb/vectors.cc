#include "lib/duckdb/vectors.h"

#include <algorithm>

#include "lib/embed/bytes.h"

namespace nestline::inline v0_2::duckdb {
namespace {

[[noreturn]] void refuse(duckdb_type type) {
  switch (type) {
    case DUCKDB_TYPE_FLOAT:
    case DUCKDB_TYPE_DOUBLE:
    case DUCKDB_TYPE_DECIMAL:
      throw std::invalid_argument(
          "FLOAT, DOUBLE and DECIMAL are no keys: cast them to an integer or to VARCHAR");
    case DUCKDB_TYPE_TIMESTAMP_S:
    case DUCKDB_TYPE_TIMESTAMP_MS:
    case DUCKDB_TYPE_TIMESTAMP_NS:
      throw std::invalid_argument("a key is a TIMESTAMP in microseconds: cast it to one");
    default:
      throw std::invalid_argument(
          "a key is an integer, BOOLEAN, VARCHAR, BLOB, ENUM, DATE, TIME, TIMESTAMP or "
          "UUID: cast it to one of these");
  }
}

// A HUGEINT or UHUGEINT: the integer of 64 bits that it is, or its 16 bytes. A UUID, which DuckDB
// keeps as a HUGEINT with the highest bit flipped: its bytes in the order of its text.
Hash hash_of_wide(std::array<std::uint64_t, 2> halves, duckdb_type type, std::uint64_t seed) {
  auto [low, high] = halves;
  const std::uint64_t sign = type == DUCKDB_TYPE_HUGEINT && low >> 63 != 0 ? ~std::uint64_t{0} : 0;
  if (type == DUCKDB_TYPE_UUID) {
    low = __builtin_bswap64(halves[1] ^ std::uint64_t{1} << 63);
    high = __builtin_bswap64(halves[0]);
  } else if (high == 0 || high == sign) {
    return hash_key(low, seed);
  }
  std::array<std::byte, 16> bytes;
  put(std::span<std::byte>(bytes), 0, low);
  put(std::span<std::byte>(bytes), 8, high);
  return hash_key(std::span<const std::byte>(bytes), seed);
}

}  // namespace

template <typename T>
void Keys::read_integers(const void* data, idx_t count) {
  const std::span values(static_cast<const T*>(data), count);
  if constexpr (sizeof(T) >= sizeof(std::uint32_t)) {
    all_ = values;
  } else {
    integers_.resize(count);
    std::ranges::transform(values, integers_.begin(),
                           [](T value) { return static_cast<std::uint64_t>(value); });
    all_ = std::span<const std::uint64_t>(integers_);
  }
}

void Keys::read_strings(duckdb_vector vector, idx_t count) {
  const Strings values(vector);
  strings_.resize(count);
  for (idx_t row = 0; row < count; ++row) {
    strings_[row] = values.is_null(row) ? std::string_view() : text_of(values[row]);
  }
  all_ = std::span<const std::string_view>(strings_);
}

void Keys::read_labels(duckdb_vector vector, duckdb_logical_type type, idx_t count) {
  const duckdb_type stored = duckdb_enum_internal_type(type);
  const std::size_t bytes = stored == DUCKDB_TYPE_UTINYINT    ? 1
                            : stored == DUCKDB_TYPE_USMALLINT ? 2
                                                              : 4;
  const Column<std::byte> places(vector);
  labels_.clear();
  strings_.assign(count, {});
  for (idx_t row = 0; row < count; ++row) {
    if (places.is_null(row)) continue;
    std::uint32_t place = 0;  // DuckDB runs on little-endian processors
    std::memcpy(&place, &places[row * bytes], bytes);
    const auto [label, is_new] = labels_.try_emplace(place);
    if (is_new) {
      const std::unique_ptr<char, void (*)(void*)> text(duckdb_enum_dictionary_value(type, place),
                                                        duckdb_free);
      if (text == nullptr) throw std::bad_alloc();
      label->second = text.get();
    }
    strings_[row] = label->second;
  }
  all_ = std::span<const std::string_view>(strings_);
}

void Keys::read(duckdb_vector vector, idx_t count) {
  const Type type(duckdb_vector_get_column_type(vector));
  const void* const data = duckdb_vector_get_data(vector);
  nulls_ = Column<std::byte>(vector);
  wide_ = nullptr;
  type_ = type.id();
  switch (type_) {
    case DUCKDB_TYPE_BOOLEAN:
    case DUCKDB_TYPE_UTINYINT:
      return read_integers<std::uint8_t>(data, count);
    case DUCKDB_TYPE_TINYINT:
      return read_integers<std::int8_t>(data, count);
    case DUCKDB_TYPE_USMALLINT:
      return read_integers<std::uint16_t>(data, count);
    case DUCKDB_TYPE_SMALLINT:
      return read_integers<std::int16_t>(data, count);
    case DUCKDB_TYPE_UINTEGER:
      return read_integers<std::uint32_t>(data, count);
    case DUCKDB_TYPE_INTEGER:
    case DUCKDB_TYPE_DATE:
      return read_integers<std::int32_t>(data, count);
    case DUCKDB_TYPE_UBIGINT:
    case DUCKDB_TYPE_BIGINT:
    case DUCKDB_TYPE_TIME:
    case DUCKDB_TYPE_TIMESTAMP:
    case DUCKDB_TYPE_TIMESTAMP_TZ:
      return read_integers<std::uint64_t>(data, count);
    case DUCKDB_TYPE_HUGEINT:
    case DUCKDB_TYPE_UHUGEINT:
    case DUCKDB_TYPE_UUID:
      wide_ = static_cast<const Halves*>(data);
      return;
    case DUCKDB_TYPE_VARCHAR:
    case DUCKDB_TYPE_BLOB:
      return read_strings(vector, count);
    case DUCKDB_TYPE_ENUM:
      return read_labels(vector, type.get(), count);
    case DUCKDB_TYPE_SQLNULL:  // a NULL without a type: no value is looked at
      integers_.assign(count, 0);
      all_ = std::span<const std::uint64_t>(integers_);
      return;
    default:
      refuse(type_);
  }
}

KeySpan Keys::batch(idx_t first, idx_t end, std::uint64_t seed) {
  if (wide_ == nullptr) return all_.subspan(first, end - first);
  hashes_.resize(end - first);
  for (idx_t row = first; row < end; ++row) {
    hashes_[row - first] = hash_of_wide(wide_[row], type_, seed);
  }
  return std::span<const Hash>(hashes_);
}

void Keys::add_hashes(idx_t first, idx_t end, std::uint64_t seed, std::vector<Hash>& hashes) {
  batch(first, end, seed).visit([&](const auto& keys) {
    for (idx_t row = first; row < end; ++row) {
      if (!is_null(row)) hashes.push_back(hash_key(keys[row - first], seed));
    }
  });
}

Keys& keys_of(duckdb_data_chunk chunk, idx_t column) {
  static thread_local Keys keys;
  keys.read(duckdb_data_chunk_get_vector(chunk, column), duckdb_data_chunk_get_size(chunk));
  return keys;
}

}  // namespace nestline::inline v0_2::duckdb
