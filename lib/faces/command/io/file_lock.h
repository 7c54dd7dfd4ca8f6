// Keeps two commands from changing one filter file at the same time: the last to replace it would
// undo the other's work. The advisory lock belongs to the file, not its name: if the name refers to
// another file after the wait, that one is locked. Other programs, and file systems without locks,
// are not covered.
#ifndef NESTLINE_LIB_FACES_COMMAND_IO_FILE_LOCK_H_
#define NESTLINE_LIB_FACES_COMMAND_IO_FILE_LOCK_H_

#include <optional>
#include <string>

#include "lib/system/posix.h"

namespace nestline { inline namespace v0_3 { namespace command {

class FileLock {
 public:
  enum class IfAbsent { leave, make };

  /// A file that cannot be opened is not locked; the load that follows reports the error. Throws
  /// std::system_error when a file cannot be made.
  explicit FileLock(const std::string& file, IfAbsent if_absent = IfAbsent::leave);

  /// Whether there was no file before, and an empty one has been made.
  [[nodiscard]] bool made() const noexcept { return made_; }

 private:
  bool made_ = false;
  std::optional<FileDescriptor> file_;
};

}}}  // namespace nestline::command

#endif  // NESTLINE_LIB_FACES_COMMAND_IO_FILE_LOCK_H_
