// See result_file.h.
#include "lib/command/io/result_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "lib/command/io/errors.h"
#include "lib/command/io/progress.h"

namespace nestline::command {

// save() writes into pipes and devices. It replaces any other file, for which the folder must be
// writable.
void check_target(const std::string& file) {
  struct stat status {};
  const bool exists = ::stat(file.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) throw CommandError(file, error_text(errno));
  if (exists && S_ISDIR(status.st_mode)) throw CommandError(file, error_text(EISDIR));
  if (exists && ::faccessat(AT_FDCWD, file.c_str(), W_OK, AT_EACCESS) != 0) {
    throw CommandError(file, error_text(errno));
  }
  const bool replaced = !exists || S_ISREG(status.st_mode);
  // The target of a link may be in another folder.
  if (!replaced || std::filesystem::is_symlink(file)) return;
  std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (folder.empty()) folder = ".";
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK, AT_EACCESS) != 0) {
    throw CommandError(file, "cannot write in " + folder.string() + ": " + error_text(errno));
  }
}

void print_summary(const std::string& file, const Filter& filter) {
  if (::isatty(STDERR_FILENO) != 1) return;
  std::string text = short_number(static_cast<double>(filter.size()), "keys") + ", " +
                     short_number(static_cast<double>(filter.memory_bytes()), "B") + ", ";
  std::array<char, 96> numbers{};
  if (filter.size() > 0) {
    std::snprintf(
        numbers.data(), numbers.size(), "%.2f bits per key, ",
        8.0 * static_cast<double>(filter.memory_bytes()) / static_cast<double>(filter.size()));
    text += numbers.data();
  }
  std::snprintf(numbers.data(), numbers.size(), "expected false-positive rate %.3g",
                filter.expected_fpr());
  complain(file, text + numbers.data());
}

}  // namespace nestline::command
