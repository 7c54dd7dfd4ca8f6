// Writes the golden files, and the seeds of the fuzz targets. Run it when a file is missing. It
// does not change existing golden files (golden.h says why).
//
//   make_corpus FOLDER     FOLDER is tests/; file/golden/ and fuzz/corpus/ below it are made
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
#include <string>

#include "nestline/io.h"
#include "nestline/maplet.h"
#include "tests/filters/file/format_tools.h"
#include "tests/filters/file/golden.h"

namespace {

namespace fs = std::filesystem;
using nestline::format_tools::Bytes;

void write(const fs::path& path, std::span<const char> content, bool replace) {
  if (!replace && fs::exists(path)) return;
  fs::create_directories(path.parent_path());
  std::ofstream stream(path, std::ios::binary);
  stream.write(content.data(), static_cast<std::streamsize>(content.size()));
  if (!stream.flush()) throw std::runtime_error(path.string() + ": cannot be written");
  std::printf("%s\n", path.c_str());
}

void write(const fs::path& path, const Bytes& bytes, bool replace) {
  write(path, std::span(reinterpret_cast<const char*>(bytes.data()), bytes.size()), replace);
}

template <class Saved>
Bytes bytes_of(const Saved& one) {
  Bytes bytes;
  save(one, [&](std::span<const std::byte> part) {
    bytes.insert(bytes.end(), part.begin(), part.end());
  });
  return bytes;
}

void make_golden(const fs::path& folder) {
  for (const auto& golden : nestline::golden::kGoldens) {
    const nestline::Filter filter = nestline::golden::build(golden);
    write(folder / (std::string(golden.name) + ".nest"), bytes_of(filter), false);
    const std::string answers = nestline::golden::answers(filter);
    write(folder / (std::string(golden.name) + ".answers"), answers, false);
  }
  for (const auto& golden : nestline::golden::kExpiringGoldens) {
    const nestline::ExpiringFilter filter = nestline::golden::build(golden);
    write(folder / (std::string(golden.name) + ".nest"), bytes_of(filter), false);
    const std::string answers = nestline::golden::expiring_answers(filter);
    write(folder / (std::string(golden.name) + ".answers"), answers, false);
  }
  for (const auto& golden : nestline::golden::kMapletGoldens) {
    const nestline::Maplet maplet = nestline::golden::build(golden);
    write(folder / (std::string(golden.name) + ".nest"), bytes_of(maplet), false);
    const std::string answers = nestline::golden::maplet_answers(maplet);
    write(folder / (std::string(golden.name) + ".answers"), answers, false);
  }
  // With small heads: the same filters, so the same answers.
  for (const std::string name : nestline::golden::kSmallGoldens) {
    const auto read = [&](const char* end) {
      std::ifstream stream(folder / (name + end), std::ios::binary);
      return std::string{std::istreambuf_iterator<char>(stream), {}};
    };
    const std::string file = read(".nest");
    const auto bytes = std::as_bytes(std::span(file.data(), file.size()));
    write(folder / (name + "_small.nest"),
          nestline::format_tools::small_of({bytes.begin(), bytes.end()}), false);
    write(folder / (name + "_small.answers"), read(".answers"), false);
  }
}

// One whole file, and for each width the short form that fuzz_from_bytes.cc turns into a file: what
// to repair, header bytes 8 to 79, blocks.
void make_from_bytes(const fs::path& folder) {
  using namespace nestline::format_tools;
  const auto write_compact = [&](const std::string& name, std::byte repair, const Bytes& file) {
    Bytes compact = {repair};
    compact.insert(compact.end(), file.begin() + 8, file.begin() + kFieldsEnd);
    compact.insert(compact.end(), file.begin() + kHeader,
                   file.begin() + static_cast<long>(kHeader + block_bytes(file)));
    write(folder / ("compact_" + name), compact, true);
  };
  for (const std::uint32_t bits : {8u, 9u, 10u, 12u, 16u}) {
    nestline::Filter turns =
        nestline::Filter::load(make_empty_file({bits, 64, 0, 3, 0, 1900, 0, 3}));
    for (std::uint64_t key = 0; turns.insert(key); ++key) continue;
    write_compact(std::to_string(bits) + "_turns_over", std::byte{0x1f}, bytes_of(turns));
    for (const std::uint32_t growth : {0u, 1u}) {
      nestline::Filter filter =
          nestline::Filter::load(make_empty_file({bits, 2, growth, 3, 0, 50, 0}));
      for (std::uint64_t key = 0; key < 50; ++key) (void)filter.insert(key);
      const Bytes file = bytes_of(filter);
      const std::string name = std::to_string(bits) + (growth == 0 ? "" : "_grown");
      write_compact(name, std::byte{0x0f}, file);
      if (bits == 12 && growth == 0) write(folder / ("whole_" + name), file, true);
      write_compact("small_" + name, std::byte{0x2f}, file);
      if (growth == 0) write(folder / ("whole_small_" + name), small_of(file), true);
    }
  }
  // Maplets of every layout, by the numbers of files.
  for (const std::uint32_t layout : {20u, 136u, 140u, 264u, 268u, 528u}) {
    for (const std::uint32_t growth : {0u, 1u}) {
      nestline::Maplet maplet =
          nestline::Maplet::load(make_empty_file({layout, 2, growth, 3, 0, 16, 0}));
      for (std::uint64_t key = 0; key < 50; ++key) (void)maplet.insert(key / 2, key % 16);
      write_compact("maplet_" + std::to_string(layout) + (growth == 0 ? "" : "_grown"),
                    std::byte{0x0f}, bytes_of(maplet));
      if (growth == 0) {
        write(folder / ("whole_small_maplet_" + std::to_string(layout)), small_of(bytes_of(maplet)),
              true);
      }
    }
  }
}

// Width, capacity and seed, then operations: see fuzz_operations.cc. Every operation comes up, with
// keys of all kinds, in filters that are small enough to be full.
void make_operations(const fs::path& folder) {
  for (unsigned seed = 0; seed < 13; ++seed) {
    std::string input = {static_cast<char>(seed < 9 ? seed % 3 : 119 + seed),
                         static_cast<char>(seed * 10), static_cast<char>(seed)};
    std::uint32_t state = seed + 1;
    for (unsigned i = 0; i < 150; ++i) {
      state = state * 1664525 + 1013904223;
      // Mostly inserts at first, then anything.
      const unsigned operation = i < 90 && state >> 30 != 0 ? 0 : state >> 24;
      input += static_cast<char>(operation);
      input += static_cast<char>(state >> 16);
    }
    write(folder / ("mixed_" + std::to_string(seed)), input, true);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_corpus FOLDER\n");
    return 2;
  }
  try {
    const fs::path folder = argv[1];
    make_golden(folder / "file/golden");
    make_from_bytes(folder / "fuzz/corpus/from_bytes");
    make_operations(folder / "fuzz/corpus/operations");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
