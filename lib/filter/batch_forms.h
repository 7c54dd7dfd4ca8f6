// The batch forms of all filters: the spans are checked before anything is touched, then the keys
// go through chunk by chunk. What differs between the filters is a parameter:
//
//   ask(inputs, count, input, bitmap)  answers a chunk of questions, as Kernels::contains_batch
//   change(inputs, record)             changes the filter by some keys: see change_all
//
// Chunks are those of KeyStream.
#ifndef NESTLINE_LIB_FILTER_BATCH_FORMS_H_
#define NESTLINE_LIB_FILTER_BATCH_FORMS_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

#include "lib/filter/answer_bitmap.h"
#include "lib/filter/key_stream.h"
#include "lib/filter/span_checks.h"
#include "lib/kernels/kernels.h"
#include "nestline/keys.h"

namespace nestline::batch {

// Calls visit(first, bits, count) for every 64 keys in order.
template <typename Ask, typename Visit>
void for_each_answer(const Ask& ask, KeySpan keys, std::uint64_t seed, Visit&& visit) {
  KeyStream(keys, seed)
      .for_each_chunk(
          [&](std::size_t at, const std::uint64_t* inputs, std::size_t count, Input input) {
            std::array<std::uint64_t, kChunk / 64> bitmap;
            ask(inputs, count, input, bitmap.data());
            for (std::size_t i = 0; i < count; i += 64) {
              visit(at + i, bitmap[i / 64], std::min<std::size_t>(64, count - i));
            }
          });
}

template <typename Ask>
std::size_t may_contain(const Ask& ask, KeySpan keys, std::uint64_t seed,
                        std::span<std::uint8_t> out) {
  check_length("out", out.size(), keys.size());
  std::size_t total = 0;
  for_each_answer(ask, keys, seed, [&](std::size_t first, std::uint64_t bits, std::size_t count) {
    bits_to_bytes(bits, count, out.data() + first);
    total += static_cast<std::size_t>(std::popcount(bits));
  });
  return total;
}

template <typename Ask>
std::size_t may_contain_bits(const Ask& ask, KeySpan keys, std::uint64_t seed,
                             std::span<std::uint64_t> bitmap) {
  check_length("bitmap", bitmap.size(), keys.size() / 64 + (keys.size() % 64 != 0));
  std::size_t total = 0;
  for_each_answer(ask, keys, seed, [&](std::size_t first, std::uint64_t bits, std::size_t) {
    bitmap[first / 64] = bits;
    total += static_cast<std::size_t>(std::popcount(bits));
  });
  return total;
}

template <typename Ask>
std::size_t select(const Ask& ask, KeySpan keys, std::uint64_t seed,
                   std::span<std::uint32_t> positions) {
  check_length("positions", positions.size(), keys.size());
  check_positions(keys.size());
  std::size_t total = 0;
  for_each_answer(ask, keys, seed, [&](std::size_t first, std::uint64_t bits, std::size_t) {
    for_each_bit(bits, first,
                 [&](std::size_t i) { positions[total++] = static_cast<std::uint32_t>(i); });
  });
  return total;
}

template <typename Ask>
std::size_t select(const Ask& ask, KeySpan keys, std::uint64_t seed,
                   std::span<const std::uint32_t> selection, std::span<std::uint32_t> positions) {
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
      const std::span<const Key> chunk(chosen.data(), part.size());
      std::array<std::uint32_t, kChunk> hits;
      std::size_t found = 0;
      for_each_answer(ask, chunk, seed, [&](std::size_t first, std::uint64_t bits, std::size_t) {
        for_each_bit(bits, first, [&](std::size_t i) { hits[found++] = part[i]; });
      });
      std::copy_n(hits.begin(), found, positions.begin() + static_cast<std::ptrdiff_t>(total));
      total += found;
    }
  });
  return total;
}

// A chunk of keys, or what is left of it.
struct Inputs {
  const std::uint64_t* keys;
  std::size_t count;
  Input kind;

  [[nodiscard]] Inputs from(std::size_t at) const { return {keys + at, count - at, kind}; }
  [[nodiscard]] Inputs first(std::uint64_t most) const {
    return {keys, static_cast<std::size_t>(std::min<std::uint64_t>(most, count)), kind};
  }
};

