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
#include <string>
#include <string_view>
#include <type_traits>

#include "lib/faces/embed/collected.h"

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
          "a key is an integer, BOOLEAN, DECIMAL, VARCHAR, BLOB, ENUM, DATE, TIME, TIMESTAMP, UUID "
          "or ROW(...) of these: cast it to one of them");
  }
}

using OwnText = std::unique_ptr<char, void (*)(void*)>;
OwnText own(char* text) { return {text, duckdb_free}; }

KeyKinds kinds_of(const Type& type) {
  switch (type.id()) {
    case DUCKDB_TYPE_SQLNULL:
      return 0;
    case DUCKDB_TYPE_VARCHAR: {
      const OwnText alias = own(duckdb_logical_type_get_alias(type.get()));
      return alias != nullptr && alias.get() == std::string_view("JSON") ? kJsonKeys : kTextKeys;
    }
    case DUCKDB_TYPE_ENUM:
      return kTextKeys;
    case DUCKDB_TYPE_BLOB:
      return kBytesKeys;
    case DUCKDB_TYPE_UUID:
      return kUuidKeys;
    case DUCKDB_TYPE_DATE:
      return kDateKeys;
    case DUCKDB_TYPE_TIME:
    case DUCKDB_TYPE_TIME_NS:
      return kTimeKeys;
    case DUCKDB_TYPE_TIMESTAMP:
    case DUCKDB_TYPE_TIMESTAMP_S:
    case DUCKDB_TYPE_TIMESTAMP_MS:
    case DUCKDB_TYPE_TIMESTAMP_NS:
      return kTimestampKeys;
    case DUCKDB_TYPE_TIMESTAMP_TZ:
      return kTimestampWithZoneKeys;
    default:
      return kNumberKeys;
  }
}

// A HUGEINT or UHUGEINT: the integer of 64 bits that it is, or its 16 bytes. A UUID, which DuckDB
// keeps as a HUGEINT with the highest bit flipped: its bytes in the order of its text. A
// TIMESTAMP_NS or TIME_NS: whole microseconds, and nanoseconds above.
auto with_wide_key(std::array<std::uint64_t, 2> halves, duckdb_type type, auto&& work) {
  auto [low, high] = halves;
  const std::uint64_t sign = type == DUCKDB_TYPE_HUGEINT && low >> 63 != 0 ? ~std::uint64_t{0} : 0;
  if (type == DUCKDB_TYPE_UUID) {
    low = __builtin_bswap64(halves[1] ^ std::uint64_t{1} << 63);
    high = __builtin_bswap64(halves[0]);
  } else if (high == 0 || high == sign) {
    return work(low);
  }
  const std::array bytes{low, high};  // DuckDB runs on little-endian processors
  return work(std::string_view(reinterpret_cast<const char*>(bytes.data()), sizeof bytes));
}

__extension__ using Signed = __int128;
__extension__ using Unsigned = unsigned __int128;

// Of `value` / 10^scale: the integer that it is, or the text without zeros at its end. T is an
// unsigned type that is wide enough.
template <typename T>
auto with_decimal_key(Signed value, int scale, auto&& work) {
  const bool is_negative = value < 0;
  T left =
      static_cast<T>(is_negative ? 0 - static_cast<Unsigned>(value) : static_cast<Unsigned>(value));
  for (; scale > 0 && left % 10 == 0; --scale) left /= 10;
  if (scale == 0) {
    const Unsigned whole = is_negative ? 0 - static_cast<Unsigned>(left) : left;
    return with_wide_key(std::bit_cast<std::array<std::uint64_t, 2>>(whole), DUCKDB_TYPE_HUGEINT,
                         work);
  }
  std::array<char, 48> text;
  char* const end = text.data() + text.size();
  char* first = end;
  for (int digits = 0; left != 0 || digits <= scale; left /= 10) {
    *--first = static_cast<char>('0' + static_cast<int>(left % 10));
    if (++digits == scale) *--first = '.';
  }
  if (is_negative) *--first = '-';
  return work(std::string_view(first, end));
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
    std::uint32_t place = 0;  // the lowest bytes come first
    std::memcpy(&place, &places[row * bytes], bytes);
    const auto [label, is_new] = labels_.try_emplace(place);
    if (is_new) {
      const OwnText text = own(duckdb_enum_dictionary_value(type, place));
      if (text == nullptr) throw std::bad_alloc();
      label->second = text.get();
    }
    strings_[row] = label->second;
  }
  all_ = std::span<const std::string_view>(strings_);
}

