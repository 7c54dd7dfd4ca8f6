// Compiled once for each processor: as it is, and with -DLOOK=look_avx2 -mavx2.
#include <nestline/filter.h>

#include <cstddef>
#include <cstdint>
#include <span>

#ifndef LOOK
#define LOOK look
#endif
std::size_t LOOK(const nestline::Filter& filter, std::span<const std::uint64_t> keys) {
  const nestline::Reader reader = filter.reader();
  std::size_t found = 0;
  for (const std::uint64_t key : keys) found += reader.may_contain(key);
  return found;
}
