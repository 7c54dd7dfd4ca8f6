// The memory orders: every access to a block that other threads may use at the same time has a name
// here or, for what callers inline, in nestline/internal/shared_reads.h, and locking.h explains
// what each is for. They work on plain bytes in place, through types
// that may alias them. On x86 loads and stores are plain moves, the exchange is a locked
// instruction, full_fence is a full fence, and the other fences are no instruction.
//
// A reader looks at a block without a lock, between two loads of its header:
//
//   load_acquire(header)  ->  the bytes, in vectors  ->  load_again(header)
//
// In the C++ memory model the vector loads race with a writer's stores, although their result is
// discarded when the headers differ. No compiler moves them across the acquire load before or the
// fence after, and no processor tears an aligned halfword. ThreadSanitizer does not understand
// fences: under it readable_block() (match-inl.h) copies the block by atomic words first: the same
// protocol without the race, but slower.
//
// Nor does the model define atomic accesses of different sizes to the same bytes: slots are stored
// by bytes, halfwords and words of 64 bits, and read by vectors and by words that contain the
// header. On the processors we support (x86, ARMv8, RISC-V, s390x) that is well defined: no aligned
// access straddles a cache line, a load takes for each byte a value that was stored there, in the
// order in which the line received them, and acquire and release hold for a load that saw any byte
// of a store. A vector may see two stores to one line in the wrong order: the second look at the
// header detects it.
//
// A header is exchanged and stored only as one word of 32 bits, mark included: unlocking loads it,
// and would wait for the store of a single byte. Only the holder of its lock, or the only writer,
// stores it; an exchange by any other thread fails meanwhile.
//
// Two readers see the inserts of two writers in the same order only where a store becomes visible
// to all others at once, as on x86, ARMv8 and RISC-V.
#ifndef NESTLINE_LIB_ENGINE_PLACE_MEMORY_ORDER_H_
#define NESTLINE_LIB_ENGINE_PLACE_MEMORY_ORDER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "nestline/internal/shared_reads.h"

namespace nestline { inline namespace v0_3 {

using SharedHalfword [[gnu::may_alias]] = std::uint16_t;
using internal::SharedWord;
using SharedLongword [[gnu::may_alias]] = std::uint64_t;

// Stores that others may see at once. Release: to see one is to see that its block was locked.
inline void store_shared(std::uint8_t& to, std::uint8_t value) {
  __atomic_store_n(&to, value, __ATOMIC_RELEASE);
}
inline void store_shared(SharedHalfword& to, std::uint16_t value) {
  __atomic_store_n(&to, value, __ATOMIC_RELEASE);
}
inline void store_shared(SharedLongword& to, std::uint64_t value) {
  __atomic_store_n(&to, value, __ATOMIC_RELEASE);
}

using internal::load_acquire;  // the header before the block is read
using internal::load_again;    // and after it was read

// The tick of an expiring filter (aging.h): nothing after it is read earlier.
inline std::uint64_t load_acquire(const SharedLongword& from) {
  return __atomic_load_n(&from, __ATOMIC_ACQUIRE);
}

// Nothing after is read before what was read so far, as by a match that needs no second look.
inline void acquire_fence() {
#if !NESTLINE_TSAN
  std::atomic_thread_fence(std::memory_order_acquire);
#endif
}

// After exchange_acquire, which is a full fence on x86: nothing after is read before others see it.
inline void fence_after_exchange() {
#if defined(__x86_64__) || defined(__i386__)
  std::atomic_signal_fence(std::memory_order_seq_cst);
#elif !NESTLINE_TSAN
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

// All threads see what this one has stored before it loads anything after.
inline void full_fence() {
#if !NESTLINE_TSAN
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

// A header that no decision depends on yet, or that only this thread stores now.
inline std::uint32_t load_relaxed(const SharedWord& from) {
  return __atomic_load_n(&from, __ATOMIC_RELAXED);
}

// Takes a lock: acquire, so that nothing it protects is read or written earlier.
inline bool exchange_acquire(SharedWord& word, std::uint32_t expected, std::uint32_t wanted) {
  return __atomic_compare_exchange_n(&word, &expected, wanted, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED);
}

// Unlocks, or locks for the only writer (W8): the next holder sees all that was done before.
inline void store_release(SharedWord& to, std::uint32_t value) {
  __atomic_store_n(&to, value, __ATOMIC_RELEASE);
}

// Stores the slots of a block, all bytes before its header, from a copy.
inline void store_slots(std::uint8_t* to, const std::uint8_t* from) {
  constexpr std::size_t kWords = 7;
  for (std::size_t i = 0; i < kWords; ++i) {
    store_shared(reinterpret_cast<SharedLongword*>(to)[i],
                 reinterpret_cast<const SharedLongword*>(from)[i]);
  }
  store_release(reinterpret_cast<SharedWord*>(to)[2 * kWords],
                reinterpret_cast<const SharedWord*>(from)[2 * kWords]);
}

// Copies memory that others may write, by words. Acquire: load_again is not done earlier.
template <std::size_t kBytes>
void copy_shared(const std::uint8_t* from, std::uint8_t* to) {
  const auto* const source = reinterpret_cast<const SharedLongword*>(from);
  auto* const target = reinterpret_cast<SharedLongword*>(to);
  static_assert(kBytes % sizeof(*source) == 0);
  for (std::size_t i = 0; i < kBytes / sizeof(*source); ++i) {
    target[i] = __atomic_load_n(source + i, __ATOMIC_ACQUIRE);
  }
}

}}  // namespace nestline

#endif  // NESTLINE_LIB_ENGINE_PLACE_MEMORY_ORDER_H_
