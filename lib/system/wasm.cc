// WebAssembly without files: memory of malloc, and nothing else.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <system_error>

#include "lib/system/system.h"

namespace nestline { inline namespace v0_3 {
namespace {

[[noreturn]] void refuse_files(const std::filesystem::path& path) {
  throw std::system_error(ENOTSUP, std::generic_category(), name_of(path));
}

}  // namespace

std::size_t page_bytes() noexcept { return std::size_t{1} << 16; }

// What was freed is not 0 any more.
void* zeroed_memory(std::size_t bytes, std::size_t alignment) noexcept {
  void* const data = std::aligned_alloc(alignment, std::max(bytes, alignment));
  return data == nullptr ? nullptr : std::memset(data, 0, bytes);
}
void free_zeroed(void* memory, std::size_t) noexcept { std::free(memory); }
void populate_zeroed(void*, std::size_t) noexcept {}
std::uint64_t near_cache_bytes() noexcept { return 0; }
ArmFeatures arm_features() noexcept { return {}; }

std::string name_of(const std::filesystem::path& path) { return path.string(); }
RegularFile::RegularFile(const std::filesystem::path& path) { refuse_files(path); }
RegularFile::~RegularFile() = default;
void RegularFile::read(std::uint64_t, std::span<std::byte>) const {}
std::span<std::byte> RegularFile::map() const { return {}; }
void unmap_file(std::span<std::byte>) noexcept {}
void replace_file(const std::filesystem::path& path,
                  const std::function<void(const ByteSink& sink)>&) {
  refuse_files(path);
}
bool remove_saved(const std::filesystem::path& path) { refuse_files(path); }

}}  // namespace nestline
