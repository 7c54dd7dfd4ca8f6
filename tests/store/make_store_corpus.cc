// Writes the kept inputs of the fuzz targets of the store. The existing ones are replaced.
//
//   make_store_corpus FOLDER     FOLDER is tests/; fuzz/corpus/store_* below it are made
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <ios>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/store/checkpoint.h"
#include "lib/store/log_format.h"
#include "lib/store/state.h"
#include "tests/store/log_script.h"
#include "tests/store/on_call.h"
#include "tests/store/simulated_disk.h"

namespace {

namespace fs = std::filesystem;
using namespace nestline;
using namespace nestline::test;

void write(const fs::path& path, std::span<const std::byte> content) {
  fs::create_directories(path.parent_path());
  std::ofstream stream(path, std::ios::binary);
  stream.write(reinterpret_cast<const char*>(content.data()),
               static_cast<std::streamsize>(content.size()));
  if (!stream.flush()) throw std::runtime_error(path.string() + ": cannot be written");
  std::printf("%s\n", path.c_str());
}

// Steps of which most are right: log_script.h.
std::vector<std::uint8_t> steps(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto byte = [&] { return static_cast<std::uint8_t>(random()); };
  std::vector<std::uint8_t> all;
  for (unsigned i = 0; i < 30; ++i) {
    switch (random() % 8) {
      case 0:
        all.push_back(LogScript::kSegment);
        break;
      case 1:
        all.insert(all.end(), {LogScript::kErase, static_cast<std::uint8_t>(random() % 20)});
        break;
      case 2: {
        all.insert(all.end(), {LogScript::kBatch, 2, 8});
        all.insert(all.end(), {LogScript::kPut, 3, byte(), LogScript::kErase, 3});
        all.push_back(LogScript::kBatchEnd);
        break;
      }
      case 3:
        all.insert(all.end(), {LogScript::kMark, static_cast<std::uint8_t>(random() % 20)});
        break;
      default:
        all.insert(all.end(), {LogScript::kPut, static_cast<std::uint8_t>(random() % 20), byte()});
    }
  }
  // The last steps are any, so that most files have something wrong at their end.
  for (std::uint64_t left = seed % 4 * 8; left > 0; --left) all.push_back(byte());
  return all;
}

void make_logs(const fs::path& folder) {
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    const std::vector<std::uint8_t> input = steps(seed);
    write(folder / ("steps_" + std::to_string(seed)), std::as_bytes(std::span(input)));
  }
  const std::vector<std::uint8_t> input = steps(4);
  write(folder / "whole", LogScript(input).run().at(segment_name(1)));
}

void make_checkpoints(const fs::path& folder) {
  const std::vector<std::uint8_t> input = steps(0);
  const auto machine = SimulatedMachine::make(1);
  for (const auto& [name, content] : LogScript(input).run()) machine->set_file(name, content);
  const StoreOptions options = {.expected_records = 8};
  { const Store make = Store::State::open(machine->disk(), options, kOnCall); }
  write(folder / "whole", machine->files().at(std::string(kCheckpointName)));
  std::mt19937_64 random(1);
  for (std::uint8_t what = 0; what < 16; ++what) {
    std::vector<std::uint8_t> changes;
    for (unsigned i = 0; i < 3; ++i) {
      changes.insert(changes.end(), {what, static_cast<std::uint8_t>(random()),
                                     static_cast<std::uint8_t>(random()), 0});
    }
    write(folder / ("change_" + std::to_string(what)), std::as_bytes(std::span(changes)));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_store_corpus FOLDER\n");
    return 2;
  }
  try {
    const fs::path corpus = fs::path(argv[1]) / "fuzz/corpus";
    make_logs(corpus / "store_log");
    make_checkpoints(corpus / "store_checkpoint");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
