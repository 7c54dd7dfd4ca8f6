// Points where a test can delay a thread, and switches that break the protocol on purpose or send
// readers along its rarest path.
//
// Only the library that tests/ compiles with NESTLINE_TEST_HOOKS has them; elsewhere they compile
// to nothing.
#ifndef NESTLINE_LIB_PLACE_TEST_HOOKS_H_
#define NESTLINE_LIB_PLACE_TEST_HOOKS_H_

#ifdef NESTLINE_TEST_HOOKS

#include <atomic>

namespace nestline::test_hooks {

// Whether readers trust what they saw without comparing headers.
inline std::atomic<bool> skip_validation{false};
// Whether changed blocks get their old versions back.
inline std::atomic<bool> forget_changes{false};
// Whether readers that have to look again take locks at once.
inline std::atomic<bool> lock_at_once{false};
// Called, if set, where another thread coming in between is worth a test.
inline std::atomic<void (*)(int point)> at_point{nullptr};

inline void reach(int point) {
  if (auto* const call = at_point.load()) call(point);
}

}  // namespace nestline::test_hooks

#define NESTLINE_TEST_POINT(point) ::nestline::test_hooks::reach(point)
#define NESTLINE_SKIP_VALIDATION ::nestline::test_hooks::skip_validation.load()
#define NESTLINE_FORGET_CHANGES ::nestline::test_hooks::forget_changes.load()
#define NESTLINE_LOCK_AT_ONCE ::nestline::test_hooks::lock_at_once.load()

#else

#define NESTLINE_TEST_POINT(point) ((void)0)
#define NESTLINE_SKIP_VALIDATION false
#define NESTLINE_FORGET_CHANGES false
#define NESTLINE_LOCK_AT_ONCE false

#endif

// Where the points are.
#define NESTLINE_POINT_HOME_READ 1      // a reader between home and alternate
#define NESTLINE_POINT_BEFORE_CHECK 2   // a reader before it compares headers
#define NESTLINE_POINT_LOCKED 3         // a writer that has just taken its locks
#define NESTLINE_POINT_BETWEEN_STEPS 4  // a writer between two steps of a move or an update
#define NESTLINE_POINT_UNLOCKED 5       // a writer between two lock sessions of one operation

#endif  // NESTLINE_LIB_PLACE_TEST_HOOKS_H_
