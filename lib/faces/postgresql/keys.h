// From values of SQL to keys.
//
// Values of one kind (key_kinds.h) that SQL calls equal are one key, and kinds are not mixed:
// docs/POSTGRESQL.md has the table. The type decides once, for a call in a query, how its values
// are read; only rows look at what they are made of each time, as a value of type record may be
// any.
//
// All functions are server parts.
#ifndef NESTLINE_LIB_FACES_POSTGRESQL_KEYS_H_
#define NESTLINE_LIB_FACES_POSTGRESQL_KEYS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lib/faces/postgresql/server.h"

namespace nestline { inline namespace v0_3 { namespace postgresql {

// An integer or, with a place, bytes. These last until the next value is read, or the server's
// memory of the row ends.
struct ReadKey {
  const char* bytes;
  std::uint64_t number;  // or how many bytes

  // Returns work(key).
  auto visit(auto&& work) const {
    return bytes == nullptr ? work(Key(number)) : work(Key(std::string_view(bytes, number)));
  }
};

// Reads values of one type. In a memory context, and never destroyed.
struct KeyReader {
  ReadKey (*read)(KeyReader& reader, Datum value);
  KeyKinds kinds;  // of rows and arrays: of the one that was read last
  // Some values have a second key, of any filter or of one that names these kinds. A number asks a
  // filter of floats as the float that SQL casts it to. A varchar is compared with a char without
  // the blanks at its end.
  KeyKinds second_in;
  bool (*read_second)(KeyReader& reader, Datum value, ReadKey& second);
  Oid type;  // not a domain
  MemoryContext context;
  std::array<char, 24> room;  // of short keys
  KeyReader* members;         // of a row or an array
  std::uint64_t row_type;     // what `members` are for, or 0

  static constexpr KeyKinds kAnyFilter = KeyKinds{1} << 31;  // no kind
  // Calls work(key) for the second key that the value has in a filter that names the kinds `built`.
  void with_second(Datum value, KeyKinds built, auto&& work) {
    ReadKey second;
    if ((second_in & (built | kAnyFilter)) == 0 || !read_second(*this, value, second)) return;
    second.visit(work);
  }
};

// For values of this type, which are compared under the collation. An error of the server's if they
// are no keys.
KeyReader* make_reader(Oid type, Oid collation, MemoryContext context);
// For the argument of a function. Kept in the memory of the call.
KeyReader* make_reader(FunctionCallInfo call, int argument);

}}}  // namespace nestline::postgresql

#endif  // NESTLINE_LIB_FACES_POSTGRESQL_KEYS_H_
