// Windows.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "lib/system/system.h"

#define NOMINMAX 1
#include <malloc.h>
#include <windows.h>

namespace nestline { inline namespace v0_3 {

namespace fs = std::filesystem;

std::size_t page_bytes() noexcept {
  SYSTEM_INFO info;
  ::GetSystemInfo(&info);
  return info.dwPageSize;
}

// In small pages: large ones are for processes with a privilege that few have. What begins at the
// system's 64 KiB is aligned well enough for blocks, and more is refused.
void* zeroed_memory(std::size_t bytes, std::size_t alignment) noexcept {
  constexpr std::size_t kUnit = std::size_t{64} << 10;
  if (bytes > page_bytes()) {
    return alignment > kUnit
               ? nullptr
               : ::VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  }
  const std::size_t size = std::max(bytes, alignment);
  void* const data = ::_aligned_malloc(size, alignment);
  return data == nullptr ? nullptr : std::memset(data, 0, size);
}

void free_zeroed(void* memory, std::size_t bytes) noexcept {
  if (bytes <= page_bytes()) return ::_aligned_free(memory);
  ::VirtualFree(memory, 0, MEM_RELEASE);
}

void populate_zeroed(void* /*memory*/, std::size_t /*bytes*/) noexcept {}

std::uint64_t near_cache_bytes() noexcept {
  std::array<SYSTEM_LOGICAL_PROCESSOR_INFORMATION, 512> all{};
  DWORD bytes = sizeof(all);
  if (::GetLogicalProcessorInformation(all.data(), &bytes) == 0) return 0;
  const auto* const found = std::ranges::find_if(all, [](const auto& one) {
    return one.Relationship == RelationCache && one.Cache.Level == 2;
  });
  return found == all.end() ? 0 : found->Cache.Size;
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

struct Closing {
  void operator()(HANDLE file) const { ::CloseHandle(file); }
};
using File = std::unique_ptr<void, Closing>;

constexpr DWORD kShareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

// Null where there is no such file. Errors have `name`.
File open(const fs::path& path, const std::string& name, DWORD access, DWORD share = kShareAll,
          DWORD how = OPEN_EXISTING) {
  HANDLE const file = ::CreateFileW(path.c_str(), access, share, nullptr, how, 0, nullptr);
  if (file != INVALID_HANDLE_VALUE) return File(file);
  const DWORD error = ::GetLastError();
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    throw std::system_error(std::make_error_code(std::errc::is_a_directory), name);
  }
  if (error == ERROR_FILE_NOT_FOUND && how == OPEN_EXISTING) return nullptr;
  fail(name, error);
}

void write_all(const File& file, std::span<const std::byte> bytes, const std::string& name) {
  for (DWORD count = 0; !bytes.empty(); bytes = bytes.subspan(count)) {
    const auto size = static_cast<DWORD>(std::min(bytes.size(), kMaxBytes));
    if (::WriteFile(file.get(), bytes.data(), size, &count, nullptr) == 0) fail(name);
  }
}

// Where an open file is, behind all links; `path` if the system does not tell.
fs::path target_of(const File& file, const fs::path& path) {
  std::wstring target(std::size_t{1} << 15, L'\0');
  const auto room = static_cast<DWORD>(target.size());
  const DWORD size = ::GetFinalPathNameByHandleW(file.get(), target.data(), room, 0);
  return size == 0 || size >= room ? path : fs::path(target.substr(0, size));
}

// Gives a file the access list of another, entry for entry, if that has one.
void copy_access(const File& from, const File& to, const std::string& name) {
  std::vector<std::byte> list(std::size_t{1} << 17);  // twice what the longest list takes
  DWORD size = static_cast<DWORD>(list.size());
  constexpr auto kWhat = DACL_SECURITY_INFORMATION;
  if (::GetKernelObjectSecurity(from.get(), kWhat, list.data(), size, &size) == 0) return;
  if (::SetKernelObjectSecurity(to.get(), kWhat, list.data()) == 0) fail(name);
}

}  // namespace

RegularFile::RegularFile(const fs::path& path) : name_(name_of(path)) {
  File file = open(path, name_, GENERIC_READ);
  if (file == nullptr) fail(name_, ERROR_FILE_NOT_FOUND);
  if (::GetFileType(file.get()) != FILE_TYPE_DISK) refuse_pipe(name_);
  LARGE_INTEGER size;
  if (::GetFileSizeEx(file.get(), &size) == 0) fail(name_);
  size_ = static_cast<std::uint64_t>(size.QuadPart);
  handle_ = reinterpret_cast<std::intptr_t>(file.release());
}

RegularFile::~RegularFile() { ::CloseHandle(reinterpret_cast<HANDLE>(handle_)); }

void RegularFile::read(std::uint64_t offset, std::span<std::byte> to) const {
  for (DWORD count = 0; !to.empty(); to = to.subspan(count), offset += count) {
    OVERLAPPED at{};
    at.Offset = static_cast<DWORD>(offset);
    at.OffsetHigh = static_cast<DWORD>(offset >> 32);
    const auto size = static_cast<DWORD>(std::min(to.size(), kMaxBytes));
    const bool good =
        ::ReadFile(reinterpret_cast<HANDLE>(handle_), to.data(), size, &count, &at) != 0;
    if (!good && ::GetLastError() != ERROR_HANDLE_EOF) fail(name_);
    if (!good || count == 0) refuse_shorter(name_, offset);
  }
}

std::span<std::byte> RegularFile::map() const {
  const File mapping(::CreateFileMappingW(reinterpret_cast<HANDLE>(handle_), nullptr, PAGE_READONLY,
                                          static_cast<DWORD>(size_ >> 32),
                                          static_cast<DWORD>(size_), nullptr));
  if (mapping == nullptr) fail(name_);
  void* const view = ::MapViewOfFile(mapping.get(), FILE_MAP_READ, 0, 0, 0);
  if (view == nullptr) fail(name_);
  return {static_cast<std::byte*>(view), static_cast<std::size_t>(size_)};
}

void unmap_file(std::span<std::byte> bytes) noexcept { ::UnmapViewOfFile(bytes.data()); }

void replace_file(const fs::path& path, const std::function<void(const ByteSink& sink)>& produce) {
  const std::string name = name_of(path);
  File old = open(path, name, GENERIC_WRITE);
  if (old != nullptr && ::GetFileType(old.get()) != FILE_TYPE_DISK) {
    return produce([&](std::span<const std::byte> bytes) { write_all(old, bytes, name); });
  }
  const fs::path target = old == nullptr ? path : target_of(old, path);
  const fs::path temporary = target.parent_path() / temporary_name();
  // Nobody else can open it before it is complete and has the old one's access list.
  File file = open(temporary, name, GENERIC_WRITE | WRITE_DAC, 0, CREATE_NEW);
  try {
    if (old != nullptr) copy_access(old, file, name);
    old.reset();
    produce([&](std::span<const std::byte> bytes) { write_all(file, bytes, name); });
    if (::FlushFileBuffers(file.get()) == 0) fail(name);
    file.reset();
    constexpr DWORD kHow = MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH;
    if (::MoveFileExW(temporary.c_str(), target.c_str(), kHow) == 0) fail(name);
  } catch (...) {
    file.reset();
    ::DeleteFileW(temporary.c_str());
    throw;
  }
}

bool remove_saved(const fs::path& path) {
  const std::string name = name_of(path);
  File file = open(path, name, DELETE);
  if (file == nullptr) return false;
  const fs::path target = target_of(file, path);
  file.reset();
  if (::DeleteFileW(target.c_str()) == 0) fail(name);
  return true;
}

}}  // namespace nestline
