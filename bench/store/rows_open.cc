// Rows of opening: after a clean close, and after a process was killed while it put records.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/store/session.h"
#include "bench/store/workload.h"

namespace nestline::bench {
namespace {

constexpr std::uint64_t kStep = 4096;  // puts between two signs of life

// Starts this program as one that puts records, and kills it after `puts` of them.
void put_and_kill(const Session& session, const System& system, const char* program,
                  std::uint64_t puts) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("pipe");
  ::posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addclose(&actions, ends[0]);
  const std::string records = std::to_string(session.settings().records);
  const std::string folder = session.folder_of(system).string();
  std::string words[] = {program, "--put-for-ever", system.name, folder, records};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(),
                       words[3].data(), words[4].data(), nullptr};
  ::pid_t child = 0;
  const int error = ::posix_spawnp(&child, program, &actions, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  char sign = 0;
  std::uint64_t done = 0;
  while (error == 0 && done < puts && ::read(ends[0], &sign, 1) == 1) done += kStep;
  ::close(ends[0]);
  if (error != 0) throw std::runtime_error(std::string("cannot start ") + program);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  if (done < puts) throw std::runtime_error(system.name + ": the process that puts ended");
}

}  // namespace

void put_for_ever(const System& system, const Opening& opening, std::uint64_t first) {
  const std::unique_ptr<Database> database = system.open(opening);
  Records records;
  while (true) {
    records.make(first, kStep);
    for (std::size_t i = 0; i < kStep; ++i) database->put(records.keys()[i], records.value(i));
    first += kStep;
    std::putchar('.');
    std::fflush(stdout);
  }
}

void measure_clean_open(Session& session) {
  for (const System& system : session.systems()) {
    std::vector<double> times;
    std::vector<double> processor;
    for (unsigned round = 0; round < session.settings().rounds; ++round) {
      session.loaded(system);
      session.close(system);
      const Seconds time = session.open(system);
      times.push_back(time.wall);
      processor.push_back(time.processor);
    }
    print_line("open after a clean close", system, false, number(median(times) * 1000, "ms"),
               number(median(processor) * 1000, "ms of processors"));
  }
}

void measure_kill(Session& session, const char* program) {
  for (const System& system : session.systems()) {
    if (!system.changes) continue;
    session.loaded(system);
    session.close(system);
    const std::uint64_t puts = session.settings().records / 20;
    put_and_kill(session, system, program, puts);
    const Seconds time = session.open(system);
    const std::optional<std::uint64_t> replayed = session.loaded(system).figures().replayed;
    print_line("open after kill -9", system, false, number(time.wall * 1000, "ms"),
               number(time.processor * 1000, "ms of processors, ") +
                   number(static_cast<double>(puts), "puts before the kill", 0) +
                   (replayed ? ", " + std::to_string(*replayed) + " records replayed" : ""));
  }
}

}  // namespace nestline::bench
