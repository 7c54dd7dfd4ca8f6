// The entry points of the loadable extension, the list of its functions, and their errors.
//
// SQLite looks for sqlite3_extension_init, then for a name made of the file's, as for linked ones.
//
// Flags. Most functions answer from their arguments alone, so a hostile schema may call them
// (SQLITE_INNOCUOUS), and they may be in indexes (SQLITE_DETERMINISTIC). nestline_open returns a
// handle that lasts as long as the statement, and nestline_worth_joining answers by what it has
// answered, so they may not. nestline_file opens a file of the
// program's user: only the statement itself may call it, no view, trigger or schema
// (SQLITE_DIRECTONLY). It is deterministic as SQLite understands that, during one statement, so
// SQLite calls it once for a constant path; what is DIRECTONLY cannot get into an index.

#include <exception>
#include <memory>
#include <new>

#include "lib/faces/sqlite/filter_argument.h"
SQLITE_EXTENSION_INIT1

namespace nestline { inline namespace v0_3 { namespace sqlite {
namespace {

struct Function {
  const char* name;
  int fewest;
  int most;
  int flags;
  void (*scalar)(sqlite3_context*, int, sqlite3_value**);
  void (*step)(sqlite3_context*, int, sqlite3_value**);
  void (*result)(sqlite3_context*);
};

constexpr int kPure = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
constexpr int kOfStatement = SQLITE_UTF8 | SQLITE_INNOCUOUS;
constexpr int kOpensFiles = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;

constexpr Function kFunctions[] = {
    {"nestline_build", 1, 3, kPure, nullptr, build_step, build_result},
    {"nestline_merge", 1, 1, kPure, nullptr, merge_step, merge_result},
    {"nestline_insert", 2, 2, kPure, nullptr, change_step, insert_result},
    {"nestline_erase", 2, 2, kPure, nullptr, change_step, erase_result},
    {"nestline_may_contain", 2, 2, kPure, contains, nullptr, nullptr},
    {"nestline_may_contain_or_null", 2, 2, kPure, contains_or_null, nullptr, nullptr},
    // Older names.
    {"nestline_contains", 2, 2, kPure, contains, nullptr, nullptr},
    {"nestline_contains_or_null", 2, 2, kPure, contains_or_null, nullptr, nullptr},
    {"nestline_count", 2, 2, kPure, count, nullptr, nullptr},
    {"nestline_count_or_null", 2, 2, kPure, count_or_null, nullptr, nullptr},
    {"nestline_may_overlap", 2, 2, kPure, overlaps, nullptr, nullptr},
    {"nestline_count_common", 2, 2, kPure, common, nullptr, nullptr},
    {"nestline_worth_joining", 2, 2, kOfStatement, worth_joining, nullptr, nullptr},
    {"nestline_info", 1, 1, kPure, info, nullptr, nullptr},
    {"nestline_open", 1, 1, kOfStatement, open, nullptr, nullptr},
    {"nestline_file", 1, 1, kOpensFiles, file, nullptr, nullptr},
};

int define_functions(sqlite3* database) noexcept try {
  const auto filters = std::make_shared<ConnectionFilters>();
  for (const Function& function : kFunctions) {
    for (int arguments = function.fewest; arguments <= function.most; ++arguments) {
      // SQLite destroys the data in any case.
      const int status = sqlite3_create_function_v2(
          database, function.name, arguments, function.flags,
          new FunctionData{function.name, filters}, function.scalar, function.step, function.result,
          [](void* data) { delete static_cast<FunctionData*>(data); });
      if (status != SQLITE_OK) return status;
    }
  }
  return SQLITE_OK;
} catch (const std::bad_alloc&) {
  return SQLITE_NOMEM;
}

}  // namespace

void set_caught_error(sqlite3_context* context) noexcept {
  const auto report = [context](const char* sentence) {
    if (char* const text = sqlite3_mprintf("%s: %s", data_of(context).name, sentence)) {
      sqlite3_result_error(context, text, -1);
      sqlite3_free(text);
    } else {
      sqlite3_result_error_nomem(context);
    }
  };
  try {
    throw;
  } catch (const TooBig&) {
    sqlite3_result_error_toobig(context);
  } catch (const std::bad_alloc&) {
    sqlite3_result_error_nomem(context);
  } catch (const std::exception& error) {
    report(error.what());
  } catch (...) {
    report("something went wrong that has no description");
  }
}

}}}  // namespace nestline::sqlite

extern "C" {

[[gnu::visibility("default")]] int sqlite3_extension_init(sqlite3* database, char** error,
                                                          const sqlite3_api_routines* api) {
  SQLITE_EXTENSION_INIT2(api);
  // The flags came with version 3.31.
  constexpr int kOldest = 3031000;
  if (sqlite3_libversion_number() < kOldest) {
    *error = sqlite3_mprintf("nestline needs SQLite 3.31 or later, not %s", sqlite3_libversion());
    return SQLITE_ERROR;
  }
  return nestline::sqlite::define_functions(database);
}

[[gnu::visibility("default")]] int sqlite3_nestlinesqlite_init(sqlite3* database, char** error,
                                                               const sqlite3_api_routines* api) {
  return sqlite3_extension_init(database, error, api);
}
}
