// System calls as system_disk.cc makes them: with exceptions, and without interruptions. All of it
// is inline, and has no state but the count of descriptors that are kept or borrowed.
#ifndef NESTLINE_LIB_STORE_SYSTEM_CALLS_H_
#define NESTLINE_LIB_STORE_SYSTEM_CALLS_H_

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "lib/store/disk.h"
#include "lib/store/log_format.h"
#include "lib/system/posix.h"

namespace nestline { inline namespace v0_3 {

namespace fs = std::filesystem;

inline constexpr std::uint64_t kStep = std::uint64_t{4} << 10;      // files grow by at least this
inline constexpr std::uint64_t kPage = std::uint64_t{64} << 10;     // a multiple of all page sizes
inline constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;  // where windows begin

[[noreturn]] inline void refuse(const fs::path& path, int error = errno) {
  fail(path.string(), error);
}

inline std::uint64_t longest_file() {
  struct rlimit limit {};
  return ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY
             ? Disk::Room::kUnknown
             : limit.rlim_cur;
}

inline Disk::Room room_of(const struct statvfs& facts) {
  if (facts.f_blocks == 0) return {.file = longest_file()};  // it does not tell
  return {facts.f_bavail * facts.f_frsize, facts.f_blocks * facts.f_frsize, longest_file()};
}

// A name, too, may need room.
[[noreturn]] inline void refuse_name(const fs::path& path) {
  if (errno == ENOSPC || errno == EDQUOT) throw_no_room(path, kStep, errno);
  refuse(path);
}

class OpenFile : public FileDescriptor {
 public:
  OpenFile(const fs::path& path, int flags) : FileDescriptor(path, flags, 0666) {
    if (!is_open()) refuse_name(path);
  }
};

// One of the descriptors that this process keeps or borrows for reading ahead, if at most 1 /
// `part` of the limit is taken, so that the program has the rest; else null.
inline std::shared_ptr<const void> take_share(std::uint64_t part) {
  static std::atomic<std::uint64_t> taken{0};
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return nullptr;
  ++taken;
  const std::shared_ptr<const void> share(&taken, [](auto* count) { --*count; });
  return taken <= limit.rlim_cur / part ? share : nullptr;
}
inline constexpr std::uint64_t kKeptPart = 4;
inline constexpr std::uint64_t kBorrowedPart = 2;

struct Unmap {
  void operator()(std::byte* data) const { ::munmap(data, bytes); }
  std::size_t bytes = 0;
};
using Mapping = std::unique_ptr<std::byte, Unmap>;

// A mapping that begins at a multiple of kHugePage; null when it could not be made. `offset` must
// be a multiple of kPage; the file may end before the mapping does.
inline Mapping map_file(int file, std::uint64_t offset, std::uint64_t size, int rights) {
  const auto bytes = static_cast<std::size_t>(size);
  const std::size_t reserved = static_cast<std::size_t>(round_up(size, kPage)) + kHugePage;
  void* const room = ::mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return {};
  auto* const begin = static_cast<std::byte*>(room);
  const auto number = reinterpret_cast<std::uintptr_t>(room);
  std::byte* const data = begin + (round_up(number, kHugePage) - number);
  if (::mmap(data, bytes, rights, MAP_SHARED | MAP_FIXED, file, static_cast<::off_t>(offset)) ==
      MAP_FAILED) {
    ::munmap(begin, reserved);
    return {};
  }
  // The rest goes: the system bounds how many mappings a process has.
  std::byte* const end = data + round_up(size, static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
  if (data != begin) ::munmap(begin, static_cast<std::size_t>(data - begin));
  ::munmap(end, static_cast<std::size_t>(begin + reserved - end));
  return {data, Unmap{static_cast<std::size_t>(end - data)}};
}

// Only speed depends on it.
inline void advise(const Mapping& mapping, int advice) {
  (void)::madvise(mapping.get(), mapping.get_deleter().bytes, advice);
}

// Whether most of the first `size` bytes are in memory, as far as a few of them show.
inline bool is_in_memory(const Mapping& mapping, std::uint64_t size) {
  constexpr std::uint64_t kSamples = 64;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::uint64_t there = 0;
  for (std::uint64_t i = 0; i < kSamples; ++i) {
    unsigned char found = 0;
    std::byte* const at = mapping.get() + size / kSamples * i / page * page;
    if (::mincore(at, page, &found) != 0) return false;
    there += found & 1U;
  }
  return there >= kSamples / 8 * 7;
}

}}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_SYSTEM_CALLS_H_
