// Rows of several threads: readers beside readers and beside a writer, and writers that wait for
// the disk together.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bench/store/session.h"
#include "bench/store/workload.h"

namespace nestline::bench {
namespace {

constexpr std::size_t kChunk = 4096;
constexpr unsigned kWriters = 8;

// Threads of which the first exception is thrown again by join().
class Team {
 public:
  void start(std::function<void()> body) {
    threads_.emplace_back([this, body = std::move(body)] {
      try {
        body();
      } catch (...) {
        const std::lock_guard guard(mutex_);
        if (error_ == nullptr) error_ = std::current_exception();
      }
    });
  }
  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::exception_ptr error_;
};

// Keys a second: of passing time, and of the time that the threads had a processor. Other programs
// on the machine change the first.
struct Rates {
  double wall = 0;
  double processor = 0;
};

// Present keys, one at a time.
Rates read_in_threads(const Session& session, const System& system, Database& database,
                      unsigned readers) {
  std::mutex mutex;
  Rates rates;
  Team team;
  for (unsigned thread = 0; thread < readers; ++thread) {
    team.start([&, thread] {
      const std::unique_ptr<Reader> reader = database.reader();
      Questions questions(session.settings().records, true, thread + 1);
      Seconds time;
      std::size_t asked = 0;
      while (time.wall < session.settings().seconds) {
        questions.draw(kChunk);
        Taken taken;
        std::size_t found = 0;
        const Watch watch(Watch::Of::thread);
        for (const std::string_view key : questions.keys())
          found += reader->get(key, taken) ? 1 : 0;
        time += watch.read();
        check_answers(system, found, kChunk, taken.heads, questions.heads());
        asked += kChunk;
      }
      const std::lock_guard guard(mutex);
      rates.wall += static_cast<double>(asked) / time.wall;
      rates.processor += static_cast<double>(asked) / time.processor;
    });
  }
  team.join();
  return rates;
}

// One reader while another thread puts records, that are there already, as fast as it can.
Rates read_beside_writer(const Session& session, const System& system, Database& database,
                         std::uint64_t seed) {
  std::atomic<bool> stop = false;
  Team writer;
  writer.start([&] {
    std::mt19937_64 random(seed + 1'000'000);  // not the keys that others ask for
    std::vector<std::uint64_t> numbers(kChunk);
    Records records;
    while (!stop) {
      for (std::uint64_t& number : numbers) number = random() % session.settings().records;
      records.make(numbers);
      for (std::size_t i = 0; i < numbers.size() && !stop; ++i) {
        database.put(records.keys()[i], records.value(i));
      }
    }
  });
  Rates rates;
  std::exception_ptr error;
  try {
    rates = read_in_threads(session, system, database, 1);
  } catch (...) {
    error = std::current_exception();
  }
  stop = true;
  writer.join();
  if (error != nullptr) std::rethrow_exception(error);
  return rates;
}

std::string ratio(double one, double other) { return number(one / other, "of one reader", 2); }

}  // namespace

void measure_threads(Session& session) {
  struct Ratios {
    std::vector<double> two_wall, two_processor, beside_wall, beside_processor;
  };
  std::vector<Ratios> all(session.systems().size());
  for (unsigned round = 0; round < session.settings().rounds; ++round) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const System& system = session.systems()[i];
      Database& database = session.loaded(system);
      const Rates one = read_in_threads(session, system, database, 1);
      const Rates two = read_in_threads(session, system, database, 2);
      all[i].two_wall.push_back(two.wall / one.wall);
      all[i].two_processor.push_back(two.processor / one.processor);
      if (!system.changes) continue;
      const Rates beside = read_beside_writer(session, system, database, round);
      all[i].beside_wall.push_back(beside.wall / one.wall);
      all[i].beside_processor.push_back(beside.processor / one.processor);
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    print_line("get, two readers", session.systems()[i], false, ratio(median(all[i].two_wall), 1),
               number(median(all[i].two_processor), "by the threads' processor time", 2));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!session.systems()[i].changes) continue;
    print_line("get, one reader beside a writer", session.systems()[i], false,
               ratio(median(all[i].beside_wall), 1),
               number(median(all[i].beside_processor), "by the thread's processor time", 2));
  }
}

void measure_sync_each(Session& session) {
  for (const System& system : session.systems()) {
    if (!system.changes) continue;
    std::vector<double> rates;
    std::uint64_t puts = 0;
    std::uint64_t calls = 0;
    const std::unique_ptr<Database> database = session.empty(system, true);
    for (unsigned round = 0; round < session.settings().rounds; ++round) {
      std::atomic<std::uint64_t> done = 0;
      const std::uint64_t before = syncs();
      const Watch watch(Watch::Of::process);
      Team team;
      for (unsigned writer = 0; writer < kWriters; ++writer) {
        team.start([&, writer] {
          Records records;
          for (std::uint64_t i = 0; watch.read().wall < session.settings().seconds; ++i) {
            records.make((i * session.settings().rounds + round) * kWriters + writer, 1);
            database->put(records.keys()[0], records.value(0));
            ++done;
          }
        });
      }
      team.join();
      rates.push_back(static_cast<double>(done) / watch.read().wall);
      puts += done;
      calls += syncs() - before;
    }
    print_line("put, 8 threads", system, true, number(median(rates), "puts/s", 0),
               number(static_cast<double>(calls) / static_cast<double>(puts), "syncs a put", 3));
  }
}

}  // namespace nestline::bench
