// What commands report: for programs as JSON, for people as text. A command fills one Report, with
// a key for JSON and a name for the table, and prints one of the two. The keys never change.
#ifndef NESTLINE_LIB_FACES_COMMAND_IO_REPORT_H_
#define NESTLINE_LIB_FACES_COMMAND_IO_REPORT_H_

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace nestline { inline namespace v0_3 { namespace command {

class Json;
using JsonFields = std::vector<std::pair<const char*, Json>>;

/// A value of JSON. Bytes of a text that are not UTF-8 are replaced when it is printed.
class Json {
 public:
  Json();  ///< null
  Json(std::uint64_t number);
  Json(std::unsigned_integral auto number) : Json(std::uint64_t{number}) {}
  Json(double number);
  Json(const std::string& text);
  Json(const std::vector<std::string>& texts);
  Json(const std::vector<JsonFields>& objects);

 private:
  friend std::string json_object(const JsonFields& fields);
  struct Value;
  std::shared_ptr<const Value> value_;
};

std::string json_object(const JsonFields& fields);

/// "2144 (2.1 kB)".
std::string bytes_text(std::uint64_t bytes);

/// What is in a file: for programs one JSON object, for people names and values in two columns.
class Report {
 public:
  /// A value that both have, under the name `key` and in the line `name`.
  void add(const char* key, std::string name, Json value, const std::string& text) {
    json(key, std::move(value));
    line(std::move(name), text);
  }
  void add(const char* key, std::string name, std::integral auto number) {
    add(key, std::move(name), std::uint64_t{number}, std::to_string(number));
  }
  void add_bytes(const char* key, std::string name, std::uint64_t bytes) {
    add(key, std::move(name), bytes, bytes_text(bytes));
  }
  /// A value that only one of them has, or has in this place.
  void json(const char* key, Json value) { fields_.emplace_back(key, std::move(value)); }
  void line(std::string name, const std::string& value);
  /// Sentences about what needs a decision, a line for each.
  void advice(const std::vector<std::string>& sentences);

  [[nodiscard]] std::string text(bool as_json) const {
    return as_json ? json_object(fields_) : table_;
  }

 private:
  JsonFields fields_;
  std::string table_;
};

}}}  // namespace nestline::command

#endif  // NESTLINE_LIB_FACES_COMMAND_IO_REPORT_H_
