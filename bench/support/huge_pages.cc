#include "bench/support/huge_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace nestline::bench {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

FreshMemory::FreshMemory(std::size_t bytes)
    : mapped_(bytes + kHugePage),
      mapping_(
          ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
  if (mapping_ == MAP_FAILED) throw std::bad_alloc();
  const auto address = reinterpret_cast<std::uintptr_t>(mapping_);
  data_ = static_cast<std::uint8_t*>(mapping_) + (kHugePage - address % kHugePage) % kHugePage;
  (void)::madvise(data_, bytes, MADV_HUGEPAGE);
}

FreshMemory::~FreshMemory() { ::munmap(mapping_, mapped_); }

void* allocate_huge(std::size_t bytes) {
  const std::size_t unit = bytes < kHugePage ? 64 : kHugePage;
  const std::size_t size = std::max(bytes + unit - 1, unit) / unit * unit;
  void* const memory = std::aligned_alloc(unit, size);
  if (memory == nullptr) throw std::bad_alloc();
  if (unit == kHugePage) (void)::madvise(memory, size, MADV_HUGEPAGE);
  return memory;
}

void free_huge(void* memory) noexcept { std::free(memory); }

}  // namespace nestline::bench
