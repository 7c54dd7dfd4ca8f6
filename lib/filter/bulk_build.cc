#include "lib/filter/bulk_build.h"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "lib/filter/batch.h"
#include "lib/filter/block_sort.h"
#include "lib/filter/bulk_block.h"
#include "lib/filter/filter_state.h"
#include "lib/filter/growth.h"
#include "lib/table/table.h"

namespace nestline {
namespace {

using State = Filter::State;

// Blocks of a range at most, as a power of two: the keys of a range, twice, and its blocks fit the
// second-level cache, even where two threads share it. A small filter has smaller ranges, so that
// there is work for several threads.
constexpr std::uint32_t kRangeShift = 10;
static_assert(kRangeShift <= BlockSort::kMaxShift);

std::uint32_t range_shift(std::uint64_t blocks) {
  const auto width = static_cast<std::uint32_t>(std::bit_width(blocks));
  return std::clamp(width, 10u, kRangeShift + 4) - 4;
}

// Keys of a chunk: so many that a range has 8 pages on average, and at least 16384.
std::size_t chunk_keys(std::size_t ranges) {
  return std::clamp<std::size_t>(ranges * 8 * BlockSort::kPageKeys, 16384, std::size_t{1} << 30);
}
static_assert(16384 % kChunk == 0 && BlockSort::kPageKeys * 8 % kChunk == 0);

// How far arrivals may raise the mark of their block in the first rounds (BulkBlock::add).
template <class L>
constexpr std::array<std::uint32_t, 3> kPrices = {10, 20, 30};
template <>
constexpr std::array<std::uint32_t, 3> kPrices<Layout<16>> = {16, 40, 255};
constexpr std::uint32_t kMaxRounds = 6;

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
        memory_(usual_bytes(keys.size(), static_cast<std::size_t>(view_.geometry.blocks()))),
        sort_(view_.geometry.blocks(), shift_, memory_),
        leaver_sort_(view_.geometry.blocks(), shift_, memory_),
        departed_(sort_.ranges()),
        crowds_(sort_.ranges()),
        counts_(reinterpret_cast<std::uint8_t*>(
            memory_.take(static_cast<std::size_t>(view_.geometry.blocks())))) {
    // More than leave at a load of 95 %.
    const std::size_t usual = keys.size() / departed_.size() / 12 + 64;
    auto* room = reinterpret_cast<std::uint64_t*>(memory_.take(usual * departed_.size() * 8));
    for (Departed& departed : departed_)
      departed.leavers.use({std::exchange(room, room + usual), usual});
  }

  // Throws std::length_error and std::bad_alloc.
  void run() {
    locate_keys();
    for_each_range([&](std::size_t range, BuildScratch&) { count_own(range); });
    for_each_range([&](std::size_t range, BuildScratch& scratch) { fill(range, scratch); });
    for (std::size_t round = 0; round < kMaxRounds && are_many_leavers(); ++round) {
      const std::uint32_t price = round < kPrices<L>.size() ? kPrices<L>[round] : kSpillClasses;
      sort_leavers();
      for_each_range([&](std::size_t range, BuildScratch& scratch) { add(range, price, scratch); });
    }
    insert_leftovers();
    report_stored();
  }

 private:
  // Pages of keys, a byte for each block, leavers, and the keys of a range once more.
  static std::size_t usual_bytes(std::size_t keys, std::size_t blocks) {
    const std::size_t ranges = (blocks >> range_shift(blocks)) + 1;
    return keys * 6 + blocks + (ranges + 1) * 4096;
  }

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
    tasks_.for_each(sizes.size(), [&](std::size_t i, BuildScratch&) {
      BlockSort::Chunk sorted(sort_, i);
      locate(keys_.subspan(i * chunk, sizes[i]),
             [&](std::span<const std::uint64_t> piece) { sorted.add(piece); });
    });
  }

  // Calls visit(piece) for the located keys, piece by piece.
  template <typename Visit>
  void locate(KeySpan keys, const Visit& visit) const {
    alignas(64) std::array<std::uint64_t, kMaxLocated> piece;
    for (KeyChunks chunks(keys, state_->seed); chunks.next();) {
      const Inputs& inputs = chunks.inputs();
      for (std::size_t i = 0; i < inputs.count; i += kMaxLocated) {
        const std::size_t count = std::min(kMaxLocated, inputs.count - i);
        kernels_.locate_pairs(view_, inputs.keys + i, count, inputs.kind, piece.data());
        visit(std::span<const std::uint64_t>(piece.data(), count));
      }
    }
  }

