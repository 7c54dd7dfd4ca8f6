#include "bench/store/engines/filter_policy.h"

#include <leveldb/filter_policy.h>
#include <leveldb/slice.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/store/machine.h"
#include "bench/store/workload.h"
#include "lib/engine/place/layout.h"
#include "nestline/filter.h"

namespace nestline::bench {
namespace {

struct Answers {
  std::uint64_t asked = 0;
  std::uint64_t positive = 0;
  double seconds = 0;
  [[nodiscard]] double rate() const {
    return static_cast<double>(positive) / static_cast<double>(asked);
  }
  [[nodiscard]] double nanoseconds() const { return seconds * 1e9 / static_cast<double>(asked); }
};

// Asks all sets in turn for missing keys: may_match(set, key).
template <class MayMatch>
Answers ask(std::size_t sets, double seconds, const MayMatch& may_match) {
  Answers answers;
  std::uint64_t seed = 0;
  while (answers.seconds < seconds) {
    Questions questions(std::uint64_t{1} << 30, false, ++seed);
    questions.draw(65'536);
    const Watch watch(Watch::Of::thread);
    std::size_t set = 0;
    for (const std::string_view key : questions.keys()) {
      answers.positive += may_match(set, key) ? 1 : 0;
      if (++set == sets) set = 0;
    }
    answers.seconds += watch.read().processor;
    answers.asked += questions.keys().size();
  }
  return answers;
}

void compare(std::size_t keys, int bits, double seconds) {
  // Enough sets that most of them are not in the nearest caches, as in a database.
  const std::size_t sets = std::clamp<std::size_t>(2'000'000 / keys, 1, 20'000);
  std::vector<Filter> filters;
  std::vector<std::string> blooms;
  std::unique_ptr<const leveldb::FilterPolicy> policy;
  Records records;
  double bits_a_key = 0;
  for (std::size_t set = 0; set < sets; ++set) {
    records.make(set * keys, keys);
    filters.push_back(Filter::build({.capacity = keys, .bits = bits}, records.keys()));
    bits_a_key = static_cast<double>(filters.back().memory_bytes() * 8) / static_cast<double>(keys);
    if (policy == nullptr) {
      policy.reset(leveldb::NewBloomFilterPolicy(static_cast<int>(std::lround(bits_a_key))));
    }
    std::vector<leveldb::Slice> slices;
    for (const std::string_view key : records.keys()) slices.emplace_back(key.data(), key.size());
    policy->CreateFilter(slices.data(), static_cast<int>(keys), &blooms.emplace_back());
  }
  const Answers ours = ask(sets, seconds, [&](std::size_t set, std::string_view key) {
    return filters[set].may_contain(key);
  });
  const Answers theirs = ask(sets, seconds, [&](std::size_t set, std::string_view key) {
    return policy->KeyMayMatch({key.data(), key.size()}, blooms[set]);
  });
  std::printf(
      "%8zu keys a filter, %2d-bit nestline: %5.1f bits a key, false %8.4f %%, %5.1f ns;  "
      "LevelDB's Bloom: %5.1f bits, %8.4f %%, %5.1f ns\n",
      keys, bits, bits_a_key, ours.rate() * 100, ours.nanoseconds(),
      static_cast<double>(blooms[0].size()) * 8 / static_cast<double>(keys), theirs.rate() * 100,
      theirs.nanoseconds());
  std::fflush(stdout);
}

}  // namespace

void compare_filters(double seconds) {
  // 2 KiB of records of 116 bytes, a block of 4 KiB, and ever larger ones up to a whole file.
  for (const std::size_t keys : {18, 36, 55, 200, 1000, 20'000, 1'000'000}) {
    for (const int bits : kFilterWidths) compare(keys, bits, seconds);
  }
}

}  // namespace nestline::bench
