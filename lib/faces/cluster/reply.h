// Replies of a server (RESP2), and commands as the bytes that are sent to it.
#ifndef NESTLINE_LIB_FACES_CLUSTER_REPLY_H_
#define NESTLINE_LIB_FACES_CLUSTER_REPLY_H_

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

struct redisReader;

namespace nestline { inline namespace v0_3 { namespace cluster {

struct Reply {
  enum class Kind : std::uint8_t { nil, status, error, integer, bulk, array };

  Kind kind = Kind::nil;
  std::int64_t integer = 0;
  std::string text;  ///< Of a status, an error and a bulk string.
  std::vector<Reply> elements;
  [[nodiscard]] bool is_error() const { return kind == Kind::error; }
  [[nodiscard]] bool is_bulk() const { return kind == Kind::bulk; }
  [[nodiscard]] bool is_array() const { return kind == Kind::array; }
  [[nodiscard]] bool is_integer() const { return kind == Kind::integer; }
  /// Whether it is an error that begins with this word.
  [[nodiscard]] bool is_error(std::string_view word) const {
    return is_error() && text.starts_with(word) &&
           (text.size() == word.size() || text[word.size()] == ' ');
  }
  [[nodiscard]] bool is_missing() const;  ///< whether it is the error of a key that is not there
  [[nodiscard]] const Reply* field(std::string_view name) const;  ///< null: it is not there
};

/// What came is not a reply of a server.
struct BadReply : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Puts replies together from the bytes that arrive, through the parser of hiredis.
class ReplyReader {
 public:
  ReplyReader();                      ///< throws std::bad_alloc
  void feed(std::string_view bytes);  ///< throws std::bad_alloc
  std::optional<Reply> next();  ///< nothing: not all has come. Throws BadReply, std::bad_alloc.

 private:
  struct Free {
    void operator()(redisReader* reader) const noexcept;
  };
  std::unique_ptr<redisReader, Free> reader_;
};

/// All of the text as a number; nothing if it is none or does not fit.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// A command as bytes: the number of arguments, and each with its length.
std::string encode_command(std::initializer_list<std::string_view> arguments);
std::string encode_command(const std::vector<std::string>& arguments);
/// The same with a last argument of `payload` bytes, which must follow, and "\r\n".
std::string encode_command_before(std::initializer_list<std::string_view> arguments,
                                  std::size_t payload);

}}}  // namespace nestline::cluster

#endif  // NESTLINE_LIB_FACES_CLUSTER_REPLY_H_
