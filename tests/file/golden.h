// The golden files: filters of fixed content for each width, kept as tests/file/golden/NAME.nest
// beside the library's answers in NAME.answers. make_corpus.cc wrote them; they are never written
// again, since every later version must read them and give the same answers. file_format_test.cc
// checks the library with them, and format_test.py the reader that was written from FORMAT.md.
#ifndef NESTLINE_TESTS_FILE_GOLDEN_H_
#define NESTLINE_TESTS_FILE_GOLDEN_H_

#include <array>
#include <cstdint>
#include <ostream>
#include <string>

#include "nestline/filter.h"
#include "nestline/io.h"
#include "tests/file/format_tools.h"

namespace nestline::golden {

struct Golden {
  const char* name;
  format_tools::Fields fields;
  std::uint64_t integers;  // keys of each kind that are inserted: 0, 1, 2...
  std::uint64_t strings;   // "key-0", "key-1"...
  std::uint64_t hashes;    // hash(0), hash(1)...
};

// How GoogleTest shows it.
inline void PrintTo(const Golden& golden, std::ostream* out) { *out << golden.name; }

// Nearly full, so that fingerprints are displaced and away from home; the last one has grown twice.
inline constexpr std::array<Golden, 4> kGoldens = {{
    {"w8", {8, 3, 0, 0x0123456789abcdef, 0, 140, 0}, 90, 60, 22},
    {"w12", {12, 3, 0, 0xfedcba9876543210, 0, 95, 0}, 60, 40, 14},
    {"w16", {16, 3, 0, 42, 0, 70, 0}, 45, 30, 9},
    {"w12_grown", {12, 3, 2, 7, 0, 410, 900}, 230, 150, 30},
}};

inline constexpr std::uint64_t kAsked = 4096;  // keys of each kind whose answers are kept

inline Hash hash(std::uint64_t i) { return {(i + 1) * 0x9e3779b97f4a7c15u}; }
inline std::string string(std::uint64_t i) { return "key-" + std::to_string(i); }

inline Filter build(const Golden& golden) {
  Filter filter = from_bytes(format_tools::make_empty_file(golden.fields));
  for (std::uint64_t i = 0; i < golden.integers; ++i) (void)filter.insert(i);
  for (std::uint64_t i = 0; i < golden.strings; ++i) (void)filter.insert(string(i));
  for (std::uint64_t i = 0; i < golden.hashes; ++i) (void)filter.insert(hash(i));
  return filter;
}

// Three lines, for integers, strings and hashes: a hexadecimal digit for four keys, the first key
// being its lowest bit. F: Filter or MappedFilter.
template <typename F>
std::string answers(const F& filter) {
  std::string text;
  const auto add_line = [&](auto key) {
    for (std::uint64_t i = 0; i < kAsked; i += 4) {
      unsigned digit = 0;
      for (unsigned k = 0; k < 4; ++k) digit |= unsigned{filter.may_contain(key(i + k))} << k;
      text += "0123456789abcdef"[digit];
    }
    text += '\n';
  };
  add_line([](std::uint64_t i) { return i; });
  add_line(string);
  add_line(hash);
  return text;
}

}  // namespace nestline::golden

#endif  // NESTLINE_TESTS_FILE_GOLDEN_H_
