// Compares the C functions with C++: takes the same random steps on a ConcurrentFilter and on a
// nestline_filter, and on an ExpiringFilter and a nestline_expiring. Both must answer the same each
// time and end with the same bytes. The two are different libraries here: the C functions are those
// of the shared library.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "nestline/concurrent_filter.h"
#include "nestline/expiring_filter.h"
#include "nestline/io.h"
#include "nestline/keys.h"
#include "nestline/nestline.h"
#include "nestline/nestline_expiring.h"
#include "tests/support/keys_of_kinds.h"

namespace nestline::test {
namespace {

// The arguments of a C function for one key of each kind, and for a batch.
auto arguments(std::uint64_t key) { return std::tuple(key); }
auto arguments(Hash key) { return std::tuple(key.value); }
auto arguments(std::string_view key) {
  return std::tuple(static_cast<const void*>(key.data()), key.size());
}

class BatchOfWords {
 public:
  template <typename Key>
  explicit BatchOfWords(std::span<const Key> keys) {
    for (const Key& key : keys) words_.push_back(std::get<0>(arguments(key)));
  }
  [[nodiscard]] auto arguments_() const { return std::tuple(words_.data(), words_.size()); }

 private:
  std::vector<std::uint64_t> words_;
};

class BatchOfBytes {
 public:
  explicit BatchOfBytes(std::span<const std::string_view> keys) {
    for (const std::string_view key : keys) {
      pointers_.push_back(key.data());
      sizes_.push_back(key.size());
    }
  }
  [[nodiscard]] auto arguments_() const {
    return std::tuple(pointers_.data(), sizes_.data(), sizes_.size());
  }

 private:
  std::vector<const void*> pointers_;
  std::vector<std::size_t> sizes_;
};

template <typename Key>
using Batch = std::conditional_t<std::is_same_v<Key, std::string_view>, BatchOfBytes, BatchOfWords>;

// The function for a kind of keys.
template <typename Key, typename Bytes, typename Word>
auto of_kind(Bytes bytes, Word integer, Word hash) {
  if constexpr (std::is_same_v<Key, std::string_view>) {
    return bytes;
  } else {
    return std::is_same_v<Key, Hash> ? hash : integer;
  }
}
#define OF_KIND(name) of_kind<Key>(name##_bytes, name##_u64, name##_hash)

nestline_options c_options(const Options& options) {
  nestline_options given = NESTLINE_OPTIONS_INIT;
  given.capacity = options.capacity;
  given.fpr = options.fpr;
  given.bits = options.bits;
  given.max_capacity = options.max_capacity;
  given.seed = options.seed;
  if (options.load != 0.95) given.load = options.load;  // 0 is the default
  return given;
}

nestline_expiring_options c_options(const ExpiringOptions& options) {
  nestline_expiring_options given = NESTLINE_EXPIRING_OPTIONS_INIT;
  given.capacity = options.capacity;
  given.seed = options.seed;
  given.fpr = options.fpr;
  given.bits = options.bits;
  given.life = options.life;
  if (options.load != 0.9) given.load = options.load;  // 0 is the default
  return given;
}

template <typename Handle>
void expect_bytes(const std::vector<std::byte>& expected, const Handle* filter,
                  void* (*to_bytes)(const Handle*, std::size_t*, const char**)) {
  const char* error = nullptr;
  std::size_t size = 0;
  void* const bytes = to_bytes(filter, &size, &error);
  ASSERT_NE(bytes, nullptr) << error;
  const bool same = expected.size() == size && std::memcmp(expected.data(), bytes, size) == 0;
  nestline_free_bytes(bytes);
  ASSERT_TRUE(same);
}

// 1 or 0 for each key, into the front of `flags`.
void take_stored(const std::vector<Outcome>& outcomes, std::vector<std::uint8_t>& flags) {
  std::transform(outcomes.begin(), outcomes.end(), flags.begin(),
                 [](Outcome each) { return each == Outcome::stored ? 1 : 0; });
}

nestline_outcome c_outcome(Outcome outcome) {
  switch (outcome) {
    case Outcome::stored:
      return NESTLINE_STORED;
    case Outcome::present:
      return NESTLINE_PRESENT;
    case Outcome::full:
      return NESTLINE_FULL;
    case Outcome::copies:
      return NESTLINE_COPIES;
  }
  return NESTLINE_ERROR;
}

// A filter, its twin in C, which `free` frees, and random keys for both.
template <typename Key, typename AnyFilter, typename Handle, auto free>
class Pair {
 public:
  template <typename AnyOptions, typename Create>
  Pair(const AnyOptions& options, Create create, std::span<const Key> keys, std::uint64_t seed)
      : filter_(options), keys_(keys), random_(seed) {
    const auto given = c_options(options);
    twin_ = create(&given, &error_);
    EXPECT_NE(twin_, nullptr) << error_;
  }
  ~Pair() { free(twin_); }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

