// Memory like the filter's own, for what is compared with the filter: aligned to 2 MiB, on huge
// pages if the system gives them.
#ifndef NESTLINE_BENCH_SUPPORT_HUGE_PAGES_H_
#define NESTLINE_BENCH_SUPPORT_HUGE_PAGES_H_

#include <cstddef>
#include <cstdint>

namespace nestline::bench {

// Fresh from the system, which provides a page when it is first touched.
class FreshMemory {
 public:
  // Throws std::bad_alloc.
  explicit FreshMemory(std::size_t bytes);
  ~FreshMemory();
  FreshMemory(const FreshMemory&) = delete;
  FreshMemory& operator=(const FreshMemory&) = delete;

  [[nodiscard]] std::uint8_t* data() const { return data_; }

 private:
  std::size_t mapped_;
  void* mapping_;
  std::uint8_t* data_;
};

void* allocate_huge(std::size_t bytes);
void free_huge(void* memory) noexcept;

// An allocator for containers. Memory smaller than a huge page is aligned to 64 bytes.
template <typename T>
struct HugePages {
  using value_type = T;

  HugePages() = default;
  template <typename U>
  HugePages(const HugePages<U>&) noexcept {}  // NOLINT(google-explicit-constructor): as allocators

  T* allocate(std::size_t count) { return static_cast<T*>(allocate_huge(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t) noexcept { free_huge(memory); }

  bool operator==(const HugePages&) const = default;
};

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_SUPPORT_HUGE_PAGES_H_
