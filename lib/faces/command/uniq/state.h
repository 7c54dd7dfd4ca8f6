// What nestline uniq has seen, and the file that keeps it (bytes: docs/FORMAT.md). A LineSet is a
// set that counts lines (seen_lines.h) or one that forgets by the clock (seen_recently.h). A loaded
// state has the options of the first run; uniq.cc compares those that are given again.
#ifndef NESTLINE_LIB_FACES_COMMAND_UNIQ_STATE_H_
#define NESTLINE_LIB_FACES_COMMAND_UNIQ_STATE_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "lib/faces/command/io/file_lock.h"
#include "lib/faces/command/uniq/seen_lines.h"
#include "lib/faces/command/uniq/seen_recently.h"

namespace nestline { inline namespace v0_3 { namespace command {

class LineSet {
 public:
  explicit LineSet(const SeenOptions& options);
  explicit LineSet(SeenLines lines) : either_(std::move(lines)) {}
  explicit LineSet(SeenRecently lines) : either_(std::move(lines)) {}

  Selected select_new(std::span<const Hash> lines, std::span<const std::uint8_t> repeats,
                      std::span<std::uint32_t> positions);
  void advance(std::uint64_t ticks);

  [[nodiscard]] std::uint64_t size() const {
    return std::visit([](const auto& lines) { return lines.size(); }, either_);
  }
  [[nodiscard]] std::uint64_t memory_bytes() const {
    return std::visit([](const auto& lines) { return lines.memory_bytes(); }, either_);
  }
  [[nodiscard]] const std::variant<SeenLines, SeenRecently>& either() const { return either_; }

 private:
  std::variant<SeenLines, SeenRecently> either_;
};

struct UniqState {
  UniqState(const SeenOptions& wanted, bool repeated) : options(wanted), seen(wanted) {
    if (repeated) again.emplace(wanted);
    if (wanted.within > 0) clock.emplace(tick());
  }
  UniqState(const SeenOptions& wanted, LineSet seen_lines, std::optional<LineSet> seen_again)
      : options(wanted), seen(std::move(seen_lines)), again(std::move(seen_again)) {}

  /// Of a set that forgets by the clock.
  [[nodiscard]] std::chrono::nanoseconds tick() const {
    return std::chrono::nanoseconds(options.within / SeenRecently::kTicks);
  }
  void forget();

  SeenOptions options;
  LineSet seen;                    ///< All lines.
  std::optional<LineSet> again;    ///< With -d: lines that seen had already.
  std::optional<TickClock> clock;  ///< Of a set that forgets by the clock.
};

/// The file of a state, locked. If there is none, an empty one is made, so that there is something
/// to lock; if nothing has been saved in it, it is removed at the end, so that a run that fails
/// leaves no state where there was none.
class StateFile {
 public:
  /// Throws CommandError, std::system_error.
  explicit StateFile(const std::string& file);
  ~StateFile();
  StateFile& operator=(StateFile&&) = delete;

  /// As FileLock::made.
  [[nodiscard]] bool made() const noexcept { return lock_.made(); }

 private:
  std::string file_;
  FileLock lock_;
};

/// None if the file is empty. Throws FormatError, std::system_error, std::bad_alloc.
std::optional<UniqState> load_state(const std::string& file);

/// What nestline info prints of a state that is not empty. Throws as load_state.
std::string state_text(const std::string& file, bool as_json);

/// Replaces the file in one step. Throws std::system_error.
void save_state(const UniqState& state, const std::string& file);

}}}  // namespace nestline::command

#endif  // NESTLINE_LIB_FACES_COMMAND_UNIQ_STATE_H_
