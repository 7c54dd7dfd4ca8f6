// The disk of the operating system.
//
// A file of the log is written through memory: a window is mapped for writing, and the file
// lengthened ahead, so that most writes are a copy and no system call. fallocate() reserves the
// room, so that a full disk is an error and no signal; pwrite() writes without it, large pieces and
// unmapped files. Only a small part of what is free is taken ahead, since erases, compaction and
// others need room. Nothing is written behind RLIMIT_FSIZE, where the system would send a signal.
//
// A released file (DiskFile::release) has its map and no descriptor, so the limit of those does not
// bound the number of files. The first that are mapped, a quarter of the limit in the whole
// process, keep theirs, for reading ahead; others are opened by name. It may be gone then, or
// another's; the map keeps the file's identity from being given again, so a comparison shows it.
//
// A file that is written is locked itself too: the lock of the folder does not cover other names of
// it (hard links), and somebody may remove the file `lock`. By flock(), as the folder: it belongs
// to the open file. A lock of fcntl() would end when any descriptor of the file is closed, and
// reading ahead closes some. Maps and children keep an open file that is closed here, so the lock
// is ended by a call.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "lib/store/system_calls.h"
#include "nestline/store.h"

namespace nestline { inline namespace v0_3 {
namespace {

constexpr std::uint64_t kMinAhead = std::uint64_t{64} << 10;
constexpr std::uint64_t kMaxAhead = std::uint64_t{16} << 20;
constexpr std::uint64_t kWindowBytes = kMaxAhead;
constexpr std::uint64_t kLargePiece = std::uint64_t{256} << 10;

using HugeBytes = std::shared_ptr<std::atomic<std::uint64_t>>;  // by huge pages, of a disk

struct stat look_at(const fs::path& path, const OpenFile& file) {
  struct stat facts {};
  if (::fstat(file.number(), &facts) != 0) refuse(path);
  return facts;
}

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

void unlock(const OpenFile& file) { (void)::flock(file.number(), LOCK_UN); }

// False: another open file has the lock.
bool try_lock(const fs::path& path, const OpenFile& file) {
  if (uninterrupted([&] { return ::flock(file.number(), LOCK_EX | LOCK_NB); }) == 0) return true;
  if (errno != EWOULDBLOCK) refuse(path);
  return false;
}

class SystemFile final : public DiskFile {
 public:
  SystemFile(fs::path path, std::shared_ptr<const OpenFile> file, bool writable, HugeBytes huge)
      : path_(std::move(path)),
        file_(std::move(file)),
        writable_(writable),
        huge_(std::move(huge)) {}
  ~SystemFile() override { huge_->fetch_sub(own_huge_); }

  [[nodiscard]] std::uint64_t size() const override {
    const Held held = hold();
    return held.file == nullptr ? held.bytes : size_of(look_at(path_, *held.file));
  }

  std::size_t read(std::uint64_t offset, std::span<std::byte> to) const override {
    Held held = hold();
    if (held.file == nullptr) {
      to = to.first(std::min<std::uint64_t>(to.size(), held.bytes - std::min(held.bytes, offset)));
      bool is_gone = false;
      held.file = borrow(is_gone);
      // Another process may cut a file that has its name, and memory behind its end is a signal.
      if (held.file == nullptr && !is_gone) refuse(path_, EMFILE);
      if (held.file == nullptr) {
        if (!to.empty()) std::memcpy(to.data(), view_.get() + offset, to.size());
        return to.size();
      }
    }
    std::size_t done = 0;
    while (done < to.size()) {
      const auto count = uninterrupted([&] {
        return ::pread(held.file->number(), to.data() + done, to.size() - done,
                       static_cast<::off_t>(offset + done));
      });
      if (count < 0) refuse(path_);
      if (count == 0) break;
      done += static_cast<std::size_t>(count);
    }
    return done;
  }

  void write(std::uint64_t offset, std::span<const std::byte> from) override {
    if (from.empty()) return;
    require_length(offset + from.size());
    if (std::byte* const to = room_at(offset, from.size())) {
      std::memcpy(to, from.data(), from.size());
      return;
    }
    while (!from.empty()) {
      const auto count = uninterrupted([&] {
        return ::pwrite(file_->number(), from.data(), from.size(), static_cast<::off_t>(offset));
      });
      if (count <= 0) fail_write(from.size(), count < 0 ? errno : EIO);
      offset += static_cast<std::uint64_t>(count);
      from = from.subspan(static_cast<std::size_t>(count));
    }
    room_ = std::max(room_, offset);
  }

