// Strings of hashes, and answers as bits.
#include "lib/faces/embed/value/hash_string.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace nestline::redis { namespace {

TEST(HashString, HasTheLowestByteFirst) {
  const std::string bytes("\1\2\3\4\5\6\7\x88\xff\0\0\0\0\0\0\0", 16);
  const HashString hashes(bytes);
  ASSERT_EQ(hashes.size(), 2U);
  EXPECT_EQ(hashes.bytes(), bytes);
  std::vector<std::uint64_t> read(2);
  hashes.read(0, read);
  EXPECT_EQ(read, (std::vector<std::uint64_t>{0x8807060504030201, 0xff}));
  hashes.read(1, std::span(read).first(1));
  EXPECT_EQ(read[0], 0xffU);
}

TEST(HashString, HasWholeHashes) {
  const std::string bytes(24, 'x');
  for (const std::size_t length : {0U, 1U, 7U, 9U, 15U, 23U}) {
    EXPECT_THROW(HashString(std::string_view(bytes).substr(0, length)), std::invalid_argument)
        << length;
  }
}

TEST(HashString, ComesInChunks) {
  for (const std::size_t count : {1U, 8U, 511U, 512U, 513U, 1024U, 1300U}) {
    SCOPED_TRACE(count);
    std::string bytes(1, 'x');  // so that the hashes lie at odd addresses
    for (std::size_t i = 0; i < count; ++i) {
      bytes += static_cast<char>(i);
      bytes += static_cast<char>(i >> 8);
      bytes += std::string("\0\0\0\0\0\x80", 6);
    }
    std::size_t next = 0;
    HashString(std::string_view(bytes).substr(1))
        .in_chunks([&](std::size_t first, std::span<const std::uint64_t> hashes) {
          EXPECT_EQ(first, next);
          EXPECT_EQ(first % 8, 0U);
          EXPECT_LE(hashes.size(), HashString::kMaxInChunk);
          for (const std::uint64_t hash : hashes) EXPECT_EQ(hash, next++ | std::uint64_t{1} << 63);
        });
    EXPECT_EQ(next, count);
  }
}

TEST(PutBits, PutsTheFirstAnswerLowest) {
  std::mt19937_64 random(1);
  for (std::size_t count = 0; count < 1200; count += count < 70 ? 1 : 61) {
    SCOPED_TRACE(count);
    std::vector<std::uint8_t> answers(count);
    for (std::uint8_t& answer : answers) answer = random() % 2;
    std::string bits(bit_bytes(count), 'x');
    put_bits(answers, bits);
    ASSERT_EQ(bits.size(), (count + 7) / 8);
    for (std::size_t i = 0; i < 8 * bits.size(); ++i) {
      const unsigned expected = i < count ? answers[i] : 0U;
      EXPECT_EQ(static_cast<unsigned char>(bits[i / 8]) >> (i % 8) & 1U, expected) << i;
    }
  }
}

}  // namespace
}  // namespace nestline::redis
