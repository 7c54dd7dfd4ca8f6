// Writes files of every width and kind beside the library's answers, for the tests of readers in
// other languages.
//
//   make_files FOLDER     makes it if need be
//
// NAME.nest is the file. NAME.answers has a byte for each of kAsked integers (0, 1, 2...), then
// strings and hashes (both as in golden.h): of a filter how many copies of the key there may be, of
// an expiring filter how many ticks it has left, the present one included, of a maplet how many
// candidates it has, which follow, the lowest first, in 8 bytes each, little-endian. strings.hashes
// has the XXH3 of the strings of 0 to kLongest bytes 0, 7, 14... (mod 256), without a seed and with
// kSeed, in 8 bytes each.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <ios>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "nestline/expiring_filter.h"
#include "nestline/filter.h"
#include "nestline/io.h"
#include "nestline/keys.h"
#include "nestline/maplet.h"
#include "tests/filters/file/format_tools.h"
#include "tests/filters/file/golden.h"

namespace {

namespace fs = std::filesystem;
namespace golden = nestline::golden;
using nestline::format_tools::make_empty_expiring_file;
using nestline::format_tools::make_empty_file;

constexpr std::uint64_t kAsked = 340'000;  // of each kind of key
constexpr std::size_t kLongest = 2100;     // bytes of a string
constexpr std::uint64_t kSeed = 0x9e3779b97f4a7c15;
constexpr std::uint64_t kBases = 2500;  // blocks; files that have grown have several sections

// Calls ask(key) for kAsked integers, strings and hashes.
template <class Ask>
void each_key(Ask ask) {
  for (std::uint64_t i = 0; i < kAsked; ++i) ask(i);
  for (std::uint64_t i = 0; i < kAsked; ++i) ask(golden::string(i));
  for (std::uint64_t i = 0; i < kAsked; ++i) ask(golden::hash(i));
}

// Calls insert(key, i) with keys of each kind, some of them twice, until `count` calls were made.
template <class Insert>
void fill(std::uint64_t count, Insert insert) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t key = i - (i % 7 == 6 ? 3 : 0);
    if (key % 3 == 0) insert(key, i);
    if (key % 3 == 1) insert(golden::string(key), i);
    if (key % 3 == 2) insert(golden::hash(key), i);
  }
}

void put64(std::string& to, std::uint64_t number) {
  for (unsigned shift = 0; shift < 64; shift += 8) to += static_cast<char>(number >> shift);
}

void write(const fs::path& path, const std::string& content) {
  std::ofstream stream(path, std::ios::binary);
  stream.write(content.data(), static_cast<std::streamsize>(content.size()));
  if (!stream.flush()) throw std::runtime_error(path.string() + ": cannot be written");
}

void write_hashes(const fs::path& folder) {
  std::string text, hashes;
  for (std::size_t size = 0; size <= kLongest; ++size) {
    for (const std::uint64_t seed : {std::uint64_t{0}, kSeed}) {
      put64(hashes, nestline::hash_key(std::string_view(text), seed).value);
    }
    text += static_cast<char>(size * 7 & 0xff);
  }
  write(folder / "strings.hashes", hashes);
}

// Some have small heads: those that have grown once, and one of the expiring filters.
template <class Saved>
void write(const fs::path& path, const Saved& saved, const std::string& answers) {
  const std::string name = path.filename().string();
  const bool is_small = name.ends_with("_1") || name == "e44";
  save(saved, {path.string() + ".nest", is_small ? nestline::Head::compact : nestline::Head::page});
  write(path.string() + ".answers", answers);
}

void write_filter(const fs::path& folder, std::uint32_t bits, std::uint32_t growth,
                  std::uint32_t hash_version) {
  auto filter =
      nestline::Filter::load(make_empty_file({bits, kBases, growth, 5, 0, 100, 0, hash_version}));
  fill(filter.slots() * 93 / 100,
       [&](const auto& key, std::uint64_t) { (void)filter.insert(key); });
  std::string answers;
  each_key([&](const auto& key) { answers += static_cast<char>(filter.count(key)); });
  const std::string name = (hash_version == 4 ? "t" : "w") + std::to_string(bits);
  write(folder / (name + "_" + std::to_string(growth)), filter, answers);
}

void write_expiring(const fs::path& folder, std::uint32_t layout) {
  auto filter = nestline::ExpiringFilter::load(make_empty_expiring_file(
      {layout, kBases, 0, 6, 0, 100, 0}, {~std::uint64_t{3}, 11, ~std::uint64_t{9}, 0, 0}));
  const std::uint64_t each = filter.slots() / 14;
  fill(20 * each, [&](const auto& key, std::uint64_t i) {
    (void)filter.insert(key, static_cast<unsigned>(4 + i % 8));
    if (i % each == each - 1) filter.advance();
  });
  std::string answers;
  each_key([&](const auto& key) {
    answers += static_cast<char>(filter.may_contain(key) ? 1 + filter.remaining_ticks(key) : 0);
  });
  write(folder / ("e" + std::to_string(layout)), filter, answers);
}

void write_maplet(const fs::path& folder, std::uint32_t layout, std::uint32_t growth) {
  auto maplet = nestline::Maplet::load(make_empty_file({layout, kBases, growth, 7, 0, 100, 0}));
  fill(maplet.slots() * 85 / 100, [&](const auto& key, std::uint64_t i) {
    (void)maplet.insert(key, (i * 0x9e3779b97f4a7c15u) & maplet.max_value());
  });
  std::string answers;
  each_key([&](const auto& key) {
    std::array<std::uint64_t, nestline::Maplet::kMaxCandidates> values;
    const std::size_t count = maplet.find(key, values);
    std::sort(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count));
    answers += static_cast<char>(count);
    for (std::size_t v = 0; v < count; ++v) put64(answers, values[v]);
  });
  write(folder / ("m" + std::to_string(layout) + "_" + std::to_string(growth)), maplet, answers);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_files FOLDER\n");
    return 2;
  }
  try {
    fs::create_directories(argv[1]);
    write_hashes(argv[1]);
    for (const std::uint32_t bits : {8u, 9u, 10u, 12u, 16u}) {
      for (const std::uint32_t growth : {0u, 3u}) {
        for (const std::uint32_t hash_version : {2u, 4u})
          write_filter(argv[1], bits, growth, hash_version);
      }
    }
    for (const std::uint32_t layout : {40u, 44u}) write_expiring(argv[1], layout);
    for (const std::uint32_t layout : {20u, 136u, 140u, 264u, 268u, 528u}) {
      for (const std::uint32_t growth : {0u, 2u}) write_maplet(argv[1], layout, growth);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
