// How fast the value of a CF.* key is, and how long its longest add takes while it grows.
//
//   redis_value [--items N] [--capacity N] [--expansion N] [--error P] [--list 1]
//
// Adds N distinct items one by one. For each tenfold size, and for N, prints a line with the memory
// per item, adds per second since the size before, one by one and, into another value, in batches
// of 100, the longest add, lookups per second of items that are in it and of items that are not,
// singly and in batches of 1000, and erases per second from copies of the value, singly and, by
// their hashes, in batches of 1000. A second line gives the same for the value after compact(), and
// how long that took. Times are for the value alone, without server and protocol. The longest add
// is measured on a further value in the thread's processor time, so that it shows growth and page
// faults but not what else the machine does. There are no huge pages, as in a server. --list prints
// each generation.
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/faces/embed/value/value.h"
#include "nestline/keys.h"

namespace {

using nestline::Outcome;
using nestline::redis::CuckooValue;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kBatch = 1000;
constexpr std::size_t kTogether = 100;
constexpr std::size_t kAsked = 1'000'000;

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

// An item of 12 to 20 bytes, made without a division for each digit.
std::string_view item(std::uint64_t i, std::span<char> text) {
  std::memcpy(text.data(), "item:", 5);
  std::size_t length = 5;
  do {
    text[length++] = static_cast<char>('a' + (i & 31));
    i >>= 5;
  } while (i != 0);
  return {text.data(), length};
}

void add(CuckooValue& value, std::uint64_t number) {
  char text[32];
  if (value.insert(item(number, text)) == Outcome::stored) return;
  std::fprintf(stderr, "item %llu was not added\n", static_cast<unsigned long long>(number));
  std::exit(1);
}

// Adds items until there are `until`. Returns adds per second.
double fill(CuckooValue& value, std::uint64_t from, std::uint64_t until) {
  const auto start = Clock::now();
  for (std::uint64_t i = from; i < until; ++i) add(value, i);
  return static_cast<double>(until - from) / seconds(Clock::now() - start);
}

// The same in batches.
double fill_together(CuckooValue& value, std::uint64_t from, std::uint64_t until) {
  std::array<std::array<char, 32>, kTogether> texts;
  std::array<std::string_view, kTogether> items;
  std::array<Outcome, kTogether> outcomes;
  const auto start = Clock::now();
  for (std::uint64_t first = from; first < until; first += kTogether) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kTogether, until - first));
    for (std::size_t i = 0; i < count; ++i) items[i] = item(first + i, texts[i]);
    const auto ended = std::span(outcomes).first(count);
    value.insert(std::span(items).first(count), nestline::redis::Unless::never, {}, ended);
    if (std::count(ended.begin(), ended.end(), Outcome::stored) != std::ssize(ended)) std::abort();
  }
  return static_cast<double>(until - from) / seconds(Clock::now() - start);
}

struct Longest {
  double milliseconds = 0;
  std::uint64_t at = 0;
};

double thread_milliseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

Longest fill_timed(CuckooValue& value, std::uint64_t from, std::uint64_t until) {
  Longest longest;
  for (std::uint64_t i = from; i < until; ++i) {
    const double start = thread_milliseconds();
    add(value, i);
    const double time = thread_milliseconds() - start;
    if (time > longest.milliseconds) longest = {time, i};
  }
  return longest;
}

// Lookups or erases per second: singly, and in batches.
struct Rates {
  double single;
  double batch;
};

Rates ask(const CuckooValue& value, std::uint64_t first, std::uint64_t count) {
  std::vector<std::string> names;
  char text[32];
  const std::uint64_t step = std::max<std::uint64_t>(1, 0x9e3779b97f4a7c15U % count);
  for (std::size_t i = 0; i < kAsked; ++i) {
    names.emplace_back(item(first + (i * step) % count, text));
  }
  const std::vector<std::string_view> asked(names.begin(), names.end());
  std::uint64_t found = 0;
  auto start = Clock::now();
  for (const std::string_view each : asked) found += value.exists(each);
  const double single = seconds(Clock::now() - start);
  std::vector<std::uint8_t> out(kBatch);
  start = Clock::now();
  for (std::size_t i = 0; i < kAsked; i += kBatch) {
    value.exists(std::span(asked).subspan(i, kBatch), out);
    found -= static_cast<std::uint64_t>(std::count(out.begin(), out.end(), 1));
  }
  const double batch = seconds(Clock::now() - start);
  if (found != 0) std::abort();
  return {kAsked / single, kAsked / batch};
}

