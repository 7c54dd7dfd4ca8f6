// What the store needs of the system: a folder and its files (system_disk.cc; simulated in tests).
//
// What a disk promises after a crash of the machine:
//   D1  What was written to a file, or cut, before a sync() of it that returned is so. Each later
//       write may be there, be missing, or be torn, in any combination.
//   D2  A file that was created, renamed or removed before a sync_folder() that returned is there,
//       has its name, or is gone. Of later changes of names each may have happened or not.
//   D3  A sync that failed promises nothing of what had been written before, and neither do later
//       ones: reads may still find it, and a loss of power drops it. What is written later is
//       written by later syncs. A sync of the folder that failed makes later ones worthless.
// After a crash of the process alone, everything is there that was written before. Functions throw
// std::system_error that names the file. Interrupted and short calls are repeated.
#ifndef NESTLINE_LIB_STORE_DISK_H_
#define NESTLINE_LIB_STORE_DISK_H_

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "nestline/store.h"

namespace nestline { inline namespace v0_3 {

// A file that was to be written has another name (a hard link). `name`: its name here.
struct LinkedFile : StoreError {
  LinkedFile(const std::string& what, std::string_view file) : StoreError(what), name(file) {}
  std::string name;
};

class DiskFile {
 public:
  virtual ~DiskFile() = default;
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  // Reads at `offset`; fewer bytes than `to` has only at the end of the file.
  virtual std::size_t read(std::uint64_t offset, std::span<std::byte> to) const = 0;
  // Writes at `offset`. The file becomes longer as it must, and may become longer than that: what
  // follows the last byte written reads as zeros. When it throws, nothing or a part was written.
  virtual void write(std::uint64_t offset, std::span<const std::byte> from) = 0;

  // Memory to which what write() would get can be written instead; null if it must be write().
  // Good until the next call that changes the file. Throws as write() does.
  virtual std::byte* room_at(std::uint64_t /*offset*/, std::uint64_t /*bytes*/) { return nullptr; }

  // Reserves the first `bytes` on the disk, if that can be done before. Throws as write() does.
  virtual void reserve(std::uint64_t /*bytes*/) {}
  virtual void truncate(std::uint64_t size) = 0;  // or lengthens it with zeros
  virtual void sync() = 0;                        // D1
  // Memory that shows the first `bytes` of the file, also what is written later; nothing behind its
  // end may be read. The address stays the same until the file is closed; called once.
  virtual const std::byte* map(std::uint64_t bytes) = 0;

  // Brings what will be written from `begin` up to `end` into memory, as far as the file is that
  // long, so that write() need not wait for it. For every thread at any time after map().
  virtual void prefault(std::uint64_t /*begin*/, std::uint64_t /*end*/) const noexcept {}

  // For a file that is on disk and not written any more: only its first `bytes` count from now on.
  // It keeps its map, and may give up its descriptor; sync() does nothing then.
  virtual void release(std::uint64_t /*bytes*/) {}
  virtual void set_name(std::string_view /*name*/) {}  // the file has been renamed
  // To read past the map: good while it is held and the file exists; null: none. For every thread.
  [[nodiscard]] virtual std::shared_ptr<const int> descriptor() const { return nullptr; }
};

class Disk {
 public:
  virtual ~Disk() = default;
  [[nodiscard]] virtual std::vector<std::string> names() const = 0;  // in no particular order

  enum class Mode : std::uint8_t { read, write, create };  // create: it must not exist
  // What is opened here to write is locked, until the last of its objects is gone or released: no
  // other Disk opens it to write, by whatever name. Throws StoreError if another has done so, and
  // for `write` LinkedFile if the file has several names.
  virtual std::unique_ptr<DiskFile> open(std::string_view name, Mode mode) = 0;
  // Replaces a file that has the new name already.
  virtual void rename(std::string_view from, std::string_view to) = 0;
  virtual void remove(std::string_view name) = 0;
  // Gives a file of another folder the same name here too (a hard link), in place of what has it
  // here. False: that cannot be done, and nothing has changed.
  virtual bool link_from(const Disk& /*other*/, std::string_view /*name*/) { return false; }
  virtual void sync_folder() = 0;  // D2

  [[nodiscard]] bool has(std::string_view name) const {
    const std::vector<std::string> all = names();
    return std::ranges::find(all, name) != all.end();
  }
  // False: it is not there. Another thread may remove it, too.
  bool remove_if_there(std::string_view name) {
    try {
      remove(name);
      return true;
    } catch (const std::system_error& error) {
      if (error.code() != std::errc::no_such_file_or_directory) throw;
      return false;
    }
  }

  // The same where nothing depends on it; false: the disk refuses.
  bool try_to_remove(std::string_view name) {
    try {
      remove_if_there(name);
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  // The file system's bytes for this process, as far as known: free, in all, and a file's most.
  struct Room {
    static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
    std::uint64_t free = kUnknown;
    std::uint64_t total = kUnknown;
    std::uint64_t file = kUnknown;
  };
  [[nodiscard]] virtual Room room() const { return {}; }

  // The right to write here, until the object or the process dies; null if it is taken.
  class Lock {
   public:
    virtual ~Lock() = default;
  };
  virtual std::unique_ptr<Lock> lock() = 0;
  // The first line of the file `lock` while this process has it; empty if the disk writes none.
  [[nodiscard]] virtual std::string this_holder() const { return {}; }
  // For error messages.
  [[nodiscard]] virtual std::filesystem::path path_of(std::string_view name) const = 0;
};

// Whether the system refuses for want of room: of the disk, of a quota, or of a file.
inline bool is_no_room(const std::system_error& error) {
  return error.code() == std::errc::no_space_on_device ||
         error.code() == std::errc::file_too_large ||
         error.code() == std::error_code(EDQUOT, std::generic_category());
}
// Throws that error: so many bytes more are needed. `reason` goes on behind that.
[[noreturn]] void throw_no_room(const std::filesystem::path& path, std::uint64_t bytes,
                                int error = ENOSPC, const std::string& reason = {});
// The real one. `create`: whether to make the folder if it is missing (and to sync its parent).
std::unique_ptr<Disk> open_system_disk(const std::filesystem::path& folder, bool create);

}}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_DISK_H_
