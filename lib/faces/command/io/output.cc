#include "lib/faces/command/io/output.h"

#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <utility>

#include "lib/faces/command/io/errors.h"
#include "lib/system/posix.h"

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

constexpr std::size_t kOutputBufferBytes = std::size_t{1} << 18;

}  // namespace

Output::Output(int descriptor)
    : descriptor_(descriptor),
      buffer_(std::make_unique_for_overwrite<char[]>(kOutputBufferBytes)) {}

void Output::write(std::string_view bytes) {
  if (bytes.size() > kOutputBufferBytes - used_) flush();
  if (bytes.size() > kOutputBufferBytes) {
    write_through(bytes);
    return;
  }
  if (bytes.empty()) return;
  std::memcpy(buffer_.get() + used_, bytes.data(), bytes.size());
  used_ += bytes.size();
}

void Output::flush() {
  const std::size_t used = std::exchange(used_, 0);
  write_through({buffer_.get(), used});
}

void Output::write_through(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto written =
        uninterrupted([&] { return ::write(descriptor_, bytes.data(), bytes.size()); });
    if (written < 0) {
      throw CommandError(descriptor_ == STDERR_FILENO ? "standard error" : "standard output",
                         error_text(errno));
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void print(std::string_view text) {
  Output output;
  output.write(text);
  output.flush();
}

// save() writes into pipes and devices; it replaces other files, so their folder must be writable.
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

}}}  // namespace nestline::command