// Erases per second, from copies of the value, in an order unlike that of the adds.
Rates erase_some(const CuckooValue& value, std::uint64_t items) {
  const std::uint64_t count = std::min<std::uint64_t>(items / 2, 200'000);
  const std::uint64_t step = items / count;
  std::vector<std::string> names;
  std::vector<std::uint64_t> hashes;
  char text[32];
  for (std::uint64_t i = 0; i < count; ++i) {
    names.emplace_back(item((i * 7919 % count) * step, text));
    hashes.push_back(nestline::hash_key(names.back(), value.settings().seed).value);
  }
  const auto singly = value.copy();
  auto start = Clock::now();
  for (const std::string& name : names) {
    if (!singly->erase(name)) std::abort();
  }
  const double single = seconds(Clock::now() - start);
  const auto together = value.copy();
  std::vector<std::uint8_t> erased(count);
  start = Clock::now();
  for (std::uint64_t i = 0; i < count; i += kBatch) {
    const std::size_t some = std::min<std::size_t>(kBatch, count - i);
    together->erase(std::span<const std::uint64_t>(hashes).subspan(i, some),
                    std::span(erased).subspan(i, some));
  }
  const double batch = seconds(Clock::now() - start);
  if (singly->digest() != together->digest()) std::abort();
  return {static_cast<double>(count) / single, static_cast<double>(count) / batch};
}

void print_figures(const CuckooValue& value, std::uint64_t items, bool list) {
  const auto info = value.info();
  const Rates hits = ask(value, 0, items);
  const Rates misses = ask(value, std::uint64_t{1} << 40, std::uint64_t{1} << 39);
  const Rates erases = erase_some(value, items);
  std::printf("%12llu %4zu %9.2f %6.2f %9.6f | %6.1f %6.1f %6.1f %6.1f %6.2f %6.2f",
              static_cast<unsigned long long>(items), value.list().size(),
              static_cast<double>(info.memory_bytes) / (1 << 20),
              static_cast<double>(info.memory_bytes) / static_cast<double>(items),
              info.expected_fpr, hits.single / 1e6, hits.batch / 1e6, misses.single / 1e6,
              misses.batch / 1e6, erases.single / 1e6, erases.batch / 1e6);
  if (!list) return;
  for (const auto& each : value.list()) {
    std::printf("\n    %2d bits, doubled %u of %u: %llu of %llu items, %.2f MiB, rate %.6f",
                each.bits(), each.growth(), each.most_growth(),
                static_cast<unsigned long long>(each.size()),
                static_cast<unsigned long long>(each.capacity()),
                static_cast<double>(each.block_bytes()) / (1 << 20), each.expected_fpr());
  }
}

}  // namespace

int main(int argc, char** argv) {
  ::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  std::uint64_t most = 10'000'000;
  bool list = false;
  nestline::redis::Settings settings;
  settings.seed = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--items") most = std::strtoull(argv[i + 1], nullptr, 10);
    if (option == "--capacity") settings.capacity = std::strtoull(argv[i + 1], nullptr, 10);
    if (option == "--expansion") {
      settings.expansion = static_cast<std::uint16_t>(std::strtoul(argv[i + 1], nullptr, 10));
    }
    if (option == "--error") settings.error = std::strtod(argv[i + 1], nullptr);
    if (option == "--list") list = *argv[i + 1] != '0';
  }
  const auto value = CuckooValue::create(settings);
  const auto timed = CuckooValue::create(settings);
  const auto batched = CuckooValue::create(settings);
  std::printf("%12s %4s %9s %6s %9s | %6s %6s %6s %6s %6s %6s | M/s\n", "items", "gens", "MiB",
              "B/item", "rate", "hit", "hits", "miss", "misses", "erase", "erases");
  std::uint64_t items = 0;
  while (items < most) {
    const std::uint64_t until = std::min(most, std::max<std::uint64_t>(1000, items * 10));
    const double adds = fill(*value, items, until);
    const double adds_together = fill_together(*batched, items, until);
    const Longest longest = fill_timed(*timed, items, until);
    items = until;
    print_figures(*value, items, list);
    std::printf("\n%16s %.2f M adds/s, %.2f in batches, longest %.3f ms at %llu\n", "", adds / 1e6,
                adds_together / 1e6, longest.milliseconds,
                static_cast<unsigned long long>(longest.at));
    const auto compacted = value->copy();
    const double start = thread_milliseconds();
    compacted->compact();
    const double time = thread_milliseconds() - start;
    print_figures(*compacted, items, list);
    std::printf("\n%16s after compact() of %.1f ms\n", "", time);
    std::fflush(stdout);
  }
  return 0;
}
