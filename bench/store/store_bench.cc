// Measures nestline::Store beside other embedded databases, with the same records and the same
// questions, in turn, in one run. Each line names the system, its sync mode and how it reads files.
//
//   store_bench [--records N] [--folder DIR] [--systems A,B,...] [--rows A,B,...] [--rounds N]
//               [--seconds S] [--keep]
//
// Rows: get, open, threads, each, kill, cold, churn; put is a part of what comes first. DIR should
// be on the disk to be measured; about 12 GiB for ten million records and all systems. --keep
// leaves the databases there, and the next run does not make them again.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/store/session.h"

namespace nestline::bench { namespace {

Settings read_settings(int count, char** arguments) {
  Settings settings;
  settings.folder = "store_bench.data";
  settings.seconds = 0.5;
  settings.systems = systems();
  read_arguments(count, arguments, 100, settings, [&](std::string_view option, const char* value) {
    if (option == "--keep") {
      settings.keep = true;
      return 1;
    }
    if (value == nullptr) return 0;
    if (option == "--rows") {
      settings.rows = split(value);
    } else if (option == "--systems") {
      const std::set<std::string> wanted = split(value);
      std::erase_if(settings.systems,
                    [&](const System& system) { return !wanted.contains(system.name); });
    } else {
      return 0;
    }
    return 2;
  });
  if (settings.systems.empty()) throw std::runtime_error("none of these systems is there");
  return settings;
}

void put_until_killed(char** arguments) {
  const std::uint64_t records = std::strtoull(arguments[4], nullptr, 10);
  for (const System& system : systems()) {
    if (system.name == arguments[2]) put_for_ever(system, {arguments[3], records, false}, records);
  }
}

int run(int count, char** arguments) {
  if (count == 5 && std::string_view(arguments[1]) == "--put-for-ever") put_until_killed(arguments);
  const Settings settings = read_settings(count, arguments);
  Session session(settings);
  std::printf("%s", describe_machine(settings.folder).c_str());
  std::printf("records: %llu, keys of 16 bytes, values of 100\n",
              static_cast<unsigned long long>(settings.records));
  for (const System& system : settings.systems) {
    std::printf("%s: %s\n", system.name.c_str(), system.settings.c_str());
  }
  for (const System& system : settings.systems) session.loaded(system);
  const auto wanted = [&](const char* row) {
    return settings.rows.empty() || settings.rows.contains(row);
  };
  if (wanted("get")) measure_gets(session);
  if (wanted("open")) measure_clean_open(session);
  if (wanted("threads")) measure_threads(session);
  if (wanted("each")) measure_sync_each(session);
  if (wanted("kill")) measure_kill(session, arguments[0]);
  if (wanted("cold")) measure_cold(session);
  if (wanted("churn")) measure_churn(session);
  return 0;
}

}  // namespace
}  // namespace nestline::bench

int main(int count, char** arguments) {
  try {
    return nestline::bench::run(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "store_bench: %s\n", error.what());
    return 1;
  }
}
