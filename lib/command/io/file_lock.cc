#include "lib/command/io/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace nestline::inline v0_2::command {
namespace {

// Whether the name still refers to the open file. True if it is gone: nothing else to lock.
bool is_current(int descriptor, const std::string& file) {
  struct stat open_file {};
  struct stat named_file {};
  if (::fstat(descriptor, &open_file) != 0 || ::stat(file.c_str(), &named_file) != 0) return true;
  return open_file.st_dev == named_file.st_dev && open_file.st_ino == named_file.st_ino;
}

}  // namespace

FileLock::FileLock(const std::string& file) {
  while (true) {
    // Without O_NONBLOCK, opening a named pipe would wait for a writer.
    descriptor_ = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor_ < 0) return;
    int result = 0;
    do {
      result = ::flock(descriptor_, LOCK_EX);
    } while (result != 0 && errno == EINTR);
    if (result != 0 || is_current(descriptor_, file)) return;
    ::close(descriptor_);
  }
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace nestline::inline v0_2::command