  // Sorts the leavers of all ranges by their alternates and counts them there.
  void sort_leavers() {
    // Chunks of whole ranges.
    const std::size_t chunk = chunk_keys(sort_.ranges());
    std::vector<std::size_t> ends;
    std::vector<std::size_t> sizes;
    for (std::size_t range = 0; range < departed_.size(); ++range) {
      const std::size_t size = departed_[range].leavers.size();
      if (sizes.empty() || sizes.back() + size > chunk) {
        sizes.push_back(0);
        ends.push_back(range);
      }
      sizes.back() += size;
      ends.back() = range + 1;
    }
    leaver_sort_.begin(sizes);
    tasks_.for_each(sizes.size(), [&](std::size_t i, BuildScratch&) {
      BlockSort::Chunk sorted(leaver_sort_, i);
      for (std::size_t range = i == 0 ? 0 : ends[i - 1]; range < ends[i]; ++range) {
        departed_[range].leavers.for_each_part([&](auto keys) { sorted.add(keys); });
        departed_[range].leavers.clear();
      }
    });
    for_each_range([&](std::size_t range, BuildScratch&) { count_arrivals(range); });
  }

  // --- Ranges to blocks.

  static std::uint8_t saturated(std::uint32_t count) {
    return static_cast<std::uint8_t>(std::min(count, 255u));
  }

  void count_keys(const BlockSort& sort, std::size_t range, Counts& counts) const {
    std::fill_n(counts.begin(), blocks_of(range), 0u);
    sort.for_each_page(range, [&, block = sort.block_in_range()](auto keys) {
      for (const std::uint32_t key : keys) ++counts[block(key)];
    });
  }

  void count_own(std::size_t range) {
    // Positions in a range have 32 bits.
    constexpr std::uint64_t kMaxInRange = std::uint64_t{1} << 31;
    std::uint64_t all = 0;
    sort_.for_each_page(range, [&](auto keys) { all += keys.size(); });
    if (all > kMaxInRange) refuse();
    Counts counts;
    count_keys(sort_, range, counts);
    const std::uint64_t first = first_block(range);
    const std::size_t blocks = blocks_of(range);
    for (std::size_t i = 0; i < blocks; ++i) {
      counts_[first + i] = saturated(counts[i]);
      if (counts[i] >= 255) crowds_[range].push_back(counts[i]);
    }
  }

  // What count_own has counted, before arrivals are.
  void own_counts(std::size_t range, Counts& counts) const {
    auto crowd = crowds_[range].begin();
    const std::uint8_t* const counted = counts_ + first_block(range);
    const std::size_t blocks = blocks_of(range);
    for (std::size_t i = 0; i < blocks; ++i) {
      counts[i] = counted[i];
      if (counts[i] == 255) counts[i] = *crowd++;
    }
  }

  void count_arrivals(std::size_t range) {
    const std::uint64_t first = first_block(range);
    const auto block = leaver_sort_.block_in_range();
    leaver_sort_.for_each_page(range, [&](auto keys) {
      for (const std::uint32_t key : keys) {
        std::uint8_t& count = counts_[first + block(key)];
        count = saturated(count + 1u);
      }
    });
  }

  // Sorts the keys of a range by block, and returns them: pairs, with other bits above. Afterwards
  // ends[i] is where those of block i end; before, `ends` is how many there are.
  std::uint32_t* sort_by_block(const BlockSort& sort, std::size_t range, Counts& ends,
                               BuildScratch& scratch) {
    std::uint32_t sum = 0;
    const std::size_t blocks = blocks_of(range);
    for (std::size_t i = 0; i < blocks; ++i) sum += std::exchange(ends[i], sum);
    // Kernels read whole vectors, so beyond the last key. Ranges vary: some room for larger ones.
    std::uint32_t* const sorted =
        scratch.sorted.at_least(sum + sum / 16 + 4 * kMaxSettled, memory_);
    sort.for_each_page(range, [&ends, sorted, block = sort.block_in_range()](auto keys) {
      for (const std::uint32_t key : keys) sorted[ends[block(key)]++] = key;
    });
    return sorted;
  }

  BulkBlock<L> block(std::uint64_t number, std::size_t range, Settling& settling) {
    return {kernels_, view_.geometry, counts_, settling, departed_[range], number};
  }

  // Fills the blocks of a range with their own keys.
  void fill(std::size_t range, BuildScratch& scratch) {
    Counts ends;
    own_counts(range, ends);
    std::uint32_t* const keys = sort_by_block(sort_, range, ends, scratch);
    const std::size_t blocks = blocks_of(range);
    std::uint32_t begin = 0;
    for (std::size_t first = 0; first < blocks; first += kSettleBlocks) {
      const std::size_t count = std::min(kSettleBlocks, blocks - first);
      std::array<std::optional<BulkBlock<L>>, kSettleBlocks> group;
      for (std::size_t i = 0; i < count; ++i) {
        group[i].emplace(block(first_block(range) + first + i, range, scratch.blocks[i]));
        group[i]->begin_to_fill({keys + begin, keys + ends[first + i]});
        begin = ends[first + i];
      }
      kernels_.settle(scratch.blocks.data(), count);
      for (std::size_t i = 0; i < count; ++i) {
        group[i]->end_to_fill(state_->blocks()[first_block(range) + first + i]);
      }
    }
  }

