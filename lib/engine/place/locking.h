// How readers and writers share blocks: the protocol, and the lock policies that operations take as
// a parameter. NoLocks, for one thread, compiles everything here to nothing; OneWriter and
// BlockLocks are for readers beside one writer and beside many. First looks are compiled for each
// of these; what follows from them once, for AnyLocks. Each block has a lock bit and a version in
// its header (layout.h).
//
// Writers
//   W1  A thread changes a block only while it holds its lock. Unlocking a changed block advances
//       its version, in the same store; one that was not changed gets its old header back.
//       BlockLock's change() is the only way to a writable block: so BlockLock knows.
//   W2  A thread holds at most two locks. It takes the second beside the first only if the second
//       is of the higher block, or free at that moment; else it releases the first, takes both in
//       order and looks again.
//   W3  An operation decides (is there a copy, is there room) under the locks of the blocks in
//       question. It keeps them until it has done what it decided: then it takes effect.
//       Exception: update, whose two keys have four blocks. It holds the block that it stores in,
//       and looks for the old key as a reader does (R3): at its home, and if no copy is there, at
//       both its blocks. That is enough: when it finds the old key absent, that is true at that
//       instant, and no other thread can see the new key absent from then on.
//   W4  A displacement copies a fingerprint, then clears it. A move to the alternate, under both
//       locks, raises home's mark first. A guest that comes home is copied and cleared under both
//       locks, before home's mark falls; home's lock is held from the look at its other block on
//       (homecoming-inl.h). update clears the old key before it stores the new one.
//   W5  Room is made before the newcomer is placed. A search finds a chain of moves on copies of
//       the blocks, without locks. The moves are carried out from the far end, each under the locks
//       of its two blocks, if the victim is still there and has room. Each move leaves the same
//       keys, so giving up the rest does no harm.
//   W6  A writer overtaken kMaxTries times returns without an outcome, and its caller makes the
//       other writers wait (concurrent_state.h). Then only readers take locks.
//   W7  Where there are many writers, each returns only when all other threads can see what it
//       stored: by counting the key, a read-modify-write, or by full_fence(). Otherwise this
//       writer's next lookup might see another block's past, and that block's writer the past of
//       this one.
//   W8  While one thread alone has written (Writers), nobody else takes locks or changes blocks. So
//       it needs a lock only for the readers, from its first change of a block until it releases
//       its BlockLock, and takes and releases it by plain stores: an exchange costs as much as the
//       rest of an insert. What it stored may be under way when it returns, but its next lookup
//       waits for that (ReadSection in reclaim.h), so the calls of filters have one order all the
//       same; insert_unique's own lookup need not wait. Another thread that wants to write makes it
//       wait, declares for good that there are many writers, and lets it go on
//       (concurrent_state.h).
//
// Readers
//   R1  A reader looks at home, and at the alternate if home's mark, as read then, covers the
//       rank.
//   R2  A match is a yes at once; acquire_fence() keeps the thread's next lookup from overtaking
//       it. (At 12 bits, where a fingerprint is two bytes, only under R3.)
//   R3  A no, or a number, counts only if every block looked at was unlocked and its header is
//       unchanged after all of them have been read.
//   R4  After kReadTries a reader takes locks as writers do, of the blocks that it looks at. It
//       changes nothing: other readers look again only if they look meanwhile. An only writer does
//       not expect that: the reader requests it (Writers) and tries on. Either that writer comes to
//       its next change and from then on locks as many do, or it changes nothing more.
//
// Why a block that was not changed may get its old header back (W1). A writer that changed a block
// between a reader's two looks at its header locked it after the first, unlocked it before the
// second, and left a higher version, which later holders keep or raise. So with equal headers the
// reader has read what stood there all the time. Its loads are ordered whichever holder stored the
// header: that one made the last change, or took the lock after the holder before it, and so on
// back to the change.
//
// Why no reader misses a key x that stays in the filter, home A and alternate B. By R3 neither A
// nor B changed between the reading of A and the check: both were read as they stood at one
// instant, when no writer that changes either was between W3's start and end. So I1 of table-inl.h
// holds: x's fingerprint is in A, or in B and the mark covers it. This includes keys x and y with
// equal fingerprint and bucket offset where y's home is B and its alternate A: x is stored in B; a
// reader of x finds nothing in A; y is inserted, is evicted to A and is erased from B; the reader
// finds nothing in B. The copy in A now stands for x; A's header has changed: the reader starts
// again. A version has 19 bits: to mistake it, the reader would sleep through exactly 524,288
// changes of one block (or a multiple) between two loads.
//
// A yes at once is right too: by W4 a key of that rank was in the filter then or was being placed,
// and the reader linearizes its insert; another can answer no only after the locks are released.
//
// Why no two writers wait for each other. A thread that waits for a lock holds none, or one of a
// lower block: along any chain of waiting threads the numbers rise. Holders wait for nothing else:
// they neither allocate nor wait for readers. A reader that has requested the only writer to share
// waits for its next call, which may wait for another writer, which waits for the reader's section
// to end: but a waiting writer changes nothing, so the reader's next look succeeds.
#ifndef NESTLINE_LIB_ENGINE_PLACE_LOCKING_H_
#define NESTLINE_LIB_ENGINE_PLACE_LOCKING_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <limits>
#include <thread>
#include <utility>

