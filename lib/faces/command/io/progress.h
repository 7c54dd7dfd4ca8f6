// A progress bar on standard error, for work that takes longer than a moment.
//   build  42% [##########----------] 1.2 of 2.9 GB, 8.1 M lines/s, 0:12 left
//   build  1.2 GB, 8.1 M lines/s                       (the size of the input is not known)
// It is drawn only on a terminal: first after half a second, then at most ten times a second, and
// is erased at the end. The caller reports once per batch, so the clock is not read for every line.
#ifndef NESTLINE_LIB_FACES_COMMAND_IO_PROGRESS_H_
#define NESTLINE_LIB_FACES_COMMAND_IO_PROGRESS_H_

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lib/faces/command/io/line_reader.h"

namespace nestline { inline namespace v0_3 { namespace command {

/// A rounded number in powers of 1000: "1.2 MB" with the unit B, "47 k keys" with keys.
std::string short_number(double value, std::string_view unit);
std::string short_number(std::integral auto value, std::string_view unit) {
  return short_number(static_cast<double>(value), unit);
}

class Progress {
 public:
  enum class Unit { bytes, keys };

  /// For `total` bytes, or an unknown number. When `wanted` is false, nothing is ever shown.
  explicit Progress(std::string_view verb, std::optional<std::uint64_t> total = std::nullopt,
                    bool wanted = true);
  ~Progress() { erase(); }
  Progress& operator=(Progress&&) = delete;

  void begin(Unit unit, std::optional<std::uint64_t> total);
  /// Reports that this much is done. Without lines, the bar shows the bytes in a second.
  void update(std::uint64_t done, std::optional<std::uint64_t> lines = std::nullopt);
  /// Shows a text at once, for work that reports nothing until it ends.
  void say(const std::string& text);
  void erase() noexcept;

 private:
  using Clock = std::chrono::steady_clock;

  void draw(double seconds, std::uint64_t done, std::optional<std::uint64_t> lines);
  void put(std::string text);

  std::string verb_;
  bool shown_;  // standard error is a terminal
  Unit unit_ = Unit::bytes;
  std::uint64_t total_ = 0;  // 0: not known
  Clock::time_point start_;
  Clock::time_point next_draw_;
  std::size_t drawn_ = 0;  // columns on the screen
};

class ShownReader : public LineReader {
 public:
  ShownReader(LineInputs inputs, std::string_view verb, bool wanted = true)
      : LineReader(std::move(inputs)), bar(verb, total_bytes(), wanted) {}

  bool next(LineBatch& batch) {
    bar.update(bytes(), lines());
    return LineReader::next(batch);
  }

  Progress bar;
};

}}}  // namespace nestline::command

#endif  // NESTLINE_LIB_FACES_COMMAND_IO_PROGRESS_H_
