// The golden files: filters of fixed content for each width and kind, kept as
// tests/filters/file/golden/NAME.nest beside the library's answers in NAME.answers. make_corpus.cc
// wrote them; they are never written again, since every later version must read them and give the
// same answers. file_format_test.cc checks the library with them, and format_test.py the reader
// that was written from FORMAT.md.
#ifndef NESTLINE_TESTS_FILTERS_FILE_GOLDEN_H_
#define NESTLINE_TESTS_FILTERS_FILE_GOLDEN_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "nestline/expiring_filter.h"
#include "nestline/filter.h"
#include "nestline/io.h"
#include "nestline/maplet.h"
#include "tests/filters/file/format_tools.h"

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

// Nearly full, so that fingerprints are displaced and away from home; some have grown. Those named
// t and u turn over, which needs 64 blocks, t of hash version 3 and u of 4; k16 names kinds of
// keys: number, date and rows of text.
inline constexpr std::array<Golden, 11> kGoldens = {{
    {"w8", {8, 3, 0, 0x0123456789abcdef, 0, 140, 0}, 90, 60, 22},
    {"w12", {12, 3, 0, 0xfedcba9876543210, 0, 95, 0}, 60, 40, 14},
    {"w16", {16, 3, 0, 42, 0, 70, 0}, 45, 30, 9},
    {"w12_grown", {12, 3, 2, 7, 0, 410, 900}, 230, 150, 30},
    {"w9", {9, 3, 0, 0x0f1e2d3c4b5a6978, 0, 120, 0}, 75, 55, 18},
    {"w10", {10, 3, 1, 10, 0, 230, 0}, 140, 90, 25},
    {"t8", {8, 65, 0, 0x0123456789abcdef, 0, 3600, 0, 3}, 2000, 1200, 460},
    {"t12_grown", {12, 64, 1, 11, 0, 4700, 0, 3}, 2500, 1600, 620},
    {"k16", {16, 3, 0, 43, 0, 70, 0, 2, 0x00020411}, 45, 30, 9},
    {"u8", {8, 65, 0, 0x0123456789abcdef, 0, 3600, 0, 4}, 2000, 1200, 460},
    {"u12_grown", {12, 64, 1, 11, 0, 4700, 0, 4}, 2500, 1600, 620},
}};

// Those of all kinds that are kept with a small head too, as NAME_small.
inline constexpr std::array<const char*, 4> kSmallGoldens = {"w12_grown", "k16", "m268_grown",
                                                             "e44"};

// Evictions use other slots than when these were written, as docs/VERSIONS.md allows: the checksums
// of the files that are built now.
struct BuiltOtherwise {
  std::string_view name;
  std::uint64_t checksum;
};
inline constexpr std::array<BuiltOtherwise, 4> kBuiltOtherwise = {{
    {"t8", 0x7042b8bdd2988d2e},
    {"t12_grown", 0x81fd078091c5d75b},
    {"m268_grown", 0xdbb0234a0c960ae0},
    {"e44", 0x1d1c6fa1946ed16a},
}};
// Of the file that is built now where `file` is the golden one.
inline std::uint64_t checksum_of_built(std::string_view name, std::span<const std::byte> file) {
  for (const BuiltOtherwise& built : kBuiltOtherwise) {
    if (built.name == name) return built.checksum;
  }
  return format_tools::checksum(file);
}

inline constexpr std::uint64_t kAsked = 4096;  // keys of each kind whose answers are kept

inline Hash hash(std::uint64_t i) { return {(i + 1) * 0x9e3779b97f4a7c15u}; }
inline std::string string(std::uint64_t i) { return "key-" + std::to_string(i); }

inline Filter build(const Golden& golden) {
  Filter filter = Filter::load(format_tools::make_empty_file(golden.fields));
  for (std::uint64_t i = 0; i < golden.integers; ++i) (void)filter.insert(i);
  for (std::uint64_t i = 0; i < golden.strings; ++i) (void)filter.insert(string(i));
  for (std::uint64_t i = 0; i < golden.hashes; ++i) (void)filter.insert(hash(i));
  return filter;
}

// Expiring filters that have turned over, with keys of every age: e40 with dead keys that no sweep
// has passed yet, e44 in the middle of a sweep.
struct ExpiringGolden {
  const char* name;
  format_tools::Fields fields;
  format_tools::Times times;  // at the beginning, without keys
  std::uint64_t ticks;        // that follow
  std::uint64_t integers;     // keys of each kind that are inserted in a tick
  std::uint64_t strings;
  std::uint64_t hashes;
  std::uint64_t last;  // more integers in the last tick
};
inline void PrintTo(const ExpiringGolden& golden, std::ostream* out) { *out << golden.name; }

