// The new content goes into a temporary file beside the old one. The temporary file takes the old
// one's name when it is complete and on the disk.
#include "lib/filters/file/replacement.h"

#include <sys/stat.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "lib/filters/file/sources.h"

namespace nestline { inline namespace v0_3 {
namespace {

namespace fs = std::filesystem;

void write_all(const FileDescriptor& file, std::span<const std::byte> bytes,
               const std::string& name) {
  while (!bytes.empty()) {
    const auto count =
        uninterrupted([&] { return ::write(file.number(), bytes.data(), bytes.size()); });
    if (count <= 0) fail(name, count < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

// False on an error. It is no error that some file systems cannot sync.
bool sync(const FileDescriptor& file) { return ::fsync(file.number()) == 0 || errno == EINVAL; }

// The file that `path` refers to through symbolic links, whether it exists or not.
fs::path follow_links(fs::path path) {
  constexpr int kMaxLinks = 40;  // as many as the system follows
  for (int i = 0; fs::is_symlink(fs::symlink_status(path)); ++i) {
    if (i == kMaxLinks) fail(path, ELOOP);
    path = path.parent_path() / fs::read_symlink(path);  // an absolute link replaces the folder
  }
  return path;
}

FileDescriptor folder_of(const fs::path& file) {
  const fs::path folder = file.parent_path();
  return FileDescriptor(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY);
}

// A new file that replaces `path` when it is complete, or is removed.
class Replacement {
 public:
  // `old`: the file that is replaced, or null.
  Replacement(const fs::path& path, const struct stat* old)
      : name_(path.string()),
        target_(follow_links(path)),
        temporary_(target_.parent_path() / unused_name()),
        // No other user may read what replaces a private file, not even for a moment.
        file_(temporary_, O_WRONLY | O_CREAT | O_EXCL, old == nullptr ? 0666 : 0600) {
    if (!file_.is_open()) fail(name_, errno);
    if (old == nullptr) return;
    if (const int error = copy_access(*old); error != 0) {
      remove();
      fail(name_, error);
    }
  }
  ~Replacement() { remove(); }
  Replacement& operator=(Replacement&&) = delete;

  void write(std::span<const std::byte> bytes) { write_all(file_, bytes, name_); }

  void commit() {
    if (!sync(file_) || !file_.close()) fail(name_, errno);
    std::error_code error;
    fs::rename(temporary_, target_, error);
    if (error) fail(name_, error.value());
    temporary_.clear();
    // The new name survives a crash once its folder is on the disk too. A folder that is writable
    // but not readable cannot be synced.
    const FileDescriptor directory = folder_of(target_);
    if (directory.is_open() && !sync(directory)) fail(name_, errno);
  }

 private:
  // Short, since the file's own name may be as long as names can be; and hard to guess.
  static std::string unused_name() {
    constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuv";
    std::random_device random;
    std::string name = ".nestline-";
    for (int i = 0; i < 16; ++i) name += kDigits[random() % kDigits.size()];
    return name + ".tmp";
  }

  // Gives the new file the owner, group and mode of the old one. If the group cannot be set, the
  // file's group gets no more than others have. Returns an error number or 0.
  [[nodiscard]] int copy_access(const struct stat& old) const {
    ::mode_t mode = old.st_mode & 0777;
    if (::fchown(file_.number(), old.st_uid, old.st_gid) != 0 &&
        ::fchown(file_.number(), static_cast<::uid_t>(-1), old.st_gid) != 0) {
      mode &= ~static_cast<::mode_t>(S_IRWXG) | (mode & S_IRWXO) << 3;
    }
    return ::fchmod(file_.number(), mode) == 0 ? 0 : errno;
  }

  void remove() noexcept {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }

  std::string name_;    // what the caller calls it
  fs::path target_;     // what is replaced
  fs::path temporary_;  // empty once it is gone
  FileDescriptor file_;
};

}  // namespace

void replace_file(const fs::path& path, const std::function<void(const ByteSink& sink)>& produce) {
  const std::string name = path.string();
  struct stat old {};
  const bool exists = ::stat(path.c_str(), &old) == 0;
  if (!exists && (errno != ENOENT || !path.has_filename())) fail(name, errno);
  if (exists && S_ISDIR(old.st_mode)) fail(name, EISDIR);
  if (exists && !S_ISREG(old.st_mode)) {
    // A pipe or a device, as /dev/stdout may be, is not replaced: the bytes go straight to it.
    FileDescriptor file(path, O_WRONLY);
    if (!file.is_open()) fail(name, errno);
    produce([&](std::span<const std::byte> bytes) { write_all(file, bytes, name); });
    if (!file.close()) fail(name, errno);
    return;
  }
  // A write-protected file is not replaced either, although its folder would allow it.
  if (exists && ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) fail(name, errno);
  Replacement replacement(path, exists ? &old : nullptr);
  produce([&](std::span<const std::byte> bytes) { replacement.write(bytes); });
  replacement.commit();
}

bool remove_saved(const fs::path& path) {
  const std::string name = path.string();
  const fs::path target = follow_links(path);
  const bool removed = ::unlink(target.c_str()) == 0;
  if (!removed && errno != ENOENT) fail(name, errno);
  // Also where there is no file: an earlier call may have removed it and failed to sync.
  const FileDescriptor directory = folder_of(target);
  if (!directory.is_open() && !removed && errno == ENOENT) return false;
  if (!directory.is_open() || !sync(directory)) fail(name, errno);
  return removed;
}

}}  // namespace nestline
