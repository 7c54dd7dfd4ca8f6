// Maplets in files: what is written is read, by loading and by mapping, and nothing else is.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "lib/filters/file/file_format.h"
#include "nestline/io.h"
#include "nestline/maplet.h"
#include "tests/filters/maplet/pairs.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/keys_of_kinds.h"
#include "tests/support/temp_folder.h"

namespace nestline::test { namespace {

namespace fs = std::filesystem;

class MapletFileTest : public testing::Test {
 protected:
  Maplet filled(std::uint64_t capacity, std::uint64_t pairs) {
    Maplet maplet({.capacity = capacity, .max_capacity = 2 * pairs, .seed = 11});
    std::mt19937_64 random(pairs);
    for (std::uint64_t i = 0; i < pairs; ++i) {
      const std::uint64_t key = random() % pairs;
      if (maplet.insert(key, i)) pairs_.insert(key, i);
    }
    return maplet;
  }
  const TempFolder folder_;
  Pairs pairs_;
};

TEST_F(MapletFileTest, ReadsWhatItWrote) {
  const Maplet maplet = filled(500, 3000);
  ASSERT_GT(maplet.growth(), 0u);
  const fs::path path = folder_ / "maplet";
  save(maplet, path);
  const Bytes bytes = saved_bytes(maplet);
  ASSERT_EQ(fs::file_size(path), bytes.size());

  const auto expect_same = [&](const Maplet& read) {
    EXPECT_EQ(read.size(), maplet.size());
    EXPECT_EQ(read.capacity(), maplet.capacity());
    EXPECT_EQ(read.max_capacity(), maplet.max_capacity());
    EXPECT_EQ(read.seed(), 11u);
    EXPECT_EQ(read.growth(), maplet.growth());
    pairs_.expect_in(read);
    EXPECT_EQ(saved_bytes(read), bytes);
  };
  expect_same(Maplet::load(path));
  expect_same(Maplet::load(bytes));
  expect_same(Maplet::load(Giver(bytes, 1000)));

  const auto mapped = MappedMaplet::open(path);
  EXPECT_EQ(mapped.size(), maplet.size());
  EXPECT_EQ(mapped.memory_bytes(), maplet.memory_bytes());
  pairs_.expect_in(mapped);
  pairs_.expect_in(mapped);  // every section has been checked
}

TEST_F(MapletFileTest, AReadMapletGoesOn) {
  Maplet read = Maplet::load(saved_bytes(filled(500, 3000)));
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t key = 1'000'000 + i;
    ASSERT_TRUE(read.insert(key, i));
    pairs_.insert(key, i);
  }
  pairs_.expect_in(read);
}

// Damage that the checksums do not show, since they were made after it.
TEST_F(MapletFileTest, RefusesBlocksThatNoMapletLeaves) {
  const Bytes good = saved_bytes(filled(100, 0));
  const auto with = [&](std::size_t at, std::uint8_t value) {
    Bytes bytes = good;
    bytes[kHeaderBytes + at] = std::byte{value};
    const std::size_t blocks = bytes.size() - kHeaderBytes - 2 * kChecksumBytes;
    const ChecksumBytes section = encode_checksum(std::span(bytes).subspan(kHeaderBytes, blocks));
    std::copy(section.begin(), section.end(), bytes.end() - 2 * kChecksumBytes);
    const ChecksumBytes all = encode_checksum(section);
    std::copy(all.begin(), all.end(), bytes.end() - kChecksumBytes);
    return bytes;
  };
  EXPECT_EQ(Maplet::load(with(60, 7)).size(), 0u);  // a mark is as good as another
  const auto expect_refused = [&](std::size_t at, std::uint8_t value, const std::string& cause) {
    SCOPED_TRACE(at);
    expect_error<FormatError>([&] { (void)Maplet::load(with(at, value)); }, cause);
  };
  expect_refused(1, 1, "low byte is 0");
  expect_refused(16, 1, "a free slot is not all 0");
  expect_refused(55, 1, "a free slot is not all 0");
  expect_refused(56, 1, "a free slot is not all 0");
  expect_refused(61, 1, "lock and version are not 0");
  expect_refused(0, 1, "its blocks hold 1");

  write_bytes(folder_ / "locked", with(61, 1));
  const auto mapped = MappedMaplet::open(folder_ / "locked");
  std::array<std::uint64_t, Maplet::kMaxCandidates> values;
  std::size_t refused = 0;
  for (std::uint64_t key = 0; key < 1000; ++key) {
    try {
      (void)mapped.find(key, values);
    } catch (const FormatError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 0u);
}

TEST_F(MapletFileTest, AMappedMapletRefusesADamagedSectionOnly) {
  const Maplet maplet = filled(300'000, 250'000);  // 3 sections
  Bytes bytes = saved_bytes(maplet);
  bytes[kHeaderBytes + kSectionBytes + 1000] ^= std::byte{1};
  write_bytes(folder_ / "damaged", bytes);
  const auto mapped = MappedMaplet::open(folder_ / "damaged");
  std::array<std::uint64_t, Maplet::kMaxCandidates> values;
  std::size_t refused = 0;
  std::size_t answered = 0;
  for (const auto& [key, value] : pairs_) {
    try {
      const std::size_t count = mapped.find(key, values);
      Pairs::expect_among(pairs_.values(key), std::span(values).first(count));
      ++answered;
    } catch (const FormatError& error) {
      EXPECT_EQ(error.offset, kHeaderBytes + kSectionBytes);
      ++refused;
    }
  }
  EXPECT_GT(refused, pairs_.size() / 4);
  EXPECT_GT(answered, pairs_.size() / 4);
  std::vector<std::uint32_t> first;
  std::vector<std::uint64_t> all;
  EXPECT_THROW((void)mapped.find(sequence(0, 250'000), first, all), FormatError);
}

}  // namespace
}  // namespace nestline::test
