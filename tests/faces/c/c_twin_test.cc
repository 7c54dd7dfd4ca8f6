// Compares the C functions with C++: takes the same random steps on a ConcurrentFilter and on a
// nestline_filter, on an ExpiringFilter and its twin, and on a Maplet and a nestline_maplet. Both
// must answer the same each time and end with the same bytes. The two are different libraries here:
// the C functions are those of the shared library.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "nestline/concurrent_filter.h"
#include "nestline/expiring_filter.h"
#include "nestline/io.h"
#include "nestline/keys.h"
#include "nestline/maplet.h"
#include "nestline/nestline.h"
#include "tests/support/keys_of_kinds.h"

namespace nestline::test { namespace {

// The arguments of a C function for one key of each kind, and for a batch.
auto arguments(std::uint64_t key) { return std::tuple(key); }
auto arguments(Hash key) { return std::tuple(key.value); }
auto arguments(std::string_view key) {
  return std::tuple(static_cast<const void*>(key.data()), key.size());
}

// The keys of a batch for C, strings in one of the three forms in which they may lie.
template <typename Key>
struct Batch {
  Batch(std::span<const Key> all, std::uint64_t form) {
    if constexpr (std::is_same_v<Key, Hash>) {
      keys = nestline_keys_hash(reinterpret_cast<const std::uint64_t*>(all.data()), all.size());
    } else if constexpr (std::is_same_v<Key, std::uint64_t>) {
      keys = nestline_keys_u64(all.data(), all.size());
    } else {
      for (const Key& key : all) {
        pointers.push_back(key.data());
        sizes.push_back(key.size());
        buffer += key;
        offsets32.push_back(static_cast<std::int32_t>(buffer.size()));
        offsets64.push_back(static_cast<std::int64_t>(buffer.size()));
      }
      const std::array<nestline_keys, 3> forms = {
          nestline_keys_bytes(pointers.data(), sizes.data(), all.size()),
          nestline_keys_offsets32(buffer.data(), buffer.size(), offsets32.data(), all.size()),
          nestline_keys_offsets64(buffer.data(), buffer.size(), offsets64.data(), all.size())};
      keys = forms[form % forms.size()];
    }
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  nestline_keys keys;
  std::vector<const void*> pointers;
  std::vector<std::size_t> sizes;
  std::string buffer;
  std::vector<std::int32_t> offsets32 = {0};
  std::vector<std::int64_t> offsets64 = {0};
};

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
  given.turns_over = options.turns_over ? 1 : 0;
  if (options.load != 0.95) given.load = options.load;  // 0 is the default
  return given;
}

void* bytes_of(const nestline_filter* filter, std::size_t* size, const char** error) {
  return nestline_to_bytes(filter, size, error);
}
void* bytes_of(const nestline_maplet* maplet, std::size_t* size, const char** error) {
  return nestline_maplet_to_bytes(maplet, size, error);
}

template <typename Handle>
void expect_bytes(const std::vector<std::byte>& expected, const Handle* handle) {
  const char* error = nullptr;
  std::size_t size = 0;
  void* const bytes = bytes_of(handle, &size, &error);
  ASSERT_NE(bytes, nullptr) << error;
  const bool same = expected.size() == size && std::memcmp(expected.data(), bytes, size) == 0;
  nestline_free_bytes(bytes);
  ASSERT_TRUE(same);
}

nestline_filter* create(const Options& options, const char** error) {
  const nestline_options given = c_options(options);
  return nestline_create(&given, error);
}
nestline_filter* create(const ExpiringOptions& options, const char** error) {
  nestline_expiring_options given = NESTLINE_EXPIRING_OPTIONS_INIT;
  given.capacity = options.capacity;
  given.seed = options.seed;
  given.fpr = options.fpr;
  given.bits = options.bits;
  given.ttl_ticks = options.ttl_ticks;
  if (options.load != 0.9) given.load = options.load;  // 0 is the default
  return nestline_expiring_create(&given, error);
}

// A filter, its twin in C, and random keys for both.
template <typename Key, typename AnyFilter>
class Twins {
  static constexpr bool kExpires = std::is_same_v<AnyFilter, ExpiringFilter>;

