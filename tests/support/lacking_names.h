// What tests, and libraries that are not in the package for npm, use and the C++ library of
// Emscripten 3.1.6 lacks, beside what lib/faces/npm/lacking has. It is included before all else,
// behind that.
#ifndef NESTLINE_TESTS_SUPPORT_LACKING_NAMES_H_
#define NESTLINE_TESTS_SUPPORT_LACKING_NAMES_H_

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory_resource>
#include <new>

namespace std {

namespace ranges {
template <class Range, class T>
constexpr void sort(Range&& range, less, T member) {
  std::sort(std::begin(range), std::end(range), [&](const auto& a, const auto& b) {
    return std::invoke(member, a) < std::invoke(member, b);
  });
}
template <class Range, class T>
constexpr auto find(Range&& range, const T& value) {
  return std::find(std::begin(range), std::end(range), value);
}
template <class Range, class Test>
constexpr auto find_if(Range&& range, Test test) {
  return std::find_if(std::begin(range), std::end(range), test);
}
template <class Range, class T>
constexpr auto count(Range&& range, const T& value) {
  return std::count(std::begin(range), std::end(range), value);
}
}  // namespace ranges

namespace pmr {
inline memory_resource* new_delete_resource() noexcept {
  static class New final : public memory_resource {
    void* do_allocate(size_t bytes, size_t alignment) override {
      return ::operator new (bytes, align_val_t{alignment});
    }
    void do_deallocate(void* memory, size_t, size_t alignment) override {
      ::operator delete (memory, align_val_t{alignment});
    }
    bool do_is_equal(const memory_resource& other) const noexcept override {
      return this == &other;
    }
  } resource;
  return &resource;
}
}  // namespace pmr

}  // namespace std

#endif  // NESTLINE_TESTS_SUPPORT_LACKING_NAMES_H_
