// Fixed work whose instructions are counted under callgrind; scripts/bench count runs it.
//
//   counted_workloads --target AVX2   the workloads on this instruction set; prints a line
//                                     "NAME KEYS" for each, in the order in which they ran
//   counted_workloads --toolchain     prints what the counts depend on, as lines "NAME VALUE"
//
// Each workload prepares its filter and its keys, then calls nestline_workload once. callgrind
// collects only inside that function, and writes what it collected when the function returns. So a
// count includes neither the loading of the program nor the preparation. Without callgrind, the
// program only checks itself.
//
// The counts are the same in every run: keys and seeds are fixed, there is one thread, no work
// depends on an address, and the filters are smaller than a huge page. Instructions are not time:
// they do not show what the processor waits for (memory, page faults, mispredicted branches).
#include <gnu/libc-version.h>
#include <hwy/highway.h>
#include <hwy/targets.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/engine/engine.h"
#include "lib/engine/kernels/targets.h"
#include "lib/engine/place/layout.h"
#include "nestline/concurrent_filter.h"
#include "nestline/expiring_filter.h"
#include "nestline/filter.h"

// scripts/bench knows this function by its name. The empty assembly keeps the call from becoming a
// jump; after a jump, callgrind would not see this function return.
extern "C" [[gnu::noinline]] void nestline_workload(const std::function<void()>& work) {
  work();
  asm volatile("");
}