 public:
  template <typename AnyOptions>
  Twins(const AnyOptions& options, std::span<const Key> keys, std::uint64_t seed)
      : filter_(options), twin_(create(options, &error_)), keys_(keys), random_(seed) {
    EXPECT_NE(twin_, nullptr) << error_;
  }
  ~Twins() { nestline_free(twin_); }
  Twins(const Twins&) = delete;
  Twins& operator=(const Twins&) = delete;

  // A random call on a random key, and lookups.
  void step() {
    const std::uint64_t what = random_() % 100;
    const Key key = any_key();
    const Key other = any_key();
    if (what < 45) {
      expect(filter_.insert(key), call(OF_KIND(nestline_insert), arguments(key)));
    } else if constexpr (kExpires) {
      const auto life = static_cast<unsigned>(random_() % 17);
      expect(filter_.insert(key, life),
             call(OF_KIND(nestline_expiring_insert_for), arguments(key), life));
      ASSERT_EQ(filter_.remaining_ticks(other),
                call(OF_KIND(nestline_expiring_remaining_ticks), arguments(other)));
      if (what < 55) {
        ASSERT_EQ(filter_.sweep(3), nestline_expiring_sweep(twin_, 3, &error_));
      }
    } else if (what < 55) {
      expect(filter_.insert_unique(key), call(OF_KIND(nestline_insert_unique), arguments(key)));
    } else if (what < 65) {
      expect(filter_.update(key, other),
             call(OF_KIND(nestline_update), std::tuple_cat(arguments(key), arguments(other))));
    } else {
      ASSERT_EQ(filter_.erase(key), call(OF_KIND(nestline_erase), arguments(key)));
      ASSERT_EQ(filter_.count(key), call(OF_KIND(nestline_count), arguments(key)));
      ASSERT_EQ(error_, nullptr);
    }
    const Hash hash = filter_.prepare(other);
    ASSERT_EQ(hash.value, call(OF_KIND(nestline_prepare), arguments(other)));
    ASSERT_EQ(filter_.may_contain(hash), call(nestline_may_contain_hash, arguments(hash)));
    ASSERT_EQ(filter_.may_contain(other), call(OF_KIND(nestline_may_contain), arguments(other)));
    ASSERT_EQ(error_, nullptr);
    ASSERT_EQ(filter_.size(), nestline_size(twin_));
  }

  void batch_step() {
    const std::span<const Key> keys = any_keys();
    const Batch<Key> own(keys, random_());
    const nestline_keys& batch = own.keys;
    const std::uint64_t what = random_() % 4;
    const auto life = static_cast<unsigned>(random_() % 17);
    same_answers<Outcome>(keys.size(), [&](std::span<Outcome> expected, std::uint8_t* done) {
      if (what < 2) {
        const std::size_t count = filter_.insert(keys, expected);
        ASSERT_EQ(nestline_insert_batch(twin_, batch, done, &error_), count);
      } else if constexpr (kExpires) {
        const std::size_t count = filter_.insert(keys, life, expected);
        ASSERT_EQ(nestline_expiring_insert_for_batch(twin_, batch, life, done, &error_), count);
      } else {
        const std::size_t count = filter_.insert_unique(keys, expected);
        ASSERT_EQ(nestline_insert_unique_batch(twin_, batch, done, &error_), count);
      }
    });
    same_answers<std::uint8_t>(keys.size(), [&](std::span<std::uint8_t> expected, auto* answers) {
      if constexpr (kExpires) {
        filter_.remaining_ticks(keys, expected);
        ASSERT_TRUE(nestline_expiring_remaining_ticks_batch(twin_, batch, answers, &error_));
      } else if (what == 1) {
        const std::size_t count = filter_.erase(keys, expected);
        ASSERT_EQ(nestline_erase_batch(twin_, batch, answers, &error_), count);
      } else {
        filter_.count(keys, expected);
        ASSERT_TRUE(nestline_count_batch(twin_, batch, answers, &error_));
      }
    });
    ask(keys, batch);
  }

  // The filter as a whole, in the round with this number.
  void change_whole(int round) {
    if (round % 16 == 15) {
      filter_.clear();
      ASSERT_TRUE(nestline_clear(twin_, &error_)) << error_;
    }
    if constexpr (kExpires) {
      const std::uint64_t ticks = random_() % 100 == 0 ? 20 : random_() % 3;
      filter_.advance(ticks);
      ASSERT_TRUE(nestline_expiring_advance(twin_, ticks, &error_)) << error_;
    } else {
      if (round % 8 == 3) merge_with_itself();
      if (round % 8 == 5) {
        ASSERT_EQ(filter_.grow(), nestline_grow(twin_, &error_));
      }
      if (round % 8 == 6) {
        ASSERT_EQ(filter_.can_shrink(), nestline_can_shrink(twin_));
        ASSERT_EQ(filter_.shrink(), nestline_shrink(twin_, &error_));
      }
    }
  }