inline constexpr std::array<ExpiringGolden, 2> kExpiringGoldens = {{
    {"e40", {40, 3, 0, 0x0123456789abcdef, 0, 108, 0}, {27, 14, 20, 3, 0}, 19, 4, 3, 1, 5},
    {"e44", {44, 70, 0, 99, 0, 1890, 0}, {1'000'000, 12, 999'990, 70, 0}, 20, 78, 56, 17, 80},
}};

inline ExpiringFilter build(const ExpiringGolden& golden) {
  ExpiringFilter filter =
      ExpiringFilter::load(format_tools::make_empty_expiring_file(golden.fields, golden.times));
  for (std::uint64_t tick = 0; tick < golden.ticks; ++tick) {
    const auto insert = [&](std::uint64_t count, auto key) {
      for (std::uint64_t i = 0; i < count; ++i) {
        const auto life = static_cast<unsigned>(golden.times.life - i % 4);
        (void)filter.insert(key(tick * count + i), life);
      }
    };
    insert(golden.integers, [](std::uint64_t i) { return i; });
    insert(golden.strings, string);
    insert(golden.hashes, hash);
    // Renewals, also of keys that are away.
    for (std::uint64_t i = 0; tick >= 6 && i < golden.integers; i += 2) {
      (void)filter.insert((tick - 6) * golden.integers + i, 9);
    }
    filter.advance();
  }
  for (std::uint64_t i = 0; i < golden.last; ++i) (void)filter.insert(3000 + i);
  return filter;
}

// A maplet of 12 + 8 bits that has grown, with pairs away and some keys with several values.
struct MapletGolden {
  const char* name;
  format_tools::Fields fields;
  std::uint64_t integers;  // keys of each kind that are inserted, each third one twice
  std::uint64_t strings;
  std::uint64_t hashes;
};
inline void PrintTo(const MapletGolden& golden, std::ostream* out) { *out << golden.name; }

inline constexpr std::array<MapletGolden, 1> kMapletGoldens = {{
    {"m268_grown", {268, 17, 1, 0x0123456789abcdef, 0, 760, 0}, 300, 180, 90},
}};

// The values of key number i of a kind.
inline std::uint64_t golden_value(std::uint64_t i) { return i * 37 & 0xff; }

inline Maplet build(const MapletGolden& golden) {
  Maplet maplet = Maplet::load(format_tools::make_empty_file(golden.fields));
  const auto insert = [&](std::uint64_t count, auto key) {
    for (std::uint64_t i = 0; i < count; ++i) {
      (void)maplet.insert(key(i), golden_value(i));
      if (i % 3 == 0) (void)maplet.insert(key(i), golden_value(i + 1));
    }
  };
  insert(golden.integers, [](std::uint64_t i) { return i; });
  insert(golden.strings, string);
  insert(golden.hashes, hash);
  return maplet;
}

// Three lines, for integers, strings and hashes: a hexadecimal digit for four keys, the first key
// being its lowest bit. F: any kind of filter.
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

// Of expiring filters a fourth line follows: a digit for each integer, the ticks that it has left.
// F: ExpiringFilter or MappedExpiringFilter.
template <typename F>
std::string expiring_answers(const F& filter) {
  std::string text = answers(filter);
  for (std::uint64_t i = 0; i < kAsked; ++i) text += "0123456789abcdef"[filter.remaining_ticks(i)];
  return text + '\n';
}

// Of maplets three lines of other kind: for each key its candidates, the lowest first, as
// hexadecimal numbers, and a semicolon. F: Maplet or MappedMaplet.
template <typename F>
std::string maplet_answers(const F& maplet) {
  std::string text;
  const auto add_line = [&](auto key) {
    for (std::uint64_t i = 0; i < kAsked; ++i) {
      std::array<std::uint64_t, Maplet::kMaxCandidates> values;
      const std::size_t count = maplet.find(key(i), values);
      std::sort(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count));
      for (std::size_t v = 0; v < count; ++v) {
        if (v != 0) text += ' ';
        text += "0123456789abcdef"[values[v] / 16];
        text += "0123456789abcdef"[values[v] % 16];
      }
      text += ';';
    }
    text += '\n';
  };
  add_line([](std::uint64_t i) { return i; });
  add_line(string);
  add_line(hash);
  return text;
}

}  // namespace nestline::golden

#endif  // NESTLINE_TESTS_FILTERS_FILE_GOLDEN_H_
