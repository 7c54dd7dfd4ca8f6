// See report.h. No other file includes the library for JSON: it takes long to compile.
#include "lib/faces/command/io/report.h"

#include <nlohmann/json.hpp>

#include "lib/faces/command/io/progress.h"

namespace nestline { inline namespace v0_3 { namespace command {
using nlohmann::ordered_json;

struct Json::Value {
  static ordered_json object(const JsonFields& fields) {
    ordered_json object;
    for (const auto& [name, json] : fields) object[name] = json.value_->value;
    return object;
  }
  static ordered_json list(const std::vector<JsonFields>& objects) {
    ordered_json list = ordered_json::array();
    for (const JsonFields& fields : objects) list.push_back(object(fields));
    return list;
  }

  ordered_json value;
};

Json::Json() : value_(std::make_shared<Value>(Value{})) {}
Json::Json(std::uint64_t number) : value_(std::make_shared<Value>(Value{number})) {}
Json::Json(double number) : value_(std::make_shared<Value>(Value{number})) {}
Json::Json(const std::string& text) : value_(std::make_shared<Value>(Value{text})) {}
Json::Json(const std::vector<std::string>& texts) : value_(std::make_shared<Value>(Value{texts})) {}
Json::Json(const std::vector<JsonFields>& objects)
    : value_(std::make_shared<Value>(Value{Value::list(objects)})) {}

std::string json_object(const JsonFields& fields) {
  constexpr auto kReplace = ordered_json::error_handler_t::replace;
  return Json::Value::object(fields).dump(2, ' ', false, kReplace) + "\n";
}

void Report::line(std::string name, const std::string& value) {
  name.resize(30, ' ');
  table_ += name + value + "\n";
}

void Report::advice(const std::vector<std::string>& sentences) {
  json("advice", sentences);
  for (const std::string& sentence : sentences) line("advice", sentence);
}

std::string bytes_text(std::uint64_t bytes) {
  return std::to_string(bytes) + (bytes >= 1000 ? " (" + short_number(bytes, "B") + ")" : "");
}

}}}  // namespace nestline::command
