// Other filters and sets beside nestline at 8 bits, piece by piece in turn: speed, and the space
// and error rate with it. See space.cc for the memory that a rate takes.
//
// Filters with blocks or buckets get the same memory as nestline. The Bloom filters hold the same
// keys. The textbook cuckoo filter is filled to 95 % of its own slots, as nestline is, and so is
// nestline of 12 bits. The sets
// hold the same keys in as much memory as they need, and are left out where that would be
// gigabytes.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "bench/filters/others/blocked_bloom.h"
#include "bench/filters/others/classic_bloom.h"
#include "bench/filters/others/cuckoo_map.h"
#include "bench/filters/others/textbook_cuckoo.h"
#include "bench/support/benchmarks.h"
#include "bench/support/ceiling.h"
#include "bench/support/workload.h"

namespace nestline::bench {
namespace {

constexpr int kBits = 8;

// Gives the interface of the references to any set with insert, contains and erase of a key.
template <class Set>
class BatchedSet {
 public:
  BatchedSet(std::size_t, std::uint64_t keys) : set_(keys) {}

  [[nodiscard]] bool may_contain(std::uint64_t key) const { return set_.contains(key); }
  void insert(std::span<const std::uint64_t> keys) {
    for (const std::uint64_t key : keys) set_.insert(key);
  }
  std::size_t may_contain(std::span<const std::uint64_t> keys, std::span<std::uint8_t> out) const {
    std::size_t hits = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) hits += out[i] = set_.contains(keys[i]);
    return hits;
  }
  void erase(std::span<const std::uint64_t> keys) {
    for (const std::uint64_t key : keys) set_.erase(key);
  }

 private:
  Set set_;
};

struct TextbookReference : TextbookCuckoo {
  static constexpr const char* kName = "textbook_cuckoo";
  static constexpr bool kExact = false;
  static constexpr bool kErases = true;
  TextbookReference(std::size_t bytes, std::uint64_t) : TextbookCuckoo(bytes) {}
  // One slot per byte.
  static std::uint64_t keys_at(double load, std::size_t bytes) {
    return static_cast<std::uint64_t>(load * static_cast<double>(bytes));
  }
};
struct HoldsTheSameKeys {
  static std::uint64_t keys_at(double load, std::size_t bytes) {
    return bench::keys_at(load, kBits, bytes);
  }
};
struct BlockedReference : BlockedBloom, HoldsTheSameKeys {
  static constexpr const char* kName = "blocked_bloom";
  static constexpr bool kExact = false;
  static constexpr bool kErases = false;
  BlockedReference(std::size_t bytes, std::uint64_t) : BlockedBloom(bytes) {}
};
struct ClassicReference : ClassicBloom, HoldsTheSameKeys {
  static constexpr const char* kName = "classic_bloom";
  static constexpr bool kExact = false;
  static constexpr bool kErases = false;
  using ClassicBloom::ClassicBloom;
};
// nestline at another width: filled to 95 % of its own slots.
struct WideReference : Filter {
  static constexpr const char* kName = "nestline_12_bits";
  static constexpr bool kExact = false;
  static constexpr bool kErases = true;
  static constexpr int kWidth = 12;
  WideReference(std::size_t, std::uint64_t keys)
      : Filter({.capacity = keys, .bits = kWidth, .seed = 1}) {}
  static std::uint64_t keys_at(double load, std::size_t bytes) {
    return bench::keys_at(load, kWidth, bytes);
  }
};
struct HashSetReference : BatchedSet<std::unordered_set<std::uint64_t>>, HoldsTheSameKeys {
  static constexpr const char* kName = "unordered_set";
  static constexpr bool kExact = true;
  static constexpr bool kErases = true;
  using BatchedSet::BatchedSet;
};
struct CuckooMapReference : BatchedSet<CuckooMap<std::allocator, 1>>, HoldsTheSameKeys {
  static constexpr const char* kName = "libcuckoo";
  static constexpr bool kExact = true;
  static constexpr bool kErases = true;
  using BatchedSet::BatchedSet;
};

// Measures the reference, nestline and the ceiling in turn.
class Contest {
 public:
  Contest(benchmark::State& state, std::size_t bytes)
      : state_(state), bytes_(bytes), ceiling_(ceiling_of(bytes)) {}

