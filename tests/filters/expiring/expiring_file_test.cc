// Expiring filters in files: what is written is read, by loading and by mapping, at any point of a
// tick, and nothing else is. What is read from bytes that nobody wrote is sound all the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "lib/engine/place/layout.h"
#include "nestline/expiring_filter.h"
#include "nestline/io.h"
#include "tests/filters/expiring/small_filter.h"
#include "tests/filters/file/format_tools.h"
#include "tests/filters/file/golden.h"
#include "tests/support/answers.h"
#include "tests/support/files.h"
#include "tests/support/keys_of_kinds.h"
#include "tests/support/temp_folder.h"

namespace nestline::test { namespace {

using namespace format_tools;

std::string read_golden(const std::string& name) {
  return read_file(NESTLINE_TEST_DATA "/../file/golden/" + name);
}

// The cause of the error that a call throws.
std::string cause_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const FormatError& error) {
    return std::string(error.cause);
  }
  return "no error";
}
// The one of reading these bytes.
std::string cause_in(const Bytes& bytes) {
  return cause_of([&] { (void)ExpiringFilter::load(bytes); });
}

class ExpiringGoldenTest : public testing::TestWithParam<golden::ExpiringGolden> {
 protected:
  const std::string name_ = GetParam().name;
  const TempFolder folder_;
};

TEST_P(ExpiringGoldenTest, IsReadAndGivesTheSameAnswers) {
  const Bytes file = bytes_of_text(read_golden(name_ + ".nest"));
  const std::string answers = read_golden(name_ + ".answers");
  const ExpiringFilter filter = ExpiringFilter::load(file);
  EXPECT_EQ(filter.now(), GetParam().times.tick + GetParam().ticks);
  EXPECT_EQ(filter.ttl_ticks(), GetParam().times.life);
  EXPECT_EQ(filter.seed(), GetParam().fields.seed);
  EXPECT_EQ(filter.capacity(), GetParam().fields.capacity);
  EXPECT_GT(filter.load_factor(), 0.8);
  EXPECT_EQ(golden::expiring_answers(filter), answers);
  EXPECT_EQ(saved_bytes(filter), file);

  write_bytes(folder_ / name_, file);
  const auto mapped = MappedExpiringFilter::open(folder_ / name_);
  EXPECT_EQ(mapped.now(), filter.now());
  EXPECT_EQ(mapped.ttl_ticks(), filter.ttl_ticks());
  EXPECT_EQ(mapped.bits(), filter.bits());
  EXPECT_EQ(mapped.size(), filter.size());
  EXPECT_EQ(golden::expiring_answers(mapped), answers);
  const auto keys = sequence(0, golden::kAsked);
  EXPECT_EQ(answers_of_each(mapped, keys), answers_of(filter, keys));
}

// Replicas that get the same operations must hold the same bytes.
TEST_P(ExpiringGoldenTest, IsBuiltTheSameAgain) {
  EXPECT_EQ(checksum(saved_bytes(golden::build(GetParam()))),
            golden::checksum_of_built(name_, bytes_of_text(read_golden(name_ + ".nest"))));
}

