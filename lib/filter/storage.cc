#include "lib/filter/storage.h"

#include <sys/mman.h>

#include <cerrno>
#include <limits>
#include <new>
#include <system_error>

namespace nestline {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

Storage::~Storage() {
  if (mapping_ != nullptr) ::munmap(mapping_, mapping_size_);
}

void Storage::swap(Storage& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapping_, other.mapping_);
  std::swap(mapping_size_, other.mapping_size_);
}

Storage Storage::allocate(std::uint64_t blocks) {
  if (blocks > std::numeric_limits<std::size_t>::max() / (2 * kBlockBytes)) throw std::bad_alloc();
  Storage storage;
  storage.size_ = static_cast<std::size_t>(blocks) * kBlockBytes;
  const bool huge = storage.size_ >= kHugePage;
  storage.mapping_size_ = storage.size_ + (huge ? kHugePage : 0);
  void* const mapping = ::mmap(nullptr, storage.mapping_size_, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  storage.mapping_ = mapping;
  storage.data_ = static_cast<std::byte*>(mapping);
  if (huge) {
    const auto address = reinterpret_cast<std::uintptr_t>(mapping);
    storage.data_ += (kHugePage - address % kHugePage) % kHugePage;
    // Advice only: a refusal costs speed and nothing else.
    (void)::madvise(storage.data_, storage.size_, MADV_HUGEPAGE);
  }
  return storage;
}

Storage Storage::map(int file, std::uint64_t size, const std::filesystem::path& path) {
  if (size > std::numeric_limits<std::size_t>::max()) {
    throw std::system_error(EFBIG, std::generic_category(), path.string());
  }
  Storage storage;
  storage.size_ = storage.mapping_size_ = static_cast<std::size_t>(size);
  void* const mapping = ::mmap(nullptr, storage.mapping_size_, PROT_READ, MAP_SHARED, file, 0);
  if (mapping == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), path.string());
  }
  // No advice, although access is random: the system's habit of reading 128 KiB around a missing
  // page brings a filter into memory soon. After MADV_RANDOM the first 262,144 lookups in a cold
  // file of 256 MiB took 9.5 s instead of 0.5.
  storage.mapping_ = mapping;
  storage.data_ = static_cast<std::byte*>(mapping);
  return storage;
}

}  // namespace nestline
