// Format version 2, a small head: the same as version 1 but for the header. The files that this
// test reads are made of those of version 1, field by field, by format_tools.h. view_test.cc
// damages and cuts files of all kinds with both heads.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <sstream>
#include <string>
#include <type_traits>

#include "nestline/concurrent_filter.h"
#include "nestline/expiring_filter.h"
#include "nestline/io.h"
#include "nestline/maplet.h"
#include "tests/filters/file/format_tools.h"
#include "tests/filters/file/golden.h"
#include "tests/filters/file/io_fixture.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"

namespace nestline { namespace {

using namespace format_tools;

Bytes golden_file(const std::string& name) {
  return test::read_bytes(NESTLINE_TEST_DATA "/golden/" + name + ".nest");
}

// The golden file of version 1, made to version 2, is what the library writes, and reads.
template <class Any>
void expect_small_and_page(const std::string& name) {
  SCOPED_TRACE(name);
  const Bytes page = golden_file(name);
  const Bytes small = small_of(page);
  EXPECT_EQ(to_bytes(Any::load(page)), small);
  const Any read = Any::load(small);
  EXPECT_EQ(test::saved_bytes(read), page);
  EXPECT_EQ(to_bytes(read), small);
  std::istringstream stream(std::string(reinterpret_cast<const char*>(small.data()), small.size()) +
                            "and more");
  EXPECT_EQ(to_bytes(Any::load(stream)), small);
  std::string rest;
  std::getline(stream, rest);
  EXPECT_EQ(rest, "and more") << "nothing behind a filter is taken from a stream";
}

TEST(SmallHead, HasWhatThePageHas) {
  for (const auto& golden : golden::kGoldens) {
    // Others become filters of the newest version.
    if (golden.fields.hash_version != 3) expect_small_and_page<Filter>(golden.name);
  }
  for (const auto& golden : golden::kMapletGoldens) expect_small_and_page<Maplet>(golden.name);
  for (const auto& golden : golden::kExpiringGoldens) {
    expect_small_and_page<ExpiringFilter>(golden.name);
  }
}

TEST(SmallHead, GoldenFilesAreReadAndBuiltTheSameAgain) {
  const auto expect = [](const std::string& name, std::uint64_t sum) {
    const Bytes file = golden_file(name + "_small");
    EXPECT_EQ(file, small_of(golden_file(name)));
    EXPECT_EQ(checksum(file), sum) << name;
    return file;
  };
  EXPECT_EQ(golden::answers(Filter::load(expect("k16", 0x6be40319a671d88b))),
            test::read_file(NESTLINE_TEST_DATA "/golden/k16.answers"));
  (void)Filter::load(expect("w12_grown", 0x99e4aa4b6939c9db));
  (void)Maplet::load(expect("m268_grown", 0xa7157d5808c74976));
  (void)ExpiringFilter::load(expect("e44", 0x8f8b7e71828999ee));
  const std::string header =
      "8e4e53540d0a1a0a"
      "04030201"
      "02000000"
      "02"
      "00"
      "1000"
      "11040200"
      "2b00000000000000"
      "030000000000"
      "540000000000"
      "460000000000"
      "000000000000";
  std::string digits;
  const Bytes file = golden_file("k16_small");
  for (std::size_t i = 0; i < kSmallHeader - 8; ++i) {
    const auto byte = std::to_integer<unsigned>(file[i]);
    digits += {"0123456789abcdef"[byte / 16], "0123456789abcdef"[byte % 16]};
  }
  EXPECT_EQ(digits, header);
}

TEST(SmallHead, BytesAreFew) {
  Filter five({.capacity = 5, .fpr = 0.01});
  for (std::uint64_t key = 0; key < 5; ++key) EXPECT_TRUE(five.insert(key));
  EXPECT_EQ(to_bytes(five).size(), 144u);
  for (const std::uint64_t capacity : {1u, 40u, 3000u, 500'000u, 5'000'000u}) {
    const Filter filter({.capacity = capacity});
    const Maplet maplet({.capacity = capacity});
    const ExpiringFilter expiring({.capacity = capacity});
    const auto expect = [&](std::size_t bytes, std::size_t blocks) {
      EXPECT_EQ(bytes, blocks + 72 + 8 * ((blocks + kSection - 1) / kSection));
    };
    expect(to_bytes(filter).size(), filter.memory_bytes());
    expect(to_bytes(maplet).size(), maplet.memory_bytes());
    EXPECT_LE(to_bytes(expiring).size(),
              expiring.memory_bytes() + 80 + 8 * (expiring.memory_bytes() / kSection));
    EXPECT_EQ(test::saved_bytes(filter).size(), to_bytes(filter).size() + 4096 - kSmallHeader);
  }
}

using SmallFiles = IoTest;

TEST_F(SmallFiles, AreLoadedAndMapped) {
  const Filter filter = filled(8, 5'000'000, 4'000'000);  // five sections
  save(filter, {path("small"), Head::compact});
  EXPECT_EQ(read(path("small")), to_bytes(filter));
  expect_same(filter, Filter::load(path("small")));
  EXPECT_EQ(ConcurrentFilter::load(path("small")).size(), filter.size());
  for (const Verify verify : {Verify::none, Verify::lazily, Verify::all}) {
    const MappedFilter mapped = MappedFilter::open(path("small"), verify);
    expect_same(filter, mapped);
    EXPECT_NO_THROW(mapped.verify());
    EXPECT_EQ(to_bytes(mapped.snapshot()), to_bytes(filter));
  }
  Bytes bad = read(path("small"));
  bad[kSmallHeader + 2 * kSection + 9] ^= std::byte{1};
  write(path("small"), bad);
  const MappedFilter mapped = MappedFilter::open(path("small"));
  for (const std::uint64_t key : sequence(0, 100'000)) ASSERT_TRUE(mapped.may_contain(key));
  EXPECT_EQ(mapped.damage().value().offset, kSmallHeader + 2 * kSection);
}

template <class Any>
void expect_refusal(const Bytes& file, std::uint64_t offset, const std::string& part) {
  const auto error = test::error_of<FormatError>([&] { (void)Any::load(file); });
  ASSERT_TRUE(error) << part;
  EXPECT_EQ(error->offset, offset) << error->what();
  EXPECT_NE(error->cause.find(part), std::string::npos) << error->what();
}

// The header's checksum is right, its fields are not.
TEST(HostileSmallHead, FieldsOutOfRangeAreRefused) {
  constexpr std::uint64_t kMost = (std::uint64_t{1} << 48) - 1;  // of 6 bytes
  const FieldCase filters[] = {
      {12, 0, 4, 12, "format version is 0"},
      {12, 3, 4, 12, "format version is 3, but this library reads versions 1 and 2; use a newer"},
      {16, 0, 1, 16, "hash version 0, but"},
      {16, 5, 1, 16, "hash version 5, but this library knows versions 2 to 4; use a newer"},
      {16, 4, 1, 32, "base blocks, 2, is below 64"},
      {16, 3, 1, 32, "base blocks, 2, is below 64"},
      {17, 5, 1, 17, "grown 5 times, but this library reads at most 4 at 8 bits"},
      {17, 64, 1, 17, "grown 64 times"},
      {17, 255, 1, 17, "grown 255 times"},
      {18, 0, 2, 18, "not 8, 9, 10, 12 or 16"},
      {18, 11, 2, 18, "not 8, 9, 10, 12 or 16"},
      {18, 268, 2, 18, "this is a maplet and not a filter"},
      {18, 0xffff, 2, 18, "not 8, 9, 10, 12 or 16"},
      {20, 0x8000, 4, 20, "kinds of keys that this library does not know"},
      {20, 0x80000001, 4, 20, "kinds of keys that this library does not know"},
      {32, 0, 6, 32, "base blocks, 0, is not in 1 to"},
      {32, (std::uint64_t{1} << 40) + 1, 6, 32, "is not in 1 to 1099511627776"},
      {32, kMost, 6, 32, "is not in 1 to"},
      {38, 39, 6, 38, "it says it holds 39 keys, but its blocks hold 40"},
      {38, 121, 6, 38, "121 keys, but has only 120 slots"},
      {38, kMost, 6, 38, "but has only 120 slots"},
      {44, 0, 6, 44, "capacity, 0, is not in 1 to 120"},
      {44, 121, 6, 44, "capacity, 121, is not in 1 to 120"},
      {50, 1921, 6, 50, "maximal capacity, 1921, is above 1920"},
      {50, kMost, 6, 50, "is above 1920"},
      {32, 3, 6, 272 - 64, "64 bytes too early"},
      {32, 1, 6, 144, "64 bytes follow"},
      {17, 1, 1, 208, "128 bytes too early"},
  };
  Filter filter = Filter::load(make_empty_file({8, 2, 0, 99, 0, 60, 0}));
  for (std::uint64_t key = 0; key < 40; ++key) EXPECT_TRUE(filter.insert(key));
  const auto refuse = [](const auto& any, const FieldCase& c) {
    SCOPED_TRACE(c.part);
    Bytes file = to_bytes(any);
    put(file, c.at, c.value, c.size);
    if (c.at >= 16) seal_header(file);
    expect_refusal<std::remove_cvref_t<decltype(any)>>(file, c.offset, c.part);
  };
  for (const FieldCase& c : filters) refuse(filter, c);
  refuse(Maplet({.capacity = 20}), {20, 1, 4, 20, "reserved bytes"});
  refuse(Maplet({.capacity = 20}), {16, 3, 1, 16, "only filters have this hash version"});

  const FieldCase expiring[] = {
      {20, 1, 4, 20, "reserved bytes"},
      {56, 0, 4, 56, "ticks"},
      {56, 15, 4, 56, "ticks"},
      {60, 64, 4, 60, "slice"},
      {64, 100, 8, 72, "not in the last 16 ticks"},
      {72, 1, 8, 72, "not in the last 16 ticks"},
      {80, 1000, 8, 80, "more blocks are swept"},
      {88, 1, 1, 88, "reserved bytes"},
      {119, 1, 1, 88, "reserved bytes"},
  };
  const ExpiringFilter empty({.capacity = 100});
  for (const FieldCase& c : expiring) refuse(empty, c);
}

TEST(HostileSmallHead, HugeLengthsAreRefusedAtOnce) {
  for (std::uint64_t blocks = 2; blocks <= std::uint64_t{1} << 40; blocks *= 2) {
    Bytes file = small_of(make_empty_file({16, 1, 0, 0, 0, 1, 0}));
    put(file, 32, blocks, 6);
    seal_header(file);
    const std::uint64_t sections = (blocks * kBlock + kSection - 1) / kSection;
    const std::uint64_t length = kSmallHeader + blocks * kBlock + (sections + 1) * 8;
    expect_refusal<Filter>(file, file.size(),
                           std::to_string(length - file.size()) + " bytes too early");
  }
}

// Every change of a byte below checksums that are right is refused, or leaves a filter that is
// written as it was read.
TEST(HostileSmallHead, WhatIsAcceptedIsWrittenTheSameAgain) {
  const auto change_each = []<class Any>(const Any& any) {
    const Bytes good = to_bytes(any);
    for (std::size_t at = 8; at < header_of(good) + 64; ++at) {
      for (const unsigned bit : {0u, 3u, 7u}) {
        Bytes file = good;
        file[at] ^= std::byte(1u << bit);
        seal(file);
        try {
          const Any read = Any::load(file);
          ASSERT_EQ(to_bytes(read), file) << at;
        } catch (const FormatError& error) {
          ASSERT_LE(error.offset, file.size());
        }
      }
    }
  };
  Filter filter({.capacity = 50, .max_capacity = 400});
  Maplet maplet({.capacity = 50, .max_capacity = 400});
  ExpiringFilter expiring({.capacity = 50});
  for (std::uint64_t key = 0; key < 40; ++key) {
    EXPECT_TRUE(filter.insert(key));
    EXPECT_TRUE(maplet.insert(key, key % 16));
    (void)expiring.insert(key);
  }
  change_each(filter);
  change_each(maplet);
  change_each(expiring);
}

}  // namespace
}  // namespace nestline