  void compare() {
    ASSERT_EQ(filter_.size(), nestline_size(twin_));
    ASSERT_EQ(filter_.capacity(), nestline_capacity(twin_));
    ASSERT_EQ(filter_.load_factor(), nestline_load_factor(twin_));
    ASSERT_EQ(filter_.expected_fpr(), nestline_expected_fpr(twin_));
    ASSERT_EQ(filter_.bits(), nestline_bits(twin_));
    ASSERT_EQ(filter_.seed(), nestline_seed(twin_));
    ASSERT_EQ(filter_.slots(), nestline_slots(twin_));
    ASSERT_EQ(filter_.memory_bytes(), nestline_memory_bytes(twin_));
    if constexpr (kExpires) {
      ASSERT_EQ(filter_.now(), nestline_expiring_now(twin_));
      ASSERT_EQ(filter_.ttl_ticks(), nestline_expiring_ttl_ticks(twin_));
    } else {
      ASSERT_EQ(filter_.max_capacity(), nestline_max_capacity(twin_));
      ASSERT_EQ(filter_.growth(), nestline_growth(twin_));
      ASSERT_EQ(filter_.turns_over(), nestline_turns_over(twin_));
    }
    expect_bytes(to_bytes(filter_), twin_);
  }

 private:
  template <typename Function, typename KeyArguments, typename... More>
  auto call(Function function, const KeyArguments& key, More... more) {
    error_ = "not set";
    return std::apply(function,
                      std::tuple_cat(std::tuple(twin_), key, std::tuple(more..., &error_)));
  }

  void expect(Inserted expected, bool stored) const {
    ASSERT_EQ(static_cast<bool>(expected), stored);
    ASSERT_EQ(static_cast<int>(expected.outcome), nestline_outcome_of(stored, error_));
    const bool failed =
        expected.outcome == Outcome::full || expected.outcome == Outcome::too_many_copies;
    ASSERT_EQ(error_ != nullptr, failed);
  }

  Key any_key() { return keys_[random_() % keys_.size()]; }
  // Some of the keys; their number is around the parts in which batches are passed on.
  std::span<const Key> any_keys() {
    constexpr std::array<std::size_t, 9> kLengths = {0, 1, 63, 65, 1000, 1023, 1024, 1025, 2500};
    const std::size_t length = kLengths[random_() % kLengths.size()];
    return keys_.subspan(random_() % (keys_.size() - length), length);
  }

  // Calls both(out, c_out) with room for an answer to each of the keys; the places that must not be
  // written keep the value 7.
  template <typename Element, typename Both>
  static void same_answers(std::size_t length, Both&& both) {
    std::vector<Element> expected(length, Element{7});
    std::vector<std::uint8_t> found(length + 1, 7);
    ASSERT_NO_FATAL_FAILURE(both(std::span(expected), found.data()));
    for (std::size_t i = 0; i < length; ++i)
      ASSERT_EQ(static_cast<unsigned>(expected[i]), found[i]);
    ASSERT_EQ(found.back(), 7);
  }

