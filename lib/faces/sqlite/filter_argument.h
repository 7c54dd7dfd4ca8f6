// The filter that is an argument of a function: a blob, or a handle.
//
// SQLite copies a blob from a subquery or a column for every row, to any place. So a connection
// keeps the filters of the blobs that were asked last, checked and in memory, and knows them again
// by what is in them (identity.h). nestline_open and nestline_file return a handle, for which
// nothing has to be copied: a BLOB of 16 bytes that SQLite may itself copy, sort and materialize.
// (Pointers become NULL where SQLite stores them, and copies may outlive the object.)
//
// A handle stands for what is in the filter: SQLite may evaluate one nestline_open several times
// for a row, for a condition, an order and a result, and gets the same handle.
//
// What was opened is also kept by the statement, as its "auxiliary data": SQLite drops them when
// the statement ends or is reset, and in a trigger with each row. A handle is a number that is
// never used again, so one that has outlived its filter is an error. SQLite has two kinds of
// auxiliary data.
//
//   of a statement   Negative numbers, as SQLite's own JSON functions use them. The documents
//                    reserve these numbers. Where a version did not keep them, handles would be
//                    errors.
//   of an argument   Documented. Kept only where the argument is constant: a parameter, a literal.
//                    nestline_open keeps its handle there.
#ifndef NESTLINE_LIB_FACES_SQLITE_FILTER_ARGUMENT_H_
#define NESTLINE_LIB_FACES_SQLITE_FILTER_ARGUMENT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <variant>

#include "lib/faces/embed/identity.h"
#include "lib/faces/embed/recent.h"
#include "lib/faces/sqlite/api.h"
#include "nestline/io.h"

namespace nestline { inline namespace v0_3 { namespace sqlite {

// The bytes of a BLOB. Throws Refusal unless it is one.
std::span<const std::byte> blob_of(sqlite3_value* value);

// A filter in memory, or of a file.
struct Opened {
  std::uint64_t number = 0;  // none other has it
  std::variant<Filter, MappedFilter> filter;
  std::filesystem::path path{};  // of a file
  std::uint64_t bytes = 0;       // of the file or the blob
  Identity identity{};           // of the blob
};
using SharedOpened = std::shared_ptr<const Opened>;

// A handle is the text "nestline" and the number.
using Handle = std::array<std::byte, 16>;
Handle handle_of(const Opened& opened);

// The filters in the blobs that a connection asked last: so many, of so many bytes, and the newest.
class ConnectionFilters {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;
  // The filter in these bytes. O(kMost) if it is kept, else O(bytes). Throws FormatError,
  // std::bad_alloc.
  SharedOpened open(std::span<const std::byte> bytes);

 private:
  Recent<SharedOpened> kept_{kMost, kMostBytes};
};

// The filters that a statement has opened: the last few.
class StatementFilters {
 public:
  static constexpr std::size_t kMaxOpened = 64;
  // Makes it the newest; the oldest goes for it, if it is not kept.
  void keep(SharedOpened opened);
  // The one of this path or this number, the newest then. If it is not kept, the file is opened,
  // and a number gives null. Throws FormatError, std::system_error, std::bad_alloc.
  SharedOpened open_file(const std::filesystem::path& path);
  SharedOpened find(std::uint64_t number);

 private:
  // Makes the first filter that has all this the newest; null if none has.
  SharedOpened newest_if(auto&& condition);
  std::array<SharedOpened, kMaxOpened> opened_;  // the newest first
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
SharedOpened behind_handle(sqlite3_context* context, sqlite3_value* value);
// The same, or the filter of a blob.
SharedOpened opened_of(sqlite3_context* context, sqlite3_value* value);

// Returns work(filter) (may_contain, count). Throws Refusal, FormatError, std::bad_alloc.
auto with_filter(sqlite3_context* context, sqlite3_value* value, auto&& work) {
  const SharedOpened opened = opened_of(context, value);
  const auto answer = std::visit(work, opened->filter);
  // Damage of a file makes answers true, so an answer that is not needs no look.
  const auto* const mapped = std::get_if<MappedFilter>(&opened->filter);
  if (answer != 0 && mapped != nullptr) {
    if (const auto damage = mapped->damage()) throw FormatError(*damage);
  }
  return answer;
}

}}}  // namespace nestline::sqlite

#endif  // NESTLINE_LIB_FACES_SQLITE_FILTER_ARGUMENT_H_
