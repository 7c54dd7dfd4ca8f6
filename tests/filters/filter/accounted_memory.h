// A resource that keeps account of its memory, for tests of Options::memory.
#ifndef NESTLINE_TESTS_FILTERS_FILTER_ACCOUNTED_MEMORY_H_
#define NESTLINE_TESTS_FILTERS_FILTER_ACCOUNTED_MEMORY_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory_resource>
#include <new>

#include "nestline/memory.h"

namespace nestline::test {

inline constexpr std::size_t kBlock = 64;

// Counts the memory in use, hands out memory full of ones, and fails when a test wants it to.
template <class Base, unsigned char kFill>
class Accounted final : public Base {
 public:
  ~Accounted() override { EXPECT_EQ(out_, 0u); }

  [[nodiscard]] std::size_t out() const { return out_; }
  [[nodiscard]] std::size_t peak() const { return peak_; }
  [[nodiscard]] std::size_t asked() const { return asked_; }
  [[nodiscard]] std::size_t refused() const { return refused_; }
  // Refuses requests that would take it above this many bytes.
  void set_most(std::size_t bytes) { most_ = bytes; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    EXPECT_EQ(bytes % kBlock, 0u);
    EXPECT_EQ(alignment, kBlock);
    if (bytes > most_ - out_) {
      ++refused_;
      throw std::bad_alloc();
    }
    void* const memory = ::operator new (bytes, std::align_val_t{alignment});
    std::memset(memory, kFill, bytes);
    out_ += bytes;
    peak_ = std::max(peak_, out_);
    ++asked_;
    return memory;
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    EXPECT_EQ(alignment, kBlock);
    out_ -= bytes;
    ::operator delete (memory, std::align_val_t{alignment});
  }
  [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }

  std::size_t out_ = 0;
  std::size_t peak_ = 0;
  std::size_t asked_ = 0;
  std::size_t refused_ = 0;
  std::size_t most_ = ~std::size_t{0};
};

using Dirty = Accounted<std::pmr::memory_resource, 0xff>;
using Zeroed = Accounted<ZeroedMemory, 0>;

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_FILTERS_FILTER_ACCOUNTED_MEMORY_H_
