#include "lib/filters/filter/bulk_build.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "lib/engine/kernels/targets.h"
#include "lib/filters/filter/batch.h"
#include "lib/filters/filter/bulk_rest.h"
#include "lib/filters/filter/growth.h"

namespace nestline { inline namespace v0_3 {
namespace {

// The most blocks of a range, a power of two: two threads' fit one second-level cache. A small
// filter has smaller ranges, for several threads, and so that keys which follow each other are
// seldom of one: what the next needs would be waiting to be stored.
constexpr std::uint32_t kRangeShift = 10;
static_assert(kRangeShift <= BlockSort::kMaxShift);

std::uint32_t range_shift(std::uint64_t blocks) {
  const auto width = static_cast<std::uint32_t>(std::bit_width(blocks));
  return std::clamp(width, 15u, kRangeShift + 8) - 8;
}

// Keys of a chunk: whole pieces of KeyChunks, 4 pages a range on average, at least 16384.
std::size_t chunk_keys(std::size_t ranges) {
  const std::size_t keys = ranges * 4 * BlockSort::kPageKeys / kChunk * kChunk;
  return std::clamp<std::size_t>(keys, 16384, std::size_t{1} << 30);
}
static_assert(16384 % kChunk == 0);

// Keys of a slice at least; usually a quarter of all.
constexpr std::size_t kMinSlice = std::size_t{1} << 18;

// How far arrivals may raise the mark of their block in the first rounds (BulkBlock::add).
constexpr std::uint32_t max_mark_increase_of(int bits, std::size_t round) {
  constexpr std::array<std::uint32_t, 3> kIncreases = {10, 20, 30}, kWideIncreases = {16, 40, 255};
  if (round >= kIncreases.size()) return kEvictionRanks;
  return bits == 16 ? kWideIncreases[round] : kIncreases[round];
}
constexpr std::uint32_t kMaxRounds = 6;

// One key in so many is not worth a round.
constexpr std::uint64_t kFew = 4096;

// One key in nine is deferred in a full filter, unless there are many copies.
constexpr std::uint64_t kUsuallyDeferred = 7;

class BulkBuild {
 public:
  // Of `keys`, or for fold of the `count` keys of another filter.
  BulkBuild(OwnedBlocks& state, KeySpan keys, std::uint64_t count, std::span<Outcome> outcomes,
            BuildTasks& tasks, bool gives_up)
      : state_(state),
        view_(state->view),
        kernels_(*state->engine->build),
        keys_(keys),
        count_(static_cast<std::size_t>(count)),
        outcomes_(outcomes),
        tasks_(tasks),
        gives_up_(gives_up),
        rest_(state, keys, outcomes, gives_up),
        shift_(range_shift(view_.geometry.blocks())),
        memory_(usual_bytes(count_, static_cast<std::size_t>(view_.geometry.blocks()))),
        sort_(view_.geometry.blocks(), shift_, memory_),
        departed_(sort_.ranges()),
        deferred_(sort_.ranges()),
        counts_(reinterpret_cast<std::uint8_t*>(
            memory_.take(static_cast<std::size_t>(view_.geometry.blocks())))),
        free_(reinterpret_cast<std::uint64_t*>(
            memory_.take(static_cast<std::size_t>(view_.geometry.blocks()) * 8))) {
    std::fill_n(free_, view_.geometry.blocks(), (std::uint64_t{1} << kernels_.slots) - 1);
    // More than are deferred, and than leave, at a load of 95 %.
    const std::size_t deferred = count_ / sort_.ranges() / 8 + 64;
    const std::size_t evicted = count_ / sort_.ranges() / 12 + 64;
    for (std::size_t range = 0; range < sort_.ranges(); ++range) {
      deferred_[range].make_room(deferred, memory_);
      departed_[range].evicted.make_room(evicted, memory_);
    }
  }

  // Throws std::length_error and std::bad_alloc.
  void run() {
    if (place_all()) rest_.report(departed_);
  }

