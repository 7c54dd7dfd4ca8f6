// The buffer and write(2); see output.h.
#include "lib/command/io/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "lib/command/io/errors.h"

namespace nestline::command {
namespace {

constexpr std::size_t kOutputBufferBytes = std::size_t{1} << 18;

}  // namespace

Output::Output(int descriptor, std::string name)
    : descriptor_(descriptor),
      name_(std::move(name)),
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
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      throw CommandError(name_, error_text(errno));
    }
  }
}

void print(std::string_view text) {
  Output output(STDOUT_FILENO, "standard output");
  output.write(text);
  output.flush();
}

}  // namespace nestline::command
