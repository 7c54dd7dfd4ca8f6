// Keeps two commands from changing one filter file at the same time.
//
// add and remove load the file, change the filter and replace the file; merge may do so too. If two
// of them ran at once, both would start from the same content, and the last one to finish would
// undo the other's work: keys that were added would be missing. So each holds an advisory lock on
// the file while it works. The lock belongs to the file, not to its name. If the name refers to
// another file after the wait, the lock is taken again, on that file.
//
// This does not protect against programs that call the library themselves. On file systems without
// locks it does nothing.
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
