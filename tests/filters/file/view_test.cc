// Filters, maplets and expiring filters in bytes of somebody else: what `view` refuses, that it
// answers as the one that was saved, and what each Verify promises for damage anywhere. What
// loading refuses of each kind: damage, other lengths, other kinds.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "nestline/expiring_filter.h"
#include "nestline/io.h"
#include "nestline/maplet.h"
#include "nestline/memory.h"
#include "tests/filters/file/format_tools.h"
#include "tests/support/answers.h"
#include "tests/support/each_case.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/keys_of_kinds.h"
#include "tests/support/temp_folder.h"

namespace nestline { namespace {

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

template <class Kind, Head kHead>
struct With : Kind {
  static constexpr Head head = kHead;
};

// The bytes of a kind, aligned, in memory that other processes could share.
template <class K>
class ViewTest : public testing::Test {
 protected:
  using Saved = decltype(K::saved);

  ViewTest() {
    for (std::uint64_t key = 0; key < kKeys; ++key) kind_.insert(key);
    const test::Bytes bytes = test::saved_bytes(kind_.saved, K::head);
    header_ = format_tools::header_of(bytes);
    void* const room = mapped_memory().allocate(bytes.size() + kSlack, kSlack);
    std::memcpy(room, bytes.data(), bytes.size());
    bytes_ = {static_cast<std::byte*>(room), bytes.size()};
  }
  ~ViewTest() override {
    mapped_memory().deallocate(bytes_.data(), bytes_.size() + kSlack, kSlack);
  }

  static void load_in_pieces(std::span<const std::byte> bytes) {
    (void)Saved::load(test::Giver(bytes, 1000));
  }

  static bool finds_all(const typename K::View& view) {
    for (std::uint64_t key = 0; key < kKeys; ++key) {
      if (!K::finds(view, key)) return false;
    }
    return true;
  }

  static constexpr std::size_t kSlack = 64;
  K kind_;
  std::span<std::byte> bytes_;
  std::size_t header_;
};

using Kinds = testing::Types<With<AFilter, Head::page>, With<AMaplet, Head::page>,
                             With<AnExpiringFilter, Head::page>, With<AFilter, Head::compact>,
                             With<AMaplet, Head::compact>, With<AnExpiringFilter, Head::compact>>;
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
  const test::TempFolder folder;
  for (std::size_t length = 0; length < this->bytes_.size(); ++length) {
    SCOPED_TRACE(length);
    const std::span<std::byte> cut = this->bytes_.first(length);
    for (const Verify verify : {Verify::none, Verify::lazily, Verify::all}) {
      EXPECT_THROW((void)View::view(cut, verify), FormatError);
    }
    EXPECT_THROW((void)TestFixture::Saved::load(cut), FormatError);
    EXPECT_THROW(this->load_in_pieces(cut), FormatError);
    if (length % 37 != 0) continue;
    test::write_bytes(folder / "short", cut);
    EXPECT_THROW((void)TestFixture::Saved::load(folder / "short"), FormatError);
    EXPECT_THROW((void)View::open(folder / "short"), FormatError);
  }
  EXPECT_NO_THROW(this->load_in_pieces(this->bytes_));
  const std::span<std::byte> longer(this->bytes_.data(), this->bytes_.size() + 1);
  EXPECT_THROW((void)View::view(longer), FormatError);
  EXPECT_THROW((void)TestFixture::Saved::load(longer), FormatError);
}

TEST(Kinds, AreToldApart) {
  using Read = std::function<void(const std::filesystem::path&)>;
  const std::array<const char*, 3> names = {"a filter", "a maplet", "an expiring filter"};
  const std::array<std::array<Read, 2>, 3> readers = {{
      {[](const auto& path) { (void)Filter::load(path); },
       [](const auto& path) { (void)MappedFilter::open(path); }},
      {[](const auto& path) { (void)Maplet::load(path); },
       [](const auto& path) { (void)MappedMaplet::open(path); }},
      {[](const auto& path) { (void)ExpiringFilter::load(path); },
       [](const auto& path) { (void)MappedExpiringFilter::open(path); }},
  }};
  const test::TempFolder folder;
  for (std::size_t file = 0; file < 2 * names.size(); ++file) {
    const std::string made = names[file / 2];
    const Output to(folder / made, file % 2 == 0 ? Head::page : Head::compact);
    if (file / 2 == 0) save(Filter({.capacity = 100}), to);
    if (file / 2 == 1) save(Maplet({.capacity = 100}), to);
    if (file / 2 == 2) save(ExpiringFilter({.capacity = 100}), to);
    for (std::size_t i = 0; i < names.size(); ++i) {
      for (const Read& read : readers[i]) {
        if (made == names[i]) {
          EXPECT_NO_THROW(read(folder / made));
          continue;
        }
        EXPECT_EQ(test::error_of<FormatError>([&] { read(folder / made); }).value().cause,
                  "this is " + made + " and not " + names[i] + ": load it as " + made);
      }
    }
  }
}

TYPED_TEST(ViewTest, NoDamagedByteHidesAKey) {
  using View = typename TypeParam::View;
  const std::size_t end = this->bytes_.size() - 2 * 8;  // of the blocks, one section
  const auto step = [&](std::size_t at) {
    return at < this->header_ || at >= end ? 1 : std::min(test::case_step(), end - at);
  };
  for (std::size_t at = 0; at < this->bytes_.size(); at += step(at)) {
    SCOPED_TRACE(at);
    const std::byte damage{static_cast<std::uint8_t>(1u << at % 8)};
    this->bytes_[at] ^= damage;
    EXPECT_THROW((void)View::view(this->bytes_, Verify::all), FormatError);
    EXPECT_THROW((void)TestFixture::Saved::load(this->bytes_), FormatError);
    EXPECT_THROW(this->load_in_pieces(this->bytes_), FormatError);
    if (at < this->header_ || at >= end) {
      EXPECT_THROW((void)View::view(this->bytes_), FormatError);
    } else {
      const View view = View::view(this->bytes_);
      EXPECT_FALSE(view.damage());
      EXPECT_TRUE(this->finds_all(view));
      ASSERT_TRUE(view.damage());
      EXPECT_EQ(view.damage()->offset, this->header_);
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

using ExpiringViewTest = ViewTest<With<AnExpiringFilter, Head::compact>>;
TEST_F(ExpiringViewTest, HasWhatAnExpiringFilterHas) {
  const ExpiringFilter& filter = kind_.saved;
  const auto keys = test::sequence(0, 5000);
  for (const Verify verify : {Verify::none, Verify::lazily, Verify::all}) {
    const MappedExpiringFilter view = MappedExpiringFilter::view(bytes_, verify);
    EXPECT_EQ(view.now(), filter.now());
    EXPECT_EQ(view.ttl_ticks(), filter.ttl_ticks());
    EXPECT_EQ(view.bits(), filter.bits());
    EXPECT_EQ(view.slots(), filter.slots());
    EXPECT_EQ(view.load_factor(), filter.load_factor());
    EXPECT_EQ(view.expected_fpr(), filter.expected_fpr());
    EXPECT_EQ(view.memory_bytes(), bytes_.size());
    EXPECT_EQ(test::answers_of_each(view, keys), test::answers_of(filter, keys));
    std::vector<std::uint8_t> too_few(3);
    EXPECT_THROW(view.may_contain(keys, too_few), std::invalid_argument);
  }
}

}  // namespace
}  // namespace nestline
