// Which types are keys, of which kind and value, in every member of every filter, and which are
// not.
#include "nestline/keys.h"

#include <gtest/gtest.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "nestline/io.h"
#include "nestline/parallel.h"

namespace nestline::test { namespace {

enum Unscoped { unscoped };
enum class Scoped : std::uint64_t { scoped };

template <class AnyFilter, typename T>
concept Asks = requires(const AnyFilter& filter, const T& key) {
  filter.may_contain(key);
  filter.count(key);
  { filter.prepare(key) } -> std::same_as<Hash>;
};
template <class AnyFilter, typename T>
concept Changes = requires(AnyFilter& filter, const T& key) {
  { filter.insert(key) } -> std::same_as<Inserted>;
  { filter.insert_unique(key) } -> std::same_as<Inserted>;
  { filter.update(key, key) } -> std::same_as<Inserted>;
  { filter.erase(key) } -> std::same_as<bool>;
};
// No member takes it.
template <class AnyFilter, typename T>
constexpr bool kRefuses = !requires(AnyFilter & filter, const T& key) {
  filter.insert(key);
}
&&!requires(AnyFilter & filter, const T& key) { filter.insert_unique(key); }
&&!requires(AnyFilter & filter, const T& key) { filter.update(key, key); }
&&!requires(AnyFilter & filter, const T& key) { filter.erase(key); }
&&!requires(const AnyFilter& filter, const T& key) { filter.may_contain(key); }
&&!requires(const AnyFilter& filter, const T& key) { filter.count(key); }
&&!requires(const AnyFilter& filter, const T& key) { filter.prepare(key); };

template <typename... T>
struct Types {};

template <typename... T>
constexpr bool all_are_keys(Types<T...>) {
  return ((Asks<Filter, T> && Changes<Filter, T> && Asks<ConcurrentFilter, T> &&
           Changes<ConcurrentFilter, T> && Asks<MappedFilter, T> &&
           requires(const T& key) { hash_key(key, 1); }) &&
          ...);
}
template <typename... T>
constexpr bool all_are_refused(Types<T...>) {
  return ((kRefuses<Filter, T> && kRefuses<ConcurrentFilter, T> && kRefuses<MappedFilter, T> &&
           !requires(const T& key) { hash_key(key, 1); }) &&
          ...);
}

static_assert(all_are_keys(
    Types<signed char, unsigned char, short, unsigned short, int, unsigned, long, unsigned long,
          long long, unsigned long long, std::size_t, std::ptrdiff_t, Hash, std::string,
          std::string_view, const char*, char*, char[4], std::span<const std::byte>,
          std::span<std::byte>, std::vector<std::byte>, std::array<std::byte, 3>, std::byte[3]>()));
static_assert(all_are_refused(
    Types<bool, char, wchar_t, char8_t, char16_t, char32_t, float, double, long double, Unscoped,
          Scoped, std::byte, std::nullptr_t, void*, const void*, int*, const std::uint64_t*,
          const unsigned char*, const char8_t*, const wchar_t*, std::string*, std::u8string>()));

// Vectors of these are batches, those of the others are not.
template <typename... T>
constexpr bool all_are_batches(Types<T...>) {
  return ((std::is_convertible_v<std::vector<T>, KeySpan> &&
           std::is_convertible_v<std::span<T>, KeySpan> &&
           std::is_convertible_v<std::span<const T, 4>, KeySpan> &&
           std::is_convertible_v<T(&)[3], KeySpan>)&&...);
}
static_assert(all_are_batches(Types<int, unsigned, long, unsigned long, long long,
                                    unsigned long long, Hash, std::string, std::string_view>()));
template <typename... T>
constexpr bool none_is_a_batch(Types<T...>) {
  return (!std::is_convertible_v<std::span<const T>, KeySpan> && ...);
}
static_assert(none_is_a_batch(Types<bool, char, unsigned char, short, char32_t, wchar_t, float,
                                    double, Scoped, std::byte, const char*>()));

// The words that a key becomes.
std::uint64_t number(Key key) {
  return key.visit([](auto one) -> std::uint64_t {
    if constexpr (std::is_same_v<decltype(one), std::uint64_t>) return one;
    ADD_FAILURE() << "this is no integer";
    return 0;
  });
}

TEST(Keys, AreIntegersByValue) {
  EXPECT_EQ(number(7), 7u);
  EXPECT_EQ(number(std::uint8_t{200}), 200u);
  EXPECT_EQ(number(std::uint16_t{65535}), 65535u);
  for (const std::uint64_t minus_one :
       {number(std::int8_t{-1}), number(std::int16_t{-1}), number(-1), number(-1L), number(-1LL)}) {
    EXPECT_EQ(minus_one, ~std::uint64_t{0});
  }
  EXPECT_EQ(number(~std::uint64_t{0}), ~std::uint64_t{0});
  EXPECT_EQ(number(std::uint32_t{0xffffffff}), 0xffffffffu);
  EXPECT_EQ(number(std::numeric_limits<std::int32_t>::min()), 0xffffffff80000000u);
  EXPECT_EQ(number(std::numeric_limits<std::int64_t>::min()), std::uint64_t{1} << 63);
}

template <class AnyFilter>
class KeysOfFilter : public testing::Test {
 protected:
  AnyFilter filter_{Options{.capacity = 10'000, .bits = 16, .seed = 3}};
};
using Filters = testing::Types<Filter, ConcurrentFilter>;
TYPED_TEST_SUITE(KeysOfFilter, Filters);

TYPED_TEST(KeysOfFilter, IntegersOfOneValueAreOneKey) {
  auto& filter = this->filter_;
  EXPECT_TRUE(filter.insert(-1));
  EXPECT_TRUE(filter.may_contain(std::int8_t{-1}));
  EXPECT_TRUE(filter.may_contain(std::int64_t{-1}));
  EXPECT_TRUE(filter.may_contain(~std::uint64_t{0}));
  EXPECT_FALSE(filter.may_contain(0xffffffffu));
  EXPECT_EQ(filter.insert_unique(-1LL).outcome, Outcome::present);
  EXPECT_EQ(filter.count(std::int16_t{-1}), 1u);
  EXPECT_EQ(hash_key(-1, 3).value, hash_key(~std::uint64_t{0}, 3).value);
  EXPECT_TRUE(filter.may_contain(hash_key(-1, filter.seed())));
  EXPECT_TRUE(filter.update(std::int64_t{-1}, std::uint8_t{5}));
  EXPECT_FALSE(filter.may_contain(-1));
  EXPECT_TRUE(filter.erase(5L));
  EXPECT_EQ(filter.size(), 0u);
}

// A key that a function makes for one call, as users do.
struct Flow {
  std::uint32_t from, to, port, protocol;
};
template <class AnyFilter>
[[gnu::noinline]] bool insert_flow(AnyFilter& filter, std::uint32_t i) {
  const Flow flow{i, ~i, 80, 6};
  return static_cast<bool>(filter.insert(std::as_bytes(std::span(&flow, 1))));
}
template <class AnyFilter>
[[gnu::noinline]] bool may_contain_flow(const AnyFilter& filter, std::uint32_t i) {
  const Flow flow{i, ~i, 80, 6};
  return filter.may_contain(std::as_bytes(std::span(&flow, 1)));
}
[[gnu::noinline]] Hash hash_of_flow(std::uint32_t i) {
  const Flow flow{i, ~i, 80, 6};
  return hash_key(std::as_bytes(std::span(&flow, 1)), 3);
}

// tests/packaging/consumers has all forms and classes, for other compilers and flags.
TYPED_TEST(KeysOfFilter, AreFoundWhenTheyWereLocalVariables) {
  auto& filter = this->filter_;
  static Flow kept;  // everybody may read it
  for (std::uint32_t i = 0; i < 100; ++i) {
    kept = {i, ~i, 80, 6};
    const Hash hash =
        internal::hash_key(std::string_view(reinterpret_cast<const char*>(&kept), sizeof(kept)), 3);
    ASSERT_TRUE(insert_flow(filter, i));
    ASSERT_TRUE(filter.may_contain(hash));
    ASSERT_TRUE(may_contain_flow(filter, i));
    ASSERT_EQ(hash_of_flow(i).value, hash.value);
  }
}

TYPED_TEST(KeysOfFilter, StringsOfTheSameBytesAreOneKey) {
  auto& filter = this->filter_;
  const std::string text = "some bytes";
  const auto bytes = std::as_bytes(std::span(text));
  EXPECT_TRUE(filter.insert(bytes));
  EXPECT_TRUE(filter.may_contain("some bytes"));
  EXPECT_TRUE(filter.may_contain(text));
  EXPECT_TRUE(filter.may_contain(text.c_str()));
  EXPECT_TRUE(filter.may_contain(std::string_view(text)));
  EXPECT_TRUE(filter.may_contain(std::vector<std::byte>(bytes.begin(), bytes.end())));
  EXPECT_EQ(filter.insert_unique(text).outcome, Outcome::present);
  EXPECT_EQ(filter.count(text.data()), 1u);
  EXPECT_EQ(hash_key(text, 3).value, hash_key(bytes, 3).value);
  EXPECT_TRUE(filter.may_contain(hash_key(text, filter.seed())));
  EXPECT_TRUE(filter.update(text, bytes.first(4)));
  EXPECT_TRUE(filter.may_contain("some"));
  // NUL is a byte like any other where the length is given.
  EXPECT_TRUE(filter.insert(std::string_view("a\0b", 3)));
  EXPECT_FALSE(filter.may_contain("a"));
  EXPECT_TRUE(filter.erase("some"));
  EXPECT_EQ(filter.size(), 1u);
}

TYPED_TEST(KeysOfFilter, KindsNeverMeet) {
  auto& filter = this->filter_;
  EXPECT_TRUE(filter.insert(7));
  EXPECT_FALSE(filter.may_contain("7"));
  EXPECT_FALSE(filter.may_contain(std::string_view("\7\0\0\0\0\0\0\0", 8)));
  EXPECT_FALSE(filter.may_contain(Hash{7}));
  EXPECT_EQ(hash_key(Hash{7}, 3).value, 7u);
  // One kind may take the place of another.
  EXPECT_TRUE(filter.update(7, "seven"));
  EXPECT_FALSE(filter.may_contain(7));
  EXPECT_TRUE(filter.update("seven", Hash{0x123456789abcdef0u}));
  EXPECT_FALSE(filter.may_contain(0x123456789abcdef0u));
  EXPECT_TRUE(filter.erase(Hash{0x123456789abcdef0u}));
}

// More than a chunk of keys of type T, every batch against the single keys.
template <class AnyFilter, typename T>
void expect_batch_is_its_keys(const std::vector<T>& keys) {
  AnyFilter filter({.capacity = keys.size(), .bits = 12, .seed = 3});
  std::vector<std::uint8_t> bytes(keys.size());
  std::vector<Outcome> outcomes(keys.size());
  ASSERT_EQ(filter.insert(keys, outcomes), keys.size());
  EXPECT_EQ(filter.insert_unique(keys, outcomes), 0u);
  EXPECT_EQ(outcomes, std::vector<Outcome>(keys.size(), Outcome::present));
  for (const T& key : keys) ASSERT_TRUE(filter.may_contain(key));
  EXPECT_EQ(filter.may_contain(keys, bytes), keys.size());
  std::vector<std::uint32_t> some = {3, 0, static_cast<std::uint32_t>(keys.size() - 1), 3};
  std::vector<std::uint32_t> positions(some.size());
  EXPECT_EQ(filter.select(keys, some, positions), some.size());
  EXPECT_EQ(positions, some);
  const KeySpan span(keys);
  EXPECT_EQ(filter.erase(span.subspan(1, keys.size() - 1)), keys.size() - 1);
  EXPECT_TRUE(filter.erase(keys.front()));
  EXPECT_EQ(filter.size(), 0u);

  const Filter built = parallel::build({.capacity = keys.size(), .bits = 12, .seed = 3}, keys);
  for (const T& key : keys) ASSERT_TRUE(built.may_contain(key));
}

template <class AnyFilter, typename T>
void expect_batch_of_integers() {
  std::vector<T> keys;
  for (std::int64_t i = -2500; i < 2500; ++i) keys.push_back(static_cast<T>(i * 400'009));
  expect_batch_is_its_keys<AnyFilter>(keys);
}

TYPED_TEST(KeysOfFilter, BatchesMeanWhatTheirKeysMean) {
  expect_batch_of_integers<TypeParam, std::int32_t>();
  expect_batch_of_integers<TypeParam, std::uint32_t>();
  expect_batch_of_integers<TypeParam, std::int64_t>();
  expect_batch_of_integers<TypeParam, std::uint64_t>();
  expect_batch_of_integers<TypeParam, long long>();
  expect_batch_of_integers<TypeParam, unsigned long long>();
  std::vector<std::string> texts;
  for (int i = 0; i < 5000; ++i) texts.push_back("key " + std::to_string(i));
  expect_batch_is_its_keys<TypeParam>(texts);
}

}  // namespace
}  // namespace nestline::test
