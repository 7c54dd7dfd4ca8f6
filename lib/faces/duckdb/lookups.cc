// The functions of a row: may_contain, count, open, info, load, save and limits.
#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string_view>
#include <tuple>

#include "lib/faces/duckdb/filters.h"
#include "lib/faces/duckdb/vectors.h"
#include "nestline/io.h"

namespace nestline { inline namespace v0_3 { namespace duckdb {
namespace {

using Output = duckdb_vector;

// NULL in each row where one of the columns is.
template <typename... Columns>
void set_nulls(Output output, idx_t count, const Columns&... columns) {
  for (idx_t row = 0; row < count && (columns.has_nulls() || ...); ++row) {
    if ((columns.is_null(row) || ...)) set_null(output, row);
  }
}

// Sets the members of a STRUCT.
template <typename... Figures>
void set_members(Output output, idx_t row, Figures... figures) {
  const auto set = [&]<typename T>(idx_t number, T figure) {
    static_cast<T*>(duckdb_vector_get_data(duckdb_struct_vector_get_child(output, number)))[row] =
        figure;
  };
  idx_t number = 0;
  (set(number++, figures), ...);
}

// What is asked of (filter, key), a byte for each row.
constexpr auto kMayContain = [](const Filter& filter, KeySpan keys, std::span<std::uint8_t> out) {
  (void)filter.may_contain(keys, out);
};
constexpr auto kCount = [](const Filter& filter, KeySpan keys, std::span<std::uint8_t> out) {
  filter.count(keys, out);
};

template <auto kAsk>
void look_up(duckdb_function_info info, duckdb_data_chunk input, Output output) noexcept {
  guarded(info, duckdb_scalar_function_set_error, [&] {
    const idx_t count = duckdb_data_chunk_get_size(input);
    const Strings filters(input, 0);
    Keys& keys = keys_of(input, 1);
    auto* const out = static_cast<std::uint8_t*>(duckdb_vector_get_data(output));
    for_each_run(filters, count, [&](idx_t first, idx_t end) {
      const auto filter = opened(bytes_of(filters[first])).filter;
      kAsk(*filter, keys.batch(first, end, filter->seed()), std::span(out + first, end - first));
    });
    set_nulls(output, count, filters, keys);
  });
}

// The body of the other functions: work(row, values...) for each row of which no value is NULL.
template <std::same_as<duckdb_string_t>... Values, typename Work>
void for_each_row(duckdb_function_info info, duckdb_data_chunk input, Output output,
                  const Work& work) noexcept {
  guarded(info, duckdb_scalar_function_set_error, [&] {
    idx_t number = 0;
    const std::array columns{Column<Values>(input, number++)...};
    for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); ++row) {
      const auto is_null = [row](const auto& column) { return column.is_null(row); };
      if (std::ranges::any_of(columns, is_null)) {
        set_null(output, row);
      } else {
        std::apply([&](const auto&... column) { work(row, column[row]...); }, columns);
      }
    }
  });
}

constexpr std::array kFigures{"keys", "capacity", "bits", "rate", "bytes"};
void describe(duckdb_function_info info, duckdb_data_chunk input, Output output) {
  for_each_row<duckdb_string_t>(info, input, output, [&](idx_t row, const auto& value) {
    const auto [filter, bytes, _] = opened(bytes_of(value));
    set_members(output, row, filter->size(), filter->capacity(), std::int32_t{filter->bits()},
                filter->expected_fpr(), bytes);
  });
  // DuckDB asks a member without asking the STRUCT.
  for (idx_t number = 0; number < kFigures.size(); ++number) {
    set_nulls(duckdb_struct_vector_get_child(output, number), duckdb_data_chunk_get_size(input),
              Strings(input, 0));
  }
}

// Volatile, so that a prepared statement does not keep a handle of a constant, which may go.
void open_filter(duckdb_function_info info, duckdb_data_chunk input, Output output) noexcept {
  guarded(info, duckdb_scalar_function_set_error, [&] {
    const Strings blobs(input, 0);
    auto* const out = static_cast<duckdb_string_t*>(duckdb_vector_get_data(output));
    for_each_run(blobs, duckdb_data_chunk_get_size(input), [&](idx_t first, idx_t end) {
      const auto opened = filters().open(bytes_of(blobs[first]), Filters::For::handle);
      set_bytes(output, first, opened.handle);
      std::fill(out + first + 1, out + end, out[first]);  // the bytes are in the value
    });
    set_nulls(output, duckdb_data_chunk_get_size(input), blobs);
  });
}

// nestline_limits(filters, bytes): sets what is not NULL, and returns what holds.
constexpr std::array kLimits{"filters", "bytes", "open_filters", "open_bytes"};
void limit(duckdb_function_info info, duckdb_data_chunk input, Output output) noexcept {
  guarded(info, duckdb_scalar_function_set_error, [&] {
    const Column<std::int64_t> count(input, 0), bytes(input, 1);
    for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); ++row) {
      auto most = filters().state().most;
      const auto set = [&](std::uint64_t& limit, const auto& column) {
        if (column.is_null(row)) return;
        if (column[row] < 1) throw std::invalid_argument("a limit is a whole number above 0");
        limit = static_cast<std::uint64_t>(column[row]);
      };
      set(most.filters, count);
      set(most.bytes, bytes);
      filters().limit(most);
      const auto [_, open] = filters().state();
      set_members(output, row, most.filters, most.bytes, open.filters, open.bytes);
    }
  });
}

