// One vocabulary: each member that several kinds of filters share means the same in all of them.
// Kinds that lack a member are left out of its part.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory_resource>
#include <new>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "nestline/concurrent_filter.h"
#include "nestline/expiring_filter.h"
#include "nestline/filter.h"
#include "nestline/io.h"
#include "nestline/maplet.h"
#include "nestline/mapped_filter.h"
#include "tests/support/answers.h"
#include "tests/support/keys_of_kinds.h"
#include "tests/support/temp_folder.h"

namespace nestline::test { namespace {

constexpr std::uint64_t kSeed = 7;

template <class Kind>
inline constexpr bool kIsMaplet =
    std::is_same_v<Kind, Maplet> || std::is_same_v<Kind, MappedMaplet>;

// What a kind is opened of; itself where it is in memory.
template <class Kind>
struct Source {
  using Type = Kind;
};
template <>
struct Source<MappedFilter> {
  using Type = Filter;
};
template <>
struct Source<MappedExpiringFilter> {
  using Type = ExpiringFilter;
};
template <>
struct Source<MappedMaplet> {
  using Type = Maplet;
};

// Inserts, where a key is a pair with itself as value in a maplet.
template <class Kind>
Inserted insert_one(Kind& filter, std::uint64_t key) {
  if constexpr (kIsMaplet<Kind>) {
    return filter.insert(key, key);
  } else {
    return filter.insert(key);
  }
}
template <class Kind>
std::size_t insert_all(Kind& filter, const std::vector<std::uint64_t>& keys,
                       std::span<Outcome> outcomes = {}) {
  if constexpr (kIsMaplet<Kind>) {
    return filter.insert(keys, keys, outcomes);
  } else {
    return filter.insert(keys, outcomes);
  }
}

// Whether the key is found: in a maplet, with its value.
template <class Kind>
bool finds(const Kind& filter, Key key, std::uint64_t value) {
  if constexpr (kIsMaplet<Kind>) {
    std::array<std::uint64_t, Maplet::kMaxCandidates> values;
    const auto found = std::span(values).first(filter.find(key, values));
    return std::find(found.begin(), found.end(), value) != found.end();
  } else {
    return filter.may_contain(key);
  }
}

// What the kind says of itself, as far as it says it.
template <class Kind>
std::map<std::string, double> figures(const Kind& filter) {
  std::map<std::string, double> all;
  const auto note = [&](const char* name, auto figure) {
    if constexpr (requires { figure(filter); }) all[name] = static_cast<double>(figure(filter));
  };
  note("size", [](auto& one) -> decltype(one.size()) { return one.size(); });
  note("capacity", [](auto& one) -> decltype(one.capacity()) { return one.capacity(); });
  note("max_capacity",
       [](auto& one) -> decltype(one.max_capacity()) { return one.max_capacity(); });
  note("slots", [](auto& one) -> decltype(one.slots()) { return one.slots(); });
  note("load_factor", [](auto& one) -> decltype(one.load_factor()) { return one.load_factor(); });
  note("expected_fpr",
       [](auto& one) -> decltype(one.expected_fpr()) { return one.expected_fpr(); });
  note("growth", [](auto& one) -> decltype(one.growth()) { return one.growth(); });
  note("bits", [](auto& one) -> decltype(one.bits()) { return one.bits(); });
  note("seed", [](auto& one) -> decltype(one.seed()) { return one.seed(); });
  note("ttl_ticks", [](auto& one) -> decltype(one.ttl_ticks()) { return one.ttl_ticks(); });
  note("now", [](auto& one) -> decltype(one.now()) { return one.now(); });
  return all;
}

// Figures that both have must be the same.
template <class One, class Other>
void expect_same_figures(const One& one, const Other& other) {
  const auto theirs = figures(other);
  for (const auto& [name, value] : figures(one)) {
    if (theirs.contains(name)) {
      EXPECT_EQ(value, theirs.at(name)) << name;
    }
  }
}

template <class Kind>
struct Made {
  using Memory = typename Source<Kind>::Type;
  static constexpr std::uint64_t kKeys = 3000;

  Made() {
    stored = insert_all(memory, keys);
    EXPECT_GT(stored, kKeys * 95 / 100);  // an expiring filter takes false positives for present
    save(memory, folder / "file");
  }
  Kind kind() {
    if constexpr (std::is_same_v<Kind, Memory>) {
      return Kind::load(folder / "file");
    } else {
      return Kind::open(folder / "file");
    }
  }

