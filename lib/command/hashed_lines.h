// Reads and hashes lines in a thread of its own, while the caller looks up and prints those before.
//
// The thread copies each batch of lines out of the reader's buffer, since that is filled again
// before the caller has printed them. A few batches go round: the thread waits when the caller has
// none to give back.
#ifndef NESTLINE_LIB_COMMAND_HASHED_LINES_H_
#define NESTLINE_LIB_COMMAND_HASHED_LINES_H_

#include <array>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "lib/command/errors.h"
#include "lib/command/line_reader.h"
#include "lib/command/wake_pipe.h"
#include "nestline/keys.h"

namespace nestline::command {

/// Consecutive lines with their hashes, or why an input could not be read.
struct HashedLines {
  LineBatch batch;  // of the memory below
  std::vector<Hash> hashes;
  std::optional<CommandError> error;  ///< Then there are no lines.
  std::uint64_t bytes_read = 0;       ///< Of all inputs, after this batch.
  std::uint64_t lines_read = 0;

  std::vector<char> bytes;
  std::vector<std::string_view> keys;
};

class HashedLineReader {
 public:
  /// The lines of the inputs, up to the end, or until `wake` is woken: then lines that are whole in
  /// the buffer still come. `wake` must outlive the reader, which wakes it when it is destroyed.
  HashedLineReader(std::vector<std::string> inputs, std::uint64_t seed, WakePipe& wake);
  ~HashedLineReader();
  HashedLineReader(const HashedLineReader&) = delete;
  HashedLineReader& operator=(const HashedLineReader&) = delete;

  /// The next lines, good until the next call; null at the end.
  const HashedLines* next();
  /// Whether next() would return at once, as far as is known.
  bool ready();

  /// The total size of all inputs in bytes, if all are regular files.
  [[nodiscard]] std::optional<std::uint64_t> total_bytes() const noexcept { return total_bytes_; }

 private:
  static constexpr std::size_t kBatches = 4;

  void run() noexcept;
  // Reads the next lines; false at the end.
  bool fill(HashedLines& lines);

  LineReader reader_;  // of the thread, once that runs
  std::uint64_t seed_;
  WakePipe& wake_;
  std::optional<std::uint64_t> total_bytes_;

  // Batch i is in place i % kBatches.
  std::array<HashedLines, kBatches> batches_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t filled_ = 0;    // batches that the thread has made
  std::size_t returned_ = 0;  // batches that the caller has given back
  bool held_ = false;         // the caller has batch returned_
  bool ended_ = false;        // no batch will follow
  bool closed_ = false;       // nobody wants any
  std::exception_ptr failure_;

  std::thread thread_;
};

}  // namespace nestline::command

#endif  // NESTLINE_LIB_COMMAND_HASHED_LINES_H_
