// Batches of questions for candidates: group after group of keys, and the lists that they fill.
#ifndef NESTLINE_LIB_MAPLET_CANDIDATE_LISTS_H_
#define NESTLINE_LIB_MAPLET_CANDIDATE_LISTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "lib/filter/key_chunks.h"
#include "lib/kernels/kernels.h"
#include "lib/kernels/maplet_kernels.h"
#include "nestline/maplet.h"

namespace nestline {

// The candidates of up to kLocateMost keys: how many each has, and all of them in order.
struct GroupCandidates {
  std::array<std::uint8_t, kLocateMost> counts;
  std::array<std::uint64_t, kLocateMost * Maplet::kMostCandidates> values;
  std::size_t total = 0;

  // Room for one more key's candidates.
  std::span<std::uint64_t, Maplet::kMostCandidates> rest() {
    return std::span<std::uint64_t, Maplet::kMostCandidates>(values.data() + total,
                                                             Maplet::kMostCandidates);
  }
  // Key i has so many, which have been put into rest().
  void take(std::size_t i, std::size_t count) {
    counts[i] = static_cast<std::uint8_t>(count);
    total += count;
  }
};

// The lists of Maplet::find.
class CandidateLists {
 public:
  CandidateLists(std::size_t keys, std::vector<std::uint32_t>& first,
                 std::vector<std::uint64_t>& values)
      : first_(first), values_(values) {
    if (keys > std::numeric_limits<std::uint32_t>::max() / Maplet::kMostCandidates) {
      throw std::invalid_argument(
          "a batch has at most 2^28 - 1 keys: its candidates are counted in 32 bits");
    }
    first_.resize(keys + 1);
    values_.clear();
  }

  // The candidates of the next `keys` keys.
  void add(std::size_t keys, const GroupCandidates& found) {
    auto sum = static_cast<std::uint32_t>(values_.size());
    for (std::size_t i = 0; i < keys; ++i) {
      first_[at_++] = sum;
      sum += found.counts[i];
    }
    values_.insert(values_.end(), found.values.begin(),
                   found.values.begin() + static_cast<std::ptrdiff_t>(found.total));
  }

  std::size_t finish() {
    first_.back() = static_cast<std::uint32_t>(values_.size());
    return values_.size();
  }

 private:
  std::vector<std::uint32_t>& first_;
  std::vector<std::uint64_t>& values_;
  std::size_t at_ = 0;
};

// Answers a chunk of keys on blocks that stay where they are meanwhile: the homes of each group are
// on their way to the cache while the group before is answered. find_busy(inputs, i, span) answers
// key i of the chunk where a writer was at its blocks, and returns how many candidates there are.
template <typename FindBusy>
void find_chunk(const MapletKernels& kernels, const BlocksView& view, const Inputs& inputs,
                CandidateLists& lists, FindBusy&& find_busy) {
  MapletGroup groups[2];
  const auto locate = [&](std::size_t at) {
    if (at >= inputs.count) return;
    const Inputs group = inputs.from(at).first(kLocateMost);
    kernels.locate(view, group.keys, group.count, group.kind, groups[at / kLocateMost % 2]);
  };
  GroupCandidates found;
  locate(0);
  for (std::size_t at = 0; at < inputs.count; at += kLocateMost) {
    locate(at + kLocateMost);
    MapletGroup& group = groups[at / kLocateMost % 2];
    found.total = kernels.find_batch(view, group, found.counts.data(), found.values.data());
    if (found.total == MapletKernels::kBusy) {
      found.total = 0;
      for (std::size_t i = 0; i < group.count; ++i) {
        found.take(i, find_busy(inputs, at + i, found.rest()));
      }
    }
    lists.add(group.count, found);
  }
}

}  // namespace nestline

#endif  // NESTLINE_LIB_MAPLET_CANDIDATE_LISTS_H_
