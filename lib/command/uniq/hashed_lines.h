// Batches of lines that have memory of their own, with the hashes of the lines, and with the lines
// marked that repeat one of the same chunk.
//
// The lines are copied out of the reader's buffer, so that a thread can read the next batch while
// others look up and print those before.
#ifndef NESTLINE_LIB_COMMAND_UNIQ_HASHED_LINES_H_
#define NESTLINE_LIB_COMMAND_UNIQ_HASHED_LINES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/command/io/errors.h"
#include "lib/command/io/line_reader.h"
#include "lib/command/uniq/chunk_table.h"
#include "nestline/keys.h"

namespace nestline::command {

/// Consecutive lines with their hashes, or why an input could not be read.
struct HashedLines {
  LineBatch batch;  // of the memory below
  std::vector<Hash> hashes;
  std::vector<std::uint8_t> repeats;  // as ChunkRepeats marks them
  std::optional<CommandError> error;  ///< Then there are no lines.
  std::uint64_t bytes_read = 0;       ///< Of all inputs, after this batch.
  std::uint64_t lines_read = 0;

  std::vector<char> bytes;
  std::vector<std::string_view> keys;
};

class HashedLineReader {
 public:
  /// The lines of the inputs, up to the end, or until the descriptor `wake` becomes readable: then
  /// lines that are whole in the buffer still come.
  HashedLineReader(std::vector<std::string> inputs, std::uint64_t seed, int wake);

  /// Gets the next lines, in place of what `lines` has; false at the end. Throws std::bad_alloc.
  bool next(HashedLines& lines);

  /// The total size of all inputs in bytes, if all are regular files.
  [[nodiscard]] std::optional<std::uint64_t> total_bytes() const noexcept {
    return reader_.total_bytes();
  }

 private:
  LineReader reader_;
  std::uint64_t seed_;
  ChunkRepeats repeats_;
};

}  // namespace nestline::command

#endif  // NESTLINE_LIB_COMMAND_UNIQ_HASHED_LINES_H_
