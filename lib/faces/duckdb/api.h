// DuckDB's functions, as an extension calls them: through the table that DuckDB hands over as it
// loads the extension (extension.cc), of the stable C interface v1.2. And how errors leave our
// functions: no exception does. docs/DUCKDB.md documents the functions of SQL.
#ifndef NESTLINE_LIB_FACES_DUCKDB_API_H_
#define NESTLINE_LIB_FACES_DUCKDB_API_H_

#include <duckdb_extension.h>

#include <exception>
#include <new>
#include <string>
#include <utility>

DUCKDB_EXTENSION_EXTERN

namespace nestline { inline namespace v0_3 { namespace duckdb {

// The body of every function: fail(info, sentence) sets DuckDB's error for what work() throws.
template <typename Fail, typename Work>
void guarded(duckdb_function_info info, Fail fail, Work&& work) noexcept {
  try {
    try {
      work();
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      fail(info, (std::string("nestline: ") + error.what()).c_str());
    }
  } catch (...) {
    fail(info, "nestline: there is no memory for it");
  }
}

// A type of DuckDB's, destroyed with this object.
class Type {
 public:
  explicit Type(duckdb_type id) : type_(duckdb_create_logical_type(id)) {}
  explicit Type(duckdb_logical_type type) : type_(type) {}
  Type(const Type&) = delete;
  Type& operator=(const Type&) = delete;
  ~Type() { duckdb_destroy_logical_type(&type_); }
  [[nodiscard]] duckdb_logical_type get() const { return type_; }
  [[nodiscard]] duckdb_type id() const { return duckdb_get_type_id(type_); }

 private:
  duckdb_logical_type type_;
};

// False where DuckDB refuses a function.
bool add_lookups(duckdb_connection connection);
bool add_aggregates(duckdb_connection connection);

}}}  // namespace nestline::duckdb

#endif  // NESTLINE_LIB_FACES_DUCKDB_API_H_
