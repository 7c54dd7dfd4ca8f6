// Memory that shows a simulated file: pages behind its end cannot be read, as in a real map.
#ifndef NESTLINE_TESTS_STORE_MIRROR_H_
#define NESTLINE_TESTS_STORE_MIRROR_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nestline::test {

class Mirror {
 public:
  // Of the first `bytes` of the file. Throws std::system_error.
  explicit Mirror(std::uint64_t bytes);
  ~Mirror();
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;
  [[nodiscard]] const std::byte* address() const { return address_; }

  // The file has this content, and has changed between `from` and `to` and in its length only.
  void show(const std::vector<std::byte>& content, std::uint64_t from, std::uint64_t to);

 private:
  void set_size(std::uint64_t size);
  void protect(std::uint64_t from, std::uint64_t to, int protection);

  std::byte* address_ = nullptr;
  std::uint64_t bytes_;
  std::uint64_t size_ = 0;
  std::uint64_t readable_ = 0;
};

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_STORE_MIRROR_H_
