// MappedFilter on damaged files: what each Verify promises, for a bit flipped anywhere. That it
// answers as Filter does on whole files is in io_test.cc.
#include "nestline/mapped_filter.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <ios>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lib/engine/place/layout.h"
#include "nestline/io.h"
#include "tests/filters/file/format_tools.h"
#include "tests/filters/file/io_fixture.h"
#include "tests/support/answers.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"

namespace nestline { namespace {

constexpr std::size_t kSmall = 300;  // blocks: one section
constexpr std::size_t kLarge = 2 * format_tools::kSection / format_tools::kBlock + 99;  // three

class MappedFilterTest : public IoTest, public testing::WithParamInterface<int> {
 protected:
  // Makes a file of this many blocks that is nine tenths full, so that many keys are in their
  // alternates. Some keys have a second copy.
  void make(std::size_t blocks) {
    const auto bits = static_cast<std::uint32_t>(GetParam());
    const std::size_t slots = blocks * (bits == 8 ? 60 : bits == 12 ? 40 : 30);
    filter_.emplace(Filter::load(format_tools::make_empty_file({bits, blocks, 0, 5, 0, slots, 0})));
    keys_ = sequence(0, slots * 9 / 10 - kTwice);
    EXPECT_EQ(filter_->insert(keys_), keys_.size());
    EXPECT_EQ(filter_->insert(sequence(0, kTwice)), kTwice);
    save(*filter_, file_);
  }

  // Flips a bit of the file where it lies.
  void flip(std::size_t at, unsigned bit) const {
    std::ifstream stream(file_, std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(at));
    test::write_over(file_, at, std::string(1, static_cast<char>(stream.get() ^ 1 << bit)));
  }

  // How many keys a batch finds.
  [[nodiscard]] std::size_t hits(const MappedFilter& mapped) const {
    std::vector<std::uint8_t> found(keys_.size());
    return mapped.may_contain(keys_, found);
  }

  // No lookup misses a key.
  void expect_no_miss(const MappedFilter& mapped) const {
    const test::Answers answers = test::answers_of(mapped, keys_);
    ASSERT_EQ(answers.hits(), keys_.size());
    std::size_t wrong = 0;
    for (std::uint64_t key = 0; key < keys_.size(); ++key) {
      wrong += answers.counts[key] < 1 + (key < kTwice);
      if (key % 8 != 0) continue;
      wrong += !mapped.may_contain(key);
      wrong += mapped.count(key) != answers.counts[key];
    }
    ASSERT_EQ(wrong, 0u);
  }

