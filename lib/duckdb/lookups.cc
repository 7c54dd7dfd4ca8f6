// The functions of a row: may_contain, count, info, load and save.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "lib/duckdb/filters.h"
#include "lib/duckdb/vectors.h"
#include "nestline/io.h"

namespace nestline::inline v0_2::duckdb {
namespace {

// Makes the rows of `result` NULL that are NULL in one of these.
void pass_null(duckdb_vector result, const Valid& one, const Valid& other, idx_t count) {
  if (one.all() && other.all()) return;
  duckdb_vector_ensure_validity_writable(result);
  std::uint64_t* const bits = duckdb_vector_get_validity(result);
  for (idx_t row = 0; row < count; ++row) {
    if (!one[row] || !other[row]) bits[row / 64] &= ~(std::uint64_t{1} << row % 64);
  }
}

// The body of a function of (filter, key) with a byte for each row: ask(filter, keys, out).
template <typename Ask>
void look_up(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output,
             const Ask& ask) noexcept {
  guarded(info, duckdb_scalar_function_set_error, [&] {
    static thread_local Keys keys;
    const idx_t count = duckdb_data_chunk_get_size(input);
    const duckdb_vector filters = duckdb_data_chunk_get_vector(input, 0);
    const duckdb_vector column = duckdb_data_chunk_get_vector(input, 1);
    const auto* const blobs = static_cast<const duckdb_string_t*>(duckdb_vector_get_data(filters));
    auto* const out = static_cast<std::uint8_t*>(duckdb_vector_get_data(output));
    const Valid valid(filters);
    keys.read(column, count);
    for_each_run(blobs, valid, count, [&](idx_t first, idx_t end) {
      const auto filter = Filters::of_process().open(bytes_of(blobs[first]));
      ask(*filter, keys.batch(first, end, filter->seed()), std::span(out + first, end - first));
    });
    pass_null(output, valid, Valid(column), count);
  });
}

void may_contain(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output) {
  look_up(info, input, output, [](const Filter& filter, KeySpan keys, std::span<std::uint8_t> out) {
    (void)filter.may_contain(keys, out);
  });
}

void count(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output) {
  look_up(info, input, output, [](const Filter& filter, KeySpan keys, std::span<std::uint8_t> out) {
    filter.count(keys, out);
  });
}

// The members of the STRUCT that nestline_info returns.
constexpr const char* kMembers[] = {"keys", "capacity", "bits", "rate", "bytes"};
constexpr duckdb_type kMemberTypes[] = {DUCKDB_TYPE_UBIGINT, DUCKDB_TYPE_UBIGINT,
                                        DUCKDB_TYPE_INTEGER, DUCKDB_TYPE_DOUBLE,
                                        DUCKDB_TYPE_UBIGINT};

void describe(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output) {
  guarded(info, duckdb_scalar_function_set_error, [&] {
    const idx_t count = duckdb_data_chunk_get_size(input);
    const duckdb_vector filters = duckdb_data_chunk_get_vector(input, 0);
    const auto* const blobs = static_cast<const duckdb_string_t*>(duckdb_vector_get_data(filters));
    const Valid valid(filters);
    const auto set = [&]<typename T>(idx_t member, idx_t row, T value) {
      const duckdb_vector column = duckdb_struct_vector_get_child(output, member);
      static_cast<T*>(duckdb_vector_get_data(column))[row] = value;
    };
    for (idx_t row = 0; row < count; ++row) {
      if (!valid[row]) continue;
      const std::span<const std::byte> bytes = bytes_of(blobs[row]);
      const auto filter = Filters::of_process().open(bytes);
      set(0, row, std::uint64_t{filter->size()});
      set(1, row, std::uint64_t{filter->capacity()});
      set(2, row, std::int32_t{filter->bits()});
      set(3, row, filter->expected_fpr());
      set(4, row, std::uint64_t{bytes.size()});
    }
    pass_null(output, valid, valid, count);
  });
}

void open_filter(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output) {
  guarded(info, duckdb_scalar_function_set_error, [&] {
    const idx_t count = duckdb_data_chunk_get_size(input);
    const duckdb_vector filters = duckdb_data_chunk_get_vector(input, 0);
    const auto* const blobs = static_cast<const duckdb_string_t*>(duckdb_vector_get_data(filters));
    const Valid valid(filters);
    for (idx_t row = 0; row < count; ++row) {
      if (!valid[row]) continue;
      (void)Filters::of_process().open(bytes_of(blobs[row]));
      const auto handle = BlobFilter::identity_of(bytes_of(blobs[row]));
      duckdb_vector_assign_string_element_len(
          output, row, reinterpret_cast<const char*>(handle.data()), handle.size());
    }
    pass_null(output, valid, valid, count);
  });
}

std::filesystem::path path_of(const duckdb_string_t& value) {
  const std::string_view path = text_of(value);
  if (path.empty() || path.find('\0') != std::string_view::npos) {
    throw std::invalid_argument("nestline: the path of a file is not empty and has no zero byte");
  }
  return path;
}

void load_file(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output) {
  guarded(info, duckdb_scalar_function_set_error, [&] {
    const idx_t count = duckdb_data_chunk_get_size(input);
    const duckdb_vector paths = duckdb_data_chunk_get_vector(input, 0);
    const auto* const values = static_cast<const duckdb_string_t*>(duckdb_vector_get_data(paths));
    const Valid valid(paths);
    for (idx_t row = 0; row < count; ++row) {
      if (!valid[row]) continue;
      const auto bytes = to_bytes(Filter::load(path_of(values[row])));
      duckdb_vector_assign_string_element_len(
          output, row, reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    pass_null(output, valid, valid, count);
  });
}

void save_file(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output) {
  guarded(info, duckdb_scalar_function_set_error, [&] {
    const idx_t count = duckdb_data_chunk_get_size(input);
    const duckdb_vector filters = duckdb_data_chunk_get_vector(input, 0);
    const duckdb_vector paths = duckdb_data_chunk_get_vector(input, 1);
    const auto* const blobs = static_cast<const duckdb_string_t*>(duckdb_vector_get_data(filters));
    const auto* const values = static_cast<const duckdb_string_t*>(duckdb_vector_get_data(paths));
    auto* const out = static_cast<std::uint64_t*>(duckdb_vector_get_data(output));
    const Valid valid(filters), named(paths);
    for (idx_t row = 0; row < count; ++row) {
      if (!valid[row] || !named[row]) continue;
      const std::span<const std::byte> bytes = bytes_of(blobs[row]);
      save(*Filters::of_process().open(bytes), path_of(values[row]));
      out[row] = bytes.size();
    }
    pass_null(output, valid, named, count);
  });
}

// What creates functions.
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
      number(DUCKDB_TYPE_UBIGINT);
  duckdb_logical_type members[std::size(kMembers)];
  const char* names[std::size(kMembers)];
  for (std::size_t i = 0; i < std::size(kMembers); ++i) {
    members[i] = duckdb_create_logical_type(kMemberTypes[i]);
    names[i] = kMembers[i];
  }
  const Type figures(duckdb_create_struct_type(members, names, std::size(kMembers)));
  for (duckdb_logical_type& member : members) duckdb_destroy_logical_type(&member);
  // Files change, so their functions are called anew each time.
  const Function functions[] = {
      {"nestline_may_contain", may_contain, {kFilter, kKey}, boolean.get()},
      {"nestline_count", count, {kFilter, kKey}, small.get()},
      {"nestline_open", open_filter, {kFilter}, blob.get()},
      {"nestline_info", describe, {kFilter}, figures.get()},
      {"nestline_load", load_file, {DUCKDB_TYPE_VARCHAR}, blob.get(), true},
      {"nestline_save", save_file, {kFilter, DUCKDB_TYPE_VARCHAR}, number.get(), true},
  };
  for (const Function& function : functions) {
    if (!add(connection, function)) return false;
  }
  return true;
}

}  // namespace nestline::inline v0_2::duckdb
