// Records and segments as bytes: what is written can be read, and nothing else can.
#include "lib/store/record.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "lib/store/segment_format.h"

namespace nestline {
namespace {

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

std::vector<std::string> keys_in(std::span<const std::byte> segment, Scan& scan) {
  std::vector<std::string> keys;
  scan = scan_records(segment, {kStore, 1, kSegmentHeaderBytes}, 5,
                      [&](std::uint64_t, const Record& record) {
                        keys.emplace_back(record.key);
                        return true;
                      });
  return keys;
}

TEST(RecordTest, WhatIsWrittenIsRead) {
  std::vector<std::byte> segment = some_segment();
  Scan scan;
  EXPECT_EQ(keys_in(segment, scan), (std::vector<std::string>{"", "key", "", "key", "name"}));
  EXPECT_EQ(scan.end, ScanEnd::zeros);
  EXPECT_EQ(scan.offset, segment.size());
  EXPECT_EQ(scan.next_sequence, 10U);
  segment.resize(segment.size() + 100);
  (void)keys_in(segment, scan);
  EXPECT_EQ(scan.end, ScanEnd::zeros);
  EXPECT_EQ(scan.offset, segment.size() - 100);
}

TEST(RecordTest, ASealEndsTheScan) {
  std::vector<std::byte> segment = some_segment();
  append(segment, {RecordKind::seal, 10, 0, "", ""});
  append(segment, {RecordKind::put, 11, 0, "behind", ""});
  Scan scan;
  EXPECT_EQ(keys_in(segment, scan).size(), 6U);
  EXPECT_EQ(scan.end, ScanEnd::sealed);
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
    Scan scan;
    EXPECT_LT(keys_in(bad, scan).size(), 5U) << bit;
    EXPECT_EQ(scan.end, ScanEnd::bad) << bit;
    EXPECT_LE(scan.offset, bit / 8) << bit;
  }
}

TEST(RecordTest, EveryCutIsSeen) {
  const std::vector<std::byte> whole = some_segment();
  for (std::size_t size = kSegmentHeaderBytes; size < whole.size(); ++size) {
    Scan scan;
    const std::size_t count = keys_in(std::span(whole).first(size), scan).size();
    EXPECT_LT(count, 5U);
    EXPECT_LE(scan.offset, size);
    EXPECT_EQ(scan.end, scan.offset == size ? ScanEnd::zeros : ScanEnd::bad) << size;
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
