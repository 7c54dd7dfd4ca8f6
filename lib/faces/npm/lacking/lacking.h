// Other names that the C++ library of Emscripten 3.1.6 lacks. It is included before all else.
#ifndef NESTLINE_LIB_FACES_NPM_LACKING_LACKING_H_
#define NESTLINE_LIB_FACES_NPM_LACKING_LACKING_H_

#include <algorithm>
#include <iterator>

namespace std {

template <class To, class From>
constexpr To bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}

namespace ranges {
template <class Range, class T>
constexpr void fill(Range&& range, const T& value) {
  std::fill(std::begin(range), std::end(range), value);
}
template <class Range, class To>
constexpr To copy(Range&& range, To to) {
  return std::copy(std::begin(range), std::end(range), to);
}
}  // namespace ranges

}  // namespace std

#endif  // NESTLINE_LIB_FACES_NPM_LACKING_LACKING_H_
