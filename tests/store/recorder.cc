// See recording.h. One lock is held over each call, so the calls that are recorded have an order.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/store/recording.h"

namespace nestline::test { namespace {

constexpr std::size_t kSectorBytes = 512;

class Recorder {
 public:
  // Null if this process is not to be recorded.
  static Recorder* get() {
    static Recorder* const recorder = make();
    return recorder;
  }

  std::mutex& mutex() { return mutex_; }

  // Writes down what has changed since the last time.
  void look() {
    for (auto& [number, file] : files_) look_at(number, file);
  }

  void call(Recorded kind, std::uint64_t file, std::uint64_t offset, std::uint64_t size,
            const void* bytes, std::size_t count) {
    const RecordedCall head = {kind, static_cast<std::uint32_t>(count), file, offset, size};
    put(&head, sizeof head);
    put(bytes, count);
  }
  void text(Recorded kind, std::uint64_t file, std::string_view text) {
    call(kind, file, 0, 0, text.data(), text.size());
  }

  // The file's name if it lies in the folder, else "".
  [[nodiscard]] std::string name_of(const char* path) const {
    const std::string_view whole(path);
    if (!whole.starts_with(folder_) || whole.size() <= folder_.size() + 1) return "";
    return std::string(whole.substr(folder_.size() + 1));
  }

  void opened(int descriptor, const std::string& name) {
    const std::uint64_t number = number_of(descriptor);
    if (number == 0 || files_.contains(number)) return;
    // A descriptor of our own keeps the number from being given to another file.
    const long own = ::syscall(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, 200);
    if (own < 0) fail();
    files_[number] = {static_cast<int>(own), {}};
    text(Recorded::create, number, name);
  }

  void synced(int descriptor) {
    const std::uint64_t number = number_of(descriptor);
    if (files_.contains(number)) return call(Recorded::sync, number, 0, 0, nullptr, 0);
    struct stat folder {};
    struct stat facts {};
    if (::stat(folder_.c_str(), &folder) == 0 && ::fstat(descriptor, &facts) == 0 &&
        folder.st_ino == facts.st_ino && folder.st_dev == facts.st_dev) {
      call(Recorded::sync_folder, 0, 0, 0, nullptr, 0);
    }
  }

 private:
  struct File {
    int descriptor = -1;
    std::vector<char> known;
  };

  Recorder(const char* folder, int to) : folder_(folder), to_(to) {}

  static Recorder* make() {
    const char* const folder = std::getenv(kRecordFolder);
    const char* const to = std::getenv(kRecordTo);
    if (folder == nullptr || to == nullptr) return nullptr;
    const long file =
        ::syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) fail();
    return new Recorder(folder, static_cast<int>(file));
  }

  [[noreturn]] static void fail() { std::abort(); }

  static std::uint64_t number_of(int descriptor) {
    struct stat facts {};
    if (::fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) return 0;
    return facts.st_ino;
  }

  void put(const void* bytes, std::size_t count) const {
    const char* from = static_cast<const char*>(bytes);
    while (count > 0) {
      const long done = ::syscall(SYS_write, to_, from, count);
      if (done <= 0) fail();
      from += done;
      count -= static_cast<std::size_t>(done);
    }
  }

  void look_at(std::uint64_t number, File& file) {
    struct stat facts {};
    if (::fstat(file.descriptor, &facts) != 0) fail();
    std::vector<char> now(static_cast<std::size_t>(facts.st_size));
    for (std::size_t at = 0; at < now.size();) {
      const long done =
          ::syscall(SYS_pread64, file.descriptor, now.data() + at, now.size() - at, at);
      if (done < 0) fail();
      if (done == 0) now.resize(at);
      at += static_cast<std::size_t>(done);
    }
    if (now.size() != file.known.size()) {
      call(Recorded::resize, number, 0, now.size(), nullptr, 0);
      file.known.resize(now.size());
    }
    const auto differs = [&](std::size_t at) {
      const std::size_t bytes = std::min(kSectorBytes, now.size() - at);
      return std::memcmp(now.data() + at, file.known.data() + at, bytes) != 0;
    };
    for (std::size_t at = 0; at < now.size(); at += kSectorBytes) {
      if (!differs(at)) continue;
      std::size_t end = at + kSectorBytes;
      while (end < now.size() && differs(end)) end += kSectorBytes;
      end = std::min(end, now.size());
      // Not what was there before: it may be on disk, and stays there.
      while (now[at] == file.known[at]) ++at;
      call(Recorded::write, number, at, now.size(), now.data() + at, end - at);
      at = end - 1 - (end - 1) % kSectorBytes;
    }
    file.known = std::move(now);
  }

  std::mutex mutex_;
  const std::string folder_;
  const int to_;
  std::map<std::uint64_t, File> files_;  // by the system's number
};

// Makes the call; calls note(recorder) when it has succeeded.
template <typename Call, typename Note>
auto recorded(Call&& call, Note&& note) {
  Recorder* const recorder = Recorder::get();
  if (recorder == nullptr) return call();
  const std::lock_guard lock(recorder->mutex());
  recorder->look();
  const auto result = call();
  const int error = errno;
  if (result >= 0) note(*recorder);
  recorder->look();
  errno = error;
  return result;
}

const auto nothing = [](Recorder&) {};

}  // namespace
}  // namespace nestline::test

using nestline::test::Recorded;
using nestline::test::recorded;
using nestline::test::Recorder;

extern "C" {

#pragma GCC visibility push(default)

void nestline_record_note(const char* text) {
  (void)recorded([] { return 0; }, [&](Recorder& r) { r.text(Recorded::note, 0, text); });
}

int open(const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  int descriptor = -1;
  return recorded(
      [&] {
        descriptor = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
        return descriptor;
      },
      [&](Recorder& r) {
        const std::string name = r.name_of(path);
        if (!name.empty()) r.opened(descriptor, name);
      });
}

ssize_t pwrite(int file, const void* from, size_t size, off_t offset) {
  return recorded([&] { return ::syscall(SYS_pwrite64, file, from, size, offset); },
                  nestline::test::nothing);
}

int ftruncate(int file, off_t size) noexcept {
  return recorded([&] { return static_cast<int>(::syscall(SYS_ftruncate, file, size)); },
                  nestline::test::nothing);
}

int fallocate(int file, int mode, off_t offset, off_t size) {
  return recorded(
      [&] { return static_cast<int>(::syscall(SYS_fallocate, file, mode, offset, size)); },
      nestline::test::nothing);
}

int fdatasync(int file) {
  return recorded([&] { return static_cast<int>(::syscall(SYS_fdatasync, file)); },
                  [&](Recorder& r) { r.synced(file); });
}

int fsync(int file) {
  return recorded([&] { return static_cast<int>(::syscall(SYS_fsync, file)); },
                  [&](Recorder& r) { r.synced(file); });
}

int rename(const char* from, const char* to) noexcept {
  return recorded(
      [&] { return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0)); },
      [&](Recorder& r) {
        const std::string name = r.name_of(from);
        if (!name.empty()) r.text(Recorded::rename, 0, name + '\n' + r.name_of(to));
      });
}

int unlink(const char* path) noexcept {
  return recorded([&] { return static_cast<int>(::syscall(SYS_unlinkat, AT_FDCWD, path, 0)); },
                  [&](Recorder& r) {
                    const std::string name = r.name_of(path);
                    if (!name.empty()) r.text(Recorded::remove, 0, name);
                  });
}

#pragma GCC visibility pop

}  // extern "C"
