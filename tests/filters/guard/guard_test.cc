// Guard on engines in memory: a model with keys that look the same, its broken twins, and fill
// beside changes. Its file is tested in guard_file_test.cc.
#include "nestline/guard.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/filters/guard/toy_engine.h"

namespace nestline::test { namespace {

// Random calls. Returns what went wrong first, or nothing.
template <class GuardKind>
std::string play(std::uint64_t seed, int calls) {
  std::mt19937_64 random(seed);
  ToyEngine engine;
  GuardKind guard;
  std::string wrong;
  std::size_t left_over = 0;
  const auto look = [&] {
    for (const std::uint64_t key : engine.keys()) {
      if (!guard.may_contain(key) && wrong.empty()) {
        wrong = "key " + std::to_string(key) + " is missed";
      }
    }
  };
  engine.looks = look;
  for (int call = 0; call < calls && wrong.empty(); ++call) {
    // Sometimes most keys come, sometimes most go.
    const bool puts = random() % 8 < (call / 256 % 2 == 0 ? 6u : 2u);
    const std::uint64_t key = random() % kToyKeys;
    const Fate fate = random() % 16 != 0  ? Fate::works
                      : random() % 2 == 0 ? Fate::fails_before
                                          : Fate::fails_after;
    const bool was_there = engine.has(key);
    try {
      if (puts) {
        guard.put(engine, key, fate);
      } else if (guard.erase(engine, key, fate) != was_there) {
        wrong = "erase does not say whether the key was there";
      }
    } catch (const EngineFailed&) {
      left_over += puts ? !was_there && !engine.has(key) : was_there && !engine.has(key);
    }
    look();
    if (wrong.empty() && guard.tokens() != engine.keys().size() + left_over) {
      wrong = std::to_string(guard.tokens()) + " tokens for " +
              std::to_string(engine.keys().size()) + " keys and " + std::to_string(left_over) +
              " left over";
    }
    if (wrong.empty() && !guard.guard().filters()) wrong = "the guard gave up";
  }
  return wrong;
}

template <class GuardKind>
std::string play_often() {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    if (std::string wrong = play<GuardKind>(seed, 1000); !wrong.empty()) return wrong;
  }
  return {};
}

TEST(GuardModel, NeverMissesAKeyAndKeepsOneTokenForEach) {
  EXPECT_EQ(play_often<RightGuard>(), "");
}

TEST(GuardModel, NoticesGuardsWithABrokenRule) {
  EXPECT_NE(play_often<WritesFirst>().find("missed"), std::string::npos);
  EXPECT_NE(play_often<TakesFirst>().find("missed"), std::string::npos);
  EXPECT_NE(play_often<SharesTokens>(), "");
  EXPECT_NE(play_often<TakesAlways>(), "");
  EXPECT_NE(play_often<TakesBack>().find("missed"), std::string::npos);
  EXPECT_NE(play_often<AddsAlways>().find("tokens for"), std::string::npos);
}

// These two also lose keys, not only count.
TEST(GuardModel, SharedTokensAndStrangersErasuresLoseKeys) {
  ToyEngine engine;
  SharesTokens shares;
  for (const std::uint64_t key : {3u, 18u}) shares.put(engine, key, Fate::works);  // one hash
  EXPECT_TRUE(shares.erase(engine, 3, Fate::works));
  EXPECT_FALSE(shares.may_contain(18));

  ToyEngine other;
  TakesAlways takes;
  takes.put(other, 18, Fate::works);
  EXPECT_FALSE(takes.erase(other, 3, Fate::works));
  EXPECT_FALSE(takes.may_contain(18));
}

TEST(Guard, AsksTheEngineOnlyForWhatMayBeThere) {
  Guard guard(small());
  guard.fill(nothing);
  EXPECT_FALSE(guard.get("a", []() -> bool { throw EngineFailed(); }));
  EXPECT_EQ(guard.get("a", []() -> std::optional<int> { throw EngineFailed(); }), std::nullopt);
  EXPECT_EQ(guard.get("a", []() -> const char* { throw EngineFailed(); }), nullptr);
  EXPECT_FALSE(guard.erase("a", []() -> bool { throw EngineFailed(); }));
  // A key that the guard does not know is new.
  guard.put(
      "a", []() -> bool { throw EngineFailed(); }, [] {});
  EXPECT_TRUE(guard.get("a", [] { return true; }));
  EXPECT_EQ(guard.get("a", [] { return std::optional<int>(5); }), 5);
  int asked = 0;
  guard.put(
      "a", [&] { return ++asked == 1; }, [] {});
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(guard.filter().size(), 1u);
  EXPECT_FALSE(guard.erase("a", [] { return false; }));
  EXPECT_TRUE(guard.may_contain("a"));
  EXPECT_TRUE(guard.erase("a", [] { return true; }));
  EXPECT_FALSE(guard.may_contain("a"));
}

TEST(Guard, AnswersMaybeBeforeItKnowsTheKeys) {
  Guard guard(small());
  EXPECT_FALSE(guard.filters());
  EXPECT_TRUE(guard.may_contain(1));
  EXPECT_FALSE(guard.load());  // it has no file
  EXPECT_FALSE(guard.save([] { FAIL(); }));
  // Nothing is counted yet, so the engine need not say what it has.
  guard.put(
      1, []() -> bool { throw EngineFailed(); }, [] {});
  EXPECT_TRUE(guard.erase(2, [] { return true; }));
  EXPECT_EQ(guard.filter().size(), 0u);
}

template <class T>
void expect_many(const Guard& guard, const std::vector<T>& keys) {
  std::vector<std::uint32_t> expected;
  for (std::uint32_t i = 0; i < keys.size(); ++i) {
    if (guard.may_contain(keys[i])) expected.push_back(i);
  }
  std::vector<std::uint32_t> asked;
  guard.get_many(keys, [&](std::span<const std::uint32_t> positions) {
    EXPECT_FALSE(positions.empty());
    asked.insert(asked.end(), positions.begin(), positions.end());
  });
  EXPECT_EQ(asked, expected);
}

TEST(Guard, AsksForManyAsForEach) {
  Guard guard(small());
  std::vector<std::uint64_t> integers;
  std::vector<std::string> strings;
  for (std::uint64_t key = 0; key < 5000; ++key) {
    integers.push_back(key);
    strings.push_back(std::to_string(key));
  }
  expect_many(guard, strings);  // all
  guard.fill([&] {
    return [&](auto&& add) {
      for (std::size_t i = 0; i < 5000; i += 7) {
        add(integers[i]);
        add(strings[i]);
      }
    };
  });
  expect_many(guard, integers);
  expect_many(guard, strings);
  expect_many(guard, std::vector<std::string>());
  for (int i = 0; i < 20; ++i) guard.add(4);  // more than there are places
  EXPECT_GT(guard.listed(), 0u);
  expect_many(guard, integers);
}

TEST(Guard, GrowsOnThenListsThenGivesUp) {
  Guard guard({.capacity = 100, .bits = 8});
  guard.fill(nothing);
  std::uint64_t key = 0;
  const auto put = [&] {
    guard.put(
        key, [] { return false; }, [] {});
    ++key;
  };
  while (guard.listed() == 0) put();
  EXPECT_GE(guard.filter().growth(), 4u);
  EXPECT_GT(key, 1500u);
  while (guard.listed() < 1000) put();
  EXPECT_TRUE(guard.filters());
  EXPECT_EQ(guard.filter().size() + guard.listed(), key);
  std::vector<std::uint64_t> keys(key + 1000);
  std::iota(keys.begin(), keys.end(), 0);
  for (std::uint64_t i = 0; i < key; ++i) ASSERT_TRUE(guard.may_contain(i));
  expect_many(guard, keys);
  for (std::uint64_t i = 0; i < key; i += 2) ASSERT_TRUE(guard.erase(i, [] { return true; }));
  for (std::uint64_t i = 1; i < key; i += 2) ASSERT_TRUE(guard.may_contain(i));
  EXPECT_EQ(guard.filter().size() + guard.listed(), key / 2);
  const std::uint64_t first = key + 1;
  while (guard.filters()) put();
  EXPECT_EQ(guard.listed(), Guard::kMaxListed);
  put();
  EXPECT_TRUE(guard.erase(first, [] { return true; }));
  for (std::uint64_t i = 0; i < 2 * key; ++i) ASSERT_TRUE(guard.may_contain(i));
}

// The engine's keys at begin() are 0 to 9; 5 is where the scan stands when the changes come.
TEST(GuardFill, GoesOnBesideChanges) {
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u, 5u}) {
    std::mt19937_64 random(seed);
    ToyEngine engine;
    for (std::uint64_t key = 0; key < kToyKeys; key += 2) engine.put(key, Fate::works);
    Guard guard({.capacity = 40, .bits = 8, .seed = 7});
    const auto look = [&] {
      for (const std::uint64_t key : engine.keys()) ASSERT_TRUE(guard.may_contain(toy_hash(key)));
    };
    const auto change = [&] {
      const std::uint64_t key = random() % kToyKeys;
      if (random() % 2 == 0) {
        guard.put(
            toy_hash(key), [&] { return engine.has(key); }, [&] { engine.put(key, Fate::works); });
      } else {
        guard.erase(toy_hash(key), [&] { return engine.erase(key, Fate::works); });
      }
      look();
    };
    for (int i = 0; i < 20; ++i) change();  // before: nothing of this counts
    // The first scan ends with an error.
    EXPECT_THROW(guard.fill([&] {
      return [&, keys = engine.keys()](auto&& add) {
        for (const std::uint64_t key : keys) {
          add(toy_hash(key));
          change();
          if (key > 100) throw EngineFailed();
        }
      };
    }),
                 EngineFailed);
    EXPECT_FALSE(guard.filters());
    for (int i = 0; i < 20; ++i) change();
    EXPECT_THROW(guard.fill([]() -> void (*)(std::function<void(Key)>) { throw EngineFailed(); }),
                 EngineFailed);
    guard.fill([&] {
      return [&, keys = engine.keys()](auto&& add) {
        for (const std::uint64_t key : keys) {
          add(toy_hash(key));
          for (int i = 0; i < 3; ++i) change();
        }
      };
    });
    EXPECT_TRUE(guard.filters());
    EXPECT_EQ(guard.filter().size() + guard.listed(), engine.keys().size());
    for (int i = 0; i < 500; ++i) change();
    EXPECT_EQ(guard.filter().size() + guard.listed(), engine.keys().size());
  }
}

