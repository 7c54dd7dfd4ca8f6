// The memory that the blocks lie in: zeroed and aligned, or a read-only mapping of a file.
//
// From 2 MiB on, memory is aligned to 2 MiB and the system is asked for huge pages: a filter is
// read at random, and with 4 KiB pages most of that is waiting for page tables.
#ifndef NESTLINE_LIB_FILTER_STORAGE_H_
#define NESTLINE_LIB_FILTER_STORAGE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <utility>

#include "lib/place/layout.h"

namespace nestline {

// Owns one anonymous or file mapping. Move-only; empty after a move.
class Storage {
 public:
  Storage() = default;
  Storage(Storage&& other) noexcept { swap(other); }
  Storage& operator=(Storage&& other) noexcept {
    Storage(std::move(other)).swap(*this);
    return *this;
  }
  ~Storage();

  // Zeroed memory for `blocks` blocks. Throws std::bad_alloc.
  static Storage allocate(std::uint64_t blocks);

  // The first `size` bytes, at least one, of an open file, read-only; the file may be closed then.
  // Throws std::system_error with `path` as its text.
  static Storage map(int file, std::uint64_t size, const std::filesystem::path& path);

  [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  void swap(Storage& other) noexcept;

  std::byte* data_ = nullptr;  // what the owner asked for
  std::size_t size_ = 0;
  void* mapping_ = nullptr;  // what the system gave: larger by the alignment
  std::size_t mapping_size_ = 0;
};

}  // namespace nestline

#endif  // NESTLINE_LIB_FILTER_STORAGE_H_
