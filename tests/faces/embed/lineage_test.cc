// Filters that are poured into one as a database unites them.
#include "lib/faces/embed/lineage.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "lib/engine/place/layout.h"
#include "nestline/io.h"

namespace nestline { namespace {

class Poured : public ::testing::TestWithParam<int> {};

TEST_P(Poured, SurplusIsDroppedAndStillFound) {
  const Shape shape{GetParam(), {40, 0}, 0, 300};
  Filter all = make_empty(shape, nullptr);
  // As many filters with the same few keys as leave more copies than fit.
  for (int i = 0; i < 15; ++i) {
    Filter next = make_empty(shape, nullptr);
    for (std::uint64_t key = 0; key < 20; ++key) ASSERT_TRUE(next.insert(key));
    Quota share(1, 1);
    migrate(next, all, share, IfFull::goes);
    ASSERT_EQ(next.size(), 0u);
  }
  EXPECT_LE(all.size(), 20 * most_copies(GetParam()));
  EXPECT_EQ(Filter::load(to_bytes(all)).size(), all.size()) << "the number of keys is kept";
  for (std::uint64_t key = 0; key < 20; ++key)
    EXPECT_GE(all.count(key), most_copies(GetParam()) / 2);

  // Without that they stay.
  Filter next = make_empty(shape, nullptr);
  ASSERT_TRUE(next.insert(std::uint64_t{3}));
  Quota share(1, 1);
  migrate(next, all, share);
  EXPECT_EQ(next.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Widths, Poured, ::testing::ValuesIn(kFilterWidths),
                         [](const auto& param) { return std::to_string(param.param) + "bits"; });

}  // namespace
}  // namespace nestline
