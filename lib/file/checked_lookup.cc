#include "lib/file/checked_lookup.h"

#include <array>
#include <bit>
#include <cstddef>

#include "lib/kernels/kernels.h"
#include "lib/place/hash.h"
#include "lib/place/layout.h"

namespace nestline {

unsigned CheckedLookup::copies(const Place& home, std::uint64_t matches,
                               Question question) const noexcept {
  const auto found = static_cast<unsigned>(std::popcount(matches));
  const bool settled = found != 0 && question == Question::any;
  const Block& block = state_.view.blocks[home.block];
  if (settled || spill_class(home.fingerprint) >= block.mark()) return found;
  const Place away = moved(state_.view.geometry, home);
  if (away.block == home.block) return found;
  if (!checks_.is_good(away.block)) return most_copies(state_.bits);
  return found + static_cast<unsigned>(std::popcount(match(away)));
}

unsigned CheckedLookup::look_up(std::uint64_t hash, Question question) const noexcept {
  const Place home = visit_layout(state_.bits, [&](auto layout) {
    return home_of<decltype(layout)>(state_.view.geometry, hash);
  });
  if (!checks_.is_good(home.block)) return most_copies(state_.bits);
  return copies(home, match(home), question);
}

void CheckedLookup::look_up(const Inputs& inputs, Question question,
                            std::uint8_t* out) const noexcept {
  std::array<Place, kLocateMost> homes;
  std::array<std::uint64_t, kLocateMost> matches;
  state_.kernels->locate_batch(state_.view, inputs.keys, inputs.count, inputs.kind, homes.data());
  std::uint64_t good = 0;
  for (std::size_t i = 0; i < inputs.count; ++i) {
    good |= std::uint64_t{checks_.is_good(homes[i].block)} << i;
  }
  state_.kernels->match_batch(state_.view, homes.data(), inputs.count, matches.data());
  for (std::size_t i = 0; i < inputs.count; ++i) {
    const bool is_good = (good >> i & 1) != 0;
    out[i] = static_cast<std::uint8_t>(is_good ? copies(homes[i], matches[i], question)
                                               : most_copies(state_.bits));
  }
}

bool CheckedLookup::may_contain(std::uint64_t hash) const noexcept {
  return look_up(hash, Question::any) != 0;
}

unsigned CheckedLookup::count(std::uint64_t hash) const noexcept {
  return look_up(hash, Question::how_many);
}

void CheckedLookup::operator()(const Inputs& inputs, std::uint64_t* bitmap) const noexcept {
  static_assert(kLocateMost == 64, "a group is a word of the bitmap");
  // A long batch may have checked the last section a few chunks ago.
  if (checks_.all_good()) {
    state_.kernels->contains_batch(state_.view, inputs.keys, inputs.count, inputs.kind, bitmap);
    return;
  }
  for (std::size_t first = 0; first < inputs.count; first += kLocateMost) {
    const Inputs group = inputs.from(first).first(kLocateMost);
    std::array<std::uint8_t, kLocateMost> copies;
    look_up(group, Question::any, copies.data());
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < group.count; ++i) bits |= std::uint64_t{copies[i] != 0} << i;
    bitmap[first / kLocateMost] = bits;
  }
}

void CheckedLookup::count(const Inputs& inputs, std::uint8_t* out) const noexcept {
  for (std::size_t first = 0; first < inputs.count; first += kLocateMost) {
    look_up(inputs.from(first).first(kLocateMost), Question::how_many, out + first);
  }
}

}  // namespace nestline
