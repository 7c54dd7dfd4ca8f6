#include "lib/faces/command/store/record_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "lib/faces/command/io/errors.h"

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

// What letters behind a backslash mean. The first three are written, the fourth with NUL ends.
constexpr std::string_view kLetters("tn\\0r");
constexpr std::string_view kMeanings("\t\n\\\0\r", 5);

// A length is not trusted: memory is taken as the bytes come in.
constexpr std::size_t kStep = std::size_t{1} << 20;
constexpr std::uint64_t kMaxLength = std::uint64_t{1} << 32;

}  // namespace

void append_escaped(std::string& text, std::string_view bytes, char line_end) {
  const std::string_view escaped = kMeanings.substr(0, line_end == '\0' ? 4 : 3);
  for (std::size_t at = bytes.find_first_of(escaped); at != std::string_view::npos;
       at = bytes.find_first_of(escaped)) {
    text.append(bytes.substr(0, at));
    text += '\\';
    text += kLetters[escaped.find(bytes[at])];
    bytes.remove_prefix(at + 1);
  }
  text.append(bytes);
}

bool unescape(std::string_view text, std::string& bytes) {
  bytes.clear();
  for (std::size_t at = text.find('\\'); at != std::string_view::npos; at = text.find('\\')) {
    bytes.append(text.substr(0, at));
    if (at + 1 == text.size()) return false;
    const std::size_t letter = kLetters.find(text[at + 1]);
    if (letter == std::string_view::npos) return false;
    bytes += kMeanings[letter];
    text.remove_prefix(at + 2);
  }
  bytes.append(text);
  return true;
}

std::string_view exact_line(const LineBatch& batch, std::size_t i) {
  std::string_view line = batch.lines(i, i + 1);
  const bool ended = !batch.unterminated || i + 1 < batch.keys.size();
  if (ended) line.remove_suffix(1);
  return line;
}

void append_line(std::string& text, std::string_view key, std::string_view value, char line_end) {
  append_escaped(text, key, line_end);
  text += '\t';
  append_escaped(text, value, line_end);
  text += line_end;
}

void append_cdb(std::string& text, std::string_view key, std::string_view value) {
  text.append("+").append(std::to_string(key.size())).append(",");
  text.append(std::to_string(value.size())).append(":");
  text.append(key).append("->").append(value).append("\n");
}

bool CdbReader::next(std::string& key, std::string& value) {
  const int first = input_.next_byte();
  if (first == '\n') return false;
  if (first < 0) fail("ends without the empty line that ends the records: it is not complete");
  if (first != '+') fail("must begin with + or be the empty line that ends the records");
  const std::size_t key_length = read_length(',');
  const std::size_t value_length = read_length(':');
  read_bytes(key, key_length);
  expect("->");
  read_bytes(value, value_length);
  expect("\n");
  ++records_;
  return true;
}

std::size_t CdbReader::read_length(char end) {
  std::uint64_t length = 0;
  for (int digits = 0;; ++digits) {
    const int byte = input_.next_byte();
    if (byte == end && digits > 0) return static_cast<std::size_t>(length);
    if (byte < '0' || byte > '9') fail(std::string("needs a length before ") + end);
    length = 10 * length + static_cast<std::uint64_t>(byte - '0');
    if (length >= kMaxLength) fail("has a length of more than 4294967295 bytes");
  }
}

void CdbReader::read_bytes(std::string& bytes, std::size_t length) {
  bytes.clear();
  while (bytes.size() < length) {
    const std::size_t done = bytes.size();
    bytes.resize(std::min(length, done + std::max(kStep, done)));
    const auto rest = std::span(bytes).subspan(done);
    if (input_.read_all(rest) < rest.size()) fail("is shorter than its lengths say");
  }
}

void CdbReader::expect(std::string_view text) {
  for (const char byte : text) {
    if (input_.next_byte() != static_cast<unsigned char>(byte)) {
      fail(text == "\n" ? "must end with a line feed after its data"
                        : "must have -> between key and data: its lengths are not right");
    }
  }
}

void CdbReader::fail(const std::string& what) const {
  throw CommandError(input_.name(), "at byte " + std::to_string(input_.bytes()) + ": record " +
                                        std::to_string(records_ + 1) + " " + what);
}

}}}  // namespace nestline::command
