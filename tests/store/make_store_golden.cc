// Writes the golden stores of golden_store.h. Only for a new version of the format: the existing
// ones are then the test that the old version is still read.
//
//   make_store_golden FOLDER     FOLDER is tests/store; golden/first and golden/second below it are
//   made
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
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
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_store_golden FOLDER\n");
    return 2;
  }
  try {
    const fs::path golden = fs::path(argv[1]) / "golden";
    const auto machine = SimulatedMachine::make(1);
    golden::Records records;
    golden::change(*machine, records, [](auto twin) { golden::begin(twin); });
    write(golden / "first", machine->files());
    // As the test begins: with these files and nothing else.
    const auto again = SimulatedMachine::make(1);
    for (const auto& [name, bytes] : machine->files()) again->set_file(name, bytes);
    golden::change(*again, records, [](auto twin) { golden::go_on(twin); });
    write(golden / "second", again->files());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
