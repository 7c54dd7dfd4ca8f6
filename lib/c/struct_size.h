// Structs that begin with their own size, so that later versions can add members.
#ifndef NESTLINE_LIB_C_STRUCT_SIZE_H_
#define NESTLINE_LIB_C_STRUCT_SIZE_H_

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "lib/c/errors.h"

namespace nestline::c {

// No struct will ever be larger: such a size was not set.
inline constexpr std::size_t kMostStruct = 4096;

// Checks a struct that the caller has filled. Members of a later version must be 0: this one cannot
// do what they ask.
template <typename Struct>
void require_known(const Struct& given, const char* wrong_size) {
  const std::size_t size = given.struct_size;
  require(size >= sizeof(Struct) && size <= kMostStruct, wrong_size);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&given);
  require(std::all_of(bytes + sizeof(Struct), bytes + size,
                      [](unsigned char byte) { return byte == 0; }),
          "the options ask for something that this version of the library does not know");
}

// Gives the caller `made`. Its members of a later version become 0.
template <typename Struct>
void hand_out(Struct made, Struct* to, const char* wrong_size) {
  const std::size_t size = to->struct_size;
  require(size >= sizeof(Struct) && size <= kMostStruct, wrong_size);
  made.struct_size = size;
  std::memset(static_cast<void*>(to), 0, size);
  std::memcpy(to, &made, sizeof(Struct));
}

}  // namespace nestline::c

#endif  // NESTLINE_LIB_C_STRUCT_SIZE_H_
