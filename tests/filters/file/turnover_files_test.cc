// Files of filters that turn over (hash version 4): they are read as they were written, with their
// guest levels, and go on as the filter would have. Those of version 3 become of version 4. What no
// such filter leaves is refused, and what one could leave is usable, whatever is in its blocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lib/engine/kernels/build_kernels.h"
#include "lib/engine/place/lanes.h"
#include "lib/filters/filter/blocks.h"
#include "nestline/concurrent_filter.h"
#include "nestline/expiring_filter.h"
#include "nestline/io.h"
#include "nestline/maplet.h"
#include "tests/filters/file/format_tools.h"
#include "tests/filters/file/io_fixture.h"
#include "tests/support/errors.h"
#include "tests/support/model.h"

namespace nestline { namespace {

using namespace format_tools;

constexpr std::uint64_t kTurning = 20'000;  // keys

std::uint32_t level_of(const Bytes& file, std::size_t block) {
  return std::to_integer<std::uint32_t>(file[kHeader + block * kBlock + 61]) >> 1 & 15;
}

std::uint32_t highest_level(const Bytes& file) {
  std::uint32_t highest = 0;
  for (std::size_t block = 0; block < block_bytes(file) / kBlock; ++block) {
    highest = std::max(highest, level_of(file, block));
  }
  return highest;
}

std::uint32_t version_of(const Bytes& file) {
  return static_cast<std::uint32_t>(get64(file, kHashVersionAt));
}

// Replaces the keys from `first` on by as many new ones.
template <class AnyFilter>
void replace(AnyFilter& filter, std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t key = first; key < first + count; ++key) {
    ASSERT_TRUE(filter.erase(key));
    ASSERT_TRUE(filter.insert(key + kTurning));
  }
}

class TurnoverFiles : public IoTest, public testing::WithParamInterface<int> {
 protected:
  // Full, with half of its keys replaced; those of 5000 on are there.
  static Filter turned() {
    Filter filter({.capacity = kTurning, .bits = GetParam(), .seed = 3, .turns_over = true});
    for (std::uint64_t key = 0; key < kTurning; ++key) EXPECT_TRUE(filter.insert(key));
    replace(filter, 0, kTurning / 2);
    return filter;
  }
  const fs::path file_ = path("turning.nest");
};
INSTANTIATE_TEST_SUITE_P(Widths, TurnoverFiles, testing::ValuesIn(kFilterWidths));

TEST_P(TurnoverFiles, AreReadAsTheyWereWritten) {
  const Filter filter = turned();
  const Bytes bytes = test::saved_bytes(filter);
  EXPECT_EQ(version_of(bytes), 4u);
  EXPECT_GT(highest_level(bytes), 0u);
  save(filter, file_);
  EXPECT_EQ(read(file_), bytes);

  const Filter loaded = Filter::load(file_);
  EXPECT_TRUE(loaded.turns_over());
  EXPECT_EQ(test::saved_bytes(loaded), bytes);
  expect_same(filter, loaded);
  std::size_t given = 0;
  const ByteSource source([&](std::span<std::byte> to) {
    const std::size_t count = std::min(to.size(), bytes.size() - given);
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(given), count, to.begin());
    given += count;
    return count;
  });
  EXPECT_EQ(test::saved_bytes(Filter::load(source)), bytes);

  for (const Verify verify : {Verify::none, Verify::lazily, Verify::all}) {
    const MappedFilter mapped = MappedFilter::open(file_, verify);
    EXPECT_TRUE(mapped.turns_over());
    EXPECT_NO_THROW(mapped.verify());
    expect_same(filter, mapped);
    EXPECT_EQ(test::saved_bytes(mapped.snapshot()), bytes);
    for (std::uint64_t key = kTurning / 2; key < kTurning * 3 / 2; ++key) {
      ASSERT_EQ(mapped.count(key), filter.count(key)) << key;
    }
  }
}

