// What the keys of each form hash to. Compiled without optimization, whatever the rest is compiled
// with.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tests/packaging/consumers/forms.h"

namespace consumers {
namespace {

template <class Form>
nestline::Hash hash_of(std::uint32_t i, std::uint64_t seed) {
  const Form made(i);
  if constexpr (std::same_as<Form, Integer>) {
    return nestline::internal::hash_key(std::uint64_t{made.key()}, seed);
  } else if constexpr (requires { std::string_view(made.key()); }) {
    return nestline::internal::hash_key(std::string_view(made.key()), seed);
  } else {
    const std::span<const std::byte> bytes(made.key());
    return nestline::internal::hash_key(
        std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), seed);
  }
}

template <class... Form>
nestline::Hash hash_of_form(FormList<Form...>, std::size_t form, std::uint32_t i,
                            std::uint64_t seed) {
  nestline::Hash (*const hash_of_each[])(std::uint32_t, std::uint64_t) = {hash_of<Form>...};
  return hash_of_each[form](i, seed);
}

}  // namespace

nestline::Hash expected_hash(std::size_t form, std::uint32_t i, std::uint64_t seed) {
  return hash_of_form(Forms(), form, i, seed);
}

}  // namespace consumers
