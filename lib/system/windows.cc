// Windows.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "lib/system/system.h"

#define NOMINMAX 1
#define WIN32_LEAN_AND_MEAN
#include <malloc.h>
#include <windows.h>

namespace nestline { inline namespace v0_3 {

namespace fs = std::filesystem;

std::size_t page_bytes() noexcept {
  static const std::size_t bytes = [] {
    SYSTEM_INFO info;
    ::GetSystemInfo(&info);
    return info.dwPageSize;
  }();
  return bytes;
}

// In small pages: large ones are for processes with a privilege that few have.
void* zeroed_memory(std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes <= page_bytes()) {
    const std::size_t size = std::max(bytes, alignment);
    void* const data = ::_aligned_malloc(size, alignment);
    return data == nullptr ? nullptr : std::memset(data, 0, size);
  }
  if (bytes > std::numeric_limits<std::size_t>::max() / 2 - alignment) return nullptr;
  std::size_t room = bytes + alignment;
  void* const begin = ::VirtualAlloc(nullptr, room, MEM_RESERVE, PAGE_READWRITE);
  void* data = begin;
  if (begin == nullptr || std::align(alignment, bytes, data, room) == nullptr) return nullptr;
  if (::VirtualAlloc(data, bytes, MEM_COMMIT, PAGE_READWRITE) != nullptr) return data;
  ::VirtualFree(begin, 0, MEM_RELEASE);
  return nullptr;
}

void free_zeroed(void* memory, std::size_t bytes) noexcept {
  if (bytes <= page_bytes()) return ::_aligned_free(memory);
  MEMORY_BASIC_INFORMATION info;
  ::VirtualQuery(memory, &info, sizeof(info));
  ::VirtualFree(info.AllocationBase, 0, MEM_RELEASE);
}

void populate_zeroed(void* /*memory*/, std::size_t /*bytes*/) noexcept {}

std::uint64_t near_cache_bytes() noexcept {
  std::array<SYSTEM_LOGICAL_PROCESSOR_INFORMATION, 512> all{};
  DWORD bytes = sizeof(all);
  if (::GetLogicalProcessorInformation(all.data(), &bytes) == 0) return 0;
  for (const auto& one : all) {
    if (one.Relationship == RelationCache && one.Cache.Level == 2) return one.Cache.Size;
  }
  return 0;
}

ArmFeatures arm_features() noexcept { return {}; }

std::string name_of(const fs::path& path) {
  const std::u8string name = path.u8string();
  return {name.begin(), name.end()};
}

namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 30;  // in one call

[[noreturn]] void fail(const std::string& name, DWORD error = ::GetLastError()) {
  throw std::system_error(static_cast<int>(error), std::system_category(), name);
}

// Owns an open file.
class Handle {
 public:
  Handle(const fs::path& path, DWORD access, DWORD share, DWORD disposition)
      : handle_(::CreateFileW(path.c_str(), access, share, nullptr, disposition,
                              FILE_ATTRIBUTE_NORMAL, nullptr)),
        error_(::GetLastError()) {}
  ~Handle() { close(); }
  Handle& operator=(Handle&&) = delete;
  [[nodiscard]] HANDLE get() const { return handle_; }
  [[nodiscard]] bool is_open() const { return handle_ != INVALID_HANDLE_VALUE; }
  [[nodiscard]] bool is_absent() const {
    return !is_open() && (error_ == ERROR_FILE_NOT_FOUND || error_ == ERROR_PATH_NOT_FOUND);
  }
  void require_open(const fs::path& path) const {
    if (is_open()) return;
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) fail(name_of(path), error_);
    throw std::system_error(std::make_error_code(std::errc::is_a_directory), name_of(path));
  }
  void close() {
    if (is_open()) ::CloseHandle(release());
  }
  HANDLE release() { return std::exchange(handle_, INVALID_HANDLE_VALUE); }

 private:
  HANDLE handle_;
  DWORD error_;
};

constexpr DWORD kShareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

HANDLE handle_of(std::intptr_t number) { return reinterpret_cast<HANDLE>(number); }

void write_all(const Handle& file, std::span<const std::byte> bytes, const std::string& name) {
  while (!bytes.empty()) {
    DWORD count = 0;
    const auto size = static_cast<DWORD>(std::min(bytes.size(), kMaxBytes));
    if (::WriteFile(file.get(), bytes.data(), size, &count, nullptr) == 0) fail(name);
    bytes = bytes.subspan(count);
  }
}

// Where an open file is, behind all links; `path` if the system does not tell.
fs::path target_of(const Handle& file, const fs::path& path) {
  std::wstring target(std::size_t{1} << 15, L'\0');
  const DWORD size =
      ::GetFinalPathNameByHandleW(file.get(), target.data(), static_cast<DWORD>(target.size()), 0);
  return size == 0 || size >= target.size() ? path : fs::path(target.substr(0, size));
}