TEST_P(TurnoverFiles, GoOnAsTheFilterWould) {
  Filter filter = turned();
  Filter loaded = Filter::load(test::saved_bytes(filter));
  ConcurrentFilter concurrent = ConcurrentFilter::load(test::saved_bytes(filter));
  EXPECT_TRUE(concurrent.turns_over());
  EXPECT_EQ(test::saved_bytes(concurrent.snapshot()), test::saved_bytes(filter));
  const std::uint64_t first = kTurning / 2;
  replace(filter, first, kTurning / 4);
  replace(loaded, first, kTurning / 4);
  replace(concurrent, first, kTurning / 4);
  EXPECT_EQ(test::saved_bytes(loaded), test::saved_bytes(filter));
  // A ConcurrentFilter may choose other slots, and its file has neither locks nor versions.
  save(concurrent, file_);
  EXPECT_EQ(version_of(read(file_)), 4u);
  EXPECT_GT(highest_level(read(file_)), 0u);
  EXPECT_EQ(read(file_), test::saved_bytes(std::move(concurrent).freeze()));

  Filter saved = Filter::load(file_);
  EXPECT_EQ(saved.size(), kTurning);
  for (Filter* each : {&loaded, &saved}) {
    for (std::uint64_t key = kTurning * 3 / 4; key < kTurning * 7 / 4; ++key) {
      ASSERT_TRUE(each->may_contain(key)) << key;
    }
    for (std::uint64_t key = kTurning * 3 / 4; key < kTurning * 7 / 4; ++key) {
      ASSERT_TRUE(each->erase(key)) << key;
    }
    EXPECT_EQ(each->size(), 0u);
    EXPECT_EQ(highest_level(test::saved_bytes(*each)), 0u);
  }
}

TEST_P(TurnoverFiles, AreKeptWhenTheyGrow) {
  Filter filter = turned();
  ASSERT_TRUE(filter.grow());
  const Bytes bytes = test::saved_bytes(filter);
  EXPECT_EQ(version_of(bytes), 4u);
  Filter loaded = Filter::load(bytes);
  EXPECT_EQ(test::saved_bytes(loaded), bytes);
  expect_same(filter, loaded);
  ASSERT_TRUE(loaded.grow());
  for (std::uint64_t key = kTurning / 2; key < kTurning * 3 / 2; ++key) {
    ASSERT_TRUE(loaded.erase(key)) << key;
  }
  EXPECT_EQ(loaded.size(), 0u);
}

TEST_P(TurnoverFiles, KeepCopies) {
  Filter filter({.capacity = kTurning, .bits = GetParam(), .seed = 3, .turns_over = true});
  std::uint64_t copies = 0;
  for (std::uint64_t key = 0; key < 1000; ++key) {
    for (int copy = 0; copy < 8; ++copy) copies += bool(filter.insert(key));
  }
  EXPECT_GT(copies, 4000u);
  Filter loaded = Filter::load(test::saved_bytes(filter));
  for (std::uint64_t key = 0; key < 1000; ++key) {
    ASSERT_EQ(loaded.count(key), filter.count(key)) << key;
  }
  std::uint64_t erased = 0;
  for (std::uint64_t key = 0; key < 1000; ++key) {
    while (loaded.erase(key)) ++erased;
  }
  EXPECT_EQ(erased, copies);
  EXPECT_EQ(loaded.size(), 0u);
  EXPECT_NO_THROW(Filter::load(test::saved_bytes(loaded)));
}

// The same filter in a file of version 3, whose levels end at each eighth class up to 96, one above
// those of version 4; above 96 guests have any slots, and so have they in a block with the highest
// mark, as each `mixed` gets. So does one in which a native of its highest class stays in the lane:
// at a load of 0.94 many do.
Bytes older(const Filter& filter, std::size_t mixed) {
  const Filter copy = filter.snapshot();
  const auto& state = FilterAccess::blocks(copy);
  std::vector<std::uint32_t> ends;
  for (std::uint64_t i = 0; i < state.view.geometry.blocks(); ++i) {
    Block& block = state.blocks()[i];
    const std::uint32_t level = block.guest_level();
    EXPECT_NE(level, kOpenToAllLevel);
    ends.push_back(level == 0 ? 0 : std::min(kLevelTop[level] + 1u, 96u));
    const bool is_right = level == 0 || kLevelTop[level] > 95 || is_open_level(level) ||
                          state.engine->build->raise_guest_level(
                              block, block_classes(state.bits, state.view.geometry, i), level + 1);
    if (!is_right || (mixed != 0 && i % mixed == 0)) block.set_overflow_mark(255);
  }
  Bytes file = test::saved_bytes(copy);
  put32(file, kHashVersionAt, 3);
  for (std::size_t block = 0; block < ends.size(); ++block) {
    file[kHeader + block * kBlock + 61] = std::byte(ends[block] / 8 << 1);
  }
  seal(file);
  return file;
}

