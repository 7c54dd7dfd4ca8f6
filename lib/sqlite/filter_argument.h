// The filter that is an argument of a function: a blob, or what nestline_file returns.
//
// A blob is checked once for each statement and not copied. SQLite keeps what was checked: the
// "auxiliary data" of the statement, which it drops when the statement ends or is reset, so that
// nothing outlives the parameters of one run. It has two kinds of them.
//
//   of a statement   Negative numbers, as SQLite's own JSON functions use them. Kept also where the
//                    blob comes from a subquery, the most usual case here. The documents reserve
//                    these numbers. Where a version does not keep them, the other kind is left, and
//                    blobs of subqueries are checked for each row.
//   of an argument   Documented. Kept only where the argument is constant: a parameter, a literal.
//
// A subquery that depends on the row may give another blob at the same address. BlobFilter::is_same
// tells most of them apart, and blob_filter.h says why the others are answered rightly too.
#ifndef NESTLINE_LIB_SQLITE_FILTER_ARGUMENT_H_
#define NESTLINE_LIB_SQLITE_FILTER_ARGUMENT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>

#include "lib/file/blob_filter.h"
#include "lib/sqlite/api.h"
#include "nestline/io.h"
#include "nestline/mapped_filter.h"

namespace nestline::sqlite {

// A mapped file. nestline_file returns pointers to FilePointer.
struct OpenedFile {
  std::filesystem::path path;
  MappedFilter filter;
  std::uint64_t bytes;

  // Throws the FormatError of damage that lookups have found.
  void require_whole() const {
    if (const auto damage = filter.damage()) throw FormatError(*damage);
  }
};
using FilePointer = std::shared_ptr<const OpenedFile>;
// The type of the pointers. SQLite compares the text.
inline constexpr const char* kPointerType = "nestline_filter";

// The file behind an argument; null if it is none.
inline const OpenedFile* file_of(sqlite3_value* value) {
  const auto* const pointer =
      static_cast<const FilePointer*>(sqlite3_value_pointer(value, kPointerType));
  return pointer == nullptr ? nullptr : pointer->get();
}

// The bytes of a filter. Throws Refusal unless the value is a BLOB.
std::span<const std::byte> blob_of(sqlite3_value* value);

// The blobs that a statement has checked, the last few of them.
class CheckedBlobs {
 public:
  // The filter in these bytes, checked now or before. It is good until the next call. Throws
  // FormatError, std::bad_alloc.
  const BlobFilter& of(std::span<const std::byte> bytes);

 private:
  std::array<std::optional<BlobFilter>, 8> filters_;
  std::size_t next_ = 0;  // is replaced next
};

// What the statement keeps: an object of the type T, under one of the numbers; made if there is
// none. Null if SQLite keeps none.
template <typename T>
T* kept(sqlite3_context* context, std::span<const int> numbers) {
  for (const int number : numbers) {
    if (void* const known = sqlite3_get_auxdata(context, number)) return static_cast<T*>(known);
  }
  for (const int number : numbers) {
    // SQLite takes the object in any case, and destroys it if it does not keep it.
    sqlite3_set_auxdata(context, number, std::make_unique<T>().release(),
                        [](void* object) { delete static_cast<T*>(object); });
    if (void* const taken = sqlite3_get_auxdata(context, number)) return static_cast<T*>(taken);
  }
  return nullptr;
}

// Returns work(filter), where the filter has may_contain and count. Throws Refusal, FormatError,
// std::bad_alloc.
template <typename Work>
auto with_filter(sqlite3_context* context, sqlite3_value* value, Work&& work) {
  static constexpr std::array kNumbers = {-0x6e657374, 0};  // of the statement, of argument 0
  if (const OpenedFile* const file = file_of(value)) {
    const auto answer = work(file->filter);
    // Damage makes answers true, so an answer that is not needs no look.
    if (answer != 0) file->require_whole();
    return answer;
  }
  const std::span<const std::byte> bytes = blob_of(value);
  CheckedBlobs* const checked = kept<CheckedBlobs>(context, kNumbers);
  return checked != nullptr ? work(checked->of(bytes)) : work(BlobFilter(bytes));
}

// Whether the value is neither a file nor a blob but NULL, which gives NULL.
inline bool is_no_filter(sqlite3_value* value) {
  return sqlite3_value_type(value) == SQLITE_NULL && file_of(value) == nullptr;
}

}  // namespace nestline::sqlite

#endif  // NESTLINE_LIB_SQLITE_FILTER_ARGUMENT_H_
