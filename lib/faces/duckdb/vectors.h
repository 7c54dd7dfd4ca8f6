// Columns of DuckDB as keys and as filters.
//
// docs/DUCKDB.md lists which value is which key. A type whose equality is not that of bytes or
// integers is refused with a sentence.
//
// A column is a vector of at most duckdb_vector_size() values. DuckDB makes it flat before it calls
// us: a filter that is the same for all rows comes as the same pointer in each.
#ifndef NESTLINE_LIB_FACES_DUCKDB_VECTORS_H_
#define NESTLINE_LIB_FACES_DUCKDB_VECTORS_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/faces/duckdb/api.h"
#include "lib/faces/embed/key_kinds.h"
#include "nestline/keys.h"

namespace nestline { inline namespace v0_3 { namespace duckdb {

inline std::string_view text_of(const duckdb_string_t& value) {
  const auto& inlined = value.value.inlined;
  const bool is_inlined = inlined.length <= sizeof inlined.inlined;
  return {is_inlined ? inlined.inlined : value.value.pointer.ptr, inlined.length};
}

inline std::span<const std::byte> bytes_of(const duckdb_string_t& value) {
  return std::as_bytes(std::span(text_of(value)));
}

inline void set_null(duckdb_vector output, idx_t row) {
  duckdb_vector_ensure_validity_writable(output);
  duckdb_validity_set_row_invalid(duckdb_vector_get_validity(output), row);
}

inline void set_bytes(duckdb_vector output, idx_t row, std::span<const std::byte> bytes) {
  const auto* const data = reinterpret_cast<const char*>(bytes.data());
  duckdb_vector_assign_string_element_len(output, row, data, bytes.size());
}

// Values of T, some of which are NULL.
template <typename T>
class Column {
 public:
  Column() = default;  // no rows
  explicit Column(duckdb_vector vector)
      : data_(static_cast<const T*>(duckdb_vector_get_data(vector))),
        valid_(duckdb_vector_get_validity(vector)) {}
  Column(duckdb_data_chunk chunk, idx_t number)
      : Column(duckdb_data_chunk_get_vector(chunk, number)) {}
  [[nodiscard]] bool has_nulls() const { return valid_ != nullptr; }
  [[nodiscard]] bool is_null(idx_t row) const {
    return valid_ != nullptr && (valid_[row / 64] >> row % 64 & 1) == 0;
  }
  const T& operator[](idx_t row) const { return data_[row]; }

 private:
  const T* data_ = nullptr;
  const std::uint64_t* valid_ = nullptr;
};
using Strings = Column<duckdb_string_t>;

// The keys of a vector's first rows, as long as the vector and this object last. What is converted
// lies in memory of this object, which is used again.
class Keys {
 public:
  // Throws std::invalid_argument for a type that is no key, std::bad_alloc.
  void read(duckdb_vector vector, idx_t count);
  [[nodiscard]] bool has_nulls() const { return nulls_.has_nulls(); }
  [[nodiscard]] bool is_null(idx_t row) const { return nulls_.is_null(row); }
  [[nodiscard]] KeyKinds kinds() const { return kinds_; }  // of the type
  // Those of the rows from `first` to `end`, for a filter with this seed, until the next call. Any
  // keys where the vector is NULL. Throws std::bad_alloc.
  KeySpan batch(idx_t first, idx_t end, std::uint64_t seed);
  // Appends the hashes of these rows that are not NULL.
  void add_hashes(idx_t first, idx_t end, std::uint64_t seed, std::vector<Hash>& hashes);

 private:
  using Halves = std::array<std::uint64_t, 2>;  // of 16 bytes, the lower first
  template <typename T>
  void read_integers(const void* data, idx_t count);
  void read_times(const void* data, idx_t count, std::uint64_t microseconds);
  template <typename T, typename ToHalves>
  void read_halves(const void* data, idx_t count, ToHalves to_halves);
  void read_decimals(const void* data, duckdb_logical_type type, idx_t count);
  void read_strings(duckdb_vector vector, idx_t count);
  void read_labels(duckdb_vector vector, duckdb_logical_type type, idx_t count);
  void read_rows(duckdb_vector vector, duckdb_logical_type type, idx_t count);
  [[nodiscard]] Hash hash_of(const Halves& value, std::uint64_t seed) const;
  // Calls work with the key: an integer or a std::string_view.
  auto with_key_of(const Halves& value, auto&& work) const;
  // Appends the member of a ROW that stands here (docs/DUCKDB.md).
  void append_member(idx_t row, std::string& bytes) const;

  Column<std::byte> nulls_;
  std::vector<std::uint64_t> integers_;
  std::vector<std::string_view> strings_;
  std::vector<Halves> halves_;
  std::vector<Hash> hashes_;
  std::unordered_map<std::uint32_t, std::string> labels_;
  std::vector<Keys> members_;      // of a ROW
  std::vector<std::string> rows_;  // their bytes
  const Halves* wide_ = nullptr;   // of types that are hashed one by one
  int scale_ = 0;                  // of DECIMAL
  duckdb_type type_ = DUCKDB_TYPE_INVALID;
  KeyKinds kinds_ = 0;
  KeySpan all_{std::span<const std::uint64_t>()};
};

// A column of what is called `what`, none of which may be NULL: as an answer NULL would drop rows
// without a word. Throws Refusal.
Strings without_nulls(duckdb_data_chunk chunk, idx_t column, const char* what);

// Those in a column, until the next call of this thread. Throws as Keys::read.
Keys& keys_of(duckdb_data_chunk chunk, idx_t column);

// Calls visit(first, end) for each longest run of rows whose filters are the same and not NULL: the
// same place in memory, or the same few bytes in the value itself.
void for_each_run(const Strings& filters, idx_t count, auto&& visit) {
  using Bits = std::array<std::uint64_t, 2>;
  const auto bits = [&](idx_t row) { return std::bit_cast<Bits>(filters[row]); };
  for (idx_t first = 0, end = 0; first < count; first = end) {
    end = first + 1;
    if (filters.is_null(first)) continue;
    while (end < count && bits(end) == bits(first) && !filters.is_null(end)) ++end;
    visit(first, end);
  }
}

}}}  // namespace nestline::duckdb

#endif  // NESTLINE_LIB_FACES_DUCKDB_VECTORS_H_
