// What the load of an ExpiringFilter costs, beside four rotating blocked Bloom filters in as much
// memory: a row for each load.
//
//   expiring_loads [MEMORY [BITS [ROUNDS [LOAD ...]]]]      MEMORY: as "256KiB" or "16MiB", of
//   slots
//
// Each filter turns over at its capacity for eight lifetimes before anything is measured. Each
// round is one tick of ours and one generation of theirs, and lookups when both are full:
//
//   insert    a tick of new keys in batches of 4096, and advance(); a generation, and rotate()
//   seen      "was it seen, and remember it": ours is the insert; theirs a lookup and an insert
//   batch     lookups of absent keys, in batches of 4096
//   single    of absent keys one by one, by may_contain
//   reader    the same by a reader; theirs inlined, the newest first
//
// Times are nanoseconds a key, the first quartile of the rounds. Each rotating filter has a third
// of the keys, so that a key lives in three whole ones at least.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "bench/filters/others/rotating_bloom.h"
#include "bench/support/ceiling.h"
#include "bench/support/workload.h"
#include "nestline/expiring_filter.h"

namespace nestline::bench { namespace {

constexpr std::size_t kBatch = 4096;
constexpr std::size_t kLookups = 1 << 17;

// Nanoseconds a key, of rounds.
class Times {
 public:
  template <typename Work>
  void time(std::size_t keys, Work&& work) {
    const double start = now();
    work();
    seconds_ += now() - start;
    keys_ += keys;
  }
  void end_round() {
    if (keys_ != 0) all_.push_back(seconds_ * 1e9 / static_cast<double>(keys_));
    seconds_ = 0;
    keys_ = 0;
  }
  [[nodiscard]] double quartile() {
    const auto at = all_.begin() + static_cast<std::ptrdiff_t>(all_.size() / 4);
    std::nth_element(all_.begin(), at, all_.end());
    return *at;
  }

 private:
  double seconds_ = 0;
  std::size_t keys_ = 0;
  std::vector<double> all_;
};

// Calls work(keys) with `count` keys from `next` on, in batches.
template <typename Work>
void in_batches(std::uint64_t count, std::uint64_t& next, Work&& work) {
  for (std::uint64_t done = 0; done < count;) {
    const auto keys = counter_keys(std::min<std::uint64_t>(kBatch, count - done), next);
    work(std::span(keys));
    next += keys.size();
    done += keys.size();
  }
}

template <typename Contains>
std::size_t count(std::span<const std::uint64_t> keys, Contains&& contains) {
  std::size_t found = 0;
  for (const std::uint64_t key : keys) found += contains(key);
  return found;
}

struct Comparison {
  Comparison(double load, int bits, std::uint64_t keys)
      : ours({.capacity = keys, .bits = bits, .load = load, .seed = 1}),
        theirs(ours.memory_bytes()),
        capacity(keys) {}

  // A tick of new keys; time moves on first, so that the filter is full at the end.
  void tick(Times& times) {
    const std::uint64_t each = capacity / (ours.ttl_ticks() + 1);
    times.time(0, [&] { ours.advance(); });
    in_batches(each, our_next, [&](auto keys) {
      times.time(keys.size(), [&] { (void)ours.insert(keys, outcomes(keys.size())); });
      full += static_cast<std::size_t>(std::ranges::count(outcomes(keys.size()), Outcome::full));
    });
    times.end_round();
  }
  // A generation of theirs.
  void generation(Times& times, bool looks_first) {
    times.time(0, [&] { theirs.rotate(); });
    in_batches(capacity / 3, their_next, [&](auto keys) {
      times.time(keys.size(), [&] {
        if (looks_first) theirs.may_contain(keys, out(keys.size()));
        theirs.insert(keys);
      });
    });
    times.end_round();
  }
  std::span<Outcome> outcomes(std::size_t count) { return std::span(room).first(count); }
  std::span<std::uint8_t> out(std::size_t count) { return std::span(answers).first(count); }