TEST(GuardFill, DoesNotPileUpKeysThatComeAndGo) {
  std::set<std::uint64_t> keys{1, 2};
  Guard guard(small());
  guard.fill([&] {
    return [&](auto&& add) {
      for (const std::uint64_t key : {1u, 2u}) {
        for (int i = 0; i < 1000; ++i) {
          EXPECT_TRUE(guard.erase(1, [&] { return keys.erase(1) != 0; }));
          guard.put(
              1, [&] { return keys.contains(1); }, [&] { keys.insert(1); });
        }
        add(key);
      }
    };
  });
  EXPECT_EQ(guard.filter().size(), 2u);
  EXPECT_EQ(guard.filter().growth() + guard.listed(), 0u);
}

// docs/ENGINES.md: where nobody takes tokens, keys that look the same may share them.
TEST(GuardFill, NeedsNoQuestionWhereNothingIsTaken) {
  std::set<std::uint64_t> keys{0, 2, 4, 6};
  Guard guard({.capacity = 40, .bits = 8, .seed = 7});
  const auto put = [&](std::uint64_t key) {
    guard.put(
        toy_hash(key), [&] { return guard.filters(); }, [&] { keys.insert(key); });
    for (const std::uint64_t each : keys) ASSERT_TRUE(guard.may_contain(toy_hash(each)));
  };
  put(8);
  guard.fill([&] {
    return [&, at_begin = keys](auto&& add) {
      for (const std::uint64_t key : at_begin) {
        add(toy_hash(key));
        put(key + 1);
        put(key);
      }
    };
  });
  for (std::uint64_t key = 0; key < kToyKeys; ++key) {
    put(key);
    put(key / 2);
  }
  EXPECT_LT(guard.filter().size(), kToyKeys);
  EXPECT_EQ(guard.listed(), 0u);
}

TEST(GuardFill, HappensOnce) {
  Guard guard(small());
  guard.fill(nothing);
  EXPECT_THROW(guard.fill(nothing), std::logic_error);
  EXPECT_THROW(guard.load(), std::logic_error);
}

}  // namespace
}  // namespace nestline::test