#include "lib/engine/place/layout.h"
#include "lib/engine/place/test_hooks.h"

// Sources that are compiled for size leave it to the compiler.
#ifdef NESTLINE_OLDER
#define NESTLINE_LOCK_INLINE inline NESTLINE_HERE
#else
#define NESTLINE_LOCK_INLINE NESTLINE_INLINE
#endif

namespace nestline { inline namespace v0_3 {

// A block to change. Operations see blocks as const, and change them through BlockLock
// (table-inl.h).
inline Block& changeable(const Block* blocks, std::uint64_t block) {
  return const_cast<Block&>(blocks[block]);
}

// Whether one thread writes without atomic exchanges (W8), or many do with them.
class Writers {
 public:
  // A thread, by a number that is its own for ever, and even and not 0.
  using Thread = std::uint64_t;
  // Refused: another thread is the only writer.
  enum class WriteMode : std::uint8_t { alone, as_one_of_many, refused };

  [[nodiscard]] bool has_alone(Thread thread) const {
    return word_.load(std::memory_order_relaxed) == thread;
  }
  // How this thread may write until its section ends; called inside it, when no writer has to wait.
  WriteMode acquire_write_mode(Thread thread) {
    if (has_alone(thread)) return WriteMode::alone;
    std::uint64_t now = word_.load(std::memory_order_acquire);
    if (now == kMany) return WriteMode::as_one_of_many;
    if (now == (thread | kRequested)) {
      share();
      return WriteMode::as_one_of_many;
    }
    if (now == kNobody && word_.compare_exchange_strong(now, thread)) return WriteMode::alone;
    return WriteMode::refused;
  }
  // From now on there are many writers. For the only writer between two changes, or while all
  // writers wait. Release: to see it is to see the last header that a plain store has unlocked.
  void share() { word_.store(kMany, std::memory_order_release); }
  [[nodiscard]] bool are_many() const { return word_.load(std::memory_order_acquire) == kMany; }
  // A reader's request to the one writer.
  void request_sharing() {
    std::uint64_t now = word_.load(std::memory_order_relaxed);
    if (now != kNobody && now != kMany) word_.compare_exchange_strong(now, now | kRequested);
  }

 private:
  static constexpr std::uint64_t kNobody = 0;
  static constexpr std::uint64_t kRequested = 1;
  static constexpr std::uint64_t kMany = ~std::uint64_t{0};
  // Or the one writer, and whether sharing was requested.
  std::atomic<std::uint64_t> word_{kNobody};
};

// Who else may be at the blocks.
enum class Sharing : std::uint8_t { alone, one_writer, many_writers };

// Waits a little longer each time: first busily, then by letting other threads run.
class Backoff {
 public:
  void pause() {
    if (spins_ > kMaxSpins) {
      std::this_thread::yield();
      return;
    }
    for (std::uint32_t i = 0; i < spins_; ++i) relax();
    spins_ *= 2;
  }

