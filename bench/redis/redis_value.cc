// How fast the value of a CF.* key is, and how long its longest add takes while it grows.
//
//   redis_value [--items N] [--capacity N] [--expansion N] [--error P]
//
// Adds N distinct items one by one and prints for each tenfold size: adds a second since the size
// before, the longest add, and questions a second, single and in batches of 1000, of items that are
// in it and that are not. Times are of the value alone: no server, no protocol. The longest add is
// that of a second value, in processor time of the thread, so that it shows growth and page faults
// but not what else the machine does. There are no huge pages, as there are none in a server.
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/redis/value/value.h"

namespace {

using nestline::redis::Added;
using nestline::redis::CuckooValue;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kBatch = 1000;
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
  if (value.add(item(number, text)) == Added::added) return;
  std::fprintf(stderr, "item %llu was not added\n", static_cast<unsigned long long>(number));
  std::exit(1);
}

// Adds items until there are `until`; adds a second.
double fill(CuckooValue& value, std::uint64_t from, std::uint64_t until) {
  const auto start = Clock::now();
  for (std::uint64_t i = from; i < until; ++i) add(value, i);
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

// Questions a second: singly, and in batches.
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

}  // namespace

int main(int argc, char** argv) {
  ::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  std::uint64_t most = 10'000'000;
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
  }
  const auto value = CuckooValue::create(settings);
  const auto timed = CuckooValue::create(settings);
  std::printf("%12s %5s %9s %9s | %9s %12s at | M/s: %8s %8s %8s %8s\n", "items", "gens", "MiB",
              "rate", "M adds/s", "longest", "hit", "hits", "miss", "misses");
  std::uint64_t items = 0;
  for (std::uint64_t until = 1000; until <= most; until *= 10) {
    const double adds = fill(*value, items, until);
    const Longest longest = fill_timed(*timed, items, until);
    items = until;
    const Rates hits = ask(*value, 0, items);
    const Rates misses = ask(*value, std::uint64_t{1} << 40, std::uint64_t{1} << 39);
    const auto info = value->info();
    std::printf("%12llu %5zu %9.2f %9.6f | %9.2f %9.3f ms at %llu | %8.1f %8.1f %8.1f %8.1f\n",
                static_cast<unsigned long long>(items), info.generations.size(),
                static_cast<double>(info.memory_bytes) / (1 << 20), info.expected_fpr, adds / 1e6,
                longest.milliseconds, static_cast<unsigned long long>(longest.at),
                hits.single / 1e6, hits.batch / 1e6, misses.single / 1e6, misses.batch / 1e6);
    std::fflush(stdout);
  }
  return 0;
}
