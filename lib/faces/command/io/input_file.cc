#include "lib/faces/command/io/input_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <ios>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/faces/command/io/errors.h"

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

constexpr std::size_t kInputBufferBytes = std::size_t{1} << 18;

// Of a regular file.
std::optional<struct stat> status_of(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return status;
}

std::optional<struct stat> status_of(const std::string& input) {
  if (input == "-") return status_of(STDIN_FILENO);
  struct stat status {};
  if (::stat(input.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return status;
}

std::optional<FileId> id_of(const std::optional<struct stat>& status) {
  if (!status) return std::nullopt;
  return FileId{status->st_dev, status->st_ino};
}

// Whether the bytes of this number begin a regular file that can be read.
bool begins_with(const std::string& file, std::uint64_t magic) {
  if (!regular_file(file)) return false;  // opening a named pipe would wait for a writer
  std::array<unsigned char, sizeof(magic)> begin{};
  std::ifstream stream(file, std::ios::binary);
  if (!stream.read(reinterpret_cast<char*>(begin.data()), begin.size())) return false;
  return std::ranges::all_of(
      begin, [&](unsigned char byte) { return byte == std::exchange(magic, magic >> 8) % 256; });
}

}  // namespace

std::optional<FileId> regular_file(int descriptor) { return id_of(status_of(descriptor)); }
std::optional<FileId> regular_file(const std::string& input) { return id_of(status_of(input)); }

bool is_state(const std::string& file) { return begins_with(file, kStateMagic); }
bool is_named_lines(const std::string& file) { return begins_with(file, kNamedLinesMagic); }

bool is_input(const std::string& file, const std::vector<std::string>& inputs) {
  const auto id = regular_file(file);
  const auto is = [&](const std::string& input) { return id && regular_file(input) == id; };
  return inputs.empty() ? is("-") : std::ranges::any_of(inputs, is);
}

std::optional<std::uint64_t> bytes_left(const std::string& input) {
  const auto status = status_of(input);
  if (!status) return std::nullopt;
  const off_t offset = input == "-" ? ::lseek(STDIN_FILENO, 0, SEEK_CUR) : 0;
  if (offset < 0 || offset > status->st_size) return std::nullopt;
  return static_cast<std::uint64_t>(status->st_size - offset);
}

InputFile::InputFile(const std::string& name)
    : name_(name == "-"    ? "standard input"
            : name.empty() ? "''"
                           : name),
      descriptor_(STDIN_FILENO) {
  if (name == "-") return;
  descriptor_ = file_.emplace(name, O_RDONLY).number();
  if (descriptor_ < 0) throw CommandError(name_, error_text(errno));
  static_cast<void>(::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL));  // a hint
}

std::size_t InputFile::read(std::span<char> to) {
  if (begin_ == end_) {
    if (to.size() >= kInputBufferBytes) return read_through(to);
    if (!fill()) return 0;
  }
  const std::size_t size = std::min(to.size(), end_ - begin_);
  std::copy_n(buffer_.get() + begin_, size, to.data());
  begin_ += size;
  return size;
}

std::size_t InputFile::read_all(std::span<char> to) {
  std::size_t size = 0;
  while (size < to.size()) {
    const std::size_t got = read(to.subspan(size));
    if (got == 0) break;
    size += got;
  }
  return size;
}

bool InputFile::fill() {
  if (buffer_ == nullptr) buffer_ = std::make_unique_for_overwrite<char[]>(kInputBufferBytes);
  begin_ = end_ = 0;
  end_ = read_through({buffer_.get(), kInputBufferBytes});
  return end_ > 0;
}

std::size_t InputFile::read_through(std::span<char> to) {
  const auto got = uninterrupted([&] { return ::read(descriptor_, to.data(), to.size()); });
  if (got < 0) throw CommandError(name_, error_text(errno));
  read_ += static_cast<std::uint64_t>(got);
  return static_cast<std::size_t>(got);
}

std::optional<std::uint64_t> total_bytes(std::span<const std::string> inputs) {
  std::uint64_t total = 0;
  for (const std::string& input : inputs) {
    const auto bytes = bytes_left(input);
    if (!bytes) return std::nullopt;
    total += *bytes;
  }
  return total;
}

std::string read_all(const std::string& name, std::size_t most, const char* what) {
  InputFile input(name);
  std::string bytes;
  // Of what is reserved and not read nothing is in memory.
  const std::uint64_t known = total_bytes(std::span(&name, 1)).value_or(0);
  bytes.reserve(std::min<std::uint64_t>(known, most) + kInputBufferBytes);
  while (true) {
    const std::size_t before = bytes.size();
    bytes.resize(before + kInputBufferBytes);
    const std::size_t size = before + input.read_all(std::span(bytes).subspan(before));
    if (size > most) {
      throw CommandError(input.name(),
                         "has more than the " + std::to_string(most) + " bytes that " + what);
    }
    if (size == bytes.size()) continue;
    bytes.resize(size);
    return bytes;
  }
}

}}}  // namespace nestline::command