  // Asks for many keys in every way.
  void ask(std::span<const Key> keys, const nestline_keys& batch) {
    const std::size_t length = keys.size();
    std::uint64_t total = 0;
    same_answers<std::uint8_t>(length, [&](std::span<std::uint8_t> expected, std::uint8_t* found) {
      total = filter_.may_contain(keys, expected);
      ASSERT_EQ(nestline_may_contain_batch(twin_, batch, found, &error_), total);
    });

    std::vector<std::uint64_t> expected_bits((length + 63) / 64);
    std::vector<std::uint64_t> bits(expected_bits.size() + 1, 7);
    filter_.may_contain_bits(keys, expected_bits);
    ASSERT_EQ(nestline_may_contain_bits(twin_, batch, bits.data(), &error_), total);
    expected_bits.push_back(7);
    ASSERT_EQ(expected_bits, bits);

    std::vector<std::uint32_t> expected_positions(length, 7);
    std::vector<std::uint32_t> positions(length, 7);
    filter_.select(keys, expected_positions);
    ASSERT_EQ(nestline_select(twin_, batch, positions.data(), &error_), total);
    ASSERT_EQ(expected_positions, positions);

    if (length == 0) return;
    std::vector<std::uint32_t> selection(1 + random_() % 3000);
    for (auto& i : selection) i = static_cast<std::uint32_t>(random_() % length);
    expected_positions.assign(selection.size(), 7);
    positions.assign(selection.size(), 7);
    const std::uint64_t hits =
        filter_.select(keys, std::span<const std::uint32_t>(selection), expected_positions);
    const auto select_from = [&](std::vector<std::uint32_t>& to) {
      return nestline_select_from(twin_, batch, selection.data(), selection.size(), to.data(),
                                  &error_);
    };
    ASSERT_EQ(select_from(positions), hits);
    ASSERT_EQ(expected_positions, positions);
    ASSERT_EQ(select_from(selection), hits);  // in place
    selection.resize(hits);
    positions.resize(hits);
    ASSERT_EQ(selection, positions);
  }

  void merge_with_itself() {
    const std::uint64_t how = random_() % 3;
    std::uint64_t left_out = 0;
    const auto merge_twin = [&] {
      return nestline_merge(twin_, twin_, static_cast<nestline_copies>(how), &left_out, &error_);
    };
    try {
      const std::uint64_t expected = filter_.merge(filter_, static_cast<Copies>(how));
      ASSERT_TRUE(merge_twin()) << error_;
      ASSERT_EQ(expected, left_out);
    } catch (const std::length_error& error) {
      ASSERT_FALSE(merge_twin());
      ASSERT_STREQ(error.what(), error_);
    }
  }

  const char* error_ = nullptr;
  AnyFilter filter_;
  nestline_filter* twin_;
  std::span<const Key> keys_;
  std::mt19937_64 random_;
};

template <class AnyTwins, typename... Arguments>
void play(const Arguments&... arguments) {
  AnyTwins twins(arguments...);
  for (int round = 0; round < 32; ++round) {
    for (int i = 0; i < 150; ++i) ASSERT_NO_FATAL_FAILURE(twins.step());
    ASSERT_NO_FATAL_FAILURE(twins.batch_step());
    ASSERT_NO_FATAL_FAILURE(twins.change_whole(round));
    ASSERT_NO_FATAL_FAILURE(twins.compare());
  }
}

// A maplet, its twin in C, and random pairs of few keys and few values for both.
template <typename Key>
class MapletTwins {
 public:
  MapletTwins(const MapletOptions& options, std::span<const Key> keys, std::uint64_t seed)
      : maplet_(options), keys_(keys), random_(seed) {
    const std::span<const Key> first = keys.first(options.capacity / 2);
    const std::vector<std::uint64_t> values = any_values(first.size());
    nestline_maplet_options given = NESTLINE_MAPLET_OPTIONS_INIT;
    given.capacity = options.capacity;
    given.max_capacity = options.max_capacity;
    given.seed = options.seed;
    given.fpr = options.fpr;
    if (options.value_bits != 40) given.value_bits = options.value_bits;  // 0 is the default
    const Batch<Key> batch(first, seed);
    maplet_ = Maplet::build(options, first, values);
    twin_ = nestline_maplet_build(&given, batch.keys, values.data(), &error_);
    EXPECT_NE(twin_, nullptr) << error_;
  }
  ~MapletTwins() { nestline_maplet_free(twin_); }
  MapletTwins(const MapletTwins&) = delete;
  MapletTwins& operator=(const MapletTwins&) = delete;

