#include "table.h"

#include <bit>

#include "spill.h"

namespace nestline {

template <class L>
Outcome Table<L>::insert(const Place& home) {
  Block& block = blocks_[home.block];
  Displacement way;
  if (!find_free_way(kernels_, block, home.bucket, way)) return spill(home);
  walk<L>(block, way, home.fingerprint);
  return Outcome::stored;
}

template <class L>
Outcome Table<L>::spill(const Place& home) {
  // Copies of one fingerprint cannot make room for each other; say so before searching.
  if (only_copies(home)) {
    const Place away = moved(geometry_, home);
    if (away.block == home.block || only_copies(away)) return Outcome::copies;
  }
  SpillPlan<L> plan(blocks_, geometry_, kernels_);
  if (!plan.search(home)) return Outcome::full;
  plan.carry_out();
  return Outcome::stored;
}

template <class L>
bool Table<L>::may_be_away(const Place& home, Place& away) const {
  if (spill_class(home.fingerprint, home.phase) >= blocks_[home.block].mark()) return false;
  away = moved(geometry_, home);
  return away.block != home.block;
}

template <class L>
bool Table<L>::erase(const Place& home) {
  Place place = home;
  std::uint64_t found = copies(home);
  if (found == 0 && may_be_away(home, place)) found = copies(place);
  if (found == 0) return false;
  L::set(blocks_[place.block], first_slot(found), 0);
  return true;
}

template <class L>
unsigned Table<L>::count(const Place& home) const {
  Place away;
  int copies_found = std::popcount(copies(home));
  if (may_be_away(home, away)) copies_found += std::popcount(copies(away));
  return static_cast<unsigned>(copies_found);
}

template class Table<Layout<8>>;
template class Table<Layout<12>>;
template class Table<Layout<16>>;

}  // namespace nestline
