#include "bench/support/context.h"

#include <benchmark/benchmark.h>
#include <commit.h>
#include <hwy/targets.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>

#include "lib/engine/engine.h"
#include "lib/engine/kernels/targets.h"

namespace nestline::bench {
namespace {

// The first line of a file that begins with `start`, without `start`; empty if there is none.
std::string line_of(const char* file, const std::string& start) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(start, 0) == 0) return line.substr(start.size());
  }
  return {};
}

std::string cpu() {
  const std::string line = line_of("/proc/cpuinfo", "model name");
  const std::size_t name = line.find_first_not_of("\t :");
  return name == std::string::npos ? "unknown" : line.substr(name);
}

std::string page_size() {
  std::string text = std::to_string(::sysconf(_SC_PAGESIZE));
  const std::string huge = line_of("/sys/kernel/mm/transparent_hugepage/enabled", "");
  if (!huge.empty()) text += ", transparent huge pages: " + huge;
  return text;
}

}  // namespace

void add_context() {
  benchmark::AddCustomContext("cpu", cpu());
  benchmark::AddCustomContext("target",
                              hwy::TargetName(filter_engine(8, Placement::anywhere).target));
  benchmark::AddCustomContext("page_size", page_size());
  benchmark::AddCustomContext("commit", NESTLINE_COMMIT);
  benchmark::AddCustomContext("compiler", NESTLINE_COMPILER);
}

bool force_target(const std::string& name) {
  for (const std::int64_t target : usable_targets()) {
    if (name != hwy::TargetName(target)) continue;
    nestline::force_target(target);
    hwy::SetSupportedTargetsForTest(target);  // for the other filters
    return true;
  }
  return false;
}

std::string target_names() {
  std::string names;
  for (const std::int64_t target : usable_targets()) {
    names += std::string(" ") + hwy::TargetName(target);
  }
  return names;
}

}  // namespace nestline::bench
