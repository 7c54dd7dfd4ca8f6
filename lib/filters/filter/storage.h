// The memory of the blocks: from a resource (memory.h), a mapped file, or bytes of somebody else.
#ifndef NESTLINE_LIB_FILTERS_FILTER_STORAGE_H_
#define NESTLINE_LIB_FILTERS_FILTER_STORAGE_H_

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <utility>

#include "lib/engine/place/layout.h"
#include "lib/system/system.h"

namespace nestline { inline namespace v0_3 {

// Owns one allocation or one mapping of a file, or borrows bytes. Move-only; empty after a move.
class Storage {
 public:
  Storage() = default;
  Storage(Storage&& other) noexcept { swap(other); }
  Storage& operator=(Storage&& other) noexcept {
    Storage(std::move(other)).swap(*this);
    return *this;
  }
  ~Storage();
  // Zeroed memory for `blocks` blocks; null: from mapped_memory(). Throws std::bad_alloc.
  static Storage allocate(std::uint64_t blocks, std::pmr::memory_resource* memory = nullptr);
  // All bytes of a file, at least one, read-only; the file may be closed afterwards. Throws
  // std::system_error.
  static Storage map(const RegularFile& file);

  // Bytes that the caller keeps, and that no thread writes.
  static Storage view(std::span<const std::byte> bytes) noexcept {
    // A resource that frees nothing.
    return {const_cast<std::byte*>(bytes.data()), bytes.size(), std::pmr::null_memory_resource()};
  }

  // populate_zeroed(), for memory that is about to be written from end to end.
  void populate() const;
  // Brings all of it into memory, so that later writes meet no fault. For memory that is zeroed.
  void touch() const;
  [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_}; }
  // The resource that this memory came from; null for a mapped file.
  [[nodiscard]] std::pmr::memory_resource* memory() const { return memory_; }

 private:
  Storage(void* data, std::size_t size, std::pmr::memory_resource* memory)
      : data_(static_cast<std::byte*>(data)), size_(size), memory_(memory) {}
  void swap(Storage& other) noexcept;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::pmr::memory_resource* memory_ = nullptr;
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_FILTERS_FILTER_STORAGE_H_