 private:
  static constexpr std::uint32_t kMaxSpins = 64;
  static void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
  std::uint32_t spins_ = 1;
};

// The lock bit of a block.
struct HeaderLock {
  static bool try_lock(Block& block) {
    const std::uint32_t old = load_relaxed(block.header_word());
    const std::uint32_t header = Block::to_header(old);
    if ((header & kHeaderLock) != 0) return false;
    return exchange_acquire(block.header_word(), old, Block::to_header(header | kHeaderLock));
  }
  NESTLINE_LOCK_INLINE static void lock(Block& block) {
    if (!try_lock(block)) [[unlikely]] {
      wait_for(block);
    }
  }
  [[gnu::noinline]] static void wait_for(Block& block) {
    for (Backoff backoff; !try_lock(block);) backoff.pause();
  }
  // The same for the only writer.
  static void lock_alone(Block& block) {
    const std::uint32_t header = Block::to_header(load_relaxed(block.header_word()));
    // Later stores to the block are releases: to see one of them is to see the lock.
    store_release(block.header_word(), Block::to_header(header | kHeaderLock));
  }
  // `step`: kHeaderVersion if the block was changed, else 0.
  static void unlock(Block& block, std::uint32_t step) {
    const std::uint32_t header = Block::to_header(load_relaxed(block.header_word()));
    store_release(block.header_word(), Block::to_header((header & ~kHeaderLock) + step));
  }

  // Empties a block, its mark too: right only where no key has to be found any more, in any block.
  static void empty(Block& block) {
    lock(block);
    auto* const words = reinterpret_cast<SharedLongword*>(block.bytes.data());
    std::for_each_n(words, kOverflowMarkByte / sizeof(*words),
                    [](auto& word) { store_shared(word, 0); });
    store_release(*(&block.header_word() - 1), 0);  // the slots beside the header in its longword
    const std::uint32_t header = Block::to_header(load_relaxed(block.header_word()));
    store_release(
        block.header_word(),
        Block::to_header((header & ~(kHeaderLock | Block::kHeaderKept)) + kHeaderVersion));
  }

  // Makes it a block of a filter without locks; no other thread may use it meanwhile.
  static void forget_version(Block& block) {
    const std::uint32_t header = Block::to_header(load_relaxed(block.header_word()));
    store_release(block.header_word(), Block::to_header(header & Block::kHeaderKept));
  }
};

// A lock policy. Mode says who shares the blocks: a constant, for first looks, or a value, for what
// is compiled once for all policies.
template <class Mode>
struct LockPolicy : HeaderLock, Mode {
  static constexpr std::uint32_t kReadTries = 16;
  // Readers where one thread writes give the filter's `writers`; that thread gives nothing.
  explicit LockPolicy(Writers* writers = nullptr) : Mode{}, writers_(writers) {}
  explicit LockPolicy(Mode mode, Writers* writers = nullptr) : Mode(mode), writers_(writers) {}

  [[nodiscard]] NESTLINE_LOCK_INLINE bool are_alone() const {
    return this->sharing() == Sharing::alone;
  }
  // Whether what was found a moment ago is still so.
  [[nodiscard]] NESTLINE_LOCK_INLINE bool blocks_are_stable() const {
    return this->sharing() != Sharing::many_writers;
  }
  // Where no writer overtakes, the second try is the last, and the first look counts.
  [[nodiscard]] std::uint32_t max_tries() const {
    return blocks_are_stable() ? std::numeric_limits<std::uint32_t>::max() : 16;
  }
  [[nodiscard]] std::uint32_t read_tries() const { return are_alone() ? 1 : kReadTries; }
  // Whether a reader that keeps finding changes may take locks (R4), as many writers do.
  [[nodiscard]] bool readers_may_lock() const {
    if (!blocks_are_stable()) return true;
    if (writers_ == nullptr) return false;
    writers_->request_sharing();
    return writers_->are_many();
  }

