#include "lib/faces/command/io/file_lock.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <string>

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

// Whether the name still refers to the open file; if it is gone, `if_gone`.
bool is_current(int descriptor, const std::string& file, bool if_gone) {
  struct stat open_file {};
  struct stat named_file {};
  if (::fstat(descriptor, &open_file) != 0 || ::stat(file.c_str(), &named_file) != 0) {
    return if_gone;
  }
  return open_file.st_dev == named_file.st_dev && open_file.st_ino == named_file.st_ino;
}

}  // namespace

FileLock::FileLock(const std::string& file, IfAbsent if_absent) {
  const bool makes = if_absent == IfAbsent::make;
  do {
    // Without O_NONBLOCK, opening a named pipe would wait for a writer.
    file_.emplace(file, O_RDONLY | O_NONBLOCK);
    made_ = makes && !file_->is_open() && errno == ENOENT;
    if (made_) {
      file_.emplace(file, O_RDONLY | O_NONBLOCK | O_CREAT, 0666);
      if (!file_->is_open()) fail(file, errno);
    }
    if (!file_->is_open()) return;
  } while (uninterrupted([&] { return ::flock(file_->number(), LOCK_EX); }) == 0 &&
           !is_current(file_->number(), file, !makes));
}

}}}  // namespace nestline::command
