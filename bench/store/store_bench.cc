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
#include <string>
#include <string_view>
#include <vector>

#include "bench/store/session.h"

namespace nestline::bench { namespace {

std::set<std::string> split(std::string_view text) {
  std::set<std::string> words;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    words.emplace(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return words;
}

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "store_bench: %s\n", message.c_str());
  std::exit(2);
}

Settings read_arguments(int count, char** arguments) {
  Settings settings;
  settings.systems = systems();
  for (int i = 1; i < count; ++i) {
    const std::string_view option = arguments[i];
    if (option == "--keep") {
      settings.keep = true;
      continue;
    }
    if (i + 1 == count) fail("what does " + std::string(option) + " mean?");
    const char* value = arguments[++i];
    if (option == "--records") {
      settings.records = std::strtoull(value, nullptr, 10);
    } else if (option == "--folder") {
      settings.folder = value;
    } else if (option == "--rounds") {
      settings.rounds = static_cast<unsigned>(std::strtoul(value, nullptr, 10));
    } else if (option == "--seconds") {
      settings.seconds = std::strtod(value, nullptr);
    } else if (option == "--rows") {
      settings.rows = split(value);
    } else if (option == "--systems") {
      const std::set<std::string> wanted = split(value);
      std::erase_if(settings.systems,
                    [&](const System& system) { return !wanted.contains(system.name); });
    } else {
      fail("unknown option " + std::string(option));
    }
  }
  if (settings.records < 100 || settings.rounds == 0 || !(settings.seconds > 0) ||
      settings.systems.empty()) {
    fail("at least 100 records, 1 round, some time and one system are needed");
  }
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
  const Settings settings = read_arguments(count, arguments);
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
