// What a Maplet is made of: the state of a ConcurrentFilter, with its sections, exchanges, counting
// and growth, and operations on pairs.
#ifndef NESTLINE_LIB_FILTERS_MAPLET_MAPLET_STATE_H_
#define NESTLINE_LIB_FILTERS_MAPLET_MAPLET_STATE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lib/filters/concurrent/concurrent_state.h"
#include "lib/filters/filter/batch.h"
#include "lib/filters/filter/key_chunks.h"
#include "nestline/maplet.h"

namespace nestline { inline namespace v0_3 {

static_assert(Maplet::kMaxValue == MapletLayout::kValueMask);
static_assert(Maplet::kErased == ValueChange::kErased);
static_assert(Maplet::kMaxCandidates == MapletLayout::kMaxCopies);

template <class Locks>
const MapletOperations& maplet_operations(const Blocks& table) {
  return table.engine->of_maplets().operations.with<Locks>();
}

struct Maplet::State : ConcurrentFilter::State {
  explicit State(OwnedBlocks&& table) : ConcurrentFilter::State(std::move(table)) {}
  [[nodiscard]] bool is_anywhere(std::uint64_t value) const {
    return bits != kMapletBits && value == highest_value;
  }
  const std::uint64_t highest_value = highest_value_of(bits);
};

struct MapletAccess {
  static Maplet make(OwnedBlocks table) {
    ConcurrentFilter::register_thread();
    return Maplet(std::make_unique<Maplet::State>(std::move(table)));
  }
  static const Maplet::State& state(const Maplet& maplet) { return *maplet.state_; }
  // The table, for whoever alone has the maplet.
  static OwnedBlocks release(Maplet&& maplet) {
    const Maplet own = std::move(maplet);
    return own.state_->release();
  }
};

// The candidates of the key with this hash, into the front of `values`.
std::size_t find_hash(const Maplet::State& state, std::uint64_t hash,
                      std::span<std::uint64_t, Maplet::kMaxCandidates> values) noexcept;
std::uint64_t find_hash_set(const Maplet::State& state, std::uint64_t hash,
                            std::uint64_t anywhere) noexcept;
bool replace_pair(Maplet::State& state, std::uint64_t hash, std::uint64_t old_value,
                  std::uint64_t new_value) noexcept;
// Adds a pair; pauses the other writers or grows the maplet if it has to.
Inserted insert_pair(Maplet::State& state, std::uint64_t hash, std::uint64_t value) noexcept;
// The same, without a change of another pair where there are too many.
Inserted insert_new_pair(Maplet::State& state, std::uint64_t hash, std::uint64_t value) noexcept;

// Batches of lookups: group after group of keys, and the lists that they fill.

// The lists of Maplet::find. find_one(key's number in the chunk, span) answers a key where writers
// were at the blocks of a group, and returns how many candidates there are.
template <typename FindOne>
class CandidateLists : public CandidateSink {
 public:
  CandidateLists(std::size_t keys, std::vector<std::uint32_t>& first,
                 std::vector<std::uint64_t>& values, FindOne find_one)
      : first_(first), values_(values), find_one_(std::move(find_one)) {
    if (keys > std::numeric_limits<std::uint32_t>::max() / Maplet::kMaxCandidates) {
      throw std::invalid_argument(
          "a batch has at most 2^28 - 1 keys: its candidates are counted in 32 bits");
    }
    first_.resize(keys + 1);
    values_.clear();
  }

  void take(std::size_t first, std::size_t keys, const std::uint8_t* counts,
            std::span<const std::uint64_t> values) override {
    auto sum = static_cast<std::uint32_t>(values_.size());
    for (std::size_t i = 0; i < keys; ++i) {
      first_[at_++] = sum;
      if (counts != nullptr) {
        sum += counts[i];
        continue;
      }
      std::array<std::uint64_t, Maplet::kMaxCandidates> room;
      const std::size_t count = find_one_(first + i, std::span(room));
      values_.insert(values_.end(), room.begin(),
                     room.begin() + static_cast<std::ptrdiff_t>(count));
      sum += static_cast<std::uint32_t>(count);
    }
    if (counts != nullptr) values_.insert(values_.end(), values.begin(), values.end());
  }

  std::size_t finish() {
    first_.back() = static_cast<std::uint32_t>(values_.size());
    return values_.size();
  }

 private:
  std::vector<std::uint32_t>& first_;
  std::vector<std::uint64_t>& values_;
  FindOne find_one_;
  std::size_t at_ = 0;
};

// The sets of a chunk; find_one(key's number) answers one where a writer was at its blocks.
template <typename FindOne>
void find_chunk_sets(const MapletLookups& lookups, const BlocksView& view, const Inputs& inputs,
                     const ValueSets& sets, std::uint64_t* found, FindOne&& find_one) {
  batch::ChunkBitmap undecided;
  if (!lookups.find_sets(view, inputs, sets, found, undecided.data())) return;
  for (std::size_t first = 0; first < inputs.count; first += 64) {
    for_each_bit(undecided[first / 64], first, [&](std::size_t i) { found[i] = find_one(i); });
  }
}

}}  // namespace nestline

#endif  // NESTLINE_LIB_FILTERS_MAPLET_MAPLET_STATE_H_
