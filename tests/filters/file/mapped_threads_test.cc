// Several threads look up keys in a mapped file, and so check it, at the same time.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "nestline/io.h"
#include "tests/filters/file/format_tools.h"
#include "tests/filters/file/io_fixture.h"

namespace nestline { namespace {

class MappedThreadsTest : public IoTest {};

TEST_F(MappedThreadsTest, CheckSectionsTogether) {
  constexpr std::size_t kKeys = 60'000;
  const auto keys = sequence(0, kKeys);
  const Filter filter = filled(8, 5'000'000, kKeys);  // five sections
  Bytes bytes = test::saved_bytes(filter);
  for (const bool damaged : {false, true}) {
    if (damaged) bytes[format_tools::kHeader + format_tools::kSection + 5] ^= std::byte{1};
    write(path("filter"), bytes);
    for (int round = 0; round < 3; ++round) {
      const MappedFilter mapped = MappedFilter::open(path("filter"));
      std::atomic<int> ready = 0;
      std::atomic<std::size_t> found = 0;
      std::array<std::thread, 4> threads;
      for (std::thread& thread : threads) {
        thread = std::thread([&] {
          ++ready;
          while (ready < 4) std::this_thread::yield();
          std::vector<std::uint8_t> out(kKeys);
          for (std::uint64_t key = 0; key < 100; ++key) found += mapped.may_contain(key);
          (void)mapped.damage();
          found += mapped.may_contain(keys, out);
        });
      }
      for (std::thread& thread : threads) thread.join();
      EXPECT_EQ(found, 4 * (kKeys + 100));
      EXPECT_EQ(mapped.damage().has_value(), damaged);
    }
  }
}

}  // namespace
}  // namespace nestline
