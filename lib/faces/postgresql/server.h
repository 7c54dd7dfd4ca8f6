// PostgreSQL's server, as our functions call it, and what keeps its errors and ours apart.
//
// An error of the server is a longjmp, which destroys nothing; one of ours is an exception, which
// must not reach the server. So each function of SQL is of two kinds of code:
//
//   server part   calls the server freely. No object in its frames has a destructor, so an error of
//                 the server skips nothing: what must be destroyed hangs on a memory context, which
//                 calls us back when it ends (owned_by).
//   C++ part      a lambda that in_cpp calls. It may throw and have any objects, and calls nothing
//                 of the server that may end in an error: allocate() alone, which throws.
//
// in_cpp keeps the sentence of an exception, leaves the C++ frames, and makes it the server's error
// then. Long work calls heed_interrupts() every few milliseconds: it throws where the query is to
// end, and in_cpp lets the server end it.
//
// The server's headers define macros with plain names, so they come after all others.
#ifndef NESTLINE_LIB_FACES_POSTGRESQL_SERVER_H_
#define NESTLINE_LIB_FACES_POSTGRESQL_SERVER_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <list>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/faces/embed/collected.h"
#include "lib/faces/embed/identity.h"
#include "lib/faces/embed/recent.h"
#include "nestline/io.h"

extern "C" {
#include <postgres.h>
// postgres.h comes before the others.
#include <access/htup_details.h>
#include <catalog/pg_type.h>
#include <fmgr.h>
#include <funcapi.h>
#include <miscadmin.h>
#include <nodes/supportnodes.h>
#include <utils/builtins.h>
#include <utils/fmgrprotos.h>
#include <utils/memutils.h>
#include <utils/selfuncs.h>
#if PG_VERSION_NUM >= 160000
#include <varatt.h>
#endif
}

namespace nestline { inline namespace v0_3 { namespace postgresql {

// The longest payload of a value, whose length is less than a GiB.
constexpr std::uint64_t kLongest = MaxAllocSize - VARHDRSZ;

// Thrown in a C++ part where the query is to end.
struct Interrupted {};
inline void heed_interrupts() {
  if (QueryCancelPending || ProcDiePending) throw Interrupted();
}

// Memory of the server's for a C++ part. Throws std::bad_alloc.
inline void* allocate(std::size_t bytes) {
  void* const place = palloc_extended(bytes, MCXT_ALLOC_NO_OOM);
  if (place == nullptr) throw std::bad_alloc();
  return place;
}

struct Failure {
  enum class Kind { none, refused, damaged, too_big, no_memory, interrupted } kind = Kind::none;
  std::array<char, 1024> sentence;  // set with the kind
};
static_assert(std::is_trivially_destructible_v<Failure>);

// Makes the exception that is being handled a failure.
void describe_caught(Failure& failure) noexcept;
// Ends with the server's error, unless the query has not to end.
void report(const Failure& failure);

// Returns work(), whose result must need no destructor. An exception becomes an error of the server
// outside of all frames of C++; work() runs again after an interrupt that the server passed over.
auto in_cpp(auto&& work) {
  using Result = std::invoke_result_t<decltype(work)>;
  constexpr bool kIsVoid = std::is_void_v<Result>;
  std::conditional_t<kIsVoid, char, Result> result{};
  static_assert(std::is_trivially_destructible_v<decltype(result)>);
  while (true) {
    Failure failure;
    [&]() noexcept {
      try {
        if constexpr (kIsVoid) {
          work();
        } else {
          result = work();
        }
      } catch (...) {
        describe_caught(failure);
      }
    }();
    if (failure.kind == Failure::Kind::none) break;
    report(failure);
  }
  if constexpr (!kIsVoid) return result;
}

// A T that is destroyed with the memory context.
template <typename T>
T* owned_by(MemoryContext context) {
  auto* const callback = static_cast<MemoryContextCallback*>(
      MemoryContextAllocZero(context, sizeof(MemoryContextCallback)));
  callback->func = [](void* object) { delete static_cast<T*>(object); };
  callback->arg = in_cpp([] { return new T(); });
  MemoryContextRegisterResetCallback(context, callback);
  return static_cast<T*>(callback->arg);
}

// The bytes of a value that is not toasted.
inline std::span<const std::byte> payload(const varlena* value) {
  return {reinterpret_cast<const std::byte*>(VARDATA_ANY(value)), VARSIZE_ANY_EXHDR(value)};
}

// A filter as a value. For C++ parts: throws TooBig, std::bad_alloc, Interrupted.
varlena* value_of(const Filter& filter);
// The filter in these bytes, checked. For C++ parts: throws FormatError, std::bad_alloc.
Filter filter_in(std::span<const std::byte> bytes);

// The error of a filter that is NULL: as an answer it would drop rows without a word.
[[noreturn]] void refuse_null_filter();

}}}  // namespace nestline::postgresql

#endif  // NESTLINE_LIB_FACES_POSTGRESQL_SERVER_H_
