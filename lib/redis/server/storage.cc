// The memory of blocks inside a server: storage.h once more, over the server's own allocator.
//
// So it is part of used_memory, of maxmemory and of what MEMORY USAGE tells. It differs from
// lib/filter/storage.cc on purpose: no huge pages, since after a fork each page that is written is
// copied and one of 2 MiB takes as long as 512; and no mapping of files.
//
// A large allocation must not take the time to write zeros over all of it: its pages are given back
// to the system, which gives fresh ones, zeroed, as they are touched.
#include "lib/filter/storage.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <system_error>

#include "lib/redis/server/module_api.h"

namespace nestline {
namespace {

using redis::api;

constexpr std::size_t kPage = 4096;
constexpr std::size_t kLarge = std::size_t{1} << 20;  // below, memset is as fast

bool is_aligned(const void* memory) {
  return reinterpret_cast<std::uintptr_t>(memory) % kBlockBytes == 0;
}

void clear(std::byte* memory, std::size_t size) {
  if (size >= kLarge) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    std::byte* const begin = memory + (kPage - address % kPage) % kPage;
    std::byte* const end = memory + size - (address + size) % kPage;
    // Private anonymous pages come back as zeros. The system refuses where they are locked.
    if (::madvise(begin, static_cast<std::size_t>(end - begin), MADV_DONTNEED) == 0) {
      std::memset(memory, 0, static_cast<std::size_t>(begin - memory));
      std::memset(end, 0, static_cast<std::size_t>(memory + size - end));
      return;
    }
  }
  std::memset(memory, 0, size);
}

}  // namespace

Storage::~Storage() {
  if (mapping_ != nullptr) api.Free(mapping_);
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
  storage.size_ = storage.mapping_size_ = static_cast<std::size_t>(blocks) * kBlockBytes;
  storage.mapping_ = api.TryAlloc(storage.size_);
  // jemalloc aligns what is a multiple of 64 bytes so; others get a block more to begin in.
  if (storage.mapping_ != nullptr && !is_aligned(storage.mapping_)) {
    api.Free(storage.mapping_);
    storage.mapping_size_ += kBlockBytes;
    storage.mapping_ = api.TryAlloc(storage.mapping_size_);
  }
  if (storage.mapping_ == nullptr) throw std::bad_alloc();
  storage.data_ = static_cast<std::byte*>(storage.mapping_);
  if (!is_aligned(storage.data_)) {
    const auto address = reinterpret_cast<std::uintptr_t>(storage.data_);
    storage.data_ += kBlockBytes - address % kBlockBytes;
  }
  clear(storage.data_, storage.size_);
  return storage;
}

Storage Storage::map(int, std::uint64_t, const std::filesystem::path& path) {
  throw std::system_error(ENOTSUP, std::generic_category(), path.string());
}

}  // namespace nestline
