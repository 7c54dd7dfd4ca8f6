#include "lib/faces/command/io/report.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/faces/command/io/progress.h"

namespace nestline { inline namespace v0_3 { namespace command {

void Report::line(std::string name, const std::string& value) {
  name.resize(30, ' ');
  table_ += name + value + "\n";
}

void Report::advice(const std::vector<std::string>& sentences) {
  json("advice", sentences);
  for (const std::string& sentence : sentences) line("advice", sentence);
}

std::string Report::text(bool as_json) const {
  return as_json ? fields_.dump(2, ' ', false, Json::error_handler_t::replace) + "\n" : table_;
}

std::string number_or_none(std::uint64_t number) {
  return number > 0 ? std::to_string(number) : "-";
}

bool is_nearly_full(std::uint64_t size, std::uint64_t capacity) {
  return size >= capacity - capacity / 20;
}

std::string room_text(std::uint64_t size, std::uint64_t capacity, const char* unit) {
  return "nearly full: there is room for " + std::to_string(capacity - std::min(size, capacity)) +
         " more " + unit + ", and ";
}

std::string bytes_text(std::uint64_t bytes) {
  return std::to_string(bytes) + (bytes >= 1000 ? " (" + short_number(bytes, "B") + ")" : "");
}

}}}  // namespace nestline::command
