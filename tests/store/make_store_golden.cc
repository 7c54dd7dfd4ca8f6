// Writes a golden store of golden_store.h: what this version makes of the first one. Only when what
// is written changes: the existing ones are then the test that it is still read.
//
//   make_store_golden FOLDER NAME     FOLDER is tests/store; golden/NAME below it is made
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <ios>
#include <stdexcept>

#include "tests/store/golden_store.h"

namespace {

namespace fs = std::filesystem;
using namespace nestline::test;

void write(const fs::path& folder, const golden::Files& files) {
  if (!fs::create_directories(folder))
    throw std::runtime_error(folder.string() + ": is there already");
  for (const auto& [name, bytes] : files) {
    std::ofstream stream(folder / name, std::ios::binary);
    stream.write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
    if (!stream.flush()) throw std::runtime_error((folder / name).string() + ": cannot be written");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: make_store_golden FOLDER NAME\n");
    return 2;
  }
  try {
    const auto machine = SimulatedMachine::with_files(golden::read(argv[1], "first"));
    golden::Records records;
    golden::change(*machine, records, [](auto twin) { golden::go_on(twin); });
    write(fs::path(argv[1]) / "golden" / argv[2], machine->files());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
