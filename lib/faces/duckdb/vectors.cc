#include "lib/faces/duckdb/vectors.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string_view>

#include "lib/faces/embed/bytes.h"

namespace nestline { inline namespace v0_3 { namespace duckdb {
namespace {

[[noreturn]] void refuse(duckdb_type type) {
  switch (type) {
    case DUCKDB_TYPE_FLOAT:
    case DUCKDB_TYPE_DOUBLE:
      throw std::invalid_argument(
          "FLOAT and DOUBLE are no keys: cast them to an integer, DECIMAL or VARCHAR");
    default:
      throw std::invalid_argument(
          "a key is an integer, BOOLEAN, DECIMAL, VARCHAR, BLOB, ENUM, DATE, TIME, TIMESTAMP or "
          "UUID: cast it to one of these");
  }
}

// A HUGEINT or UHUGEINT: the integer of 64 bits that it is, or its 16 bytes. A UUID, which DuckDB
// keeps as a HUGEINT with the highest bit flipped: its bytes in the order of its text. A
// TIMESTAMP_NS: whole microseconds, and nanoseconds above.
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

__extension__ using Signed = __int128;
__extension__ using Unsigned = unsigned __int128;

// Of `value` / 10^scale: the integer that it is, or the text without zeros at its end. T is an
// unsigned type that is wide enough.
template <typename T>
Hash hash_of_decimal(Signed value, int scale, std::uint64_t seed) {
  const bool is_negative = value < 0;
  T left =
      static_cast<T>(is_negative ? 0 - static_cast<Unsigned>(value) : static_cast<Unsigned>(value));
  for (; scale > 0 && left % 10 == 0; --scale) left /= 10;
  if (scale == 0) {
    const Unsigned whole = is_negative ? 0 - static_cast<Unsigned>(left) : left;
    return hash_of_wide(std::bit_cast<std::array<std::uint64_t, 2>>(whole), DUCKDB_TYPE_HUGEINT,
                        seed);
  }
  std::array<char, 48> text;
  char* const end = text.data() + text.size();
  char* first = end;
  for (int digits = 0; left != 0 || digits <= scale; left /= 10) {
    *--first = static_cast<char>('0' + static_cast<int>(left % 10));
    if (++digits == scale) *--first = '.';
  }
  if (is_negative) *--first = '-';
  return hash_key(std::string_view(first, end), seed);
}

// TIMESTAMPs of all units have the same values of infinity.
bool is_infinite(std::int64_t time) {
  constexpr std::int64_t kInfinity = std::numeric_limits<std::int64_t>::max();
  return time == kInfinity || time == -kInfinity;
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

void Keys::read_times(const void* data, idx_t count, std::uint64_t microseconds) {
  const std::span values(static_cast<const std::int64_t*>(data), count);
  integers_.resize(count);
  std::ranges::transform(values, integers_.begin(), [&](std::int64_t time) {
    return static_cast<std::uint64_t>(time) * (is_infinite(time) ? 1 : microseconds);
  });
  all_ = std::span<const std::uint64_t>(integers_);
}

template <typename T, typename ToHalves>
void Keys::read_halves(const void* data, idx_t count, ToHalves to_halves) {
  halves_.resize(count);
  std::ranges::transform(std::span(static_cast<const T*>(data), count), halves_.begin(), to_halves);
  wide_ = halves_.data();
}

void Keys::read_decimals(const void* data, duckdb_logical_type type, idx_t count) {
  const auto extended = [](std::int64_t value) {
    return Halves{static_cast<std::uint64_t>(value), static_cast<std::uint64_t>(value >> 63)};
  };
  scale_ = duckdb_decimal_scale(type);
  switch (duckdb_decimal_internal_type(type)) {
    case DUCKDB_TYPE_SMALLINT:
      return read_halves<std::int16_t>(data, count, extended);
    case DUCKDB_TYPE_INTEGER:
      return read_halves<std::int32_t>(data, count, extended);
    case DUCKDB_TYPE_BIGINT:
      return read_halves<std::int64_t>(data, count, extended);
    default:
      wide_ = static_cast<const Halves*>(data);
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
    case DUCKDB_TYPE_TIMESTAMP_S:
      return read_times(data, count, 1'000'000);
    case DUCKDB_TYPE_TIMESTAMP_MS:
      return read_times(data, count, 1'000);
    case DUCKDB_TYPE_TIMESTAMP_NS:
      return read_halves<std::int64_t>(data, count, [](std::int64_t time) {
        if (is_infinite(time)) return Halves{static_cast<std::uint64_t>(time), 0};
        const std::int64_t more = (time % 1000 + 1000) % 1000;  // also before 1970
        return Halves{static_cast<std::uint64_t>(time / 1000 - (time % 1000 < 0 ? 1 : 0)),
                      static_cast<std::uint64_t>(more)};
      });
    case DUCKDB_TYPE_DECIMAL:
      return read_decimals(data, type.get(), count);
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

Hash Keys::hash_of(const Halves& value, std::uint64_t seed) const {
  if (type_ != DUCKDB_TYPE_DECIMAL) return hash_of_wide(value, type_, seed);
  const auto number = std::bit_cast<Signed>(value);
  // Most fit into 64 bits, which are quicker to divide.
  return number == static_cast<std::int64_t>(number)
             ? hash_of_decimal<std::uint64_t>(number, scale_, seed)
             : hash_of_decimal<Unsigned>(number, scale_, seed);
}

KeySpan Keys::batch(idx_t first, idx_t end, std::uint64_t seed) {
  if (wide_ == nullptr) return all_.subspan(first, end - first);
  hashes_.resize(end - first);
  for (idx_t row = first; row < end; ++row) {
    hashes_[row - first] = hash_of(wide_[row], seed);
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

}}}  // namespace nestline::duckdb
