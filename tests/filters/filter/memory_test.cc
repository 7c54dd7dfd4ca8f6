// Options::memory: what the library takes from a resource and gives back, that everything made from
// a filter uses the same resource, and that the library clears memory that is not clear.
#include "nestline/memory.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <new>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "nestline/concurrent_filter.h"
#include "nestline/io.h"
#include "tests/filters/filter/accounted_memory.h"
#include "tests/support/keys_of_kinds.h"
#include "tests/support/temp_folder.h"

namespace nestline::test { namespace {

template <class Memory>
class MemoryTest : public testing::Test {};
using Memories = testing::Types<Dirty, Zeroed>;
TYPED_TEST_SUITE(MemoryTest, Memories);

std::vector<std::uint64_t> keys(std::size_t count) { return sequence(0, count); }

TYPED_TEST(MemoryTest, SameBytesAsWithout) {
  TypeParam memory;
  Filter with({.capacity = 5000, .fpr = 0.01, .seed = 3, .memory = &memory});
  Filter without({.capacity = 5000, .fpr = 0.01, .seed = 3});
  EXPECT_EQ(memory.out(), with.memory_bytes());
  EXPECT_EQ(to_bytes(with), to_bytes(without));
  EXPECT_EQ(with.insert(keys(5000)), 5000u);
  EXPECT_EQ(without.insert(keys(5000)), 5000u);
  EXPECT_EQ(to_bytes(with), to_bytes(without));
  EXPECT_EQ(memory.asked(), 1u);
}

TYPED_TEST(MemoryTest, KeptByWhateverTakesItsPlace) {
  TypeParam memory;
  Filter filter({.capacity = 1000, .bits = 16, .memory = &memory});
  ASSERT_EQ(filter.insert(keys(500)), 500u);
  const std::size_t first = memory.out();
  ASSERT_TRUE(filter.grow());
  EXPECT_EQ(memory.out(), 2 * first);
  filter.merge(filter);
  EXPECT_EQ(memory.out(), 2 * first);
  EXPECT_EQ(filter.memory_bytes(), 2 * first);
  Filter moved = std::move(filter);
  ASSERT_TRUE(moved.grow());
  EXPECT_EQ(memory.out(), 4 * first);
  for (std::uint64_t key = 0; key < 500; ++key) ASSERT_EQ(moved.count(key), 2u);

  // A filter of other memory that is merged into this one leaves its memory behind.
  Filter other({.capacity = 1000, .bits = 16});
  ASSERT_EQ(other.insert(keys(10)), 10u);
  other.grow();
  other.grow();
  moved.merge(other);
  EXPECT_EQ(moved.count(std::uint64_t{3}), 3u);
  EXPECT_EQ(memory.out(), 4 * first);
}

template <class AnyFilter>
void expect_kept_by_growing(auto&& memory) {
  AnyFilter filter(Options{.capacity = 1000, .max_capacity = 16'000, .memory = &memory});
  EXPECT_EQ(filter.insert(keys(10'000)), 10'000u);
  EXPECT_GT(filter.growth(), 2u);
  EXPECT_EQ(memory.out(), filter.memory_bytes());
  filter.clear();
  EXPECT_EQ(memory.out(), filter.memory_bytes());
  EXPECT_FALSE(filter.may_contain(std::uint64_t{1}));
}

TYPED_TEST(MemoryTest, KeptByGrowingInserts) {
  expect_kept_by_growing<Filter>(TypeParam());
  expect_kept_by_growing<ConcurrentFilter>(TypeParam());
}

TYPED_TEST(MemoryTest, LoadedIntoIt) {
  const TempFolder folder;
  const auto path = folder / "filter.nest";
  Filter made({.capacity = 1000});
  ASSERT_EQ(made.insert(keys(1000)), 1000u);
  save(made, path);
  TypeParam memory;
  {
    Filter loaded = Filter::load(path, &memory);
    EXPECT_EQ(memory.out(), loaded.memory_bytes());
    ASSERT_TRUE(loaded.grow());
    EXPECT_EQ(memory.out(), loaded.memory_bytes());
    const Filter again = Filter::load(to_bytes(made), &memory);
    std::stringstream stream;
    save(made, stream);
    const Filter streamed = Filter::load(stream, &memory);
    EXPECT_EQ(to_bytes(streamed), to_bytes(made));
    EXPECT_EQ(memory.out(), loaded.memory_bytes() + again.memory_bytes() + streamed.memory_bytes());
  }
  const Filter copy = MappedFilter::open(path).snapshot(&memory);
  EXPECT_EQ(memory.out(), copy.memory_bytes());
  EXPECT_EQ(to_bytes(copy), to_bytes(made));
}

TYPED_TEST(MemoryTest, RefusesInTheMiddle) {
  TypeParam memory;
  memory.set_most(0);
  EXPECT_THROW(Filter({.capacity = 1000, .memory = &memory}), std::bad_alloc);
  memory.set_most(~std::size_t{0});
  Filter filter({.capacity = 1000, .max_capacity = 100'000, .memory = &memory});
  ASSERT_TRUE(filter.insert(std::uint64_t{1}));
  memory.set_most(memory.out());
  const auto before = to_bytes(filter);
  EXPECT_THROW(filter.grow(), std::bad_alloc);
  EXPECT_THROW(filter.merge(filter), std::bad_alloc);
  EXPECT_EQ(to_bytes(filter), before);
  // Inserts that would make it grow go on until there is no room.
  std::uint64_t key = 2;
  while (filter.insert(key)) ++key;
  EXPECT_GE(filter.size(), 1000u);
  EXPECT_EQ(filter.growth(), 0u);
  memory.set_most(~std::size_t{0});
  EXPECT_THROW(Filter::load(before, std::pmr::null_memory_resource()), std::bad_alloc);
}

TEST(Memory, PoolsOfTheStandardLibrary) {
  std::pmr::synchronized_pool_resource pool;
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&pool, seed] {
      Filter filter({.capacity = 100, .max_capacity = 3200, .seed = seed, .memory = &pool});
      EXPECT_EQ(filter.insert(keys(3000)), 3000u);
      for (std::uint64_t key = 0; key < 3000; ++key) ASSERT_TRUE(filter.may_contain(key));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Memory, Mapped) {
  ZeroedMemory& memory = mapped_memory();
  for (const std::size_t bytes : {std::size_t{64}, std::size_t{4096}, std::size_t{100'032},
                                  std::size_t{2} << 20, (std::size_t{5} << 20) + 64}) {
    auto* const data = static_cast<unsigned char*>(memory.allocate(bytes, kBlock));
    const std::size_t huge = std::size_t{2} << 20;
    const std::size_t alignment = bytes >= huge ? huge : bytes > 4096 ? 4096 : kBlock;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % alignment, 0u) << bytes;
    for (std::size_t i = 0; i < bytes; i += kBlock) ASSERT_EQ(data[i], 0);
    std::memset(data, 1, bytes);
    memory.deallocate(data, bytes, kBlock);
  }
  void* const aligned = memory.allocate(64, std::size_t{1} << 16);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned) % (std::size_t{1} << 16), 0u);
  memory.deallocate(aligned, 64, std::size_t{1} << 16);
  EXPECT_THROW((void)memory.allocate(~std::size_t{0} - 64, kBlock), std::bad_alloc);
  EXPECT_TRUE(memory.is_equal(mapped_memory()));
}

}  // namespace
}  // namespace nestline::test
