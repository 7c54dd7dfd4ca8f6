// A program that uses every class with keys in local variables, of every form (forms.h).
// consumers_test.py compiles it by many compilers with many flags; what it computes is compared
// with what expected.cc says. Prints what is wrong; status 1 then.
//
//   consumers FOLDER
//
// This source uses a filter as small programs do, with a single call of each member: there more is
// inlined.
#include <nestline/filter.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>

#include "tests/packaging/consumers/trials.h"

namespace consumers {

std::size_t form = 0;
const char* where = "";
static unsigned wrong = 0;

void check(bool right, const char* what) {
  if (!right && wrong < 20) std::printf("%s, %s: %s\n", kNames[form], where, what);
  wrong += !right;
}

namespace {

// The bytes of Struct, which is the first form.
struct Flow {
  std::uint32_t from, to, port, protocol;
};

[[gnu::noinline]] bool put(nestline::Filter& filter, std::uint32_t i) {
  const Flow flow{i, ~i, 80, 6};
  return static_cast<bool>(filter.insert(std::as_bytes(std::span(&flow, 1))));
}
[[gnu::noinline]] bool has(const nestline::Filter& filter, std::uint32_t i) {
  const Flow flow{i, ~i, 80, 6};
  return filter.may_contain(std::as_bytes(std::span(&flow, 1)));
}
[[gnu::noinline]] nestline::Hash hash_of(std::uint32_t i) {
  const Flow flow{i, ~i, 80, 6};
  return nestline::hash_key(std::as_bytes(std::span(&flow, 1)), kSeed);
}

void try_flows() {
  where = "a small program";
  nestline::Filter filter(kOptions);
  for (std::uint32_t i = 0; i < kKeys; ++i) {
    check(put(filter, i) && filter.may_contain(expected(i)), "insert");
    check(has(filter, i), "may_contain");
    check(hash_of(i).value == expected(i).value, "hash_key");
  }
}

}  // namespace
}  // namespace consumers

int main(int, [[maybe_unused]] char** arguments) {
  using namespace consumers;
  try_flows();
  try_filter();
#ifdef WITH_CLASSES
  try_classes(arguments[1]);
#endif
#ifdef WITH_C
  wrong += try_c() + try_c_in_cpp();
#endif
  return wrong == 0 ? 0 : 1;
}
