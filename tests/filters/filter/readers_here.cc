#include "tests/filters/filter/readers_here.h"

namespace nestline::test {
namespace {

template <class AnyReader>
std::size_t look_up(const AnyReader& reader, const std::uint64_t* keys, std::size_t count,
                    std::uint8_t* answers) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < count; ++i) found += answers[i] = reader.may_contain(keys[i]);
  return found;
}

}  // namespace

const ReadersHere NESTLINE_READERS_HERE = {look_up<Reader>, look_up<ConcurrentReader>};

}  // namespace nestline::test
