// A folder of a test's own, removed with the object. ctest runs several tests at a time, so tests
// that write files have no other way to name them.
#ifndef NESTLINE_TESTS_SUPPORT_TEMP_FOLDER_H_
#define NESTLINE_TESTS_SUPPORT_TEMP_FOLDER_H_

#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>

namespace nestline::test {

class TempFolder {
 public:
  TempFolder() {
    std::random_device random;
    path_ = std::filesystem::temp_directory_path() /
            ("nestline_test." + std::to_string(random()) + "." + std::to_string(random()));
    if (!std::filesystem::create_directory(path_)) {
      throw std::runtime_error(path_.string() + ": is there already");
    }
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // The path of a file in it.
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const {
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_SUPPORT_TEMP_FOLDER_H_
