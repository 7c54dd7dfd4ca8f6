// The parameters of a filter of any kind: layout, number of blocks, growth, seed, capacities, and
// of an expiring filter where its time stands. They are enough to make an empty filter and to write
// the header of a file.
#ifndef NESTLINE_LIB_ENGINE_PLACE_SHAPE_H_
#define NESTLINE_LIB_ENGINE_PLACE_SHAPE_H_

#include <cstddef>
#include <cstdint>

#include "lib/engine/place/aging.h"

namespace nestline { inline namespace v0_3 {

enum class Kind : std::uint8_t { filter, maplet, expiring };

// The kind of a layout. A number that is no layout's counts as a filter's.
constexpr Kind kind_of(int bits) {
  if (is_maplet(bits)) return Kind::maplet;
  return bits == expiring_layout(8) || bits == expiring_layout(12) ? Kind::expiring : Kind::filter;
}

struct Engine;
const Engine& filter_engine(int bits, Placement placement);
const Engine& maplet_engine(int layout, Placement placement);
const Engine& expiring_engine(int layout, Placement placement);

// A kind, and its engines (lib/engine/engine.h). Passed on by whoever makes a filter of the kind,
// so that a program links the engines of those kinds alone that it makes.
struct KindOfFilter {
  Kind kind;
  const Engine& (*engine)(int layout, Placement placement);
};
inline constexpr KindOfFilter kFilters = {Kind::filter, filter_engine};
inline constexpr KindOfFilter kMaplets = {Kind::maplet, maplet_engine};
inline constexpr KindOfFilter kExpiringFilters = {Kind::expiring, expiring_engine};

// The bits of Shape::key_kinds that have a meaning.
inline constexpr std::uint32_t kKnownKeyKinds = 0x7fff7fff;

struct Shape {
  int bits = 0;  // the number of its layout: the width of a fingerprint, or what stands for it
  Geometry geometry;
  std::uint64_t seed = 0;
  std::uint64_t capacity = 0;      // promised
  std::uint64_t max_capacity = 0;  // how far it grows automatically
  // The kinds of keys that a filter names (docs/FORMAT.md, section 2); 0: none. Nothing here
  // depends on them: they go where the keys go.
  std::uint32_t key_kinds = 0;
  // Of an expiring filter (lib/filters/expiring/expiring_state.h).
  unsigned life = 0;
  std::uint64_t tick = 0;
  std::uint64_t exchanged = 0;  // the tick whose sweep exchanged marks last
  std::uint64_t swept = 0;      // blocks that the sweep of this tick has passed, from the first on
  std::uint32_t waiting = 0;    // inserts since the last slice of it
  const KindOfFilter* kind = &kFilters;
  [[nodiscard]] const Engine& engine() const { return kind->engine(bits, geometry.placement); }
  // Sizes in memory, in blocks: what stands before the blocks, and the blocks with the next marks
  // behind them.
  [[nodiscard]] std::uint64_t head_blocks() const { return is_expiring(bits) ? kHeadBlocks : 0; }
  [[nodiscard]] std::uint64_t stored_blocks() const {
    return is_expiring(bits) ? with_next_overflow_marks(geometry.blocks()) : geometry.blocks();
  }
  // Does not overflow if such a filter can exist.
  [[nodiscard]] std::uint64_t stored_bytes() const { return stored_blocks() * kBlockBytes; }
  [[nodiscard]] std::size_t memory_bytes() const {
    return static_cast<std::size_t>(head_blocks() + stored_blocks()) * kBlockBytes;
  }
  [[nodiscard]] std::uint64_t slots() const { return geometry.blocks() * slots_of(bits); }
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_ENGINE_PLACE_SHAPE_H_
