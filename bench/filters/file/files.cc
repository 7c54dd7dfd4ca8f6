// Full filters to and from files: saved, loaded, mapped, and the first million lookups in a
// mapping. The files are in the folder for temporary files, and in the page cache. So the time is
// that of our own work and of the system's copying, not of a disk. Saving includes the system's
// syncing.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "bench/support/benchmarks.h"
#include "bench/support/ceiling.h"
#include "bench/support/workload.h"
#include "nestline/io.h"

namespace nestline::bench {
namespace {

class TemporaryFile {
 public:
  TemporaryFile()
      : path_(std::filesystem::temp_directory_path() /
              ("nestline-bench-" + std::to_string(::getpid()) + ".nest")) {}
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

enum class What { save, load, map, first_lookups };

void file(benchmark::State& state, int bits, std::size_t bytes, What what) {
  const Filter filter = filled_filter(bits, bytes, kLoad);
  const TemporaryFile file;
  save(filter, file.path());
  const std::vector<std::uint64_t> keys = lookup_keys(bytes, filter.size(), 50);
  std::vector<std::uint8_t> answers(keys.size());
  for (auto _ : state) {
    double start = now();
    if (what == What::save) save(filter, file.path());
    if (what == What::load) benchmark::DoNotOptimize(Filter::load(file.path()));
    if (what == What::map || what == What::first_lookups) {
      const MappedFilter mapped = MappedFilter::open(file.path());
      if (what == What::first_lookups) {
        start = now();
        benchmark::DoNotOptimize(mapped.may_contain(keys, answers));
      }
      state.SetIterationTime(now() - start);
    } else {
      state.SetIterationTime(now() - start);
    }
  }
  if (what == What::first_lookups) {
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(keys.size()));
  } else if (what != What::map) {
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
  }
}

}  // namespace

void add_files() {
  for (const int bits : kFilterWidths) {
    for (const std::size_t bytes : sizes()) {
      const std::string end = "/" + suffix(bits, bytes);
      const auto add_file = [&](const std::string& name, What what) {
        add("file/" + name + end, [=](benchmark::State& state) { file(state, bits, bytes, what); });
      };
      add_file("save", What::save);
      add_file("load", What::load);
      add_file("map", What::map);
      add_file("map_then_ask", What::first_lookups);
    }
  }
}

}  // namespace nestline::bench
