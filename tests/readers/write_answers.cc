// Writes files of every kind, width and layout, and beside each what the library answers for a
// million keys, for the tests of readers in other languages.
//
//   write_answers FOLDER     makes it if need be
//
// NAME.nest is a file: filter_WIDTH, the same with _grown (growth 2) and with _turns_over (hash
// version 3), expiring_WIDTH, and maplet_WIDTH, the same with _grown.
//
// NAME.answers has the answers for the keys number 0 to 999,999, one behind the other.
//
//   filter    a byte: how many copies of the key there may be
//   expiring  a byte: 0 if the key is not there, else 1 and the ticks that remain to it
//   maplet    a byte: the number of candidates; then each as a number of 8 bytes, little-endian,
//   the
//             lowest first
//
// Key number i, by the rest of i divided by 3:
//
//   0  the integer i * 0x9e3779b97f4a7c15 mod 2^64
//   1  the string of the decimal digits of i; where 4 divides i, repeated 1 + i mod 199 times
//   2  the hash (i + 1) * 0x9e3779b97f4a7c15 mod 2^64
//
// The keys with even numbers are inserted; from filters, half of these are erased again.
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
#include <utility>
#include <vector>

#include "nestline/expiring_filter.h"
#include "nestline/filter.h"
#include "nestline/io.h"
#include "nestline/keys.h"
#include "nestline/maplet.h"
#include "tests/filters/file/format_tools.h"

namespace {

namespace fs = std::filesystem;
using nestline::Key;
using nestline::format_tools::Fields;

constexpr std::uint64_t kAsked = 1'000'000;
constexpr std::uint64_t kSeed = 0xfedcba9876543210;

// Calls with(key) for key number i.
template <typename With>
void with_key(std::uint64_t i, With with) {
  constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;
  if (i % 3 == 0) return with(Key(i * kStep));
  if (i % 3 == 2) return with(Key(nestline::Hash{(i + 1) * kStep}));
  const std::string digits = std::to_string(i);
  std::string text = digits;
  for (std::uint64_t more = i % 4 == 0 ? i % 199 : 0; more > 0; --more) text += digits;
  with(Key(text));
}

// A filter for so many keys at 93 % load, without keys. A block has `slots` slots.
Fields fields(std::uint32_t width, std::uint64_t slots, std::uint32_t growth, std::uint64_t keys) {
  const std::uint64_t blocks = keys * 100 / 93 / slots >> growth;
  return {width, blocks, growth, kSeed, 0, (blocks << growth) * slots * 9 / 10, 0};
}

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream stream(path, std::ios::binary);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!stream.flush()) throw std::runtime_error(path.string() + ": cannot be written");
}

// Saves the filter or maplet, and what add(answers, key) appends for each key.
template <typename Saved, typename Add>
void write_pair(const fs::path& stem, const Saved& saved, Add add) {
  nestline::save(saved, fs::path(stem.string() + ".nest"));
  std::string answers;
  for (std::uint64_t i = 0; i < kAsked; ++i) with_key(i, [&](Key key) { add(answers, key); });
  write(stem.string() + ".answers", answers);
}

void write_filter(const fs::path& stem, const Fields& fields) {
  auto filter = nestline::Filter::load(nestline::format_tools::make_empty_file(fields));
  for (std::uint64_t i = 0; i < kAsked; i += 2) {
    with_key(i, [&](Key key) { (void)filter.insert(key); });
    if (i < kAsked / 2) continue;
    with_key(i - kAsked / 2, [&](Key key) { (void)filter.erase(key); });
  }
  write_pair(stem, filter, [&](std::string& answers, Key key) {
    answers += static_cast<char>(filter.count(key));
  });
}

// Keys of every age: a sixteenth of them is inserted in each of 16 ticks, so that the first ones
// are dead.
void write_expiring(const fs::path& stem, const Fields& fields) {
  using nestline::format_tools::make_empty_expiring_file;
  auto filter =
      nestline::ExpiringFilter::load(make_empty_expiring_file(fields, {27, 12, 20, 0, 0}));
  for (std::uint64_t i = 0; i < kAsked; i += 2) {
    with_key(i, [&](Key key) { (void)filter.insert(key, static_cast<unsigned>(1 + i % 12)); });
    if (i % (kAsked / 16) == kAsked / 16 - 2) filter.advance();
  }
  write_pair(stem, filter, [&](std::string& answers, Key key) {
    answers += static_cast<char>(filter.may_contain(key) ? 1 + filter.remaining_ticks(key) : 0);
  });
}

void write_maplet(const fs::path& stem, const Fields& fields) {
  auto maplet = nestline::Maplet::load(nestline::format_tools::make_empty_file(fields));
  for (std::uint64_t i = 0; i < kAsked; i += 2) {
    const auto insert = [&](Key key) {
      (void)maplet.insert(key, i * 0x2545f491 & maplet.max_value());
      if (i % 10 == 0) (void)maplet.insert(key, i & maplet.max_value());
    };
    with_key(i, insert);
  }
  write_pair(stem, maplet, [&](std::string& answers, Key key) {
    std::array<std::uint64_t, nestline::Maplet::kMaxCandidates> values{};
    const auto found = std::span(values).first(maplet.find(key, values));
    std::sort(found.begin(), found.end());
    answers += static_cast<char>(found.size());
    for (const std::uint64_t value : found) {
      for (unsigned shift = 0; shift < 64; shift += 8) answers += static_cast<char>(value >> shift);
    }
  });
}

void write_all(const fs::path& folder) {
  fs::create_directories(folder);
  using Width = std::pair<std::uint32_t, std::uint64_t>;  // and the slots of a block
  for (const auto& [width, slots] : {Width(8, 60), {9, 52}, {10, 48}, {12, 40}, {16, 30}}) {
    const std::string name = "filter_" + std::to_string(width);
    write_filter(folder / name, fields(width, slots, 0, kAsked / 4));
    write_filter(folder / (name + "_grown"), fields(width, slots, 2, kAsked / 4));
    Fields turns = fields(width, slots, 0, kAsked / 4);
    turns.hash_version = 3;
    write_filter(folder / (name + "_turns_over"), turns);
  }
  for (const auto& [width, slots] : {Width(40, 40), {44, 30}}) {
    write_expiring(folder / ("expiring_" + std::to_string(width)),
                   fields(width, slots, 0, kAsked / 4));
  }
  for (const auto& [width, slots] :
       {Width(20, 8), {136, 40}, {140, 30}, {264, 30}, {268, 24}, {528, 15}}) {
    const std::string name = "maplet_" + std::to_string(width);
    write_maplet(folder / name, fields(width, slots, 0, kAsked * 6 / 10));
    write_maplet(folder / (name + "_grown"), fields(width, slots, 2, kAsked * 6 / 10));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_answers FOLDER\n");
    return 2;
  }
  try {
    write_all(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "write_answers: %s\n", error.what());
    return 1;
  }
  return 0;
}
