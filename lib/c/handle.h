// What a nestline_filter is, and how to get from a C caller's pointer to the C++ filter.
#ifndef NESTLINE_LIB_C_HANDLE_H_
#define NESTLINE_LIB_C_HANDLE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>

#include "lib/c/errors.h"
#include "nestline/concurrent_filter.h"
#include "nestline/io.h"
#include "nestline/nestline.h"

struct nestline_filter {
  std::variant<nestline::ConcurrentFilter, nestline::MappedFilter> either;
};

namespace nestline::c {

// Returns visitor(filter), where the filter has one of the two types.
template <typename Visitor>
auto with_filter(const nestline_filter* filter, Visitor&& visitor) {
  require(filter != nullptr, "the filter is NULL");
  return std::visit(std::forward<Visitor>(visitor), filter->either);
}

// The filter, if it may be changed.
inline ConcurrentFilter& changeable(nestline_filter* filter) {
  require(filter != nullptr, "the filter is NULL");
  auto* const in_memory = std::get_if<ConcurrentFilter>(&filter->either);
  require(in_memory != nullptr,
          "the filter answers from a mapped file and cannot be changed; change a copy of it");
  return *in_memory;
}

// Nothing in memory is larger: such a size is a negative number that was converted.
inline constexpr std::size_t kMostMemory = PTRDIFF_MAX;

inline std::string_view bytes_key(const void* key, std::size_t size) {
  require(key != nullptr || size == 0, "a key is NULL, but its size is not 0");
  require(size <= kMostMemory, "the size of a key is more than memory can hold");
  return {static_cast<const char*>(key), size};
}

}  // namespace nestline::c

#endif  // NESTLINE_LIB_C_HANDLE_H_
