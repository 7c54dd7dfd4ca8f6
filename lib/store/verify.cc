// Reading a whole store, as it is. The writer of an open store may remove and make files meanwhile:
// problems that come up while it does are looked at again.
#include <cerrno>
#include <system_error>

#include "lib/store/folder.h"
#include "lib/store/open_on.h"
#include "lib/store/survey.h"

namespace nestline {
namespace {

std::vector<std::uint64_t> numbers_in(const Disk& disk) {
  const std::vector<std::string> names = disk.names();
  return segment_numbers(names);
}

}  // namespace

StoreReport verify_on(Disk& disk) {
  refuse_other_folder(disk);
  constexpr unsigned kAttempts = 20;
  for (unsigned attempt = 1;; ++attempt) {
    const std::vector<std::uint64_t> before = numbers_in(disk);
    try {
      StoreReport report = Survey(disk).report;
      if (report.ok() || attempt == kAttempts || numbers_in(disk) == before) return report;
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