  // The right to change the blocks with these numbers. With one writer a block is locked only when
  // it is about to change: nobody else could change it. (And vectors that read it right after a
  // store to its header would wait for that store.)
  class BlockLock : Mode {
   public:
    NESTLINE_LOCK_INLINE BlockLock(Mode mode, const Block* blocks, std::uint64_t first)
        : Mode(mode), blocks_(blocks), first_(first), second_(first) {
      if (are_many()) lock(changeable(blocks_, first_));
      if (!are_alone()) NESTLINE_TEST_POINT(NESTLINE_POINT_LOCKED);
    }
    NESTLINE_LOCK_INLINE BlockLock(Mode mode, const Block* blocks, std::uint64_t one,
                                   std::uint64_t other)
        : Mode(mode), blocks_(blocks), first_(one), second_(other) {
      if (are_many()) lock_both();
      if (!are_alone()) NESTLINE_TEST_POINT(NESTLINE_POINT_LOCKED);
    }
    NESTLINE_LOCK_INLINE ~BlockLock() {
      if (are_alone()) return;
      release(first_, first_changed_);
      if (second_ != first_) release(second_, second_changed_);
    }
    BlockLock(const BlockLock&) = delete;
    BlockLock& operator=(const BlockLock&) = delete;

    [[nodiscard]] bool holds(std::uint64_t block) const {
      return block == first_ || block == second_;
    }

    // Holds this block too, which must be the second. False: the first was released meanwhile, and
    // may have changed.
    NESTLINE_LOCK_INLINE bool add(std::uint64_t other) {
      if (are_alone() || holds(other)) return true;
      assert(first_ == second_);
      second_ = other;
      return !are_many() || lock_second();
    }
    [[gnu::noinline]] bool lock_second() {
      if (second_ > first_) {
        lock(changeable(blocks_, second_));
        return true;
      }
      if (try_lock(changeable(blocks_, second_))) return true;
      release(first_, std::exchange(first_changed_, false));
      lock_both();
      return false;
    }

    // Releases the other block than this one, if two are held.
    NESTLINE_LOCK_INLINE void keep(std::uint64_t block) {
      if (!are_alone() && second_ != first_) release_but(block);
    }
    [[gnu::noinline]] void release_but(std::uint64_t block) {
      if (block == first_) {
        release(second_, second_changed_);
      } else {
        release(first_, first_changed_);
        first_ = second_;
        first_changed_ = second_changed_;
      }
      second_ = first_;
      second_changed_ = false;
    }

    // A block that is held.
    [[nodiscard]] NESTLINE_LOCK_INLINE const Block& at(std::uint64_t block) const {
      return blocks_[block];
    }
    // The same, to be changed.
    NESTLINE_LOCK_INLINE Block& change(std::uint64_t block) {
      if (are_alone()) return changeable(blocks_, block);
      // No reference to one of the two: so all of this object stays in registers.
      const bool is_first = block == first_;
      if (!are_many() && !(is_first ? first_changed_ : second_changed_)) {
        lock_alone(changeable(blocks_, block));
      }
      first_changed_ |= is_first;
      second_changed_ |= !is_first;
      return changeable(blocks_, block);
    }

   private:
    [[nodiscard]] NESTLINE_LOCK_INLINE bool are_alone() const {
      return this->sharing() == Sharing::alone;
    }
    [[nodiscard]] NESTLINE_LOCK_INLINE bool are_many() const {
      return this->sharing() == Sharing::many_writers;
    }
    // Nothing has been changed yet.
    [[gnu::noinline]] void lock_both() {
      if (second_ < first_) std::swap(first_, second_);
      lock(changeable(blocks_, first_));
      if (second_ != first_) lock(changeable(blocks_, second_));
    }
    NESTLINE_LOCK_INLINE void release(std::uint64_t block, bool changed) {
      if (!are_many() && !changed) return;
      const bool forget = NESTLINE_FORGET_CHANGES;
      unlock(changeable(blocks_, block), changed && !forget ? kHeaderVersion : 0);
    }

