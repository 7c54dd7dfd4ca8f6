// ConcurrentFilter's lookups: without writers, compared with Filter; on several threads, compared
// with one; and beside a writer of many blocks or of one block, compared with no writer.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/support/benchmarks.h"
#include "bench/support/ceiling.h"
#include "bench/support/pinned_threads.h"
#include "bench/support/workload.h"
#include "lib/filters/filter/blocks.h"
#include "nestline/concurrent_filter.h"

namespace nestline::bench {
namespace {

constexpr double kWriterLoad = 0.90;

// Two filters with the same content.
struct Twins {
  Filter plain;
  ConcurrentFilter shared;
};

// Kept for the next benchmark of the same size and load.
Twins& twins(int bits, std::size_t bytes, double load) {
  static std::tuple<int, std::size_t, double> kept;
  static std::optional<Twins> made;
  if (!made || kept != std::tuple(bits, bytes, load)) {
    made.reset();
    ConcurrentFilter shared(filled_filter(bits, bytes, load));
    Filter plain = shared.snapshot();
    made.emplace(Twins{std::move(plain), std::move(shared)});
    kept = {bits, bytes, load};
  }
  return *made;
}

// Calls ask(piece) for one piece of `keys` and adds its time to `side`. If the filter fits into a
// cache, first calls ask(piece) once untimed, to bring the filter back into the cache: the other
// side of the comparison has used the cache meanwhile.
template <typename Ask>
void ask_in_pieces(std::span<const std::uint64_t> keys, std::size_t at, bool cached, Side& side,
                   Ask&& ask) {
  const auto piece = keys.subspan(at, std::min(std::size_t{1} << 17, keys.size() - at));
  if (cached) ask(piece);
  const double start = now();
  ask(piece);
  side.add(piece.size(), now() - start);
}

// One thread without writers, against Filter.
// `reader`: single lookups of the ConcurrentFilter by a ConcurrentReader for each piece.
void without_writers(benchmark::State& state, int bits, std::size_t bytes, int hit_rate, Form form,
                     bool reader = false) {
  const Twins& both = twins(bits, bytes, kLoad);
  const std::vector<std::uint64_t> keys = lookup_keys(bytes, both.plain.size(), hit_rate);
  std::vector<std::uint8_t> answers(keys.size());
  const auto ask = [&]<class Asked>(const Asked& filter, std::span<const std::uint64_t> piece) {
    std::size_t hits = 0;
    if (form == Form::single) {
      for (const std::uint64_t key : piece) hits += filter.may_contain(key);
    } else if constexpr (!std::is_same_v<Asked, ConcurrentReader>) {
      hits = filter.may_contain(piece, std::span(answers).first(piece.size()));
    }
    benchmark::DoNotOptimize(hits);
  };
  Side plain;
  Side shared;
  bool plain_first = true;
  for (auto _ : state) {
    const double before = shared.seconds();
    for (std::size_t at = 0; at < keys.size(); at += std::size_t{1} << 17) {
      const auto ask_plain = [&](auto piece) { ask(both.plain, piece); };
      const auto ask_shared = [&](auto piece) {
        reader ? ask(both.shared.reader(), piece) : ask(both.shared, piece);
      };
      if (plain_first) ask_in_pieces(keys, at, is_cached(bytes), plain, ask_plain);
      ask_in_pieces(keys, at, is_cached(bytes), shared, ask_shared);
      if (!plain_first) ask_in_pieces(keys, at, is_cached(bytes), plain, ask_plain);
      plain_first = !plain_first;
    }
    state.SetIterationTime(shared.seconds() - before);
  }
  report(state, "of_filter", shared.rate(), plain.rate());
}

// Several threads against each of them alone, and the same for the ceiling of equally large memory:
// what this machine's cores can do together.
void more_threads(benchmark::State& state, int bits, std::size_t bytes, int hit_rate,
                  unsigned threads) {
  constexpr double kPhase = 0.02;
  constexpr std::size_t kPiece = std::size_t{1} << 14;
  const ConcurrentFilter& filter = twins(bits, bytes, kLoad).shared;
  const Ceiling& ceiling = ceiling_of(bytes);
  struct alignas(64) Reader {
    std::vector<std::uint64_t> keys;
    std::vector<std::uint8_t> answers;
    std::size_t at;
  };
  std::vector<Reader> readers(threads);
  for (unsigned m = 0; m < threads; ++m) {
    readers[m] = {lookup_keys(bytes, filter.size(), hit_rate, 3 + m),
                  std::vector<std::uint8_t>(kPiece), 0};
  }
  const auto next = [&](unsigned m) {
    Reader& reader = readers[m];
    reader.at = (reader.at + kPiece) % reader.keys.size();
    return std::span<const std::uint64_t>(reader.keys).subspan(reader.at, kPiece);
  };
  const auto lookups = [&](unsigned m) {
    benchmark::DoNotOptimize(filter.may_contain(next(m), readers[m].answers));
    return kPiece;
  };
  const auto visits = [&](unsigned m) {
    readers[m].at = (readers[m].at + kPiece) % random_numbers().size();
    benchmark::DoNotOptimize(ceiling.seconds(random_numbers().subspan(readers[m].at, kPiece)));
    return kPiece;
  };
  PinnedThreads& pinned = all_cores();
  const auto measure = [&](const auto& piece, Side& alone, Side& together) {
    for (unsigned m = 0; m < threads; ++m) {
      const double rate = pinned.rate(m, 1, kPhase / threads, piece);
      alone.add(static_cast<std::size_t>(rate * kPhase), kPhase);
    }
    const double rate = pinned.rate(0, threads, kPhase, piece);
    together.add(static_cast<std::size_t>(rate * kPhase), kPhase);
  };
  Side alone;
  Side together;
  Side ceiling_alone;
  Side ceiling_together;
  for (auto _ : state) {
    measure(lookups, alone, together);
    measure(visits, ceiling_alone, ceiling_together);
    state.SetIterationTime(kPhase);
  }
  report(state, "of_one_thread", together.rate(), alone.rate());
  state.counters["rate_per_thread"] = together.rate() / threads;
  state.counters["ceiling_of_one_thread"] = ceiling_together.rate() / ceiling_alone.rate();
}

// A writer that erases its oldest keys and inserts new ones, so that the load stays the same.
class Writer {
 public:
  // Its first keys are those of [low, high), which must be stored already.
  Writer(ConcurrentFilter& filter, std::uint64_t low, std::uint64_t high, Form form)
      : filter_(filter), low_(low), high_(high), form_(form) {}

