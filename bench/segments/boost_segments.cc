#include <boost/bloom/fast_multiblock32.hpp>
#include <boost/bloom/filter.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bench/segments/rivals.h"
#include "bench/support/huge_pages.h"

namespace nestline::bench {
namespace {

using Bloom = boost::bloom::filter<std::uint64_t, 1, boost::bloom::fast_multiblock32<8>, 0,
                                   boost::hash<std::uint64_t>, HugePages<unsigned char>>;

class BoostSegments final : public SegmentFilters {
 public:
  BoostSegments(std::size_t segments, std::size_t bytes_each) {
    for (std::size_t i = 0; i < segments; ++i) filters_.emplace_back(bytes_each * 8);
  }
  void insert(std::size_t segment, std::span<const std::uint64_t> keys) override {
    filters_[segment].insert(keys.begin(), keys.end());
  }
  [[nodiscard]] std::size_t count_each(std::span<const std::uint64_t> keys) const override {
    std::size_t found = 0;
    for (const std::uint64_t key : keys) {
      for (const Bloom& filter : filters_) {
        if (!filter.may_contain(key)) continue;
        ++found;
        break;
      }
    }
    return found;
  }
  [[nodiscard]] std::size_t count_by_filter(std::span<const std::uint64_t> keys) const override {
    return count_in_turn(filters_, keys, [](const Bloom& filter, auto asked, auto answers) {
      std::uint8_t* to = answers.data();
      filter.may_contain(asked.begin(), asked.end(),
                         [&to](std::uint64_t, bool found) { *to++ = found; });
    });
  }
  [[nodiscard]] std::size_t count_by_key(std::span<const std::uint64_t>) const override {
    return 0;
  }

 private:
  std::vector<Bloom> filters_;
};

}  // namespace

std::unique_ptr<SegmentFilters> boost_segments(std::size_t segments, std::size_t bytes_each) {
  return std::make_unique<BoostSegments>(segments, bytes_each);
}

}  // namespace nestline::bench