  static constexpr std::uint64_t kTwice = 200;
  const fs::path file_ = path("filter");
  std::vector<std::uint64_t> keys_;
  std::optional<Filter> filter_;
};

INSTANTIATE_TEST_SUITE_P(Widths, MappedFilterTest, testing::ValuesIn(kFilterWidths),
                         [](const auto& instance) {
                           return std::to_string(instance.param) + "_bits";
                         });

// A hundred places: in the header, in checksums, in lock bytes, overflow marks and slots of blocks.
std::vector<std::size_t> places() {
  constexpr std::size_t kChecksumsAt = format_tools::kHeader + kSmall * format_tools::kBlock;
  std::vector<std::size_t> all;
  std::uint64_t random = 1;
  const auto below = [&](std::size_t bound) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>(random >> 33) % bound;
  };
  const auto block = [&] { return format_tools::kHeader + below(kSmall) * format_tools::kBlock; };
  for (int i = 0; i < 10; ++i) {
    all.push_back(below(format_tools::kHeader));
    all.push_back(below(format_tools::kFieldsEnd));
    all.push_back(kChecksumsAt + below(16));
    all.push_back(block() + 61 + below(3));
    for (int k = 0; k < 3; ++k) all.push_back(block() + 60);
    for (int k = 0; k < 3; ++k) all.push_back(block() + below(60));
  }
  return all;
}

TEST_P(MappedFilterTest, NoFlippedBitHidesAKey) {
  make(kSmall);
  int refused = 0;  // by filters that check at the first lookup
  int hidden = 0;   // keys missed by filters that never check
  unsigned bit = 0;
  for (const std::size_t at : places()) {
    SCOPED_TRACE(at);
    bit = (bit + 3) % 8;
    flip(at, bit);
    EXPECT_THROW(MappedFilter::open(file_, Verify::all), FormatError);
    try {
      const MappedFilter lazy = MappedFilter::open(file_, Verify::lazily);
      EXPECT_GE(at, format_tools::kHeader);
      expect_no_miss(lazy);
      EXPECT_TRUE(lazy.damage());
      const MappedFilter careless = MappedFilter::open(file_, Verify::none);
      hidden += hits(careless) < keys_.size();
      EXPECT_FALSE(careless.damage());
    } catch (const FormatError&) {
      ++refused;
    }
    flip(at, bit);
  }
  EXPECT_EQ(refused, 30);  // all in the header and the checksums
  EXPECT_GT(hidden, 10);
  EXPECT_NO_THROW(MappedFilter::open(file_, Verify::all));
}

TEST_P(MappedFilterTest, ADamagedSectionAnswersMaybeAndOthersAnswerAsBefore) {
  make(kLarge);
  const std::vector<std::uint64_t> strangers = sequence(10'000'000, 20'000);
  std::vector<std::uint8_t> expected(strangers.size());
  filter_->may_contain(strangers, expected);
  const unsigned most = GetParam() == 16 ? 10 : 8;
  for (const std::size_t section : {0u, 1u, 2u}) {
    SCOPED_TRACE(section);
    const std::size_t begin = format_tools::kHeader + section * format_tools::kSection;
    flip(begin + 70, 4);
    const MappedFilter mapped = MappedFilter::open(file_);
    EXPECT_FALSE(mapped.damage());  // nothing has been checked yet
    expect_no_miss(mapped);

    std::vector<std::uint8_t> found(strangers.size());
    const std::size_t hits = mapped.may_contain(strangers, found);
    std::size_t maybes = 0;
    for (std::size_t i = 0; i < strangers.size(); ++i) {
      ASSERT_EQ(mapped.may_contain(strangers[i]), found[i] != 0);
      if (mapped.count(strangers[i]) == most) {
        ++maybes;
        ASSERT_EQ(found[i], 1);
      } else {
        ASSERT_EQ(found[i], expected[i]);
      }
    }
    EXPECT_GT(maybes, 0u);
    EXPECT_LT(hits, strangers.size());

    const auto damage = mapped.damage();
    ASSERT_TRUE(damage);
    EXPECT_EQ(damage->file, file_.string());
    EXPECT_EQ(damage->offset, begin);
    EXPECT_NE(damage->cause.find("section " + std::to_string(section + 1) + " of 3"),
              std::string::npos);
    EXPECT_EQ(test::message_of<FormatError>([&] { mapped.verify(); }), damage->what());
    EXPECT_THROW((void)mapped.snapshot(), FormatError);
    flip(begin + 70, 4);
  }
}

// Includes the keys at home in other sections whose alternates are in this one.
TEST_P(MappedFilterTest, ASectionOfZerosHidesNoKey) {
  make(kLarge);
  test::write_over(file_, format_tools::kHeader + format_tools::kSection,
                   std::string(format_tools::kSection, '\0'));
  EXPECT_LT(hits(MappedFilter::open(file_, Verify::none)), keys_.size() * 2 / 3);
  expect_no_miss(MappedFilter::open(file_, Verify::lazily));
}

TEST_P(MappedFilterTest, ASectionThatIsNotNeededIsNotRead) {
  make(kLarge);
  flip(format_tools::kHeader + format_tools::kSection + 5, 0);
  // A key's home and alternate lie in at most two of the three sections, so some keys do not need
  // this one.
  int unconcerned = 0;
  for (std::uint64_t key = 0; key < 50; ++key) {
    const MappedFilter mapped = MappedFilter::open(file_);
    EXPECT_TRUE(mapped.may_contain(key));
    unconcerned += !mapped.damage();
  }
  EXPECT_GT(unconcerned, 0);
  EXPECT_LT(unconcerned, 50);
}

// Before, while and after the sections are checked, and when nothing is.
TEST_P(MappedFilterTest, WholeFilesAreAnsweredAlikeInEveryMode) {
  make(kLarge);
  for (const Verify verify : {Verify::none, Verify::lazily, Verify::all}) {
    MappedFilter mapped = MappedFilter::open(file_, verify);
    for (std::uint64_t key = 0; key < 2000; ++key) {
      const std::string text = std::to_string(key);
      ASSERT_EQ(mapped.may_contain(key * 100), filter_->may_contain(key * 100));
      ASSERT_EQ(mapped.prepare(text).value, filter_->prepare(text).value);
      ASSERT_EQ(mapped.count(text), filter_->count(text));
    }
    MappedFilter moved = std::move(mapped);
    expect_same(*filter_, moved);
    expect_same(*filter_, moved);
    mapped = MappedFilter::open(file_, verify);
    expect_same(*filter_, mapped);
    EXPECT_FALSE(mapped.damage());
    std::vector<std::uint8_t> too_few(3);
    const MappedFilter fresh = MappedFilter::open(file_, verify);
    EXPECT_THROW(fresh.may_contain(keys_, too_few), std::invalid_argument);
    EXPECT_THROW(fresh.count(keys_, too_few), std::invalid_argument);
  }
}

}  // namespace
}  // namespace nestline
