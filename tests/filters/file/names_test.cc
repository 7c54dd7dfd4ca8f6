// Files on every system: names beyond ASCII, and what is replaced or removed while it is in use.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "nestline/io.h"
#include "tests/filters/file/format_tools.h"
#include "tests/filters/file/io_fixture.h"
#include "tests/support/errors.h"

namespace nestline { namespace {

using NamesTest = IoTest;

TEST_F(NamesTest, AnyNameIsOne) {
  const std::u8string name = u8"F\u00fcchse-\u5317-\U0001f426.nest";
  const std::string text(name.begin(), name.end());
  const fs::path file = path("") / name;
  const Filter one = filled(8, 1000, 900), other = filled(12, 100, 90);
  for (const Filter* const saved : {&one, &other, &one}) {
    save(*saved, file);
    expect_same(*saved, Filter::load(file));
    expect_same(*saved, MappedFilter::open(file));
    EXPECT_EQ(read(file), test::saved_bytes(*saved));
  }
  int files = 0;
  for (const auto& each : fs::directory_iterator(path(""))) {
    EXPECT_TRUE(each.path().filename().u8string() == name);
    ++files;
  }
  EXPECT_EQ(files, 1);
  write(file, test::bytes_of_text("no filter"));
  test::expect_error<FormatError>([&] { Filter::load(file); }, text);
  EXPECT_TRUE(remove_saved(file));
  EXPECT_FALSE(remove_saved(file));
  EXPECT_FALSE(fs::exists(file));
  const auto gone = test::error_of<std::system_error>([&] { MappedFilter::open(file); });
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->code(), std::errc::no_such_file_or_directory);
  EXPECT_NE(std::string(gone->what()).find(text), std::string::npos);
}

// Windows may refuse to replace it; then the old file stays.
TEST_F(NamesTest, AMappedFileStaysAsItIs) {
  const Filter old = filled(8, 1000, 900), other = filled(12, 100, 90);
  save(old, path("filter"));
  const MappedFilter mapped = MappedFilter::open(path("filter"));
  bool is_replaced = true;
  try {
    save(other, path("filter"));
  } catch (const std::system_error&) {
    is_replaced = false;
  }
#ifndef _WIN32
  EXPECT_TRUE(is_replaced);
#endif
  expect_same(old, mapped);
  EXPECT_EQ(read(path("filter")), test::saved_bytes(is_replaced ? other : old));
  EXPECT_EQ(names().size(), 1u);
}

}  // namespace
}  // namespace nestline
