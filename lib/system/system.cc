#include "lib/system/system.h"

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "nestline/format_error.h"

namespace nestline { inline namespace v0_3 {

std::string temporary_name() {
  constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuv";
  std::random_device random;
  std::string name = ".nestline-";
  for (int i = 0; i < 16; ++i) name += kDigits[random() % kDigits.size()];
  return name + ".tmp";
}

void refuse_pipe(const std::string& name) {
  throw FormatError(name, 0,
                    "this is a pipe or a device, but a filter is read from a file; copy it into "
                    "one first");
}

void refuse_shorter(const std::string& name, std::uint64_t offset) {
  throw FormatError(name, offset, "the file became shorter while it was read");
}

}}  // namespace nestline
