// Files as tests read, write and change them, and what a filter of any kind is saved to.
#ifndef NESTLINE_TESTS_SUPPORT_FILES_H_
#define NESTLINE_TESTS_SUPPORT_FILES_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nestline/io.h"

namespace nestline::test {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  EXPECT_TRUE(stream) << path;
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline void write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream stream(path, std::ios::binary);
  stream << bytes;
  EXPECT_TRUE(stream.flush()) << path;
}

// Writes over what the file has at `offset`.
inline void write_over(const std::filesystem::path& path, std::uint64_t offset,
                       std::string_view bytes) {
  std::fstream stream(path, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(static_cast<std::streamoff>(offset));
  stream << bytes;
  EXPECT_TRUE(stream.flush()) << path;
}

using Bytes = std::vector<std::byte>;

inline Bytes bytes_of_text(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}
inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline Bytes read_bytes(const std::filesystem::path& path) {
  return bytes_of_text(read_file(path));
}
inline void write_bytes(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  write_file(path, text_of(bytes));
}

// Of a filter, a maplet or an expiring filter.
template <class Saved>
Bytes saved_bytes(const Saved& one, Head head = Head::page) {
  Bytes bytes;
  const ByteSink sink = [&](std::span<const std::byte> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  };
  save(one, {sink, head});
  return bytes;
}

// A function to load from, which gives `bytes` in pieces of at most `piece`, and counts what it
// gave.
class Giver {
 public:
  explicit Giver(std::span<const std::byte> bytes, std::size_t piece = ~std::size_t{0})
      : bytes_(bytes), piece_(piece) {}

  std::size_t operator()(std::span<std::byte> to) {
    const std::size_t count = std::min({to.size(), piece_, bytes_.size() - given_});
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(given_), count, to.begin());
    given_ += count;
    return count;
  }
  [[nodiscard]] std::size_t given() const { return given_; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t piece_;
  std::size_t given_ = 0;
};

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_SUPPORT_FILES_H_
