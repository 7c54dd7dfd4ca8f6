// Linux, and other systems of POSIX.
#include "lib/system/posix.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <system_error>

#include "lib/system/system.h"

#if defined(__linux__) && defined(__aarch64__)
#include <sys/auxv.h>
#include <sys/prctl.h>
#endif

namespace nestline { inline namespace v0_3 {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t round_up(std::size_t size, std::size_t unit) { return (size + unit - 1) / unit * unit; }

}  // namespace

std::size_t page_bytes() noexcept {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

// Maps more than requested where the alignment needs it, and unmaps the excess.
void* zeroed_memory(std::size_t bytes, std::size_t alignment) noexcept {
  const std::size_t page = page_bytes();
  if (bytes <= page) {  // to map and unmap it would take longer than to write zeros
    const std::size_t size = round_up(std::max(bytes, alignment), alignment);
    void* const data = std::aligned_alloc(alignment, size);
    return data == nullptr ? nullptr : std::memset(data, 0, size);
  }
  const bool huge = bytes >= kHugePage;
  const std::size_t unit = std::max(alignment, huge ? kHugePage : page);
  if (bytes > std::numeric_limits<std::size_t>::max() / 2 - unit) return nullptr;
  const std::size_t size = round_up(bytes, page);
  const std::size_t slack = unit > page ? unit : 0;
  void* const mapping =
      ::mmap(nullptr, size + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(mapping);
  const std::size_t before = (unit - reinterpret_cast<std::uintptr_t>(mapping) % unit) % unit;
  std::byte* const data = begin + before;
  if (before != 0) ::munmap(begin, before);
  if (slack != before) ::munmap(data + size, slack - before);
#ifdef MADV_HUGEPAGE
  // Advice only: a refusal costs speed and nothing else.
  if (huge) (void)::madvise(data, bytes, MADV_HUGEPAGE);
#endif
  return data;
}

void free_zeroed(void* memory, std::size_t bytes) noexcept {
  if (bytes <= page_bytes()) return std::free(memory);
  ::munmap(memory, round_up(bytes, page_bytes()));
}

// Small pages are what does not fill a huge page.
void populate_zeroed([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef MADV_POPULATE_WRITE
  if (bytes <= page_bytes()) return;
  const std::size_t in_huge_pages = bytes / kHugePage * kHugePage;
  const std::size_t rest = round_up(bytes - in_huge_pages, page_bytes());
  if (rest == 0) return;
  (void)::madvise(static_cast<std::byte*>(memory) + in_huge_pages, rest, MADV_POPULATE_WRITE);
#endif
}

std::uint64_t near_cache_bytes() noexcept {
#ifdef _SC_LEVEL2_CACHE_SIZE  // musl, among others, does not tell
  return static_cast<std::uint64_t>(std::max(::sysconf(_SC_LEVEL2_CACHE_SIZE), 0L));
#else
  return 0;
#endif
}

ArmFeatures arm_features() noexcept {
#if defined(__linux__) && defined(__aarch64__)
  constexpr int kGetVectorLength = 51;
  return {::getauxval(AT_HWCAP), ::getauxval(AT_HWCAP2), ::prctl(kGetVectorLength)};
#else
  return {};
#endif
}

std::string name_of(const std::filesystem::path& path) { return path.string(); }

// Without O_NONBLOCK, opening a pipe would wait for a writer.
RegularFile::RegularFile(const std::filesystem::path& path) : name_(name_of(path)) {
  FileDescriptor file(path, O_RDONLY | O_NONBLOCK);
  if (!file.is_open()) fail(name_, errno);
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) fail(name_, errno);
  if (S_ISDIR(status.st_mode)) fail(name_, EISDIR);
  if (!S_ISREG(status.st_mode)) refuse_pipe(name_);
  size_ = static_cast<std::uint64_t>(status.st_size);
  handle_ = file.release();
}

RegularFile::~RegularFile() { ::close(static_cast<int>(handle_)); }

void RegularFile::read(std::uint64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const auto count = uninterrupted([&] {
      return ::pread(static_cast<int>(handle_), to.data(), to.size(), static_cast<::off_t>(offset));
    });
    if (count < 0) fail(name_, errno);
    if (count == 0) refuse_shorter(name_, offset);
    offset += static_cast<std::uint64_t>(count);
    to = to.subspan(static_cast<std::size_t>(count));
  }
}

std::span<std::byte> RegularFile::map() const {
  if (size_ > std::numeric_limits<std::size_t>::max()) fail(name_, EFBIG);
  const auto bytes = static_cast<std::size_t>(size_);
  void* const mapping = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, static_cast<int>(handle_), 0);
  if (mapping == MAP_FAILED) fail(name_, errno);
  // No advice, although access is random: the system reads 128 KiB around a missing page. After
  // MADV_RANDOM the first 262,144 lookups in a cold file of 256 MiB took 9.5 s instead of 0.5.
  return {static_cast<std::byte*>(mapping), bytes};
}

void unmap_file(std::span<std::byte> bytes) noexcept { ::munmap(bytes.data(), bytes.size()); }

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

// A new file that replaces `path` when it is complete, or is removed: a temporary file beside it,
// which takes the old one's name when it is on the disk.
class Replacement {
 public:
  // `old`: the file that is replaced, or null.
  Replacement(const fs::path& path, const struct stat* old)
      : name_(path.string()),
        target_(follow_links(path)),
        temporary_(target_.parent_path() / temporary_name()),
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
