// An engine in memory for tests of Guard, with keys that look the same in a filter or have the same
// hash, and guards with one rule broken each, which the tests must notice.
#ifndef NESTLINE_TESTS_FILTERS_GUARD_TOY_ENGINE_H_
#define NESTLINE_TESTS_FILTERS_GUARD_TOY_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <stdexcept>

#include "nestline/guard.h"

namespace nestline::test {

// Keys 0 to 299. A third of them share 5 hashes, which is more keys of a hash than a filter has
// copies; the others have hashes of their own.
inline constexpr std::uint64_t kToyKeys = 300;
inline Hash toy_hash(std::uint64_t key) {
  return hash_key(key % 3 == 0 ? 1'000'000 + key % 5 : key, 7);
}

// How a call of the engine ends.
enum class Fate : std::uint8_t { works, fails_before, fails_after };

struct EngineFailed : std::runtime_error {
  EngineFailed() : std::runtime_error("the engine failed") {}
};

// `looks` is called around each change, in place of a thread that asks at that moment.
class ToyEngine {
 public:
  [[nodiscard]] bool has(std::uint64_t key) const { return keys_.contains(key); }
  [[nodiscard]] const std::set<std::uint64_t>& keys() const { return keys_; }

  void put(std::uint64_t key, Fate fate) {
    change(fate, [&] { keys_.insert(key); });
  }
  bool erase(std::uint64_t key, Fate fate) {
    bool was_there = false;
    change(fate, [&] { was_there = keys_.erase(key) != 0; });
    return was_there;
  }

  std::function<void()> looks = [] {};

 private:
  void change(Fate fate, const std::function<void()>& make) {
    looks();
    if (fate == Fate::fails_before) throw EngineFailed();
    make();
    looks();
    if (fate == Fate::fails_after) throw EngineFailed();
  }

  std::set<std::uint64_t> keys_;
};

// Guard as it is, in the interface that the model plays with.
class RightGuard {
 public:
  RightGuard() {
    guard_.fill([] { return [](auto&&) {}; });
  }
  void put(ToyEngine& engine, std::uint64_t key, Fate fate) {
    guard_.put(
        toy_hash(key), [&] { return engine.has(key); }, [&] { engine.put(key, fate); });
  }
  bool erase(ToyEngine& engine, std::uint64_t key, Fate fate) {
    return guard_.erase(toy_hash(key), [&] { return engine.erase(key, fate); });
  }
  [[nodiscard]] bool may_contain(std::uint64_t key) const {
    return guard_.may_contain(toy_hash(key));
  }
  [[nodiscard]] std::size_t tokens() const { return guard_.filter().size() + guard_.listed(); }
  [[nodiscard]] const Guard& guard() const { return guard_; }

 protected:
  Guard guard_{{.capacity = 40, .bits = 8, .seed = 7}};
};

// The engine first, then the filter.
struct WritesFirst : RightGuard {
  void put(ToyEngine& engine, std::uint64_t key, Fate fate) {
    const bool is_new = !engine.has(key);
    engine.put(key, fate);
    if (is_new) guard_.add(toy_hash(key));
  }
};

// The filter first, then the engine.
struct TakesFirst : RightGuard {
  bool erase(ToyEngine& engine, std::uint64_t key, Fate fate) {
    if (!engine.has(key)) return false;
    guard_.take(toy_hash(key));
    return engine.erase(key, fate);
  }
};

// A token only if the filter would say no: keys that look the same share it.
struct SharesTokens : RightGuard {
  void put(ToyEngine& engine, std::uint64_t key, Fate fate) {
    if (!may_contain(key)) guard_.add(toy_hash(key));
    engine.put(key, fate);
  }
};

// Takes a token whether the key was there or not.
struct TakesAlways : RightGuard {
  bool erase(ToyEngine& engine, std::uint64_t key, Fate fate) {
    const bool was_there = engine.erase(key, fate);
    guard_.take(toy_hash(key));
    return was_there;
  }
};

// An overwrite adds a token too, which nobody ever takes.
struct AddsAlways : RightGuard {
  void put(ToyEngine& engine, std::uint64_t key, Fate fate) {
    guard_.add(toy_hash(key));
    engine.put(key, fate);
  }
};

// A write that fails takes its token back, although the engine may have the key.
struct TakesBack : RightGuard {
  void put(ToyEngine& engine, std::uint64_t key, Fate fate) {
    const bool is_new = !engine.has(key);
    if (is_new) guard_.add(toy_hash(key));
    try {
      engine.put(key, fate);
    } catch (const EngineFailed&) {
      if (is_new) guard_.take(toy_hash(key));
      throw;
    }
  }
};

// Options of a guard of few keys, and what fills one of an empty engine.
inline Options small() { return {.capacity = 1000, .fpr = 0.001, .max_capacity = 4000}; }
inline constexpr auto nothing = [] { return [](auto&&) {}; };

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_FILTERS_GUARD_TOY_ENGINE_H_
