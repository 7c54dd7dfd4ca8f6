// The kinds of keys that a filter names: they are read as they were written, go where the keys go,
// and change nothing else.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>

#include "nestline/concurrent_filter.h"
#include "nestline/expiring_filter.h"
#include "nestline/io.h"
#include "nestline/maplet.h"
#include "tests/filters/file/format_tools.h"
#include "tests/filters/file/io_fixture.h"
#include "tests/support/errors.h"

namespace nestline { namespace {

using namespace format_tools;

constexpr std::uint32_t kDate = 1 << 4;
constexpr std::uint32_t kTime = 1 << 7;
constexpr std::uint32_t kAllKnown = 0x7fff7fff;

// Keys `first` to `first` + `count` - 1, in a filter that names these kinds.
Filter filter_of(std::uint32_t kinds, std::uint64_t first, std::uint64_t count) {
  Filter filter = Filter::load(make_empty_file({12, 20, 0, 7, 0, 500, 4000, 2, kinds}));
  for (std::uint64_t key = first; key < first + count; ++key) (void)filter.insert(key);
  return filter;
}

std::uint32_t kinds_in(const Bytes& file) {
  return static_cast<std::uint32_t>(get64(file, kKeyKindsAt - 4) >> 32);
}

using KeyKindsTest = IoTest;

TEST_F(KeyKindsTest, ComeBackFromEveryForm) {
  for (const std::uint32_t kinds : {std::uint32_t{0}, kDate, kAllKnown}) {
    const Filter filter = filter_of(kinds, 0, 300);
    EXPECT_EQ(filter.key_kinds(), kinds);
    const Bytes bytes = test::saved_bytes(filter);
    EXPECT_EQ(kinds_in(bytes), kinds);
    EXPECT_EQ(Filter::load(bytes).key_kinds(), kinds);
    const auto path = this->path("kinds.nest");
    save(filter, path);
    EXPECT_EQ(Filter::load(path).key_kinds(), kinds);
    const MappedFilter mapped = MappedFilter::open(path);
    EXPECT_EQ(mapped.key_kinds(), kinds);
    EXPECT_EQ(mapped.snapshot().key_kinds(), kinds);
    std::stringstream stream;
    save(filter, stream);
    EXPECT_EQ(Filter::load(stream).key_kinds(), kinds);
    // Nothing but the field, and the checksum of the header, is another.
    Bytes none = bytes;
    put32(none, kKeyKindsAt, 0);
    seal_header(none);
    EXPECT_EQ(none, test::saved_bytes(filter_of(0, 0, 300)));
  }
}

TEST_F(KeyKindsTest, GoWhereTheKeysGo) {
  Filter filter = filter_of(kDate, 0, 300);
  EXPECT_EQ(filter.snapshot().key_kinds(), kDate);
  EXPECT_TRUE(filter.grow());
  EXPECT_EQ(filter.key_kinds(), kDate);
  for (std::uint64_t key = 0; key < 3000; ++key) (void)filter.insert(key);  // grows by itself
  EXPECT_GT(filter.growth(), 1u);
  EXPECT_EQ(filter.key_kinds(), kDate);
  filter.clear();
  EXPECT_EQ(filter.key_kinds(), kDate);

  ConcurrentFilter shared(filter_of(kDate, 0, 300));
  EXPECT_EQ(kinds_in(test::saved_bytes(shared)), kDate);
  EXPECT_TRUE(shared.grow());
  shared.merge(shared.snapshot(), Copies::that_fit);
  EXPECT_EQ(shared.snapshot().key_kinds(), kDate);
  shared.clear();
  EXPECT_EQ(std::move(shared).freeze().key_kinds(), kDate);
  const auto path = this->path("shared.nest");
  save(ConcurrentFilter(filter_of(kTime, 0, 9)), path);
  EXPECT_EQ(ConcurrentFilter(Filter::load(path)).snapshot().key_kinds(), kTime);
}

TEST_F(KeyKindsTest, UnionsNameThoseOfBoth) {
  struct Case {
    std::uint32_t into;
    std::uint64_t keys;
    std::uint32_t other;
    std::uint64_t other_keys;
    std::uint32_t wanted;
  };
  for (const Case& c :
       {Case{kDate, 9, kTime, 9, kDate | kTime}, Case{kDate, 9, kDate, 9, kDate},
        Case{kDate, 9, 0, 9, 0}, Case{0, 9, kTime, 9, 0}, Case{0, 9, 0, 9, 0},
        // Without keys it answers rightly whatever is asked.
        Case{kDate, 9, 0, 0, kDate}, Case{0, 0, kTime, 9, kTime}, Case{0, 9, kTime, 0, 0}}) {
    Filter filter = filter_of(c.into, 0, c.keys);
    filter.merge(filter_of(c.other, 100, c.other_keys));
    EXPECT_EQ(filter.key_kinds(), c.wanted);
    ConcurrentFilter shared(filter_of(c.into, 0, c.keys));
    shared.merge(filter_of(c.other, 100, c.other_keys));
    EXPECT_EQ(shared.snapshot().key_kinds(), c.wanted);
    EXPECT_EQ(filter.size(), c.keys + c.other_keys);
  }
}

TEST_F(KeyKindsTest, NoOtherKindOfFileHasThem) {
  const auto maplet = [](std::uint32_t kinds) {
    return Maplet::load(make_empty_file({268, 3, 0, 0, 0, 10, 0, 2, kinds})).size();
  };
  EXPECT_EQ(maplet(0), 0u);
  test::expect_error<FormatError>([&] { (void)maplet(kDate); }, "reserved bytes");
  const auto expiring = [](std::uint32_t kinds) {
    return ExpiringFilter::load(
               make_empty_expiring_file({40, 3, 0, 0, 0, 10, 0, 2, kinds}, {.exchanged = 0}))
        .size();
  };
  EXPECT_EQ(expiring(0), 0u);
  test::expect_error<FormatError>([&] { (void)expiring(kDate); }, "reserved bytes");
}

}}  // namespace nestline
