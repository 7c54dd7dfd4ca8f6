#include "lib/faces/duckdb/one_state.h"

#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "lib/faces/duckdb/vectors.h"

namespace nestline { inline namespace v0_3 { namespace duckdb {
namespace {

constexpr const char* kUnknown = "this DuckDB does not tell which states its aggregates have";

// The places, each a return address in DuckDB. DuckDB 1.5 has two.
std::array<std::atomic<std::uintptr_t>, 16> places;

// A call comes through a function of the C interface: the address that this one returns to. Zero if
// it is not found.
std::uintptr_t caller_of(void* address) noexcept {
  struct Walk {
    std::uintptr_t address;
    std::uintptr_t caller = 0;
    bool is_past = false;
  } walk{reinterpret_cast<std::uintptr_t>(__builtin_extract_return_addr(address))};
  _Unwind_Backtrace(
      [](_Unwind_Context* frame, void* all) {
        Walk& own = *static_cast<Walk*>(all);
        const std::uintptr_t place = _Unwind_GetIP(frame);
        if (own.is_past) {
          own.caller = place;
          return _URC_END_OF_STACK;
        }
        own.is_past = place == own.address;
        return _URC_NO_REASON;
      },
      &walk);
  return walk.caller;
}

constexpr idx_t kMost = 512;  // fits into any pipe

// What an array holds that may end before `count` states, as far as it can be read.
std::vector<duckdb_aggregate_state> content(const duckdb_aggregate_state* states, idx_t count) {
  std::vector<duckdb_aggregate_state> copy(count);
  std::array<int, 2> ends;
  if (pipe(ends.data()) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  // The system reads it. Not by write(), which address sanitizers watch.
  const auto written = syscall(SYS_write, ends[1], states, copy.size() * sizeof *states);
  const auto got = written > 0 ? read(ends[0], copy.data(), static_cast<std::size_t>(written)) : 0;
  close(ends[0]);
  close(ends[1]);
  copy.resize(got > 0 ? static_cast<std::size_t>(got) / sizeof *states : 0);
  return copy;
}

// All states that the aggregate which looks was given. One thread at a time runs it.
std::set<duckdb_aggregate_state> given;

void look(duckdb_function_info info, duckdb_data_chunk chunk, duckdb_aggregate_state* states) {
  void* const address = __builtin_return_address(0);
  guarded(info, duckdb_aggregate_function_set_error, [&] {
    const idx_t count = std::min<idx_t>(duckdb_data_chunk_get_size(chunk), kMost);
    const auto all = content(states, count);
    const auto is_state = [](auto state) { return given.contains(state); };
    if (all.size() == count && std::ranges::all_of(all, is_state)) return;
    const std::uintptr_t place = caller_of(address);
    const auto noted = std::ranges::find_if(
        places, [&](const auto& known) { return known == place || known == 0; });
    if (place == 0 || noted == places.end()) throw std::runtime_error(kUnknown);
    *noted = place;
  });
}

constexpr auto kForms = {
    "SELECT looks(i ORDER BY -i) FROM range(1000) t(i)",
    "SELECT looks(DISTINCT i ORDER BY i) FROM range(1000) t(i) GROUP BY i < 0",
    "SELECT looks(i) OVER () FROM range(1000) t(i)",
    "SELECT looks(i ORDER BY -i) FILTER (i > 9) OVER (PARTITION BY i < 0) FROM range(1000) t(i)",
    "SELECT looks(i) OVER (ORDER BY i ROWS 9 PRECEDING EXCLUDE GROUP) FROM range(1000) t(i)",
    "SELECT list_aggregate(list(i), 'looks') FROM range(1000) t(i)",
};

// A database in memory, with a connection.
struct Database {
  duckdb_database database = nullptr;
  duckdb_connection connection = nullptr;
  Database() {
    duckdb_config config = nullptr;
    if (duckdb_create_config(&config) != DuckDBSuccess) throw std::bad_alloc();
    duckdb_set_config(config, "threads", "1");
    const bool is_open = duckdb_open_ext(nullptr, &database, config, nullptr) == DuckDBSuccess;
    duckdb_destroy_config(&config);
    if (!is_open || duckdb_connect(database, &connection) != DuckDBSuccess) {
      duckdb_close(&database);
      throw std::runtime_error(kUnknown);
    }
  }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() {
    duckdb_disconnect(&connection);
    duckdb_close(&database);
  }
};

}  // namespace

void find_calls_of_one_state() {
  static std::mutex mutex;
  static const void* known = nullptr;  // a program may load several DuckDBs
  const std::lock_guard lock(mutex);
  const auto* const current = reinterpret_cast<const void*>(duckdb_open_ext);
  if (known == current) return;
  const Database own;
  duckdb_aggregate_function function = duckdb_create_aggregate_function();
  duckdb_aggregate_function_set_name(function, "looks");
  const Type number(DUCKDB_TYPE_BIGINT);
  duckdb_aggregate_function_add_parameter(function, number.get());
  duckdb_aggregate_function_set_return_type(function, number.get());
  duckdb_aggregate_function_set_functions(
      function, [](duckdb_function_info) -> idx_t { return sizeof(void*); },
      [](duckdb_function_info info, duckdb_aggregate_state state) {
        guarded(info, duckdb_aggregate_function_set_error, [&] { given.insert(state); });
      },
      look, [](duckdb_function_info, duckdb_aggregate_state*, duckdb_aggregate_state*, idx_t) {},
      [](duckdb_function_info, duckdb_aggregate_state*, duckdb_vector result, idx_t count,
         idx_t offset) {
        for (idx_t row = 0; row < count; ++row) set_null(result, offset + row);
      });
  duckdb_register_aggregate_function(own.connection, function);
  duckdb_destroy_aggregate_function(&function);
  given.clear();
  for (const char* const form : kForms) {
    duckdb_result result{};
    duckdb_query(own.connection, form, &result);
    const char* const text = duckdb_result_error(&result);
    const std::string error = text == nullptr ? "" : text;
    duckdb_destroy_result(&result);
    // Another error is that of a DuckDB which has no such form.
    if (error.find("nestline: ") != error.npos) throw std::runtime_error(kUnknown);
  }
  known = current;
}

bool is_call_of_one_state(void* address) noexcept {
  const std::uintptr_t place = caller_of(address);
  return place != 0 &&
         std::ranges::any_of(places, [&](const auto& known) { return known == place; });
}

}}}  // namespace nestline::duckdb