  std::byte* room_at(std::uint64_t offset, std::uint64_t size) override {
    const std::uint64_t end = offset + size;
    if (end > most_ || size >= kLargePiece) return nullptr;
    if (offset < window_begin_ || end > window_begin_ + kWindowBytes || window_.get() == nullptr) {
      window_begin_ = offset / kHugePage * kHugePage;
      window_.reset();
      window_ = map_file(file_->number(), window_begin_, kWindowBytes, PROT_READ | PROT_WRITE);
      if (window_.get() == nullptr) return nullptr;
      advise(window_, MADV_HUGEPAGE);
    }
    if (end > room_ && !lengthen(end, std::clamp(room_, kMinAhead, kMaxAhead))) return nullptr;
    return window_.get() + (offset - window_begin_);
  }

  void reserve(std::uint64_t bytes) override {
    if (bytes > room_ && bytes <= most_) (void)lengthen(bytes, 0);
  }

  void truncate(std::uint64_t size) override {
    if (uninterrupted([&] { return ::ftruncate(file_->number(), static_cast<::off_t>(size)); }) !=
        0) {
      refuse(path_);
    }
    room_ = size;
  }

  void sync() override {
    const Held held = hold();
    if (held.file == nullptr) return;
    if (uninterrupted([&] { return ::fdatasync(held.file->number()); }) != 0) refuse(path_);
  }

  // Pages that have no content yet are filled with zeros, which takes a writer longer than to write
  // them. Not populated for writing: what is dirty would be written by the next sync.
  void prefault(std::uint64_t begin, std::uint64_t end) const noexcept override {
    if (own_huge_ == 0) return;  // its pages are read one by one
    begin = round_up(begin, kHugePage);
    end = std::min<std::uint64_t>(round_up(end, kHugePage), view_.get_deleter().bytes);
    for (; begin < end; begin += kHugePage) {
      const std::size_t bytes = std::min(kHugePage, end - begin);
      if (::madvise(view_.get() + begin, bytes, MADV_POPULATE_READ) != 0) return;
    }
  }

  void release(std::uint64_t bytes) override {
    window_.reset();
    if (writable_ && file_ != nullptr) unlock(*file_);
    if (view_.get() == nullptr || share_ != nullptr) return;
    std::shared_ptr<const OpenFile> last;  // closed when the mutex is free
    const std::lock_guard lock(mutex_);
    released_bytes_ = bytes;
    last.swap(file_);
  }

  void set_name(std::string_view name) override { path_.replace_filename(name); }

  const std::byte* map(std::uint64_t bytes) override {
    if (bytes == 0) return nullptr;
    view_ = map_file(file_->number(), 0, bytes, PROT_READ);
    if (view_.get() == nullptr) refuse(path_);
    facts_ = look_at(path_, *file_);
    share_ = take_share(kKeptPart);
    if (share_ != nullptr) kept_ = file_->number();
    const std::uint64_t now = size_of(facts_);
    if (writable_) {
      room_ = now;
      most_ = bytes;
    }
    const bool is_warm = now == 0 || is_in_memory(view_, std::min(now, bytes));
    if (is_warm && huge_->fetch_add(bytes) + bytes <= most_huge()) {
      own_huge_ = bytes;
      advise(view_, MADV_HUGEPAGE);
    } else {
      if (is_warm) huge_->fetch_sub(bytes);
      advise(view_, MADV_RANDOM);
    }
    return view_.get();
  }

  [[nodiscard]] std::shared_ptr<const int> descriptor() const override {
    if (kept_ >= 0) return {std::shared_ptr<const int>(), &kept_};  // owns nothing, counts nothing
    bool is_gone = false;
    std::shared_ptr<const OpenFile> file = borrow(is_gone);
    if (file == nullptr) return nullptr;
    const int* const number = &file->number();
    return {std::move(file), number};
  }

 private:
  // The descriptor of a file that is not released; else null, and how many bytes count.
  struct Held {
    std::shared_ptr<const OpenFile> file;
    std::uint64_t bytes;
  };
  [[nodiscard]] Held hold() const {
    const std::lock_guard lock(mutex_);
    return {file_, released_bytes_};
  }

  // A descriptor of the mapped file for a moment; null: none to be had, or `is_gone`: no name.
  [[nodiscard]] std::shared_ptr<const OpenFile> borrow(bool& is_gone) const {
    struct Borrowed {
      std::shared_ptr<const void> share;
      std::optional<OpenFile> file;
    };
    try {
      const auto borrowed = std::make_shared<Borrowed>();
      borrowed->share = take_share(kBorrowedPart);
      if (borrowed->share == nullptr) return nullptr;
      const OpenFile& file = borrowed->file.emplace(path_, O_RDONLY);
      is_gone = !is_same(look_at(path_, file), facts_);
      if (is_gone) return nullptr;
      return {borrowed, &file};
    } catch (const std::system_error& error) {
      is_gone = error.code() == std::errc::no_such_file_or_directory;
    } catch (const std::bad_alloc&) {  // as without a descriptor
    }
    return nullptr;
  }

