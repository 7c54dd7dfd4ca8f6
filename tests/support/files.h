// Files as tests read, write and change them.
#ifndef NESTLINE_TESTS_SUPPORT_FILES_H_
#define NESTLINE_TESTS_SUPPORT_FILES_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <string>
#include <string_view>

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

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_SUPPORT_FILES_H_
