// What store_bench and engines_bench share: their arguments, and how they sum up rounds.
#ifndef NESTLINE_BENCH_STORE_MEASURING_H_
#define NESTLINE_BENCH_STORE_MEASURING_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace nestline::bench {

struct Measuring {
  std::uint64_t records = 100'000;
  std::filesystem::path folder;
  unsigned rounds = 5;
  double seconds = 0;  // of each system, or each side of a row, in each round
};

// Reads the arguments --records, --folder, --rounds and --seconds. other(option, value) takes those
// that one program has, and returns how many arguments these are, 0 for an option that it does not
// know; `value` is a null pointer behind the last argument. Throws std::runtime_error for arguments
// that are wrong, or with fewer than `least` records.
void read_arguments(int count, char** arguments, std::uint64_t least, Measuring& settings,
                    const std::function<int(std::string_view option, const char* value)>& other);

// The words between commas.
std::set<std::string> split(std::string_view text);

// 0 without values.
double median(std::vector<double> values);

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_STORE_MEASURING_H_