  [[nodiscard]] std::uint64_t size_of(const struct stat& facts) const {
    if (!S_ISREG(facts.st_mode)) refuse(path_, S_ISDIR(facts.st_mode) ? EISDIR : EINVAL);
    return static_cast<std::uint64_t>(facts.st_size);
  }

  void require_length(std::uint64_t end) const {
    if (end > longest_) throw_no_room(path_, end - longest_, EFBIG);
  }

  [[noreturn]] void fail_write(std::uint64_t bytes, int error) const {
    if (error == ENOSPC || error == EDQUOT || error == EFBIG) throw_no_room(path_, bytes, error);
    refuse(path_, error);
  }

  // Reserves room up to `end`, and so much ahead if the disk has it. False: it cannot be done. A
  // call that finds no room may be slow, since some file systems allocate first. So each asks for
  // half as much, down to the end of a step: few such calls fill a disk to its end.
  bool lengthen(std::uint64_t end, std::uint64_t ahead) {
    constexpr std::uint64_t kPartOfFree = 8;
    require_length(end);
    const std::uint64_t step_end = round_up(end, kStep);
    ahead = std::min(ahead, 2 * ahead_);
    struct statvfs facts {};
    if (ahead != 0 && ::fstatvfs(file_->number(), &facts) == 0) {
      ahead = std::min(ahead, room_of(facts).free / kPartOfFree);
    }
    while (true) {
      const std::uint64_t to =
          ahead < kStep ? end : std::min({step_end + ahead - kStep, most_, longest_});
      const int result = uninterrupted([&] {
        return ::fallocate(file_->number(), 0, static_cast<::off_t>(room_),
                           static_cast<::off_t>(to - room_));
      });
      if (result == 0) {
        room_ = to;
        ahead_ = std::max(ahead, kStep / 2);
        return true;
      }
      if (errno != ENOSPC && errno != EDQUOT && errno != EFBIG) break;
      if (ahead < kStep) break;
      ahead /= 2;
    }
    const int error = errno;
    if (error != EOPNOTSUPP && error != ENOSYS && error != EINVAL) {
      // Some file systems keep what they had found.
      (void)!::ftruncate(file_->number(), static_cast<::off_t>(room_));
      fail_write(end - room_, error);
    }
    most_ = 0;
    return false;
  }

  static std::uint64_t most_huge() {
    return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
           static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) / 2;
  }

  fs::path path_;
  mutable std::mutex mutex_;  // of the next two, which release() changes
  std::shared_ptr<const OpenFile> file_;
  std::uint64_t released_bytes_ = 0;
  std::shared_ptr<const void> share_;
  int kept_ = -1;         // the number of file_, if that stays open
  struct stat facts_ {};  // of the mapped file
  const bool writable_;
  const HugeBytes huge_;
  std::uint64_t own_huge_ = 0;
  std::uint64_t room_ = 0;           // up to where the file has its room on the disk
  std::uint64_t most_ = 0;           // up to where it is written through the window
  std::uint64_t ahead_ = kMaxAhead;  // what the last lengthening took ahead
  const std::uint64_t longest_ = longest_file();
  Mapping view_;
  Mapping window_;
  std::uint64_t window_begin_ = 0;
};

class SystemDisk final : public Disk {
 public:
  explicit SystemDisk(fs::path folder) : folder_(std::move(folder)) {}

  [[nodiscard]] std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  std::unique_ptr<DiskFile> open(std::string_view name, Mode mode) override {
    const fs::path path = path_of(name);
    const bool writes = mode != Mode::read;
    auto file = writes ? open_to_write(path, mode == Mode::create)
                       : std::make_shared<const OpenFile>(path, O_RDONLY);
    return std::make_unique<SystemFile>(path, std::move(file), writes, huge_);
  }

  void rename(std::string_view from, std::string_view to) override {
    if (::rename(path_of(from).c_str(), path_of(to).c_str()) != 0) refuse_name(path_of(from));
  }

  void remove(std::string_view name) override {
    if (::unlink(path_of(name).c_str()) != 0) refuse(path_of(name));
  }

  bool link_from(const Disk& other, std::string_view name) override {
    const std::string made = std::string(name) + std::string(kNewEnding);
    const fs::path from = other.path_of(name);
    while (::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, path_of(made).c_str(), AT_SYMLINK_FOLLOW) !=
           0) {
      // Linux says so too where the file loses its name to another at that moment.
      const auto is_there = [](const auto& path) { return ::access(path.c_str(), F_OK) == 0; };
      if (errno != ENOENT || !is_there(from) || !is_there(folder_)) return false;
    }
    rename(made, name);
    try_to_remove(made);  // renaming does nothing where both are one file already
    return true;
  }

