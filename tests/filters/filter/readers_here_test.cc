// Readers look into blocks in their caller's code: it answers as the library does, whatever target
// it is compiled for. The code for all targets is linked into this one program.
#include "tests/filters/filter/readers_here.h"

#include <gtest/gtest.h>
#include <hwy/detect_targets.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lib/engine/kernels/targets.h"
#include "lib/engine/place/layout.h"

namespace nestline::test { namespace {

constexpr std::size_t kKeys = 1'000'000;  // to look up; half of them are stored

template <typename Test>
void with_each_target(Test&& test) {
  std::vector<std::pair<std::string, const ReadersHere*>> targets = {{"any", &kReadersHereForAny}};
#ifdef __x86_64__
  const auto has = [](std::int64_t target) { return (supported_targets() & target) != 0; };
  if (has(HWY_AVX2)) targets.emplace_back("avx2", &kReadersHereForAvx2);
  if (has(HWY_AVX3)) targets.emplace_back("avx512", &kReadersHereForAvx512);
#endif
  for (const auto& [name, readers] : targets) {
    SCOPED_TRACE(name);
    test(*readers);
  }
}

// 95 % full: one key in twenty is in its alternate.
Filter full_filter(int bits, unsigned growth) {
  Filter filter({.capacity = (kKeys / 2) >> growth, .bits = bits, .seed = 3});
  while (filter.growth() < growth) EXPECT_TRUE(filter.grow());
  return filter;
}

std::vector<std::uint64_t> counting_keys() {
  std::vector<std::uint64_t> keys(kKeys);
  for (std::size_t i = 0; i < kKeys; ++i) keys[i] = i;
  return keys;
}

class ReadersHereTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Widths, ReadersHereTest, testing::ValuesIn(kFilterWidths));

TEST_P(ReadersHereTest, AnswerAsTheLibrary) {
  const std::vector<std::uint64_t> keys = counting_keys();
  const auto stored = std::span(keys).first(kKeys / 2);
  for (const unsigned growth : {0u, 1u, 3u}) {
    SCOPED_TRACE(growth);
    Filter filter = full_filter(GetParam(), growth);
    ASSERT_EQ(filter.insert(stored), stored.size());
    std::vector<std::uint8_t> expected(kKeys);
    const std::size_t found = filter.may_contain(keys, expected);
    std::vector<std::uint8_t> answers(kKeys);
    with_each_target([&](const ReadersHere& readers) {
      EXPECT_EQ(readers.look_up(filter.reader(), keys.data(), kKeys, answers.data()), found);
      EXPECT_TRUE(answers == expected);
    });
    const ConcurrentFilter shared(std::move(filter));
    with_each_target([&](const ReadersHere& readers) {
      EXPECT_EQ(readers.look_up_beside(shared.reader(), keys.data(), kKeys, answers.data()), found);
      EXPECT_TRUE(answers == expected);
    });
  }
}

// Keys that stay are never missed while others come and go in their blocks.
TEST_P(ReadersHereTest, MissNoKeyBesideAWriter) {
  constexpr std::size_t kStay = 20'000;
  constexpr std::size_t kPass = 5'000;
  const std::vector<std::uint64_t> keys = counting_keys();
  const auto stay = std::span(keys).first(kStay);
  const auto pass = std::span(keys).subspan(kStay, kPass);
  with_each_target([&](const ReadersHere& readers) {
    ConcurrentFilter filter({.capacity = kStay + kPass, .bits = GetParam()});
    ASSERT_EQ(filter.insert(stay), kStay);
    std::atomic<bool> stop = false;
    std::thread writer([&] {
      while (!stop) {
        EXPECT_EQ(filter.insert(pass), kPass);
        EXPECT_EQ(filter.erase(pass), kPass);
      }
    });
    std::vector<std::uint8_t> answers(kStay);
    for (int round = 0; round < 50; ++round) {
      const ConcurrentReader reader = filter.reader();
      EXPECT_EQ(readers.look_up_beside(reader, stay.data(), kStay, answers.data()), kStay);
    }
    stop = true;
    writer.join();
  });
}

}  // namespace
}  // namespace nestline::test
