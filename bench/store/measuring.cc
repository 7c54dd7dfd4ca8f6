#include "bench/store/measuring.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <stdexcept>

namespace nestline::bench {

void read_arguments(int count, char** arguments, std::uint64_t least, Measuring& settings,
                    const std::function<int(std::string_view option, const char* value)>& other) {
  for (int i = 1; i < count;) {
    const std::string_view option = arguments[i];
    const char* const value = i + 1 < count ? arguments[i + 1] : nullptr;
    if (const int taken = other(option, value); taken != 0) {
      i += taken;
      continue;
    }
    if (value != nullptr && option == "--records") {
      settings.records = std::strtoull(value, nullptr, 10);
    } else if (value != nullptr && option == "--folder") {
      settings.folder = value;
    } else if (value != nullptr && option == "--rounds") {
      settings.rounds = static_cast<unsigned>(std::strtoul(value, nullptr, 10));
    } else if (value != nullptr && option == "--seconds") {
      settings.seconds = std::strtod(value, nullptr);
    } else {
      throw std::runtime_error("what does " + std::string(option) + " mean?");
    }
    i += 2;
  }
  if (settings.records < least || settings.rounds == 0 || !(settings.seconds > 0)) {
    throw std::runtime_error("at least " + std::to_string(least) +
                             " records, 1 round and some time are needed");
  }
}

std::set<std::string> split(std::string_view text) {
  std::set<std::string> words;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    words.emplace(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return words;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

}  // namespace nestline::bench