// And so must a filter that is read and goes on.
TEST_P(ExpiringGoldenTest, GoesOnWhereItWas) {
  ExpiringFilter built = golden::build(GetParam());
  ExpiringFilter read = ExpiringFilter::load(saved_bytes(built));
  std::mt19937_64 random(1);
  for (int step = 0; step < 3000; ++step) {
    const std::uint64_t key = random() % 5000;
    const auto life = static_cast<unsigned>(1 + random() % 14);
    ASSERT_EQ(built.insert(key, life).outcome, read.insert(key, life).outcome);
    if (step % 61 == 0) {
      built.advance();
      read.advance();
    }
    if (step % 500 == 0) {
      ASSERT_EQ(saved_bytes(built), saved_bytes(read)) << step;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, ExpiringGoldenTest, testing::ValuesIn(golden::kExpiringGoldens),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(ExpiringGoldens, BytesAreThese) {
  EXPECT_EQ(checksum(bytes_of_text(read_golden("e40.nest"))), 0x14ab1c41cf4b86b8u);
  EXPECT_EQ(checksum(bytes_of_text(read_golden("e44.nest"))), 0xc3f5ec5653e9a82fu);
}

class ExpiringFileTest : public testing::Test {
 protected:
  // Small files: 70 blocks of which 64 are swept, and the other width with 3 blocks.
  static Bytes mid_sweep() { return saved_bytes(golden::build(golden::kExpiringGoldens[1])); }
  static Bytes unswept() { return saved_bytes(golden::build(golden::kExpiringGoldens[0])); }

  // Sound: lookups return, operations work, and nothing lives for ever.
  static void expect_sound(ExpiringFilter&& filter) {
    for (std::uint64_t key = 0; key < 40; ++key) {
      ASSERT_LE(filter.remaining_ticks(key), ExpiringFilter::kMaxTtlTicks);
      const Outcome outcome = filter.insert(key).outcome;
      ASSERT_EQ(filter.may_contain(key), outcome != Outcome::full);
    }
    for (unsigned tick = 0; tick < ExpiringFilter::kMaxTtlTicks + 3; ++tick) filter.advance();
    ASSERT_EQ(filter.size(), 0u);
    for (std::uint64_t key = 0; key < 40; ++key) ASSERT_FALSE(filter.may_contain(key));
  }
  void expect_sound_mapping(const Bytes& bytes) {
    write_bytes(folder_ / "mapped", bytes);
    const std::string cause = cause_of([&] {
      const auto mapped = MappedExpiringFilter::open(folder_ / "mapped");
      const auto keys = sequence(0, 500);
      std::vector<std::uint8_t> found(keys.size());
      (void)mapped.may_contain(keys, found);
      for (std::uint64_t key = 0; key < keys.size(); ++key) {
        ASSERT_LE(mapped.remaining_ticks(key), ExpiringFilter::kMaxTtlTicks);
        ASSERT_EQ(mapped.may_contain(key), found[key] != 0);
      }
    });
  }

  const TempFolder folder_;
};

// Damage that the checksums do not show, since they were made after it.
TEST_F(ExpiringFileTest, IsSoundWhateverTheBytesAre) {
  std::mt19937_64 random(1);
  for (const Bytes& good : {mid_sweep(), unswept()}) {
    std::size_t read = 0;
    std::size_t refused = 0;
    for (std::size_t i = 0; i < good.size() && !HasFatalFailure(); ++i) {
      Bytes bytes = good;
      bytes[i] ^= std::byte(1 << random() % 8);
      seal(bytes);
      try {
        expect_sound(ExpiringFilter::load(bytes));
        ++read;
      } catch (const FormatError&) {
        ++refused;
      }
      if (i % 16 == 0) expect_sound_mapping(bytes);
    }
    EXPECT_GT(read, 0u);
    EXPECT_GT(refused, 0u);
  }
}

TEST_F(ExpiringFileTest, RefusesHeadersThatNoFilterWrites) {
  const Bytes good = mid_sweep();
  const auto expect_refused = [&](auto&& change, const std::string& part) {
    Bytes bytes = good;
    change(bytes);
    seal_header(bytes);
    EXPECT_NE(cause_in(bytes).find(part), std::string::npos) << part << ": " << cause_in(bytes);
    write_bytes(folder_ / "hostile", bytes);
    EXPECT_EQ(cause_of([&] { (void)MappedExpiringFilter::open(folder_ / "hostile"); }),
              cause_in(bytes));
  };
  const std::uint64_t tick = get64(good, kTickAt);
  const auto life = [](std::uint32_t value) {
    return [value](Bytes& bytes) { put32(bytes, kLifeAt, value); };
  };
  const auto number = [](std::size_t at, std::uint64_t value) {
    return [at, value](Bytes& bytes) { put64(bytes, at, value); };
  };
  expect_refused(life(0), "the life, 0, is not in 1 to 14 ticks");
  expect_refused(life(15), "the life, 15, is not in 1 to 14 ticks");
  expect_refused(life(~0u), "is not in 1 to 14 ticks");
  expect_refused(number(kExchangedAt, tick + 1), "exchange of marks is not in the last 16 ticks");
  expect_refused(number(kExchangedAt, tick - 16), "exchange of marks is not in the last 16 ticks");
  expect_refused(number(kTickAt, 0), "exchange of marks is not in the last 16 ticks");
  expect_refused(number(kSweptAt, 71), "more blocks are swept than there are");
  expect_refused([](Bytes& bytes) { put32(bytes, kWaitingAt, 64); },
                 "inserts since the last slice");
  expect_refused(number(kExpiringFieldsEnd, 1), "reserved bytes");
  expect_refused(number(kTickAt - 8, 1), "reserved bytes");
  expect_refused(number(kTickAt + 8, 1), "reserved bytes");
  expect_refused([](Bytes& bytes) { put32(bytes, kGrowthAt, 1); }, "grown");
  expect_refused([](Bytes& bytes) { put32(bytes, kBitsAt, 41); }, "this is a filter and not");
  // The fields of expiring filters are reserved in others.
  Bytes filter = test::saved_bytes(Filter({.capacity = 100}));
  put32(filter, kLifeAt, 14);
  seal_header(filter);
  EXPECT_NE(cause_of([&] { (void)Filter::load(filter); }).find("reserved bytes"),
            std::string::npos);
}

// Ticks go on from 0 after 2^64 - 1.
TEST_F(ExpiringFileTest, HoldsEveryTickAroundTheLast) {
  ExpiringFilter filter({.capacity = 500});
  filter.advance(~std::uint64_t{0} - 20);
  for (std::uint64_t key = 0; key < 40; ++key) {
    EXPECT_TRUE(filter.insert(key));
    const Bytes bytes = saved_bytes(filter);
    const ExpiringFilter loaded = ExpiringFilter::load(bytes);
    ASSERT_EQ(loaded.now(), key - 21);
    ASSERT_EQ(saved_bytes(loaded), bytes);
    for (std::uint64_t old = 0; old <= key; ++old) {
      ASSERT_TRUE(key - old > 14 || loaded.may_contain(old));
    }
    expect_sound_mapping(bytes);
    filter.advance();
  }
  EXPECT_EQ(filter.size(), 15u);
}

TEST_F(ExpiringFileTest, RefusesBlocksThatNoFilterLeaves) {
  constexpr std::size_t kBlocks = 70;
  for (const int bits : {8, 12}) {
    const std::size_t nibbles = bits == 8 ? 40 : 1;  // the byte with the death of slot 0
    const auto with = [&](std::uint64_t swept, auto&& change) {
      Bytes bytes =
          make_empty_expiring_file({.bits = static_cast<std::uint32_t>(expiring_layout(bits)),
                                    .base_blocks = kBlocks,
                                    .keys = 1,
                                    .capacity = 100},
                                   {.tick = 21, .life = 5, .exchanged = 20, .swept = swept});
      change(bytes);
      seal(bytes);
      return bytes;
    };
    const auto slot = [&](std::size_t block, unsigned death) {
      return [=](Bytes& bytes) {
        put(bytes, kHeader + block * kBlock, 7, 1);
        put(bytes, kHeader + block * kBlock + nibbles, bits == 8 ? death : death << 4, 1);
      };
    };
    constexpr unsigned kDead = 21 % 16;
    EXPECT_EQ(cause_in(with(64, slot(63, kDead + 1))), "no error");
    EXPECT_EQ(cause_in(with(64, slot(63, kDead + 6))), "no error");
    EXPECT_EQ(cause_in(with(64, slot(64, kDead))), "no error");  // the sweep will come to it
    const auto refused = [&](const Bytes& bytes, const std::string& part) {
      EXPECT_NE(cause_in(bytes).find(part), std::string::npos) << part << ": " << cause_in(bytes);
    };
    refused(with(64, slot(63, kDead)), "a life is over or too long");
    refused(with(64, slot(64, kDead + 7)), "a life is over or too long");
    refused(with(64, slot(64, (kDead + 15) % 16)), "a life is over or too long");
    refused(with(64, [&](Bytes& bytes) { put(bytes, kHeader + nibbles, 0x10, 1); }),
            "a free slot is not all 0");
    refused(with(64, [](Bytes&) {}), "hold");
    const auto byte = [](std::size_t at) {
      return [=](Bytes& bytes) { put(bytes, kHeader + at, 1, 1); };
    };
    refused(with(64, byte(61)), "lock and version are not 0");
    refused(with(64, byte(kBlocks * kBlock + kBlocks)), "bytes after the next marks are not 0");
    refused(with(64, byte((kBlocks + 2) * kBlock - 1)), "bytes after the next marks are not 0");
    const auto both = [&](Bytes& bytes) {
      slot(0, kDead + 1)(bytes);
      byte(kBlocks * kBlock + kBlocks - 1)(bytes);
    };
    EXPECT_EQ(cause_in(with(64, both)), "no error");  // a next mark is as good as another
  }
}

// A mapped file whose checksums are right, but whose blocks are locked for ever.
TEST_F(ExpiringFileTest, AMappedFilterWaitsForNoLock) {
  for (const int bits : {8, 12}) {
    Bytes bytes = saved_bytes(small_expiring_filter(bits, 2));
    put(bytes, kHeader + 61, 1, 1);
    seal(bytes);
    write_bytes(folder_ / "locked", bytes);
    const auto mapped = MappedExpiringFilter::open(folder_ / "locked");
    const auto keys = sequence(0, 100);
    std::vector<std::uint8_t> found(keys.size());
    const std::size_t total = mapped.may_contain(keys, found);
    EXPECT_GT(total, 20u);  // "may be there", where nothing can be known
    EXPECT_LT(total, 80u);
    for (const std::uint64_t key : keys) {
      EXPECT_EQ(mapped.may_contain(key), found[key] != 0);
      EXPECT_LE(mapped.remaining_ticks(key), ExpiringFilter::kMaxTtlTicks);
    }
  }
}

TEST_F(ExpiringFileTest, AMappedFilterTakesADamagedSectionForFull) {
  ExpiringFilter filter({.capacity = 1'500'000, .bits = 8});
  const auto keys = sequence(0, 200'000);
  (void)filter.insert(keys, 3);
  filter.advance();
  Bytes bytes = saved_bytes(filter);
  ASSERT_GT(bytes.size(), kHeader + 2 * kSection);
  bytes[kHeader + kSection + 1000] ^= std::byte{1};
  write_bytes(folder_ / "damaged", bytes);
  EXPECT_THROW((void)ExpiringFilter::load(folder_ / "damaged"), FormatError);
  const auto mapped = MappedExpiringFilter::open(folder_ / "damaged");
  std::vector<std::uint8_t> found(keys.size());
  EXPECT_EQ(mapped.may_contain(keys, found), keys.size());
  std::size_t unknown = 0;
  std::size_t absent = 0;
  for (std::uint64_t key = 0; key < 10'000; ++key) {
    const unsigned left = mapped.remaining_ticks(key);
    ASSERT_TRUE(left == 2 || left == ExpiringFilter::kMaxTtlTicks) << left;
    unknown += left != 2;
    absent += !mapped.may_contain(key + (std::uint64_t{1} << 40));
  }
  EXPECT_GT(unknown, 1000u);
  EXPECT_LT(unknown, 9000u);
  EXPECT_GT(absent, 1000u);
}

}  // namespace
}  // namespace nestline::test