  void sync_folder() override {
    const std::lock_guard lock(mutex_);
    if (!open_folder_) open_folder_.emplace(folder_, O_RDONLY | O_DIRECTORY);
    // Some file systems cannot, and need not.
    if (uninterrupted([&] { return ::fsync(open_folder_->number()); }) != 0 && errno != EINVAL) {
      refuse(folder_);
    }
  }

  std::unique_ptr<Lock> lock() override {
    auto lock = std::make_unique<FileLock>(path_of("lock"));
    if (!try_lock(path_of("lock"), lock->file)) return nullptr;
    const int file = lock->file.number();
    // For the process that is refused: the number of this process. The lock does not need it.
    const std::string process = this_holder() + '\n';
    if (process.size() > longest_file()) return lock;
    if (::ftruncate(file, 0) == 0) (void)!::pwrite(file, process.data(), process.size(), 0);
    return lock;
  }

  [[nodiscard]] std::string this_holder() const override { return std::to_string(::getpid()); }

  [[nodiscard]] Room room() const override {
    struct statvfs facts {};
    return ::statvfs(folder_.c_str(), &facts) == 0 ? room_of(facts) : Room{};
  }

  [[nodiscard]] fs::path path_of(std::string_view name) const override { return folder_ / name; }

 private:
  // A lock of the open file: two of one process exclude each other too.
  struct FileLock final : Lock {
    explicit FileLock(const fs::path& path) : file(path, O_RDWR | O_CREAT) {}
    OpenFile file;
  };

  // With the lock of the file. What this disk has open of it to write shares one open file.
  std::shared_ptr<const OpenFile> open_to_write(const fs::path& path, bool create) {
    std::shared_ptr<const OpenFile> file(
        new OpenFile(path, create ? O_RDWR | O_CREAT | O_EXCL : O_RDWR), [](const OpenFile* last) {
          unlock(*last);
          delete last;
        });
    const struct stat facts = look_at(path, *file);
    if (!create && facts.st_nlink > 1) {
      throw LinkedFile(path.string() +
                           ": the file has another name (a hard link), and what is written here "
                           "would be there too; while nobody writes, put a copy in its place (cp "
                           "FILE copy; mv copy FILE), or open the store read_only",
                       path.filename().string());
    }
    const std::lock_guard lock(writing_);
    std::erase_if(written_, [](const auto& weak) { return weak.expired(); });
    const auto same = std::ranges::find_if(written_, [&](const auto& weak) {
      const auto other = weak.lock();
      return other != nullptr && is_same(look_at(path, *other), facts);
    });
    if (same == written_.end()) {
      written_.push_back(file);
    } else if (auto other = same->lock()) {
      file = std::move(other);
    }
    if (try_lock(path, *file)) return file;
    throw StoreBusy(path.string() +
                    ": a process has the file open for writing, by another name (a hard link) or "
                    "though the file lock was removed; wait for it or end it, or open the store "
                    "read_only");
  }

  fs::path folder_;
  std::mutex mutex_;  // of the next
  std::optional<OpenFile> open_folder_;
  std::mutex writing_;  // of the next
  std::vector<std::weak_ptr<const OpenFile>> written_;
  const HugeBytes huge_ = std::make_shared<std::atomic<std::uint64_t>>(0);
};

}  // namespace

void throw_no_room(const fs::path& path, std::uint64_t bytes, int error,
                   const std::string& reason) {
  const std::string needed = std::to_string(bytes) + " bytes more are needed" + reason;
  const std::string advice =
      error == EFBIG ? needed + " than a file may have; raise that limit (ulimit -f)"
                     : (error == EDQUOT ? "the quota is used up: " : "the disk is full: ") +
                           needed + "; free room there, or erase keys and compact the store";
  throw std::system_error(error, std::generic_category(), path.string() + ": " + advice);
}

std::unique_ptr<Disk> open_system_disk(const fs::path& folder, bool create) {
  const bool is_made = create && ::mkdir(folder.c_str(), 0777) == 0;
  if (create && !is_made && errno != EEXIST) refuse(folder);
  struct stat facts {};
  if (::stat(folder.c_str(), &facts) != 0) refuse(folder);
  if (!S_ISDIR(facts.st_mode)) refuse(folder, ENOTDIR);
  auto disk = std::make_unique<SystemDisk>(folder);
  // Also when a process has made it that was killed before this.
  if (create && segment_numbers(disk->names()).empty()) {
    const fs::path above = fs::absolute(folder).lexically_normal().parent_path();
    try {
      SystemDisk(folder.has_filename() ? above : above.parent_path()).sync_folder();
    } catch (const std::system_error& error) {
      // It may be another user's, which this process cannot read.
      if (is_made || error.code() != std::errc::permission_denied) throw;
    }
  }
  return disk;
}

}}  // namespace nestline
