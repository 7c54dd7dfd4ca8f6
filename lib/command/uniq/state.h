// What nestline uniq has seen, and the file that keeps it from one run to the next. docs/FORMAT.md
// has the bytes of the file.
#ifndef NESTLINE_LIB_COMMAND_UNIQ_STATE_H_
#define NESTLINE_LIB_COMMAND_UNIQ_STATE_H_

#include <optional>
#include <string>

#include "lib/command/uniq/seen_lines.h"

namespace nestline::command {

struct UniqState {
  /// Nothing has been seen yet.
  UniqState(const SeenOptions& options, bool repeated) : seen(options) {
    if (repeated) again.emplace(options);
  }
  UniqState(SeenLines seen_lines, std::optional<SeenLines> seen_again)
      : seen(std::move(seen_lines)), again(std::move(seen_again)) {}

  SeenLines seen;                  ///< All lines.
  std::optional<SeenLines> again;  ///< With -d: lines that seen had already.
};

/// Makes the file, empty, if there is none, so that there is something to lock. Throws CommandError
/// when save_state would fail.
void prepare_state(const std::string& file);

/// Whether the file begins as a state does. False for a file that cannot be read.
bool is_state(const std::string& file);

/// The state in the file; none if the file is empty. Throws FormatError, std::system_error,
/// std::bad_alloc.
std::optional<UniqState> load_state(const std::string& file);

/// Replaces the file in one step. Throws std::system_error.
void save_state(const UniqState& state, const std::string& file);

}  // namespace nestline::command

#endif  // NESTLINE_LIB_COMMAND_UNIQ_STATE_H_
