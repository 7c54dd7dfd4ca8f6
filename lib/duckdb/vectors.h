// Columns of DuckDB as keys and as filters.
//
// Values that are equal in SQL are one key, the same as in SQLite, Python, C++ and the shell:
//
//   integers, BOOLEAN       the integer; a HUGEINT or UHUGEINT beyond 64 bits its 16 bytes, low
//   first VARCHAR, ENUM, BLOB     the bytes; of an ENUM those of its text DATE days since 1970, an
//   integer; TIME, TIMESTAMP with or without time zone:
//                           microseconds, since midnight or 1970
//   UUID                    its 16 bytes in the order of its text
//
// Others are refused with a sentence: FLOAT and DOUBLE, since 0.1 of the two differ, DECIMAL,
// TIMESTAMP of other units, and what is nested.
//
// A column is a vector of at most duckdb_vector_size() values. DuckDB makes it flat before it calls
// us: a filter that is the same for all rows comes as the same pointer in each.
#ifndef NESTLINE_LIB_DUCKDB_VECTORS_H_
#define NESTLINE_LIB_DUCKDB_VECTORS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/duckdb/api.h"
#include "nestline/keys.h"

namespace nestline::inline v0_2::duckdb {

// Which rows of a vector are not NULL.
class Valid {
 public:
  explicit Valid(duckdb_vector vector) : bits_(duckdb_vector_get_validity(vector)) {}
  [[nodiscard]] bool operator[](idx_t row) const {
    return bits_ == nullptr || (bits_[row / 64] >> row % 64 & 1) != 0;
  }
  [[nodiscard]] bool all() const { return bits_ == nullptr; }

 private:
  const std::uint64_t* bits_;
};

inline std::string_view text_of(const duckdb_string_t& value) {
  const auto& inlined = value.value.inlined;
  const bool is_inlined = inlined.length <= sizeof inlined.inlined;
  return {is_inlined ? inlined.inlined : value.value.pointer.ptr, inlined.length};
}

inline std::span<const std::byte> bytes_of(const duckdb_string_t& value) {
  return std::as_bytes(std::span(text_of(value)));
}

// The keys of a vector's first rows, as long as the vector and this object last. What is converted
// lies in memory of this object, which is used again.
class Keys {
 public:
  // Throws std::invalid_argument for a type that is no key, std::bad_alloc.
  void read(duckdb_vector vector, idx_t count);
  // Those of the rows from `first` to `end`, for a filter with this seed, until the next call. Any
  // keys where the vector is NULL. Throws std::bad_alloc.
  KeySpan batch(idx_t first, idx_t end, std::uint64_t seed);

 private:
  using Halves = std::array<std::uint64_t, 2>;  // of 16 bytes, the lower first
  template <typename T>
  void read_integers(const void* data, idx_t count);
  void read_strings(const void* data, const Valid& valid, idx_t count);
  void read_labels(duckdb_logical_type type, const void* data, const Valid& valid, idx_t count);
  void read_uuids(const void* data, idx_t count);

  std::vector<std::uint64_t> integers_;
  std::vector<std::string_view> strings_;
  std::vector<std::array<char, 16>> uuids_;
  std::vector<Hash> hashes_;
  std::unordered_map<std::uint32_t, std::string> labels_;
  const Halves* huge_ = nullptr;  // of HUGEINT and UHUGEINT
  bool is_signed_ = false;
  KeySpan all_{std::span<const std::uint64_t>()};
};

// Calls visit(first, end) for each longest run of rows whose filters are the same bytes in memory
// and not NULL.
template <typename Visit>
void for_each_run(const duckdb_string_t* filters, const Valid& valid, idx_t count, Visit&& visit) {
  const auto same = [&](idx_t a, idx_t b) {
    const std::string_view one = text_of(filters[a]), other = text_of(filters[b]);
    return one.data() == other.data() && one.size() == other.size();
  };
  for (idx_t first = 0, end = 0; first < count; first = end) {
    end = first + 1;
    if (!valid[first]) continue;
    while (end < count && valid[end] && same(first, end)) ++end;
    visit(first, end);
  }
}

}  // namespace nestline::inline v0_2::duckdb

#endif  // NESTLINE_LIB_DUCKDB_VECTORS_H_
