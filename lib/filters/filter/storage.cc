#include "lib/filters/filter/storage.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <system_error>

#include "nestline/memory.h"

namespace nestline { inline namespace v0_3 {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t round_up(std::size_t size, std::size_t unit) { return (size + unit - 1) / unit * unit; }

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

// See mapped_memory in memory.h.
class MappedMemory final : public ZeroedMemory {
  // Maps more than requested where the alignment needs it, and unmaps the excess.
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    const std::size_t page = page_bytes();
    if (bytes <= page) {  // to map and unmap it would take longer than to write zeros
      const std::size_t size = round_up(std::max(bytes, alignment), alignment);
      if (void* const data = std::aligned_alloc(alignment, size)) return std::memset(data, 0, size);
      throw std::bad_alloc();
    }
    const bool huge = bytes >= kHugePage;
    const std::size_t unit = std::max(alignment, huge ? kHugePage : page);
    if (bytes > std::numeric_limits<std::size_t>::max() / 2 - unit) throw std::bad_alloc();
    const std::size_t size = round_up(bytes, page);
    const std::size_t slack = unit > page ? unit : 0;
    void* const mapping =
        ::mmap(nullptr, size + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) throw std::bad_alloc();
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

  void do_deallocate(void* memory, std::size_t bytes, std::size_t) override {
    if (bytes <= page_bytes()) return std::free(memory);
    ::munmap(memory, round_up(bytes, page_bytes()));
  }

  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }
};

}  // namespace

ZeroedMemory& mapped_memory() noexcept {
  // Never destroyed: a filter may be destroyed after every other static object.
  alignas(MappedMemory) static std::byte place[sizeof(MappedMemory)];
  static MappedMemory* const memory = new (place) MappedMemory;
  return *memory;
}

Storage::~Storage() {
  if (data_ == nullptr) return;
  if (memory_ != nullptr) {
    memory_->deallocate(data_, size_, kBlockBytes);
  } else {
    ::munmap(data_, size_);
  }
}

void Storage::swap(Storage& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(memory_, other.memory_);
}

Storage Storage::allocate(std::uint64_t blocks, std::pmr::memory_resource* memory) {
  if (blocks > std::numeric_limits<std::size_t>::max() / (2 * kBlockBytes)) throw std::bad_alloc();
  if (memory == nullptr) memory = &mapped_memory();
  const std::size_t size = static_cast<std::size_t>(blocks) * kBlockBytes;
  Storage storage(memory->allocate(size, kBlockBytes), size, memory);
  if (dynamic_cast<const ZeroedMemory*>(memory) == nullptr) std::memset(storage.data_, 0, size);
  return storage;
}

void Storage::populate() const {
#ifdef MADV_POPULATE_WRITE
  if (memory_ != &mapped_memory() || size_ <= page_bytes()) return;
  const std::size_t in_huge_pages = size_ / kHugePage * kHugePage;
  const std::size_t rest = round_up(size_ - in_huge_pages, page_bytes());
  if (rest != 0) (void)::madvise(data_ + in_huge_pages, rest, MADV_POPULATE_WRITE);
#endif
}

void Storage::touch() const {
  for (std::size_t at = 0; at < size_; at += page_bytes()) {
    *static_cast<volatile std::byte*>(data_ + at) = std::byte{0};
  }
}

Storage Storage::map(int file, std::uint64_t size, const std::filesystem::path& path) {
  if (size > std::numeric_limits<std::size_t>::max()) {
    throw std::system_error(EFBIG, std::generic_category(), path.string());
  }
  const auto bytes = static_cast<std::size_t>(size);
  void* const mapping = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
  if (mapping == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), path.string());
  }
  // No advice, although access is random: the system reads 128 KiB around a missing page. After
  // MADV_RANDOM the first 262,144 lookups in a cold file of 256 MiB took 9.5 s instead of 0.5.
  return {mapping, bytes, nullptr};
}

}}  // namespace nestline
