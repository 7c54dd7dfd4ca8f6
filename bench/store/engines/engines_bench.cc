// Measures a Guard before the engines that are installed: the same questions and changes without it
// and with it, in turn.
//
//   engines_bench [--records N] [--folder DIR] [--engines A,B,...] [--rounds N] [--seconds S]
//
// Each line has the time without the guard, the time with it, and how many times as fast that is.
// Changes, and questions with everything in the page cache, are measured in time of the thread on
// its processor, cold questions in time that passes. DIR should be on the disk to be measured:
// about 250 bytes a record, for one engine after the other. `filters` compares filters alone:
// filter_policy.h.
#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/store/engines/filter_policy.h"
#include "bench/store/machine.h"
#include "bench/store/measuring.h"
#include "bench/store/systems/system.h"
#include "bench/store/workload.h"
#include "nestline/guard.h"

namespace nestline::bench { namespace {

constexpr std::size_t kBatch = 1024;

struct Settings : Measuring {
  std::set<std::string> engines;  // empty: all
};

// One engine, and a guard that knows its keys.
struct Bench {
  const Settings& settings;
  const System& kind;
  std::filesystem::path folder;
  std::unique_ptr<Database> engine;
  std::unique_ptr<Reader> reader;
  std::unique_ptr<Guard> guard;

