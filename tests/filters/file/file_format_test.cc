// The file format: the golden files are read as before, and a wrong file is refused with a cause
// that says what is wrong. io_test.cc tests files on disks.
#include "lib/filters/file/file_format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "lib/filters/filter/sizing.h"
#include "nestline/io.h"
#include "tests/filters/file/format_tools.h"
#include "tests/filters/file/golden.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"

namespace nestline { namespace {

using namespace format_tools;

Bytes read_golden(const char* name) {
  return test::read_bytes(NESTLINE_TEST_DATA "/golden/" + std::string(name) + ".nest");
}

// The error that the bytes cause.
FormatError refusal(const Bytes& bytes) {
  const auto error =
      test::error_of<FormatError>([&] { const Filter filter = Filter::load(bytes); });
  if (!error) return {"accepted", 0, ""};
  EXPECT_EQ(error->file, "bytes");
  EXPECT_FALSE(error->cause.empty());
  EXPECT_EQ(error->what(), std::string(error->file) + ": at byte " + std::to_string(error->offset) +
                               ": " + std::string(error->cause));
  return *error;
}

void expect_refusal(const Bytes& bytes, std::uint64_t offset, const std::string& part) {
  const FormatError error = refusal(bytes);
  EXPECT_EQ(error.offset, offset) << error.what();
  EXPECT_NE(error.cause.find(part), std::string::npos) << error.what();
}

// A whole file of two blocks with some keys.
Bytes small_file(std::uint32_t bits = 8) {
  Filter filter = Filter::load(make_empty_file({bits, 2, 0, 99, 0, 60, 0}));
  for (std::uint64_t key = 0; key < 40; ++key) EXPECT_TRUE(filter.insert(key));
  return test::saved_bytes(filter);
}

template <typename Change>
Bytes changed(Bytes file, Change&& change) {
  change(file);
  return file;
}

// An exception that throws while it is copied ends the program.
TEST(Error, IsCopiedWithoutThrowing) {
  static_assert(std::is_nothrow_copy_constructible_v<FormatError>);
  static_assert(std::is_nothrow_copy_assignable_v<FormatError>);
  auto first = std::make_unique<FormatError>("a/rather/long/path/of/a/file.nest", 77, "It is bad.");
  FormatError copy = *first;
  FormatError other("bytes", 1, "");
  other = *first;
  first.reset();
  for (const FormatError& error : {copy, other}) {
    EXPECT_EQ(error.file, "a/rather/long/path/of/a/file.nest");
    EXPECT_EQ(error.offset, 77u);
    EXPECT_EQ(error.cause, "It is bad.");
    EXPECT_STREQ(error.what(), "a/rather/long/path/of/a/file.nest: at byte 77: It is bad.");
  }
}

class GoldenTest : public testing::TestWithParam<golden::Golden> {};
INSTANTIATE_TEST_SUITE_P(Goldens, GoldenTest, testing::ValuesIn(golden::kGoldens),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST_P(GoldenTest, IsReadAndGivesTheSameAnswers) {
  const Bytes file = read_golden(GetParam().name);
  const Filter filter = Filter::load(file);
  const auto& fields = GetParam().fields;
  EXPECT_EQ(filter.bits(), static_cast<int>(fields.bits));
  EXPECT_EQ(filter.seed(), fields.seed);
  EXPECT_EQ(filter.capacity(), fields.capacity);
  EXPECT_EQ(filter.key_kinds(), fields.key_kinds);
  EXPECT_EQ(filter.size(), GetParam().integers + GetParam().strings + GetParam().hashes);
  EXPECT_EQ(golden::answers(filter), test::read_file(NESTLINE_TEST_DATA "/golden/" +
                                                     std::string(GetParam().name) + ".answers"));
  for (std::uint64_t i = 0; i < GetParam().integers; ++i) ASSERT_TRUE(filter.may_contain(i)) << i;
  const Bytes saved = test::saved_bytes(filter);
  if (fields.hash_version != 3) {
    EXPECT_EQ(saved, file);
  }
  EXPECT_EQ(test::saved_bytes(Filter::load(saved)), saved);
}

// Inserts must put keys into the same places too: replicas that get the same operations must hold
// the same bytes.
TEST_P(GoldenTest, IsBuiltTheSameAgain) {
  const Filter filter = golden::build(GetParam());
  EXPECT_EQ(filter.size(), GetParam().integers + GetParam().strings + GetParam().hashes);
  EXPECT_EQ(checksum(test::saved_bytes(filter)),
            golden::checksum_of_built(GetParam().name, read_golden(GetParam().name)));
}

TEST(Golden, BytesAreThese) {
  constexpr std::array<std::uint64_t, 11> kChecksums = {
      0x9c0d9c4dc8b340c5, 0x9f2092c8bebdff6b, 0x75a5544b7fe8f1b3, 0x43578110347389c2,
      0x5774aa817f70a82d, 0xd432fcc28efe0dc7, 0xd3783157875630d8, 0x18f842338b25d558,
      0x9835ad0ff9dad796, 0x7042b8bdd2988d2e, 0x81fd078091c5d75b};
  for (std::size_t i = 0; i < kChecksums.size(); ++i) {
    EXPECT_EQ(checksum(read_golden(golden::kGoldens[i].name)), kChecksums[i]);
  }
  const std::string header =
      "8e4e53540d0a1a0a"
      "04030201"
      "01000000"
      "02000000"
      "08000000"
      "0300000000000000"
      "00000000"
      "00000000"
      "efcdab8967452301"
      "ac00000000000000"
      "8c00000000000000"
      "0000000000000000"
      "d010000000000000";
  const Bytes file = read_golden("w8");
  std::string digits;
  for (std::size_t i = 0; i < kFieldsEnd; ++i) {
    const auto byte = std::to_integer<unsigned>(file[i]);
    digits += {"0123456789abcdef"[byte / 16], "0123456789abcdef"[byte % 16]};
  }
  EXPECT_EQ(digits, header);
}

TEST(Damage, EveryTruncationIsRefused) {
  const Bytes whole = small_file();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const FormatError error =
        refusal(Bytes(whole.begin(), whole.begin() + static_cast<long>(length)));
    ASSERT_EQ(error.offset, length) << error.what();
  }
  const auto cut = [&](std::size_t length) {
    return Bytes(whole.begin(), whole.begin() + static_cast<long>(length));
  };
  expect_refusal(cut(0), 0, "it is empty");
  expect_refusal(cut(3), 3, "ends within its header, after 3 bytes");
  expect_refusal(cut(4095), 4095, "ends within its header");
  expect_refusal(cut(whole.size() - 5), whole.size() - 5, "5 bytes too early");
}

TEST(Damage, EveryFlippedBitIsRefused) {
  for (const std::uint32_t bits : {8u, 12u, 16u}) {
    Bytes file = small_file(bits);
    for (std::size_t at = 0; at < file.size(); ++at) {
      // All bits where there is data, one where there are only zeros.
      const bool zeros = at >= kFieldsEnd && at < kHeaderChecksumAt;
      for (unsigned bit = zeros ? at % 8 : 0; bit < 8; bit += zeros ? 8 : 1) {
        file[at] ^= std::byte(1u << bit);
        ASSERT_THROW(Filter::load(file), FormatError) << bits << " bits, byte " << at;
        file[at] ^= std::byte(1u << bit);
      }
    }
    EXPECT_NO_THROW(Filter::load(file));
  }
}

TEST(Damage, SaysWhichSectionIsDamaged) {
  constexpr std::uint64_t kBlocks = 40'000;  // 2.44 MiB
  Bytes file = make_empty_file({8, kBlocks, 0, 0, 0, 1, 0});
  EXPECT_NO_THROW(Filter::load(file));
  for (const std::size_t section : {0u, 1u, 2u}) {
    const std::size_t at = kHeader + section * kSection;
    file[at + 77] ^= std::byte{1};
    const std::string name = "section " + std::to_string(section + 1) + " of 3";
    expect_refusal(file, at, name);
    file[at + 77] ^= std::byte{1};
  }
  // The last section ends with the blocks.
  file[kHeader + kBlocks * kBlock - 1] ^= std::byte{1};
  expect_refusal(file, kHeader + 2 * kSection,
                 "to byte " + std::to_string(kHeader + kBlocks * kBlock - 1));
  file[kHeader + kBlocks * kBlock - 1] ^= std::byte{1};
  file[kHeader + kBlocks * kBlock + 8] ^= std::byte{1};
  expect_refusal(file, kHeader + kBlocks * kBlock, "do not match their own checksum");
}

TEST(Damage, FilesThatAreNotFiltersAreNamed) {
  const Bytes good = small_file();
  expect_refusal(Bytes(5000, std::byte{'a'}), 0, "not a nestline filter");
  expect_refusal(Bytes(3, std::byte{'a'}), 0, "not a nestline filter");
  expect_refusal(changed(good, [](Bytes& f) { f[0] = std::byte{0x0e}; }), 0, "not a nestline");
  // \r\n became \n, as when a text is moved from one system to another; and the other way round.
  expect_refusal(changed(good, [](Bytes& f) { f.erase(f.begin() + 4); }), 4, "as text");
  expect_refusal(changed(good, [](Bytes& f) { f.insert(f.begin() + 7, std::byte{'\r'}); }), 7,
                 "as text");
  expect_refusal(changed(good, [](Bytes& f) { std::reverse(f.begin(), f.begin() + 8); }), 0,
                 "reverse order");
  // A machine that writes its numbers big-endian.
  const Bytes swapped = changed(good, [](Bytes& f) {
    for (const int at : {8, 12, 16, 20, 32, 36}) {
      std::reverse(f.begin() + at, f.begin() + at + 4);
    }
    for (const int at : {24, 40, 48, 56, 64, 72}) {
      std::reverse(f.begin() + at, f.begin() + at + 8);
    }
    seal(f);
  });
  expect_refusal(swapped, kByteOrderAt, "big-endian");
  expect_refusal(changed(good, [](Bytes& f) { f[kByteOrderAt] ^= std::byte{1}; }), kByteOrderAt,
                 "byte-order mark");
}

TEST(Damage, OtherVersionsAreNamed) {
  const Bytes good = small_file();
  const auto with = [&](std::size_t at, std::uint32_t value, std::size_t length) {
    return changed(good, [&](Bytes& f) {
      put32(f, at, value);
      f.resize(length);
    });
  };
  // In a later version everything that follows may differ, even its length.
  for (const std::size_t length : {std::size_t{16}, std::size_t{100}, good.size()}) {
    expect_refusal(
        with(kFormatVersionAt, 3, length), kFormatVersionAt,
        "format version is 3, but this library reads versions 1 and 2; use a newer nestline");
  }
  expect_refusal(with(kFormatVersionAt, 0, good.size()), kFormatVersionAt, "format version is 0");
  expect_refusal(with(kHashVersionAt, 5, good.size()), kHashVersionAt,
                 "hash version 5, but this library knows versions 2 to 4; use a newer nestline");
  const FormatError old = refusal(with(kHashVersionAt, 1, good.size()));
  EXPECT_EQ(old.offset, kHashVersionAt);
  EXPECT_TRUE(
      std::string(old.cause).ends_with("hash version 1, but this library knows versions 2 to 4"));
}

// The header's checksum is right, its fields are not.
TEST(Hostile, FieldsOutOfRangeAreRefused) {
  const FieldCase cases[] = {
      {kBitsAt, 0, 4, kBitsAt, "not 8, 9, 10, 12 or 16"},
      {kBitsAt, 11, 4, kBitsAt, "not 8, 9, 10, 12 or 16"},
      {kBitsAt, 0x80000008, 4, kBitsAt, "not 8, 9, 10, 12 or 16"},
      {kBaseBlocksAt, 0, 8, kBaseBlocksAt, "base blocks, 0, is not in 1 to"},
      {kBaseBlocksAt, (std::uint64_t{1} << 40) + 1, 8, kBaseBlocksAt,
       "is not in 1 to 1099511627776"},
      {kBaseBlocksAt, std::uint64_t{1} << 58, 8, kBaseBlocksAt, "is not in 1 to"},
      {kBaseBlocksAt, std::uint64_t{1} << 63, 8, kBaseBlocksAt, "is not in 1 to"},
      {kBaseBlocksAt, ~std::uint64_t{0}, 8, kBaseBlocksAt, "is not in 1 to"},
      {kGrowthAt, 5, 4, kGrowthAt, "grown 5 times, but this library reads at most 4 at 8 bits"},
      {kGrowthAt, 64, 4, kGrowthAt, "grown 64 times"},
      {kGrowthAt, 0xffffffff, 4, kGrowthAt, "grown 4294967295 times"},
      {kKeyKindsAt, 0x8000, 4, kKeyKindsAt, "kinds of keys that this library does not know"},
      {kKeyKindsAt, 0x80000001, 4, kKeyKindsAt, "kinds of keys that this library does not know"},
      {kFieldsEnd, 1, 1, kFieldsEnd, "reserved"},
      {kHeaderChecksumAt - 1, 1, 1, kFieldsEnd, "reserved"},
      {kKeysAt, 39, 8, kKeysAt, "it says it holds 39 keys, but its blocks hold 40"},
      {kKeysAt, 121, 8, kKeysAt, "121 keys, but has only 120 slots"},
      {kKeysAt, ~std::uint64_t{0}, 8, kKeysAt, "but has only 120 slots"},
      {kCapacityAt, 0, 8, kCapacityAt, "capacity, 0, is not in 1 to 120"},
      {kCapacityAt, 121, 8, kCapacityAt, "capacity, 121, is not in 1 to 120"},
      {kMaxCapacityAt, 1921, 8, kMaxCapacityAt, "maximal capacity, 1921, is above 1920"},
      {kMaxCapacityAt, ~std::uint64_t{0}, 8, kMaxCapacityAt, "is above 1920"},
      {kLengthAt, 0, 8, kLengthAt, "it says it is 0 bytes long, but 2 blocks make 4240"},
      {kLengthAt, ~std::uint64_t{0}, 8, kLengthAt, "but 2 blocks make 4240"},
      {kBaseBlocksAt, 3, 8, kLengthAt, "but 3 blocks make 4304"},
      {kGrowthAt, 1, 4, kLengthAt, "but 4 blocks make 4368"},
  };
  const Bytes good = small_file();
  for (const FieldCase& c : cases) {
    SCOPED_TRACE(c.part);
    const Bytes file = changed(good, [&](Bytes& f) {
      put(f, c.at, c.value, c.size);
      seal_header(f);
    });
    expect_refusal(file, c.offset, c.part);
  }
}

// A header that claims more memory than there is: the length of the input shows it, before anything
// is allocated. 2^40 blocks are 64 TiB.
TEST(Hostile, HugeLengthsAreRefusedAtOnce) {
  const std::clock_t start = std::clock();  // processor time of this process only
  for (std::uint64_t blocks = 1; blocks <= std::uint64_t{1} << 40; blocks *= 2) {
    Bytes file = make_empty_file({16, 1, 0, 0, 0, 1, 0});
    if (blocks == 1) continue;
    const std::uint64_t sections = (blocks * kBlock + kSection - 1) / kSection;
    const std::uint64_t length = kHeader + blocks * kBlock + (sections + 1) * 8;
    put64(file, kBaseBlocksAt, blocks);
    put64(file, kLengthAt, length);
    seal_header(file);
    expect_refusal(file, file.size(), std::to_string(length - file.size()) + " bytes too early");
  }
  EXPECT_LT(std::clock() - start, 5 * CLOCKS_PER_SEC);
}

TEST(Hostile, TrailingBytesAreRefused) {
  const Bytes good = small_file();
  for (const std::size_t more : {1u, 8u, 64u, 100'000u}) {
    expect_refusal(changed(good, [&](Bytes& f) { f.resize(good.size() + more); }), good.size(),
                   std::to_string(more) + " bytes follow");
  }
}

// All checksums are right, but no filter leaves such blocks.
TEST(Hostile, BlocksThatNoFilterHasAreRefused) {
  const auto refused = [](std::uint32_t bits, std::size_t at, std::byte value, const char* part) {
    Bytes blocks(2 * kBlock);
    blocks[kBlock + at] = value;
    const Bytes file = make_file({bits, 2, 0, 0, 0, 1, 0}, blocks);
    expect_refusal(file, kHeader + kBlock + at, part);
  };
  for (const std::uint32_t bits : {8u, 12u, 16u}) {
    refused(bits, 61, std::byte{0x01}, "in block 1 lock and version are not 0");
    refused(bits, 61, std::byte{0x80}, "in block 1 lock and version are not 0");
    Bytes blocks(kBlock);
    blocks[63] = std::byte{0x80};
    expect_refusal(make_file({bits, 1, 0, 0, 0, 1, 0}, blocks), kHeader + 61, "version");
    blocks[63] = std::byte{0};
    blocks[60] = std::byte{0xff};  // the highest mark
    EXPECT_NO_THROW(Filter::load(make_file({bits, 1, 0, 0, 0, 1, 0}, blocks)));
    blocks[0] = std::byte{5};
    expect_refusal(make_file({bits, 1, 0, 0, 0, 1, 0}, blocks), kKeysAt, "its blocks hold 1");
    EXPECT_EQ(Filter::load(make_file({bits, 1, 0, 0, 1, 1, 0}, blocks)).size(), 1u);
  }
  refused(12, 40, std::byte{0x01}, "a free slot is not all 0");
  refused(12, 59, std::byte{0x10}, "a free slot is not all 0");
  Bytes blocks(kBlock);
  blocks[1] = std::byte{1};  // the high byte of slot 0 at 16 bits
  expect_refusal(make_file({16, 1, 0, 0, 1, 1, 0}, blocks), kHeader,
                 "a fingerprint's low byte is 0");
}

// What one insert may double at most follows from the capacities, of which those that no filter has
// are refused. Every filter that can be made has others.
TEST(Hostile, CapacitiesThatNoFilterHas) {
  const auto flaw_of = [](int bits, const Geometry& geometry, std::uint64_t capacity,
                          std::uint64_t most) {
    return check_fields({{bits, geometry, 0, capacity, most}}, kind_of(bits));
  };
  std::vector<int> layouts(kFilterWidths.begin(), kFilterWidths.end());
  layouts.insert(layouts.end(), MapletLayouts::kNumbers.begin(), MapletLayouts::kNumbers.end());
  for (const int bits : layouts) {
    for (const std::uint64_t bases : {64u, 100u, 5000u}) {
      const Geometry geometry{bases, 0};
      const std::uint64_t least = bases * slots_of(bits) / 2;
      const std::uint64_t most = (bases * slots_of(bits)) << max_growth(bits);
      EXPECT_EQ(flaw_of(bits, geometry, least, most), std::nullopt);
      EXPECT_EQ(flaw_of(bits, geometry, least - 1, most).value().offset, kCapacityAt);
      EXPECT_EQ(flaw_of(bits, geometry, least, most + 1).value().offset, kMaxCapacityAt);
      EXPECT_EQ(flaw_of(bits, geometry, 1, 0), std::nullopt);
    }
  }
  for (const int bits : {expiring_layout(8), expiring_layout(12)}) {
    const std::uint64_t slots = 8 * slots_of(bits);
    const FileHeader header{{bits, {8, 0}, 0, slots, slots + 1, 14}};
    EXPECT_EQ(check_fields(header, Kind::expiring).value().offset, kMaxCapacityAt);
  }
  std::mt19937_64 random(1);
  const auto below = [&](std::uint64_t end) { return random() % end; };
  constexpr std::array value_bits = {4, 8, 16, 40};
  for (int i = 0; i < 1'000; ++i) {
    const std::uint64_t capacity = 1 + below(std::uint64_t{1} << below(20));
    const std::uint64_t most = capacity << below(13);
    const bool is_maplet = below(4) == 0;
    Options options{.capacity = capacity, .max_capacity = most};
    if (below(2) == 0) options.bits = kFilterWidths[below(kFilterWidths.size())];
    if (below(2) == 0) options.fpr = std::exp2(-1.0 - static_cast<double>(below(14)));
    options.load = 0.5 + static_cast<double>(below(46)) / 100;
    std::optional<Size> size;
    try {
      size = is_maplet ? decide_maplet_size({.capacity = capacity,
                                             .max_capacity = most,
                                             .value_bits = value_bits[below(value_bits.size())],
                                             .fpr = options.fpr})
                       : decide_size(options);
    } catch (const std::invalid_argument&) {
      continue;  // there is no such filter
    }
    Shape shape = size->shape(0);
    while (true) {
      ASSERT_EQ(flaw_of(shape.bits, shape.geometry, shape.capacity, shape.max_capacity),
                std::nullopt)
          << capacity << ' ' << most << ' ' << options.bits << ' ' << options.fpr;
      if (shape.geometry.growth == max_growth(shape.bits)) break;
      ++shape.geometry.growth;
      if (shape.geometry.blocks() > kMaxBlocks) break;
      shape.capacity = grown_capacity(shape.bits, shape.geometry, shape.capacity);
    }
  }
}

TEST(Hostile, GrownFiltersHoldEachKeyInItsOwnBlock) {
  for (const std::uint32_t bits : {8u, 12u, 16u}) {
    const std::uint32_t most = bits - 4;
    Filter filter = Filter::load(make_empty_file({bits, 3, most, 5, 0, 60, 0}));
    for (std::uint64_t key = 0; key < 60; ++key) ASSERT_TRUE(filter.insert(key)) << key;
    const Bytes file = test::saved_bytes(filter);
    EXPECT_EQ(test::saved_bytes(Filter::load(file)), file);
    for (std::uint64_t key = 0; key < 60; ++key) EXPECT_TRUE(filter.may_contain(key));
    expect_refusal(make_empty_file({bits, 3, most + 1, 5, 0, 60, 0}), kGrowthAt, "has grown");

    // Block 1 holds the fingerprints whose bits above the lowest four are 1.
    Bytes blocks((3u << most) * kBlock);
    const std::size_t at = kBlock + (bits == 16 ? 10 : 5);
    blocks[at] = std::byte{0x11};
    EXPECT_NO_THROW(Filter::load(make_file({bits, 3, most, 0, 1, 1, 0}, blocks)));
    blocks[at] = std::byte{0x21};
    expect_refusal(make_file({bits, 3, most, 0, 1, 1, 0}, blocks), kHeader + at,
                   "in block 1 a fingerprint belongs to another block");
  }
}

}  // namespace
}  // namespace nestline