  void step() {
    const Key key = keys_[random_() % keys_.size()];
    const std::uint64_t value = any_value();
    const std::uint64_t other = any_value();
    const std::uint64_t what = random_() % 4;
    if (what < 2) {
      const Inserted expected = maplet_.insert(key, value);
      const bool stored = call(OF_KIND(nestline_maplet_insert), key, value);
      ASSERT_EQ(static_cast<int>(expected.outcome), nestline_outcome_of(stored, error_));
    } else if (what == 2) {
      ASSERT_EQ(maplet_.replace(key, value, other),
                call(OF_KIND(nestline_maplet_replace), key, value, other));
    } else {
      ASSERT_EQ(maplet_.erase(key, value), call(OF_KIND(nestline_maplet_erase), key, value));
    }
    std::array<std::uint64_t, Maplet::kMaxCandidates> expected{}, found{};
    const std::size_t count = maplet_.find(key, expected);
    ASSERT_EQ(count, call(OF_KIND(nestline_maplet_find), key, found.data()));
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(expected[i], found[i]);
    ASSERT_EQ(maplet_.find_set(key, other), call(OF_KIND(nestline_maplet_find_set), key, other));
    ASSERT_EQ(error_, nullptr);
  }

  void batch_step() {
    const std::span<const Key> keys = keys_.subspan(random_() % 100, random_() % 2500);
    const std::vector<std::uint64_t> values = any_values(keys.size());
    const Batch<Key> batch(keys, random_());
    if (random_() % 4 == 0) {
      std::vector<Outcome> outcomes(keys.size());
      std::vector<std::uint8_t> done(keys.size());
      const std::size_t count = maplet_.insert(keys, values, outcomes);
      ASSERT_EQ(count, nestline_maplet_insert_batch(twin_, batch.keys, values.data(), done.data(),
                                                    &error_));
      for (std::size_t i = 0; i < keys.size(); ++i) {
        ASSERT_EQ(static_cast<std::uint8_t>(outcomes[i]), done[i]);
      }
    }
    std::vector<std::uint64_t> expected(keys.size()), sets(keys.size() + 1, 7);
    const std::uint64_t anywhere = random_();
    maplet_.find_sets(keys, expected, anywhere);
    ASSERT_TRUE(nestline_maplet_find_sets(twin_, batch.keys, sets.data(), anywhere, &error_));
    expected.push_back(7);
    ASSERT_EQ(expected, sets);
  }

  // The values of all pairs, in the round with this number.
  void change_whole(int round) {
    const std::uint64_t value = any_value();
    if (round % 4 == 0) {
      ASSERT_EQ(maplet_.erase_value(value), nestline_maplet_erase_value(twin_, value, &error_));
    } else if (round % 4 == 1) {
      std::vector<std::uint64_t> table = any_values(random_() % 14);
      for (std::uint64_t& to : table) {
        if (random_() % 8 == 0) to = Maplet::kErased;
      }
      ASSERT_EQ(maplet_.rename(table),
                nestline_maplet_rename(twin_, table.data(), table.size(), &error_));
    } else if (round % 4 == 2) {
      refuse([&] { maplet_.merge(maplet_); },
             [&] { return nestline_maplet_merge(twin_, twin_, &error_); });
    }
    const std::uint64_t above = maplet_.max_value() + 1;
    refuse([&] { (void)maplet_.insert(keys_[0], above); },
           [&] { return call(OF_KIND(nestline_maplet_insert), keys_[0], above); });
    ASSERT_EQ(maplet_.size(), nestline_maplet_size(twin_));
    ASSERT_EQ(maplet_.capacity(), nestline_maplet_capacity(twin_));
    ASSERT_EQ(maplet_.max_capacity(), nestline_maplet_max_capacity(twin_));
    ASSERT_EQ(maplet_.growth(), nestline_maplet_growth(twin_));
    ASSERT_EQ(maplet_.value_bits(), nestline_maplet_value_bits(twin_));
    ASSERT_EQ(maplet_.bits(), nestline_maplet_bits(twin_));
    ASSERT_EQ(maplet_.max_copies(), nestline_maplet_max_copies(twin_));
    ASSERT_EQ(maplet_.expected_false_candidates(),
              nestline_maplet_expected_false_candidates(twin_));
    expect_bytes(to_bytes(maplet_), twin_);
  }

 private:
  template <typename Function, typename... More>
  auto call(Function function, const Key& key, More... more) {
    error_ = "not set";
    return std::apply(
        function, std::tuple_cat(std::tuple(twin_), arguments(key), std::tuple(more..., &error_)));
  }

  // Both work, or both refuse with the same sentence.
  void refuse(auto&& work, auto&& work_of_twin) {
    try {
      work();
      ASSERT_TRUE(work_of_twin()) << error_;
    } catch (const std::logic_error& error) {
      ASSERT_FALSE(work_of_twin());
      ASSERT_STREQ(error.what(), error_);
    }
  }

