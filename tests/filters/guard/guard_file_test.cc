// The saved filter of a Guard: it is there only while it is true.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <system_error>

#include "nestline/guard.h"
#include "tests/filters/guard/toy_engine.h"
#include "tests/support/temp_folder.h"

namespace nestline::test { namespace {

class GuardFile : public testing::Test {
 protected:
  [[nodiscard]] bool exists() const { return std::filesystem::exists(path_); }
  // A guard that has saved the keys 0 to 99.
  void save_some() {
    Guard guard(small(), path_);
    guard.fill([] {
      return [](auto&& add) {
        for (int key = 0; key < 100; ++key) add(key);
      };
    });
    bool synced = false;
    ASSERT_TRUE(guard.save([&] {
      synced = true;
      EXPECT_FALSE(exists());
    }));
    ASSERT_TRUE(synced && exists());
  }

  const TempFolder folder_;
  const std::filesystem::path path_ = folder_ / "guard.nest";
};

TEST_F(GuardFile, IsThereOnlyUntilTheFirstChange) {
  for (int change = 0; change < 6; ++change) {
    save_some();
    Guard guard(small(), path_);
    if (change < 4) {
      ASSERT_TRUE(guard.load());
      ASSERT_TRUE(guard.filters());
      for (int key = 0; key < 100; ++key) ASSERT_TRUE(guard.may_contain(key));
      ASSERT_FALSE(guard.erase(1'000'000, [] { return true; }));
      ASSERT_TRUE(exists());
    }
    // The engine never sees a change while there is a file.
    const auto written = [&] { EXPECT_FALSE(exists()); };
    const auto erased = [&] { return !exists(); };
    switch (change) {
      case 0:
        guard.put(
            1000, [] { return false; }, written);
        break;
      case 1:
        guard.put(
            1, [] { return true; }, written);
        break;
      case 2:
        EXPECT_TRUE(guard.erase(1, erased));
        break;
      case 3:
        guard.add(1000);
        break;
      case 4:  // it has not loaded the file, and does not know the keys
        guard.put(
            1000, [] { return false; }, written);
        break;
      default:
        guard.fill(nothing);
        EXPECT_TRUE(exists());
        guard.put(
            1000, [] { return false; }, written);
        break;
    }
    EXPECT_FALSE(exists());
    EXPECT_FALSE(Guard(small(), path_).load());
  }
}

// A fill that ends with an error leaves a list, which is not of the keys that are loaded then.
TEST_F(GuardFile, LoadsAfterAFillThatFailed) {
  save_some();
  Guard guard({.capacity = 100, .bits = 8}, path_);
  const auto fails = [&] {
    return [&](auto&& add) {
      for (std::uint64_t key = 1000; guard.listed() < 10; ++key) add(key);
      throw EngineFailed();
    };
  };
  EXPECT_THROW(guard.fill(fails), EngineFailed);
  ASSERT_TRUE(guard.load());
  EXPECT_EQ(guard.listed(), 0u);
  EXPECT_EQ(guard.filter().size(), 100u);
  EXPECT_TRUE(guard.save([] {}));
}

TEST_F(GuardFile, ComesBackWithTheNextSave) {
  save_some();
  Guard guard(small(), path_);
  ASSERT_TRUE(guard.load());
  guard.put(
      1000, [] { return false; }, [] {});
  ASSERT_TRUE(guard.save([] {}));
  ASSERT_TRUE(guard.save([] {}));
  ASSERT_TRUE(exists());
  EXPECT_THROW(guard.save([] { throw EngineFailed(); }), EngineFailed);
  Guard next(small(), path_);
  ASSERT_TRUE(next.load());
  EXPECT_TRUE(next.may_contain(1000));
  EXPECT_EQ(next.filter().size(), 101u);
  guard.put(
      1001, [] { return false; }, [&] { EXPECT_FALSE(exists()); });
}

TEST_F(GuardFile, IsNotUsedWhenItIsDamaged) {
  save_some();
  std::fstream(path_, std::ios::in | std::ios::out).seekp(4096).put('x');
  Guard guard(small(), path_);
  EXPECT_FALSE(guard.load());
  EXPECT_FALSE(guard.filters());
  guard.fill(nothing);
  guard.put(
      1, [] { return false; }, [&] { EXPECT_FALSE(exists()); });
}

TEST_F(GuardFile, ThatCannotBeRemovedStopsEveryChange) {
  std::filesystem::create_directories(path_ / "in the way");
  Guard guard(small(), path_);
  guard.fill(nothing);
  EXPECT_THROW(guard.put(
                   1, [] { return false; }, [] { FAIL(); }),
               std::system_error);
  EXPECT_THROW(guard.add(1), std::system_error);
  EXPECT_FALSE(guard.may_contain(1));
}

TEST_F(GuardFile, IsNotWrittenBesideAList) {
  Guard guard(small(), path_);
  guard.fill(nothing);
  for (int i = 0; i < 20; ++i) guard.add(4);
  EXPECT_FALSE(guard.save([] { FAIL(); }));
  EXPECT_FALSE(exists());
}

}  // namespace
}  // namespace nestline::test