  TempFolder folder;
  std::size_t stored;
  std::vector<std::uint64_t> keys = sequence(0, kKeys);
  Memory memory{{.capacity = kKeys, .seed = kSeed}};
};

template <class Kind>
class InMemory : public testing::Test {};
using MemoryKinds = testing::Types<Filter, ConcurrentFilter, ExpiringFilter, Maplet>;
TYPED_TEST_SUITE(InMemory, MemoryKinds);

template <class Kind>
class AllKinds : public testing::Test {};
using Kinds = testing::Types<Filter, ConcurrentFilter, ExpiringFilter, Maplet, MappedFilter,
                             MappedMaplet, MappedExpiringFilter>;
TYPED_TEST_SUITE(AllKinds, Kinds);

template <class Kind>
class InFiles : public testing::Test {};
using FileKinds = testing::Types<MappedFilter, MappedMaplet, MappedExpiringFilter>;
TYPED_TEST_SUITE(InFiles, FileKinds);

// More keys than find room, and one key many times.
std::vector<std::uint64_t> too_many() {
  std::vector<std::uint64_t> keys = sequence(0, 100);
  keys.insert(keys.end(), 40, 1'000'000);
  const auto more = sequence(0, 900);
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

TYPED_TEST(InMemory, BatchesEndAsTheirKeys) {
  const auto keys = too_many();
  TypeParam singles({.capacity = 300, .seed = kSeed});
  TypeParam batch({.capacity = 300, .seed = kSeed});
  std::vector<Outcome> wanted;
  std::uint64_t stored = 0;
  for (const std::uint64_t key : keys) {
    wanted.push_back(insert_one(singles, key).outcome);
    stored += wanted.back() == Outcome::stored;
  }
  std::vector<Outcome> outcomes(keys.size());
  EXPECT_EQ(insert_all(batch, keys, outcomes), stored);
  EXPECT_EQ(outcomes, wanted);
  EXPECT_EQ(batch.size(), stored);
  EXPECT_LT(stored, keys.size());
  EXPECT_EQ(to_bytes(batch), to_bytes(singles));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (outcomes[i] == Outcome::full) continue;
    ASSERT_TRUE(outcomes[i] == Outcome::too_many_copies || finds(batch, keys[i], keys[i]));
  }
  constexpr bool is_set = std::is_same_v<TypeParam, ExpiringFilter>;
  EXPECT_EQ(outcomes[139], is_set ? Outcome::present : Outcome::too_many_copies);
  EXPECT_EQ(outcomes[100], Outcome::stored);
  EXPECT_EQ(outcomes.back(), Outcome::full);
}

TYPED_TEST(InMemory, UniqueBatchesEndAsTheirKeys) {
  if constexpr (requires(TypeParam & filter, KeySpan keys) { filter.insert_unique(keys); }) {
    for (const std::uint64_t most : {0u, 2'000u}) {
      const auto keys = too_many();
      TypeParam singles({.capacity = 300, .max_capacity = most, .seed = kSeed});
      TypeParam batch({.capacity = 300, .max_capacity = most, .seed = kSeed});
      std::vector<Outcome> wanted;
      for (const std::uint64_t key : keys) wanted.push_back(singles.insert_unique(key).outcome);
      std::vector<Outcome> outcomes(keys.size());
      EXPECT_EQ(batch.insert_unique(keys, outcomes), singles.size());
      EXPECT_EQ(outcomes, wanted);
      EXPECT_EQ(outcomes[139], Outcome::present);
      EXPECT_EQ(to_bytes(batch), to_bytes(singles));
    }
  }
}

TYPED_TEST(InMemory, WrongLengthsChangeNothing) {
  Made<TypeParam> made;
  const auto before = to_bytes(made.memory);
  std::vector<Outcome> outcomes(made.keys.size() - 1);
  EXPECT_THROW((void)insert_all(made.memory, made.keys, outcomes), std::invalid_argument);
  EXPECT_EQ(outcomes, std::vector<Outcome>(outcomes.size()));
  EXPECT_EQ(to_bytes(made.memory), before);
}

TYPED_TEST(InMemory, SnapshotsAndFilesAreTheSame) {
  Made<TypeParam> made;
  const auto bytes = to_bytes(made.memory);
  EXPECT_EQ(to_bytes(made.memory.snapshot()), bytes);
  std::stringstream stream;
  save(made.memory, {stream, Head::compact});
  EXPECT_EQ(std::memcmp(stream.str().data(), bytes.data(), bytes.size()), 0);
  EXPECT_EQ(stream.str().size(), bytes.size());
  std::size_t at = 0;
  const ByteSource source = [&](std::span<std::byte> to) {
    const std::size_t count = std::min(to.size(), bytes.size() - at);
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), count, to.begin());
    at += count;
    return count;
  };
  std::vector<TypeParam> copies;
  copies.push_back(TypeParam::load(bytes));
  copies.push_back(TypeParam::load(stream));
  copies.push_back(TypeParam::load(source));
  copies.push_back(TypeParam::load(made.folder / "file"));
  copies.push_back(TypeParam::load((made.folder / "file").string()));
  for (const TypeParam& copy : copies) {
    EXPECT_EQ(to_bytes(copy), bytes);
    expect_same_figures(copy, made.memory);
    EXPECT_EQ(copy.memory_bytes(), made.memory.memory_bytes());
    for (const std::uint64_t key : made.keys) ASSERT_TRUE(finds(copy, key, key));
  }
  EXPECT_THROW((void)TypeParam::load(std::span(bytes).first(bytes.size() - 1)), FormatError);
  EXPECT_THROW((void)TypeParam::load(bytes, std::pmr::null_memory_resource()), std::bad_alloc);
  EXPECT_THROW(TypeParam({.capacity = 1, .memory = std::pmr::null_memory_resource()}),
               std::bad_alloc);
}

TYPED_TEST(AllKinds, FiguresAreThoseOfTheKeys) {
  Made<TypeParam> made;
  const TypeParam filter = made.kind();
  expect_same_figures(filter, made.memory);
  EXPECT_EQ(filter.size(), made.stored);
  EXPECT_GE(filter.capacity(), made.kKeys);
  EXPECT_EQ(filter.seed(), kSeed);
  EXPECT_GE(filter.memory_bytes(), made.memory.memory_bytes());
  const auto all = figures(made.memory);
  EXPECT_EQ(all.at("load_factor"), all.at("size") / all.at("slots"));
}

TYPED_TEST(AllKinds, EveryFormOfALookupAnswersTheSame) {
  Made<TypeParam> made;
  const TypeParam filter = made.kind();
  for (const std::uint64_t key : made.keys) ASSERT_TRUE(finds(filter, key, key));
  if constexpr (kIsMaplet<TypeParam>) {
    const auto keys = sequence(1000, 5000);
    std::vector<std::uint32_t> first;
    std::vector<std::uint64_t> values;
    const std::size_t count = filter.find(keys, first, values);
    EXPECT_EQ(count, values.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      std::array<std::uint64_t, Maplet::kMaxCandidates> one;
      const auto alone = std::span(one).first(filter.find(keys[i], one));
      const auto batch = std::span(values).subspan(first[i], first[i + 1] - first[i]);
      ASSERT_TRUE(std::equal(batch.begin(), batch.end(), alone.begin(), alone.end()));
    }
  } else {
    const auto keys = sequence(1000, 50'001);
    const Answers answers = answers_of_each(filter, keys);
    std::vector<std::uint8_t> bytes(1);
    EXPECT_THROW((void)filter.may_contain(keys, bytes), std::invalid_argument);
    if constexpr (requires { filter.remaining_ticks(keys, bytes); }) {
      EXPECT_THROW(filter.remaining_ticks(keys, bytes), std::invalid_argument);
    }
  }
}

TYPED_TEST(InFiles, AreOpenedViewedAndChecked) {
  Made<TypeParam> made;
  const auto bytes = to_bytes(made.memory);
  std::vector<std::byte> room(bytes.size() + 128);
  const std::size_t skip = (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64) % 64;
  const auto aligned = std::span(room).subspan(skip, bytes.size());
  std::copy(bytes.begin(), bytes.end(), aligned.begin());
  for (const Verify verify : {Verify::none, Verify::lazily, Verify::all}) {
    const TypeParam viewed = TypeParam::view(aligned, verify);
    save(made.memory, {made.folder / "small", Head::compact});
    const TypeParam opened = TypeParam::open(made.folder / "small", verify);
    expect_same_figures(viewed, opened);
    for (const std::uint64_t key : made.keys) {
      ASSERT_TRUE(finds(viewed, key, key) && finds(opened, key, key));
    }
    EXPECT_NO_THROW(viewed.verify());
    EXPECT_FALSE(viewed.damage());
  }
  EXPECT_THROW((void)TypeParam::view(std::span(room).subspan(skip + 1, bytes.size())),
               std::invalid_argument);
  aligned[1000] ^= std::byte{1};
  EXPECT_THROW((void)TypeParam::view(aligned, Verify::all), FormatError);
  const TypeParam damaged = TypeParam::view(aligned);
  EXPECT_THROW(damaged.verify(), FormatError);
  EXPECT_FALSE(damaged.damage());  // nothing has been looked up
  if constexpr (kIsMaplet<TypeParam>) {
    EXPECT_THROW((void)finds(damaged, std::uint64_t{1} << 40, 0), FormatError);
  } else {
    EXPECT_TRUE(finds(damaged, std::uint64_t{1} << 40, 0));
  }
  EXPECT_TRUE(damaged.damage());
}

}  // namespace
}  // namespace nestline::test