// Who may do what with an open file, as the system's bytes; none where it does not tell.
std::vector<std::byte> access_of(const Handle& file) {
  DWORD size = 0;
  ::GetKernelObjectSecurity(file.get(), DACL_SECURITY_INFORMATION, nullptr, 0, &size);
  std::vector<std::byte> access(size);
  const bool told = ::GetKernelObjectSecurity(file.get(), DACL_SECURITY_INFORMATION, access.data(),
                                              size, &size) != 0;
  return told ? access : std::vector<std::byte>();
}

// A file that is removed unless it has been renamed.
struct Temporary {
  fs::path path;
  ~Temporary() { ::DeleteFileW(path.c_str()); }
};

}  // namespace

RegularFile::RegularFile(const fs::path& path) : name_(name_of(path)) {
  Handle file(path, GENERIC_READ, kShareAll, OPEN_EXISTING);
  file.require_open(path);
  if (::GetFileType(file.get()) != FILE_TYPE_DISK) refuse_pipe(name_);
  LARGE_INTEGER size;
  if (::GetFileSizeEx(file.get(), &size) == 0) fail(name_);
  size_ = static_cast<std::uint64_t>(size.QuadPart);
  handle_ = reinterpret_cast<std::intptr_t>(file.release());
}

RegularFile::~RegularFile() { ::CloseHandle(handle_of(handle_)); }

void RegularFile::read(std::uint64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    DWORD count = 0;
    OVERLAPPED at{};
    at.Offset = static_cast<DWORD>(offset);
    at.OffsetHigh = static_cast<DWORD>(offset >> 32);
    const auto size = static_cast<DWORD>(std::min(to.size(), kMaxBytes));
    if (::ReadFile(handle_of(handle_), to.data(), size, &count, &at) == 0 &&
        ::GetLastError() != ERROR_HANDLE_EOF) {
      fail(name_);
    }
    if (count == 0) refuse_shorter(name_, offset);
    offset += count;
    to = to.subspan(count);
  }
}

std::span<std::byte> RegularFile::map() const {
  HANDLE const mapping =
      ::CreateFileMappingW(handle_of(handle_), nullptr, PAGE_READONLY,
                           static_cast<DWORD>(size_ >> 32), static_cast<DWORD>(size_), nullptr);
  if (mapping == nullptr) fail(name_);
  void* const view = ::MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0);
  const DWORD error = ::GetLastError();
  ::CloseHandle(mapping);
  if (view == nullptr) fail(name_, error);
  return {static_cast<std::byte*>(view), static_cast<std::size_t>(size_)};
}

void unmap_file(std::span<std::byte> bytes) noexcept { ::UnmapViewOfFile(bytes.data()); }

// Nobody else can open the temporary file before it is complete and has the old one's access.
void replace_file(const fs::path& path, const std::function<void(const ByteSink& sink)>& produce) {
  const std::string name = name_of(path);
  Handle old(path, GENERIC_WRITE, kShareAll, OPEN_EXISTING);
  if (!old.is_absent()) old.require_open(path);
  if (old.is_open() && ::GetFileType(old.get()) != FILE_TYPE_DISK) {
    return produce([&](std::span<const std::byte> bytes) { write_all(old, bytes, name); });
  }
  const fs::path target = old.is_open() ? target_of(old, path) : path;
  const Temporary temporary{target.parent_path() / temporary_name()};
  Handle file(temporary.path, GENERIC_WRITE | WRITE_DAC, 0, CREATE_NEW);
  if (!file.is_open()) fail(name);
  if (std::vector<std::byte> access = access_of(old);
      !access.empty() &&
      ::SetKernelObjectSecurity(file.get(), DACL_SECURITY_INFORMATION, access.data()) == 0) {
    fail(name);
  }
  old.close();
  produce([&](std::span<const std::byte> bytes) { write_all(file, bytes, name); });
  if (::FlushFileBuffers(file.get()) == 0) fail(name);
  file.close();
  constexpr DWORD kHow = MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH;
  if (::MoveFileExW(temporary.path.c_str(), target.c_str(), kHow) == 0) fail(name);
}

bool remove_saved(const fs::path& path) {
  Handle file(path, DELETE, kShareAll, OPEN_EXISTING);
  if (file.is_absent()) return false;
  file.require_open(path);
  const fs::path target = target_of(file, path);
  file.close();
  if (::DeleteFileW(target.c_str()) == 0) fail(name_of(path));
  return true;
}

}}  // namespace nestline
