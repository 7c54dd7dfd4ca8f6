#include "lib/filter/bulk_build.h"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "lib/filter/block_sort.h"
#include "lib/filter/bulk_block.h"
#include "lib/filter/filter_state.h"
#include "lib/filter/growth.h"
#include "lib/filter/key_chunks.h"
#include "lib/filter/span_checks.h"
#include "lib/table/table.h"

namespace nestline {
namespace {

using State = Filter::State;

// Blocks of a range at most, as a power of two: the keys of a range and its blocks fit the
// second-level cache. A small filter has smaller ranges, so that there is work for several threads.
constexpr std::uint32_t kRangeShift = 11;
static_assert(kRangeShift <= BlockSort::kMostShift);

std::uint32_t range_shift(std::uint64_t blocks) {
  const auto width = static_cast<std::uint32_t>(std::bit_width(blocks));
  return std::clamp(width, 10u, kRangeShift + 4) - 4;
}

// Keys of a chunk: so many that a run has 256 on average, and at least 8192.
std::size_t chunk_keys(std::size_t ranges) {
  constexpr std::size_t kRunKeys = 256;
  return std::max<std::size_t>(8192, ranges * kRunKeys / kChunk * kChunk);
}

// How far arrivals may raise the mark of their block in the first rounds (BulkBlock::add).
template <class L>
constexpr std::array<std::uint32_t, 3> kPrices = {10, 20, 30};
template <>
constexpr std::array<std::uint32_t, 3> kPrices<Layout<16>> = {16, 40, 255};
constexpr std::uint32_t kMostRounds = 6;

// One key in so many is not worth a round.
constexpr std::uint64_t kFew = 4096;

template <class L>
class BulkBuild {
 public:
  BulkBuild(std::unique_ptr<State>& state, KeySpan keys, std::span<std::uint8_t> stored,
            BuildTasks& tasks)
      : state_(state),
        view_(state->view),
        kernels_(*state->kernels),
        keys_(keys),
        stored_(stored),
        tasks_(tasks),
        shift_(range_shift(view_.geometry.blocks())),
        sort_(view_.geometry.blocks(), shift_),
        leaver_sort_(view_.geometry.blocks(), shift_),
        left_(sort_.ranges()),
        crowds_(sort_.ranges()),
        own_(view_.geometry.blocks()),
        counts_(view_.geometry.blocks()) {}

  // Throws std::length_error and std::bad_alloc.
  void run() {
    locate_keys();
    for_each_range([&](std::size_t range, BuildScratch&) { count_own(range); });
    for_each_range([&](std::size_t range, BuildScratch& scratch) { choose(range, scratch); });
    sort_leavers();
    for_each_range([&](std::size_t range, BuildScratch& scratch) { fill(range, scratch); });
    for (std::size_t round = 1; round < kMostRounds && are_many_leavers(); ++round) {
      const std::uint32_t price = round < kPrices<L>.size() ? kPrices<L>[round] : kSpillClasses;
      sort_leavers();
      for_each_range([&](std::size_t range, BuildScratch& scratch) { add(range, price, scratch); });
    }
    insert_rest();
    tell();
  }

 private:
  using Counts = std::array<std::uint32_t, (1u << kRangeShift) + 1>;

  template <typename Work>
  void for_each_range(const Work& work) {
    tasks_.for_each(sort_.ranges(), work);
  }

  [[nodiscard]] std::uint64_t first_block(std::size_t range) const {
    return std::min(std::uint64_t{range} << shift_, view_.geometry.blocks());
  }
  [[nodiscard]] std::size_t blocks_of(std::size_t range) const {
    return static_cast<std::size_t>(first_block(range + 1) - first_block(range));
  }

  // --- Keys to ranges.

  void locate_keys() {
    const std::size_t chunk = chunk_keys(sort_.ranges());
    std::vector<std::size_t> sizes(keys_.size() / chunk, chunk);
    if (keys_.size() % chunk != 0) sizes.push_back(keys_.size() % chunk);
    sort_.begin(sizes);
    tasks_.for_each(sizes.size(), [&](std::size_t i, BuildScratch& scratch) {
      scratch.located.resize(std::max(scratch.located.size(), sizes[i]));
      sort_.begin_chunk(scratch.next);
      locate(keys_.subspan(i * chunk, sizes[i]), scratch.located.data(),
             [&](std::span<const std::uint64_t> piece) { sort_.count(piece, scratch.next); });
      sort_.sort_chunk(i, std::span(scratch.located).first(sizes[i]), scratch.next);
    });
  }