  // The same without outcomes. False: nothing is stored.
  bool place_all() {
    // Either gives each block its keys in the same order.
    if (tasks_.are_on_one_thread() && view_.geometry.blocks() <= blocks_in_near_cache()) {
      place_in_order();
    } else {
      place_by_ranges();
    }
    if (gives_up_ && are_many_late()) {
      refuse_all();
      return false;
    }
    place_deferred();
    return true;
  }

  // Stores the keys of a filter whose blocks are 2^times as many. False: there was no room.
  bool fold(const Blocks& from, std::uint32_t times) {
    const std::size_t most = (kMaxBulkPlaced << times) + kMaxBulkPlaced;
    std::vector<std::uint32_t> natives(most);
    std::vector<std::uint32_t> guests(most);
    FoldRest rest{natives.data(), guests.data(), 0, 0};
    for_each_range([&](std::size_t range, BuildScratch&) { unite(range, from, times, rest); });
    for (const std::uint64_t key : homebound_) come_home(key);
    place_deferred();
    if (!insert_late(unknown_, true) || !insert_late(late_, false)) return false;
    return std::ranges::all_of(departed_,
                               [&](const Evicted& of) { return insert_late(of.refused, false); });
  }

 private:
  void place_deferred() {
    for_each_range([&](std::size_t range, BuildScratch&) { count_own(range); });
    for_each_range([&](std::size_t range, BuildScratch& scratch) { place_own(range, scratch); });
    for (std::size_t round = 0; round < kMaxRounds && are_many_leavers(); ++round) {
      const std::uint32_t max_mark_increase = max_mark_increase_of(state_->bits, round);
      sort_leavers();
      for_each_range([&](std::size_t range, BuildScratch& scratch) {
        add(range, max_mark_increase, scratch);
      });
    }
    rest_.insert(departed_);
  }

