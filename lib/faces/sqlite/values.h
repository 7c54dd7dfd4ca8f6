// From values of SQL to keys, and from filters to blobs.
//
// Values that are equal in SQL are the same key: an INTEGER and a REAL that is the same whole
// number are both that integer. Another REAL is the bytes of its IEEE form, low byte first; no
// INTEGER equals it. TEXT is its bytes in UTF-8, also where the database has UTF-16, and a BLOB its
// bytes: the same bytes are one key, so a filter may answer "maybe" once more. What an affinity or
// collation makes equal is not equal here; docs/SQLITE.md explains what to do.
#ifndef NESTLINE_LIB_FACES_SQLITE_VALUES_H_
#define NESTLINE_LIB_FACES_SQLITE_VALUES_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>

#include "lib/faces/embed/bytes.h"
#include "lib/faces/sqlite/api.h"

namespace nestline { inline namespace v0_3 { namespace sqlite {

inline bool is_null(sqlite3_value* value) { return sqlite3_value_type(value) == SQLITE_NULL; }

// Throws Refusal for NULL in place of a filter: as an answer it would drop rows without a word.
inline void require_filter(sqlite3_value* value) {
  if (!is_null(value)) return;
  throw Refusal(
      "there is no filter, it is NULL: is the parameter bound, or has the subquery no row?");
}

// The kind of key that a value is, and all that there are. A column may have values of each.
inline KeyKinds kind_of(sqlite3_value* value) {
  const int type = sqlite3_value_type(value);
  return type == SQLITE_TEXT ? kTextKeys : type == SQLITE_BLOB ? kBytesKeys : kNumberKeys;
}
constexpr KeyKinds kAllKinds = kNumberKeys | kTextKeys | kBytesKeys;

// The bytes of a BLOB, or of a TEXT in UTF-8, as long as the value lasts. Throws std::bad_alloc.
inline std::span<const std::byte> bytes_of(sqlite3_value* value) {
  const bool is_text = sqlite3_value_type(value) == SQLITE_TEXT;
  // The length is that of the form which was requested last, so it is requested second.
  const void* const data =
      is_text ? static_cast<const void*>(sqlite3_value_text(value)) : sqlite3_value_blob(value);
  const int size = sqlite3_value_bytes(value);
  if (data == nullptr && (is_text || size > 0)) throw std::bad_alloc();
  return {static_cast<const std::byte*>(data), static_cast<std::size_t>(size)};
}

// An INTEGER, or a REAL that is an integer of 64 bits: some interfaces bind every number as REAL.
inline std::optional<std::int64_t> whole_number(sqlite3_value* value) {
  const int type = sqlite3_value_type(value);
  if (type == SQLITE_INTEGER) return sqlite3_value_int64(value);
  if (type != SQLITE_FLOAT) return std::nullopt;
  constexpr double kEnd = 9223372036854775808.0;  // 2^63
  const double real = sqlite3_value_double(value);
  if (!(real >= -kEnd && real < kEnd)) return std::nullopt;
  const auto whole = static_cast<std::int64_t>(real);
  if (static_cast<double>(whole) != real) return std::nullopt;
  return whole;
}

// Returns work(Key) for a value that is not NULL. Throws std::bad_alloc.
auto with_key(sqlite3_value* value, auto&& work) {
  if (const auto whole = whole_number(value)) return work(Key(*whole));
  if (sqlite3_value_type(value) != SQLITE_FLOAT) return work(Key(bytes_of(value)));
  std::array<std::byte, sizeof(double)> bytes{};
  put(std::span<std::byte>(bytes), 0, std::bit_cast<std::uint64_t>(sqlite3_value_double(value)));
  return work(Key(std::span<const std::byte>(bytes)));
}

}}}  // namespace nestline::sqlite

#endif  // NESTLINE_LIB_FACES_SQLITE_VALUES_H_
