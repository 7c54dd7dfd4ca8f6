// The functions of a row: may_contain, count, info, load and save.
#include <algorithm>
#include <tuple>

#include "lib/duckdb/filters.h"
#include "lib/duckdb/vectors.h"
#include "nestline/io.h"

namespace nestline::inline v0_2::duckdb {
namespace {

using Output = duckdb_vector;

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
    for (idx_t row = 0; row < count && (filters.has_nulls() || keys.has_nulls()); ++row) {
      if (filters.is_null(row) || keys.is_null(row)) set_null(output, row);
    }
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

constexpr idx_t kFigures = 5;  // the members of what it returns
void describe(duckdb_function_info info, duckdb_data_chunk input, Output output) {
  const auto member = [&](idx_t number) { return duckdb_struct_vector_get_child(output, number); };
  for_each_row<duckdb_string_t>(info, input, output, [&](idx_t row, const auto& value) {
    const auto set = [&]<typename T>(idx_t number, T figure) {
      static_cast<T*>(duckdb_vector_get_data(member(number)))[row] = figure;
    };
    const auto [filter, bytes, _] = opened(bytes_of(value));
    set(0, std::uint64_t{filter->size()});
    set(1, std::uint64_t{filter->capacity()});
    set(2, std::int32_t{filter->bits()});
    set(3, filter->expected_fpr());
    set(4, bytes);
  });
  // DuckDB asks a member without asking the STRUCT.
  const Strings filters(input, 0);
  for (idx_t row = 0; row < duckdb_data_chunk_get_size(input) && filters.has_nulls(); ++row) {
    for (idx_t number = 0; number < kFigures && filters.is_null(row); ++number)
      set_null(member(number), row);
  }
}

void open_filter(duckdb_function_info info, duckdb_data_chunk input, Output output) {
  for_each_row<duckdb_string_t>(info, input, output, [&](idx_t row, const auto& value) {
    set_bytes(output, row, opened(bytes_of(value)).handle);
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
  const char* names[kFigures] = {"keys", "capacity", "bits", "rate", "bytes"};
  duckdb_logical_type members[kFigures] = {number.get(), number.get(), integer.get(), real.get(),
                                           number.get()};
  const Type figures(duckdb_create_struct_type(members, names, kFigures));
  // Files change, so their functions are called anew each time.
  const Function functions[] = {
      {"nestline_may_contain", look_up<kMayContain>, {kFilter, kKey}, boolean.get()},
      {"nestline_contains",
       look_up<kMayContain>,
       {kFilter, kKey},
       boolean.get()},  // its name in SQLite
      {"nestline_count", look_up<kCount>, {kFilter, kKey}, small.get()},
      {"nestline_open", open_filter, {kFilter}, blob.get()},
      {"nestline_info", describe, {kFilter}, figures.get()},
      {"nestline_load", load_file, {DUCKDB_TYPE_VARCHAR}, blob.get(), true},
      {"nestline_save", save_file, {kFilter, DUCKDB_TYPE_VARCHAR}, number.get(), true},
  };
  return std::ranges::all_of(functions, [&](const auto& one) { return add(connection, one); });
}

}  // namespace nestline::inline v0_2::duckdb
