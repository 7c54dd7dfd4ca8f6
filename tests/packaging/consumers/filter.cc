// hash_key, Filter and Reader with single keys of every form, and batches of local variables.
#include <nestline/filter.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/packaging/consumers/trials.h"

namespace consumers {
namespace {

template <class Form>
void try_form() {
  where = "hash_key";
  for (std::uint32_t i = 0; i < kKeys; ++i) {
    const Form made(i);
    check(Calls<Form>::hash(i).value == expected(i).value, "in a function");
    check(nestline::hash_key(made.key(), kSeed).value == expected(i).value, "inlined");
  }
  const auto filter = change<Form, nestline::Filter>("Filter");
  ask<Form>(filter, "Filter");
  ask<Form>(filter.reader(), "Reader");
}

// Batches of two keys, in functions of their own; keys i and i + 1.
template <class Form, class Key>
[[gnu::noinline]] std::size_t insert_two(nestline::Filter& filter, std::uint32_t i) {
  const Form first(i), second(i + 1);
  const Key keys[] = {Key(first.key()), Key(second.key())};
  return filter.insert(keys);
}
template <class Form, class Key>
[[gnu::noinline]] std::size_t find_two(const nestline::Filter& filter, std::uint32_t i) {
  const Form first(i), second(i + 1);
  const std::array<Key, 2> keys{Key(first.key()), Key(second.key())};
  std::uint8_t found[2];
  std::uint64_t bits[1];
  std::uint32_t positions[2];
  return filter.may_contain(keys, found) + filter.may_contain_bits(keys, bits) +
         filter.select(keys, positions) + found[1] + (bits[0] >> 1) + positions[1];
}

template <class Form, class Key>
void try_batches(std::size_t place, const char* what) {
  form = place;
  where = what;
  nestline::Filter filter(kOptions);
  for (std::uint32_t i = 0; i < kKeys; i += 2) {
    check(insert_two<Form, Key>(filter, i) == 2 && filter.may_contain(expected(i)) &&
              filter.may_contain(expected(i + 1)),
          "insert");
    check(find_two<Form, Key>(filter, i) == 9, "lookups");
  }
}

}  // namespace

void try_filter() {
  form = 0;
  []<class... Form>(FormList<Form...>) { (..., (try_form<Form>(), ++form)); }(Forms());
  try_batches<ViewOfBuffer, std::string_view>(1, "batch of views");
  try_batches<String, std::string>(8, "batch of strings");
  try_batches<Integer, std::uint32_t>(11, "batch of 32-bit integers");
  try_batches<Integer, std::uint64_t>(11, "batch of integers");
}

}  // namespace consumers