namespace nestline { namespace {

constexpr std::uint64_t kBlocks = 512;  // 32 KiB, in the first-level cache of most machines
constexpr std::size_t kQuestions = 8192;
constexpr std::uint64_t kAbsent = std::uint64_t{1} << 50;  // keys from this one on are not stored

using Keys = std::vector<std::uint64_t>;

// Measures `work`, which handles `keys` keys.
void count(const std::string& name, std::size_t keys, const std::function<void()>& work) {
  nestline_workload(work);
  std::printf("%s %zu\n", name.c_str(), keys);
}

void expect(bool condition, const char* sentence) {
  if (!condition) throw std::logic_error(sentence);
}

// The number of keys in a filter at this load.
std::uint64_t keys_at(double load, int bits) {
  const std::uint32_t slots = visit_layout(bits, [](auto layout) { return layout.kSlots; });
  return static_cast<std::uint64_t>(load * static_cast<double>(kBlocks * slots));
}

// The stored keys are 0, 1, 2, ...: the filter mixes them.
Keys stored_keys(int bits) {
  Keys keys(keys_at(0.95, bits));
  std::iota(keys.begin(), keys.end(), std::uint64_t{0});
  return keys;
}

Keys random_keys(std::uint64_t first, std::uint64_t range) {
  Keys keys(kQuestions);
  std::mt19937_64 random(7);
  for (std::uint64_t& key : keys) key = first + random() % range;
  return keys;
}

template <typename Any>
Any empty_filter(int bits, bool turns_over = false) {
  Any filter(
      Options{.capacity = keys_at(0.95, bits), .bits = bits, .seed = 1, .turns_over = turns_over});
  expect(filter.memory_bytes() == kBlocks * 64, "a filter does not have the wanted size");
  return filter;
}

template <typename Any>
void store(Any& filter, std::span<const std::uint64_t> keys) {
  expect(filter.insert(keys) == keys.size(), "a filter did not take its keys");
}

// The lookups, in a filter that holds `stored`. `kind` says which filter it is.
template <typename Any>
void count_lookups(const Any& filter, const std::string& kind, const std::string& end) {
  std::vector<std::uint8_t> answers(kQuestions);
  const auto ask = [&](const char* name, const Keys& keys, bool stored) {
    std::size_t found = 0;
    const auto check = [&] {
      expect(stored ? found == keys.size() : found < keys.size() / 10, "a wrong answer");
    };
    count(kind + "may_contain/batch/" + name + end, keys.size(),
          [&] { found = filter.may_contain(keys, answers); });
    check();
    count(kind + "may_contain/single/" + name + end, keys.size(), [&] {
      found = 0;
      for (const std::uint64_t key : keys) found += filter.may_contain(key);
    });
    check();
  };
  ask("absent", random_keys(kAbsent, kAbsent), false);
  ask("present", random_keys(0, filter.size()), true);
}

// A string of 16 bytes for each key, one after the other in `text`.
std::vector<std::string_view> strings_of(const Keys& keys, std::string& text) {
  for (const std::uint64_t key : keys) {
    for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[key >> shift & 15];
  }
  std::vector<std::string_view> strings;
  for (std::size_t at = 0; at < text.size(); at += 16) {
    strings.push_back(std::string_view(text).substr(at, 16));
  }
  return strings;
}

void count_strings(const Filter& filter, const std::string& end) {
  std::string text;
  const std::vector<std::string_view> strings = strings_of(random_keys(kAbsent, kAbsent), text);
  std::vector<std::uint8_t> answers(strings.size());
  count("may_contain/batch/strings" + end, strings.size(),
        [&] { (void)filter.may_contain(strings, answers); });
}

void count_changes(int bits, const Keys& keys, const std::string& end) {
  auto filter = empty_filter<Filter>(bits);
  count("insert/batch/empty_to_95" + end, keys.size(), [&] { (void)filter.insert(keys); });
  expect(filter.size() == keys.size(), "a filter did not take its keys");
  filter.clear();
  count("insert/single/empty_to_95" + end, keys.size(), [&] {
    for (const std::uint64_t key : keys) (void)filter.insert(key);
  });
  expect(filter.size() == keys.size(), "a filter did not take its keys");
  filter.clear();
  const std::span<const std::uint64_t> all(keys);
  const std::size_t most = keys_at(0.90, bits);
  store(filter, all.first(most));
  const std::span<const std::uint64_t> last = all.subspan(most);
  count("insert/batch/90_to_95" + end, last.size(), [&] { (void)filter.insert(last); });
  expect(filter.size() == keys.size(), "a filter did not take its last keys");
  count("grow" + end, keys.size(), [&] { expect(filter.grow(), "a filter did not grow"); });

  filter = empty_filter<Filter>(bits);
  store(filter, all);
  const std::span<const std::uint64_t> some = all.first(kQuestions);
  count("erase/batch" + end, some.size(), [&] { filter.erase(some); });
  expect(filter.size() == keys.size() - some.size(), "a filter did not erase its keys");
}

// A turnover, key by key, of a filter at 90 % load that has lived through some. Then what each
// refusal costs who fills it on: the searches that fail, and the inserts between them.
void count_turnover(int bits, bool turns_over) {
  constexpr int kLived = 4;
  auto filter = empty_filter<Filter>(bits, turns_over);
  Keys stored = stored_keys(bits);
  stored.resize(keys_at(0.90, bits));
  store(filter, stored);
  std::uint64_t next = stored.size();
  std::mt19937_64 random(7);
  std::size_t done = 0;
  const auto turn_over = [&] {
    for (std::size_t i = 0; i < stored.size(); ++i) {
      std::uint64_t& key = stored[random() % stored.size()];
      done += filter.erase(key);
      key = next++;
      done += filter.insert(key).outcome == Outcome::stored;
    }
  };
  for (int i = 0; i < kLived; ++i) turn_over();
  const std::string start = turns_over ? "turns_over/" : "";
  const std::string end = "/bits:" + std::to_string(bits);
  count(start + "turnover/single/90" + end, stored.size(), turn_over);
  expect(done == 2 * (kLived + 1) * stored.size(), "a filter lost or refused a key");

  const auto overfill = [&](int refusals) {
    while (refusals > 0) refusals -= filter.insert(next++).outcome == Outcome::full;
  };
  overfill(100);
  count(start + "insert/single/refused" + end, 100, [&] { overfill(100); });
}

void count_concurrent(int bits, const Keys& keys, const std::string& end) {
  auto filter = empty_filter<ConcurrentFilter>(bits);
  // The first operation of a thread registers it with userspace RCU; that is not counted.
  store(filter, std::span(keys).first(1));
  expect(filter.may_contain(keys.front()), "a wrong answer");
  count("concurrent/insert/single/empty_to_95" + end, keys.size() - 1, [&] {
    for (const std::uint64_t key : std::span(keys).subspan(1)) (void)filter.insert(key);
  });
  expect(filter.size() == keys.size(), "a filter did not take its keys");
  count_lookups(filter, "concurrent/", end);
}

// New keys in the first tick, then the same in the next one.
void count_expiring(int bits) {
  const std::string end = "/bits:" + std::to_string(bits);
  Keys keys(kBlocks * slots_of(expiring_layout(bits)) * 9 / 10);
  ExpiringFilter filter({.capacity = keys.size(), .bits = bits, .load = 0.9});
  std::iota(keys.begin(), keys.end(), std::uint64_t{0});
  expect(static_cast<bool>(filter.insert(keys.front())), "a filter did not take its keys");
  const auto insert_all = [&] {
    for (const std::uint64_t key : keys) (void)filter.insert(key);
  };
  count("expiring/insert/single/empty_to_90" + end, keys.size(), insert_all);
  filter.advance();
  count("expiring/insert/single/renew" + end, keys.size(), insert_all);
  expect(filter.may_contain(keys.back()), "a wrong answer");
}

int run(std::string_view target) {
  for (const std::int64_t number : usable_targets()) {
    if (target != hwy::TargetName(number)) continue;
    force_target(number);
    for (const int bits : kFilterWidths) {
      expect(filter_engine(bits, Placement::anywhere).target == number,
             "a wrong target is running");
      const std::string end = "/bits:" + std::to_string(bits);
      const Keys keys = stored_keys(bits);
      auto filter = empty_filter<Filter>(bits);
      store(filter, keys);
      count_lookups(filter, "", end);
      // Strings and locks cost 9 and 10 bits what they cost the others.
      const bool every = bits != 9 && bits != 10;
      if (every) count_strings(filter, end);
      count_changes(bits, keys, end);
      if (every) count_concurrent(bits, keys, end);
    }
    for (const int bits : {8, 12}) count_expiring(bits);
    // On one lane they take ten times as long and show nothing else.
    if (number == HWY_SCALAR) return 0;
    for (const int bits : {8, 12}) {
      count_turnover(bits, false);
      count_turnover(bits, true);
    }
    return 0;
  }
  std::fprintf(stderr, "counted_workloads: no target %s on this machine\n",
               std::string(target).c_str());
  return 3;
}

int print_toolchain() {
#ifdef __clang__
  std::printf("compiler clang %s\n", __clang_version__);
#else
  std::printf("compiler g++ %s\n", __VERSION__);
#endif
  std::printf("highway %d.%d.%d\n", HWY_MAJOR, HWY_MINOR, HWY_PATCH);
  std::printf("libc %s\n", gnu_get_libc_version());
  // Without this system call, each lookup in a ConcurrentFilter needs memory barriers.
  constexpr long kQuery = 0;
  constexpr long kPrivateExpedited = 1 << 3;
  const long known = ::syscall(SYS_membarrier, kQuery, 0);
  std::printf("membarrier %s\n", known > 0 && (known & kPrivateExpedited) != 0 ? "yes" : "no");
  return 0;
}

}  // namespace
}  // namespace nestline

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  try {
    if (arguments.size() == 1 && arguments[0] == "--toolchain") return nestline::print_toolchain();
    if (arguments.size() == 2 && arguments[0] == "--target") return nestline::run(arguments[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "counted_workloads: %s\n", error.what());
    return 1;
  }
  std::fprintf(stderr, "usage: counted_workloads --target NAME | --toolchain\n");
  return 2;
}
