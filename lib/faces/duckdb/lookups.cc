// The functions of a row: may_contain, count, open, info, load, save and limits.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>

#include "lib/faces/duckdb/filters.h"
#include "lib/faces/duckdb/vectors.h"
#include "lib/faces/embed/collected.h"
#include "lib/faces/embed/pass_rate.h"
#include "nestline/io.h"

namespace nestline { inline namespace v0_3 { namespace duckdb {
namespace {

using Output = duckdb_vector;
constexpr const char* kFilter = "filter";
constexpr const char* kPath = "path";

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

enum class NullFilter { is_error, gives_null };
template <auto kAsk, NullFilter kNull = NullFilter::is_error>
void look_up(duckdb_function_info info, duckdb_data_chunk input, Output output) noexcept {
  guarded(info, duckdb_scalar_function_set_error, [&] {
    const idx_t count = duckdb_data_chunk_get_size(input);
    const Strings filters(input, 0);
    if (kNull == NullFilter::is_error) (void)without_nulls(input, 0, kFilter);
    Keys& keys = keys_of(input, 1);
    auto* const out = static_cast<std::uint8_t*>(duckdb_vector_get_data(output));
    for_each_run(filters, count, [&](idx_t first, idx_t end) {
      const auto filter = opened(bytes_of(filters[first])).filter;
      require_key_kinds(filter->key_kinds(), keys.kinds());
      kAsk(*filter, keys.batch(first, end, filter->seed()), std::span(out + first, end - first));
    });
    for (idx_t row = 0; row < count && (filters.has_nulls() || keys.has_nulls()); ++row) {
      if (filters.is_null(row) || keys.is_null(row)) set_null(output, row);
    }
  });
}

// The same as may_contain, without a look where most keys of this filter passed lately in this
// thread.
void worth_joining(duckdb_function_info info, duckdb_data_chunk input, Output output) noexcept {
  guarded(info, duckdb_scalar_function_set_error, [&] {
    thread_local PassRates rates;
    const idx_t count = duckdb_data_chunk_get_size(input);
    const Strings filters = without_nulls(input, 0, kFilter);
    const Column<std::byte> nulls(input, 1);
    auto* const out = static_cast<std::uint8_t*>(duckdb_vector_get_data(output));
    for_each_run(filters, count, [&](idx_t first, idx_t end) {
      const auto bytes = bytes_of(filters[first]);
      const std::span answers(out + first, end - first);
      PassRate& rate = rates.of(duckdb::filters().number_of(bytes));
      if (!rate.asks_next(answers.size())) {
        std::ranges::fill(answers, std::uint8_t{1});
        return;
      }
      const auto filter = opened(bytes).filter;
      Keys& keys = keys_of(input, 1);
      require_key_kinds(filter->key_kinds(), keys.kinds());
      rate.note(answers.size(),
                filter->may_contain(keys.batch(first, end, filter->seed()), answers));
    });
    for (idx_t row = 0; row < count && nulls.has_nulls(); ++row) {
      if (nulls.is_null(row)) set_null(output, row);
    }
  });
}

// The body of the other functions: work(row, values...) for each row, of which no value is NULL.
// `names`: what the values are.
template <std::size_t kColumns, typename Work>
void for_each_row(duckdb_function_info info, duckdb_data_chunk input,
                  const std::array<const char*, kColumns>& names, const Work& work) noexcept {
  guarded(info, duckdb_scalar_function_set_error, [&] {
    std::array<Strings, kColumns> columns;
    for (idx_t i = 0; i < kColumns; ++i) columns[i] = without_nulls(input, i, names[i]);
    for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); ++row) {
      std::apply([&](const auto&... column) { work(row, column[row]...); }, columns);
    }
  });
}

constexpr std::array kFigures{"keys", "capacity", "bits", "rate", "bytes", "key_kinds"};
void describe(duckdb_function_info info, duckdb_data_chunk input, Output output) {
  for_each_row(info, input, std::array{kFilter}, [&](idx_t row, const auto& value) {
    const auto known = opened(bytes_of(value));
    const Filter& filter = *known.filter;
    set_members(output, row, filter.size(), filter.capacity(), std::int32_t{filter.bits()},
                filter.expected_fpr(), known.bytes);
    const std::string kinds = key_kinds_text(filter.key_kinds());
    set_bytes(duckdb_struct_vector_get_child(output, kFigures.size() - 1), row,
              std::as_bytes(std::span(kinds)));
  });
}

// What kAsk(filter, filter) answers: whether they may overlap, or the figures of what they do.
constexpr std::array kOverlap{"matches", "by_chance", "estimate", "standard_error"};
template <auto kAsk>
void compare(duckdb_function_info info, duckdb_data_chunk input, Output output) {
  const std::array names{kFilter, kFilter};
  for_each_row(info, input, names, [&](idx_t row, const auto& one, const auto& other) {
    const auto answer =
        compared(*opened(bytes_of(one)).filter, *opened(bytes_of(other)).filter, kAsk);
    if constexpr (std::is_same_v<decltype(answer), const bool>) {
      static_cast<bool*>(duckdb_vector_get_data(output))[row] = answer;
    } else {
      const auto [matches, by_chance, estimate, standard_error] = answer;
      set_members(output, row, matches, by_chance, estimate, standard_error);
    }
  });
}

// Volatile, so that a prepared statement does not keep a handle of a constant, which may go.
void open_filter(duckdb_function_info info, duckdb_data_chunk input, Output output) noexcept {
  guarded(info, duckdb_scalar_function_set_error, [&] {
    const Strings blobs = without_nulls(input, 0, kFilter);
    auto* const out = static_cast<duckdb_string_t*>(duckdb_vector_get_data(output));
    for_each_run(blobs, duckdb_data_chunk_get_size(input), [&](idx_t first, idx_t end) {
      const auto opened = filters().open(bytes_of(blobs[first]), Filters::For::handle);
      set_bytes(output, first, opened.handle);
      std::fill(out + first + 1, out + end, out[first]);  // the bytes are in the value
    });
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
  for_each_row(info, input, std::array{kPath}, [&](idx_t row, const auto& path) {
    set_bytes(output, row, to_bytes(Filter::load(path_of(path))));
  });
}

void save_file(duckdb_function_info info, duckdb_data_chunk input, Output output) {
  const std::array names{kFilter, kPath};
  for_each_row(info, input, names, [&](idx_t row, const auto& value, const auto& path) {
    const auto known = opened(bytes_of(value));
    save(*known.filter, path_of(path));
    std::error_code is_no_file;  // a pipe has no size
    const std::uintmax_t bytes = std::filesystem::file_size(path_of(path), is_no_file);
    static_cast<std::uint64_t*>(duckdb_vector_get_data(output))[row] =
        is_no_file ? known.bytes : bytes;
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
  constexpr duckdb_type kBlob = DUCKDB_TYPE_BLOB, kKey = DUCKDB_TYPE_ANY;
  constexpr auto kNull = NullFilter::gives_null;
  const Type boolean(DUCKDB_TYPE_BOOLEAN), small(DUCKDB_TYPE_UTINYINT), blob(DUCKDB_TYPE_BLOB),
      number(DUCKDB_TYPE_UBIGINT), integer(DUCKDB_TYPE_INTEGER), real(DUCKDB_TYPE_DOUBLE),
      text(DUCKDB_TYPE_VARCHAR);
  std::array figure_types{number.get(), number.get(), integer.get(),
                          real.get(),   number.get(), text.get()};
  std::array limit_types{number.get(), number.get(), number.get(), number.get()};
  std::array overlap_types{number.get(), real.get(), real.get(), real.get()};
  const Type figures(struct_of(figure_types, kFigures)), limits(struct_of(limit_types, kLimits)),
      overlap(struct_of(overlap_types, kOverlap));
  // Files change, and what is open does, so their functions are called anew each time.
  const Function functions[] = {
      {"nestline_may_contain", look_up<kMayContain>, {kBlob, kKey}, boolean.get()},
      {"nestline_may_contain_or_null", look_up<kMayContain, kNull>, {kBlob, kKey}, boolean.get()},
      // Its names in SQLite.
      {"nestline_contains", look_up<kMayContain>, {kBlob, kKey}, boolean.get()},
      {"nestline_contains_or_null", look_up<kMayContain, kNull>, {kBlob, kKey}, boolean.get()},
      {"nestline_count", look_up<kCount>, {kBlob, kKey}, small.get()},
      {"nestline_count_or_null", look_up<kCount, kNull>, {kBlob, kKey}, small.get()},
      // What it answers depends on what came before.
      {"nestline_worth_joining", worth_joining, {kBlob, kKey}, boolean.get(), true},
      {"nestline_may_overlap", compare<kMayOverlap>, {kBlob, kBlob}, boolean.get()},
      {"nestline_count_common", compare<kCountCommon>, {kBlob, kBlob}, overlap.get()},
      {"nestline_open", open_filter, {kBlob}, blob.get(), true},
      {"nestline_info", describe, {kBlob}, figures.get()},
      {"nestline_load", load_file, {DUCKDB_TYPE_VARCHAR}, blob.get(), true},
      {"nestline_save", save_file, {kBlob, DUCKDB_TYPE_VARCHAR}, number.get(), true},
      {"nestline_limits", limit, {DUCKDB_TYPE_BIGINT, DUCKDB_TYPE_BIGINT}, limits.get(), true},
  };
  return std::ranges::all_of(functions, [&](const auto& one) { return add(connection, one); });
}

}}}  // namespace nestline::duckdb
