// The object behind an aggregate: made by the first row, taken by the result.
#ifndef NESTLINE_LIB_SQLITE_AGGREGATE_H_
#define NESTLINE_LIB_SQLITE_AGGREGATE_H_

#include <memory>
#include <utility>

#include "lib/sqlite/api.h"

namespace nestline::sqlite {

// SQLite zeroes the memory that it keeps for a group, and always asks for the result at the end, so
// that the object goes even when the statement is stopped. Throws std::bad_alloc.
template <typename T>
T& aggregate(sqlite3_context* context) {
  auto** const place = static_cast<T**>(sqlite3_aggregate_context(context, sizeof(T*)));
  if (place == nullptr) throw std::bad_alloc();
  if (*place == nullptr) *place = new T();
  return **place;
}

// The object of the group; null if it had no rows.
template <typename T>
std::unique_ptr<T> take_aggregate(sqlite3_context* context) {
  auto** const place = static_cast<T**>(sqlite3_aggregate_context(context, 0));
  if (place == nullptr) return nullptr;
  return std::unique_ptr<T>(std::exchange(*place, nullptr));
}

}  // namespace nestline::sqlite

#endif  // NESTLINE_LIB_SQLITE_AGGREGATE_H_