    const Block* blocks_;
    std::uint64_t first_;
    std::uint64_t second_;  // equal to first_: only one is held
    bool first_changed_ = false;
    bool second_changed_ = false;
  };

  // Up to two blocks as they stood at one instant: copies of them, where others write, unless
  // `hold` holds them. Or, if `takes_locks`, locks each block that it looks at (R4). valid(): they
  // stood so; after a false, `hold` holds them when it looks again.
  class BlockRead : Mode {
   public:
    BlockRead(Mode mode, const Block* blocks, BlockLock* hold = nullptr, bool takes_locks = false)
        : Mode(mode), blocks_(blocks), hold_(hold), takes_locks_(takes_locks) {}

    NESTLINE_LOCK_INLINE const Block& at(std::uint64_t block) {
      return this->sharing() == Sharing::alone ? blocks_[block] : held_or_copied(block);
    }
    [[gnu::noinline]] const Block& held_or_copied(std::uint64_t block) {
      if (takes_locks_) {
        if (!hold_->add(block)) was_released_ = true;
        return blocks_[block];
      }
      if (hold_ != nullptr && hold_->holds(block)) return blocks_[block];
      if (count_ != 0) NESTLINE_TEST_POINT(NESTLINE_POINT_HOME_READ);
      number_[count_] = block;
      header_[count_] = blocks_[block].header();
      copy_shared<kBlockBytes>(blocks_[block].bytes.data(), copy_[count_].bytes.data());
      return copy_[count_++];
    }
    [[nodiscard]] NESTLINE_LOCK_INLINE bool valid() const {
      return this->sharing() == Sharing::alone || are_unchanged();
    }
    [[nodiscard]] [[gnu::noinline]] bool are_unchanged() const {
      if (takes_locks_) return !was_released_;
      NESTLINE_TEST_POINT(NESTLINE_POINT_BEFORE_CHECK);
      if (NESTLINE_SKIP_VALIDATION) return true;
      for (std::uint32_t i = 0; i < count_; ++i) {
        if ((header_[i] & kHeaderLock) != 0) return false;
        if (blocks_[number_[i]].header_again() != header_[i]) return false;
      }
      return true;
    }

   private:
    const Block* blocks_;
    BlockLock* hold_;
    bool takes_locks_;
    bool was_released_ = false;
    std::uint32_t count_ = 0;
    std::array<std::uint64_t, 2> number_;
    std::array<std::uint32_t, 2> header_;
    std::array<Block, 2> copy_;
  };

 private:
  Writers* writers_;
};

template <Sharing kSharing>
struct FixedMode {
  static constexpr Sharing sharing() { return kSharing; }
};
struct AnyMode {
  Sharing shared = Sharing::alone;
#if NESTLINE_SMALL  // where there are no threads
  static constexpr Sharing sharing() { return Sharing::alone; }
#else
  [[nodiscard]] NESTLINE_LOCK_INLINE Sharing sharing() const { return shared; }
#endif
};

// One thread at a time; any number of readers beside one writer (W8); or beside many.
using NoLocks = LockPolicy<FixedMode<Sharing::alone>>;
using OneWriter = LockPolicy<FixedMode<Sharing::one_writer>>;
using BlockLocks = LockPolicy<FixedMode<Sharing::many_writers>>;
// Any of these, known at run time.
using AnyLocks = LockPolicy<AnyMode>;

// A copy of the block as it stood at one instant, unless writers keep it busy, for a search whose
// result is checked later.
[[gnu::noinline]] inline const Block& copy_of(const Block& block, Block& copy) {
  Backoff backoff;
  for (std::uint32_t tries = 0; tries < BlockLocks::kReadTries; ++tries) {
    const std::uint32_t before = block.header();
    copy_shared<kBlockBytes>(block.bytes.data(), copy.bytes.data());
    if ((before & kHeaderLock) == 0 && block.header_again() == before) break;
    backoff.pause();
  }
  return copy;
}

}}  // namespace nestline

#endif  // NESTLINE_LIB_ENGINE_PLACE_LOCKING_H_