// At 12 bits such a filter refuses seven keys in a million at a load of 0.95, none at 0.94.
TEST_P(TurnoverFiles, OfVersion3BecomeOfVersion4) {
  for (const double load : {0.8, 0.94}) {
    for (const std::size_t mixed : {0u, 20u}) {
      SCOPED_TRACE(std::to_string(load) + ", mixed " + std::to_string(mixed));
      Filter filter({.capacity = kTurning, .bits = GetParam(), .load = 0.95, .turns_over = true});
      const auto keys = static_cast<std::uint64_t>(load * static_cast<double>(filter.slots()));
      std::uint64_t first = 0, next = 0;  // those in between are in the filter
      const auto turn_over = [&](Filter& of, double turnovers) {
        const auto end = next + static_cast<std::uint64_t>(turnovers * static_cast<double>(keys));
        for (; next < end; ++next) {
          if (next >= keys) {
            ASSERT_TRUE(of.erase(first)) << first;
            ++first;
          }
          ASSERT_TRUE(of.insert(next));
        }
      };
      turn_over(filter, 3);
      const Bytes file = older(filter, mixed);
      Filter loaded = Filter::load(file);
      EXPECT_TRUE(loaded.turns_over());
      if (mixed == 0 && load < 0.9) {
        EXPECT_LT(loaded.expected_fpr(), 1.05 * filter.expected_fpr());
      }
      EXPECT_EQ(version_of(test::saved_bytes(loaded)), 4u);
      write(file_, file);
      const MappedFilter mapped = MappedFilter::open(file_);
      EXPECT_TRUE(mapped.turns_over());
      expect_same(loaded, mapped);
      EXPECT_EQ(test::saved_bytes(mapped.snapshot()), test::saved_bytes(loaded));
      EXPECT_EQ(test::saved_bytes(ConcurrentFilter::load(file).freeze()),
                test::saved_bytes(loaded));
      // It merges with those of today, and turns over as they do.
      Filter other({.capacity = kTurning, .bits = GetParam(), .load = 0.95, .turns_over = true});
      ASSERT_TRUE(other.insert(~std::uint64_t{0}));
      other.merge(loaded);
      for (std::uint64_t key = first; key < next; ++key) ASSERT_TRUE(other.may_contain(key)) << key;
      turn_over(loaded, 6);
      for (std::uint64_t key = first; key < next; ++key) ASSERT_TRUE(loaded.may_contain(key));
      if (mixed == 0 && load < 0.9) {
        EXPECT_LT(loaded.expected_fpr(), 1.05 * filter.expected_fpr());
      }
      for (; first < next; ++first) ASSERT_TRUE(loaded.erase(first)) << first;
      EXPECT_EQ(loaded.size(), 0u);
    }
  }
}

TEST(TurnoverFile, NeedsTheOption) {
  EXPECT_EQ(version_of(test::saved_bytes(Filter({.capacity = kTurning}))), 2u);
  // Below 64 blocks the option is without effect.
  const Filter small({.capacity = 60 * 57, .bits = 8, .turns_over = true});
  EXPECT_FALSE(small.turns_over());
  EXPECT_EQ(version_of(test::saved_bytes(small)), 2u);
}

// The flaw that loading the bytes as F finds.
template <class F>
void expect_flaw(const Bytes& bytes, std::uint64_t offset, const std::string& part) {
  const auto error = test::error_of<FormatError>([&] { const F loaded = F::load(bytes); });
  ASSERT_TRUE(error) << part;
  EXPECT_EQ(error->offset, offset) << error->what();
  EXPECT_NE(error->cause.find(part), std::string::npos) << error->what();
}

