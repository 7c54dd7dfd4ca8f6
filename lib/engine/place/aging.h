// The time of an expiring filter: which tick it is, when a slot is dead, and marks that fall. Its
// memory is one piece, so a pointer to the blocks leads to the tick:
//
//   | head block: the tick | blocks ... | next marks, one byte for each block |
//
// A slot holds its death, the tick from which on it counts as absent, mod 16. A key that is stored
// or renewed at tick t for n ticks, 1 to 14, dies at t + n + 1: it lives for the rest of this tick
// and n whole ones. A dead slot is emptied by a sweep, which passes every block once a tick, or by
// a writer that needs it.
//
// The tick
//   T1  The tick moves on only inside a write section: of the only writer, or of one of many
//       that all lock (locking.h, W8).
//   T2  It moves on from t only when the sweep of t has passed all blocks. The sweep passes a block
//       that it has seen unlocked and unchanged by R3 (locking.h) without a death of t, or it locks
//       the block and empties those slots. A dead slot never leaves its block.
//   T3  A writer reads the tick after it has locked its blocks, with a full fence in between where
//       there are many writers (the exchange of the lock, see memory_order.h).
//   T4  A reader reads the tick between its two loads of the header of the block that it looks at.
//
// A thread that has read the tick t there finds only deaths of t (dead) and t + 1 to t + 15
// (alive), which 4 bits tell apart. None is later: its writer had read a tick no later than t,
// since it unlocked the block before. None is earlier: the sweep of each tick before t has passed
// the block when no slot in it, and no writer that held it, could bring such a death any more. For
// a writer that has read the tick s with the lock stores a death of s + 2 or later. Until it
// unlocks, the sweep of s + 1 does not pass the block, and so the tick does not move on from s + 1.
//
// An insert takes effect when it reads the tick: a look that begins after the tick has moved on
// finds the block locked or changed already. A lookup takes effect when it reads the tick, or
// anywhere between its looks at the headers if no slot had the fingerprint.
//
// Marks that fall
//   An eviction from home raises home's mark and home's next mark, both under home's lock.
//   M1  Every kOverflowMarkTicks ticks or more, the sweep also exchanges: it locks each block and
//       sets its mark to its next mark, and the next mark to 0.
//   M2  An insert that renews a key in its alternate raises home's next mark, with both locked.
//
// Why no mark is too low. Let a key x live at home A and away in B after an exchange of A in tick
// t2; the one before was in tick t1, and t2 >= t1 + 14 + 2. Being alive, x was last inserted or
// renewed in tick t2 - 14 or later, so after the exchange in t1. If it was away then, or found no
// room at home, that raised A's next mark (M2, or the eviction); else the eviction that moved it
// away since did. No exchange of A came in between. Two keys x and y that look the same and are
// each other's home and alternate (table-inl.h) may share one slot; it lives as long as the one
// renewed last, but the argument is made for each by its own renewals. Such a slot that moves from
// A to B raises A's marks, and from B to A raises B's. Readers see marks in the header, so R3
// covers the exchange.
#ifndef NESTLINE_LIB_ENGINE_PLACE_AGING_H_
#define NESTLINE_LIB_ENGINE_PLACE_AGING_H_

#include <bit>
#include <cstdint>

#include "lib/engine/place/geometry.h"
#include "lib/engine/place/test_hooks.h"

namespace nestline { inline namespace v0_3 {

inline constexpr std::uint64_t kHeadBlocks = 1;
inline constexpr unsigned kMaxLife = 14;
inline constexpr std::uint64_t kOverflowMarkTicks = kMaxLife + 2;
// Blocks that a sweep passes at a time, and inserts of a thread from one slice to its next.
inline constexpr std::uint64_t kSlice = 64;

// Blocks of memory that a filter of so many blocks takes after the head.
constexpr std::uint64_t with_next_overflow_marks(std::uint64_t blocks) {
  return blocks + (blocks + kBlockBytes - 1) / kBlockBytes;
}

inline const SharedLongword& tick_word(const Block* blocks) {
  return *reinterpret_cast<const SharedLongword*>((blocks - kHeadBlocks)->bytes.data());
}
// Little-endian, since a mapped file has it too.
constexpr std::uint64_t to_tick(std::uint64_t word) {
  return std::endian::native == std::endian::little ? word : __builtin_bswap64(word);
}
inline std::uint64_t tick(const Block* blocks) { return to_tick(load_acquire(tick_word(blocks))); }
// The same for a thread that has locked blocks and looks at them next (T3).
template <class Locks>
std::uint64_t tick_of_holder(const Locks& locks, const Block* blocks) {
  if (NESTLINE_EARLY_TICK != 0) return NESTLINE_EARLY_TICK - 1;
  if (!locks.blocks_are_stable()) fence_after_exchange();
  const std::uint64_t now = tick(blocks);
  NESTLINE_TEST_POINT(NESTLINE_POINT_TICK_READ);
  return now;
}
inline void set_tick(Block* blocks, std::uint64_t tick) {
  store_shared(const_cast<SharedLongword&>(tick_word(blocks)), to_tick(tick));
}

// The death of a slot that lives for the rest of this tick and `life` more.
constexpr std::uint32_t death_after(std::uint64_t tick, std::uint32_t life) {
  return static_cast<std::uint32_t>(tick + life + 1) & 15;
}
// Ticks until the death, this one included; 0: it is dead.
constexpr std::uint32_t ticks_left(std::uint32_t death, std::uint64_t tick) {
  return (death - static_cast<std::uint32_t>(tick)) & 15;
}

inline std::uint8_t& next_overflow_mark(const Block* blocks, const Geometry& geometry,
                                        std::uint64_t block) {
  return const_cast<Block*>(blocks + geometry.blocks())->bytes.data()[block];
}
// Makes a block's next mark cover the rank; only for the thread that holds the block.
inline void raise_next_overflow_mark(const Block* blocks, const Geometry& geometry,
                                     std::uint64_t block, std::uint32_t eviction_rank) {
  std::uint8_t& next = next_overflow_mark(blocks, geometry, block);
  if (next <= eviction_rank) store_shared(next, static_cast<std::uint8_t>(eviction_rank + 1));
}

// What an eviction from a block that is held does to its marks.
template <class L, class BlockLock>
void raise_overflow_marks(BlockLock& hold, const Block* blocks, const Geometry& geometry,
                          std::uint64_t block, std::uint32_t eviction_rank) {
  hold.change(block).raise_overflow_mark(eviction_rank);
  if constexpr (L::kExpires) raise_next_overflow_mark(blocks, geometry, block, eviction_rank);
}

}}  // namespace nestline

#endif  // NESTLINE_LIB_ENGINE_PLACE_AGING_H_
