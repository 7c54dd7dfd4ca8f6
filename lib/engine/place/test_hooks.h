// Points where a test can delay a thread, and switches that break the protocol on purpose or send
// readers along its rarest path: only in the library that tests/ compiles with NESTLINE_TEST_HOOKS.
#ifndef NESTLINE_LIB_ENGINE_PLACE_TEST_HOOKS_H_
#define NESTLINE_LIB_ENGINE_PLACE_TEST_HOOKS_H_

#ifdef NESTLINE_TEST_HOOKS

#include <atomic>
#include <cstdint>

namespace nestline { inline namespace v0_3 { namespace test_hooks {

// Whether readers trust what they saw without comparing headers.
inline std::atomic<bool> skip_validation{false};
// Whether changed blocks get their old versions back.
inline std::atomic<bool> forget_changes{false};
// Whether readers that have to look again take locks at once.
inline std::atomic<bool> lock_at_once{false};
// Faults of expiring filters (aging.h).
// Whether the tick moves on while slices of its sweep are under way (T2).
inline std::atomic<bool> tick_does_not_wait{false};
// Whether a renewal in the alternate leaves the next mark as it is (M2).
inline std::atomic<bool> forget_young_marks{false};
// Whether a sweep empties what dies at the next tick.
inline std::atomic<bool> sweep_too_early{false};
// Whether dead slots move to other blocks (T2).
inline std::atomic<bool> move_the_dead{false};
// 1 + the tick that this thread's inserts take for the present one (T3); 0: they read it.
inline thread_local constinit std::uint64_t early_tick = 0;
// Faults of guest lanes (homecoming-inl.h).
// Whether a mark falls below the class of a guest before it has come home.
inline std::atomic<bool> lower_marks_early{false};
// Whether a guest is cleared, and its block released, before it has a slot at home. Only beside one
// writer, who has not locked home then, could readers see it.
inline std::atomic<bool> clear_guests_first{false};
// Whether a partner is read in two parts, at different instants, and taken for what it was at one.
inline std::atomic<bool> trust_partners{false};
// Whether other writers do not wait while all values of a maplet are changed.
inline std::atomic<bool> change_beside_writers{false};
// Whether a table that is folded is published before it has its residents (concurrent_filter.cc).
inline std::atomic<bool> publish_early{false};
// Called, if set, where another thread coming in between is worth a test.
inline std::atomic<void (*)(int point)> at_point{nullptr};

inline void reach(int point) {
  if (auto* const call = at_point.load()) call(point);
}

}}}  // namespace nestline::test_hooks

#define NESTLINE_TEST_POINT(point) ::nestline::test_hooks::reach(point)
#define NESTLINE_SKIP_VALIDATION ::nestline::test_hooks::skip_validation.load()
#define NESTLINE_FORGET_CHANGES ::nestline::test_hooks::forget_changes.load()
#define NESTLINE_LOCK_AT_ONCE ::nestline::test_hooks::lock_at_once.load()
#define NESTLINE_TICK_DOES_NOT_WAIT ::nestline::test_hooks::tick_does_not_wait.load()
#define NESTLINE_FORGET_YOUNG_MARKS ::nestline::test_hooks::forget_young_marks.load()
#define NESTLINE_SWEEP_TOO_EARLY ::nestline::test_hooks::sweep_too_early.load()
#define NESTLINE_MOVE_THE_DEAD ::nestline::test_hooks::move_the_dead.load()
#define NESTLINE_LOWER_MARKS_EARLY ::nestline::test_hooks::lower_marks_early.load()
#define NESTLINE_CLEAR_GUESTS_FIRST ::nestline::test_hooks::clear_guests_first.load()
#define NESTLINE_TRUST_PARTNERS ::nestline::test_hooks::trust_partners.load()
#define NESTLINE_CHANGE_BESIDE_WRITERS ::nestline::test_hooks::change_beside_writers.load()
#define NESTLINE_PUBLISH_EARLY ::nestline::test_hooks::publish_early.load()
#define NESTLINE_EARLY_TICK ::nestline::test_hooks::early_tick

#else

#define NESTLINE_TEST_POINT(point) ((void)0)
#define NESTLINE_SKIP_VALIDATION false
#define NESTLINE_FORGET_CHANGES false
#define NESTLINE_LOCK_AT_ONCE false
#define NESTLINE_TICK_DOES_NOT_WAIT false
#define NESTLINE_FORGET_YOUNG_MARKS false
#define NESTLINE_SWEEP_TOO_EARLY false
#define NESTLINE_MOVE_THE_DEAD false
#define NESTLINE_LOWER_MARKS_EARLY false
#define NESTLINE_CLEAR_GUESTS_FIRST false
#define NESTLINE_TRUST_PARTNERS false
#define NESTLINE_CHANGE_BESIDE_WRITERS false
#define NESTLINE_PUBLISH_EARLY false
#define NESTLINE_EARLY_TICK \
  std::uint64_t { 0 }

#endif

// Where the points are.
#define NESTLINE_POINT_HOME_READ 1      // a reader between home and alternate
#define NESTLINE_POINT_BEFORE_CHECK 2   // a reader before it compares headers
#define NESTLINE_POINT_LOCKED 3         // a writer that has just taken its locks
#define NESTLINE_POINT_BETWEEN_STEPS 4  // a writer between two steps of a move or an update
#define NESTLINE_POINT_UNLOCKED 5       // a writer between two lock sessions of one operation
#define NESTLINE_POINT_TICK_READ 6      // a writer that has just read the tick
#define NESTLINE_POINT_SLICE 7  // a thread that is about to pass the blocks of a sweep's slice

#endif  // NESTLINE_LIB_ENGINE_PLACE_TEST_HOOKS_H_
