// What the trials of a form share: calls with a key in a local variable, and what they must do.
#ifndef NESTLINE_TESTS_PACKAGING_CONSUMERS_TRIALS_H_
#define NESTLINE_TESTS_PACKAGING_CONSUMERS_TRIALS_H_

#include <nestline/filter.h>

#include <cstddef>
#include <cstdint>

#include "tests/packaging/consumers/forms.h"

namespace consumers {

inline constexpr std::uint32_t kKeys = 20;
inline constexpr std::uint64_t kSeed = 7;
inline constexpr nestline::Options kOptions{.capacity = 1000, .bits = 16, .seed = kSeed};

// In small.cc. The place of the form that is tried, and the class.
extern std::size_t form;
extern const char* where;
// Counts and prints what is not right.
void check(bool right, const char* what);

inline nestline::Hash expected(std::uint32_t i) { return expected_hash(form, i, kSeed); }

// The other sources. `folder` does not exist; the store is made there.
void try_filter();
void try_classes(const char* folder);
extern "C" unsigned try_c();         // what is wrong
extern "C" unsigned try_c_in_cpp();  // the same source as C++

// A call with a key that is a local variable, in a function of its own, which the compiler may
// split.
template <class Form>
struct Calls {
  template <class Any>
  [[gnu::noinline]] static bool insert(Any& filter, std::uint32_t i) {
    const Form made(i);
    return static_cast<bool>(filter.insert(made.key()));
  }
  template <class Any>
  [[gnu::noinline]] static bool may_contain(const Any& filter, std::uint32_t i) {
    const Form made(i);
    return filter.may_contain(made.key());
  }
  template <class Any>
  [[gnu::noinline]] static nestline::Hash prepare(const Any& filter, std::uint32_t i) {
    const Form made(i);
    return filter.prepare(made.key());
  }
  template <class Any>
  [[gnu::noinline]] static bool erase(Any& filter, std::uint32_t i) {
    const Form made(i);
    return filter.erase(made.key());
  }
  template <class Any>
  [[gnu::noinline]] static bool update(Any& filter, std::uint32_t from, std::uint32_t to) {
    const Form made(from), other(to);
    return static_cast<bool>(filter.update(made.key(), other.key()));
  }
  [[gnu::noinline]] static nestline::Hash hash(std::uint32_t i) {
    const Form made(i);
    return nestline::hash_key(made.key(), kSeed);
  }
};

// What answers lookups of single keys and has the keys up to kKeys.
template <class Form, class Any>
void ask(const Any& filter, const char* what) {
  where = what;
  for (std::uint32_t i = 0; i < kKeys; ++i) {
    check(Calls<Form>::may_contain(filter, i), "may_contain in a function");
    const Form made(i);
    check(filter.may_contain(made.key()), "may_contain");
    check(Calls<Form>::prepare(filter, i).value == expected(i).value, "prepare in a function");
    check(filter.prepare(made.key()).value == expected(i).value, "prepare");
    if constexpr (requires { filter.count(made.key()); }) {
      check(filter.count(made.key()) == 1, "count");
    }
    if constexpr (requires { filter.remaining_ticks(made.key()); }) {
      check(filter.remaining_ticks(made.key()) == 14, "left");
    }
  }
}

// A filter that is changed by single keys.
template <class Form, class Any>
Any change(const char* what) {
  where = what;
  Any filter(kOptions);
  for (std::uint32_t i = 0; i < kKeys; ++i) {
    check(Calls<Form>::insert(filter, i) && filter.may_contain(expected(i)),
          "insert in a function");
    check(Calls<Form>::update(filter, i, i + kKeys) && filter.may_contain(expected(i + kKeys)),
          "update in a function");
    check(Calls<Form>::erase(filter, i + kKeys) && filter.size() == 0, "erase in a function");
  }
  for (std::uint32_t i = 0; i < kKeys; ++i) {
    const Form made(i);
    check(filter.insert_unique(made.key()).outcome == nestline::Outcome::stored &&
              filter.may_contain(expected(i)),
          "insert_unique");
    check(filter.erase(made.key()), "erase");
    check(static_cast<bool>(filter.insert(made.key())) && filter.may_contain(expected(i)),
          "insert");
  }
  return filter;
}

}  // namespace consumers

#endif  // NESTLINE_TESTS_PACKAGING_CONSUMERS_TRIALS_H_
