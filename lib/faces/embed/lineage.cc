#include "lib/faces/embed/lineage.h"

#include <algorithm>
#include <cstdint>

#include "lib/filters/filter/blocks.h"
#include "lib/filters/filter/growth.h"

namespace nestline { inline namespace v0_3 {
namespace {

// Keys that may be away in `from` may be away in `to`.
void raise_overflow_marks(const Blocks& from, Blocks& to) {
  const std::uint32_t old_growth = from.view.geometry.growth;
  const std::uint32_t new_growth = to.view.geometry.growth;
  const std::uint32_t common = std::min(old_growth, new_growth);
  const std::uint64_t regions = from.view.geometry.base_blocks << common;
  const std::uint64_t old_blocks = std::uint64_t{1} << (old_growth - common);
  const std::uint64_t new_blocks = std::uint64_t{1} << (new_growth - common);
  for (std::uint64_t region = 0; region < regions; ++region) {
    std::uint32_t mark = 0;
    for (std::uint64_t i = 0; i < old_blocks; ++i) {
      mark = std::max(mark, from.view.blocks[region * old_blocks + i].overflow_mark());
    }
    if (mark == 0) continue;
    for (std::uint64_t i = 0; i < new_blocks; ++i) {
      to.blocks()[region * new_blocks + i].raise_overflow_mark(mark - 1);
    }
  }
}

template <class L>
void pour_slots(Blocks& from, Blocks& to, Quota& share, IfFull surplus) {
  const FilterOperations& target = to.engine->of_filters().operations.alone;
  const std::uint32_t old_growth = from.view.geometry.growth;
  const std::uint32_t new_growth = to.view.geometry.growth;
  const std::uint64_t blocks = from.view.geometry.blocks();
  for (std::uint64_t at = 0; at < blocks; ++at) {
    Block& block = from.blocks()[at];
    for (std::uint32_t slot = 0; slot < L::kSlots; ++slot) {
      const std::uint32_t fingerprint = L::get(block, slot);
      if (fingerprint == 0 || !share.takes_next()) continue;
      const std::uint32_t bucket_offset = L::bucket_offset_at(fingerprint, slot);
      std::uint64_t home = at >> old_growth << new_growth;
      if (new_growth != 0) home |= fingerprint >> (static_cast<unsigned>(L::kBits) - new_growth);
      const Place place = home_of_resident<L>(
          block, block_classes(from.bits, from.view.geometry, at), to,
          {home, bucket_of(to.bits, fingerprint, bucket_offset), fingerprint, bucket_offset}, slot);
      const bool stored = target.insert_at(to.view, place) == Outcome::stored;
      // A copy that is found from here is found from the key's home: marks have been raised.
      if (!stored && (surplus == IfFull::stays || target.count(to.view, place, nullptr) == 0))
        continue;
      L::set(block, slot, 0);
      --from.size;
      to.size += stored ? 1 : 0;
    }
  }
}

// The copies of a key in a block where it is at home, or away, and whether they surely are its own.
struct Own {
  bool any;
  bool sure;
};
Own own_copies(const Blocks& state, const Place& place, Residence as) {
  const Block& block = state.view.blocks[place.block];
  return visit_layout(state.bits, [&](auto layout) {
    using Lanes = GuestLanes<Laned<decltype(layout)>>;
    const Lanes lanes(block_classes(state.bits, state.view.geometry, place.block), block);
    const std::uint64_t slots = as == Residence::guest ? lanes.of_guests_now(place.fingerprint)
                                                       : lanes.of_native(place.fingerprint);
    const bool any = (state.engine->block.copies(block, place) & slots) != 0;
    return Own{any, any && lanes.of_guest(place.fingerprint) != Lanes::kEverywhere};
  });
}

}  // namespace

bool are_related(const Shape& a, const Shape& b) noexcept {
  return a.bits == b.bits && a.seed == b.seed && a.geometry.base_blocks == b.geometry.base_blocks &&
         a.geometry.placement == b.geometry.placement;
}

MatchConfidence match_confidence_of(const Blocks& state, std::uint64_t key) noexcept {
  const Geometry& geometry = state.view.geometry;
  const auto mark = [&](const Place& place) {
    return state.view.blocks[place.block].overflow_mark();
  };
  const Place home = home_of(state.bits, geometry, state.hasher()(key).value);
  const Own here = own_copies(state, home, Residence::native);
  if (here.sure) return MatchConfidence::sure;
  Place away;
  Own there{};
  if (may_be_away(geometry, mark(home), home, away)) {
    there = own_copies(state, away, Residence::guest);
  }
  if (there.sure) return MatchConfidence::sure;
  if (!here.any) return there.any ? MatchConfidence::away : MatchConfidence::none;
  const Place other = moved(geometry, home);
  return may_be_away(geometry, mark(other), other, away) ? MatchConfidence::home
                                                         : MatchConfidence::sure;
}

bool is_crowded(const Blocks& state, std::uint64_t key) noexcept {
  const Place home = home_of(state.bits, state.view.geometry, state.hasher()(key).value);
  const auto block = [&](std::uint64_t number) -> const Block& {
    return state.view.blocks[number];
  };
  const Residence as = native_of(state.view.geometry);
  if (state.engine->block.find_path_to_free(
          block(home.block), home, as, block_classes(state.bits, state.view.geometry, home.block)))
    return false;
  return count_copies(state.engine->block, state.view.geometry, home, false, block) >=
         most_copies(state.bits) / 2 - 1;
}

void migrate(Filter& from, Filter& to, Quota& share, IfFull surplus) noexcept {
  Blocks& source = FilterAccess::blocks(from);
  Blocks& target = FilterAccess::blocks(to);
  raise_overflow_marks(source, target);
  visit_layout(source.bits,
               [&](auto layout) { pour_slots<decltype(layout)>(source, target, share, surplus); });
}

}}  // namespace nestline
