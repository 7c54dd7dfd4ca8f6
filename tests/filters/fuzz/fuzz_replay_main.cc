// Runs a fuzz target on stored inputs, in builds without libFuzzer.
//
//   fuzz_from_bytes FILE_OR_FOLDER...
//
// Every file, and every file of every folder, is given to LLVMFuzzerTestOneInput once, in the order
// of the names. A wrong answer ends the program from inside the target. A path that is missing or
// a folder without files is an error, so that a test cannot pass by running nothing.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <span>
#include <stdexcept>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> inputs_of(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const fs::directory_entry& file : fs::directory_iterator(path)) {
    if (file.is_regular_file()) files.push_back(file.path());
  }
  if (files.empty()) throw std::runtime_error(path.string() + ": no files in this folder");
  std::sort(files.begin(), files.end());
  return files;
}

void run(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw std::runtime_error(path.string() + ": cannot be opened");
  // The size is exact, so that a sanitizer sees a read past the end.
  const std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
  if (stream.bad()) throw std::runtime_error(path.string() + ": cannot be read");
  std::vector<std::uint8_t> input(bytes.begin(), bytes.end());
  input.shrink_to_fit();
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
  if (arguments.size() < 2) {
    std::fprintf(stderr, "usage: %s FILE_OR_FOLDER...\n", arguments.empty() ? "" : arguments[0]);
    return 2;
  }
  try {
    std::size_t count = 0;
    for (const char* argument : arguments.subspan(1)) {
      for (const fs::path& file : inputs_of(argument)) {
        // Named before it runs: the last name printed is the input that fails.
        std::printf("%s\n", file.c_str());
        std::fflush(stdout);
        run(file);
        ++count;
      }
    }
    std::printf("%zu inputs\n", count);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
