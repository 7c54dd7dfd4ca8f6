// Filter's batches: the spans are checked before anything is touched, then the keys go through the
// kernels chunk by chunk.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>

#include "bits.h"
#include "filter_state.h"
#include "key_stream.h"
#include "nestline/filter.h"
#include "table.h"

namespace nestline {
namespace {

void check_length(const char* span, std::size_t length, std::size_t wanted) {
  if (length != wanted) {
    throw std::invalid_argument(std::string("the span '") + span + "' has " +
                                std::to_string(length) + " elements, but the keys need " +
                                std::to_string(wanted));
  }
}

void check_optional_length(const char* span, std::size_t length, std::size_t wanted) {
  if (length != 0) check_length(span, length, wanted);
}

void check_positions(std::size_t keys) {
  if (keys != 0 && keys - 1 > std::numeric_limits<std::uint32_t>::max()) {
    throw std::invalid_argument("a selection has 32-bit positions: at most 2^32 keys a batch");
  }
}

// Calls visit(first, bits, count) for every 64 keys in order.
template <typename Visit>
void for_each_answer(const Filter::State& state, KeySpan keys, Visit&& visit) {
  KeyStream(keys, state.seed)
      .for_each_chunk(
          [&](std::size_t at, const std::uint64_t* inputs, std::size_t count, Input input) {
            std::array<std::uint64_t, kChunk / 64> bitmap;
            state.kernels->contains_batch(state.view, inputs, count, input, bitmap.data());
            for (std::size_t i = 0; i < count; i += 64) {
              visit(at + i, bitmap[i / 64], std::min<std::size_t>(64, count - i));
            }
          });
}

// Calls visit(i, place) for every key in order; its home has been prefetched a group earlier.
template <typename Visit>
void for_each_place(const Filter::State& state, KeySpan keys, Visit&& visit) {
  KeyStream(keys, state.seed)
      .for_each_chunk(
          [&](std::size_t at, const std::uint64_t* inputs, std::size_t count, Input input) {
            std::array<std::array<Place, kLocateMost>, 2> groups;
            const auto size_of = [&](std::size_t g) {
              return g * kLocateMost >= count ? 0 : std::min(kLocateMost, count - g * kLocateMost);
            };
            const auto locate = [&](std::size_t g) {
              state.kernels->locate_batch(state.view, inputs + g * kLocateMost, size_of(g), input,
                                          groups[g % 2].data());
            };
            locate(0);
            for (std::size_t g = 0; size_of(g) != 0; ++g) {
              if (size_of(g + 1) != 0) locate(g + 1);
              for (std::size_t i = 0; i < size_of(g); ++i) {
                visit(at + g * kLocateMost + i, groups[g % 2][i]);
              }
            }
          });
}

// Runs a changing batch: change(table, place) says whether a key was stored or erased.
template <typename Change>
std::size_t change_all(const Filter::State& state, KeySpan keys, std::span<std::uint8_t> changed,
                       Change&& change) {
  std::size_t total = 0;
  visit_layout(state.bits, [&](auto layout) {
    Table<decltype(layout)> table(state.blocks(), state.view.geometry, *state.kernels);
    for_each_place(state, keys, [&](std::size_t i, const Place& place) {
      const bool done = change(table, place);
      if (!changed.empty()) changed[i] = done;
      total += done;
    });
  });
  return total;
}

}  // namespace

std::size_t Filter::insert(KeySpan keys, std::span<std::uint8_t> stored) {
  check_optional_length("stored", stored.size(), keys.size());
  const std::size_t done = change_all(*state_, keys, stored, [](auto& table, const Place& place) {
    return table.insert(place) == Outcome::stored;
  });
  state_->size += done;
  return done;
}

std::size_t Filter::erase(KeySpan keys, std::span<std::uint8_t> erased) {
  check_optional_length("erased", erased.size(), keys.size());
  const std::size_t done = change_all(
      *state_, keys, erased, [](auto& table, const Place& place) { return table.erase(place); });
  state_->size -= done;
  return done;
}

void Filter::count(KeySpan keys, std::span<std::uint8_t> out) const {
  check_length("out", out.size(), keys.size());
  visit_layout(state_->bits, [&](auto layout) {
    const Table<decltype(layout)> table(state_->blocks(), state_->view.geometry, *state_->kernels);
    for_each_place(*state_, keys, [&](std::size_t i, const Place& place) {
      out[i] = static_cast<std::uint8_t>(table.count(place));
    });
  });
}

std::size_t Filter::may_contain(KeySpan keys, std::span<std::uint8_t> out) const {
  check_length("out", out.size(), keys.size());
  std::size_t total = 0;
  for_each_answer(*state_, keys, [&](std::size_t first, std::uint64_t bits, std::size_t count) {
    bits_to_bytes(bits, count, out.data() + first);
    total += static_cast<std::size_t>(std::popcount(bits));
  });
  return total;
}

std::size_t Filter::may_contain_bits(KeySpan keys, std::span<std::uint64_t> bitmap) const {
  check_length("bitmap", bitmap.size(), keys.size() / 64 + (keys.size() % 64 != 0));
  std::size_t total = 0;
  for_each_answer(*state_, keys, [&](std::size_t first, std::uint64_t bits, std::size_t) {
    bitmap[first / 64] = bits;
    total += static_cast<std::size_t>(std::popcount(bits));
  });
  return total;
}

std::size_t Filter::select(KeySpan keys, std::span<std::uint32_t> positions) const {
  check_length("positions", positions.size(), keys.size());
  check_positions(keys.size());
  std::size_t total = 0;
  for_each_answer(*state_, keys, [&](std::size_t first, std::uint64_t bits, std::size_t) {
    for_each_bit(bits, first,
                 [&](std::size_t i) { positions[total++] = static_cast<std::uint32_t>(i); });
  });
  return total;
}

std::size_t Filter::select(KeySpan keys, std::span<const std::uint32_t> selection,
                           std::span<std::uint32_t> positions) const {
  check_length("positions", positions.size(), selection.size());
  const auto outside = std::find_if(selection.begin(), selection.end(),
                                    [&](std::uint32_t i) { return i >= keys.size(); });
  if (outside != selection.end()) {
    throw std::invalid_argument("the selection has position " + std::to_string(*outside) +
                                ", but there are only " + std::to_string(keys.size()) + " keys");
  }
  // The selected keys of a chunk are gathered, asked for, and the chunk's answers written before
  // the next chunk is read: so `positions` may be the selection's own memory.
  std::size_t total = 0;
  keys.visit([&](auto span) {
    using Key = typename decltype(span)::value_type;
    std::array<Key, kChunk> chosen;
    for (std::size_t at = 0; at < selection.size(); at += kChunk) {
      const auto part = selection.subspan(at, std::min(kChunk, selection.size() - at));
      std::transform(part.begin(), part.end(), chosen.begin(),
                     [&](std::uint32_t i) { return span[i]; });
      const std::span<const Key> batch(chosen.data(), part.size());
      std::array<std::uint32_t, kChunk> hits;
      std::size_t found = 0;
      for_each_answer(*state_, batch, [&](std::size_t first, std::uint64_t bits, std::size_t) {
        for_each_bit(bits, first, [&](std::size_t i) { hits[found++] = part[i]; });
      });
      std::copy_n(hits.begin(), found, positions.begin() + static_cast<std::ptrdiff_t>(total));
      total += found;
    }
  });
  return total;
}

}  // namespace nestline
