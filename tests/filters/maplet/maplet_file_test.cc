// Maplets in files: what is written is read, by loading and by mapping, and nothing else is.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/filters/file/file_format.h"
#include "nestline/expiring_filter.h"
#include "nestline/filter.h"
#include "nestline/io.h"
#include "nestline/maplet.h"
#include "tests/filters/file/format_tools.h"
#include "tests/filters/file/golden.h"
#include "tests/filters/maplet/pairs.h"
#include "tests/filters/maplet/small_maplet.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/keys_of_kinds.h"
#include "tests/support/temp_folder.h"

namespace nestline::test { namespace {

namespace fs = std::filesystem;

class MapletFileTest : public testing::TestWithParam<int> {
 protected:
  [[nodiscard]] int layout() const { return GetParam(); }
  Maplet filled(std::uint64_t capacity, std::uint64_t pairs) {
    Maplet maplet(options_of(layout(), capacity, 2 * pairs, 11));
    std::mt19937_64 random(pairs);
    for (std::uint64_t i = 0; i < pairs; ++i) {
      const std::uint64_t key = random() % pairs;
      const std::uint64_t value = i % maplet.max_value();
      if (maplet.insert(key, value)) pairs_.insert(key, value);
    }
    return maplet;
  }
  const TempFolder folder_;
  Pairs pairs_;
};

INSTANTIATE_TEST_SUITE_P(Layouts, MapletFileTest, testing::ValuesIn(MapletLayouts::kNumbers),
                         [](const auto& instance) { return name_of_layout(instance.param); });

TEST_P(MapletFileTest, ReadsWhatItWrote) {
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

TEST_P(MapletFileTest, AMovedMapletHasTheBytesOfACopy) {
  Maplet maplet = filled(500, 3000);
  const Bytes bytes = saved_bytes(maplet);
  Bytes moved;
  save(std::move(maplet), [&](std::span<const std::byte> piece) {
    moved.insert(moved.end(), piece.begin(), piece.end());
  });
  EXPECT_EQ(moved, bytes);
}

TEST_P(MapletFileTest, AReadMapletGoesOn) {
  Maplet read = Maplet::load(saved_bytes(filled(500, 3000)));
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t key = 1'000'000 + i;
    ASSERT_TRUE(read.insert(key, i % 15));
    pairs_.insert(key, i % 15);
  }
  pairs_.expect_in(read);
}

// Damage that the checksums do not show, since they were made after it.
TEST_P(MapletFileTest, RefusesBlocksThatNoMapletLeaves) {
  const Bytes good = saved_bytes(filled(100, 0));
  const auto with = [&](std::size_t at, std::uint8_t value) {
    Bytes bytes = good;
    bytes[kPageHeaderBytes + at] = std::byte{value};
    const std::size_t blocks = bytes.size() - kPageHeaderBytes - 2 * kChecksumBytes;
    const ChecksumBytes section =
        encode_checksum(std::span(bytes).subspan(kPageHeaderBytes, blocks));
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
  const std::string low_byte = "low byte is 0";
  const std::string not_zero = "a free slot is not all 0";
  struct Wrong {
    std::size_t at;
    std::uint8_t value;
    std::string cause;
  };
  const std::map<int, std::vector<Wrong>> all_wrong = {
      {Maplet8And4::kNumber, {{40, 1, not_zero}, {59, 1, not_zero}}},
      {Maplet12And4::kNumber, {{1, 1, low_byte}, {1, 0x10, not_zero}, {59, 0x10, not_zero}}},
      {Maplet8And8::kNumber, {{1, 1, not_zero}, {59, 1, not_zero}}},
      {Maplet12And8::kNumber,
       {{1, 1, low_byte}, {1, 0x10, not_zero}, {48, 1, not_zero}, {59, 1, not_zero}}},
      {Maplet16And16::kNumber, {{1, 1, low_byte}, {30, 1, not_zero}, {59, 1, not_zero}}},
      {kMapletBits, {{1, 1, low_byte}, {16, 1, not_zero}, {55, 1, not_zero}, {56, 1, not_zero}}},
  };
  for (const Wrong& wrong : all_wrong.at(layout())) {
    expect_refused(wrong.at, wrong.value, wrong.cause);
  }
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

TEST_P(MapletFileTest, AMappedMapletRefusesADamagedSectionOnly) {
  // So many that each third of the blocks is a section.
  const std::uint64_t pairs = 3 * kSectionBytes / kBlockBytes * slots_of(layout()) * 9 / 10;
  const Maplet maplet = filled(pairs, pairs);
  Bytes bytes = saved_bytes(maplet);
  bytes[kPageHeaderBytes + kSectionBytes + 1000] ^= std::byte{1};
  write_bytes(folder_ / "damaged", bytes);
  const auto mapped = MappedMaplet::open(folder_ / "damaged");
  std::array<std::uint64_t, Maplet::kMaxCandidates> values;
  std::size_t asked = 0;
  std::size_t refused = 0;
  std::size_t answered = 0;
  for (const auto& [key, value] : pairs_) {
    if (++asked % 16 != 0) continue;
    try {
      const std::size_t count = mapped.find(key, values);
      Pairs::expect_among(pairs_.values(key), std::span(values).first(count));
      ++answered;
    } catch (const FormatError& error) {
      EXPECT_EQ(error.offset, kPageHeaderBytes + kSectionBytes);
      ++refused;
    }
  }
  EXPECT_GT(refused, asked / 16 / 5);
  EXPECT_GT(answered, asked / 16 / 5);
  std::vector<std::uint32_t> first;
  std::vector<std::uint64_t> all;
  EXPECT_THROW((void)mapped.find(sequence(0, pairs), first, all), FormatError);
}

// The golden file, which every later version reads (golden.h).
class MapletGoldenTest : public testing::TestWithParam<golden::MapletGolden> {
 protected:
  static Bytes read_golden(const std::string& name) {
    return read_bytes(NESTLINE_TEST_DATA "/../file/golden/" + name);
  }
  const std::string name_ = GetParam().name;
};
INSTANTIATE_TEST_SUITE_P(Goldens, MapletGoldenTest, testing::ValuesIn(golden::kMapletGoldens),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST_P(MapletGoldenTest, IsReadAndGivesTheSameAnswers) {
  const Bytes file = read_golden(name_ + ".nest");
  const Maplet maplet = Maplet::load(file);
  EXPECT_EQ(maplet.value_bits(), 8);
  EXPECT_EQ(maplet.bits(), 12);
  EXPECT_EQ(maplet.growth(), GetParam().fields.growth);
  EXPECT_EQ(maplet.seed(), GetParam().fields.seed);
  EXPECT_EQ(maplet.capacity(), GetParam().fields.capacity);
  const std::string answers = text_of(read_golden(name_ + ".answers"));
  EXPECT_EQ(golden::maplet_answers(maplet), answers);
  EXPECT_EQ(golden::maplet_answers(
                MappedMaplet::open(NESTLINE_TEST_DATA "/../file/golden/" + name_ + ".nest")),
            answers);
  EXPECT_EQ(saved_bytes(maplet), file);
}

TEST_P(MapletGoldenTest, IsBuiltTheSameAgain) {
  EXPECT_EQ(format_tools::checksum(saved_bytes(golden::build(GetParam()))),
            golden::checksum_of_built(name_, read_golden(name_ + ".nest")));
}

TEST(MapletGoldens, BytesAreThese) {
  EXPECT_EQ(
      format_tools::checksum(read_bytes(NESTLINE_TEST_DATA "/../file/golden/m268_grown.nest")),
      0x5d1c5fe8b10c71f1u);
}

// Of every number of a layout: a file is read as what it is, and as nothing else.
TEST(MapletFiles, EveryNumberIsOfOneKindOrNone) {
  std::vector<std::uint32_t> numbers = sequence<std::uint32_t>(0, 1100);
  for (const int layout : MapletLayouts::kNumbers) {
    const auto number = static_cast<std::uint32_t>(layout);
    for (const std::uint32_t bit : {10u, 16u, 31u}) numbers.push_back(number | 1u << bit);
  }
  numbers.push_back(~0u);
  for (const std::uint32_t number : numbers) {
    SCOPED_TRACE(number);
    const format_tools::Fields fields = {.bits = number, .base_blocks = 64};
    const Bytes file = format_tools::make_empty_file(fields);
    const auto is_read = [](auto&& read) {
      try {
        read();
        return true;
      } catch (const FormatError& error) {
        EXPECT_EQ(error.offset, format_tools::kBitsAt);
        EXPECT_FALSE(error.cause.empty());
        return false;
      }
    };
    const int layout = number < 1u << 20 ? static_cast<int>(number) : 0;
    EXPECT_EQ(is_read([&] { (void)Filter::load(file); }), is_width(layout));
    EXPECT_EQ(is_read([&] { (void)Maplet::load(file); }), is_maplet(layout));
    EXPECT_EQ(
        is_read([&] {
          (void)ExpiringFilter::load(format_tools::make_empty_expiring_file(fields, {.swept = 64}));
        }),
        layout == expiring_layout(8) || layout == expiring_layout(12));
  }
}

TEST(MapletFiles, FiltersAndMapletsAreToldApart) {
  for (const int layout : MapletLayouts::kNumbers) {
    const Bytes file = saved_bytes(small_maplet(layout, 20));
    expect_error<FormatError>([&] { (void)Filter::load(file); },
                              "this is a maplet and not a filter: load it as a maplet");
    expect_error<FormatError>([&] { (void)ExpiringFilter::load(file); },
                              "this is a maplet and not an expiring filter");
  }
  for (const int bits : kFilterWidths) {
    const Bytes file = test::saved_bytes(Filter({.capacity = 100, .bits = bits}));
    expect_error<FormatError>([&] { (void)Maplet::load(file); },
                              "this is a filter and not a maplet: load it as a filter");
  }
}

// Numbers that the header of such a maplet cannot have.
TEST_P(MapletFileTest, RefusesHostileHeaders) {
  const auto bits = static_cast<std::uint32_t>(layout());
  const std::uint64_t slots = 64 * slots_of(layout());
  using format_tools::Fields;
  const auto expect_refused = [&](const Fields& fields, std::size_t at) {
    SCOPED_TRACE(at);
    const Bytes file = format_tools::make_file(fields, Bytes(64 * kBlockBytes));
    EXPECT_EQ(error_of<FormatError>([&] { (void)Maplet::load(file); }).value().offset, at);
    write_bytes(folder_ / "hostile", file);
    EXPECT_THROW((void)MappedMaplet::open(folder_ / "hostile", Verify::all), FormatError);
  };
  const Fields good = {.bits = bits, .base_blocks = 64, .capacity = slots};
  EXPECT_EQ(Maplet::load(format_tools::make_empty_file(good)).slots(), slots);
  const auto with = [&](auto change) {
    Fields fields = good;
    change(fields);
    return fields;
  };
  using namespace format_tools;
  expect_refused(with([](Fields& f) { f.hash_version = 3; }), kHashVersionAt);
  expect_refused(with([](Fields& f) { f.hash_version = 4; }), kHashVersionAt);
  expect_refused(with([](Fields& f) { f.hash_version = 5; }), kHashVersionAt);
  expect_refused(with([&](Fields& f) { f.growth = max_growth(layout()) + 1; }), kGrowthAt);
  expect_refused(with([](Fields& f) { f.growth = ~0u; }), kGrowthAt);
  expect_refused(with([](Fields& f) { f.base_blocks = 0; }), kBaseBlocksAt);
  expect_refused(with([](Fields& f) { f.base_blocks = kMaxBlocks + 1; }), kBaseBlocksAt);
  expect_refused(with([&](Fields& f) { f.keys = slots + 1; }), kKeysAt);
  expect_refused(with([](Fields& f) { f.keys = 1; }), kKeysAt);  // its blocks hold none
  expect_refused(with([&](Fields& f) { f.capacity = slots + 1; }), kCapacityAt);
  expect_refused(with([](Fields& f) { f.capacity = 0; }), kCapacityAt);
  expect_refused(with([](Fields& f) { f.max_capacity = ~std::uint64_t{0}; }), kMaxCapacityAt);
}

}  // namespace
}  // namespace nestline::test
