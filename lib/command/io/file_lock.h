// Keeps two commands from changing one filter file at the same time: if two loaded, changed and
// replaced it at once, the last would undo the other's work, and keys would be missing. The
// advisory lock belongs to the file, not to its name. If the name refers to another file after the
// wait, that one is locked. Programs that call the library themselves, and file systems without
// locks, are not covered.
#ifndef NESTLINE_LIB_COMMAND_IO_FILE_LOCK_H_
#define NESTLINE_LIB_COMMAND_IO_FILE_LOCK_H_

#include <string>

namespace nestline::command {

class FileLock {
 public:
  /// Waits until no other command holds the lock. A file that cannot be opened is not locked; the
  /// load that follows reports the error.
  explicit FileLock(const std::string& file);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace nestline::command

#endif  // NESTLINE_LIB_COMMAND_IO_FILE_LOCK_H_
