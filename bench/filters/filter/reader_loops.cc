#include "bench/filters/filter/reader_loops.h"

namespace nestline::bench {
namespace {

template <class Asked>
std::size_t hits_of(const Asked& asked, std::span<const std::uint64_t> keys) {
  std::size_t hits = 0;
  for (const std::uint64_t key : keys) hits += asked.may_contain(key);
  return hits;
}

}  // namespace

const ReaderLoops NESTLINE_READER_LOOPS = {hits_of<Reader>, hits_of<ConcurrentReader>,
                                           hits_of<TextbookCuckoo>};

}  // namespace nestline::bench
