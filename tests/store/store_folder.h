// A folder of a test's own, for a store on real files. It is removed with the object.
#ifndef NESTLINE_TESTS_STORE_STORE_FOLDER_H_
#define NESTLINE_TESTS_STORE_STORE_FOLDER_H_

#include <filesystem>

#include "tests/support/temp_folder.h"

namespace nestline::test {

class StoreFolder {
 public:
  StoreFolder() : path_(top_ / "store") {}

  // Not made yet: a store makes it.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  TempFolder top_;
  std::filesystem::path path_;
};

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_STORE_STORE_FOLDER_H_
