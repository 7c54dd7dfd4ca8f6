#include "lib/faces/command/io/report.h"

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

std::string bytes_text(std::uint64_t bytes) {
  return std::to_string(bytes) + (bytes >= 1000 ? " (" + short_number(bytes, "B") + ")" : "");
}

}}}  // namespace nestline::command