 protected:
  template <typename Function, typename KeyArguments, typename... More>
  auto call(Function function, const KeyArguments& key, More... more) {
    error_ = "not set";
    return std::apply(function,
                      std::tuple_cat(std::tuple(twin_), key, std::tuple(more..., &error_)));
  }

  Key any_key() { return keys_[random_() % keys_.size()]; }
  // Some of the keys; their number is around the parts in which batches are passed on.
  std::span<const Key> any_keys() {
    constexpr std::array<std::size_t, 9> kLengths = {0, 1, 63, 65, 1000, 1023, 1024, 1025, 2500};
    const std::size_t length = kLengths[random_() % kLengths.size()];
    return keys_.subspan(random_() % (keys_.size() - length), length);
  }

  // Asks for many keys by each of these functions.
  template <typename MayContain, typename Bits, typename Select, typename SelectFrom>
  void ask(std::span<const Key> keys, const Batch<Key>& batch, MayContain may_contain, Bits bits_of,
           Select select, SelectFrom select_from) {
    const std::size_t length = keys.size();
    // The places that must not be written keep the value 7.
    std::vector<std::uint8_t> expected(length + 1, 7);
    std::vector<std::uint8_t> found(length + 1, 7);
    const std::uint64_t total = filter_.may_contain(keys, std::span(expected.data(), length));
    ASSERT_EQ(call(may_contain, batch.arguments_(), found.data()), total);
    ASSERT_EQ(expected, found);

    std::vector<std::uint64_t> expected_bits((length + 63) / 64);
    std::vector<std::uint64_t> bits(expected_bits.size() + 1, 7);
    filter_.may_contain_bits(keys, expected_bits);
    ASSERT_EQ(call(bits_of, batch.arguments_(), bits.data()), total);
    expected_bits.push_back(7);
    ASSERT_EQ(expected_bits, bits);

    std::vector<std::uint32_t> expected_positions(length, 7);
    std::vector<std::uint32_t> positions(length, 7);
    filter_.select(keys, expected_positions);
    ASSERT_EQ(call(select, batch.arguments_(), positions.data()), total);
    ASSERT_EQ(expected_positions, positions);

    if (length == 0) return;
    std::vector<std::uint32_t> selection(1 + random_() % 3000);
    for (auto& i : selection) i = static_cast<std::uint32_t>(random_() % length);
    expected_positions.assign(selection.size(), 7);
    positions.assign(selection.size(), 7);
    const std::uint64_t hits =
        filter_.select(keys, std::span<const std::uint32_t>(selection), expected_positions);
    ASSERT_EQ(
        call(select_from, batch.arguments_(), selection.data(), selection.size(), positions.data()),
        hits);
    ASSERT_EQ(expected_positions, positions);
    // In place.
    ASSERT_EQ(
        call(select_from, batch.arguments_(), selection.data(), selection.size(), selection.data()),
        hits);
    selection.resize(hits);
    positions.resize(hits);
    ASSERT_EQ(selection, positions);
  }

  AnyFilter filter_;
  Handle* twin_ = nullptr;
  std::span<const Key> keys_;
  std::mt19937_64 random_;
  const char* error_ = nullptr;
};

template <typename Key>
class Twins : public Pair<Key, ConcurrentFilter, nestline_filter, nestline_free> {
  using Base = Pair<Key, ConcurrentFilter, nestline_filter, nestline_free>;
  using Base::any_key, Base::any_keys, Base::ask, Base::call;
  using Base::error_, Base::filter_, Base::random_, Base::twin_;

 public:
  Twins(const Options& options, std::span<const Key> keys, std::uint64_t seed)
      : Base(options, nestline_create, keys, seed) {}

