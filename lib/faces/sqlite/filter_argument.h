// The filter that is an argument of a function: a blob, or a handle.
//
// A blob is checked once for each statement and not copied. But SQLite copies one from a subquery
// or a column for every row. So nestline_open takes a blob to memory once, nestline_file maps a
// file, and both return a handle: a BLOB of 16 bytes that SQLite may copy, sort and materialize.
// (Pointers become NULL where SQLite stores them, and copies may outlive the object.)
//
// A handle stands for what is in the filter: SQLite may evaluate one nestline_open several times
// for a row, for a condition, an order and a result, and gets the same handle.
//
// What was checked and opened is kept by the statement, as its "auxiliary data": SQLite drops them
// when the statement ends or is reset. A handle is a number that is never used again, so one that
// has outlived its filter is an error. SQLite has two kinds of auxiliary data.
//
//   of a statement   Negative numbers, as SQLite's own JSON functions use them. The documents
//                    reserve these numbers. Where a version did not keep them, blobs would be
//                    checked for each row, and handles would be errors.
//   of an argument   Documented. Kept only where the argument is constant: a parameter, a literal.
//                    nestline_open keeps its handle there.
//
// A subquery that depends on the row may give another blob at the same address. BlobFilter::is_same
// tells most of them apart, and blob_filter.h explains why the others are answered rightly too.
#ifndef NESTLINE_LIB_FACES_SQLITE_FILTER_ARGUMENT_H_
#define NESTLINE_LIB_FACES_SQLITE_FILTER_ARGUMENT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <variant>

#include "lib/faces/embed/blob_filter.h"
#include "lib/faces/sqlite/api.h"
#include "nestline/io.h"

namespace nestline { inline namespace v0_3 { namespace sqlite {

// The bytes of a BLOB. Throws Refusal unless it is one.
std::span<const std::byte> blob_of(sqlite3_value* value);

// A filter behind a handle.
struct Opened {
  std::uint64_t number = 0;
  std::variant<Filter, MappedFilter> filter;
  std::filesystem::path path{};  // of a file
  std::uint64_t bytes = 0;       // of the file or the blob
  std::uint64_t digest = 0;      // of the blob: others may have the same
};

// A handle is the text "nestline" and the number.
using Handle = std::array<std::byte, 16>;
Handle handle_of(const Opened& opened);

// What a statement has checked, and the filters that it has opened: the last few of each.
class StatementFilters {
 public:
  static constexpr std::size_t kMaxOpened = 64;
  // The filter in these bytes, good until the next call. Throws FormatError, std::bad_alloc.
  const BlobFilter& checked(std::span<const std::byte> bytes);
  // The filter of these bytes, of this path, of this number. It is the newest then, and good until
  // kMaxOpened others are. If it is not kept it is opened, and the oldest goes for it; a number
  // that is not kept gives null. Throws FormatError, std::system_error, std::bad_alloc.
  const Opened& open_blob(std::span<const std::byte> bytes);
  const Opened& open_file(const std::filesystem::path& path);
  const Opened* find(std::uint64_t number);

 private:
  std::array<std::optional<BlobFilter>, 8> checked_;
  // Makes the first filter that has all this the newest; null if none has.
  const Opened* newest_if(auto&& condition);
  const Opened& keep(Opened opened);
  std::size_t next_checked_ = 0;                                  // is replaced next
  std::array<std::unique_ptr<const Opened>, kMaxOpened> opened_;  // the newest first
};

// The statement's object of type T under this number, made if there is none; null if none is kept.
template <typename T>
T* kept(sqlite3_context* context, int number) {
  if (void* const known = sqlite3_get_auxdata(context, number)) return static_cast<T*>(known);
  // SQLite takes the object in any case, and destroys it if it does not keep it.
  sqlite3_set_auxdata(context, number, std::make_unique<T>().release(),
                      [](void* object) { delete static_cast<T*>(object); });
  return static_cast<T*>(sqlite3_get_auxdata(context, number));
}

StatementFilters* statement_filters(sqlite3_context* context);  // null if SQLite does not keep them
// The filter behind a handle; null if the value is none. Throws Refusal where it is not there.
const Opened* opened_of(sqlite3_context* context, sqlite3_value* value);

// Returns work(filter) (may_contain, count). Throws Refusal, FormatError, std::bad_alloc.
auto with_filter(sqlite3_context* context, sqlite3_value* value, auto&& work) {
  if (const Opened* const opened = opened_of(context, value)) {
    const auto answer = std::visit(work, opened->filter);
    // Damage of a file makes answers true, so an answer that is not needs no look.
    const auto* const mapped = std::get_if<MappedFilter>(&opened->filter);
    if (answer != 0 && mapped != nullptr) {
      if (const auto damage = mapped->damage()) throw FormatError(*damage);
    }
    return answer;
  }
  const std::span<const std::byte> bytes = blob_of(value);
  StatementFilters* const filters = statement_filters(context);
  return filters != nullptr ? work(filters->checked(bytes)) : work(BlobFilter(bytes));
}

}}}  // namespace nestline::sqlite

#endif  // NESTLINE_LIB_FACES_SQLITE_FILTER_ARGUMENT_H_