  // Calls visit(piece) for what it has written, while that is in the first-level cache.
  template <typename Visit>
  void locate(KeySpan keys, std::uint64_t* to, const Visit& visit) const {
    for (KeyChunks chunks(keys, state_->seed); chunks.next();) {
      const Inputs& inputs = chunks.inputs();
      const std::span<const std::uint64_t> piece(to, inputs.count);
      for (std::size_t i = 0; i < inputs.count; i += kLocateMost) {
        const std::size_t count = std::min(kLocateMost, inputs.count - i);
        kernels_.locate_pairs(view_, inputs.keys + i, count, inputs.kind, to);
        to += count;
      }
      visit(piece);
    }
  }

  // Sorts the leavers of all ranges by their alternates and counts them there.
  void sort_leavers() {
    // Chunks of whole ranges.
    const std::size_t chunk = chunk_keys(sort_.ranges());
    std::vector<std::size_t> ends;
    std::vector<std::size_t> sizes;
    for (std::size_t range = 0; range < left_.size(); ++range) {
      const std::size_t size = left_[range].leavers.size();
      if (sizes.empty() || sizes.back() + size > chunk) {
        sizes.push_back(0);
        ends.push_back(range);
      }
      sizes.back() += size;
      ends.back() = range + 1;
    }
    leaver_sort_.begin(sizes);
    tasks_.for_each(sizes.size(), [&](std::size_t i, BuildScratch& scratch) {
      scratch.located.resize(std::max(scratch.located.size(), sizes[i]));
      std::uint64_t* to = scratch.located.data();
      for (std::size_t range = i == 0 ? 0 : ends[i - 1]; range < ends[i]; ++range) {
        std::vector<std::uint64_t>& leavers = left_[range].leavers;
        to = std::copy(leavers.begin(), leavers.end(), to);
        leavers.clear();
      }
      leaver_sort_.begin_chunk(scratch.next);
      leaver_sort_.count(std::span(scratch.located).first(sizes[i]), scratch.next);
      leaver_sort_.sort_chunk(i, std::span(scratch.located).first(sizes[i]), scratch.next);
    });
    for_each_range([&](std::size_t range, BuildScratch&) { count_arrivals(range); });
  }

  // --- Ranges to blocks.

  static std::uint8_t saturated(std::uint32_t count) {
    return static_cast<std::uint8_t>(std::min(count, 255u));
  }

  static void count_keys(const BlockSort& sort, std::size_t range, Counts& counts) {
    counts.fill(0);
    sort.for_each_run(range, [&, block = sort.block_in_range()](std::span<std::uint32_t> run) {
      for (const std::uint32_t key : run) ++counts[block(key)];
    });
  }

  void count_own(std::size_t range) {
    Counts counts;
    count_keys(sort_, range, counts);
    const std::uint64_t first = first_block(range);
    for (std::size_t i = 0; i < blocks_of(range); ++i) {
      own_[first + i] = counts_[first + i] = saturated(counts[i]);
      if (counts[i] >= 255) crowds_[range].push_back(counts[i]);
    }
  }

  // What count_own has counted.
  void own_counts(std::size_t range, Counts& counts) const {
    auto crowd = crowds_[range].begin();
    for (std::size_t i = 0; i < blocks_of(range); ++i) {
      counts[i] = own_[first_block(range) + i];
      if (counts[i] == 255) counts[i] = *crowd++;
    }
  }

  void count_arrivals(std::size_t range) {
    const std::uint64_t first = first_block(range);
    const auto block = leaver_sort_.block_in_range();
    leaver_sort_.for_each_run(range, [&](std::span<std::uint32_t> run) {
      for (const std::uint32_t key : run) {
        std::uint8_t& count = counts_[first + block(key)];
        count = saturated(count + 1u);
      }
    });
  }

  // Sorts the keys of a range by block into `sorted`. Afterwards ends[i] is where those of block i
  // end; before, `ends` is how many there are.
  void sort_by_block(const BlockSort& sort, std::size_t range, Counts& ends,
                     std::vector<std::uint32_t>& sorted) const {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < blocks_of(range); ++i) sum += std::exchange(ends[i], sum);
    make_room(sorted, sum);
    sort.for_each_run(range, [&ends, to = sorted.data(),
                              block = sort.block_in_range()](std::span<std::uint32_t> run) {
      for (const std::uint32_t key : run) to[ends[block(key)]++] = key & kPairMask;
    });
  }