  void step() {
    const std::uint64_t what = random_() % 100;
    const Key key = any_key();
    const Key other = any_key();
    if (what < 45) {
      expect(filter_.insert(key), call(OF_KIND(nestline_insert), arguments(key)));
    } else if (what < 55) {
      expect(filter_.insert_unique(key), call(OF_KIND(nestline_insert_unique), arguments(key)));
    } else if (what < 65) {
      expect(filter_.update(key, other),
             call(OF_KIND(nestline_update), std::tuple_cat(arguments(key), arguments(other))));
    } else if (what < 80) {
      ASSERT_EQ(filter_.erase(key), call(OF_KIND(nestline_erase), arguments(key)));
      ASSERT_EQ(error_, nullptr);
    } else {
      const Hash hash = filter_.prepare(key);
      ASSERT_EQ(hash.value, call(OF_KIND(nestline_prepare), arguments(key)));
      ASSERT_EQ(error_, nullptr);
      ASSERT_EQ(filter_.may_contain(hash), call(nestline_may_contain_hash, arguments(hash)));
      ASSERT_EQ(filter_.may_contain(key), call(OF_KIND(nestline_may_contain), arguments(key)));
      ASSERT_EQ(filter_.count(key), call(OF_KIND(nestline_count), arguments(key)));
      ASSERT_EQ(error_, nullptr);
    }
    ASSERT_EQ(filter_.size(), nestline_size(twin_));
  }

  void batch_step() {
    const std::span<const Key> keys = any_keys();
    const Batch<Key> batch(keys);
    std::vector<std::uint8_t> expected(keys.size() + 1, 7);
    std::vector<std::uint8_t> done(keys.size() + 1, 7);
    const std::span<std::uint8_t> expected_out(expected.data(), keys.size());
    if (random_() % 2 == 0) {
      std::vector<Outcome> outcomes(keys.size());
      ASSERT_EQ(filter_.insert(keys, outcomes),
                call(OF_KIND(nestline_insert_batch), batch.arguments_(), done.data()));
      take_stored(outcomes, expected);
    } else {
      ASSERT_EQ(filter_.erase(keys, expected_out),
                call(OF_KIND(nestline_erase_batch), batch.arguments_(), done.data()));
    }
    ASSERT_EQ(expected, done);
    filter_.count(keys, expected_out);
    ASSERT_TRUE(call(OF_KIND(nestline_count_batch), batch.arguments_(), done.data()));
    ASSERT_EQ(expected, done);
    ask(keys, batch, OF_KIND(nestline_may_contain_batch), OF_KIND(nestline_may_contain_bits),
        OF_KIND(nestline_select), OF_KIND(nestline_select_from));
  }

  void grow() { ASSERT_EQ(filter_.grow(), nestline_grow(twin_, &error_)); }
  void clear() {
    filter_.clear();
    ASSERT_TRUE(nestline_clear(twin_, &error_));
  }
  void merge_with_itself() {
    try {
      filter_.merge(filter_);
      ASSERT_TRUE(nestline_merge(twin_, twin_, &error_)) << error_;
    } catch (const std::length_error& error) {
      ASSERT_FALSE(nestline_merge(twin_, twin_, &error_));
      ASSERT_STREQ(error.what(), error_);
    }
  }

  void compare() {
    ASSERT_EQ(filter_.size(), nestline_size(twin_));
    ASSERT_EQ(filter_.capacity(), nestline_capacity(twin_));
    ASSERT_EQ(filter_.max_capacity(), nestline_max_capacity(twin_));
    ASSERT_EQ(filter_.growth(), nestline_growth(twin_));
    ASSERT_EQ(filter_.load_factor(), nestline_load_factor(twin_));
    ASSERT_EQ(filter_.expected_fpr(), nestline_expected_fpr(twin_));
    ASSERT_EQ(filter_.bits(), nestline_bits(twin_));
    ASSERT_EQ(filter_.seed(), nestline_seed(twin_));
    ASSERT_EQ(filter_.slots(), nestline_slots(twin_));
    ASSERT_EQ(filter_.memory_bytes(), nestline_memory_bytes(twin_));
    expect_bytes<nestline_filter>(to_bytes(filter_.snapshot()), twin_, nestline_to_bytes);
  }

 private:
  void expect(Inserted expected, bool stored) const {
    ASSERT_EQ(static_cast<bool>(expected), stored);
    ASSERT_EQ(c_outcome(expected.outcome), nestline_outcome_of(stored, error_));
    const bool failed = expected.outcome == Outcome::full || expected.outcome == Outcome::copies;
    ASSERT_EQ(error_ != nullptr, failed);
  }
};

// The same for expiring filters.
template <typename Key>
class ExpiringTwins : public Pair<Key, ExpiringFilter, nestline_expiring, nestline_expiring_free> {
  using Base = Pair<Key, ExpiringFilter, nestline_expiring, nestline_expiring_free>;
  using Base::any_key, Base::any_keys, Base::ask, Base::call;
  using Base::error_, Base::filter_, Base::random_, Base::twin_;

