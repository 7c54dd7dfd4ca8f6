// What the tests of files share: a folder of their own, and comparisons of filters.
#ifndef NESTLINE_TESTS_FILTERS_FILE_IO_FIXTURE_H_
#define NESTLINE_TESTS_FILTERS_FILE_IO_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "nestline/filter.h"
#include "nestline/io.h"
#include "tests/filters/file/format_tools.h"
#include "tests/support/answers.h"
#include "tests/support/files.h"
#include "tests/support/keys_of_kinds.h"
#include "tests/support/temp_folder.h"

namespace nestline {

namespace fs = std::filesystem;
using format_tools::Bytes;

class IoTest : public testing::Test {
 protected:
  [[nodiscard]] fs::path path(const std::string& name) const { return folder_ / name; }
  // Names in the folder, sorted: shows what a failed save leaves behind.
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& file : fs::directory_iterator(folder_.path())) {
      all.push_back(file.path().filename().string());
    }
    std::sort(all.begin(), all.end());
    return all;
  }
  static Bytes read(const fs::path& path) { return test::read_bytes(path); }
  static void write(const fs::path& path, std::span<const std::byte> bytes) {
    test::write_bytes(path, bytes);
  }

 private:
  const test::TempFolder folder_;
};

using test::sequence;

inline Filter filled(int bits, std::uint64_t capacity, std::size_t keys) {
  Filter filter({.capacity = capacity, .bits = bits, .seed = 2024});
  EXPECT_EQ(filter.insert(sequence(0, keys)), keys);
  return filter;
}

// Checks that both describe themselves alike and give the same answer for every key, alone and in
// batches. F: Filter, MappedFilter.
template <typename F>
void expect_same(const Filter& one, const F& other) {
  EXPECT_EQ(one.size(), other.size());
  EXPECT_EQ(one.capacity(), other.capacity());
  EXPECT_EQ(one.bits(), other.bits());
  EXPECT_EQ(one.seed(), other.seed());
  EXPECT_EQ(one.load_factor(), other.load_factor());
  EXPECT_EQ(one.expected_fpr(), other.expected_fpr());

  const auto keys = sequence(0, 5000);
  EXPECT_EQ(test::answers_of_each(other, keys), test::answers_of(one, keys));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string text = std::to_string(i);
    ASSERT_EQ(other.may_contain(text), one.may_contain(text)) << i;
    ASSERT_EQ(other.may_contain(Hash{~keys[i]}), one.may_contain(Hash{~keys[i]})) << i;
  }
}

}  // namespace nestline

#endif  // NESTLINE_TESTS_FILTERS_FILE_IO_FIXTURE_H_