  // Kernels read whole vectors, so beyond the last key.
  static void make_room(std::vector<std::uint32_t>& keys, std::size_t count) {
    keys.resize(std::max(keys.size(), count + kSettleMost));
  }

  BulkBlock<L> block(std::uint64_t number, std::size_t range, BuildScratch& scratch) {
    return {kernels_, view_.geometry, counts_.data(), scratch.block, left_[range], number};
  }

  // Sorts a range's own keys by block, for good, and chooses those that leave.
  void choose(std::size_t range, BuildScratch& scratch) {
    const std::uint64_t first = first_block(range);
    Counts ends;
    own_counts(range, ends);
    sort_by_block(sort_, range, ends, scratch.sorted);
    std::uint32_t begin = 0;
    for (std::size_t i = 0; i < blocks_of(range); ++i) {
      if (own_[first + i] >= BulkBlock<L>::kMayBeTooMany) {
        block(first + i, range, scratch)
            .choose_leavers(std::span(scratch.sorted).subspan(begin, ends[i] - begin));
      }
      begin = ends[i];
    }
    const std::uint32_t* from = scratch.sorted.data();
    sort_.for_each_run(range, [&](std::span<std::uint32_t> run) {
      std::copy_n(from, run.size(), run.begin());
      from += run.size();
    });
  }

  // Fills the blocks of a range with their own keys that stay and the first arrivals.
  void fill(std::size_t range, BuildScratch& scratch) {
    Counts counts;
    own_counts(range, counts);
    Counts ends;
    count_keys(leaver_sort_, range, ends);
    sort_by_block(leaver_sort_, range, ends, scratch.arrivals);
    scratch.sorted.clear();
    sort_.for_each_run(range, [&](std::span<const std::uint32_t> run) {
      scratch.sorted.insert(scratch.sorted.end(), run.begin(), run.end());
    });
    const std::size_t own_keys = scratch.sorted.size();
    make_room(scratch.sorted, own_keys);
    const std::uint64_t first = first_block(range);
    std::span<const std::uint32_t> own(scratch.sorted.data(), own_keys);
    const std::uint32_t* arrivals = scratch.arrivals.data();
    for (std::size_t i = 0; i < blocks_of(range); ++i) {
      const std::uint32_t* const arrivals_end = scratch.arrivals.data() + ends[i];
      block(first + i, range, scratch)
          .fill(own.first(counts[i]), {arrivals, arrivals_end}, kPrices<L>[0],
                state_ -> blocks()[first + i]);
      own = own.subspan(counts[i]);
      arrivals = arrivals_end;
    }
  }

  // Adds arrivals to the blocks of a range.
  void add(std::size_t range, std::uint32_t price, BuildScratch& scratch) {
    Counts ends;
    count_keys(leaver_sort_, range, ends);
    sort_by_block(leaver_sort_, range, ends, scratch.arrivals);
    const std::uint64_t first = first_block(range);
    const std::uint32_t* from = scratch.arrivals.data();
    for (std::size_t i = 0; i < blocks_of(range); ++i) {
      const std::uint32_t* const end = scratch.arrivals.data() + ends[i];
      if (from == end) continue;
      block(first + i, range, scratch).add({from, end}, price, state_->blocks()[first + i]);
      from = end;
    }
  }

  // --- What is left.

  // Whether the leavers are worth a round.
  [[nodiscard]] bool are_many_leavers() const {
    std::uint64_t all = 0;
    for (const LeftBehind& left : left_) all += left.leavers.size();
    return all > keys_.size() / kFew;
  }

  // Where a located key is to go by now: the filter may have doubled since.
  [[nodiscard]] Place place_of(std::uint64_t key) const {
    const std::uint32_t pair = static_cast<std::uint32_t>(key) & kPairMask;
    const std::uint32_t fingerprint = pair & 0xffff;
    std::uint64_t block = key >> 20;
    const std::uint32_t growth = state_->view.geometry.growth;
    if (growth != view_.geometry.growth) {
      const std::uint32_t unused_bits = static_cast<std::uint32_t>(L::kBits) - growth;
      block = block >> view_.geometry.growth << growth | fingerprint >> unused_bits;
    }
    return {block, L::bucket(fingerprint, pair >> 16), fingerprint, pair >> 16};
  }

