// std::pmr::memory_resource for headers that name only pointers to it.
#ifndef NESTLINE_INTERNAL_MEMORY_RESOURCE_H_
#define NESTLINE_INTERNAL_MEMORY_RESOURCE_H_

#include <cstddef>  // tells which standard library this is

#ifdef __GLIBCXX__
// libstdc++ has no header that only declares it, and <memory_resource> would be half of what
// filter.h costs. Declared as libstdc++ does.
namespace std _GLIBCXX_VISIBILITY(default) {
  _GLIBCXX_BEGIN_NAMESPACE_VERSION
  namespace pmr {
  class memory_resource;
  }
  _GLIBCXX_END_NAMESPACE_VERSION
}  // namespace std _GLIBCXX_VISIBILITY(default)
#else
#include <memory_resource>
#endif

#endif  // NESTLINE_INTERNAL_MEMORY_RESOURCE_H_
