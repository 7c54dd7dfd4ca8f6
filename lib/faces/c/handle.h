// What C callers hold and hand over, and the functions that are the same for each kind of key.
#ifndef NESTLINE_LIB_FACES_C_HANDLE_H_
#define NESTLINE_LIB_FACES_C_HANDLE_H_

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>

#include "lib/faces/c/errors.h"
#include "nestline/expiring_filter.h"
#include "nestline/maplet.h"
#include "nestline/nestline.h"

struct nestline_filter {
  std::variant<nestline::ConcurrentFilter, nestline::MappedFilter, nestline::ExpiringFilter> kind;
};
struct nestline_maplet {
  std::variant<nestline::Maplet, nestline::MappedMaplet> kind;
};

namespace nestline { inline namespace v0_3 { namespace c {

// Whether a name of C's has the number of one of C++.
constexpr bool same(auto ours, auto theirs) {
  return static_cast<int>(ours) == static_cast<int>(theirs);
}

// nestline_outcome_of tells why a key or a pair found no place by the address of the sentence.
inline constexpr char kFull[] = "the filter is full: no room can be made for the key";
inline constexpr char kCopies[] = "the filter has as many copies of the key as it can hold";
inline constexpr char kMapletFull[] = "the maplet is full: no room can be made for the pair";
inline constexpr char kMapletCopies[] =
    "the maplet has as many pairs of keys that look like this one as it can hold";

inline bool is_stored(Outcome outcome, const char* full, const char* copies, const char** error) {
  if (outcome == Outcome::full) set_error(error, full);
  if (outcome == Outcome::too_many_copies) set_error(error, copies);
  return outcome == Outcome::stored;
}

inline void require_handle(const nestline_filter* filter) {
  require(filter != nullptr, "the filter is NULL");
}
inline void require_handle(const nestline_maplet* maplet) {
  require(maplet != nullptr, "the maplet is NULL");
}

// Why a filter or maplet of kind `Found` refuses a call; `Wanted` is the first kind that has it.
template <class Wanted, class Found>
constexpr const char* refusal() {
  if constexpr (std::is_same_v<Wanted, ExpiringFilter>) {
    return "the keys of this filter do not expire";
  } else if constexpr (std::is_same_v<Found, ExpiringFilter>) {
    return "the keys of this filter expire, so it does not count, insert_unique, update, erase, "
           "grow, shrink, fit or merge, nor tell what it has in common with another";
  } else if constexpr (std::is_same_v<Found, MappedFilter>) {
    return "the filter answers from a mapped file and cannot be changed; change a copy of it";
  } else {
    return "the maplet answers from a mapped file, which can only be asked; load the file to do "
           "more";
  }
}

// Returns visitor(filter), where it is of one of these kinds; without kinds, of any.
template <class... Kinds, class Handle, typename Visitor>
decltype(auto) with(Handle* handle, Visitor&& visitor) {
  require_handle(handle);
  using First = std::tuple_element_t<
      0, std::tuple<Kinds..., std::variant_alternative_t<0, decltype(handle->kind)>>>;
  using Visited = std::conditional_t<std::is_const_v<Handle>, const First, First>;
  using Result = std::invoke_result_t<Visitor&, Visited&>;
  return std::visit(
      [&](auto& one) -> Result {
        using One = std::remove_cvref_t<decltype(one)>;
        if constexpr (sizeof...(Kinds) == 0 || (std::is_same_v<One, Kinds> || ...)) {
          return visitor(one);
        } else {
          throw Refusal{refusal<First, One>()};
        }
      },
      handle->kind);
}

template <class Kind, class Handle>
auto& only(Handle* handle) {
  return with<Kind>(
      handle, [](auto& one) -> auto& { return one; });
}

template <class Handle, typename Make>
Handle* make_handle(const char** error, Make&& make) {
  return guarded<Handle*>(error, nullptr, [&] { return new Handle{{make()}}; });
}

// Defines functions of these names, which are whole so that a search finds them, by load(a path, a
// function or bytes).
#define NESTLINE_LOADS(Handle, load, from_path, from_function, from_bytes)             \
  Handle* from_path(const char* path, const char** error) {                            \
    return make_handle<Handle>(error, [&] { return load(path_of(path)); });            \
  }                                                                                    \
  Handle* from_function(nestline_read read, void* context, const char** error) {       \
    return make_handle<Handle>(error, [&] { return load(source_of(read, context)); }); \
  }                                                                                    \
  Handle* from_bytes(const void* bytes, size_t size, const char** error) {             \
    return make_handle<Handle>(error, [&] { return load(bytes_given(bytes, size)); }); \
  }

// The same for functions that save what content(handle, visit) shows to visit.
#define NESTLINE_SAVES(Handle, content, to_path, to_function, to_bytes)                        \
  bool to_path(const Handle* handle, const char* path, const char** error) {                   \
    return done(error, [&] {                                                                   \
      content(handle, [&](const auto& one) { nestline::save(one, path_of(path)); });           \
    });                                                                                        \
  }                                                                                            \
  bool to_function(const Handle* handle, nestline_write write, void* context,                  \
                   const char** error) {                                                       \
    return done(error, [&] {                                                                   \
      content(handle, [&](const auto& one) { nestline::save(one, sink_of(write, context)); }); \
    });                                                                                        \
  }                                                                                            \
  void* to_bytes(const Handle* handle, size_t* size, const char** error) {                     \
    return hand_out_bytes(size, error, [&](const nestline::ByteSink& sink) {                   \
      content(handle, [&](const auto& one) {                                                   \
        nestline::save(one, {sink, nestline::Head::compact});                                  \
      });                                                                                      \
    });                                                                                        \
  }

// Defines a function that cannot fail: a member's answer; 0 without a handle or such a member.
#define NESTLINE_FIGURE(Result, name, Handle, member)                \
  Result name(const Handle* handle) {                                \
    if (handle == nullptr) return {};                                \
    return with(handle, [](const auto& one) -> Result {              \
      if constexpr (requires { one.member(); }) return one.member(); \
      return {};                                                     \
    });                                                              \
  }

// Defines a function for each form of a key: each returns work(handle, key, arguments), where key()
// makes the key. `parameters` and `arguments`, in parentheses, are what comes after the key.
#define NESTLINE_FOR_EACH_KEY(Result, of_bytes, of_u64, of_hash, Handle, work, parameters,  \
                              arguments)                                                    \
  Result of_bytes(Handle* handle, const void* key, size_t size, NESTLINE_BARE parameters) { \
    return work(                                                                            \
        handle, [&] { return bytes_key(key, size); }, NESTLINE_BARE arguments);             \
  }                                                                                         \
  Result of_u64(Handle* handle, uint64_t key, NESTLINE_BARE parameters) {                   \
    return work(                                                                            \
        handle, [&] { return key; }, NESTLINE_BARE arguments);                              \
  }                                                                                         \
  Result of_hash(Handle* handle, uint64_t hash, NESTLINE_BARE parameters) {                 \
    return work(                                                                            \
        handle, [&] { return nestline::Hash{hash}; }, NESTLINE_BARE arguments);             \
  }
#define NESTLINE_BARE(...) __VA_ARGS__

// As the system takes it, on Windows from UTF-8.
inline std::filesystem::path path_of(const char* path) {
  require(path != nullptr, "the path is NULL");
  return reinterpret_cast<const char8_t*>(path);
}

// Nothing in memory is larger: such a size is a negative number that was converted.
inline constexpr std::size_t kMaxMemory = PTRDIFF_MAX;

inline std::string_view bytes_key(const void* key, std::size_t size) {
  require(key != nullptr || size == 0, "a key is NULL, but its size is not 0");
  require(size <= kMaxMemory, "the size of a key is more than memory can hold");
  return {static_cast<const char*>(key), size};
}

inline Verify verify_of(nestline_verify_mode verify) {
  static_assert(same(NESTLINE_VERIFY_NONE, Verify::none) &&
                same(NESTLINE_VERIFY_LAZILY, Verify::lazily) &&
                same(NESTLINE_VERIFY_ALL, Verify::all));
  require(verify == NESTLINE_VERIFY_NONE || verify == NESTLINE_VERIFY_LAZILY ||
              verify == NESTLINE_VERIFY_ALL,
          "verify is none of NESTLINE_VERIFY_NONE, NESTLINE_VERIFY_LAZILY, NESTLINE_VERIFY_ALL");
  return static_cast<Verify>(verify);
}

inline auto source_of(nestline_read read, void* context) {
  require(read != nullptr, "the function that reads is NULL");
  return [=](auto to) {
    const std::size_t count = read(context, to.data(), to.size());
    require(count != NESTLINE_READ_FAILED, "the function that reads has failed");
    return count;
  };
}
inline auto sink_of(nestline_write write, void* context) {
  require(write != nullptr, "the function that writes is NULL");
  return [=](auto bytes) {
    require(write(context, bytes.data(), bytes.size()), "the function that writes has failed");
  };
}

inline std::span<const std::byte> bytes_given(const void* bytes, std::size_t size) {
  require(bytes != nullptr || size == 0, "the bytes are NULL");
  require(size <= kMaxMemory, "the size of the bytes is more than memory can hold");
  return {static_cast<const std::byte*>(bytes), size};
}

// A copy for nestline_free_bytes(), with a zero behind it; null without memory.
inline char* copied(std::string_view bytes) noexcept {
  auto* const copy = static_cast<char*>(std::malloc(bytes.size() + 1));
  if (copy == nullptr) return nullptr;
  bytes.copy(copy, bytes.size());
  copy[bytes.size()] = '\0';
  return copy;
}
inline char* require_memory(char* copy) {
  if (copy == nullptr) throw std::bad_alloc();
  return copy;
}

void* hand_out_bytes(std::size_t* size, const char** error, auto&& make) {
  return guarded<void*>(error, nullptr, [&] {
    require(size != nullptr, "the pointer to the size is NULL");
    std::string bytes;
    make([&](std::span<const std::byte> piece) {
      bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    });
    char* const copy = require_memory(copied(bytes));
    *size = bytes.size();
    return copy;
  });
}

// Structs begin with their own size, for members of later versions. A larger size was not set.
inline constexpr std::size_t kMaxStruct = 4096;

// Members of a later version must be 0: this version cannot do what they ask. `earlier`: the size
// that the struct had before members were added; such a struct may be read up to there.
template <typename Struct>
void require_known(const Struct* given, const char* wrong_size,
                   std::size_t earlier = sizeof(Struct)) {
  require(given != nullptr, "the options are NULL");
  if (given->struct_size == earlier && earlier != sizeof(Struct)) return;
  require(given->struct_size >= sizeof(Struct) && given->struct_size <= kMaxStruct, wrong_size);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
  bool zeros = std::all_of(bytes + sizeof(Struct), bytes + given->struct_size,
                           [](unsigned char byte) { return byte == 0; });
  if constexpr (requires { given->reserved; }) zeros = zeros && given->reserved == 0;
  require(zeros, "the options ask for something that this version of the library does not know");
}

// Gives the caller `made`. Its members of a later version become 0.
template <typename Struct>
void hand_out(Struct made, Struct* to, const char* wrong_size) {
  const std::size_t size = to->struct_size;
  require(size >= sizeof(Struct) && size <= kMaxStruct, wrong_size);
  made.struct_size = size;
  std::memset(static_cast<void*>(to), 0, size);
  std::memcpy(to, &made, sizeof(Struct));
}

}}}  // namespace nestline::c

#endif  // NESTLINE_LIB_FACES_C_HANDLE_H_
