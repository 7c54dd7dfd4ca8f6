#include "lib/filters/filter/storage.h"

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

// See mapped_memory in memory.h.
class MappedMemory final : public ZeroedMemory {
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (void* const data = zeroed_memory(bytes, alignment)) return data;
    throw std::bad_alloc();
  }

  void do_deallocate(void* memory, std::size_t bytes, std::size_t) override {
    free_zeroed(memory, bytes);
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
    unmap_file(bytes());
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
  if (memory_ == &mapped_memory()) populate_zeroed(data_, size_);
}

void Storage::touch() const {
  for (std::size_t at = 0; at < size_; at += page_bytes()) {
    *static_cast<volatile std::byte*>(data_ + at) = std::byte{0};
  }
}

Storage Storage::map(const RegularFile& file) {
  const std::span<std::byte> bytes = file.map();
  return {bytes.data(), bytes.size(), nullptr};
}

}}  // namespace nestline
