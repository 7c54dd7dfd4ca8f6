// Fuzz target: for any bytes, from_bytes throws a FormatError or makes a filter that works, and
// Maplet::load a maplet. It gives the same bytes back, and takes lookups and changes.
//
// The input is used in three ways, since a fuzzer cannot find checksums by itself:
//   - the input as it is
//   - the input, as long as a file, with its checksums made right
//   - an input without the magic is a short form of a file: a byte that says what is repaired, and
//     whether the head is made small, bytes 8 to 79 of the header, blocks
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "nestline/filter.h"
#include "nestline/io.h"
#include "nestline/maplet.h"
#include "tests/filters/file/format_tools.h"

namespace {

using namespace nestline::format_tools;
using nestline::Filter;
using nestline::Head;
using nestline::Maplet;

void check(bool good) {
  if (!good) std::abort();
}

void use(Filter& filter) {
  std::vector<std::uint64_t> keys(200);
  for (std::uint64_t& key : keys) key = static_cast<std::uint64_t>(&key - keys.data());
  std::vector<std::uint8_t> found(keys.size());
  std::vector<std::uint8_t> copies(keys.size());
  filter.may_contain(keys, found);
  filter.count(keys, copies);
  for (const std::uint64_t key : keys) {
    check(filter.may_contain(key) == (found[key] != 0));
    check(filter.count(key) == copies[key] && (copies[key] != 0) == (found[key] != 0));
  }
  check(filter.expected_fpr() >= 0 && filter.expected_fpr() <= 1);

  std::uint64_t size = filter.size();
  for (const std::uint64_t key : keys) {
    const bool stored = bool{filter.insert(key)};
    size += stored;
    check(!stored || filter.may_contain(key));
  }
  check(filter.size() == size);
  for (const std::uint64_t key : keys) size -= filter.erase(key);
  check(filter.size() == size);
  const Bytes bytes = nestline::to_bytes(filter);
  check(nestline::to_bytes(nestline::Filter::load(bytes)) == bytes);
  filter.clear();
  check(filter.size() == 0 && !filter.may_contain("key"));
}

Bytes bytes_of(const auto& any, Head head = Head::page) {
  Bytes bytes;
  const nestline::ByteSink sink = [&](std::span<const std::byte> part) {
    bytes.insert(bytes.end(), part.begin(), part.end());
  };
  save(any, {sink, head});
  return bytes;
}

Head head_of(const Bytes& bytes) {
  return header_of(bytes) == kHeader ? Head::page : Head::compact;
}

void use(Maplet& maplet) {
  std::vector<std::uint64_t> keys(200);
  for (std::uint64_t& key : keys) key = static_cast<std::uint64_t>(&key - keys.data());
  std::vector<std::uint32_t> first;
  std::vector<std::uint64_t> values;
  std::vector<std::uint64_t> sets(keys.size());
  maplet.find(keys, first, values);
  maplet.find_sets(keys, sets);
  std::array<std::uint64_t, Maplet::kMaxCandidates> alone;
  for (const std::uint64_t key : keys) {
    const std::size_t count = maplet.find(key, alone);
    check(std::equal(alone.begin(), alone.begin() + static_cast<std::ptrdiff_t>(count),
                     values.begin() + first[key], values.begin() + first[key + 1]));
    check(maplet.find_set(key) == sets[key] && (sets[key] != 0) == (count != 0));
  }
  check(maplet.expected_false_candidates() >= 0);

  std::uint64_t size = maplet.size();
  std::uint64_t visited = 0;
  maplet.for_each([&](std::uint64_t value) { visited += value <= maplet.max_value(); });
  check(visited == size);
  for (const std::uint64_t key : keys) {
    const bool stored = bool{maplet.insert(key, key % 3)};
    size += stored;
    check(!stored || (maplet.find_set(key) >> key % 3 & 1) != 0);
  }
  check(maplet.size() == size);
  const std::array<std::uint64_t, 3> table = {1, 1, Maplet::kErased};
  maplet.rename(table);
  check(maplet.erase_value(2) == 0);
  size = maplet.size();
  for (const std::uint64_t key : keys) size -= maplet.erase(key, 1);
  check(maplet.size() == size);
  const Bytes bytes = bytes_of(maplet);
  check(bytes_of(Maplet::load(bytes)) == bytes);
  size -= maplet.erase_value(1);
  check(maplet.size() == size && maplet.erase_value(1) == 0);
}

void try_bytes(const Bytes& bytes) {
  const auto is_sound = [&](const nestline::FormatError& error) {
    return error.offset <= bytes.size() && !error.cause.empty();
  };
  try {
    Filter filter = nestline::Filter::load(bytes);
    const bool is_older = std::to_integer<unsigned>(bytes[kHashVersionAt]) == 3;
    check(is_older || bytes_of(filter, head_of(bytes)) == bytes);
    use(filter);
  } catch (const nestline::FormatError& error) {
    check(is_sound(error));
  }
  try {
    Maplet maplet = Maplet::load(bytes);
    check(bytes_of(maplet, head_of(bytes)) == bytes);
    use(maplet);
  } catch (const nestline::FormatError& error) {
    check(is_sound(error));
  }
}

// Keys or pairs in the blocks, for widths that there are.
std::uint64_t count_keys(std::uint32_t bits, std::span<const std::byte> blocks) {
  const bool halfwords = bits == 16 || bits == 20 || (bits > 64 && bits != 136);
  const std::size_t step = halfwords ? 2 : 1;
  const std::size_t end = bits == 12 || bits == 136 ? 40
                          : bits == 20              ? 16
                          : bits == 268             ? 48
                          : bits == 528             ? 30
                                                    : 60;
  std::uint64_t keys = 0;
  for (std::size_t block = 0; block < blocks.size(); block += kBlock) {
    for (std::size_t at = block; at < block + end; at += step) {
      keys += blocks[at] != std::byte{0} || (step == 2 && blocks[at + 1] != std::byte{0});
    }
  }
  return keys;
}

// The short form.
Bytes expand(std::span<const std::byte> input) {
  constexpr std::size_t kFields = kFieldsEnd - kByteOrderAt;
  const unsigned repair = input.empty() ? 0 : std::to_integer<unsigned>(input[0]);
  Bytes rest(input.begin() + !input.empty(), input.end());
  rest.resize(std::max(rest.size(), kFields + kBlock));
  rest.resize(kFields + (rest.size() - kFields + kBlock - 1) / kBlock * kBlock);
  const std::span blocks = std::span(rest).subspan(kFields);

  Bytes file = make_file({}, blocks);
  const std::uint64_t length = get64(file, kLengthAt);
  std::copy_n(rest.begin(), kFields, file.begin() + kByteOrderAt);
  if ((repair & 1) != 0) {
    put32(file, kByteOrderAt, 0x01020304);
    put32(file, kFormatVersionAt, 1);
    put32(file, kHashVersionAt, (repair & 16) == 0 ? 2 : (repair & 64) == 0 ? 4 : 3);
  }
  const auto bits = static_cast<std::uint32_t>(get64(file, kBitsAt - 4) >> 32);
  const auto growth = static_cast<std::uint32_t>(get64(file, kGrowthAt));
  if ((repair & 2) != 0 && growth < 16) {
    put64(file, kBaseBlocksAt, (blocks.size() / kBlock) >> growth);
  }
  if ((repair & 4) != 0) put64(file, kKeysAt, count_keys(bits, blocks));
  if ((repair & 8) != 0) put64(file, kLengthAt, length);
  seal(file);
  return (repair & 32) != 0 ? small_of(file) : file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  Bytes bytes(input.begin(), input.end());
  try_bytes(bytes);
  if (size > 0 && data[0] == 0x8e) {
    seal(bytes);
    try_bytes(bytes);
  } else {
    try_bytes(expand(input));
  }
  return 0;
}
