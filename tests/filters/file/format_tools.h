// The file format as tests need it: builds files field by field, and repairs the checksums of
// changed files, so that damage gets past the checksums.
//
// Written from docs/FORMAT.md with public functions only, not from the library's own code. Where
// the two differ, a test fails.
#ifndef NESTLINE_TESTS_FILTERS_FILE_FORMAT_TOOLS_H_
#define NESTLINE_TESTS_FILTERS_FILE_FORMAT_TOOLS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "nestline/keys.h"

namespace nestline::format_tools {

using Bytes = std::vector<std::byte>;

inline constexpr std::size_t kHeader = 4096;  // of format version 1
inline constexpr std::size_t kSection = std::size_t{1} << 20;
inline constexpr std::size_t kBlock = 64;

// A field of a header that is out of its range, and the error that it gives.
struct FieldCase {
  std::size_t at;
  std::uint64_t value;
  std::size_t size;
  std::uint64_t offset;  // of the error
  const char* part;
};

// Where the fields of the header are.
inline constexpr std::size_t kByteOrderAt = 8;
inline constexpr std::size_t kFormatVersionAt = 12;
inline constexpr std::size_t kHashVersionAt = 16;
inline constexpr std::size_t kBitsAt = 20;
inline constexpr std::size_t kBaseBlocksAt = 24;
inline constexpr std::size_t kGrowthAt = 32;
inline constexpr std::size_t kKeyKindsAt = 36;
inline constexpr std::size_t kSeedAt = 40;
inline constexpr std::size_t kKeysAt = 48;
inline constexpr std::size_t kCapacityAt = 56;
inline constexpr std::size_t kMaxCapacityAt = 64;
inline constexpr std::size_t kLengthAt = 72;
inline constexpr std::size_t kFieldsEnd = 80;  // except in an expiring filter's:
inline constexpr std::size_t kLifeAt = 80;
inline constexpr std::size_t kWaitingAt = 84;
inline constexpr std::size_t kExchangedAt = 88;
inline constexpr std::size_t kSweptAt = 96;
inline constexpr std::size_t kExpiringFieldsEnd = 104;
inline constexpr std::size_t kTickAt = 4032;
inline constexpr std::size_t kHeaderChecksumAt = 4088;

// Where fields of version 1 are in version 2, and in how many bytes. A checksum ends the header.
struct SmallField {
  std::size_t page_at, at, bytes;
};
inline constexpr std::array<SmallField, 9> kSmallFields = {{{kHashVersionAt, 16, 1},
                                                            {kGrowthAt, 17, 1},
                                                            {kBitsAt, 18, 2},
                                                            {kKeyKindsAt, 20, 4},
                                                            {kSeedAt, 24, 8},
                                                            {kBaseBlocksAt, 32, 6},
                                                            {kKeysAt, 38, 6},
                                                            {kCapacityAt, 44, 6},
                                                            {kMaxCapacityAt, 50, 6}}};
inline constexpr std::array<SmallField, 5> kSmallTimes = {{{kLifeAt, 56, 4},
                                                           {kWaitingAt, 60, 4},
                                                           {kTickAt, 64, 8},
                                                           {kExchangedAt, 72, 8},
                                                           {kSweptAt, 80, 8}}};
inline constexpr std::size_t kSmallHeader = 64;
inline constexpr std::size_t kSmallExpiringHeader = 128;

inline void put(Bytes& bytes, std::size_t at, std::uint64_t number, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) bytes.at(at + i) = std::byte(number >> (8 * i) & 0xff);
}
inline void put32(Bytes& bytes, std::size_t at, std::uint32_t n) { put(bytes, at, n, 4); }
inline void put64(Bytes& bytes, std::size_t at, std::uint64_t n) { put(bytes, at, n, 8); }

inline std::uint64_t get64(std::span<const std::byte> bytes, std::size_t at) {
  std::uint64_t number = 0;
  for (std::size_t i = 8; i-- > 0;) number = number << 8 | std::to_integer<unsigned>(bytes[at + i]);
  return number;
}

// XXH3-64: how a filter with seed 0 hashes a string.
inline std::uint64_t checksum(std::span<const std::byte> bytes) {
  return hash_key(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), 0)
      .value;
}

inline bool is_expiring_width(std::uint64_t bits) { return bits >> 5 == 1; }

// How long the header is.
inline std::size_t header_of(std::span<const std::byte> file) {
  if (file.size() < kSmallHeader || file[kFormatVersionAt] != std::byte{2}) return kHeader;
  return is_expiring_width(get64(file, 18) & 0xffff) ? kSmallExpiringHeader : kSmallHeader;
}

// The bytes between the header and the checksums, in a file whose length is right; else 0.
inline std::size_t block_bytes(const Bytes& file) {
  const std::size_t header = header_of(file);
  if (file.size() < header + kBlock + 16) return 0;
  const std::size_t rest = file.size() - header - 8;
  const std::size_t blocks = rest - (rest + kSection + 7) / (kSection + 8) * 8;
  return blocks % kBlock == 0 ? blocks : 0;
}

