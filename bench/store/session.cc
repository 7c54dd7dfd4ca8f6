#include "bench/store/session.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "bench/store/workload.h"

namespace nestline::bench {
namespace {

constexpr std::size_t kChunk = 4096;

}  // namespace

Session::Session(Settings settings) : settings_(std::move(settings)) {
  std::filesystem::create_directories(settings_.folder);
}

Session::~Session() {
  open_.clear();
  std::error_code ignored;
  for (const System& system : systems()) {
    std::filesystem::remove_all(settings_.folder / (system.name + "-empty"), ignored);
  }
  if (settings_.keep) return;
  for (const System& system : systems()) {
    std::filesystem::remove_all(folder_of(system), ignored);
    std::filesystem::remove(folder_of(system) += ".loaded", ignored);
  }
  std::filesystem::remove(settings_.folder, ignored);  // if it is empty
}

std::filesystem::path Session::folder_of(const System& system) const {
  return settings_.folder / (system.name + "-" + std::to_string(settings_.records));
}

Database& Session::loaded(const System& system) {
  if (open_[system.name] == nullptr) {
    if (std::filesystem::exists(folder_of(system) += ".loaded")) {
      read_into_cache(folder_of(system));
      open(system);
    } else {
      load(system);
    }
  }
  return *open_[system.name];
}

void Session::close(const System& system) { open_.erase(system.name); }

Seconds Session::open(const System& system) {
  const Watch watch(Watch::Of::process);
  open_[system.name] = system.open({folder_of(system), settings_.records, false});
  return watch.read();
}

void Session::discard(const System& system) {
  close(system);
  std::filesystem::remove(folder_of(system) += ".loaded");
  std::filesystem::remove_all(folder_of(system));
}

std::unique_ptr<Database> Session::empty(const System& system, bool sync_each) {
  const std::filesystem::path folder = settings_.folder / (system.name + "-empty");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return system.open({folder, settings_.records, sync_each});
}

void Session::load(const System& system) {
  discard(system);
  std::filesystem::create_directories(folder_of(system));
  open(system);
  Database& database = *open_[system.name];
  Records records;
  Seconds puts;
  for (std::uint64_t first = 0; first < settings_.records; first += kChunk) {
    records.make(first, std::min<std::uint64_t>(kChunk, settings_.records - first));
    const Watch watch(Watch::Of::process);
    for (std::size_t i = 0; i < records.keys().size(); ++i) {
      database.put(records.keys()[i], records.value(i));
    }
    puts += watch.read();
  }
  const Watch settling(Watch::Of::process);
  database.settle();
  const Seconds settled = settling.read();
  const auto each = 1e9 / static_cast<double>(settings_.records);
  print_line("put new keys, random order", system, false, number(puts.wall * each, "ns"),
             number(puts.processor * each, "ns of processors, ") +
                 number(settled.wall, "s to settle after that, ") +
                 number(static_cast<double>(disk_bytes(folder_of(system))) * each / 1e9,
                        "bytes on disk a record"));
  std::ofstream(folder_of(system) += ".loaded") << "whole\n";
}

void print_line(const std::string& row, const System& system, bool sync_each,
                const std::string& figure, const std::string& remark) {
  std::printf("%-38s %-9s sync %-5s %-8s %14s  %s\n", row.c_str(), system.name.c_str(),
              sync_each ? "each" : "never", system.back_end.c_str(), figure.c_str(),
              remark.c_str());
  std::fflush(stdout);
}

std::string number(double value, const char* unit, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f %s", digits, value, unit);
  return text;
}

void check_answers(const System& system, std::size_t found, std::size_t expected,
                   std::uint64_t heads, std::uint64_t expected_heads) {
  if (found == expected && heads == expected_heads) return;
  throw std::runtime_error(system.name + ": wrong answers: " + std::to_string(found) + " of " +
                           std::to_string(expected) + " keys found");
}

}  // namespace nestline::bench
