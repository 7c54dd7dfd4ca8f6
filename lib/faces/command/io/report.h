// What commands report: for programs as JSON, for people as text. A command fills one Report, with
// a key for JSON and a name for the table, and prints one of the two. The keys never change.
#ifndef NESTLINE_LIB_FACES_COMMAND_IO_REPORT_H_
#define NESTLINE_LIB_FACES_COMMAND_IO_REPORT_H_

#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace nestline { inline namespace v0_3 { namespace command {

/// The fields of an object stay in the order in which they come.
using Json = nlohmann::ordered_json;

/// "2144 (2.1 kB)".
std::string bytes_text(std::uint64_t bytes);

/// A dash for 0.
std::string number_or_none(std::uint64_t number);

/// From here on, it is time to think about the room.
bool is_nearly_full(std::uint64_t size, std::uint64_t capacity);
/// How an advice on that begins.
std::string room_text(std::uint64_t size, std::uint64_t capacity, const char* unit);

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
  void json(const char* key, Json value) { fields_[key] = std::move(value); }
  void line(std::string name, const std::string& value);
  /// Sentences about what needs a decision, a line for each.
  void advice(const std::vector<std::string>& sentences);

  /// Bytes of a text that are not UTF-8 are replaced in JSON.
  [[nodiscard]] std::string text(bool as_json) const;

 private:
  Json fields_;
  std::string table_;
};

}}}  // namespace nestline::command

#endif  // NESTLINE_LIB_FACES_COMMAND_IO_REPORT_H_
