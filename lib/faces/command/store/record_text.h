// Records as text: lines, and the format of cdb.
//   KEY<TAB>VALUE<LF>        in both, \t is a tab, \n a line feed, \\ a backslash; with -z a NUL
//                            ends the line, and \0 is a zero byte
//   +3,5:one->first<LF>      the lengths in bytes, then the bytes as they are; an empty line ends
// Every other byte stands for itself. Reading also takes \r and \0.
#ifndef NESTLINE_LIB_FACES_COMMAND_STORE_RECORD_TEXT_H_
#define NESTLINE_LIB_FACES_COMMAND_STORE_RECORD_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/faces/command/io/line_reader.h"

namespace nestline { inline namespace v0_3 { namespace command {

void append_escaped(std::string& text, std::string_view bytes, char line_end = '\n');

/// Sets `bytes` to what the escaped text means; false if it has an escape that there is not.
bool unescape(std::string_view text, std::string& bytes);

/// The i-th line of a batch without the last byte of its line end; a carriage return is kept.
std::string_view exact_line(const LineBatch& batch, std::size_t i);

void append_line(std::string& text, std::string_view key, std::string_view value,
                 char line_end = '\n');

/// Appends a record as cdb has it; the records end with an empty line, which the caller adds.
void append_cdb(std::string& text, std::string_view key, std::string_view value);

class CdbReader {
 public:
  explicit CdbReader(InputFile& input) : input_(input) {}

  /// False at the empty line that ends the records. Throws CommandError that names the bad place.
  bool next(std::string& key, std::string& value);

 private:
  std::size_t read_length(char end);
  void read_bytes(std::string& bytes, std::size_t length);
  void expect(std::string_view text);
  [[noreturn]] void fail(const std::string& what) const;

  InputFile& input_;
  std::uint64_t records_ = 0;
};

}}}  // namespace nestline::command

#endif  // NESTLINE_LIB_FACES_COMMAND_STORE_RECORD_TEXT_H_
