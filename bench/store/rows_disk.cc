// Rows of the disk: questions whose answers are not in the page cache, and the room that erased and
// overwritten records leave behind.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/store/session.h"
#include "bench/store/workload.h"

namespace nestline::bench {
namespace {

constexpr std::size_t kBatch = 1024;

// Seconds a key with the files out of the cache.
double ask_cold(Session& session, const System& system, std::size_t batch, std::size_t count,
                std::uint64_t seed, double& still_cached) {
  session.loaded(system);
  session.close(system);
  still_cached = std::max(still_cached, drop_from_cache(session.folder_of(system)));
  session.open(system);
  const std::unique_ptr<Reader> reader = session.loaded(system).reader();
  Questions questions(session.settings().records, true, seed);
  questions.draw(count);
  const std::span<const std::string_view> keys(questions.keys());
  Taken taken;
  std::size_t found = 0;
  const Watch watch(Watch::Of::process);
  for (std::size_t at = 0; at < count; at += batch) {
    if (batch == 1) {
      found += reader->get(keys[at], taken) ? 1 : 0;
    } else {
      found += reader->get_many(keys.subspan(at, std::min(batch, count - at)), taken);
    }
  }
  const double time = watch.read().wall;
  check_answers(system, found, count, taken.heads, questions.heads());
  return time / static_cast<double>(count);
}

}  // namespace

void measure_cold(Session& session) {
  struct Times {
    std::vector<double> single, batches;
    double still_cached = 0;
  };
  std::vector<Times> all(session.systems().size());
  for (unsigned round = 0; round < session.settings().rounds; ++round) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const System& system = session.systems()[i];
      Times& times = all[i];
      times.single.push_back(
          ask_cold(session, system, 1, kBatch, round + 2000, times.still_cached));
      times.batches.push_back(
          ask_cold(session, system, kBatch, 4 * kBatch, round + 1000, times.still_cached));
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const System& system = session.systems()[i];
    const std::string cached = number(all[i].still_cached * 100, "% of the files were cached", 2);
    const double single = median(all[i].single);
    const double batches = median(all[i].batches);
    print_line("get, cold files, one at a time", system, false, number(single * 1e6, "us"), cached);
    print_line("get, cold files, batches of 1024", system, false, number(batches * 1e6, "us"),
               number(single / batches, "times as fast as one at a time", 2));
    read_into_cache(session.folder_of(system));
  }
}

void measure_churn(Session& session) {
  constexpr std::size_t kChunk = 4096;
  for (const System& system : session.systems()) {
    if (!system.changes) continue;
    Database& database = session.loaded(system);
    const std::uint64_t all = session.settings().records;
    // Of four records one is erased and one overwritten.
    Records records;
    Seconds changes;
    for (std::uint64_t first = 0; first < all; first += 4 * kChunk) {
      const std::uint64_t count = (std::min<std::uint64_t>(first + 4 * kChunk, all) - first) / 4;
      for (const std::uint64_t which : {0U, 2U}) {
        records.make(first + which, count, 4);
        const Watch watch(Watch::Of::process);
        for (std::size_t i = 0; i < count; ++i) {
          if (which == 0) {
            database.erase(records.keys()[i]);
          } else {
            database.put(records.keys()[i], records.value(i));
          }
        }
        changes += watch.read();
      }
    }
    const double before = static_cast<double>(disk_bytes(session.folder_of(system)));
    const Watch watch(Watch::Of::process);
    database.compact();
    const double seconds = watch.read().wall;
    const std::optional<std::uint64_t> counted = database.figures().live_bytes;
    session.close(system);  // what is open may not have been given back
    const auto left = static_cast<double>(all - all / 4);
    const double data = left * static_cast<double>(kKeyBytes + kValueBytes);
    const auto after = static_cast<double>(disk_bytes(session.folder_of(system)));
    print_line("erase and overwrite half, compact", system, false,
               number(after / (counted ? static_cast<double>(*counted) : data),
                      counted ? "of live log" : "of live data", 3),
               number(after / left, "bytes a record, ") + number(before / left, "before, ") +
                   number(changes.wall * 2e9 / static_cast<double>(all), "ns a change, ", 0) +
                   number(seconds, "s to compact"));
    session.discard(system);
  }
}

}  // namespace nestline::bench
