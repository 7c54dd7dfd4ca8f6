// Reading a whole store, as it is. The writer of an open store may change the files between two
// looks at them: a problem is one if it is still the same when everything is looked at again.
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "lib/store/folder.h"
#include "lib/store/open_on.h"
#include "lib/store/survey.h"

namespace nestline {

StoreReport verify_on(Disk& disk) {
  refuse_other_folder(disk);
  constexpr unsigned kAttempts = 20;
  std::vector<std::string> problems;
  for (unsigned attempt = 1;; ++attempt) {
    try {
      StoreReport report = Survey(disk).report;
      if (report.ok() || attempt == kAttempts || report.problems == problems) return report;
      problems = std::move(report.problems);
    } catch (const std::system_error& error) {
      const bool is_gone = error.code() == std::errc::no_such_file_or_directory;
      if (!is_gone || attempt == kAttempts) throw;
    }
  }
}

StoreReport verify_store(const std::filesystem::path& folder) {
  return verify_on(*open_system_disk(folder, false));
}

}  // namespace nestline
