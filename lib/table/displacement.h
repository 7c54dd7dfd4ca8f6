// Ways inside one block: how a newcomer whose bucket is full gets a slot by moving others to slots
// of their own buckets in the same block. Every insert uses them; chains between blocks are in
// spill.h.
//
//   newcomer -> step[0], its resident -> step[1], ... its resident -> step[last], which is free
//
// A way is found first and walked later, from its end, so that a fingerprint on the move is always
// readable (table.h, I3). Beside other threads a way may be gone by then; is_open checks.
#ifndef NESTLINE_LIB_TABLE_DISPLACEMENT_H_
#define NESTLINE_LIB_TABLE_DISPLACEMENT_H_

#include <array>
#include <cstdint>

#include "lib/kernels/kernels.h"
#include "lib/place/layout.h"

namespace nestline {

// A way into a block: the slots to move along, and the fingerprints in them. It can be walked
// whenever it is open: a resident's slot and fingerprint determine its other slots.
struct Way {
  Displacement path;
  std::array<std::uint16_t, 64> mover;  // in path.step[i], except the last step

  Way() { path.steps = 0; }  // no way
};

// Whether every fingerprint of the way is still in its slot, and its end is free.
template <class L>
bool is_open(const Block& block, const Way& way) {
  if (way.path.steps == 0) return false;
  const std::uint32_t last = way.path.steps - 1;
  for (std::uint32_t i = 0; i < last; ++i) {
    if (L::get(block, way.path.step[i]) != way.mover[i]) return false;
  }
  return L::get(block, way.path.step[last]) == 0;
}

// The way from a bucket to one of `goals`, slots that are free or will be; false without one.
template <class L>
bool find_way(const Kernels& kernels, const Block& block, std::uint64_t bucket, std::uint64_t goals,
              Way& way) {
  if ((goals & bucket) != 0) {
    way.path.steps = 1;
    way.path.step[0] = static_cast<std::uint8_t>(first_slot(goals & bucket));
    return true;
  }
  kernels.displace(block, bucket, goals, way.path);
  for (std::uint32_t i = 0; i + 1 < way.path.steps; ++i) {
    way.mover[i] = static_cast<std::uint16_t>(L::get(block, way.path.step[i]));
  }
  return way.path.steps != 0;
}

// A way from a bucket to a free slot of a block; false without one.
template <class L>
bool find_free_way(const Kernels& kernels, const Block& block, std::uint64_t bucket, Way& way) {
  const std::uint64_t free = kernels.free_slots(block);
  return free != 0 && find_way<L>(kernels, block, bucket, free, way);
}

// Moves each fingerprint on the way one step, from the way's end back, and stores `fingerprint` at
// its start. It moves what is there now, not what was there when the way was found: update may have
// cleared a slot since.
template <class L>
void walk(Block& block, const Way& way, std::uint32_t fingerprint) {
  for (std::uint32_t i = way.path.steps - 1; i > 0; --i) {
    L::set(block, way.path.step[i], L::get(block, way.path.step[i - 1]));
  }
  L::set(block, way.path.step[0], fingerprint);
}

}  // namespace nestline

#endif  // NESTLINE_LIB_TABLE_DISPLACEMENT_H_
