// Rows of questions with everything in the page cache, one thread. The systems take turns of a
// fraction of a second, so that what else happens on the machine happens to all. Times are those
// of the thread on its processor: what other programs take does not count.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/store/session.h"
#include "bench/store/workload.h"

namespace nestline::bench {
namespace {

constexpr std::size_t kBatch = 1024;
constexpr std::size_t kChunk = 16 * kBatch;

struct Row {
  const char* name;
  bool present;
  bool batches;
};
constexpr Row kRows[] = {
    {"get missing keys, one at a time", false, false},
    {"get missing keys, batches of 1024", false, true},
    {"get present keys, one at a time", true, false},
    {"get present keys, batches of 1024", true, true},
};

// Nanoseconds a key.
double one_turn(const Session& session, const System& system, Reader& reader, const Row& row,
                std::uint64_t seed) {
  Questions questions(session.settings().records, row.present, seed);
  Seconds time;
  std::size_t asked = 0;
  while (time.processor < session.settings().seconds) {
    questions.draw(kChunk);
    const std::span<const std::string_view> keys(questions.keys());
    Taken taken;
    std::size_t found = 0;
    const Watch watch(Watch::Of::thread);
    if (row.batches) {
      for (std::size_t at = 0; at < kChunk; at += kBatch) {
        found += reader.get_many(keys.subspan(at, kBatch), taken);
      }
    } else {
      for (const std::string_view key : keys) found += reader.get(key, taken) ? 1 : 0;
    }
    time += watch.read();
    check_answers(system, found, row.present ? kChunk : 0, taken.heads, questions.heads());
    asked += kChunk;
  }
  return time.processor * 1e9 / static_cast<double>(asked);
}

// Asks for so many records, all over the files, that hardly a page of them or a block of a cache is
// touched for the first time later.
void warm_up(const Session& session, const System& system, Reader& reader) {
  Records records;
  for (std::uint64_t first = 0; first < session.settings().records; first += 8 * kBatch) {
    const std::uint64_t left = session.settings().records - first;
    records.make(first, std::min<std::uint64_t>(kBatch, (left + 7) / 8), 8);
    Taken taken;
    const std::size_t found = reader.get_many(records.keys(), taken);
    if (found != records.keys().size())
      throw std::runtime_error(system.name + ": keys are missing");
  }
}

// Reads of the log a key, where a database counts them.
std::string reads_a_key(Session& session, const System& system, Reader& reader, const Row& row) {
  Database& database = session.loaded(system);
  const std::optional<std::uint64_t> before = database.figures().reads;
  if (!before) return {};
  constexpr std::size_t kAsked = std::size_t{1} << 20;
  Questions questions(session.settings().records, row.present, 99);
  Taken taken;
  for (std::size_t asked = 0; asked < kAsked; asked += kChunk) {
    questions.draw(kChunk);
    for (const std::string_view key : questions.keys()) reader.get(key, taken);
  }
  const auto reads = static_cast<double>(*database.figures().reads - *before);
  return number(reads / static_cast<double>(kAsked), "reads of the log a key", 6);
}

}  // namespace

void measure_gets(Session& session) {
  std::vector<std::unique_ptr<Reader>> readers;
  for (const System& system : session.systems()) {
    readers.push_back(session.loaded(system).reader());
    warm_up(session, system, *readers.back());
  }
  for (const Row& row : kRows) {
    std::vector<std::vector<double>> times(readers.size());
    for (unsigned round = 0; round < session.settings().rounds; ++round) {
      for (std::size_t i = 0; i < readers.size(); ++i) {
        times[i].push_back(one_turn(session, session.systems()[i], *readers[i], row, round));
      }
    }
    const double ours = median(times[0]);
    for (std::size_t i = 0; i < readers.size(); ++i) {
      const System& system = session.systems()[i];
      const double each = median(times[i]);
      print_line(row.name, system, false, number(each, "ns"),
                 i == 0 ? reads_a_key(session, system, *readers[i], row)
                        : number(each / ours, "times that of the first", 2));
    }
  }
  for (const System& system : session.systems()) {
    const Figures figures = session.loaded(system).figures();
    if (!figures.index_bytes) continue;
    const auto records = static_cast<double>(session.settings().records);
    print_line("index in memory", system, false,
               number(static_cast<double>(*figures.index_bytes) / records, "bytes", 2), "a record");
  }
}

}  // namespace nestline::bench