 public:
  ExpiringTwins(const ExpiringOptions& options, std::span<const Key> keys, std::uint64_t seed)
      : Base(options, nestline_expiring_create, keys, seed) {}

  void step() {
    const Key key = any_key();
    const auto life = static_cast<unsigned>(random_() % 17);
    const bool whole = random_() % 2 == 0;
    const Inserted expected = whole ? filter_.insert(key) : filter_.insert(key, life);
    const bool stored = whole ? call(OF_KIND(nestline_expiring_insert), arguments(key))
                              : call(OF_KIND(nestline_expiring_insert_for), arguments(key), life);
    ASSERT_EQ(c_outcome(expected.outcome), nestline_outcome_of(stored, error_));
    const Key other = any_key();
    ASSERT_EQ(filter_.may_contain(other),
              call(OF_KIND(nestline_expiring_may_contain), arguments(other)));
    ASSERT_EQ(filter_.left(other), call(OF_KIND(nestline_expiring_left), arguments(other)));
    ASSERT_EQ(error_, nullptr);
    if (random_() % 8 != 0) return;
    ASSERT_EQ(filter_.sweep(3), nestline_expiring_sweep(twin_, 3, &error_));
  }

  void batch_step() {
    const std::span<const Key> keys = any_keys();
    const Batch<Key> batch(keys);
    const auto life = static_cast<unsigned>(random_() % 17);
    std::vector<std::uint8_t> expected(keys.size() + 1, 7);
    std::vector<std::uint8_t> done(keys.size() + 1, 7);
    std::vector<Outcome> outcomes(keys.size());
    if (random_() % 2 == 0) {
      ASSERT_EQ(filter_.insert(keys, outcomes),
                call(OF_KIND(nestline_expiring_insert_batch), batch.arguments_(), done.data()));
    } else {
      ASSERT_EQ(
          filter_.insert(keys, life, outcomes),
          call(OF_KIND(nestline_expiring_insert_batch_for), batch.arguments_(), life, done.data()));
    }
    std::transform(outcomes.begin(), outcomes.end(), expected.begin(),
                   [](Outcome each) { return static_cast<std::uint8_t>(c_outcome(each)); });
    ASSERT_EQ(expected, done);
    ask(keys, batch, OF_KIND(nestline_expiring_may_contain_batch),
        OF_KIND(nestline_expiring_may_contain_bits), OF_KIND(nestline_expiring_select),
        OF_KIND(nestline_expiring_select_from));
  }

  void advance() {
    const std::uint64_t ticks = random_() % 100 == 0 ? 20 : random_() % 3;
    filter_.advance(ticks);
    ASSERT_TRUE(nestline_expiring_advance(twin_, ticks, &error_)) << error_;
  }
  void clear() {
    filter_.clear();
    ASSERT_TRUE(nestline_expiring_clear(twin_, &error_)) << error_;
  }