  // Adds arrivals to the blocks of a range.
  void add(std::size_t range, std::uint32_t price, BuildScratch& scratch) {
    Counts ends;
    count_keys(leaver_sort_, range, ends);
    const std::uint32_t* const keys = sort_by_block(leaver_sort_, range, ends, scratch);
    const std::uint64_t first = first_block(range);
    const std::size_t blocks = blocks_of(range);
    std::uint32_t begin = 0;
    for (std::size_t i = 0; i < blocks; ++i) {
      if (begin == ends[i]) continue;
      block(first + i, range, scratch.blocks[0])
          .add({keys + begin, keys + ends[i]}, price, state_->blocks()[first + i]);
      begin = ends[i];
    }
  }

  // --- What is left.

  // Whether the leavers are worth a round.
  [[nodiscard]] bool are_many_leavers() const {
    std::uint64_t all = 0;
    for (const Departed& departed : departed_) all += departed.leavers.size();
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

  void insert_leftovers() {
    state_->size = keys_.size();
    for (Departed& departed : departed_) {
      departed.leavers.for_each_part([&](auto keys) {
        for (const std::uint64_t key : keys) insert(key, departed);
      });
      for (const std::uint64_t key : departed.leftovers) insert(key, departed);
    }
    for (const Departed& departed : departed_) state_->size -= departed.refused.size();
  }

  void insert(std::uint64_t key, Departed& departed) {
    for (;;) {
      const Place place = place_of(key);
      const Outcome outcome = *table().insert(place);
      if (outcome == Outcome::stored) return;
      if (outcome == Outcome::full && state_->grows_by_itself() && try_to_grow(state_)) continue;
      if (stored_.empty() && !is_found(key) && !is_found(other(key))) refuse();
      departed.refused.push_back(key);
      return;
    }
  }

  [[nodiscard]] Table<L, NoLocks> table() const {
    return {state_->blocks(), state_->view.geometry, kernels_};
  }
  // Whether a lookup finds a key that has its home in the block where it is located.
  [[nodiscard]] bool is_found(std::uint64_t key) const { return table().contains(place_of(key)); }

  [[noreturn]] void refuse() const {
    std::ostringstream sentence;
    sentence << "no room for all of the " << keys_.size()
             << " keys in a filter that promises to hold " << state_->capacity;
    throw std::length_error(sentence.str());
  }

  // What was stored of keys that look the same: equal pairs, homes in the same two blocks. Their
  // copies are interchangeable, so it is not known who of them was refused.
  struct Alike {
    std::uint64_t copies;                  // in both blocks
    std::array<std::uint64_t, 2> of_home;  // those that a lookup from either block counts
  };

  // `key`: located in the lower one of its blocks.
  [[nodiscard]] Alike alike(std::uint64_t key) const {
    const Place low = place_of(key);
    const Place high = moved(state_->view.geometry, low);
    const auto copies = [&](const Place& place) {
      const Block& block = state_->blocks()[place.block];
      return std::popcount(kernels_.copies(block, place));
    };
    const int away = high.block == low.block ? 0 : copies(high);
    return {static_cast<std::uint64_t>(copies(low) + away),
            {table().count(low), table().count(high)}};
  }

  // Sets `stored_`; without it, throws if a key is missed. Of keys that look the same, the first
  // ones are those that were stored, but no more with one home than a lookup from there counts: so
  // each can be found and erased (table.h has the proof).
  void report_stored() {
    std::fill(stored_.begin(), stored_.end(), std::uint8_t{1});
    std::unordered_map<std::uint64_t, Alike> refused;
    for (const Departed& departed : departed_) {
      for (const std::uint64_t key : departed.refused) {
        if (stored_.empty() && is_found(key) && is_found(other(key))) continue;
        const std::uint64_t low = std::min(key, other(key));
        refused.try_emplace(low, alike(low));
      }
    }
    if (refused.empty()) return;
    std::size_t i = 0;
    locate(keys_, [&](std::span<const std::uint64_t> piece) {
      for (const std::uint64_t key : piece) {
        const std::size_t at = i++;
        const std::uint64_t low = std::min(key, other(key));
        const auto found = refused.find(low);
        if (found == refused.end()) continue;
        Alike& remaining = found->second;
        std::uint64_t& of_home = remaining.of_home[key == low ? 0 : 1];
        if (stored_.empty()) {
          if (of_home == 0) refuse();
        } else if (remaining.copies == 0 || of_home == 0) {
          stored_[at] = 0;
        } else {
          --remaining.copies;
          --of_home;
        }
      }
    });
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
  ScratchMemory memory_;
  BlockSort sort_;                                  // the keys
  BlockSort leaver_sort_;                           // the leavers of one round
  std::vector<Departed> departed_;                  // of each range
  std::vector<std::vector<std::uint32_t>> crowds_;  // of each range: counts of 255 and more
  std::uint8_t* const counts_;  // keys of each block as last counted; 255: or more
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
  state->storage.populate();
  visit_layout(state->bits,
               [&](auto layout) { BulkBuild<decltype(layout)>(state, keys, stored, tasks).run(); });
  return FilterAccess::make(std::move(state));
}

Filter Filter::build(const Options& options, KeySpan keys, std::span<std::uint8_t> stored) {
  OneThread tasks;
  return build_in_bulk(options, keys, stored, tasks);
}

}  // namespace nestline
