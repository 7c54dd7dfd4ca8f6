// How a table shows a key, in the order in which one of several related filters is chosen to erase
// the key from: lib/filter/lineage.h says why.
#ifndef NESTLINE_LIB_TABLE_STANDING_H_
#define NESTLINE_LIB_TABLE_STANDING_H_

#include <cstdint>

namespace nestline {

enum class Standing : std::uint8_t {
  none,  // not at all
  away,  // in its alternate only
  home,  // at home
  sure,  // at home, where nobody whose home is the alternate can be
};

}  // namespace nestline

#endif  // NESTLINE_LIB_TABLE_STANDING_H_