auto Keys::with_key_of(const Halves& value, auto&& work) const {
  if (type_ != DUCKDB_TYPE_DECIMAL) return with_wide_key(value, type_, work);
  const auto number = std::bit_cast<Signed>(value);
  // Most fit into 64 bits, which are quicker to divide.
  return number == static_cast<std::int64_t>(number)
             ? with_decimal_key<std::uint64_t>(number, scale_, work)
             : with_decimal_key<Unsigned>(number, scale_, work);
}

Hash Keys::hash_of(const Halves& value, std::uint64_t seed) const {
  return with_key_of(value, [seed](auto key) { return hash_key(key, seed); });
}

void Keys::append_member(idx_t row, std::string& bytes) const {
  const auto append = [&]<typename T>(const T& key) {
    constexpr bool kIsText = std::is_same_v<T, std::string_view>;
    std::uint64_t number = 0;
    if constexpr (kIsText) {
      number = key.size();
    } else if constexpr (std::is_integral_v<T>) {
      number = static_cast<std::uint64_t>(key);
    }
    bytes += kIsText ? '\2' : '\1';
    bytes.append(reinterpret_cast<const char*>(&number), kIsText ? 4 : 8);
    if constexpr (kIsText) bytes += key;
  };
  if (is_null(row)) {
    bytes += '\0';
  } else if (wide_ != nullptr) {
    with_key_of(wide_[row], append);
  } else {
    all_.visit([&](const auto& keys) { append(keys[row]); });
  }
}

void Keys::read_rows(duckdb_vector vector, duckdb_logical_type type, idx_t count) {
  members_.resize(duckdb_struct_type_child_count(type));
  KeyKinds kinds = 0;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    // DuckDB compares by these, in any order.
    if (*own(duckdb_struct_type_child_name(type, i)) != '\0') {
      throw Refusal("a STRUCT with names is no key: write ROW(a, b) of its members");
    }
    members_[i].read(duckdb_struct_vector_get_child(vector, i), count);
    kinds |= members_[i].kinds_;
  }
  kinds_ = row_of(kinds);
  rows_.resize(std::max<std::size_t>(rows_.size(), count));
  strings_.resize(count);
  for (idx_t row = 0; row < count; ++row) {
    rows_[row].clear();
    if (is_null(row)) continue;
    for (const Keys& member : members_) member.append_member(row, rows_[row]);
    strings_[row] = rows_[row];
  }
  all_ = std::span<const std::string_view>(strings_);
}

void Keys::read(duckdb_vector vector, idx_t count) {
  const Type type(duckdb_vector_get_column_type(vector));
  const void* const data = duckdb_vector_get_data(vector);
  nulls_ = Column<std::byte>(vector);
  wide_ = nullptr;
  type_ = type.id();
  kinds_ = kinds_of(type);
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
    case DUCKDB_TYPE_TIME_NS:
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
    case DUCKDB_TYPE_STRUCT:
      return read_rows(vector, type.get(), count);
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

Strings without_nulls(duckdb_data_chunk chunk, idx_t column, const char* what) {
  const Strings values(chunk, column);
  const idx_t count = values.has_nulls() ? duckdb_data_chunk_get_size(chunk) : 0;
  for (idx_t row = 0; row < count; ++row) {
    if (!values.is_null(row)) continue;
    throw Refusal(std::string("there is no ") + what +
                  ", it is NULL: is the variable set in this connection?");
  }
  return values;
}

Keys& keys_of(duckdb_data_chunk chunk, idx_t column) {
  static thread_local Keys keys;
  keys.read(duckdb_data_chunk_get_vector(chunk, column), duckdb_data_chunk_get_size(chunk));
  return keys;
}

}}}  // namespace nestline::duckdb