  void close() {
    reader.reset();
    engine.reset();
  }
  void open() {
    close();
    engine = kind.open({folder, settings.records, false});
    reader = engine->reader();
  }
  [[nodiscard]] std::filesystem::path guard_file() const {
    return settings.folder / (kind.name + ".nest");
  }
};

// Times without and with the guard, of all rounds.
struct Pair {
  std::vector<double> without;
  std::vector<double> with;
  void print(const Bench& bench, const char* row, const char* unit,
             const std::string& remark = {}) {
    std::printf("%-32s %-15s %10.2f %10.2f %s  %8.2f times as fast  %s\n", row,
                bench.kind.name.c_str(), median(without), median(with), unit,
                median(without) / median(with), remark.c_str());
    std::fflush(stdout);
  }
};

void print(const Bench& bench, const char* row, double figure, const char* unit) {
  std::printf("%-32s %-15s %10.3f %s\n", row, bench.kind.name.c_str(), figure, unit);
}

// Asks without or with the guard. Returns how many keys were found.
std::size_t ask(Bench& bench, std::span<const std::string_view> keys, bool batches, bool guarded,
                Taken& taken) {
  Reader& engine = *bench.reader;
  std::size_t found = 0;
  if (batches) {
    std::vector<std::string_view> left;
    for (std::size_t at = 0; at < keys.size(); at += kBatch) {
      const auto some = keys.subspan(at, std::min(kBatch, keys.size() - at));
      if (!guarded) {
        found += engine.get_many(some, taken);
        continue;
      }
      bench.guard->get_many(some, [&](std::span<const std::uint32_t> positions) {
        left.clear();
        for (const std::uint32_t position : positions) left.push_back(some[position]);
        found += engine.get_many(left, taken);
      });
    }
    return found;
  }
  for (const std::string_view key : keys) {
    const auto get = [&] { return engine.get(key, taken); };
    found += (guarded ? bench.guard->get(key, get) : get()) ? 1 : 0;
  }
  return found;
}

void check(bool right, const Bench& bench) {
  if (!right) throw std::runtime_error(bench.kind.name + ": wrong answers");
}

void load(Bench& bench) {
  std::filesystem::remove_all(bench.folder);
  std::filesystem::create_directories(bench.folder);
  bench.open();
  constexpr std::size_t kChunk = 65'536;
  Records records;
  for (std::uint64_t first = 0; first < bench.settings.records; first += kChunk) {
    records.make(first, std::min<std::uint64_t>(kChunk, bench.settings.records - first));
    bench.engine->begin_load();
    for (std::size_t i = 0; i < records.keys().size(); ++i) {
      bench.engine->put(records.keys()[i], records.value(i));
    }
    bench.engine->end_load();
  }
  bench.engine->settle();
}

// What a start costs: by a scan of the engine, and by a file.
void measure_recovery(Bench& bench) {
  const std::uint64_t records = bench.settings.records;
  const Options options{.capacity = records, .fpr = 0.01, .max_capacity = 4 * records};
  bench.guard = std::make_unique<Guard>(options, bench.guard_file());
  const Watch filling(Watch::Of::process);
  bench.guard->fill([&] {
    return [&](auto&& add) { bench.engine->each_key([&](std::string_view key) { add(key); }); };
  });
  const Seconds filled = filling.read();
  check(bench.guard->filter().size() == records, bench);
  const Watch saving(Watch::Of::process);
  check(bench.guard->save([] {}), bench);
  const Seconds saved = saving.read();
  Guard again(options, bench.guard_file());
  const Watch loading(Watch::Of::process);
  check(again.load(), bench);
  const auto million = 1e6 / static_cast<double>(records);
  print(bench, "guard, filled by a scan", filled.wall * million, "s for a million keys");
  print(bench, "guard, saved", saved.wall * million, "s for a million keys");
  print(bench, "guard, loaded", loading.read().wall * million, "s for a million keys");
  print(
      bench, "guard, memory",
      static_cast<double>(bench.guard->filter().memory_bytes()) * 8 / static_cast<double>(records),
      "bits a key");
  print(bench, "engine, on disk",
        static_cast<double>(disk_bytes(bench.folder)) / static_cast<double>(records),
        "bytes a key");
}

void measure_questions(Bench& bench) {
  struct Row {
    const char* name;
    bool present;
    bool batches;
  };
  for (const Row& row : {Row{"missing keys, one at a time", false, false},
                         Row{"missing keys, batches of 1024", false, true},
                         Row{"present keys, one at a time", true, false},
                         Row{"present keys, batches of 1024", true, true}}) {
    Pair times;
    std::uint64_t seed = 0;
    for (unsigned round = 0; round <= bench.settings.rounds; ++round) {
      for (const bool guarded : {false, true}) {
        Questions questions(bench.settings.records, row.present, ++seed);
        Seconds time;
        std::size_t asked = 0;
        while (time.processor < bench.settings.seconds) {
          questions.draw(4 * kBatch);
          Taken taken;
          const Watch watch(Watch::Of::thread);
          const std::size_t found = ask(bench, questions.keys(), row.batches, guarded, taken);
          time += watch.read();
          check(found == (row.present ? questions.keys().size() : 0) &&
                    taken.heads == questions.heads(),
                bench);
          asked += questions.keys().size();
        }
        // The first round fills the caches.
        if (round == 0) continue;
        (guarded ? times.with : times.without)
            .push_back(time.processor * 1e6 / static_cast<double>(asked));
      }
    }
    std::string remark;
    if (!row.present && !row.batches) {
      Questions questions(bench.settings.records, false, 12345);
      questions.draw(std::size_t{1} << 20);
      std::size_t reached = 0;
      for (const std::string_view key : questions.keys()) {
        reached += bench.guard->may_contain(key) ? 1 : 0;
      }
      char text[64];
      std::snprintf(
          text, sizeof text, "%.3f %% reach the engine",
          static_cast<double>(reached) * 100 / static_cast<double>(questions.keys().size()));
      remark = text;
    }
    times.print(bench, row.name, "us", remark);
  }
}

// Kilobytes that this process has had read from the disk.
double kilobytes_read() {
  ::rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_inblock) / 2;
}

void measure_cold(Bench& bench) {
  for (const bool present : {false, true}) {
    Pair times;
    Pair reads;
    double cached = 0;
    for (unsigned round = 0; round < bench.settings.rounds; ++round) {
      for (const bool guarded : {false, true}) {
        bench.close();
        cached = std::max(cached, drop_from_cache(bench.folder));
        bench.open();
        Questions questions(bench.settings.records, present, 777 + round);
        questions.draw(kBatch);
        Taken taken;
        const double before = kilobytes_read();
        const Watch watch(Watch::Of::process);
        const std::size_t found = ask(bench, questions.keys(), false, guarded, taken);
        const double time = watch.read().wall;
        const double read = kilobytes_read() - before;
        check(found == (present ? kBatch : 0), bench);
        (guarded ? times.with : times.without).push_back(time * 1e6 / kBatch);
        (guarded ? reads.with : reads.without).push_back(read / kBatch);
      }
    }
    char text[128];
    std::snprintf(text, sizeof text,
                  "%.2f KiB read from disk a key without, %.2f with; cached %.2f",
                  median(reads.without), median(reads.with), cached);
    times.print(bench, present ? "present keys, cold" : "missing keys, cold", "us", text);
  }
  read_into_cache(bench.folder);
}

// Changes: the same number without and with the guard, 256 in turn.
void measure_changes(Bench& bench) {
  Database& engine = *bench.engine;
  Reader& reader = *bench.reader;
  Guard& guard = *bench.guard;
  constexpr std::size_t kTurn = 256;
  const std::size_t turns =
      std::clamp<std::size_t>(bench.settings.records / 20 / kTurn, 4, 64) / 2 * 2;
  const auto measure = [&](const char* row, auto&& first, auto&& plain, auto&& guarded) {
    Pair times;
    Records records;
    for (std::size_t turn = 0; turn < turns; ++turn) {
      records.make(first(turn), kTurn);
      const Watch watch(Watch::Of::thread);
      for (std::size_t i = 0; i < kTurn; ++i) {
        turn % 2 == 0 ? plain(records.keys()[i], records.value(i))
                      : guarded(records.keys()[i], records.value(i));
      }
      (turn % 2 == 0 ? times.without : times.with).push_back(watch.read().processor * 1e6 / kTurn);
    }
    times.print(bench, row, "us");
  };
  const auto plain_put = [&](std::string_view key, std::string_view value) {
    engine.put(key, value);
  };
  const auto guarded_put = [&](std::string_view key, std::string_view value) {
    Taken ignored;
    guard.put(
        key, [&] { return reader.get(key, ignored); }, [&] { engine.put(key, value); });
  };
  const auto plain_erase = [&](std::string_view key, std::string_view) { engine.erase(key); };
  const auto guarded_erase = [&](std::string_view key, std::string_view) {
    guard.erase(key, [&] { return engine.erase_known(key, reader); });
  };
  const std::uint64_t records = bench.settings.records;
  const auto fresh = [&](std::size_t turn) { return records + turn * kTurn; };
  const auto old = [&](std::size_t turn) { return turn * kTurn % (records - kTurn); };
  const auto strange = [&](std::size_t turn) { return (std::uint64_t{1} << 41) + turn * kTurn; };
  measure("put new keys", fresh, plain_put, guarded_put);
  measure("overwrite keys", old, plain_put, guarded_put);
  measure("erase keys that are there", fresh, plain_erase, guarded_erase);
  measure("erase keys that are not there", strange, plain_erase, guarded_erase);
}

std::vector<System> engines() {
  std::vector<System> all;
#ifdef NESTLINE_BENCH_LEVELDB
  add_leveldb_engines(all);
#endif
#ifdef NESTLINE_BENCH_ROCKSDB
  add_rocksdb_engines(all);
#endif
#ifdef NESTLINE_BENCH_LMDB
  add_lmdb_engines(all);
#endif
#ifdef NESTLINE_BENCH_SQLITE
  add_sqlite_engines(all);
#endif
  return all;
}

Settings read_settings(int count, char** arguments) {
  Settings settings;
  settings.folder = "engines_bench.data";
  settings.seconds = 0.2;
  read_arguments(count, arguments, 10'000, settings,
                 [&](std::string_view option, const char* value) {
                   if (value == nullptr || option != "--engines") return 0;
                   settings.engines = split(value);
                   return 2;
                 });
  return settings;
}

void run(const Settings& settings) {
  std::filesystem::create_directories(settings.folder);
  std::printf("%srecords: %llu, keys of 16 bytes, values of 100\n",
              describe_machine(settings.folder).c_str(),
              static_cast<unsigned long long>(settings.records));
  const auto wanted = [&](const std::string& name) {
    return settings.engines.empty() || settings.engines.contains(name);
  };
  for (const System& kind : engines()) {
    if (!wanted(kind.name)) continue;
    std::printf("%s: %s\n", kind.name.c_str(), kind.settings.c_str());
    Bench bench{settings, kind, settings.folder / kind.name, nullptr, nullptr, nullptr};
    load(bench);
    measure_recovery(bench);
    measure_questions(bench);
    measure_cold(bench);
    measure_changes(bench);
    bench.close();
    std::filesystem::remove_all(bench.folder);
    std::filesystem::remove(bench.guard_file());
  }
#ifdef NESTLINE_BENCH_LEVELDB
  if (wanted("filters")) compare_filters(settings.seconds);
#endif
  std::filesystem::remove(settings.folder);
}

}  // namespace
}  // namespace nestline::bench

int main(int count, char** arguments) {
  try {
    nestline::bench::run(nestline::bench::read_settings(count, arguments));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "engines_bench: %s\n", error.what());
    return 1;
  }
}
