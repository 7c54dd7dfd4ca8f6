// Fuzz target: any bytes as files of a store, which throws a StoreError or works (hostile_files.h).
// The input is the bytes of the first file, and steps that make right files (log_script.h).
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>

#include "lib/store/log_format.h"
#include "tests/store/hostile_files.h"
#include "tests/store/log_script.h"

namespace {

using namespace nestline::test;

void try_files(const HostileFiles& files) {
  try {
    (void)try_hostile_files(files);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span input(data, size);
  const auto bytes = std::as_bytes(input);
  if (size >= nestline::kSegmentHeaderBytes && data[0] == 'n') {
    try_files({{nestline::segment_name(1), {bytes.begin(), bytes.end()}}});
  } else {
    try_files(LogScript(input).run());
  }
  return 0;
}
