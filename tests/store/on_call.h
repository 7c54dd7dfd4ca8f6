// How tests open a store whose every step they decide.
#ifndef NESTLINE_TESTS_STORE_ON_CALL_H_
#define NESTLINE_TESTS_STORE_ON_CALL_H_

#include "lib/store/state.h"

namespace nestline::test {

// Without threads: syncs, checkpoints and compactions happen only when they are called for.
inline constexpr OpenOn kOnCall = {.threads = false, .log_bytes_per_checkpoint = 0};

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_STORE_ON_CALL_H_
