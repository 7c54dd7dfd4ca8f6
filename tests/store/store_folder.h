// A folder of a test's own, for a store on real files. It is removed with the object.
#ifndef NESTLINE_TESTS_STORE_STORE_FOLDER_H_
#define NESTLINE_TESTS_STORE_STORE_FOLDER_H_

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace nestline::test {

class StoreFolder {
 public:
  StoreFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "nestline_store.XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error(name + ": cannot be made");
    top_ = name;
  }
  ~StoreFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(top_, ignored);
  }
  StoreFolder(const StoreFolder&) = delete;
  StoreFolder& operator=(const StoreFolder&) = delete;

  // Not made yet: a store makes it.
  [[nodiscard]] std::filesystem::path path() const { return top_ / "store"; }

 private:
  std::filesystem::path top_;
};

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_STORE_STORE_FOLDER_H_