  ExpiringFilter ours;
  RotatingBloom theirs;
  std::uint64_t capacity;
  std::uint64_t our_next = 0;
  std::uint64_t their_next = 0;
  std::uint64_t absent = kAbsent;
  std::uint64_t full = 0;
  std::vector<Outcome> room = std::vector<Outcome>(kBatch);
  std::vector<std::uint8_t> answers = std::vector<std::uint8_t>(kBatch);
};

void measure(double load, std::size_t bytes, int bits, int rounds) {
  const std::uint64_t slots = bytes / 64 * (bits == 8 ? 40 : 30);
  Comparison both(load, bits, static_cast<std::uint64_t>(load * static_cast<double>(slots)));
  Times unused;
  for (unsigned i = 0; i < 8 * (both.ours.ttl_ticks() + 1); ++i) both.tick(unused);
  for (std::size_t i = 0; i < RotatingBloom::kGenerations; ++i) both.generation(unused, false);
  Times insert, their_insert, seen, batch, their_batch, single, by_reader, their_single;
  std::size_t hits = 0;
  std::size_t their_hits = 0;
  for (int round = 0; round < rounds; ++round) {
    both.tick(insert);
    both.generation(their_insert, false);
    both.generation(seen, true);
    const std::uint64_t first = both.absent;
    const auto ask = [&](Times& times, std::size_t& found, auto&& look_up) {
      both.absent = first;
      in_batches(kLookups, both.absent, [&](auto keys) {
        times.time(keys.size(), [&] { found += look_up(keys, both.out(keys.size())); });
      });
      times.end_round();
    };
    ask(batch, hits, [&](auto keys, auto out) { return both.ours.may_contain(keys, out); });
    ask(their_batch, their_hits,
        [&](auto keys, auto out) { return both.theirs.may_contain(keys, out); });
    ask(single, hits, [&](auto keys, auto) {
      return count(keys, [&](std::uint64_t key) { return both.ours.may_contain(key); });
    });
    ask(by_reader, hits, [&](auto keys, auto) {
      const ConcurrentReader reader = both.ours.reader();
      return count(keys, [&](std::uint64_t key) { return reader.may_contain(key); });
    });
    ask(their_single, their_hits,
        [&](auto keys, auto) { return both.theirs.may_contain_each(keys); });
  }
  const auto percent = [&](std::size_t found, int times) {
    return 100 * static_cast<double>(found) /
           (times * static_cast<double>(rounds) * static_cast<double>(kLookups));
  };
  std::printf(
      "%4.2f %6.2f   %5.2f %5.2f   %6.1f %6.1f %6.1f   %6.1f %6.1f   %6.1f %6.1f %6.1f   %llu\n",
      load, static_cast<double>(both.ours.memory_bytes()) * 8 / static_cast<double>(both.capacity),
      percent(hits, 3), percent(their_hits, 2), insert.quartile(), their_insert.quartile(),
      seen.quartile(), batch.quartile(), their_batch.quartile(), single.quartile(),
      by_reader.quartile(), their_single.quartile(), static_cast<unsigned long long>(both.full));
  std::fflush(stdout);
}

}  // namespace
}  // namespace nestline::bench

int main(int argc, char** argv) {
  using namespace nestline::bench;
  const std::string memory = argc > 1 ? argv[1] : "256KiB";
  const int bits = argc > 2 ? std::atoi(argv[2]) : 8;
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 40;
  if (!choose_sizes(memory) || (bits != 8 && bits != 12) || rounds < 4) {
    std::fprintf(stderr, "usage: expiring_loads [MEMORY [BITS [ROUNDS [LOAD ...]]]]\n");
    return 2;
  }
  std::printf(
      "load bits/key   fpr%%  their  insert  their   seen    batch  their   single reader  their   "
      "full\n");
  std::vector<double> loads = {0.9, 0.85, 0.8, 0.75, 0.7};
  if (argc > 4) loads.clear();
  for (int i = 4; i < argc; ++i) loads.push_back(std::atof(argv[i]));
  for (const double load : loads) measure(load, sizes().front(), bits, rounds);
}
