// The functions of SQL, as SQLite calls them. docs/SQLITE.md says what they do.
#ifndef NESTLINE_LIB_SQLITE_FUNCTIONS_H_
#define NESTLINE_LIB_SQLITE_FUNCTIONS_H_

#include "lib/sqlite/api.h"

namespace nestline::sqlite {

void contains(sqlite3_context* context, int count, sqlite3_value** arguments) noexcept;
void count(sqlite3_context* context, int count, sqlite3_value** arguments) noexcept;
void info(sqlite3_context* context, int count, sqlite3_value** arguments) noexcept;
void open(sqlite3_context* context, int count, sqlite3_value** arguments) noexcept;
void file(sqlite3_context* context, int count, sqlite3_value** arguments) noexcept;

// Aggregates: a function for each row, and one for the result.
void build_step(sqlite3_context* context, int count, sqlite3_value** arguments) noexcept;
void build_result(sqlite3_context* context) noexcept;
void merge_step(sqlite3_context* context, int count, sqlite3_value** arguments) noexcept;
void merge_result(sqlite3_context* context) noexcept;

}  // namespace nestline::sqlite

#endif  // NESTLINE_LIB_SQLITE_FUNCTIONS_H_