// Makes the header's checksum right.
inline void seal_header(Bytes& file) {
  const std::size_t at = header_of(file) - 8;
  put64(file, at, checksum(std::span(file).first(at)));
}

// Makes all checksums right.
inline void seal(Bytes& file) {
  const std::size_t header = header_of(file);
  if (file.size() >= header) seal_header(file);
  const std::size_t blocks = block_bytes(file);
  if (blocks == 0) return;
  const std::span all(file);
  const std::size_t table = header + blocks;
  std::size_t at = table;
  for (std::size_t done = 0; done < blocks; done += kSection, at += 8) {
    put64(file, at, checksum(all.subspan(header + done, std::min(kSection, blocks - done))));
  }
  put64(file, at, checksum(all.subspan(table, at - table)));
}

// The same filter with the header of version 2, from one with that of version 1.
inline Bytes small_of(const Bytes& page) {
  const bool expires = is_expiring_width(get64(page, kBitsAt) & 0xffffffff);
  const std::size_t header = expires ? kSmallExpiringHeader : kSmallHeader;
  Bytes file(header);
  std::copy_n(page.begin(), kFormatVersionAt, file.begin());
  put32(file, kFormatVersionAt, 2);
  const auto move = [&](const SmallField& field) {
    put(file, field.at, get64(page, field.page_at), field.bytes);
  };
  std::ranges::for_each(kSmallFields, move);
  if (expires) std::ranges::for_each(kSmallTimes, move);
  file.insert(file.end(), page.begin() + kHeader, page.end());
  seal_header(file);
  return file;
}

// What a header says, and the number of blocks that follow it.
struct Fields {
  std::uint32_t bits = 8;
  std::uint64_t base_blocks = 1;
  std::uint32_t growth = 0;
  std::uint64_t seed = 0;
  std::uint64_t keys = 0;
  std::uint64_t capacity = 1;
  std::uint64_t max_capacity = 0;
  std::uint32_t hash_version = 2;
  std::uint32_t key_kinds = 0;
};

// A whole file with these blocks; their number may differ from the one in `fields`.
inline Bytes make_file(const Fields& fields, std::span<const std::byte> blocks) {
  const std::size_t sections = (blocks.size() + kSection - 1) / kSection;
  Bytes file(kHeader + blocks.size() + (sections + 1) * 8);
  constexpr std::string_view kMagic = "\x8eNST\r\n\x1a\n";
  std::transform(kMagic.begin(), kMagic.end(), file.begin(),
                 [](char c) { return std::byte(static_cast<unsigned char>(c)); });
  put32(file, kByteOrderAt, 0x01020304);
  put32(file, kFormatVersionAt, 1);
  put32(file, kHashVersionAt, fields.hash_version);
  put32(file, kBitsAt, fields.bits);
  put64(file, kBaseBlocksAt, fields.base_blocks);
  put32(file, kGrowthAt, fields.growth);
  put32(file, kKeyKindsAt, fields.key_kinds);
  put64(file, kSeedAt, fields.seed);
  put64(file, kKeysAt, fields.keys);
  put64(file, kCapacityAt, fields.capacity);
  put64(file, kMaxCapacityAt, fields.max_capacity);
  put64(file, kLengthAt, file.size());
  std::copy(blocks.begin(), blocks.end(), file.begin() + kHeader);
  seal(file);
  return file;
}

// The same without keys.
inline Bytes make_empty_file(const Fields& fields) {
  return make_file(fields, Bytes((fields.base_blocks << fields.growth) * kBlock));
}

// Of an expiring filter besides.
struct Times {
  std::uint64_t tick = 0;
  std::uint32_t life = 14;
  std::uint64_t exchanged = 0;
  std::uint64_t swept = 0;
  std::uint32_t waiting = 0;
};
inline void put_times(Bytes& file, const Times& times) {
  put64(file, kTickAt, times.tick);
  put32(file, kLifeAt, times.life);
  put64(file, kExchangedAt, times.exchanged);
  put64(file, kSweptAt, times.swept);
  put32(file, kWaitingAt, times.waiting);
  seal_header(file);
}
// An expiring filter without keys: the blocks are followed by as many bytes, in whole blocks.
inline Bytes make_empty_expiring_file(const Fields& fields, const Times& times) {
  const std::uint64_t marks = (fields.base_blocks + kBlock - 1) / kBlock;
  Bytes file = make_file(fields, Bytes((fields.base_blocks + marks) * kBlock));
  put_times(file, times);
  return file;
}

}  // namespace nestline::format_tools

#endif  // NESTLINE_TESTS_FILTERS_FILE_FORMAT_TOOLS_H_
