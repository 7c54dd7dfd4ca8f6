// Filters over streams and callbacks: the bytes are those of files, in pieces of any size. Input
// that is damaged, cut off or endless is refused, and takes no more memory than the bytes that it
// gave.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <ios>
#include <istream>
#include <ostream>
#include <span>
#include <sstream>
#include <stdexcept>
#include <streambuf>
#include <string>
#include <system_error>

#include "lib/engine/place/layout.h"
#include "nestline/io.h"
#include "tests/filters/file/format_tools.h"
#include "tests/filters/file/io_fixture.h"
#include "tests/support/errors.h"

#ifdef __linux__
#include <unistd.h>
#endif

namespace nestline { namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20;

using test::Giver;
using test::text_of;

class StreamTest : public IoTest {};

TEST_F(StreamTest, BytesAreThoseOfFiles) {
  for (const int bits : kFilterWidths) {
    for (const std::uint64_t capacity : {1u, 3000u, 300'000u}) {
      SCOPED_TRACE(std::to_string(bits) + " bits, capacity " + std::to_string(capacity));
      const Filter filter = filled(bits, capacity, capacity * 9 / 10);
      const Bytes bytes = test::saved_bytes(filter);
      Bytes taken;
      std::size_t largest = 0;
      save(filter, [&](std::span<const std::byte> piece) {
        largest = std::max(largest, piece.size());
        taken.insert(taken.end(), piece.begin(), piece.end());
      });
      EXPECT_EQ(taken, bytes);
      EXPECT_LE(largest, kMebibyte);
      std::ostringstream stream(std::ios::binary);
      save(filter, stream);
      EXPECT_EQ(stream.str(), text_of(bytes));
      std::istringstream back(stream.str(), std::ios::binary);
      expect_same(filter, Filter::load(back));
    }
  }
}

TEST_F(StreamTest, PiecesMayHaveAnySize) {
  Filter filter({.capacity = 300, .bits = 12, .max_capacity = 5000, .seed = 5});
  EXPECT_EQ(filter.insert(sequence(0, 4000)), 4000u);
  const Bytes bytes = test::saved_bytes(filter);
  for (const std::size_t piece : {1u, 7u, 4095u, 4096u, 5000u, 1'000'000u}) {
    Giver giver(bytes, piece);
    const Filter loaded = Filter::load(std::ref(giver));
    EXPECT_EQ(test::saved_bytes(loaded), bytes) << piece;
    EXPECT_EQ(giver.given(), bytes.size());
  }
}

// Longer than the memory that is allocated at once.
TEST_F(StreamTest, LargeFiltersAreReadInSteps) {
  const Filter filter = filled(8, 45'000'000, 200'000);
  ASSERT_GT(filter.memory_bytes(), 40 * kMebibyte);
  std::ofstream(path("filter"), std::ios::binary) << "head";
  {
    std::ofstream stream(path("filter"), std::ios::binary | std::ios::app);
    save(filter, stream);
  }
  std::ifstream stream(path("filter"), std::ios::binary);
  stream.seekg(4);
  const Filter loaded = Filter::load(stream);
  EXPECT_EQ(loaded.size(), filter.size());
  EXPECT_EQ(test::saved_bytes(loaded), test::saved_bytes(filter));
}

TEST_F(StreamTest, OtherDataMayComeBeforeAndAfter) {
  const Filter one = filled(8, 1000, 900);
  const Filter other = filled(16, 50'000, 40'000);
  std::stringstream stream(std::ios::in | std::ios::out | std::ios::binary);
  stream << "before ";
  save(one, stream);
  stream << " between ";
  save(other, stream);
  stream << " behind";
  std::string word;
  stream >> word;
  EXPECT_EQ(word, "before");
  stream.get();
  expect_same(one, Filter::load(stream));
  stream >> word;
  EXPECT_EQ(word, "between");
  stream.get();
  expect_same(other, Filter::load(stream));
  stream >> word;
  EXPECT_EQ(word, "behind");
}

TEST_F(StreamTest, EveryTruncationIsRefused) {
  const Bytes bytes = test::saved_bytes(filled(8, 100, 90));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    std::istringstream stream(text_of(bytes).substr(0, length), std::ios::binary);
    const auto error =
        test::error_of<FormatError>([&] { const Filter filter = Filter::load(stream); });
    ASSERT_TRUE(error) << length;
    EXPECT_EQ(error->file, "stream");
    ASSERT_EQ(error->offset, length) << error->what();
  }
}

#ifdef __linux__

// Bytes of address space of this process.
std::size_t address_space() {
  std::ifstream statm("/proc/self/statm");
  std::size_t pages = 0;
  EXPECT_TRUE(statm >> pages);
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// A header that claims 64 TiB, and a stream that never ends: it gets memory only for the bytes
// given.
TEST_F(StreamTest, MemoryGrowsWithTheBytesGiven) {
  constexpr std::uint64_t kBlocks = std::uint64_t{1} << 40;
  constexpr std::uint64_t kSections = kBlocks * format_tools::kBlock / format_tools::kSection;
  Bytes header = format_tools::make_empty_file({16, 1, 0, 0, 0, 1, 0});
  format_tools::put64(header, format_tools::kBaseBlocksAt, kBlocks);
  format_tools::put64(header, format_tools::kLengthAt,
                      format_tools::kHeader + kBlocks * format_tools::kBlock + (kSections + 1) * 8);
  format_tools::seal_header(header);
  header.resize(format_tools::kHeader);

  struct Enough {};
  const std::size_t before = address_space();
  std::size_t given = 0;
  const auto give = [&](std::span<std::byte> to) {
    if (given >= 100 * kMebibyte) throw Enough();
    EXPECT_LE(to.size(), std::max(16 * kMebibyte, given));
    EXPECT_LE(address_space(), before + 3 * given + 64 * kMebibyte);
    const std::size_t count = std::min(to.size(), 4 * kMebibyte);
    if (given == 0) std::copy(header.begin(), header.end(), to.begin());
    given += count;
    return count;
  };
  EXPECT_THROW(Filter::load(give), Enough);
  // The same claim, and then nothing.
  std::istringstream stream(text_of(header), std::ios::binary);
  EXPECT_THROW(Filter::load(stream), FormatError);
}

#endif  // __linux__

TEST_F(StreamTest, FunctionsMayFail) {
  const Filter filter = filled(8, 100'000, 900);
  const Bytes bytes = test::saved_bytes(filter);
  struct Failed {};
  EXPECT_THROW(save(filter, [](std::span<const std::byte>) { throw Failed(); }), Failed);
  EXPECT_THROW(Filter::load([](std::span<std::byte>) -> std::size_t { throw Failed(); }), Failed);
  EXPECT_THROW(Filter::load([](std::span<std::byte> to) { return to.size() + 1; }),
               std::invalid_argument);
  EXPECT_THROW(Filter::load([](std::span<std::byte>) { return ~std::size_t{0}; }),
               std::invalid_argument);
  EXPECT_THROW(Filter::load([](std::span<std::byte>) { return std::size_t{0}; }), FormatError);
}

// A device that takes and gives a number of bytes and then fails.
class FailingBuffer : public std::streambuf {
 public:
  explicit FailingBuffer(std::size_t good) : good_(good) {}

 protected:
  int_type overflow(int_type byte) override {
    if (good_ == 0) return traits_type::eof();
    --good_;
    return traits_type::not_eof(byte);
  }
  int_type underflow() override { throw std::runtime_error("the device is gone"); }

 private:
  std::size_t good_;
};

template <typename Work>
std::error_code stream_error(Work&& work) {
  try {
    work();
  } catch (const std::system_error& error) {
    EXPECT_NE(std::string(error.what()).find("stream"), std::string::npos) << error.what();
    return error.code();
  }
  return {};
}

TEST_F(StreamTest, StreamsMayFail) {
  const std::error_code failed = std::make_error_code(std::io_errc::stream);
  const Filter filter = filled(8, 100'000, 900);
  for (const std::size_t good : {0u, 1u, 4096u, 50'000u}) {
    FailingBuffer buffer(good);
    std::ostream out(&buffer);
    EXPECT_EQ(stream_error([&] { save(filter, out); }), failed) << good;
  }
  FailingBuffer buffer(0);
  std::istream in(&buffer);
  EXPECT_EQ(stream_error([&] { Filter::load(in); }), failed);
  // Those that have failed before, or were never open.
  std::ofstream closed_out;
  closed_out.setstate(std::ios::failbit);
  EXPECT_EQ(stream_error([&] { save(filter, closed_out); }), failed);
  std::ifstream missing(path("missing"), std::ios::binary);
  EXPECT_EQ(stream_error([&] { Filter::load(missing); }), failed);
  // A stream that is set to throw does.
  std::ostream out(&buffer);
  out.exceptions(std::ios::badbit | std::ios::failbit);
  EXPECT_THROW(save(filter, out), std::ios::failure);
  std::istringstream empty("", std::ios::binary);
  empty.exceptions(std::ios::failbit);
  EXPECT_THROW(Filter::load(empty), std::ios::failure);
  // The disk is full, which shows when the stream is flushed.
  if (fs::exists("/dev/full")) {
    std::ofstream full("/dev/full", std::ios::binary);
    EXPECT_EQ(stream_error([&] { save(filled(8, 1, 1), full); }), failed);
  }
}

}  // namespace
}  // namespace nestline
