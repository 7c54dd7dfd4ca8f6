// Fuzz target: records as text. Any bytes are refused with a message, or mean records; and records
// that are written as text are read back to the same bytes.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/faces/command/io/errors.h"
#include "lib/faces/command/io/input_file.h"
#include "lib/faces/command/io/line_reader.h"
#include "lib/faces/command/store/record_text.h"

namespace {

using namespace nestline::command;

using Records = std::vector<std::pair<std::string, std::string>>;

void check(bool good) {
  if (!good) std::abort();
}

// A file in memory, which has a name as long as it is open.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& content) : descriptor_(::memfd_create("input", 0)) {
    check(descriptor_ >= 0);
    check(::pwrite(descriptor_, content.data(), content.size(), 0) ==
          static_cast<ssize_t>(content.size()));
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] std::string name() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

// The records, or nothing if the text is refused.
std::optional<Records> read_cdb(const std::string& text) {
  const MemoryFile file(text);
  InputFile input(file.name());
  CdbReader reader(input);
  Records records;
  std::string key, value;
  try {
    while (reader.next(key, value)) records.emplace_back(key, value);
  } catch (const CommandError& error) {
    check(error.file == file.name() && std::string(error.what()).starts_with("at byte "));
    return std::nullopt;
  }
  check(input.bytes() <= text.size());
  return records;
}

std::string write_cdb(const Records& records) {
  std::string text;
  for (const auto& [key, value] : records) append_cdb(text, key, value);
  return text + "\n";
}

void try_cdb(const std::string& text) {
  const auto records = read_cdb(text);
  if (records) check(read_cdb(write_cdb(*records)) == records);
}

// Whatever the lines are, they are all the bytes, and each means what its escapes say.
void try_lines(const std::string& text, bool zero_terminated) {
  const MemoryFile file(text);
  const LineInputs inputs{{file.name()}, zero_terminated};
  LineReader reader(inputs);
  const char end = inputs.line_end();
  LineBatch batch;
  std::string all, meaning, again;
  while (reader.next(batch)) {
    for (std::size_t i = 0; i < batch.keys.size(); ++i) {
      const std::string line(exact_line(batch, i));
      all += line + end;
      if (!unescape(line, meaning)) continue;
      std::string written;
      append_escaped(written, meaning, end);
      check(written.find('\t') == std::string::npos && written.find(end) == std::string::npos);
      check(unescape(written, again) && again == meaning);
    }
  }
  const bool ended = text.empty() || text.back() == end;
  check(all == (ended ? text : text + end));
}

void try_record(const std::string& key, const std::string& value) {
  std::string line, read_key, read_value;
  append_line(line, key, value);
  const std::size_t tab = line.find('\t');
  check(line.find('\n') == line.size() - 1 && line.rfind('\t') == tab);
  check(unescape(line.substr(0, tab), read_key) && read_key == key);
  check(unescape(line.substr(tab + 1, line.size() - tab - 2), read_value) && read_value == value);
  const Records records = {{key, value}, {value, key}};
  check(read_cdb(write_cdb(records)) == records);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try_cdb(text);
  for (const bool zero : {false, true}) try_lines(text, zero);
  const std::size_t half = size == 0 ? 0 : data[0] % size;
  try_record(text.substr(0, half), text.substr(half));
  return 0;
}
