#include "lib/file/sources.h"

#include <sys/stat.h>

#include <stdexcept>

#include "lib/file/file_format.h"

namespace nestline {

// Without O_NONBLOCK, opening a pipe would wait for a writer.
FileSource::FileSource(const std::filesystem::path& path)
    : name_(path.string()), file_(path, O_RDONLY | O_NONBLOCK) {
  if (!file_.is_open()) fail(name_, errno);
  struct stat status {};
  if (::fstat(file_.number(), &status) != 0) fail(name_, errno);
  if (S_ISDIR(status.st_mode)) fail(name_, EISDIR);
  if (!S_ISREG(status.st_mode)) {
    throw FormatError(name_, 0,
                      "this is a pipe or a device, but a filter is read from a file; copy it into "
                      "one first");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

void FileSource::read(std::uint64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const auto count = uninterrupted([&] {
      return ::pread(file_.number(), to.data(), to.size(), static_cast<::off_t>(offset));
    });
    if (count < 0) fail(name_, errno);
    if (count == 0) throw FormatError(name_, offset, "the file became shorter while it was read");
    offset += static_cast<std::uint64_t>(count);
    to = to.subspan(static_cast<std::size_t>(count));
  }
}

std::size_t StreamSource::read_some(std::span<std::byte> to) {
  std::size_t filled = 0;
  while (filled < to.size()) {
    const auto rest = to.subspan(filled);
    const std::size_t count = give_(rest);
    if (count > rest.size()) {
      throw std::invalid_argument("the function that gives the bytes of a filter says it gave " +
                                  std::to_string(count) + " bytes, but it was asked for " +
                                  std::to_string(rest.size()) + " at most");
    }
    if (count == 0) break;
    filled += count;
  }
  offset_ += filled;
  return filled;
}

void StreamSource::read(std::span<std::byte> to, std::uint64_t wanted) {
  if (read_some(to) == to.size()) return;
  const Flaw flaw = ends_too_early(offset_, wanted);
  throw FormatError(name_, flaw.offset, flaw.cause);
}

}  // namespace nestline
