// What all rows of store_bench share: the settings, the databases that are open, and how a line of
// the output looks.
#ifndef NESTLINE_BENCH_STORE_SESSION_H_
#define NESTLINE_BENCH_STORE_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "bench/store/machine.h"
#include "bench/store/measuring.h"
#include "bench/store/systems/system.h"

namespace nestline::bench {

struct Settings : Measuring {
  std::vector<System> systems;
  std::set<std::string> rows;  // empty: all
  bool keep = false;           // whether the databases stay when the program ends
};

class Session {
 public:
  explicit Session(Settings settings);
  ~Session();

  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] const std::vector<System>& systems() const { return settings_.systems; }
  [[nodiscard]] std::filesystem::path folder_of(const System& system) const;

  // The database with all records, settled; it is made when it is not there.
  Database& loaded(const System& system);
  // Closes it, when it is open.
  void close(const System& system);
  // Opens it again after close, and returns how long that took.
  Seconds open(const System& system);
  // Removes it, since its records are not the same any more.
  void discard(const System& system);

  // An empty database beside the loaded one.
  std::unique_ptr<Database> empty(const System& system, bool sync_each);

 private:
  void load(const System& system);

  Settings settings_;
  std::map<std::string, std::unique_ptr<Database>> open_;
};

// One line: what was measured, whose figure, its sync mode and back end, the figure, and a remark.
void print_line(const std::string& row, const System& system, bool sync_each,
                const std::string& figure, const std::string& remark = {});

// A number with so many digits after the point, and its unit.
std::string number(double value, const char* unit, int digits = 1);

// Throws when the answers were wrong.
void check_answers(const System& system, std::size_t found, std::size_t expected,
                   std::uint64_t heads, std::uint64_t expected_heads);

// The rows.
void measure_gets(Session& session);        // rows_get.cc
void measure_threads(Session& session);     // rows_threads.cc
void measure_sync_each(Session& session);   // rows_threads.cc
void measure_clean_open(Session& session);  // rows_open.cc
void measure_kill(Session& session, const char* program);
void measure_cold(Session& session);   // rows_disk.cc
void measure_churn(Session& session);  // rows_disk.cc

// What the killed process does: puts records from `first` on until it is killed, and prints how
// many.
[[noreturn]] void put_for_ever(const System& system, const Opening& opening, std::uint64_t first);

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_STORE_SESSION_H_
