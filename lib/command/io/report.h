// What is in a file, for people and for programs: two columns of text, or one JSON object.
#ifndef NESTLINE_LIB_COMMAND_IO_REPORT_H_
#define NESTLINE_LIB_COMMAND_IO_REPORT_H_

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace nestline::command {

class Json;
/// An object of JSON, in this order.
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

/// The object as text of several lines, with a line end.
std::string json_object(const JsonFields& fields);

/// Names and values in two columns.
class Table {
 public:
  void line(std::string name, const std::string& value);
  /// Sentences about what needs a decision, a line for each.
  void advice(const std::vector<std::string>& sentences);
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// "2144 (2.1 kB)".
std::string bytes_text(std::uint64_t bytes);
/// The value as printf prints it.
std::string formatted(const char* pattern, double value);

}  // namespace nestline::command

#endif  // NESTLINE_LIB_COMMAND_IO_REPORT_H_