  std::uint64_t any_value() {
    const std::uint64_t value = random_() % 12;
    return value == 11 ? maplet_.max_value() : value;
  }
  std::vector<std::uint64_t> any_values(std::size_t count) {
    std::vector<std::uint64_t> values(count);
    for (std::uint64_t& value : values) value = any_value();
    return values;
  }

  const char* error_ = nullptr;
  Maplet maplet_;
  nestline_maplet* twin_ = nullptr;
  std::span<const Key> keys_;
  std::mt19937_64 random_;
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
        Options{.capacity = 3800, .bits = 8, .turns_over = true},
        Options{.capacity = 3000, .bits = 8, .max_capacity = 6000, .load = 0.6}}) {
    SCOPED_TRACE(seed);
    play<Twins<TypeParam, ConcurrentFilter>>(options, keys.all(), seed++);
    if (this->HasFatalFailure()) return;
  }
}

// Fitting, growing, and more than finds room; with copies and without.
TYPED_TEST(CTwinOfKind, BuildsTheSame) {
  using Key = TypeParam;
  const Keys<Key> keys(8000);
  std::vector<Key> copies;
  for (const Key& key : keys.first(100)) copies.insert(copies.end(), 15, key);
  for (const Options& options : {Options{.capacity = 8000, .bits = 8, .seed = 9},
                                 Options{.capacity = 600, .fpr = 0.01, .max_capacity = 9000},
                                 Options{.capacity = 8000, .bits = 12, .turns_over = true},
                                 Options{.capacity = 1500, .bits = 16, .load = 0.6}}) {
    for (const std::span<const Key> all :
         {keys.all(), keys.first(1000), keys.first(0), std::span<const Key>(copies)}) {
      SCOPED_TRACE(testing::Message() << all.size() << " keys, capacity " << options.capacity);
      const nestline_options given = c_options(options);
      const Batch<Key> batch(all, all.size());
      std::vector<Outcome> expected(all.size());
      std::vector<std::uint8_t> outcomes(all.size() + 1, 7);
      const char* error = "not set";
      const Filter filter = Filter::build(options, all, expected);
      nestline_filter* const twin = nestline_build(&given, batch.keys, outcomes.data(), &error);
      ASSERT_NE(twin, nullptr) << error;
      EXPECT_EQ(error, nullptr);
      expect_bytes(to_bytes(filter), twin);
      nestline_free(twin);
      expected.push_back(Outcome{7});
      EXPECT_EQ(std::memcmp(expected.data(), outcomes.data(), outcomes.size()), 0);

      nestline_filter* const strict = nestline_build(&given, batch.keys, nullptr, &error);
      try {
        const Filter whole = Filter::build(options, all);
        ASSERT_NE(strict, nullptr) << error;
        expect_bytes(to_bytes(whole), strict);
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
        ExpiringOptions{.capacity = 4000, .fpr = 0.001, .ttl_ticks = 5},
        ExpiringOptions{.capacity = 2000, .ttl_ticks = 1, .load = 0.6, .seed = 3}}) {
    SCOPED_TRACE(seed);
    play<Twins<TypeParam, ExpiringFilter>>(options, keys.all(), seed++);
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(CTwinOfKind, CarriesTheSameValues) {
  const Keys<TypeParam> keys(3000);
  std::uint64_t seed = 1;
  for (const MapletOptions& options :
       {MapletOptions{.capacity = 2500, .seed = 9, .value_bits = 4},
        MapletOptions{.capacity = 2000, .max_capacity = 9000, .value_bits = 4, .fpr = 0.01},
        MapletOptions{.capacity = 2500, .value_bits = 8},
        MapletOptions{.capacity = 2500, .value_bits = 8, .fpr = 0.005},
        MapletOptions{.capacity = 500, .max_capacity = 5000, .value_bits = 16},
        MapletOptions{.capacity = 2500}}) {
    SCOPED_TRACE(seed);
    MapletTwins<TypeParam> twins(options, keys.all(), seed++);
    for (int round = 0; round < 16; ++round) {
      for (int i = 0; i < 150; ++i) ASSERT_NO_FATAL_FAILURE(twins.step());
      ASSERT_NO_FATAL_FAILURE(twins.batch_step());
      ASSERT_NO_FATAL_FAILURE(twins.change_whole(round));
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