TEST(HostileTurnover, HeadersOfBlocksAreChecked) {
  for (const std::uint32_t bits : {8u, 9u, 10u, 12u, 16u}) {
    const auto file = [&](std::uint32_t version, std::size_t at, unsigned value) {
      Bytes blocks(64 * kBlock);
      blocks[kBlock + at] = std::byte(value);
      return make_file({bits, 64, 0, 0, 0, 1, 0, version}, blocks);
    };
    for (unsigned level = 0; level < 16; ++level) {
      SCOPED_TRACE(level);
      const Bytes bytes = file(4, 61, level << 1);
      EXPECT_EQ(test::saved_bytes(Filter::load(bytes)), bytes);
      if (level <= 12) {
        EXPECT_EQ(Filter::load(file(3, 61, level << 1)).size(), 0u);
      } else {
        expect_flaw<Filter>(file(3, 61, level << 1), kHeader + kBlock + 61,
                            "in block 1 the guest level is too high");
      }
      if (level == 0) continue;
      expect_flaw<Filter>(file(2, 61, level << 1), kHeader + kBlock + 61,
                          "in block 1 lock and version are not 0");
      expect_flaw<Filter>(file(4, 61, level << 1 | 1), kHeader + kBlock + 61, "lock and version");
    }
    for (const auto& [at, value] : std::initializer_list<std::pair<std::size_t, unsigned>>{
             {61, 0x01}, {61, 0x20}, {61, 0x80}, {62, 0x01}, {63, 0x80}}) {
      expect_flaw<Filter>(file(4, at, value), kHeader + kBlock + 61,
                          "in block 1 lock and version are not 0");
    }
  }
}

TEST(HostileTurnover, OnlyFiltersOfEnoughBlocksHaveIt) {
  for (const std::uint32_t version : {3u, 4u}) {
    for (const std::uint64_t bases : {1u, 2u, 63u}) {
      for (const std::uint32_t growth : {0u, 3u}) {
        expect_flaw<Filter>(make_empty_file({8, bases, growth, 0, 0, 1, 0, version}), kBaseBlocksAt,
                            "is below 64, the least of filters that turn over");
      }
    }
    EXPECT_TRUE(Filter::load(make_empty_file({8, 64, 0, 0, 0, 1, 0, version})).turns_over());
    expect_flaw<Maplet>(make_empty_file({20, 64, 0, 0, 0, 1, 0, version}), kHashVersionAt,
                        "only filters have this hash version");
    EXPECT_NO_THROW(Maplet::load(make_empty_file({20, 64, 0, 0, 0, 1, 0, 2})));
    for (const std::uint32_t bits : {40u, 44u}) {
      expect_flaw<ExpiringFilter>(make_empty_expiring_file({bits, 64, 0, 0, 0, 1, 0, version}, {}),
                                  kHashVersionAt, "only filters have this hash version");
      EXPECT_NO_THROW(
          ExpiringFilter::load(make_empty_expiring_file({bits, 64, 0, 0, 0, 1, 0, 2}, {})));
      // As a filter it is refused for what it is.
      expect_flaw<Filter>(make_empty_expiring_file({bits, 64, 0, 0, 0, 1, 0, version}, {}), kBitsAt,
                          "this is an expiring filter and not a filter");
    }
  }
}

TEST(HostileTurnover, EveryTruncationAndEveryDamagedByteIsRefused) {
  Filter filter = Filter::load(make_empty_file({8, 64, 0, 9, 0, 3600, 0, 4}));
  for (std::uint64_t key = 0; key < 3600; ++key) ASSERT_TRUE(filter.insert(key));
  Bytes file = test::saved_bytes(filter);
  EXPECT_GT(highest_level(file), 0u);
  for (std::size_t length = 0; length < file.size(); length += length < kHeader ? 101 : 1) {
    const Bytes cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(length));
    const auto error = test::error_of<FormatError>([&] { const auto f = Filter::load(cut); });
    ASSERT_TRUE(error) << length;
    ASSERT_EQ(error->offset, length) << error->what();
  }
  for (std::size_t at = 0; at < file.size(); at += at < kFieldsEnd || at >= kHeader ? 1 : 61) {
    file[at] ^= std::byte(1u << at % 8);
    ASSERT_THROW(Filter::load(file), FormatError) << at;
    file[at] ^= std::byte(1u << at % 8);
  }
  EXPECT_NO_THROW(Filter::load(file));
}

