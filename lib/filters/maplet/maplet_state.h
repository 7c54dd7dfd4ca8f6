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
#include "lib/filters/filter/key_chunks.h"
#include "nestline/maplet.h"

namespace nestline { inline namespace v0_3 {

static_assert(Maplet::kMaxValue == MapletLayout::kValueMask);
static_assert(Maplet::kErased == ValueChange::kErased);
static_assert(Maplet::kMaxCandidates == MapletLayout::kMaxCopies);

template <class Locks>
const MapletOperations& maplet_operations(const Blocks& table) {
  return table.engine->maplet.with<Locks>();
}

struct Maplet::State : ConcurrentFilter::State {
  explicit State(OwnedBlocks&& table) : ConcurrentFilter::State(std::move(table)) {}
  [[nodiscard]] std::uint64_t highest_value() const {
    return (std::uint64_t{1} << value_bits_of(bits)) - 1;
  }
  [[nodiscard]] bool is_anywhere(std::uint64_t value) const {
    return bits != kMapletBits && value == highest_value();
  }
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

// The lists of Maplet::find.
class CandidateLists {
 public:
  CandidateLists(std::size_t keys, std::vector<std::uint32_t>& first,
                 std::vector<std::uint64_t>& values)
      : first_(first), values_(values) {
    if (keys > std::numeric_limits<std::uint32_t>::max() / Maplet::kMaxCandidates) {
      throw std::invalid_argument(
          "a batch has at most 2^28 - 1 keys: its candidates are counted in 32 bits");
    }
    first_.resize(keys + 1);
    values_.clear();
  }

  // The candidates of the next keys: how many each has, and all of them in order.
  void add(std::span<const std::uint8_t> counts, std::span<const std::uint64_t> values) {
    auto sum = static_cast<std::uint32_t>(values_.size());
    for (const std::uint8_t count : counts) {
      first_[at_++] = sum;
      sum += count;
    }
    values_.insert(values_.end(), values.begin(), values.end());
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

// Locates the groups of a chunk in turn, on blocks that stay where they are meanwhile: the homes of
// each are on their way to the cache while the one before is answered by answer(group, first key).
template <typename Answer>
void for_each_group(const MapletLookups& lookups, const BlocksView& view, const Inputs& inputs,
                    Answer&& answer) {
  MapletGroup groups[2];
  const auto locate = [&](std::size_t at) {
    if (at >= inputs.count) return;
    lookups.locate(view, inputs.from(at).first(kMaxLocated), groups[at / kMaxLocated % 2]);
  };
  locate(0);
  for (std::size_t at = 0; at < inputs.count; at += kMaxLocated) {
    locate(at + kMaxLocated);
    answer(groups[at / kMaxLocated % 2], at);
  }
}

// Answers a chunk of keys. find_busy(hash, span) answers one where a writer was at its blocks, and
// returns how many candidates there are.
template <typename FindBusy>
void find_chunk(const MapletLookups& lookups, const BlocksView& view, const Inputs& inputs,
                CandidateLists& lists, FindBusy&& find_busy) {
  constexpr std::size_t kMax = Maplet::kMaxCandidates;
  std::array<std::uint8_t, kMaxLocated> counts;
  std::array<std::uint64_t, kMaxLocated * kMax> values;
  for_each_group(lookups, view, inputs, [&](MapletGroup& group, std::size_t at) {
    std::size_t total = lookups.find_batch(view, group, counts.data(), values.data());
    if (total == MapletLookups::kBusy) {
      total = 0;
      for (std::size_t i = 0; i < group.count; ++i) {
        const std::span<std::uint64_t, kMax> room(values.data() + total, kMax);
        const std::size_t count = find_busy(inputs.hash(at + i, view.secrets), room);
        counts[i] = static_cast<std::uint8_t>(count);
        total += count;
      }
    }
    lists.add(std::span(counts).first(group.count), std::span(values).first(total));
  });
}

// The same for sets; find_busy(hash) returns one.
template <typename FindBusy>
void find_chunk_sets(const MapletLookups& lookups, const BlocksView& view, const Inputs& inputs,
                     const ValueSets& sets, std::span<std::uint64_t> found, FindBusy&& find_busy) {
  for_each_group(lookups, view, inputs, [&](MapletGroup& group, std::size_t at) {
    if (lookups.find_sets(view, group, sets, found.data() + at)) return;
    for (std::size_t i = at; i < at + group.count; ++i) {
      found[i] = find_busy(inputs.hash(i, view.secrets));
    }
  });
}

}}  // namespace nestline

#endif  // NESTLINE_LIB_FILTERS_MAPLET_MAPLET_STATE_H_