  void compare() {
    ASSERT_EQ(filter_.now(), nestline_expiring_now(twin_));
    ASSERT_EQ(filter_.size(), nestline_expiring_size(twin_));
    ASSERT_EQ(filter_.capacity(), nestline_expiring_capacity(twin_));
    ASSERT_EQ(filter_.life(), nestline_expiring_life(twin_));
    ASSERT_EQ(filter_.bits(), nestline_expiring_bits(twin_));
    ASSERT_EQ(filter_.slots(), nestline_expiring_slots(twin_));
    ASSERT_EQ(filter_.load_factor(), nestline_expiring_load_factor(twin_));
    ASSERT_EQ(filter_.expected_fpr(), nestline_expiring_expected_fpr(twin_));
    ASSERT_EQ(filter_.seed(), nestline_expiring_seed(twin_));
    ASSERT_EQ(filter_.memory_bytes(), nestline_expiring_memory_bytes(twin_));
    std::vector<std::byte> expected;
    save(filter_, [&](std::span<const std::byte> piece) {
      expected.insert(expected.end(), piece.begin(), piece.end());
    });
    expect_bytes<nestline_expiring>(expected, twin_, nestline_expiring_to_bytes);
  }
};

template <typename Key>
class CTwinOfKind : public testing::Test {};
using Kinds = testing::Types<std::uint64_t, Hash, std::string_view>;
TYPED_TEST_SUITE(CTwinOfKind, Kinds);

TYPED_TEST(CTwinOfKind, DoesTheSame) {
  const Keys<TypeParam> keys(8000);
  std::uint64_t seed = 1;
  for (const Options& options :
       {Options{.capacity = 50, .bits = 8, .seed = 9}, Options{.capacity = 4000, .bits = 12},
        Options{.capacity = 1500, .bits = 16, .seed = ~std::uint64_t{0}},
        Options{.capacity = 600, .fpr = 0.01, .max_capacity = 5000},
        Options{.capacity = 3000, .bits = 8, .max_capacity = 6000, .load = 0.6}}) {
    SCOPED_TRACE(seed);
    Twins<TypeParam> twins(options, keys.all(), seed++);
    for (int round = 0; round < 24; ++round) {
      for (int i = 0; i < 200; ++i) {
        twins.step();
        if (this->HasFatalFailure()) return;
      }
      twins.batch_step();
      if (round % 8 == 3) twins.merge_with_itself();
      if (round % 8 == 5) twins.grow();
      if (round % 8 == 7) twins.clear();
      twins.compare();
      if (this->HasFatalFailure()) return;
    }
  }
}

// Fitting, growing, and more than finds room; with copies and without.
TYPED_TEST(CTwinOfKind, BuildsTheSame) {
  using Key = TypeParam;
  const Keys<Key> keys(8000);
  std::vector<Key> copies;
  for (const Key& key : keys.first(100)) copies.insert(copies.end(), 15, key);
  const auto build = OF_KIND(nestline_build);
  for (const Options& options : {Options{.capacity = 8000, .bits = 8, .seed = 9},
                                 Options{.capacity = 600, .fpr = 0.01, .max_capacity = 9000},
                                 Options{.capacity = 1500, .bits = 16, .load = 0.6}}) {
    for (const std::span<const Key> all :
         {keys.all(), keys.first(1000), keys.first(0), std::span<const Key>(copies)}) {
      SCOPED_TRACE(testing::Message() << all.size() << " keys, capacity " << options.capacity);
      const nestline_options given = c_options(options);
      const Batch<Key> batch(all);
      std::vector<std::uint8_t> expected(all.size());
      std::vector<std::uint8_t> stored(all.size() + 1, 7);
      const char* error = "not set";
      const auto build_twin = [&](std::uint8_t* out) {
        return std::apply(
            build, std::tuple_cat(std::tuple(&given), batch.arguments_(), std::tuple(out, &error)));
      };
      std::vector<Outcome> outcomes(all.size());
      const Filter filter = Filter::build(options, all, outcomes);
      take_stored(outcomes, expected);
      nestline_filter* const twin = build_twin(stored.data());
      ASSERT_NE(twin, nullptr) << error;
      EXPECT_EQ(error, nullptr);
      expect_bytes<nestline_filter>(to_bytes(filter), twin, nestline_to_bytes);
      nestline_free(twin);
      expected.push_back(7);
      EXPECT_EQ(expected, stored);

      nestline_filter* const strict = build_twin(nullptr);
      try {
        const Filter whole = Filter::build(options, all);
        ASSERT_NE(strict, nullptr) << error;
        expect_bytes<nestline_filter>(to_bytes(whole), strict, nestline_to_bytes);
      } catch (const std::length_error& refused) {
        EXPECT_EQ(strict, nullptr);
        EXPECT_STREQ(refused.what(), error);
      }
      nestline_free(strict);
    }
  }
}

TYPED_TEST(CTwinOfKind, ExpiresTheSame) {
  const Keys<TypeParam> keys(8000);
  std::uint64_t seed = 1;
  for (const ExpiringOptions& options :
       {ExpiringOptions{.capacity = 50, .bits = 8, .seed = 9},
        ExpiringOptions{.capacity = 4000, .fpr = 0.001, .life = 5},
        ExpiringOptions{.capacity = 2000, .life = 1, .load = 0.6, .seed = 3}}) {
    SCOPED_TRACE(seed);
    ExpiringTwins<TypeParam> twins(options, keys.all(), seed++);
    for (int round = 0; round < 40; ++round) {
      for (int i = 0; i < 100; ++i) {
        twins.step();
        if (this->HasFatalFailure()) return;
      }
      twins.batch_step();
      twins.advance();
      if (round % 16 == 15) twins.clear();
      twins.compare();
      if (this->HasFatalFailure()) return;
    }
  }
}

TEST(CTwin, HashesTheSame) {
  const Keys<std::string_view> texts(100);
  for (const std::string_view key : texts.all()) {
    EXPECT_EQ(hash_key(key, 3).value, nestline_hash_bytes(key.data(), key.size(), 3, nullptr));
  }
  for (std::uint64_t key = 0; key < 100; ++key) {
    EXPECT_EQ(hash_key(key, 3).value, nestline_hash_u64(key, 3));
  }
}

}  // namespace
}  // namespace nestline::test
