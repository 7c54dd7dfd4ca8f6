// Switches lib/engine/place/test_hooks.h on while a test runs.
#ifndef NESTLINE_TESTS_SUPPORT_HOOKS_H_
#define NESTLINE_TESTS_SUPPORT_HOOKS_H_

#include "lib/engine/place/test_hooks.h"

namespace nestline::test {

// While it lives, threads call `at_point` at each point. The faults that a test plants besides end
// with it.
class Hooks {
 public:
  explicit Hooks(void (*at_point)(int)) { test_hooks::at_point = at_point; }
  ~Hooks() {
    test_hooks::at_point = nullptr;
    test_hooks::skip_validation = test_hooks::forget_changes = false;
    test_hooks::tick_does_not_wait = test_hooks::lock_at_once = false;
    test_hooks::lower_marks_early = test_hooks::clear_guests_first = false;
    test_hooks::trust_partners = false;
    test_hooks::change_beside_writers = test_hooks::publish_early = false;
  }
  Hooks(const Hooks&) = delete;
  Hooks& operator=(const Hooks&) = delete;
};

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_SUPPORT_HOOKS_H_
