// Records and segments as bytes: what is written can be read, and nothing else can.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/store/log_format.h"
#include "lib/store/segment_reader.h"
#include "tests/store/simulated_disk.h"

namespace nestline { namespace {

constexpr std::uint64_t kStore = 0x1234567890abcdef;

// Appends a record to the bytes of a segment.
void append(std::vector<std::byte>& segment, Record record, std::uint64_t number = 1) {
  const RecordPlace place = {kStore, number, segment.size()};
  if (has_key(record.kind)) record.hash = hash_in(space_of(record.kind), record.key, kStore);
  std::vector<std::byte> bytes(bytes_of(record));
  encode_record_header(std::span(bytes).first<kRecordHeaderBytes>(), record,
                       value_digest(record.value, kStore), place);
  std::byte* const key = bytes.data() + kRecordHeaderBytes;
  std::copy_n(std::as_bytes(std::span(record.key)).begin(), record.key.size(), key);
  std::copy_n(std::as_bytes(std::span(record.value)).begin(), record.value.size(),
              key + record.key.size());
  segment.insert(segment.end(), bytes.begin(), bytes.end());
}

std::vector<std::byte> some_segment() {
  std::vector<std::byte> segment(kSegmentHeaderBytes);
  encode_segment_header(std::span(segment).first<kSegmentHeaderBytes>(), {kStore, 1, 65'536, 5});
  append(segment, {RecordKind::segments, 5, 0, "", encode_segment_list({})});
  append(segment, {RecordKind::put, 6, 0, "key", "value"});
  append(segment, {RecordKind::put, 7, 0, "", ""});
  append(segment, {RecordKind::erase, 8, 0, "key", ""});
  append(segment, {RecordKind::manifest_put, 9, 0, "name", std::string(100, 'x')});
  return segment;
}

struct Read {
  std::vector<std::string> keys;
  std::uint64_t end = 0;
  std::uint64_t sequence = 0;
  std::uint64_t rest = 0;  // bytes that are no record
};

Read read_all(std::span<const std::byte> segment) {
  const auto machine =
      test::SimulatedMachine::with_files({{"a", {segment.begin(), segment.end()}}});
  const auto file = machine->disk()->open("a", Disk::Mode::read);
  SegmentReader reader(*file, {kStore, 1, kSegmentHeaderBytes}, 5);
  Read read;
  while (reader.next()) read.keys.emplace_back(reader.record().key);
  read.end = reader.end();
  read.sequence = reader.sequence();
  read.rest = reader.rest();
  return read;
}

TEST(RecordTest, WhatIsWrittenIsRead) {
  std::vector<std::byte> segment = some_segment();
  Read read = read_all(segment);
  EXPECT_EQ(read.keys, (std::vector<std::string>{"", "key", "", "key", "name"}));
  EXPECT_EQ(read.rest, 0U);
  EXPECT_EQ(read.end, segment.size());
  EXPECT_EQ(read.sequence, 10U);
  segment.resize(segment.size() + 100);
  read = read_all(segment);
  EXPECT_EQ(read.rest, 0U);
  EXPECT_EQ(read.end, segment.size() - 100);
}

TEST(RecordTest, EveryFlippedBitIsSeen) {
  const std::vector<std::byte> good = some_segment();
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::vector<std::byte> bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    std::uint32_t version = 0;
    if (bit / 8 < kSegmentHeaderBytes) {
      EXPECT_FALSE(decode_segment_header(bad, 1, version)) << bit;
      continue;
    }
    const Read read = read_all(bad);
    EXPECT_LT(read.keys.size(), 5U) << bit;
    EXPECT_NE(read.rest, 0U) << bit;
    EXPECT_LE(read.end, bit / 8) << bit;
  }
}

TEST(RecordTest, ARecordIsValidInItsPlaceOnly) {
  const std::vector<std::byte> segment = some_segment();
  const std::uint64_t offset = kSegmentHeaderBytes + kRecordHeaderBytes;
  EXPECT_TRUE(read_record(std::span(segment).subspan(offset), {kStore, 1, offset}));
  EXPECT_FALSE(read_record(std::span(segment).subspan(offset), {kStore, 2, offset}));
  EXPECT_FALSE(read_record(std::span(segment).subspan(offset), {kStore + 1, 1, offset}));
  std::vector<std::byte> moved(8);
  moved.insert(moved.end(), segment.begin(), segment.end());
  EXPECT_FALSE(read_record(std::span(moved).subspan(offset + 8), {kStore, 1, offset + 8}));
}

TEST(RecordTest, LengthsAreComparedWithTheRestOfTheFile) {
  std::vector<std::byte> segment(64, std::byte{0});
  for (const std::uint64_t length : {33ULL, 40ULL, 0x7fffffffULL, 0xffffffffULL}) {
    segment[8] = std::byte{1};
    for (std::size_t i = 0; i < 4; ++i) {
      segment[12 + i] = static_cast<std::byte>(length >> 8 * i);
    }
    EXPECT_FALSE(frame_record(segment)) << length;
  }
  EXPECT_FALSE(frame_record({}));
}

TEST(SegmentTest, HeadersAreRead) {
  std::vector<std::byte> segment = some_segment();
  std::uint32_t version = 0;
  const auto header = decode_segment_header(segment, 1, version);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->store_id, kStore);
  EXPECT_EQ(header->limit, 65'536U);
  EXPECT_EQ(header->first_sequence, 5U);
  EXPECT_FALSE(decode_segment_header(segment, 2, version));
  EXPECT_FALSE(decode_segment_header(std::span(segment).first(63), 1, version));
}

TEST(SegmentTest, NamesAreNumbers) {
  EXPECT_EQ(segment_name(1), "00000001.log");
  EXPECT_EQ(segment_name(123456789), "123456789.log");
  for (const std::uint64_t number : {1ULL, 99999999ULL, 100000000ULL, ~0ULL}) {
    EXPECT_EQ(segment_number(segment_name(number)), number);
  }
  for (const char* name : {"1.log", "00000000.log", "000000001.log", "0000000x.log", "00000001",
                           "-0000001.log", "00000001.log.damaged", "99999999999999999999.log"}) {
    EXPECT_FALSE(segment_number(name)) << name;
  }
}

TEST(SegmentTest, ListsAreRuns) {
  for (const std::vector<std::uint64_t>& list :
       {std::vector<std::uint64_t>{}, {1}, {1, 2, 3}, {1, 2, 4, 5, 9}, {7, 9, 11}}) {
    EXPECT_EQ(decode_segment_list(encode_segment_list(list)), list);
  }
  EXPECT_EQ(encode_segment_list(std::vector<std::uint64_t>{5, 6, 7}).size(), 16U);
  EXPECT_FALSE(decode_segment_list(std::string(15, 'x')));
  EXPECT_FALSE(decode_segment_list(encode_two_numbers({1, ~0ULL})));
  EXPECT_FALSE(decode_segment_list(encode_two_numbers({~0ULL, 2})));
  EXPECT_FALSE(decode_segment_list(encode_two_numbers({3, 0})));
  EXPECT_FALSE(decode_segment_list(encode_two_numbers({3, 2}) + encode_two_numbers({4, 1})));
}

}  // namespace
}  // namespace nestline
