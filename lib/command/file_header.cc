// See file_header.h.
#include "file_header.h"

#include <array>
#include <cstddef>
#include <fstream>

#include "errors.h"

namespace nestline::command {

FileHeader read_header(const std::string& file) {
  std::array<unsigned char, 80> bytes{};
  std::ifstream stream(file, std::ios::binary);
  if (!stream.read(reinterpret_cast<char*>(bytes.data()), bytes.size())) {
    throw CommandError(file, "the header cannot be read again");
  }
  const auto number = [&](std::size_t offset, std::size_t length) {
    std::uint64_t value = 0;
    for (std::size_t i = length; i > 0; --i) value = value << 8 | bytes[offset + i - 1];
    return value;
  };
  return {number(24, 8), static_cast<std::uint32_t>(number(32, 4)), number(64, 8)};
}

}  // namespace nestline::command
