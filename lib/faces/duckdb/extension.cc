// The entry point of the extension.
#define DUCKDB_EXTENSION_NAME nestline
#include <exception>
#include <string>

#include "lib/faces/duckdb/api.h"
#include "lib/faces/duckdb/one_state.h"

DUCKDB_EXTENSION_ENTRYPOINT(duckdb_connection connection, duckdb_extension_info info,
                            duckdb_extension_access* access) {
  using namespace nestline::duckdb;  // NOLINT(google-build-using-namespace): of this file only
  try {
    find_calls_of_one_state();
    if (add_lookups(connection) && add_aggregates(connection)) return true;
    access->set_error(info, "nestline: DuckDB has functions of these names already");
  } catch (const std::exception& error) {
    access->set_error(info, (std::string("nestline: ") + error.what()).c_str());
  }
  return false;
}