  // A slice's pages, lists of deferred keys and evicted, and the numbers of each block.
  static std::size_t usual_bytes(std::size_t keys, std::size_t blocks) {
    return keys * 5 / 2 + blocks * 9;
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

  // Gives slots to keys in their order.
  void place_in_order() {
    std::array<std::uint64_t, kMaxLocated> deferred;
    for (KeyChunks chunks(keys_, state_->seed); chunks.next();) {
      const Inputs& inputs = chunks.inputs();
      for (std::size_t i = 0; i < inputs.count; i += kMaxLocated) {
        const std::size_t count = kernels_.place_keys(view_, state_->blocks(), inputs.keys + i,
                                                      std::min(kMaxLocated, inputs.count - i),
                                                      inputs.kind, free_, deferred.data());
        for (std::size_t n = 0; n < count; ++n)
          deferred_[deferred[n] >> (shift_ + 20)].push(static_cast<std::uint32_t>(deferred[n]));
      }
    }
  }

  // The same for one slice of the keys after the other, sorted by ranges.
  void place_by_ranges() {
    const std::size_t chunk = chunk_keys(sort_.ranges());
    const std::size_t slice = (std::max(keys_.size() / 4, kMinSlice) / chunk + 1) * chunk;
    for (std::size_t first = 0; first < keys_.size(); first += slice) {
      const std::size_t all = std::min(slice, keys_.size() - first);
      std::vector<std::size_t> sizes(all / chunk, chunk);
      if (all % chunk != 0) sizes.push_back(all % chunk);
      sort_.begin(sizes);
      tasks_.for_each(sizes.size(), [&](std::size_t i, BuildScratch&) {
        BlockSort::Chunk sorted(sort_, i);
        for_each_located(kernels_, view_, keys_.subspan(first + i * chunk, sizes[i]), state_->seed,
                         [&](std::span<const std::uint64_t> piece) { sorted.add(piece); });
      });
      for_each_range([&](std::size_t range, BuildScratch&) { place(range, deferred_[range]); });
    }
  }

  // Gives free slots to the sorted keys of a range, and adds those that are deferred to a list.
  void place(std::size_t range, KeyList<std::uint32_t>& to) {
    std::array<std::uint32_t, BlockSort::kPageKeys> deferred;
    const std::uint64_t first = first_block(range);
    // Stores to blocks that are far away would fill the processor's queue.
    for (std::uint64_t i = first; i < first_block(range + 1); ++i)
      prefetch_block(state_->blocks()[i]);
    sort_.for_each_page(range, [&](std::span<const std::uint32_t> keys) {
      const std::size_t count =
          kernels_.place_pairs(keys.data(), keys.size(), sort_.block_in_range().mask,
                               state_->blocks() + first, free_ + first, deferred.data());
      for (std::size_t n = 0; n < count; ++n) to.push(deferred[n]);
    });
  }

  // Fills the blocks of a range with the residents of the blocks that they are folded from. Guests
  // without their slots go home. What an open block has no slot for waits until the end.
  void unite(std::size_t range, const Blocks& from, std::uint32_t times, FoldRest& rest) {
    const std::uint64_t first = first_block(range);
    for (std::uint64_t i = first; i < first_block(range + 1); ++i) {
      Block& to = state_->blocks()[i];
      std::vector<std::uint32_t> unknown;
      for (std::uint64_t child = i << times; child < (i + 1) << times; ++child) {
        if (is_open_level(from.view.blocks[child].guest_level())) {
          keep_open(from, child, times, unknown);
        }
      }
      kernels_.fold_block(from.view, i << times, std::size_t{1} << times, to, free_[i], rest);
      for (std::size_t n = 0; n < rest.natives; ++n) {
        const bool is_unknown = std::ranges::find(unknown, rest.native[n]) != unknown.end();
        if (is_unknown) {
          unknown_.push_back(located(i, rest.native[n]));
        } else {
          come_home(located(i, rest.native[n]));
        }
      }
      for (std::size_t n = 0; n < rest.guests; ++n) {
        const std::uint32_t pair = rest.guest[n];
        homebound_.push_back(
            located(alternate_of(view_.geometry, {i, 0, pair & 0xffff, pair >> 16}), pair));
      }
    }
  }

  // Of an open block of a filter that is folded: if residents may be guests (lanes.h, G3), opens
  // the block that it becomes a part of, and covers them by the marks of the homes that they then
  // have. Adds their pairs to a list.
  void keep_open(const Blocks& from, std::uint64_t child, std::uint32_t times,
                 std::vector<std::uint32_t>& unknown) {
    const Geometry& geometry = from.view.geometry;
    Block block;  // a reader may lock that of `from` meanwhile
    copy_shared<kBlockBytes>(from.view.blocks[child].bytes.data(), block.bytes.data());
    const BlockClasses classes = block_classes(state_->bits, geometry, child);
    const BlockClasses united = block_classes(state_->bits, view_.geometry, child >> times);
    const std::uint32_t level = block.guest_level();
    const bool to_all = classes.highest_at(level) < united.often_away();
    Block& to = state_->blocks()[child >> times];
    visit_layout(state_->bits, [&](auto layout) {
      for (std::uint32_t slot = 0; slot < layout.kSlots; ++slot) {
        const std::uint32_t fingerprint = layout.get(block, slot);
        if (fingerprint == 0 || !classes.is_unknown_at(level, fingerprint)) continue;
        const std::uint32_t bucket_offset = layout.bucket_offset_at(fingerprint, slot);
        const Place home = moved(geometry, {child, 0, fingerprint, bucket_offset});
        Place here;
        if (!may_be_away(geometry, from.view.blocks[home.block].overflow_mark(), home, here)) {
          continue;
        }
        to.set_guest_level(std::max(to.guest_level(), to_all ? kOpenToAllLevel : kOpenLevel));
        state_->blocks()[home.block >> times].raise_overflow_mark(eviction_rank(fingerprint));
        unknown.push_back(fingerprint | bucket_offset << 16);
      }
    });
  }

  // A native that has no slot yet, located.
  void come_home(std::uint64_t key) {
    const std::uint64_t block = key >> 20;
    if (is_open(block)) {
      late_.push_back(key);
    } else {
      const std::uint64_t range = block >> shift_;
      deferred_[range].push(
          static_cast<std::uint32_t>(located(block - first_block(range), key & kPairMask)));
    }
  }

  // Stores natives that wait or were refused, or residents that may be guests too.
  bool insert_late(const std::vector<std::uint64_t>& late, bool are_unknown) {
    return std::ranges::all_of(late, [&](std::uint64_t key) {
      const std::uint32_t fingerprint = key & 0xffff;
      const auto bucket_offset = static_cast<std::uint32_t>(key >> 16 & 0xf);
      const std::uint64_t bucket = bucket_of(state_->bits, fingerprint, bucket_offset);
      const Place here{key >> 20, bucket, fingerprint, bucket_offset};
      if (are_unknown) open_for(*state_, here);
      return state_->engine->of_filters().operations.alone.insert_at(state_->view, here) ==
                 Outcome::stored ||
             (has_guest_lanes(view_.geometry) && open_alternates(*state_, here) == Outcome::stored);
    });
  }

  // Sorts the evicted of all ranges by their alternates and counts them there.
  void sort_leavers() {
    // Chunks of whole ranges.
    const std::size_t chunk = chunk_keys(sort_.ranges());
    std::vector<std::size_t> ends;
    std::vector<std::size_t> sizes;
    for (std::size_t range = 0; range < departed_.size(); ++range) {
      const std::size_t size = departed_[range].evicted.size();
      if (sizes.empty() || sizes.back() + size > chunk) {
        sizes.push_back(0);
        ends.push_back(range);
      }
      sizes.back() += size;
      ends.back() = range + 1;
    }
    sort_.begin(sizes);
    tasks_.for_each(sizes.size(), [&](std::size_t i, BuildScratch&) {
      BlockSort::Chunk sorted(sort_, i);
      for (std::size_t range = i == 0 ? 0 : ends[i - 1]; range < ends[i]; ++range) {
        departed_[range].evicted.for_each_part([&](auto keys) { sorted.add(keys); });
        departed_[range].evicted.clear();
      }
    });
    for_each_range([&](std::size_t range, BuildScratch&) { count_arrivals(range); });
  }

  // --- Ranges to blocks.

  static std::uint8_t saturated(std::uint32_t count) {
    return static_cast<std::uint8_t>(std::min(count, 255u));
  }

  void count_deferred(const KeyList<std::uint32_t>& deferred, std::size_t range,
                      Counts& counts) const {
    // Positions in a range have 32 bits.
    constexpr std::uint64_t kMaxInRange = std::uint64_t{1} << 31;
    if (deferred.size() > kMaxInRange) refuse_capacity(keys_, *state_);
    std::fill_n(counts.begin(), blocks_of(range), 0u);
    deferred.for_each_part([&, block = sort_.block_in_range()](auto keys) {
      for (const std::uint32_t key : keys) ++counts[block(key)];
    });
  }

  // Nobody is evicted to an open block, which only a fold has: who could leave is not known.
  [[nodiscard]] bool is_open(std::uint64_t block) const {
    return is_open_level(state_->blocks()[block].guest_level());
  }
  void count_own(std::size_t range) {
    Counts counts;
    count_deferred(deferred_[range], range, counts);
    const std::uint64_t first = first_block(range);
    const std::size_t blocks = blocks_of(range);
    for (std::size_t i = 0; i < blocks; ++i) {
      const auto free = static_cast<std::uint32_t>(std::popcount(free_[first + i]));
      counts_[first + i] = is_open(first + i) ? 255 : saturated(counts[i] + kernels_.slots - free);
    }
  }

  void count_arrivals(std::size_t range) {
    const std::uint64_t first = first_block(range);
    const auto block = sort_.block_in_range();
    sort_.for_each_page(range, [&](auto keys) {
      for (const std::uint32_t key : keys) {
        std::uint8_t& count = counts_[first + block(key)];
        count = saturated(count + 1u);
      }
    });
  }

  // Sorts the deferred keys of a range by block; calls visit(block, keys) for the blocks that have
  // any.
  template <typename Visit>
  void by_block(const KeyList<std::uint32_t>& deferred, std::size_t range, BuildScratch& scratch,
                const Visit& visit) {
    if (deferred.size() == 0) return;
    Counts ends;
    count_deferred(deferred, range, ends);
    std::uint32_t sum = 0;
    const std::size_t blocks = blocks_of(range);
    for (std::size_t i = 0; i < blocks; ++i) sum += std::exchange(ends[i], sum);
    // Kernels read whole vectors, so beyond the last key. Ranges vary: some room for larger ones.
    std::uint32_t* const sorted =
        scratch.sorted.at_least(sum + sum / 16 + 4 * kMaxBulkPlaced, memory_);
    deferred.for_each_part([&ends, sorted, block = sort_.block_in_range()](auto keys) {
      for (const std::uint32_t key : keys) sorted[ends[block(key)]++] = key;
    });
    std::uint32_t begin = 0;
    for (std::size_t i = 0; i < blocks; ++i) {
      const std::uint32_t end = ends[i];
      if (begin != end) visit(first_block(range) + i, std::span(sorted + begin, sorted + end));
      begin = end;
    }
  }

  BulkBlock block(std::uint64_t number, std::size_t range, BuildScratch& scratch) {
    return {kernels_, view_.geometry, block_classes(state_->bits, view_.geometry, number),
            counts_,  scratch.block,  departed_[range],
            number};
  }

  void place_own(std::size_t range, BuildScratch& scratch) {
    by_block(deferred_[range], range, scratch, [&](std::uint64_t number, auto keys) {
      block(number, range, scratch).place_own(keys, state_->blocks()[number], free_[number]);
    });
  }

  // Adds arrivals to the blocks of a range.
  void add(std::size_t range, std::uint32_t max_mark_increase, BuildScratch& scratch) {
    scratch.deferred.clear();
    if (has_guest_lanes(view_.geometry)) {  // blocks have to admit guests first
      sort_.for_each_page(range, [&](std::span<const std::uint32_t> keys) {
        for (const std::uint32_t key : keys) scratch.deferred.push(key);
      });
    } else {
      place(range, scratch.deferred);
    }
    by_block(scratch.deferred, range, scratch, [&](std::uint64_t number, auto keys) {
      block(number, range, scratch)
          .add(keys, max_mark_increase, state_->blocks()[number], free_[number]);
    });
  }

  // --- What is left.

  // Whether more are deferred than there would be if few keys had copies.
  [[nodiscard]] bool are_many_late() const {
    std::uint64_t all = 0;
    for (const KeyList<std::uint32_t>& deferred : deferred_) all += deferred.size();
    return all > keys_.size() / kUsuallyDeferred;
  }

  void refuse_all() {
    std::fill_n(state_->blocks(), view_.geometry.blocks(), Block{});
    std::ranges::fill(outcomes_, Outcome{});
  }

  // Whether the evicted are worth a round.
  [[nodiscard]] bool are_many_leavers() const {
    std::uint64_t all = 0;
    for (const Evicted& departed : departed_) all += departed.evicted.size();
    return all > count_ / kFew;
  }

  OwnedBlocks& state_;
  const BlocksView view_;  // as the build began
  const BuildKernels& kernels_;
  KeySpan keys_;
  const std::size_t count_;
  std::span<Outcome> outcomes_;
  BuildTasks& tasks_;
  const bool gives_up_;  // as fill_in_bulk does
  BulkRest rest_;
  std::uint32_t shift_;
  ScratchMemory memory_;
  BlockSort sort_;                 // the keys of a slice, then the evicted of a round
  std::vector<Evicted> departed_;  // of each range
  std::vector<KeyList<std::uint32_t>> deferred_;  // of each range
  // Of a fold, located.
  std::vector<std::uint64_t> homebound_;  // guests
  std::vector<std::uint64_t> late_;       // natives of open blocks
  std::vector<std::uint64_t> unknown_;    // of such blocks, who have lost their slots
  std::uint8_t* const counts_;            // keys of each block as last counted; 255: or more
  std::uint64_t* const free_;             // slots of each block
};

class OneThread final : public BuildTasks {
  [[nodiscard]] bool are_on_one_thread() const override { return true; }
  void for_each(std::size_t count, const Work& work) override {
    for (std::size_t i = 0; i < count; ++i) work(i, scratch_);
  }
  BuildScratch scratch_;
};

// Gives each key of a maplet its value.
void assign_values(Blocks& maplet, KeySpan keys, std::span<const std::uint64_t> values) {
  std::vector<std::uint64_t> assigned(static_cast<std::size_t>(maplet.view.geometry.blocks()));
  for (KeyChunks chunks(keys, maplet.seed); chunks.next();) {
    maplet.engine->build->assign_values(maplet.view, maplet.blocks(), chunks.inputs(),
                                        values.data() + chunks.first(), assigned.data());
  }
}

Filter filled(OwnedBlocks state, KeySpan keys, std::span<Outcome> outcomes, BuildTasks& tasks,
              bool gives_up) {
  state->storage.populate();
  BulkBuild(state, keys, keys.size(), outcomes, tasks, gives_up).run();
  return FilterAccess::make(std::move(state));
}

}  // namespace

Filter build_in_bulk(const Options& options, KeySpan keys, std::span<Outcome> outcomes,
                     BuildTasks& tasks) {
  check_optional_length("outcomes", outcomes.size(), keys.size());
  const auto empty = [&] { return FilterAccess::take(Filter(options)); };
  OwnedBlocks state = grown_for(empty(), keys.size());
  const std::uint32_t growth = state->view.geometry.growth;
  Filter built = filled(std::move(state), keys, outcomes, tasks, false);
  if (growth == 0 || built.size() == keys.size()) return built;
  // What was left out is copies, which are no reason to grow.
  const std::uint64_t count = built.size();
  state = empty();
  if (doubled_for(*state, count).first.growth == growth) return built;
  FilterAccess::take(std::move(built)) = nullptr;
  state = grown_for(std::move(state), count);
  OneThread again;  // what `tasks` keep is the first build's memory
  return filled(std::move(state), keys, outcomes, again, false);
}

void fill_in_bulk(Filter& filter, KeySpan keys, std::span<Outcome> outcomes) {
  check_length("outcomes", outcomes.size(), keys.size());
  OneThread tasks;
  filter = filled(FilterAccess::take(std::move(filter)), keys, outcomes, tasks, true);
}

bool fill_maplet_in_bulk(OwnedBlocks& maplet, KeySpan keys, std::span<const std::uint64_t> values) {
  OneThread tasks;
  maplet->storage.populate();
  if (!BulkBuild(maplet, keys, keys.size(), {}, tasks, true).place_all() ||
      maplet->size != keys.size()) {
    return false;
  }
  assign_values(*maplet, keys, values);
  return true;
}

bool fold_in_bulk(const Blocks& from, std::uint32_t times, OwnedBlocks& made) {
  OneThread tasks;
  made->storage.populate();
  return BulkBuild(made, std::span<const std::uint64_t>(), from.size, {}, tasks, true)
      .fold(from, times);
}

Filter Filter::build(const Options& options, KeySpan keys, std::span<Outcome> outcomes) {
  OneThread tasks;
  return build_in_bulk(options, keys, outcomes, tasks);
}

}}  // namespace nestline
