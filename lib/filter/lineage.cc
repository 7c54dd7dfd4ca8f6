#include "lib/filter/lineage.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/filter/filter_state.h"
#include "lib/filter/filter_table.h"
#include "lib/place/geometry.h"
#include "lib/place/layout.h"
#include "lib/table/table.h"

namespace nestline {
namespace {

using State = Filter::State;

// Whoever may be away in `from` may be away in `to`.
void raise_marks(const State& from, State& to) {
  const std::uint32_t old_growth = from.view.geometry.growth;
  const std::uint32_t new_growth = to.view.geometry.growth;
  const std::uint32_t common = std::min(old_growth, new_growth);
  const std::uint64_t regions = from.view.geometry.base_blocks << common;
  const std::uint64_t old_blocks = std::uint64_t{1} << (old_growth - common);
  const std::uint64_t new_blocks = std::uint64_t{1} << (new_growth - common);
  for (std::uint64_t region = 0; region < regions; ++region) {
    std::uint32_t mark = 0;
    for (std::uint64_t i = 0; i < old_blocks; ++i) {
      mark = std::max(mark, from.view.blocks[region * old_blocks + i].mark());
    }
    if (mark == 0) continue;
    for (std::uint64_t i = 0; i < new_blocks; ++i) {
      to.blocks()[region * new_blocks + i].raise_mark(mark - 1);
    }
  }
}

template <class L>
void pour_slots(State& from, State& to, Share& share, Surplus surplus) {
  Table<L, NoLocks> table(to.blocks(), to.view.geometry, *to.kernels);
  const std::uint32_t old_growth = from.view.geometry.growth;
  const std::uint32_t new_growth = to.view.geometry.growth;
  const std::uint64_t blocks = from.view.geometry.blocks();
  for (std::uint64_t at = 0; at < blocks; ++at) {
    Block& block = from.blocks()[at];
    for (std::uint32_t slot = 0; slot < L::kSlots; ++slot) {
      const std::uint32_t fingerprint = L::get(block, slot);
      if (fingerprint == 0 || !share.takes_next()) continue;
      const std::uint32_t phase = L::phase_at(fingerprint, slot);
      std::uint64_t home = at >> old_growth << new_growth;
      if (new_growth != 0) home |= fingerprint >> (static_cast<unsigned>(L::kBits) - new_growth);
      const Place place{home, L::bucket(fingerprint, phase), fingerprint, phase};
      const bool stored = table.insert(place) == Outcome::stored;
      // A copy that is found from here is found from the key's home: marks have been raised.
      if (!stored && (surplus == Surplus::stays || !table.contains(place))) continue;
      L::set(block, slot, 0);
      --from.size;
      to.size += stored ? 1 : 0;
    }
  }
}

}  // namespace

bool are_related(const State& a, const State& b) {
  return a.bits == b.bits && a.seed == b.seed &&
         a.view.geometry.base_blocks == b.view.geometry.base_blocks;
}

Standing standing_of(const State& state, std::uint64_t key) {
  const std::uint64_t hash = state.hash(key);
  return with_table<NoLocks>(state, [&](auto& table) { return table.standing(table.home(hash)); });
}

void pour(State& from, State& to, Share& share, Surplus surplus) noexcept {
  raise_marks(from, to);
  visit_layout(from.bits,
               [&](auto layout) { pour_slots<decltype(layout)>(from, to, share, surplus); });
}

}  // namespace nestline
