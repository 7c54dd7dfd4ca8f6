// Filters, maplets and expiring filters in bytes of somebody else: what `view` refuses, that it
// answers as the one that was saved, and what each Verify promises for damage anywhere.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "nestline/expiring_filter.h"
#include "nestline/io.h"
#include "nestline/maplet.h"
#include "tests/filters/file/format_tools.h"
#include "tests/support/errors.h"

namespace nestline { namespace {

using format_tools::kHeader;

constexpr std::uint64_t kKeys = 90;

struct AFilter {
  using View = MappedFilter;
  Filter saved{{.capacity = 100}};
  void insert(std::uint64_t key) { EXPECT_TRUE(saved.insert(key)); }
  static bool finds(const View& view, std::uint64_t key) { return view.may_contain(key); }
  void expect_same(const View& view, std::uint64_t key) const {
    EXPECT_EQ(view.count(key), saved.count(key));
  }
};

struct AMaplet {
  using View = MappedMaplet;
  using Values = std::array<std::uint64_t, 16>;
  Maplet saved{{.capacity = 100}};
  void insert(std::uint64_t key) { EXPECT_TRUE(saved.insert(key, key * 3)); }
  // Where it cannot know, it says so.
  static bool finds(const View& view, std::uint64_t key) {
    Values values;
    try {
      const std::size_t count = view.find(key, values);
      return std::ranges::count(std::span(values).first(count), key * 3) != 0;
    } catch (const FormatError&) {
      EXPECT_TRUE(view.damage());
      return true;
    }
  }
  void expect_same(const View& view, std::uint64_t key) const {
    Values one{};
    Values other{};
    ASSERT_EQ(view.find(key, one), saved.find(key, other));
    EXPECT_EQ(one, other);
  }
};

struct AnExpiringFilter {
  using View = MappedExpiringFilter;
  ExpiringFilter saved{{.capacity = 100}};
  void insert(std::uint64_t key) { (void)saved.insert(key, 1 + static_cast<unsigned>(key % 14)); }
  static bool finds(const View& view, std::uint64_t key) { return view.may_contain(key); }
  void expect_same(const View& view, std::uint64_t key) const {
    EXPECT_EQ(view.remaining_ticks(key), saved.remaining_ticks(key));
    EXPECT_EQ(view.prepare(key).value, saved.prepare(key).value);
  }
};

// The bytes of a kind, aligned, in memory that other processes could share.
template <class K>
class ViewTest : public testing::Test {
 protected:
  ViewTest() {
    for (std::uint64_t key = 0; key < kKeys; ++key) kind_.insert(key);
    std::vector<std::byte> bytes;
    save(kind_.saved, [&](std::span<const std::byte> piece) {
      bytes.insert(bytes.end(), piece.begin(), piece.end());
    });
    void* const room = ::mmap(nullptr, bytes.size() + kSlack, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(room, MAP_FAILED);
    std::memcpy(room, bytes.data(), bytes.size());
    bytes_ = {static_cast<std::byte*>(room), bytes.size()};
  }
  ~ViewTest() override { ::munmap(bytes_.data(), bytes_.size() + kSlack); }

  static bool finds_all(const typename K::View& view) {
    for (std::uint64_t key = 0; key < kKeys; ++key) {
      if (!K::finds(view, key)) return false;
    }
    return true;
  }

  static constexpr std::size_t kSlack = 64;
  K kind_;
  std::span<std::byte> bytes_;
};

using Kinds = testing::Types<AFilter, AMaplet, AnExpiringFilter>;
TYPED_TEST_SUITE(ViewTest, Kinds);

TYPED_TEST(ViewTest, AnswersAsTheOneThatWasSaved) {
  using View = typename TypeParam::View;
  for (const Verify verify : {Verify::none, Verify::lazily, Verify::all}) {
    View first = View::view(this->bytes_, verify);
    const View view = std::move(first);
    EXPECT_EQ(view.size(), this->kind_.saved.size());
    EXPECT_EQ(view.capacity(), this->kind_.saved.capacity());
    EXPECT_EQ(view.seed(), this->kind_.saved.seed());
    for (std::uint64_t key = 0; key < 3000; ++key) this->kind_.expect_same(view, key);
    EXPECT_NO_THROW(view.verify());
    EXPECT_FALSE(view.damage());
  }
}

TYPED_TEST(ViewTest, RefusesBytesThatAreNotAligned) {
  using View = typename TypeParam::View;
  for (std::size_t shift = 1; shift < 64; ++shift) {
    std::byte* const place = this->bytes_.data() + shift;
    EXPECT_THROW((void)View::view({place, this->bytes_.size()}), std::invalid_argument);
  }
}

TYPED_TEST(ViewTest, RefusesOtherLengths) {
  using View = typename TypeParam::View;
  for (std::size_t length = 0; length < this->bytes_.size(); ++length) {
    for (const Verify verify : {Verify::none, Verify::lazily, Verify::all}) {
      EXPECT_THROW((void)View::view(this->bytes_.first(length), verify), FormatError) << length;
    }
  }
  const std::span<std::byte> longer(this->bytes_.data(), this->bytes_.size() + 1);
  EXPECT_THROW((void)View::view(longer), FormatError);
}

TYPED_TEST(ViewTest, NoDamagedByteHidesAKey) {
  using View = typename TypeParam::View;
  const std::size_t end = this->bytes_.size() - 2 * 8;  // of the blocks, one section
  for (std::size_t at = 0; at < this->bytes_.size(); ++at) {
    SCOPED_TRACE(at);
    const std::byte damage{static_cast<std::uint8_t>(1u << at % 8)};
    this->bytes_[at] ^= damage;
    EXPECT_THROW((void)View::view(this->bytes_, Verify::all), FormatError);
    if (at < kHeader || at >= end) {
      EXPECT_THROW((void)View::view(this->bytes_), FormatError);
    } else {
      const View view = View::view(this->bytes_);
      EXPECT_FALSE(view.damage());
      EXPECT_TRUE(this->finds_all(view));
      ASSERT_TRUE(view.damage());
      EXPECT_EQ(view.damage()->offset, kHeader);
      EXPECT_EQ(view.damage()->file, "bytes");
      EXPECT_EQ(test::message_of<FormatError>([&] { view.verify(); }), view.damage()->what());
      // It may miss keys, and must not crash or wait.
      const View careless = View::view(this->bytes_, Verify::none);
      if constexpr (!std::is_same_v<View, MappedMaplet>) (void)this->finds_all(careless);
      EXPECT_FALSE(careless.damage());
    }
    this->bytes_[at] ^= damage;
  }
  EXPECT_TRUE(this->finds_all(View::view(this->bytes_, Verify::all)));
}

using ExpiringViewTest = ViewTest<AnExpiringFilter>;
TEST_F(ExpiringViewTest, HasWhatAnExpiringFilterHas) {
  const ExpiringFilter& filter = kind_.saved;
  std::vector<std::uint64_t> keys(5000);
  std::iota(keys.begin(), keys.end(), 0);
  const std::vector<std::uint32_t> selection{1, 4000, 77, 4999, 89};
  for (const Verify verify : {Verify::none, Verify::lazily, Verify::all}) {
    const MappedExpiringFilter view = MappedExpiringFilter::view(bytes_, verify);
    EXPECT_EQ(view.now(), filter.now());
    EXPECT_EQ(view.ttl_ticks(), filter.ttl_ticks());
    EXPECT_EQ(view.bits(), filter.bits());
    EXPECT_EQ(view.slots(), filter.slots());
    EXPECT_EQ(view.load_factor(), filter.load_factor());
    EXPECT_EQ(view.expected_fpr(), filter.expected_fpr());
    EXPECT_EQ(view.memory_bytes(), bytes_.size());
    const auto answers = [&](const auto& one) {
      std::vector<std::uint64_t> all((keys.size() + 63) / 64);
      one.may_contain_bits(keys, all);
      std::vector<std::uint8_t> bytes(keys.size());
      all.push_back(one.may_contain(keys, bytes));
      all.insert(all.end(), bytes.begin(), bytes.end());
      std::vector<std::uint32_t> positions(keys.size());
      positions.resize(one.select(keys, positions));
      all.insert(all.end(), positions.begin(), positions.end());
      positions.assign(selection.size(), 0);
      positions.resize(one.select(keys, selection, positions));
      all.insert(all.end(), positions.begin(), positions.end());
      return all;
    };
    EXPECT_EQ(answers(view), answers(filter));
    std::vector<std::uint8_t> too_few(3);
    EXPECT_THROW(view.may_contain(keys, too_few), std::invalid_argument);
  }
}

}  // namespace
}  // namespace nestline
