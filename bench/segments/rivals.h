// What a Maplet of segments is measured beside: a Bloom filter for each segment, which are asked in
// turn until the first that may have the key.
#ifndef NESTLINE_BENCH_SEGMENTS_RIVALS_H_
#define NESTLINE_BENCH_SEGMENTS_RIVALS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bench/filters/others/blocked_bloom.h"

namespace nestline::bench {

// Keys in one call for a batch.
inline constexpr std::size_t kBatchKeys = std::size_t{1} << 14;

// Calls work(part, at) with each part of a batch's length of `all`, which begins at `at`.
template <typename T, typename Work>
void each_batch(std::span<T> all, Work&& work) {
  for (std::size_t at = 0; at < all.size(); at += kBatchKeys) {
    work(all.subspan(at, all.size() - at < kBatchKeys ? all.size() - at : kBatchKeys), at);
  }
}

// The filters of all segments, equally large.
class SegmentFilters {
 public:
  virtual ~SegmentFilters() = default;
  virtual void insert(std::size_t segment, std::span<const std::uint64_t> keys) = 0;
  // How many of the keys are in any segment, key by key.
  [[nodiscard]] virtual std::size_t count_each(std::span<const std::uint64_t> keys) const = 0;
  // The same in batches: filter by filter, each asked for the keys that those before it have not.
  [[nodiscard]] virtual std::size_t count_by_filter(std::span<const std::uint64_t> keys) const = 0;
  // The same in batches, key by key, all filters' blocks prefetched; 0 where there is no such form.
  [[nodiscard]] virtual std::size_t count_by_key(std::span<const std::uint64_t> keys) const = 0;
};

// may_contain(filter, keys, answers) is the batch lookup of one filter.
template <typename Filters, typename MayContain>
std::size_t count_in_turn(const Filters& filters, std::span<const std::uint64_t> keys,
                          MayContain&& may_contain) {
  std::vector<std::uint64_t> left(kBatchKeys);
  std::vector<std::uint8_t> answers(kBatchKeys);
  std::size_t found = 0;
  each_batch(keys, [&](std::span<const std::uint64_t> batch, std::size_t) {
    std::span<const std::uint64_t> asked = batch;
    for (const auto& filter : filters) {
      may_contain(filter, asked, std::span(answers).first(asked.size()));
      std::size_t kept = 0;
      for (std::size_t i = 0; i < asked.size(); ++i) {
        left[kept] = asked[i];
        kept += answers[i] == 0;
      }
      asked = std::span(left).first(kept);
    }
    found += batch.size() - asked.size();
  });
  return found;
}

class BlockedBloomSegments final : public SegmentFilters {
 public:
  BlockedBloomSegments(std::size_t segments, std::size_t bytes_each) {
    for (std::size_t i = 0; i < segments; ++i) filters_.emplace_back(bytes_each);
    for (const BlockedBloom& filter : filters_) pointers_.push_back(&filter);
  }
  void insert(std::size_t segment, std::span<const std::uint64_t> keys) override {
    filters_[segment].insert(keys);
  }
  [[nodiscard]] std::size_t count_each(std::span<const std::uint64_t> keys) const override {
    return BlockedBloom::count_in_any(pointers_, keys);
  }
  [[nodiscard]] std::size_t count_by_filter(std::span<const std::uint64_t> keys) const override {
    return count_in_turn(filters_, keys, [](const BlockedBloom& filter, auto asked, auto answers) {
      filter.may_contain(asked, answers);
    });
  }
  [[nodiscard]] std::size_t count_by_key(std::span<const std::uint64_t> keys) const override {
    std::vector<std::uint8_t> answers(kBatchKeys);
    std::size_t found = 0;
    each_batch(keys, [&](std::span<const std::uint64_t> batch, std::size_t) {
      found += BlockedBloom::may_contain_any(pointers_, batch, answers);
    });
    return found;
  }

 private:
  std::vector<BlockedBloom> filters_;
  std::vector<const BlockedBloom*> pointers_;
};

// Boost.Bloom's fastest filter with eight bits a key, which also has one block of 32 bytes a
// lookup.
std::unique_ptr<SegmentFilters> boost_segments(std::size_t segments, std::size_t bytes_each);

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_SEGMENTS_RIVALS_H_