  // Work on pieces of at most a million of either side's keys: work(subject, piece).
  template <class Theirs, typename Work>
  void iteration(Theirs& theirs, std::span<const std::uint64_t> their_keys, Filter& ours,
                 std::span<const std::uint64_t> our_keys, bool repeatable, const Work& work) {
    const std::size_t most = random_numbers().size();
    const std::size_t pieces = (std::max(their_keys.size(), our_keys.size()) + most - 1) / most;
    const double before = theirs_.seconds();
    for (std::size_t p = 0; p < pieces; ++p) {
      const auto piece_of = [&](std::span<const std::uint64_t> keys) {
        const std::size_t first = keys.size() * p / pieces;
        return keys.subspan(first, keys.size() * (p + 1) / pieces - first);
      };
      const auto time = [&](Side& side, auto piece, const auto& body) {
        if (repeatable && is_cached(bytes_)) body(piece);
        const double start = now();
        body(piece);
        side.add(piece.size(), now() - start);
      };
      time(theirs_, piece_of(their_keys), [&](auto piece) { work(theirs, piece); });
      time(ours_, piece_of(our_keys), [&](auto piece) { work(ours, piece); });
      time(visits_, random_numbers().first(piece_of(our_keys).size()),
           [&](auto piece) { benchmark::DoNotOptimize(ceiling_.seconds(piece)); });
    }
    state_.SetIterationTime(theirs_.seconds() - before);
  }

  // For lookups the median of the pieces counts, since all pieces are alike. For changes the sum
  // counts, since inserts become slower as a filter fills.
  void report(bool repeatable) {
    const auto rate = [&](const Side& side) { return repeatable ? side.rate() : side.mean_rate(); };
    state_.counters["rate"] = rate(theirs_);
    state_.counters["nestline"] = rate(ours_);
    state_.counters["nestline_of_this"] = rate(ours_) / rate(theirs_);
    state_.counters["of_ceiling"] = rate(theirs_) / rate(visits_);
    state_.counters["nestline_of_ceiling"] = rate(ours_) / rate(visits_);
  }

 private:
  benchmark::State& state_;
  std::size_t bytes_;
  const Ceiling& ceiling_;
  Side theirs_;
  Side ours_;
  Side visits_;
};

template <class Reference>
struct Pair {
  Reference reference;
  Filter filter;
  std::uint64_t their_keys;