std::filesystem::path path_of(const duckdb_string_t& value) {
  const std::string_view path = text_of(value);
  if (path.empty() || path.find('\0') != std::string_view::npos) {
    throw std::invalid_argument("the path of a file is not empty and has no zero byte");
  }
  return path;
}

void load_file(duckdb_function_info info, duckdb_data_chunk input, Output output) {
  for_each_row<duckdb_string_t>(info, input, output, [&](idx_t row, const auto& path) {
    set_bytes(output, row, to_bytes(Filter::load(path_of(path))));
  });
}

void save_file(duckdb_function_info info, duckdb_data_chunk input, Output output) {
  for_each_row<duckdb_string_t, duckdb_string_t>(
      info, input, output, [&](idx_t row, const auto& value, const auto& path) {
        const auto [filter, bytes, _] = opened(bytes_of(value));
        save(*filter, path_of(path));
        static_cast<std::uint64_t*>(duckdb_vector_get_data(output))[row] = bytes;
      });
}

struct Function {
  const char* name;
  duckdb_scalar_function_t function;
  std::initializer_list<duckdb_type> parameters;
  duckdb_logical_type result;
  bool is_volatile = false;
};

template <std::size_t kMembers>
duckdb_logical_type struct_of(std::array<duckdb_logical_type, kMembers>& types,
                              std::array<const char*, kMembers> names) {
  return duckdb_create_struct_type(types.data(), names.data(), kMembers);
}

bool add(duckdb_connection connection, const Function& wanted) {
  duckdb_scalar_function function = duckdb_create_scalar_function();
  duckdb_scalar_function_set_name(function, wanted.name);
  for (const duckdb_type parameter : wanted.parameters) {
    duckdb_scalar_function_add_parameter(function, Type(parameter).get());
  }
  duckdb_scalar_function_set_return_type(function, wanted.result);
  // NULL is ours: the values of rows that are NULL are not looked at.
  duckdb_scalar_function_set_special_handling(function);
  if (wanted.is_volatile) duckdb_scalar_function_set_volatile(function);
  duckdb_scalar_function_set_function(function, wanted.function);
  const bool is_added = duckdb_register_scalar_function(connection, function) == DuckDBSuccess;
  duckdb_destroy_scalar_function(&function);
  return is_added;
}

}  // namespace

bool add_lookups(duckdb_connection connection) {
  constexpr duckdb_type kFilter = DUCKDB_TYPE_BLOB, kKey = DUCKDB_TYPE_ANY;
  const Type boolean(DUCKDB_TYPE_BOOLEAN), small(DUCKDB_TYPE_UTINYINT), blob(DUCKDB_TYPE_BLOB),
      number(DUCKDB_TYPE_UBIGINT), integer(DUCKDB_TYPE_INTEGER), real(DUCKDB_TYPE_DOUBLE);
  std::array figure_types{number.get(), number.get(), integer.get(), real.get(), number.get()};
  std::array limit_types{number.get(), number.get(), number.get(), number.get()};
  const Type figures(struct_of(figure_types, kFigures)), limits(struct_of(limit_types, kLimits));
  // Files change, and what is open does, so their functions are called anew each time.
  const Function functions[] = {
      {"nestline_may_contain", look_up<kMayContain>, {kFilter, kKey}, boolean.get()},
      // Its name in SQLite.
      {"nestline_contains", look_up<kMayContain>, {kFilter, kKey}, boolean.get()},
      {"nestline_count", look_up<kCount>, {kFilter, kKey}, small.get()},
      {"nestline_open", open_filter, {kFilter}, blob.get(), true},
      {"nestline_info", describe, {kFilter}, figures.get()},
      {"nestline_load", load_file, {DUCKDB_TYPE_VARCHAR}, blob.get(), true},
      {"nestline_save", save_file, {kFilter, DUCKDB_TYPE_VARCHAR}, number.get(), true},
      {"nestline_limits", limit, {DUCKDB_TYPE_BIGINT, DUCKDB_TYPE_BIGINT}, limits.get(), true},
  };
  return std::ranges::all_of(functions, [&](const auto& one) { return add(connection, one); });
}

}}}  // namespace nestline::duckdb