// Which blocks are asked for before a key's turn: its home, or its alternate too where home has no
// copy and a mark that covers the class. The second is for those who look there: erase and count.
enum class Fetch { home, both };

// Keys whose turn is near, and the slots of their homes' buckets that held a copy a group ago
// (with Fetch::both, else none): a hint.
struct NearPlaces {
  std::size_t count;
  std::array<Place, kLocateMost> places;
  std::array<std::uint64_t, kLocateMost> copies;
};

// Calls visit(i, place, copies) for the inputs in order until it returns false; returns how many it
// took. Homes are fetched two groups ahead, and read for copies one group ahead, when alternates
// are fetched; a block of each beside each visit, so that memory is busy all the time: it takes
// only so many requests at once.
template <Fetch kFetch, class AnyTable, typename Visit>
std::size_t for_each_place(const AnyTable& table, const Kernels& kernels, const BlocksView& view,
                           const Inputs& inputs, Visit&& visit) {
  constexpr bool kMatch = kFetch == Fetch::both;
  std::array<NearPlaces, 3> ring;
  const auto locate = [&](std::size_t g) {
    NearPlaces& group = ring[g % ring.size()];
    const std::size_t first = std::min(g * kLocateMost, inputs.count);
    group.count = std::min(kLocateMost, inputs.count - first);
    kernels.locate_batch(view, inputs.keys + first, group.count, inputs.kind, group.places.data());
  };
  const auto match = [&](std::size_t g) {
    NearPlaces& group = ring[g % ring.size()];
    if constexpr (kMatch) {
      kernels.match_batch(view, group.places.data(), group.count, group.copies.data());
    }
  };
  const auto fetch_home = [&](const Place& place) { prefetch_block(view.blocks[place.block]); };
  for (const std::size_t g : {std::size_t{0}, std::size_t{1}}) {
    locate(g);
    std::for_each_n(ring[g].places.begin(), ring[g].count, fetch_home);
  }
  match(0);
  for (std::size_t g = 0; g * kLocateMost < inputs.count; ++g) {
    locate(g + 2);
    match(g + 1);
    const NearPlaces& now = ring[g % ring.size()];
    const NearPlaces& next = ring[(g + 1) % ring.size()];
    const NearPlaces& later = ring[(g + 2) % ring.size()];
    for (std::size_t i = 0; i < now.count; ++i) {
      if (i < later.count) fetch_home(later.places[i]);
      if (kMatch && i < next.count && next.copies[i] == 0) table.prefetch_away(next.places[i]);
      const std::uint64_t copies = kMatch ? now.copies[i] : 0;
      if (!visit(g * kLocateMost + i, now.places[i], copies)) return g * kLocateMost + i;
    }
  }
  return inputs.count;
}

// Runs a changing batch. change(inputs, record) takes some inputs from the front, calls
// record(i, done) for each and returns how many it took; it is called until all are taken. Returns
// how many were done.
template <typename Change>
std::size_t change_all(KeySpan keys, std::uint64_t seed, const char* span,
                       std::span<std::uint8_t> changed, Change&& change) {
  check_optional_length(span, changed.size(), keys.size());
  std::size_t total = 0;
  KeyStream(keys, seed)
      .for_each_chunk(
          [&](std::size_t at, const std::uint64_t* inputs, std::size_t count, Input input) {
            const Inputs chunk{inputs, count, input};
            for (std::size_t taken = 0; taken < count;) {
              taken += change(chunk.from(taken), [&, first = at + taken](std::size_t i, bool done) {
                if (!changed.empty()) changed[first + i] = done;
                total += done;
              });
            }
          });
  return total;
}

// Calls count_chunk(inputs, out) for each chunk.
template <typename Count>
void count_all(KeySpan keys, std::uint64_t seed, std::span<std::uint8_t> out, Count&& count_chunk) {
  check_length("out", out.size(), keys.size());
  KeyStream(keys, seed)
      .for_each_chunk(
          [&](std::size_t at, const std::uint64_t* inputs, std::size_t count, Input input) {
            count_chunk(Inputs{inputs, count, input}, out.subspan(at, count));
          });
}

}  // namespace nestline::batch

#endif  // NESTLINE_LIB_FILTER_BATCH_FORMS_H_
