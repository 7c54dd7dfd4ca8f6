// SQLite's functions, as a loadable extension calls them: through the table that the program which
// loads it hands over (extension.cc). And how errors leave our functions: no exception does.
//
//   guarded(context, work)  is the body of every function of SQL
#ifndef NESTLINE_LIB_FACES_SQLITE_API_H_
#define NESTLINE_LIB_FACES_SQLITE_API_H_

#include <sqlite3ext.h>

#include <memory>

#include "lib/faces/embed/collected.h"

SQLITE_EXTENSION_INIT3

namespace nestline { inline namespace v0_3 { namespace sqlite {

class ConnectionFilters;
// The user data of each function of a connection.
struct FunctionData {
  const char* name;  // errors begin with it
  std::shared_ptr<ConnectionFilters> filters;
};
inline const FunctionData& data_of(sqlite3_context* context) {
  return *static_cast<const FunctionData*>(sqlite3_user_data(context));
}

// Makes the error that is being handled that of the function.
void set_caught_error(sqlite3_context* context) noexcept;

void guarded(sqlite3_context* context, auto&& work) noexcept {
  try {
    work();
  } catch (...) {
    set_caught_error(context);
  }
}

// The functions of SQL, as SQLite calls them. docs/SQLITE.md documents what they do.
using Step = void(sqlite3_context* context, int count, sqlite3_value** arguments) noexcept;
Step contains, contains_or_null, worth_joining, count, count_or_null, overlaps, common, info, open,
    file;
// Aggregates: a function for each row, and one for the result.
using Result = void(sqlite3_context* context) noexcept;
Step build_step, merge_step, change_step;
Result build_result, merge_result, insert_result, erase_result;

}}}  // namespace nestline::sqlite

#endif  // NESTLINE_LIB_FACES_SQLITE_API_H_
