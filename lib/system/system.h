// What the library asks of a system: memory, files, and what it knows of the processor. Each system
// has one source with all of it, such as posix.cc; what is the same everywhere is in system.cc.
// (The store is for Linux alone and asks by itself.)
#ifndef NESTLINE_LIB_SYSTEM_SYSTEM_H_
#define NESTLINE_LIB_SYSTEM_SYSTEM_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

#include "nestline/io.h"

namespace nestline { inline namespace v0_3 {

// The unit in which the system gives memory.
std::size_t page_bytes() noexcept;
// Memory that is all 0, as mapped_memory in memory.h documents it; null if the system refuses.
void* zeroed_memory(std::size_t bytes, std::size_t alignment) noexcept;
void free_zeroed(void* memory, std::size_t bytes) noexcept;
// A hint: asks for all pages of zeroed memory at once where a fault for each one takes long, that
// is, for small pages.
void populate_zeroed(void* memory, std::size_t bytes) noexcept;

// Of the second level, for one core; 0 if the system does not tell.
std::uint64_t near_cache_bytes() noexcept;
// What Linux reports of a processor of arm64: AT_HWCAP, AT_HWCAP2, and what prctl says of the
// length of vectors, negative for nothing. Elsewhere nothing.
struct ArmFeatures {
  std::uint64_t one = 0, two = 0;
  int vectors = -1;
};
ArmFeatures arm_features() noexcept;

// How errors name a file.
std::string name_of(const std::filesystem::path& path);

// A regular file, open for reading. It is read by calls, not through a mapping: a file that is
// written to or truncated meanwhile fails the checks, but cannot end the program.
class RegularFile {
 public:
  // Throws std::system_error; FormatError if it is not a regular file.
  explicit RegularFile(const std::filesystem::path& path);
  ~RegularFile();
  RegularFile& operator=(RegularFile&&) = delete;
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  // Throws std::system_error; FormatError where the file ends too early.
  void read(std::uint64_t offset, std::span<std::byte> to) const;
  // All bytes, at least one, read-only, until unmap_file(); the file may be closed before. Throws
  // std::system_error.
  [[nodiscard]] std::span<std::byte> map() const;

 private:
  std::string name_;
  std::uint64_t size_ = 0;
  [[maybe_unused]] std::intptr_t handle_ = -1;
};

void unmap_file(std::span<std::byte> bytes) noexcept;

// Calls produce(sink), which passes the content to the sink piece by piece, and puts it at `path`
// as Output promises. When produce throws, the old file stays. Throws std::system_error.
void replace_file(const std::filesystem::path& path,
                  const std::function<void(const ByteSink& sink)>& produce);
// And remove_saved() of io.h is here too.

// For the sources of systems.
// Of a new file beside the one that it replaces: short, since that one's own name may be as long as
// names can be; and hard to guess.
std::string temporary_name();
[[noreturn]] void refuse_pipe(const std::string& name);
[[noreturn]] void refuse_shorter(const std::string& name, std::uint64_t offset);

}}  // namespace nestline

#endif  // NESTLINE_LIB_SYSTEM_SYSTEM_H_