  // Runs until `over`. Counts each key that it could not store, or could not erase, as a failure.
  void run(const std::atomic<bool>& over) {
    const double start = now();
    std::size_t written = 0;
    while (!over.load(std::memory_order_relaxed)) {
      const std::size_t done = form_ == Form::batch ? replace_batch() : replace_single();
      failed_ += 2 * kPiece - done;
      written += 2 * kPiece;
    }
    written_.add(written, now() - start);
  }

  [[nodiscard]] const Side& written() const { return written_; }
  [[nodiscard]] std::size_t failed() const { return failed_; }
  [[nodiscard]] std::uint64_t low() const { return low_; }
  [[nodiscard]] std::uint64_t high() const { return high_; }

 private:
  static constexpr std::size_t kPiece = 2048;

  std::size_t replace_single() {
    std::size_t done = 0;
    for (std::size_t i = 0; i < kPiece; ++i) {
      done += filter_.erase(low_++);
      done += static_cast<bool>(filter_.insert(high_++));
    }
    return done;
  }

  std::size_t replace_batch() {
    for (std::size_t i = 0; i < kPiece; ++i) {
      out_[i] = low_++;
      in_[i] = high_++;
    }
    return filter_.erase(out_) + filter_.insert(in_);
  }

  ConcurrentFilter& filter_;
  std::uint64_t low_;
  std::uint64_t high_;
  Form form_;
  Side written_;
  std::size_t failed_ = 0;
  std::vector<std::uint64_t> out_ = std::vector<std::uint64_t>(kPiece);
  std::vector<std::uint64_t> in_ = std::vector<std::uint64_t>(kPiece);
};

// A filter at kWriterLoad and which keys it holds: those below half of `count` and those of the
// writer's window. Kept with the marks that writing has raised.
struct Churned {
  ConcurrentFilter filter;
  std::uint64_t count;
  std::uint64_t low;
  std::uint64_t high;
};

Churned& churned(int bits, std::size_t bytes) {
  static std::pair<int, std::size_t> kept;
  static std::optional<Churned> made;
  if (!made || kept != std::pair(bits, bytes)) {
    made.reset();
    ConcurrentFilter filter(filled_filter(bits, bytes, kWriterLoad));
    const std::uint64_t count = filter.size();
    made.emplace(Churned{std::move(filter), count, count / 2, count});
    kept = {bits, bytes};
  }
  return *made;
}

void beside_writer(benchmark::State& state, int bits, std::size_t bytes, int hit_rate, Form form) {
  Churned& content = churned(bits, bytes);
  const std::vector<std::uint64_t> keys = lookup_keys(bytes, content.count / 2, hit_rate);
  std::vector<std::uint8_t> answers(keys.size());
  Writer writer(content.filter, content.low, content.high, form);
  std::size_t missed = 0;
  const auto read = [&](Side& side) {
    // Small filters have fewer keys to look up, so the lookups are repeated, for as long as in
    // large ones.
    const std::size_t rounds = (std::size_t{1} << 20) / keys.size();
    for (std::size_t round = 0; round <= rounds; ++round) {
      const double start = now();
      const std::size_t hits = content.filter.may_contain(keys, answers);
      // The first round brings the filter back into the cache, which the other phase has filled.
      if (round != 0) side.add(keys.size(), now() - start);
      if (hit_rate == 100) missed += keys.size() - hits;
    }
  };
  PinnedThreads& pinned = all_cores();
  Side alone;
  Side beside;
  for (auto _ : state) {
    pinned.run(0, 1, [&](unsigned) { read(alone); });
    std::atomic<bool> over = false;
    const double before = beside.seconds();
    pinned.run(0, 2, [&](unsigned m) {
      if (m == 1) return writer.run(over);
      read(beside);
      over = true;
    });
    state.SetIterationTime(beside.seconds() - before);
  }
  content.low = writer.low();
  content.high = writer.high();
  report(state, "of_alone", beside.rate(), alone.rate());
  state.counters["writer_rate"] = writer.written().rate();
  if (missed != 0) state.SkipWithError("a key that was stored all the time was not found");
  if (writer.failed() != 0) state.SkipWithError("a change failed");
}

// What the writer of one block does, again and again.
enum class Hammer {
  changing,        // erases a key and inserts it again
  erasing_absent,  // tries to erase keys that are not there
};

// Absent keys with the same home as key 0.
std::vector<std::uint64_t> keys_of_hot_block(const Filter& filter, std::size_t count) {
  const auto& state = FilterAccess::blocks(filter);
  const auto block_of = [&](std::uint64_t key) {
    return visit_layout(state.bits, [&](auto layout) {
      return home_of<decltype(layout)>(state.view.geometry, state.hasher()(key).value).block;
    });
  };
  std::vector<std::uint64_t> keys;
  for (std::uint64_t key = kAbsent; keys.size() < count; ++key) {
    if (block_of(key) == block_of(0) && !filter.may_contain(key)) keys.push_back(key);
  }
  return keys;
}

// All lookups and all changes are of keys of one block; compared with the same readers without the
// writer. If there are more readers than free cores, they take turns.
void hot_block(benchmark::State& state, int bits, Hammer hammer, unsigned readers) {
  constexpr double kPhase = 0.05;
  constexpr std::size_t kPiece = 256;
  Filter filled = filled_filter(bits, sizes().front(), kWriterLoad);
  const std::vector<std::uint64_t> absent = keys_of_hot_block(filled, kPiece);
  ConcurrentFilter filter(std::move(filled));
  const std::uint64_t key = hammer == Hammer::changing ? 0 : absent.front();
  struct alignas(64) Count {
    std::size_t failed = 0;
    std::size_t written = 0;
    double seconds = 0;
  } writer;
  std::atomic<unsigned> reading = 0;
  const auto write = [&] {
    const double start = now();
    while (reading.load(std::memory_order_relaxed) != 0) {
      for (std::size_t i = 0; i < kPiece; ++i) {
        const bool erased = filter.erase(key);
        writer.failed += erased != (hammer == Hammer::changing);
        if (erased) writer.failed += !filter.insert(key);
      }
      writer.written += kPiece;
    }
    writer.seconds += now() - start;
  };
  const auto read = [&](Side& side) {
    std::size_t hits = 0;
    std::size_t asked = 0;
    const double start = now();
    double taken = 0;
    while (taken < kPhase) {
      for (const std::uint64_t absent_key : absent) hits += filter.may_contain(absent_key);
      asked += absent.size();
      taken = now() - start;
    }
    benchmark::DoNotOptimize(hits);
    side.add(asked, taken);
  };
  PinnedThreads pinned(readers + 1);
  std::vector<Side> alone(readers + 1);
  std::vector<Side> beside(readers + 1);
  for (auto _ : state) {
    pinned.run(1, readers, [&](unsigned m) { read(alone[m]); });
    reading = readers;
    pinned.run(0, readers + 1, [&](unsigned m) {
      if (m == 0) return write();
      read(beside[m]);
      reading.fetch_sub(1);
    });
    state.SetIterationTime(kPhase);
  }
  double rate = 0;
  double alone_rate = 0;
  for (unsigned m = 1; m <= readers; ++m) {
    rate += beside[m].rate();
    alone_rate += alone[m].rate();
  }
  report(state, "of_alone", rate, alone_rate);
  state.counters["writer_rate"] = static_cast<double>(writer.written) / writer.seconds;
  if (writer.failed != 0) state.SkipWithError("a change had another outcome");
}

const char* name_of(Form form) { return form == Form::batch ? "batch" : "single"; }

}  // namespace

void add_reading() {
  const auto each = [](auto&& visit) {
    for (const int bits : kFilterWidths) {
      for (const std::size_t bytes : sizes()) {
        for (const int hit_rate : kNoneAndAll) {
          const std::string end = "/hits:" + std::to_string(hit_rate) + "/" + suffix(bits, bytes);
          visit(bits, bytes, hit_rate, end);
        }
      }
    }
  };
  const unsigned cores = all_cores().size();
  each([cores](int bits, std::size_t bytes, int hit_rate, const std::string& end) {
    for (const Form form : {Form::batch, Form::single}) {
      add_timed(
          std::string("read/") + name_of(form) + end, bytes < kMib ? 128 : 16,
          [=](benchmark::State& state) { without_writers(state, bits, bytes, hit_rate, form); });
    }
    add_timed("read/reader" + end, bytes < kMib ? 128 : 16, [=](benchmark::State& state) {
      without_writers(state, bits, bytes, hit_rate, Form::single, true);
    });
    for (unsigned threads = 2; threads <= cores; ++threads) {
      add_timed("read/threads:" + std::to_string(threads) + end, 10, [=](benchmark::State& state) {
        more_threads(state, bits, bytes, hit_rate, threads);
      });
    }
  });
  if (cores < 2) return;
  each([](int bits, std::size_t bytes, int hit_rate, const std::string& end) {
    for (const Form form : {Form::single, Form::batch}) {
      add_timed(
          std::string("read/beside_writer:") + name_of(form) + end, 16,
          [=](benchmark::State& state) { beside_writer(state, bits, bytes, hit_rate, form); });
    }
  });
  for (const int bits : kFilterWidths) {
    for (const Hammer hammer : {Hammer::changing, Hammer::erasing_absent}) {
      for (const unsigned readers : {1u, 3u}) {
        add_timed(std::string("read/hot_block:") +
                      (hammer == Hammer::changing ? "changing" : "erasing_absent") +
                      "/readers:" + std::to_string(readers) + "/bits:" + std::to_string(bits),
                  16, [=](benchmark::State& state) { hot_block(state, bits, hammer, readers); });
      }
    }
  }
}

}  // namespace nestline::bench