// Fingerprints, marks and levels that no checks refuse, but that no inserts leave: natives in guest
// lanes that count as guests, guests that no mark covers, open blocks.
class ForgedTurnover : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Widths, ForgedTurnover, testing::ValuesIn(kFilterWidths));

TEST_P(ForgedTurnover, IsAFilterAllTheSame) {
  const int bits = GetParam();
  std::mt19937_64 random(static_cast<unsigned>(bits));
  const auto below = [&](std::uint64_t end) { return random() % end; };
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const std::uint32_t version = round % 4 == 3 ? 3 : 4;
    const std::uint64_t bases = 64 + below(40);
    const auto growth = static_cast<std::uint32_t>(below(3));
    const std::uint64_t full = below(101);  // percent
    const std::uint64_t classes = round % 2 == 0 ? 255 : 1 + below(40);
    Bytes blocks((bases << growth) * kBlock);
    std::uint64_t keys = 0;
    for (std::uint64_t i = 0; i < bases << growth; ++i) {
      Block block{};
      visit_layout(bits, [&](auto layout) {
        using L = decltype(layout);
        for (std::uint32_t slot = 0; slot < L::kSlots; ++slot) {
          if (below(100) >= full) continue;
          constexpr auto kWidth = static_cast<std::uint32_t>(L::kBits);
          std::uint64_t fingerprint = below(std::uint64_t{1} << kWidth);
          if (kWidth - growth >= 8) fingerprint = (fingerprint & ~0xffu) | (1 + below(classes));
          fingerprint &= (std::uint64_t{1} << (kWidth - growth)) - 1;
          fingerprint |= (i & ((1u << growth) - 1)) << (kWidth - growth);
          if ((fingerprint & 0xff) == 0) continue;
          L::set(block, slot, static_cast<std::uint32_t>(fingerprint));
          ++keys;
        }
      });
      const std::array<std::uint64_t, 4> marks = {0, 255, below(256), below(100)};
      block.set_overflow_mark(static_cast<std::uint32_t>(marks[below(4)]));
      block.set_guest_level(static_cast<std::uint32_t>(below(version == 3 ? 13 : 16)));
      std::ranges::copy(std::as_bytes(std::span(block.bytes)),
                        blocks.begin() + static_cast<std::ptrdiff_t>(i * kBlock));
    }
    const std::uint64_t slots = (bases << growth) * slots_of(bits);
    const Bytes file = make_file({static_cast<std::uint32_t>(bits), bases, growth, 7, keys,
                                  slots * 9 / 10, round % 3 == 0 ? slots * 3 / 2 : 0, version},
                                 blocks);
    Filter filter = Filter::load(file);
    if (version == 4) {
      ASSERT_EQ(test::saved_bytes(filter), file);
    }
    ConcurrentFilter concurrent = ConcurrentFilter::load(file);
    const auto change = [&](auto& changed) {
      std::uint64_t stored = 0;
      // A refusal looks at all blocks, and of a full filter most inserts are refused.
      for (int changes = full < 80 ? 4000 : 500; changes > 0; --changes) {
        const std::uint64_t which = below(3000);
        switch (below(5)) {
          case 0:
          case 1: {
            const bool is_stored = bool(changed.insert(which));
            stored += is_stored;
            ASSERT_TRUE(!is_stored || changed.may_contain(which));
            break;
          }
          case 2:
            stored -= changed.erase(which);
            break;
          case 3:
            stored += bool(changed.insert_unique(which));
            break;
          default:
            (void)changed.count(which);
        }
      }
      EXPECT_EQ(changed.size(), keys + stored);
      (void)changed.expected_fpr();
    };
    change(filter);
    change(concurrent);
    const Bytes changed = test::saved_bytes(filter);
    EXPECT_EQ(test::saved_bytes(Filter::load(changed)), changed);
    Filter other = Filter::load(test::saved_bytes(std::move(concurrent).freeze()));
    while (other.growth() < filter.growth() && other.grow()) continue;
    while (filter.growth() < other.growth() && filter.grow()) continue;
    try {
      filter.merge(other, Copies::that_fit);
    } catch (const std::length_error&) {
    }
    (void)filter.grow();
    EXPECT_NO_THROW(Filter::load(test::saved_bytes(filter)));
  }
}

}  // namespace
}  // namespace nestline
