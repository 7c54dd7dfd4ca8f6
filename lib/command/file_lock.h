// Keeps two commands from changing one filter file at the same time.
//
// add and remove load the file, change the filter and replace the file. Two of them at once would
// start from the same content, and the one that ends last would undo the other's work: keys that
// were added would be missed. So each holds an advisory lock on the file meanwhile. The lock
// belongs to the file, not to its name: when the name stands for another file after the wait, the
// lock is taken anew on that one.
//
// This does not protect against programs that call the library themselves, nor on file systems
// without locks; there it does nothing.
#ifndef NESTLINE_LIB_COMMAND_FILE_LOCK_H_
#define NESTLINE_LIB_COMMAND_FILE_LOCK_H_

#include <string>

namespace nestline::command {

class FileLock {
 public:
  /// Waits until no other command holds the lock. A file that cannot be opened is not locked: who
  /// loads it next gets the error.
  explicit FileLock(const std::string& file);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace nestline::command

#endif  // NESTLINE_LIB_COMMAND_FILE_LOCK_H_