  void insert_rest() {
    state_->size = keys_.size();
    for (LeftBehind& left : left_) {
      for (const std::uint64_t key : left.leavers) insert(key, left);
      for (const std::uint64_t key : left.rest) insert(key, left);
    }
    for (const LeftBehind& left : left_) state_->size -= left.refused.size();
  }

  void insert(std::uint64_t key, LeftBehind& left) {
    for (;;) {
      const Place place = place_of(key);
      const Geometry& geometry = state_->view.geometry;
      Table<L, NoLocks> table(state_->blocks(), geometry, kernels_);
      const Outcome outcome = *table.insert(place);
      if (outcome == Outcome::stored) return;
      if (outcome == Outcome::full && state_->grows_by_itself() && try_to_grow(state_)) continue;
      const bool found = table.contains(place) || table.contains(moved(geometry, place));
      if (!found && stored_.empty()) refuse();
      left.refused.push_back(key);
      return;
    }
  }

  [[noreturn]] void refuse() const {
    std::ostringstream sentence;
    sentence << "no room for all of the " << keys_.size()
             << " keys in a filter that promises to hold " << state_->capacity;
    throw std::length_error(sentence.str());
  }

  // Sets `stored_`. Of keys that look the same, the last ones are those that were not stored.
  void tell() const {
    std::fill(stored_.begin(), stored_.end(), std::uint8_t{1});
    std::unordered_map<std::uint64_t, std::uint64_t> refused;
    std::uint64_t untold = 0;
    if (stored_.empty()) return;
    for (const LeftBehind& left : left_) {
      for (const std::uint64_t key : left.refused) ++refused[key];
      untold += left.refused.size();
    }
    // First by their homes. A key that was refused in its alternate, because it had to make room at
    // home, is one of those that have the same two blocks: all of them may be away.
    std::vector<std::uint64_t> located_keys(kChunk);
    for (const bool at_home : {true, false}) {
      for (std::size_t end = keys_.size(); end != 0 && untold != 0;) {
        const std::size_t first = (end - 1) / kChunk * kChunk;
        locate(keys_.subspan(first, end - first), located_keys.data(), [](auto) {});
        for (; end != first && untold != 0; --end) {
          std::uint64_t key = located_keys[end - 1 - first];
          if (!at_home) key = other(key);
          const auto found = refused.find(key);
          if (stored_[end - 1] == 0 || found == refused.end() || found->second == 0) continue;
          --found->second;
          --untold;
          stored_[end - 1] = 0;
        }
        end = first;
      }
    }
  }

  // The same key in its other block.
  [[nodiscard]] std::uint64_t other(std::uint64_t key) const {
    const std::uint32_t pair = static_cast<std::uint32_t>(key) & kPairMask;
    return located(alternate_of(view_.geometry, {key >> 20, 0, pair & 0xffff, pair >> 16}), pair);
  }

  std::unique_ptr<State>& state_;
  const BlocksView view_;  // as the build began
  const Kernels& kernels_;
  KeySpan keys_;
  std::span<std::uint8_t> stored_;
  BuildTasks& tasks_;
  std::uint32_t shift_;
  BlockSort sort_;                                  // the keys
  BlockSort leaver_sort_;                           // the leavers of one round
  std::vector<LeftBehind> left_;                    // of each range
  std::vector<std::vector<std::uint32_t>> crowds_;  // of each range: counts of 255 and more
  std::vector<std::uint8_t> own_;                   // keys whose home each block is; 255: or more
  std::vector<std::uint8_t> counts_;                // the same and those that arrived
};

class OneThread final : public BuildTasks {
  void for_each(std::size_t count, const Work& work) override {
    for (std::size_t i = 0; i < count; ++i) work(i, scratch_);
  }
  BuildScratch scratch_;
};

}  // namespace

Filter build_in_bulk(const Options& options, KeySpan keys, std::span<std::uint8_t> stored,
                     BuildTasks& tasks) {
  check_optional_length("stored", stored.size(), keys.size());
  std::unique_ptr<State> state = FilterAccess::take(Filter(options));
  if (keys.size() > state->capacity) state = grown_for(std::move(state), keys.size());
  visit_layout(state->bits,
               [&](auto layout) { BulkBuild<decltype(layout)>(state, keys, stored, tasks).run(); });
  return FilterAccess::make(std::move(state));
}

Filter Filter::build(const Options& options, KeySpan keys, std::span<std::uint8_t> stored) {
  OneThread tasks;
  return build_in_bulk(options, keys, stored, tasks);
}

}  // namespace nestline
