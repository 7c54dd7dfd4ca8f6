#include "growth.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "filter_state.h"
#include "geometry.h"
#include "layout.h"
#include "sizing.h"
#include "table.h"

namespace nestline {
namespace {

using State = Filter::State;

// A filter in fresh memory like `state`, but with these blocks and this promise, and without keys.
std::unique_ptr<State> fresh(const State& state, const Geometry& geometry, std::uint64_t capacity) {
  auto made = std::make_unique<State>(state.bits, geometry, state.seed, capacity,
                                      Storage::allocate(geometry.blocks()), 0);
  made->max_capacity = state.max_capacity;
  return made;
}

std::span<const Block> blocks_of(const State& state) {
  return {state.view.blocks, static_cast<std::size_t>(state.view.geometry.blocks())};
}

template <typename Number>
[[noreturn]] void refuse(const char* what, const char* differ, Number into, Number other) {
  std::ostringstream sentence;
  sentence << "filters can be merged only when they have " << what << "; these have " << differ
           << ' ' << into << " and " << other;
  throw std::invalid_argument(sentence.str());
}

void check_alike(const State& into, const State& other) {
  if (into.bits != other.bits) {
    refuse("fingerprints of the same width", "bits", into.bits, other.bits);
  }
  if (into.seed != other.seed) refuse("the same seed", "the seeds", into.seed, other.seed);
  const Geometry& a = into.view.geometry;
  const Geometry& b = other.view.geometry;
  if (a.base_blocks != b.base_blocks) {
    refuse("begun with the same number of blocks", "begun with", a.base_blocks, b.base_blocks);
  }
  if (a.growth != b.growth) {
    refuse("doubled equally often (grow the smaller one)", "doubled", a.growth, b.growth);
  }
}

[[noreturn]] void no_room(Outcome outcome) {
  throw std::length_error(
      outcome == Outcome::copies
          ? "the filters cannot be merged: together they hold more copies of a key, or of keys "
            "that "
            "look the same, than a filter can hold; neither is changed"
          : "the filters cannot be merged: together they hold more keys than find room; neither is "
            "changed, grow both and merge them then");
}

}  // namespace

std::unique_ptr<State> grown(const State& state) {
  const Geometry& geometry = state.view.geometry;
  if (geometry.growth >= max_growth(state.bits) || geometry.blocks() > kMaxBlocks / 2) {
    return nullptr;
  }
  const Geometry doubled{geometry.base_blocks, geometry.growth + 1};
  auto made = fresh(state, doubled, grown_capacity(state.bits, doubled, state.capacity));
  const auto from = blocks_of(state);
  state.kernels->split(from.data(), from.size(), geometry.growth, made->blocks());
  made->size = state.size;
  return made;
}

bool try_to_grow(std::unique_ptr<State>& state) noexcept {
  try {
    auto doubled = grown(*state);
    if (!doubled) return false;
    state = std::move(doubled);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

std::unique_ptr<State> merged(const State& into, const State& other) {
  check_alike(into, other);
  auto made = full_copy(into);
  const auto from = blocks_of(other);
  // All marks first: whoever is away in `other` stays away where its home's mark covers it.
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::uint8_t& mark = made->blocks()[i].bytes[kMarkByte];
    mark = std::max(mark, from[i].bytes[kMarkByte]);
  }
  visit_layout(made->bits, [&](auto layout) {
    using L = decltype(layout);
    Table<L, NoLocks> table(made->blocks(), made->view.geometry, *made->kernels);
    for (std::size_t i = 0; i < from.size(); ++i) {
      for (std::uint32_t s = 0; s < L::kSlots; ++s) {
        const std::uint32_t fingerprint = L::get(from[i], s);
        if (fingerprint == 0) continue;
        const std::uint32_t phase = L::phase_at(fingerprint, s);
        const Place place{i, L::bucket(fingerprint, phase), fingerprint, phase};
        const Outcome outcome = *table.insert(place);
        if (outcome != Outcome::stored) no_room(outcome);
      }
    }
  });
  made->size += other.size;
  return made;
}

std::unique_ptr<State> empty_copy(const State& state) {
  return fresh(state, state.view.geometry, state.capacity);
}

std::unique_ptr<State> full_copy(const State& state) {
  auto made = empty_copy(state);
  Block* to = made->blocks();
  for (const Block& block : blocks_of(state)) {
    *to = block;
    std::fill(to->bytes.begin() + kMarkByte + 1, to->bytes.end(), std::uint8_t{0});
    ++to;
  }
  made->size = state.size;
  return made;
}

}  // namespace nestline