  Pair(double load, std::size_t bytes)
      : reference(bytes, Reference::keys_at(kLoad, bytes)),
        filter(filled_filter(kBits, bytes, load)),
        their_keys(Reference::keys_at(load, bytes)) {
    fill_from(reference, 0, their_keys);
  }
};

// Kept for the next benchmark of the same reference and size.
template <class Reference>
Pair<Reference>& pair_at(double load, std::size_t bytes) {
  static std::pair<double, std::size_t> kept;
  static std::optional<Pair<Reference>> pair;
  if (!pair || kept != std::pair(load, bytes)) {
    pair.reset();
    pair.emplace(load, bytes);
    kept = {load, bytes};
  }
  return *pair;
}

template <class Reference>
void lookups(benchmark::State& state, std::size_t bytes, int hit_rate, Form form) {
  Pair<Reference>& pair = pair_at<Reference>(kLoad, bytes);
  const auto their_keys = lookup_keys(bytes, pair.their_keys, hit_rate);
  const auto our_keys = lookup_keys(bytes, pair.filter.size(), hit_rate);
  std::vector<std::uint8_t> answers(our_keys.size());
  Contest contest(state, bytes);
  const auto ask = [&](const auto& subject, std::span<const std::uint64_t> piece) {
    std::size_t hits = 0;
    if (form == Form::batch) {
      hits = subject.may_contain(piece, std::span(answers).first(piece.size()));
    } else {
      for (const std::uint64_t key : piece) hits += subject.may_contain(key);
    }
    benchmark::DoNotOptimize(hits);
    return hits;
  };
  for (auto _ : state) {
    contest.iteration(std::as_const(pair.reference), their_keys, pair.filter, our_keys, true, ask);
  }
  contest.report(true);
  const auto share = [&](const auto& subject, const auto& keys) {
    return static_cast<double>(ask(subject, keys)) / static_cast<double>(keys.size());
  };
  if (hit_rate == 0) {
    state.counters["fpr"] = share(pair.reference, their_keys);
    state.counters["nestline_fpr"] = share(pair.filter, our_keys);
  }
  if (hit_rate == 100 && share(pair.reference, their_keys) != 1) {
    state.SkipWithError("a key that was stored was not found");
  }
  if constexpr (!Reference::kExact) {
    state.counters["bits_per_key"] = static_cast<double>(pair.reference.memory_bytes()) * 8 /
                                     static_cast<double>(pair.their_keys);
    state.counters["nestline_bits_per_key"] = static_cast<double>(pair.filter.memory_bytes()) * 8 /
                                              static_cast<double>(pair.filter.size());
  }
}

// Inserts from `load` to 95 %.
template <class Reference>
void inserts(benchmark::State& state, std::size_t bytes, double load) {
  std::optional<Pair<Reference>> made;
  const std::uint64_t their_first = Reference::keys_at(load, bytes);
  const std::uint64_t our_first = keys_at(load, kBits, bytes);
  const auto their_keys = counter_keys(Reference::keys_at(kLoad, bytes) - their_first, their_first);
  const auto our_keys = counter_keys(keys_at(kLoad, kBits, bytes) - our_first, our_first);
  Contest contest(state, bytes);
  for (auto _ : state) {
    made.reset();
    made.emplace(load, bytes);
    if (load == 0) made->filter.clear();  // the system has provided the memory then
    contest.iteration(made->reference, their_keys, made->filter, our_keys, false,
                      [](auto& subject, auto piece) { (void)subject.insert(piece); });
    if (made->filter.size() != keys_at(kLoad, kBits, bytes)) {
      state.SkipWithError("not every key was stored");
    }
  }
  contest.report(false);
}

template <class Reference>
void erases(benchmark::State& state, std::size_t bytes) {
  Contest contest(state, bytes);
  const auto keys = counter_keys(
      std::min<std::uint64_t>(keys_at(kLoad, kBits, bytes) / 20, std::uint64_t{1} << 22));
  Pair<Reference>& pair = pair_at<Reference>(kLoad, bytes);
  for (auto _ : state) {
    contest.iteration(pair.reference, keys, pair.filter, keys, false,
                      [](auto& subject, auto piece) { subject.erase(piece); });
    (void)pair.reference.insert(keys);
    (void)pair.filter.insert(keys);
  }
  contest.report(false);
}

template <class Reference>
void add_reference() {
  for (const std::size_t bytes : sizes()) {
    if (Reference::kExact && !is_cached(bytes)) continue;
    const std::string begin = std::string("reference/") + Reference::kName + "/";
    const std::string end = "/" + suffix(bytes);
    const int several = bytes < kMib ? 200 : bytes <= 16 * kMib ? 5 : 3;
    for (const int rate : kNoneAndAll) {
      const std::string hits = "/hits:" + std::to_string(rate);
      add(begin + "may_contain/batch" + hits + end, [=](benchmark::State& state) {
        lookups<Reference>(state, bytes, rate, Form::batch);
      })->Iterations(4 * several);
      add(begin + "may_contain/single" + hits + end, [=](benchmark::State& state) {
        lookups<Reference>(state, bytes, rate, Form::single);
      })->Iterations(4 * several);
    }
    if constexpr (Reference::kErases) {
      add(begin + "erase/batch" + end, [=](benchmark::State& state) {
        erases<Reference>(state, bytes);
      })->Iterations(several);
    }
    const int few = bytes <= 16 * kMib ? several : 1;
    add(begin + "insert/batch/from_empty" + end, [=](benchmark::State& state) {
      inserts<Reference>(state, bytes, 0);
    })->Iterations(few);
    add(begin + "insert/batch/last_5_percent" + end, [=](benchmark::State& state) {
      inserts<Reference>(state, bytes, 0.90);
    })->Iterations(few);
  }
}

}  // namespace

void add_references() {
  add_reference<BlockedReference>();
  add_reference<TextbookReference>();
  add_reference<WideReference>();
  add_reference<ClassicReference>();
  add_reference<HashSetReference>();
  add_reference<CuckooMapReference>();
}

}  // namespace nestline::bench
